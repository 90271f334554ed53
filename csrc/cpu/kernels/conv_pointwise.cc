// Convolutions of float32 by kernels of 1 x 1, and their gradients of the input, whose channels do
// not fill whole blocks on both sides: a map in the plain layout is a matrix with a row per
// channel, and the convolution a product, 1.3 to 5 times as fast as oneDNN's, which brings the map
// into blocks and back (measured: 16 combinations of 3 to 464 channels, 7 x 7 to 112 x 112 pixels,
// one image and eight, one thread and two). Where both sides have whole blocks they stay in them
// from one convolution to the next.
//
// With AVX-512 the product is by tiles: some pixels of all channels are copied next to each other,
// into the nearest caches, where the weights of six filters after six meet them. Threads divide the
// pixels, so that each reads what it wrote in the layer before. A sum is added up in the order of
// channels: no bit depends on the number of threads.
#include <immintrin.h>

#include <algorithm>
#include <array>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "cpu/activation.h"
#include "cpu/cpu.h"
#include "cpu/kernels/vectors.h"
#include "runtime/device.h"
#include "runtime/packed.h"
#include "runtime/pooled.h"

namespace pijit {
namespace {

std::shared_ptr<OpKernel> inside(const char* op, const Attrs& attrs, std::vector<Type> in,
                                 const Type& out) {
  const std::vector<bool> present(in.size(), true);
  return device(DeviceId{})
      .kernels.make({OpTable::get().at(op), attrs, std::move(in), present, out});
}

bool refuses(const KernelRequest& r, const Shape& x, const Shape& w, const Shape& y,
             std::string* why) {
  for (size_t i = 0; i < r.in.size(); ++i)
    if (r.present[i] && r.in[i].dtype != DType::F32) return *why = "dtype is not float32", true;
  if (r.out.dtype != DType::F32) return *why = "dtype is not float32", true;
  if (x.numel() == 0 || w.numel() == 0 || y.numel() == 0) return *why = "empty tensor", true;
  const OpCtx c = r.ctx();
  const auto all = [&](const char* name, int64_t value) {
    const auto& n = c.numbers(name);
    return std::all_of(n.begin(), n.end(), [&](int64_t i) { return i == value; });
  };
  if (w[2] * w[3] != 1 || c.i("group") != 1 || !all("stride", 1) || !all("pad", 0))
    return *why = "not one pixel of each map for one of the other", true;
  const int64_t block = channel_block();
  if (block == 0) return *why = "not for this processor's instructions", true;
  // Channels of an image are read where they are by convolutions in blocks.
  if (y[1] % block == 0 && (x[1] % block == 0 || x[1] <= 4)) return *why = "whole blocks", true;
  if (x[2] * x[3] < 64 && w.numel() > 1 << 16) return *why = "few pixels", true;
  return false;
}
// y = w x, from zero or onto what is there; the last sums get the bias, then the residual, then the
// activation. Vectors hold pixels that follow each other; of the last one some may be missing.
struct Tile {
  const float* x;  // some pixels, of `depth` channels
  int64_t x_step;
  const float* w;         // by channel, of the tile's filters
  const float* bias;      // of the same, or null
  const float* residual;  // as y, or null
  float* y;
  int64_t y_step, depth;
  uint32_t mask;  // pixels of the last vector
  bool onto, last;
  Activation activation;
};
constexpr int64_t kMostRows = 6, kMostVectors = 4, kVectorFloats = 16, kDepth = 512;
#pragma GCC push_options
#pragma GCC target("avx512f,avx512dq,avx512bw,avx512vl")
namespace avx512 {
template <int R, int V>
void multiply(const Tile& tile) {
  const Tile t = tile;  // in registers: stores of vectors might be to what it lies in
  const auto mask = [&](int v) { return static_cast<__mmask16>(v == V - 1 ? t.mask : 0xffff); };
  const auto load = [&](const float* p, int v) {
    return _mm512_maskz_loadu_ps(mask(v), p + v * kVectorFloats);
  };
  __m512 sum[R][V];
#pragma GCC unroll 6
  for (int r = 0; r < R; ++r)
#pragma GCC unroll 4
    for (int v = 0; v < V; ++v)
      sum[r][v] = t.onto ? load(t.y + r * t.y_step, v) : _mm512_setzero_ps();
  const float *x = t.x, *w = t.w;
#pragma GCC unroll 2
  for (int64_t k = 0; k < t.depth; ++k, x += t.x_step, w += R) {
    __m512 pixels[V];
#pragma GCC unroll 4
    for (int v = 0; v < V; ++v) pixels[v] = load(x, v);
#pragma GCC unroll 6
    for (int r = 0; r < R; ++r) {
      const __m512 weight = _mm512_set1_ps(w[r]);
#pragma GCC unroll 4
      for (int v = 0; v < V; ++v) sum[r][v] = _mm512_fmadd_ps(weight, pixels[v], sum[r][v]);
    }
  }
#pragma GCC unroll 6
  for (int r = 0; r < R; ++r)
#pragma GCC unroll 4
    for (int v = 0; v < V; ++v) {
      __m512 y = sum[r][v];
      if (t.last) {
        if (t.bias) y = _mm512_add_ps(y, _mm512_set1_ps(t.bias[r]));
        if (t.residual) y = _mm512_add_ps(y, load(t.residual + r * t.y_step, v));
        y = pijit::avx512::activated(t.activation, y);
      }
      _mm512_mask_storeu_ps(t.y + r * t.y_step + v * kVectorFloats, mask(v), y);
    }
}
template <int V>
constexpr std::array<void (*)(const Tile&), kMostRows> kOfRows = {
    multiply<1, V>, multiply<2, V>, multiply<3, V>, multiply<4, V>, multiply<5, V>, multiply<6, V>};
constexpr std::array kMultiply = {kOfRows<1>, kOfRows<2>, kOfRows<3>, kOfRows<4>};
// The pixels of `depth` channels next to each other.
void gather_pixels(const float* x, int64_t step, int64_t depth, int64_t vectors, uint32_t mask,
                   float* to) {
  for (int64_t k = 0; k < depth; ++k, x += step, to += vectors * kVectorFloats)
    for (int64_t v = 0; v < vectors; ++v) {
      const auto m = static_cast<__mmask16>(v == vectors - 1 ? mask : 0xffff);
      _mm512_storeu_ps(to + v * kVectorFloats, _mm512_maskz_loadu_ps(m, x + v * kVectorFloats));
    }
}
}  // namespace avx512
#pragma GCC pop_options

class PixelProduct : public OpKernel {
 public:
  // turned: the gradient of the input; x and y are those of the product.
  PixelProduct(const Shape& x, const Shape& y, bool turned, const Epilogue& end)
      : images_(x[0]),
        channels_(x[1]),
        filters_(y[1]),
        pixels_(y[2] * y[3]),
        turned_(turned),
        end_(end),
        layout_(str_cat("pixels ", turned, ",", filters_, ",", channels_)) {
    vectors_ = (pixels_ + kVectorFloats - 1) / kVectorFloats;
    strips_ = (vectors_ + kMostVectors - 1) / kMostVectors;
    groups_ = (filters_ + kMostRows - 1) / kMostRows;
  }
  void run(const void* const* in, void* out) override {
    const Block packed(weight_bytes());
    pack(static_cast<const float*>(in[1]), reinterpret_cast<float*>(packed.p));
    multiply(in, reinterpret_cast<const float*>(packed.p), out);
  }
  int packs() const override { return 1; }
  void run_packed(const void* const* in, void* out, const OperandMemory& memory) override {
    const auto kept = packed_form(
        memory, layout_, weight_bytes(),
        [&](void* to) { pack(static_cast<const float*>(in[1]), static_cast<float*>(to)); },
        order());
    if (!kept) return run(in, out);
    multiply(in, reinterpret_cast<const float*>(kept->p), out);
  }

