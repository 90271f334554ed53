// From CPython 3.13 on: where a frame is, how it is left, and what its thread waits for. For frame
// files, behind code_of().
#pragma once

namespace pijit::frames {

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

// What an evaluator owes a frame, also one that it does not run.
inline void clear_and_pop(PyThreadState* t, _PyInterpreterFrame* f) {
  _PyEval_FrameClearAndPop(t, f);
}

inline uint64_t monitoring_version(const PyThreadState* t) {
  return _Py_atomic_load_uintptr_relaxed(&t->interp->ceval.instrumentation_version);
}

inline const void* breaker(const PyThreadState* t) { return &t->eval_breaker; }
constexpr uint32_t kBreakerMask = _PY_EVAL_EVENTS_MASK;  // little-endian: the low half of the word
inline bool is_awaited(const PyThreadState* t) {
  return (_Py_atomic_load_uintptr_relaxed(&t->eval_breaker) & _PY_EVAL_EVENTS_MASK) != 0;
}

}  // namespace pijit::frames
