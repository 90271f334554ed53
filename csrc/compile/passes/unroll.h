// Broadcasts along a short last axis, as the coordinates of points: [i, j, 3] computed from small
// operands, then summed over the last axis (squared distances) or the one before (forces). Each
// component becomes a value of its own, of shape [i, j], so that vectors are full, nothing of three
// dimensions is stored, and distances, weights and sums share one loop.
//
// Bits stay: a sum over the short axis is written as the tree that rows have (runtime/loop_spec.h),
// and a sum over the axis before it, which takes rows in order, as a sum over columns of [j, i].
#pragma once
#include <memory>

#include "graph/graph.h"

namespace pijit {

// Null: no such axis.
std::unique_ptr<Graph> unroll_axes(const Graph& g);

}  // namespace pijit
