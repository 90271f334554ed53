// Python's and NumPy's data as arrays and back.
#pragma once
#include <optional>

#include "objects/tensor.h"
#include "python/convert.h"
#include "python/names.h"

namespace pijit {

// Array from any data: tensors, NumPy arrays, scalars, nested sequences. Throws.
ArrayRef array_from(PyObject* data, std::optional<DType> dtype);
// Is NumPy there? Before, no object is of one of its types, and nothing needs to load it.
bool numpy_is_loaded();
bool is_ndarray(PyObject* o);
// A NumPy scalar of a dtype that tensors have.
bool is_numpy_scalar(PyObject* o);
// While it lives, what NumPy would warn of raises FloatingPointError.
class NumpyRaises {
 public:
  NumpyRaises() : state_(python_module("numpy").attr("errstate")(py::arg("all") = "raise")) {
    state_.attr("__enter__")();
  }
  ~NumpyRaises() {
    PyObject *type, *value, *trace;
    PyErr_Fetch(&type, &value, &trace);
    PyObject* args[] = {state_.ptr(), Py_None, Py_None, Py_None};
    Py_XDECREF(PyObject_VectorcallMethod(names.exit, args, 4, nullptr));
    PyErr_Restore(type, value, trace);
  }
  NumpyRaises(const NumpyRaises&) = delete;

 private:
  py::object state_;
};
// The elements of a Tensor where the host reads them. Others run while it waits for the device.
ArrayRef on_host(const ArrayRef& a);
py::object to_numpy(const ArrayRef& a, bool copy);

// The name of a dtype that NumPy knows by this object; empty: none.
std::string numpy_dtype_name(PyObject* o);
// The places of a mask that are true, by NumPy; none: it is no mask of bools.
std::optional<py::tuple> true_places(PyObject* o);

}  // namespace pijit
