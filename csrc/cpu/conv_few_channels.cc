// Convolutions of float32 images of one or two channels with fewer than 16 filters, and gradients
// of their weights, with AVX2: 8 filters to a vector. oneDNN's kernels for AVX2 fill up a block of
// 8 input channels with zeros, or leave lanes empty: they take 1.2 to 3 times as long forward, up
// to 7 times with the gradient. With more channels or filters they are the faster ones, by up to 2
// and 3 times (measured: 1 to 4 channels, 6 to 32 filters of 3 x 3 and 5 x 5, maps of 8 x 8 to 64 x
// 64).
//
// What is computed for an element, and so each bit, is the same for maps in blocks of channels and
// plain ones: products are added in the order of the filter's weights, gradients by image in the
// order of its pixels.
#include <immintrin.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

#include "cpu/cpu.h"

namespace pijit {
namespace {

constexpr int kLanes = 8, kMaxChannels = 2, kMaxFilters = 15, kMaxKernel = 7;
// Accumulators in registers.
constexpr int kMaxPixels = 12, kMaxTaps = 14;

struct Images {
  int64_t count, channels, height, width, filters, out_height, out_width, kernel[2], stride[2],
      pad[2];
  bool blocked;   // y, in blocks of 8 channels
  int64_t pitch;  // of a plane with its padded columns
  double flops;

  int64_t filter_blocks() const { return (filters + kLanes - 1) / kLanes; }
  int64_t taps() const { return kernel[0] * kernel[1]; }
  int64_t out_pixels() const { return out_height * out_width; }
  // Filters of a block.
  int64_t filters_of(int64_t block) const {
    return std::min<int64_t>(kLanes, filters - block * kLanes);
  }
  // First float of a block of filters of an image's output.
  int64_t out_at(int64_t image, int64_t block) const {
    return (image * filters + block * kLanes) * out_pixels();
  }
  // Kernel rows that lie on the image for output row i: [first, past).
  std::pair<int64_t, int64_t> rows_at(int64_t i) const { return span(i, 0, height); }
  std::pair<int64_t, int64_t> columns_at(int64_t j) const { return span(j, 1, width); }
  // Output columns whose windows lie on the image: [first, past).
  std::pair<int64_t, int64_t> inner_columns() const {
    const int64_t first = std::min(out_width, (pad[1] + stride[1] - 1) / stride[1]);
    const int64_t last = width + pad[1] - kernel[1];  // where the last such window begins
    return {first, std::clamp(last < 0 ? 0 : last / stride[1] + 1, first, out_width)};
  }