 private:
  size_t weight_bytes() const { return static_cast<size_t>(filters_ * channels_) * sizeof(float); }
  // Nothing: groups are of several sizes.
  std::optional<Layout> order() const {
    if (turned_ || filters_ % groups_ != 0) return std::nullopt;
    const int64_t n = filters_ / groups_;
    return Layout::in_order(
        {{groups_, n * channels_, n * channels_}, {n, channels_, 1}, {channels_, 1, n}});
  }
  // By group of filters and channel.
  void pack(const float* w, float* to) const {
    const int64_t row = turned_ ? 1 : channels_, column = turned_ ? filters_ : 1;
    for (int64_t g = 0; g < groups_; ++g) {
      const auto [first, past] = share_of(filters_, g, groups_);
      for (int64_t k = 0; k < channels_; ++k)
        for (int64_t f = first; f < past; ++f) *to++ = w[f * row + k * column];
    }
  }
  void multiply(const void* const* in, const float* w, void* out) const {
    const auto* const x = static_cast<const float*>(in[0]);
    const auto* const bias = turned_ ? nullptr : static_cast<const float*>(in[2]);
    const auto* const residual = end_.residual ? static_cast<const float*>(in[3]) : nullptr;
    auto* const y = static_cast<float*>(out);
    // Strips of pixels, in slices by filters where there are too few for all threads.
    const int64_t strips = images_ * strips_, threads = max_threads();
    const int64_t slices = threads == 1 || strips % threads == 0 || strips >= 8 * threads
                               ? 1
                               : std::min(groups_, (4 * threads + strips - 1) / strips);
    const int64_t parts = strips * slices;
    const double work = 2.0 * static_cast<double>(channels_ * filters_ * pixels_ * images_);
    const auto grain = 1 + static_cast<int64_t>(2e6 * static_cast<double>(parts) / work);
    parallel_for(parts, grain, [&](int64_t begin, int64_t end) {
      const bool copies = groups_ > slices;
      const Block memory(
          copies ? static_cast<size_t>(std::min(kDepth, channels_) * kMostVectors * kVectorFloats) *
                       sizeof(float)
                 : 0);
      for (int64_t part = begin; part < end; ++part) {
        const auto [group, past_group] = share_of(groups_, part % slices, slices);
        const int64_t image = part / slices / strips_;
        const auto [vector, past] = share_of(vectors_, part / slices % strips_, strips_);
        const int64_t at = vector * kVectorFloats, left = pixels_ - (past - 1) * kVectorFloats;
        const uint32_t mask = left >= kVectorFloats ? 0xffff : (1u << left) - 1;
        const auto& multiply_rows = avx512::kMultiply[static_cast<size_t>(past - vector - 1)];
        for (int64_t k = 0; k < channels_; k += kDepth) {
          const int64_t depth = std::min(kDepth, channels_ - k);
          Tile t{x + (image * channels_ + k) * pixels_ + at,
                 pixels_,
                 nullptr,
                 nullptr,
                 nullptr,
                 nullptr,
                 pixels_,
                 depth,
                 mask,
                 k > 0,
                 k + depth == channels_,
                 end_.activation};
          if (copies) {
            auto* const copy = reinterpret_cast<float*>(memory.p);
            avx512::gather_pixels(t.x, pixels_, depth, past - vector, mask, copy);
            t.x = copy, t.x_step = (past - vector) * kVectorFloats;
          }
          // Rows lie on pages of their own, so that no processor sees what comes next: the pixels
          // of the next part, while these meet the weights.
          const float* const next =
              x + (image * channels_ + k) * pixels_ + at + (past - vector) * kVectorFloats;
          const bool more = copies && past < vectors_;
          for (int64_t g = group; g < past_group; ++g) {
            if (more) {
              const auto [from, to] = share_of(depth, g - group, past_group - group);
              for (int64_t c = from; c < to; ++c)
                for (int64_t v = 0; v < past - vector; ++v)
                  _mm_prefetch(next + c * pixels_ + v * kVectorFloats, _MM_HINT_T1);
            }
            const auto [first, last] = share_of(filters_, g, groups_);
            const int64_t to = (image * filters_ + first) * pixels_ + at;
            t.w = w + first * channels_ + k * (last - first);
            t.bias = bias ? bias + first : nullptr;
            t.residual = residual ? residual + to : nullptr;
            t.y = y + to;
            multiply_rows[static_cast<size_t>(last - first - 1)](t);
          }
        }
      }
    });
  }

