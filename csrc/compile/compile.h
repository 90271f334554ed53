// Graph → Program: passes, fusion into loop kernels, order, memory plan, kernels.
#pragma once
#include "graph/graph.h"
#include "runtime/program.h"

namespace pijit {

std::shared_ptr<const Program> compile(const Graph& g);

}  // namespace pijit
