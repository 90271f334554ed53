// Graph → Graph. Each pass returns a new graph with the same inputs and outputs.
#pragma once
#include <memory>

#include "graph/graph.h"

namespace pijit {

// Rebuilds what the outputs need in a simplifying graph: dead code, constants, identities, equal
// nodes.
std::unique_ptr<Graph> simplify(const Graph& g);
// Replaces ops by their `lower` rules; reductions become reductions over one run of adjacent axes,
// in float32 where the operand is a half.
std::unique_ptr<Graph> lower(const Graph& g);
// The ordered list, verified after each pass when PIJIT_VERIFY is set.
std::unique_ptr<Graph> run_passes(const Graph& g);

}  // namespace pijit
