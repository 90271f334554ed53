// Frames that look like a function's: their arguments.
#pragma once
#include "python/code.h"

namespace pijit {

// Arguments with names of their own, which are the first slots.
int num_args(const CodeInfo& info);

// Calls a function of resume or step code under a ResumeScope; null: it raised. Its arguments,
// which the scope's slots replace, are there for super() and for tracebacks, which look for them.
py::object call_in_frame(const py::object& f);
// The code of its frame; null: it runs without one.
PyObject* frame_code(const py::object& f);
#if PY_VERSION_HEX < 0x030B0000
// Frames of that code have the function's qualified name, which the code itself does not know.
void name_like(PyObject* code, PyObject* func);
#endif
// How many units of its own resume or loop code has before those of the function's code.
int units_before(const py::object& made, const CodeInfo& info);

}  // namespace pijit
