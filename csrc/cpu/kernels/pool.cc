// Pooling of float32. 2 x 2 windows side by side, the common case, are taken 8 at a time with AVX2.
// Maxima are those of the reference: the first in row-major order, the first NaN. Sums go in
// row-major order as well, in every kernel and as in oneDNN's.
#include <algorithm>
#include <cstring>
#include <limits>
#include <vector>

#include "cpu/kernels/pool.h"
#include "runtime/pooled.h"

namespace pijit {
namespace {

struct Planes {
  int64_t count, height, width, out_height, out_width;
};

bool geometry(const KernelRequest& r, const Shape& x, const Shape& y, Planes* p, std::string* why) {
  const OpCtx c = r.ctx();
  const std::vector<int64_t> two{2, 2}, none{0, 0, 0, 0};
  if (r.in[0].dtype != DType::F32) return *why = "dtype is not float32", false;
  if (c.numbers("kernel") != two || c.numbers("stride") != two || c.numbers("pad") != none)
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
// The first n of 8. A masked store would take some 40 cycles on Zen.
inline void store_first(float* p, int64_t n, __m256 v) {
  if (n >= 8) return _mm256_storeu_ps(p, v);
  alignas(32) float part[8];
  _mm256_store_ps(part, v);
  for (int64_t k = 0; k < n; ++k) p[k] = part[k];
}
void store_pairs(float* p, int64_t n, __m256 even, __m256 odd) {
  const __m256 lo = _mm256_unpacklo_ps(even, odd), hi = _mm256_unpackhi_ps(even, odd);
  const __m256 a = _mm256_permute2f128_ps(lo, hi, 0x20), b = _mm256_permute2f128_ps(lo, hi, 0x31);
  store_first(p, 2 * n, a);
  store_first(p + 8, 2 * n - 8, b);
}

template <class F>
void each_plane(const Planes& g, F f) {
  const int64_t work = std::max<int64_t>(1, g.out_height * g.out_width);
  parallel_for(g.count, std::max<int64_t>(1, 40000 / work), [&](int64_t b, int64_t e) {
    for (int64_t p = b; p < e; ++p) f(p);
  });
}

// Where 8 of n begin: the last ones overlap those before them, if there are 8 at all.
inline int64_t overlapping(int64_t at, int64_t n) { return at + 8 > n && n >= 8 ? n - 8 : at; }

std::unique_ptr<OpKernel> max_pool(const KernelRequest& r, std::string* why) {
  Planes g;
  if (!geometry(r, r.in[0].shape, r.out.shape, &g, why)) return nullptr;
  return fn_kernel([g](const void* const* in, void* out) {
    each_plane(g, [&](int64_t p) {
      const float* x = static_cast<const float*>(in[0]) + p * g.height * g.width;
      float* y = static_cast<float*>(out) + p * g.out_height * g.out_width;
      for (int64_t i = 0; i < g.out_height; ++i, x += 2 * g.width, y += g.out_width)
        for (int64_t at = 0; at < g.out_width; at += 8) {
          const int64_t j = overlapping(at, g.out_width), n = g.out_width - j;
          const Pairs up(x + 2 * j, n), down(x + g.width + 2 * j, n);
          __m256 best = up.even;
          take(&best, up.odd);
          take(&best, down.even);
          take(&best, down.odd);
          store_first(y + j, n, best);
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
        for (int64_t first = 0; first < g.out_width; first += 8) {
          const int64_t j = overlapping(first, g.out_width), n = g.out_width - j;
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

std::unique_ptr<OpKernel> avg_pool_pairs(const KernelRequest& r, std::string* why) {
  Planes g;
  if (!geometry(r, r.in[0].shape, r.out.shape, &g, why)) return nullptr;
  return fn_kernel([g](const void* const* in, void* out) {
    const __m256 zero = _mm256_setzero_ps(), quarter = _mm256_set1_ps(0.25f);
    each_plane(g, [&](int64_t p) {
      const float* x = static_cast<const float*>(in[0]) + p * g.height * g.width;
      float* y = static_cast<float*>(out) + p * g.out_height * g.out_width;
      for (int64_t i = 0; i < g.out_height; ++i, x += 2 * g.width, y += g.out_width)
        for (int64_t at = 0; at < g.out_width; at += 8) {
          const int64_t j = overlapping(at, g.out_width), n = g.out_width - j;
          const Pairs up(x + 2 * j, n), down(x + g.width + 2 * j, n);
          const __m256 sum =
              _mm256_add_ps(_mm256_add_ps(_mm256_add_ps(up.even, up.odd), down.even), down.odd);
          // a sum that starts at 0: no -0.0
          store_first(y + j, n, _mm256_mul_ps(_mm256_add_ps(sum, zero), quarter));
        }
    });
  });
}

std::unique_ptr<OpKernel> avg_pool_pairs_dx(const KernelRequest& r, std::string* why) {
  Planes g;
  if (!geometry(r, r.out.shape, r.in[0].shape, &g, why)) return nullptr;
  const bool rest = g.height != 2 * g.out_height || g.width != 2 * g.out_width;
  return fn_kernel([g, rest](const void* const* in, void* out) {
    const __m256 zero = _mm256_setzero_ps(), quarter = _mm256_set1_ps(0.25f);
    each_plane(g, [&](int64_t p) {
      const float* dy = static_cast<const float*>(in[0]) + p * g.out_height * g.out_width;
      float* dx = static_cast<float*>(out) + p * g.height * g.width;
      if (rest) std::memset(dx, 0, static_cast<size_t>(g.height * g.width) * sizeof(float));
      for (int64_t i = 0; i < g.out_height; ++i, dx += 2 * g.width, dy += g.out_width)
        for (int64_t at = 0; at < g.out_width; at += 8) {
          const int64_t j = overlapping(at, g.out_width), n = g.out_width - j;
          const __m256 d = n >= 8 ? _mm256_loadu_ps(dy + j) : _mm256_maskload_ps(dy + j, lanes(n));
          const __m256 share = _mm256_add_ps(_mm256_mul_ps(d, quarter), zero);
          store_pairs(dx + 2 * j, n, share, share);
          store_pairs(dx + g.width + 2 * j, n, share, share);
        }
    });
  });
}

// --- any windows

struct Windows {
  Planes p;
  int64_t kernel[2], stride[2], pad[2];  // down, across; pad: before
  bool count_pad = false;

  // Of a row with all positions of all windows, and some more for loads of 8 windows.
  int64_t row_length() const {
    return std::max(pad[1] + p.width, (p.out_width + 8) * stride[1] + kernel[1]) + 16;
  }
  // Rows and columns of window i or j, clipped to the plane.
  std::pair<int64_t, int64_t> span(int64_t i, int axis) const {
    const int64_t at = i * stride[axis] - pad[axis], n = axis ? p.width : p.height;
    return {std::clamp<int64_t>(at, 0, n), std::clamp<int64_t>(at + kernel[axis], 0, n)};
  }
};

bool windows(const KernelRequest& r, const Shape& x, const Shape& y, Windows* g, std::string* why) {
  const OpCtx c = r.ctx();
  if (r.out.dtype != DType::F32) return *why = "dtype is not float32", false;
  g->p = {x[0] * x[1], x[2], x[3], y[2], y[3]};
  for (int a = 0; a < 2; ++a) {
    g->kernel[a] = c.numbers("kernel")[a];
    // (of one window no stride is used, however large)
    g->stride[a] = y[2 + a] > 1 ? c.numbers("stride")[a] : 1;
    g->pad[a] = c.numbers("pad")[2 * a];
  }
  if (r.op.name.starts_with("avg")) g->count_pad = c.flag("count_pad");
  return true;
}

// Calls f(plane, row of floats, row of ints) in parallel. A row has a place for each position that
// a window covers, padding included, from the first window's left edge.
template <class F>
void each_plane_with_rows(const Windows& g, float fill, F f) {
  const int64_t work = std::max<int64_t>(1, g.p.out_height * g.p.out_width * g.kernel[0]);
  const int64_t length = g.row_length();
  parallel_for(g.p.count, std::max<int64_t>(1, 40000 / work), [&](int64_t b, int64_t e) {
    PoolVector<float> row(length, fill);
    PoolVector<int32_t> place(length, std::numeric_limits<int32_t>::max());
    for (int64_t p = b; p < e; ++p) f(p, row.data(), place.data());
  });
}
// Strides that the compiler knows make loops over windows vector code.
template <class F>
void with_stride(int64_t stride, F f) {
  if (stride == 1)
    f(std::integral_constant<int64_t, 1>());
  else if (stride == 2)
    f(std::integral_constant<int64_t, 2>());
  else
    f(stride);
}

// 8 floats, `stride` apart; may read up to the 16th.
template <class S>
__m256 load_apart(const float* p, S stride) {
  if constexpr (std::is_same_v<S, std::integral_constant<int64_t, 1>>) {
    return _mm256_loadu_ps(p);
  } else if constexpr (std::is_same_v<S, std::integral_constant<int64_t, 2>>) {
    return Pairs(p, 8).even;
  } else {
    alignas(32) float v[8];
    for (int k = 0; k < 8; ++k) v[k] = p[k * stride];
    return _mm256_load_ps(v);
  }
}
// The first n of 8 floats.
inline __m256 load_first(const float* p, int64_t n) {
  return n >= 8 ? _mm256_loadu_ps(p) : _mm256_maskload_ps(p, lanes(n));
}
// The others keep what is there, which the caller owns.
inline void store_over(float* p, int64_t n, __m256 v) {
  if (n < 8) v = _mm256_blendv_ps(_mm256_loadu_ps(p), v, _mm256_castsi256_ps(lanes(n)));
  _mm256_storeu_ps(p, v);
}
// y[j] = finish(v, j), v = f(v, element) from `first` on, for one row of windows, whose elements
// come in row-major order. `row` holds the padding.
template <class F, class G>
void fold_windows(const Windows& g, const float* x, std::pair<int64_t, int64_t> rows, float first,
                  float* row, float* y, F f, G finish) {
  const int64_t n = g.p.out_width;
  thread_local PoolVector<float> folded;
  folded.assign(static_cast<size_t>(n + 8), first);
  with_stride(g.stride[1], [&](auto stride) {
    for (int64_t h = rows.first; h < rows.second; ++h) {
      std::copy_n(x + h * g.p.width, g.p.width, row + g.pad[1]);
      for (int64_t j = 0; j < n; j += 8) {
        const float* p = row + j * stride;
        __m256 v = _mm256_loadu_ps(&folded[j]);
        for (int64_t k = 0; k < g.kernel[1]; ++k) v = f(v, load_apart(p + k, stride));
        _mm256_storeu_ps(&folded[j], v);
      }
    }
  });
  for (int64_t j = 0; j < n; j += 8)
    store_first(y + j, n - j, finish(_mm256_loadu_ps(&folded[j]), j));
}

// a where t, else b.
inline __m256i select(__m256 t, __m256i a, __m256i b) {
  return _mm256_blendv_epi8(b, a, _mm256_castps_si256(t));
}

constexpr float kLeast = -std::numeric_limits<float>::infinity();

// Maxima down the columns, then across, which takes fewer steps than all of a window in order. That
// may keep another of 0.0 and -0.0, and passes over NaN: false where there is NaN or -0.0.
bool separable_maxima(const Windows& g, const float* x, std::pair<int64_t, int64_t> rows,
                      float* row, float* y) {
  const __m256i minus_zero = _mm256_set1_epi32(std::numeric_limits<int32_t>::min());
  __m256 odd = _mm256_setzero_ps();
  auto look = [&](__m256 v) {
    const __m256 zero = _mm256_castsi256_ps(_mm256_cmpeq_epi32(_mm256_castps_si256(v), minus_zero));
    odd = _mm256_or_ps(odd, _mm256_or_ps(zero, _mm256_cmp_ps(v, v, _CMP_UNORD_Q)));
    return v;
  };
  for (int64_t w = 0; w < g.p.width; w += 8) {
    const int64_t n = g.p.width - w;
    const float* p = x + rows.first * g.p.width + w;
    __m256 v = look(load_first(p, n));
    for (int64_t h = rows.first + 1; h < rows.second; ++h)
      v = _mm256_max_ps(v, look(load_first(p += g.p.width, n)));
    store_over(row + g.pad[1] + w, n, v);
  }
  if (_mm256_movemask_ps(odd)) return false;
  with_stride(g.stride[1], [&](auto stride) {
    const int64_t n = g.p.out_width;
    for (int64_t at = 0; at < n; at += 8) {
      const int64_t j = overlapping(at, n);
      const float* p = row + j * stride;
      __m256 v = load_apart(p, stride);
      for (int64_t k = 1; k < g.kernel[1]; ++k) v = _mm256_max_ps(v, load_apart(p + k, stride));
      store_first(y + j, n - j, v);
    }
  });
  return true;
}

std::unique_ptr<OpKernel> max_pool_any(const KernelRequest& r, std::string* why) {
  Windows g;
  if (!windows(r, r.in[0].shape, r.out.shape, &g, why)) return nullptr;
  return fn_kernel([g](const void* const* in, void* out) {
    each_plane_with_rows(g, kLeast, [&](int64_t p, float* row, int32_t*) {
      const float* x = static_cast<const float*>(in[0]) + p * g.p.height * g.p.width;
      float* y = static_cast<float*>(out) + p * g.p.out_height * g.p.out_width;
      for (int64_t i = 0; i < g.p.out_height; ++i, y += g.p.out_width)
        if (!separable_maxima(g, x, g.span(i, 0), row, y))
          fold_windows(
              g, x, g.span(i, 0), kLeast, row, y,
              [](__m256 best, __m256 v) { return take(&best, v), best; },
              [](__m256 v, int64_t) { return v; });
    });
  });
}

// The first maximum in row-major order takes a window's gradient: first the first maximum of each
// column and its row, then along the row the greater one, and of equal ones the higher up.
std::unique_ptr<OpKernel> max_pool_dx_any(const KernelRequest& r, std::string* why) {
  Windows g;
  if (!windows(r, r.in[0].shape, r.in[1].shape, &g, why)) return nullptr;
  if (g.p.height * g.p.width > std::numeric_limits<int32_t>::max())
    return *why = "planes too large", nullptr;
  return fn_kernel([g](const void* const* in, void* out) {
    each_plane_with_rows(g, kLeast, [&](int64_t p, float* row, int32_t* place) {
      const float* x = static_cast<const float*>(in[0]) + p * g.p.height * g.p.width;
      const float* dy = static_cast<const float*>(in[1]) + p * g.p.out_height * g.p.out_width;
      float* dx = static_cast<float*>(out) + p * g.p.height * g.p.width;
      std::fill_n(dx, g.p.height * g.p.width, 0.0f);
      PoolVector<int32_t> winners(g.p.out_width + 8);
      int32_t* at = winners.data();
      const float* places = reinterpret_cast<const float*>(place);  // bits only
      const __m256i iota = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
      for (int64_t i = 0; i < g.p.out_height; ++i, dy += g.p.out_width) {
        const auto [h0, h1] = g.span(i, 0);
        for (int64_t w = 0; w < g.p.width; w += 8) {
          const int64_t n = g.p.width - w;
          __m256 best = load_first(x + h0 * g.p.width + w, n);
          __m256i from = _mm256_set1_epi32(static_cast<int32_t>(h0 * g.p.width));
          for (int64_t h = h0 + 1; h < h1; ++h) {
            const __m256 t = take(&best, load_first(x + h * g.p.width + w, n));
            from = select(t, _mm256_set1_epi32(static_cast<int32_t>(h * g.p.width)), from);
          }
          store_over(row + g.pad[1] + w, n, best);
          store_over(reinterpret_cast<float*>(place + g.pad[1] + w), n, _mm256_castsi256_ps(from));
        }
        with_stride(g.stride[1], [&](auto stride) {
          for (int64_t j = 0; j < g.p.out_width; j += 8) {
            const int64_t first = j * stride;
            __m256 best = load_apart(row + first, stride);
            __m256i best_row = _mm256_castps_si256(load_apart(places + first, stride));
            __m256i best_k = _mm256_setzero_si256();
            for (int64_t k = 1; k < g.kernel[1]; ++k) {
              const __m256 v = load_apart(row + first + k, stride), old = best;
              const __m256i v_row = _mm256_castps_si256(load_apart(places + first + k, stride));
              const __m256 both_nan = _mm256_and_ps(_mm256_cmp_ps(v, v, _CMP_UNORD_Q),
                                                    _mm256_cmp_ps(old, old, _CMP_UNORD_Q));
              const __m256 tie = _mm256_or_ps(_mm256_cmp_ps(v, old, _CMP_EQ_OQ), both_nan);
              const __m256 higher = _mm256_castsi256_ps(_mm256_cmpgt_epi32(best_row, v_row));
              const __m256 t = _mm256_or_ps(take(&best, v), _mm256_and_ps(tie, higher));
              best = _mm256_blendv_ps(best, v, t);
              best_row = select(t, v_row, best_row);
              best_k = select(t, _mm256_set1_epi32(static_cast<int32_t>(k)), best_k);
            }
            const auto apart = static_cast<int32_t>(stride);
            const __m256i left =
                _mm256_add_epi32(_mm256_mullo_epi32(iota, _mm256_set1_epi32(apart)),
                                 _mm256_set1_epi32(static_cast<int32_t>(first - g.pad[1])));
            _mm256_storeu_si256(reinterpret_cast<__m256i*>(at + j),
                                _mm256_add_epi32(best_row, _mm256_add_epi32(left, best_k)));
          }
        });
        for (int64_t j = 0; j < g.p.out_width; ++j) dx[at[j]] += dy[j];
      }
    });
  });
}

// Elements per window, padding included where that counts: per column of windows, for full height.
PoolVector<float> window_widths(const Windows& g) {
  PoolVector<float> n(g.p.out_width + 8);
  for (int64_t j = 0; j < g.p.out_width; ++j) {
    const auto w = g.span(j, 1);
    n[j] = static_cast<float>(g.count_pad ? g.kernel[1] : w.second - w.first);
  }
  return n;
}
float window_height(const Windows& g, std::pair<int64_t, int64_t> h) {
  return static_cast<float>(g.count_pad ? g.kernel[0] : h.second - h.first);
}

std::unique_ptr<OpKernel> avg_pool(const KernelRequest& r, std::string* why) {
  Windows g;
  if (!windows(r, r.in[0].shape, r.out.shape, &g, why)) return nullptr;
  return fn_kernel([g, widths = window_widths(g)](const void* const* in, void* out) {
    each_plane_with_rows(g, 0, [&](int64_t p, float* row, int32_t*) {
      const float* x = static_cast<const float*>(in[0]) + p * g.p.height * g.p.width;
      float* y = static_cast<float*>(out) + p * g.p.out_height * g.p.out_width;
      for (int64_t i = 0; i < g.p.out_height; ++i, y += g.p.out_width) {
        const auto rows = g.span(i, 0);
        const __m256 height = _mm256_set1_ps(window_height(g, rows));
        auto sum = [](__m256 a, __m256 v) { return _mm256_add_ps(a, v); };
        fold_windows(g, x, rows, 0.0f, row, y, sum, [&](__m256 v, int64_t j) {
          const __m256 n = _mm256_mul_ps(height, _mm256_loadu_ps(widths.data() + j));
          return _mm256_div_ps(v, _mm256_max_ps(n, _mm256_set1_ps(1)));
        });
      }
    });
  });
}

std::unique_ptr<OpKernel> avg_pool_dx(const KernelRequest& r, std::string* why) {
  Windows g;
  if (!windows(r, r.out.shape, r.in[0].shape, &g, why)) return nullptr;
  return fn_kernel([g, widths = window_widths(g)](const void* const* in, void* out) {
    each_plane_with_rows(g, 0, [&](int64_t p, float* row, int32_t*) {
      float* x = static_cast<float*>(out) + p * g.p.height * g.p.width;
      const float* y = static_cast<const float*>(in[0]) + p * g.p.out_height * g.p.out_width;
      std::fill_n(x, g.p.height * g.p.width, 0.0f);
      const int64_t length = g.row_length();
      PoolVector<float> share(g.p.out_width);
      const float* column = row + g.pad[1];
      for (int64_t i = 0; i < g.p.out_height; ++i, y += g.p.out_width) {
        const auto h = g.span(i, 0);
        const float height = window_height(g, h);
        for (int64_t j = 0; j < g.p.out_width; ++j)
          share[j] = y[j] / std::max(1.0f, height * widths[j]);
        std::fill_n(row, length, 0.0f);
        // windows from left to right at each place
        with_stride(g.stride[1], [&](auto stride) {
          for (int64_t k = g.kernel[1]; k-- > 0;)
            for (int64_t j = 0; j < g.p.out_width; ++j) row[j * stride + k] += share[j];
        });
        for (int64_t k = h.first; k < h.second; ++k) {
          float* line = x + k * g.p.width;
          for (int64_t w = 0; w < g.p.width; ++w) line[w] += column[w];
        }
      }
    });
  });
}

}  // namespace

std::unique_ptr<OpKernel> own_max_pool(const KernelRequest& r, std::string* why) {
  if (r.in[0].shape.rank() == 5) return blocked_max_pool(r, why);
  auto k = max_pool(r, why);
  return k ? std::move(k) : max_pool_any(r, why);
}
std::unique_ptr<OpKernel> own_max_pool_dx(const KernelRequest& r, std::string* why) {
  if (r.in[0].shape.rank() == 5) return blocked_max_pool_dx(r, why);
  auto k = max_pool_dx(r, why);
  return k ? std::move(k) : max_pool_dx_any(r, why);
}

KernelFamily avx2_pool_kernels() {
  return {"avx2",
          {{"max_pool2d", own_max_pool},
           {"max_pool2d_dx", own_max_pool_dx},
           {"max_pool2d_blocked", own_max_pool},
           {"max_pool2d_dx_blocked", own_max_pool_dx},
           {"avg_pool2d", avg_pool_pairs},
           {"avg_pool2d_dx", avg_pool_pairs_dx}}};
}
KernelFamily rows_pool_kernels() {
  return {"rows", {{"avg_pool2d", avg_pool}, {"avg_pool2d_dx", avg_pool_dx}}};
}

}  // namespace pijit
