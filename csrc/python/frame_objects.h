// Slots and stacks of frames up to CPython 3.13, which hold objects. For frame files.
#pragma once

namespace pijit::frames {

constexpr bool kHoldNumbers = false;

inline PyObject* slot(const _PyInterpreterFrame* f, int k) { return f->localsplus[k]; }  // borrowed
inline PyObject* slot_at_begin(const _PyInterpreterFrame* f, int k) { return slot(f, k); }
// Puts an object there, whose reference it takes; whatever was there, it may be nobody's any more.
inline void put(_PyInterpreterFrame* f, int k, PyObject* o) { f->localsplus[k] = o; }
// The same, and gives the reference of the one before.
inline PyObject* exchange(_PyInterpreterFrame* f, int k, PyObject* o) {
  PyObject* before = f->localsplus[k];
  put(f, k, o);
  return before;
}
// Entries of the stack that are numbers, and no objects: here there are none.
inline bool is_number(const _PyInterpreterFrame*, int) { return false; }
inline int number_at(const _PyInterpreterFrame*, int) { return 0; }
inline void put_number(_PyInterpreterFrame*, int, int) {}
// All slots, where they lie there as objects.
inline PyObject* const* slots_in(const _PyInterpreterFrame* f) { return f->localsplus; }
// How many slots and entries of the stack there are.
inline int size_of(const _PyInterpreterFrame* f) { return f->stacktop; }
inline void set_size(_PyInterpreterFrame* f, int n) { f->stacktop = n; }

}  // namespace pijit::frames
