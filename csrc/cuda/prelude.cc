#include "cuda/emit.h"
#include "graph/scalar.h"

namespace pijit::cuda {

// Semantics are those of graph/eval/scalar_eval.cc, which tests/cpp/cuda compares with.
static const char* const kPrelude = R"(
typedef unsigned char u8;
typedef signed char i8;
typedef unsigned short u16;
typedef short i16;
typedef unsigned int u32;
typedef int i32;
typedef unsigned long long u64;
typedef long long i64;
typedef float f32;
typedef double f64;

#define PJ __device__ __forceinline__

template <class T>
struct alignas(sizeof(T) < 4 ? 4 * sizeof(T) : 16) pj_vector {
  T v[4];
};

template <class To, class From>
PJ To pj_bits(From x) {
  union {
    From from;
    To to;
  } u;
  u.from = x;
  return u.to;
}

// Conversion as x86 does it: out of range and NaN give the least value of the signed type.
template <class F>
PJ i32 pj_to_i32(F x) {
  const double v = x;
  return v >= -2147483648.0 && v < 2147483648.0 ? (i32)v : (i32)0x80000000u;
}
template <class F>
PJ i64 pj_to_i64(F x) {
  const double v = x;
  return v >= -9223372036854775808.0 && v < 9223372036854775808.0 ? (i64)v
                                                                  : (i64)0x8000000000000000ull;
}
template <class F>
PJ u64 pj_to_u64(F x) {
  const double v = x;
  if (v >= 9223372036854775808.0) return v < 18446744073709551616.0 ? (u64)v : 0;
  return (u64)pj_to_i64(x);
}

PJ f32 pj_from_f16(u16 h) {
  const u32 sign = (u32)(h & 0x8000) << 16, exponent = (h >> 10) & 31, mantissa = h & 1023;
  if (exponent == 31)
    return pj_bits<f32>(sign | 0x7f800000u | mantissa << 13 | (mantissa ? 0x400000u : 0u));
  if (exponent) return pj_bits<f32>(sign | (exponent + 112) << 23 | mantissa << 13);
  const f32 f = (f32)mantissa * 5.9604644775390625e-8f;  // 2^-24
  return sign ? -f : f;
}
PJ u16 pj_to_f16(f32 x) {
  const u32 u = pj_bits<u32>(x), sign = (u >> 16) & 0x8000, a = u & 0x7fffffff;
  if (a > 0x7f800000u) return (u16)(sign | 0x7e00 | (a >> 13 & 0x1ff));
  if (a >= 0x477ff000u) return (u16)(sign | 0x7c00);  // rounds to 65536 or more
  if (a < 0x38800000u) {                              // below 2^-14: steps of 2^-24
    const f32 f = pj_bits<f32>(a) + 0.5f;             // rounds to nearest, even
    return (u16)(sign | (pj_bits<u32>(f) - 0x3f000000u));
  }
  return (u16)(sign | ((a - 0x38000000u + 0xfff + (a >> 13 & 1)) >> 13));
}
PJ f32 pj_from_bf16(u16 h) { return pj_bits<f32>((u32)h << 16); }
PJ u16 pj_to_bf16(f32 x) {
  const u32 u = pj_bits<u32>(x);
  if ((u & 0x7fffffff) > 0x7f800000u) return (u16)(u >> 16 | 0x40);
  return (u16)((u + 0x7fff + (u >> 16 & 1)) >> 16);
}

template <class T>
PJ T pj_floor_div(T a, T b) {
  if (b == 0) return 0;
  if ((T)-1 < (T)0) {
    if (b == (T)-1) return (T)(0 - (u64)a);
    const T q = (T)(a / b);
    return (T)(q - ((a % b != 0) && ((a < 0) != (b < 0))));
  }
  return (T)(a / b);
}
template <class T>
PJ T pj_trunc_mod(T a, T b) {
  if (b == 0 || ((T)-1 < (T)0 && b == (T)-1)) return 0;
  return (T)(a % b);
}
template <class T>
PJ T pj_floor_mod(T a, T b) {
  T r = pj_trunc_mod<T>(a, b);
  if ((T)-1 < (T)0 && r != 0 && ((r < 0) != (b < 0))) r = (T)(r + b);
  return r;
}
// Shifts by the width or more give 0, or the sign.
template <class T>
PJ T pj_shl(T a, T b) {
  return (u64)b < 8 * sizeof(T) ? (T)((u64)a << (int)b) : (T)0;
}
template <class T>
PJ T pj_shr(T a, T b) {
  return (u64)b < 8 * sizeof(T) ? (T)(a >> (int)b) : (T)(a < 0 ? -1 : 0);
}

PJ f32 pj_fma(f32 a, f32 b, f32 c) { return fmaf(a, b, c); }
PJ f64 pj_fma(f64 a, f64 b, f64 c) { return fma(a, b, c); }
PJ f32 pj_sqrt(f32 x) { return sqrtf(x); }
PJ f64 pj_sqrt(f64 x) { return sqrt(x); }
PJ f32 pj_floor(f32 x) { return floorf(x); }
PJ f64 pj_floor(f64 x) { return floor(x); }
PJ f32 pj_ceil(f32 x) { return ceilf(x); }
PJ f64 pj_ceil(f64 x) { return ceil(x); }
PJ f32 pj_rint(f32 x) { return rintf(x); }
PJ f64 pj_rint(f64 x) { return rint(x); }
PJ f32 pj_trunc(f32 x) { return truncf(x); }
PJ f64 pj_trunc(f64 x) { return trunc(x); }
PJ f32 pj_fabs(f32 x) { return fabsf(x); }
PJ f64 pj_fabs(f64 x) { return fabs(x); }
// a * 2^b
PJ int pj_exponent(double b) { return pj_to_i32(b > 4000 ? 4000.0 : b < -4000 ? -4000.0 : b); }
PJ f32 pj_scale(f32 a, f32 b) { return ldexpf(a, (int)fminf(fmaxf(b, -4000.0f), 4000.0f)); }
PJ f64 pj_scale(f64 a, f64 b) { return ldexp(a, pj_exponent(b)); }

template <class T>
PJ T pj_sum(T a, T b) { return (T)(a + b); }
template <class T>
PJ T pj_prod(T a, T b) { return (T)(a * b); }
// Integers wrap around; types of 32 bits and more do so in their unsigned types.
template <> PJ i32 pj_sum(i32 a, i32 b) { return (i32)((u32)a + (u32)b); }
template <> PJ i64 pj_sum(i64 a, i64 b) { return (i64)((u64)a + (u64)b); }
template <> PJ i32 pj_prod(i32 a, i32 b) { return (i32)((u32)a * (u32)b); }
template <> PJ i64 pj_prod(i64 a, i64 b) { return (i64)((u64)a * (u64)b); }
template <> PJ u16 pj_prod(u16 a, u16 b) { return (u16)((u32)a * (u32)b); }
template <class T>
PJ T pj_max(T a, T b) { return a != a ? a : a > b ? a : b; }
template <class T>
PJ T pj_min(T a, T b) { return a != a ? a : a < b ? a : b; }
template <class T>
PJ T pj_all(T a, T b) { return (T)(a && b); }
template <class T>
PJ T pj_any(T a, T b) { return (T)(a || b); }

// From the lane `by` above within a group of `width` threads. All threads of a warp call it.
PJ f32 pj_down(f32 x, int by, int width) { return __shfl_down_sync(~0u, x, by, width); }
PJ f64 pj_down(f64 x, int by, int width) { return __shfl_down_sync(~0u, x, by, width); }
PJ i64 pj_down(i64 x, int by, int width) { return __shfl_down_sync(~0u, x, by, width); }
PJ u64 pj_down(u64 x, int by, int width) { return __shfl_down_sync(~0u, x, by, width); }
PJ i32 pj_down(i32 x, int by, int width) { return __shfl_down_sync(~0u, x, by, width); }
PJ u32 pj_down(u32 x, int by, int width) { return __shfl_down_sync(~0u, x, by, width); }
PJ u8 pj_down(u8 x, int by, int width) { return (u8)pj_down((u32)x, by, width); }
PJ u16 pj_down(u16 x, int by, int width) { return (u16)pj_down((u32)x, by, width); }
PJ i8 pj_down(i8 x, int by, int width) { return (i8)pj_down((i32)x, by, width); }
PJ i16 pj_down(i16 x, int by, int width) { return (i16)pj_down((i32)x, by, width); }

#define PJ_NAN pj_bits<f64>(0x7ff8000000000000ull)
#define PJ_INF pj_bits<f64>(0x7ff0000000000000ull)
#define PJ_PI 3.14159265358979323846
)";

