// Direct convolutions of float32 with AVX2, by code generated for the sizes at hand. They are
// faster than oneDNN's for AVX2: up to 6 times (forward), 4 (gradient of the input) and 8 (of
// weights) where maps, channels or filters are few; with hundreds of channels by 0 to 10, 0 and 10
// to 40 % (measured: 190 combinations of 1 to 512 channels, 6 to 512 filters, kernels of 2 x 2 to 7
// x 7 and maps of 2 x 2 to 224 x 224). Where they are not, they refuse. Dilated kernels take 1.0 to
// 0.13 of oneDNN's time forward and 0.64 to 0.1 for weights, and those in groups of 8 channels or
// more 0.97 to 0.2 (measured: 15 combinations of 3 to 512 channels, dilation of 1 to 18).
//
// Accumulators stay in registers: of 8, 16 or 24 filters at up to 12 pixels of an output row
// (forward, and the gradient of the input), or of 8 filters at the weights of a kernel row and some
// channels, or some kernel rows (the gradient of weights). What a window covers of padding takes no
// part: small maps have much of it, and what is no number, times a padded zero, would be NaN.
//
// What is computed for an element, and so each bit, depends on sizes alone, not on the layout of
// the maps nor on the number of threads.
//
// With AVX-512 oneDNN goes first, but for groups whose channels don't fill its vectors; this code
// takes the rest of what it has no code for.
#include <algorithm>
#include <cstring>
#include <map>
#include <numeric>
#include <tuple>
#include <vector>

#include "base/config.h"
#include "cpu/kernels/blocks.h"
#include "cpu/code.h"
#include "cpu/cpu.h"
#include "cpu/kernels/window.h"
#include "runtime/code_names.h"
#include "runtime/packed.h"
#include "runtime/pooled.h"

namespace pijit {
namespace {

using asmjit::Imm;

constexpr int64_t kMaxKernel = 7, kMaxDilation = 64;
constexpr int kRegisters = 16, kMaxBlocks = 3;  // blocks of filters in registers
constexpr int64_t kFloat = sizeof(float), kVector = kLanes * kFloat;

// What is convolved with what: of each image, each group of channels with its filters; `channels`
// and `filters` are those of a group. `x` is read and `y` written by the forward convolution; a
// gradient of the input is the convolution of dy with the kernel turned around.
struct Sizes {
  int64_t count, groups, channels, height, width, filters, out_height, out_width, kernel[2],
      stride[2], pad[2], dilation[2];
  bool x_blocked, y_blocked;  // in blocks of 8 channels
  bool turned;

