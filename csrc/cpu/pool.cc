// Max pooling of float32 by 2 x 2 windows side by side, the common case, with AVX2: 8 windows at a
// time. The same choice as the reference: the first maximum in row-major order; the first NaN wins.
#include <immintrin.h>

#include <cstring>

#include "cpu/cpu.h"

namespace pijit {
namespace {

struct Planes {
  int64_t count, height, width, out_height, out_width;
};

bool geometry(const KernelRequest& r, const Shape& x, const Shape& y, Planes* p, std::string* why) {
  const OpCtx c = r.ctx();
  const std::vector<int64_t> two{2, 2}, none{0, 0, 0, 0};
  if (r.in[0].dtype != DType::F32) return *why = "dtype is not float32", false;
  if (c.ints("kernel") != two || c.ints("stride") != two || c.ints("pad") != none)
    return *why = "not 2 x 2 windows side by side", false;
  *p = {x[0] * x[1], x[2], x[3], y[2], y[3]};
  return true;
}

// Lanes below n, as a mask for 8 floats.
__m256i lanes(int64_t n) {
  const __m256i iota = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
  return _mm256_cmpgt_epi32(_mm256_set1_epi32(static_cast<int>(std::min<int64_t>(n, 8))), iota);
}

// The windows' upper or lower pairs: 2 * n floats at p as even and odd ones.
struct Pairs {
  __m256 even, odd;
  Pairs(const float* p, int64_t n) {
    __m256 a, b;
    if (n >= 8) {
      a = _mm256_loadu_ps(p);
      b = _mm256_loadu_ps(p + 8);
    } else {
      a = _mm256_maskload_ps(p, lanes(2 * n));
      b = _mm256_maskload_ps(p + 8, lanes(2 * n - 8));
    }
    auto in_order = [](__m256 v) {
      return _mm256_castpd_ps(_mm256_permute4x64_pd(_mm256_castps_pd(v), 0xd8));
    };
    even = in_order(_mm256_shuffle_ps(a, b, 0x88));
    odd = in_order(_mm256_shuffle_ps(a, b, 0xdd));
  }
};
void store_pairs(float* p, int64_t n, __m256 even, __m256 odd) {
  const __m256 lo = _mm256_unpacklo_ps(even, odd), hi = _mm256_unpackhi_ps(even, odd);
  const __m256 a = _mm256_permute2f128_ps(lo, hi, 0x20), b = _mm256_permute2f128_ps(lo, hi, 0x31);
  if (n >= 8) {
    _mm256_storeu_ps(p, a);
    _mm256_storeu_ps(p + 8, b);
  } else {
    _mm256_maskstore_ps(p, lanes(2 * n), a);
    _mm256_maskstore_ps(p + 8, lanes(2 * n - 8), b);
  }
}

// best = x where x replaces it; returns those lanes.
__m256 take(__m256* best, __m256 x) {
  const __m256 greater = _mm256_cmp_ps(x, *best, _CMP_GT_OQ);
  const __m256 first_nan = _mm256_and_ps(_mm256_cmp_ps(x, x, _CMP_UNORD_Q),
                                         _mm256_cmp_ps(*best, *best, _CMP_ORD_Q));
  const __m256 t = _mm256_or_ps(greater, first_nan);
  *best = _mm256_blendv_ps(*best, x, t);
  return t;
}

template <class F>
void each_plane(const Planes& g, F f) {
  const int64_t work = std::max<int64_t>(1, g.out_height * g.out_width);
  parallel_for(g.count, std::max<int64_t>(1, 40000 / work), [&](int64_t b, int64_t e) {
    for (int64_t p = b; p < e; ++p) f(p);
  });
}

std::unique_ptr<OpKernel> max_pool(const KernelRequest& r, std::string* why) {
  Planes g;
  if (!geometry(r, r.in[0].shape, r.out.shape, &g, why)) return nullptr;
  return fn_kernel([g](const void* const* in, void* out) {
    each_plane(g, [&](int64_t p) {
      const float* x = static_cast<const float*>(in[0]) + p * g.height * g.width;
      float* y = static_cast<float*>(out) + p * g.out_height * g.out_width;
      for (int64_t i = 0; i < g.out_height; ++i, x += 2 * g.width, y += g.out_width)
        for (int64_t j = 0; j < g.out_width; j += 8) {
          const int64_t n = g.out_width - j;
          const Pairs up(x + 2 * j, n), down(x + g.width + 2 * j, n);
          __m256 best = up.even;
          take(&best, up.odd);
          take(&best, down.even);
          take(&best, down.odd);
          if (n >= 8)
            _mm256_storeu_ps(y + j, best);
          else
            _mm256_maskstore_ps(y + j, lanes(n), best);
        }
    });
  });
}

std::unique_ptr<OpKernel> max_pool_dx(const KernelRequest& r, std::string* why) {
  Planes g;
  if (!geometry(r, r.in[0].shape, r.in[1].shape, &g, why)) return nullptr;
  const bool rest = g.height != 2 * g.out_height || g.width != 2 * g.out_width;
  return fn_kernel([g, rest](const void* const* in, void* out) {
    each_plane(g, [&](int64_t p) {
      const int64_t at = p * g.height * g.width;
      const float *x = static_cast<const float*>(in[0]) + at,
                  *dy = static_cast<const float*>(in[1]) + p * g.out_height * g.out_width;
      float* dx = static_cast<float*>(out) + at;
      if (rest) std::memset(dx, 0, static_cast<size_t>(g.height * g.width) * sizeof(float));
      for (int64_t i = 0; i < g.out_height;
           ++i, x += 2 * g.width, dx += 2 * g.width, dy += g.out_width)
        for (int64_t j = 0; j < g.out_width; j += 8) {
          const int64_t n = g.out_width - j;
          const Pairs up(x + 2 * j, n), down(x + g.width + 2 * j, n);
          __m256 d = n >= 8 ? _mm256_loadu_ps(dy + j) : _mm256_maskload_ps(dy + j, lanes(n));
          d = _mm256_add_ps(d, _mm256_setzero_ps());  // a sum that starts at 0: no -0.0
          __m256 best = up.even;
          const __m256 t1 = take(&best, up.odd), t2 = take(&best, down.even),
                       t3 = take(&best, down.odd);
          const __m256 later = _mm256_or_ps(t2, t3);
          store_pairs(dx + 2 * j, n, _mm256_andnot_ps(_mm256_or_ps(t1, later), d),
                      _mm256_and_ps(_mm256_andnot_ps(later, t1), d));
          store_pairs(dx + g.width + 2 * j, n, _mm256_and_ps(_mm256_andnot_ps(t3, t2), d),
                      _mm256_and_ps(t3, d));
        }
    });
  });
}

}  // namespace

void register_pool_kernels(KernelRegistry& r) {
  r.add("max_pool2d", {"avx2", max_pool});
  r.add("max_pool2d_dx", {"avx2", max_pool_dx});
}

}  // namespace pijit
