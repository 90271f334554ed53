#include "python/convert.h"

namespace pijit {
namespace {

[[noreturn]] void wrong(const char* function, const std::string& name, const char* want,
                        py::handle o) {
  throw OpError(OpError::kType, str_cat("[", function, "] ", name, " must be ", want, ", got ",
                                        Py_TYPE(o.ptr())->tp_name));
}

}  // namespace

std::string text_of(py::handle s) {
  PIJIT_CHECK(PyUnicode_Check(s.ptr()), "text of a ", Py_TYPE(s.ptr())->tp_name);
  Py_ssize_t n;
  if (const char* utf8 = PyUnicode_AsUTF8AndSize(s.ptr(), &n))
    return std::string(utf8, static_cast<size_t>(n));
  PyErr_Clear();
  const auto bytes = py::reinterpret_steal<py::object>(
      PyUnicode_AsEncodedString(s.ptr(), "utf-8", "surrogatepass"));
  if (!bytes) throw py::error_already_set();
  return std::string(PyBytes_AS_STRING(bytes.ptr()),
                     static_cast<size_t>(PyBytes_GET_SIZE(bytes.ptr())));
}

py::str str_of(const std::string& text) {
  PyObject* s =
      PyUnicode_DecodeUTF8(text.data(), static_cast<Py_ssize_t>(text.size()), "surrogatepass");
  if (!s) {
    PyErr_Clear();  // a part of a text, cut inside a character
    s = PyUnicode_DecodeUTF8(text.data(), static_cast<Py_ssize_t>(text.size()), "replace");
  }
  if (!s) throw py::error_already_set();
  return py::reinterpret_steal<py::str>(s);
}

py::object python_module(const char* name) {
  const py::str full(name);
  // by no globals: those of the running function may have no `__builtins__`
  if (PyObject* m = PyImport_GetModule(full.ptr())) return py::reinterpret_steal<py::object>(m);
  const auto imported = py::reinterpret_steal<py::object>(
      PyImport_ImportModuleLevelObject(full.ptr(), nullptr, nullptr, nullptr, 0));
  if (!imported) throw py::error_already_set();
  PyObject* m = PyImport_GetModule(full.ptr());  // a package's module, not the package
  if (!m) throw py::error_already_set();
  return py::reinterpret_steal<py::object>(m);
}

std::string shown(py::handle o, bool as_repr) {
  const auto s =
      py::reinterpret_steal<py::object>(as_repr ? PyObject_Repr(o.ptr()) : PyObject_Str(o.ptr()));
  if (s) return text_of(s);
  const py::error_already_set e;
  return str_cat("<", Py_TYPE(o.ptr())->tp_name, " whose ", as_repr ? "repr" : "str", " raised ",
                 reinterpret_cast<PyTypeObject*>(e.type().ptr())->tp_name, ">");
}

int64_t integer(const char* function, const std::string& name, py::handle o) {
  if (PyFloat_Check(o.ptr()) || !PyIndex_Check(o.ptr())) wrong(function, name, "an integer", o);
  const auto i = py::reinterpret_steal<py::object>(PyNumber_Index(o.ptr()));
  if (!i) throw py::error_already_set();
  int overflow = 0;
  const long long v = PyLong_AsLongLongAndOverflow(i.ptr(), &overflow);
  OP_CHECK(!overflow, kValue, "[", function, "] ", name, " must fit into 64 bits");
  if (v == -1 && PyErr_Occurred()) throw py::error_already_set();
  return v;
}

template <>
int64_t argument(const char* function, const char* name, py::handle o) {
  return integer(function, name, o);
}
template <>
double argument(const char* function, const char* name, py::handle o) {
  if (!PyFloat_Check(o.ptr())) wrong(function, name, "a float", o);
  return PyFloat_AS_DOUBLE(o.ptr());
}
template <>
bool argument(const char* function, const char* name, py::handle o) {
  if (!PyBool_Check(o.ptr())) wrong(function, name, "a bool", o);
  return o.ptr() == Py_True;
}
template <>
std::string argument(const char* function, const char* name, py::handle o) {
  if (!PyUnicode_Check(o.ptr())) wrong(function, name, "a string", o);
  return text_of(o);
}
template <>
std::vector<int64_t> argument(const char* function, const char* name, py::handle o) {
  if (!PyList_Check(o.ptr()) && !PyTuple_Check(o.ptr()))
    wrong(function, name, "a tuple or list of integers", o);
  std::vector<int64_t> v;
  for (auto x : o) v.push_back(integer(function, str_cat("an element of ", name), x));
  return v;
}
template <>
py::tuple argument(const char* function, const char* name, py::handle o) {
  if (!PyTuple_Check(o.ptr())) wrong(function, name, "a tuple", o);
  return py::reinterpret_borrow<py::tuple>(o);
}
template <>
py::list argument(const char* function, const char* name, py::handle o) {
  if (!PyList_Check(o.ptr())) wrong(function, name, "a list", o);
  return py::reinterpret_borrow<py::list>(o);
}
template <>
py::dict argument(const char* function, const char* name, py::handle o) {
  if (!PyDict_Check(o.ptr())) wrong(function, name, "a dict", o);
  return py::reinterpret_borrow<py::dict>(o);
}
template <>
py::function argument(const char* function, const char* name, py::handle o) {
  if (!PyCallable_Check(o.ptr())) wrong(function, name, "callable", o);
  return py::reinterpret_borrow<py::function>(o);
}
template <>
py::sequence argument(const char* function, const char* name, py::handle o) {
  if (!PyList_Check(o.ptr()) && !PyTuple_Check(o.ptr()))
    wrong(function, name, "a list or tuple", o);
  return py::reinterpret_borrow<py::sequence>(o);
}

}  // namespace pijit
