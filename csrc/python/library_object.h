// What a module of a library has under a name, looked up when it is first asked for, and kept for
// ever. Only with the GIL. A `static constinit` of this class instead of a static that looks it up:
// an import runs Python code, other threads get the GIL meanwhile, and would wait, with it, for the
// static to be initialized.
#pragma once
#include "python/convert.h"

namespace pijit {

class LibraryObject {
 public:
  constexpr LibraryObject(const char* module, const char* name) : module_(module), name_(name) {}
  // Of a class, what it has under a name.
  constexpr LibraryObject(const char* module, const char* name, const char* member)
      : module_(module), name_(name), member_(member) {}

  PyObject* ptr() {
    if (!object_) {
      py::object found = python_module(module_).attr(name_);
      if (member_) found = found.attr(member_);
      object_ = found.release().ptr();
    }
    return object_;
  }
  PyTypeObject* type() { return reinterpret_cast<PyTypeObject*>(ptr()); }
  py::object object() { return py::reinterpret_borrow<py::object>(ptr()); }

 private:
  const char *module_, *name_, *member_ = nullptr;
  PyObject* object_ = nullptr;
};

}  // namespace pijit
