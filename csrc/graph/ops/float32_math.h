// float32 functions of float32 arguments in float32 lanes, within 2 ULP (tests/python/ulp.py):
// polynomials and, where they would not do, sums that keep what rounding takes and tables of 16
// values, which fit registers.
#pragma once
#include "graph/scalar.h"

namespace pijit::f32 {

SVal exp(SVal x, bool precise = false);
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
SVal atan2(SVal y, SVal x);
SVal sinh(SVal x);
SVal cosh(SVal x);
SVal tanh(SVal x);
SVal asinh(SVal x);
SVal acosh(SVal x);
SVal atanh(SVal x);
SVal erf(SVal x);
SVal erfc(SVal x);
SVal erfcx(SVal x);
SVal cbrt(SVal x);
SVal pow(SVal x, SVal y);
SVal cube(SVal x);
SVal hypot(SVal x, SVal y);
SVal silu(SVal x);
SVal softplus(SVal x);
SVal mish(SVal x);

}  // namespace pijit::f32
