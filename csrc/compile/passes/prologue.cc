#include "compile/passes/prologue.h"

#include <algorithm>

#include "graph/rewriter.h"

namespace pijit {
namespace {

class PrologueSplitter : public Rewriter {
 public:
  explicit PrologueSplitter(const Graph& g)
      : Rewriter(g), is_(g.size(), kOther), crosses_(g.size()) {
    std::vector<bool> stays(g.size());  // leaves the graph, or is written by it
    for (auto& o : g.outputs) {
      for (uint32_t i = o.node; g.node(i).kind == Node::kOp; i = g.node(i).in[0]) {
        stays[i] = true;
        if (!g.node(i).op->has(kView)) break;  // else also what it is a view of
      }
      if (o.assign_to >= 0) stays[g.inputs()[o.assign_to]] = true;
    }
    for (uint32_t i = 0; i < g.size(); ++i)
      if (live_[i] && !stays[i]) is_[i] = of(g.node(i));
    for (uint32_t i = 0; i < g.size(); ++i)
      if (live_[i] && is_[i] == kOther)
        for (auto s : g.node(i).in)
          if (s != kNoNode && is_[s] == kKept) crosses_[s] = true;
  }

  std::unique_ptr<Graph> run(PrologueGraph* prologue) {
    if (std::find(crosses_.begin(), crosses_.end(), true) == crosses_.end()) return nullptr;
    *prologue = before();
    auto rest = Rewriter::run();
    std::vector<uint32_t> order = rest->inputs();
    order.insert(order.end(), made_.begin(), made_.end());
    rest->order_inputs(std::move(order));
    return rest;
  }

 private:
  // A parameter, or a view of one; what is the same in every call; what is computed of parameters.
  enum Kind : uint8_t { kOther, kParameter, kConstant, kKept };

  Kind of(const Node& n) const {
    if (n.type.shape.symbolic()) return kOther;
    if (n.kind == Node::kInput) return n.parameter ? kParameter : kOther;
    if (n.kind == Node::kConst) return n.size ? kOther : kConstant;
    if (n.may_fail || !n.regions.empty() || n.op->outputs > 1 || n.op->has(kMayFail) ||
        n.op->has(kRegion) || n.op->has(kCallOut) || is_output(n))
      return kOther;
    bool constant = true;
    int64_t elements = 0;
    for (auto s : n.in) {
      if (s == kNoNode) continue;
      if (is_[s] == kOther) return kOther;
      if (is_[s] == kConstant) continue;
      constant = false;
      elements += from_.node(s).type.shape.numel();
    }
    if (constant) return kConstant;
    const bool given = n.in[0] != kNoNode && is_[n.in[0]] == kParameter;
    if (given && n.op->has(kView)) return kParameter;
    // Each program would have a copy of what was only moved.
    if (given && n.op->role == Role::kTranspose && n.type.bytes() > kSmall) return kOther;
    // What is larger than what it is made of is not worth its memory.
    return n.type.shape.numel() <= elements || n.type.bytes() <= kSmall ? kKept : kOther;
  }
  static constexpr size_t kSmall = 1 << 16;
  static bool is_output(const Node& n) {
    static const OpDef &output = OpTable::get().at("output"), &result = OpTable::get().at("result");
    return n.op == &output || n.op == &result;
  }

  PrologueGraph before() const {
    std::vector<bool> wanted = crosses_;
    for (uint32_t i = static_cast<uint32_t>(from_.size()); i-- > 0;)
      if (wanted[i])
        for (auto s : from_.node(i).in)
          if (s != kNoNode) wanted[s] = true;
    PrologueGraph r{std::make_unique<Graph>(), {}};
    Graph& to = *r.graph;
    to.place_as(from_);
    to.locations = from_.locations;
    std::vector<Val> map(from_.size());
    for (uint32_t i = 0; i < from_.size(); ++i) {
      if (!wanted[i]) continue;
      const Node& n = from_.node(i);
      to.current_loc = n.loc;
      std::vector<Val> in;
      for (auto s : n.in) in.push_back(s == kNoNode ? Val{} : map[s]);
      map[i] = n.kind == Node::kInput ? to.add_input(n.type, n.name) : copy_node(to, n, in);
    }
    // Inputs have the order of the nodes.
    const auto& all = from_.inputs();
    std::vector<std::pair<uint32_t, int>> read;
    for (size_t k = 0; k < all.size(); ++k)
      if (wanted[all[k]]) read.emplace_back(all[k], static_cast<int>(k));
    std::sort(read.begin(), read.end());
    for (auto& [node, position] : read) r.inputs.push_back(position);
    for (uint32_t i = 0; i < from_.size(); ++i)
      if (crosses_[i]) to.outputs.push_back({map[i].id});
    return r;
  }

  void op(const Node& n) override {
    if (is_[n.id] != kKept) return Rewriter::op(n);
    if (!crosses_[n.id]) return;
    map_[n.id] = to_->add_input(n.type);
    made_.push_back(map_[n.id].id);
  }

  std::vector<Kind> is_;
  std::vector<bool> crosses_;   // kept, and read by the rest
  std::vector<uint32_t> made_;  // inputs of the rest
};

}  // namespace

std::unique_ptr<Graph> split_prologue(const Graph& g, PrologueGraph* prologue) {
  return PrologueSplitter(g).run(prologue);
}

}  // namespace pijit
