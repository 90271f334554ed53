// Frames that look like a function's: their arguments.
#pragma once
#include "python/code.h"

namespace pijit {

// Arguments with names of their own, which are the first slots.
int num_args(const CodeInfo& info);

// Calls a function of resume or step code under a ResumeScope; null: it raised. Its arguments,
// which the scope's slots replace, are there for super() and for tracebacks, which look for them.
py::object call_in_frame(const py::object& f);

}  // namespace pijit
