// Products of one to 16 rows with a matrix: each of its elements is read once, and meets few
// numbers, so that memory is what they wait for. oneDNN's products bring the matrix into another
// order first (1 x 768 x 3072 on one core: 218 us where reading it takes 90). float16 and bfloat16
// become float32 in registers: sums are float32, and rounded once.
//
// Rows of the matrix that lie along the axis that is summed over: 16 sums (8 of float64), one per
// lane, which are added up as a tree in the end. Rows across it: an element's products are added in
// order, 1,024 at a time. So bits depend on the sizes summed over alone, not on threads or on other
// left rows.
#include <immintrin.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "cpu/gemm/gemm.h"
#include "runtime/array.h"

namespace pijit {
namespace {

constexpr int64_t kMostRows = 16;
// Rows of the matrix that meet all left rows before the next ones, and the part of their depth:
// they stay in the nearest cache meanwhile. Each is read that far ahead, as the processor would
// not, for all that it has to compute.
constexpr int64_t kBlock = 8, kPiece = 256;

// How elements are stored, and what is computed with.
template <DType T>
struct Element {
  using Number = float;
  using Stored = uint16_t;
  static float number(uint16_t x) { return T == DType::F16 ? half_to_float(x) : bf16_to_float(x); }
  static uint16_t stored(float x) { return T == DType::F16 ? float_to_half(x) : float_to_bf16(x); }
};
template <class X>
struct Plain {
  using Number = X;
  using Stored = X;
  static X number(X x) { return x; }
  static X stored(X x) { return x; }
};
template <>
struct Element<DType::F32> : Plain<float> {};
template <>
struct Element<DType::F64> : Plain<double> {};
template <DType T>
using Number = typename Element<T>::Number;
template <DType T>
using Stored = typename Element<T>::Stored;
// Numbers of a step along the depth.
template <DType T>
constexpr int64_t kLanes = 64 / sizeof(Number<T>);

// Left rows, `depth` numbers each, by rows of the matrix: a part of the depth.
template <DType T>
struct Dots {
  const Number<T>* x;
  int64_t x_row;
  const Stored<T>* w;
  int64_t w_row;
  const Stored<T>* bias;  // per row of the matrix, or null
  Stored<T>* y;
  int64_t y_row, y_col;  // from left row to left row, from row of the matrix to the next
  int64_t depth;
  int64_t ahead;    // what is read soon: elements from those of `w`
  Number<T>* kept;  // [left row, kBlock, kLanes]: sums between parts of the depth
  bool first, last;
};
// y[0] += the sums of products, if there is a part before this one.
template <DType T>
struct Columns {
  const Number<T>* x;
  int64_t x_row;
  const Stored<T>* w;
  int64_t w_row;
  Number<T>* y;
  int64_t y_row;
  int64_t columns, depth;
};

inline float tree(__m256 low, __m256 high) {
  const __m256 eight = _mm256_add_ps(low, high);
  const __m128 four = _mm_add_ps(_mm256_castps256_ps128(eight), _mm256_extractf128_ps(eight, 1));
  const __m128 two = _mm_add_ps(four, _mm_movehl_ps(four, four));
  return _mm_cvtss_f32(_mm_add_ss(two, _mm_movehdup_ps(two)));
}
inline double tree(__m256d low, __m256d high) {
  const __m256d four = _mm256_add_pd(low, high);
  const __m128d two = _mm_add_pd(_mm256_castpd256_pd128(four), _mm256_extractf128_pd(four, 1));
  return _mm_cvtsd_f64(_mm_add_sd(two, _mm_unpackhi_pd(two, two)));
}
template <DType T>
void store(const Dots<T>& d, int r, int c, Number<T> sum) {
  using Of = Element<T>;
  d.y[r * d.y_row + c * d.y_col] = Of::stored(d.bias ? sum + Of::number(d.bias[c]) : sum);
}
template <DType T>
Number<T>* kept(const Dots<T>& d, int r, int c) {
  return d.kept + (r * kBlock + c) * kLanes<T>;
}
inline void read_soon(const void* at) { _mm_prefetch(static_cast<const char*>(at), _MM_HINT_T0); }

namespace avx2 {
constexpr int kRows = 2;  // left rows of a tile
// `count` of them, and zeros behind.
template <class X>
struct Padded {
  alignas(64) X all[16] = {};
  Padded(const X* p, int64_t count) { std::memcpy(all, p, static_cast<size_t>(count) * sizeof(X)); }
};
struct Floats {
  struct Vector {
    __m256 low, high;
  };
  static Vector zero() { return {_mm256_setzero_ps(), _mm256_setzero_ps()}; }
  static Vector load(const float* p) { return {_mm256_loadu_ps(p), _mm256_loadu_ps(p + 8)}; }
  static Vector load(const float* p, int64_t n) { return load(Padded(p, n).all); }
  static void store(float* p, Vector v) {
    _mm256_storeu_ps(p, v.low);
    _mm256_storeu_ps(p + 8, v.high);
  }
  static Vector fma(Vector a, Vector b, Vector c) {
    return {_mm256_fmadd_ps(a.low, b.low, c.low), _mm256_fmadd_ps(a.high, b.high, c.high)};
  }
  static float tree(Vector v) { return pijit::tree(v.low, v.high); }
};
struct Doubles {
  struct Vector {
    __m256d low, high;
  };
  static Vector zero() { return {_mm256_setzero_pd(), _mm256_setzero_pd()}; }
  static Vector load(const double* p) { return {_mm256_loadu_pd(p), _mm256_loadu_pd(p + 4)}; }
  static Vector load(const double* p, int64_t n) { return load(Padded(p, n).all); }
  static void store(double* p, Vector v) {
    _mm256_storeu_pd(p, v.low);
    _mm256_storeu_pd(p + 4, v.high);
  }
  static Vector fma(Vector a, Vector b, Vector c) {
    return {_mm256_fmadd_pd(a.low, b.low, c.low), _mm256_fmadd_pd(a.high, b.high, c.high)};
  }
  static double tree(Vector v) { return pijit::tree(v.low, v.high); }
};
template <DType T>
struct Vectors : std::conditional_t<T == DType::F64, Doubles, Floats> {
  using Vector = typename std::conditional_t<T == DType::F64, Doubles, Floats>::Vector;
  // Elements of the matrix.
  static Vector numbers(const Stored<T>* p) {
    if constexpr (is_half(T)) {
      const auto eight = [](const uint16_t* at) {
        const __m128i v = _mm_loadu_si128(reinterpret_cast<const __m128i*>(at));
        if constexpr (T == DType::F16) return _mm256_cvtph_ps(v);
        return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(v), 16));
      };
      return {eight(p), eight(p + 8)};
    } else {
      return Vectors::load(p);
    }
  }
  static Vector numbers(const Stored<T>* p, int64_t n) { return numbers(Padded(p, n).all); }
};
#include "cpu/kernels/few_rows_tiles.h"
template <DType T>
constexpr auto kDots =
    std::array{std::array{dots<T, 1, 4>, dots<T, 1, 1>}, std::array{dots<T, 2, 2>, dots<T, 2, 1>}};
constexpr int kColumns[] = {4, 2};
}  // namespace avx2

