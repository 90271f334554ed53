// Sums, means, largest and smallest elements of arrays, as a region's code has them: in the order
// in which NumPy's iterator adds elements, which decides the bits.
#pragma once
#include <optional>
#include <vector>

#include "capture/regions/parts.h"

namespace pijit::regions {

// What a function of NumPy's, or a method of arrays, gives for the first argument; nothing: it is
// none of these, or is called with other arguments. `names`: of the last arguments; null: none has
// one.
std::optional<Av> reduced(Emitter& e, PyObject* fn, const std::vector<Av>& args, PyObject* names);

}  // namespace pijit::regions
