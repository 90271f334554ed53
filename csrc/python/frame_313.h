// Frames of CPython 3.13.
#pragma once
#include <cstdint>

#include <internal/pycore_ceval.h>
#include <internal/pycore_frame.h>
#include <internal/pycore_instruments.h>
#include <internal/pycore_interp.h>
#include <internal/pycore_runtime.h>

namespace pijit::frames {

// Not of the frames that the evaluator makes for itself, whose executable is None.
inline PyCodeObject* code_of(const _PyInterpreterFrame* f) {
  return reinterpret_cast<PyCodeObject*>(f->f_executable);
}
inline PyObject* function_of(const _PyInterpreterFrame* f) { return f->f_funcobj; }

// Of a Python function, module or class, not one that the evaluator makes for a call from C.
inline bool is_python(const _PyInterpreterFrame* f) { return f->owner != FRAME_OWNED_BY_CSTACK; }
// Has none of its instructions run?
inline bool begins(const _PyInterpreterFrame* f) {
  return f->instr_ptr == _PyCode_CODE(code_of(f));
}
// The instruction that the frame is at, in code units.
inline int offset_of(_PyInterpreterFrame* f) { return _PyInterpreterFrame_LASTI(f); }
// At an event, where the evaluator reads the place anew: goes on there.
inline void go_on_at(_PyInterpreterFrame* f, int offset) {
  f->instr_ptr = _PyCode_CODE(code_of(f)) + offset;
}

inline PyObject* slot(const _PyInterpreterFrame* f, int k) { return f->localsplus[k]; }  // borrowed
// Puts an object there, whose reference it takes, and gives that of the one before.
inline PyObject* exchange(_PyInterpreterFrame* f, int k, PyObject* o) {
  PyObject* before = f->localsplus[k];
  f->localsplus[k] = o;
  return before;
}
// All slots, where they lie there as objects.
inline PyObject* const* slots_in(const _PyInterpreterFrame* f) { return f->localsplus; }
// How many slots and entries of the stack there are.
inline int size_of(const _PyInterpreterFrame* f) { return f->stacktop; }
inline void set_size(_PyInterpreterFrame* f, int n) { f->stacktop = n; }

// What a call of the evaluator takes of the thread's allowance of C recursion; without a hook,
// calls between Python functions take none.
constexpr int kRecursionUnits = 2;
inline void add_recursion(PyThreadState* t, int units) { t->c_recursion_remaining += units; }

// An evaluator clears and pops its frame.
inline void clear_and_pop(PyThreadState* t, _PyInterpreterFrame* f) {
  _PyEval_FrameClearAndPop(t, f);
}

inline uint64_t monitoring_version(const PyThreadState* t) {
  return _Py_atomic_load_uintptr_relaxed(&t->interp->ceval.instrumentation_version);
}

inline bool is_awaited(const PyThreadState* t) {
  return (_Py_atomic_load_uintptr_relaxed(&t->eval_breaker) & _PY_EVAL_EVENTS_MASK) != 0;
}
inline bool signals_pending(const PyThreadState* t) {
  return (_Py_atomic_load_uintptr_relaxed(&t->eval_breaker) & _PY_SIGNALS_PENDING_BIT) != 0 &&
         PyThread_get_thread_ident() == _PyRuntime.main_thread;
}

}  // namespace pijit::frames
