// Products of one to 16 rows of float32 with a matrix: each of its elements is read once, and meets
// few numbers, so that memory is what they wait for. oneDNN's products bring the matrix into
// another order first (1 x 768 x 3072 on one core: 218 us where reading it takes 90).
//
// Rows of the matrix that lie along the axis that is summed over: 16 sums, one per lane, which are
// added up as a tree in the end. Rows across it: an element's products are added in order, 1,024 at
// a time. So bits depend on the sizes summed over alone, not on threads or on other left rows.
#include <immintrin.h>

#include <algorithm>
#include <array>
#include <utility>

#include "cpu/gemm/gemm.h"
#include "runtime/array.h"

namespace pijit {
namespace {

constexpr int64_t kMostRows = 16, kWidth = 16;
// Rows of the matrix that meet all left rows before the next ones, and the part of their depth:
// they stay in the nearest cache meanwhile. Each is read that far ahead, as the processor would
// not, for all that it has to compute.
constexpr int64_t kBlock = 8, kPiece = 256;

// Left rows, `depth` numbers each, by rows of the matrix: a part of the depth.
struct Dots {
  const float* x;
  int64_t x_row;
  const float* w;
  int64_t w_row;
  const float* bias;  // per row of the matrix, or null
  float* y;
  int64_t y_row, y_col;  // from left row to left row, from row of the matrix to the next
  int64_t depth;
  int64_t ahead;  // what is read soon: elements from those of `w`
  float* kept;    // [left row, kBlock, kWidth]: sums between parts of the depth
  bool first, last;
};
// y[0] += the sums of products, if there is a part before this one.
struct Columns {
  const float* x;
  int64_t x_row;
  const float* w;
  int64_t w_row;
  float* y;
  int64_t y_row;
  int64_t columns, depth;
};

inline float tree(__m256 low, __m256 high) {
  const __m256 eight = _mm256_add_ps(low, high);
  const __m128 four = _mm_add_ps(_mm256_castps256_ps128(eight), _mm256_extractf128_ps(eight, 1));
  const __m128 two = _mm_add_ps(four, _mm_movehl_ps(four, four));
  return _mm_cvtss_f32(_mm_add_ss(two, _mm_movehdup_ps(two)));
}
inline void store(const Dots& d, int r, int c, float sum) {
  d.y[r * d.y_row + c * d.y_col] = d.bias ? sum + d.bias[c] : sum;
}
inline float* kept(const Dots& d, int r, int c) { return d.kept + (r * kBlock + c) * kWidth; }
inline void read_soon(const float* at) {
  _mm_prefetch(reinterpret_cast<const char*>(at), _MM_HINT_T0);
}

namespace avx2 {
constexpr int kRows = 2;      // left rows of a tile
__m256i mask(int64_t left) {  // of 8 lanes
  return _mm256_cmpgt_epi32(_mm256_set1_epi32(static_cast<int>(std::clamp<int64_t>(left, 0, 8))),
                            _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
}
template <int R, int C>
void dots(const Dots& d) {
  __m256 sum[R][C][2];
  for (int r = 0; r < R; ++r)
    for (int c = 0; c < C; ++c)
      for (int h = 0; h < 2; ++h)
        sum[r][c][h] = d.first ? _mm256_setzero_ps() : _mm256_load_ps(kept(d, r, c) + 8 * h);
  int64_t k = 0;
  for (; k + kWidth <= d.depth; k += kWidth)
#pragma GCC unroll 2
    for (int h = 0; h < 2; ++h) {
      __m256 x[R];
#pragma GCC unroll 2
      for (int r = 0; r < R; ++r) x[r] = _mm256_loadu_ps(d.x + r * d.x_row + k + 8 * h);
#pragma GCC unroll 4
      for (int c = 0; c < C; ++c) {
        const float* at = d.w + c * d.w_row + k + 8 * h;
        if (h == 0) read_soon(at + d.ahead);
        const __m256 w = _mm256_loadu_ps(at);
#pragma GCC unroll 2
        for (int r = 0; r < R; ++r) sum[r][c][h] = _mm256_fmadd_ps(x[r], w, sum[r][c][h]);
      }
    }
  if (k < d.depth)
    for (int h = 0; h < 2; ++h) {
      const __m256i m = mask(d.depth - k - 8 * h);
      for (int r = 0; r < R; ++r)
        for (int c = 0; c < C; ++c)
          sum[r][c][h] =
              _mm256_fmadd_ps(_mm256_maskload_ps(d.x + r * d.x_row + k + 8 * h, m),
                              _mm256_maskload_ps(d.w + c * d.w_row + k + 8 * h, m), sum[r][c][h]);
    }
  for (int r = 0; r < R; ++r)
    for (int c = 0; c < C; ++c)
      if (d.last)
        store(d, r, c, tree(sum[r][c][0], sum[r][c][1]));
      else
        for (int h = 0; h < 2; ++h) _mm256_store_ps(kept(d, r, c) + 8 * h, sum[r][c][h]);
}
constexpr auto kDots =
    std::array{std::array{dots<1, 4>, dots<1, 1>}, std::array{dots<2, 2>, dots<2, 1>}};
constexpr int kColumns[] = {4, 2};
}  // namespace avx2

#pragma GCC push_options
#pragma GCC target("avx512f,avx512dq,avx512bw,avx512vl")
namespace avx512 {
constexpr int kRows = 4;
__mmask16 mask(int64_t left) {
  return static_cast<__mmask16>((1u << std::min<int64_t>(left, kWidth)) - 1);
}
// (The intrinsics for it begin with what is not initialised, and GCC says so.)
__m256 low(__m512 v) { return __builtin_shufflevector(v, v, 0, 1, 2, 3, 4, 5, 6, 7); }
__m256 high(__m512 v) { return __builtin_shufflevector(v, v, 8, 9, 10, 11, 12, 13, 14, 15); }
template <int R, int C>
void dots(const Dots& d) {
  __m512 sum[R][C];
  for (int r = 0; r < R; ++r)
    for (int c = 0; c < C; ++c)
      sum[r][c] = d.first ? _mm512_setzero_ps() : _mm512_load_ps(kept(d, r, c));
  int64_t k = 0;
  for (; k + kWidth <= d.depth; k += kWidth) {
    __m512 x[R];
#pragma GCC unroll 4
    for (int r = 0; r < R; ++r) x[r] = _mm512_loadu_ps(d.x + r * d.x_row + k);
#pragma GCC unroll 8
    for (int c = 0; c < C; ++c) {
      const float* at = d.w + c * d.w_row + k;
      read_soon(at + d.ahead);
      const __m512 w = _mm512_loadu_ps(at);
#pragma GCC unroll 4
      for (int r = 0; r < R; ++r) sum[r][c] = _mm512_fmadd_ps(x[r], w, sum[r][c]);
    }
  }
  if (k < d.depth) {
    const __mmask16 m = mask(d.depth - k);
    for (int r = 0; r < R; ++r)
      for (int c = 0; c < C; ++c)
        sum[r][c] = _mm512_fmadd_ps(_mm512_maskz_loadu_ps(m, d.x + r * d.x_row + k),
                                    _mm512_maskz_loadu_ps(m, d.w + c * d.w_row + k), sum[r][c]);
  }
  for (int r = 0; r < R; ++r)
    for (int c = 0; c < C; ++c)
      if (d.last)
        store(d, r, c, tree(low(sum[r][c]), high(sum[r][c])));
      else
        _mm512_store_ps(kept(d, r, c), sum[r][c]);
}
// R left rows by N rows of the matrix at a time.
template <int R, int N>
void columns(const Columns& p, int64_t k, bool first) {
  __m512 x[R][N];
  for (int r = 0; r < R; ++r)
    for (int i = 0; i < N; ++i) x[r][i] = _mm512_set1_ps(p.x[r * p.x_row + k + i]);
  const float* w = p.w + k * p.w_row;
  for (int64_t j = 0; j < p.columns; j += kWidth) {
    const __mmask16 m = mask(p.columns - j);
    __m512 sum[R];
#pragma GCC unroll 4
    for (int r = 0; r < R; ++r)
      sum[r] = first ? _mm512_setzero_ps() : _mm512_maskz_loadu_ps(m, p.y + r * p.y_row + j);
#pragma GCC unroll 8
    for (int i = 0; i < N; ++i) {
      const float* at = w + i * p.w_row + j;
      read_soon(at + N * p.w_row);
      const __m512 row = _mm512_maskz_loadu_ps(m, at);
#pragma GCC unroll 4
      for (int r = 0; r < R; ++r) sum[r] = _mm512_fmadd_ps(x[r][i], row, sum[r]);
    }
#pragma GCC unroll 4
    for (int r = 0; r < R; ++r) _mm512_mask_storeu_ps(p.y + r * p.y_row + j, m, sum[r]);
  }
}
constexpr auto kDots =
    std::array{std::array{dots<1, 8>, dots<1, 1>}, std::array{dots<2, 4>, dots<2, 1>},
               std::array{dots<3, 4>, dots<3, 1>}, std::array{dots<4, 4>, dots<4, 1>}};
constexpr int kColumns[] = {8, 4, 4, 4};
constexpr int kTogether = 4;
constexpr auto kByColumns = std::array{std::array{columns<1, kTogether>, columns<1, 1>},
                                       std::array{columns<2, kTogether>, columns<2, 1>},
                                       std::array{columns<3, kTogether>, columns<3, 1>},
                                       std::array{columns<4, kTogether>, columns<4, 1>}};
}  // namespace avx512
#pragma GCC pop_options

// Of matrices whose rows lie across the sums, oneDNN reads those slowly whose rows are a multiple
// of 2 KiB apart, which share few sets of the cache, and those that no cache holds: 2 x 4096 x 4096
// on one core takes 6 ms for 3, 8 x 4096 x 25088 77 for 43. Others it reads faster.
constexpr int64_t kFar = 512, kLarge = 1 << 23;

bool wide() { return channel_block() == kWidth; }

// Some left rows by `count` rows of the matrix.
void all_dots(const Dots& some, int64_t rows, int64_t count) {
  alignas(64) float sums[kMostRows * kBlock * kWidth];
  const bool w = wide();
  const int64_t most = w ? avx512::kRows : avx2::kRows;
  // (The sums of the left rows that one tile has can stay in registers.)
  const int64_t piece = rows <= most ? some.depth : kPiece;
  for (int64_t c = 0; c < count; c += kBlock) {
    const int64_t step = std::min(count - c, kBlock);
    for (int64_t k = 0; k < some.depth; k += piece) {
      Dots part = some;
      part.depth = std::min(piece, some.depth - k);
      part.first = k == 0, part.last = k + piece >= some.depth;
      part.ahead = rows > most && part.last ? kBlock * some.w_row - k : kPiece;
      for (int64_t r = 0, n; r < rows; r += n) {
        n = std::min(most, rows - r);
        const int64_t together = w ? avx512::kColumns[n - 1] : avx2::kColumns[n - 1];
        for (int64_t i = 0, taken; i < step; i += taken) {
          taken = i + together <= step ? together : 1;
          Dots d = part;
          d.x += r * d.x_row + k;
          d.w += (c + i) * d.w_row + k;
          if (d.bias) d.bias += c + i;
          d.y += r * d.y_row + (c + i) * d.y_col;
          d.kept = sums + (r * kBlock + i) * kWidth;
          const size_t form = taken == 1;
          (w ? avx512::kDots[n - 1][form] : avx2::kDots[n - 1][form])(d);
        }
      }
    }
  }
}

// Some left rows by columns of a matrix whose rows lie across the axis that is summed over.
void all_columns(const Columns& some, int64_t rows) {
  constexpr int64_t kSums = 4096, kInOrder = 1024;
  alignas(64) float sums[kSums];
  const int64_t panel = rows > 4 ? 256 : 512;
  for (int64_t j = 0; j < some.columns; j += panel) {
    Columns p = some;
    p.w += j, p.y = sums, p.y_row = panel;
    p.columns = std::min(panel, some.columns - j);
    for (int64_t begin = 0; begin < p.depth; begin += kInOrder) {
      const int64_t end = std::min(begin + kInOrder, p.depth);
      for (int64_t k = begin, taken; k < end; k += taken) {
        taken = k + avx512::kTogether <= end ? avx512::kTogether : 1;
        for (int64_t r = 0, n; r < rows; r += n) {
          n = std::min<int64_t>(avx512::kRows, rows - r);
          Columns tile = p;
          tile.x += r * p.x_row, tile.y += r * panel;
          avx512::kByColumns[n - 1][taken == 1](tile, k, k == begin);
        }
      }
      for (int64_t r = 0; r < rows; ++r) {
        float* const y = some.y + r * some.y_row + j;
        for (int64_t i = 0; i < p.columns; ++i)
          y[i] = begin ? y[i] + sums[r * panel + i] : sums[r * panel + i];
      }
    }
  }
}

// c[rows, columns] = x[rows, depth] w, and in which order what lies.
struct FewRows {
  int64_t rows, columns, depth;
  bool along;   // the matrix has a row per column, along the depth
  bool turn_x;  // x comes with a row per element of the depth
  int64_t y_row, y_col;

