#include "python/signals.h"

#include <atomic>
#include <mutex>
#include <thread>

#include "python/interpreter.h"

namespace pijit {

namespace {
unsigned long held_from = 0;  // the main thread, while it has NoSignals
std::atomic<int> put_off{0};  // how many LaterSignals it has, before they end
bool is_main_thread() {
  const unsigned long main = _PyRuntime.main_thread;  // a child of a fork has another one
  return PyThread_get_thread_ident() == (main ? main : held_from);
}
}  // namespace

bool signals_pending() { return put_off == 0 && frames::signal_waits() && is_main_thread(); }

NoSignals::NoSignals() : holds_(!held_from && is_main_thread()) {
  if (holds_) held_from = std::exchange(_PyRuntime.main_thread, 0);
}
NoSignals::~NoSignals() {
  if (!holds_) return;
  _PyRuntime.main_thread = std::exchange(held_from, 0);
  PyThreadState* const t = PyThreadState_Get();
  if (put_off == 0 && frames::signal_waits()) frames::look_for_signals(t);
  frames::look_for_calls(t);
}

[[gnu::tls_model("initial-exec")]] thread_local bool SignalsEnd::on_ = false;

struct LaterSignals::Shared {
  explicit Shared(PyThreadState* t) : thread(t) {}
  void end() {
    const std::lock_guard lock(mutex);
    if (ended.exchange(true)) return;
    --put_off;
    frames::look_for_signals(thread);
  }
  std::mutex mutex;
  std::atomic<bool> ended{false};
  PyThreadState* const thread;
};

LaterSignals::LaterSignals(std::chrono::nanoseconds time) {
  if (!is_main_thread()) return;
  shared_ = std::make_shared<Shared>(PyThreadState_Get());
  ++put_off;
  frames::forget_signals(shared_->thread);
  std::thread([shared = shared_, time] {
    std::this_thread::sleep_for(time);
    shared->end();
  }).detach();
}
LaterSignals::~LaterSignals() {
  if (shared_) shared_->end();
}
bool LaterSignals::ended() const { return !shared_ || shared_->ended; }

}  // namespace pijit
