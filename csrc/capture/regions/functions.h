// Functions of C that a region's code has.
#pragma once
#include <optional>

#include "capture/regions/emitter.h"

namespace pijit::regions {

// What such a function gives, which is called with these arguments; `kind`: of a list that it
// makes.
Av result_of(Emitter& e, PyObject* fn, const std::vector<Av>& args, int kind);

// min() or max() of two numbers of two types: which it is, only a run knows. Nothing: another call.
struct OneOfTwo {
  int condition;
  Av yes, no;
};
std::optional<OneOfTwo> one_of_two(Emitter& e, PyObject* fn, const std::vector<Av>& args);

}  // namespace pijit::regions
