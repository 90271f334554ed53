// Special functions without code of their own: elementwise, by a kernel, one or two inputs of one
// shape. Derivatives: Abramowitz & Stegun 6.5.25, 9.1.27-30, 9.6.26-28; Johansson, DLMF 25.11.17.
#include <limits>

#include "graph/vals.h"
#include "graph/vmap.h"

namespace pijit {
namespace {
using V = VjpCtx&;

Val bessel(const char* fn, Val x) { return x.b->op("bessel", {x}, {std::string(fn)}); }
// f / x, and `limit` at 0
Val over(Val f, Val x, double limit) {
  const Val zero = v_op("equal", x, v_const(x, 0));
  return v_select(zero, v_const(x, limit), f / v_select(zero, v_const(x, 1), x));
}
Val derivative(const std::string& fn, Val x, Val y) {
  if (fn == "i0") return bessel("i1", x);
  if (fn == "i1") return bessel("i0", x) - over(y, x, 0.5);
  if (fn == "i0e") return bessel("i1e", x) - v_op("sign", x) * y;
  if (fn == "i1e") return bessel("i0e", x) - v_op("sign", x) * y - over(y, x, 0.5);
  if (fn == "j0") return -bessel("j1", x);
  if (fn == "j1") return bessel("j0", x) - over(y, x, 0.5);
  if (fn == "y0") return -bessel("y1", x);
  if (fn == "y1") return bessel("y0", x) - y / x;
  if (fn == "k0") return -bessel("k1", x);
  if (fn == "k1") return -bessel("k0", x) - y / x;
  if (fn == "k0e") return y - bessel("k1e", x);
  return y * (1.0 - 1.0 / x) - bessel("k0e", x);  // k1e
}

Type alike(const InferCtx& c) {
  const Type& x = c.x(0);
  OP_CHECK(is_float(x.dtype), kType, "[", c.op.name, "] expected a floating dtype, got ", x.str());
  for (size_t k = 1; k < c.in.size(); ++k)
    OP_CHECK(*c.in[k] == x, kType, "[", c.op.name, "] expected two of one type, got ", x.str(),
             " and ", c.in[k]->str());
  return x;
}
Val vmap_alike(const VmapCtx& c) {
  std::vector<Val> in;
  for (size_t k = 0; k < c.in.size(); ++k) in.push_back(c.front(static_cast<int>(k)));
  return c.b.op(c.op, in, c.attrs);
}
OpEntry two(OpTable& t, const char* name) {
  return t.add(name).in({"a", "x"}).flags(kAccumulatesF32).infer(alike).vmap(vmap_alike);
}
// x^(a-1) (1-x)^(b-1) / beta(a, b)
Val beta_density(Val a, Val b, Val x) {
  const Val log_beta = v_op("lgamma", a) + v_op("lgamma", b) - v_op("lgamma", a + b);
  return v_op("exp", (a - 1.0) * v_op("log", x) + (b - 1.0) * v_op("log1p", -x) - log_beta);
}
// x^(a-1) e^-x / gamma(a)
Val density(Val a, Val x) {
  const Val at0 = v_op("equal", x, v_const(x, 0));
  const Val log = v_op("log", v_select(at0, v_const(x, 1), x));
  const Val y = v_op("exp", (a - 1.0) * log - x - v_op("lgamma", a));
  const Val one = v_op("equal", a, v_const(a, 1)), less = v_op("less", a, v_const(a, 1));
  const Val limit =
      v_select(one, v_const(x, 1),
               v_select(less, v_const(x, std::numeric_limits<double>::infinity()), v_const(x, 0)));
  return v_select(at0, limit, y);
}
}  // namespace

void register_special(OpTable& t) {
  t.add("bessel")
      .in({"x"})
      .attr("fn", AttrKind::kString)
      .flags(kAccumulatesF32)
      .vmap(vmap_alike)
      .infer([](const InferCtx& c) {
        const std::string& f = c.s("fn");
        for (auto k : {"i0", "i1", "i0e", "i1e", "j0", "j1", "y0", "y1", "k0", "k1", "k0e", "k1e"})
          if (f == k) return alike(c);
        throw OpError(OpError::kValue, str_cat("[bessel] unknown function '", f, "'"));
      })
      .vjp([](V v) { v.d[0] = v.ct * derivative(v.s("fn"), v.in[0], v.out); });
  // The regularised lower and upper incomplete gamma functions.
  for (const bool upper : {false, true})
    two(t, upper ? "igammac" : "igamma").vjp([upper](V v) {
      const Val ct = upper ? -v.ct : v.ct;
      if (v.need[0]) v.d[0] = ct * v.b.op("igamma_da", {v.in[0], v.in[1]});
      if (v.need[1]) v.d[1] = ct * density(v.in[0], v.in[1]);
    });
  two(t, "igamma_da").vjp([](V) {  // igamma's derivative by a
    throw OpError(OpError::kRuntime, "[igamma] no second derivative by the first input");
  });
  // Hurwitz' zeta function; no derivative by the first input.
  two(t, "zeta").vjp([](V v) {
    OP_CHECK(!v.need[0], kRuntime, "[zeta] no gradient by the first input");
    if (v.need[1]) v.d[1] = -(v.ct * v.in[0] * v.b.op(v.op, {v.in[0] + 1.0, v.in[1]}, {}));
  });
  // The regularised incomplete beta function; no derivatives by a and b.
  t.add("betainc")
      .in({"a", "b", "x"})
      .flags(kAccumulatesF32)
      .infer(alike)
      .vmap(vmap_alike)
      .vjp([](V v) {
        OP_CHECK(!v.need[0] && !v.need[1], kRuntime,
                 "[betainc] no gradient by the first two inputs");
        if (v.need[2]) v.d[2] = v.ct * beta_density(v.in[0], v.in[1], v.in[2]);
      });
  // The next number from a in the direction of x.
  two(t, "nextafter").vjp([](V) { throw OpError(OpError::kRuntime, "[nextafter] no gradient"); });
  // The n-th derivative of digamma.
  two(t, "polygamma").vjp([](V v) {
    if (v.need[1]) v.d[1] = v.ct * v.b.op(v.op, {v.in[0] + 1.0, v.in[1]}, {});
  });
}

}  // namespace pijit
