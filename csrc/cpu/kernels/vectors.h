// Vectors of float32 by instructions: what kernels that are written once for several sets of them
// compute with.
#pragma once
#include <immintrin.h>

#include <cstdint>

#include "cpu/activation.h"

namespace pijit {

namespace avx2 {
using Vector = __m256;
inline constexpr int64_t kVectorFloats = 8;
inline Vector load(const float* p) { return _mm256_loadu_ps(p); }
inline void store(float* p, Vector v) { _mm256_storeu_ps(p, v); }
inline Vector broadcast(float x) { return _mm256_set1_ps(x); }
inline Vector zero() { return _mm256_setzero_ps(); }
inline Vector fma(Vector a, Vector b, Vector c) { return _mm256_fmadd_ps(a, b, c); }
inline Vector add(Vector a, Vector b) { return _mm256_add_ps(a, b); }
inline Vector subtract(Vector a, Vector b) { return _mm256_sub_ps(a, b); }
inline Vector multiply(Vector a, Vector b) { return _mm256_mul_ps(a, b); }
// The second where one is no number.
inline Vector least(Vector a, Vector b) { return _mm256_min_ps(a, b); }
inline Vector greatest(Vector a, Vector b) { return _mm256_max_ps(a, b); }
#include "cpu/kernels/vector_activation.h"
}  // namespace avx2

#pragma GCC push_options
#pragma GCC target("avx512f,avx512dq,avx512bw,avx512vl")
namespace avx512 {
using Vector = __m512;
inline constexpr int64_t kVectorFloats = 16;
inline constexpr __mmask16 kAll = 0xffff;
inline Vector load(const float* p) { return _mm512_loadu_ps(p); }
inline void store(float* p, Vector v) { _mm512_storeu_ps(p, v); }
inline Vector broadcast(float x) { return _mm512_set1_ps(x); }
inline Vector zero() { return _mm512_setzero_ps(); }
inline Vector fma(Vector a, Vector b, Vector c) { return _mm512_fmadd_ps(a, b, c); }
inline Vector add(Vector a, Vector b) { return _mm512_add_ps(a, b); }
inline Vector subtract(Vector a, Vector b) { return _mm512_sub_ps(a, b); }
inline Vector multiply(Vector a, Vector b) { return _mm512_mul_ps(a, b); }
inline Vector least(Vector a, Vector b) { return _mm512_maskz_min_ps(kAll, a, b); }
inline Vector greatest(Vector a, Vector b) { return _mm512_maskz_max_ps(kAll, a, b); }
#include "cpu/kernels/vector_activation.h"
}  // namespace avx512
#pragma GCC pop_options

}  // namespace pijit
