// What capture made of a call, as a graph that others may write to a file.
#pragma once
#include "dispatch/run.h"

namespace pijit {

// Of a call that is one graph from its beginning to its end: a dict of graph (its text), inputs
// (the objects that it reads), effects
// (in words), constraints (of sizes that vary, as Python), result (what the call gives) and places
// (of the Tensors of the result, which outputs of the graph they are). With effects, nothing runs,
// and there is no result. None: no entry is of this call.
py::object captured_call(FunctionCache* s, PyObject* func, const CodeInfo& code,
                         std::span<PyObject* const> slots);

}  // namespace pijit
