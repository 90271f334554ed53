// What the kernels for pooling share.
#pragma once
#include <immintrin.h>

#include "cpu/cpu.h"

namespace pijit {

// best = x where x replaces it, as the first maximum or the first NaN; returns those lanes.
inline __m256 take(__m256* best, __m256 x) {
  const __m256 greater = _mm256_cmp_ps(x, *best, _CMP_GT_OQ);
  const __m256 first_nan =
      _mm256_and_ps(_mm256_cmp_ps(x, x, _CMP_UNORD_Q), _mm256_cmp_ps(*best, *best, _CMP_ORD_Q));
  const __m256 t = _mm256_or_ps(greater, first_nan);
  *best = _mm256_blendv_ps(*best, x, t);
  return t;
}

// Max pooling, and its gradient, of any values in either layout; the last two in blocks.
std::unique_ptr<OpKernel> own_max_pool(const KernelRequest& r, std::string* why);
std::unique_ptr<OpKernel> own_max_pool_dx(const KernelRequest& r, std::string* why);
std::unique_ptr<OpKernel> blocked_max_pool(const KernelRequest& r, std::string* why);
std::unique_ptr<OpKernel> blocked_max_pool_dx(const KernelRequest& r, std::string* why);

}  // namespace pijit
