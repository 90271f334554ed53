// From CPython 3.11 on, frames are structs, which know their functions and how they came about. For
// interpreter.h, behind the frame file.
#pragma once

namespace pijit::frames {

constexpr bool kCallsTakeStack = false;  // of C, where there is no hook
inline _PyInterpreterFrame* caller_of(const _PyInterpreterFrame* f) { return f->previous; }
inline _PyInterpreterFrame* of_object(PyFrameObject* object) { return object->f_frame; }
// Of a call, no generator.
inline bool is_of_call(const _PyInterpreterFrame* f) { return f->owner == FRAME_OWNED_BY_THREAD; }
inline bool is_of_function(const _PyInterpreterFrame* f, PyObject* function) {
  return function_of(f) == function;
}
inline bool has_begun(_PyInterpreterFrame* f) { return !_PyFrame_IsIncomplete(f); }
inline int num_units(const PyCodeObject* c) { return static_cast<int>(Py_SIZE(c)); }
inline int num_slots(const PyCodeObject* c) { return c->co_nlocalsplus; }

}  // namespace pijit::frames
