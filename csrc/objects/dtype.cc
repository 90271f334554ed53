#include "objects/dtype.h"

#include "base/error.h"
#include "graph/op.h"
#include "objects/data.h"
#include "python/convert.h"

namespace pijit {

PyTypeObject* dtype_type;

namespace {
PyObject* dtype_singletons[kNumDTypes];
}

namespace {
PyObject* dtype_repr(PyObject* o) {
  const std::string s(public_name_of(reinterpret_cast<DTypeObject*>(o)->dtype));
  return PyUnicode_FromString(str_cat("mindspore.", s).c_str());
}
PyObject* dtype_str(PyObject* o) {
  std::string s(public_name_of(reinterpret_cast<DTypeObject*>(o)->dtype));
  s[0] = static_cast<char>(std::toupper(s[0]));
  if (s[0] == 'U') s[1] = 'I';
  if (s == "Bfloat16") s = "BFloat16";
  return PyUnicode_FromString(s.c_str());
}
PyObject* dtype_name(PyObject* o, void*) {
  return PyUnicode_FromString(
      std::string(public_name_of(reinterpret_cast<DTypeObject*>(o)->dtype)).c_str());
}
PyObject* dtype_size(PyObject* o, void*) {
  return PyLong_FromSize_t(size_of(reinterpret_cast<DTypeObject*>(o)->dtype));
}
PyObject* dtype_is_float(PyObject* o, void*) {
  return PyBool_FromLong(is_float(reinterpret_cast<DTypeObject*>(o)->dtype));
}
PyObject* dtype_reduce(PyObject* o, PyObject*) {
  PyObject* m = PyImport_ImportModule("pijit._C");
  if (!m) return nullptr;
  PyObject* f = PyObject_GetAttrString(m, "dtype");
  Py_DECREF(m);
  if (!f) return nullptr;
  return Py_BuildValue("(N(N))", f, dtype_name(o, nullptr));
}
PyGetSetDef dtype_getset[] = {{"name", dtype_name, nullptr, "public name, as 'float32'", nullptr},
                              {"itemsize", dtype_size, nullptr, "bytes per element", nullptr},
                              {"is_floating_point", dtype_is_float, nullptr, nullptr, nullptr},
                              {nullptr, nullptr, nullptr, nullptr, nullptr}};
PyMethodDef dtype_methods[] = {{"__reduce__", dtype_reduce, METH_NOARGS, nullptr},
                               {nullptr, nullptr, 0, nullptr}};
PyType_Slot dtype_slots[] = {{Py_tp_doc, const_cast<char*>("The type of a Tensor's elements.")},
                             {Py_tp_repr, reinterpret_cast<void*>(dtype_repr)},
                             {Py_tp_str, reinterpret_cast<void*>(dtype_str)},
                             {Py_tp_getset, dtype_getset},
                             {Py_tp_methods, dtype_methods},
                             {0, nullptr}};
PyType_Spec dtype_spec = {"pijit._C.DType", sizeof(DTypeObject), 0,
                          Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, dtype_slots};
}  // namespace

PyObject* dtype_object(DType t) { return dtype_singletons[static_cast<int>(t)]; }

std::optional<DType> dtype_of(PyObject* o) {
  if (Py_TYPE(o) == dtype_type) return reinterpret_cast<DTypeObject*>(o)->dtype;
  if (o == reinterpret_cast<PyObject*>(&PyBool_Type)) return DType::Bool;
  if (o == reinterpret_cast<PyObject*>(&PyLong_Type)) return DType::I64;
  if (o == reinterpret_cast<PyObject*>(&PyFloat_Type)) return DType::F32;
  if (o == reinterpret_cast<PyObject*>(&PyComplex_Type)) return DType::C128;
  std::string name;
  if (PyUnicode_Check(o)) {
    name = text_of(o);
  } else {
    name = numpy_dtype_name(o);
    if (name.empty()) return std::nullopt;
  }
  return dtype_from_name(name);
}

py::object compute_dtype_object() {
  return py::reinterpret_borrow<py::object>(compute_dtype ? dtype_object(*compute_dtype) : Py_None);
}
std::optional<DType> compute_dtype_of(PyObject* o) {
  if (o == Py_None) return std::nullopt;
  const auto t = dtype_of(o);
  OP_CHECK(t && is_float(*t), kType, "[compute_in] expected a floating dtype or None");
  return t;
}

PyTypeObject* make_dtype_type() {
  dtype_type =
      reinterpret_cast<PyTypeObject*>(checked(type_without_instances(&dtype_spec)).release().ptr());
  for (int i = 0; i < kNumDTypes; ++i) {
    PyObject* o = dtype_type->tp_alloc(dtype_type, 0);
    reinterpret_cast<DTypeObject*>(o)->dtype = static_cast<DType>(i);
    dtype_singletons[i] = o;
  }
  return dtype_type;
}

}  // namespace pijit