  int64_t filter_blocks() const { return (filters + kLanes - 1) / kLanes; }
  // Filters of a block.
  int64_t filters_of(int64_t block) const {
    return std::min<int64_t>(kLanes, filters - block * kLanes);
  }
  int64_t taps() const { return kernel[0] * kernel[1]; }
  int64_t pixels() const { return height * width; }
  int64_t out_pixels() const { return out_height * out_width; }
  // Output rows written at a time. Plain maps are turned from blocks some rows at a time: whole
  // vectors of pixels, still in the cache.
  int64_t written_rows() const {
    return y_blocked ? out_height : std::min(out_height, kLanes / std::gcd(out_width, kLanes));
  }
  int64_t written_pixels() const { return written_rows() * out_width; }
  // Floats from pixel to pixel, from channel to channel of a block.
  int64_t pixel_step() const { return x_blocked ? kLanes : 1; }
  int64_t channel_step() const { return x_blocked ? 1 : pixels(); }
  // First float of a channel that begins a block, or some channels of it.
  int64_t channel_at(int64_t c) const {
    return x_blocked ? c / kLanes * pixels() * kLanes + c % kLanes : c * pixels();
  }
  // The groups of all images; a group's maps follow each other.
  int64_t image_groups() const { return count * groups; }
  // First float of a block of filters of such a group's output.
  int64_t out_at(int64_t image_group, int64_t block) const {
    return (image_group * filters + block * kLanes) * out_pixels();
  }
  double flops() const {
    return 2.0 * static_cast<double>(image_groups() * filters * out_pixels() * channels * taps());
  }
  WindowAxis rows() const { return axis(0); }
  WindowAxis axis(int k) const {
    return {
        k ? width : height, k ? out_width : out_height, kernel[k], stride[k], dilation[k], pad[k]};
  }
  bool dilated() const { return dilation[0] > 1 || dilation[1] > 1; }
  // The share of the products that don't meet padding.
  double share_on_image() const {
    double share = 1;
    for (int k : {0, 1}) {
      const WindowAxis w = axis(k);
      int64_t met = 0;
      for (int64_t tap = 0; tap < w.taps; ++tap)
        met += w.outs_of(tap).second - w.outs_of(tap).first;
      share *= static_cast<double>(met) / static_cast<double>(w.out * w.taps);
    }
    return share;
  }
};

// Output pixels of a row side by side. What their windows reach over begins at input column `from`,
// of which [low, high) lie on the image.
struct Tile {
  int64_t at, count, from, low, high;
};
std::vector<Tile> tiles_of(const Sizes& g, int64_t most) {
  std::vector<Tile> tiles;
  const int64_t n = (g.out_width + most - 1) / most;
  for (int64_t k = 0; k < n; ++k) {  // as equal as can be
    const int64_t at = g.out_width * k / n, count = g.out_width * (k + 1) / n - at;
    const int64_t from = at * g.stride[1] - g.pad[1];
    const int64_t reach = (count - 1) * g.stride[1] + (g.kernel[1] - 1) * g.dilation[1] + 1;
    const int64_t low = std::clamp<int64_t>(-from, 0, reach);
    tiles.push_back({at, count, from, low, std::clamp(g.width - from, low, reach)});
  }
  return tiles;
}
// Tiles with the same key have the same code: in the middle of a row all do.
using CodeKey = std::tuple<int64_t, int64_t, int64_t, int64_t>;
CodeKey key_of(const Tile& t, int64_t variant) { return {variant, t.count, t.low, t.high}; }

x86::Mem at(const x86::Gp& p, int64_t bytes) { return x86::ptr(p, static_cast<int32_t>(bytes)); }

// y[filter blocks][count] = start + the products with `rows` kernel rows.
using ForwardFn = void (*)(const float* x, const float* w, const float* start, float* y,
                           int64_t rows);
void emit_forward(x86::Assembler& a, const Sizes& g, int64_t blocks, const Tile& t) {
  using namespace asmjit::x86;
  const Gp x = rdi, w = rsi, start = rdx, y = rcx, rows = r8;  // arguments
  const Gp x_row = rax, w_row = r11, rows_left = r10, blocks_left = r9;
  const int n = static_cast<int>(t.count), f = static_cast<int>(blocks), used = f * n + f;
  auto sum = [&](int k, int p) { return ymm(static_cast<uint32_t>(k * n + p)); };
  auto weight = [&](int k) { return ymm(static_cast<uint32_t>(f * n + k)); };
  for (int k = 0; k < f; ++k) {
    a.vmovups(sum(k, 0), at(start, k * kVector));
    for (int p = 1; p < n; ++p) a.vmovaps(sum(k, p), sum(k, 0));
  }
  const int64_t block_of_weights = g.channels * g.taps() * kVector;
  const int64_t row_of_weights = (g.turned ? -1 : 1) * g.kernel[1] * kVector;
  auto products = [&](int64_t channels) {
    int spare = used;
    for (int64_t b = 0; b < g.kernel[1]; ++b)
      for (int64_t c = 0; c < channels; ++c) {
        bool loaded = false;
        for (int p = 0; p < n; ++p) {
          const int64_t q = p * g.stride[1] + b * g.dilation[1];
          if (q < t.low || q >= t.high) continue;
          const int64_t tap = g.turned ? g.kernel[1] - 1 - b : b;
          if (!loaded)
            for (int k = 0; k < f; ++k)
              a.vmovups(weight(k),
                        at(w_row, k * block_of_weights + (c * g.taps() + tap) * kVector));
          loaded = true;
          const Ymm pixel = ymm(static_cast<uint32_t>(spare));
          if (++spare == kRegisters) spare = used;
          a.vbroadcastss(pixel, at(x_row, (q * g.pixel_step() + c * g.channel_step()) * kFloat));
          for (int k = 0; k < f; ++k) a.vfmadd231ps(sum(k, p), pixel, weight(k));
        }
      }
  };
  const asmjit::Label store = a.newLabel();
  auto all_rows = [&](int64_t channels) {
    const asmjit::Label row = a.newLabel();
    a.mov(x_row, x);
    a.mov(w_row, w);
    a.mov(rows_left, rows);
    a.bind(row);
    products(channels);
    a.add(x_row, Imm(g.dilation[0] * g.width * g.pixel_step() * kFloat));
    a.add(w_row, Imm(row_of_weights));
    a.dec(rows_left);
    a.jnz(row);
  };
  if (t.low < t.high) {
    a.test(rows, rows);
    a.jz(store);
    const int64_t whole = g.channels / kLanes, rest = g.channels % kLanes;
    if (whole) {
      const asmjit::Label block = a.newLabel();
      a.mov(blocks_left, Imm(whole));
      a.bind(block);
      all_rows(kLanes);
      a.add(x, Imm(g.pixels() * kVector));
      a.add(w, Imm(kLanes * g.taps() * kVector));
      a.dec(blocks_left);
      a.jnz(block);
    }
    if (rest) all_rows(rest);
  }
  a.bind(store);
  for (int k = 0; k < f; ++k)
    for (int p = 0; p < n; ++p) a.vmovups(at(y, (k * g.written_pixels() + p) * kVector), sum(k, p));
  a.vzeroupper();
  a.ret();
}

// Weights whose gradients are summed in registers: of a kernel row and some channels or, where
// channels are few, of some kernel rows. Of dilated kernels, the pixels of dy at every `lines`-th
// column meet the same columns of x, every `step`-th of these, as those of a kernel without
// dilation and with `stride` do. `window`: the pixels of dy that a column of x meets.
struct WeightTile {
  int64_t channels = 1, rows = 1, lines, step, stride, window;
  explicit WeightTile(const Sizes& g) {
    const int64_t taps = g.kernel[1], common = std::gcd(g.stride[1], g.dilation[1]);
    lines = g.dilation[1] / common;
    step = g.dilation[1];
    stride = g.stride[1] / common;
    window = (taps + stride - 1) / stride;
    while (channels < kLanes && 2 * channels * taps + window < kRegisters) channels *= 2;
    if (channels <= g.channels) return;
    channels = g.channels;
    const int64_t room = (kRegisters - 1 - window) / (channels * taps);
    rows = std::clamp<int64_t>(room, 1, g.kernel[0]);
  }
};
// sums[channels][kernel rows][kernel columns] += the products of dy's rows with x.
using WeightsFn = void (*)(const float* x, const float* dy, float* sums, int64_t rows,
                           int64_t images);
void emit_weights(x86::Assembler& a, const Sizes& g, int64_t channels, int64_t kernel_rows,
                  const Tile& t) {
  using namespace asmjit::x86;
  const Gp x = rdi, dy = rsi, sums = rdx, rows = rcx, images = r8;  // arguments
  const Gp x_row = rax, dy_row = r10, rows_left = r11;
  const WeightTile tile(g);
  const int64_t taps = g.kernel[1], window = tile.window;
  const int64_t row_step = g.width * g.pixel_step();
  const auto used = static_cast<uint32_t>(kernel_rows * channels * taps);
  auto sum = [&](int64_t r, int64_t c, int64_t b) {
    return ymm(static_cast<uint32_t>((r * channels + c) * taps + b));
  };
  auto gradient = [&](int64_t k) { return ymm(used + static_cast<uint32_t>(k % window)); };
  for (uint32_t k = 0; k < used; ++k) a.vxorps(ymm(k), ymm(k), ymm(k));
  const asmjit::Label image = a.newLabel(), row = a.newLabel();
  a.bind(image);
  a.mov(x_row, x);
  a.mov(dy_row, dy);
  a.mov(rows_left, rows);
  a.bind(row);
  uint32_t spare = used + static_cast<uint32_t>(window);
  for (int64_t line = 0; line < std::min(tile.lines, t.count); ++line) {
    const int64_t count = (t.count - line + tile.lines - 1) / tile.lines;  // pixels of this line
    int64_t loaded = -1;
    for (int64_t j = 0; j < (count - 1) * tile.stride + taps; ++j) {
      const int64_t q = line * g.stride[1] + j * tile.step;
      if (q < t.low || q >= t.high) continue;
      std::vector<std::pair<int64_t, int64_t>> meets;  // (tap, the line's pixel)
      for (int64_t b = taps - 1; b >= 0; --b)
        if (j >= b && (j - b) % tile.stride == 0 && (j - b) / tile.stride < count)
          meets.push_back({b, (j - b) / tile.stride});
      for (auto [b, k] : meets)
        if (k > loaded)
          a.vmovups(gradient(loaded = k), at(dy_row, (line + k * tile.lines) * kVector));
      for (int64_t r = 0; r < kernel_rows && !meets.empty(); ++r)
        for (int64_t c = 0; c < channels; ++c) {
          const Ymm pixel = ymm(spare);
          if (++spare == kRegisters) spare = used + static_cast<uint32_t>(window);
          a.vbroadcastss(pixel, at(x_row, (r * g.dilation[0] * row_step + q * g.pixel_step() +
                                           c * g.channel_step()) *
                                              kFloat));
          for (auto [b, k] : meets) a.vfmadd231ps(sum(r, c, b), pixel, gradient(k));
        }
    }
  }
  a.add(x_row, Imm(g.stride[0] * row_step * kFloat));
  a.add(dy_row, Imm(g.out_width * kVector));
  a.dec(rows_left);
  a.jnz(row);
  a.add(x, Imm(g.groups * g.channels * g.pixels() * kFloat));
  a.add(dy, Imm(g.groups * g.filter_blocks() * g.out_pixels() * kVector));
  a.dec(images);
  a.jnz(image);
  for (int64_t r = 0; r < kernel_rows; ++r)
    for (int64_t c = 0; c < channels; ++c)
      for (int64_t b = 0; b < taps; ++b) {
        const Mem total = at(sums, (c * g.taps() + r * taps + b) * kVector);
        a.vaddps(sum(r, c, b), sum(r, c, b), total);
        a.vmovups(total, sum(r, c, b));
      }
  a.vzeroupper();
  a.ret();
}

template <class Fn>
class Codes {
 public:
  // Emitted by emit(assembler) where it is not there yet.
  template <class F>
  Fn get(const CodeKey& key, F emit) {
    auto it = made_.find(key);
    if (it == made_.end())
      it = made_
               .emplace(key, Code<Fn>([&](asmjit::CodeHolder& code) {
                          x86::Assembler a(&code);
                          if (config().verify)
                            a.addDiagnosticOptions(asmjit::DiagnosticOptions::kValidateAssembler);
                          emit(a);
                        }))
               .first;
    return it->second.get();
  }

