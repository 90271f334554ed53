// The one loop that copies a graph. A pass derives from it and says what becomes of an op; inputs,
// constants, locations, outputs and the order of inputs are kept.
#pragma once
#include <functional>

#include "graph/graph.h"

namespace pijit {

// The node in `to`, which reads `in`.
Val copy_node(Graph& to, const Node& n, std::span<const Val> in);

class Rewriter {
 public:
  // simplify: as Graph has it; else equal nodes stay apart.
  explicit Rewriter(const Graph& g, bool simplify = true)
      : from_(g), to_(std::make_unique<Graph>(simplify)), live_(g.live()), map_(g.size()) {
    to_->place_as(g);
  }
  virtual ~Rewriter() = default;
  std::unique_ptr<Graph> run();

 protected:
  // A live op; sets map_[n.id], or leaves it to value().
  virtual void op(const Node& n) { map_[n.id] = copy(n); }
  // What a node of the old graph is in the new one.
  virtual Val value(uint32_t id) { return map_[id]; }

  // The node as it is.
  Val copy(const Node& n) { return copy_node(*to_, n, operands(n)); }
  std::vector<Val> operands(const Node& n);

  const Graph& from_;
  std::unique_ptr<Graph> to_;
  const std::vector<bool> live_;
  std::vector<Val> map_;
};

// A pass that looks at one op at a time.
using RewriteOp = std::function<Val(Graph& to, const Node& n, std::span<const Val> in)>;
std::unique_ptr<Graph> rewrite(const Graph& g, const RewriteOp& f);

}  // namespace pijit
