#include "python/names.h"

#include <string>

#include "absl/container/flat_hash_map.h"
#include "base/error.h"
#include "python/convert.h"

namespace pijit {
namespace py = pybind11;

namespace {

absl::flat_hash_map<std::string, PyObject*>& interned_strings() {
  static auto* strings = new absl::flat_hash_map<std::string, PyObject*>;
  return *strings;
}

// Of the modules builtins and _operator.
PyObject* originals;

}  // namespace

Names names;
constinit Library library;

PyObject* interned(std::string_view name) {
  auto [it, fresh] = interned_strings().try_emplace(std::string(name), nullptr);
  if (fresh) it->second = PyUnicode_InternFromString(it->first.c_str());
  if (it->second) return it->second;
  interned_strings().erase(it);
  throw py::error_already_set();
}

void init_names() {
#define NAME(id, text) names.id = interned(text);
#include "python/names.def"
  py::dict all;
  for (auto m : {"_operator", "builtins"})
    for (auto [name, f] : py::cast<py::dict>(python_module(m).attr("__dict__")))
      if (!all.contains(name)) all[name] = f;
  all["join"] = py::str("").attr("join");  // of "", for texts in parts
  originals = all.release().ptr();
}

PyObject* original(const char* name) {
  PyObject* f = PyDict_GetItemString(originals, name);
  PIJIT_CHECK(f, "no built-in ", name);
  return f;
}

void LibraryObject::find() {
  py::object found = python_module(module_);
  if (name_) found = found.attr(name_);
  if (member_) found = found.attr(member_);
  if (!object_) object_ = found.release().ptr();  // else another thread has set it meanwhile
}

}  // namespace pijit
