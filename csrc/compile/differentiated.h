// A graph as one op of a tape: a forward program that also keeps what the gradient needs, and
// backward programs compiled when they are first asked for. Gradients are those of the same walk
// over the same records that the tape would make of the single ops, so their bits are the same.
#pragma once
#include <map>

#include "graph/graph.h"
#include "runtime/program.h"

namespace pijit {

class Differentiated {
 public:
  // leaf_of: per input, -1, or the input that it is the same array as (mostly itself), of floating
  // dtype: those are differentiated by.
  Differentiated(const Graph& g, const std::vector<int>& leaf_of);
  // Outputs: those of the graph, then the residuals.
  const Program& forward() const { return *forward_; }
  size_t num_residuals() const { return residuals_.size(); }
  // Inputs: the residuals, then the cotangents of the outputs marked in `present`, then what the
  // marked ones of the inputs to differentiate by have received so far. Outputs: the cotangents of
  // all inputs to differentiate by, in order.
  std::shared_ptr<const Program> backward(const std::vector<bool>& present,
                                          const std::vector<bool>& so_far);

 private:
  // A copy of the graph, and behind it the gradient; its first nodes are the graph's.
  struct Joint {
    Graph g{false};
    std::vector<Val> cotangents, gradients;
  };
  std::unique_ptr<Joint> joint(const std::vector<bool>& present,
                               const std::vector<bool>& so_far) const;
  bool recomputed(const Node& n) const;

  Graph g_{false};
  std::vector<bool> wrt_;
  std::vector<uint32_t> residuals_;  // nodes of the graph
  std::shared_ptr<const Program> forward_;
  std::map<std::pair<std::vector<bool>, std::vector<bool>>, std::shared_ptr<const Program>>
      backward_;
};

}  // namespace pijit