#pragma GCC push_options
#pragma GCC target("avx512f,avx512dq,avx512bw,avx512vl")
namespace avx512 {
constexpr int kRows = 4;
template <class M>
M mask(int64_t left) {
  constexpr int64_t kAll = 8 * sizeof(M);
  return static_cast<M>((1u << std::min(left, kAll)) - 1);
}
// (The intrinsics for halves begin with what is not initialised, and GCC says so.)
struct Floats {
  using Vector = __m512;
  static Vector zero() { return _mm512_setzero_ps(); }
  static Vector broadcast(float x) { return _mm512_set1_ps(x); }
  static Vector load(const float* p) { return _mm512_loadu_ps(p); }
  static Vector load(const float* p, int64_t n) {
    return _mm512_maskz_loadu_ps(mask<__mmask16>(n), p);
  }
  static void store(float* p, Vector v) { _mm512_storeu_ps(p, v); }
  static void store(float* p, Vector v, int64_t n) {
    _mm512_mask_storeu_ps(p, mask<__mmask16>(n), v);
  }
  static Vector fma(Vector a, Vector b, Vector c) { return _mm512_fmadd_ps(a, b, c); }
  static float tree(Vector v) {
    return pijit::tree(__builtin_shufflevector(v, v, 0, 1, 2, 3, 4, 5, 6, 7),
                       __builtin_shufflevector(v, v, 8, 9, 10, 11, 12, 13, 14, 15));
  }
};
struct Doubles {
  using Vector = __m512d;
  static Vector zero() { return _mm512_setzero_pd(); }
  static Vector broadcast(double x) { return _mm512_set1_pd(x); }
  static Vector load(const double* p) { return _mm512_loadu_pd(p); }
  static Vector load(const double* p, int64_t n) {
    return _mm512_maskz_loadu_pd(mask<__mmask8>(n), p);
  }
  static void store(double* p, Vector v) { _mm512_storeu_pd(p, v); }
  static void store(double* p, Vector v, int64_t n) {
    _mm512_mask_storeu_pd(p, mask<__mmask8>(n), v);
  }
  static Vector fma(Vector a, Vector b, Vector c) { return _mm512_fmadd_pd(a, b, c); }
  static double tree(Vector v) {
    return pijit::tree(__builtin_shufflevector(v, v, 0, 1, 2, 3),
                       __builtin_shufflevector(v, v, 4, 5, 6, 7));
  }
};
template <DType T>
struct Vectors : std::conditional_t<T == DType::F64, Doubles, Floats> {
  using Of = std::conditional_t<T == DType::F64, Doubles, Floats>;
  using Vector = typename Of::Vector;
  static Vector widened(__m256i v) {
    if constexpr (T == DType::F16)
      return _mm512_maskz_cvtph_ps(0xffff, v);
    else
      return __builtin_bit_cast(
          __m512, _mm512_maskz_slli_epi32(0xffff, _mm512_maskz_cvtepu16_epi32(0xffff, v), 16));
  }
  // Elements of the matrix.
  static Vector numbers(const Stored<T>* p) {
    if constexpr (is_half(T))
      return widened(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)));
    else
      return Of::load(p);
  }
  static Vector numbers(const Stored<T>* p, int64_t n) {
    if constexpr (is_half(T))
      return widened(_mm256_maskz_loadu_epi16(mask<__mmask16>(n), p));
    else
      return Of::load(p, n);
  }
};
#include "cpu/kernels/few_rows_tiles.h"
// R left rows by N rows of the matrix at a time, which lie across the sums.
template <DType T, int R, int N>
void columns(const Columns<T>& p, int64_t k, bool first) {
  using Of = Vectors<T>;
  typename Of::Vector x[R][N];
  for (int r = 0; r < R; ++r)
    for (int i = 0; i < N; ++i) x[r][i] = Of::broadcast(p.x[r * p.x_row + k + i]);
  const Stored<T>* w = p.w + k * p.w_row;
  for (int64_t j = 0; j < p.columns; j += kLanes<T>) {
    const int64_t left = p.columns - j;
    typename Of::Vector sum[R];
#pragma GCC unroll 4
    for (int r = 0; r < R; ++r) sum[r] = first ? Of::zero() : Of::load(p.y + r * p.y_row + j, left);
#pragma GCC unroll 8
    for (int i = 0; i < N; ++i) {
      const Stored<T>* at = w + i * p.w_row + j;
      read_soon(at + N * p.w_row);
      const auto row = Of::numbers(at, left);
#pragma GCC unroll 4
      for (int r = 0; r < R; ++r) sum[r] = Of::fma(x[r][i], row, sum[r]);
    }
#pragma GCC unroll 4
    for (int r = 0; r < R; ++r) Of::store(p.y + r * p.y_row + j, sum[r], left);
  }
}
template <DType T>
constexpr auto kDots =
    std::array{std::array{dots<T, 1, 8>, dots<T, 1, 1>}, std::array{dots<T, 2, 4>, dots<T, 2, 1>},
               std::array{dots<T, 3, 4>, dots<T, 3, 1>}, std::array{dots<T, 4, 4>, dots<T, 4, 1>}};
