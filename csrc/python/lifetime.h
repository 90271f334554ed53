// Deaths that a program sees: __del__ runs, a generator's `finally`, the callback of a weak
// reference.
#pragma once
#include <Python.h>

#include <span>
#include <vector>

#include "absl/functional/function_ref.h"

namespace pijit {

// Does the class have a __del__ in Python?
bool has_finalizer(PyTypeObject* t);
// Is there a weak reference to the object?
bool is_referred_to(PyObject* o);
// Would somebody see the object itself die? What it holds is not asked.
bool is_mourned(PyObject* o);
// The same of the object and what a look at a few of its items shows: for guards.
bool seems_mourned(PyObject* o);
// Which of these objects take one with them that is mourned, if they are given up. What others hold
// lives on, but for the references that are `ours`. Where the objects around are too many to look
// at: `otherwise`.
using OurReferences = absl::FunctionRef<Py_ssize_t(PyObject*)>;
std::vector<bool> takes_mourned(std::span<PyObject* const> roots, bool otherwise,
                                OurReferences ours);

}  // namespace pijit
