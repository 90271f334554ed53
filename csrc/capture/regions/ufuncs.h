// NumPy's elementwise functions and classes of numbers, called with numbers.
#pragma once
#include "capture/regions/emitter.h"

namespace pijit::regions {

// A ufunc of NumPy's, or one of its classes of numbers that code knows.
bool is_of_numpy(PyObject* fn);
// What a call of one gives.
Av numpy_result(Emitter& e, PyObject* fn, const std::vector<Av>& args);

// What NumPy is told of a number, to say in which dtypes it computes.
py::object spec_of(const Av& a);
// The dtypes of operands and result; leaves where code has none of them.
std::vector<const Dtype*> resolved_types(PyObject* ufunc, const py::tuple& specs,
                                         const std::string& told);
// A number in a dtype: a value, of a complex one its parts.
Av number_as(Emitter& e, const Av& a, const Dtype& d);

}  // namespace pijit::regions
