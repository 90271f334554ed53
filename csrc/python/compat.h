// What CPython's versions call or keep differently, where a line or two tell it. Frames are in
// interpreter.h, bytecode is in dialect.h.
#pragma once
#include <Python.h>

struct _PyInterpreterFrame;

#if PY_VERSION_HEX < 0x030B0000 || PY_VERSION_HEX >= 0x03100000
#error "pijit runs on CPython 3.11 to 3.15"
#endif
#ifdef Py_GIL_DISABLED
#error "pijit needs a CPython with the global interpreter lock"
#endif

#if PY_VERSION_HEX >= 0x030C0000
#define PIJIT_CODE_EXTRA(name) PyUnstable_##name
#else
#define PIJIT_CODE_EXTRA(name) _Py##name
#endif

namespace pijit {

// The frame that the thread runs.
inline _PyInterpreterFrame*& current_frame(PyThreadState* t) {
#if PY_VERSION_HEX >= 0x030D0000
  return t->current_frame;
#else
  return t->cframe->current_frame;
#endif
}

// How many calls of Python functions a thread may still nest, and how many it may at all.
inline int& recursion_left(PyThreadState* t) {
#if PY_VERSION_HEX >= 0x030C0000
  return t->py_recursion_remaining;
#else
  return t->recursion_remaining;
#endif
}
inline int recursion_limit(PyThreadState* t) {
#if PY_VERSION_HEX >= 0x030C0000
  return t->py_recursion_limit;
#else
  return t->recursion_limit;
#endif
}

// Does `~` of a bool warn?
constexpr bool kInvertedBoolWarns = PY_VERSION_HEX >= 0x030C0000;

// A number that changes whenever the type or a base does; 0: it has none now.
inline unsigned known_type_version(const PyTypeObject* t) {
#if PY_VERSION_HEX >= 0x030D0000
  return t->tp_version_tag;  // the flag of older versions is there, and never set
#else
  return (t->tp_flags & Py_TPFLAGS_VALID_VERSION_TAG) != 0 ? t->tp_version_tag : 0;
#endif
}
inline bool has_type_version(const PyTypeObject* t, uint64_t version) {
  return version != 0 && known_type_version(t) == version;
}

// Does a weak reference still lead to the object?
inline bool leads_to(PyObject* reference, PyObject* o) {
#if PY_VERSION_HEX >= 0x030D0000
  PyObject* now = nullptr;
  if (PyWeakref_GetRef(reference, &now) < 0) PyErr_Clear();
  Py_XDECREF(now);
  return now != nullptr && now == o;
#else
  return PyWeakref_GET_OBJECT(reference) == o;
#endif
}

// What stands in a namespace for a module that is imported when it is used.
#if PY_VERSION_HEX >= 0x030F0000
extern "C" {
PyAPI_DATA(PyTypeObject) PyLazyImport_Type;
}
inline bool is_lazy_import(PyObject* o) { return Py_IS_TYPE(o, &PyLazyImport_Type); }
#else
inline bool is_lazy_import(PyObject*) { return false; }
#endif

// Does a loop over such an object keep it and a number, the place of the next item, on its stack?
inline bool is_iterated_by_number([[maybe_unused]] const PyTypeObject* t) {
#if PY_VERSION_HEX >= 0x030F0000
  return t->_tp_iteritem != nullptr;
#else
  return false;
#endif
}

}  // namespace pijit
