// Frames of CPython 3.14: slots and the stack hold references that may be borrowed.
#pragma once
#include <cstdint>

#include <internal/pycore_ceval.h>
#include <internal/pycore_frame.h>
#include <internal/pycore_instruments.h>
#include <internal/pycore_interp.h>
#include <internal/pycore_interpframe.h>
#include <internal/pycore_runtime.h>

namespace pijit::frames {

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
inline PyObject* slot(const _PyInterpreterFrame* f, int k) {  // borrowed
  const _PyStackRef x = f->localsplus[k];
  return PyStackRef_IsNull(x) ? nullptr : PyStackRef_AsPyObjectBorrow(x);
}
// Puts an object there, whose reference it takes, and gives that of the one before.
inline PyObject* exchange(_PyInterpreterFrame* f, int k, PyObject* o) {
  const _PyStackRef before = f->localsplus[k];
  f->localsplus[k] = o ? PyStackRef_FromPyObjectSteal(o) : PyStackRef_NULL;
  return PyStackRef_IsNull(before) ? nullptr : PyStackRef_AsPyObjectSteal(before);
}
// All slots, where they lie there as objects: here they don't.
inline PyObject* const* slots_in(const _PyInterpreterFrame*) { return nullptr; }
// How many slots and entries of the stack there are.
inline int size_of(const _PyInterpreterFrame* f) {
  return static_cast<int>(f->stackpointer - f->localsplus);
}
inline void set_size(_PyInterpreterFrame* f, int n) { f->stackpointer = f->localsplus + n; }

// The C stack is measured by its addresses, so calls of the evaluator take no allowance.
constexpr int kRecursionUnits = 0;
inline void add_recursion(PyThreadState*, int) {}

}  // namespace pijit::frames

#include "python/frame_places.h"
