// Max pooling of float32 maps with channels in blocks, where oneDNN's does not serve: values that
// it passes over, and 2 x 2 windows side by side. 8 channels at a time with AVX2.
#include <algorithm>
#include <cstring>
#include <limits>
#include <vector>

#include "cpu/kernels/pool.h"

namespace pijit {
namespace {

// Planes of one block of channels each; a pixel is `block` floats.
struct Windows {
  int64_t planes, height, width, out_height, out_width, block;
  int64_t kernel[2], stride[2], pad[2];
  bool pairs;  // 2 x 2 windows side by side

  std::pair<int64_t, int64_t> span(int64_t i, int axis) const {
    const int64_t at = i * stride[axis] - pad[axis], n = axis ? width : height;
    return {std::clamp<int64_t>(at, 0, n), std::clamp<int64_t>(at + kernel[axis], 0, n)};
  }
  // f(first float of the plane's input, first of its output, lane) for 8 lanes at a time.
  template <class F>
  void each_part(F f) const {
    const int64_t parts = block / 8, work = std::max<int64_t>(1, out_height * out_width);
    parallel_for(planes * parts, std::max<int64_t>(1, 5000 / work), [&](int64_t b, int64_t e) {
      for (int64_t p = b; p < e; ++p) {
        const int64_t plane = p / parts, lane = p % parts * 8;
        f(plane * height * width * block + lane, plane * out_height * out_width * block + lane);
      }
    });
  }
};

bool windows(const KernelRequest& r, const Shape& x, const Shape& y, Windows* g, std::string* why) {
  const OpCtx c = r.ctx();
  if (r.out.dtype != DType::F32) return *why = "dtype is not float32", false;
  if (x[4] % 8 != 0) return *why = "blocks are not of 8 channels", false;
  if (x[2] * x[3] > std::numeric_limits<int32_t>::max()) return *why = "planes too large", false;
  *g = {x[0] * x[1], x[2], x[3], y[2], y[3], x[4], {}, {}, {}, false};
  for (int a = 0; a < 2; ++a) {
    g->kernel[a] = c.numbers("kernel")[a];
    g->stride[a] = c.numbers("stride")[a];
    g->pad[a] = c.numbers("pad")[2 * a];
  }
  const std::vector<int64_t> two{2, 2}, none{0, 0, 0, 0};
  g->pairs = c.numbers("kernel") == two && c.numbers("stride") == two && c.numbers("pad") == none;
  return true;
}

}  // namespace

std::unique_ptr<OpKernel> blocked_max_pool(const KernelRequest& r, std::string* why) {
  Windows g;
  if (!windows(r, r.in[0].shape, r.out.shape, &g, why)) return nullptr;
  return fn_kernel([g](const void* const* in, void* out) {
    const int64_t row = g.width * g.block;
    const __m256 least = _mm256_set1_ps(-std::numeric_limits<float>::infinity());
    g.each_part([&](int64_t from, int64_t to) {
      const float* x = static_cast<const float*>(in[0]) + from;
      float* y = static_cast<float*>(out) + to;
      for (int64_t i = 0; i < g.out_height; ++i) {
        const auto [h0, h1] = g.span(i, 0);
        for (int64_t j = 0; j < g.out_width; ++j, y += g.block) {
          const auto [w0, w1] = g.span(j, 1);
          if (g.pairs) {
            const float* p = x + h0 * row + w0 * g.block;
            const __m256 v[] = {_mm256_loadu_ps(p), _mm256_loadu_ps(p + g.block),
                                _mm256_loadu_ps(p + row), _mm256_loadu_ps(p + row + g.block)};
            // Of equal ones, and beside NaN, the instruction takes its second operand.
            __m256 best = _mm256_max_ps(v[1], v[0]);
            best = _mm256_max_ps(v[3], _mm256_max_ps(v[2], best));
            const __m256 nan = _mm256_or_ps(_mm256_cmp_ps(v[0], v[1], _CMP_UNORD_Q),
                                            _mm256_cmp_ps(v[2], v[3], _CMP_UNORD_Q));
            if (!_mm256_testz_ps(nan, nan)) {
              best = v[0];
              for (int k = 1; k < 4; ++k) take(&best, v[k]);
            }
            _mm256_storeu_ps(y, best);
            continue;
          }
          __m256 best = least;
          for (int64_t h = h0; h < h1; ++h)
            for (int64_t w = w0; w < w1; ++w)
              take(&best, _mm256_loadu_ps(x + h * row + w * g.block));
          _mm256_storeu_ps(y, best);
        }
      }
    });
  });
}

// The first maximum in row-major order takes the gradient of its window.
std::unique_ptr<OpKernel> blocked_max_pool_dx(const KernelRequest& r, std::string* why) {
  Windows g;
  if (!windows(r, r.in[0].shape, r.in[1].shape, &g, why)) return nullptr;
  return fn_kernel([g](const void* const* in, void* out) {
    const int64_t row = g.width * g.block;
    const __m256 zero = _mm256_setzero_ps();
    g.each_part([&](int64_t from, int64_t to) {
      const float *x = static_cast<const float*>(in[0]) + from,
                  *dy = static_cast<const float*>(in[1]) + to;
      float* dx = static_cast<float*>(out) + from;
      if (!g.pairs || g.height != 2 * g.out_height || g.width != 2 * g.out_width)
        for (int64_t k = 0; k < g.height * g.width; ++k) _mm256_storeu_ps(dx + k * g.block, zero);
      for (int64_t i = 0; i < g.out_height; ++i) {
        const auto [h0, h1] = g.span(i, 0);
        for (int64_t j = 0; j < g.out_width; ++j, dy += g.block) {
          const auto [w0, w1] = g.span(j, 1);
          if (g.pairs) {  // each pixel is in one window: written once
            const int64_t at = h0 * row + w0 * g.block;
            const float* p = x + at;
            float* q = dx + at;
            const __m256 d = _mm256_add_ps(_mm256_loadu_ps(dy), zero);  // no -0.0
            __m256 best = _mm256_loadu_ps(p);
            const __m256 t1 = take(&best, _mm256_loadu_ps(p + g.block)),
                         t2 = take(&best, _mm256_loadu_ps(p + row)),
                         t3 = take(&best, _mm256_loadu_ps(p + row + g.block));
            const __m256 later = _mm256_or_ps(t2, t3);
            _mm256_storeu_ps(q, _mm256_andnot_ps(_mm256_or_ps(t1, later), d));
            _mm256_storeu_ps(q + g.block, _mm256_and_ps(_mm256_andnot_ps(later, t1), d));
            _mm256_storeu_ps(q + row, _mm256_and_ps(_mm256_andnot_ps(t3, t2), d));
            _mm256_storeu_ps(q + row + g.block, _mm256_and_ps(t3, d));
            continue;
          }
          __m256 best = _mm256_loadu_ps(x + h0 * row + w0 * g.block);
          __m256i place = _mm256_set1_epi32(static_cast<int32_t>(h0 * g.width + w0));
          for (int64_t h = h0; h < h1; ++h)
            for (int64_t w = w0; w < w1; ++w) {
              const __m256 t = take(&best, _mm256_loadu_ps(x + h * row + w * g.block));
              const __m256i here = _mm256_set1_epi32(static_cast<int32_t>(h * g.width + w));
              place = _mm256_blendv_epi8(place, here, _mm256_castps_si256(t));
            }
          const __m256 d = _mm256_loadu_ps(dy);
          for (int64_t h = h0; h < h1; ++h)
            for (int64_t w = w0; w < w1; ++w) {
              const __m256i here = _mm256_set1_epi32(static_cast<int32_t>(h * g.width + w));
              const __m256 hit = _mm256_castsi256_ps(_mm256_cmpeq_epi32(place, here));
              float* p = dx + h * row + w * g.block;
              const __m256 old = _mm256_loadu_ps(p);
              _mm256_storeu_ps(p, _mm256_blendv_ps(old, _mm256_add_ps(old, d), hit));
            }
        }
      }
    });
  });
}

}  // namespace pijit
