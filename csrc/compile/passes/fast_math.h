// What numerics="fast" allows beyond the same bits: a scale and a shift per channel become part of
// a convolution's weights and bias, and an activation and a residual are added while the result of
// a convolution or product is still in registers (oneDNN's post-ops, whose ReLU gives 0 for NaN).
// Functions that are left get cheaper forms, where there are some.
#pragma once
#include "graph/graph.h"
#include "runtime/kernel.h"

namespace pijit {

// Is the op, once it is lowered, something that a convolution or product may take in?
bool may_be_taken_in(const Node& n);
std::unique_ptr<Graph> fast_math(const Graph& g, int64_t channel_block);
// A residual and an activation leave a convolution again where another family's kernel does it
// without them: one that stands before in the list of candidates is faster. Null: nothing changes.
std::unique_ptr<Graph> unfuse_activations(const Graph& g, const KernelRegistry& kernels);
// What is left of functions that have a cheaper form (OpDef::fast). Null: nothing changes.
std::unique_ptr<Graph> fast_functions(const Graph& g);

}  // namespace pijit