 private:
  std::pair<int64_t, int64_t> span(int64_t at, int axis, int64_t n) const {
    const int64_t begin = at * stride[axis] - pad[axis];
    const int64_t first = std::min(std::max<int64_t>(0, -begin), kernel[axis]);
    return {first, std::clamp(n - begin, first, kernel[axis])};
  }
};

bool images_of(const KernelRequest& r, const Shape& x, const Shape& w, const Shape& y, Images* g,
               std::string* why) {
  const OpCtx c = r.ctx();
  const std::vector<int64_t> ones{1, 1};
  const auto &stride = c.numbers("stride"), &pad = c.numbers("pad");
  for (size_t i = 0; i < r.in.size(); ++i)
    if (r.present[i] && r.in[i].dtype != DType::F32) return *why = "dtype is not float32", false;
  if (r.out.dtype != DType::F32) return *why = "dtype is not float32", false;
  if (channel_block() == 16) return *why = "oneDNN's kernels for AVX-512 are as fast", false;
  if (x.rank() != 4 || c.i("group") != 1 || c.numbers("dilation") != ones)
    return *why = "blocks, groups or dilation", false;
  if (x[1] > kMaxChannels || w[0] > kMaxFilters)
    return *why = "oneDNN is faster for more channels or filters", false;
  if (w[2] > kMaxKernel || w[3] > kMaxKernel || stride[0] > 2 || stride[1] > 2)
    return *why = "not a small kernel and stride", false;
  if (x.numel() == 0 || w.numel() == 0 || y.numel() == 0) return *why = "empty tensor", false;
  const bool blocked = y.rank() == 5;
  if (blocked && y[4] != kLanes) return *why = "blocks are not of 8 channels", false;
  *g = {x[0],
        x[1],
        x[2],
        x[3],
        w[0],
        y[2],
        y[3],
        {w[2], w[3]},
        {stride[0], stride[1]},
        {pad[0], pad[2]},
        blocked,
        x[3] + pad[2] + pad[3],
        0};
  g->flops = 2.0 * static_cast<double>(x[0] * w.numel() * y[2] * y[3]);
  return true;
}

// A plane of each channel of an image, with zeros for padded columns and what the last window
// reaches over.
class Planes {
 public:
  explicit Planes(const Images& g)
      : g_(g), zeros_(g.channels * g.height * g.pitch + kLanes * kMaxPixels) {}
  void load(const float* image) {
    for (int64_t row = 0; row < g_.channels * g_.height; ++row)
      std::memcpy(zeros_.data() + row * g_.pitch + g_.pad[1], image + row * g_.width,
                  static_cast<size_t>(g_.width) * sizeof(float));
  }
  const float* row(int64_t channel, int64_t i) const {
    return zeros_.data() + (channel * g_.height + i) * g_.pitch;
  }

