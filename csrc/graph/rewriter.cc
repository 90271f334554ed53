#include "graph/rewriter.h"

#include "base/progress.h"

namespace pijit {

Val copy_node(Graph& to, const Node& n, std::span<const Val> in) {
  switch (n.kind) {
    case Node::kInput: return to.add_input(n.type, n.name, n.parameter);
    case Node::kConst: return to.constant_of(n);
    case Node::kOp: break;
  }
  return n.regions.empty() ? to.emit(*n.op, in, n.attrs, n.type)
                           : to.emit_region(*n.op, in, n.regions);
}

std::unique_ptr<Graph> Rewriter::run() {
  to_->locations = from_.locations;
  for (uint32_t i = 0; i < from_.size(); ++i) {
    const Node& n = from_.node(i);
    LongWork::tick(i, static_cast<int64_t>(from_.size()));
    to_->current_loc = n.loc;
    if (n.kind == Node::kInput || (live_[i] && n.kind == Node::kConst))
      map_[i] = copy_node(*to_, n, {});
    else if (live_[i])
      op(n);
  }
  std::vector<uint32_t> order;
  for (auto i : from_.inputs()) order.push_back(map_[i].id);
  to_->order_inputs(std::move(order));
  for (auto& o : from_.outputs) to_->outputs.push_back({value(o.node).id, o.assign_to});
  return std::move(to_);
}

std::vector<Val> Rewriter::operands(const Node& n) {
  std::vector<Val> in;
  for (auto s : n.in) in.push_back(s == kNoNode ? Val{} : value(s));
  return in;
}

namespace {
class ByOp : public Rewriter {
 public:
  ByOp(const Graph& g, const RewriteOp& f) : Rewriter(g), f_(f) {}

 protected:
  void op(const Node& n) override {
    map_[n.id] = n.regions.empty() ? f_(*to_, n, operands(n)) : copy(n);
  }

 private:
  const RewriteOp& f_;
};
}  // namespace

std::unique_ptr<Graph> rewrite(const Graph& g, const RewriteOp& f) { return ByOp(g, f).run(); }

}  // namespace pijit