  const int64_t images_, channels_, filters_, pixels_;
  const bool turned_;
  const Epilogue end_;
  const std::string layout_;           // of packed weights
  int64_t vectors_, strips_, groups_;  // of pixels; of vectors, of an image; of filters
};

// Out of memory, where a tile's rows lie far apart, oneDNN's products are up to 1.2 times as fast.
bool suits_tiles(const Shape& x, const Shape& y) {
  constexpr int64_t kMostFloats = 1 << 21;
  return channel_block() == kVectorFloats && x.numel() + y.numel() <= kMostFloats;
}
// A map as matrices.
Type matrices(const Shape& s) { return {DType::F32, Shape{s[0], s[1], s[2] * s[3]}}; }
Type matrix(const Shape& w) { return {DType::F32, Shape{w[0], w[1]}}; }

std::unique_ptr<OpKernel> conv2d(const KernelRequest& r, std::string* why) {
  const Shape &x = r.in[0].shape, &w = r.in[1].shape, &y = r.out.shape;
  if (refuses(r, x, w, y, why)) return nullptr;
  const auto end = short_epilogue_of(r, why);
  if (!end) return nullptr;
  if (suits_tiles(x, y)) return std::make_unique<PixelProduct>(x, y, false, *end);
  if (r.op.has(kPhysical)) return *why = "large maps, or other instructions", nullptr;
  const auto product = inside("matmul", {false, false}, {matrix(w), matrices(x)}, matrices(y));
  const int64_t rows = y[0] * y[1], filters = y[1], pixels = y[2] * y[3];
  return fn_kernel([=](const void* const* in, void* out) {
    const void* operands[] = {in[1], in[0]};
    product->run(operands, out);
    const auto* bias = static_cast<const float*>(in[2]);
    if (!bias) return;
    parallel_for(rows, 1 + (1 << 16) / pixels, [&](int64_t begin, int64_t end) {
      for (int64_t k = begin; k < end; ++k) {
        float* row = static_cast<float*>(out) + k * pixels;
        const float b = bias[k % filters];
        for (int64_t i = 0; i < pixels; ++i) row[i] += b;
      }
    });
  });
}
std::unique_ptr<OpKernel> conv2d_dx(const KernelRequest& r, std::string* why) {
  const Shape &dy = r.in[0].shape, &w = r.in[1].shape, &dx = r.out.shape;
  if (refuses(r, dx, w, dy, why)) return nullptr;
  if (suits_tiles(dy, dx)) return std::make_unique<PixelProduct>(dy, dx, true, Epilogue{});
  const auto product = inside("matmul", {true, false}, {matrix(w), matrices(dy)}, matrices(dx));
  return fn_kernel([=](const void* const* in, void* out) {
    const void* operands[] = {in[1], in[0]};
    product->run(operands, out);
  });
}

}  // namespace

KernelFamily pointwise_conv_kernels() {
  return {"pointwise", {{"conv2d", conv2d}, {"conv2d_post", conv2d}, {"conv2d_dx", conv2d_dx}}};
}

}  // namespace pijit
