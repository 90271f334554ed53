// Which of 32 bytes are not 0, as bits.
#pragma once
#include <immintrin.h>

#include <cstdint>

namespace pijit {

constexpr int64_t kBytesAtOnce = 32;
inline uint32_t set_bytes(const void* bytes) {
  const __m256i all = _mm256_loadu_si256(static_cast<const __m256i*>(bytes));
  return ~static_cast<uint32_t>(
      _mm256_movemask_epi8(_mm256_cmpeq_epi8(all, _mm256_setzero_si256())));
}

}  // namespace pijit
