#include "python/signals.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <mutex>
#include <system_error>
#include <thread>

#include "base/blocked_signals.h"
#include "python/interpreter.h"

namespace pijit {

namespace {

// What the evaluator of the main thread looks for. Any thread may ask it to.
#if PY_VERSION_HEX >= 0x030D0000
bool signal_waits() { return _Py_atomic_load_int(&_PyRuntime.signals.is_tripped) != 0; }
void look_for_signals(PyThreadState* t) { _Py_set_eval_breaker_bit(t, _PY_SIGNALS_PENDING_BIT); }
void forget_signals(PyThreadState* t) { _Py_unset_eval_breaker_bit(t, _PY_SIGNALS_PENDING_BIT); }
void look_for_calls(PyThreadState* t) {
  if (_PyRuntime.ceval.pending_mainthread.npending > 0 || t->interp->ceval.pending.npending > 0)
    _Py_set_eval_breaker_bit(t, _PY_CALLS_TO_DO_BIT);
}
#else
bool signal_waits() { return _Py_atomic_load_relaxed(&_PyRuntime.ceval.signals_pending); }
void look_for_signals(PyThreadState* t) {
  _Py_atomic_store_relaxed(&_PyRuntime.ceval.signals_pending, 1);
  _Py_atomic_store_relaxed(&t->interp->ceval.eval_breaker, 1);
}
void forget_signals(PyThreadState*) {
  _Py_atomic_store_relaxed(&_PyRuntime.ceval.signals_pending, 0);
}
void look_for_calls(PyThreadState* t) {
  bool wait = _Py_atomic_load_relaxed(&t->interp->ceval.pending.calls_to_do);
#if PY_VERSION_HEX >= 0x030C0000
  wait |= _Py_atomic_load_relaxed(&_PyRuntime.ceval.pending_mainthread.calls_to_do);
#endif
  if (wait) _Py_atomic_store_relaxed(&t->interp->ceval.eval_breaker, 1);
}
#endif

unsigned long held_from = 0;  // the main thread, while it has NoSignals
std::atomic<int> put_off{0};  // how many delays it has, before they end
bool is_main_thread() {
  const unsigned long main = _PyRuntime.main_thread;  // a child of a fork has another one
  return PyThread_get_thread_ident() == (main ? main : held_from);
}
}  // namespace

bool signals_pending() { return put_off == 0 && signal_waits() && is_main_thread(); }

NoSignals::NoSignals() : holds_(PyThread_get_thread_ident() == _PyRuntime.main_thread) {
  if (holds_) held_from = std::exchange(_PyRuntime.main_thread, 0);
}
NoSignals::~NoSignals() {
  if (!holds_) return;
  _PyRuntime.main_thread = std::exchange(held_from, 0);
  PyThreadState* const t = PyThreadState_Get();
  // it was not told of what came meanwhile, or passed over it
  if (put_off == 0 && signal_waits()) look_for_signals(t);
  look_for_calls(t);
}

[[gnu::tls_model("initial-exec")]] thread_local bool SignalsEnd::on_ = false;

// Who has it changes what the evaluator looks for. In the child of a fork it may be of a thread
// that is not there.
static std::unique_lock<std::timed_mutex> asking() {
  static std::timed_mutex& mutex = *new std::timed_mutex;
  return {mutex, std::chrono::milliseconds(100)};
}

struct SignalDelay::Shared {
  explicit Shared(PyThreadState* t) : thread(t) {}
  void end() {
    // nobody asks the evaluator behind the end of the interpreter
    const auto lock = asking();
    if (!ended.exchange(true)) --put_off;
    // The other thread may have been stopped before it did. A later delay has signals of its own.
    if (put_off == 0) look_for_signals(thread);
  }
  std::atomic<bool> ended{false};
  PyThreadState* const thread;
};

void SignalDelay::begin(int64_t ns) {
  constexpr int64_t kLongest = 200'000'000;
  if (!signals_pending()) return;
  end();
  shared_ = std::make_shared<Shared>(PyThreadState_Get());
  {
    const auto lock = asking();
    ++put_off;
    forget_signals(shared_->thread);
  }
  const BlockedSignals blocked;
  try {
    std::thread([shared = shared_, time = std::chrono::nanoseconds(std::min(ns, kLongest))] {
      std::this_thread::sleep_for(time);
      shared->end();
    }).detach();
  } catch (const std::system_error&) {  // there may be no more threads
    end();
  }
}
bool SignalDelay::raises() {
  if (shared_ && !shared_->ended) return false;
  return PyErr_CheckSignals() < 0;
}
void SignalDelay::end() {
  if (shared_) shared_->end();
  shared_.reset();
}

}  // namespace pijit
