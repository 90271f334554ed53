// Values that are cheaper computed again than kept: where a kernel stores an elementwise value only
// for others to load it, and these could compute it from one operand of the same size that is in
// memory anyway, a store of full size is saved (deviations from a mean, in batch normalisation).
#pragma once
#include "compile/fusion.h"

namespace pijit {

struct Rematerialized {
  std::unique_ptr<Graph> graph;  // null: nothing to gain
  FusionPlan plan;               // of the graph
};
// The graph with such values computed once per kernel that reads them.
Rematerialized rematerialize(const Graph& g, const FusionPlan& plan, const DeviceFacts& facts);

// Is a value made of one input, and what is small, by so few fast instructions that two loops may
// compute it each?
bool is_cheap(const Graph& g, uint32_t id);

}  // namespace pijit
