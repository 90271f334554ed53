#include "compile/passes/rematerialize.h"

#include <algorithm>
#include <functional>
#include <map>
#include <set>

#include "graph/rewriter.h"
#include "graph/scalar.h"

namespace pijit {
namespace {

constexpr size_t kMaxInstructions = 6;

// Instructions of an elementwise node; more than kMaxInstructions where one of them is slow.
size_t instructions(const Graph& g, const Node& n) {
  SBuilder sb;
  std::vector<SVal> in;
  for (size_t k = 0; k < n.in.size(); ++k)
    in.push_back(sb.input(static_cast<int>(k), g.node(n.in[k]).type.dtype));
  build_scalar(sb, *n.op, n.attrs, in, n.type.dtype);
  size_t count = 0;
  for (auto& s : sb.nodes) {
    if (s.op == SOp::kInput || s.op == SOp::kConst) continue;
    const bool slow = s.op == SOp::kDiv || s.op == SOp::kSqrt || s.op == SOp::kFloorDiv ||
                      s.op == SOp::kFloorMod || s.op == SOp::kTruncMod || s.op == SOp::kCall1 ||
                      s.op == SOp::kCall2;
    count += slow ? kMaxInstructions + 1 : 1;
  }
  return count;
}

// Goes through an expression over a domain back to what `is_leaf` says; adds up its instructions,
// as long as they are few.
bool few_instructions(const Graph& g, uint32_t id, const Shape& domain,
                      const std::function<bool(uint32_t)>& is_leaf, size_t* cost) {
  if (is_leaf(id)) return true;
  const Node& n = g.node(id);
  if (n.kind != Node::kOp || !n.op->has(kElementwise) || !(n.type.shape == domain)) return false;
  *cost += instructions(g, n);
  if (*cost > kMaxInstructions) return false;
  return std::all_of(n.in.begin(), n.in.end(),
                     [&](uint32_t s) { return few_instructions(g, s, domain, is_leaf, cost); });
}
// What is so small beside a domain that it is in the cache.
bool is_small(const Node& n, const Shape& domain) {
  return n.kind == Node::kConst || n.type.shape.numel() * 8 <= domain.numel();
}

class Recomputation : public Rewriter {
 public:
  Recomputation(const Graph& g, const FusionPlan& plan, const DeviceFacts& facts)
      : Rewriter(g, false),  // equal nodes stay apart
        plan_(plan),
        facts_(facts),
        readers_(g.size()),
        kept_(g.size()) {}

  Rematerialized run() {
    find_readers();
    for (uint32_t i = 0; i < from_.size(); ++i)
      if (saves_a_store(i)) chosen_.insert(i);
    if (chosen_.empty()) return {};
    auto to = Rewriter::run();
    FusionPlan plan = plan_fusion(*to, facts_);
    // The other fusion that follows may cost more than it saves.
    if (traffic(*to, plan) >= traffic(from_, plan_)) return {};
    return {std::move(to), std::move(plan)};
  }

