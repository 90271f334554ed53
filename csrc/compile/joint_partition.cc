#include "compile/joint_partition.h"

#include <functional>
#include <numeric>

#include "compile/compile.h"
#include "graph/grad.h"
#include "graph/rewriter.h"

namespace pijit {
namespace {

// `from` in the empty graph `to`, with equal ids; first[i] is read instead of node i.
void copy_graph(const Graph& from, const std::vector<uint32_t>& first, Graph* to) {
  to->locations = from.locations;
  for (uint32_t i = 0; i < from.size(); ++i) {
    Node n = from.node(i);
    to->current_loc = n.loc;
    for (auto& s : n.in)
      if (s != kNoNode) s = first[s];
    to->append(std::move(n));
  }
  to->order_inputs(from.inputs());
}
void copy_graph(const Graph& from, Graph* to) {
  std::vector<uint32_t> same(from.size());
  std::iota(same.begin(), same.end(), 0);
  copy_graph(from, same, to);
}

}  // namespace

std::unique_ptr<JointPartition::Joint> JointPartition::joint(
    const std::vector<bool>& present, const std::vector<bool>& so_far) const {
  auto j = std::make_unique<Joint>();
  copy_graph(g_, &j->g);
  const auto records = records_of(j->g, 0, static_cast<uint32_t>(j->g.size()));
  std::vector<Seed> seeds, earlier;
  for (size_t k = 0; k < g_.outputs.size(); ++k) {
    if (!present[k]) continue;
    const Val o = j->g.val(g_.outputs[k].node);
    j->cotangents.push_back(j->g.add_input(o.type()));
    seeds.push_back({o, j->cotangents.back()});
  }
  std::vector<Val> wrt;
  for (size_t k = 0; k < wrt_.size(); ++k) {
    if (!wrt_[k]) continue;
    const Val x = j->g.val(g_.inputs()[k]);
    if (so_far.size() > wrt.size() && so_far[wrt.size()]) {
      j->cotangents.push_back(j->g.add_input(x.type()));
      earlier.push_back({x, j->cotangents.back()});
    }
    wrt.push_back(x);
  }
  // what came before comes first in the sums
  seeds.insert(seeds.begin(), earlier.begin(), earlier.end());
  j->gradients = backward_part(j->g, records, seeds, wrt, last_);
  for (auto& r : j->gradients)
    for (auto v : {r.sum, r.alone})
      if (v) j->g.outputs.push_back({v.id});
  return j;
}

// Cheaper to make again than to keep.
bool JointPartition::is_rematerialized(const Node& n) const {
  return n.kind == Node::kConst ||
         (n.kind == Node::kOp && n.regions.empty() &&
          (n.op->has(kView) || n.op->role == Role::kBroadcast || n.op->role == Role::kIdentity));
}

JointPartition::JointPartition(const Graph& g, const std::vector<Leaf>& leaves) {
  // What a tape would see: inputs that are one array are one.
  std::vector<uint32_t> first(g.size());
  std::iota(first.begin(), first.end(), 0);
  for (size_t k = 0; k < leaves.size(); ++k) {
    wrt_.push_back(leaves[k].of == static_cast<int>(k));
    if (wrt_.back()) last_.push_back(leaves[k].last);
    if (leaves[k].of >= 0) first[g.inputs()[k]] = g.inputs()[leaves[k].of];
  }
  copy_graph(g, first, &g_);
  for (auto& o : g.outputs) g_.outputs.push_back({first[o.node]});
  bool branches = false;
  const auto depends = depending(g_, wrt_);
  for (auto& o : g_.outputs) depends_.push_back(depends[o.node]);
  for (uint32_t i = 0; i < g_.size(); ++i) branches |= !g_.node(i).regions.empty();
  // A gradient that is refused is refused now, not in the backward walk. Sums are longest with all
  // that may come in. Whether a branch passes something on is settled by each output alone: what
  // several pass on is the union.
  const auto j = joint(depends_, std::vector<bool>(wrt_.size(), true));
  for (size_t k = 0; branches && k < depends_.size(); ++k) {
    std::vector<bool> one(depends_.size());
    one[k] = depends_[k];
    if (one[k]) joint(one, {});
  }
  // what the gradient's nodes read of the graph's
  const auto live = j->g.live();
  std::vector<bool> kept(g_.size());
  std::function<void(uint32_t)> keep = [&](uint32_t id) {
    if (!is_rematerialized(g_.node(id))) {
      kept[id] = true;
    } else {
      for (auto s : g_.node(id).in)
        if (s != kNoNode) keep(s);
    }
  };
  for (uint32_t i = static_cast<uint32_t>(g_.size()); i < j->g.size(); ++i)
    if (live[i])
      for (auto s : j->g.node(i).in)
        if (s != kNoNode && s < g_.size()) keep(s);
  for (auto& r : j->gradients)
    for (auto v : {r.sum, r.alone})
      if (v && v.id < g_.size()) keep(v.id);
  for (uint32_t i = 0; i < g_.size(); ++i)
    if (kept[i]) residuals_.push_back(i);

  Graph f(false);
  copy_graph(g_, &f);
  for (auto& o : g_.outputs) f.outputs.push_back({o.node});
  for (auto id : residuals_) f.outputs.push_back({id});
  forward_ = compile(f);
}

const JointPartition::Backward& JointPartition::backward(const std::vector<bool>& present,
                                                         const std::vector<bool>& so_far) {
  Backward& result = backward_[{present, so_far}];
  if (result.program) return result;
  const auto j = joint(present, so_far);
  Graph b(false);
  b.locations = j->g.locations;
  std::vector<Val> map(j->g.size());
  for (auto id : residuals_) map[id] = b.add_input(g_.node(id).type);
  for (auto v : j->cotangents) map[v.id] = b.add_input(v.type());
  const auto live = j->g.live();
  std::function<Val(uint32_t)> make = [&](uint32_t id) -> Val {
    if (map[id]) return map[id];
    const Node& n = j->g.node(id);
    PIJIT_CHECK(id >= g_.size() || is_rematerialized(n), "a residual of the gradient is missing");
    std::vector<Val> in;
    for (auto s : n.in) in.push_back(s == kNoNode ? Val{} : make(s));
    b.current_loc = n.loc;
    return map[id] = copy_node(b, n, in);
  };
  for (uint32_t i = static_cast<uint32_t>(g_.size()); i < j->g.size(); ++i)
    if (live[i]) make(i);
  result.parts.clear();
  for (auto& r : j->gradients) {
    result.parts.push_back(0);
    for (auto v : {r.sum, r.alone})
      if (v) b.outputs.push_back({make(v.id).id}), ++result.parts.back();
  }
  result.program = compile(b);
  return result;
}

}  // namespace pijit
