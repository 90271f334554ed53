// Functions and methods for Python. Few files define them: <pybind11/pybind11.h>, which this needs,
// makes each file that includes it compile all that pybind11 does for calls.
#pragma once
#include <pybind11/pybind11.h>

#include <string>
#include <vector>

#include "python/convert.h"

namespace pijit {

// A function that Python calls by positions or names, of arguments that have these names; those
// with a default may be left out. pybind11's own dispatch would answer a wrong call with C++ types.
struct Parameter {
  const char* name;
  py::object value_if_left_out = {};
};
using Parameters = std::vector<Parameter>;
std::vector<py::object> bind_arguments(const char* function, const Parameters& parameters,
                                       const py::args& args, const py::kwargs& kwargs);
template <class R>
py::object as_object(R&& result) {
  if constexpr (std::is_convertible_v<R, py::object>)
    return std::forward<R>(result);
  else
    return py::cast(std::forward<R>(result));
}
template <class F>
void define(py::module_& m, const char* name, Parameters parameters, F f, const char* doc = "") {
  m.def(
      name,
      [name, parameters = std::move(parameters), f](const py::args& a, const py::kwargs& k) {
        return as_object(f(bind_arguments(name, parameters, a, k)));
      },
      doc);
}
// A method; f gets the object of the class first.
template <class T, class F>
void define_method(py::class_<T>& cls, const char* name, Parameters parameters, F f) {
  parameters.insert(parameters.begin(), Parameter{"self"});
  auto method = [name, cls = py::handle(cls), parameters = std::move(parameters), f](
                    const py::args& a, const py::kwargs& k) {
    std::vector<py::object> all = bind_arguments(name, parameters, a, k);
    OP_CHECK(PyObject_IsInstance(all[0].ptr(), cls.ptr()) == 1, kType, "[", name,
             "] is a method of a ", reinterpret_cast<PyTypeObject*>(cls.ptr())->tp_name,
             ", not of a ", Py_TYPE(all[0].ptr())->tp_name);
    T& self = py::cast<T&>(all[0]);
    all.erase(all.begin());
    return as_object(f(self, std::move(all)));
  };
  cls.attr(name) = py::cpp_function(std::move(method), py::name(name), py::is_method(cls));
}

}  // namespace pijit
