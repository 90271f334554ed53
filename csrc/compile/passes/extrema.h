// The place of an extremum among values that elementwise ops make. As a kernel of its own it would
// have them stored first; written as a reduction to the extremum and another to the least place
// that holds it, it takes its producers into the loops.
#pragma once
#include <memory>

#include "graph/graph.h"

namespace pijit {

// Null: there are none.
std::unique_ptr<Graph> fuse_extrema(const Graph& g);

}  // namespace pijit
