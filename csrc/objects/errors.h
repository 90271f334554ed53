// C++ errors as Python's.
#pragma once
#include <Python.h>

#include "base/error.h"

namespace pijit {

// Raises the Python exception for a C++ error; returns null for use in slots.
PyObject* raise_current_exception();
PyObject* python_exception_of(const OpError& e);  // borrowed: a class
#define PIJIT_SLOT(...)               \
  try {                               \
    __VA_ARGS__                       \
  } catch (...) {                     \
    return raise_current_exception(); \
  }

}  // namespace pijit