 private:
  bool in_loop(uint32_t id) const {
    return plan_.group_of[id] >= 0 && plan_.groups[plan_.group_of[id]].kind == FusionGroup::kLoop;
  }
  // Which loops other than its own read a value; whether it must be in memory for something else.
  void find_readers() {
    for (uint32_t i = 0; i < from_.size(); ++i) {
      const int u = plan_.group_of[i];
      if (u < 0) {
        kept_[i] = from_.node(i).kind == Node::kInput;
        continue;
      }
      if (!in_loop(i) || from_.node(i).op->has(kReduction)) kept_[i] = true;
      for (auto s : from_.node(i).in) {
        if (s == kNoNode || plan_.group_of[s] == u) continue;
        if (in_loop(i) && !from_.node(i).op->has(kWindows))
          readers_[s].insert(u);
        else
          kept_[s] = true;
      }
    }
    for (auto& o : from_.outputs) kept_[o.node] = true;
  }
  bool small(uint32_t id, const Shape& domain) const { return is_small(from_.node(id), domain); }
  bool saves_a_store(uint32_t id) {
    const Node& n = from_.node(id);
    if (!in_loop(id) || kept_[id] || readers_[id].empty()) return false;
    const Shape& domain = n.type.shape;
    // what is smaller is still in the cache when it is read
    if (n.type.bytes() < static_cast<size_t>(facts_.tile_bytes) ||
        !(plan_.groups[plan_.group_of[id]].domain == domain))
      return false;
    std::set<uint32_t> leaves;
    size_t cost = 0;
    const auto is_leaf = [&](uint32_t s) {
      if (small(s, domain)) return true;
      if (kept_[s]) leaves.insert(s);
      return kept_[s] == true;
    };
    return few_instructions(from_, id, domain, is_leaf, &cost) && leaves.size() <= 1;
  }
  // A value that is computed again, in `group`, from what lies in memory.
  Val compute(uint32_t id, int group, const Shape& domain) {
    if (small(id, domain) || kept_[id]) return map_[id];
    Val& v = again_[{group, id}];
    if (!v) {
      const Node& n = from_.node(id);
      std::vector<Val> in;
      for (auto s : n.in) in.push_back(compute(s, group, domain));
      to_->current_loc = n.loc;
      v = copy_node(*to_, n, in);
    }
    return v;
  }
  void op(const Node& n) override {
    const int group = plan_.group_of[n.id];
    std::vector<Val> in;
    for (auto s : n.in) {
      if (s == kNoNode)
        in.push_back({});
      else if (!chosen_.count(s) || plan_.group_of[s] == group)
        in.push_back(map_[s]);
      else
        in.push_back(compute(s, group, from_.node(s).type.shape));
    }
    to_->current_loc = n.loc;
    map_[n.id] = copy_node(*to_, n, in);
  }

  // Bytes that loops load and store.
  static int64_t traffic(const Graph& g, const FusionPlan& plan) {
    std::vector<bool> escapes(g.size());
    int64_t bytes = 0;
    for (size_t u = 0; u < plan.groups.size(); ++u) {
      std::set<uint32_t> loads;
      for (auto id : plan.groups[u].nodes)
        for (auto s : g.node(id).in)
          if (s != kNoNode && plan.group_of[s] != static_cast<int>(u)) loads.insert(s);
      for (auto s : loads) {
        escapes[s] = true;
        if (plan.groups[u].kind == FusionGroup::kLoop && g.node(s).kind != Node::kConst)
          bytes += static_cast<int64_t>(g.node(s).type.bytes());
      }
    }
    for (auto& o : g.outputs) escapes[o.node] = true;
    for (uint32_t i = 0; i < g.size(); ++i)
      if (escapes[i] && plan.group_of[i] >= 0 &&
          plan.groups[plan.group_of[i]].kind == FusionGroup::kLoop)
        bytes += static_cast<int64_t>(g.node(i).type.bytes());
    return bytes;
  }

  const FusionPlan& plan_;
  const DeviceFacts& facts_;
  std::map<std::pair<int, uint32_t>, Val> again_;  // by reading group
  std::vector<std::set<int>> readers_;
  std::vector<bool> kept_;
  std::set<uint32_t> chosen_;
};

}  // namespace

Rematerialized rematerialize(const Graph& g, const FusionPlan& plan, const DeviceFacts& facts) {
  return Recomputation(g, plan, facts).run();
}

bool is_cheap(const Graph& g, uint32_t id) {
  const Shape& domain = g.node(id).type.shape;
  size_t cost = 0;
  std::set<uint32_t> leaves;
  const auto is_leaf = [&](uint32_t s) {
    const Node& n = g.node(s);
    if (is_small(n, domain)) return true;
    if (n.kind == Node::kInput) leaves.insert(s);
    return n.kind == Node::kInput;
  };
  return few_instructions(g, id, domain, is_leaf, &cost) && 2 * cost <= kMaxInstructions &&
         leaves.size() <= 1;
}

}  // namespace pijit
