// Tensor: a Python object that holds an array.
#pragma once
#include <Python.h>

#include "runtime/array.h"

namespace pijit {

struct View;  // objects/views.h

// A tensor that a subscript gave is a part of the tensor it was read from: item assignment to it
// assigns to that one as well, at the same place, also where it is no view of it (MindSpore's
// rule).
struct TensorObject {
  PyObject_HEAD ArrayRef array;
  PyObject* weakrefs;
  PyObject *whole, *place;  // null: no part
  uint64_t depth;           // of a part: at most how many wholes are around it
  View* view;               // null: it shares its elements with no other Tensor
};
extern PyTypeObject* tensor_type;
inline bool is_tensor(PyObject* o) { return PyObject_TypeCheck(o, tensor_type); }
inline ArrayRef& array_of(PyObject* o) { return reinterpret_cast<TensorObject*>(o)->array; }
PyObject* new_tensor(ArrayRef a);  // new reference
void make_part(PyObject* part, PyObject* whole, PyObject* place);
inline bool is_part(PyObject* o) { return reinterpret_cast<TensorObject*>(o)->whole; }

PyTypeObject* make_tensor_type();

}  // namespace pijit
