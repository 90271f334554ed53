// Splits off what a graph computes of parameters alone (runtime/prologue.h).
#pragma once
#include <memory>
#include <vector>

#include "graph/graph.h"

namespace pijit {

struct PrologueGraph {
  std::unique_ptr<Graph> graph;  // null: nothing is computed of parameters alone
  std::vector<int> inputs;       // which of the whole graph's inputs it reads, in its order
};

// The rest, whose last inputs are the prologue's outputs. Null: there is no prologue.
std::unique_ptr<Graph> split_prologue(const Graph& g, PrologueGraph* prologue);

}  // namespace pijit
