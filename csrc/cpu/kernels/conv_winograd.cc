// Convolutions of float32 by 3 x 3 kernels under numerics="fast", by Winograd's F(4 x 4, 3 x 3): a
// tile of 4 x 4 outputs takes 36 products for each channel and filter, where the sums themselves
// take 144. Inputs and weights become values of polynomials at the points 0, +-5/8, +-3/2 and
// infinity, whose powers are exact and keep roundings small: errors are about three times those of
// sums in float32, where +-1 and +-2 give six times.
//
// Maps come in blocks of channels. Where the weights are more than the map's values, all of the
// map is brought to the points first, and threads divide the filters; else they divide the tiles,
// so that what belongs to some tiles stays in the second-level cache. Products are added up by
// channel, in order: no bit depends on the number of threads.
#include <algorithm>
#include <array>
#include <memory>
#include <numeric>
#include <string>
#include <utility>

#include "cpu/activation.h"
#include "cpu/cpu.h"
#include "cpu/kernels/blocks.h"
#include "cpu/kernels/vectors.h"
#include "runtime/packed.h"
#include "runtime/pooled.h"

namespace pijit {
namespace {
namespace winograd {

constexpr int kPoints = 6, kOut = 4, kTaps = 3;  // of a line
constexpr int64_t kProducts = kPoints * kPoints, kWeights = kTaps * kTaps, kFloat = sizeof(float);
constexpr float kA = 0.625f, kB = 1.5f;

// Which of a tile's lines lie on the map: [first, past).
struct Span {
  int first, past;
};
// What the sums become on their way to the map.
struct Finish {
  const float* bias;      // of the block of filters, or null
  const float* residual;  // as the map, or null
  Activation activation;
};
// The steps, for a set of instructions.
struct Steps {
  using Multiply = void (*)(const float* v, int64_t v_step, const float* u, float* m,
                            int64_t m_step, int64_t channels, const float* ahead);
  int64_t block;                                     // floats of a vector
  int64_t tiles;                                     // of a product
  std::array<std::array<Multiply, 14>, 2> multiply;  // by vectors of filters and tiles, less one
  void (*input)(const float* x, int64_t width, Span rows, Span columns, float* to, int64_t step);
  void (*output)(const float* m, int64_t step, const Finish& f, float* y, int64_t width, int rows,
                 int columns);
  void (*weights)(const float* g, float* to, int64_t step);
};

namespace avx2 {
using namespace pijit::avx2;
constexpr size_t kMostTiles = 6;
#include "cpu/kernels/winograd_steps.h"
}  // namespace avx2

#pragma GCC push_options
#pragma GCC target("avx512f,avx512dq,avx512bw,avx512vl")
namespace avx512 {
using namespace pijit::avx512;
constexpr size_t kMostTiles = 14;
#include "cpu/kernels/winograd_steps.h"
}  // namespace avx512
#pragma GCC pop_options

int64_t ceil_div(int64_t n, int64_t to) { return (n + to - 1) / to; }

struct Axis {
  int64_t size, out, pad;
  int64_t tiles() const { return ceil_div(out, kOut); }
  // Where the tile's inputs begin; below 0 in padding.
  int64_t from(int64_t tile) const { return tile * kOut - pad; }
  Span inputs(int64_t tile) const {
    const int64_t low = std::clamp<int64_t>(-from(tile), 0, kPoints);
    return {static_cast<int>(low),
            static_cast<int>(std::clamp<int64_t>(size - from(tile), low, kPoints))};
  }
  int outputs(int64_t tile) const {
    return static_cast<int>(std::min<int64_t>(kOut, out - tile * kOut));
  }
};
struct Sizes {
  int64_t images, groups, channels, filters;  // of all groups
  Axis rows, columns;
  int64_t tiles() const { return rows.tiles() * columns.tiles(); }  // of an image
  int64_t depth() const { return channels / groups; }
};

class Convolution : public OpKernel {
 public:
  Convolution(const Sizes& g, const Epilogue& end, const Steps& steps)
      : g_(g),
        end_(end),
        s_(steps),
        layout_(str_cat("winograd ", g.groups, ",", g.filters, ",", g.channels)) {
    // Blocks side by side are of one group.
    together_ = g.groups == 1 || g.filters / g.groups / s_.block % 2 == 0 ? 2 : 1;
    const int64_t values = g.images * g.tiles() * g.channels * kProducts;
    divides_filters_ = values <= weights();
  }
  void run(const void* const* in, void* out) override {
    const Block packed(static_cast<size_t>(weights() * kFloat));
    pack(static_cast<const float*>(in[1]), floats(packed));
    convolve(in, floats(packed), out);
  }
  int packs() const override { return 1; }
  void run_packed(const void* const* in, void* out, const OperandMemory& memory) override {
    const auto kept = packed_form(
        memory, layout_, static_cast<size_t>(weights() * kFloat),
        [&](void* to) { pack(static_cast<const float*>(in[1]), static_cast<float*>(to)); });
    if (!kept) return run(in, out);
    convolve(in, floats(*kept), out);
  }

