#include "objects/caller.h"

#include <pybind11/pytypes.h>

#include <algorithm>
#include <cctype>

#include "base/called_as.h"
#include "graph/op.h"
#include "python/code.h"
#include "python/compat.h"

namespace pijit {

bool is_of_library(PyObject* module_name) {
  if (!module_name || !PyUnicode_Check(module_name)) return false;
  const std::string s = text_of(module_name);
  return s == "pijit" || s.starts_with("pijit.");
}

bool is_of_library(PyFrameObject* frame) {
  const auto globals = py::reinterpret_steal<py::object>(PyFrame_GetGlobals(frame));
  return is_of_library(PyDict_GetItemString(globals.ptr(), "__name__"));
}

void CalledName::add(std::string_view qualname) {
  constexpr std::string_view kConstruct = ".construct";
  const auto last = [](std::string_view s) { return s.substr(s.rfind('.') + 1); };
  if (qualname.ends_with(kConstruct)) {
    std::string_view cell = last(qualname.substr(0, qualname.size() - kConstruct.size()));
    cell.remove_prefix(std::min(cell.find_first_not_of('_'), cell.size()));
    if (cell_.empty()) cell_ = cell;
    return;
  }
  const std::string_view name = last(qualname);
  const bool helps = qualname.find('<') != std::string_view::npos || name.starts_with('_');
  if (!helps) function_ = name;
}

std::string CalledName::put_into(std::string_view text) const {
  const std::string& name = cell_.empty() ? function_ : cell_;
  const size_t end = text.find("] ");
  if (name.empty() || !text.starts_with('[') || end == std::string_view::npos)
    return std::string(text);
  const std::string_view op = text.substr(1, end - 1);
  if (!OpTable::get().find(op)) return std::string(text);  // another text in brackets
  if (std::equal(op.begin(), op.end(), name.begin(), name.end(), [](char a, char b) {
        return std::tolower(static_cast<unsigned char>(a)) ==
               std::tolower(static_cast<unsigned char>(b));
      }))
    return std::string(text);
  return str_cat(called_as(text, name), " (in ", op, ")");
}

std::string in_callers_words(std::string_view text) {
  CalledName name;
  auto f = py::reinterpret_steal<py::object>(
      reinterpret_cast<PyObject*>(PyThreadState_GetFrame(PyThreadState_Get())));
  auto frame = [&] { return reinterpret_cast<PyFrameObject*>(f.ptr()); };
  for (; f && is_of_library(frame()); f = py::reinterpret_steal<py::object>(
                                          reinterpret_cast<PyObject*>(PyFrame_GetBack(frame())))) {
    const auto code =
        py::reinterpret_steal<py::object>(reinterpret_cast<PyObject*>(PyFrame_GetCode(frame())));
    const auto globals = py::reinterpret_steal<py::object>(PyFrame_GetGlobals(frame()));
    name.add(text_of(qualname_of(code.ptr(), globals.ptr())));
  }
  return name.put_into(text);
}

}  // namespace pijit
