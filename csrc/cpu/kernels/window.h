// Where the windows of a convolution meet the image, along one axis.
#pragma once
#include <algorithm>
#include <cstdint>
#include <utility>

namespace pijit {

struct WindowAxis {
  int64_t size, out, taps, stride, dilation, pad;

  // Input row (or column) that a tap meets in output row i; padding where it is below 0 or not
  // below the size.
  int64_t at(int64_t i, int64_t tap) const { return i * stride - pad + tap * dilation; }
  // The output rows for which a tap lies on the image: [first, past).
  std::pair<int64_t, int64_t> outs_of(int64_t tap) const {
    return on_image(at(0, tap), stride, out);
  }
  // The taps that lie on the image for output row i: [first, past).
  std::pair<int64_t, int64_t> taps_of(int64_t i) const {
    return on_image(at(i, 0), dilation, taps);
  }

 private:
  // The k of [0, n) for which begin + k * step lies on the image.
  std::pair<int64_t, int64_t> on_image(int64_t begin, int64_t step, int64_t n) const {
    auto below = [&](int64_t end) {  // how many of begin, begin + step … are below end
      return end <= begin ? int64_t{0} : std::min(n, (end - begin + step - 1) / step);
    };
    const int64_t first = below(0);
    return {first, std::max(first, below(size))};
  }
};

}  // namespace pijit
