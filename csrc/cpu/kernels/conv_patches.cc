// Convolutions of float64, which oneDNN does not take, and those of float32 for which it has plain
// loops alone (strides together with dilation, groups without AVX-512 …), as products with the
// patches of the input (Chellapilla, Puri & Simard, High Performance Convolutional Neural Networks
// for Document Processing, 2006).
#include <algorithm>
#include <memory>
#include <vector>

#include "cpu/gemm/gemm.h"
#include "cpu/kernels/window.h"
#include "runtime/pooled.h"

namespace pijit {
namespace {

// A matrix with a row per weight of a channel and a column per output pixel. Slabs of output rows
// keep it small.
template <class T>
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
    const WindowAxis axis{x[2], y[2], w[2], stride[0], dilation[0], pad[0]},
        columns{x[3], y[3], w[3], stride[1], dilation[1], pad[2]};
    for (int64_t k = 0; k < depth; ++k) {
      const int64_t c = k / (w[2] * w[3]), a = k / w[3] % w[2], b = k % w[3];
      const auto [begin, end] = columns.outs_of(b);
      for (int64_t i = 0; i < rows; ++i) {
        const int64_t h = axis.at(first + i, a);
        const bool inside = h >= 0 && h < x[2];
        f(k, i, inside ? c * x[2] + h : int64_t{-1}, begin, end, columns.at(begin, b));
      }
    }
  }
  void gather(const T* in, int64_t first, int64_t rows, T* matrix) const {
    const int64_t width = y[3], step = stride[1];
    each_row(first, rows,
             [&](int64_t k, int64_t i, int64_t row, int64_t begin, int64_t end, int64_t at) {
               T* to = matrix + (k * rows + i) * width;
               if (row < 0) return std::fill_n(to, width, T(0)), void();
               const T* from = in + row * x[3] + at;
               std::fill_n(to, begin, T(0));
               for (int64_t j = begin; j < end; ++j, from += step) to[j] = *from;
               std::fill(to + end, to + width, T(0));
             });
  }
  void scatter_add(const T* matrix, int64_t first, int64_t rows, T* out) const {
    const int64_t width = y[3], step = stride[1];
    each_row(first, rows,
             [&](int64_t k, int64_t i, int64_t row, int64_t begin, int64_t end, int64_t at) {
               if (row < 0) return;
               const T* from = matrix + (k * rows + i) * width;
               T* to = out + row * x[3] + at;
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
  Block buffer() const { return Block(static_cast<size_t>(depth * slab * y[3]) * sizeof(T)); }
};

template <class T>
std::unique_ptr<OpKernel> conv2d(const KernelRequest& r) {
  const Patches<T> g(r, r.in[0].shape, r.in[1].shape, r.out.shape);
  return fn_kernel([=](const void* const* in, void* out) {
    const auto *x = static_cast<const T*>(in[0]), *w = static_cast<const T*>(in[1]),
               *bias = static_cast<const T*>(in[2]);
    auto* y = static_cast<T*>(out);
    parallel_for(g.y[0], 1, [&](int64_t begin, int64_t end) {
      const Block buffer = g.buffer();
      T* const patches = reinterpret_cast<T*>(buffer.p);
      g.each_slab(begin, end,
                  [&](int64_t from, int64_t to, int64_t group, int64_t first, int64_t rows) {
                    const int64_t n = rows * g.y[3];
                    g.gather(x + from, first, rows, patches);
                    T* c = y + to + first * g.y[3];
                    if (bias)
                      for (int64_t o = 0; o < g.filters; ++o)
                        std::fill_n(c + o * g.pixels, n, bias[group * g.filters + o]);
                    multiply<T>({w + group * g.filters * g.depth, g.depth, 1}, {patches, n, 1},
                                nullptr, {c, g.pixels, bias != nullptr}, g.filters, n, g.depth);
                  });
    });
  });
}

template <class T>
std::unique_ptr<OpKernel> conv2d_dx(const KernelRequest& r) {
  const Patches<T> g(r, r.out.shape, r.in[1].shape, r.in[0].shape);
  return fn_kernel([=](const void* const* in, void* out) {
    const auto *dy = static_cast<const T*>(in[0]), *w = static_cast<const T*>(in[1]);
    auto* dx = static_cast<T*>(out);
    std::fill_n(dx, g.x[0] * g.x[1] * g.x[2] * g.x[3], T(0));
    parallel_for(g.y[0], 1, [&](int64_t begin, int64_t end) {
      const Block buffer = g.buffer();
      T* const patches = reinterpret_cast<T*>(buffer.p);
      g.each_slab(begin, end,
                  [&](int64_t to, int64_t from, int64_t group, int64_t first, int64_t rows) {
                    const int64_t n = rows * g.y[3];
                    multiply<T>({w + group * g.filters * g.depth, 1, g.depth},
                                {dy + from + first * g.y[3], g.pixels, 1}, nullptr, {patches, n},
                                g.depth, n, g.filters);
                    g.scatter_add(patches, first, rows, dx + to);
                  });
    });
  });
}

// The sum over images is divided by their number alone into ranges, whose sums are added in order.
template <class T>
std::unique_ptr<OpKernel> conv2d_dw(const KernelRequest& r) {
  const Patches<T> g(r, r.in[0].shape, r.out.shape, r.in[1].shape);
  const int64_t ranges = std::clamp<int64_t>(g.y[0], 1, 8), elements = g.w[0] * g.depth;
  return fn_kernel([=](const void* const* in, void* out) {
    const auto *x = static_cast<const T*>(in[0]), *dy = static_cast<const T*>(in[1]);
    auto* dw = static_cast<T*>(out);
    const Block memory(static_cast<size_t>((ranges - 1) * elements) * sizeof(T));
    auto* rest = reinterpret_cast<T*>(memory.p);
    parallel_for(ranges, 1, [&](int64_t begin, int64_t end) {
      const Block buffer = g.buffer();
      T* const patches = reinterpret_cast<T*>(buffer.p);
      for (int64_t k = begin; k < end; ++k) {
        T* sum = k ? rest + (k - 1) * elements : dw;
        std::fill_n(sum, elements, T(0));
        g.each_slab(g.y[0] * k / ranges, g.y[0] * (k + 1) / ranges,
                    [&](int64_t from, int64_t to, int64_t group, int64_t first, int64_t rows) {
                      const int64_t n = rows * g.y[3];
                      g.gather(x + from, first, rows, patches);
                      multiply<T>({dy + to + first * g.y[3], g.pixels, 1}, {patches, 1, n}, nullptr,
                                  {sum + group * g.filters * g.depth, g.depth, true}, g.filters,
                                  g.depth, n);
                    });
      }
    });
    for (int64_t k = 0; k + 1 < ranges; ++k)
      for (int64_t i = 0; i < elements; ++i) dw[i] += rest[k * elements + i];
  });
}

template <auto kFloat, auto kDouble>
std::unique_ptr<OpKernel> by_dtype(const KernelRequest& r, std::string* why) {
  if (r.out.dtype == DType::F32) return kFloat(r);
  if (r.out.dtype == DType::F64) return kDouble(r);
  return *why = "dtype is neither float32 nor float64", nullptr;
}

}  // namespace

KernelFamily patches_conv_kernels() {
  return {"patches",
          {{"conv2d", by_dtype<conv2d<float>, conv2d<double>>},
           {"conv2d_dx", by_dtype<conv2d_dx<float>, conv2d_dx<double>>},
           {"conv2d_dw", by_dtype<conv2d_dw<float>, conv2d_dw<double>>}}};
}

}  // namespace pijit
