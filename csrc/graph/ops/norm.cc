// Softmax family and normalisations: one node with a closed gradient, lowered to reductions
// and elementwise ops, which the fusion pass packs again.
#include <algorithm>

#include "graph/vmap.h"
#include "graph/vals.h"

namespace pijit {
namespace {
using V = VjpCtx&;
Type softmax_type(const InferCtx& c) {
  OP_CHECK(is_float(c.x(0).dtype), kType, "[", c.op.name, "] expected a floating dtype, got ",
           c.x(0).str());
  normalize_axis(c.op.name, c.i("axis"), c.shape(0).rank());
  return c.x(0);
}

// Cotangents of halves computed in float32 and rounded once, as the op itself.
VjpFn in_float32(VjpFn rule) {
  return [rule](V v) {
    if (!is_half(v.out.dtype())) return rule(v);
    auto wide = [](Val x) { return x ? v_cast(x, DType::F32) : x; };
    std::vector<Val> in, d(v.d.size());
    for (auto x : v.in) in.push_back(wide(x));
    VjpCtx w{{v.op, v.attrs}, v.b, in, wide(v.out), wide(v.ct), d, v.need};
    rule(w);
    for (size_t k = 0; k < d.size(); ++k)
      if (d[k]) v.d[k] = v_cast(d[k], v.out.dtype());
  };
}

// Layer normalisation over the axes from `begin` on.
struct Normalized {
  Dims axes;
  Dim count = 1;
  Val inverse_deviation, x;  // x: of mean 0 and variance 1
  Normalized(const OpCtx& c, Val in) {
    const Shape& s = in.shape();
    for (int64_t a = c.i("begin"); a < s.rank(); ++a) {
      axes.push_back(a);
      count *= s[static_cast<int>(a)];
    }
    const Val d = in - mean(in);
    inverse_deviation = v_op("rsqrt", mean(d * d) + c.f("eps"));
    x = d * inverse_deviation;
  }
  Val mean(Val v) const { return v_sum(v, axes, true) / v_size(v, count); }
};
}  // namespace

void register_norm(OpTable& t) {
  t.add("softmax")
      .role(Role::kSoftmax)
      .in({"x"})
      .attr("axis", AttrKind::kInt, int64_t{-1})
      .flags(kWhole | kAccumulatesF32)
      .vmap(vmap_axis)
      .infer(softmax_type)
      .vjp(in_float32([](V v) {
        const Val gy = v.ct * v.out;
        v.d[0] = gy - v.out * v_sum(gy, {v.i("axis")}, true);
      }))
      .jvp([](JvpCtx& c) {
        const Val ty = c.t[0] * c.out;
        return ty - c.out * v_sum(ty, {c.i("axis")}, true);
      })
      .lower([](const LowerCtx& c) {
        const Val x = c.in[0];
        if (c.out.shape.numel() == 0) return x;  // maxima of nothing
        const Val e = v_op("exp", x - v_max(x, {c.i("axis")}, true));
        return e / v_sum(e, {c.i("axis")}, true);
      });
  t.add("log_softmax")
      .in({"x"})
      .attr("axis", AttrKind::kInt, int64_t{-1})
      .flags(kWhole | kAccumulatesF32)
      .vmap(vmap_axis)
      .infer(softmax_type)
      .vjp(in_float32(
          [](V v) { v.d[0] = v.ct - v_op("exp", v.out) * v_sum(v.ct, {v.i("axis")}, true); }))
      .jvp([](JvpCtx& c) {
        return c.t[0] - v_sum(v_op("exp", c.out) * c.t[0], {c.i("axis")}, true);
      })
      .lower([](const LowerCtx& c) {
        const Val x = c.in[0];
        if (c.out.shape.numel() == 0) return x;
        const Val z = x - v_max(x, {c.i("axis")}, true);
        return z - v_op("log", v_sum(v_op("exp", z), {c.i("axis")}, true));
      });
  // (x - mean) / sqrt(variance + eps) * gamma + beta, all broadcast to x: batch normalisation,
  // given its statistics.
  t.add("normalize")
      .role(Role::kNormalize)
      .in({"x", "mean", "variance", "gamma?", "beta?"})
      .attr("eps", AttrKind::kFloat, 1e-5)
      .promote(Promote::kSame)
      .flags(kWhole | kAccumulatesF32)
      .vmap([](const VmapCtx& c) {  // the output has x's shape
        const int rank = c.out.shape.rank();
        std::vector<Val> in{c.front(0)};
        for (int k = 1; k < 5; ++k) in.push_back(c.aligned(k, rank));
        return c.b.op(c.op, in, c.attrs);
      })
      .infer([](const InferCtx& c) {
        OP_CHECK(is_float(c.x(0).dtype), kType, "[normalize] expected a floating dtype, got ",
                 c.x(0).str());
        for (size_t k = 1; k < c.in.size(); ++k)
          if (c.in[k])
            OP_CHECK(broadcast_shapes("normalize", c.shape(0), c.shape(static_cast<int>(k))) ==
                             c.shape(0) &&
                         c.in[k]->dtype == c.x(0).dtype,
                     kValue, "[normalize] ", c.in[k]->str(), " does not fit ", c.x(0).str());
        return c.x(0);
      })
      .vjp(in_float32([](V v) {
        const Val inverse = v_op("rsqrt", v.in[2] + v.f("eps"));
        const Val deviations = v.in[0] - v.in[1];
        // Statistics, gamma and beta of one shape, which sums of the gradient itself and times the
        // deviations have too: all of their gradients are made of these two.
        const Shape& s = v.in[1].shape();
        const bool alike = std::all_of(v.in.begin() + 2, v.in.end(),
                                       [&](const Val& y) { return !y || y.shape() == s; });
        if (alike) {
          const Val scale = v.in[3] ? v.in[3] * inverse : inverse;
          if (v.need[0]) v.d[0] = v.ct * scale;
          if (v.need[1] || v.need[4]) {
            const Val sum = v_unbroadcast(v.ct, s);
            if (v.need[1]) v.d[1] = -(sum * scale);
            if (v.need[4]) v.d[4] = sum;
          }
          if (v.need[2] || v.need[3]) {
            const Val sum = v_unbroadcast(v.ct * deviations, s);
            if (v.need[2]) v.d[2] = sum * scale * (inverse * inverse * -0.5);
            if (v.need[3]) v.d[3] = sum * inverse;
          }
          return;
        }
        const Val g = v.in[3] ? v.ct * v.in[3] : v.ct;
        auto fit = [&](Val y, int k) { return v_unbroadcast(y, v.in[k].shape()); };
        if (v.need[0] || v.need[1]) {
          const Val dx = g * inverse;
          if (v.need[0]) v.d[0] = dx;
          if (v.need[1]) v.d[1] = -fit(dx, 1);
        }
        if (v.need[2]) v.d[2] = fit(g * deviations, 2) * (inverse * inverse * inverse * -0.5);
        if (v.need[3]) v.d[3] = fit(v.ct * (deviations * inverse), 3);
        if (v.need[4]) v.d[4] = fit(v.ct, 4);
      }))
      .lower([](const LowerCtx& c) {
        Val scale = v_op("rsqrt", c.in[2] + c.f("eps"));
        if (c.in[3]) scale = c.in[3] * scale;
        const Val y = (c.in[0] - c.in[1]) * scale;
        return c.in[4] ? y + c.in[4] : y;
      });
  t.add("layer_norm")
      .in({"x", "gamma?", "beta?"})
      .attr("begin", AttrKind::kInt)
      .attr("eps", AttrKind::kFloat, 1e-5)
      .promote(Promote::kSame)
      .flags(kWhole | kAccumulatesF32)
      .vmap([](const VmapCtx& c) {
        const bool own = c.batched[1] || c.batched[2];  // gamma or beta of each element's own
        Attrs a = c.attrs;
        std::get<Dim>(a[0]) += 1;
        Val y = c.b.op(c.op, {c.front(0), own ? Val{} : c.in[1], own ? Val{} : c.in[2]}, a);
        if (!own) return y;
        const int rank = c.out.shape.rank();
        if (c.in[1]) y = y * c.aligned(1, rank);
        return c.in[2] ? y + c.aligned(2, rank) : y;
      })
      .infer([](const InferCtx& c) {
        const Shape& s = c.shape(0);
        const int64_t begin = c.i("begin");
        OP_CHECK(is_float(c.x(0).dtype), kType, "[layer_norm] expected a floating dtype, got ",
                 c.x(0).str());
        OP_CHECK(begin >= 0 && begin < s.rank(), kValue, "[layer_norm] ", c.x(0).str(),
                 " has no axis ", begin, " to begin at");
        const Shape tail(std::span(s.begin() + begin, s.end()));
        for (int k : {1, 2})
          if (c.in[k])
            OP_CHECK(c.shape(k) == tail && c.x(k).dtype == c.x(0).dtype, kValue,
                     "[layer_norm] gamma and beta must be ", (Type{c.x(0).dtype, tail}).str(),
                     ", got ", c.x(k).str());
        return c.x(0);
      })
      .vjp(in_float32([](V v) {
        const Normalized n(v, v.in[0]);
        if (v.need[0]) {
          const Val g = v.in[1] ? v.ct * v.in[1] : v.ct;
          v.d[0] = n.inverse_deviation * (g - n.mean(g) - n.x * n.mean(g * n.x));
        }
        if (v.need[1]) v.d[1] = v_unbroadcast(v.ct * n.x, v.in[1].shape());
        if (v.need[2]) v.d[2] = v_unbroadcast(v.ct, v.in[2].shape());
      }))
      .lower([](const LowerCtx& c) {
        Val y = Normalized(c, c.in[0]).x;
        if (c.in[1]) y = y * c.in[1];
        return c.in[2] ? y + c.in[2] : y;
      });
}

}  // namespace pijit
