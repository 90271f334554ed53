// Convolutions of float32 with a group per channel.
//
// Forward in the plain layout, with the bits that oneDNN has of maps in blocks, and for the
// gradient of the input, where channels fill no whole blocks: oneDNN would bring the maps into
// blocks and back at each call (72 channels of 56 x 56, 3 x 3, on one core: 202 us for 35). A
// vector holds pixels of one channel that follow each other. Each map is copied with its padding
// first, apart by the phases of the stride, so that what a tap meets lies at one distance from all
// output pixels, those between the rows included.
//
// The gradient of weights, where oneDNN has products with patches alone (kernels that are not 3 x
// 3, dilation): a vector holds the same pixel of 8 channels.
//
// What a window covers of padding takes no part. An element's sum is added up in the order of taps,
// a weight's by image, row and pixel, on one thread: bits depend on sizes alone.
#include <immintrin.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

#include "cpu/kernels/blocks.h"
#include "cpu/activation.h"
#include "cpu/code.h"
#include "cpu/cpu.h"
#include "cpu/kernels/window.h"
#include "runtime/pooled.h"

namespace pijit {
namespace {

constexpr int64_t kTaps = 7;  // of a kernel row that are summed in registers at a time

// sums[tap] += the products of rows of dy with those of x, for N taps of a kernel row from `tap`
// on. Rows of some 1,000 pixels are summed before they are added, so that rounding errors stay
// small.
template <int N>
void add_products(const float* x, const float* dy, const WindowAxis& rows,
                  const WindowAxis& columns, int64_t row_tap, int64_t tap, float* sums) {
  int64_t first[N], past[N], begin = 0, end = columns.out;
  for (int b = 0; b < N; ++b) {
    std::tie(first[b], past[b]) = columns.outs_of(tap + b);
    begin = std::max(begin, first[b]), end = std::min(end, past[b]);
  }
  end = std::max(begin, end);  // [begin, end): all of these taps lie on the image
  const int64_t step = columns.stride * kLanes, tap_step = columns.dilation * kLanes;
  const int64_t together = std::max<int64_t>(1, 1024 / columns.out);
  auto [i, last] = rows.outs_of(row_tap);
  while (i < last) {
    __m256 sum[N];
    for (int b = 0; b < N; ++b) sum[b] = _mm256_setzero_ps();
    for (const int64_t stop = std::min(last, i + together); i < stop; ++i) {
      const float* x_row = x + (rows.at(i, row_tap) * columns.size + columns.at(0, tap)) * kLanes;
      const float* dy_row = dy + i * columns.out * kLanes;
      auto product = [&](int b, int64_t j) {
        sum[b] = _mm256_fmadd_ps(_mm256_loadu_ps(dy_row + j * kLanes),
                                 _mm256_loadu_ps(x_row + j * step + b * tap_step), sum[b]);
      };
#pragma GCC unroll 7
      for (int b = 0; b < N; ++b)
        for (int64_t j = first[b]; j < std::min(begin, past[b]); ++j) product(b, j);
      for (int64_t j = begin; j < end; ++j)
#pragma GCC unroll 7
        for (int b = 0; b < N; ++b) product(b, j);
#pragma GCC unroll 7
      for (int b = 0; b < N; ++b)
        for (int64_t j = std::max(end, first[b]); j < past[b]; ++j) product(b, j);
    }
    for (int b = 0; b < N; ++b) {
      float* total = sums + b * kLanes;
      _mm256_storeu_ps(total, _mm256_add_ps(_mm256_loadu_ps(total), sum[b]));
    }
  }
}
using AddProducts = decltype(&add_products<1>);
constexpr AddProducts kAddProducts[kTaps] = {add_products<1>, add_products<2>, add_products<3>,
                                             add_products<4>, add_products<5>, add_products<6>,
                                             add_products<7>};

std::unique_ptr<OpKernel> conv2d_dw(const KernelRequest& r, std::string* why) {
  const Shape &x = r.in[0].shape, &dy = r.in[1].shape, &w = r.out.shape;
  const OpCtx c = r.ctx();
  if (r.out.dtype != DType::F32) return *why = "dtype is not float32", nullptr;
  if (!generates_code()) return *why = "not for this processor's instructions", nullptr;
  const int64_t channels = x[1];
  if (c.i("group") != channels || w[0] != channels) return *why = "channels share groups", nullptr;
  if (x.numel() == 0 || w.numel() == 0 || dy.numel() == 0) return *why = "empty tensor", nullptr;
  if (std::max(x[2] * x[3], dy[2] * dy[3]) > 1 << 22)  // 8 channels of them are stored in between
    return *why = "too large", nullptr;
  const auto &stride = c.numbers("stride"), &dilation = c.numbers("dilation"),
             &pad = c.numbers("pad");
  const WindowAxis rows{x[2], dy[2], w[2], stride[0], dilation[0], pad[0]},
      columns{x[3], dy[3], w[3], stride[1], dilation[1], pad[2]};
  const int64_t images = x[0], blocks = (channels + kLanes - 1) / kLanes;
  const int64_t taps = rows.taps * columns.taps, pixels = rows.size * columns.size,
                out_pixels = rows.out * columns.out;
  return fn_kernel([=](const void* const* in, void* out) {
    // Images of a block of channels at a time stay in the cache of the core that turns them.
    const auto *x = static_cast<const float*>(in[0]), *dy = static_cast<const float*>(in[1]);
    parallel_for(blocks, 1 + (1 << 17) / (images * out_pixels * taps),
                 [&](int64_t begin, int64_t end) {
                   constexpr size_t kVector = kLanes * sizeof(float);
                   const Pieces memory{pixels * kVector, out_pixels * kVector, taps * kVector};
                   float *x_block = memory.of<float>(0), *dy_block = memory.of<float>(1),
                         *sums = memory.of<float>(2);
                   for (int64_t k = begin; k < end; ++k) {
                     const int64_t first = k * kLanes, count = std::min(kLanes, channels - first);
                     std::fill_n(sums, taps * kLanes, 0.0f);
                     for (int64_t n = 0; n < images; ++n) {
                       const int64_t map = n * channels + first;
                       into_block(x + map * pixels, pixels, count, x_block, pixels);
                       into_block(dy + map * out_pixels, out_pixels, count, dy_block, out_pixels);
                       for (int64_t a = 0; a < rows.taps; ++a)
                         for (int64_t b = 0, some; b < columns.taps; b += some) {
                           some = std::min(kTaps, columns.taps - b);
                           kAddProducts[some - 1](x_block, dy_block, rows, columns, a, b,
                                                  sums + (a * columns.taps + b) * kLanes);
                         }
                     }
                     out_of_block(sums, taps, static_cast<float*>(out) + first * taps, taps, count);
                   }
                 });
  });
}

// Sums of products: y[k] = start + w[0] x[at[0] + k] + w[1] x[at[1] + k] …, for U vectors.
struct Sums {
  const float* x;
  const float* w;
  const int64_t* at;
  int64_t taps;
  float start;
  float* y;
};
// Every `step`-th float.
struct Run {
  int64_t from, to, count;
};
void copy_steps(const Run& r, int64_t step, const float* from, float* to) {
  for (int64_t k = 0; k < r.count; ++k) to[r.to + k] = from[r.from + k * step];
}
namespace avx2 {
template <int U>
void add_up(const Sums& s, int64_t k) {
  __m256 sum[U];
#pragma GCC unroll 8
  for (int u = 0; u < U; ++u) sum[u] = _mm256_set1_ps(s.start);
  for (int64_t t = 0; t < s.taps; ++t) {
    const __m256 w = _mm256_set1_ps(s.w[t]);
    const float* x = s.x + s.at[t] + k;
#pragma GCC unroll 8
    for (int u = 0; u < U; ++u) sum[u] = _mm256_fmadd_ps(_mm256_loadu_ps(x + u * 8), w, sum[u]);
  }
  float* const y = s.y + k;
#pragma GCC unroll 8
  for (int u = 0; u < U; ++u) _mm256_storeu_ps(y + u * 8, sum[u]);
}
constexpr auto kAddUp = std::array{add_up<1>, add_up<2>, add_up<4>, add_up<8>};
void copy(std::span<const Run> runs, int64_t step, const float* from, float* to) {
  for (const Run& r : runs) {
    if (step > 1) {
      copy_steps(r, step, from, to);
      continue;
    }
    const float* x = from + r.from;
    float* y = to + r.to;
    int64_t k = 0;
    for (; k + 8 <= r.count; k += 8) _mm256_storeu_ps(y + k, _mm256_loadu_ps(x + k));
    for (; k < r.count; ++k) y[k] = x[k];
  }
}
}  // namespace avx2
#pragma GCC push_options
#pragma GCC target("avx512f,avx512dq,avx512bw,avx512vl")
namespace avx512 {
__mmask16 mask(int64_t left) {
  return static_cast<__mmask16>((1u << std::clamp<int64_t>(left, 0, 16)) - 1);
}
template <int U>
void add_up(const Sums& s, int64_t k) {
  __m512 sum[U];
#pragma GCC unroll 8
  for (int u = 0; u < U; ++u) sum[u] = _mm512_set1_ps(s.start);
  for (int64_t t = 0; t < s.taps; ++t) {
    const __m512 w = _mm512_set1_ps(s.w[t]);
    const float* x = s.x + s.at[t] + k;
#pragma GCC unroll 8
    for (int u = 0; u < U; ++u) sum[u] = _mm512_fmadd_ps(_mm512_loadu_ps(x + u * 16), w, sum[u]);
  }
  float* const y = s.y + k;
#pragma GCC unroll 8
  for (int u = 0; u < U; ++u) _mm512_storeu_ps(y + u * 16, sum[u]);
}
constexpr auto kAddUp = std::array{add_up<1>, add_up<2>, add_up<4>, add_up<8>};
void copy(std::span<const Run> runs, int64_t step, const float* from, float* to) {
  const __m512i even = _mm512_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30);
  for (const Run& r : runs) {
    const float* x = from + r.from;
    float* y = to + r.to;
    if (step > 2) {
      copy_steps(r, step, from, to);
    } else if (r.count < 16) {
      const __mmask16 all = mask(r.count);
      const int64_t reach = (r.count - 1) * step + 1;
      __m512 v = _mm512_maskz_loadu_ps(mask(reach), x);
      if (step == 2)
        v = _mm512_permutex2var_ps(v, even, _mm512_maskz_loadu_ps(mask(reach - 16), x + 16));
      _mm512_mask_storeu_ps(y, all, v);
    } else if (step == 1) {
      // The last vector may lie over the one before.
      for (int64_t k = 0; k + 16 < r.count; k += 16)
        _mm512_storeu_ps(y + k, _mm512_loadu_ps(x + k));
      _mm512_storeu_ps(y + r.count - 16, _mm512_loadu_ps(x + r.count - 16));
    } else {
      const auto two = [&](int64_t k) {  // of 31 floats
        const __m512 low = _mm512_loadu_ps(x + 2 * k),
                     high = _mm512_maskz_loadu_ps(0x7fff, x + 2 * k + 16);
        _mm512_storeu_ps(y + k, _mm512_permutex2var_ps(low, even, high));
      };
      for (int64_t k = 0; k + 16 < r.count; k += 16) two(k);
      two(r.count - 16);
    }
  }
}
}  // namespace avx512
#pragma GCC pop_options

// One channel's map and its filters.
class DepthwiseMap {
 public:
  DepthwiseMap(const WindowAxis& rows, const WindowAxis& columns, int64_t block)
      : rows_(rows), columns_(columns), lanes_(block) {
    const auto reach = [](const WindowAxis& a) { return (a.taps - 1) * a.dilation / a.stride; };
    height_ = rows.out + reach(rows), pitch_ = columns.out + reach(columns);
    for (int64_t a = 0; a < rows.taps; ++a)
      for (int64_t b = 0; b < columns.taps; ++b) {
        const int64_t row = a * rows.dilation, column = b * columns.dilation;
        const int64_t phase = row % rows.stride * columns.stride + column % columns.stride;
        at_.push_back((phase * height_ + row / rows.stride) * pitch_ + column / columns.stride);
      }
    const auto over = [&](int64_t n) {  // rounded up
      return n <= 0 ? 0 : (n + columns.stride - 1) / columns.stride;
    };
    for (int64_t h = 0; h < rows.size; ++h) {
      const int64_t row = h + rows.pad;
      if (row / rows.stride >= height_) break;
      for (int64_t p = 0; p < columns.stride; ++p) {
        const int64_t plane = row % rows.stride * columns.stride + p;
        const int64_t first = over(columns.pad - p),
                      past = std::min(pitch_, over(columns.size + columns.pad - p));
        if (first < past)
          in_.push_back({h * columns.size + first * columns.stride + p - columns.pad,
                         (plane * height_ + row / rows.stride) * pitch_ + first, past - first});
      }
    }
    strip_ = std::min(rows.out, std::max<int64_t>(1, 2048 / pitch_));
    for (int64_t i = 0; i < strip_; ++i) out_.push_back({i * pitch_, i * columns.out, columns.out});
  }
  int64_t pixels() const { return rows_.size * columns_.size; }
  int64_t out_pixels() const { return rows_.out * columns_.out; }
  int64_t taps() const { return static_cast<int64_t>(at_.size()); }
  // Pixels that are computed, of which those between the rows are left out.
  int64_t length() const { return length(rows_.out); }
  // Floats of the copies. Vectors reach beyond the last pixels.
  int64_t padded_floats() const {
    return rows_.stride * columns_.stride * height_ * pitch_ + kMost * lanes_;
  }
  int64_t sum_floats() const { return length(strip_) + kMost * lanes_; }

