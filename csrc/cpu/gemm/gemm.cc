// Matrix products of the dtypes that oneDNN does not take: float64 and integers. Operands are
// packed in panels; a block of 6 rows and 2 vectors of columns stays in registers (Goto & van de
// Geijn, Anatomy of High-Performance Matrix Multiplication, 2008).
#include "cpu/gemm/gemm.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <vector>

#include "runtime/pooled.h"

namespace pijit {
namespace {

constexpr int64_t kRows = 6, kDepth = 256, kWidth = 512;

template <class T>
struct Block {
  typedef T Vector __attribute__((vector_size(32)));
  typedef T Unaligned __attribute__((vector_size(32), aligned(sizeof(T)), may_alias));
  static constexpr int64_t kLanes = 32 / sizeof(T), kCols = 2 * kLanes;
  Vector v[kRows][2];

  // v += left right over a depth; left: kRows values per step, right: kCols
  void add(const T* left, const T* right, int64_t depth) {
    Vector c[kRows][2];
    std::memcpy(c, v, sizeof c);
    for (int64_t p = 0; p < depth; ++p, left += kRows, right += kCols) {
      const Vector b0 = *reinterpret_cast<const Unaligned*>(right),
                   b1 = *reinterpret_cast<const Unaligned*>(right + kLanes);
#pragma GCC unroll 6
      for (int64_t r = 0; r < kRows; ++r) {
        c[r][0] += left[r] * b0;
        c[r][1] += left[r] * b1;
      }
    }
    std::memcpy(v, c, sizeof c);
  }
};

// y[j] = sum over p of x[p * step] m(p, j) (+ bias[j]), for j in [begin, end).
template <class T>
void vector_product(const T* x, int64_t step, Matrix<T> m, const T* bias, T* y, int64_t begin,
                    int64_t end, int64_t k) {
  if (m.col == 1 && m.row != 1) {
    std::fill(y + begin, y + end, T(0));
    for (int64_t p = 0; p < k; ++p) {
      const T f = x[p * step], *row = m.p + p * m.row;
      for (int64_t j = begin; j < end; ++j) y[j] = static_cast<T>(y[j] + f * row[j]);
    }
  } else {
    constexpr int64_t kParts = 128 / sizeof(T);
    PoolVector<T> packed;
    if (step != 1) {
      for (int64_t p = 0; p < k; ++p) packed.push_back(x[p * step]);
      x = packed.data();
    }
    for (int64_t j = begin; j < end; ++j) {
      const T* column = m.p + j * m.col;
      T parts[kParts] = {}, sum = 0;
      int64_t p = 0;
      if (m.row == 1)
        for (; p + kParts <= k; p += kParts)
          for (int64_t l = 0; l < kParts; ++l)
            parts[l] = static_cast<T>(parts[l] + x[p + l] * column[p + l]);
      for (auto v : parts) sum = static_cast<T>(sum + v);
      for (; p < k; ++p) sum = static_cast<T>(sum + x[p] * column[p * m.row]);
      y[j] = sum;
    }
  }
  if (bias)
    for (int64_t j = begin; j < end; ++j) y[j] = static_cast<T>(y[j] + bias[j]);
}

// to[panel, p, j of the panel] = b, with zeros to the right of the last column.
template <class T>
void pack(Matrix<T> b, int64_t depth, int64_t cols, T* to) {
  constexpr int64_t kCols = Block<T>::kCols;
  for (int64_t j0 = 0; j0 < cols; j0 += kCols, to += kDepth * kCols) {
    const int64_t n = std::min(kCols, cols - j0);
    const T* from = b.p + j0 * b.col;
    if (n < kCols) std::fill_n(to, depth * kCols, T(0));
    if (b.col == 1 && n == kCols)
      for (int64_t p = 0; p < depth; ++p)
        std::memcpy(to + p * kCols, from + p * b.row, kCols * sizeof(T));
    else
      for (int64_t j = 0; j < n; ++j)
        for (int64_t p = 0; p < depth; ++p) to[p * kCols + j] = from[p * b.row + j * b.col];
  }
}

// c[rows, n] = a b (+ bias per column), for rows [begin, end).
template <class T>
void product(Matrix<T> a, Matrix<T> b, const T* bias, Output<T> c, int64_t begin, int64_t end,
             int64_t n, int64_t k) {
  constexpr int64_t kCols = Block<T>::kCols;
  const int64_t width = (std::min(kWidth, n) + kCols - 1) / kCols * kCols;
  const Pieces memory{kDepth * kRows * sizeof(T), static_cast<size_t>(kDepth * width) * sizeof(T)};
  T *const left = memory.of<T>(0), *const right = memory.of<T>(1);
  for (int64_t first = 0; first < n; first += kWidth) {
    const int64_t past = std::min(first + kWidth, n);
    for (int64_t p0 = 0; p0 < std::max<int64_t>(k, 1); p0 += kDepth) {
      const int64_t depth = std::min(kDepth, k - p0);
      const bool last = p0 + kDepth >= k;
      pack<T>({b.p + p0 * b.row + first * b.col, b.row, b.col}, depth, past - first, right);
      for (int64_t i0 = begin; i0 < end; i0 += kRows) {
        const int64_t rows = std::min(kRows, end - i0);
        if (rows < kRows) std::fill_n(left, depth * kRows, T(0));
        for (int64_t r = 0; r < rows; ++r)
          for (int64_t p = 0; p < depth; ++p)
            left[p * kRows + r] = a.p[(i0 + r) * a.row + (p0 + p) * a.col];
        for (int64_t j0 = first; j0 < past; j0 += kCols) {
          const int64_t cols = std::min(kCols, past - j0);
          T acc[kRows][kCols] = {};
          if (p0 > 0 || c.onto)
            for (int64_t r = 0; r < rows; ++r)
              std::copy_n(c.p + (i0 + r) * c.row + j0, cols, acc[r]);
          Block<T> block;
          std::memcpy(&block, acc, sizeof acc);
          block.add(left, right + (j0 - first) * kDepth, depth);
          std::memcpy(acc, &block, sizeof acc);
          for (int64_t r = 0; r < rows; ++r)
            for (int64_t j = 0; j < cols; ++j)
              c.p[(i0 + r) * c.row + j0 + j] =
                  last && bias ? static_cast<T>(acc[r][j] + bias[j0 + j]) : acc[r][j];
        }
      }
    }
  }
}

}  // namespace

std::vector<Operands> stacked(const Shape& a, const Shape& b, const Shape& out) {
  const int rank = out.rank();
  const int64_t size = out[rank - 2] * out[rank - 1];
  std::vector<Operands> r(size ? static_cast<size_t>(out.numel() / size) : 0);
  const auto sa = a.strides(), sb = b.strides();
  for (size_t t = 0; t < r.size(); ++t) {
    auto rest = static_cast<int64_t>(t);
    for (int d = rank - 3; d >= 0; --d) {
      const int64_t index = rest % out[d];
      rest /= out[d];
      const int da = d - (rank - a.rank()), db = d - (rank - b.rank());
      if (da >= 0 && a[da] != 1) r[t].a += index * sa[da];
      if (db >= 0 && b[db] != 1) r[t].b += index * sb[db];
    }
  }
  return r;
}

template <class T>
void multiply(Matrix<T> a, Matrix<T> b, const T* bias, Output<T> c, int64_t m, int64_t n,
              int64_t k) {
  const int64_t work = std::max<int64_t>(1, k);
  if (m == 1 && !c.onto)
    return parallel_for(n, std::max<int64_t>(64, 200000 / work), [&](int64_t begin, int64_t end) {
      vector_product<T>(a.p, a.col, b, bias, c.p, begin, end, k);
    });
  if (n == 1 && c.row == 1 && !bias && !c.onto)
    return parallel_for(m, std::max<int64_t>(64, 200000 / work), [&](int64_t begin, int64_t end) {
      vector_product<T>(b.p, b.row, {a.p, a.col, a.row}, nullptr, c.p, begin, end, k);
    });
  parallel_for(m, std::max<int64_t>(4 * kRows, 400000 / (work * std::max<int64_t>(1, n))),
               [&](int64_t begin, int64_t end) { product<T>(a, b, bias, c, begin, end, n, k); });
}
template void multiply<double>(Matrix<double>, Matrix<double>, const double*, Output<double>,
                               int64_t, int64_t, int64_t);
template void multiply<float>(Matrix<float>, Matrix<float>, const float*, Output<float>, int64_t,
                              int64_t, int64_t);

namespace {
template <class F>
bool for_dtype(DType t, F f) {
  switch (t) {
    case DType::F64: return f(double{}), true;
    case DType::I32: return f(int32_t{}), true;
    case DType::I64: return f(int64_t{}), true;
    default: return false;
  }
}
std::unique_ptr<OpKernel> matmul(const KernelRequest& r, std::string* why) {
  std::unique_ptr<OpKernel> kernel;
  const Type ta = r.in[0], tb = r.in[1], out = r.out;
  const bool trans_a = r.ctx().flag("trans_a"), trans_b = r.ctx().flag("trans_b");
  for_dtype(out.dtype, [&](auto z) {
    using T = decltype(z);
    const std::vector<Operands> places = stacked(ta.shape, tb.shape, out.shape);
    kernel = fn_kernel([=](const void* const* x, void* y) {
      const int ra = ta.shape.rank(), rb = tb.shape.rank(), ro = out.shape.rank();
      const int64_t m = out.shape[ro - 2], n = out.shape[ro - 1],
                    k = ta.shape[ra - (trans_a ? 2 : 1)];
      const auto sa = ta.shape.strides(), sb = tb.shape.strides();
      T* c = static_cast<T*>(y);
      for (const Operands& at : places) {
        const Matrix<T> a{static_cast<const T*>(x[0]) + at.a, sa[ra - (trans_a ? 1 : 2)],
                          sa[ra - (trans_a ? 2 : 1)]},
            b{static_cast<const T*>(x[1]) + at.b, sb[rb - (trans_b ? 1 : 2)],
              sb[rb - (trans_b ? 2 : 1)]};
        multiply<T>(a, b, nullptr, {c, n}, m, n, k);
        c += m * n;
      }
    });
  });
  if (!kernel) *why = "dtype is not float64, int32 or int64";
  return kernel;
}

std::unique_ptr<OpKernel> dense(const KernelRequest& r, std::string* why) {
  std::unique_ptr<OpKernel> kernel;
  const int64_t n = r.in[1].shape[0], k = r.in[1].shape[1];
  const int64_t m = n ? r.out.shape.numel() / n : Dim(0);
  for_dtype(r.out.dtype, [&](auto z) {
    using T = decltype(z);
    kernel = fn_kernel([=](const void* const* x, void* y) {
      const Matrix<T> a{static_cast<const T*>(x[0]), k, 1}, b{static_cast<const T*>(x[1]), 1, k};
      multiply<T>(a, b, static_cast<const T*>(x[2]), {static_cast<T*>(y), n}, m, n, k);
    });
  });
  if (!kernel) *why = "dtype is not float64, int32 or int64";
  return kernel;
}

}  // namespace

KernelFamily blocked_gemm_kernels() { return {"blocked", {{"matmul", matmul}, {"dense", dense}}}; }

}  // namespace pijit
