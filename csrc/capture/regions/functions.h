// Functions of C that a region's code has.
#pragma once
#include "capture/regions/emitter.h"

namespace pijit::regions {

// What such a function gives, which is called with these arguments; `kind`: of a list that it
// makes.
Av result_of(Emitter& e, PyObject* fn, const std::vector<Av>& args, int kind);

}  // namespace pijit::regions
