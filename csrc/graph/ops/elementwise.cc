// Elementwise ops: a scalar rule each; dtype, broadcasting and kernels come from the family. The
// functions of both widths stand in float32_math.cc and float64_math.cc; the gamma family goes
// through libm.
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

// --- Functions of either width ------------------------------------------------------------------
bool single(SVal x) { return x.dtype() == DType::F32; }
SVal via_libm(Call1 f, SVal x) { return s_cast(s_call(f, s_cast(x, DType::F64)), x.dtype()); }
SVal s_exp(SVal x) { return single(x) ? f32::exp(x) : f64::exp(x); }
SVal s_tanh(SVal x) { return single(x) ? f32::tanh(x) : f64::tanh(x); }
SVal s_erf(SVal x) { return single(x) ? f32::erf(x) : f64::erf(x); }
SVal s_sigmoid(SVal x) {  // by e = exp(-|x|), which cannot overflow
  const SVal a = -s_unary(SOp::kAbs, x), e = single(x) ? f32::exp(a, true) : f64::exp(a);
  const SVal one = x.sb->constant(x.dtype(), 1.0), d = e + 1.0, y = s_select(x < 0.0, e, one) / d;
  // what 1 + e has lost, times 1 / d
  const SVal d_low = e - (d - 1.0);
  return s_fma(-(y * d_low), s_select(x < 0.0, 1.0 - y, y), y);
}
SVal s_silu(SVal x) { return single(x) ? f32::silu(x) : x * s_sigmoid(x); }
SVal s_softplus(SVal x) {  // max(x, 0) + log1p(exp(-|x|))
  if (single(x)) return f32::softplus(x);
  return x.sb->op(SOp::kMax, x.dtype(), x.sb->constant(x.dtype(), 0.0), x) +
         f64::log1p(f64::exp(-s_unary(SOp::kAbs, x)));
}
// By e = exp(x): tanh(log(1 + e)) = w / (w + 2), w = e (e + 2). From 40 on that is 1.
SVal s_mish(SVal x) {
  if (single(x)) return f32::mish(x);
  const SVal e = f64::exp(x.sb->op(SOp::kMin, x.dtype(), x.sb->constant(x.dtype(), 40.0), x));
  const SVal w = e * (e + 2.0);
  return x * (w / (w + 2.0));
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
OpEntry function(OpTable& t, const char* n, SVal (*of_f32)(SVal), SVal (*of_f64)(SVal)) {
  return floating(t, n).scalar(
      [=](const ScalarCtx& c) { return (single(c.x(0)) ? of_f32 : of_f64)(c.x(0)); });
}
ScalarFn function2(SVal (*of_f32)(SVal, SVal), SVal (*of_f64)(SVal, SVal)) {
  return [=](const ScalarCtx& c) { return (single(c.x(0)) ? of_f32 : of_f64)(c.x(0), c.x(1)); };
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
      .role(Role::kAdd)
      .scalar(
          [](const ScalarCtx& c) { return is_bool(c.out) ? (c.x(0) | c.x(1)) : c.x(0) + c.x(1); })
      .vjp([](V v) {
        v.d[0] = v.ct;
        v.d[1] = v.ct;
      });
  binary(t, "sub", kNumber, kLinear).role(Role::kSub).scalar(sop2(SOp::kSub)).vjp([](V v) {
    v.d[0] = v.ct;
    if (v.need[1]) v.d[1] = -v.ct;
  });
  binary(t, "mul", kAny, kCommutative | kMultilinear)
      .role(Role::kMul)
      .scalar(
          [](const ScalarCtx& c) { return is_bool(c.out) ? (c.x(0) & c.x(1)) : c.x(0) * c.x(1); })
      .vjp([](V v) {
        if (v.need[0]) v.d[0] = v.ct * v.in[1];
        if (v.need[1]) v.d[1] = v.ct * v.in[0];
      });
  binary(t, "div", kFloating)
      .role(Role::kDiv)
      .promote(Promote::kFloat)
      .scalar(sop2(SOp::kDiv))
      .vjp([](V v) {
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
        if (v.need[1])
          v.d[1] = -(v.ct * (is_float(v.ct.dtype()) ? v_op("floor", v.in[0] / v.in[1])
                                                    : v_op("floor_div", v.in[0], v.in[1])));
      });
  binary(t, "fmod", kNumber)
      .scalar([](const ScalarCtx& c) {  // the sign of the dividend, as C's fmod
        if (!is_float(c.out)) return c.sb.op(SOp::kTruncMod, c.out, c.x(0), c.x(1));
        return s_cast(s_call(Call2::fmod, s_cast(c.x(0), DType::F64), s_cast(c.x(1), DType::F64)),
                      c.out);
      })
      .vjp([](V v) {
        v.d[0] = v.ct;
        if (v.need[1])
          v.d[1] = -(v.ct * (is_float(v.ct.dtype()) ? v_op("trunc", v.in[0] / v.in[1])
                                                    : v_op("floor_div", v.in[0] - v.out, v.in[1])));
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
        if (constant(2)) return x * x;
        if (constant(1)) return x;  // as pow has it, in every bit
        if (single(x)) {
          if (constant(3)) return f32::cube(x);
          return s_select(y == 2.0, x * x, s_select(y == 3.0, f32::cube(x), f32::pow(x, y)));
        }
        const SVal r = f64::pow(s_cast(x, DType::F64), s_cast(y, DType::F64));
        return s_select(y == 2.0, x * x, s_cast(r, c.out));
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
  binary(t, "atan2", kFloating)
      .promote(Promote::kFloat)
      .scalar(function2(f32::atan2, f64::atan2))
      .vjp([](V v) {
        const Val x = v.in[0], y = v.in[1], q = v.ct / (x * x + y * y);
        v.d[0] = q * y;
        if (v.need[1]) v.d[1] = -(q * x);
      });
  binary(t, "hypot", kFloating)
      .promote(Promote::kFloat)
      .scalar(function2(f32::hypot, f64::hypot))
      .vjp([](V v) {
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
  // Equal elements share the gradient, integers excepted.
  auto pick_or_share = [pick](const char* strict, const char* or_equal) {
    return [=](V v) {
      if (!is_float(v.ct.dtype())) return pick(or_equal)(v);
      const Val zero = v_const(v.ct, 0);
      const Val share = v_select(v_op("equal", v.in[0], v.in[1]), 0.5 * v.ct, v.ct);
      if (v.need[0]) v.d[0] = v_select(v_op(or_equal, v.in[0], v.in[1]), share, zero);
      if (v.need[1]) v.d[1] = v_select(v_op(strict, v.in[0], v.in[1]), zero, share);
    };
  };
  const ScalarFn greater = [](const ScalarCtx& c) { return s_maximum(c.x(0), c.x(1)); };
  const ScalarFn lesser = [](const ScalarCtx& c) { return s_minimum(c.x(0), c.x(1)); };
  binary(t, "maximum", kAny, kCommutative)
      .scalar(greater)
      .vjp(pick_or_share("greater", "greater_equal"));
  binary(t, "minimum", kAny, kCommutative).scalar(lesser).vjp(pick_or_share("less", "less_equal"));
  // The first operand limited by the second, whose gradient at a tie is the first's.
  binary(t, "at_least", kAny).scalar(greater).vjp(pick("greater_equal"));
  binary(t, "at_most", kAny).scalar(lesser).vjp(pick("less_equal"));

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
  function(t, "exp2", f32::exp2, f64::exp2).vjp(VJP(g * (y * 0.69314718055994530942)));
  function(t, "expm1", f32::expm1, f64::expm1).vjp(VJP(g * (y + 1.0)));
  function(t, "log", f32::log, f64::log).vjp(VJP(g / x));
  function(t, "log2", f32::log2, f64::log2).vjp(VJP(g / (x * 0.69314718055994530942)));
  function(t, "log10", f32::log10, f64::log10).vjp(VJP(g / (x * 2.30258509299404568402)));
  function(t, "log1p", f32::log1p, f64::log1p).vjp(VJP(g / (x + 1.0)));
  // Trigonometric, hyperbolic
  function(t, "sin", f32::sin, f64::sin).vjp(VJP(g * v_op("cos", x)));
  function(t, "cos", f32::cos, f64::cos).vjp(VJP(-(g * v_op("sin", x))));
  function(t, "tan", f32::tan, f64::tan).vjp(VJP(g * (1.0 + y * y)));
  function(t, "asin", f32::asin, f64::asin).vjp(VJP(g * v_op("rsqrt", 1.0 - x * x)));
  function(t, "acos", f32::acos, f64::acos).vjp(VJP(-(g * v_op("rsqrt", 1.0 - x * x))));
  function(t, "atan", f32::atan, f64::atan).vjp(VJP(g / (1.0 + x * x)));
  function(t, "sinh", f32::sinh, f64::sinh).vjp(VJP(g * v_op("cosh", x)));
  function(t, "cosh", f32::cosh, f64::cosh).vjp(VJP(g * v_op("sinh", x)));
  floating(t, "tanh").role(Role::kActivation).scalar(SC(s_tanh(x))).vjp(VJP(g * (1.0 - y * y)));
  function(t, "asinh", f32::asinh, f64::asinh).vjp(VJP(g * v_op("rsqrt", x * x + 1.0)));
  function(t, "acosh", f32::acosh, f64::acosh).vjp(VJP(g * v_op("rsqrt", x * x - 1.0)));
  function(t, "atanh", f32::atanh, f64::atanh).vjp(VJP(g / (1.0 - x * x)));
  // Error and gamma functions
  floating(t, "erf")
      .scalar(SC(s_erf(x)))
      .vjp(VJP(g * (1.12837916709551257390 * v_op("exp", -(x * x)))));
  function(t, "erfc", f32::erfc, f64::erfc)
      .vjp(VJP(g * (-1.12837916709551257390 * v_op("exp", -(x * x)))));
  function(t, "erfcx", f32::erfcx, f64::erfcx)
      .vjp(VJP(g * (2.0 * (x * y) - 1.12837916709551257390)));
  libm(t, "lgamma", Call1::lgamma).vjp(VJP(g * v_op("digamma", x)));
  libm(t, "digamma", Call1::digamma).vjp(VJP(g * v_op("trigamma", x)));
  libm(t, "trigamma", Call1::trigamma).flags(kNoGradient);
  function(t, "cbrt", f32::cbrt, f64::cbrt).vjp(VJP(g * y / (3.0 * x)));
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
      .role(Role::kSelect)
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
      .role(Role::kCast)
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
      .vjp([](V v) { v.d[0] = v_cast(v.ct, v.in[0].dtype()); });
  unary(t, "identity", kAny, kLinear | kCallOut).role(Role::kIdentity).scalar(SC(x)).vjp(VJP(g));
  unary(t, "stop_gradient", kAny, kNoGradient | kIdempotent).role(Role::kIdentity).scalar(SC(x));

  // Activations
  unary(t, "relu", kAny, kIdempotent)
      .role(Role::kActivation)
      .scalar([](const ScalarCtx& c) {
        if (is_bool(c.out)) return c.x(0);
        return c.sb.op(SOp::kMax, c.out, c.sb.constant(c.out, 0.0), c.x(0));  // NaN stays NaN
      })
      .vjp(VJP(v_select(v_op("greater", y, v_const(y, 0)), g, v_const(g, 0))));
  unary(t, "relu6", kNumber, kIdempotent)
      .role(Role::kBounded)
      .scalar([](const ScalarCtx& c) {
        SVal r = c.sb.op(SOp::kMax, c.out, c.sb.constant(c.out, 0.0), c.x(0));
        return c.sb.op(SOp::kMin, c.out, c.sb.constant(c.out, 6.0), r);
      })
      .vjp(VJP(v_select(
          v_op("logical_and", v_op("greater", y, v_const(y, 0)), v_op("less", y, v_const(y, 6))), g,
          v_const(g, 0))));
  floating(t, "sigmoid")
      .role(Role::kActivation)
      .scalar(SC(s_sigmoid(x)))
      .vjp(VJP(g * (y * (1.0 - y))));
  floating(t, "silu").role(Role::kActivation).scalar(SC(s_silu(x))).vjp([](V v) {
    const Val s = v_op("sigmoid", v.in[0]);
    v.d[0] = v.ct * (s + v.out * (1.0 - s));
  });
  // Under numerics="fast": without what makes up for the roundings of 1 + e and of the quotient.
  floating(t, "sigmoid_fast").flags(kPhysical).scalar([](const ScalarCtx& c) {
    return 1.0 / (s_exp(-c.x(0)) + 1.0);
  });
  floating(t, "silu_fast").flags(kPhysical).scalar([](const ScalarCtx& c) {
    return c.x(0) / (s_exp(-c.x(0)) + 1.0);
  });
  // The same: 0 where the result would be subnormal. A masked place's share of attention is, and
  // each product with it takes a processor 150 cycles.
  floating(t, "exp_fast").flags(kPhysical).scalar([](const ScalarCtx& c) {
    const SVal y = s_exp(c.x(0));
    return s_select(c.x(0) < -87.3365447505531, c.sb.constant(c.out, 0.0), y);
  });
  // x * relu6(x + 3) / 6 (compile/passes/fast_math.cc)
  floating(t, "hardswish").flags(kPhysical).role(Role::kBounded).scalar([](const ScalarCtx& c) {
    const DType d = c.out;
    SVal r = c.sb.op(SOp::kMax, d, c.sb.constant(d, 0.0), c.x(0) + 3.0);
    r = c.sb.op(SOp::kMin, d, c.sb.constant(d, 6.0), r);
    return c.x(0) * r * (1.0 / 6.0);
  });
  t.extend("exp").fast(t.at("exp_fast"));
  t.extend("sigmoid").fast(t.at("sigmoid_fast"));
  t.extend("silu").fast(t.at("silu_fast"));
  floating(t, "softplus").scalar(SC(s_softplus(x))).vjp(VJP(g * v_op("sigmoid", x)));
  floating(t, "mish").scalar(SC(s_mish(x))).vjp([](V v) {
    const Val x = v.in[0], th = v_op("tanh", v_op("softplus", x));
    v.d[0] = v.ct * (th + x * (v_op("sigmoid", x) * (1.0 - th * th)));
  });
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
        const Val x = v.in[0], zero = v_const(x, 0);  // at 0 the mean of both slopes
        const Val low = v_select(v_op("equal", x, zero), v.ct * (0.5 + 0.5 * v.f("alpha")),
                                 v.ct * v.f("alpha"));
        v.d[0] = v_select(v_op("greater", x, zero), v.ct, low);
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
