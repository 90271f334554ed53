// Python values as C++ ones and back. Whatever comes from a user goes through here: pybind11's own
// casts raise errors that name neither the argument nor what is wrong with it.
#pragma once
#include <pybind11/pybind11.h>

#include <string>
#include <vector>

#include "base/error.h"

namespace pijit {
namespace py = pybind11;

// The text of a str in UTF-8. Lone surrogates, for which UTF-8 has no code, are kept as CPython's
// "surrogatepass" writes them; str_of reads them back.
std::string text_of(py::handle s);
py::str str_of(const std::string& text);

// `o` as an argument `name` of `function`; OpError (TypeError, or ValueError where an int is too
// large) says what was expected. Types: bool, int, int64_t, std::string, std::vector<int64_t>,
// py::tuple, py::list, py::dict, py::function (any callable), py::sequence (a list or tuple).
template <class T>
T argument(const char* function, const char* name, py::handle o);

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

// repr() or str() for readers: the text, or what was raised where it could not be made.
std::string shown(py::handle o, bool as_repr = true);

// An int for C++; like Python's index protocol, it takes no float and no str.
int64_t integer(const char* function, const std::string& name, py::handle o);

}  // namespace pijit
