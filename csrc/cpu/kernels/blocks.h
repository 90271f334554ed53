// Blocks of 8 rows of float32 beside each other, for kernels with AVX2: an element of each row to a
// vector.
#pragma once
#include <immintrin.h>

#include <cstdint>

#include "runtime/array.h"

namespace pijit {

constexpr int64_t kLanes = 8;

inline float* floats(const Block& b) { return reinterpret_cast<float*>(b.p); }

inline void transpose(__m256 (&v)[kLanes]) {
  __m256 t[kLanes], u[kLanes];
  for (int k = 0; k < 4; ++k) {
    t[2 * k] = _mm256_unpacklo_ps(v[2 * k], v[2 * k + 1]);
    t[2 * k + 1] = _mm256_unpackhi_ps(v[2 * k], v[2 * k + 1]);
  }
  for (int h = 0; h < 2; ++h) {
    u[4 * h] = _mm256_shuffle_ps(t[4 * h], t[4 * h + 2], 0x44);
    u[4 * h + 1] = _mm256_shuffle_ps(t[4 * h], t[4 * h + 2], 0xee);
    u[4 * h + 2] = _mm256_shuffle_ps(t[4 * h + 1], t[4 * h + 3], 0x44);
    u[4 * h + 3] = _mm256_shuffle_ps(t[4 * h + 1], t[4 * h + 3], 0xee);
  }
  for (int k = 0; k < 4; ++k) {
    v[k] = _mm256_permute2f128_ps(u[k], u[k + 4], 0x20);
    v[k + 4] = _mm256_permute2f128_ps(u[k], u[k + 4], 0x31);
  }
}
// The first n elements of `count` <= 8 rows, `step` apart. Missing rows: zeros. The block is a part
// of one of `width` rows.
inline void into_block(const float* rows, int64_t step, int64_t count, float* block, int64_t n,
                       int64_t width = kLanes) {
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    __m256 v[kLanes];
    for (int k = 0; k < kLanes; ++k)
      v[k] = k < count ? _mm256_loadu_ps(rows + k * step + i) : _mm256_setzero_ps();
    transpose(v);
    for (int k = 0; k < kLanes; ++k) _mm256_storeu_ps(block + (i + k) * width, v[k]);
  }
  for (; i < n; ++i)
    for (int k = 0; k < kLanes; ++k) block[i * width + k] = k < count ? rows[k * step + i] : 0.0f;
}
inline void out_of_block(const float* block, int64_t n, float* rows, int64_t step, int64_t count,
                         int64_t width = kLanes) {
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    __m256 v[kLanes];
    for (int k = 0; k < kLanes; ++k) v[k] = _mm256_loadu_ps(block + (i + k) * width);
    transpose(v);
    for (int k = 0; k < count; ++k) _mm256_storeu_ps(rows + k * step + i, v[k]);
  }
  for (; i < n; ++i)
    for (int k = 0; k < count; ++k) rows[k * step + i] = block[i * width + k];
}

}  // namespace pijit
