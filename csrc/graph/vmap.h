// Vectorisation over a list of recorded op applications: what was computed for one element of a
// batch is computed for all of them at once, by each op's batching rule.
#pragma once
#include "graph/grad.h"

namespace pijit {

// Values of `of` for the whole batch, its axis in front; Val{}: the same for all elements.
// `examples`: values of one element, and in Seed::cotangent those of the whole batch. Computes only
// what `of` needs, and what may fail. Throws OpError where a record has no batching rule.
std::vector<Val> vmapped(Builder& b, std::span<const Record> records,
                         std::span<const Seed> examples, std::span<const Val> of, Dim size);

// Rules that several ops share.
Val vmap_as_elements(const VmapCtx& c);  // inputs broadcast to the output
Val vmap_axis(const VmapCtx& c);         // all inputs of one rank; attribute "axis" counts axes
Val vmap_reduction(const VmapCtx& c);    // attribute "axis" lists axes; none: all
Val vmap_joined(const VmapCtx& c);       // the batch joins the first axis
Val vmap_element_by_element(const VmapCtx& c);  // for every op; throws where the size is symbolic

}  // namespace pijit