 private:
  std::map<CodeKey, Code<Fn>> made_;
};

// Parts of that many floating-point operations are worth a thread.
int64_t grain(double flops, int64_t parts) {
  return 1 + static_cast<int64_t>(1.5e6 * static_cast<double>(parts) / std::max(1.0, flops));
}

class DirectConv : public OpKernel {
 public:
  explicit DirectConv(const Sizes& g)
      : g_(g),
        layout_(str_cat("direct ", g.turned ? "turned " : "", g.groups, ",", g.filters, ",",
                        g.channels, ",", g.taps())) {
    for (int64_t f = 0, n; f < g.filter_blocks(); f += n) {
      const int64_t left = g.filter_blocks() - f;
      n = left == kMaxBlocks ? left : std::min<int64_t>(left, 2);
      Set set{f, n, {}};
      for (const Tile& t : tiles_of(g, 12 / n))
        set.tiles.push_back(
            {t, codes_.get(key_of(t, n), [&](x86::Assembler& a) { emit_forward(a, g_, n, t); })});
      sets_.push_back(std::move(set));
    }
  }
  void run(const void* const* in, void* out) override {
    const Block packed(packed_bytes());
    pack(static_cast<const float*>(in[1]), floats(packed));
    run_with(floats(packed), in, out);
  }
  int packs() const override { return 1; }
  void run_packed(const void* const* in, void* out, const OperandMemory& memory) override {
    const auto kept = packed_form(
        memory, layout_, packed_bytes(),
        [&](void* to) { pack(static_cast<const float*>(in[1]), static_cast<float*>(to)); },
        order());
    kept ? run_with(floats(*kept), in, out) : run(in, out);
  }

