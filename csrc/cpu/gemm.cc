// Matrix products of the dtypes that oneDNN does not take, float64 and integers, and convolutions
// of float64 as products of patches. Operands are packed in panels; a block of 6 rows and 2 vectors
// of columns stays in registers (Goto & van de Geijn, Anatomy of High-Performance Matrix
// Multiplication, 2008).
#include <algorithm>
#include <cstring>
#include <memory>
#include <vector>

#include "cpu/cpu.h"

namespace pijit {
namespace {

constexpr int64_t kRows = 6, kDepth = 256, kWidth = 512;

template <class T>
struct Matrix {
  const T* p;
  int64_t row, col;  // strides
};

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
    std::vector<T> packed;
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

// A product's output: rows at `row` elements from one another. `onto`: what is there is added to.
template <class T>
struct Output {
  T* p;
  int64_t row;
  bool onto = false;
};

// c[rows, n] = a b (+ bias per column), for rows [begin, end).
template <class T>
void product(Matrix<T> a, Matrix<T> b, const T* bias, Output<T> c, int64_t begin, int64_t end,
             int64_t n, int64_t k) {
  constexpr int64_t kCols = Block<T>::kCols;
  const int64_t width = (std::min(kWidth, n) + kCols - 1) / kCols * kCols;
  const std::unique_ptr<T[]> left(new T[kDepth * kRows]), right(new T[kDepth * width]);
  for (int64_t first = 0; first < n; first += kWidth) {
    const int64_t past = std::min(first + kWidth, n);
    for (int64_t p0 = 0; p0 < std::max<int64_t>(k, 1); p0 += kDepth) {
      const int64_t depth = std::min(kDepth, k - p0);
      const bool last = p0 + kDepth >= k;
      pack<T>({b.p + p0 * b.row + first * b.col, b.row, b.col}, depth, past - first, right.get());
      for (int64_t i0 = begin; i0 < end; i0 += kRows) {
        const int64_t rows = std::min(kRows, end - i0);
        if (rows < kRows) std::fill_n(left.get(), depth * kRows, T(0));
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
          block.add(left.get(), right.get() + (j0 - first) * kDepth, depth);
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

// The same for all m rows, in parallel.
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
    kernel = fn_kernel([=](const void* const* x, void* y) {
      const int ra = ta.shape.rank(), rb = tb.shape.rank(), ro = out.shape.rank();
      const int64_t m = out.shape[ro - 2], n = out.shape[ro - 1],
                    k = ta.shape[ra - (trans_a ? 2 : 1)];
      const auto sa = ta.shape.strides(), sb = tb.shape.strides();
      const int64_t batch = m * n != 0 ? out.shape.numel() / (m * n) : Dim(0);
      for (int64_t t = 0; t < batch; ++t) {
        int64_t oa = 0, ob = 0, rest = t;
        for (int d = ro - 3; d >= 0; --d) {
          const int64_t index = rest % out.shape[d];
          rest /= out.shape[d];
          const int da = d - (ro - ra), db = d - (ro - rb);
          if (da >= 0 && ta.shape[da] != 1) oa += index * sa[da];
          if (db >= 0 && tb.shape[db] != 1) ob += index * sb[db];
        }
        const Matrix<T> a{static_cast<const T*>(x[0]) + oa, sa[ra - (trans_a ? 1 : 2)],
                          sa[ra - (trans_a ? 2 : 1)]},
            b{static_cast<const T*>(x[1]) + ob, sb[rb - (trans_b ? 1 : 2)],
              sb[rb - (trans_b ? 2 : 1)]};
        multiply<T>(a, b, nullptr, {static_cast<T*>(y) + t * m * n, n}, m, n, k);
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

// A convolution of float64 as products with the patches of its input (Chellapilla, Puri & Simard,
// High Performance Convolutional Neural Networks for Document Processing, 2006): a matrix with a
// row per weight of a channel and a column per output pixel. Slabs of output rows keep it small.
struct Patches {
  std::vector<int64_t> x, w, y;  // sizes
  std::vector<int64_t> stride, pad, dilation;
  int64_t group, channels, filters;  // of a group
  int64_t depth, pixels, slab;       // rows and columns of the matrix; output rows of a slab

  Patches(const KernelRequest& r, const Shape& x_shape, const Shape& w_shape, const Shape& y_shape)
      : x(x_shape.numbers()),
        w(w_shape.numbers()),
        y(y_shape.numbers()),
        stride(r.ctx().numbers("stride")),
        pad(r.ctx().numbers("pad")),
        dilation(r.ctx().numbers("dilation")),
        group(r.ctx().i("group")),
        channels(w[1]),
        filters(w[0] / group),
        depth(w[1] * w[2] * w[3]),
        pixels(y[2] * y[3]) {
    constexpr int64_t kElements = 1 << 17;
    slab = std::clamp<int64_t>(kElements / std::max<int64_t>(1, depth * y[3]), 1,
                               std::max<int64_t>(1, y[2]));
  }
  // f(row of the matrix, output row of the slab, input row, output columns [begin, end) whose
  // input columns are not padding, the first one's input column); input row -1: padding.
  template <class F>
  void each_row(int64_t first, int64_t rows, F f) const {
    for (int64_t k = 0; k < depth; ++k) {
      const int64_t c = k / (w[2] * w[3]), a = k / w[3] % w[2], b = k % w[3];
      const int64_t offset = b * dilation[1] - pad[2];
      // 0 <= j * stride + offset < width
      const int64_t begin =
          std::min<int64_t>(y[3], offset < 0 ? (-offset + stride[1] - 1) / stride[1] : 0);
      const int64_t end = std::clamp<int64_t>(
          x[3] > offset ? (x[3] - offset + stride[1] - 1) / stride[1] : 0, begin, y[3]);
      for (int64_t i = 0; i < rows; ++i) {
        const int64_t h = (first + i) * stride[0] + a * dilation[0] - pad[0];
        const bool inside = h >= 0 && h < x[2];
        f(k, i, inside ? c * x[2] + h : int64_t{-1}, begin, end, begin * stride[1] + offset);
      }
    }
  }
  void gather(const double* in, int64_t first, int64_t rows, double* matrix) const {
    const int64_t width = y[3], step = stride[1];
    each_row(first, rows,
             [&](int64_t k, int64_t i, int64_t row, int64_t begin, int64_t end, int64_t at) {
               double* to = matrix + (k * rows + i) * width;
               if (row < 0) return std::fill_n(to, width, 0.0), void();
               const double* from = in + row * x[3] + at;
               std::fill_n(to, begin, 0.0);
               for (int64_t j = begin; j < end; ++j, from += step) to[j] = *from;
               std::fill(to + end, to + width, 0.0);
             });
  }
  void scatter_add(const double* matrix, int64_t first, int64_t rows, double* out) const {
    const int64_t width = y[3], step = stride[1];
    each_row(first, rows,
             [&](int64_t k, int64_t i, int64_t row, int64_t begin, int64_t end, int64_t at) {
               if (row < 0) return;
               const double* from = matrix + (k * rows + i) * width;
               double* to = out + row * x[3] + at;
               for (int64_t j = begin; j < end; ++j, to += step) *to += from[j];
             });
  }
  // f(image and group in the input, in the output, the group, output row, rows) for each slab of
  // images [begin, end).
  template <class F>
  void each_slab(int64_t begin, int64_t end, F f) const {
    for (int64_t n = begin; n < end; ++n)
      for (int64_t g = 0; g < group; ++g)
        for (int64_t i = 0; i < y[2]; i += slab)
          f((n * group + g) * channels * x[2] * x[3], (n * group + g) * filters * pixels, g, i,
            std::min<int64_t>(slab, y[2] - i));
  }
  std::unique_ptr<double[]> buffer() const {
    return std::unique_ptr<double[]>(new double[depth * slab * y[3]]);
  }
};

std::unique_ptr<OpKernel> conv2d(const KernelRequest& r, std::string* why) {
  if (r.out.dtype != DType::F64) return *why = "dtype is not float64", nullptr;
  const Patches g(r, r.in[0].shape, r.in[1].shape, r.out.shape);
  return fn_kernel([=](const void* const* in, void* out) {
    const auto *x = static_cast<const double*>(in[0]), *w = static_cast<const double*>(in[1]),
               *bias = static_cast<const double*>(in[2]);
    auto* y = static_cast<double*>(out);
    parallel_for(g.y[0], 1, [&](int64_t begin, int64_t end) {
      const auto patches = g.buffer();
      g.each_slab(
          begin, end, [&](int64_t from, int64_t to, int64_t group, int64_t first, int64_t rows) {
            const int64_t n = rows * g.y[3];
            g.gather(x + from, first, rows, patches.get());
            double* c = y + to + first * g.y[3];
            if (bias)
              for (int64_t o = 0; o < g.filters; ++o)
                std::fill_n(c + o * g.pixels, n, bias[group * g.filters + o]);
            multiply<double>({w + group * g.filters * g.depth, g.depth, 1}, {patches.get(), n, 1},
                             nullptr, {c, g.pixels, bias != nullptr}, g.filters, n, g.depth);
          });
    });
  });
}

std::unique_ptr<OpKernel> conv2d_dx(const KernelRequest& r, std::string* why) {
  if (r.out.dtype != DType::F64) return *why = "dtype is not float64", nullptr;
  const Patches g(r, r.out.shape, r.in[1].shape, r.in[0].shape);
  return fn_kernel([=](const void* const* in, void* out) {
    const auto *dy = static_cast<const double*>(in[0]), *w = static_cast<const double*>(in[1]);
    auto* dx = static_cast<double*>(out);
    std::fill_n(dx, g.x[0] * g.x[1] * g.x[2] * g.x[3], 0.0);
    parallel_for(g.y[0], 1, [&](int64_t begin, int64_t end) {
      const auto patches = g.buffer();
      g.each_slab(begin, end,
                  [&](int64_t to, int64_t from, int64_t group, int64_t first, int64_t rows) {
                    const int64_t n = rows * g.y[3];
                    multiply<double>({w + group * g.filters * g.depth, 1, g.depth},
                                     {dy + from + first * g.y[3], g.pixels, 1}, nullptr,
                                     {patches.get(), n}, g.depth, n, g.filters);
                    g.scatter_add(patches.get(), first, rows, dx + to);
                  });
    });
  });
}

std::unique_ptr<OpKernel> conv2d_dw(const KernelRequest& r, std::string* why) {
  if (r.out.dtype != DType::F64) return *why = "dtype is not float64", nullptr;
  const Patches g(r, r.in[0].shape, r.out.shape, r.in[1].shape);
  return fn_kernel([=](const void* const* in, void* out) {
    const auto *x = static_cast<const double*>(in[0]), *dy = static_cast<const double*>(in[1]);
    auto* dw = static_cast<double*>(out);
    std::fill_n(dw, g.w[0] * g.depth, 0.0);
    const auto patches = g.buffer();
    g.each_slab(0, g.y[0],
                [&](int64_t from, int64_t to, int64_t group, int64_t first, int64_t rows) {
                  const int64_t n = rows * g.y[3];
                  g.gather(x + from, first, rows, patches.get());
                  multiply<double>({dy + to + first * g.y[3], g.pixels, 1}, {patches.get(), 1, n},
                                   nullptr, {dw + group * g.filters * g.depth, g.depth, true},
                                   g.filters, g.depth, n);
                });
  });
}

}  // namespace

void register_gemm_kernels(KernelRegistry& r) {
  r.add("conv2d", {"patches", conv2d});
  r.add("conv2d_dx", {"patches", conv2d_dx});
  r.add("conv2d_dw", {"patches", conv2d_dw});
  r.add("matmul", {"blocked", matmul});
  r.add("dense", {"blocked", dense});
}

}  // namespace pijit
