// What oneDNN does wrong: primitives that must not run, each told by a rule with the number of its
// issue there. Tests run such calls between pages without access (tests/python/test_memory.py). An
// upgrade of the library may end a rule, once they pass without it, but no test.
#pragma once
#include <algorithm>

#include "cpu/onednn.h"

namespace pijit::onednn {

// 6035: before it sums, the gradient of the weights of a strided 1 x 1 convolution copies the
// pixels that are read. The memory for them is booked by channels and, where these are last,
// written by blocks of channels: the first pixels beyond it are written where there are fewer than
// a block.
inline bool overruns_scratch(const dnnl::convolution_backward_weights::primitive_desc& pd) {
  const memory::desc x = pd.src_desc();
  const Ints w = pd.diff_weights_desc().get_dims(), strides = pd.get_strides();
  const bool pointwise = w[w.size() - 2] == 1 && w[w.size() - 1] == 1;
  const bool strided = std::any_of(strides.begin(), strides.end(), [](int64_t s) { return s > 1; });
  const bool channels_last = x.get_inner_nblks() == 0 && x.get_strides()[1] == 1;
  return pointwise && strided && channels_last && w[w.size() - 3] < channel_block();
}

}  // namespace pijit::onednn