 private:
  // Values at a point of neighbouring points would be stored to the same few places of the nearest
  // cache if they lay a whole number of pages apart.
  static constexpr int64_t kApart = 16;
  static constexpr int64_t kSomeTiles = 28, kSomeFilters = 64;

  int64_t weights() const { return kProducts * g_.depth() * g_.filters; }
  // Of some blocks of filters together, the first of which is k.
  const float* weights_at(const float* u, int64_t k, int64_t point) const {
    const int64_t filters = std::min(together_, filter_blocks() - k) * s_.block;
    return u + (kProducts * k * s_.block + point * filters) * g_.depth();
  }
  int64_t filter_blocks() const { return g_.filters / s_.block; }
  // By blocks of filters together, point and channel. A last block may be alone.
  void pack(const float* w, float* to) const {
    const int64_t row = g_.depth() * kWeights, all = ceil_div(filter_blocks(), together_);
    parallel_for(all, 1 + (1 << 14) / row, [&](int64_t begin, int64_t end) {
      const Block memory(static_cast<size_t>(row * s_.block * kFloat));
      for (int64_t k = begin * together_; k < std::min(end * together_, filter_blocks()); ++k) {
        for (int64_t h = 0; h < s_.block; h += kLanes)
          into_block(w + (k * s_.block + h) * row, row, kLanes, floats(memory) + h, row, s_.block);
        const int64_t first = k - k % together_;
        const int64_t step = std::min(together_, filter_blocks() - first) * s_.block;
        float* const u = to + (kProducts * g_.depth() * first + k - first) * s_.block;
        for (int64_t c = 0; c < g_.depth(); ++c)
          s_.weights(floats(memory) + c * kWeights * s_.block, u + c * step, g_.depth() * step);
      }
    });
  }
  // The values of tiles [first, past), of all images, by point and tile.
  void bring_to_points(const float* x, int64_t first, int64_t past, float* to, int64_t step) const {
    const int64_t map = g_.rows.size * g_.columns.size, across = g_.columns.tiles();
    for (int64_t t = first; t < past; ++t, to += g_.channels) {
      const int64_t image = t / g_.tiles(), i = t % g_.tiles() / across, j = t % across;
      const Span rows = g_.rows.inputs(i), columns = g_.columns.inputs(j);
      const float* from = x + (image * g_.channels * map) +
                          (g_.rows.from(i) * g_.columns.size + g_.columns.from(j)) * s_.block;
      for (int64_t c = 0; c < g_.channels; c += s_.block)
        s_.input(from + c * map, g_.columns.size, rows, columns, to + c, step);
    }
  }
  struct Operands {
    const float *u, *bias, *residual;
    float* y;
  };
  // Filters of blocks [block, past_block) at tiles [first, past), whose values v holds. `m` has
  // room for their products.
  void multiply(const Operands& o, const float* v, int64_t v_step, int64_t first, int64_t past,
                int64_t block, int64_t past_block, float* m) const {
    const int64_t tiles = past - first, parts = ceil_div(tiles, s_.tiles);
    const int64_t row = (past_block - block) * s_.block, m_step = tiles * row + kApart;
    for (int64_t p = 0; p < kProducts; ++p)
      for (int64_t k = block; k < past_block; k += together_) {
        const int64_t vectors = std::min(together_, past_block - k);
        const int64_t group = k * s_.block / (g_.filters / g_.groups);
        const float* const values = v + p * v_step + group * g_.depth();
        const float* const u = weights_at(o.u, k, p);
        const float* const ahead = k + together_ < past_block
                                       ? weights_at(o.u, k + together_, p)
                                       : weights_at(o.u, block, (p + 1) % kProducts);
        const auto& of_tiles = s_.multiply[static_cast<size_t>(vectors - 1)];
        for (int64_t part = 0; part < parts; ++part) {
          const auto [from, to] = share_of(tiles, part, parts);
          of_tiles[static_cast<size_t>(to - from - 1)](
              values + from * g_.channels, g_.channels, u,
              m + p * m_step + from * row + (k - block) * s_.block, row, g_.depth(), ahead);
        }
      }
    const int64_t map = g_.rows.out * g_.columns.out, across = g_.columns.tiles();
    for (int64_t t = first; t < past; ++t) {
      const int64_t image = t / g_.tiles(), i = t % g_.tiles() / across, j = t % across;
      for (int64_t k = block; k < past_block; ++k) {
        const int64_t at =
            ((image * filter_blocks() + k) * map + (i * g_.columns.out + j) * kOut) * s_.block;
        const Finish f{o.bias ? o.bias + k * s_.block : nullptr,
                       o.residual ? o.residual + at : nullptr, end_.activation};
        s_.output(m + (t - first) * row + (k - block) * s_.block, m_step, f, o.y + at,
                  g_.columns.out, g_.rows.outputs(i), g_.columns.outputs(j));
      }
    }
  }
  void convolve(const void* const* in, const float* u, void* out) const {
    const auto* const x = static_cast<const float*>(in[0]);
    const Operands o{u, static_cast<const float*>(in[2]),
                     end_.residual ? static_cast<const float*>(in[3]) : nullptr,
                     static_cast<float*>(out)};
    const int64_t tiles = g_.images * g_.tiles(), threads = max_threads();
    const auto values = [&](int64_t n) {  // of tiles, and what their points are apart
      return std::pair(n * g_.channels + kApart,
                       static_cast<size_t>(kProducts * (n * g_.channels + kApart) * kFloat));
    };
    // Parts of tiles by slices of filters: whole rounds for all threads.
    const int64_t all = ceil_div(filter_blocks(), together_);
    int64_t parts = ceil_div(tiles, divides_filters_ ? 4 * kSomeTiles : kSomeTiles),
            slices = ceil_div(g_.filters, kSomeFilters);
    if (divides_filters_) slices = std::min(all, ceil_div(slices, threads) * threads);
    const int64_t round = divides_filters_ ? threads / std::gcd(slices, threads) : threads;
    if (parts > 1 || divides_filters_) parts = std::min(tiles, ceil_div(parts, round) * round);
    const int64_t most_tiles = ceil_div(tiles, parts),
                  most_filters = ceil_div(all, slices) * together_ * s_.block;
    const auto products =
        static_cast<size_t>(kProducts * (most_tiles * most_filters + kApart) * kFloat);
    const auto blocks_of = [&](int64_t slice) {
      const auto [first, past] = share_of(all, slice, slices);
      return std::pair(first * together_, std::min(past * together_, filter_blocks()));
    };
    if (divides_filters_) {
      const auto [step, bytes] = values(tiles);
      const Block memory(bytes);
      parallel_for(tiles, 1 + (1 << 14) / g_.channels,
                   [&, step = step](int64_t begin, int64_t end) {
                     bring_to_points(x, begin, end, floats(memory) + begin * g_.channels, step);
                   });
      parallel_for(parts * slices, 1, [&, step = step](int64_t begin, int64_t end) {
        const Block m(products);
        for (int64_t k = begin; k < end; ++k) {
          const auto [first, past] = share_of(tiles, k % parts, parts);
          const auto [block, past_block] = blocks_of(k / parts);
          multiply(o, floats(memory) + first * g_.channels, step, first, past, block, past_block,
                   floats(m));
        }
      });
      return;
    }
    parallel_for(parts, 1, [&](int64_t begin, int64_t end) {
      const auto [step, bytes] = values(most_tiles);
      const Pieces memory{bytes, products};
      for (int64_t k = begin; k < end; ++k) {
        const auto [first, past] = share_of(tiles, k, parts);
        bring_to_points(x, first, past, memory.of<float>(0), step);
        for (int64_t slice = 0; slice < slices; ++slice) {
          const auto [block, past_block] = blocks_of(slice);
          multiply(o, memory.of<float>(0), step, first, past, block, past_block,
                   memory.of<float>(1));
        }
      }
    });
  }

