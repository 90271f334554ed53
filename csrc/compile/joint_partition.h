// A graph as one op of a tape: a forward program that also keeps what the gradient needs, and
// backward programs compiled when they are first asked for. Gradients are those of the same walk
// over the same records that the tape would make of the single ops, so their bits are the same.
#pragma once
#include <map>

#include "graph/grad.h"
#include "runtime/program.h"

namespace pijit {

class JointPartition {
 public:
  struct Leaf {
    int of = -1;        // the input that this one is the same array as (mostly itself); -1: not
                        // differentiated by
    bool last = false;  // nothing is computed from its cotangent: zeros may stand for nothing
    auto operator<=>(const Leaf&) const = default;
  };
  // leaves: per input.
  JointPartition(const Graph& g, const std::vector<Leaf>& leaves);
  // Outputs: those of the graph, then the residuals.
  const Program& forward() const { return *forward_; }
  bool depends(size_t output) const { return depends_[output]; }  // on what is differentiated by
  // Inputs: the residuals, then the cotangents of the outputs marked in `present`, then what the
  // marked ones of the inputs to differentiate by have received so far. Outputs: what the inputs to
  // differentiate by receive, in order: for each nothing, a sum, or a sum and the same alone.
  struct Backward {
    std::shared_ptr<const Program> program;
    std::vector<int> parts;
  };
  const Backward& backward(const std::vector<bool>& present, const std::vector<bool>& so_far);

 private:
  // A copy of the graph, and behind it the gradient; its first nodes are the graph's.
  struct Joint {
    Graph g{false};
    std::vector<Val> cotangents;
    std::vector<Received> gradients;
  };
  std::unique_ptr<Joint> joint(const std::vector<bool>& present,
                               const std::vector<bool>& so_far) const;
  bool is_rematerialized(const Node& n) const;

  Graph g_{false};
  std::vector<bool> wrt_, last_;     // per input; per input to differentiate by
  std::vector<bool> depends_;        // per output
  std::vector<uint32_t> residuals_;  // nodes of the graph
  std::shared_ptr<const Program> forward_;
  std::map<std::pair<std::vector<bool>, std::vector<bool>>, Backward> backward_;
};

}  // namespace pijit
