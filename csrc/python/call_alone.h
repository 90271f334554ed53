// Calls with no frames above, for programs that are started from Python.
#pragma once
#include "python/compat.h"

namespace pijit {

// args[0] called with the others, as if Python had called it itself: what it sees of the stack, and
// how deep it may recurse, are as in a program that Python started.
inline PyObject* call_alone(PyObject* const* args, Py_ssize_t nargs) {
  PyThreadState* t = PyThreadState_Get();
  auto* above = current_frame(t);
  current_frame(t) = nullptr;
  const int depth = recursion_depth(t) + 1;  // what we call is no function of the program
  add_recursion_depth(t, -depth);
  PyObject* r = PyObject_Vectorcall(args[0], args + 1, static_cast<size_t>(nargs - 1), nullptr);
  add_recursion_depth(t, depth);
  current_frame(t) = above;
  return r;
}

}  // namespace pijit
