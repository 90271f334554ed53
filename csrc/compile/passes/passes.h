// Graph → Graph (compile/pipeline.cc has the list). Each pass returns a new graph with the same
// inputs and outputs.
#pragma once
#include <functional>
#include <memory>

#include "graph/graph.h"

namespace pijit {

// Rebuilds what the outputs need in a simplifying graph: dead code, constants, identities, equal
// nodes.
std::unique_ptr<Graph> simplify(const Graph& g);
// Is there a kernel made for this node?
using Served = std::function<bool(const Graph&, const Node&)>;
// Replaces ops by their `lower` rules, but for kWhole ones that are served; reductions become
// reductions over one run of adjacent axes, in float32 where the operand is a half; so are halves
// of kAccumulatesF32 ops that are not served.
std::unique_ptr<Graph> lower(const Graph& g, const Served& served = {});
// Complex values as pairs of real ones; null where there are none.
std::unique_ptr<Graph> split_complex(const Graph& g);

}  // namespace pijit
