// Frames and interpreters as CPython 3.11 and 3.12 have them. Their headers declare them for
// CPython's own build only, in C: without C's atomics C++ can read them, too.
#define Py_BUILD_CORE 1
#include <Python.h>
#undef HAVE_STD_ATOMIC
#include <internal/pycore_frame.h>
#include <internal/pycore_interp.h>
#include <internal/pycore_runtime.h>
#undef Py_BUILD_CORE

#include <pybind11/eval.h>

#include "python/hook.h"

#include <pthread.h>

#include <algorithm>

namespace pijit {
namespace py = pybind11;

namespace {

constexpr bool kHookClearsFrame = PY_VERSION_HEX >= 0x030C0000;
// What a call of the evaluator takes of the thread's allowance of C recursion; without a hook,
// calls between Python functions take none.
constexpr int kRecursionUnits = 2;

CallHandler handler;
_PyFrameEvalFunction previous;  // what was there before, while installed
int users;                      // scopes that are on, of all threads
bool paused;                    // for the moment taken away
struct Thread {
  bool on = false;
  PyObject* but = nullptr;
};
thread_local Thread here;

struct Stack {
  char* low = nullptr;
  size_t size = 0;
  Stack() {
    pthread_attr_t attr;
    void* at;
    if (pthread_getattr_np(pthread_self(), &attr) == 0) {
      if (pthread_attr_getstack(&attr, &at, &size) == 0) low = static_cast<char*>(at);
      pthread_attr_destroy(&attr);
    }
  }
};
const Stack& stack() {
  static thread_local const Stack s;
  return s;
}

PyCodeObject* code_of(_PyInterpreterFrame* f) { return f->f_code; }

}  // namespace

PyObject* evaluate(PyThreadState*, _PyInterpreterFrame*, int);

namespace {

void install() {
  auto* interp = PyInterpreterState_Get();
  const auto current = _PyInterpreterState_GetEvalFrameFunc(interp);
  if (current == evaluate) return;
  previous = current;
  _PyInterpreterState_SetEvalFrameFunc(interp, evaluate);
}
void uninstall() {
  auto* interp = PyInterpreterState_Get();
  // who came after us calls us still: then we pass everything on
  if (_PyInterpreterState_GetEvalFrameFunc(interp) == evaluate)
    _PyInterpreterState_SetEvalFrameFunc(interp, previous);
}

PyObject* run_plain(PyThreadState* t, _PyInterpreterFrame* f, int throwing) {
  if (stack_left() < stack().size / 2 && !paused) {
    // Calls from here on are CPython's own again, which need no C stack.
    paused = true;
    uninstall();
    PyObject* r = previous(t, f, throwing);
    paused = false;
    if (users) install();
    return r;
  }
#if PY_VERSION_HEX >= 0x030C0000
  t->c_recursion_remaining += kRecursionUnits;
  PyObject* r = previous(t, f, throwing);
  t->c_recursion_remaining -= kRecursionUnits;
  return r;
#else
  return previous(t, f, throwing);
#endif
}

}  // namespace

PyObject* evaluate(PyThreadState* t, _PyInterpreterFrame* f, int throwing) {
  PyCodeObject* code = code_of(f);
  constexpr int kPlain = CO_OPTIMIZED | CO_NEWLOCALS;
  constexpr int kSuspending = CO_GENERATOR | CO_COROUTINE | CO_ASYNC_GENERATOR;
  if (throwing || !here.on || (code->co_flags & (kPlain | kSuspending)) != kPlain ||
      f->owner != FRAME_OWNED_BY_THREAD || f->prev_instr != _PyCode_CODE(code) - 1)
    return run_plain(t, f, throwing);
  if (here.but == reinterpret_cast<PyObject*>(code)) {
    here.but = nullptr;
    return run_plain(t, f, throwing);
  }
  PendingCall call(t, f);
  PyObject* r = handler(call);
  if (!call.ran_) call.finish();
  return r;
}

PyObject* PendingCall::func() const {
#if PY_VERSION_HEX >= 0x030C0000
  return frame_->f_funcobj;
#else
  return reinterpret_cast<PyObject*>(frame_->f_func);
#endif
}
PyObject* PendingCall::code() const { return reinterpret_cast<PyObject*>(code_of(frame_)); }
PyObject* const* PendingCall::slots() const { return frame_->localsplus; }
PyObject* PendingCall::run() {
  ran_ = true;
  return run_plain(thread_, frame_, 0);
}

// On 3.12 an evaluator clears and pops its frame. CPython exports no function for it, so its own
// evaluator does it, running code that only returns.
void PendingCall::finish() {
  if constexpr (kHookClearsFrame) {
#if PY_VERSION_HEX >= 0x030C0000
    static PyCodeObject* nothing = [] {
      const auto opcode = py::module_::import("opcode").attr("opmap")["RETURN_CONST"];
      const char bytes[2] = {static_cast<char>(py::cast<int>(opcode)), 0};
      using namespace py::literals;
      py::object code = py::eval("(lambda: None).__code__")
                            .attr("replace")("co_code"_a = py::bytes(bytes, 2),
                                             "co_consts"_a = py::make_tuple(py::none()),
                                             "co_exceptiontable"_a = py::bytes(""));
      return reinterpret_cast<PyCodeObject*>(code.release().ptr());
    }();
    PyObject *type, *value, *traceback;
    PyErr_Fetch(&type, &value, &traceback);
    PyCodeObject* code = frame_->f_code;
    frame_->f_code = reinterpret_cast<PyCodeObject*>(Py_NewRef(nothing));
    frame_->prev_instr = _PyCode_CODE(nothing) - 1;
    // This takes nothing that the call itself would not have taken.
    thread_->c_recursion_remaining += kRecursionUnits;
    ++thread_->py_recursion_remaining;
    PyObject* r = _PyEval_EvalFrameDefault(thread_, frame_, 0);
    --thread_->py_recursion_remaining;
    thread_->c_recursion_remaining -= kRecursionUnits;
    if (!r) PyErr_Clear();
    Py_XDECREF(r);
    Py_DECREF(code);
    PyErr_Restore(type, value, traceback);
#endif
  }
}

void set_call_handler(CallHandler h) { handler = h; }

HookScope::HookScope(bool on, PyObject* but) : on_(on), before_(here.on), but_before_(here.but) {
  here.on = on;
  here.but = but;
  if (on && users++ == 0 && !paused) install();
}
HookScope::~HookScope() {
  here.on = before_;
  here.but = but_before_;
  if (on_ && --users == 0 && !paused) uninstall();
}

bool thread_is_traced() {
  PyThreadState* t = PyThreadState_Get();
  if (t->c_tracefunc || t->c_profilefunc) return true;
#if PY_VERSION_HEX >= 0x030C0000
  // Tools of sys.monitoring: asked for again when the events have changed.
  static uint64_t seen = 0;
  static bool tools = false;
  if (t->interp->monitoring_version == seen && !tools) return false;
  seen = t->interp->monitoring_version;
  tools = false;
  const auto get_tool = py::module_::import("sys").attr("monitoring").attr("get_tool");
  for (int id = 0; id < 6 && !tools; ++id) tools = !get_tool(id).is_none();
  return tools;
#else
  return false;
#endif
}

size_t stack_left() {
  const Stack& s = stack();
  const char* now = static_cast<const char*>(__builtin_frame_address(0));
  return !s.low || now < s.low ? 0 : static_cast<size_t>(now - s.low);
}
bool stack_is_low() {
  const Stack& s = stack();
  return s.low && stack_left() < std::min<size_t>(s.size / 2, 1 << 20);
}
bool signals_pending() {
  return _Py_atomic_load_relaxed(&_PyRuntime.ceval.signals_pending) &&
         PyThread_get_thread_ident() == _PyRuntime.main_thread;
}
bool stack_is_short() {
  const Stack& s = stack();
  if (!s.low || stack_left() > std::min<size_t>(s.size / 4, 512 << 10)) return false;
  PyErr_SetString(PyExc_RecursionError, "maximum recursion depth exceeded: the C stack is used up");
  return true;
}

}  // namespace pijit