  // Padding is zero in `to` already, and stays so.
  void copy(const float* x, float* to) const {
    (lanes_ == 16 ? avx512::copy : avx2::copy)(in_, columns_.stride, x, to);
  }
  void convolve(const float* padded, const float* x, const float* w, float start, float* sums,
                float* y, Activation activation) const {
    float all = 0;
    for (int64_t t = 0; t < taps(); ++t) all += w[t] * 0.0f;
    if (std::isnan(all)) {
      convolve_on_image(x, w, start, y);
      return activate(activation, y, out_pixels());
    }
    const auto& add_up = lanes_ == 16 ? avx512::kAddUp : avx2::kAddUp;
    for (int64_t i = 0; i < rows_.out; i += strip_) {
      const int64_t rows = std::min(strip_, rows_.out - i);
      const int64_t n = (length(rows) + lanes_ - 1) / lanes_;  // vectors
      const Sums s{padded + i * pitch_, w, at_.data(), taps(), start, sums};
      for (int64_t k = 0; k < n;) {
        const size_t form = n - k >= 7 ? 3 : n - k >= 3 ? 2 : n - k >= 2 ? 1 : 0;
        add_up[form](s, k * lanes_);
        k += int64_t{1} << form;
      }
      activate(activation, sums, length(rows));
      (lanes_ == 16 ? avx512::copy : avx2::copy)(std::span(out_).first(static_cast<size_t>(rows)),
                                                 1, sums, y + i * columns_.out);
    }
  }

