#include "graph/ops/float64_math.h"

#include "graph/ops/scalar_math.h"

// Polynomials: minimax fits (Remez) in 300 bits, each within 2^-57 of its function or better.
namespace pijit::f64 {
namespace {
using namespace scalar_math;

// ln 2 in parts: an integer of 11 bits times kLn2High is exact.
constexpr double kLn2High = 0.6931471804855391, kLn2Rest = 7.440617110012397e-11;
constexpr double kLn2Low = 2.3190468138462996e-17;  // ln 2 - kLn2
constexpr double kInvLn2 = 1.4426950408889634, kInvLn2Low = 2.0355273740931033e-17;
constexpr double kHalfPi = 1.5707963267948966, kHalfPiLow = 6.123233995736766e-17,
                 kHalfPiLeast = -1.4973849048591698e-33;
constexpr double kMaxExp = 710.0, kMinExp = -746.0;  // beyond: infinity and 0

// --- Exponentials -------------------------------------------------------------------------------

SVal power_of_two(SVal integral) {  // -1022 <= integral <= 1023; 1024 gives infinity
  return s_bitcast(shift(SOp::kShl, low_bits(integral) + integer(integral, 1023), 52), DType::F64);
}
// p * 2^n, in two steps, so that it is rounded once where it is subnormal.
SVal scaled(SVal p, SVal n) {
  const SVal half = s_unary(SOp::kFloor, n * 0.5);
  return p * power_of_two(half) * power_of_two(n - half);
}
// x = n ln 2 + r + c, |r| <= ln 2 / 2.
struct Reduced {
  SVal r, c, n;
};
Reduced by_ln2(SVal x) {
  const SVal n = s_unary(SOp::kRint, x * kInvLn2);
  const SVal a = s_fma(n, number(x, -kLn2High), x), lost = n * kLn2Rest, r = a - lost;
  return {r, (a - r) - lost, n};
}
// What follows takes exp(c) for 1 + c (1 + r), so c must be what rounding took from r.
Reduced with_small_rest(SVal r, SVal c, SVal n) {
  const Pair p = ordered_sum(r, c);
  return {p.hi, p.lo, n};
}
Reduced of_log2(SVal t, SVal low) {  // of (t + low) ln 2
  const SVal n = s_unary(SOp::kRint, t), f = t - n;
  const Pair r = two_product(f, number(t, kLn2));
  return with_small_rest(r.hi, r.lo + s_fma(f, number(t, kLn2Low), low * kLn2), n);
}
// exp(r + c) - 1 = r + the result.
SVal rest_of_expm1(const Reduced& a) {
  const SVal p = poly(a.r, {2.092424387416668e-09, 2.5108775959820223e-08, 2.7557243556986197e-07,
                            2.755724506501911e-06, 2.4801587359369243e-05, 0.00019841269885146427,
                            0.0013888888888867637, 0.008333333333322084, 0.0416666666666667,
                            0.16666666666666677, 0.5});
  return s_fma(a.r * a.r, p, a.c);
}
Pair exp_of(const Reduced& a) {
  const Pair one = ordered_sum(number(a.r, 1.0), a.r);
  return {one.hi, one.lo + rest_of_expm1(a)};
}
SVal exp_with(const Reduced& a) {
  const Pair p = exp_of(a);
  return scaled(p.hi + p.lo, a.n);
}

// --- Logarithms ---------------------------------------------------------------------------------

// log(1 + f) = f - less; z in f's place: log(1 + f) for the mantissa of x.
struct Log {
  SVal f, exponent, half_square, series;  // log(1 + f) = f - half_square + series
};
Log log_of(SVal f, SVal exponent) {
  const SVal s = f / (f + 2.0), z = s * s;
  const SVal r = z * poly(z, {0.14757206608483936, 0.15318167709168262, 0.18183391654809455,
                              0.22222202182259848, 0.28571428703509577, 0.3999999999961318,
                              0.6666666666666698});
  const SVal half_square = 0.5 * f * f;
  return {f, exponent, half_square, s * (half_square + r)};
}
Split split_any(SVal x) {  // subnormals too
  const SVal tiny = x < std::numeric_limits<double>::min();
  const Split s = split_exponent(s_select(tiny, x * 18014398509481984.0, x));  // 2^54
  return {s.m, s.exponent - s_select(tiny, number(x, 54.0), number(x, 0.0))};
}
Log log_parts(SVal x) {
  const Split s = split_any(x);
  return log_of(s.m - 1.0, s.exponent);
}
SVal natural(const Log& l, SVal low) {  // exponent * ln 2 + log(1 + f) + low
  const SVal small = l.series + s_fma(l.exponent, number(l.f, kLn2Rest), low);
  return s_fma(l.exponent, number(l.f, kLn2High), l.f - (l.half_square - small));
}
SVal log_special(SVal x, SVal r) {
  r = s_select(x == kInf, x, r);
  r = s_select(x == 0.0, number(x, -kInf), r);
  return s_select(x >= 0.0, r, number(x, kNaN));
}
// exponent * per_two + log(1 + f) * per_e, both factors with what they lack.
SVal other_log(SVal x, Pair per_two, Pair per_e) {
  const Log l = log_parts(x);
  const SVal hi = l.f - l.half_square, lo = ((l.f - hi) - l.half_square) + l.series;
  const Pair p = two_product(hi, per_e.hi);
  const SVal low = p.lo + s_fma(lo, per_e.hi, (hi + lo) * per_e.lo);
  const Pair sum = ordered_sum(l.exponent * per_two.hi, p.hi);
  return log_special(x, sum.hi + (sum.lo + s_fma(l.exponent, per_two.lo, low)));
}
// log(1 + x + low) for |low| far below |x|.
SVal log1p_with(SVal x, SVal low) {
  const SVal u = x + 1.0;
  const SVal near = (x > -0.2928) & (x < 0.4142);
  const SVal lost = s_select(x > 1.0, 1.0 - (u - x), x - (u - 1.0));
  const Split s = split_any(u);
  const SVal zero = number(x, 0.0);
  const Log l = log_of(s_select(near, x, s.m - 1.0), s_select(near, zero, s.exponent));
  return natural(l, (s_select(near, zero, lost) + low) / u);
}

// --- Circular functions -------------------------------------------------------------------------

// x = quadrant * pi / 2 + hi + lo, |hi| <= pi / 4. (lo may be more than what rounding takes from a
// tiny hi, but then powers of hi do not count.) pi / 2 in three parts serves up to 2^40 even for
// the arguments that come nearest to a multiple of it.
struct Angle {
  SVal hi, lo, quadrant, far;
};
Angle angle(SVal x) {
  const SVal far = absolute(x) > 1099511627776.0;  // far_angles.cc reduces those
  const SVal m = s_fma(x, number(x, 2 / kPi), kMagic), n = m - kMagic;
  // Exact: x and n times the first part are multiples of 2^-53, and what is left is below 1.
  const SVal a = s_fma(n, number(x, -kHalfPi), x);
  const Pair p = two_product(n, number(x, kHalfPiLow)), r = two_difference(a, p.hi);
  return {r.hi, r.lo - s_fma(n, number(x, kHalfPiLeast), p.lo), s_bitcast(m, DType::I64), far};
}
Pair sine_of(const Angle& a) {
  const SVal z = a.hi * a.hi;
  const SVal p = poly(z, {-7.579472051150811e-13, 1.6058384137450506e-10, -2.5052105068110265e-08,
                          2.7557319214889267e-06, -0.00019841269841256682, 0.008333333333333325,
                          -0.16666666666666666});
  return {a.hi, s_fma(z * a.hi, p, s_fma(z * -0.5, a.lo, a.lo))};
}
Pair cosine_of(const Angle& a) {
  const SVal z = a.hi * a.hi, half = 0.5 * z, w = 1.0 - half;
  const SVal p = poly(z, {4.7412479774699134e-14, -1.14703675377087e-11, 2.0876755067763593e-09,
                          -2.7557319218730224e-07, 2.480158730157994e-05, -0.0013888888888888885,
                          0.041666666666666664});
  return {w, ((1.0 - w) - half) + s_fma(z * z, p, -(a.hi * a.lo))};
}
SVal sum(Pair p) { return p.hi + p.lo; }
Pair normal(Pair p) { return ordered_sum(p.hi, p.lo); }
// What is so small that sine and tangent are it; the sign of 0 too.
SVal unless_tiny(SVal x, SVal y) { return s_select(absolute(x) < 7e-9, x, y); }

// a / b to twice the digits, but for the last few.
Pair quotient(Pair a, Pair b) {
  const SVal r = 1.0 / b.hi, q = a.hi * r;
  return {q, (s_fma(-q, b.hi, a.hi) + s_fma(-q, b.lo, a.lo)) * r};
}

// atan(t + low) - t for |t| <= tan(pi / 8)
SVal rest_of_atan(Pair t) {
  const SVal z = t.hi * t.hi;
  const SVal p =
      poly(z, {0.01547658674882265, -0.0337696131080068, 0.04517119077508578, -0.05221996368278749,
               0.05877626348237992, -0.06666294162564525, 0.07692287788650641, -0.09090908392456791,
               0.11111111095945933, -0.14285714285531537, 0.1999999999999902, -0.3333333333333333});
  return s_fma(t.hi * z, p, s_fma(-z, t.lo, t.lo));
}
// The angle of (x, y) for 0 <= y <= x, and what is added to it: eighths of a turn.
struct Eighths {
  Pair t;
  SVal mid;  // pi / 4 is to be added
};
Eighths eighths(SVal y, SVal x) {
  const SVal mid = y > 0.4142135623730950 * x, zero = number(x, 0.0);
  const Pair d = two_sum(y, -x), s = ordered_sum(x, y);
  return {quotient({s_select(mid, d.hi, y), s_select(mid, d.lo, zero)},
                   {s_select(mid, s.hi, x), s_select(mid, s.lo, zero)}),
          mid};
}
// k pi / 4 + sign * (t + rest)
SVal turned(SVal k, SVal negative, const Eighths& e) {
  SVal hi = e.t.hi, lo = rest_of_atan(e.t);
  hi = s_select(negative, -hi, hi);
  lo = s_select(negative, -lo, lo);
  const Pair base = two_product(k, number(k, kHalfPi / 2));
  const Pair s = ordered_sum(base.hi, hi);
  return s.hi + (s.lo + (lo + s_fma(k, number(k, kHalfPiLow / 2), base.lo)));
}

// asin for |a| <= 1 by the series around 0 and by asin(a) = pi / 2 - 2 asin(sqrt((1 - a) / 2)).
struct Arcsine {
  SVal big, s, rest;  // asin(argument of the series) = s + rest
};
Arcsine arcsine_of(SVal x) {
  const SVal a = absolute(x), big = a > 0.5, half = 0.5 * (1.0 - a);
  const SVal z = s_select(big, half, x * x), r = root(half), s = s_select(big, r, x);
  // what the root lost
  const SVal low = s_select(r > 0.0, s_fma(-r, r, half) * (0.5 / r), number(x, 0.0));
  const SVal p =
      poly(z, {0.0319462335394381, -0.01985528118282461, 0.020857362519468542, 0.004075325741589042,
               0.010676653753841098, 0.011418622977839927, 0.013978235238491088,
               0.01735184523877213, 0.022372200811314635, 0.030381943264034237,
               0.044642857161574775, 0.07499999999986555, 0.1666666666666669});
  return {big, s, s_fma(s * z, p, s_select(big, low, number(x, 0.0)))};
}
}  // namespace

SVal exp(SVal x) {
  const SVal t = clamp_keep_nan(x, kMinExp, kMaxExp);
  return s_select(s_is_nan(x), x, exp_with(by_ln2(t)));
}
SVal exp2(SVal x) {
  const SVal t = clamp_keep_nan(x, -1080.0, 1024.0);
  return s_select(s_is_nan(x), x, exp_with(of_log2(t, number(x, 0.0))));
}
namespace {
// exp(x) - 1 for x from -700 to 40, but for what is done for 0.
SVal expm1_of(SVal x) {
  const Reduced a = by_ln2(x);
  const SVal rest = rest_of_expm1(a), scale = power_of_two(a.n);
  const Pair s = ordered_sum(scale - 1.0, scale * a.r);
  return s_select(a.n == 0.0, a.r + rest, s.hi + s_fma(scale, rest, s.lo));
}
}  // namespace
SVal expm1(SVal x) {
  const SVal y = expm1_of(clamp_keep_nan(x, -700.0, 40.0));
  return s_select((x == 0.0) | s_is_nan(x), x, s_select(x > 39.0, exp(x), y));
}

SVal log(SVal x) { return log_special(x, natural(log_parts(x), number(x, 0.0))); }
SVal log2(SVal x) {
  return other_log(x, {number(x, 1.0), number(x, 0.0)},
                   {number(x, kInvLn2), number(x, kInvLn2Low)});
}
SVal log10(SVal x) {
  return other_log(x, {number(x, 0.30102999560767785), number(x, 5.630334806675098e-11)},
                   {number(x, 0.4342944819032518), number(x, 1.098319650216765e-17)});
}
SVal log1p(SVal x) {
  SVal r = log1p_with(x, number(x, 0.0));
  r = s_select((x == kInf) | (x == 0.0), x, r);
  r = s_select(x == -1.0, number(x, -kInf), r);
  return s_select(x >= -1.0, r, number(x, kNaN));
}

SVal sin(SVal x) {
  const Angle a = angle(x);
  const SVal y = s_select(odd(a.quadrant), sum(cosine_of(a)), sum(sine_of(a)));
  return or_far(Call1::sin_far, x, a.far, unless_tiny(x, negative_half(a.quadrant, y)));
}
SVal cos(SVal x) {
  const Angle a = angle(x);
  const SVal y = s_select(odd(a.quadrant), sum(sine_of(a)), sum(cosine_of(a)));
  return or_far(Call1::cos_far, x, a.far, negative_half(a.quadrant + integer(x, 1), y));
}
SVal tan(SVal x) {
  const Angle a = angle(x);
  const Pair s = normal(sine_of(a)), c = normal(cosine_of(a));
  const SVal swap = odd(a.quadrant);
  const Pair top{s_select(swap, -c.hi, s.hi), s_select(swap, -c.lo, s.lo)};
  const Pair bottom{s_select(swap, s.hi, c.hi), s_select(swap, s.lo, c.lo)};
  return or_far(Call1::tan_far, x, a.far, unless_tiny(x, sum(quotient(top, bottom))));
}

SVal asin(SVal x) {
  const Arcsine a = arcsine_of(x);
  const SVal far = kHalfPi - 2.0 * (a.s + (a.rest - 0.5 * kHalfPiLow));
  return s_select(a.big, with_sign_of(far, x), s_select(absolute(x) < 1e-9, x, a.s + a.rest));
}
SVal acos(SVal x) {
  const Arcsine a = arcsine_of(x);
  const SVal twice = 2.0 * (a.s + a.rest);
  const SVal far = s_select(x < 0.0, 2 * kHalfPi - 2.0 * (a.s + (a.rest - kHalfPiLow)), twice);
  return s_select(a.big, far, kHalfPi - (a.s - (kHalfPiLow - a.rest)));
}
SVal atan(SVal x) {
  const SVal a = absolute(x), swap = a > 1.0, one = number(x, 1.0);
  const SVal huge = a > 1e17;  // pi / 2
  const Eighths e = eighths(s_select(swap, one, a), s_select(swap, a, one));
  const SVal k = s_select(e.mid, one, s_select(swap, number(x, 2.0), number(x, 0.0)));
  SVal y = turned(k, swap, e);
  y = s_select(huge, number(x, kHalfPi), y);
  return s_select((a < 1e-9) | s_is_nan(x), x, with_sign_of(y, x));
}
SVal atan2(SVal y, SVal x) {
  const SVal zero = number(x, 0.0), one = number(x, 1.0), two = number(x, 2.0);
  const SVal ay = absolute(y), ax = absolute(x), swap = ay > ax;
  SVal top = s_select(swap, ax, ay), bottom = s_select(swap, ay, ax);
  const SVal endless = bottom == kInf, none = bottom == 0.0;
  // keep sums and remainders within range
  const SVal scale = s_select(bottom > 1e300, number(x, 0x1p-64),
                              s_select(bottom < 1e-200, number(x, 0x1p200), one));
  top = s_select(endless, s_select(top == kInf, one, zero), top * scale);
  bottom = s_select(endless | none, one, bottom * scale);
  const Eighths e = eighths(top, bottom);
  const SVal left = s_bitcast(x, DType::I64) < integer(x, 0);
  const SVal steps = s_select(swap, two, zero);
  SVal k = s_select(e.mid, one, steps);
  k = s_select(left, 4.0 - k, k);
  const SVal negative = (swap & ~left) | (left & ~swap);
  const SVal r = with_sign_of(turned(k, negative, e), y);
  return s_select(s_is_nan(x) | s_is_nan(y), x + y, r);
}

namespace {
// exp(a) / 2, which is there where exp(a) is not.
SVal half_exp(SVal a) {
  Reduced r = by_ln2(clamp_keep_nan(a, -700.0, 711.0));
  r.n = r.n - 1.0;
  return exp_with(r);
}
}  // namespace
SVal sinh(SVal x) {
  const SVal a = absolute(x), e = half_exp(a), z = x * x;
  const SVal p = poly(z, {2.848141246598657e-15, 7.64648716873693e-13, 1.6059050520240888e-10,
                          2.5052108347313167e-08, 2.755731922411183e-06, 0.00019841269841269614,
                          0.008333333333333333, 0.16666666666666666});
  const SVal small = s_select(a < 1e-9, x, s_fma(x * z, p, x));
  return s_select(a < 1.0, small, s_select(s_is_nan(x), x, with_sign_of(e - 0.25 / e, x)));
}
SVal cosh(SVal x) {
  const SVal e = half_exp(absolute(x));
  return s_select(s_is_nan(x), x, e + 0.25 / e);
}
SVal tanh(SVal x) {
  const SVal a = absolute(x), two = x.sb->op(SOp::kMin, DType::F64, a + a, number(x, 40.0));
  const SVal t = expm1_of(two), y = sum(quotient({t, number(x, 0.0)}, two_sum(t, number(x, 2.0))));
  return s_select((a < 1e-9) | s_is_nan(x), x, with_sign_of(y, x));
}
SVal asinh(SVal x) {
  const SVal a = absolute(x), z = a * a, h = root(z + 1.0), big = a > 1e8;
  const Pair u = two_sum(a, z / (h + 1.0));
  const SVal near = log1p_with(u.hi, u.lo);
  const SVal far = natural(log_parts(a), number(x, kLn2));
  const SVal y = with_sign_of(s_select(big, far, near), x);
  return s_select((a == kInf) | (a < 1e-9) | s_is_nan(x), x, y);
}
SVal acosh(SVal x) {
  const SVal t = x - 1.0, big = x > 1e8;
  const Pair u = two_sum(t, root(s_fma(t, t, t + t)));
  const SVal y = s_select(big, natural(log_parts(x), number(x, kLn2)), log1p_with(u.hi, u.lo));
  return s_select(x == kInf, x, s_select(x >= 1.0, y, number(x, kNaN)));
}
SVal atanh(SVal x) {
  const SVal a = absolute(x), t = a + a;
  const Pair u = two_sum(t, t * a / (1.0 - a));
  const SVal r = s_select(a == 1.0, number(x, kInf), 0.5 * log1p_with(u.hi, u.lo));
  const SVal y = s_select(a < 1e-9, x, with_sign_of(r, x));
  return s_select(a <= 1.0, y, number(x, kNaN));
}

SVal cbrt(SVal x) {
  const SVal a0 = absolute(x), tiny = a0 < std::numeric_limits<double>::min(), one = number(x, 1.0);
  const SVal a = s_select(tiny, a0 * 18014398509481984.0, a0);  // 2^54
  const Split s = split_exponent(a);
  const SVal third = s_unary(SOp::kFloor, (s.exponent + 0.1) * (1.0 / 3.0));
  const SVal left = s.exponent - 3.0 * third;  // 0, 1, 2
  auto by_rest = [&](double first, double second) {
    return s_select(left == 0.0, one, s_select(left == 1.0, number(x, first), number(x, second)));
  };
  const SVal m = s.m * by_rest(2.0, 4.0);
  SVal y = poly(s.m, {-0.037240470653159385, 0.21462378211729133, -0.5320338098619883,
                      0.902382432326932, 0.45227319359448687}) *
           by_rest(1.2599210498948732, 1.5874010519681996);
  const SVal cube = y * y * y;
  y = y * (cube + (m + m)) / (cube + cube + m);
  const Pair square = two_product(y, y), third_power = two_product(square.hi, y);
  const SVal over = (third_power.hi - m) + s_fma(square.lo, y, third_power.lo);
  y = y - over / (3.0 * square.hi);
  y = y * power_of_two(third - s_select(tiny, number(x, 18.0), number(x, 0.0)));
  return s_select((x == 0.0) | (a0 == kInf) | s_is_nan(x), x, with_sign_of(y, x));
}

namespace {
// erf(x) / x - 1 for |x| < 0.92
SVal erf_near(SVal z) {
  return poly(
      z, {6.180827650963888e-11, -1.149635782383909e-09, 1.4689578864772369e-08,
          -1.6354438291352597e-07, 1.6461362063437758e-06, -1.4925616159522513e-05,
          0.00012055331915266768, -0.0008548327001132618, 0.005223977625142148,
          -0.026866170645107233, 0.11283791670955026, -0.3761263890318375, 0.1283791670955126});
}
constexpr double kErfNear = 0.65;  // the difference from 1 needs more than erf has beyond
// exp(a^2) * erfc(a) for a in [kErfNear, 28]: g(q) / (1 + 2a), q = (a - 3.5) / (a + 3.5)
Pair scaled_erfc(SVal a) {
  const SVal q = (a - 3.5) / (a + 3.5);
  const SVal g = poly(q, {-1.4445959893514909e-09, 1.1675278776093461e-08,  4.225865017492445e-09,
                          -9.632304574389064e-08,  -1.1884365226093306e-08, 6.038342170041061e-07,
                          -4.1835641517708324e-08, -3.816688492392829e-06,  2.3274045095839548e-06,
                          2.426182445483658e-05,   -4.27820109313243e-05,   -0.0001215126414272329,
                          0.000564384382819015,    -0.0003022678432178465,  -0.004215019904316033,
                          0.01909933093921681,     -0.04882332582810302,    0.08798315382502732,
                          -0.1150895981601861,     0.09751909515325488,     -0.010555596332218354,
                          -0.1400091801376194,     1.2423492448711544});
  return quotient({g, number(a, 0.0)}, two_sum(a + a, number(a, 1.0)));
}
SVal erfc_far(SVal a) {  // for a > kErfNear
  a = a.sb->op(SOp::kMin, DType::F64, number(a, 28.0), a);
  const Pair square = two_product(a, a);
  const Reduced near = by_ln2(-square.hi);
  const Reduced r = with_small_rest(near.r, near.c - square.lo, near.n);
  const Pair e = exp_of(r), w = scaled_erfc(a);
  return scaled(s_fma(e.hi, w.hi, s_fma(e.hi, w.lo, e.lo * w.hi)), r.n);
}
// erf(a) = 1 - exp(-a P(a)) for a > kErfNear, without a division.
SVal erf_far(SVal a) {
  a = a.sb->op(SOp::kMin, DType::F64, number(a, 6.0), a);
  const SVal rest = poly(
      a, {1.0506573864264632e-13, -4.280871971798575e-12, 7.912865342004413e-11,
          -8.642361096006425e-10, 5.974936913653626e-09, -2.4228944223367217e-08,
          1.8701051480280638e-08, 4.882450578413422e-07, -3.942196392876356e-06,
          1.776963569042935e-05, -5.298670649338352e-05, 9.416118224453006e-05,
          -4.167907590251437e-06, -0.0005660386633449639, 0.0016811039016940206,
          -0.000201948536703197, -0.019131013704228674, 0.10277323510250098, 0.6366196759691254});
  const Pair p =
      ordered_sum(number(a, 1.1283791739539275), s_fma(rest, a, -4.6979604545585604e-17));
  const Pair s = two_product(a, p.hi);
  const Reduced near = by_ln2(-s.hi);
  const Pair e = exp_of(with_small_rest(near.r, near.c - s_fma(a, p.lo, s.lo), near.n));
  return s_fma(-(e.hi + e.lo), power_of_two(near.n), 1.0);
}
}  // namespace
SVal erf(SVal x) {
  const SVal a = absolute(x), near = s_fma(x, erf_near(x * x), x);
  return s_select(a < kErfNear, near, with_sign_of(erf_far(a), x));
}
SVal erfc(SVal x) {
  const SVal a = absolute(x), one = number(x, 1.0), far = erfc_far(a);
  const Pair rest = two_sum(one, -x);
  const SVal near = rest.hi + s_fma(-x, erf_near(x * x), rest.lo);
  const SVal y = s_select(a < kErfNear, near, s_select(x < 0.0, 2.0 - far, far));
  return s_select(s_is_nan(x), x, y);
}
SVal erfcx(SVal x) {  // 2 exp(x^2) - erfcx(-x) for negative x
  auto at_most = [&](SVal a, double most) {
    return a.sb->op(SOp::kMin, DType::F64, number(a, most), a);
  };
  const SVal a = absolute(x), t = at_most(a, 26.65);  // from there on exp(x^2) is infinite
  const Pair square = two_product(t, t);
  const Reduced near = by_ln2(square.hi);
  const Reduced r = with_small_rest(near.r, near.c + square.lo, near.n);
  const Pair e = exp_of(r), w = scaled_erfc(at_most(a, 28.0)), one = two_sum(number(x, 1.0), -x);
  const SVal small = one.hi + s_fma(-x, erf_near(x * x), one.lo);  // erfc(x)
  const SVal inverse = 1.0 / a, z = inverse * inverse;
  const SVal far = s_fma(inverse * z,
                         poly(z, {91.63673001529573, -16.661223639144676, 3.70249414203215,
                                  -1.057855469152043, 0.42314218766081724, -0.28209479177387814}),
                         inverse * 0.5641895835477563);
  const SVal y = s_select(a > 28.0, far, w.hi + w.lo);
  const SVal mirrored = scaled(e.hi + e.lo, r.n + 1.0) - y;
  const SVal both = s_select(a < kErfNear, scaled(s_fma(e.hi, small, e.lo * small), r.n),
                             s_select(x < 0.0, mirrored, y));
  return s_select(s_is_nan(x), x, both);
}

namespace {
Pair log2_pair(SVal a) {  // of a positive number, to some 68 bits
  const Split m = split_any(a);
  const SVal f = m.m - 1.0;
  const Pair s = quotient({f, number(a, 0.0)}, two_sum(number(a, 2.0), f));
  const Pair z{s.hi * s.hi, s_fma(s.hi, s.hi, -(s.hi * s.hi)) + 2.0 * s.hi * s.lo};
  const SVal series =
      poly(z.hi, {0.06553979160234465, 0.06633457209642467, 0.0769314761253776, 0.09090897561201641,
                  0.11111111193590673, 0.14285714285454942, 0.20000000000000195});
  const SVal third = number(a, 0.3333333333333333);
  const Pair t0 = two_product(z.hi, third);
  const SVal t_low = t0.lo + s_fma(z.lo, third, z.hi * 1.850371707708594e-17);
  const Pair t = ordered_sum(t0.hi, s_fma(z.hi * z.hi, series, t_low));
  // log(m) / 2 = s + s t
  const Pair st = two_product(s.hi, t.hi);
  const Pair half = ordered_sum(s.hi, st.hi);
  const SVal half_low = half.lo + (st.lo + s_fma(s.hi, t.lo, s_fma(s.lo, t.hi, s.lo)));
  const SVal per_e = number(a, 2 * kInvLn2);
  const Pair p = two_product(half.hi, per_e);
  const SVal low = p.lo + s_fma(half_low, per_e, half.hi * (2 * kInvLn2Low));
  const Pair sum = ordered_sum(m.exponent, p.hi);
  return ordered_sum(sum.hi, sum.lo + low);
}
}  // namespace
SVal pow(SVal x, SVal y) {
  const SVal a = absolute(x), zero = number(x, 0.0);
  const Pair l = log2_pair(a);
  SVal high = l.hi;
  high = s_select(a == 0.0, number(x, -kInf), s_select(a == kInf, a, high));
  const SVal t0 = y * high, t = clamp_keep_nan(t0, -1100.0, 1100.0);
  const SVal low = s_fma(y, high, -t0) + y * l.lo;
  SVal r = exp_with(of_log2(t, s_select(t == t0, low, zero)));
  // a negative base: odd exponents keep the sign, even ones drop it, others have no result
  const SVal half = 0.5 * y, whole = s_unary(SOp::kFloor, y) == y;
  const SVal is_odd = whole & (s_unary(SOp::kFloor, half) != half);
  r = s_select(is_odd, with_sign_of(r, x), r);
  r = s_select((x < 0.0) & ~whole & (a != kInf) & (absolute(y) != kInf), number(x, kNaN), r);
  r = s_select(s_is_nan(x) | s_is_nan(y), x + y, r);
  const SVal one = (x == 1.0) | (y == 0.0) | ((a == 1.0) & (absolute(y) == kInf));
  return s_select(one, number(x, 1.0), r);
}
SVal hypot(SVal x, SVal y) {
  const SVal ax = absolute(x), ay = absolute(y), swap = ay > ax, one = number(x, 1.0);
  SVal a = s_select(swap, ay, ax), b = s_select(swap, ax, ay);
  const SVal big = a > 1e150, small = a < 1e-140;
  const SVal up = s_select(big, number(x, 0x1p-600), s_select(small, number(x, 0x1p600), one));
  const SVal down = s_select(big, number(x, 0x1p600), s_select(small, number(x, 0x1p-600), one));
  a = a * up;
  b = b * up;
  const Pair p = two_product(a, a), q = two_product(b, b), s = ordered_sum(p.hi, q.hi);
  const SVal h = root(s.hi), low = s.lo + (p.lo + q.lo);
  const SVal fixed = h + (s_fma(-h, h, s.hi) + low) * (0.5 / h);
  SVal r = s_select(s.hi == 0.0, number(x, 0.0), fixed) * down;
  r = s_select(s_is_nan(x) | s_is_nan(y), x + y, r);
  return s_select((ax == kInf) | (ay == kInf), number(x, kInf), r);
}

}  // namespace pijit::f64
