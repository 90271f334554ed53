// Products of float32 matrices with AVX-512 where there is enough to add up that both operands are
// worth being copied, and gradients by the weights of convolutions of 1 x 1 kernels, which are such
// products of maps in either layout. Some of the left operand's rows and of the right one's columns
// go into the second-level cache, where some rows, in the nearest one, meet all columns (Goto & van
// de Geijn, Anatomy of High-Performance Matrix Multiplication, 2008): what is written lies side by
// side. oneDNN's products take up to 1.9 times as long, where rows of a right operand lie a
// multiple of 4 KiB apart (400 x 768 x 3072), and its gradients up to 1.7 times.
//
// Sums of up to kDepth products are added up in order, and then each other: bits depend on what is
// summed over alone, not on the other sizes, on how operands lie, or on threads.
#include <immintrin.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <numeric>
#include <utility>
#include <vector>

#include "cpu/cpu.h"
#include "cpu/gemm/gemm.h"
#include "cpu/kernels/blocks.h"
#include "runtime/pooled.h"

namespace pijit {
namespace {
namespace panels {

constexpr int64_t kWide = 16, kDepth = 256, kMostRows = 416, kMostColumns = 768;
constexpr int64_t kTileRows = 8, kTileVectors = 3;
// What rows of a copy, and vectors of it, are apart: not a multiple of a page.
constexpr int64_t kRowStep = kDepth + kWide, kVectorStep = kDepth * kWide + kWide;

int64_t ceil_div(int64_t n, int64_t to) { return (n + to - 1) / to; }

// Where what an index counts lies: runs, `step` from one to the next in a run, `jump` from run to
// run.
struct Line {
  int64_t run, step, jump = 0;
  int64_t at(int64_t i) const { return i / run * jump + i % run * step; }
  bool one_run(int64_t from, int64_t past) const { return from / run == (past - 1) / run; }
};
// An operand: along the output's rows or columns, and along the sums.
struct Operand {
  Line across, along;
  int64_t at(int64_t i, int64_t k) const { return across.at(i) + along.at(k); }
  // Are rows, or columns, that follow each other neighbours, all of them or 16 at a time?
  bool turned() const { return across.step == 1; }
  bool blocks() const { return turned() && across.run == kWide && along.step == kWide; }
};

// Some rows of the left operand by some vectors of the right one.
struct Tile {
  const float *a, *b;
  const float* bias;  // of the columns, or null
  float* c;
  int64_t b_vector, c_row, depth;
  uint32_t mask;  // columns of the last vector
  bool onto;      // what is there is added to
};
#pragma GCC push_options
#pragma GCC target("avx512f,avx512dq,avx512bw,avx512vl")
namespace avx512 {
// Turned: the left operand has 16 rows beside each other for each step of the sum.
template <int R, int V, bool kTurned>
void multiply(const Tile& tile) {
  const Tile t = tile;  // in registers: stores of vectors might be to what it lies in
  constexpr int64_t kRow = kTurned ? 1 : kRowStep, kStep = kTurned ? kWide : 1;
  for (int r = 0; r < R; ++r)
    for (int v = 0; v < V; ++v) __builtin_prefetch(t.c + r * t.c_row + v * kWide, 1);
  __m512 sum[R][V];
#pragma GCC unroll 8
  for (int r = 0; r < R; ++r)
#pragma GCC unroll 3
    for (int v = 0; v < V; ++v) sum[r][v] = _mm512_setzero_ps();
  const float *a = t.a, *b = t.b;
#pragma GCC unroll 4
  for (int64_t k = 0; k < t.depth; ++k, a += kStep, b += kWide) {
    __m512 right[V];
#pragma GCC unroll 3
    for (int v = 0; v < V; ++v) right[v] = _mm512_loadu_ps(b + v * t.b_vector);
#pragma GCC unroll 8
    for (int r = 0; r < R; ++r) {
      const __m512 left = _mm512_set1_ps(a[r * kRow]);
#pragma GCC unroll 3
      for (int v = 0; v < V; ++v) sum[r][v] = _mm512_fmadd_ps(left, right[v], sum[r][v]);
    }
  }
  const auto mask = [&](int v) { return static_cast<__mmask16>(v == V - 1 ? t.mask : 0xffff); };
  const auto each = [&](const auto& f) {
#pragma GCC unroll 8
    for (int r = 0; r < R; ++r)
#pragma GCC unroll 3
      for (int v = 0; v < V; ++v) f(r, v, sum[r][v]);
  };
  if (t.onto)
    each([&](int r, int v, __m512& y) {
      y = _mm512_add_ps(y, _mm512_maskz_loadu_ps(mask(v), t.c + r * t.c_row + v * kWide));
    });
  if (t.bias)
    each([&](int, int v, __m512& y) {
      y = _mm512_add_ps(y, _mm512_maskz_loadu_ps(mask(v), t.bias + v * kWide));
    });
  each([&](int r, int v, __m512& y) {
    _mm512_mask_storeu_ps(t.c + r * t.c_row + v * kWide, mask(v), y);
  });
}
using Multiply = void (*)(const Tile&);
template <bool kTurned, int V, int... R>
constexpr std::array<Multiply, sizeof...(R)> of_rows(std::integer_sequence<int, R...>) {
  return {multiply<R + 1, V, kTurned>...};
}
template <bool kTurned>
constexpr auto of_vectors() {
  using Rows = std::make_integer_sequence<int, kTileRows>;
  return std::array{of_rows<kTurned, 1>(Rows{}), of_rows<kTurned, 2>(Rows{}),
                    of_rows<kTurned, 3>(Rows{})};
}
constexpr std::array kMultiply = {of_vectors<false>(), of_vectors<true>()};

// `count` numbers that follow each other of each of some rows, into vectors; zeros behind them.
// Some vectors at a time: what is stored to are few pages.
void copy_rows(const float* rows, int64_t step, int64_t depth, int64_t count, float* to) {
  constexpr int64_t kTogether = 8, kAhead = 8;
  for (int64_t j = 0; j < count; j += kTogether * kWide, to += kTogether * kVectorStep) {
    const int64_t some = std::min(count - j, kTogether * kWide), whole = some / kWide;
    const auto rest = static_cast<__mmask16>((1u << some % kWide) - 1);
    const float* x = rows + j;
    float* y = to;
    for (int64_t k = 0; k < depth; ++k, x += step, y += kWide) {
      for (int64_t v = 0; v < whole; ++v) {
        _mm_prefetch(x + kAhead * step + v * kWide, _MM_HINT_T0);
        _mm512_storeu_ps(y + v * kVectorStep, _mm512_loadu_ps(x + v * kWide));
      }
      if (rest)
        _mm512_storeu_ps(y + whole * kVectorStep, _mm512_maskz_loadu_ps(rest, x + whole * kWide));
    }
  }
}
}  // namespace avx512
#pragma GCC pop_options

// f(where a piece begins, numbers before it, its length) for the pieces of [from, past) that lie
// on one run.
template <class F>
void each_piece(const Line& line, int64_t from, int64_t past, F f) {
  for (int64_t k = from, n; k < past; k += n) {
    n = std::min(past - k, line.run - k % line.run);
    f(line.at(k), k - from, n);
  }
}
// Numbers [from, past) of `count` of an operand's rows or columns, from `first` on, a multiple of
// 16, in vectors of 16 of them.
void copy_vectors(const float* p, const Operand& o, int64_t first, int64_t count, int64_t from,
                  int64_t past, float* to) {
  each_piece(o.along, from, past, [&](int64_t at, int64_t k, int64_t depth) {
    const float* const piece = p + at;
    float* const here = to + k * kWide;
    if (o.blocks()) {
      for (int64_t j = 0; j < count; j += kWide) {
        const float* x = piece + o.across.at(first + j);
        float* y = here + j / kWide * kVectorStep;
        std::memcpy(y, x, static_cast<size_t>(depth * kWide) * sizeof(float));
      }
      return;
    }
    if (o.turned())
      return avx512::copy_rows(piece + o.across.at(first), o.along.step, depth, count, here);
    for (int64_t j = 0; j < ceil_div(count, kWide) * kWide; j += kLanes)  // along.step is 1
      into_block(piece + o.across.at(first + std::min(j, count)), o.across.step,
                 std::clamp<int64_t>(count - j, 0, kLanes),
                 here + j / kWide * kVectorStep + j % kWide, depth, kWide);
  });
}
// The same of a left operand whose numbers along the sums follow each other, in rows.
void copy_left_rows(const float* p, const Operand& o, int64_t first, int64_t count, int64_t from,
                    int64_t past, float* to) {
  for (int64_t i = 0; i < count; ++i) {
    const float* const row = p + o.across.at(first + i);
    each_piece(o.along, from, past, [&](int64_t at, int64_t k, int64_t n) {
      std::memcpy(to + i * kRowStep + k, row + at, static_cast<size_t>(n) * sizeof(float));
    });
  }
}

// c[m, n] = a[m, k] b[k, n] (+ bias), of each of some matrices.
struct Product {
  int64_t m, n, k;
  Operand a, b;
  std::vector<Operands> places;
  int64_t unit = kWide;  // what sums are divided at: multiples of it

