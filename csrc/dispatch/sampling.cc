#include "dispatch/sampling.h"

#include <Python.h>
#include <pthread.h>

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>

#include "base/blocked_signals.h"
#include "python/pending_call.h"

namespace pijit {
namespace {

// A thread that asks CPython to call us. It runs no Python code, and no signal is for it.
struct Sampler {
  std::mutex mu;
  std::condition_variable ended;
  bool end = false;
  Breaker breaker = interpreter_breaker();
  std::thread thread;
};
Sampler* sampler;
std::chrono::milliseconds interval_now;
void (*look_now)();
std::atomic<bool> asked;  // and CPython has not called us yet
// A child that is forked without CPython's knowledge leaves its parent's thread alone.
const bool forks = pthread_atfork(nullptr, nullptr, [] { sampler = nullptr; }) == 0;

int on_pending_call(void*) {
  asked = false;
  if (look_now) look_now();
  return 0;
}

void run(Sampler& s) {
  std::unique_lock lock(s.mu);
  while (!s.ended.wait_for(lock, interval_now, [&] { return s.end; }))
    if (!asked.exchange(true) && !add_pending_call(on_pending_call, s.breaker)) asked = false;
}

void start_thread() {
  auto* s = new Sampler;
  asked = false;
  const BlockedSignals blocked;
  try {
    s->thread = std::thread([s] { run(*s); });
    sampler = s;
  } catch (const std::system_error&) {  // no thread is to be had: no samples
    delete s;
  }
}

void end_thread() {
  Sampler* s = std::exchange(sampler, nullptr);
  if (!s) return;
  {
    std::lock_guard lock(s->mu);
    s->end = true;
  }
  s->ended.notify_one();
  s->thread.join();
  delete s;
}

}  // namespace

void sample_every(std::chrono::milliseconds interval, void (*look)()) {
  interval_now = interval;
  look_now = look;
  if (!sampler && forks) start_thread();
}

void stop_sampling() {
  look_now = nullptr;
  end_thread();
}

void pause_sampling() { end_thread(); }
void resume_sampling() {
  if (look_now && !sampler && forks) start_thread();
}

}  // namespace pijit
