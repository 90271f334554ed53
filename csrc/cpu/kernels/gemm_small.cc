// Products of small float32 matrices with AVX2, on one thread: oneDNN's calls take longer than the
// sums. An element's products are added in order, from its bias.
#include <algorithm>

#include "cpu/kernels/blocks.h"
#include "cpu/gemm/gemm.h"
#include "runtime/pooled.h"

namespace pijit {
namespace {

constexpr int64_t kMaxRows = 6;

using Operand = Matrix<float>;
Operand turned(Operand m) { return {m.p, m.col, m.row}; }

// Rows of the left operand by vectors of the right one.
struct Tile {
  const float* a;
  int64_t a_row, a_step;  // from row to row, along the axis that is summed over
  const float* b;
  int64_t b_step, b_vector;           // likewise, from vector to vector
  const float *start, *start_of_row;  // what sums begin with: vectors, a value per row; or null
  float* c;
  int64_t c_row, c_vector, depth;
};
template <int R, int V>
void multiply_tile(const Tile& tile) {
  const Tile t = tile;  // in registers: stores of vectors might be to what it lies in
  __m256 sum[R][V];
#pragma GCC unroll 6
  for (int r = 0; r < R; ++r)
#pragma GCC unroll 2
    for (int v = 0; v < V; ++v)
      sum[r][v] = t.start          ? _mm256_loadu_ps(t.start + v * kLanes)
                  : t.start_of_row ? _mm256_broadcast_ss(t.start_of_row + r)
                                   : _mm256_setzero_ps();
  const float *a = t.a, *b = t.b;
  for (int64_t k = 0; k < t.depth; ++k, a += t.a_step, b += t.b_step) {
    __m256 right[V];
#pragma GCC unroll 2
    for (int v = 0; v < V; ++v) right[v] = _mm256_loadu_ps(b + v * t.b_vector);
#pragma GCC unroll 6
    for (int r = 0; r < R; ++r) {
      const __m256 left = _mm256_broadcast_ss(a + r * t.a_row);
#pragma GCC unroll 2
      for (int v = 0; v < V; ++v) sum[r][v] = _mm256_fmadd_ps(left, right[v], sum[r][v]);
    }
  }
#pragma GCC unroll 6
  for (int r = 0; r < R; ++r)
#pragma GCC unroll 2
    for (int v = 0; v < V; ++v) _mm256_storeu_ps(t.c + r * t.c_row + v * t.c_vector, sum[r][v]);
}
using MultiplyTile = void (*)(const Tile&);
constexpr MultiplyTile kTiles[2][kMaxRows] = {
    {multiply_tile<1, 1>, multiply_tile<2, 1>, multiply_tile<3, 1>, multiply_tile<4, 1>,
     multiply_tile<5, 1>, multiply_tile<6, 1>},
    {multiply_tile<1, 2>, multiply_tile<2, 2>, multiply_tile<3, 2>, multiply_tile<4, 2>,
     multiply_tile<5, 2>, multiply_tile<6, 2>}};

int64_t blocks_of(int64_t n) { return (n + kLanes - 1) / kLanes; }

// c[m, n] = a[m, k] b[k, n] (+ bias per column). How, is told from sizes and strides.
class SmallProduct {
 public:
  SmallProduct(int64_t m, int64_t n, int64_t k, Operand a, Operand b) : m_(m), n_(n), k_(k) {
    // The columns of b lie in vectors, or the rows of a, as if the transpose were asked for.
    // Cycles, roughly: 8 x 8 elements to be transposed take 45, two products of vectors one.
    const bool b_ready = b.col == 1, a_ready = a.row == 1;
    const int64_t sums = m * blocks_of(n) * k / 2, turned_sums = n * blocks_of(m) * k / 2;
    const int64_t as_is = sums + (b_ready ? 0 : 45 * blocks_of(n) * blocks_of(k));
    const int64_t other = turned_sums + (a_ready ? 0 : 45 * blocks_of(m) * blocks_of(k)) +
                          45 * blocks_of(m) * blocks_of(n);
    turned_ = other < as_is;
    if (turned_) std::swap(m_, n_);
  }
  // For the right operand in blocks of columns, results before they are stored, and the bias.
  Pieces scratch() const {
    auto floats = [&](int64_t rows) {
      return static_cast<size_t>(blocks_of(n_) * kLanes * rows) * sizeof(float);
    };
    return {floats(k_), floats(m_), floats(1)};
  }
  void run(Operand a, Operand b, const float* bias, float* c, const Pieces& scratch) const {
    if (turned_) {
      std::swap(a, b);
      a = turned(a), b = turned(b);
    }
    const int64_t blocks = blocks_of(n_);
    float *right = scratch.of<float>(0), *left_over = scratch.of<float>(1),
          *start = scratch.of<float>(2);
    int64_t step = b.row, vector = kLanes;
    const float* from = b.p;
    if (b.col != 1 || n_ % kLanes) {
      for (int64_t j = 0; j < blocks; ++j) {
        const int64_t count = std::min(kLanes, n_ - j * kLanes);
        float* to = right + j * kLanes * k_;
        if (b.col == 1)
          copy_block(b.p + j * kLanes, b.row, count, to);
        else
          into_block(b.p + j * kLanes * b.col, b.col, count, to, k_);
      }
      from = right, step = kLanes, vector = kLanes * k_;
    }
    if (bias && !turned_ && n_ % kLanes) {
      std::fill(std::copy_n(bias, n_, start), start + blocks * kLanes, 0.0f);
      bias = start;
    }
    // Sums that lie the other way around, or reach over the last column, go there in a second step.
    const bool direct = !turned_ && n_ % kLanes == 0;
    for (int64_t j = 0; j < blocks; j += 2) {
      const int64_t vectors = std::min<int64_t>(2, blocks - j);
      const int64_t parts = (m_ + kMaxRows - 1) / kMaxRows;
      for (int64_t p = 0; p < parts; ++p) {  // as equal as can be
        const int64_t i = m_ * p / parts, rows = m_ * (p + 1) / parts - i;
        Tile t{a.p + i * a.row, a.row,   a.col,   from + j * vector,       step,
               vector,          nullptr, nullptr, c + i * n_ + j * kLanes, n_,
               kLanes,          k_};
        if (!direct) {
          t.c = left_over + j * kLanes * m_ + i * kLanes;
          t.c_row = kLanes, t.c_vector = kLanes * m_;
        }
        if (bias) (turned_ ? t.start_of_row : t.start) = bias + (turned_ ? i : j * kLanes);
        kTiles[vectors - 1][rows - 1](t);
      }
    }
    if (direct) return;
    for (int64_t j = 0; j < blocks; ++j) {
      const int64_t count = std::min(kLanes, n_ - j * kLanes);
      const float* block = left_over + j * kLanes * m_;
      if (turned_)
        out_of_block(block, m_, c + j * kLanes * m_, m_, count);
      else
        for (int64_t i = 0; i < m_; ++i)
          std::copy_n(block + i * kLanes, count, c + i * n_ + j * kLanes);
    }
  }

