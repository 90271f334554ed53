// What ops do to complex operands: each rule computes the real and the imaginary part of the result
// from those of the operands, with ops on real values, so that complex code is generated and fused
// as real code is (compile/passes/complex.cc). Linear and bilinear ops have derived rules; an op
// without one raises TypeError for complex operands (Builder::op).
//
// Branch cuts and the inverse functions: Kahan, "Branch cuts for complex elementary functions"
// (1987); the quotient: Smith (1962).
#include <algorithm>
#include <cmath>
#include <cstring>

#include "graph/vals.h"
#include "graph/vmap.h"

namespace pijit {
namespace {

using C = const ComplexCtx&;
using V = VjpCtx&;

Val call(const char* name, Val x) { return v_op(name, x); }
Val call(const char* name, Val x, Val y) { return v_op(name, x, y); }
Val zeros_like(Val x) { return v_zeros(*x.b, x.type()); }
Val above(Val x, double c) { return v_op("greater", x, v_const(x, c)); }
Val is(Val x, double c) { return v_op("equal", x, v_const(x, c)); }
Val with_sign_of(Val magnitude, Val sign) {  // magnitude >= 0
  return v_select(v_op("less", sign, v_const(sign, 0)), -magnitude, magnitude);
}

// The op on real and on imaginary parts alone; real operands (indices, masks) go to both.
Parts on_parts(C c) {
  std::vector<Val> re, im;
  for (auto& x : c.in) {
    re.push_back(x.re);
    im.push_back(x.im ? x.im : x.re);
  }
  return {c.b.op(c.op, re, c.attrs), c.b.op(c.op, im, c.attrs)};
}
Parts bilinear(C c) {
  auto f = [&](Val x, Val y) { return c.b.op(c.op, {x, y}, c.attrs); };
  const Parts &a = c.in[0], &b = c.in[1];
  if (!b.im) return {f(a.re, b.re), f(a.im, b.re)};
  if (!a.im) return {f(a.re, b.re), f(a.re, b.im)};
  return {f(a.re, b.re) - f(a.im, b.im), f(a.re, b.im) + f(a.im, b.re)};
}

Parts operator+(Parts a, Parts b) { return {a.re + b.re, a.im + b.im}; }
Parts operator-(Parts a, Parts b) { return {a.re - b.re, a.im - b.im}; }
Parts operator*(Parts a, Parts b) { return {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re}; }
Parts operator*(Parts a, double c) { return {a.re * c, a.im * c}; }
Parts operator/(Parts a, Parts b) {
  const Val wide = v_op("greater_equal", call("abs", b.re), call("abs", b.im));
  const Val big = v_select(wide, b.re, b.im), small = v_select(wide, b.im, b.re);
  const Val r = small / big, d = big + small * r;
  const Val x = v_select(wide, a.re, a.im), y = v_select(wide, a.im, a.re);
  // wide: (re + im r, im - re r); else (re r + im, im r - re)
  const Val im = v_select(wide, y - x * r, y * r - x);
  // 1 / 0: r is not a number where both parts of b are 0
  const Val none = v_op("logical_and", is(b.re, 0), is(b.im, 0));
  return {v_select(none, a.re / b.re, v_select(wide, x + y * r, y * r + x) / d),
          v_select(none, a.im / b.re, v_select(wide, im, a.im * r - a.re) / d)};
}
Parts one_like(Parts z) { return {v_full(*z.re.b, z.re.type(), 1.0), zeros_like(z.re)}; }
Parts times_i(Parts z) { return {-z.im, z.re}; }
Parts times_minus_i(Parts z) { return {z.im, -z.re}; }
Parts conj(Parts z) { return {z.re, -z.im}; }
Val modulus(Parts z) { return call("hypot", z.re, z.im); }

Parts exp(Parts z) {
  const Val e = call("exp", z.re);
  return {e * call("cos", z.im), v_select(is(z.im, 0), z.im, e * call("sin", z.im))};
}
Parts log(Parts z) { return {call("log", modulus(z)), call("atan2", z.im, z.re)}; }
Parts sqrt(Parts z) {
  const Val t = call("sqrt", (call("abs", z.re) + modulus(z)) * 0.5);
  const Val other = v_select(is(t, 0), z.im, call("abs", z.im) / (2.0 * t));
  const Val right = v_op("greater_equal", z.re, v_const(z.re, 0));
  return {
      v_select(right, t, other),
      v_select(right, v_select(is(t, 0), z.im, with_sign_of(other, z.im)), with_sign_of(t, z.im))};
}
Parts sinh(Parts z) {
  return {call("sinh", z.re) * call("cos", z.im), call("cosh", z.re) * call("sin", z.im)};
}
Parts cosh(Parts z) {
  return {call("cosh", z.re) * call("cos", z.im), call("sinh", z.re) * call("sin", z.im)};
}
Parts tanh(Parts z) {
  const double far = 20;  // there tanh is +-1, and sinh may overflow
  const Val outside = above(call("abs", z.re), far);
  const Val t = call("tan", z.im), s = call("sinh", v_select(outside, v_const(z.re, 1), z.re));
  const Val beta = 1.0 + t * t, rho = call("sqrt", 1.0 + s * s), d = 1.0 + beta * (s * s);
  const Val one = v_full(*z.re.b, z.re.type(), 1.0);
  const Val rest =
      4.0 * (call("sin", z.im) * call("cos", z.im)) * call("exp", -2.0 * call("abs", z.re));
  return {v_select(outside, with_sign_of(one, z.re), beta * rho * s / d),
          v_select(outside, rest, t / d)};
}
Parts asin(Parts z) {
  const Parts one = one_like(z), m = sqrt(one - z), p = sqrt(one + z);
  return {call("atan2", z.re, (m * p).re), call("asinh", (conj(m) * p).im)};
}
Parts acos(Parts z) {
  const Parts one = one_like(z), m = sqrt(one - z), p = sqrt(one + z);
  return {2.0 * call("atan2", m.re, p.re), call("asinh", (conj(p) * m).im)};
}
Parts acosh(Parts z) {
  const Parts one = one_like(z), m = sqrt(z - one), p = sqrt(z + one);
  return {call("asinh", (conj(m) * p).re), 2.0 * call("atan2", m.im, p.re)};
}
Parts atanh(Parts z) {
  const Val b2 = z.im * z.im, away = 1.0 - z.re;
  return {0.25 * call("log1p", 4.0 * z.re / (away * away + b2)),
          0.5 * call("atan2", 2.0 * z.im, away * (1.0 + z.re) - b2)};
}
Parts expm1(Parts z) {
  const Val s = call("sin", z.im * 0.5);
  return {call("expm1", z.re) * call("cos", z.im) - 2.0 * (s * s),
          call("exp", z.re) * call("sin", z.im)};
}
Parts log1p(Parts z) {
  // log |1 + z| = log1p(a (2 + a) + b^2) / 2, which is exact near 0; far away squares overflow
  const Val near = 0.5 * call("log1p", z.re * (2.0 + z.re) + z.im * z.im);
  const Parts w{1.0 + z.re, z.im};
  const Val far = v_op("logical_or", above(call("abs", z.re), 1e4), above(call("abs", z.im), 1e4));
  return {v_select(far, call("log", modulus(w)), near), call("atan2", w.im, w.re)};
}
Parts pow(Parts x, Parts y) {
  const Val zero = v_op("logical_and", is(x.re, 0), is(x.im, 0));
  const Val none = v_op("logical_and", is(y.re, 0), is(y.im, 0));
  const Parts r = exp(y * log(x));
  const Val nought = zeros_like(r.re);
  return {v_select(none, v_const(r.re, 1), v_select(zero, nought, r.re)),
          v_select(v_op("logical_or", none, zero), nought, r.im)};
}
// z / |z|, and 0 of 0
Parts sign(Parts z) {
  const Val h = modulus(z), safe = v_select(is(h, 0), v_const(h, 1), h);
  return {z.re / safe, z.im / safe};
}

// A product over axes: by halves.
Parts product(C c) {
  Parts z = c.in[0];
  const Shape s = z.re.shape();
  auto part = [](Val x, int axis, int64_t from, int64_t to) {
    Dims begin(x.shape().rank(), 0), end = x.shape().dims(), step(x.shape().rank(), 1);
    begin[axis] = from, end[axis] = to;
    return x.b->op("slice", {x}, {begin, end, step});
  };
  for (auto a : normalize_axes(c.op.name, c.ints("axis"), s.rank())) {
    const int axis = static_cast<int>(a);
    int64_t n = s[axis];
    if (n == 0) {
      Shape one = z.re.shape();
      one[axis] = 1;
      const Type t{z.re.dtype(), one};
      z = {v_full(c.b, t, 1.0), v_zeros(c.b, t)};
    }
    for (; n > 1; n = (n + 1) / 2) {
      auto piece = [&](int64_t from, int64_t to) {
        return Parts{part(z.re, axis, from, to), part(z.im, axis, from, to)};
      };
      const int64_t half = n / 2;
      Parts p = piece(0, half) * piece(half, 2 * half);
      if (n % 2) {
        const Parts last = piece(n - 1, n);
        p = {c.b.op("concat", {p.re, last.re}, {Dim(axis)}),
             c.b.op("concat", {p.im, last.im}, {Dim(axis)})};
      }
      z = p;
    }
  }
  return {v_reshape(z.re, c.out.shape), v_reshape(z.im, c.out.shape)};
}

Val joined(Val re, Val im) { return re.b->op("complex", {re, im}); }
Val real(Val z) { return v_op("real", z); }
Val imag(Val z) { return v_op("imag", z); }

InferFn part_type() {
  return [](const InferCtx& c) {
    OP_CHECK(is_complex(c.x(0).dtype), kType, "[", c.op.name,
             "] expected complex64 or complex128, got ", public_name_of(c.x(0).dtype));
    return Type{part_of(c.x(0).dtype), c.shape(0)};
  };
}
Val vmap_unary(const VmapCtx& c) { return c.b.op(c.op, c.in, c.attrs); }

template <class F>
ComplexFn of_one(F f) {
  return [f](C c) { return f(c.in[0]); };
}

}  // namespace

ComplexFn derived_complex(const OpDef& op) {
  if (op.has(kMultilinear) && op.inputs.size() == 2) return bilinear;
  if (op.has(kLinear) && !op.has(kTakesComplex)) return on_parts;
  return nullptr;
}

void register_complex(OpTable& t) {
  // Between real and complex values.
  t.add("complex")
      .in({"real", "imag"})
      .flags(kLinear | kOwnAdjoint | kTakesComplex)
      .promote(Promote::kSame)
      .infer([](const InferCtx& c) {
        const DType d = c.x(0).dtype;
        OP_CHECK((d == DType::F32 || d == DType::F64) && c.x(1).dtype == d, kType,
                 "[complex] expected two of float32 or float64, got ", c.x(0).str(), " and ",
                 c.x(1).str());
        OP_CHECK(c.shape(0) == c.shape(1), kValue, "[complex] real and imaginary part differ in ",
                 "shape: ", c.x(0).str(), " and ", c.x(1).str());
        return Type{d == DType::F32 ? DType::C64 : DType::C128, c.shape(0)};
      })
      .vmap([](const VmapCtx& c) {
        return c.b.op(c.op, {c.front(0), c.front(1)}, {});
      })
      .vjp([](V v) {
        if (v.need[0]) v.d[0] = real(v.ct);
        if (v.need[1]) v.d[1] = imag(v.ct);
      });
  t.add("real")
      .in({"x|input"})
      .flags(kLinear | kOwnAdjoint | kTakesComplex | kWindows)
      .infer(part_type())
      .vmap(vmap_unary)
      .vjp([](V v) { v.d[0] = joined(v.ct, zeros_like(v.ct)); });
  t.add("imag")
      .in({"x|input"})
      .flags(kLinear | kOwnAdjoint | kTakesComplex | kWindows)
      .infer(part_type())
      .vmap(vmap_unary)
      .vjp([](V v) { v.d[0] = joined(zeros_like(v.ct), v.ct); });
  t.add("conj")
      .in({"x|input"})
      .flags(kLinear | kOwnAdjoint)
      .infer([](const InferCtx& c) {
        part_type()(c);
        return c.x(0);
      })
      .vmap(vmap_unary)
      .complex(of_one(conj))
      .vjp([](V v) { v.d[0] = v_op("conj", v.ct); });
  t.add("angle")
      .in({"x|input"})
      .flags(kOwnAdjoint)
      .infer(part_type())
      .vmap(vmap_unary)
      .complex([](C c) {
        return Parts{call("atan2", c.in[0].im, c.in[0].re), {}};
      })
      .jvp([](JvpCtx& c) {  // Im(conj(z) t) / |z|^2
        const Val a = real(c.in[0]), b = imag(c.in[0]);
        return (a * imag(c.t[0]) - b * real(c.t[0])) / (a * a + b * b);
      })
      .vjp([](V v) {
        const Val a = real(v.in[0]), b = imag(v.in[0]), q = v.ct / (a * a + b * b);
        v.d[0] = joined(-(q * b), q * a);
      });

  // Moves and sums: part by part.
  for (auto n : {"identity",   "stop_gradient", "broadcast_to",  "reshape",
                 "transpose",  "concat",        "slice",         "slice_update",
                 "add_slices", "diagonal",      "gather",        "index_add",
                 "gather_d",   "gather_nd",     "dynamic_slice", "dynamic_update_slice",
                 "reduce_sum", "cumsum",        "add",           "sub",
                 "neg"})
    t.extend(n).complex(on_parts);
  t.extend("select").flags(kOwnAdjoint).complex(on_parts);
  for (auto n :
       {"gather", "index_add", "gather_d", "gather_nd", "dynamic_slice", "dynamic_update_slice"})
    t.extend(n).flags(kOwnAdjoint);
  for (auto n : {"scatter_d", "scatter_nd"})
    t.extend(n).complex([](C c) {
      const std::string& mode = c.s("mode");
      OP_CHECK(mode == "update" || mode == "add" || mode == "sub", kType, "[", c.op.name,
               "] mode '", mode, "' has no rule for complex operands");
      return on_parts(c);
    });
  t.extend("pad").complex([](C c) {
    Attrs nought = c.attrs;
    nought[static_cast<size_t>(c.op.attr_index("value"))] = 0.0;
    return Parts{c.b.op(c.op, {c.in[0].re}, c.attrs), c.b.op(c.op, {c.in[0].im}, nought)};
  });
  t.extend("cast").complex([](C c) {
    const Parts& z = c.in[0];
    const DType part = part_of(c.out.dtype);
    if (is_complex(c.out.dtype))
      return z.im ? Parts{v_cast(z.re, part), v_cast(z.im, part)}
                  : Parts{v_cast(z.re, part), v_zeros(c.b, Type{part, c.out.shape})};
    if (!is_bool(c.out.dtype)) return Parts{v_cast(z.re, part), {}};
    return Parts{v_op("logical_or", v_cast(z.re, part), v_cast(z.im, part)), {}};
  });

  // Arithmetic
  t.extend("div").complex([](C c) { return c.in[0] / c.in[1]; });
  t.extend("reciprocal").complex(of_one([](Parts z) { return one_like(z) / z; }));
  t.extend("square").complex(of_one([](Parts z) { return z * z; }));
  t.extend("pow").complex([](C c) { return pow(c.in[0], c.in[1]); });
  t.extend("reduce_prod").complex(product);
  auto both = [](const char* part, const char* join) {
    return [part, join](C c) {
      return Parts{
          v_op(join, v_op(part, c.in[0].re, c.in[1].re), v_op(part, c.in[0].im, c.in[1].im)), {}};
    };
  };
  t.extend("equal").complex(both("equal", "logical_and"));
  t.extend("not_equal").complex(both("not_equal", "logical_or"));
  auto each = [](const char* part, const char* join) {
    return [part, join](C c) {
      return Parts{v_op(join, v_op(part, c.in[0].re), v_op(part, c.in[0].im)), {}};
    };
  };
  t.extend("isnan").complex(each("isnan", "logical_or"));
  t.extend("isinf").complex(each("isinf", "logical_or"));
  t.extend("isfinite").complex(each("isfinite", "logical_and"));
  // |z|, as a complex number: so MindSpore has it
  const VjpFn real_abs = t.at("abs").vjp;
  t.extend("abs")
      .flags(kOwnAdjoint)
      .complex(of_one([](Parts z) {
        return Parts{modulus(z), zeros_like(z.re)};
      }))
      .vjp([real_abs](V v) {
        if (!is_complex(v.out.dtype())) return real_abs(v);
        v.d[0] = v_op("sign", v.in[0]) * joined(real(v.ct), zeros_like(real(v.ct)));
      })
      .jvp([derived = derived_jvp(t.at("abs"))](JvpCtx& c) {
        if (!is_complex(c.out.dtype())) return derived(c);
        const Val d = real(v_op("conj", v_op("sign", c.in[0])) * c.t[0]);
        return joined(d, zeros_like(d));
      });
  t.extend("sign").complex(of_one(sign));
  t.extend("sqrt").complex(of_one(sqrt));
  t.extend("rsqrt").complex(of_one([](Parts z) { return one_like(z) / sqrt(z); }));

  // Functions
  t.extend("exp").complex(of_one(exp));
  t.extend("exp2").complex(of_one([](Parts z) { return exp(z * std::log(2.0)); }));
  t.extend("expm1").complex(of_one(expm1));
  t.extend("log").complex(of_one(log));
  t.extend("log2").complex(of_one([](Parts z) { return log(z) * (1 / std::log(2.0)); }));
  t.extend("log10").complex(of_one([](Parts z) { return log(z) * (1 / std::log(10.0)); }));
  t.extend("log1p").complex(of_one(log1p));
  t.extend("sinh").complex(of_one(sinh));
  t.extend("cosh").complex(of_one(cosh));
  t.extend("tanh").complex(of_one(tanh));
  t.extend("sin").complex(of_one([](Parts z) { return times_minus_i(sinh(times_i(z))); }));
  t.extend("cos").complex(of_one([](Parts z) { return cosh(times_i(z)); }));
  t.extend("tan").complex(of_one([](Parts z) { return times_minus_i(tanh(times_i(z))); }));
  t.extend("asin").complex(of_one(asin));
  t.extend("acos").complex(of_one(acos));
  const VjpFn real_acosh = t.at("acosh").vjp;
  t.extend("acosh").complex(of_one(acosh)).vjp([real_acosh](V v) {
    if (!is_complex(v.out.dtype())) return real_acosh(v);
    const Val z = v.in[0];  // the root of z^2 - 1 has another branch cut
    v.d[0] = v.ct / (v_op("sqrt", z - 1.0) * v_op("sqrt", z + 1.0));
  });
  t.extend("asinh").complex(of_one([](Parts z) { return times_minus_i(asin(times_i(z))); }));
  t.extend("atanh").complex(of_one(atanh));
  t.extend("atan").complex(of_one([](Parts z) { return times_minus_i(atanh(times_i(z))); }));
  t.extend("sigmoid").complex(of_one([](Parts z) {
    const Parts one = one_like(z);
    return one / (one + exp(Parts{-z.re, -z.im}));
  }));
  t.extend("silu").complex(of_one([](Parts z) {
    return z / (one_like(z) + exp(Parts{-z.re, -z.im}));
  }));
}

}  // namespace pijit
