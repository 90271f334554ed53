// NumPy's elementwise functions and classes of numbers, called with numbers.
#pragma once
#include "capture/regions/emitter.h"

namespace pijit::regions {

// A ufunc of NumPy's, or one of its classes of numbers that code knows.
bool is_of_numpy(PyObject* fn);
// What a call of one gives.
Av numpy_result(Emitter& e, PyObject* fn, const std::vector<Av>& args);

}  // namespace pijit::regions
