// Sine, cosine and tangent of arguments so large that a product with 2 / pi in a few float64 parts
// has no correct digit left (Payne and Hanek's reduction), within 1 ULP.
#include <algorithm>
#include <cmath>
#include <cstdint>

#include "graph/scalar.h"

namespace pijit {
namespace {

// The binary digits of 2 / pi after the point.
constexpr uint64_t kTwoByPi[20] = {
    0xa2f9836e4e441529, 0xfc2757d1f534ddc0, 0xdb6295993c439041, 0xfe5163abdebbc561,
    0xb7246e3a424dd2e0, 0x06492eea09d1921c, 0xfe1deb1cb129a73e, 0xe88235f52ebb4484,
    0xe99c7026b45f7e41, 0x3991d639835339f4, 0x9c845f8bbdf9283b, 0x1ff897ffde05980f,
    0xef2f118b5a0a6d1f, 0x6d367ecf27cb09b7, 0x4f463f669e5fea2d, 0x7527bac7ebe5f17b,
    0x3d0739f78a5292ea, 0x6bfb5fb11f8d5d08, 0x56033046fc7b6bab, 0xf0cfbc209af4361d};

struct Angle {
  long double r;  // in [-pi / 4, pi / 4], to 64 bits
  int quadrant;
};

// For 2^24 <= |x| < infinity; any angle for less, whose result a select throws away.
Angle reduce(double x) {
  int exponent;
  const double fraction = std::frexp(std::fabs(x), &exponent);
  const auto m = static_cast<uint64_t>(std::ldexp(fraction, 53));
  const int e = exponent - 53;  // |x| = m * 2^e
  // Digits before number `skip` give multiples of 4 quarter turns. 256 digits behind are enough: no
  // float64 comes closer than 2^-62 to a multiple of pi / 2.
  const int skip = e > 2 ? e - 2 : 0;
  uint64_t window[4];  // most significant first
  for (int i = 0; i < 4; ++i) {
    const int word = skip / 64 + i, bit = skip % 64;
    window[i] = kTwoByPi[word] << bit;
    if (bit) window[i] |= kTwoByPi[word + 1] >> (64 - bit);
  }
  uint64_t product[5] = {};  // m * window
  unsigned __int128 carry = 0;
  for (int i = 3; i >= 0; --i) {
    carry += static_cast<unsigned __int128>(m) * window[i];
    product[i + 1] = static_cast<uint64_t>(carry);
    carry >>= 64;
  }
  product[0] = static_cast<uint64_t>(carry);
  // Two bits of the quadrant and 254 behind the point, for small e after a shift.
  const int down = std::clamp(2 - e, 0, 63);
  uint64_t turns[4];
  for (int i = 0; i < 4; ++i) {
    turns[i] = product[i + 1] >> down;
    if (down) turns[i] |= product[i] << (64 - down);
  }
  int quadrant = static_cast<int>(turns[0] >> 62);
  turns[0] = turns[0] << 2 >> 2;
  const bool past_half = turns[0] >> 61 & 1;
  if (past_half) {  // one more quarter turn, less the rest
    quadrant += 1;
    bool borrow = false;
    for (int i = 3; i >= 0; --i) {
      turns[i] = ~turns[i] + (i == 3 || borrow ? 1 : 0);
      borrow = (i == 3 || borrow) && turns[i] == 0;
    }
    turns[0] = turns[0] << 2 >> 2;
  }
  __float128 r = 0;
  for (const uint64_t word : turns) r = r * 18446744073709551616.0 + word;  // 2^64
  const __float128 half_pi =
      static_cast<__float128>(1.5707963267948966) + 6.123233995736766e-17 - 1.4973849048591698e-33;
  r *= half_pi * 0x1p-127 * 0x1p-127;
  if (past_half != (x < 0)) r = -r;
  return {static_cast<long double>(r), (x < 0 ? -quadrant : quadrant) & 3};
}

}  // namespace

double sin_far(double x) {
  if (!std::isfinite(x)) return x - x;
  const Angle a = reduce(x);
  const auto y = static_cast<double>(a.quadrant & 1 ? std::cos(a.r) : std::sin(a.r));
  return a.quadrant & 2 ? -y : y;
}
double cos_far(double x) {
  if (!std::isfinite(x)) return x - x;
  const Angle a = reduce(x);
  const auto y = static_cast<double>(a.quadrant & 1 ? std::sin(a.r) : std::cos(a.r));
  return (a.quadrant + 1) & 2 ? -y : y;
}
double tan_far(double x) {
  if (!std::isfinite(x)) return x - x;
  const Angle a = reduce(x);
  const long double t = std::tan(a.r);
  return static_cast<double>(a.quadrant & 1 ? -1 / t : t);
}

}  // namespace pijit