  void run(const float* left, const float* right, const float* bias, float* c) const {
    const int64_t threads = max_threads(), matrices = static_cast<int64_t>(places.size());
    const int64_t row_blocks = ceil_div(m, kWide), vectors = ceil_div(n, kWide);
    // Parts of rows and columns: whole rounds for all threads.
    int64_t row_parts = ceil_div(m, kMostRows), column_parts = ceil_div(n, kMostColumns);
    const bool wide = n >= m;
    int64_t &more = wide ? column_parts : row_parts, &others = wide ? row_parts : column_parts;
    const int64_t round = threads / std::gcd(matrices * others, threads);
    more = std::min(wide ? vectors : row_blocks, ceil_div(more, round) * round);
    const int64_t wanted = ceil_div(threads, matrices * more);
    others = std::max(others, std::min(wide ? row_blocks : vectors, wanted));
    const int64_t parts = row_parts * column_parts;
    parallel_for(matrices * parts, 1, [&](int64_t begin, int64_t end) {
      const int64_t most_rows = ceil_div(row_blocks, row_parts) * kWide,
                    most_vectors = ceil_div(vectors, column_parts);
      const Pieces memory{
          static_cast<size_t>(a.turned() ? most_rows / kWide * kVectorStep : most_rows * kRowStep) *
              sizeof(float),
          static_cast<size_t>(most_vectors * kVectorStep) * sizeof(float)};
      for (int64_t part = begin; part < end; ++part) {
        const Operands& at = places[static_cast<size_t>(part / parts)];
        const auto [row, past_row] = share_of(row_blocks, part % row_parts, row_parts);
        const auto [vector, past_vector] =
            share_of(vectors, part % parts / row_parts, column_parts);
        const Part p{left + at.a,    right + at.b,
                     bias,           c + part / parts * m * n,
                     row * kWide,    std::min(m, past_row * kWide),
                     vector * kWide, std::min(n, past_vector * kWide)};
        multiply(p, memory.of<float>(0), memory.of<float>(1));
      }
    });
  }

