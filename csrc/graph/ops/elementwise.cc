// Elementwise ops: a scalar rule each; dtype, broadcasting and kernels come from the family.
// float32 functions have code of their own, within 2 ULP (tests/python/ulp.py): those that matter
// most for speed in float32 lanes here, most others in float64 lanes (float32_math.cc). The gamma
// family, and all of float64, go through libm.
#include "graph/ops/float32_math.h"
#include "graph/ops/float64_math.h"
#include "graph/vals.h"

namespace pijit {
namespace {

Type infer_broadcast(const InferCtx& c, DType dt) {
  Shape s = c.shape(0);
  for (size_t i = 1; i < c.in.size(); ++i) s = broadcast_shapes(c.op.name, s, c.shape(i));
  return {dt, s};
}
void same_dtypes(const InferCtx& c, size_t from = 0) {
  for (size_t i = from + 1; i < c.in.size(); ++i)
    OP_CHECK(c.x(i).dtype == c.x(from).dtype, kType, "[", c.op.name,
             "] operands differ in dtype: ", c.x(from).str(), " and ", c.x(i).str());
}
InferFn bool_type() {
  return [](const InferCtx& c) {
    same_dtypes(c);
    return infer_broadcast(c, DType::Bool);
  };
}
InferFn logical_type() {
  return [](const InferCtx& c) {
    same_dtypes(c);
    OP_CHECK(is_bool(c.x(0).dtype), kType, "[", c.op.name, "] expected bool operands, got ",
             c.x(0).str());
    return infer_broadcast(c, DType::Bool);
  };
}
enum Domain { kAny, kNumber, kFloating, kIntegral, kBits };
InferFn checked(Domain d) {
  return [d](const InferCtx& c) {
    same_dtypes(c);
    const DType t = c.x(0).dtype;
    const bool ok = d == kAny || (d == kNumber && !is_bool(t)) ||
                    (d == kFloating && (is_float(t) || (is_complex(t) && c.op.complex))) ||
                    (d == kIntegral && is_int(t)) || (d == kBits && !is_inexact(t));
    static const char* kExpect[] = {"any dtype", "a number dtype", "a floating dtype",
                                    "an integer dtype", "an integer or bool dtype"};
    OP_CHECK(ok, kType, "[", c.op.name, "] expected ", kExpect[d], ", got ", public_name_of(t));
    return infer_broadcast(c, t);
  };
}

// --- float32 functions ---------------------------------------------------------------------------
SVal poly(SVal x, std::initializer_list<double> highest_first) {
  auto it = highest_first.begin();
  SVal r = x.sb->constant(x.dtype(), *it++);
  for (; it != highest_first.end(); ++it) r = s_fma(r, x, *it);
  return r;
}
// kMin and kMax return their second operand when unordered, so NaN passes through as `x`.
SVal clamp_keep_nan(SVal x, double lo, double hi) {
  SBuilder& sb = *x.sb;
  x = sb.op(SOp::kMin, x.dtype(), sb.constant(x.dtype(), hi), x);
  return sb.op(SOp::kMax, x.dtype(), sb.constant(x.dtype(), lo), x);
}
// exp(x) = p * 2^n with p near 1, by Cody & Waite reduction and a polynomial of degree 5 (Cephes
// expf). The precise form carries the low parts of the reduced argument and of 1 + r along: 0.6 ULP
// instead of 1.0, for functions that round several times more.
struct ExpParts {
  SVal p, n;
};
ExpParts exp_parts(SVal x, double least, bool precise) {  // least 0: x needs no bounds
  SBuilder& sb = *x.sb;
  if (least < 0) x = clamp_keep_nan(x, least, 89.0);
  SVal n = s_unary(SOp::kRint, x * 1.44269504088896341);
  const SVal low = sb.constant(DType::F32, 2.12194440e-4);
  const SVal t = s_fma(n, sb.constant(DType::F32, -0.693359375), x);
  const SVal r = s_fma(n, low, t);
  SVal p = poly(r, {1.9875691500E-4, 1.3981999507E-3, 8.3334519073E-3, 4.1665795894E-2,
                    1.6666665459E-1, 5.0000001201E-1});
  if (precise) {
    const SVal r_low = s_fma(n, low, t - r);
    const SVal s = r + 1.0;
    const SVal s_low = r - (s - 1.0);
    p = s + (s_low + s_fma(p, r * r, r_low));
  } else {
    p = s_fma(p, r * r, r) + 1.0;
  }
  return {p, n};
}
SVal exp_f32(SVal x, bool precise = false) {
  const ExpParts e = exp_parts(x, -104.0, precise);
  return x.sb->op(SOp::kScale, DType::F32, e.p, e.n);
}
SVal log_f32(SVal x0) {
  // Cephes logf; subnormals are scaled up first.
  SBuilder& sb = *x0.sb;
  SVal tiny = x0 < 1.17549435e-38;
  SVal x = s_select(tiny, x0 * 8388608.0, x0);
  SVal u = s_bitcast(x, DType::I32);
  // exponent so that the mantissa lies in [sqrt(1/2), sqrt(2))
  SVal e = sb.op(SOp::kShr, DType::I32, u - sb.constant_int(DType::I32, 0x3f3504f3),
                 sb.constant_int(DType::I32, 23));
  SVal m =
      s_bitcast(u - sb.op(SOp::kShl, DType::I32, e, sb.constant_int(DType::I32, 23)), DType::F32) -
      1.0;
  SVal ef = s_cast(e, DType::F32) -
            s_select(tiny, sb.constant(DType::F32, 23.0), sb.constant(DType::F32, 0.0));
  SVal z = m * m;
  SVal y = poly(
      m, {7.0376836292E-2, -1.1514610310E-1, 1.1676998740E-1, -1.2420140846E-1, 1.4249322787E-1,
          -1.6668057665E-1, 2.0000714765E-1, -2.4999993993E-1, 3.3333331174E-1});
  y = y * m * z;
  y = s_fma(ef, sb.constant(DType::F32, -2.12194440e-4), y);
  y = s_fma(z, sb.constant(DType::F32, -0.5), y);
  SVal r = s_fma(ef, sb.constant(DType::F32, 0.693359375), m + y);
  const double inf = __builtin_inf();
  r = s_select(x0 == inf, x0, r);
  r = s_select(x0 == 0.0, sb.constant(DType::F32, -inf), r);
  return s_select(x0 >= 0.0, r, sb.constant(DType::F32, __builtin_nan("")));
}
SVal tanh_f32(SVal x) {
  SVal a = s_unary(SOp::kAbs, x), z = x * x;
  SVal small = poly(z, {-5.70498872745E-3, 2.06390887954E-2, -5.37397155531E-2, 1.33314422036E-1,
                        -3.33332819422E-1});
  small = s_fma(small * z, x, x);
  SVal e = exp_f32(a + a);
  SVal big = 1.0 - 2.0 / (e + 1.0);
  big = s_select(x < 0.0, -big, big);
  return s_select(a < 0.625, small, s_select(s_is_nan(x), x, big));
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
SVal erf_f32(SVal x) {
  SBuilder& sb = *x.sb;
  auto number = [&](double v) { return sb.constant(DType::F32, v); };
  // From 4 on erf is 1.
  const SVal t = sb.op(SOp::kMin, DType::F32, number(4.0), s_unary(SOp::kAbs, x));
  const double round = 12582912.0;  // 1.5 * 2^23: integers are added to it in the lowest bits
  const SVal m = s_fma(t, number(256.0 / 67), round), i = s_bitcast(m, DType::I32);
  const SVal n = m - round, v = s_fma(n, number(-67.0 / 256), t);
  SVal q = s_table(i, kErf[6]);
  for (int k = 5; k > 0; --k) q = s_fma(q, v, s_table(i, kErf[k]));
  const SVal y = s_fma(q, v, s_select(n == 0.0, t, s_table(i, kErf[0])));
  const SVal sign = s_bitcast(x, DType::I32) & sb.constant_int(DType::I32, INT32_MIN);
  return s_bitcast(s_bitcast(y, DType::I32) | sign, DType::F32);
}
SVal s_wide(SVal (*f)(SVal), SVal x) { return s_cast(f(s_cast(x, DType::F64)), DType::F32); }
SVal via_libm(Call1 f, SVal x) { return s_cast(s_call(f, s_cast(x, DType::F64)), x.dtype()); }
SVal s_exp(SVal x) { return x.dtype() == DType::F32 ? exp_f32(x) : f64::exp(x); }
SVal s_log(SVal x) { return x.dtype() == DType::F32 ? log_f32(x) : f64::log(x); }
SVal s_tanh(SVal x) { return x.dtype() == DType::F32 ? tanh_f32(x) : f64::tanh(x); }
SVal s_erf(SVal x) { return x.dtype() == DType::F32 ? erf_f32(x) : f64::erf(x); }
SVal s_precise_exp(SVal x) { return x.dtype() == DType::F32 ? exp_f32(x, true) : s_exp(x); }
SVal s_sigmoid(SVal x) {  // by e = exp(-|x|), which cannot overflow
  const SVal e = s_precise_exp(-s_unary(SOp::kAbs, x)), one = x.sb->constant(x.dtype(), 1.0);
  const SVal d = e + 1.0, y = s_select(x < 0.0, e, one) / d;
  if (x.dtype() != DType::F32) return y;
  // what 1 + e has lost, times 1 / d
  const SVal d_low = e - (d - 1.0);
  return s_fma(-(y * d_low), s_select(x < 0.0, 1.0 - y, y), y);
}
// x / (1 + exp(-x)); far down, where that overflows, x * exp(x) with one rounding at the end,
// because exp(x) alone would be subnormal and short of bits.
SVal s_silu(SVal x) {
  if (x.dtype() != DType::F32) return x * s_sigmoid(x);
  const SVal far = x < -80.0;
  const ExpParts parts = exp_parts(s_select(far, x, -x), -120.0, true);
  const SVal e = x.sb->op(SOp::kScale, DType::F32, parts.p, parts.n), d = e + 1.0, y = x / d;
  const SVal d_low = s_select(e > 1.0, 1.0 - (d - e), e - (d - 1.0));
  const SVal least = x.sb->constant(DType::F32, -120.0);  // x - x: not a number at -inf
  const SVal tail = x.sb->op(SOp::kScale, DType::F32,
                             x.sb->op(SOp::kMax, DType::F32, least, x) * parts.p, parts.n) +
                    (x - x);
  const SVal fixed = s_select(d_low == 0.0, y, s_fma(-y, d_low / d, y));  // infinity * 0 at inf
  return s_select(far, tail, fixed);
}
// NaN-propagating, as maximum and minimum of NumPy.
SVal s_maximum(SVal a, SVal b) {
  return is_float(a.dtype()) ? s_select(s_is_nan(a), a, a.sb->op(SOp::kMax, a.dtype(), a, b))
                             : a.sb->op(SOp::kMax, a.dtype(), a, b);
}
SVal s_minimum(SVal a, SVal b) {
  return is_float(a.dtype()) ? s_select(s_is_nan(a), a, a.sb->op(SOp::kMin, a.dtype(), a, b))
                             : a.sb->op(SOp::kMin, a.dtype(), a, b);
}

ScalarFn sop1(SOp o) {
  return [o](const ScalarCtx& c) { return s_unary(o, c.x(0)); };
}
ScalarFn sop2(SOp o, bool to_bool = false) {
  return [o, to_bool](const ScalarCtx& c) {
    return c.sb.op(o, to_bool ? DType::Bool : c.x(0).dtype(), c.x(0), c.x(1));
  };
}
// Rounding is the identity on integers.
ScalarFn rounding(SOp o) {
  return [o](const ScalarCtx& c) { return is_float(c.x(0).dtype()) ? s_unary(o, c.x(0)) : c.x(0); };
}

using V = VjpCtx&;
OpEntry unary(OpTable& t, const char* n, Domain d, uint32_t flags = 0) {
  return t.add(n).in({"x|input|value"}).flags(kElementwise | flags).infer(checked(d));
}
OpEntry floating(OpTable& t, const char* n) {
  return unary(t, n, kFloating).promote(Promote::kFloat);
}
OpEntry binary(OpTable& t, const char* n, Domain d, uint32_t flags = 0) {
  return t.add(n)
      .in({"x|input", "y|other|exponent|divisor"})
      .flags(kElementwise | flags)
      .promote(Promote::kSame)
      .infer(checked(d));
}
OpEntry compare(OpTable& t, const char* n, SOp o, uint32_t flags = 0) {
  return t.add(n)
      .in({"x|input", "y|other|exponent|divisor"})
      .flags(kElementwise | kNoGradient | flags)
      .promote(Promote::kSame)
      .infer(bool_type())
      .scalar(sop2(o, true));
}
OpEntry libm(OpTable& t, const char* n, Call1 f) {
  return floating(t, n).scalar([f](const ScalarCtx& c) { return via_libm(f, c.x(0)); });
}
// A function in float64 lanes: `narrow` is exact enough for float32, `full` for float64.
OpEntry wide(OpTable& t, const char* n, SVal (*narrow)(SVal), SVal (*full)(SVal)) {
  return floating(t, n).scalar([narrow, full](const ScalarCtx& c) {
    return c.x(0).dtype() == DType::F32 ? s_wide(narrow, c.x(0)) : full(c.x(0));
  });
}
OpEntry wide(OpTable& t, const char* n, SVal (*full)(SVal)) { return wide(t, n, full, full); }
OpEntry narrow(OpTable& t, const char* n, SVal (*single)(SVal), SVal (*full)(SVal)) {
  return floating(t, n).scalar([single, full](const ScalarCtx& c) {
    return c.x(0).dtype() == DType::F32 ? single(c.x(0)) : full(c.x(0));
  });
}
ScalarFn wide2(SVal (*full)(SVal, SVal)) {
  return [full](const ScalarCtx& c) {
    return s_cast(full(s_cast(c.x(0), DType::F64), s_cast(c.x(1), DType::F64)), c.out);
  };
}
#define VJP(expr)                               \
  [](V v) {                                     \
    const Val x = v.in[0], y = v.out, g = v.ct; \
    (void)x;                                    \
    (void)y;                                    \
    v.d[0] = (expr);                            \
  }
#define SC(expr)           \
  [](const ScalarCtx& c) { \
    const SVal x = c.x(0); \
    return (expr);         \
  }

}  // namespace

Val v_unbroadcast(Val x, const Shape& to) {
  if (x.shape() == to) return x;
  Dims axes;
  const int lead = x.shape().rank() - to.rank();
  for (int i = 0; i < x.shape().rank(); ++i)
    if (i < lead || x.shape()[i] != to[i - lead]) axes.push_back(i);
  return v_reshape(axes.empty() ? x : v_sum(x, axes, false), to);
}

void register_elementwise(OpTable& t) {
  // Arithmetic
  binary(t, "add", kAny, kCommutative | kLinear)
      .scalar(
          [](const ScalarCtx& c) { return is_bool(c.out) ? (c.x(0) | c.x(1)) : c.x(0) + c.x(1); })
      .vjp([](V v) {
        v.d[0] = v.ct;
        v.d[1] = v.ct;
      });
  binary(t, "sub", kNumber, kLinear).scalar(sop2(SOp::kSub)).vjp([](V v) {
    v.d[0] = v.ct;
    if (v.need[1]) v.d[1] = -v.ct;
  });
  binary(t, "mul", kAny, kCommutative | kMultilinear)
      .scalar(
          [](const ScalarCtx& c) { return is_bool(c.out) ? (c.x(0) & c.x(1)) : c.x(0) * c.x(1); })
      .vjp([](V v) {
        if (v.need[0]) v.d[0] = v.ct * v.in[1];
        if (v.need[1]) v.d[1] = v.ct * v.in[0];
      });
  binary(t, "div", kFloating).promote(Promote::kFloat).scalar(sop2(SOp::kDiv)).vjp([](V v) {
    const Val q = v.ct / v.in[1];
    v.d[0] = q;
    if (v.need[1]) v.d[1] = -(q * v.out);
  });
  binary(t, "floor_div", kNumber, kNoGradient).scalar([](const ScalarCtx& c) {
    return is_float(c.out) ? s_unary(SOp::kFloor, c.x(0) / c.x(1))
                           : c.sb.op(SOp::kFloorDiv, c.out, c.x(0), c.x(1));
  });
  binary(t, "mod", kNumber)
      .scalar([](const ScalarCtx& c) {  // the sign of the divisor, as Python's %
        if (!is_float(c.out)) return c.sb.op(SOp::kFloorMod, c.out, c.x(0), c.x(1));
        SVal x = s_cast(c.x(0), DType::F64), y = s_cast(c.x(1), DType::F64),
             r = s_call(Call2::fmod, x, y);
        SVal zero = c.sb.constant(DType::F64, 0.0);
        SVal fixed = s_select((r != zero) & ((r < zero) ^ (y < zero)), r + y, r);
        return s_cast(fixed, c.out);
      })
      .vjp([](V v) {
        v.d[0] = v.ct;
        if (v.need[1]) v.d[1] = -(v.ct * v_op("floor", v.in[0] / v.in[1]));
      });
  binary(t, "fmod", kNumber)
      .scalar([](const ScalarCtx& c) {  // the sign of the dividend, as C's fmod
        if (!is_float(c.out)) return c.sb.op(SOp::kTruncMod, c.out, c.x(0), c.x(1));
        return s_cast(s_call(Call2::fmod, s_cast(c.x(0), DType::F64), s_cast(c.x(1), DType::F64)),
                      c.out);
      })
      .vjp([](V v) {
        v.d[0] = v.ct;
        if (v.need[1]) v.d[1] = -(v.ct * v_op("trunc", v.in[0] / v.in[1]));
      });
  binary(t, "pow", kNumber)
      .scalar([](const ScalarCtx& c) {
        // x**2 is x*x, exactly as NumPy has it, and x**3 of float32 is rounded once, whether the
        // exponent is a constant or not
        const SVal x = c.x(0), y = c.x(1);
        const SNode e = c.sb.nodes[y.id];
        auto constant = [&](double v) {
          return e.op == SOp::kConst && e.imm == c.sb.nodes[c.sb.constant(y.dtype(), v).id].imm;
        };
        const SVal a = s_cast(x, DType::F64), b = s_cast(y, DType::F64);
        const bool single = x.dtype() == DType::F32;
        const SVal cube = s_cast(a * a * a, c.out);
        if (constant(2)) return x * x;
        if (constant(1)) return x;  // as pow has it, in every bit
        if (single && constant(3)) return cube;
        SVal r = s_cast(single ? f32::pow(a, b) : f64::pow(a, b), c.out);
        if (single) r = s_select(y == 3.0, cube, r);
        return s_select(y == 2.0, x * x, r);
      })
      .vjp([](V v) {
        const Val x = v.in[0], y = v.in[1];
        if (v.need[0]) v.d[0] = v.ct * (y * v_op("pow", x, y - 1.0));
        if (v.need[1]) {
          const Val zero = v_const(x, 0);
          const Val positive = v_op(is_complex(x.dtype()) ? "not_equal" : "greater", x, zero);
          v.d[1] = v.ct * v_select(positive,
                                   v.out * v_op("log", v_select(positive, x, v_const(x, 1))), zero);
        }
      });
  binary(t, "atan2", kFloating).promote(Promote::kFloat).scalar(wide2(f64::atan2)).vjp([](V v) {
    const Val x = v.in[0], y = v.in[1], q = v.ct / (x * x + y * y);
    v.d[0] = q * y;
    if (v.need[1]) v.d[1] = -(q * x);
  });
  binary(t, "hypot", kFloating).promote(Promote::kFloat).scalar(wide2(f64::hypot)).vjp([](V v) {
    v.d[0] = v.ct * v.in[0] / v.out;
    if (v.need[1]) v.d[1] = v.ct * v.in[1] / v.out;
  });
  auto pick = [](const char* cmp) {
    return [cmp](V v) {
      const Val first = v_op(cmp, v.in[0], v.in[1]), zero = v_const(v.ct, 0);
      if (v.need[0]) v.d[0] = v_select(first, v.ct, zero);
      if (v.need[1]) v.d[1] = v_select(first, zero, v.ct);
    };
  };
  binary(t, "maximum", kAny, kCommutative)
      .scalar([](const ScalarCtx& c) { return s_maximum(c.x(0), c.x(1)); })
      .vjp(pick("greater_equal"));
  binary(t, "minimum", kAny, kCommutative)
      .scalar([](const ScalarCtx& c) { return s_minimum(c.x(0), c.x(1)); })
      .vjp(pick("less_equal"));

  unary(t, "neg", kNumber, kLinear | kInvolution).scalar(sop1(SOp::kNeg)).vjp(VJP(-g));
  unary(t, "abs", kAny, kIdempotent)
      .scalar(
          [](const ScalarCtx& c) { return is_bool(c.out) ? c.x(0) : s_unary(SOp::kAbs, c.x(0)); })
      .vjp(VJP(g * v_op("sign", x)));
  unary(t, "sign", kNumber, kNoGradient).scalar([](const ScalarCtx& c) {
    const SVal x = c.x(0), zero = c.sb.constant(x.dtype(), 0.0),
               one = c.sb.constant(x.dtype(), 1.0);
    const SVal minus = info(x.dtype()).kind == kUIntKind ? zero : c.sb.constant(x.dtype(), -1.0);
    const SVal r = s_select(x > zero, one, s_select(x < zero, minus, zero));
    return is_float(x.dtype()) ? s_select(s_is_nan(x), x, r) : r;
  });
  unary(t, "square", kNumber).scalar(SC(x * x)).vjp(VJP(g * (2.0 * x)));
  floating(t, "reciprocal").scalar(SC(1.0 / x)).vjp(VJP(-(g * (y * y))));
  floating(t, "sqrt").scalar(sop1(SOp::kSqrt)).vjp(VJP(g / (2.0 * y)));
  // The square root, whose derivative at 0 counts as 0, as a distance's does.
  floating(t, "distance_root").scalar(sop1(SOp::kSqrt)).vjp([](V v) {
    const Val y = v.out, zero = v_op("equal", y, v_const(y, 0));
    v.d[0] = v_select(zero, v_const(y, 0), v.ct / (2.0 * v_select(zero, v_const(y, 1), y)));
  });
  floating(t, "rsqrt").scalar(SC(1.0 / s_unary(SOp::kSqrt, x))).vjp(VJP(g * (-0.5 * (y / x))));

  // Exponential, logarithm
  floating(t, "exp").scalar(SC(s_exp(x))).vjp(VJP(g * y));
  wide(t, "exp2", f32::exp2, f64::exp2).vjp(VJP(g * (y * 0.69314718055994530942)));
  wide(t, "expm1", f32::expm1, f64::expm1).vjp(VJP(g * (y + 1.0)));
  floating(t, "log").scalar(SC(s_log(x))).vjp(VJP(g / x));
  wide(t, "log2", f32::log2, f64::log2).vjp(VJP(g / (x * 0.69314718055994530942)));
  wide(t, "log10", f32::log10, f64::log10).vjp(VJP(g / (x * 2.30258509299404568402)));
  wide(t, "log1p", f32::log1p, f64::log1p).vjp(VJP(g / (x + 1.0)));
  // Trigonometric, hyperbolic
  narrow(t, "sin", f32::narrow_sin, f64::sin).vjp(VJP(g * v_op("cos", x)));
  narrow(t, "cos", f32::narrow_cos, f64::cos).vjp(VJP(-(g * v_op("sin", x))));
  narrow(t, "tan", f32::narrow_tan, f64::tan).vjp(VJP(g * (1.0 + y * y)));
  wide(t, "asin", f32::asin, f64::asin).vjp(VJP(g * v_op("rsqrt", 1.0 - x * x)));
  wide(t, "acos", f32::acos, f64::acos).vjp(VJP(-(g * v_op("rsqrt", 1.0 - x * x))));
  wide(t, "atan", f32::atan, f64::atan).vjp(VJP(g / (1.0 + x * x)));
  wide(t, "sinh", f32::sinh, f64::sinh).vjp(VJP(g * v_op("cosh", x)));
  wide(t, "cosh", f32::cosh, f64::cosh).vjp(VJP(g * v_op("sinh", x)));
  floating(t, "tanh").scalar(SC(s_tanh(x))).vjp(VJP(g * (1.0 - y * y)));
  wide(t, "asinh", f32::asinh, f64::asinh).vjp(VJP(g * v_op("rsqrt", x * x + 1.0)));
  wide(t, "acosh", f32::acosh, f64::acosh).vjp(VJP(g * v_op("rsqrt", x * x - 1.0)));
  wide(t, "atanh", f32::atanh, f64::atanh).vjp(VJP(g / (1.0 - x * x)));
  // Error and gamma functions
  floating(t, "erf")
      .scalar(SC(s_erf(x)))
      .vjp(VJP(g * (1.12837916709551257390 * v_op("exp", -(x * x)))));
  wide(t, "erfc", f64::erfc).vjp(VJP(g * (-1.12837916709551257390 * v_op("exp", -(x * x)))));
  libm(t, "lgamma", Call1::lgamma).vjp(VJP(g * v_op("digamma", x)));
  libm(t, "digamma", Call1::digamma).vjp(VJP(g * v_op("trigamma", x)));
  libm(t, "trigamma", Call1::trigamma).flags(kNoGradient);
  wide(t, "cbrt", f32::cbrt, f64::cbrt).vjp(VJP(g * y / (3.0 * x)));
  // Rounding
  unary(t, "floor", kNumber, kNoGradient | kIdempotent).scalar(rounding(SOp::kFloor));
  unary(t, "ceil", kNumber, kNoGradient | kIdempotent).scalar(rounding(SOp::kCeil));
  unary(t, "round", kNumber, kNoGradient | kIdempotent)
      .scalar(rounding(SOp::kRint));  // half to even
  unary(t, "trunc", kNumber, kNoGradient | kIdempotent).scalar(rounding(SOp::kTrunc));

  // Comparison, logic, bits
  compare(t, "equal", SOp::kEq, kCommutative);
  compare(t, "not_equal", SOp::kNe, kCommutative);
  compare(t, "less", SOp::kLt);
  compare(t, "less_equal", SOp::kLe);
  compare(t, "greater", SOp::kGt);
  compare(t, "greater_equal", SOp::kGe);
  for (auto [n, o] :
       {std::pair{"logical_and", SOp::kAnd}, {"logical_or", SOp::kOr}, {"logical_xor", SOp::kXor}})
    t.add(n)
        .in({"x|input", "y|other|exponent|divisor"})
        .flags(kElementwise | kNoGradient | kCommutative)
        .promote(Promote::kBool)
        .infer(logical_type())
        .scalar(sop2(o, true));
  t.add("logical_not")
      .in({"x|input|value"})
      .flags(kElementwise | kNoGradient)
      .promote(Promote::kBool)
      .infer(logical_type())
      .scalar(sop1(SOp::kNot));
  for (auto [n, o] :
       {std::pair{"bitwise_and", SOp::kAnd}, {"bitwise_or", SOp::kOr}, {"bitwise_xor", SOp::kXor}})
    binary(t, n, kBits, kNoGradient | kCommutative).scalar(sop2(o));
  binary(t, "left_shift", kIntegral, kNoGradient).scalar(sop2(SOp::kShl));
  binary(t, "right_shift", kIntegral, kNoGradient).scalar(sop2(SOp::kShr));
  unary(t, "bitwise_not", kBits, kNoGradient | kInvolution).scalar(sop1(SOp::kNot));
  auto classify = [&](const char* n, SVal (*f)(SVal)) {
    t.add(n)
        .in({"x|input|value"})
        .flags(kElementwise | kNoGradient)
        .infer(bool_type())
        .scalar([f](const ScalarCtx& c) {
          SVal x = c.x(0);
          if (!is_float(x.dtype())) x = s_cast(x, DType::F32);
          return f(x);
        });
  };
  classify("isnan", [](SVal x) { return x != x; });
  classify("isinf", [](SVal x) { return s_unary(SOp::kAbs, x) == __builtin_inf(); });
  classify("isfinite", [](SVal x) { return s_unary(SOp::kAbs, x) < __builtin_inf(); });

  // Selection, casts
  t.add("select")
      .in({"condition", "x|input", "y|other"})
      .flags(kElementwise)
      .promote(Promote::kSelect)
      .infer([](const InferCtx& c) {
        OP_CHECK(is_bool(c.x(0).dtype), kType, "[select] condition must be bool, got ",
                 c.x(0).str());
        same_dtypes(c, 1);
        return infer_broadcast(c, c.x(1).dtype);
      })
      .scalar([](const ScalarCtx& c) { return s_select(c.x(0), c.x(1), c.x(2)); })
      .vjp([](V v) {
        const Val zero = v_const(v.ct, 0);
        if (v.need[1]) v.d[1] = v_select(v.in[0], v.ct, zero);
        if (v.need[2]) v.d[2] = v_select(v.in[0], zero, v.ct);
      });
  t.add("cast")
      .in({"x|input|value"})
      .attr("dtype", AttrKind::kDType)
      .flags(kElementwise | kLinear)
      .infer([](const InferCtx& c) {
        return Type{c.dt("dtype"), c.shape(0)};
      })
      .scalar([](const ScalarCtx& c) {
        // (the result of a half cast is rounded by the family)
        if (is_bool(c.out)) return c.x(0) != c.sb.constant(c.x(0).dtype(), 0.0);
        return s_cast(c.x(0), c.out);
      })
      .vjp([](V v) {
        if (is_inexact(v.in[0].dtype())) v.d[0] = v_cast(v.ct, v.in[0].dtype());
      });
  unary(t, "identity", kAny, kLinear | kCallOut).scalar(SC(x)).vjp(VJP(g));
  unary(t, "stop_gradient", kAny, kNoGradient | kIdempotent).scalar(SC(x));

  // Activations
  unary(t, "relu", kAny, kIdempotent)
      .scalar([](const ScalarCtx& c) {
        if (is_bool(c.out)) return c.x(0);
        return c.sb.op(SOp::kMax, c.out, c.sb.constant(c.out, 0.0), c.x(0));  // NaN stays NaN
      })
      .vjp(VJP(v_select(v_op("greater", y, v_const(y, 0)), g, v_const(g, 0))));
  unary(t, "relu6", kNumber, kIdempotent)
      .scalar([](const ScalarCtx& c) {
        SVal r = c.sb.op(SOp::kMax, c.out, c.sb.constant(c.out, 0.0), c.x(0));
        return c.sb.op(SOp::kMin, c.out, c.sb.constant(c.out, 6.0), r);
      })
      .vjp(VJP(v_select(
          v_op("logical_and", v_op("greater", y, v_const(y, 0)), v_op("less", y, v_const(y, 6))), g,
          v_const(g, 0))));
  floating(t, "sigmoid").scalar(SC(s_sigmoid(x))).vjp(VJP(g * (y * (1.0 - y))));
  floating(t, "silu").scalar(SC(s_silu(x))).vjp([](V v) {
    const Val s = v_op("sigmoid", v.in[0]);
    v.d[0] = v.ct * (s + v.out * (1.0 - s));
  });
  floating(t, "softplus")
      .scalar([](const ScalarCtx& c) {  // max(x, 0) + log1p(exp(-|x|))
        const SVal x = c.x(0), e = s_exp(-s_unary(SOp::kAbs, x));
        return c.sb.op(SOp::kMax, x.dtype(), c.sb.constant(x.dtype(), 0.0), x) +
               (x.dtype() == DType::F32 ? s_wide(f32::log1p, e) : f64::log1p(e));
      })
      .vjp(VJP(g * v_op("sigmoid", x)));
  floating(t, "gelu")
      .attr("approximate", AttrKind::kString, std::string("none"))
      .scalar([](const ScalarCtx& c) {
        const SVal x = c.x(0);
        if (c.s("approximate") == "tanh")
          return 0.5 * x * (1.0 + s_tanh(0.79788456080286535588 * (x + 0.044715 * (x * x * x))));
        return 0.5 * x * (1.0 + s_erf(x * 0.70710678118654752440));
      })
      .vjp([](V v) {
        const Val x = v.in[0];
        if (v.s("approximate") == "tanh") {
          const Val th = v_op("tanh", 0.79788456080286535588 * (x + 0.044715 * (x * x * x)));
          v.d[0] =
              v.ct * (0.5 * (1.0 + th) + 0.5 * x * (1.0 - th * th) *
                                             (0.79788456080286535588 * (1.0 + 0.134145 * (x * x))));
        } else {
          v.d[0] = v.ct * (0.5 * (1.0 + v_op("erf", x * 0.70710678118654752440)) +
                           x * (0.39894228040143267794 * v_op("exp", -0.5 * (x * x))));
        }
      });
  unary(t, "leaky_relu", kFloating)
      .attr("alpha", AttrKind::kFloat, 0.2)
      .scalar(
          [](const ScalarCtx& c) { return s_select(c.x(0) > 0.0, c.x(0), c.x(0) * c.f("alpha")); })
      .vjp([](V v) {
        v.d[0] = v_select(v_op("greater", v.in[0], v_const(v.in[0], 0)), v.ct, v.ct * v.f("alpha"));
      });
  unary(t, "elu", kFloating)
      .attr("alpha", AttrKind::kFloat, 1.0)
      .scalar([](const ScalarCtx& c) {
        return s_select(c.x(0) > 0.0, c.x(0), (s_exp(c.x(0)) - 1.0) * c.f("alpha"));
      })
      .vjp([](V v) {
        v.d[0] = v_select(v_op("greater", v.in[0], v_const(v.in[0], 0)), v.ct,
                          v.ct * (v.out + v.f("alpha")));
      });
}

}  // namespace pijit