  const Sizes g_;
  const Epilogue end_;
  const Steps& s_;
  const std::string layout_;  // of packed weights
  int64_t together_;          // blocks of filters
  bool divides_filters_;
};

std::unique_ptr<OpKernel> conv2d(const KernelRequest& r, std::string* why) {
  if (!r.fast) return *why = "numerics are exact", nullptr;
  for (size_t i = 0; i < r.in.size(); ++i)
    if (r.present[i] && r.in[i].dtype != DType::F32) return *why = "dtype is not float32", nullptr;
  if (r.out.dtype != DType::F32) return *why = "dtype is not float32", nullptr;
  const Shape &x = r.in[0].shape, &w = r.in[1].shape, &y = r.out.shape;
  const int64_t block = channel_block();
  const Steps* steps = block == avx512::kSteps.block ? &avx512::kSteps
                       : block == avx2::kSteps.block ? &avx2::kSteps
                                                     : nullptr;
  if (!steps) return *why = "not for this processor's instructions", nullptr;
  if (x.rank() != 5 || y.rank() != 5) return *why = "channels lie in no blocks", nullptr;
  if (x.numel() == 0 || w.numel() == 0 || y.numel() == 0) return *why = "empty tensor", nullptr;
  const OpCtx c = r.ctx();
  const auto is_one = [&](const char* name) {
    const auto& n = c.numbers(name);
    return n[0] == 1 && n[1] == 1;
  };
  if (w[2] != kTaps || w[3] != kTaps || !is_one("stride") || !is_one("dilation"))
    return *why = "not 3 x 3 next to each other", nullptr;
  const auto& pad = c.numbers("pad");
  const int64_t groups = c.i("group");
  if (w[1] % block || w[0] / groups % block) return *why = "groups fill no blocks", nullptr;
  const Sizes g{x[0], groups, w[1] * groups, w[0], {x[2], y[2], pad[0]}, {x[3], y[3], pad[2]}};
  // Of few tiles the weights, of which there are four times as many, are what takes long; of few
  // channels to a group the ways to points and back.
  if (g.images * g.tiles() < (groups == 1 ? 12 : 40)) return *why = "few pixels", nullptr;
  const auto end = short_epilogue_of(r, why);
  if (!end) return nullptr;
  return std::make_unique<Convolution>(g, *end, *steps);
}

}  // namespace winograd
}  // namespace

KernelFamily winograd_conv_kernels() {
  return {"winograd",
          {{"conv2d_blocked", winograd::conv2d}, {"conv2d_post_blocked", winograd::conv2d}}};
}

}  // namespace pijit
