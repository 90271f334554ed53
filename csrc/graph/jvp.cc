// Forward mode: the walker, and the rules that follow from an op's other rules.

#include "absl/container/flat_hash_map.h"
#include "graph/grad.h"
#include "graph/vals.h"

namespace pijit {
namespace {

// Linear in all inputs together: the op applied to the tangents.
Val linear_jvp(JvpCtx& c) {
  std::vector<Val> in;
  for (size_t k = 0; k < c.in.size(); ++k)
    in.push_back(!c.in[k] ? Val{} : c.t[k] ? c.t[k] : v_zeros(c.b, c.in[k].type()));
  return c.b.op(c.op, in, c.attrs);
}

// Linear in each input: one application per tangent, summed.
Val multilinear_jvp(JvpCtx& c) {
  Val sum;
  for (size_t k = 0; k < c.in.size(); ++k) {
    if (!c.t[k]) continue;
    std::vector<Val> in(c.in.begin(), c.in.end());
    in[k] = c.t[k];
    const Val term = c.b.op(c.op, in, c.attrs);
    sum = sum ? sum + term : term;
  }
  return sum;
}

// The Jacobian by each input is diagonal, so the vjp rule with the tangent in the cotangent's place
// gives its part.
Val diagonal_jvp(JvpCtx& c) {
  Val sum;
  for (size_t k = 0; k < c.in.size(); ++k) {
    if (!c.t[k]) continue;
    const Val t = c.t[k].shape() == c.out.shape() ? c.t[k] : v_broadcast(c.t[k], c.out.shape());
    std::vector<Val> d(c.in.size());
    std::vector<bool> need(c.in.size());
    need[k] = true;
    VjpCtx v{{c.op, c.attrs}, c.b, c.in, c.out, t, d, need};
    c.op.vjp(v);
    if (!d[k]) continue;
    const Val term = d[k].shape() == c.out.shape() ? d[k] : v_broadcast(d[k], c.out.shape());
    sum = sum ? sum + term : term;
  }
  return sum;
}

// The vjp rule is linear in the cotangent u; its transpose by u is the jvp.
Val transposed_jvp(JvpCtx& c) {
  Graph g(false);
  std::vector<Val> x, outer;
  auto input = [&](Val v) {
    outer.push_back(v);
    return g.add_input(v.type());
  };
  std::vector<bool> need(c.in.size());
  for (size_t k = 0; k < c.in.size(); ++k) {
    x.push_back(c.in[k] ? input(c.in[k]) : Val{});
    need[k] = static_cast<bool>(c.t[k]);
  }
  const Val out = input(c.out);
  std::vector<Val> t(c.in.size());
  for (size_t k = 0; k < c.in.size(); ++k)
    if (c.t[k]) t[k] = input(c.t[k]);
  const Val u = v_zeros(g, c.out.type());
  const uint32_t begin = static_cast<uint32_t>(g.size());
  std::vector<Val> d(c.in.size());
  VjpCtx v{{c.op, c.attrs}, g, x, out, u, d, need};
  c.op.vjp(v);
  const auto records = records_of(g, begin, static_cast<uint32_t>(g.size()));
  std::vector<Seed> seeds;
  // the walk gives the adjoint, of a rule that is the transpose
  const bool conjugate = is_complex(c.out.dtype()) && !c.op.has(kOwnAdjoint);
  for (size_t k = 0; k < d.size(); ++k)
    if (t[k] && d[k]) seeds.push_back({d[k], conjugate ? v_op("conj", t[k]) : t[k]});
  Val r = backward(g, records, seeds, std::vector<Val>{u})[0];
  if (conjugate) r = v_op("conj", r);
  g.outputs = {{r.id}};
  // the graph's nodes, in the builder
  const auto live = g.live();
  std::vector<Val> map(g.size());
  for (size_t k = 0; k < outer.size(); ++k) map[g.inputs()[k]] = outer[k];
  for (uint32_t i = 0; i < g.size(); ++i) {
    const Node& n = g.node(i);
    if (!live[i] || n.kind == Node::kInput) continue;
    if (n.kind == Node::kConst) {
      map[i] = n.size ? c.b.constant(n.type.dtype, *n.size) : c.b.constant(n.type.dtype, n.bits);
      continue;
    }
    std::vector<Val> in;
    for (auto s : n.in) in.push_back(s == kNoNode ? Val{} : map[s]);
    map[i] = c.b.op(*n.op, in, n.attrs);
  }
  return map[r.id];
}

}  // namespace

JvpFn derived_jvp(const OpDef& op) {
  if (op.has(kMultilinear)) return multilinear_jvp;
  if (op.has(kLinear) || op.combiner == Combiner::kSum) return linear_jvp;
  if (op.has(kElementwise)) return diagonal_jvp;
  return transposed_jvp;
}

std::vector<Val> pushforward(Builder& b, std::span<const Record> records,
                             std::span<const Seed> tangents, std::span<const Val> of) {
  absl::flat_hash_map<uint32_t, Val> tangent;
  for (auto& s : tangents) tangent[s.value.id] = s.cotangent;
  const auto runs = needed_records(records, of, false);
  for (size_t i = 0; i < records.size(); ++i) {
    if (!runs[i]) continue;
    const Record& r = records[i];
    std::vector<Val> t;
    bool any = false;
    for (auto v : r.in) {
      auto it = v ? tangent.find(v.id) : tangent.end();
      t.push_back(it == tangent.end() ? Val{} : it->second);
      any |= it != tangent.end();
    }
    if (!any || (r.op && r.op->has(kNoGradient))) continue;
    if (tangent.count(r.out[0].id)) continue;  // a leaf keeps its own
    OP_CHECK(!r.custom, kRuntime, "a gradient of the user's own has no forward mode");
    OP_CHECK(r.op, kRuntime, "a branch or loop on a tensor has no forward mode");
    OP_CHECK(r.op->jvp, kRuntime, "[", r.op->name, "] has no gradient");
    JvpCtx c{{*r.op, r.attrs}, b, r.in, r.out[0], t};
    const Val y = r.op->jvp(c);
    if (!y) continue;
    PIJIT_CHECK(y.type() == r.out[0].type(), "tangent of ", r.op->name, " has type ",
                y.type().str(), ", not ", r.out[0].type().str());
    tangent[r.out[0].id] = y;
  }
  std::vector<Val> out;
  for (auto v : of) {
    auto it = tangent.find(v.id);
    out.push_back(it != tangent.end() ? it->second : v_zeros(b, v.type()));
  }
  return out;
}

}  // namespace pijit
