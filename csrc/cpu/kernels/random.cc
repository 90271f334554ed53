// Philox4x32-10 on four counters at a time. The bits are those of the reference.
#include <immintrin.h>

#include <algorithm>
#include <cstring>

#include "cpu/cpu.h"

namespace pijit {
namespace {

constexpr int64_t kVectors = 4, kCounters = 4 * kVectors;

// The numbers of counters [at, at + kCounters), four each. A lane of 64 bits holds a word in its
// lower half; the upper halves hold what multiplications left there and no step reads.
void philox(uint64_t at, uint64_t draw, uint64_t seed, uint32_t* out) {
  const __m256i m0 = _mm256_set1_epi64x(0xD2511F53), m1 = _mm256_set1_epi64x(0xCD9E8D57);
  __m256i c[kVectors][4];
  for (int64_t v = 0; v < kVectors; ++v) {
    const __m256i index = _mm256_add_epi64(_mm256_set1_epi64x(static_cast<int64_t>(at) + 4 * v),
                                           _mm256_set_epi64x(3, 2, 1, 0));
    c[v][0] = index;
    c[v][1] = _mm256_srli_epi64(index, 32);
    c[v][2] = _mm256_set1_epi64x(static_cast<int64_t>(draw));
    c[v][3] = _mm256_srli_epi64(c[v][2], 32);
  }
  uint32_t k0 = static_cast<uint32_t>(seed), k1 = static_cast<uint32_t>(seed >> 32);
  for (int round = 0; round < 10; ++round) {
    const __m256i key0 = _mm256_set1_epi64x(k0), key1 = _mm256_set1_epi64x(k1);
    for (auto& w : c) {
      const __m256i a = _mm256_mul_epu32(w[0], m0), b = _mm256_mul_epu32(w[2], m1);
      w[0] = _mm256_xor_si256(_mm256_xor_si256(_mm256_srli_epi64(b, 32), w[1]), key0);
      w[2] = _mm256_xor_si256(_mm256_xor_si256(_mm256_srli_epi64(a, 32), w[3]), key1);
      w[1] = b;
      w[3] = a;
    }
    k0 += 0x9E3779B9u;
    k1 += 0xBB67AE85u;
  }
  for (auto& w : c) {
    const __m256i low = _mm256_blend_epi32(w[0], _mm256_slli_epi64(w[1], 32), 0xaa),
                  high = _mm256_blend_epi32(w[2], _mm256_slli_epi64(w[3], 32), 0xaa);
    const __m256i even = _mm256_unpacklo_epi64(low, high), odd = _mm256_unpackhi_epi64(low, high);
    auto* to = reinterpret_cast<__m256i*>(out);
    _mm256_storeu_si256(to, _mm256_permute2x128_si256(even, odd, 0x20));
    _mm256_storeu_si256(to + 1, _mm256_permute2x128_si256(even, odd, 0x31));
    out += 16;
  }
}

std::unique_ptr<OpKernel> random_bits(const KernelRequest& r, std::string*) {
  const int64_t n = r.out.shape.numel();
  return fn_kernel([=](const void* const* in, void* out) {
    uint64_t state[2];  // seed, draw
    std::memcpy(state, in[0], sizeof state);
    auto* y = static_cast<uint32_t*>(out);
    constexpr int64_t kNumbers = 4 * kCounters;
    parallel_for((n + kNumbers - 1) / kNumbers, 2048, [&](int64_t begin, int64_t end) {
      for (int64_t k = begin; k < end; ++k) {
        const auto at = static_cast<uint64_t>(k * kCounters);
        if ((k + 1) * kNumbers <= n) {
          philox(at, state[1], state[0], y + k * kNumbers);
        } else {
          uint32_t last[kNumbers];
          philox(at, state[1], state[0], last);
          std::copy_n(last, n - k * kNumbers, y + k * kNumbers);
        }
      }
    });
  });
}

}  // namespace

KernelFamily avx2_random_kernels() { return {"avx2", {{"random_bits", random_bits}}}; }

}  // namespace pijit
