// Direct convolutions of float32 with AVX-512, of maps whose channels fill blocks of 16, and
// products of a matrix of some rows with weights, which are convolutions of rows as pixels: by code
// generated for the sizes at hand.
//
// Weights meet few pixels here, so that reading them is what takes long: oneDNN goes through all of
// them again for each row of the map, and out of the second-level cache that is half of the time
// (512 to 512 channels of 7 x 7, 3 x 3, on one core: 1570 us). Here some channels' weights meet all
// pixels before the next channels' do, while they are in the nearest cache; sums wait in the
// result.
//
// Accumulators of up to 3 blocks of filters at some pixels of a row stay in registers. What a
// window covers of padding takes no part. The sums of some channels, the first with the bias, are
// added up by block of channels, kernel row, kernel column and channel, and then each other: bits
// depend on sizes alone.
#include <algorithm>
#include <cstddef>
#include <cstring>
#include <map>
#include <numeric>
#include <tuple>
#include <vector>

#include "base/config.h"
#include "cpu/activation.h"
#include "cpu/code.h"
#include "cpu/cpu.h"
#include "cpu/kernels/blocks.h"
#include "cpu/kernels/window.h"
#include "runtime/packed.h"
#include "runtime/pooled.h"

namespace pijit {
namespace {

using asmjit::Imm;

constexpr int64_t kWide = 16, kFloat = sizeof(float), kVector = kWide * kFloat;
constexpr int64_t kMostFilters = 3;  // blocks of them in registers
constexpr int kRegisters = 32;

enum class Lie { kBlocks, kPlain, kRows };  // how channels lie

// `channels` and `filters` are those of a group.
struct Sizes {
  int64_t images, groups, channels, filters;
  WindowAxis rows, columns;
  Lie x, y;

