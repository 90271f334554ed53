#include "graph/grad.h"

#include <unordered_map>
#include <unordered_set>

#include "graph/vals.h"

namespace pijit {

std::vector<Record> records_of(Graph& g, uint32_t begin, uint32_t end) {
  std::vector<Record> r;
  for (uint32_t i = begin; i < end; ++i) {
    const Node& n = g.node(i);
    if (n.kind != Node::kOp) continue;
    Record rec;
    rec.op = n.op;
    rec.attrs = n.attrs;
    for (auto s : n.in) rec.in.push_back(s == kNoNode ? Val{} : g.val(s));
    rec.out = {g.val(i)};
    r.push_back(std::move(rec));
  }
  return r;
}

std::vector<Val> backward(Builder& b, std::span<const Record> records, std::span<const Seed> seeds,
                          std::span<const Val> wrt) {
  std::unordered_set<uint32_t> varied;  // depends on wrt
  for (auto v : wrt) varied.insert(v.id);
  std::vector<bool> active(records.size());
  for (size_t i = 0; i < records.size(); ++i) {
    const Record& r = records[i];
    if (r.op && r.op->has(kNoGradient)) continue;
    for (auto v : r.in)
      if (v && varied.count(v.id)) active[i] = true;
    if (active[i])
      for (auto o : r.out) varied.insert(o.id);
  }

  std::unordered_map<uint32_t, Val> ct;
  auto accumulate = [&](Val v, Val g) {
    auto [it, fresh] = ct.emplace(v.id, g);
    if (!fresh) it->second = it->second + g;
  };
  for (auto& s : seeds)
    if (varied.count(s.value.id)) accumulate(s.value, s.cotangent);

  // A leaf that is itself computed by a record (the argument of an inner function) stops the walk
  // there.
  std::unordered_set<uint32_t> leaves;
  for (auto v : wrt) leaves.insert(v.id);

  for (size_t i = records.size(); i-- > 0;) {
    if (!active[i]) continue;
    const Record& r = records[i];
    std::vector<Val> cts;
    bool any = false;
    for (auto o : r.out) {
      auto it = ct.find(o.id);
      const bool use = it != ct.end() && !leaves.count(o.id);
      cts.push_back(use ? it->second : Val{});
      any |= use;
    }
    if (!any) continue;
    std::vector<Val> d(r.in.size());
    std::vector<bool> need(r.in.size());
    for (size_t k = 0; k < r.in.size(); ++k) need[k] = r.in[k] && varied.count(r.in[k].id);
    if (r.custom) {
      for (size_t k = 0; k < cts.size(); ++k)
        if (!cts[k]) cts[k] = v_zeros(b, r.out[k].type());
      d = r.custom(cts);
      PIJIT_CHECK(d.size() == r.in.size(), "a custom gradient returned ", d.size(), " values for ",
                  r.in.size(), " inputs");
    } else {
      OP_CHECK(r.op->vjp, kRuntime, "[", r.op->name, "] has no gradient");
      VjpCtx v{{*r.op, r.attrs}, b, r.in, r.out[0], cts[0], d, need};
      r.op->vjp(v);
    }
    for (size_t k = 0; k < r.in.size(); ++k) {
      if (!need[k] || !d[k]) continue;
      Val g = d[k];
      if (r.op && r.op->has(kElementwise)) g = v_unbroadcast(g, r.in[k].shape());
      if (!r.custom)
        PIJIT_CHECK(g.type() == r.in[k].type(), "gradient of ", r.op->name, " input ", k,
                    " has type ", g.type().str(), ", not ", r.in[k].type().str());
      accumulate(r.in[k], g);
    }
  }
  std::vector<Val> out;
  for (auto v : wrt) {
    auto it = ct.find(v.id);
    out.push_back(it != ct.end() ? it->second : v_zeros(b, v.type()));
  }
  return out;
}

}  // namespace pijit
