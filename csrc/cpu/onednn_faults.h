// What oneDNN does wrong: primitives that must not run, each told by a rule with the number of its
// issue there, if it has one. Tests run such calls between pages without access
// (tests/python/test_memory.py). An upgrade of the library may end a rule, once they pass without
// it, but no test.
#pragma once
#include <algorithm>

#include "cpu/onednn.h"

namespace pijit::onednn {

// A gradient of weights of channels-last maps writes or reads beyond its scratch memory.
inline bool is_faulty(const dnnl::convolution_backward_weights::primitive_desc& pd) {
  const memory::desc x = pd.src_desc();
  if (x.get_inner_nblks() > 0 || x.get_strides()[1] != 1) return false;
  const Ints w = pd.diff_weights_desc().get_dims();  // [groups,] filters, channels, rows, columns
  const size_t groups = w.size() - 4;
  const int64_t channels = w[groups + 1];

  // 6035: before it sums, the gradient of a strided 1 x 1 convolution copies the pixels that are
  // read. The memory for them is booked by channels and addressed by blocks of channels: the copies
  // begin beyond it where there are fewer than a block.
  const Ints strides = pd.get_strides();
  const bool strided = std::any_of(strides.begin(), strides.end(), [](int64_t s) { return s > 1; });
  const bool pointwise = w[groups + 2] == 1 && w[groups + 3] == 1;
  if (pointwise && strided && channels < channel_block()) return true;

  // Not reported: in groups, with bfloat16 and rows that a dilation leaves out, the copies are read
  // where others were written, or beyond them (8 to 32 channels in 2 groups of 30 x 30 pixels).
  return groups && pd.get_dilations()[0] > 0 && x.get_data_type() == memory::data_type::bf16;
}

}  // namespace pijit::onednn
