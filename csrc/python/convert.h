// Python values as C++ ones and back. Whatever comes from a user goes through here: pybind11's own
// casts raise errors that name neither the argument nor what is wrong with it.
#pragma once
#include <pybind11/cast.h>
#include <pybind11/detail/class.h>  // inline functions that cast.h calls

#include <string>
#include <vector>

#include "python/compat.h"
#include "base/error.h"

namespace pybind11 {
class module_;  // <pybind11/pybind11.h>, which python/define.h includes
}
namespace pijit {
namespace py = pybind11;

// The text of a str in UTF-8. Lone surrogates, for which UTF-8 has no code, are kept as CPython's
// "surrogatepass" writes them; str_of reads them back.
std::string text_of(py::handle s);
py::str str_of(const std::string& text);

// A new reference as an object. Throws what is raised where there is none.
inline py::object checked(PyObject* o) {
  if (!o) throw py::error_already_set();
  return py::reinterpret_steal<py::object>(o);
}
// One more reference to an object, which may be null.
inline py::object share(PyObject* o) { return py::reinterpret_borrow<py::object>(o); }

// `o` as an argument `name` of `function`; OpError (TypeError, or ValueError where an int is too
// large) says what was expected. Types: bool, int, int64_t, double, std::string,
// std::vector<int64_t>, py::tuple, py::list, py::dict, py::function (any callable), py::sequence (a
// list or tuple).
template <class T>
T argument(const char* function, const char* name, py::handle o);

// The module of this name, imported if need be.
py::object python_module(const char* name);

// repr() or str() for readers: the text, or what was raised where it could not be made.
std::string shown(py::handle o, bool as_repr = true);

// An int for C++; like Python's index protocol, it takes no float and no str.
int64_t integer(const char* function, const std::string& name, py::handle o);

}  // namespace pijit
