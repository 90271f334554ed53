// Graph → Program: passes, fusion into loop kernels, order, memory plan, kernels.
#pragma once
#include "graph/graph.h"
#include "runtime/program.h"

namespace pijit {

// fast: results may differ from those of the ops one by one in their last digits
// (compile/passes/fast_math.h). home: where a graph runs that holds single elements of the CPU's
// alone, as regions may.
std::shared_ptr<const Program> compile(const Graph& g, bool fast = false, DeviceId home = {});

}  // namespace pijit