  int64_t channel_blocks() const { return channels / kWide; }
  int64_t filter_blocks() const { return filters / kWide; }
  int64_t taps() const { return rows.taps * columns.taps; }
  int64_t pixels() const { return rows.size * columns.size; }
  int64_t out_pixels() const { return rows.out * columns.out; }
  // Floats of the weights of a block of filters.
  int64_t per_block() const { return channels * taps() * kWide; }
  int64_t weights() const { return groups * filter_blocks() * per_block(); }
  // Floats of what is written from pixel to pixel, and from block to block of filters.
  int64_t y_pixel() const { return y == Lie::kRows ? filters : kWide; }
  int64_t y_block() const { return y == Lie::kRows ? kWide : out_pixels() * kWide; }
  double flops() const {
    return 2.0 * static_cast<double>(images * groups * filters * out_pixels() * channels * taps());
  }
};

// Pixels of an output row side by side. What their windows reach over begins at input column
// `from`, of which [low, high) lie on the image.
struct Tile {
  int64_t at, count, from, low, high;
};
std::vector<Tile> tiles_of(const WindowAxis& columns, int64_t most) {
  std::vector<Tile> tiles;
  const int64_t n = (columns.out + most - 1) / most;
  for (int64_t k = 0; k < n; ++k) {  // as equal as can be
    const int64_t at = columns.out * k / n, count = columns.out * (k + 1) / n - at;
    const int64_t from = columns.at(at, 0);
    const int64_t reach = (count - 1) * columns.stride + (columns.taps - 1) * columns.dilation + 1;
    const int64_t low = std::clamp<int64_t>(-from, 0, reach);
    tiles.push_back({at, count, from, low, std::clamp(columns.size - from, low, reach)});
  }
  return tiles;
}
// Tiles with the same key have the same code.
using CodeKey = std::tuple<int64_t, int64_t, int64_t, int64_t>;

// y = start, per filter, + the products of `blocks` blocks of channels with `rows` kernel rows.
// Where there is no start: y += these products.
struct Call {
  const float* x;
  const float* w;
  const float* start;
  float* y;
  int64_t rows, blocks;
  const float* ahead;               // weights that come next
  const float* residual = nullptr;  // added to the last sums, as y; or null
  int64_t last = 0;                 // these are the last sums
  float three = 3, six = 6, sixth = 1.0f / 6;
};
using ConvolveFn = void (*)(const Call&);
// What becomes of f n sums in registers before they are stored. Three registers behind them are
// free: a weight's, and two. NaN stays NaN.
void emit_epilogue(x86::Assembler& a, const Sizes& g, int f, int n, const Epilogue& end) {
  using namespace asmjit::x86;
  const Gp residual = rsi;
  const auto spare = static_cast<uint32_t>(f * n);
  const Zmm zero = zmm(spare), six = zmm(spare + 1), bounded = zmm(spare + 2);
  auto constant = [](size_t offset) { return ptr(rdi, static_cast<int32_t>(offset)); };
  if (end.activation != Activation::kNone) a.vpxord(zero, zero, zero);
  if (end.activation >= Activation::kRelu6) a.vbroadcastss(six, constant(offsetof(Call, six)));
  if (end.residual) a.mov(residual, ptr_64(rdi, static_cast<int32_t>(offsetof(Call, residual))));
  for (int k = 0; k < f; ++k)
    for (int p = 0; p < n; ++p) {
      const Zmm y = zmm(static_cast<uint32_t>(k * n + p));
      if (end.residual)
        a.vaddps(y, y,
                 ptr(residual, static_cast<int32_t>((k * g.y_block() + p * g.y_pixel()) * kFloat)));
      switch (end.activation) {
        case Activation::kRelu: a.vmaxps(y, zero, y); break;
        case Activation::kRelu6:
          a.vmaxps(y, zero, y);
          a.vminps(y, six, y);
          break;
        case Activation::kHardSwish:
          a.vaddps(bounded, y, constant(offsetof(Call, three))._1to16());
          a.vmaxps(bounded, zero, bounded);
          a.vminps(bounded, six, bounded);
          a.vmulps(y, y, bounded);
          a.vmulps(y, y, constant(offsetof(Call, sixth))._1to16());
          break;
        default: break;
      }
    }
}
// lines: of each block of filters' next weights that a block of channels and kernel row fetches.
void emit_convolve(x86::Assembler& a, const Sizes& g, int64_t filters, const Tile& t, int64_t lines,
                   const Epilogue& end) {
  using namespace asmjit::x86;
  const Gp call = rdi, x = rsi, w = rdx, y = rcx, ahead = r8, blocks = r9;
  const Gp x_row = rax, w_row = r10, rows_left = r11;
  const int n = static_cast<int>(t.count), f = static_cast<int>(filters), used = f * n + f;
  auto sum = [&](int k, int p) { return zmm(static_cast<uint32_t>(k * n + p)); };
  auto weight = [&](int k) { return zmm(static_cast<uint32_t>(f * n + k)); };
  auto at = [](const Gp& p, int64_t floats) {
    return ptr(p, static_cast<int32_t>(floats * kFloat));
  };
  auto place = [&](int k, int p) { return at(y, k * g.y_block() + p * g.y_pixel()); };
  auto member = [&](size_t offset) { return ptr_64(call, static_cast<int32_t>(offset)); };
  const asmjit::Label zeros = a.newLabel(), ready = a.newLabel(), done = a.newLabel(),
                      first = a.newLabel();
  a.mov(y, member(offsetof(Call, start)));
  a.test(y, y);
  a.jz(zeros);
  for (int k = 0; k < f; ++k) {
    a.vmovups(sum(k, 0), at(y, k * kWide));
    for (int p = 1; p < n; ++p) a.vmovaps(sum(k, p), sum(k, 0));
  }
  a.jmp(ready);
  a.bind(zeros);
  for (int k = 0; k < f; ++k)
    for (int p = 0; p < n; ++p) a.vpxord(sum(k, p), sum(k, p), sum(k, p));
  a.bind(ready);
  if (t.low < t.high) {
    const asmjit::Label block = a.newLabel(), row = a.newLabel();
    a.cmp(member(offsetof(Call, rows)), Imm(0));
    a.jz(done);
    a.mov(x, member(offsetof(Call, x)));
    a.mov(w, member(offsetof(Call, w)));
    a.mov(blocks, member(offsetof(Call, blocks)));
    a.mov(ahead, member(offsetof(Call, ahead)));
    a.bind(block);
    a.mov(x_row, x);
    a.mov(w_row, w);
    a.mov(rows_left, member(offsetof(Call, rows)));
    a.bind(row);
    int spare = used;
    const int64_t steps = g.columns.taps * kWide;
    int64_t step = 0, fetched = 0;
    for (int64_t b = 0; b < g.columns.taps; ++b)
      for (int64_t c = 0; c < kWide; ++c) {
        bool loaded = false;
        for (int p = 0; p < n; ++p) {
          const int64_t q = p * g.columns.stride + b * g.columns.dilation;
          if (q < t.low || q >= t.high) continue;
          for (int k = 0; k < f && !loaded; ++k)
            a.vmovups(weight(k), at(w_row, k * g.per_block() + (b * kWide + c) * kWide));
          loaded = true;
          if (f == 1) {
            a.vfmadd231ps(sum(0, p), weight(0), at(x_row, q * kWide + c)._1to16());
            continue;
          }
          const Zmm pixel = zmm(static_cast<uint32_t>(spare));
          if (++spare == kRegisters) spare = used;
          a.vbroadcastss(pixel, at(x_row, q * kWide + c));
          for (int k = 0; k < f; ++k) a.vfmadd231ps(sum(k, p), pixel, weight(k));
        }
        for (++step; fetched < lines * step / steps; ++fetched)
          for (int k = 0; k < f; ++k) a.prefetcht1(at(ahead, k * g.per_block() + fetched * kWide));
      }
    a.add(ahead, Imm(lines * kVector));
    a.add(x_row, Imm(g.rows.dilation * g.columns.size * kVector));
    a.add(w_row, Imm(g.columns.taps * kWide * kVector));
    a.dec(rows_left);
    a.jnz(row);
    a.add(x, Imm(g.pixels() * kVector));
    a.add(w, Imm(g.taps() * kWide * kVector));
    a.dec(blocks);
    a.jnz(block);
  }
  a.bind(done);
  a.mov(y, member(offsetof(Call, y)));
  a.cmp(member(offsetof(Call, start)), Imm(0));
  a.jnz(first);
  for (int k = 0; k < f; ++k)
    for (int p = 0; p < n; ++p) a.vaddps(sum(k, p), sum(k, p), place(k, p));
  a.bind(first);
  if (end.residual || end.activation != Activation::kNone) {
    const asmjit::Label between = a.newLabel();
    a.cmp(member(offsetof(Call, last)), Imm(0));
    a.jz(between);
    emit_epilogue(a, g, f, n, end);
    a.bind(between);
  }
  for (int k = 0; k < f; ++k)
    for (int p = 0; p < n; ++p) a.vmovups(place(k, p), sum(k, p));
  a.vzeroupper();
  a.ret();
}

// Blocks of 16 channels of plain maps, and back.
void to_blocks(const float* x, int64_t pixels, float* to) {
  for (int64_t h = 0; h < kWide; h += kLanes)
    into_block(x + h * pixels, pixels, kLanes, to + h, pixels, kWide);
}
void to_plain(const float* blocks, int64_t pixels, float* to) {
  for (int64_t h = 0; h < kWide; h += kLanes)
    out_of_block(blocks + h, pixels, to + h * pixels, pixels, kLanes, kWide);
}

// Parts of that many floating-point operations are worth a thread.
int64_t grain(double flops, int64_t parts) {
  return 1 + static_cast<int64_t>(3e6 * static_cast<double>(parts) / std::max(1.0, flops));
}

class WideConv : public OpKernel {
 public:
  explicit WideConv(const Sizes& g, const Epilogue& end = {})
      : g_(g),
        end_(end),
        layout_(str_cat("wide ", g.groups, ",", g.filters, ",", g.channels, ",", g.taps())) {
    // Three blocks of filters leave room for 9 pixels, two for 14, one for 29.
    const int64_t most = g.columns.out <= 9 ? kMostFilters : 2;
    // Weights of some channels fill half of the nearest cache.
    together_ =
        std::clamp<int64_t>(kTogether / (most * g.taps() * kWide * kVector), 1, g.channel_blocks());
    for (int64_t f = 0, n; f < g.filter_blocks(); f += n) {
      const int64_t left = g.filter_blocks() - f;
      n = left == most + 1 && most == 3 ? 2 : std::min(left, most);  // 4 are 2 and 2
      Set set{f, n, {}};
      const auto tiles = tiles_of(g.columns, (kRegisters - 2 - n) / n);
      // All tiles of all rows fetch the next channels' weights, each a part.
      set.calls = g.images * g.rows.out * static_cast<int64_t>(tiles.size());
      const int64_t lines =
          (g.taps() * kWide + set.calls * g.rows.taps - 1) / (set.calls * g.rows.taps);
      for (const Tile& t : tiles) set.tiles.push_back({t, code_of(n, t, lines)});
      set.ahead = lines * kWide * g.rows.taps;
      sets_.push_back(std::move(set));
    }
  }
  void run(const void* const* in, void* out) override { run_with(nullptr, in, out); }
  int packs() const override { return 1; }
  void run_packed(const void* const* in, void* out, const OperandMemory& memory) override {
    const auto kept = packed_form(
        memory, layout_, static_cast<size_t>(g_.weights() * kFloat),
        [&](void* to) {
          const auto* w = static_cast<const float*>(in[1]);
          const int64_t blocks = g_.groups * g_.filter_blocks();
          parallel_for(blocks, 1 + (1 << 16) / g_.per_block(), [&](int64_t begin, int64_t end) {
            pack(w, begin, end - begin, static_cast<float*>(to) + begin * g_.per_block());
          });
        },
        order());
    run_with(kept ? floats(*kept) : nullptr, in, out);
  }