 private:
  // Nothing: a last block has room, or the weights are turned.
  std::optional<Layout> order() const {
    const int64_t row = g_.channels * g_.taps();
    if (g_.turned || g_.filters % kLanes != 0) return std::nullopt;
    return Layout::in_order({{g_.groups * g_.filter_blocks(), kLanes * row, kLanes * row},
                             {kLanes, row, 1},
                             {row, 1, kLanes}});
  }
  size_t packed_bytes() const {
    return static_cast<size_t>(g_.groups * g_.filter_blocks() * g_.channels * g_.taps() * kVector);
  }
  void run_with(const float* packed, const void* const* in, void* out) const {
    const auto *x = static_cast<const float*>(in[0]),
               *bias = g_.turned ? nullptr : static_cast<const float*>(in[2]);
    const int64_t blocks = g_.filter_blocks(), per_block = g_.channels * g_.taps() * kLanes;
    const int64_t all_blocks = g_.groups * blocks;
    const Block starts(static_cast<size_t>(all_blocks * kVector));
    float* const start = floats(starts);
    std::fill_n(start, all_blocks * kLanes, 0.0f);
    if (bias)
      for (int64_t k = 0; k < g_.groups; ++k)
        std::copy_n(bias + k * g_.filters, g_.filters, start + k * blocks * kLanes);
    const auto sets = static_cast<int64_t>(sets_.size()), parts = g_.image_groups() * sets;
    const int64_t rows = g_.written_rows(), pixels = g_.written_pixels();
    parallel_for(parts, grain(g_.flops(), parts), [&](int64_t begin, int64_t end) {
      const Block memory(g_.y_blocked ? 0 : static_cast<size_t>(kMaxBlocks * pixels * kVector));
      for (int64_t k = begin; k < end; ++k) {
        // All images of a group of channels and a set of filters, one after the other.
        const Set& set = sets_[k / g_.count % sets];
        const int64_t group = k / g_.count / sets, n = k % g_.count * g_.groups + group;
        const int64_t block = group * blocks + set.first;
        float* y = static_cast<float*>(out) + g_.out_at(n, set.first);
        const Place at{x + n * g_.channels * g_.pixels(), packed + block * per_block,
                       start + block * kLanes};
        for (int64_t i = 0; i < g_.out_height; i += rows) {
          const int64_t past = std::min(i + rows, g_.out_height);
          convolve(set, at, i, past, g_.y_blocked ? y : floats(memory));
          if (g_.y_blocked) continue;
          for (int64_t f = 0; f < set.count; ++f)
            out_of_block(floats(memory) + f * pixels * kLanes, (past - i) * g_.out_width,
                         y + f * kLanes * g_.out_pixels() + i * g_.out_width, g_.out_pixels(),
                         g_.filters_of(set.first + f));
        }
      }
    });
  }

