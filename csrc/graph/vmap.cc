#include "graph/vmap.h"

#include "absl/container/flat_hash_map.h"
#include "graph/vals.h"

namespace pijit {

Val VmapCtx::front(int k) const {
  return batched[k] ? in[k] : v_broadcast(in[k], with_batch(in[k].shape()));
}

Val VmapCtx::aligned(int k, int to) const {
  if (!in[k] || !batched[k] || rank(k) == to) return in[k];
  Shape s = in[k].shape();
  while (s.rank() <= to) s.insert(1, 1);
  return v_reshape(in[k], s);
}

Val vmap_as_elements(const VmapCtx& c) {
  const int rank = c.out.shape.rank();
  std::vector<Val> in;
  for (size_t k = 0; k < c.in.size(); ++k) in.push_back(c.aligned(static_cast<int>(k), rank));
  return c.b.op(c.op, in, c.attrs);
}

Val vmap_axis(const VmapCtx& c) {
  Attrs a = c.attrs;
  auto& axis = std::get<Dim>(a[c.op.attr_index("axis")]);
  std::vector<Val> in;
  for (size_t k = 0; k < c.in.size(); ++k) in.push_back(c.front(static_cast<int>(k)));
  axis = normalize_axis(c.op.name, axis, c.rank(0)) + 1;
  return c.b.op(c.op, in, a);
}

Val vmap_joined(const VmapCtx& c) {
  auto joined = [](const Shape& s) {
    Shape r{s[0] * s[1]};
    for (int k = 2; k < s.rank(); ++k) r.push_back(s[k]);
    return r;
  };
  std::vector<Val> in;
  for (size_t k = 0; k < c.in.size(); ++k) {
    const Val x = c.front(static_cast<int>(k));
    in.push_back(v_reshape(x, joined(x.shape())));
  }
  Attrs a = c.attrs;
  for (size_t k = 0; k < a.size(); ++k)  // the output's shape, of ops that have to be told
    if (c.op.attrs[k].name == "shape")
      a[k] = joined(c.with_batch(Shape(std::get<Dims>(a[k])))).dims();
  return v_reshape(c.b.op(c.op, in, a), c.with_batch(c.out.shape));
}

Val vmap_element_by_element(const VmapCtx& c) {
  OP_CHECK(!c.size.symbolic(), kRuntime, "[", c.op.name, "] has no batching rule");
  if (c.size == 0) return v_zeros(c.b, {c.out.dtype, c.with_batch(c.out.shape)});
  std::vector<Val> parts;
  for (int64_t i = 0; i < int64_t{c.size}; ++i) {
    std::vector<Val> in;
    for (size_t k = 0; k < c.in.size(); ++k) {
      if (!c.in[k] || !c.batched[k]) {
        in.push_back(c.in[k]);
        continue;
      }
      Shape s = c.in[k].shape();
      Dims begin(s.rank(), 0), end = s.dims(), step(s.rank(), 1);
      begin[0] = i, end[0] = i + 1;
      s.erase(0);
      in.push_back(v_reshape(c.b.op("slice", {c.in[k]}, {begin, end, step}), s));
    }
    Shape s = c.out.shape;
    s.insert(0, 1);
    parts.push_back(v_reshape(c.b.op(c.op, in, c.attrs), s));
  }
  return c.b.op(OpTable::get().at("concat"), parts, {Dim(0)});
}

Val vmap_reduction(const VmapCtx& c) {
  Attrs a = c.attrs;
  auto& axes = std::get<Dims>(a[c.op.attr_index("axis")]);
  const int rank = c.rank(0);
  if (rank == 0) {  // no axes, which would stand for all
    axes = {Dim(1)};
    a[c.op.attr_index("keepdims")] = false;
    return c.b.op(c.op, std::vector{v_reshape(c.in[0], Shape{c.size, 1})}, a);
  }
  Dims shifted;
  for (auto k : normalize_axes(c.op.name, axes, rank)) shifted.push_back(k + 1);
  axes = std::move(shifted);
  return c.b.op(c.op, c.in, a);
}

VmapFn derived_vmap(const OpDef& op) {
  if (op.has(kElementwise)) return vmap_as_elements;
  if (op.has(kReduction)) return vmap_reduction;
  return vmap_element_by_element;
}

std::vector<Val> vmapped(Builder& b, std::span<const Record> records,
                         std::span<const Seed> examples, std::span<const Val> of, Dim size) {
  const auto runs = needed_records(records, of, true);
  absl::flat_hash_map<uint32_t, Val> value;
  for (auto& s : examples) value[s.value.id] = s.cotangent;
  for (size_t i = 0; i < records.size(); ++i) {
    const Record& r = records[i];
    if (!runs[i] || value.count(r.out[0].id)) continue;
    std::vector<Val> in;
    std::vector<bool> is_batched;
    bool any = false;
    for (auto v : r.in) {
      auto it = v ? value.find(v.id) : value.end();
      is_batched.push_back(it != value.end());
      any |= it != value.end();
      in.push_back(it != value.end() ? it->second : v);
    }
    if (!any) continue;
    OP_CHECK(r.op, kRuntime, "a branch or loop on a value that differs from element to element");
    const VmapCtx c{{*r.op, r.attrs}, b, in, is_batched, size, r.out[0].type()};
    const Val y = r.op->vmap(c);
    PIJIT_CHECK(y.type() == (Type{c.out.dtype, c.with_batch(c.out.shape), c.out.device}),
                "batch of ", r.op->name, " has type ", y.type().str(), ", one element ",
                c.out.str());
    value[r.out[0].id] = y;
  }
  std::vector<Val> out;
  for (auto v : of) {
    auto it = value.find(v.id);
    out.push_back(it == value.end() ? Val{} : it->second);
  }
  return out;
}

}  // namespace pijit
