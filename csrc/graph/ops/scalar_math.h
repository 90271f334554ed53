// What rules of functions share: polynomials, bits of float64 values, sums and products without
// loss.
#pragma once
#include <initializer_list>
#include <limits>

#include "graph/scalar.h"

namespace pijit::scalar_math {

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kPi = 3.14159265358979323846, kLn2 = 0.69314718055994530942;

// Of the dtype of `like`.
inline SVal number(SVal like, double v) { return like.sb->constant(like.dtype(), v); }
// Of the integers that hold the bits of `like`.
inline DType bits_type(SVal like) { return size_of(like.dtype()) == 4 ? DType::I32 : DType::I64; }
inline SVal integer(SVal like, int64_t v) { return like.sb->constant_int(bits_type(like), v); }
inline SVal bits_of(SVal x) { return s_bitcast(x, bits_type(x)); }
inline SVal absolute(SVal x) { return s_unary(SOp::kAbs, x); }
inline SVal root(SVal x) { return s_unary(SOp::kSqrt, x); }
inline SVal shift(SOp o, SVal x, int by) { return x.sb->op(o, x.dtype(), x, integer(x, by)); }

inline SVal poly(SVal x, std::initializer_list<double> highest_first) {
  auto it = highest_first.begin();
  SVal r = number(x, *it++);
  for (; it != highest_first.end(); ++it) r = s_fma(r, x, *it);
  return r;
}
// kMin and kMax return their second operand when unordered, so NaN passes through as `x`.
inline SVal clamp_keep_nan(SVal x, double lo, double hi) {
  x = x.sb->op(SOp::kMin, x.dtype(), number(x, hi), x);
  return x.sb->op(SOp::kMax, x.dtype(), number(x, lo), x);
}
inline SVal sign_bit(SVal x) {
  return bits_of(x) & integer(x, bits_type(x) == DType::I32 ? std::numeric_limits<int32_t>::min()
                                                            : std::numeric_limits<int64_t>::min());
}
inline SVal with_sign_of(SVal magnitude, SVal x) {
  return s_bitcast(bits_of(magnitude) | sign_bit(x), x.dtype());
}
// Adding this leaves an integral double of up to 2^51 in the low bits.
constexpr double kMagic = 6755399441055744.0;
inline SVal low_bits(SVal integral) { return s_bitcast(integral + kMagic, DType::I64); }
inline SVal odd(SVal quadrant) { return (quadrant & integer(quadrant, 1)) != integer(quadrant, 0); }
inline SVal negative_half(SVal quadrant, SVal y) {  // the sign that bit 1 gives
  const SVal sign = shift(SOp::kShl, quadrant & integer(quadrant, 2), 62);
  return s_bitcast(s_bitcast(y, DType::I64) ^ sign, DType::F64);
}
inline SVal or_far(Call1 f, SVal x, SVal far, SVal y) {
  return s_select(far, s_call_where(f, x, far), y);
}

// A positive, normal float64 as m * 2^exponent with m in [sqrt(1/2), sqrt(2)).
struct Split {
  SVal m, exponent;
};
inline Split split_exponent(SVal x) {
  const SVal u = s_bitcast(x, DType::I64);
  const SVal e = shift(SOp::kShr, u - integer(x, 0x3fe6a09e667f3bcd), 52);
  const SVal exponent =
      s_bitcast(e + s_bitcast(number(x, kMagic), DType::I64), DType::F64) - kMagic;
  return {s_bitcast(u - shift(SOp::kShl, e, 52), DType::F64), exponent};
}

// An unevaluated sum: `lo` is what rounding took from `hi`.
struct Pair {
  SVal hi, lo;
};
inline Pair two_sum(SVal a, SVal b) {
  const SVal s = a + b, from_b = s - a;
  return {s, (a - (s - from_b)) + (b - from_b)};
}
inline Pair two_difference(SVal a, SVal b) {
  const SVal d = a - b, less_b = d - a;
  return {d, (a - (d - less_b)) - (b + less_b)};
}
inline Pair ordered_sum(SVal a, SVal b) {  // for |a| >= |b|, or a = 0
  const SVal s = a + b;
  return {s, b - (s - a)};
}
inline Pair two_product(SVal a, SVal b) {
  const SVal p = a * b;
  return {p, s_fma(a, b, -p)};
}

}  // namespace pijit::scalar_math
