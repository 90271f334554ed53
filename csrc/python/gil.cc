// How the GIL is let go of and taken back. Two things happen to a process while some of its threads
// run kernels without it:
// - A fork copies one thread and all locks. It waits until no thread is away, so that nobody's lock
//   (the pool's, a kernel's) is copied while it is held.
// - The interpreter ends. CPython ends a thread that asks for the GIL then by unwinding its stack,
//   which C++ does not survive. So nobody asks any more: the end waits for kernels that run, and
//   their threads sleep from then on.
#include "python/gil.h"

#include <pthread.h>
#include <pybind11/pybind11.h>
#include <unistd.h>

#include <chrono>
#include <condition_variable>
#include <mutex>

#include "base/gil.h"
#include "python/convert.h"
#include "python/hook.h"
#include "python/signals.h"

// Wheels are for glibc 2.34 and later, which systems have beside GCC 11's libstdc++: this function
// alone has a younger version, which does the same.
__asm__(
    ".symver _ZNSt18condition_variable4waitERSt11unique_lockISt5mutexE,"
    "_ZNSt18condition_variable4waitERSt11unique_lockISt5mutexE@GLIBCXX_3.4.11");

namespace pijit {
namespace {

namespace py = pybind11;

struct Gate {
  std::mutex mu;  // whoever waits for the GIL does not hold it
  std::condition_variable changed;
  int away = 0;         // threads that run kernels without the GIL
  int coming = 0;       // those that wait to take it back
  bool closed = false;  // the interpreter ends
};
Gate& gate() {
  static auto* g = new Gate;  // threads may outlive static destruction
  return *g;
}
// Of a thread that is away.
thread_local PyThreadState* left = nullptr;

// Reads what only this thread and those that hold the GIL write.
bool wanted() {
  const PyThreadState* t = PyThreadState_Get();
  return (t->prev || t->next) && !gate().closed;
}

void release() {
  left = PyEval_SaveThread();
  Gate& g = gate();
  std::lock_guard lock(g.mu);
  ++g.away;
}

void take() {
  Gate& g = gate();
  {
    std::unique_lock lock(g.mu);
    --g.away;
    g.changed.notify_all();
    if (g.closed) {
      lock.unlock();
      while (true) pause();
    }
    ++g.coming;
  }
  PyEval_RestoreThread(std::exchange(left, nullptr));
  std::lock_guard lock(g.mu);
  --g.coming;
  g.changed.notify_all();
}

// A thread that waits for the GIL asks for it after one switch interval, and only then does letting
// go of it hand it over: whoever lets go earlier, takes it again before the other wakes.
void turn() {
  using Clock = std::chrono::steady_clock;
  static thread_local auto next = Clock::now();
  if (Clock::now() < next) return;
  const bool was_away = left;
  if (was_away)
    take();
  else if (wanted())
    release(), take();
  const double interval = py::cast<double>(python_module("sys").attr("getswitchinterval")());
  next = Clock::now() +
         std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(2 * interval));
  if (SignalsEnd::on() && signals_pending()) {
    if (was_away) release();
    throw SignalWaits();
  }
  if (PyErr_CheckSignals() < 0) {
    const py::error_already_set raised;
    if (was_away) release();  // as before: whoever let go takes it back
    throw raised;
  }
  if (was_away) release();
}

void before_fork() {
  Gate& g = gate();
  std::unique_lock lock(g.mu);
  g.changed.wait(lock, [&] { return g.away == 0; });
  lock.release();
}
void in_parent() { gate().mu.unlock(); }
void in_child() {  // the other threads are gone
  Gate& g = gate();
  new (&g.changed) std::condition_variable;
  g.coming = 0;
  g.mu.unlock();
}

void close() {
  Gate& g = gate();
  {
    std::lock_guard lock(g.mu);
    g.closed = true;
  }
  PyThreadState* own = PyEval_SaveThread();
  {
    std::unique_lock lock(g.mu);
    g.changed.wait(lock, [&] { return g.away == 0 && g.coming == 0; });
  }
  PyEval_RestoreThread(own);
}

}  // namespace

void let_others_run() {
  if (!left && wanted() && interpreter_is_awaited()) release(), take();
}

void init_gil() {
  gil = {wanted, release, take, turn};
  pthread_atfork(before_fork, in_parent, in_child);
  if (PyInterpreterState_Get() == PyInterpreterState_Main())
    python_module("atexit").attr("register")(py::cpp_function(close));
}

}  // namespace pijit
