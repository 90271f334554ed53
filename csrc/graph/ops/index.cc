// Gather and scatter. Indices are int32 or int64; negative ones count from the end; out-of-range
// ones raise IndexError when the kernel runs.
#include <algorithm>

#include "graph/vmap.h"
#include "graph/vals.h"

namespace pijit {
namespace {
using V = VjpCtx&;
void check_index(const InferCtx& c, int k) {
  OP_CHECK(is_int(c.x(k).dtype), kType, "[", c.op.name, "] indices must be integers, got ",
           c.x(k).str());
}

// Indices [batch, ..., k] with the element's number before the k coordinates: [batch, ..., k + 1].
Val numbered(const VmapCtx& c, Val indices) {
  const DType t = indices.dtype();
  if (t != DType::I32 && t != DType::I64) indices = v_cast(indices, DType::I64);
  Shape one(std::vector<Dim>(indices.shape().rank(), Dim(1))), all = indices.shape();
  one[0] = c.size;
  all[all.rank() - 1] = 1;
  const Val number = c.b.op("arange", {}, {0.0, 1.0, c.size, indices.dtype()});
  return c.b.op("concat", {v_broadcast(v_reshape(number, one), all), indices},
                {Dim(indices.shape().rank() - 1)});
}
// Axes [from, from + n) moved to `to`, in a tensor whose first axis is the batch's.
Val moved(Val x, int from, int n, int to) {
  Dims perm;
  for (int k = 0; k < x.shape().rank(); ++k)
    if (k < from || k >= from + n) perm.push_back(k);
  for (int k = 0; k < n; ++k) perm.insert(perm.begin() + to + k, Dim(from + k));
  return v_transpose(x, perm);
}
int gather_axis(const VmapCtx& c) { return normalize_axis(c.op.name, c.i("axis"), c.rank(0)); }
Val as_coordinates(Val indices) {
  Shape s = indices.shape();
  s.push_back(1);
  return v_reshape(indices, s);
}
Val vmap_gather(const VmapCtx& c) {
  const int a = gather_axis(c), n = c.rank(1);
  if (!c.batched[1]) return c.b.op(c.op, c.in, {Dim(a + 1)});
  if (!c.batched[0]) return moved(c.b.op(c.op, c.in, {Dim(a)}), a, 1, 0);
  const Val y =
      c.b.op("gather_nd", {moved(c.in[0], a + 1, 1, 1), numbered(c, as_coordinates(c.in[1]))});
  return moved(y, 1, n, a + 1);
}
Val vmap_index_add(const VmapCtx& c) {
  const int a = gather_axis(c), n = c.rank(1);
  if (!c.batched[1]) return c.b.op(c.op, {c.front(0), c.in[1], c.front(2)}, {Dim(a + 1)});
  const Val y = c.b.op("scatter_nd",
                       {moved(c.front(0), a + 1, 1, 1), numbered(c, as_coordinates(c.in[1])),
                        moved(c.front(2), a + 1, n, 1)},
                       {std::string("add")});
  return moved(y, 1, 1, a + 1);
}
Val vmap_gather_nd(const VmapCtx& c) {
  if (!c.batched[0]) return c.b.op(c.op, c.in, c.attrs);
  return c.b.op(c.op, {c.in[0], numbered(c, c.front(1))}, c.attrs);
}
// The gradients of a scatter, given the scatter and the gather at the same indices.
template <class Scatter, class Gather>
void scatter_vjp(V v, Scatter scatter, Gather gather) {
  const std::string& mode = v.s("mode");
  const Val x = v.in[0], u = v.in[2], ct = v.ct;
  if (mode == "update") {
    if (v.need[0]) v.d[0] = scatter(ct, v_zeros(v.b, u.type()), "update");
    if (v.need[2]) v.d[2] = gather(ct);
  } else if (mode == "add" || mode == "sub") {
    if (v.need[0]) v.d[0] = ct;
    if (v.need[2]) v.d[2] = mode == "add" ? gather(ct) : -gather(ct);
  } else if (mode == "mul") {
    if (v.need[0]) v.d[0] = scatter(ct, u, "mul");
    if (v.need[2]) {
      // the product of all other factors: where one factor is 0, it has only this one's gradient
      const Val one = v_full(v.b, u.type(), 1), zero = v_full(v.b, u.type(), 0);
      const Val is_zero = v_op("equal", u, zero), safe = v_select(is_zero, one, u);
      const Val rest = gather(scatter(x, safe, "mul")) / safe;
      const Val zeros =
          gather(scatter(v_zeros(v.b, x.type()), v_select(is_zero, one, zero), "add"));
      const Val own = v_select(is_zero, one, zero);
      v.d[2] = v_select(v_op("equal", zeros, own), gather(ct) * rest, zero);
    }
  } else if (mode == "div") {
    if (v.need[0]) v.d[0] = scatter(ct, u, "div");
    if (v.need[2]) v.d[2] = -(gather(ct * v.out) / u);
  } else {  // max, min: to those that are the result
    const Val zero = v_const(ct, 0);
    if (v.need[0]) v.d[0] = v_select(v_op("equal", x, v.out), ct, zero);
    if (v.need[2]) v.d[2] = v_select(v_op("equal", u, gather(v.out)), gather(ct), zero);
  }
}

Val vmap_scatter_nd(const VmapCtx& c) {
  return c.b.op(c.op, {c.front(0), numbered(c, c.front(1)), c.front(2)}, c.attrs);
}

OpEntry resizing(OpTable& t, const char* name) {
  return t.add(name)
      .in({"x"})
      .attr("sizes", AttrKind::kInts)
      .attr("align", AttrKind::kBool, false)
      .attr("scale0", AttrKind::kFloat, 0.0)
      .attr("scale1", AttrKind::kFloat, 0.0)
      .attr("scale2", AttrKind::kFloat, 0.0)
      .flags(kLinear | kAccumulatesF32)
      .vmap([](const VmapCtx& c) { return c.b.op(c.op, {c.front(0)}, c.attrs); });
}
Type resized(const InferCtx& c, const Dims& to) {
  OP_CHECK(is_float(c.x(0).dtype), kType, "[", c.op.name, "] expected a floating dtype, got ",
           c.x(0).str());
  Shape s = c.shape(0);
  const int axes = static_cast<int>(to.size()), first = s.rank() - axes;
  OP_CHECK(axes >= 1 && axes <= 3 && first >= 0, kValue, "[", c.op.name, "] got ", axes,
           " sizes for ", c.x(0).str());
  for (int d = 0; d < axes; ++d) {
    const Dim n = to[static_cast<size_t>(d)];
    OP_CHECK(s[first + d] > 0 && n > 0, kValue, "[", c.op.name, "] cannot bring an axis of ",
             s[first + d], " to ", n);
    s[first + d] = n;
  }
  return Type{c.x(0).dtype, s};
}
}  // namespace

void register_index(OpTable& t) {
  // out = x with `axis` replaced by the indices' shape.
  t.add("gather")
      .role(Role::kGather)
      .flags(kPicks)
      .in({"x", "indices"})
      .flags(kMayFail)
      .attr("axis", AttrKind::kInt, int64_t{0})
      .infer([](const InferCtx& c) {
        check_index(c, 1);
        const Shape& s = c.shape(0);
        const int a = normalize_axis(c.op.name, c.i("axis"), s.rank());
        Shape out;
        for (int i = 0; i < a; ++i) out.push_back(s[i]);
        for (auto d : c.shape(1)) out.push_back(d);
        for (int i = a + 1; i < s.rank(); ++i) out.push_back(s[i]);
        return Type{c.x(0).dtype, out};
      })
      .vjp([](V v) {
        v.d[0] = v.b.op("index_add", {v_zeros(v.b, v.in[0].type()), v.in[1], v.ct}, {v.i("axis")});
      })
      .vmap(vmap_gather);
  // x plus updates at the gathered places, in index order.
  t.add("index_add")
      .in({"x", "indices", "updates"})
      .flags(kMayFail)
      .attr("axis", AttrKind::kInt, int64_t{0})
      .infer([](const InferCtx& c) {
        const Type* two[] = {c.in[0], c.in[1]};
        const Type r = OpTable::get().at("gather").infer(InferCtx{{c.op, c.attrs}, two});
        OP_CHECK(c.x(2) == r, kValue, "[index_add] updates must be ", r.str(), ", got ",
                 c.x(2).str());
        return c.x(0);
      })
      .vjp([](V v) {
        if (v.need[0]) v.d[0] = v.ct;
        if (v.need[2]) v.d[2] = v.b.op("gather", {v.ct, v.in[1]}, {v.i("axis")});
      })
      .vmap(vmap_index_add);
  // take_along_axis: out has the indices' shape.
  t.add("gather_d")
      .flags(kPicks)
      .in({"x", "indices"})
      .flags(kMayFail)
      .attr("axis", AttrKind::kInt, int64_t{0})
      .infer([](const InferCtx& c) {
        check_index(c, 1);
        const Shape &s = c.shape(0), &i = c.shape(1);
        const int a = normalize_axis(c.op.name, c.i("axis"), s.rank());
        OP_CHECK(i.rank() == s.rank(), kValue, "[gather_d] indices ", c.x(1).str(),
                 " must have the rank of ", c.x(0).str());
        for (int k = 0; k < s.rank(); ++k)
          OP_CHECK(k == a || i[k] <= s[k], kValue, "[gather_d] indices ", c.x(1).str(), " exceed ",
                   c.x(0).str(), " in dimension ", k);
        return Type{c.x(0).dtype, i};
      })
      .vjp([](V v) {
        v.d[0] = v.b.op("scatter_d", {v_zeros(v.b, v.in[0].type()), v.in[1], v.ct},
                        {v.i("axis"), std::string("add")});
      })
      .vmap(vmap_axis);
  auto scatter_mode = [](const InferCtx& c) {
    const std::string& m = c.s("mode");
    for (auto k : {"update", "add", "sub", "mul", "div", "max", "min"})
      if (m == k) return;
    throw OpError(OpError::kValue, str_cat("[", c.op.name, "] unknown mode '", m, "'"));
  };
  t.add("scatter_d")
      .in({"x", "indices", "updates"})
      .flags(kMayFail)
      .attr("axis", AttrKind::kInt, int64_t{0})
      .attr("mode", AttrKind::kString, std::string("add"))
      .infer([scatter_mode](const InferCtx& c) {
        check_index(c, 1);
        scatter_mode(c);
        normalize_axis(c.op.name, c.i("axis"), c.shape(0).rank());
        OP_CHECK(c.shape(1).rank() == c.shape(0).rank() && c.shape(1) == c.shape(2) &&
                     c.x(2).dtype == c.x(0).dtype,
                 kValue, "[scatter_d] updates ", c.x(2).str(), " must match indices ", c.x(1).str(),
                 " and the dtype of ", c.x(0).str());
        return c.x(0);
      })
      .vjp([](V v) {
        scatter_vjp(
            v,
            [&](Val x, Val updates, const char* mode) {
              return v.b.op("scatter_d", {x, v.in[1], updates}, {v.i("axis"), std::string(mode)});
            },
            [&](Val x) {
              return v.b.op("gather_d", {x, v.in[1]}, {v.i("axis")});
            });
      })
      .vmap(vmap_axis);
  // indices[..., k] address the first k axes of x.
  t.add("gather_nd")
      .flags(kPicks)
      .in({"x", "indices"})
      .flags(kMayFail)
      .infer([](const InferCtx& c) {
        check_index(c, 1);
        const Shape &s = c.shape(0), &i = c.shape(1);
        OP_CHECK(i.rank() >= 1 && i[i.rank() - 1] <= s.rank(), kValue,
                 "[gather_nd] the last dimension of indices ", c.x(1).str(),
                 " exceeds the rank of ", c.x(0).str());
        Shape out;
        for (int k = 0; k + 1 < i.rank(); ++k) out.push_back(i[k]);
        for (int k = static_cast<int>(i[i.rank() - 1]); k < s.rank(); ++k) out.push_back(s[k]);
        return Type{c.x(0).dtype, out};
      })
      .vjp([](V v) {
        v.d[0] = v.b.op("scatter_nd", {v_zeros(v.b, v.in[0].type()), v.in[1], v.ct},
                        {std::string("add")});
      })
      .vmap(vmap_gather_nd);
  t.add("scatter_nd")
      .in({"x", "indices", "updates"})
      .flags(kMayFail | kSets)
      .attr("mode", AttrKind::kString, std::string("update"))
      .infer([scatter_mode](const InferCtx& c) {
        scatter_mode(c);
        const Type* two[] = {c.in[0], c.in[1]};
        const Type r = OpTable::get().at("gather_nd").infer(InferCtx{{c.op, c.attrs}, two});
        OP_CHECK(c.x(2) == r, kValue, "[scatter_nd] updates must be ", r.str(), ", got ",
                 c.x(2).str());
        return c.x(0);
      })
      .vjp([](V v) {
        scatter_vjp(
            v,
            [&](Val x, Val updates, const char* mode) {
              return v.b.op("scatter_nd", {x, v.in[1], updates}, {std::string(mode)});
            },
            [&](Val x) {
              return v.b.op("gather_nd", {x, v.in[1]});
            });
      })
      .vmap(vmap_scatter_nd);
  // How many elements of each part of x are not 0, and where they lie (eager/nonzero.cc).
  for (const char* n : {"nonzero_counts", "nonzero_places"})
    t.add(n)
        .in({"x", "counts?"})
        .attr("columns", AttrKind::kBool)
        .flags(kPhysical)
        .infer([](const InferCtx&) -> Type {
          throw InternalError("the data tell how many elements are not 0");
        });
  // The last axes of x at `sizes`, linearly between their elements. Place i lies at (i + 1/2) *
  // scale
  // - 1/2 of an axis, where a scale of 0 is the quotient of sizes; with `align` at the same share
  // of the way between the ends.
  resizing(t, "resize_linear")
      .infer([](const InferCtx& c) { return resized(c, c.ints("sizes")); })
      .vjp([](V v) {
        Attrs a = v.attrs;
        Dims from;
        const Shape& s = v.in[0].shape();
        const int axes = static_cast<int>(v.ints("sizes").size());
        for (int d = s.rank() - axes; d < s.rank(); ++d) from.push_back(s[d]);
        a.push_back(from);
        v.d[0] = v.b.op("resize_linear_dx", {v.ct}, a);
      });
  resizing(t, "resize_linear_dx")  // its adjoint; `from`: the sizes of what was resized
      .attr("from", AttrKind::kInts)
      .infer([](const InferCtx& c) { return resized(c, c.ints("from")); })
      .vjp([](V v) {
        v.d[0] = v.b.op("resize_linear", {v.ct}, Attrs(v.attrs.begin(), v.attrs.end() - 1));
      });
  // On the last axis; indices outside [0, depth) give rows of off_value, as MindSpore has it.
  t.add("one_hot")
      .in({"indices"})
      .attr("depth", AttrKind::kInt)
      .attr("on", AttrKind::kFloat, 1.0)
      .attr("off", AttrKind::kFloat, 0.0)
      .attr("dtype", AttrKind::kDType, DType::F32)
      .flags(kNoGradient)
      .vmap([](const VmapCtx& c) { return c.b.op(c.op, c.in, c.attrs); })
      .infer([](const InferCtx& c) {
        check_index(c, 0);
        OP_CHECK(c.i("depth") >= 0, kValue, "[one_hot] depth must be >= 0, got ", c.i("depth"));
        Shape s = c.shape(0);
        s.push_back(c.i("depth"));
        return Type{c.dt("dtype"), s};
      });
}

}  // namespace pijit
