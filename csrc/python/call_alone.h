// Calls with no frames above, for programs that are started from Python.
#pragma once
#include <Python.h>

namespace pijit {

// args[0] called with the others, as if Python had called it itself: what it sees of the stack, and
// how deep it may recurse, are as in a program that Python started.
inline PyObject* call_alone(PyObject* const* args, Py_ssize_t nargs) {
  PyThreadState* t = PyThreadState_Get();
  auto* above = t->cframe->current_frame;
  t->cframe->current_frame = nullptr;
#if PY_VERSION_HEX < 0x030C0000
  int &left = t->recursion_remaining, limit = t->recursion_limit;
#else
  int &left = t->py_recursion_remaining, limit = t->py_recursion_limit;
#endif
  const int depth = limit - left;
  left += depth + 1;  // what we call is no function of the program
  PyObject* r = PyObject_Vectorcall(args[0], args + 1, static_cast<size_t>(nargs - 1), nullptr);
  left -= depth + 1;
  t->cframe->current_frame = above;
  return r;
}

}  // namespace pijit
