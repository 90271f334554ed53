// Pooling of float32. Max pooling by 2 x 2 windows side by side, the common case, takes 8 windows
// at a time with AVX2 and makes the same choice as the reference: the first maximum in row-major
// order, the first NaN. Other windows are separable: first down the columns, along whole rows, then
// across.
#include <immintrin.h>

#include <algorithm>
#include <cstring>
#include <vector>

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
  const __m256 first_nan =
      _mm256_and_ps(_mm256_cmp_ps(x, x, _CMP_UNORD_Q), _mm256_cmp_ps(*best, *best, _CMP_ORD_Q));
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

// --- any windows

struct Windows {
  Planes p;
  int64_t kernel[2], stride[2], pad[2];  // down, across; pad: before
  bool count_pad = false;

  // Rows and columns of window i or j, clipped to the plane.
  std::pair<int64_t, int64_t> span(int64_t i, int axis) const {
    const int64_t at = i * stride[axis] - pad[axis], n = axis ? p.width : p.height;
    return {std::clamp<int64_t>(at, 0, n), std::clamp<int64_t>(at + kernel[axis], 0, n)};
  }
  float count(std::pair<int64_t, int64_t> h, std::pair<int64_t, int64_t> w) const {
    const int64_t n = count_pad ? kernel[0] * kernel[1]
                                : std::max<int64_t>(1, (h.second - h.first) * (w.second - w.first));
    return static_cast<float>(n);
  }
};

bool windows(const KernelRequest& r, const Shape& x, const Shape& y, Windows* g, std::string* why) {
  const OpCtx c = r.ctx();
  if (r.out.dtype != DType::F32) return *why = "dtype is not float32", false;
  g->p = {x[0] * x[1], x[2], x[3], y[2], y[3]};
  for (int a = 0; a < 2; ++a) {
    g->kernel[a] = c.ints("kernel")[a];
    g->stride[a] = c.ints("stride")[a];
    g->pad[a] = c.ints("pad")[2 * a];
  }
  if (r.op.name != "max_pool2d") g->count_pad = c.flag("count_pad");
  return true;
}

// Calls f(plane, scratch row) in parallel; the row holds an input row and its right padding.
template <class F>
void each_plane_with_row(const Windows& g, F f) {
  const int64_t work = std::max<int64_t>(1, g.p.out_height * g.p.out_width * g.kernel[0]);
  parallel_for(g.p.count, std::max<int64_t>(1, 40000 / work), [&](int64_t b, int64_t e) {
    std::vector<float> row(g.p.width + g.kernel[1] * 2 + g.pad[1]);
    for (int64_t p = b; p < e; ++p) f(p, row.data());
  });
}

// NaN-propagating maximum.
inline float larger(float a, float b) { return (b > a) | ((b != b) & (a == a)) ? b : a; }

std::unique_ptr<OpKernel> max_pool_any(const KernelRequest& r, std::string* why) {
  Windows g;
  if (!windows(r, r.in[0].shape, r.out.shape, &g, why)) return nullptr;
  return fn_kernel([g](const void* const* in, void* out) {
    each_plane_with_row(g, [&](int64_t p, float* row) {
      const float* x = static_cast<const float*>(in[0]) + p * g.p.height * g.p.width;
      float* y = static_cast<float*>(out) + p * g.p.out_height * g.p.out_width;
      for (int64_t i = 0; i < g.p.out_height; ++i, y += g.p.out_width) {
        const auto [h0, h1] = g.span(i, 0);
        std::copy_n(x + h0 * g.p.width, g.p.width, row);
        for (int64_t h = h0 + 1; h < h1; ++h) {
          const float* line = x + h * g.p.width;
          for (int64_t w = 0; w < g.p.width; ++w) row[w] = larger(row[w], line[w]);
        }
        for (int64_t j = 0; j < g.p.out_width; ++j) {
          const auto [w0, w1] = g.span(j, 1);
          float m = row[w0];
          for (int64_t w = w0 + 1; w < w1; ++w) m = larger(m, row[w]);
          y[j] = m;
        }
      }
    });
  });
}

std::unique_ptr<OpKernel> avg_pool(const KernelRequest& r, std::string* why) {
  Windows g;
  if (!windows(r, r.in[0].shape, r.out.shape, &g, why)) return nullptr;
  return fn_kernel([g](const void* const* in, void* out) {
    each_plane_with_row(g, [&](int64_t p, float* row) {
      const float* x = static_cast<const float*>(in[0]) + p * g.p.height * g.p.width;
      float* y = static_cast<float*>(out) + p * g.p.out_height * g.p.out_width;
      for (int64_t i = 0; i < g.p.out_height; ++i, y += g.p.out_width) {
        const auto h = g.span(i, 0);
        std::fill_n(row, g.p.width, 0.0f);
        for (int64_t k = h.first; k < h.second; ++k) {
          const float* line = x + k * g.p.width;
          for (int64_t w = 0; w < g.p.width; ++w) row[w] += line[w];
        }
        for (int64_t j = 0; j < g.p.out_width; ++j) {
          const auto w = g.span(j, 1);
          float sum = 0;
          for (int64_t k = w.first; k < w.second; ++k) sum += row[k];
          y[j] = sum / g.count(h, w);
        }
      }
    });
  });
}

std::unique_ptr<OpKernel> avg_pool_dx(const KernelRequest& r, std::string* why) {
  Windows g;
  if (!windows(r, r.out.shape, r.in[0].shape, &g, why)) return nullptr;
  return fn_kernel([g](const void* const* in, void* out) {
    each_plane_with_row(g, [&](int64_t p, float* row) {
      float* x = static_cast<float*>(out) + p * g.p.height * g.p.width;
      const float* y = static_cast<const float*>(in[0]) + p * g.p.out_height * g.p.out_width;
      std::fill_n(x, g.p.height * g.p.width, 0.0f);
      for (int64_t i = 0; i < g.p.out_height; ++i, y += g.p.out_width) {
        const auto h = g.span(i, 0);
        std::fill_n(row, g.p.width, 0.0f);
        for (int64_t j = 0; j < g.p.out_width; ++j) {
          const auto w = g.span(j, 1);
          const float d = y[j] / g.count(h, w);
          for (int64_t k = w.first; k < w.second; ++k) row[k] += d;
        }
        for (int64_t k = h.first; k < h.second; ++k) {
          float* line = x + k * g.p.width;
          for (int64_t w = 0; w < g.p.width; ++w) line[w] += row[w];
        }
      }
    });
  });
}

}  // namespace

void register_pool_kernels(KernelRegistry& r) {
  r.add("max_pool2d", {"avx2", max_pool});
  r.add("max_pool2d", {"separable", max_pool_any});
  r.add("max_pool2d_dx", {"avx2", max_pool_dx});
  r.add("avg_pool2d", {"separable", avg_pool});
  r.add("avg_pool2d_dx", {"separable", avg_pool_dx});
}

}  // namespace pijit