 private:
  const Images& g_;
  std::vector<float> zeros_;
};

void transpose(__m256 (&v)[kLanes]) {
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
// n pixels of up to 8 planes, `pixels` apart, to a vector for each pixel. Missing planes: zeros.
void into_block(const float* planes, int64_t pixels, int64_t count, float* block, int64_t n) {
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    __m256 v[kLanes];
    for (int k = 0; k < kLanes; ++k)
      v[k] = k < count ? _mm256_loadu_ps(planes + k * pixels + i) : _mm256_setzero_ps();
    transpose(v);
    for (int k = 0; k < kLanes; ++k) _mm256_storeu_ps(block + (i + k) * kLanes, v[k]);
  }
  for (; i < n; ++i)
    for (int k = 0; k < kLanes; ++k)
      block[i * kLanes + k] = k < count ? planes[k * pixels + i] : 0.0f;
}
void out_of_block(const float* block, int64_t n, float* planes, int64_t pixels, int64_t count) {
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    __m256 v[kLanes];
    for (int k = 0; k < kLanes; ++k) v[k] = _mm256_loadu_ps(block + (i + k) * kLanes);
    transpose(v);
    for (int k = 0; k < count; ++k) _mm256_storeu_ps(planes + k * pixels + i, v[k]);
  }
  for (; i < n; ++i)
    for (int k = 0; k < count; ++k) planes[k * pixels + i] = block[i * kLanes + k];
}

// Forward: N output pixels side by side, their windows S input pixels apart.
struct Window {
  const float* x;        // of the first kernel row and pixel
  int64_t pitch, plane;  // floats from kernel row to kernel row, from channel to channel
  const float* w;        // of the first kernel row, 8 filters to a weight
  int64_t channels, first_row, past_row, kernel_rows, kernel_columns;
};
template <int N, int S>
void pixels(const Window& g, __m256 bias, float* y) {
  __m256 sum[N];
  for (auto& s : sum) s = bias;
  for (int64_t c = 0; c < g.channels; ++c)
    for (int64_t a = g.first_row; a < g.past_row; ++a) {
      const float* x = g.x + c * g.plane + a * g.pitch;
      const float* w = g.w + (c * g.kernel_rows + a) * g.kernel_columns * kLanes;
      for (int64_t b = 0; b < g.kernel_columns; ++b, ++x, w += kLanes) {
        const __m256 weight = _mm256_loadu_ps(w);
#pragma GCC unroll 12
        for (int k = 0; k < N; ++k)
          sum[k] = _mm256_fmadd_ps(_mm256_broadcast_ss(x + k * S), weight, sum[k]);
      }
    }
#pragma GCC unroll 12
  for (int k = 0; k < N; ++k) _mm256_storeu_ps(y + k * kLanes, sum[k]);
}
using PixelsOf = void (*)(const Window&, __m256, float*);
template <int S, int... N>
PixelsOf pixels_of(int64_t n, std::integer_sequence<int, N...>) {
  static constexpr PixelsOf table[] = {pixels<N + 1, S>...};
  return table[n - 1];
}
PixelsOf pixels_of(int64_t n, int64_t stride) {
  const auto all = std::make_integer_sequence<int, kMaxPixels>();
  return stride == 1 ? pixels_of<1>(n, all) : pixels_of<2>(n, all);
}
// A weight that is no number times a padded zero would be NaN: pixels whose windows reach over the
// edge, one by one.
void edge_pixel(const Images& g, const Window& win, std::pair<int64_t, int64_t> columns,
                __m256 bias, float* y) {
  __m256 sum = bias;
  for (int64_t c = 0; c < win.channels; ++c)
    for (int64_t a = win.first_row; a < win.past_row; ++a)
      for (int64_t b = columns.first; b < columns.second; ++b)
        sum = _mm256_fmadd_ps(
            _mm256_broadcast_ss(win.x + c * win.plane + a * win.pitch + b),
            _mm256_loadu_ps(win.w + ((c * g.kernel[0] + a) * g.kernel[1] + b) * kLanes), sum);
  _mm256_storeu_ps(y, sum);
}

std::unique_ptr<OpKernel> conv2d(const KernelRequest& r, std::string* why) {
  Images g;
  if (!images_of(r, r.in[0].shape, r.in[1].shape, r.out.shape, &g, why)) return nullptr;
  return fn_kernel([g](const void* const* in, void* out) {
    const auto *x = static_cast<const float*>(in[0]), *w = static_cast<const float*>(in[1]),
               *bias = static_cast<const float*>(in[2]);
    const int64_t per_filter = g.channels * g.taps(), blocks = g.filter_blocks();
    std::vector<float> weights(blocks * per_filter * kLanes);
    for (int64_t f = 0; f < blocks; ++f)
      into_block(w + f * kLanes * per_filter, per_filter, g.filters_of(f),
                 weights.data() + f * per_filter * kLanes, per_filter);
    const bool finite =
        std::all_of(weights.begin(), weights.end(), [](float v) { return std::isfinite(v); });
    // Zeros in padded columns change nothing then.
    const auto [first, past] = finite ? std::pair{int64_t{0}, g.out_width} : g.inner_columns();
    const int64_t chunks = std::max<int64_t>(1, (past - first + kMaxPixels - 1) / kMaxPixels);
    const auto per_image = static_cast<int64_t>(g.flops / static_cast<double>(g.count));
    parallel_for(
        g.count, 1 + 1500000 / std::max<int64_t>(1, per_image), [&](int64_t begin, int64_t end) {
          Planes planes(g);
          std::vector<float> row(g.out_width * kLanes);
          for (int64_t n = begin; n < end; ++n) {
            planes.load(x + n * g.channels * g.height * g.width);
            for (int64_t f = 0; f < blocks; ++f) {
              float* y = static_cast<float*>(out) + g.out_at(n, f);
              alignas(32) float start[kLanes] = {};
              if (bias) std::copy_n(bias + f * kLanes, g.filters_of(f), start);
              const __m256 from = _mm256_load_ps(start);
              for (int64_t i = 0; i < g.out_height; ++i) {
                float* to = g.blocked ? y + i * g.out_width * kLanes : row.data();
                const auto [a0, a1] = g.rows_at(i);
                // Kernel row 0 may lie above the plane: it is not read then.
                Window win{nullptr,
                           g.pitch,
                           g.height * g.pitch,
                           weights.data() + f * per_filter * kLanes,
                           g.channels,
                           a0,
                           a1,
                           g.kernel[0],
                           g.kernel[1]};
                const float* x0 = planes.row(0, 0) + (i * g.stride[0] - g.pad[0]) * g.pitch;
                auto at = [&](int64_t j) {
                  win.x = x0 + j * g.stride[1];
                  return to + j * kLanes;
                };
                for (int64_t j = 0; j < first; ++j) {
                  float* y = at(j);
                  edge_pixel(g, win, g.columns_at(j), from, y);
                }
                for (int64_t c = 0; c < chunks; ++c) {  // as equal as can be
                  const int64_t n = past - first, b = first + n * c / chunks,
                                e = first + n * (c + 1) / chunks;
                  if (b == e) continue;
                  float* y = at(b);
                  pixels_of(e - b, g.stride[1])(win, from, y);
                }
                for (int64_t j = past; j < g.out_width; ++j) {
                  float* y = at(j);
                  edge_pixel(g, win, g.columns_at(j), from, y);
                }
                if (!g.blocked)
                  out_of_block(row.data(), g.out_width, y + i * g.out_width, g.out_pixels(),
                               g.filters_of(f));
              }
            }
          }
        });
  });
}

// Gradient: adds the products of a row of `dy` with what R kernel rows of B weights see of it.
struct Row {
  const float *dy, *x;                        // x: of the first pixel and weight
  int64_t pitch, width, stride, first, past;  // [first, past): whole windows
  int64_t pad, in_width;
};
template <int R, int B>
void add_row(const Row& g, float* sums) {
  __m256 sum[R * B];
#pragma GCC unroll 14
  for (int k = 0; k < R * B; ++k) sum[k] = _mm256_loadu_ps(sums + k * kLanes);
  auto edge = [&](int64_t j) {  // a gradient that is no number times a padded zero would be NaN
    const __m256 dy = _mm256_loadu_ps(g.dy + j * kLanes);
    const float* x = g.x + j * g.stride;
#pragma GCC unroll 7
    for (int b = 0; b < B; ++b) {
      const int64_t at = j * g.stride - g.pad + b;
      const __m256 there =
          _mm256_castsi256_ps(_mm256_set1_epi32(at >= 0 && at < g.in_width ? -1 : 0));
#pragma GCC unroll 14
      for (int a = 0; a < R; ++a)
        sum[a * B + b] = _mm256_fmadd_ps(_mm256_broadcast_ss(x + a * g.pitch + b),
                                         _mm256_and_ps(dy, there), sum[a * B + b]);
    }
  };
  for (int64_t j = 0; j < g.first; ++j) edge(j);
  const float* x = g.x + g.first * g.stride;
  for (int64_t j = g.first; j < g.past; ++j, x += g.stride) {
    const __m256 dy = _mm256_loadu_ps(g.dy + j * kLanes);
#pragma GCC unroll 14
    for (int a = 0; a < R; ++a)
#pragma GCC unroll 7
      for (int b = 0; b < B; ++b)
        sum[a * B + b] =
            _mm256_fmadd_ps(_mm256_broadcast_ss(x + a * g.pitch + b), dy, sum[a * B + b]);
  }
  for (int64_t j = g.past; j < g.width; ++j) edge(j);
#pragma GCC unroll 14
  for (int k = 0; k < R * B; ++k) _mm256_storeu_ps(sums + k * kLanes, sum[k]);
}
using AddRow = void (*)(const Row&, float*);
struct RowsAtATime {
  AddRow rows[3];
  int64_t most;
};
template <int B>
constexpr RowsAtATime rows_at_a_time() {
  constexpr int most = std::min(3, kMaxTaps / B);
  return {{add_row<1, B>, add_row<std::min(2, most), B>, add_row<std::min(3, most), B>}, most};
}
constexpr RowsAtATime kRowsAtATime[kMaxKernel] = {
    rows_at_a_time<1>(), rows_at_a_time<2>(), rows_at_a_time<3>(), rows_at_a_time<4>(),
    rows_at_a_time<5>(), rows_at_a_time<6>(), rows_at_a_time<7>()};

std::unique_ptr<OpKernel> conv2d_dw(const KernelRequest& r, std::string* why) {
  Images g;
  if (!images_of(r, r.in[0].shape, r.out.shape, r.in[1].shape, &g, why)) return nullptr;
  return fn_kernel([g](const void* const* in, void* out) {
    const auto *x = static_cast<const float*>(in[0]), *dy = static_cast<const float*>(in[1]);
    auto* dw = static_cast<float*>(out);
    const int64_t blocks = g.filter_blocks(), per_filter = g.channels * g.taps();
    // Divided by sizes alone, so that bits do not depend on the number of threads.
    const int64_t ranges = std::min<int64_t>(g.count, g.flops < 3e6 ? 1 : g.flops < 2e7 ? 2 : 8);
    const RowsAtATime& at_a_time = kRowsAtATime[g.kernel[1] - 1];
    const auto [first, past] = g.inner_columns();
    std::vector<float> sums(ranges * blocks * per_filter * kLanes);
    const int64_t tasks = ranges * blocks;
    parallel_for(tasks, g.flops < 3e6 ? tasks : 1, [&](int64_t begin, int64_t end) {
      Planes planes(g);
      std::vector<float> block(g.blocked ? 0 : g.out_pixels() * kLanes);
      std::vector<float> of_image(per_filter * kLanes);
      for (int64_t task = begin; task < end; ++task) {
        const int64_t range = task / blocks, f = task % blocks;
        float* sum = sums.data() + task * per_filter * kLanes;
        for (int64_t n = g.count * range / ranges; n < g.count * (range + 1) / ranges; ++n) {
          planes.load(x + n * g.channels * g.height * g.width);
          const float* d = dy + g.out_at(n, f);
          if (!g.blocked) {
            into_block(d, g.out_pixels(), g.filters_of(f), block.data(), g.out_pixels());
            d = block.data();
          }
          std::fill(of_image.begin(), of_image.end(), 0.0f);
          for (int64_t i = 0; i < g.out_height; ++i) {
            const auto [a0, a1] = g.rows_at(i);
            for (int64_t c = 0; c < g.channels; ++c)
              for (int64_t a = a0; a < a1;) {
                const int64_t rows = std::min(at_a_time.most, a1 - a);
                const Row row{d + i * g.out_width * kLanes,
                              planes.row(c, i * g.stride[0] - g.pad[0] + a),
                              g.pitch,
                              g.out_width,
                              g.stride[1],
                              first,
                              past,
                              g.pad[1],
                              g.width};
                at_a_time.rows[rows - 1](
                    row, of_image.data() + (c * g.taps() + a * g.kernel[1]) * kLanes);
                a += rows;
              }
          }
          for (size_t k = 0; k < of_image.size(); ++k) sum[k] += of_image[k];
        }
      }
    });
    const int64_t all = blocks * per_filter * kLanes;
    for (int64_t k = 1; k < ranges; ++k)
      for (int64_t e = 0; e < all; ++e) sums[e] += sums[k * all + e];
    for (int64_t f = 0; f < blocks; ++f)
      out_of_block(sums.data() + f * per_filter * kLanes, per_filter, dw + f * kLanes * per_filter,
                   per_filter, g.filters_of(f));
  });
}

}  // namespace

void register_few_channels_kernels(KernelRegistry& r) {
  for (const std::string layout : {"", "_blocked"}) {
    r.add("conv2d" + layout, {"few channels", conv2d});
    r.add("conv2d_dw" + layout, {"few channels", conv2d_dw});
  }
}

}  // namespace pijit
