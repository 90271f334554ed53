// DType: the type of a Tensor's elements.
#pragma once
#include <Python.h>

#include <optional>

#include "graph/dtype.h"
#include "python/convert.h"

namespace pijit {

struct DTypeObject {
  PyObject_HEAD DType dtype;
};
extern PyTypeObject* dtype_type;
PyObject* dtype_object(DType t);  // borrowed singleton
std::optional<DType> dtype_of(
    PyObject* o);  // DType object, name, NumPy dtype or Python scalar type

// What threads compute in (graph/op.h), as an object: a DType or None.
py::object compute_dtype_object();
std::optional<DType> compute_dtype_of(PyObject* o);

PyTypeObject* make_dtype_type();

}  // namespace pijit
