// Attention as one node: softmax of the scaled products q k^T, with masks, times v. Only where last
// digits may differ, the scores are read by nothing else, and a kernel is made for it. The weights
// may be read by the gradient of both products and of the softmax, if a kernel is made for that,
// too: it is one node then, of three outputs.
#pragma once
#include "compile/passes/passes.h"

namespace pijit {

std::unique_ptr<Graph> find_attention(const Graph& g, const Served& served);

}  // namespace pijit