  struct Set {  // blocks of filters
    int64_t first, count;
    std::vector<std::pair<Tile, ForwardFn>> tiles;
  };
  // Weights by group, block of filters, channel and tap, 8 filters to a vector.
  void pack(const float* w, float* packed) const {
    const int64_t blocks = g_.filter_blocks(), taps = g_.taps(), per_filter = g_.channels * taps;
    const int64_t of_group = g_.filters * per_filter;
    parallel_for(
        g_.groups * blocks, 1 + (1 << 16) / (per_filter * kLanes), [&](int64_t begin, int64_t end) {
          if (!g_.turned) {
            for (int64_t k = begin; k < end; ++k) {
              const int64_t f = k % blocks;
              into_block(w + k / blocks * of_group + f * kLanes * per_filter, per_filter,
                         g_.filters_of(f), packed + k * kLanes * per_filter, per_filter);
            }
            return;
          }
          // The other way around in the weights. Pages are read in order, some at a time.
          constexpr int64_t kPages = 16;
          for (int64_t c = 0; c < g_.channels; c += kPages)
            for (int64_t k = begin; k < end; ++k)
              for (int64_t i = c; i < std::min(c + kPages, g_.channels); ++i) {
                const int64_t f = k % blocks;
                into_block(w + k / blocks * of_group + (i * g_.filters + f * kLanes) * taps, taps,
                           g_.filters_of(f), packed + (k * per_filter + i * taps) * kLanes, taps);
              }
        });
  }
  struct Place {
    const float *x, *w, *start;  // of an image and a group
  };
  // Output rows [first, past), to y.
  void convolve(const Set& set, const Place& at, int64_t first, int64_t past, float* y) const {
    for (int64_t i = first; i < past; ++i) {
      const auto [a, z] = g_.rows().taps_of(i);
      const int64_t row = g_.rows().at(i, a);
      const int64_t tap_row = g_.turned ? g_.kernel[0] - 1 - a : a;
      for (auto& [t, fn] : set.tiles)
        fn(at.x + (row * g_.width + t.from) * g_.pixel_step(),
           at.w + tap_row * g_.kernel[1] * kLanes, at.start,
           y + ((i - first) * g_.out_width + t.at) * kLanes, z - a);
    }
  }