constexpr int kColumns[] = {8, 4, 4, 4};
constexpr int kTogether = 4;
template <DType T>
constexpr auto kByColumns = std::array{std::array{columns<T, 1, kTogether>, columns<T, 1, 1>},
                                       std::array{columns<T, 2, kTogether>, columns<T, 2, 1>},
                                       std::array{columns<T, 3, kTogether>, columns<T, 3, 1>},
                                       std::array{columns<T, 4, kTogether>, columns<T, 4, 1>}};
}  // namespace avx512
#pragma GCC pop_options

// Of float32 matrices whose rows lie across the sums, oneDNN reads those slowly whose rows are a
// multiple of 2 KiB apart, which share few sets of the cache, and those that no cache holds: 2 x
// 4096 x 4096 on one core takes 6 ms for 3, 8 x 4096 x 25088 77 for 43. Others it reads faster.
constexpr int64_t kFar = 512, kLarge = 1 << 23;

bool wide() { return channel_block() == 16; }

// Some left rows by `count` rows of the matrix.
template <DType T>
void all_dots(const Dots<T>& some, int64_t rows, int64_t count) {
  alignas(64) Number<T> sums[kMostRows * kBlock * kLanes<T>];
  const bool w = wide();
  const int64_t most = w ? avx512::kRows : avx2::kRows;
  // (The sums of the left rows that one tile has can stay in registers.)
  const int64_t piece = rows <= most ? some.depth : kPiece;
  for (int64_t c = 0; c < count; c += kBlock) {
    const int64_t step = std::min(count - c, kBlock);
    for (int64_t k = 0; k < some.depth; k += piece) {
      Dots<T> part = some;
      part.depth = std::min(piece, some.depth - k);
      part.first = k == 0, part.last = k + piece >= some.depth;
      part.ahead = rows > most && part.last ? kBlock * some.w_row - k : kPiece;
      for (int64_t r = 0, n; r < rows; r += n) {
        n = std::min(most, rows - r);
        const int64_t together = w ? avx512::kColumns[n - 1] : avx2::kColumns[n - 1];
        for (int64_t i = 0, taken; i < step; i += taken) {
          taken = i + together <= step ? together : 1;
          Dots<T> d = part;
          d.x += r * d.x_row + k;
          d.w += (c + i) * d.w_row + k;
          if (d.bias) d.bias += c + i;
          d.y += r * d.y_row + (c + i) * d.y_col;
          d.kept = sums + (r * kBlock + i) * kLanes<T>;
          const size_t form = taken == 1;
          (w ? avx512::kDots<T>[n - 1][form] : avx2::kDots<T>[n - 1][form])(d);
        }
      }
    }
  }
}