// digamma and trigamma as in graph/scalar.cc, without recursion: the reflected argument is
// positive.
static const char* const kGamma = R"(
#ifndef PJ_FAR  // a function of an angle that is far from 0
#define PJ_FAR(f, x) f(x)
#endif
PJ f64 pj_sin_far(f64 x) { return PJ_FAR(sin, x); }
PJ f64 pj_cos_far(f64 x) { return PJ_FAR(cos, x); }
PJ f64 pj_tan_far(f64 x) { return PJ_FAR(tan, x); }
PJ f64 pj_digamma_above(f64 x) {
  f64 r = 0;
  for (; x < 10; x += 1) r -= 1 / x;
  const f64 y = 1 / (x * x);
  return r + log(x) - 0.5 / x -
         y * (1. / 12 -
              y * (1. / 120 -
                   y * (1. / 252 - y * (1. / 240 - y * (1. / 132 - y * (691. / 32760 - y / 12))))));
}
__device__ f64 pj_digamma(f64 x) {
  if (x != x || x == PJ_INF) return x;
  if (x > 0) return pj_digamma_above(x);
  if (x == 0) return copysign(PJ_INF, -x);
  if (x == floor(x)) return PJ_NAN;
  const f64 y = 1 - x;
  return (y == PJ_INF ? y : pj_digamma_above(y)) - PJ_PI / tan(PJ_PI * x);
}
PJ f64 pj_trigamma_above(f64 x) {
  f64 r = 0;
  for (; x < 10; x += 1) r += 1 / (x * x);
  const f64 y = 1 / (x * x);
  return r + 1 / x + y / 2 +
         y / x *
             (1. / 6 -
              y * (1. / 30 - y * (1. / 42 - y * (1. / 30 - y * (5. / 66 - y * (691. / 2730))))));
}
__device__ f64 pj_trigamma(f64 x) {
  if (x != x) return x;
  if (x == PJ_INF) return 0;
  if (x > 0) return pj_trigamma_above(x);
  if (x == floor(x)) return PJ_INF;
  const f64 s = PJ_PI / sin(PJ_PI * x);
  return s * s - pj_trigamma_above(1 - x);
}
)";

const std::string& prelude() {
  static const std::string s = [] {
    std::string calls;
    // SourceKernel below; reduced by the toolkit's own method.
    auto own = [](Call1 f) {
      return f == Call1::digamma || f == Call1::trigamma || f == Call1::sin_far ||
             f == Call1::cos_far || f == Call1::tan_far;
    };
#define X(f) \
  if (!own(Call1::f)) calls += "PJ f64 pj_" #f "(f64 x) { return " #f "(x); }\n";
    PIJIT_CALLS1(X)
#undef X
#define X(f) calls += "PJ f64 pj_" #f "(f64 x, f64 y) { return " #f "(x, y); }\n";
    PIJIT_CALLS2(X)
#undef X
    return kPrelude + calls + kGamma;
  }();
  return s;
}

}  // namespace pijit::cuda