 private:
  static constexpr int64_t kTogether = 24 << 10;
  struct Set {  // blocks of filters
    int64_t first, count;
    std::vector<std::pair<Tile, ConvolveFn>> tiles;
    int64_t calls, ahead;  // for some channels; floats that each of them fetches by block of these
  };
  ConvolveFn code_of(int64_t filters, const Tile& t, int64_t lines) {
    auto [it, fresh] = codes_.try_emplace(CodeKey{filters, t.count, t.low, t.high});
    if (fresh)
      it->second = Code<ConvolveFn>([&](asmjit::CodeHolder& code) {
        x86::Assembler a(&code);
        if (config().verify) a.addDiagnosticOptions(asmjit::DiagnosticOptions::kValidateAssembler);
        emit_convolve(a, g_, filters, t, lines, end_);
      });
    return it->second.get();
  }
  std::optional<Layout> order() const {
    const int64_t taps = g_.taps(), row = g_.channels * taps;
    return Layout::in_order({{g_.groups * g_.filter_blocks(), kWide * row, g_.per_block()},
                             {kWide, row, 1},
                             {g_.channel_blocks(), kWide * taps, taps * kWide * kWide},
                             {kWide, taps, kWide},
                             {taps, 1, kWide * kWide}});
  }
  // Of some blocks of filters: by block of channels, tap and channel, 16 filters to a vector.
  void pack(const float* w, int64_t first, int64_t count, float* packed) const {
    const int64_t taps = g_.taps(), row = g_.channels * taps, run = kWide * taps;
    const Block memory(taps > 1 ? static_cast<size_t>(run * kVector) : 0);
    w += first * kWide * row;
    for (int64_t k = 0; k < count; ++k)
      for (int64_t c = 0; c < g_.channel_blocks(); ++c, packed += run * kWide) {
        float* const at = taps > 1 ? floats(memory) : packed;
        for (int64_t h = 0; h < kWide; h += kLanes)
          into_block(w + (k * kWide + h) * row + c * run, row, kLanes, at + h, run, kWide);
        for (int64_t i = 0; i < run && taps > 1; ++i)
          std::memcpy(packed + (i % taps * kWide + i / taps) * kWide, at + i * kWide, kVector);
      }
  }
  // The maps in blocks, in `to` where they are not.
  const float* in_blocks(const float* x, float* to) const {
    const int64_t pixels = g_.pixels(), blocks = g_.groups * g_.channel_blocks();
    if (g_.x == Lie::kBlocks) return x;
    parallel_for(g_.images * blocks, 1 + (1 << 15) / (pixels * kWide),
                 [&](int64_t begin, int64_t end) {
                   for (int64_t k = begin; k < end; ++k) {
                     float* const at = to + k * pixels * kWide;
                     if (g_.x == Lie::kPlain) {
                       to_blocks(x + k * kWide * pixels, pixels, at);
                       continue;
                     }
                     for (int64_t i = 0; i < pixels; ++i)
                       std::memcpy(at + i * kWide, x + (i * blocks + k) * kWide, kVector);
                   }
                 });
    return to;
  }
  void run_with(const float* kept, const void* const* in, void* out) const {
    const int64_t map = g_.channels * g_.pixels();
    const Block turned(
        g_.x == Lie::kBlocks ? 0 : static_cast<size_t>(g_.images * g_.groups * map * kFloat));
    const float* const x = in_blocks(static_cast<const float*>(in[0]), floats(turned));
    const auto *weights = static_cast<const float*>(in[1]),
               *bias = static_cast<const float*>(in[2]);
    const auto* const residual = end_.residual ? static_cast<const float*>(in[3]) : nullptr;
    auto* const y = static_cast<float*>(out);
    static constexpr float kZeros[kMostFilters * kWide] = {};
    const auto sets = static_cast<int64_t>(sets_.size());
    const int64_t wholes = g_.groups * sets * g_.images;
    if (const int64_t slices =
            kept && g_.images == 1 && g_.y != Lie::kPlain ? slices_of(wholes) : 1;
        slices > 1) {
      const int64_t parts = wholes * slices;
      return parallel_for(parts, grain(g_.flops(), parts), [&](int64_t begin, int64_t end) {
        for (int64_t k = begin; k < end; ++k) {
          const int64_t group = k / slices / sets, s = k % slices;
          const Set& set = sets_[k / slices % sets];
          const int64_t first = group * g_.filter_blocks() + set.first, calls = calls_of(set);
          const Maps maps{x + group * map, 0, y + y_at(first), 0, 1, from_y(residual, y_at(first))};
          convolve(set, maps, kept + first * g_.per_block(), bias ? bias + first * kWide : kZeros,
                   calls * s / slices, calls * (s + 1) / slices);
        }
      });
    }
    parallel_for(wholes, grain(g_.flops(), wholes), [&](int64_t begin, int64_t end) {
      const bool plain = g_.y == Lie::kPlain;
      const int64_t block = g_.out_pixels() * kWide, most = std::min(g_.images, end - begin);
      const Pieces memory{static_cast<size_t>(kept ? 0 : kMostFilters * g_.per_block() * kFloat),
                          static_cast<size_t>(plain ? kMostFilters * block * most * kFloat : 0)};
      for (int64_t k = begin, past; k < end; k = past) {
        // Images of a group of channels and a set of filters.
        const int64_t of = k / g_.images, group = of / sets, n = k % g_.images;
        past = std::min(end, (of + 1) * g_.images);
        const Set& set = sets_[of % sets];
        const int64_t first = group * g_.filter_blocks() + set.first;  // block of filters
        const float* w = kept ? kept + first * g_.per_block() : memory.of<float>(0);
        if (!kept) pack(weights, first, set.count, memory.of<float>(0));
        const int64_t y_map = g_.groups * g_.filters * g_.out_pixels();
        float* const to = y + n * y_map + y_at(first);
        const Maps maps{
            x + (n * g_.groups + group) * map, g_.groups * map, plain ? memory.of<float>(1) : to,
            plain ? set.count * block : y_map, past - k,        from_y(residual, to - y)};
        convolve(set, maps, w, bias ? bias + first * kWide : kZeros, 0, calls_of(set));
        for (int64_t i = 0; i < maps.count && plain; ++i)
          for (int64_t f = 0; f < set.count; ++f)
            to_plain(maps.y + (i * set.count + f) * block, g_.out_pixels(),
                     to + i * y_map + f * block);
      }
    });
  }
  struct Maps {  // of images
    const float* x;
    int64_t x_step;
    float* y;
    int64_t y_step, count;
    const float* residual;  // with y's steps, or null
  };
  static const float* from_y(const float* residual, int64_t at) {
    return residual ? residual + at : nullptr;
  }
  int64_t y_at(int64_t block) const {
    return block * kWide * (g_.y == Lie::kRows ? 1 : g_.out_pixels());
  }
  int64_t calls_of(const Set& set) const {  // of an image
    return g_.rows.out * static_cast<int64_t>(set.tiles.size());
  }
  // Into how many slices of calls a set is cut, where sets are too few for all threads to have as
  // much to do.
  int64_t slices_of(int64_t wholes) const {
    const int64_t threads = max_threads();
    if (threads == 1 || wholes % threads == 0 || wholes >= 8 * threads) return 1;
    const int64_t slices = threads / std::gcd(wholes, threads);
    return slices <= calls_of(sets_[0]) ? slices : 1;
  }
  // Calls [begin, end) of each image: by row, its tiles.
  void convolve(const Set& set, const Maps& m, const float* w, const float* start, int64_t begin,
                int64_t end) const {
    const auto tiles = static_cast<int64_t>(set.tiles.size());
    const int64_t width = g_.columns.size, tap = kWide * kWide;
    for (int64_t c = 0; c < g_.channel_blocks(); c += together_) {
      const int64_t blocks = std::min(together_, g_.channel_blocks() - c);
      const float* const weights = w + c * g_.taps() * tap;
      // Those behind the last of a set are the next set's.
      const float* ahead = c + blocks < g_.channel_blocks() ? weights + blocks * g_.taps() * tap
                                                            : w + set.count * g_.per_block();
      for (int64_t n = 0; n < m.count; ++n) {
        const float* const x = m.x + n * m.x_step + c * g_.pixels() * kWide;
        float* const y = m.y + n * m.y_step;
        ahead += begin * blocks * set.ahead;
        for (int64_t k = begin; k < end; ++k, ahead += blocks * set.ahead) {
          const int64_t i = k / tiles;
          const auto& [t, fn] = set.tiles[static_cast<size_t>(k % tiles)];
          const auto [a, past] = g_.rows.taps_of(i);
          const int64_t row = g_.rows.at(i, a);
          const int64_t to = (i * g_.columns.out + t.at) * g_.y_pixel();
          fn({x + (row * width + t.from) * kWide, weights + a * g_.columns.taps * tap,
              c ? nullptr : start, y + to, past - a, blocks, ahead,
              from_y(m.residual, n * m.y_step + to), c + blocks == g_.channel_blocks()});
        }
      }
    }
  }