// Some left rows by columns of a matrix whose rows lie across the axis that is summed over, to
// y[rows, columns].
template <DType T>
void all_columns(const Columns<T>& some, int64_t rows, Stored<T>* y, int64_t y_row) {
  constexpr int64_t kSums = 4096, kInOrder = 1024;
  // Of the part that is added up, and of those before.
  alignas(64) Number<T> sums[kSums], before[kSums];
  const int64_t panel = rows > 4 ? 256 : 512;
  for (int64_t j = 0; j < some.columns; j += panel) {
    Columns<T> p = some;
    p.w += j, p.y = sums, p.y_row = panel;
    p.columns = std::min(panel, some.columns - j);
    for (int64_t begin = 0; begin < p.depth; begin += kInOrder) {
      const int64_t end = std::min(begin + kInOrder, p.depth);
      for (int64_t k = begin, taken; k < end; k += taken) {
        taken = k + avx512::kTogether <= end ? avx512::kTogether : 1;
        for (int64_t r = 0, n; r < rows; r += n) {
          n = std::min<int64_t>(avx512::kRows, rows - r);
          Columns<T> tile = p;
          tile.x += r * p.x_row, tile.y += r * panel;
          avx512::kByColumns<T>[n - 1][taken == 1](tile, k, k == begin);
        }
      }
      for (int64_t r = 0; r < rows; ++r)
        for (int64_t i = r * panel; i < r * panel + p.columns; ++i)
          before[i] = begin ? before[i] + sums[i] : sums[i];
    }
    for (int64_t r = 0; r < rows; ++r)
      for (int64_t i = 0; i < p.columns; ++i)
        y[r * y_row + j + i] = Element<T>::stored(before[r * panel + i]);
  }
}

// c[rows, columns] = x[rows, depth] w (+ bias), and in which order what lies.
struct FewRows {
  int64_t rows, columns, depth;
  bool along;   // the matrix has a row per column, along the depth
  bool turn_x;  // x comes with a row per element of the depth
  int64_t y_row, y_col;

  // Columns that a thread takes at least, as multiples of a tile.
  static constexpr int64_t kStep = 64;
  int64_t parts() const { return (columns + kStep - 1) / kStep; }
  int64_t grain() const { return 1 + (1 << 16) / (depth * std::min(columns, kStep) + 1); }

