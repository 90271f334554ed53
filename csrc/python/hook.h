// Calls of Python functions, seen before their frames run (PEP 523). The hook is installed only
// while some thread asks for it, chains to the one that was there, and steps aside where the C
// stack runs short: with a hook every Python call is a C call.
#pragma once
#include <pybind11/pytypes.h>

#include <span>
#include <vector>

#include "python/compat.h"

namespace pijit {

struct CodeInfo;

// A function call whose arguments are bound and whose frame has not begun.
class PendingCall {
 public:
  // Up to CPython 3.10 a frame does not know it: one with its code, globals and cells is made.
  pybind11::object func() const;
  PyObject* code() const;     // borrowed
  PyObject* globals() const;  // borrowed
  // Of free variables, borrowed.
  std::span<PyObject* const> cells() const;
  // The first n, borrowed; null but for arguments. They lie in the frame, or are copied to `room`.
  std::span<PyObject* const> slots(size_t n, std::vector<PyObject*>* room) const;
  // Runs the function as CPython does; afterwards, the rest of this object is void. Null: raised.
  PyObject* run();

 private:
  friend PyObject* evaluate(PyThreadState*, _PyInterpreterFrame*, int);
  friend class LiveFrame;
  PendingCall(PyThreadState* thread, _PyInterpreterFrame* frame) : thread_(thread), frame_(frame) {}
  void finish();
  PyThreadState* thread_;
  _PyInterpreterFrame* frame_;
  bool ran_ = false;
};

// Once, when the module is loaded: whether frames are what our headers say. If not, there is one
// warning, and nothing is ever captured.
void init_hook();
bool frames_are_known();
// The test itself. Arguments lie in the slots from this one on.
bool frames_are_as_expected(int slot = 0);

// Answers a call: its result, or null with an exception set.
using CallHandler = PyObject* (*)(PendingCall&);
void set_call_handler(CallHandler handler);

// Keeps the hook installed, and lets the handler get the calls of all threads that are under no
// HookScope.
void set_hook_for_all(bool on);
bool hook_is_for_all();
// Is this thread under a HookScope that is off?
bool hook_is_off_here();

// While the innermost one of a thread is on, the handler gets the thread's calls, but for the next
// one of `but` (which may be null). While it is off, the handler gets none.
class HookScope {
 public:
  explicit HookScope(bool on, PyObject* but = nullptr);
  ~HookScope();
  HookScope(const HookScope&) = delete;

 private:
  bool on_;
  uint8_t before_;
  PyObject* but_before_;
};

// CPython calls its own functions faster where nobody looks: no handler gets this thread's calls
// until the hook is woken, or until the scope ends or another begins.
void put_hook_to_sleep();
void wake_hook();
[[gnu::tls_model("initial-exec")]] extern constinit thread_local bool hook_sleeps;

class LiveFrame;
enum class LineAnswer : uint8_t { kGoOn, kStop, kRaise };
using LineHandler = LineAnswer (*)(LiveFrame&);
// A frame that runs, seen where one of its lines begins; or any of this thread's, as long as no
// Python code runs.
class LiveFrame {
 public:
  explicit LiveFrame(_PyInterpreterFrame* frame) : frame_(frame) {}
  // The one that called the C code which asks; then, who called that.
  static LiveFrame innermost();
  LiveFrame caller() const;
  explicit operator bool() const { return frame_; }
  bool complete() const;          // it has begun, and is no generator's
  pybind11::object func() const;  // as PendingCall's
  PyObject* code() const;         // borrowed
  PyObject* globals() const;      // borrowed
  bool names_in_globals() const;  // a module's
  int offset() const;             // of its instruction, in code units
  const void* id() const { return frame_; }
  // At the beginning of a line:
  int num_slots() const;
  PyObject* slot(int k) const;  // borrowed
  std::vector<pybind11::object> stack() const;
  // Sets what the frame, which runs `code`, goes on with: at an instruction. Slots without a value
  // are left alone. False: an exception leaves it instead.
  bool go_on_at(const CodeInfo& code, int instr, std::vector<pybind11::object> slots,
                std::vector<pybind11::object> stack);

 private:
  friend bool watch_lines(LiveFrame, LineHandler);
  _PyInterpreterFrame* frame_;
};
// From now on the handler sees the lines of this frame, until it ends or the handler stops it; what
// the frame calls is not slowed down. False: this CPython can't.
bool watch_lines(LiveFrame frame, LineHandler handler);
// CPython waits to run a signal's handler, or another thread.
bool interpreter_is_awaited();
// Where that shows, for this thread: some of these bits are set.
struct Breaker {
  const void* address;
  uint32_t mask;
};
Breaker interpreter_breaker();

// Moves values into the first slots of the Python frame that calls us, and others to where its
// stack begins, if it lies there already: CPython 3.14 and later show it to C code.
void fill_frame(std::vector<pybind11::object>* slots,
                std::vector<pybind11::object>* stack = nullptr);

// A tracer, profiler, debugger or coverage tool watches this thread.
bool thread_is_traced();

// Bytes of C stack that this thread has left.
size_t stack_left();
// Is there too little for more than what goes on already?
bool stack_is_low();
// Raises RecursionError (and returns true) where little C stack is left. For every call that goes
// through C code of ours where CPython's own would need no C stack.
[[gnu::tls_model("initial-exec")]] extern constinit thread_local uintptr_t stack_floor;
bool raise_short_stack();
inline bool stack_is_short() {
  return reinterpret_cast<uintptr_t>(__builtin_frame_address(0)) <= stack_floor &&
         raise_short_stack();
}

}  // namespace pijit