  // Columns that a thread takes at least, as multiples of a tile.
  static constexpr int64_t kStep = 64;
  int64_t parts() const { return (columns + kStep - 1) / kStep; }
  int64_t grain() const { return 1 + (1 << 16) / (depth * std::min(columns, kStep) + 1); }

  void run(const float* x, const float* w, const float* bias, float* y, int64_t first,
           int64_t past) const {
    const int64_t from = first * kStep, count = std::min(past * kStep, columns) - from;
    if (along)
      all_dots({.x = x,
                .x_row = depth,
                .w = w + from * depth,
                .w_row = depth,
                .bias = bias ? bias + from : nullptr,
                .y = y + from * y_col,
                .y_row = y_row,
                .y_col = y_col,
                .depth = depth},
               rows, count);
    else
      all_columns({.x = x,
                   .x_row = depth,
                   .w = w + from,
                   .w_row = columns,
                   .y = y + from,
                   .y_row = y_row,
                   .columns = count,
                   .depth = depth},
                  rows);
  }
};

bool refuses(const KernelRequest& r, std::string* why) {
  for (size_t i = 0; i < r.in.size(); ++i)
    if (r.present[i] && r.in[i].dtype != DType::F32) return *why = "dtype is not float32", true;
  if (r.out.dtype != DType::F32) return *why = "dtype is not float32", true;
  if (channel_block() == 0) return *why = "not for this processor's instructions", true;
  return false;
}
bool empty(int64_t m, int64_t n, int64_t k, std::string* why) {
  if (m > 0 && n > 0 && k > 0) return false;
  *why = "empty tensor";
  return true;
}
// More rows than these have enough to compute for other kernels to be as fast: with AVX2, and where
// the matrix is small.
int64_t most_rows(int64_t n, int64_t k) { return !wide() ? 4 : n * k < 1 << 18 ? 8 : kMostRows; }

std::unique_ptr<OpKernel> matmul(const KernelRequest& r, std::string* why) {
  const Shape &sa = r.in[0].shape, &sb = r.in[1].shape, &sc = r.out.shape;
  if (refuses(r, why)) return nullptr;
  if (sa.rank() < 2 || sb.rank() < 2) return *why = "not matrices", nullptr;
  const bool trans_a = r.ctx().flag("trans_a"), trans_b = r.ctx().flag("trans_b");
  const int ra = sa.rank(), rc = sc.rank();
  const int64_t m = sc[rc - 2], n = sc[rc - 1], k = sa[ra - (trans_a ? 2 : 1)];
  if (empty(m, n, k, why)) return nullptr;
  // A column on the right is a row on the left of the transpose.
  const bool swap = n == 1 && m > 1;
  FewRows p = swap ? FewRows{1, m, k, !trans_a, false, m, 1}
                   : FewRows{m, n, k, trans_b, trans_a && m > 1, n, 1};
  if (p.rows > most_rows(p.columns, k)) return *why = "more than a few rows", nullptr;
  if (!p.along && !wide()) return *why = "not for this processor's instructions", nullptr;
  if (!p.along && p.columns % kFar != 0 && p.columns * k < kLarge)
    return *why = "rows that lie across the sums, and share no sets of the cache", nullptr;
  const std::vector<Operands> places = stacked(sa, sb, sc);
  return fn_kernel([=](const void* const* in, void* out) {
    const auto *a = static_cast<const float*>(in[0]), *b = static_cast<const float*>(in[1]);
    const int64_t parts = p.parts(), size = p.rows * p.columns;
    parallel_for(
        static_cast<int64_t>(places.size()) * parts, p.grain(), [&](int64_t begin, int64_t end) {
          const Block turned(p.turn_x ? static_cast<size_t>(p.rows * p.depth) * sizeof(float) : 0);
          for (int64_t t = begin, past; t < end; t = past) {
            const int64_t of = t / parts;
            past = std::min(end, (of + 1) * parts);
            const float *x = swap ? b + places[of].b : a + places[of].a,
                        *w = swap ? a + places[of].a : b + places[of].b;
            if (p.turn_x) {
              auto* to = reinterpret_cast<float*>(turned.p);
              for (int64_t i = 0; i < p.rows; ++i)
                for (int64_t d = 0; d < p.depth; ++d) to[i * p.depth + d] = x[d * p.rows + i];
              x = to;
            }
            p.run(x, w, nullptr, static_cast<float*>(out) + of * size, t - of * parts,
                  past - of * parts);
          }
        });
  });
}

std::unique_ptr<OpKernel> dense(const KernelRequest& r, std::string* why) {
  if (refuses(r, why)) return nullptr;
  const int64_t n = r.in[1].shape[0], k = r.in[1].shape[1];
  const int64_t m = n ? r.out.shape.numel() / n : Dim(0);
  if (empty(m, n, k, why)) return nullptr;
  if (m > most_rows(n, k)) return *why = "more than a few rows", nullptr;
  const FewRows p{m, n, k, true, false, n, 1};
  return fn_kernel([=](const void* const* in, void* out) {
    parallel_for(p.parts(), p.grain(), [&](int64_t begin, int64_t end) {
      p.run(static_cast<const float*>(in[0]), static_cast<const float*>(in[1]),
            static_cast<const float*>(in[2]), static_cast<float*>(out), begin, end);
    });
  });
}

}  // namespace

KernelFamily few_rows_kernels() { return {"few_rows", {{"matmul", matmul}, {"dense", dense}}}; }

}  // namespace pijit