  // Bytes of the left rows as numbers that follow each other; 0: they are so.
  template <DType T>
  size_t left_bytes() const {
    return turn_x || is_half(T) ? static_cast<size_t>(rows * depth) * sizeof(Number<T>) : 0;
  }
  // The left rows, in that memory if there is any.
  template <DType T>
  const Number<T>* left(const Stored<T>* x, void* memory) const {
    auto* const to = static_cast<Number<T>*>(memory);
    if constexpr (!is_half(T))
      if (!turn_x) return x;
    for (int64_t i = 0; i < rows; ++i)
      for (int64_t d = 0; d < depth; ++d)
        to[i * depth + d] = Element<T>::number(turn_x ? x[d * rows + i] : x[i * depth + d]);
    return to;
  }
  template <DType T>
  void run(const Number<T>* x, const Stored<T>* w, const Stored<T>* bias, Stored<T>* y,
           int64_t first, int64_t past) const {
    const int64_t from = first * kStep, count = std::min(past * kStep, columns) - from;
    if (along)
      all_dots<T>({.x = x,
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
      all_columns<T>({.x = x,
                      .x_row = depth,
                      .w = w + from,
                      .w_row = columns,
                      .columns = count,
                      .depth = depth},
                     rows, y + from, y_row);
  }
};

// What a product has beside its sizes.
struct Product {
  FewRows sizes;
  bool swap;  // the left operand is the matrix
  std::vector<Operands> places;

  template <DType T>
  void run(const void* const* in, const void* bias, void* out) const {
    using S = Stored<T>;
    const auto *a = static_cast<const S*>(in[0]), *b = static_cast<const S*>(in[1]);
    const int64_t parts = sizes.parts(), size = sizes.rows * sizes.columns;
    parallel_for(static_cast<int64_t>(places.size()) * parts, sizes.grain(),
                 [&](int64_t begin, int64_t end) {
                   const Block memory(sizes.left_bytes<T>());
                   for (int64_t t = begin, past; t < end; t = past) {
                     const int64_t of = t / parts;
                     past = std::min(end, (of + 1) * parts);
                     const Operands& at = places[static_cast<size_t>(of)];
                     const S *x = swap ? b + at.b : a + at.a, *w = swap ? a + at.a : b + at.b;
                     sizes.run<T>(sizes.left<T>(x, memory.p), w, static_cast<const S*>(bias),
                                  static_cast<S*>(out) + of * size, t - of * parts,
                                  past - of * parts);
                   }
                 });
  }
};
std::unique_ptr<OpKernel> kernel(Product product, DType t, bool has_bias) {
  return fn_kernel([p = std::make_shared<const Product>(std::move(product)), t, has_bias](
                       const void* const* in, void* out) {
    const void* bias = has_bias ? in[2] : nullptr;
    switch (t) {
      case DType::F64: return p->run<DType::F64>(in, bias, out);
      case DType::F16: return p->run<DType::F16>(in, bias, out);
      case DType::BF16: return p->run<DType::BF16>(in, bias, out);
      default: return p->run<DType::F32>(in, bias, out);
    }
  });
}

bool refuses(const KernelRequest& r, std::string* why) {
  if (!is_float(r.out.dtype)) return *why = "not floating point", true;
  for (size_t i = 0; i < r.in.size(); ++i)
    if (r.present[i] && r.in[i].dtype != r.out.dtype)
      return *why = "operands differ in dtype", true;
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
  if (r.out.dtype == DType::F32 && !p.along && p.columns % kFar != 0 && p.columns * k < kLarge)
    return *why = "rows that lie across the sums, and share no sets of the cache", nullptr;
  return kernel({p, swap, stacked(sa, sb, sc)}, r.out.dtype, false);
}

std::unique_ptr<OpKernel> dense(const KernelRequest& r, std::string* why) {
  if (refuses(r, why)) return nullptr;
  const int64_t n = r.in[1].shape[0], k = r.in[1].shape[1];
  const int64_t m = n ? r.out.shape.numel() / n : Dim(0);
  if (empty(m, n, k, why)) return nullptr;
  if (m > most_rows(n, k)) return *why = "more than a few rows", nullptr;
  return kernel({{m, n, k, true, false, n, 1}, false, {{0, 0}}}, r.out.dtype, r.present[2]);
}

}  // namespace

KernelFamily few_rows_kernels() { return {"few_rows", {{"matmul", matmul}, {"dense", dense}}}; }

}  // namespace pijit
