#include "graph/grad.h"

#include <unordered_map>
#include <unordered_set>

#include "graph/vals.h"

namespace pijit {

namespace {

// g's nodes, again in `to`, on other inputs.
std::vector<Val> inlined(const Graph& g, Graph& to, std::span<const Val> inputs) {
  std::vector<Val> map(g.size());
  for (size_t k = 0; k < inputs.size(); ++k) map[g.inputs()[k]] = inputs[k];
  for (uint32_t i = 0; i < g.size(); ++i) {
    const Node& n = g.node(i);
    if (n.kind == Node::kInput) continue;
    if (n.kind == Node::kConst) {
      map[i] = to.constant(n.type.dtype, n.bits);
      continue;
    }
    std::vector<Val> in;
    for (auto s : n.in) in.push_back(s == kNoNode ? Val{} : map[s]);
    map[i] = n.regions.empty() ? to.emit(*n.op, in, n.attrs, n.type)
                               : to.emit_region(*n.op, in, n.regions);
  }
  std::vector<Val> out;
  for (auto& o : g.outputs) out.push_back(map[o.node]);
  return out;
}

// The gradient of a region: from its inputs, the cotangents of some outputs and what some floating
// inputs have received so far to the sums of all floating inputs. What the backward walk needs is
// computed again.
std::shared_ptr<Graph> backward_region(const Graph& g, std::span<const int64_t> outputs,
                                       const std::vector<bool>& received) {
  auto b = std::make_shared<Graph>(false);
  std::vector<Val> in, wrt, cts;
  for (auto i : g.inputs()) {
    in.push_back(b->add_input(g.node(i).type));
    if (is_float(in.back().dtype())) wrt.push_back(in.back());
  }
  for (auto k : outputs) cts.push_back(b->add_input(g.node(g.outputs[k].node).type));
  std::vector<Seed> seeds;  // what came before comes first in the sums
  for (size_t k = 0; k < wrt.size(); ++k)
    if (received[k]) seeds.push_back({wrt[k], b->add_input(wrt[k].type())});
  const uint32_t begin = static_cast<uint32_t>(b->size());
  const auto out = inlined(g, *b, in);
  const auto records = records_of(*b, begin, static_cast<uint32_t>(b->size()));
  for (size_t k = 0; k < outputs.size(); ++k) seeds.push_back({out[outputs[k]], cts[k]});
  for (auto v : backward(*b, records, seeds, wrt)) b->outputs.push_back({v.id});
  return b;
}

// A cond's gradient is the cond of its regions' gradients.
Record cond_record(Graph& g, uint32_t id, uint32_t end) {
  Record rec;
  std::vector<int64_t> indices;
  for (auto s : g.node(id).in)
    if (is_float(g.node(s).type.dtype)) rec.in.push_back(g.val(s));
  for (uint32_t i = id + 1; i < end; ++i) {
    const Node& n = g.node(i);
    if (n.kind != Node::kOp || n.op->name != "result" || n.in[0] != id) continue;
    rec.out.push_back(g.val(i));
    indices.push_back(std::get<int64_t>(n.attrs[0]));
  }
  rec.region = [&g, id, indices](std::span<const Val> cts, std::span<const Val> so_far) {
    const Node& n = g.node(id);
    OP_CHECK(n.op->name == "cond", kRuntime, "[", n.op->name, "] has no gradient");
    std::vector<Val> in;
    for (auto s : n.in) in.push_back(g.val(s));
    std::vector<int64_t> present;
    for (size_t k = 0; k < cts.size(); ++k)
      if (cts[k]) present.push_back(indices[k]), in.push_back(cts[k]);
    std::vector<bool> received;
    for (auto v : so_far) {
      received.push_back(static_cast<bool>(v));
      if (v) in.push_back(v);
    }
    std::vector<std::shared_ptr<const Graph>> regions;
    for (auto& r : n.regions) regions.push_back(backward_region(*r, present, received));
    const Val node = g.emit_region(*n.op, in, std::move(regions));
    std::vector<Val> d;
    for (size_t k = 0; k < so_far.size(); ++k) d.push_back(g.result(node, static_cast<int64_t>(k)));
    return d;
  };
  return rec;
}

}  // namespace

std::vector<Record> records_of(Graph& g, uint32_t begin, uint32_t end) {
  std::vector<Record> r;
  for (uint32_t i = begin; i < end; ++i) {
    const Node& n = g.node(i);
    if (n.kind != Node::kOp || n.op->name == "result") continue;
    if (!n.regions.empty()) {
      r.push_back(cond_record(g, i, end));
      continue;
    }
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
    if (r.region) {
      std::vector<Val> so_far(r.in.size());
      std::unordered_set<uint32_t> seen;
      for (size_t k = 0; k < r.in.size(); ++k) {
        auto it = ct.find(r.in[k].id);
        if (seen.insert(r.in[k].id).second && it != ct.end()) so_far[k] = it->second;
      }
      d = r.region(cts, so_far);
      seen.clear();
      for (size_t k = 0; k < r.in.size(); ++k) {
        if (seen.insert(r.in[k].id).second)
          ct[r.in[k].id] = d[k];
        else
          accumulate(r.in[k], d[k]);
      }
      continue;
    }
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
