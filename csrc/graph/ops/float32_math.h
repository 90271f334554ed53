// float32 functions computed in float64 lanes: with 53 bits, short polynomials give results within
// 0.51 ULP. Arguments and results are float64 values of float32 operands.
#pragma once
#include "graph/scalar.h"

namespace pijit::f32 {

SVal exp2(SVal x);
SVal expm1(SVal x);
SVal log(SVal x);
SVal log2(SVal x);
SVal log10(SVal x);
SVal log1p(SVal x);
SVal sin(SVal x);
SVal cos(SVal x);
SVal tan(SVal x);
SVal asin(SVal x);
SVal acos(SVal x);
SVal atan(SVal x);
SVal sinh(SVal x);
SVal cosh(SVal x);
SVal asinh(SVal x);
SVal acosh(SVal x);
SVal atanh(SVal x);
SVal cbrt(SVal x);
SVal pow(SVal x, SVal y);

// In float32 lanes, for float32 values: within 1.8 ULP, 1.3 for the tangent.
SVal narrow_sin(SVal x);
SVal narrow_cos(SVal x);
SVal narrow_tan(SVal x);

}  // namespace pijit::f32