 private:
  static constexpr int64_t kMost = 8;  // vectors at a time
  int64_t length(int64_t rows) const { return (rows - 1) * pitch_ + columns_.out; }
  // With weights that are no finite numbers, which padding must not meet.
  void convolve_on_image(const float* x, const float* w, float start, float* y) const {
    for (int64_t i = 0; i < rows_.out; ++i)
      for (int64_t j = 0; j < columns_.out; ++j) {
        float sum = start;
        const auto [a, past_a] = rows_.taps_of(i);
        const auto [b, past_b] = columns_.taps_of(j);
        for (int64_t k = a; k < past_a; ++k)
          for (int64_t l = b; l < past_b; ++l)
            sum = std::fma(x[rows_.at(i, k) * columns_.size + columns_.at(j, l)],
                           w[k * columns_.taps + l], sum);
        y[i * columns_.out + j] = sum;
      }
  }
  WindowAxis rows_, columns_;
  int64_t lanes_, height_, pitch_;
  int64_t strip_;              // rows whose sums are copied out at a time, from the nearest cache
  std::vector<int64_t> at_;    // of what a tap meets, in the copy
  std::vector<Run> in_, out_;  // rows
};

// turned: the gradient of the input, x that of the output.
std::unique_ptr<OpKernel> by_maps(const KernelRequest& r, const Shape& x, const Shape& w,
                                  const Shape& y, bool turned, std::string* why) {
  const OpCtx c = r.ctx();
  for (size_t i = 0; i < r.in.size(); ++i)
    if (r.present[i] && r.in[i].dtype != DType::F32) return *why = "dtype is not float32", nullptr;
  if (r.out.dtype != DType::F32) return *why = "dtype is not float32", nullptr;
  const int64_t block = channel_block();
  if (block == 0) return *why = "not for this processor's instructions", nullptr;
  if (x.rank() != 4 || y.rank() != 4) return *why = "in blocks", nullptr;
  if (c.i("group") != x[1] || w[1] != 1) return *why = "channels share groups", nullptr;
  if (x.numel() == 0 || w.numel() == 0 || y.numel() == 0) return *why = "empty tensor", nullptr;
  const int64_t filters = w[0] / x[1];  // of a channel
  if (turned && x[1] % block == 0) return *why = "whole blocks of channels", nullptr;
  const auto &stride = c.numbers("stride"), &dilation = c.numbers("dilation"),
             &pad = c.numbers("pad");
  WindowAxis axes[2];
  for (int k : {0, 1}) {
    WindowAxis& a = axes[k];
    a = {x[2 + k], y[2 + k], w[2 + k], stride[k], dilation[k], pad[2 * k]};
    const int64_t reach = (a.taps - 1) * a.dilation;
    if (turned) {
      if (a.stride != 1) return *why = "stride", nullptr;
      a.pad = reach - a.pad;
      if (a.pad < 0) return *why = "padding beyond the kernel", nullptr;
    }
    // What is computed between the rows, and copied around the map.
    if (reach / a.stride > std::max<int64_t>(8, a.out) || a.taps > 16 || a.stride > 4 ||
        a.pad > 64 || std::max(a.size, a.out) > 1 << 12)
      return *why = "a large kernel", nullptr;
  }
  const auto end = short_epilogue_of(r, why);
  if (!end) return nullptr;
  if (end->residual) return *why = "residual", nullptr;
  if (turned && filters != 1) return *why = "several filters of a channel", nullptr;
  const DepthwiseMap map(axes[0], axes[1], block);
  if (map.padded_floats() > 1 << 20) return *why = "large maps", nullptr;
  const int64_t maps = x[0] * x[1], channels = x[1];
  const Activation activation = end->activation;
  return fn_kernel([=](const void* const* in, void* out) {
    const auto *x = static_cast<const float*>(in[0]), *w = static_cast<const float*>(in[1]),
               *bias = turned ? nullptr : static_cast<const float*>(in[2]);
    auto* y = static_cast<float*>(out);
    const int64_t work = map.length() * map.taps() * filters;
    parallel_for(maps, 1 + (1 << 18) / work, [&](int64_t begin, int64_t end) {
      const auto bytes = [](int64_t floats) { return static_cast<size_t>(floats) * sizeof(float); };
      const Pieces memory{bytes(map.padded_floats()), bytes(map.sum_floats()), bytes(map.taps())};
      float *padded = memory.of<float>(0), *sums = memory.of<float>(1),
            *turned_w = memory.of<float>(2);
      std::fill_n(padded, map.padded_floats(), 0.0f);
      for (int64_t k = begin; k < end; ++k) {
        const float* const from = x + k * map.pixels();
        map.copy(from, padded);
        for (int64_t f = 0; f < filters; ++f) {
          const int64_t filter = k % channels * filters + f;
          const float* weights = w + filter * map.taps();
          if (turned) {
            std::reverse_copy(weights, weights + map.taps(), turned_w);
            weights = turned_w;
          }
          map.convolve(padded, from, weights, bias ? bias[filter] : 0.0f, sums,
                       y + (k * filters + f) * map.out_pixels(), activation);
        }
      }
    });
  });
}
std::unique_ptr<OpKernel> conv2d(const KernelRequest& r, std::string* why) {
  return by_maps(r, r.in[0].shape, r.in[1].shape, r.out.shape, false, why);
}
std::unique_ptr<OpKernel> conv2d_dx(const KernelRequest& r, std::string* why) {
  return by_maps(r, r.in[0].shape, r.in[1].shape, r.out.shape, true, why);
}

}  // namespace

KernelFamily depthwise_conv_kernels() {
  return {"depthwise",
          {{"conv2d", conv2d},
           {"conv2d_post", conv2d},
           {"conv2d_dx", conv2d_dx},
           {"conv2d_dw", conv2d_dw}}};
}

}  // namespace pijit