 private:
  void copy_block(const float* rows, int64_t step, int64_t count, float* to) const {
    for (int64_t k = 0; k < k_; ++k, rows += step, to += kLanes)
      if (count == kLanes)
        _mm256_storeu_ps(to, _mm256_loadu_ps(rows));
      else
        for (int64_t l = 0; l < kLanes; ++l) to[l] = l < count ? rows[l] : 0.0f;
  }

  int64_t m_, n_, k_;
  bool turned_;
};

bool small(const KernelRequest& r, int64_t m, int64_t n, int64_t k, bool b_turned,
           std::string* why) {
  if (r.out.dtype != DType::F32) return *why = "dtype is not float32", false;
  if (channel_block() != kLanes) return *why = "not for this processor's instructions", false;
  if (m <= 1 || n <= 1 || k <= 1) return *why = "a vector, or nothing", false;
  // oneDNN is as fast, or takes more threads, where there is more to add up, and where few rows do
  // not make up for transposing the other operand.
  if (m * n * k > 1 << 20 || m * n >= 128 * 128 || std::max({m, n, k}) > 1024)
    return *why = "not small", false;
  if (b_turned && m < kLanes && n * k > 1 << 14) return *why = "few rows", false;
  return true;
}

std::unique_ptr<OpKernel> matmul(const KernelRequest& r, std::string* why) {
  const Shape &sa = r.in[0].shape, &sb = r.in[1].shape, &sc = r.out.shape;
  const bool trans_a = r.ctx().flag("trans_a"), trans_b = r.ctx().flag("trans_b");
  const int ra = sa.rank(), rc = sc.rank();
  if (ra < 2 || sb.rank() < 2) return *why = "not matrices", nullptr;
  const int64_t m = sc[rc - 2], n = sc[rc - 1], k = sa[ra - (trans_a ? 2 : 1)];
  if (!small(r, m, n, k, trans_b, why)) return nullptr;
  const Operand a = trans_a ? Operand{nullptr, 1, m} : Operand{nullptr, k, 1},
                b = trans_b ? Operand{nullptr, 1, k} : Operand{nullptr, n, 1};
  const std::vector<Operands> places = stacked(sa, sb, sc);
  return fn_kernel([=, product = SmallProduct(m, n, k, a, b)](const void* const* in, void* out) {
    const auto *x = static_cast<const float*>(in[0]), *y = static_cast<const float*>(in[1]);
    parallel_for(static_cast<int64_t>(places.size()), 1 + 750000 / (m * n * k),
                 [&](int64_t begin, int64_t end) {
                   const Pieces memory = product.scratch();
                   for (int64_t t = begin; t < end; ++t)
                     product.run({x + places[t].a, a.row, a.col}, {y + places[t].b, b.row, b.col},
                                 nullptr, static_cast<float*>(out) + t * m * n, memory);
                 });
  });
}

std::unique_ptr<OpKernel> dense(const KernelRequest& r, std::string* why) {
  const int64_t n = r.in[1].shape[0], k = r.in[1].shape[1];
  const int64_t m = n ? r.out.shape.numel() / n : Dim(0);
  if (!small(r, m, n, k, true, why)) return nullptr;
  const Operand a{nullptr, k, 1}, b{nullptr, 1, k};
  return fn_kernel([=, product = SmallProduct(m, n, k, a, b)](const void* const* in, void* out) {
    const Pieces memory = product.scratch();
    product.run({static_cast<const float*>(in[0]), a.row, a.col},
                {static_cast<const float*>(in[1]), b.row, b.col}, static_cast<const float*>(in[2]),
                static_cast<float*>(out), memory);
  });
}

}  // namespace

KernelFamily small_gemm_kernels() { return {"small", {{"matmul", matmul}, {"dense", dense}}}; }

}  // namespace pijit
