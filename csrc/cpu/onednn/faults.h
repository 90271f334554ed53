// What oneDNN does wrong: primitives that must not run, each told by a rule with the number of its
// issue there, if it has one. Tests run such calls between pages without access
// (tests/python/test_memory.py). An upgrade of the library may end a rule, once they pass without
// it, but no test.
#pragma once
#include <algorithm>

#include "cpu/kernels/window.h"
#include "cpu/onednn/onednn.h"

namespace pijit::onednn {

// Is there an output row or column whose window, with dilation, lies on padding alone?
inline bool sees_padding_alone(const dnnl::convolution_forward::primitive_desc& pd) {
  const Ints x = pd.src_desc().get_dims(), y = pd.dst_desc().get_dims(),
             w = pd.weights_desc().get_dims(), strides = pd.get_strides(),
             dilations = pd.get_dilations(), pads = pd.get_padding_l();
  for (size_t k = 0; k < 2; ++k) {
    const WindowAxis axis{x[2 + k],   y[2 + k],         w[w.size() - 2 + k],
                          strides[k], dilations[k] + 1, pads[k]};
    for (int64_t i = 0; i < axis.out; ++i)
      if (const auto [first, past] = axis.taps_of(i); first >= past) return true;
  }
  return false;
}

// Does a convolution compute something else, or write beyond its memory? Of bfloat16, with AMX.
inline bool is_faulty(const dnnl::convolution_forward::primitive_desc& pd) {
  if (pd.src_desc().get_data_type() != memory::data_type::bf16) return false;
  const Ints strides = pd.get_strides();
  // Not reported: 3.7, not 3.2, takes other pixels than the window's where a stride leaves one
  // column of results (1 channel of 29 x 1 pixels, 1 x 3, strides of 2).
  if (strides[1] > 1 && pd.dst_desc().get_dims()[3] == 1) return true;
  // Not reported: pixels that are never written, or memory beyond the scratchpad's, where rows are
  // left out and columns are not (32 channels of 27 x 28 pixels, 1 x 1, strides of 2 and 1).
  if (strides[0] > 1 && strides[1] == 1) return true;
  // Not reported: memory beyond the scratchpad's (16 channels of 1 x 27 pixels, 2 x 2, padding of 2
  // and 1, dilation of 3).
  return sees_padding_alone(pd);
}

// Does a gradient of weights read or write beyond its memory?
inline bool is_faulty(const dnnl::convolution_backward_weights::primitive_desc& pd) {
  const memory::desc x = pd.src_desc();
  const Ints w = pd.diff_weights_desc().get_dims();  // [groups,] filters, channels, rows, columns
  const Ints strides = pd.get_strides();
  const size_t groups = w.size() - 4;
  const bool half = x.get_data_type() == memory::data_type::bf16;

  // Not reported: of rows that are shorter than a stride it reads pixels behind their end, and so
  // behind the last row's (1 channel of 7 x 1 pixels, strides of 2), in any layout.
  if (half && x.get_dims()[3] < strides[1]) return true;

  const bool channels_last = x.get_inner_nblks() == 0 && x.get_strides()[1] == 1;
  if (!channels_last) return false;
  // 6035: before it sums, the gradient of a strided 1 x 1 convolution copies the pixels that are
  // read. The memory for them is booked by channels and addressed by blocks of channels: the copies
  // begin beyond it where there are fewer than a block.
  const bool strided = std::any_of(strides.begin(), strides.end(), [](int64_t s) { return s > 1; });
  const bool pointwise = w[groups + 2] == 1 && w[groups + 3] == 1;
  if (pointwise && strided && w[groups + 1] < channel_block()) return true;

  // Not reported: in groups, with rows that a dilation leaves out, the copies are read where others
  // were written, or beyond them (8 to 32 channels in 2 groups of 30 x 30 pixels).
  return half && groups && pd.get_dilations()[0] > 0;
}

}  // namespace pijit::onednn
