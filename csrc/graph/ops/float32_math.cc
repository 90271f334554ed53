#include "graph/ops/float32_math.h"

#include "graph/ops/scalar_math.h"

namespace pijit::f32 {
namespace {

using namespace scalar_math;

constexpr double kRound = 12582912.0;  // 1.5 * 2^23: leaves integers in the low bits
constexpr double kInvLn2 = 1 / kLn2;
// In parts: ln 2, the first one so short that products with exponents are exact; pi / 2; pi.
constexpr double kLn2High = 0.693359375, kLn2Rest = -2.12194440e-4;
constexpr double kHalfPi = 1.5707963705062866, kHalfPiLow = -4.371139000186241e-08;

SVal as_float(SVal bits) { return s_bitcast(bits, DType::F32); }
SVal smaller(SVal a, SVal b) { return a.sb->op(SOp::kMin, DType::F32, a, b); }
SVal larger(SVal a, SVal b) { return a.sb->op(SOp::kMax, DType::F32, a, b); }
// x * 2^n, rounded once; |x| between 2^-20 and 2^20.
SVal scaled(SVal x, SVal n) { return x.sb->op(SOp::kScale, DType::F32, x, n); }
// 2^m for integral m within [-126, 127], given m + kRound.
SVal power_of_two(SVal rounded) {
  return as_float(shift(SOp::kShl, bits_of(rounded) + integer(rounded, 127), 23));
}

// exp(x) = p * 2^n with p near 1, by Cody & Waite reduction and a polynomial of degree 5 (Cephes
// expf). The precise form carries the low parts of the reduced argument and of 1 + r along: 0.6 ULP
// instead of 1.0, for functions that round several times more.
struct ExpParts {
  SVal p, n;
};
ExpParts exp_parts(SVal x, bool precise) {
  const SVal n = s_unary(SOp::kRint, x * kInvLn2), low = number(x, -kLn2Rest);
  const SVal t = s_fma(n, number(x, -kLn2High), x), r = s_fma(n, low, t);
  const SVal p = poly(r, {1.9875691500E-4, 1.3981999507E-3, 8.3334519073E-3, 4.1665795894E-2,
                          1.6666665459E-1, 5.0000001201E-1});
  if (!precise) return {s_fma(p, r * r, r) + 1.0, n};
  const SVal r_low = s_fma(n, low, t - r), s = r + 1.0, s_low = r - (s - 1.0);
  return {s + (s_low + s_fma(p, r * r, r_low)), n};
}

// A positive number is (1 + f) * 2^exponent with 1 + f in [sqrt(1/2), sqrt(2)), and the logarithm
// of 1 + f is f + rest (Cephes logf).
struct LogParts {
  SVal exponent, f, rest;
};
SVal log_rest(SVal f) {
  const SVal z = f * f;
  const SVal series = poly(
      f, {7.0376836292E-2, -1.1514610310E-1, 1.1676998740E-1, -1.2420140846E-1, 1.4249322787E-1,
          -1.6668057665E-1, 2.0000714765E-1, -2.4999993993E-1, 3.3333331174E-1});
  return s_fma(z, number(f, -0.5), series * f * z);
}
// The exponent e for which bits - (e << 23) lie in [sqrt(1/2), sqrt(2)).
SVal exponent_of(SVal bits) { return shift(SOp::kShr, bits - integer(bits, 0x3f3504f3), 23); }
LogParts log_parts(SVal x) {
  const SVal tiny = x < 1.17549435e-38;  // subnormals are scaled up first
  const SVal u = bits_of(s_select(tiny, x * 8388608.0, x)), e = exponent_of(u);
  const SVal f = as_float(u - shift(SOp::kShl, e, 23)) - 1.0;
  const SVal exponent = s_cast(e, DType::F32) - s_select(tiny, number(x, 23.0), number(x, 0.0));
  return {exponent, f, log_rest(f)};
}
SVal log_special(SVal x, SVal r) {
  r = s_select(x == kInf, x, r);
  r = s_select(x == 0.0, number(x, -kInf), r);
  return s_select(x >= 0.0, r, number(x, kNaN));
}
// f + rest + exponent * ln 2; `low` is added where it does not matter that it is rounded.
SVal natural(SVal exponent, SVal f, SVal rest) {
  const SVal y = s_fma(exponent, number(f, kLn2Rest), rest);
  return s_fma(exponent, number(f, kLn2High), f + y);
}
// The logarithm to another base: `per_e` is that of e and `per_two` that of 2, each in two parts,
// of which the first of `per_two` is short.
SVal other_log(SVal x, double per_e, double per_e_low, double per_two, double per_two_low) {
  const LogParts l = log_parts(x);
  const Pair p = two_product(l.f, number(x, per_e));
  const Pair s = ordered_sum(l.exponent * per_two, p.hi);
  const SVal low =
      s_fma(l.f, number(x, per_e_low), s_fma(l.exponent, number(x, per_two_low), p.lo));
  return log_special(x, s.hi + (s_fma(l.rest, number(x, per_e), low) + s.lo));
}
// log(1 + x) for x > -1, without the special values: 1 + x = (1 + f) * 2^e, f = x 2^-e + (2^-e -
// 1).
SVal log1p_of(SVal x) {
  const SVal e = exponent_of(bits_of(x + 1.0));
  // 2^(2 - e), because 2^-128 is no normal number
  const SVal four = as_float(integer(x, 0x40800000) - shift(SOp::kShl, e, 23));
  const SVal small = as_float(bits_of(x) - shift(SOp::kShl, e, 23));
  const SVal f = s_select(e == integer(x, 0), x, small + s_fma(four, number(x, 0.25), -1.0));
  return natural(s_cast(e, DType::F32), f, log_rest(f));
}
// The same for x within [0, 1].
SVal log1p_below_one(SVal x) {
  const SVal big = x > 0.41421356, zero = number(x, 0.0);
  const SVal f = s_select(big, s_fma(x, number(x, 0.5), -0.5), x);
  return natural(s_select(big, number(x, 1.0), zero), f, log_rest(f));
}

// erf(i s + v) = A_i + v Q_i(v) for |v| <= s / 2, s = 67 / 256: A_i is close to a float32 value for
// this s. Around 0 it is v + v Q_0(v). Q_i by minimax fits of degree 5 (Lawson's iteration) in 80
// bits; 1.2 ULP.
alignas(64) constexpr float kErf[7][16] = {
    {0.0f, 0.288711548f, 0.540853143f, 0.733164072f, 0.861261427f, 0.935777366f, 0.973632574f,
     0.990427017f, 0.996933699f, 0.999135077f, 0.999785483f, 0.99995327f, 0.999991059f, 0.99999851f,
     0.999999762f, 1.0f},
    {0.128379166f, 1.05367661f, 0.857954204f, 0.609151602f, 0.377130121f, 0.20359239f,
     0.0958376974f, 0.039338313f, 0.0140799014f, 0.00439428352f, 0.00119586219f, 0.000283778092f,
     5.87193754e-05f, 1.05947074e-05f, 1.66686959e-06f, 2.28675546e-07f},
    {-3.54199976e-08f, -0.27576682f, -0.449085385f, -0.478279203f, -0.394808114f, -0.266419739f,
     -0.150495142f, -0.0720690191f, -0.0294797942f, -0.0103505962f, -0.0031297945f,
     -0.000816970016f, -0.000184415316f, -3.60467639e-05f, -6.10749521e-06f, -8.97725954e-07f},
    {-0.37612322f, -0.303106159f, -0.129274487f, 0.0472939014f, 0.149829715f, 0.164559051f,
     0.125605166f, 0.0749104097f, 0.0364561528f, 0.014788908f, 0.005062046f, 0.00147325918f,
     0.000366480992f, 7.82071147e-05f, 1.43564548e-05f, 2.27172177e-06f},
    {-0.000103421982f, 0.131569088f, 0.183526188f, 0.1408609f, 0.0531782918f, -0.0188616347f,
     -0.0484529808f, -0.0445954762f, -0.0283385385f, -0.0139674637f, -0.00558114564f,
     -0.00184849347f, -0.000514068874f, -0.00012104425f, -2.42698188e-05f, -4.16080275e-06f},
    {0.114367217f, 0.0767075941f, 0.000571160752f, -0.0578635894f, -0.0668211132f, -0.0394607522f,
     -0.00741824554f, 0.0100457091f, 0.0127294436f, 0.00872356351f, 0.00434429385f, 0.00170241343f,
     0.000543491973f, 0.000144029444f, 3.2051059e-05f, 6.03537592e-06f},
    {-0.0104423333f, -0.0409219489f, -0.0487339571f, -0.0223641377f, 0.00901716948f, 0.022059869f,
     0.0166679602f, 0.00570866466f, -0.00131764228f, -0.0031013093f, -0.00228218432f,
     -0.0011308901f, -0.000428065745f, -0.000129884414f, -3.23724926e-05f, -6.72433953e-06f},
};
// exp(a^2) * erfc(a) of a = i s + v, s = 169 / 256: B_i + v Q_i(v), Q_i of degree 6. B_i in two
// parts.
alignas(64) constexpr float kErfc[9][16] = {
    {1.0f, 0.54196066f, 0.35365117f, 0.2574976f, 0.2008231f, 0.16397142f, 0.13827594f, 0.1194119f,
     0.10500849f, 0.09366738f, 0.08451448f, 0.076977015f, 0.07066482f, 0.065303296f, 0.060693793f,
     0.05668917f},
    {0.0f, 1.5653983e-08f, 9.587224e-09f, -1.4832663e-09f, 2.9545537e-09f, -2.5378755e-09f,
     -5.4910227e-09f, -1.2023006e-09f, -2.600752e-09f, -3.1307954e-09f, -1.6468942e-09f,
     1.905824e-09f, -3.0313145e-09f, -9.0398755e-10f, 1.2317943e-09f, 4.9952875e-10f},
    {-1.1283791f, -0.41282174f, -0.19451903f, -0.10844724f, -0.06778216f, -0.04591158f,
     -0.032974526f, -0.024752002f, -0.019227015f, -0.015347284f, -0.012523993f, -0.0104082795f,
     -0.008783425f, -0.007509331f, -0.0064923144f, -0.0056678755f},
    {0.9999959f, 0.26943457f, 0.09682534f, 0.042721253f, 0.021835828f, 0.012427341f, 0.007665885f,
     0.0050305743f, 0.0034658154f, 0.0024829265f, 0.001836551f, 0.001395016f, 0.0010836264f,
     0.00085798017f, 0.0006906076f, 0.0005639191f},
    {-0.7521571f, -0.15663452f, -0.044453096f, -0.015892768f, -0.0067479163f, -0.0032610316f,
     -0.001740422f, -0.0010035394f, -0.00061545416f, -0.00039680974f, -0.0002666086f,
     -0.00018539913f, -0.0001326885f, -9.740916e-05f, -7.305767e-05f, -5.582905e-05f},
    {0.49893042f, 0.08297169f, 0.019062119f, 0.0056222957f, 0.0020084104f, 0.00083156856f,
     0.00038637404f, 0.00019665202f, 0.000107729094f, 6.266863e-05f, 3.832071e-05f, 2.4428899e-05f,
     1.6135717e-05f, 1.099109e-05f, 7.686597e-06f, 5.5017076e-06f},
    {-0.29439715f, -0.04073717f, -0.007708754f, -0.0019024956f, -0.00057825795f, -0.00020765318f,
     -8.162507e-05f, -3.714688e-05f, -1.8549817e-05f, -9.722841e-06f, -5.1360316e-06f,
     -2.7958388e-06f, -2.4260294e-06f, -1.292579e-06f, -8.434557e-07f, -6.78306e-07f},
    {0.14428236f, 0.019409297f, 0.0030396783f, 0.00063056964f, 0.00016303587f, 5.0451654e-05f,
     1.7804328e-05f, 7.2402318e-06f, 3.1917273e-06f, 1.5196719e-06f, 7.4321827e-07f, 4.138357e-07f,
     2.534741e-07f, 1.4209502e-07f, 9.0005976e-08f, 5.9031063e-08f},
    {-0.043233722f, -0.008280445f, -0.0011160985f, -0.00019672087f, -4.1438427e-05f, -5.894027e-06f,
     -1.578003e-05f, -5.2388987e-06f, -7.9442606e-07f, -5.5703924e-07f, -1.7445702e-06f,
     -2.1296132e-06f, 2.4461178e-06f, 2.936652e-07f, 1.8990418e-07f, 7.135259e-07f},
};

// atan(t) = t + the result, |t| <= 1.
SVal atan_rest(SVal t) {
  const SVal z = t * t;
  return t * z *
         poly(z, {-0.0017876966, 0.010888142, -0.031128569, 0.05790809, -0.084005535, 0.109511934,
                  -0.14264053, 0.19998531, -0.333333});
}
// asin(s) = s + the result, |s| <= 1/2, z = s * s.
SVal arcsine_rest(SVal s, SVal z) {
  return s * z *
         poly(z, {0.037695732, 0.014315195, 0.031839065, 0.044513375, 0.07500522, 0.1666666});
}
}  // namespace

SVal exp(SVal x, bool precise) {
  const ExpParts e = exp_parts(clamp_keep_nan(x, -104.0, 89.0), precise);
  return scaled(e.p, e.n);
}
SVal exp2(SVal x) {
  x = clamp_keep_nan(x, -151.0, 129.0);
  const SVal n = s_unary(SOp::kRint, x), r = x - n;
  const SVal p =
      poly(r, {0.00015329279, 0.001339097, 0.009618499, 0.055503596, 0.24022648, 0.6931472, 1.0});
  return scaled(p, n);
}
SVal expm1(SVal x) {  // 2 (q 2^(n - 1) + (2^(n - 1) - 1/2)), q = expm1(x - n ln 2)
  const SVal t = clamp_keep_nan(x, -18.0, 89.0);
  const SVal m = s_fma(t, number(x, kInvLn2), kRound), n = m - kRound;
  const SVal low = number(x, -kLn2Rest), a = s_fma(n, number(x, -kLn2High), t);
  const SVal r = s_fma(n, low, a), r_low = s_fma(n, low, a - r);
  const SVal p = poly(r, {0.00019761716, 0.001393232, 0.008333546, 0.041666493, 0.16666666, 0.5});
  const SVal q = r + s_fma(p, r * r, r_low), half = power_of_two(m - 1.0);
  const SVal y = s_fma(half, q, half - 0.5);
  return s_select(absolute(x) < 0x1p-25, x, y + y);  // where x rounds to itself, -0 among them
}

SVal log(SVal x) {
  const LogParts l = log_parts(x);
  return log_special(x, natural(l.exponent, l.f, l.rest));
}
SVal log2(SVal x) { return other_log(x, 1.4426950216293335, 1.925963033500963e-08, 1.0, 0.0); }
SVal log10(SVal x) {
  return other_log(x, 0.4342944920063019, -1.0103050118726e-08, 0.301025390625,
                   4.605038981195214e-06);
}
SVal log1p(SVal x) {
  SVal r = s_select(absolute(x) < 0x1p-25, x, log1p_of(x));
  r = s_select(x == kInf, x, r);
  r = s_select(x == -1.0, number(x, -kInf), r);
  return s_select(x >= -1.0, r, number(x, kNaN));
}

// Angles up to kNear by Cody and Waite's reduction: with fma, x less a multiple of the first of
// three parts of pi is exact. The few beyond go through float64 lanes.
namespace {
constexpr double kNear = 39000.0;
SVal with_parity(SVal y, SVal n) {  // -y for odd n
  return as_float(bits_of(y) ^ shift(SOp::kShl, n, 31));
}
// x - n c, c in parts.
SVal less_multiple(SVal x, SVal n, double c1, double c2, double c3) {
  for (double c : {c1, c2, c3}) x = s_fma(n, number(x, -c), x);
  return x;
}
SVal sine_near(SVal r) {  // |r| <= pi / 2
  const SVal z = r * r;
  const SVal p = poly(z, {2.605487679829821e-06, -0.00019809558580163866, 0.008333067409694195,
                          -0.16666659712791443});
  return s_fma(r * z, p, r);
}
SVal unless_far(Wide f, SVal x, SVal y) {
  const SVal far = absolute(x) > kNear;
  return s_select(far, s_wide_where(f, x, far), y);
}
}  // namespace

SVal sin(SVal x) {
  const SVal m = s_fma(x, number(x, 1 / kPi), kRound), n = m - kRound;
  const SVal r =
      less_multiple(x, n, 3.141592502593994, 1.5099578831723193e-07, 1.0780605906948477e-14);
  const SVal y = with_parity(sine_near(r), bits_of(m));
  return unless_far(Wide::sin, x, s_select(x == 0.0, x, y));
}
SVal cos(SVal x) {  // x = (2 n + 1) pi / 2 + r
  const SVal a = absolute(x), m = s_fma(a, number(x, 1 / kPi), -0.5) + kRound, n = m - kRound;
  const SVal r = less_multiple(a, s_fma(n, number(x, 2.0), 1.0), 1.570796251296997,
                               7.549789415861596e-08, 5.390302953474238e-15);
  const SVal odd_is_positive = bits_of(m) + integer(x, 1);
  return unless_far(Wide::cos, x, with_parity(sine_near(r), odd_is_positive));
}
SVal tan(SVal x) {  // by r = x - n pi / 2 to twice the digits; -1 / tan(r) for odd n
  const SVal m = s_fma(x, number(x, 2 / kPi), kRound), n = m - kRound;
  const SVal a = s_fma(n, number(x, -1.570796251296997), x);
  const Pair p = two_product(n, number(x, -7.549789415861596e-08)), s = two_sum(a, p.hi);
  const SVal r = s.hi, low = s_fma(n, number(x, -5.390302953474238e-15), s.lo + p.lo), z = r * r;
  const SVal series =
      poly(z, {0.004467102233320475, -9.125348879024386e-05, 0.010975650511682034,
               0.02122936211526394, 0.054069921374320984, 0.13332577049732208, 0.3333335220813751});
  const Pair t = ordered_sum(r, s_fma(r * z, series, s_fma(low, z, low)));
  const SVal y = -1.0 / t.hi, lost = s_fma(t.lo, y, s_fma(t.hi, y, 1.0));
  return unless_far(Wide::tan, x,
                    s_select(x == 0.0, x, s_select(odd(bits_of(m)), s_fma(y, lost, y), t.hi)));
}

SVal asin(SVal x) {
  const SVal a = absolute(x), big = a > 0.5, half = 0.5 * (1.0 - a);
  const SVal z = s_select(big, half, x * x), s = s_select(big, root(half), a);
  const SVal rest = arcsine_rest(s, z), low = number(x, kHalfPiLow), minus_two = number(x, -2.0);
  const SVal top = s_fma(s, minus_two, kHalfPi), lost = s_fma(s, minus_two, kHalfPi - top);
  const SVal far = top + s_fma(rest, minus_two, low + lost);
  return with_sign_of(s_select(big, far, s + rest), x);
}
SVal acos(SVal x) {
  const SVal a = absolute(x), big = a > 0.5, half = 0.5 * (1.0 - a);
  const SVal z = s_select(big, half, x * x), s = s_select(big, root(half), x);
  const SVal y = s + arcsine_rest(s, z), twice = y + y;
  const SVal other = 2 * kHalfPi - (twice - 2 * kHalfPiLow);
  return s_select(big, s_select(x < 0.0, other, twice), kHalfPi - (y - kHalfPiLow));
}
SVal atan(SVal x) {  // pi / 2 - atan(1 / x) from 1 on
  const SVal a = absolute(x), far = a > 1.0, t = s_select(far, 1.0 / a, a);
  const SVal rest = atan_rest(t), y = t + rest;
  return with_sign_of(s_select(far, kHalfPi - (t + (rest - kHalfPiLow)), y), x);
}
SVal atan2(SVal y, SVal x) {
  const SVal a = absolute(x), b = absolute(y), swap = b > a, zero = number(x, 0.0);
  const SVal top = s_select(swap, a, b), bottom = s_select(swap, b, a);
  const SVal same = s_select(bottom == 0.0, bottom, number(x, 1.0));
  const SVal t = s_select(top == bottom, same, top / bottom);
  // pi / 2 * k + t or - t
  const SVal left = bits_of(x) < integer(x, 0);
  const SVal other = s_select(left, number(x, 2.0), zero);
  const SVal k = s_select(swap, number(x, 1.0), other), minus = swap ^ left;
  const SVal rest = s_fma(k, number(x, kHalfPiLow), s_select(minus, -atan_rest(t), atan_rest(t)));
  return with_sign_of(s_fma(k, number(x, kHalfPi), s_select(minus, -t, t) + rest), y);
}

SVal sinh(SVal x) {
  const SVal a = absolute(x), z = x * x;
  const SVal small =
      s_fma(x * z, poly(z, {2.7822132e-06, 0.00019842896, 0.0083333105, 0.16666667}), x);
  const ExpParts e = exp_parts(smaller(number(x, 91.0), a), true);
  const SVal half = scaled(e.p, e.n - 1.0), big = half - 0.25 / half;
  return s_select(a < 1.0, small, with_sign_of(big, x));
}
SVal cosh(SVal x) {
  const ExpParts e = exp_parts(clamp_keep_nan(absolute(x), 0.0, 91.0), true);
  const SVal half = scaled(e.p, e.n - 1.0);
  return half + 0.25 / half;
}
SVal tanh(SVal x) {
  const SVal a = absolute(x), z = x * x;
  SVal small = poly(z, {-5.70498872745E-3, 2.06390887954E-2, -5.37397155531E-2, 1.33314422036E-1,
                        -3.33332819422E-1});
  small = s_fma(small * z, x, x);
  const SVal big = 1.0 - 2.0 / (exp(a + a) + 1.0), y = s_select(x < 0.0, -big, big);
  return s_select(a < 0.625, small, s_select(s_is_nan(x), x, y));
}
SVal asinh(SVal x) {  // log(a + sqrt(a^2 + 1)), from 2^20 on log(2 a)
  const SVal a = absolute(x), z = x * x, huge = a > 0x1p20;
  const SVal small = s_fma(x * z,
                           poly(z, {-0.0029830025, 0.010453661, -0.019702788, 0.029770654,
                                    -0.04456524, 0.07499524, -0.16666657}),
                           x);
  const SVal r = root(s_fma(a, a, 1.0)), zero = number(x, 0.0);
  const Pair u = ordered_sum(r, a);
  const LogParts l = log_parts(s_select(huge, a, u.hi));
  // what the sum has lost, times 1 / u = r - a
  const SVal rest = l.rest + s_select(huge, zero, u.lo * (r - a));
  const SVal big = natural(l.exponent + s_select(huge, number(x, 1.0), zero), l.f, rest);
  return s_select(a < 0.75, small, s_select(a < kInf, with_sign_of(big, x), x));
}
SVal acosh(SVal x) {  // sqrt(2 t) P(t) for t = x - 1 up to 1
  const SVal t = x - 1.0, huge = x > 0x1p20, zero = number(x, 0.0);
  const SVal near = root(t + t),
             p = poly(t, {-2.6793516e-05, 0.00017515544, -0.00063126796, 0.0018706629,
                          -0.0055738715, 0.01874928, -0.083333306});
  const SVal small = s_fma(near * t, p, near);
  const Pair u = ordered_sum(x, root(s_fma(x, x, -1.0)));
  const LogParts l = log_parts(s_select(huge, x, u.hi));
  const SVal big = natural(l.exponent + s_select(huge, number(x, 1.0), zero), l.f, l.rest);
  const SVal y = s_select(x < 2.0, small, s_select(x == kInf, x, big));
  return s_select(x >= 1.0, y, number(x, kNaN));
}
SVal atanh(SVal x) {
  const SVal a = absolute(x), z = x * x;
  const SVal small = s_fma(
      x * z, poly(z, {0.1763785, 0.05160436, 0.11816386, 0.14223786, 0.20002453, 0.33333302}), x);
  const SVal big = 0.5 * log1p_of((a + a) / (1.0 - a));
  const SVal y = s_select(a == 1.0, number(x, kInf), big);
  return s_select(a < 0.5, small, s_select(a <= 1.0, with_sign_of(y, x), number(x, kNaN)));
}

SVal erf(SVal x) {
  // From 4 on erf is 1.
  const SVal t = smaller(number(x, 4.0), absolute(x));
  const SVal m = s_fma(t, number(x, 256.0 / 67), kRound), i = bits_of(m);
  const SVal n = m - kRound, v = s_fma(n, number(x, -67.0 / 256), t);
  SVal q = s_table(i, kErf[6]);
  for (int k = 5; k > 0; --k) q = s_fma(q, v, s_table(i, kErf[k]));
  return with_sign_of(s_fma(q, v, s_select(n == 0.0, t, s_table(i, kErf[0]))), x);
}
namespace {
constexpr double kErfcEnd = 10.2;  // of the table
// exp(a^2) * erfc(a) for a in [0, kErfcEnd].
Pair scaled_erfc(SVal a) {
  const SVal m = s_fma(a, number(a, 256.0 / 169), kRound), i = bits_of(m);
  const SVal v = s_fma(m - kRound, number(a, -169.0 / 256), a);
  SVal q = s_table(i, kErfc[8]);
  for (int k = 7; k > 0; --k) q = s_fma(q, v, s_table(i, kErfc[k]));
  return ordered_sum(s_table(i, kErfc[0]), q);
}
}  // namespace
SVal erfc(SVal x) {  // 2 - erfc(-x) for negative x
  const SVal a = clamp_keep_nan(absolute(x), 0.0, kErfcEnd);
  const Pair w = scaled_erfc(a);
  // exp(-a^2) with what the square and 1 + r have lost
  const Pair square = two_product(a, a);
  const SVal n = s_unary(SOp::kRint, square.hi * -kInvLn2), low = number(x, -kLn2Rest);
  const SVal t = s_fma(n, number(x, -kLn2High), -square.hi), r = s_fma(n, low, t);
  const SVal r_low = s_fma(n, low, t - r);
  const SVal p = poly(r, {1.9875691500E-4, 1.3981999507E-3, 8.3334519073E-3, 4.1665795894E-2,
                          1.6666665459E-1, 5.0000001201E-1});
  const Pair e = ordered_sum(number(x, 1.0), r);
  const SVal e_rest = s_fma(p, r * r, r_low);
  const SVal e_low = s_fma(-square.lo, e.hi + e_rest, e.lo + e_rest);
  const SVal y = scaled(s_fma(w.hi, e.hi, s_fma(w.hi, e_low, w.lo * e.hi)), n);
  return s_select(x < 0.0, 2.0 - y, y);
}

SVal erfcx(SVal x) {  // 2 exp(x^2) - erfcx(-x) for negative x
  const SVal a = absolute(x), z = 1.0 / (a * a);
  const Pair w = scaled_erfc(clamp_keep_nan(a, 0.0, kErfcEnd));
  const SVal rest = poly(z, {3.7024941, -1.0578555, 0.42314219, -0.28209479});
  // 1 / sqrt(pi) in two parts
  const SVal far = (s_fma(z, rest, number(x, -2.93176914e-08)) + 0.564189613) / a;
  const SVal y = s_select(a > kErfcEnd, far, w.hi + w.lo);
  const SVal t = smaller(number(x, 9.5), a);  // from there on exp(x^2) is infinite
  const Pair square = two_product(t, t);
  const ExpParts e = exp_parts(square.hi, true);
  const SVal big = scaled(e.p, e.n + 1.0);
  const SVal mirrored = s_select(big == kInf, big, big + s_fma(big, square.lo, -y));
  return s_select(x < 0.0, mirrored, y);
}

SVal cbrt(SVal x) {  // by Newton's steps for 1 / cbrt, without divisions
  const SVal tiny = absolute(x) < 1.17549435e-38, a0 = absolute(x);
  const SVal a = s_select(tiny, a0 * 0x1p24, a0), third = number(x, 1.0 / 3);
  // the exponent divided by -3: within 4 %
  const SVal guess = s_fma(s_cast(bits_of(a), DType::F32), -third, 1.4200588e9);
  SVal r = as_float(s_cast(guess, DType::I32));
  for (int step = 0; step < 2; ++step) {
    const SVal h = s_fma(-(r * r), a * r, 1.0);
    r = s_fma(r * h, s_fma(h, number(x, 2.0 / 9), third), r);
  }
  const SVal y = a * (r * r), z = y * y, lost = s_fma(z, y, -a);
  const SVal fixed = s_fma(-(lost * third), r * r, y);
  const SVal result = s_select(tiny, fixed * 0x1p-8, fixed);
  return s_select((a0 > 0.0) & (a0 < kInf), with_sign_of(result, x), x);
}

// log2(a) = hi + lo, to 2^-33 of it, for a >= 0. The 16th of [1, 2) that holds a's fraction gives c
// with a = 2^e (1 + r) / c, |r| < 1/31.
namespace {
alignas(64) constexpr float kInverse[16] = {1.0f,        0.9411621f, 0.888916f,   0.842041f,
                                            0.8000488f,  0.7619629f, 0.7272949f,  0.69555664f,
                                            0.66674805f, 0.6398926f, 0.6154785f,  0.5925293f,
                                            0.5715332f,  0.5517578f, 0.53344727f, 0.5161133f};
alignas(64) constexpr float kLog2High[16] = {
    0.0f,        0.08746338f, 0.16986084f, 0.24804688f, 0.32183838f, 0.3922119f,
    0.45941162f, 0.5237427f,  0.58477783f, 0.644104f,   0.7001953f,  0.7550659f,
    0.8070679f,  0.85791016f, 0.9065552f,  0.95422363f};  // -log2(c), 16 bits of it and the rest
alignas(64) constexpr float kLog2Low[16] = {
    0.0f,           2.1476291e-05f,  2.0134712e-05f,  -9.288461e-06f,
    1.663551e-06f,  -4.555982e-06f,  -2.4029343e-05f, 1.7417895e-05f,
    8.569204e-06f,  -5.6422346e-06f, 2.4284642e-05f,  -2.4311119e-05f,
    2.2909795e-05f, -1.7213553e-05f, 2.725983e-05f,   1.6705804e-05f};
}  // namespace
SVal pow(SVal x, SVal y) {
  const SVal a = absolute(x), tiny = a < 1.17549435e-38;
  const SVal u = bits_of(s_select(tiny, a * 8388608.0, a)), rounded = u + integer(x, 0x40000);
  const SVal e = shift(SOp::kShr, rounded - integer(x, 0x3f800000), 23);
  const SVal i = shift(SOp::kShr, rounded, 19), m = as_float(u - shift(SOp::kShl, e, 23));
  const SVal exponent = s_cast(e, DType::F32) - s_select(tiny, number(x, 23.0), number(x, 0.0));
  const Pair product = two_product(m, s_table(i, kInverse));
  const Pair r = two_sum(product.hi - 1.0, product.lo);
  // log(1 + r) = r - r^2 / 2 + r^3 P(r)
  const SVal p = poly(r.hi, {-0.16684791, 0.20018609, -0.24999994, 0.33333328});
  const Pair square = two_product(r.hi, r.hi), l = ordered_sum(r.hi, -0.5 * square.hi);
  const SVal low =
      s_fma(square.hi * r.hi, p, s_fma(-r.hi, r.lo, s_fma(square.lo, number(x, -0.5), r.lo))) +
      l.lo;
  // times log2(e), plus exponent and logarithm of c
  const Pair q = two_product(l.hi, number(x, 1.4426950216293335));
  const SVal q_low =
      s_fma(low, number(x, kInvLn2), s_fma(l.hi, number(x, 1.925963033500963e-08), q.lo));
  const Pair s = ordered_sum(exponent + s_table(i, kLog2High), q.hi);
  const Pair t = ordered_sum(s.hi, s.lo + (q_low + s_table(i, kLog2Low)));
  SVal high = s_select(a == 0.0, number(x, -kInf), s_select(a == kInf, a, t.hi));
  high = s_select(s_is_nan(x), x, high);
  // 2^(y * log2(a))
  const SVal z = y * high;
  const SVal z_low =
      s_select(absolute(z) < 200.0, s_fma(y, t.lo, s_fma(y, high, -z)), number(x, 0.0));
  const SVal bounded = clamp_keep_nan(z, -160.0, 140.0);
  const SVal n = s_unary(SOp::kRint, bounded), g = (bounded - n) + z_low;
  SVal result = scaled(
      poly(g, {0.00015329279, 0.001339097, 0.009618499, 0.055503596, 0.24022648, 0.6931472, 1.0}),
      n);
  // a negative base: odd exponents keep the sign, even ones drop it, others have no result
  const SVal half = 0.5 * y, whole = s_unary(SOp::kFloor, y) == y;
  const SVal is_odd = whole & (s_unary(SOp::kFloor, half) != half);
  result = s_select(is_odd, with_sign_of(result, x), result);
  result = s_select((x < 0.0) & ~whole & (a != kInf), number(x, kNaN), result);
  const SVal one = (x == 1.0) | (y == 0.0) | ((a == 1.0) & (absolute(y) == kInf));
  return s_select(one, number(x, 1.0), result);
}
SVal cube(SVal x) {
  const Pair square = two_product(x, x);
  const SVal y = square.hi * x;
  return s_select(absolute(y) < kInf, s_fma(square.hi, x, square.lo * x), y);
}
SVal hypot(SVal x, SVal y) {
  const SVal a = absolute(x), b = absolute(y), top = s_select(b > a, b, a);
  const SVal big = top > 0x1p60, small = top < 0x1p-60, one = number(x, 1.0);
  auto factor = [&](double if_big, double if_small) {
    return s_select(big, number(x, if_big), s_select(small, number(x, if_small), one));
  };
  const SVal up = factor(0x1p-70, 0x1p100), c = a * up, d = b * up;
  const SVal r = root(s_fma(c, c, d * d)) * factor(0x1p70, 0x1p-100);
  return s_select((a == kInf) | (b == kInf), number(x, kInf), r);
}

// x / (1 + exp(-x)); far down, where that overflows, x * exp(x) with one rounding at the end,
// because exp(x) alone would be subnormal and short of bits.
SVal silu(SVal x) {
  const SVal far = x < -80.0;
  const ExpParts parts = exp_parts(clamp_keep_nan(s_select(far, x, -x), -120.0, 89.0), true);
  const SVal e = scaled(parts.p, parts.n), d = e + 1.0, y = x / d;
  const SVal d_low = s_select(e > 1.0, 1.0 - (d - e), e - (d - 1.0));
  // x - x: not a number at -inf
  const SVal tail = scaled(larger(number(x, -120.0), x) * parts.p, parts.n) - (x - x);
  const SVal fixed = s_select(d_low == 0.0, y, s_fma(-y, d_low / d, y));  // infinity * 0 at inf
  return s_select(far, tail, fixed);
}
SVal softplus(SVal x) {  // max(x, 0) + log1p(exp(-|x|))
  return larger(number(x, 0.0), x) + log1p_below_one(exp(-absolute(x), true));
}
// By e = exp(x): tanh(log(1 + e)) = w / (w + 2), w = e (e + 2). From 20 on it is x; far down it is
// x * exp(x), with one rounding as in silu.
SVal mish(SVal x) {
  const ExpParts parts = exp_parts(clamp_keep_nan(x, -120.0, 20.0), true);
  const SVal e = scaled(parts.p, parts.n), twice = e + e, w = s_fma(e, e, twice), d = w + 2.0;
  // with what w, d, the quotient and the product have lost
  const SVal w_low = s_fma(e, e, twice - w), d_low = (w - (d - 2.0)) + w_low;
  const SVal per_d = 1.0 / d, q = w * per_d;
  const SVal q_low = s_fma(-q, d, w) + s_fma(-q, d_low, w_low);
  const Pair y = two_product(x, q);
  const SVal near = y.hi + s_fma(x, q_low * per_d, y.lo);
  const SVal tail = scaled(larger(number(x, -120.0), x) * parts.p, parts.n) - (x - x);
  return s_select(x > 20.0, x, s_select(x < -80.0, tail, near));
}

}  // namespace pijit::f32