  Sizes g_;
  std::string layout_;  // of packed weights
  Codes<ForwardFn> codes_;
  std::vector<Set> sets_;
};

class DirectWeightGradient : public OpKernel {
 public:
  explicit DirectWeightGradient(const Sizes& g) : g_(g) {
    const WeightTile step(g);
    for (int64_t c = 0; c < g.channels; c += step.channels)
      for (int64_t a = 0; a < g.kernel[0]; a += step.rows) {
        const int64_t channels = std::min(step.channels, g.channels - c),
                      rows = std::min(step.rows, g.kernel[0] - a);
        std::vector<Call> calls;
        // Output rows for which all these kernel rows lie on the image, and the others.
        const auto [last_first, x] = g.rows().outs_of(a);
        const auto [y, first_past] = g.rows().outs_of(a + rows - 1);
        const int64_t first = last_first, past = std::max(first, first_past);
        add_calls(c, channels, a, rows, first, past, &calls);
        for (int64_t k = a; k < a + rows && rows > 1; ++k) {
          const auto [begin, end] = g.rows().outs_of(k);
          add_calls(c, channels, k, 1, begin, std::min(end, first), &calls);
          add_calls(c, channels, k, 1, std::max(begin, past), end, &calls);
        }
        parts_.push_back(std::move(calls));
      }
  }
  void run(const void* const* in, void* out) override {
    const auto *x = static_cast<const float*>(in[0]), *dy = static_cast<const float*>(in[1]);
    auto* dw = static_cast<float*>(out);
    const int64_t blocks = g_.filter_blocks(), pixels = g_.out_pixels();
    const int64_t per_filter = g_.channels * g_.taps(), all_blocks = g_.groups * blocks;
    const Block other(g_.y_blocked ? 0
                                   : static_cast<size_t>(g_.count * all_blocks * pixels * kVector));
    if (!g_.y_blocked) {
      float* to = floats(other);
      parallel_for(g_.count * all_blocks, 1 + (1 << 17) / pixels, [&](int64_t begin, int64_t end) {
        for (int64_t k = begin; k < end; ++k)
          into_block(dy + g_.out_at(k / blocks, k % blocks), pixels, g_.filters_of(k % blocks),
                     to + k * pixels * kLanes, pixels);
      });
      dy = to;
    }
    const Block memory(static_cast<size_t>(all_blocks * per_filter * kVector));
    float* sums = floats(memory);
    std::fill_n(sums, all_blocks * per_filter * kLanes, 0.0f);
    const auto parts = static_cast<int64_t>(parts_.size());  // a part's weights are its own
    // Images of some 1,000 pixels are summed before they are added: they stay in the cache, and
    // rounding errors stay small.
    const int64_t step = std::max<int64_t>(1, 1024 / pixels);
    parallel_for(all_blocks * parts, grain(g_.flops(), all_blocks * parts),
                 [&](int64_t begin, int64_t end) {
                   for (int64_t n = 0; n < g_.count; n += step)
                     for (int64_t k = begin; k < end; ++k) {
                       const int64_t block = k / parts, group = block / blocks;
                       for (const Call& call : parts_[k % parts])
                         call.fn(x + (n * g_.groups + group) * g_.channels * g_.pixels() + call.x,
                                 dy + (n * all_blocks + block) * pixels * kLanes + call.dy,
                                 sums + block * per_filter * kLanes + call.sums, call.rows,
                                 std::min(step, g_.count - n));
                     }
                 });
    for (int64_t k = 0; k < all_blocks; ++k)
      out_of_block(sums + k * per_filter * kLanes, per_filter,
                   dw + (k / blocks * g_.filters + k % blocks * kLanes) * per_filter, per_filter,
                   g_.filters_of(k % blocks));
  }

