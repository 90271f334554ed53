// Slots and stacks of frames up to CPython 3.13, which hold objects. For frame files.
#pragma once

namespace pijit::frames {

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

}  // namespace pijit::frames
