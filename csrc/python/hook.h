// Calls of Python functions, seen before their frames run (PEP 523). The hook is installed only
// while some thread asks for it, chains to the one that was there, and steps aside where the C
// stack runs short: with a hook every Python call is a C call.
#pragma once
#include <pybind11/pybind11.h>

struct _PyInterpreterFrame;

namespace pijit {

// A function call whose arguments are bound and whose frame has not begun.
class PendingCall {
 public:
  PyObject* func() const;          // borrowed
  PyObject* code() const;          // borrowed
  PyObject* const* slots() const;  // borrowed; null but for arguments
  // Runs the function as CPython does; afterwards, the rest of this object is void. Null: raised.
  PyObject* run();

 private:
  friend PyObject* evaluate(PyThreadState*, _PyInterpreterFrame*, int);
  PendingCall(PyThreadState* thread, _PyInterpreterFrame* frame) : thread_(thread), frame_(frame) {}
  void finish();
  PyThreadState* thread_;
  _PyInterpreterFrame* frame_;
  bool ran_ = false;
};

// Answers a call: its result, or null with an exception set.
using CallHandler = PyObject* (*)(PendingCall&);
void set_call_handler(CallHandler handler);

// While the innermost one of a thread is on, the handler gets the thread's calls, but for the next
// one of `but` (which may be null).
class HookScope {
 public:
  explicit HookScope(bool on, PyObject* but = nullptr);
  ~HookScope();
  HookScope(const HookScope&) = delete;

 private:
  bool on_, before_;
  PyObject* but_before_;
};

// A tracer, profiler, debugger or coverage tool watches this thread.
bool thread_is_traced();

// Bytes of C stack that this thread has left.
size_t stack_left();
// Is there too little for more than what goes on already?
bool stack_is_low();
// A signal has come whose handler is Python code, and this thread is to run it.
bool signals_pending();
// Raises RecursionError (and returns true) where little C stack is left.
bool stack_is_short();

}  // namespace pijit
