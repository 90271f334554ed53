// float64 functions of float64 arguments, within 2 ULP (most within 1): polynomials and sums that
// keep what rounding takes, no tables, so that generated code does whole vectors of them.
#pragma once
#include "graph/scalar.h"

namespace pijit::f64 {

SVal exp(SVal x);
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
SVal tanh(SVal x);
SVal asinh(SVal x);
SVal acosh(SVal x);
SVal atanh(SVal x);
SVal cbrt(SVal x);
SVal erf(SVal x);
SVal erfc(SVal x);
SVal erfcx(SVal x);
SVal pow(SVal x, SVal y);
SVal atan2(SVal y, SVal x);
SVal hypot(SVal x, SVal y);

}  // namespace pijit::f64