 private:
  struct Call {
    WeightsFn fn;
    int64_t x, dy, sums, rows;  // floats from where an image's begin
  };
  // For output rows [first, past) and kernel rows from a on.
  void add_calls(int64_t c, int64_t channels, int64_t a, int64_t kernel_rows, int64_t first,
                 int64_t past, std::vector<Call>* calls) {
    constexpr int64_t kColumns = 16;  // of the code's unrolled row
    if (first >= past) return;
    const int64_t row = g_.rows().at(first, a);
    const CodeName name([] { return std::string("gradient of a convolution by its weight"); });
    for (const Tile& t : tiles_of(g_, kColumns))
      if (t.low < t.high)
        calls->push_back({codes_.get(key_of(t, channels * kMaxKernel + kernel_rows),
                                     [&](x86::Assembler& as) {
                                       emit_weights(as, g_, channels, kernel_rows, t);
                                     }),
                          g_.channel_at(c) + (row * g_.width + t.from) * g_.pixel_step(),
                          (first * g_.out_width + t.at) * kLanes,
                          (c * g_.taps() + a * g_.kernel[1]) * kLanes, past - first});
  }

  Sizes g_;
  Codes<WeightsFn> codes_;
  std::vector<std::vector<Call>> parts_;
};

// Among the candidates.
enum class Order { kBeforeOnednn, kAfterOnednn };

bool sizes_of(const KernelRequest& r, const Shape& x, const Shape& w, const Shape& y, Order order,
              Sizes* g, std::string* why) {
  const OpCtx c = r.ctx();
  const auto &stride = c.numbers("stride"), &pad = c.numbers("pad"),
             &dilation = c.numbers("dilation");
  for (size_t i = 0; i < r.in.size(); ++i)
    if (r.present[i] && r.in[i].dtype != DType::F32) return *why = "dtype is not float32", false;
  if (r.out.dtype != DType::F32) return *why = "dtype is not float32", false;
  const int64_t block = channel_block();
  if (!generates_code() || block < kLanes)
    return *why = "not for this processor's instructions", false;
  if (x.numel() == 0 || w.numel() == 0 || y.numel() == 0) return *why = "empty tensor", false;
  if (w[2] * w[3] == 1) return *why = "a matrix product", false;
  if (w[2] > kMaxKernel || w[3] > kMaxKernel || stride[0] > 2 || stride[1] > 2)
    return *why = "not a small kernel and stride", false;
  // Displacements in code have 31 bits.
  if (x.numel() / x[0] > 1 << 23 || y.numel() / y[0] > 1 << 23 || w.numel() > 1 << 22 ||
      std::max(dilation[0], dilation[1]) > kMaxDilation)
    return *why = "too large", false;
  const bool x_blocked = x.rank() == 5, y_blocked = y.rank() == 5;
  const int64_t groups = c.i("group"), filters = w[0] / groups;
  if (block > kLanes && (x_blocked || y_blocked)) return *why = "wider blocks", false;
  if (block > kLanes && order == Order::kBeforeOnednn &&
      (groups == 1 || (w[1] % block == 0 && filters % block == 0)))
    return *why = "oneDNN's vectors are wider", false;
  if (order == Order::kBeforeOnednn && groups > 1 && std::min<int64_t>(w[1], filters) < kLanes)
    return *why = "groups of less than a vector of channels", false;
  if (groups > 1 && ((x_blocked && w[1] % kLanes) || (y_blocked && filters % kLanes)))
    return *why = "blocks that two groups share", false;
  *g = {x[0],
        groups,
        w[1],
        x[2],
        x[3],
        filters,
        y[2],
        y[3],
        {w[2], w[3]},
        {stride[0], stride[1]},
        {pad[0], pad[2]},
        {dilation[0], dilation[1]},
        x_blocked,
        y_blocked,
        false};
  return true;
}

template <Order order>
std::unique_ptr<OpKernel> conv2d(const KernelRequest& r, std::string* why) {
  Sizes g;
  if (!sizes_of(r, r.in[0].shape, r.in[1].shape, r.out.shape, order, &g, why)) return nullptr;
  return std::make_unique<DirectConv>(g);
}
template <Order order>
std::unique_ptr<OpKernel> conv2d_dx(const KernelRequest& r, std::string* why) {
  Sizes g;
  if (!sizes_of(r, r.out.shape, r.in[1].shape, r.in[0].shape, order, &g, why)) return nullptr;
  if (g.stride[0] > 1 || g.stride[1] > 1) return *why = "stride", nullptr;
  // Around dilated kernels there can be much padding, which oneDNN multiplies.
  if (order == Order::kBeforeOnednn && g.channels * g.filters >= 64 * 64 &&
      !(g.dilated() && g.share_on_image() < 0.75))
    return *why = "oneDNN is as fast", nullptr;
  const Sizes x = g;
  g.channels = x.filters, g.height = x.out_height, g.width = x.out_width;
  g.filters = x.channels, g.out_height = x.height, g.out_width = x.width;
  for (int k : {0, 1}) g.pad[k] = (x.kernel[k] - 1) * x.dilation[k] - x.pad[k];
  g.x_blocked = x.y_blocked, g.y_blocked = x.x_blocked;
  g.turned = true;
  return std::make_unique<DirectConv>(g);
}
template <Order order>
std::unique_ptr<OpKernel> conv2d_dw(const KernelRequest& r, std::string* why) {
  Sizes g;
  if (!sizes_of(r, r.in[0].shape, r.out.shape, r.in[1].shape, order, &g, why)) return nullptr;
  // For dilated kernels it has no code.
  if (order == Order::kBeforeOnednn && WeightTile(g).channels * g.kernel[1] < 8 &&
      g.channels >= 8 && !g.dilated())
    return *why = "too few accumulators: oneDNN is faster", nullptr;
  return std::make_unique<DirectWeightGradient>(g);
}

}  // namespace

KernelFamily direct_conv_kernels() {
  return {"direct",
          {{"conv2d", conv2d<Order::kBeforeOnednn>},
           {"conv2d_dx", conv2d_dx<Order::kBeforeOnednn>},
           {"conv2d_dw", conv2d_dw<Order::kBeforeOnednn>},
           {"conv2d_blocked", conv2d<Order::kBeforeOnednn>},
           {"conv2d_dx_blocked", conv2d_dx<Order::kBeforeOnednn>},
           {"conv2d_dw_blocked", conv2d_dw<Order::kBeforeOnednn>}}};
}
KernelFamily last_direct_conv_kernels() {
  return {"direct",
          {{"conv2d", conv2d<Order::kAfterOnednn>},
           {"conv2d_dx", conv2d_dx<Order::kAfterOnednn>},
           {"conv2d_dw", conv2d_dw<Order::kAfterOnednn>}}};
}

}  // namespace pijit
