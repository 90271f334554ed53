// All-reduces beside other kernels: each start stands right behind what computes its operands, each
// wait right before its first reader. What operands still pass through (casts, views) goes with the
// start. The order of collectives is that of their inputs `after`, which stays.
#include <algorithm>

#include "graph/rewriter.h"

namespace pijit {
namespace {

bool starts(const Node& n) { return n.kind == Node::kOp && n.op->role == Role::kCollectiveStart; }
bool waits(const Node& n) { return n.kind == Node::kOp && n.op->role == Role::kCollectiveWait; }

class Overlap : public Rewriter {
 public:
  explicit Overlap(const Graph& g) : Rewriter(g, false), ready_(g.size()), due_(g.size()) {}

  std::unique_ptr<Graph> run() {
    bool any = false;
    for (uint32_t i = 0; i < from_.size(); ++i) {
      const Node& n = from_.node(i);
      const bool light =
          n.kind == Node::kOp && (n.op->has(kElementwise) || n.op->has(kView)) && n.regions.empty();
      ready_[i] = i;
      if (!live_[i]) continue;
      if (n.kind == Node::kOp) last_ = i;
      if (n.kind == Node::kConst) ready_[i] = 0;
      if (!light && !starts(n)) continue;
      uint32_t at = 0;
      for (auto s : n.in)
        if (s != kNoNode) at = std::max(at, ready_[s]);
      ready_[i] = at;
      if (starts(n)) due_[at].push_back(i), any = true;
    }
    return any ? Rewriter::run() : nullptr;
  }

 private:
  void op(const Node& n) override {
    if (!waits(n)) place(n.id);
    for (const uint32_t s : due_[n.id]) place(s);
    if (n.id == last_)
      for (uint32_t i = 0; i <= last_; ++i)
        if (live_[i] && waits(from_.node(i))) place(i);
  }
  Val value(uint32_t id) override {
    place(id);
    return map_[id];
  }
  void place(uint32_t id) {
    if (map_[id]) return;
    const Node& n = from_.node(id);
    const int loc = std::exchange(to_->current_loc, n.loc);
    map_[id] = n.kind == Node::kOp ? copy(n) : copy_node(*to_, n, {});
    to_->current_loc = loc;
  }

  std::vector<uint32_t> ready_;             // the node behind which all is there
  std::vector<std::vector<uint32_t>> due_;  // starts, by that node
  uint32_t last_ = 0;
};

}  // namespace

// Null: there are none.
std::unique_ptr<Graph> overlap_collectives(const Graph& g) { return Overlap(g).run(); }

}  // namespace pijit
