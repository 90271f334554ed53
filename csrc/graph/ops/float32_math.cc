#include "graph/ops/float32_math.h"

#include "graph/ops/scalar_math.h"

namespace pijit::f32 {
namespace {

using namespace scalar_math;

// 2^t = (1 + q) * 2^n; t within [-1000, 1000] or NaN.
struct Power {
  SVal q, n;
};
Power power_of_two(SVal t) {
  const SVal n = s_unary(SOp::kRint, t), r = (t - n) * kLn2;
  const SVal q = r * poly(r, {2.76251516426622e-06, 2.487621851114167e-05, 0.00019841208667510687,
                              0.0013888821579425836, 0.00833333335376197, 0.04166666689144864,
                              0.1666666666664825, 0.49999999999797345, 1.0});
  return {q, n};
}
SVal scaled(SVal p, SVal n) {  // p * 2^n, p near 1
  const SVal exponent = shift(SOp::kShl, low_bits(n), 52);
  return s_bitcast(s_bitcast(p, DType::I64) + exponent, DType::F64);
}
// Far beyond what a float32 holds, either way.
SVal power(SVal t) {
  t = clamp_keep_nan(t, -400.0, 400.0);
  const Power p = power_of_two(t);
  return s_select(s_is_nan(t), t, scaled(p.q + 1.0, p.n));
}
SVal exp(SVal x) { return power(x * (1 / kLn2)); }

// log2(x) for a positive, normal x: exponent + log2(mantissa), the mantissa in [sqrt(1/2),
// sqrt(2)).
struct Log {
  SVal exponent, mantissa;  // mantissa: its natural logarithm
};
Log log_parts(SVal x) {
  const Split parts = split_exponent(x);
  const SVal f = parts.m - 1.0, s = f / (f + 2.0), z = s * s;
  const SVal series = poly(z, {0.08311197717477987, 0.09070077658798577, 0.11111431583306297,
                               0.14285712065052353, 0.20000000005616372, 0.33333333333331033});
  return {parts.exponent, 2.0 * s_fma(s * z, series, s)};
}
SVal log_special(SVal x, SVal r) {
  r = s_select(x == kInf, x, r);
  r = s_select(x == 0.0, number(x, -kInf), r);
  return s_select(x >= 0.0, r, number(x, kNaN));
}
SVal scaled_log(SVal x, double per_two, double per_e) {
  const Log l = log_parts(x);
  return log_special(x, l.exponent * per_two + l.mantissa * per_e);
}

// x = quadrant * pi / 2 + r, |r| <= pi / 4.
struct Reduced {
  SVal r, quadrant, far;
};
Reduced reduce(SVal x) {
  const SVal far = absolute(x) > 1e9;  // far_angles.cc reduces those
  const SVal near = s_select(far, number(x, 0.0), x);
  const SVal n = s_unary(SOp::kRint, near * (2 / kPi));
  SVal r = s_fma(n, number(x, -1.57079632679489655800), near);
  r = s_fma(n, number(x, -6.12323399573676603587e-17), r);
  return {r, low_bits(n), far};
}
SVal sine_of(SVal r) {
  const SVal z = r * r;
  return s_fma(r * z,
               poly(z, {1.5918225624323977e-10, -2.5051133643122742e-08, 2.755731611500911e-06,
                        -0.00019841269836797613, 0.008333333333331002, -0.16666666666666666}),
               r);
}
SVal cosine_of(SVal r) {
  const SVal z = r * r;
  return s_fma(z * z,
               poly(z, {2.0700589264369855e-09, -2.755636959309124e-07, 2.480158521079604e-05,
                        -0.0013888888887277641, 0.04166666666666469}),
               1.0 - 0.5 * z);
}
SVal arcsine_of(SVal s, SVal z) {  // |s| <= 1/2, z = s * s
  return s_fma(s * z,
               poly(z, {0.02790701966652808, -0.0029397779751651506, 0.0156756544258567,
                        0.013187918590626574, 0.017441495231144542, 0.022366065991741995,
                        0.030382182772399114, 0.044642852438099956, 0.07500000003584206,
                        0.16666666666662183}),
               s);
}
}  // namespace

SVal exp2(SVal x) { return power(x); }

SVal expm1(SVal x) {
  const SVal t = clamp_keep_nan(x * (1 / kLn2), -400.0, 400.0);
  const Power p = power_of_two(t);
  const SVal r = s_select(p.n == 0.0, p.q, scaled(p.q + 1.0, p.n) - 1.0);
  // below, x rounds to itself; and -0 stays
  return s_select(absolute(x) > 1e-9, r, x);
}

SVal log(SVal x) { return scaled_log(x, kLn2, 1.0); }
SVal log2(SVal x) { return scaled_log(x, 1.0, 1 / kLn2); }
SVal log10(SVal x) { return scaled_log(x, 0.30102999566398119521, 0.43429448190325182765); }
SVal log1p(SVal x) {
  return s_select(absolute(x) > 1e-6, log(x + 1.0), s_fma(x * x, number(x, -0.5), x));
}

SVal sin(SVal x) {
  const Reduced a = reduce(x);
  const SVal y = negative_half(a.quadrant, s_select(odd(a.quadrant), cosine_of(a.r), sine_of(a.r)));
  return or_far(Call1::sin_far, x, a.far, y);
}
SVal cos(SVal x) {
  const Reduced a = reduce(x);
  const SVal y = s_select(odd(a.quadrant), sine_of(a.r), cosine_of(a.r));
  return or_far(Call1::cos_far, x, a.far, negative_half(a.quadrant + integer(x, 1), y));
}
SVal tan(SVal x) {
  const Reduced a = reduce(x);
  const SVal s = sine_of(a.r), c = cosine_of(a.r), swap = odd(a.quadrant);
  return or_far(Call1::tan_far, x, a.far, s_select(swap, -c, s) / s_select(swap, s, c));
}

SVal asin(SVal x) {
  const SVal a = absolute(x), big = a > 0.5, half = 0.5 * (1.0 - a);
  const SVal z = s_select(big, half, x * x), s = s_select(big, root(half), a);
  const SVal y = arcsine_of(s, z);
  return with_sign_of(s_select(big, kPi / 2 - 2.0 * y, y), x);
}
SVal acos(SVal x) {
  const SVal a = absolute(x), big = a > 0.5, half = 0.5 * (1.0 - a);
  const SVal z = s_select(big, half, x * x), s = s_select(big, root(half), x);
  const SVal y = arcsine_of(s, z), twice = 2.0 * y;
  return s_select(big, s_select(x < 0.0, kPi - twice, twice), kPi / 2 - y);
}
SVal atan(SVal x) {  // by way of pi / 2 - atan(1 / x) and pi / 4 + atan((x - 1) / (x + 1))
  const SVal a = absolute(x), far = a > 2.414213562373095, mid = a > 0.4142135623730950;
  const SVal one = number(x, 1.0);
  const SVal top = s_select(far, -one, s_select(mid, a - 1.0, a));
  const SVal bottom = s_select(far, a, s_select(mid, a + 1.0, one));
  const SVal base =
      s_select(far, number(x, kPi / 2), s_select(mid, number(x, kPi / 4), number(x, 0.0)));
  const SVal t = top / bottom, z = t * t;
  const SVal y = s_fma(t * z,
                       poly(z, {-0.027230208571568274, 0.05168662382234952, -0.06550862279293745,
                                0.07681039111736722, -0.09090255498478261, 0.11111089630907292,
                                -0.14285713930017355, 0.1999999999772214, -0.3333333333333092}),
                       t);
  return with_sign_of(base + y, x);
}

SVal sinh(SVal x) {
  const SVal a = absolute(x), e = exp(a), z = x * x;
  const SVal small =
      s_fma(x * z,
            poly(z, {2.5456706533998918e-08, 2.7553770264560512e-06, 0.00019841282530107991,
                     0.008333333317464392, 0.16666666666698407}),
            x);
  return s_select(a < 1.0, small, with_sign_of(0.5 * (e - 1.0 / e), x));
}
SVal cosh(SVal x) {
  const SVal e = exp(absolute(x));
  return 0.5 * (e + 1.0 / e);
}
SVal asinh(SVal x) {
  const SVal a = absolute(x);
  return s_select(a > 1e-5, with_sign_of(log(a + root(s_fma(a, a, 1.0))), x), x);
}
SVal acosh(SVal x) { return s_select(x >= 1.0, log(x + root(s_fma(x, x, -1.0))), number(x, kNaN)); }
SVal atanh(SVal x) { return s_select(absolute(x) > 1e-5, 0.5 * log((1.0 + x) / (1.0 - x)), x); }
SVal cbrt(SVal x) {
  const SVal a = absolute(x);
  const Log l = log_parts(a);
  const SVal r = power((l.exponent + l.mantissa * (1 / kLn2)) * (1.0 / 3.0));
  return s_select(a > 0.0, s_select(a == kInf, x, with_sign_of(r, x)), x);
}

SVal pow(SVal x, SVal y) {
  const SVal a = absolute(x);
  const SVal t = y * log2(a);
  SVal r = power(t);
  // a negative base: odd exponents keep the sign, even ones drop it, others have no result
  const SVal half = 0.5 * y, whole = s_unary(SOp::kFloor, y) == y;
  const SVal is_odd = whole & (s_unary(SOp::kFloor, half) != half);
  r = s_select(is_odd, with_sign_of(r, x), r);
  r = s_select((x < 0.0) & ~whole & (a != kInf), number(x, kNaN), r);
  const SVal one = (x == 1.0) | (y == 0.0) | ((a == 1.0) & (absolute(y) == kInf));
  return s_select(one, number(x, 1.0), r);
}

// --- In float32 lanes ----------------------------------------------------------------------------
// Angles up to kNear by Cody and Waite's reduction: with fma, x less a multiple of the first of
// three parts of pi is exact. The few beyond go through float64 lanes.
namespace {
constexpr double kNear = 39000.0,
                 kRound = 12582912.0;  // 1.5 * 2^23: leaves integers in the low bits
SVal single(SVal like, double v) { return like.sb->constant(DType::F32, v); }
SVal single_poly(SVal x, std::initializer_list<double> highest_first) {
  auto it = highest_first.begin();
  SVal r = single(x, *it++);
  for (; it != highest_first.end(); ++it) r = s_fma(r, x, *it);
  return r;
}
SVal bits_of(SVal x) { return s_bitcast(x, DType::I32); }
SVal with_parity(SVal y, SVal n) {  // -y for odd n
  const SVal sign = n.sb->op(SOp::kShl, DType::I32, n, n.sb->constant_int(DType::I32, 31));
  return s_bitcast(bits_of(y) ^ sign, DType::F32);
}
// x - n c, c in parts.
SVal less_multiple(SVal x, SVal n, double c1, double c2, double c3) {
  for (double c : {c1, c2, c3}) x = s_fma(n, single(x, -c), x);
  return x;
}
SVal sine_near(SVal r) {  // |r| <= pi / 2
  const SVal z = r * r;
  const SVal p = single_poly(z, {2.605487679829821e-06, -0.00019809558580163866,
                                 0.008333067409694195, -0.16666659712791443});
  return s_fma(r * z, p, r);
}
SVal unless_far(Wide f, SVal x, SVal y) {
  const SVal far = absolute(x) > kNear;
  return s_select(far, s_wide_where(f, x, far), y);
}
}  // namespace

SVal narrow_sin(SVal x) {
  const SVal m = s_fma(x, single(x, 1 / kPi), kRound), n = m - kRound;
  const SVal r =
      less_multiple(x, n, 3.141592502593994, 1.5099578831723193e-07, 1.0780605906948477e-14);
  const SVal y = with_parity(sine_near(r), bits_of(m));
  return unless_far(Wide::sin, x, s_select(x == 0.0, x, y));
}
SVal narrow_cos(SVal x) {  // x = (2 n + 1) pi / 2 + r
  const SVal a = absolute(x), m = s_fma(a, single(x, 1 / kPi), -0.5) + kRound, n = m - kRound;
  const SVal r = less_multiple(a, s_fma(n, single(x, 2.0), 1.0), 1.570796251296997,
                               7.549789415861596e-08, 5.390302953474238e-15);
  const SVal odd_is_positive = bits_of(m) + x.sb->constant_int(DType::I32, 1);
  return unless_far(Wide::cos, x, with_parity(sine_near(r), odd_is_positive));
}
SVal narrow_tan(SVal x) {  // by r = x - n pi / 2 to twice the digits; -1 / tan(r) for odd n
  const SVal m = s_fma(x, single(x, 2 / kPi), kRound), n = m - kRound;
  const SVal a = s_fma(n, single(x, -1.570796251296997), x);
  const Pair p = two_product(n, single(x, -7.549789415861596e-08)), s = two_sum(a, p.hi);
  const SVal r = s.hi, low = s_fma(n, single(x, -5.390302953474238e-15), s.lo + p.lo), z = r * r;
  const SVal series = single_poly(
      z, {0.004467102233320475, -9.125348879024386e-05, 0.010975650511682034, 0.02122936211526394,
          0.054069921374320984, 0.13332577049732208, 0.3333335220813751});
  const Pair t = ordered_sum(r, s_fma(r * z, series, s_fma(low, z, low)));
  const SVal y = -1.0 / t.hi, lost = s_fma(t.lo, y, s_fma(t.hi, y, 1.0));
  const SVal one = x.sb->constant_int(DType::I32, 1);
  const SVal is_odd = (bits_of(m) & one) != x.sb->constant_int(DType::I32, 0);
  return unless_far(Wide::tan, x, s_select(x == 0.0, x, s_select(is_odd, s_fma(y, lost, y), t.hi)));
}

}  // namespace pijit::f32

namespace pijit {
const ScalarBody& wide_body(Wide f) {
  static const auto bodies = [] {
    std::vector<ScalarBody> all;
    for (auto of : {f32::sin, f32::cos, f32::tan}) {  // in the order of PIJIT_WIDE
      SBuilder sb;
      const SVal y = s_cast(of(s_cast(sb.input(0, DType::F32), DType::F64)), DType::F32);
      all.push_back({sb.nodes, y.id});
    }
    return all;
  }();
  return bodies[static_cast<size_t>(f)];
}
}  // namespace pijit
