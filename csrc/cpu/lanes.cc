// The end of a sum over positions in blocks of channels.
#include <algorithm>
#include <vector>

#include "cpu/cpu.h"

namespace pijit {
namespace {

std::unique_ptr<OpKernel> fold_lanes(const KernelRequest& r, std::string*) {
  const Shape& s = r.in[0].shape;
  const int64_t lanes = s[s.rank() - 2], n = s[s.rank() - 1];
  const int64_t outer = r.out.shape.numel() / n;
  return fn_kernel([=](const void* const* in, void* out) {
    parallel_for(outer, std::max<int64_t>(1, 60000 / (lanes * n)), [=](int64_t begin, int64_t end) {
      // Adds halves until n are left; the first sums go from the input to `v`.
      std::vector<float> sums(static_cast<size_t>(lanes * n / 2));
      float* __restrict v = sums.data();
      for (int64_t o = begin; o < end; ++o) {
        const float* x = static_cast<const float*>(in[0]) + o * lanes * n;
        auto* y = static_cast<float*>(out) + o * n;
        if (lanes == 1) {
          std::copy_n(x, n, y);
          continue;
        }
        int64_t h = lanes * n / 2;
        for (int64_t i = 0; i < h; ++i) v[i] = x[i] + x[i + h];
        while ((h /= 2) >= n)
          for (int64_t i = 0; i < h; ++i) v[i] += v[i + h];
        std::copy_n(v, n, y);
      }
    });
  });
}

}  // namespace

void register_lane_kernels(KernelRegistry& r) { r.add("fold_lanes", {"lanes", fold_lanes}); }

}  // namespace pijit
