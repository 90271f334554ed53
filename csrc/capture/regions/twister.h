// Python's own generators of random numbers: what a region's code draws from them is what their
// methods give.
#pragma once
#include <optional>

#include "capture/regions/emitter.h"

namespace pijit::regions {

// random.randint and the like: a method of a random.Random that is Python code.
bool is_draw_of_python(PyObject* fn);
// Nothing: it is another function.
std::optional<Av> draw_of_python(Emitter& e, PyObject* fn, const std::vector<Av>& args);

}  // namespace pijit::regions