 private:
  // Rows and columns of one of the products.
  struct Part {
    const float *a, *b, *bias;
    float* c;
    int64_t row, past_row, column, past_column;
  };
  void multiply(const Part& p, float* left, float* right) const {
    const int64_t units = ceil_div(k, unit), sums = ceil_div(k, kDepth / unit * unit);
    for (int64_t s = 0; s < sums; ++s) {
      const auto [unit_from, unit_past] = share_of(units, s, sums);
      const int64_t from = unit_from * unit, past = std::min(k, unit_past * unit);
      Tile t{};
      t.depth = past - from, t.onto = from > 0, t.c_row = n;
      // Blocks that follow each other are read where they are.
      const bool a_there = a.blocks() && a.along.one_run(from, past),
                 b_there = b.blocks() && b.along.one_run(from, past);
      const float *x = a_there ? p.a + a.at(p.row, from) : left,
                  *w = b_there ? p.b + b.at(p.column, from) : right;
      t.b_vector = b_there ? b.across.jump : kVectorStep;
      if (!b_there) copy_vectors(p.b, b, p.column, p.past_column - p.column, from, past, right);
      if (!a.turned())
        copy_left_rows(p.a, a, p.row, p.past_row - p.row, from, past, left);
      else if (!a_there)
        copy_vectors(p.a, a, p.row, p.past_row - p.row, from, past, left);
      const int64_t vectors = ceil_div(p.past_column - p.column, kWide),
                    panels = ceil_div(vectors, kTileVectors);
      for (int64_t i = p.row, rows; i < p.past_row; i += rows) {
        const int64_t row = i - p.row, block = row / kWide;
        rows = p.past_row - i;
        if (a.turned()) rows = std::min(rows, kWide - row % kWide);
        rows = ceil_div(rows, ceil_div(rows, kTileRows));  // as equal as can be
        t.a = a.turned() ? x + block * (a_there ? a.across.jump : kVectorStep) + row % kWide
                         : x + row * kRowStep;
        for (int64_t panel = 0; panel < panels; ++panel) {
          const auto [v, past_v] = share_of(vectors, panel, panels);
          const int64_t j = p.column + v * kWide;
          t.b = w + v * t.b_vector;
          t.c = p.c + i * n + j;
          t.mask = (1u << std::min(kWide, p.past_column - p.column - (past_v - 1) * kWide)) - 1;
          if (past == k && p.bias) t.bias = p.bias + j;
          avx512::kMultiply[a.turned()][static_cast<size_t>(past_v - v - 1)]
                           [static_cast<size_t>(rows - 1)](t);
        }
      }
    }
  }
};

Line whole(int64_t n, int64_t step) { return {std::max<int64_t>(1, n), step}; }

bool refuses(const KernelRequest& r, std::string* why) {
  for (size_t i = 0; i < r.in.size(); ++i)
    if (r.present[i] && r.in[i].dtype != DType::F32) return *why = "dtype is not float32", true;
  if (r.out.dtype != DType::F32) return *why = "dtype is not float32", true;
  if (channel_block() != kWide) return *why = "not for this processor's instructions", true;
  return false;
}
// Copies of what meets little, or is little in all, are not worth it.
bool small(int64_t m, int64_t n, int64_t k, std::string* why) {
  if (std::min(m, k) >= kWide && n >= 128 && m * n * k >= 1 << 25) return false;
  *why = "small";
  return true;
}
std::unique_ptr<OpKernel> kernel(Product product, bool has_bias, bool swapped = false) {
  return fn_kernel([p = std::make_shared<const Product>(std::move(product)), has_bias, swapped](
                       const void* const* in, void* out) {
    const auto operand = [&](size_t i) { return static_cast<const float*>(in[i]); };
    p->run(operand(swapped ? 1 : 0), operand(swapped ? 0 : 1), has_bias ? operand(2) : nullptr,
           static_cast<float*>(out));
  });
}

std::unique_ptr<OpKernel> matmul(const KernelRequest& r, std::string* why) {
  const Shape &sa = r.in[0].shape, &sb = r.in[1].shape, &sc = r.out.shape;
  if (sa.rank() < 2 || sb.rank() < 2) return *why = "not matrices", nullptr;
  const bool trans_a = r.ctx().flag("trans_a"), trans_b = r.ctx().flag("trans_b");
  const int ra = sa.rank(), rc = sc.rank();
  const int64_t m = sc[rc - 2], n = sc[rc - 1], k = sa[ra - (trans_a ? 2 : 1)];
  if (refuses(r, why) || small(m, n, k, why)) return nullptr;
  const Operand a{whole(m, trans_a ? 1 : k), whole(k, trans_a ? m : 1)},
      b{whole(n, trans_b ? k : 1), whole(k, trans_b ? 1 : n)};
  return kernel({m, n, k, a, b, stacked(sa, sb, sc)}, false);
}

std::unique_ptr<OpKernel> dense(const KernelRequest& r, std::string* why) {
  const int64_t n = r.in[1].shape[0], k = r.in[1].shape[1];
  const int64_t m = n ? r.out.shape.numel() / n : Dim(0);
  if (refuses(r, why) || small(m, n, k, why)) return nullptr;
  const Operand x{whole(m, k), whole(k, 1)}, w{whole(n, k), whole(k, 1)};
  return kernel({m, n, k, x, w, {{0, 0}}}, r.present[2]);
}

// A map of images of some channels: these, along the pixels of all images.
struct Map {
  int64_t channels, pixels, all;
  Operand operand;
  Map(const Shape& s, int64_t of_image) : pixels(of_image), all(s[0] * pixels) {
    const bool blocks = s.rank() == 5;
    channels = blocks ? s[1] * s[4] : s[1];
    operand = {blocks ? Line{kWide, 1, pixels * kWide} : whole(channels, pixels),
               {std::max<int64_t>(1, pixels), blocks ? kWide : 1, channels * pixels}};
  }
};
// What windows that share no pixel read of a map.
struct Windows {
  int64_t planes, rows, columns, width;  // images' channels, or blocks of these; floats of a pixel
  int64_t out_rows, out_columns, row_stride, column_stride;

