#include "graph/scalar.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "base/error.h"
#include "graph/number_cast.h"

namespace pijit {

double digamma(double x) {
  // Recurrence up to 10, then the asymptotic series (Abramowitz & Stegun 6.3.18); reflection below
  // 0.
  if (std::isnan(x) || x == INFINITY) return x;
  if (x <= 0) {
    if (x == 0) return std::copysign(INFINITY, -x);
    if (x == std::floor(x)) return NAN;
    return digamma(1 - x) - M_PI / std::tan(M_PI * x);
  }
  double r = 0;
  for (; x < 10; x += 1) r -= 1 / x;
  const double y = 1 / (x * x);
  return r + std::log(x) - 0.5 / x -
         y * (1. / 12 -
              y * (1. / 120 -
                   y * (1. / 252 - y * (1. / 240 - y * (1. / 132 - y * (691. / 32760 - y / 12))))));
}

double trigamma(double x) {
  // As digamma (Abramowitz & Stegun 6.4.12).
  if (std::isnan(x)) return x;
  if (x == INFINITY) return 0;
  if (x <= 0) {
    if (x == std::floor(x)) return INFINITY;
    const double s = M_PI / std::sin(M_PI * x);
    return s * s - trigamma(1 - x);
  }
  double r = 0;
  for (; x < 10; x += 1) r += 1 / (x * x);
  const double y = 1 / (x * x);
  return r + 1 / x + y / 2 +
         y / x *
             (1. / 6 -
              y * (1. / 30 - y * (1. / 42 - y * (1. / 30 - y * (5. / 66 - y * (691. / 2730))))));
}

Fn1 call1_fn(Call1 f) {
  switch (f) {
#define X(name)                            \
  case Call1::name:                        \
    return static_cast<Fn1>([](double x) { \
      using namespace std;                 \
      return static_cast<double>(name(x)); \
    });
    PIJIT_CALLS1(X)
#undef X
  }
  throw InternalError("unknown scalar call");
}
Fn2 call2_fn(Call2 f) {
  switch (f) {
#define X(name)                                      \
  case Call2::name:                                  \
    return static_cast<Fn2>([](double x, double y) { \
      using namespace std;                           \
      return static_cast<double>(name(x, y));        \
    });
    PIJIT_CALLS2(X)
#undef X
  }
  throw InternalError("unknown scalar call");
}

SVal SBuilder::add(SNode n) {
  // Division by a power of two is multiplication by its inverse, exactly.
  if (n.op == SOp::kDiv && nodes[n.b].op == SOp::kConst &&
      (n.dt == DType::F32 || n.dt == DType::F64)) {
    const int fraction = n.dt == DType::F32 ? 23 : 52;
    const uint64_t all = n.dt == DType::F32 ? 254 : 2046, bits = nodes[n.b].imm;
    const uint64_t exponent = bits >> fraction & (all + 1);
    if (bits << (64 - fraction) == 0 && exponent > 0 && exponent < all) {
      const uint64_t sign = bits >> (fraction + (fraction == 23 ? 8 : 11));
      n.op = SOp::kMul;
      n.b = this->bits(n.dt, (sign << (fraction == 23 ? 8 : 11) | (all - exponent)) << fraction).id;
    }
  }
  // An equal node comes after its operands, most often soon; constants are shared by functions and
  // were made by the first one. So scans end early, and beat a hash table.
  const int count = static_cast<int>(nodes.size()), operand = std::max({n.a, n.b, n.c});
  if (operand < 0) {
    for (int i = 0; i < count; ++i)
      if (nodes[i] == n) return {this, i};
  } else {
    for (int i = count - 1; i > operand; --i)
      if (nodes[i] == n) return {this, i};
  }
  nodes.push_back(n);
  return {this, count};
}

SVal SBuilder::constant(DType dt, double v) {
  if (!is_float(dt)) return constant_int(dt, static_cast<int64_t>(integer_bits(dt, v)));
  uint64_t raw = 0;
  if (dt == DType::F64) {
    std::memcpy(&raw, &v, 8);
  } else {
    float f = static_cast<float>(v);
    if (dt == DType::F16) f = half_to_float(float_to_half(f));
    if (dt == DType::BF16) f = bf16_to_float(float_to_bf16(f));
    std::memcpy(&raw, &f, 4);
  }
  return bits(dt, raw);
}

SVal SBuilder::constant_int(DType dt, int64_t v) {
  if (is_float(dt)) return constant(dt, static_cast<double>(v));
  uint64_t raw = static_cast<uint64_t>(v);
  if (is_bool(dt))
    raw = v != 0;
  else if (size_of(dt) < 8)
    raw &= (1ull << (8 * size_of(dt))) - 1;
  return bits(dt, raw);
}

}  // namespace pijit
