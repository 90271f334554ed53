// Eigenvalues and eigenvectors of matrices that need not be symmetric. A file of its own, as the
// compiler takes long for it.
#include "cpu/eigen.h"

namespace pijit {
namespace {

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
        auto solve = [&](auto solver) {
          if (a.allFinite()) solver.compute(Matrix<T>(a));
          if (!a.allFinite() || solver.info() != Eigen::Success) {
            b.setConstant(kNaN<C>);
            return;
          }
          b.row(0) = solver.eigenvalues().transpose();
          b.bottomRows(x.n) = solver.eigenvectors();
        };
        if constexpr (std::is_same_v<T, C>)
          solve(Eigen::ComplexEigenSolver<Matrix<T>>(x.n));
        else
          solve(Eigen::EigenSolver<Matrix<T>>(x.n));
      });
    });
  });
}

}  // namespace

void register_eigenvalue_kernels(KernelRegistry& r) { r.add("eig", {"eigen", eig, true}); }

}  // namespace pijit
