// Graph → Program: passes, fusion into loop kernels, order, memory plan, kernels.
#pragma once
#include "graph/graph.h"
#include "runtime/program.h"

namespace pijit {

// fast: results may differ from those of the ops one by one in their last digits (compile/relax.h).
std::shared_ptr<const Program> compile(const Graph& g, bool fast = false);

}  // namespace pijit