  Sizes g_;
  Epilogue end_;
  std::string layout_;  // of packed weights
  std::map<CodeKey, Code<ConvolveFn>> codes_;
  std::vector<Set> sets_;
  int64_t together_;  // blocks of channels
};

bool refuses(const KernelRequest& r, std::string* why) {
  for (size_t i = 0; i < r.in.size(); ++i)
    if (r.present[i] && r.in[i].dtype != DType::F32) return *why = "dtype is not float32", true;
  if (r.out.dtype != DType::F32) return *why = "dtype is not float32", true;
  if (!generates_code() || channel_block() != kWide)
    return *why = "not for this processor's instructions", true;
  return false;
}

std::unique_ptr<OpKernel> conv2d(const KernelRequest& r, std::string* why) {
  if (refuses(r, why)) return nullptr;
  const Shape &x = r.in[0].shape, &w = r.in[1].shape, &y = r.out.shape;
  if (x.numel() == 0 || w.numel() == 0 || y.numel() == 0) return *why = "empty tensor", nullptr;
  const OpCtx c = r.ctx();
  const auto &stride = c.numbers("stride"), &pad = c.numbers("pad"),
             &dilation = c.numbers("dilation");
  const int64_t groups = c.i("group");
  Sizes g{x[0],
          groups,
          w[1],
          w[0] / groups,
          {x[2], y[2], w[2], stride[0], dilation[0], pad[0]},
          {x[3], y[3], w[3], stride[1], dilation[1], pad[2]},
          x.rank() == 5 ? Lie::kBlocks : Lie::kPlain,
          y.rank() == 5 ? Lie::kBlocks : Lie::kPlain};
  if (g.channels % kWide || g.filters % kWide) return *why = "channels fill no blocks", nullptr;
  if (g.taps() == 1 && stride[0] * stride[1] == 1 && pad == std::vector<int64_t>{0, 0, 0, 0}) {
    g.rows = {1, 1, 1, 1, 1, 0};
    g.columns = {x[2] * x[3], x[2] * x[3], 1, 1, 1, 0};
  }
  // Displacements in code have 31 bits.
  if (w[3] > 7 || w[2] > 16 || std::max(dilation[0], dilation[1]) > 64 ||
      kMostFilters * g.per_block() > 1 << 27 || g.pixels() > 1 << 18 || g.out_pixels() > 1 << 18)
    return *why = "too large", nullptr;
  if (groups == 1 && g.out_pixels() > 256) return *why = "many pixels: oneDNN is as fast", nullptr;
  const auto end = short_epilogue_of(r, why);
  if (!end) return nullptr;
  return std::make_unique<WideConv>(g, *end);
}

std::unique_ptr<OpKernel> dense(const KernelRequest& r, std::string* why) {
  if (refuses(r, why)) return nullptr;
  const int64_t n = r.in[1].shape[0], k = r.in[1].shape[1];
  const int64_t m = n ? r.out.shape.numel() / n : Dim(0);
  if (m == 0 || k == 0) return *why = "empty tensor", nullptr;
  if (n % kWide || k % kWide) return *why = "numbers fill no blocks", nullptr;
  if (m > 128 || n * k > 1 << 25) return *why = "many rows: oneDNN is as fast", nullptr;
  return std::make_unique<WideConv>(
      Sizes{1, 1, k, n, {1, 1, 1, 1, 1, 0}, {m, m, 1, 1, 1, 0}, Lie::kRows, Lie::kRows});
}

}  // namespace

KernelFamily wide_conv_kernels() {
  return {"wide",
          {{"conv2d", conv2d},
           {"conv2d_blocked", conv2d},
           {"conv2d_post_blocked", conv2d},
           {"dense", dense}}};
}

}  // namespace pijit
