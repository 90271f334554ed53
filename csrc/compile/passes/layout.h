// Layout: convolutions compute on channels in blocks of 8 or 16, [N,C/b,H,W,b], and reordering what
// goes in and out takes 5 to 40 % of their time. Where a graph has several, the values between them
// stay in blocks, through elementwise ops and pooling; each is reordered only where something else
// reads it. No bit of a result changes.
#pragma once
#include "graph/graph.h"
#include "runtime/kernel.h"

namespace pijit {

// fast: kernels of numerics="fast" count, too.
std::unique_ptr<Graph> assign_layouts(const Graph& g, int64_t block, const KernelRegistry& kernels,
                                      bool fast = false);

}  // namespace pijit
