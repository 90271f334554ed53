#include "dispatch/sampling.h"

#include <Python.h>
#include <pthread.h>
#include <signal.h>

#include <condition_variable>
#include <mutex>
#include <thread>
#include <utility>

#include "python/hook.h"

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
void (*look_now)();
// A child that is forked leaves its parent's alone.
const bool forks = pthread_atfork(nullptr, nullptr, [] { sampler = nullptr; }) == 0;

int on_pending_call(void*) {
  if (look_now) look_now();
  return 0;
}

// Before 3.13, CPython forgets to tell the main thread of a call that another thread adds.
void tell(const Breaker& breaker) {
  if (PY_VERSION_HEX < 0x030D0000)
    __atomic_store_n(static_cast<int*>(const_cast<void*>(breaker.address)), 1, __ATOMIC_RELAXED);
}

void run(Sampler& s, std::chrono::milliseconds interval) {
  std::unique_lock lock(s.mu);
  while (!s.ended.wait_for(lock, interval, [&] { return s.end; }))
    if (Py_AddPendingCall(on_pending_call, nullptr) == 0) tell(s.breaker);
}

}  // namespace

void sample_every(std::chrono::milliseconds interval, void (*look)()) {
  look_now = look;
  if (sampler || !forks) return;
  auto* s = new Sampler;
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  try {
    s->thread = std::thread([s, interval] { run(*s, interval); });
    sampler = s;
  } catch (const std::system_error&) {  // no thread is to be had: no samples
    delete s;
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

void stop_sampling() {
  look_now = nullptr;
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

}  // namespace pijit
