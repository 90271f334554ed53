// What CPython's versions call or keep differently, where a line or two tell it. Frames are in
// interpreter.h, bytecode is in dialect.h.
#pragma once
#include <Python.h>

#if PY_VERSION_HEX < 0x03090000 || PY_VERSION_HEX >= 0x03100000
#error "pijit runs on CPython 3.9 to 3.15"
#endif
#ifdef Py_GIL_DISABLED
#error "pijit needs a CPython with the global interpreter lock"
#endif

#if PY_VERSION_HEX >= 0x030C0000
#define PIJIT_CODE_EXTRA(name) PyUnstable_##name
#else
#define PIJIT_CODE_EXTRA(name) _Py##name
#endif

// What a frame is that runs. Up to 3.10, an object.
#if PY_VERSION_HEX >= 0x030B0000
struct _PyInterpreterFrame;
#else
#include <frameobject.h>
using _PyInterpreterFrame = PyFrameObject;
#endif

#if PY_VERSION_HEX < 0x030A0000
#define Py_TPFLAGS_DISALLOW_INSTANTIATION 0  // type_without_instances() sees to it
#define Py_TPFLAGS_SEQUENCE 0                // of `match`
#define Py_TPFLAGS_MAPPING 0
inline PyObject* Py_NewRef(PyObject* o) {
  Py_INCREF(o);
  return o;
}
inline PyObject* Py_XNewRef(PyObject* o) {
  Py_XINCREF(o);
  return o;
}
#define PySet_CheckExact(o) Py_IS_TYPE(o, &PySet_Type)
int PyGC_Disable();  // were there collections?
int PyGC_Enable();
#endif

#if PY_VERSION_HEX < 0x030B0000
inline PyObject* PyFrame_GetGlobals(PyFrameObject* f) { return Py_NewRef(f->f_globals); }
inline int PyFrame_GetLasti(PyFrameObject* f) { return f->f_lasti; }
#endif

namespace pijit {

// Strings that C code of old made lie elsewhere before somebody reads them.
inline bool text_is_ready([[maybe_unused]] PyObject* o) {
#if PY_VERSION_HEX < 0x030C0000
  return PyUnicode_IS_READY(o);
#else
  return true;
#endif
}

// The frame that the thread runs.
inline _PyInterpreterFrame*& current_frame(PyThreadState* t) {
#if PY_VERSION_HEX >= 0x030D0000
  return t->current_frame;
#elif PY_VERSION_HEX >= 0x030B0000
  return t->cframe->current_frame;
#else
  return t->frame;
#endif
}

// How many calls of Python functions are nested in a thread.
inline int recursion_depth(PyThreadState* t) {
#if PY_VERSION_HEX >= 0x030C0000
  return t->py_recursion_limit - t->py_recursion_remaining;
#elif PY_VERSION_HEX >= 0x030B0000
  return t->recursion_limit - t->recursion_remaining;
#else
  return t->recursion_depth;
#endif
}
inline void add_recursion_depth(PyThreadState* t, int more) {
#if PY_VERSION_HEX >= 0x030C0000
  t->py_recursion_remaining -= more;
#elif PY_VERSION_HEX >= 0x030B0000
  t->recursion_remaining -= more;
#else
  t->recursion_depth += more;
#endif
}

// Does `~` of a bool warn?
constexpr bool kInvertedBoolWarns = PY_VERSION_HEX >= 0x030C0000;

// Do the type's attributes stay as they are?
inline bool is_immutable(const PyTypeObject* t) {
#if PY_VERSION_HEX >= 0x030A0000
  return (t->tp_flags & Py_TPFLAGS_IMMUTABLETYPE) != 0;
#else
  return (t->tp_flags & Py_TPFLAGS_HEAPTYPE) == 0;
#endif
}

// A type of which Python can't make an object, by its Py_TPFLAGS_DISALLOW_INSTANTIATION.
inline PyObject* type_without_instances(PyType_Spec* spec) {
  PyObject* t = PyType_FromSpec(spec);
#if PY_VERSION_HEX < 0x030A0000
  if (t) reinterpret_cast<PyTypeObject*>(t)->tp_new = nullptr;
#endif
  return t;
}

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
