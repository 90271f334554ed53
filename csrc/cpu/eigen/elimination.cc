// Kernels by elimination and reflections.
#include <atomic>

#include "cpu/eigen/eigen.h"
#include "cpu/eigen/decompositions.h"

namespace pijit {
namespace {

KERNEL(cholesky) {
  const bool upper = r.ctx().flag("upper");
  const Stack s(r.out.shape);
  const DType t = r.out.dtype;
  return fn_kernel([=](const void* const* in, void* out) {
    std::atomic<bool> failed = false;
    auto go = [&](auto z) {
      using T = decltype(z);
      each(s.count, cube(s), [&](int64_t i) {
        const In<T> a(static_cast<const T*>(in[0]) + i * s.size(), s.m, s.n);
        Out<T> b(static_cast<T*>(out) + i * s.size(), s.m, s.n);
        if (b.size() == 0) return;
        if (!matrix::cholesky(a, b, upper)) failed = true;
      });
    };
    by_type(t, go);
    OP_CHECK(!failed, kRuntime,
             "[cholesky] expected symmetric positive definite matrices, but a leading minor is not "
             "positive");
  });
}

// x of systems with the matrices in[0] and the right sides in[1]
template <bool kComplex = false, class F>
std::unique_ptr<OpKernel> of_systems(const KernelRequest& r, F f) {
  const Shape as = r.in[0].shape, bs = r.in[1].shape, ys = r.out.shape;
  const Stack a(as), b(bs), y(ys);
  const DType t = r.out.dtype;
  return fn_kernel([=](const void* const* in, void* out) {
    std::atomic<bool> failed = false;
    auto go = [&](auto z) {
      using T = decltype(z);
      const double work = static_cast<double>(a.size()) * static_cast<double>(a.n + b.n);
      each(y.count, work, [&](int64_t i) {
        const In<T> m(static_cast<const T*>(in[0]) + place(i, ys, as) * a.size(), a.m, a.n);
        const In<T> v(static_cast<const T*>(in[1]) + place(i, ys, bs) * b.size(), b.m, b.n);
        if (v.size() == 0) return;
        Matrix<T> x = v;
        if (!f(m, x)) failed = true;
        Out<T>(static_cast<T*>(out) + i * y.size(), y.m, y.n) = x;
      });
    };
    if constexpr (kComplex)
      by_type(t, go);
    else
      by_real_type(t, go);
    OP_CHECK(!failed, kValue, "[solve] a matrix is not invertible");
  });
}
KERNEL(solve_triangular) {
  const bool lower = r.ctx().flag("lower"), trans = r.ctx().flag("trans"),
             unit = r.ctx().flag("unit_diagonal");
  return of_systems<true>(r, [=](const auto& a, auto& x) {
    matrix::solve_triangular(a, x, lower, trans, unit);
    return true;
  });
}
KERNEL(solve) {
  const bool trans = r.ctx().flag("trans");
  return of_systems<true>(r, [=](const auto& a, auto& x) { return matrix::solve(a, x, trans); });
}
KERNEL(matrix_inverse) {
  return of_matrices<true>(r, 2, [](const auto& a, auto& y) { matrix::inverse(a, y); });
}
KERNEL(matrix_det) {
  const bool empty = Stack(r.in[0].shape).size() == 0;
  const Type out = r.out;
  if (empty)  // the product of nothing
    return fn_kernel([=](const void* const*, void* y) {
      by_type(out.dtype, [&](auto z) {
        using T = decltype(z);
        std::fill_n(static_cast<T*>(y), int64_t{out.shape.numel()}, T(1));
      });
    });
  return of_matrices<true>(r, 0, [](const auto& a, auto& y) { y(0, 0) = matrix::determinant(a); });
}
KERNEL(slogdet) {
  const Stack s(r.in[0].shape);
  const Type out = r.out;
  if (s.size() == 0)
    return fn_kernel([=](const void* const*, void* y) {
      by_type(out.dtype, [&](auto z) {
        using T = decltype(z);
        for (int64_t i = 0; i < out.shape.numel(); ++i) static_cast<T*>(y)[i] = T(i % 2 ? 0 : 1);
      });
    });
  return of_matrices<true>(r, 1, [](const auto& a, auto& y) { matrix::slogdet(a, y); });
}
KERNEL(lu) {
  return of_matrices(r, 2, [](const auto& a, auto& y) { matrix::lu(a, y); });
}
KERNEL(lu_permutation) {
  const Type in = r.in[0], out = r.out;
  return fn_kernel([=](const void* const* x, void* y) {
    const int64_t k = in.shape[in.shape.rank() - 1], n = out.shape[out.shape.rank() - 1];
    const int64_t count = n == 0 ? 0 : int64_t{out.shape.numel()} / n;
    auto pivot = [&](int64_t i) -> int64_t {
      switch (in.dtype) {
        case DType::I8: return static_cast<const int8_t*>(x[0])[i];
        case DType::I16: return static_cast<const int16_t*>(x[0])[i];
        case DType::I32: return static_cast<const int32_t*>(x[0])[i];
        case DType::I64: return static_cast<const int64_t*>(x[0])[i];
        case DType::U8: return static_cast<const uint8_t*>(x[0])[i];
        case DType::U16: return static_cast<const uint16_t*>(x[0])[i];
        case DType::U32: return static_cast<const uint32_t*>(x[0])[i];
        default: return static_cast<int64_t>(static_cast<const uint64_t*>(x[0])[i]);
      }
    };
    for (int64_t b = 0; b < count; ++b) {
      int64_t* order = static_cast<int64_t*>(y) + b * n;
      for (int64_t i = 0; i < n; ++i) order[i] = i;
      for (int64_t i = 0; i < k; ++i) {
        const int64_t p = pivot(b * k + i);
        OP_CHECK(p >= 0 && p < n, kIndex, "[lu_permutation] pivot ", p, " is out of range for ", n,
                 " rows");
        std::swap(order[i], order[p]);
      }
    }
  });
}
KERNEL(qr) {
  return of_matrices<true>(r, 2, [](const auto& a, auto& y) { matrix::qr(a, y); });
}
KERNEL(geqrf) {
  return of_matrices(r, 2, [](const auto& a, auto& y) { matrix::geqrf(a, y); });
}

}  // namespace

KernelFamily eigen_elimination_kernels() {
  return {"eigen",
          {{"cholesky", cholesky},
           {"solve_triangular", solve_triangular},
           {"solve", solve},
           {"matrix_inverse", matrix_inverse},
           {"matrix_det", matrix_det},
           {"slogdet", slogdet},
           {"lu", lu},
           {"lu_permutation", lu_permutation},
           {"qr", qr},
           {"geqrf", geqrf}},
          kReference};
}

}  // namespace pijit
