// What numerics="fast" allows beyond the same bits: a scale and a shift per channel become part of
// a convolution's weights and bias, and an activation and a residual are added while the result of
// a convolution or product is still in registers (oneDNN's post-ops, whose ReLU gives 0 for NaN).
#pragma once
#include "graph/graph.h"
#include "runtime/kernel.h"

namespace pijit {

// Is the op, once it is lowered, something that a convolution or product may take in?
bool may_be_taken_in(const Node& n);
std::unique_ptr<Graph> fast_math(const Graph& g, int64_t channel_block);
// A convolution that took in a residual or an activation gives it back, where another kernel than
// oneDNN's would do it alone: that one is faster. Null: none does.
std::unique_ptr<Graph> give_back(const Graph& g, const KernelRegistry& kernels);

}  // namespace pijit
