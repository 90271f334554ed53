// The gradient of weights of float32 convolutions with a group per channel, where oneDNN has
// products with patches alone (kernels that are not 3 x 3, dilation): a vector holds the same pixel
// of 8 channels. What a window covers of padding takes no part.
//
// A weight's sum is added up by image, row and pixel, on one thread: its bits depend on sizes
// alone.
#include <algorithm>
#include <tuple>

#include "cpu/kernels/blocks.h"
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

}  // namespace

KernelFamily depthwise_conv_kernels() { return {"depthwise", {{"conv2d_dw", conv2d_dw}}}; }

}  // namespace pijit
