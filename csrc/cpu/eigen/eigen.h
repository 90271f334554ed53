// Matrices of tensors as Eigen's, for the kernels of graph/ops/linalg.cc: one matrix per thread,
// the batch in parallel. Matrices that hold NaN or infinity give NaN, as no iteration on them would
// end well.
#pragma once
#include "cpu/cpu.h"
#include "cpu/eigen/matrix.h"

namespace pijit {

// Matrices of a tensor [..., m, n], of a batch that another may broadcast to.
struct Stack {
  int64_t m = 1, n = 1, count = 1;
  explicit Stack(const Shape& s, int axes = 2) {
    const int r = s.rank();
    if (axes > 0) n = s[r - 1];
    if (axes > 1) m = s[r - 2];
    for (int k = 0; k < r - axes; ++k) count *= s[k];
  }
  int64_t size() const { return m * n; }
};
// Number of the matrix of a stack with batch `from` that stands for number i of batch `to`.
inline int64_t place(int64_t i, const Shape& to, const Shape& from) {
  int64_t at = 0, stride = 1;
  for (int k = 3; k <= from.rank(); ++k) {
    const int64_t n = from[from.rank() - k], all = to[to.rank() - k];
    if (n != 1) at += i % all * stride;
    stride *= n;
    i /= all;
  }
  return at;
}
// f(i) for the matrices of a batch, each of about `work` operations.
template <class F>
void each(int64_t count, double work, F f) {
  const double grain = std::max(1.0, 50000.0 / std::max(1.0, work));
  parallel_for(count, static_cast<int64_t>(grain), [&](int64_t b, int64_t e) {
    for (int64_t i = b; i < e; ++i) f(i);
  });
}
inline double cube(const Stack& s) {
  return static_cast<double>(s.m) * static_cast<double>(s.n) *
         static_cast<double>(std::min(s.m, s.n));
}
// f(T()) for elements of dtype t; the second one for ops that take complex matrices.
template <class F>
void by_real_type(DType t, F f) {
  t == DType::F32 ? f(float{}) : f(double{});
}
template <class F>
void by_type(DType t, F f) {
  if (t == DType::C64)
    f(std::complex<float>{});
  else if (t == DType::C128)
    f(std::complex<double>{});
  else
    by_real_type(t, f);
}

// A kernel out of f(in, out, ctx) on one matrix, its attributes read once by `Make`.
template <bool kComplex = false, class F>
std::unique_ptr<OpKernel> of_matrices(const KernelRequest& r, int out_axes, F f) {
  const Stack x(r.in[0].shape), y(r.out.shape, out_axes);
  const DType t = r.out.dtype;
  return fn_kernel([=](const void* const* in, void* out) {
    auto go = [&](auto z) {
      using T = decltype(z);
      each(x.count, cube(x) * 4, [&](int64_t i) {
        const In<T> a(static_cast<const T*>(in[0]) + i * x.size(), x.m, x.n);
        Out<T> b(static_cast<T*>(out) + i * y.size(), y.m, y.n);
        if (b.size() == 0) return;
        if (a.allFinite())
          f(a, b);
        else
          b.setConstant(kNaN<T>);
      });
    };
    if constexpr (kComplex)
      by_type(t, go);
    else
      by_real_type(t, go);
  });
}

#define KERNEL(name) std::unique_ptr<OpKernel> name(const KernelRequest& r, std::string* why)

}  // namespace pijit
