// Reductions. Combiner ops fold axes with a fixed tree (runtime/reduce_tree.h); arg-reductions and
// scans have reference kernels.
#include "graph/vmap.h"
#include "graph/vals.h"

namespace pijit {
namespace {

using V = VjpCtx&;

Shape reduced(const InferCtx& c) {
  const Shape& s = c.shape(0);
  const auto axes = normalize_axes(c.op.name, c.ints("axis"), s.rank());
  const bool keep = c.flag("keepdims");
  Shape out;
  size_t k = 0;
  for (int i = 0; i < s.rank(); ++i) {
    const bool r = k < axes.size() && axes[k] == i;
    if (r) ++k;
    if (!r)
      out.push_back(s[i]);
    else if (keep)
      out.push_back(1);
  }
  return out;
}
// A reduced value broadcast back over the input's shape.
Val expand_back(V v, Val x) {
  Shape keep = v.in[0].shape();
  for (auto a : normalize_axes(v.op.name, v.ints("axis"), keep.rank())) keep[a] = 1;
  return v_broadcast(v_reshape(x, keep), v.in[0].shape());
}
OpEntry reduction(OpTable& t, const char* n, Combiner k) {
  return t.add(n)
      .in({"x"})
      .attr("axis", AttrKind::kInts, Dims{})
      .attr("keepdims", AttrKind::kBool, false)
      .flags(kReduction)
      .combiner(k);
}
InferFn keep_dtype(bool need_elements) {
  return [need_elements](const InferCtx& c) {
    if (need_elements) {
      const Shape& s = c.shape(0);
      for (auto a : normalize_axes(c.op.name, c.ints("axis"), s.rank()))
        OP_CHECK(s[a] != 0, kValue, "[", c.op.name, "] cannot reduce the empty axis ", a, " of ",
                 c.x(0).str());
    }
    return Type{c.x(0).dtype, reduced(c)};
  };
}
// Deviations from the mean over axes, and what a variance divides by.
struct Deviations {
  Dims axes;
  Dim count = 1;
  Val values;
  Deviations(const OpCtx& c, Val x) {
    const Shape& s = x.shape();
    for (auto a : normalize_axes(c.op.name, c.ints("axis"), s.rank())) {
      axes.push_back(a);
      count *= s[static_cast<int>(a)];
    }
    values = x - v_sum(x, axes, true) / v_size(x, count);
  }
  Val divisor(const OpCtx& c) const {
    return v_size(values, std::max(count - c.i("ddof"), Dim(0)));
  }
};
OpEntry arg_reduction(OpTable& t, const char* n) {
  return t.add(n)
      .in({"x"})
      .vmap(vmap_axis)
      .attr("axis", AttrKind::kInt, int64_t{-1})
      .flags(kNoGradient)
      .infer([](const InferCtx& c) {
        Shape s = c.shape(0);
        const int a = normalize_axis(c.op.name, c.i("axis"), s.rank());
        OP_CHECK(s[a] != 0, kValue, "[", c.op.name, "] axis ", a, " of ", c.x(0).str(),
                 " is empty");
        s.erase(a);
        return Type{DType::I64, s};
      });
}

}  // namespace

void register_reduce(OpTable& t) {
  reduction(t, "reduce_sum", Combiner::kSum)
      .role(Role::kReduceSum)
      .flags(kLinear)
      .infer([](const InferCtx& c) {
        return Type{is_bool(c.x(0).dtype) ? DType::I64 : c.x(0).dtype, reduced(c)};
      })
      .vjp([](V v) { v.d[0] = expand_back(v, v.ct); });
  reduction(t, "reduce_prod", Combiner::kProd).infer(keep_dtype(false)).vjp([](V v) {
    // The product of the others: exact where no factor is 0, and by exclusion where one is.
    const Val x = v.in[0], zero = v_const(x, 0), one = v_const(x, 1);
    const Val is0 = v_op("equal", x, zero);
    const Val safe = v_select(is0, one, x);
    const Val zeros = v_sum(v_cast(is0, x.dtype()), v.ints("axis"), v.flag("keepdims"));
    const Val rest = x.b->op("reduce_prod", {safe}, {v.ints("axis"), v.flag("keepdims")});
    const Val none = v_op("equal", zeros, zero), single = v_op("equal", zeros, one);
    const Val product = expand_back(v, v_select(none, v.ct * rest, v_const(rest, 0)));
    const Val d_nonzero = is_inexact(x.dtype()) ? product / safe : v_op("floor_div", product, safe);
    const Val d_zero = expand_back(v, v_select(single, v.ct * rest, v_const(rest, 0)));
    v.d[0] = v_select(is0, d_zero, d_nonzero);
  });
  auto extremum = [](V v) {  // ties share the cotangent evenly
    const Val x = v.in[0];
    const Val hit = v_cast(v_op("equal", x, expand_back(v, v.out)), x.dtype());
    Val part = v_sum(hit, v.ints("axis"), v.flag("keepdims"));
    if (is_inexact(x.dtype()))
      part = v.ct / part;
    else
      part = v_cast(v_cast(v.ct, DType::F64) / v_cast(part, DType::F64), x.dtype());
    v.d[0] = hit * expand_back(v, part);
  };
  reduction(t, "reduce_max", Combiner::kMax).infer(keep_dtype(true)).vjp(extremum);
  reduction(t, "reduce_min", Combiner::kMin).infer(keep_dtype(true)).vjp(extremum);
  for (auto [n, k] : {std::pair{"reduce_all", Combiner::kAll}, {"reduce_any", Combiner::kAny}})
    reduction(t, n, k).flags(kNoGradient).promote(Promote::kBool).infer(keep_dtype(false));
  // Squared deviations from the mean, summed, over count - ddof. One node, as the derivative of the
  // mean within it is 0 and takes no sum.
  t.add("variance")
      .in({"x"})
      .attr("axis", AttrKind::kInts, Dims{})
      .attr("keepdims", AttrKind::kBool, false)
      .attr("ddof", AttrKind::kInt, int64_t{0})
      .flags(kAccumulatesF32)
      .vmap(vmap_reduction)
      .infer([](const InferCtx& c) {
        OP_CHECK(is_float(c.x(0).dtype), kType, "[variance] expected a floating dtype, got ",
                 c.x(0).str());
        return Type{c.x(0).dtype, reduced(c)};
      })
      .vjp([](V v) {
        const Deviations s(v, v.in[0]);
        v.d[0] = s.values * expand_back(v, v.ct * (v_const(v.ct, 2) / s.divisor(v)));
      })
      .lower([](const LowerCtx& c) {
        const Deviations s(c, c.in[0]);
        return v_sum(s.values * s.values, s.axes, c.flag("keepdims")) / s.divisor(c);
      });
  // [..., lanes, n] to [..., n]: sums by halves of the lanes, as a row's lanes fold at its end
  // (runtime/loop_spec.h).
  t.add("fold_lanes")
      .in({"x"})
      .flags(kPhysical | kWindows)
      .combiner(Combiner::kSum)
      .infer([](const InferCtx& c) {
        Shape s = c.shape(0);
        OP_CHECK(s.rank() >= 2 && c.x(0).dtype == DType::F32, kValue, "[fold_lanes] ",
                 c.x(0).str());
        s.erase(s.rank() - 2);
        return Type{DType::F32, s};
      });
  arg_reduction(t, "argmax").role(Role::kArgmax);
  arg_reduction(t, "argmin").role(Role::kArgmin);
  // Stable; NaN counts as the greatest value.
  t.add("argsort")
      .in({"x"})
      .attr("axis", AttrKind::kInt, int64_t{-1})
      .attr("descending", AttrKind::kBool, false)
      .flags(kNoGradient)
      .vmap(vmap_axis)
      .infer([](const InferCtx& c) {
        normalize_axis(c.op.name, c.i("axis"), c.shape(0).rank());
        return Type{DType::I64, c.shape(0)};
      });
  // Places of the first k along an axis, in the order that argsort gives.
  t.add("topk")
      .in({"x"})
      .attr("k", AttrKind::kInt)
      .attr("axis", AttrKind::kInt, int64_t{-1})
      .attr("largest", AttrKind::kBool, true)
      .flags(kNoGradient)
      .vmap(vmap_axis)
      .infer([](const InferCtx& c) {
        Shape s = c.shape(0);
        const int a = normalize_axis(c.op.name, c.i("axis"), s.rank());
        OP_CHECK(c.i("k") >= 0 && c.i("k") <= s[a], kValue, "[topk] k must be in [0, ", s[a],
                 "], got ", c.i("k"));
        s[a] = c.i("k");
        return Type{DType::I64, s};
      });
  t.add("cumsum")
      .in({"x"})
      .attr("axis", AttrKind::kInt, int64_t{0})
      .attr("reverse", AttrKind::kBool, false)
      .flags(kLinear)
      .vmap(vmap_axis)
      .infer([](const InferCtx& c) {
        normalize_axis(c.op.name, c.i("axis"), c.shape(0).rank());
        OP_CHECK(!is_bool(c.x(0).dtype), kType, "[", c.op.name, "] expected a number dtype, got ",
                 c.x(0).str(), ": cast it first");
        return c.x(0);
      })
      .vjp([](V v) {
        v.d[0] = v.b.op("cumsum", {v.ct}, {v.i("axis"), !v.flag("reverse")});
      });
}

}  // namespace pijit
