// The kernels of recurrent layers: a step's graph is compiled once and runs for every step.
#pragma once
#include "graph/graph.h"
#include "runtime/device.h"

namespace pijit {

// Null: not an op of theirs.
std::unique_ptr<Kernel> make_recurrent(const Graph& g, const Node& n, bool fast, Device& d);

}  // namespace pijit
