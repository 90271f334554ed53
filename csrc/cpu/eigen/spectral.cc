// Kernels by eigenvalues and singular values; the exponential of matrices.
#include "cpu/eigen/eigen.h"
#include "cpu/eigen/decompositions.h"

namespace pijit {
namespace {

KERNEL(adjugate) {
  return of_matrices<true>(r, 2, [](const auto& a, auto& y) { matrix::adjugate(a, y); });
}
KERNEL(eigh) {
  const bool lower = r.ctx().flag("lower");
  return of_matrices(r, 2, [=](const auto& a, auto& y) { matrix::eigh(a, y, lower); });
}
KERNEL(svd) {
  const bool full = r.ctx().flag("full");
  return of_matrices<true>(r, 2, [=](const auto& a, auto& y) { matrix::svd(a, y, full); });
}
KERNEL(pinv) {
  const Stack x(r.in[0].shape);
  const DType t = r.out.dtype;
  return fn_kernel([=](const void* const* in, void* out) {
    auto go = [&](auto z) {
      using T = decltype(z);
      each(x.count, cube(x) * 8, [&](int64_t i) {
        const In<T> a(static_cast<const T*>(in[0]) + i * x.size(), x.m, x.n);
        Out<T> y(static_cast<T*>(out) + i * x.size(), x.n, x.m);
        if (y.size() == 0) return;
        if (!a.allFinite()) {
          y.setConstant(kNaN<T>);
          return;
        }
        matrix::pinv(a, y, static_cast<const T*>(in[1])[i], static_cast<const T*>(in[2])[i]);
      });
    };
    t == DType::F32 ? go(float{}) : go(double{});
  });
}
KERNEL(eig) {
  const Stack x(r.in[0].shape), y(r.out.shape);
  const DType in_type = r.in[0].dtype;
  return fn_kernel([=](const void* const* in, void* out) {
    by_type(in_type, [&](auto z) {
      using T = decltype(z);
      using R = typename Eigen::NumTraits<T>::Real;
      using C = std::complex<R>;
      each(x.count, cube(x) * 25, [&](int64_t i) {
        const In<T> a(static_cast<const T*>(in[0]) + i * x.size(), x.m, x.n);
        Out<C> b(static_cast<C*>(out) + i * y.size(), y.m, y.n);
        if (b.size() == 0) return;
        matrix::eig(a, b);
      });
    });
  });
}
KERNEL(matrix_exp) {
  return of_matrices(r, 2, [](const auto& a, auto& y) { matrix::exp(a, y); });
}

}  // namespace

KernelFamily eigen_spectral_kernels() {
  return {"eigen",
          {{"adjugate", adjugate},
           {"eigh", eigh},
           {"svd", svd},
           {"pinv", pinv},
           {"eig", eig},
           {"matrix_exp", matrix_exp}},
          kReference};
}

}  // namespace pijit
