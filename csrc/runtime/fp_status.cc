#include "runtime/fp_status.h"

#if defined(__x86_64__)
#include <immintrin.h>
#else
#include <cfenv>
#endif

namespace pijit {

#if defined(__x86_64__)

constexpr unsigned kFlags = kFpInvalid | kFpDivide | kFpOverflow | kFpUnderflow;

void clear_own_fp_flags() {
  constexpr unsigned kAll = 0x3f;
  const unsigned now = _mm_getcsr();
  if (now & kAll) _mm_setcsr(now & ~kAll);
}
unsigned own_fp_flags() { return _mm_getcsr() & kFlags; }

static unsigned x87_flags() {
  unsigned short word;
  asm volatile("fnstsw %0" : "=a"(word));
  return word;
}

void clear_fp_flags() {
  clear_own_fp_flags();
  if (x87_flags() & kFlags) asm volatile("fnclex");
}
unsigned fp_flags() { return (_mm_getcsr() | x87_flags()) & kFlags; }

#else

void clear_fp_flags() { std::feclearexcept(FE_ALL_EXCEPT); }
void clear_own_fp_flags() { clear_fp_flags(); }
unsigned own_fp_flags() { return fp_flags(); }
unsigned fp_flags() {
  const int now = std::fetestexcept(FE_ALL_EXCEPT);
  return (now & FE_INVALID ? kFpInvalid : 0) | (now & FE_DIVBYZERO ? kFpDivide : 0) |
         (now & FE_OVERFLOW ? kFpOverflow : 0) | (now & FE_UNDERFLOW ? kFpUnderflow : 0);
}

#endif

}  // namespace pijit
