// Complex arrays out of real and imaginary parts.
#include "cpu/cpu.h"

namespace pijit {
namespace {

std::unique_ptr<OpKernel> interleave(const KernelRequest& r, std::string*) {
  const int64_t n = r.out.shape.numel();
  const bool single = r.out.dtype == DType::C64;
  return fn_kernel([=](const void* const* x, void* y) {
    auto go = [&](auto z) {
      using T = decltype(z);
      const T* re = static_cast<const T*>(x[0]);
      const T* im = static_cast<const T*>(x[1]);
      T* out = static_cast<T*>(y);
      parallel_for(n, 65536, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) {
          out[2 * i] = re[i];
          out[2 * i + 1] = im[i];
        }
      });
    };
    single ? go(float{}) : go(double{});
  });
}

}  // namespace

KernelFamily complex_pairs_kernels() { return {"pairs", {{"complex", interleave}}, kReference}; }

}  // namespace pijit
