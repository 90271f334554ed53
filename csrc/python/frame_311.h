// Frames of CPython 3.11 and 3.12.
#pragma once
#include <cstdint>

#include <internal/pycore_frame.h>
#if PY_VERSION_HEX >= 0x030C0000
#include <internal/pycore_instruments.h>
#endif
#include <internal/pycore_interp.h>
#include <internal/pycore_runtime.h>

#include "python/c_recursion.h"
#include "python/frame_objects.h"

namespace pijit::frames {

inline PyCodeObject* code_of(const _PyInterpreterFrame* f) { return f->f_code; }
inline PyObject* function_of(const _PyInterpreterFrame* f) {
#if PY_VERSION_HEX >= 0x030C0000
  return f->f_funcobj;
#else
  return reinterpret_cast<PyObject*>(f->f_func);
#endif
}

// Of a Python function, module or class, not one that the evaluator makes for a call from C.
inline bool is_python(const _PyInterpreterFrame* f) {
#if PY_VERSION_HEX >= 0x030C0000
  return f->owner != FRAME_OWNED_BY_CSTACK;
#else
  return f != nullptr;
#endif
}
// Has none of its instructions run?
inline bool begins(const _PyInterpreterFrame* f) {
  return f->prev_instr == _PyCode_CODE(code_of(f)) - 1;
}
// The instruction that the frame is at, in code units.
inline int offset_of(_PyInterpreterFrame* f) { return _PyInterpreterFrame_LASTI(f); }
// At an event, where the evaluator reads the place anew: goes on there.
inline void go_on_at(_PyInterpreterFrame* f, int offset) {
  f->prev_instr = _PyCode_CODE(code_of(f)) + offset;
}

#if PY_VERSION_HEX >= 0x030C0000
// 3.12 exports no function for it, so its own evaluator does it, running code that only returns.
inline PyObject* nothing;  // init_hook() makes it of the one instruction
constexpr const char* kReturnsNothing = "RETURN_CONST";
// What an evaluator owes a frame from 3.12 on, also one that it does not run.
inline void clear_and_pop(PyThreadState* t, _PyInterpreterFrame* f) {
  auto* code = f->f_code;
  f->f_code = reinterpret_cast<PyCodeObject*>(Py_NewRef(nothing));
  f->prev_instr = _PyCode_CODE(f->f_code) - 1;
  // This takes nothing that the call itself would not have taken.
  add_c_recursion(t, kEvaluatorUnits);
  ++t->py_recursion_remaining;
  PyObject* r = _PyEval_EvalFrameDefault(t, f, 0);
  --t->py_recursion_remaining;
  add_c_recursion(t, -kEvaluatorUnits);
  if (!r) PyErr_Clear();
  Py_XDECREF(r);
  Py_DECREF(code);
}

inline uint64_t monitoring_version(const PyThreadState* t) { return t->interp->monitoring_version; }
#else
inline void clear_and_pop(PyThreadState*, _PyInterpreterFrame*) {}  // its caller does it
#endif

#if PY_VERSION_HEX < 0x030C0000
// CPython's tracing of the thread, which is off while what it calls runs.
inline void use_tracing(PyThreadState* t, bool on) { t->cframe->use_tracing = on ? 255 : 0; }
inline void set_tracer(PyThreadState* t, Py_tracefunc tracer) { t->c_tracefunc = tracer; }
inline void leave_tracing(PyThreadState* t) { PyThreadState_LeaveTracing(t); }
inline void enter_tracing(PyThreadState* t) { PyThreadState_EnterTracing(t); }
// From now on its line is that of its place.
inline void forget_line(PyFrameObject* object) { object->f_lineno = 0; }
#endif

inline const void* breaker(const PyThreadState* t) { return &t->interp->ceval.eval_breaker; }
constexpr uint32_t kBreakerMask = ~uint32_t{0};
inline bool is_awaited(const PyThreadState* t) {
  return _Py_atomic_load_relaxed(&t->interp->ceval.eval_breaker);
}

}  // namespace pijit::frames
