// Loops of our own behind the interface of foreign ones: what operators of single numbers compute
// where it differs from loops over arrays.
#pragma once
#include "graph/type.h"
#include "runtime/foreign.h"

namespace pijit {

// Integers that raise the flag of overflow where they wrap around.
enum class CheckedOp : uint8_t { kAdd, kSub, kMul, kNeg, kAbs };
// `t`: an integer dtype.
ForeignLoop checked_loop(CheckedOp op, DType t);

// Floats as integers, as C casts them: what is out of range depends on the processor.
ForeignLoop truncating_loop(DType from, DType to);

// The C library's pow() of float64 or float32.
ForeignLoop libm_power_loop(DType t);

}  // namespace pijit
