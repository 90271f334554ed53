// Python objects that the extension keeps for ever. A static inside of a function must not make
// one: its initializer may run Python code (an import, a finalizer), which gives the GIL to another
// thread, and that one waits, with the GIL, for the same static. So names are made when the module
// is loaded, and what imports or computes is kept by a class that waits for nothing.
// tests/python/test_statics.py finds others.
#pragma once
#include <pybind11/cast.h>

#include <memory>
#include <string_view>

namespace pijit {

// The interned strings of names.def.
struct Names {
#define NAME(id, text) PyObject* id;
#include "python/names.def"
};
extern Names names;
// First of all when the module is loaded.
void init_names();
// The string of a name that no row has, interned and kept. Borrowed.
PyObject* interned(std::string_view name);

// A function of the modules builtins and _operator, as it was when we were imported: before a
// program could replace it. Borrowed.
PyObject* original(const char* name);

// What a module has under a name. Only with the GIL.
class LibraryObject {
 public:
  // A name less: the module itself. One more: of a class, what it has under that name.
  constexpr explicit LibraryObject(const char* module, const char* name = nullptr,
                                   const char* member = nullptr)
      : module_(module), name_(name), member_(member) {}

  PyObject* ptr() {
    if (!object_) find();
    return object_;
  }
  PyTypeObject* type() { return reinterpret_cast<PyTypeObject*>(ptr()); }
  pybind11::object object() { return pybind11::reinterpret_borrow<pybind11::object>(ptr()); }

 private:
  void find();
  const char *module_, *name_, *member_;
  PyObject* object_ = nullptr;
};

// The library objects of names.def.
struct Library {
#define LIBRARY(id, ...) LibraryObject id{__VA_ARGS__};
#include "python/names.def"
};
extern Library library;

// A value that Python code computes, when it is first asked for. Threads that ask while another one
// computes it compute it, too; the first to be done sets it. Only with the GIL.
template <class T>
class OnDemand {
 public:
  template <class Make>
  const T& get(const Make& make) {
    if (!value_) {
      auto made = std::make_unique<const T>(make());
      if (!value_) value_ = made.release();
    }
    return *value_;
  }

 private:
  const T* value_ = nullptr;  // for ever
};

}  // namespace pijit
