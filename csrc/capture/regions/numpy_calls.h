// Functions of NumPy's that read arrays and change nothing, called as CPython would call them,
// without leaving a region.
#pragma once
#include <optional>

#include "capture/regions/statements.h"

namespace pijit::regions {

// A function that code may call so, whatever its arguments are.
bool is_pure_of_numpy(PyObject* fn);
// The same of a method of arrays, by name; null: it is none.
PyObject* pure_array_method(PyObject* name);
bool is_pure_array_method(PyObject* o);

// ufunc.outer
bool is_outer(PyObject* o);

// What a call of one gives. `names`: of the last arguments; null: none has one.
Av called_numpy(Emitter& e, PyObject* fn, const std::vector<Av>& args, PyObject* names);

// of[index] = value, where the index has arrays.
void store_by_index(Emitter& e, const Av& of, const Av& index, const Av& value);

}  // namespace pijit::regions
