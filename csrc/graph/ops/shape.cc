// Ops that move elements without computing.
#include <algorithm>
#include <numeric>

#include "graph/vmap.h"
#include "graph/vals.h"

namespace pijit {
namespace {
using V = VjpCtx&;
// slice and slice_update
Val vmap_slice(const VmapCtx& c) {
  Attrs a = c.attrs;
  const Dim whole[] = {0, c.size, 1};
  for (int k = 0; k < 3; ++k) {
    auto& places = std::get<Dims>(a[k]);
    places.insert(places.begin(), whole[k]);
  }
  std::vector<Val> in;
  for (size_t k = 0; k < c.in.size(); ++k) in.push_back(c.front(static_cast<int>(k)));
  return c.b.op(c.op, in, a);
}

// dynamic_slice and dynamic_update_slice
Val vmap_at(const VmapCtx& c) {
  const size_t start = c.in.size() - 1;
  if (c.batched[start]) return vmap_element_by_element(c);
  Attrs a = c.attrs;
  auto& axis = std::get<Dim>(a[0]);
  axis = axis + 1;
  std::vector<Val> in(c.in.begin(), c.in.end());
  for (size_t k = 0; k < start; ++k) in[k] = c.front(static_cast<int>(k));
  return c.b.op(c.op, in, a);
}
Shape taken_at(const InferCtx& c, Dim length) {
  Shape s = c.shape(0);
  const int axis = static_cast<int>(c.i("axis"));
  const Type& start = *c.in.back();
  OP_CHECK(axis >= 0 && axis < s.rank() && length >= 0 && length <= s[axis], kValue, "[", c.op.name,
           "] ", length, " places of axis ", axis, " of ", c.x(0).str());
  OP_CHECK(start.dtype == DType::I64 && start.shape.rank() == 0, kType, "[", c.op.name,
           "] the start must be i64[], got ", start.str());
  s[axis] = length;
  return s;
}

// `length` places in order.
Val places_from(Val start, Dim length) {
  return v_broadcast(v_reshape(start, Shape{1}), Shape{length}) +
         start.b->op("arange", {}, {0.0, 1.0, length, DType::I64});
}

// The diagonal is a slice of the last two axes as one.
Shape joined_last(const Shape& s) {
  Shape r(std::span(s.begin(), static_cast<size_t>(s.rank() - 2)));
  r.push_back(s[s.rank() - 2] * s[s.rank() - 1]);
  return r;
}
Dim diagonal_length(const Shape& s, int64_t offset) {
  const Dim rows = s[s.rank() - 2], columns = s[s.rank() - 1];
  return std::min(rows + std::min(offset, int64_t{0}), columns - std::max(offset, int64_t{0}));
}
int64_t offset_of(const OpCtx& c) { return static_cast<int64_t>(c.i("offset")); }
Attrs diagonal_places(const Shape& s, int64_t offset) {
  const Dim columns = s[s.rank() - 1];
  const Dim first = offset >= 0 ? Dim(offset) : columns * -offset;
  const size_t lead = static_cast<size_t>(s.rank()) - 2;
  Dims begin(lead, 0), end(s.begin(), s.begin() + lead), step(lead, 1);
  begin.push_back(first);
  end.push_back(first + (diagonal_length(s, offset) - 1) * (columns + 1) + 1);
  step.push_back(columns + 1);
  return {begin, end, step};
}

// The places of add_slices' k-th term.
Attrs places_of(const OpCtx& c, size_t k) {
  const size_t rank = c.ints("shape").size();
  Attrs places;
  for (const char* name : {"begin", "end", "step"}) {
    const auto of = c.ints(name).begin() + static_cast<std::ptrdiff_t>(k * rank);
    places.push_back(Dims(of, of + static_cast<std::ptrdiff_t>(rank)));
  }
  return places;
}
Val vmap_add_slices(const VmapCtx& c) {
  const size_t rank = c.ints("shape").size(), terms = c.in.size() - 1;
  const Dim whole[] = {0, c.size, 1};
  Attrs a = c.attrs;
  auto& shape = std::get<Dims>(a[0]);
  shape.insert(shape.begin(), c.size);
  for (size_t which = 0; which < 3; ++which) {
    const Dims& of = std::get<Dims>(c.attrs[which + 1]);
    Dims places;
    for (size_t k = 0; k < terms; ++k) {
      const auto own = of.begin() + static_cast<std::ptrdiff_t>(k * rank);
      places.push_back(whole[which]);
      places.insert(places.end(), own, own + static_cast<std::ptrdiff_t>(rank));
    }
    a[which + 1] = std::move(places);
  }
  std::vector<Val> in;
  for (size_t k = 0; k < c.in.size(); ++k)
    in.push_back(c.in[k] ? c.front(static_cast<int>(k)) : Val{});
  return c.b.op(c.op, in, a);
}
}  // namespace

Val v_put_diagonal(Val x, Val y, int64_t offset) {
  const Shape s = x.shape();
  const Val joined = v_reshape(x, joined_last(s));
  return v_reshape(x.b->op("slice_update", {joined, y}, diagonal_places(s, offset)), s);
}

void register_shape(OpTable& t) {
  t.add("reshape")
      .role(Role::kReshape)
      .in({"x"})
      .attr("shape", AttrKind::kInts)
      .flags(kView | kLinear)
      .infer([](const InferCtx& c) {
        Shape s(c.ints("shape"));
        Dim known = 1;
        int hole = -1;
        for (int i = 0; i < s.rank(); ++i) {
          if (s[i] == -1) {
            OP_CHECK(hole < 0, kValue, "[reshape] only one dimension may be -1, got ", s.str());
            hole = i;
          } else {
            OP_CHECK(s[i] >= 0, kValue, "[reshape] dimensions must be >= -1, got ", s[i]);
            known *= s[i];
          }
        }
        const Dim n = c.shape(0).numel();
        if (hole >= 0) {
          OP_CHECK(known != 0 && n % known == 0, kValue, "[reshape] ", c.x(0).str(), " of ", n,
                   " elements does not fill ", attr_text(c.attrs[0]));
          s[hole] = n / known;
        } else {
          OP_CHECK(n == known, kValue, "[reshape] ", c.x(0).str(), " has ", n,
                   " elements, the new shape ", s.str(), " has ", known);
        }
        return Type{c.x(0).dtype, s};
      })
      .vjp([](V v) { v.d[0] = v_reshape(v.ct, v.in[0].shape()); })
      .vmap([](const VmapCtx& c) { return v_reshape(c.in[0], c.with_batch(c.out.shape)); });
  t.add("transpose")
      .role(Role::kTranspose)
      .in({"x"})
      .attr("perm", AttrKind::kInts)
      .flags(kLinear)
      .infer([](const InferCtx& c) {
        const Dims& p = c.ints("perm");
        const Shape& s = c.shape(0);
        OP_CHECK(static_cast<int>(p.size()) == s.rank(), kValue,
                 "[transpose] expected a permutation of ", s.rank(), " axes, got ",
                 attr_text(c.attrs[0]));
        std::vector<bool> seen(s.rank());
        Shape out;
        for (auto a : p) {
          OP_CHECK(a >= 0 && a < s.rank() && !seen[a], kValue, "[transpose] ",
                   attr_text(c.attrs[0]), " is not a permutation of ", s.rank(), " axes");
          seen[a] = true;
          out.push_back(s[a]);
        }
        return Type{c.x(0).dtype, out};
      })
      .vjp([](V v) {
        const Dims& p = v.ints("perm");
        Dims inv(p.size());
        for (size_t i = 0; i < p.size(); ++i) inv[p[i]] = static_cast<int64_t>(i);
        v.d[0] = v_transpose(v.ct, inv);
      })
      .vmap([](const VmapCtx& c) {
        Dims p{Dim(0)};
        for (auto a : c.ints("perm")) p.push_back(a + 1);
        return v_transpose(c.in[0], p);
      });
  t.add("broadcast_to")
      .role(Role::kBroadcast)
      .in({"x"})
      .attr("shape", AttrKind::kInts)
      .flags(kElementwise | kLinear)
      .infer([](const InferCtx& c) {
        Shape want(c.ints("shape"));
        const Shape& s = c.shape(0);
        const int lead = want.rank() - s.rank();
        OP_CHECK(lead >= 0, kValue, "[broadcast_to] ", c.x(0).str(), " has more dimensions than ",
                 want.str());
        for (int i = 0; i < want.rank(); ++i) {
          if (want[i] == -1 && i >= lead) want[i] = s[i - lead];
          OP_CHECK(want[i] >= 0, kValue, "[broadcast_to] bad dimension ", want[i], " in ",
                   want.str());
          OP_CHECK(i < lead || s[i - lead].is_one() || s[i - lead] == want[i] || s[i - lead] == 1,
                   kValue, "[broadcast_to] ", c.x(0).str(), " does not broadcast to ", want.str());
        }
        return Type{c.x(0).dtype, want};
      })
      .scalar([](const ScalarCtx& c) { return c.x(0); })
      .vjp([](V v) { v.d[0] = v_unbroadcast(v.ct, v.in[0].shape()); })
      .vmap([](const VmapCtx& c) {
        return v_broadcast(c.aligned(0, c.out.shape.rank()), c.with_batch(c.out.shape));
      });
  t.add("concat")
      .in({"xs*"})
      .attr("axis", AttrKind::kInt, int64_t{0})
      .flags(kLinear)
      .promote(Promote::kSame)
      .vmap(vmap_axis)
      .infer([](const InferCtx& c) {
        OP_CHECK(!c.in.empty(), kValue, "[concat] expected at least one tensor");
        Shape s = c.shape(0);
        const int a = normalize_axis(c.op.name, c.i("axis"), s.rank());
        for (size_t i = 1; i < c.in.size(); ++i) {
          const Shape& o = c.shape(i);
          bool ok = o.rank() == s.rank() && c.x(i).dtype == c.x(0).dtype;
          for (int k = 0; ok && k < s.rank(); ++k) ok = k == a || o[k] == s[k];
          OP_CHECK(ok, kValue, "[concat] ", c.x(i).str(), " does not join ", c.x(0).str(),
                   " along axis ", a);
          s[a] += o[a];
        }
        return Type{c.x(0).dtype, s};
      })
      .vjp([](V v) {
        const int rank = v.out.shape().rank();
        const int a = normalize_axis("concat", v.i("axis"), rank);
        Dims begin(rank, 0), step(rank, 1);
        for (size_t i = 0; i < v.in.size(); ++i) {
          Dims end = v.out.shape().dims();
          end[a] = begin[a] + v.in[i].shape()[a];
          if (v.need[i]) v.d[i] = v.b.op("slice", {v.ct}, {begin, end, step});
          begin[a] = end[a];
        }
      });
  // Python slices per axis, already clipped: begin, end, step (step may be negative).
  t.add("slice")
      .role(Role::kSlice)
      .in({"x"})
      .attr("begin", AttrKind::kInts)
      .attr("end", AttrKind::kInts)
      .attr("step", AttrKind::kInts)
      .flags(kLinear | kWindows)
      .infer([](const InferCtx& c) {
        const Shape& s = c.shape(0);
        const Dims &b = c.ints("begin"), &e = c.ints("end"), &st = c.ints("step");
        const size_t r = static_cast<size_t>(s.rank());
        OP_CHECK(b.size() == r && e.size() == r && st.size() == r, kValue, "[slice] expected ", r,
                 " begins, ends and steps for ", c.x(0).str());
        Shape out;
        for (size_t i = 0; i < r; ++i) {
          OP_CHECK(st[i] != 0, kValue, "[slice] step cannot be zero");
          const bool up = st[i] > 0, none = up ? e[i] < b[i] : e[i] > b[i];
          OP_CHECK(none || (up ? b[i] >= 0 && e[i] <= s[i] : b[i] < s[i] && e[i] >= -1), kIndex,
                   "[slice] begin ", b[i], ", end ", e[i], ", step ", st[i], " leave axis ", i,
                   " of ", c.x(0).str());
          constexpr int64_t kLong = int64_t{1} << 60;  // beyond all sizes, and no sum overflows
          const Dim step = up ? std::min(st[i], Dim(kLong)) : -std::max(st[i], Dim(-kLong));
          const Dim len = none ? Dim(0) : ((up ? e[i] - b[i] : b[i] - e[i]) + step - 1) / step;
          out.push_back(len);
        }
        return Type{c.x(0).dtype, out};
      })
      .vjp([](V v) {
        v.d[0] = v.b.op("slice_update", {v_zeros(v.b, v.in[0].type()), v.ct},
                        {v.ints("begin"), v.ints("end"), v.ints("step")});
      })
      .vmap(vmap_slice);
  // x with the region of `slice` replaced by y.
  t.add("slice_update")
      .in({"x", "y"})
      .attr("begin", AttrKind::kInts)
      .attr("end", AttrKind::kInts)
      .attr("step", AttrKind::kInts)
      .flags(kLinear | kSets)
      .infer([](const InferCtx& c) {
        const Type* one[] = {c.in[0]};
        const Type r = OpTable::get().at("slice").infer(InferCtx{{c.op, c.attrs}, one});
        OP_CHECK(c.x(1) == r, kValue, "[slice_update] the region is ", r.str(), ", the value ",
                 c.x(1).str());
        return c.x(0);
      })
      .vjp([](V v) {
        const Attrs a = v.attrs;
        if (v.need[1]) v.d[1] = v.b.op("slice", {v.ct}, a);
        // The last to read ct may take its place.
        if (v.need[0]) v.d[0] = v.b.op("slice_update", {v.ct, v_zeros(v.b, v.in[1].type())}, a);
      })
      .vmap(vmap_slice);
  // `length` places of an axis from place `start` on, a number of each run that leaves them on the
  // axis; and x with these replaced by y.
  t.add("dynamic_slice")
      .in({"x", "start"})
      .attr("axis", AttrKind::kInt)
      .attr("length", AttrKind::kInt)
      .flags(kPicks | kWhole)
      .lower([](const LowerCtx& c) {
        return c.b.op("gather", {c.in[0], places_from(c.in[1], c.i("length"))}, {c.i("axis")});
      })
      .infer([](const InferCtx& c) {
        return Type{c.x(0).dtype, taken_at(c, c.i("length"))};
      })
      .vjp([](V v) {
        v.d[0] = v.b.op("dynamic_update_slice", {v_zeros(v.b, v.in[0].type()), v.ct, v.in[1]},
                        {v.i("axis")});
      })
      .vmap(vmap_at);
  t.add("dynamic_update_slice")
      .in({"x", "y", "start"})
      .attr("axis", AttrKind::kInt)
      .flags(kSets | kWhole)
      .lower([](const LowerCtx& c) {
        const Dim axis = c.i("axis"), length = c.in[1].shape()[static_cast<int>(axis)];
        Dims front{axis}, back(static_cast<size_t>(c.out.shape.rank()));
        for (int k = 0; k < c.out.shape.rank(); ++k)
          if (k != axis) front.push_back(k);
        for (size_t k = 0; k < front.size(); ++k) back[front[k]] = static_cast<int64_t>(k);
        const Val rows = v_reshape(places_from(c.in[2], length), Shape{length, Dim(1)});
        return v_transpose(
            c.b.op("scatter_nd", {v_transpose(c.in[0], front), rows, v_transpose(c.in[1], front)},
                   {std::string("update")}),
            back);
      })
      .infer([](const InferCtx& c) {
        const Type r{c.x(0).dtype, taken_at(c, c.shape(1)[static_cast<int>(c.i("axis"))])};
        OP_CHECK(c.x(1) == r, kValue, "[dynamic_update_slice] the places are ", r.str(),
                 ", the value ", c.x(1).str());
        return c.x(0);
      })
      .vjp([](V v) {
        const Dim axis = v.i("axis"), length = v.in[1].shape()[static_cast<int>(axis)];
        if (v.need[1]) v.d[1] = v.b.op("dynamic_slice", {v.ct, v.in[2]}, {axis, length});
        // The last to read ct may take its place.
        if (v.need[0])
          v.d[0] =
              v.b.op("dynamic_update_slice", {v.ct, v_zeros(v.b, v.in[1].type()), v.in[2]}, {axis});
      })
      .vmap(vmap_at);
  // The elements x[..., k, k + offset] in order of k; at least one.
  t.add("diagonal")
      .role(Role::kDiagonal)
      .in({"x"})
      .attr("offset", AttrKind::kInt, int64_t{0})
      .flags(kLinear)
      .infer([](const InferCtx& c) {
        const Shape& s = c.shape(0);
        OP_CHECK(s.rank() >= 2, kValue, "[diagonal] expected at least 2 dimensions, got ",
                 c.x(0).str());
        const Dim n = diagonal_length(s, offset_of(c));
        OP_CHECK(n > 0, kValue, "[diagonal] ", c.x(0).str(), " has no diagonal ", c.i("offset"));
        Shape out(std::span(s.begin(), static_cast<size_t>(s.rank() - 2)));
        out.push_back(n);
        return Type{c.x(0).dtype, out};
      })
      .vjp([](V v) { v.d[0] = v_put_diagonal(v_zeros(v.b, v.in[0].type()), v.ct, offset_of(v)); })
      .vmap([](const VmapCtx& c) { return c.b.op(c.op, {c.front(0)}, c.attrs); })
      .lower([](const LowerCtx& c) {
        const Shape& s = c.in[0].shape();
        return c.b.op("slice", {v_reshape(c.in[0], joined_last(s))},
                      diagonal_places(s, offset_of(c)));
      });
  // x plus the ys, one after the other, each of them 0 around its slice; without x the first is
  // what the others are added to. What gradients by many slices of a value add up to: a sum of as
  // many whole tensors would take time and memory as their number squared, where slices are steps.
  t.add("add_slices")
      .in({"x?", "ys*"})
      .attr("shape", AttrKind::kInts)
      .attr("begin", AttrKind::kInts)  // of all terms, one after the other
      .attr("end", AttrKind::kInts)
      .attr("step", AttrKind::kInts)
      .flags(kLinear | kWhole)
      .infer([](const InferCtx& c) {
        OP_CHECK(c.in.size() > 1, kValue, "[add_slices] expected a term");
        const Type whole{c.x(1).dtype, Shape(c.ints("shape")), c.x(1).device};
        OP_CHECK(!c.in[0] || c.x(0) == whole, kValue, "[add_slices] expected ", whole.str(),
                 ", got ", c.in[0] ? c.x(0).str() : "");
        const size_t numbers = c.ints("shape").size() * (c.in.size() - 1);
        for (const char* name : {"begin", "end", "step"})
          OP_CHECK(c.ints(name).size() == numbers, kValue, "[add_slices] expected ", numbers, " ",
                   name, "s, got ", c.ints(name).size());
        static const OpDef& slice = OpTable::get().at("slice");
        const Type* one[] = {&whole};
        for (size_t k = 1; k < c.in.size(); ++k) {
          const Type part = slice.infer(InferCtx{{slice, places_of(c, k - 1)}, one});
          OP_CHECK(c.x(static_cast<int>(k)) == part, kValue, "[add_slices] the slice is ",
                   part.str(), ", the term ", c.x(static_cast<int>(k)).str());
        }
        return whole;
      })
      .vjp([](V v) {
        if (v.need[0]) v.d[0] = v.ct;
        for (size_t k = 1; k < v.in.size(); ++k)
          if (v.need[k]) v.d[k] = v.b.op("slice", {v.ct}, places_of(v, k - 1));
      })
      .vmap(vmap_add_slices)
      .lower([](const LowerCtx& c) {
        Val sum = c.in[0];
        for (size_t k = 1; k < c.in.size(); ++k) {
          const Val whole =
              c.b.op("slice_update", {v_zeros(c.b, c.out), c.in[k]}, places_of(c, k - 1));
          sum = sum ? sum + whole : whole;
        }
        return sum;
      });
  t.add("pad")
      .in({"x"})
      .attr("low", AttrKind::kInts)
      .attr("high", AttrKind::kInts)
      .attr("value", AttrKind::kFloat, 0.0)
      .infer([](const InferCtx& c) {
        Shape s = c.shape(0);
        const Dims &lo = c.ints("low"), &hi = c.ints("high");
        OP_CHECK(static_cast<int>(lo.size()) == s.rank() && lo.size() == hi.size(), kValue,
                 "[pad] expected ", s.rank(), " pairs for ", c.x(0).str());
        for (int i = 0; i < s.rank(); ++i) {
          OP_CHECK(lo[i] >= 0 && hi[i] >= 0, kValue, "[pad] paddings must be >= 0");
          s[i] += lo[i] + hi[i];
        }
        return Type{c.x(0).dtype, s};
      })
      .vjp([](V v) {
        const Dims lo = v.ints("low");
        Dims end = lo, step(lo.size(), 1);
        for (size_t i = 0; i < lo.size(); ++i) end[i] += v.in[0].shape()[i];
        v.d[0] = v.b.op("slice", {v.ct}, {lo, end, step});
      })
      .vmap([](const VmapCtx& c) {
        Attrs a = c.attrs;
        for (int k : {0, 1}) {
          auto& sizes = std::get<Dims>(a[k]);
          sizes.insert(sizes.begin(), Dim(0));
        }
        return c.b.op(c.op, c.in, a);
      });
  t.add("arange")
      .attr("start", AttrKind::kFloat, 0.0)
      .attr("step", AttrKind::kFloat, 1.0)
      .attr("size", AttrKind::kInt)
      .attr("dtype", AttrKind::kDType)
      .flags(kNoGradient)
      .infer([](const InferCtx& c) {
        OP_CHECK(c.i("size") >= 0, kValue, "[arange] size must be >= 0");
        return Type{c.dt("dtype"), Shape{c.i("size")}};
      });
}

}  // namespace pijit
