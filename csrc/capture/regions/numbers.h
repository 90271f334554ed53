// Arithmetic of numbers as a region's code.
#pragma once
#include "base/operators.h"
#include "capture/regions/emitter.h"

namespace pijit::regions {

inline constexpr int64_t kLargestPower = 64;  // exponents that are multiplied out

Av num(Emitter& e, const Av& a);
int as_int(Emitter& e, const Av& a);
// Of a float32's value. Leaves where a number is beyond what float32 has, of which NumPy warns.
int as_float32(Emitter& e, const Av& a);
// Leaves where an int is none of this dtype.
void check_fits(Emitter& e, int x, const Dtype& d);
// Of what an index may be.
int as_index(Emitter& e, const Av& a);
int as_float(Emitter& e, const Av& a);
int truth(Emitter& e, const Av& x);
void unary(Emitter& e, UnaryOp op, std::vector<Av>& st);
Av binary(Emitter& e, BinaryOp op, const Av& a, const Av& b);
Av compare(Emitter& e, CompareOp op, const Av& a, const Av& b);

}  // namespace pijit::regions