  int64_t row_floats() const { return out_columns * width; }
  int64_t grain() const { return 1 + (1 << 15) / row_floats(); }
  // Of windows of one pixel: a map of these.
  void gather(const float* x, float* to) const {
    parallel_for(planes * out_rows, grain(), [&](int64_t begin, int64_t end) {
      for (int64_t k = begin; k < end; ++k) {
        const int64_t at = k / out_rows * rows + k % out_rows * row_stride;
        const float* from = x + at * columns * width;
        float* y = to + k * row_floats();
        for (int64_t j = 0; j < out_columns; ++j, from += column_stride * width, y += width)
          if (width == kWide)
            std::memcpy(y, from, kWide * sizeof(float));
          else
            *y = *from;
      }
    });
  }
  // A row for each window of an image: its pixels of `channels` planes.
  void gather_whole(const float* x, int64_t channels, float* to) const {
    const int64_t numbers = channels * row_stride * column_stride;
    parallel_for(planes / channels * out_rows, 1, [&](int64_t begin, int64_t end) {
      for (int64_t k = begin; k < end; ++k) {
        float* y = to + k * out_columns * numbers;
        for (int64_t j = 0; j < out_columns; ++j)
          for (int64_t c = 0; c < channels; ++c)
            for (int64_t a = 0; a < row_stride; ++a, y += column_stride) {
              const int64_t plane = k / out_rows * channels + c;
              const float* row = x + (plane * rows + k % out_rows * row_stride + a) * columns;
              std::copy_n(row + j * column_stride, column_stride, y);
            }
      }
    });
  }
};
// Of kernels of one pixel, and of those that share none with their neighbours and read few
// channels, which come in no blocks.
std::unique_ptr<OpKernel> conv2d_dw(const KernelRequest& r, std::string* why) {
  const OpCtx c = r.ctx();
  const auto all = [&](const char* name, int64_t value) {
    const auto& n = c.numbers(name);
    return std::all_of(n.begin(), n.end(), [&](int64_t i) { return i == value; });
  };
  const Shape &sx = r.in[0].shape, &w = r.out.shape;
  if (refuses(r, why)) return nullptr;
  const int64_t taps = w[2] * w[3], pixels = r.in[1].shape[2] * r.in[1].shape[3];
  const Map dy(r.in[1].shape, pixels), x(sx, pixels);
  const auto& stride = c.numbers("stride");
  const bool apart = stride[0] == w[2] && stride[1] == w[3] && all("dilation", 1);
  if (c.i("group") != 1 || !all("pad", 0) || !(taps == 1 || (apart && x.channels % kWide)))
    return *why = "kernels of several pixels", nullptr;
  const int64_t numbers = x.channels * taps;
  if (std::min({dy.channels, numbers, dy.all}) < kWide || dy.channels * numbers * dy.all < 1 << 22)
    return *why = "small", nullptr;
  if (ceil_div(dy.channels, kWide) * ceil_div(numbers, kWide) < 8)
    return *why = "few weights: oneDNN divides the images", nullptr;
  // Sums are divided between images, or each of these alike.
  const int64_t unit = pixels <= kDepth ? pixels : ceil_div(pixels, ceil_div(pixels, kDepth));
  const Operand patches{whole(numbers, 1), whole(dy.all, numbers)};
  Product p{dy.channels, numbers, dy.all, dy.operand, taps == 1 ? x.operand : patches,
            {{0, 0}},    unit};
  if (taps == 1 && all("stride", 1)) return kernel(std::move(p), false, true);
  const int64_t width = sx.rank() == 5 ? kWide : 1;
  const Windows windows{sx[0] * sx[1],    sx[2],     sx[3],    width, r.in[1].shape[2],
                        r.in[1].shape[3], stride[0], stride[1]};
  return fn_kernel([p = std::make_shared<const Product>(std::move(p)), windows, taps,
                    channels = x.channels](const void* const* in, void* out) {
    const auto* const maps = static_cast<const float*>(in[0]);
    const Block read(static_cast<size_t>(p->n * p->k) * sizeof(float));
    if (taps == 1)
      windows.gather(maps, floats(read));
    else
      windows.gather_whole(maps, channels, floats(read));
    p->run(static_cast<const float*>(in[1]), floats(read), nullptr, static_cast<float*>(out));
  });
}

}  // namespace panels
}  // namespace

KernelFamily panels_gemm_kernels() {
  return {"panels",
          {{"matmul", panels::matmul},
           {"dense", panels::dense},
           {"conv2d_dw", panels::conv2d_dw},
           {"conv2d_dw_blocked", panels::conv2d_dw}}};
}

}  // namespace pijit
