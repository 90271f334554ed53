// Frames of CPython 3.14 and 3.15: slots and the stack hold references that may be borrowed, the
// stack numbers, too.
#pragma once
#include <cstdint>

#include <internal/pycore_ceval.h>
#include <internal/pycore_frame.h>
#include <internal/pycore_instruments.h>
#include <internal/pycore_interp.h>
#include <internal/pycore_interpframe.h>
#include <internal/pycore_runtime.h>

namespace pijit::frames {

constexpr bool kHoldNumbers = true;

// Not of the frames that the evaluator makes for itself.
inline PyCodeObject* code_of(const _PyInterpreterFrame* f) {
  return reinterpret_cast<PyCodeObject*>(PyStackRef_AsPyObjectBorrow(f->f_executable));
}
inline PyObject* function_of(const _PyInterpreterFrame* f) {
  return PyStackRef_AsPyObjectBorrow(f->f_funcobj);
}

// Of a Python function, module or class, not one that the evaluator makes for a call from C.
inline bool is_python(const _PyInterpreterFrame* f) {
  return f->owner < FRAME_OWNED_BY_INTERPRETER;
}
inline bool is_number(const _PyInterpreterFrame* f, int k) {
  return (f->localsplus[k].bits & Py_INT_TAG) == Py_INT_TAG;
}
// The place of an instruction that raised, or of an item that comes next.
inline int number_at(const _PyInterpreterFrame* f, int k) {
  return static_cast<int>(PyStackRef_UntagInt(f->localsplus[k]));
}
inline void put_number(_PyInterpreterFrame* f, int k, int n) {
  f->localsplus[k] = PyStackRef_TagInt(n);
}
inline PyObject* slot(const _PyInterpreterFrame* f, int k) {  // borrowed
  const _PyStackRef x = f->localsplus[k];
  return PyStackRef_IsNull(x) || is_number(f, k) ? nullptr : PyStackRef_AsPyObjectBorrow(x);
}
inline PyObject* slot_at_begin(const _PyInterpreterFrame* f, int k) { return slot(f, k); }
// Puts an object there, whose reference it takes; whatever was there, it may be nobody's any more.
inline void put(_PyInterpreterFrame* f, int k, PyObject* o) {
  f->localsplus[k] = o ? PyStackRef_FromPyObjectSteal(o) : PyStackRef_NULL;
}
// The same, and gives the reference of the one before.
inline PyObject* exchange(_PyInterpreterFrame* f, int k, PyObject* o) {
  const _PyStackRef before = f->localsplus[k];
  const bool nothing = PyStackRef_IsNull(before) || is_number(f, k);
  put(f, k, o);
  return nothing ? nullptr : PyStackRef_AsPyObjectSteal(before);
}
// All slots, where they lie there as objects: here they don't.
inline PyObject* const* slots_in(const _PyInterpreterFrame*) { return nullptr; }
// How many slots and entries of the stack there are.
inline int size_of(const _PyInterpreterFrame* f) {
  return static_cast<int>(f->stackpointer - f->localsplus);
}
inline void set_size(_PyInterpreterFrame* f, int n) { f->stackpointer = f->localsplus + n; }

}  // namespace pijit::frames

#include "python/frame_places.h"
