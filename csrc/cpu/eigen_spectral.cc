// Kernels by eigenvalues and singular values.
#include "cpu/eigen.h"

namespace pijit {
namespace {

KERNEL(adjugate) {
  return of_matrices<true>(r, 2, [](const auto& a, auto& y) {
    using T = typename std::decay_t<decltype(y)>::Scalar;
    using M = Matrix<T>;
    const Eigen::PartialPivLU<M> lu{M(a)};
    const bool singular = (lu.matrixLU().diagonal().array() == 0).any();  // then rcond says nothing
    using Real = typename Eigen::NumTraits<T>::Real;
    if (!singular && lu.rcond() > std::sqrt(std::numeric_limits<Real>::epsilon())) {
      y = lu.determinant() * lu.inverse();
      return;
    }
    // V diag(products of the other singular values) U^H, times the determinants of U and V^H
    const Eigen::BDCSVD<M> svd(M(a), Eigen::ComputeFullU | Eigen::ComputeFullV);
    const Index n = a.rows();
    Eigen::Matrix<Real, Eigen::Dynamic, 1> others(n);
    for (Index i = 0; i < n; ++i) {
      Real p = 1;
      for (Index j = 0; j < n; ++j)
        if (j != i) p *= svd.singularValues()(j);
      others(i) = p;
    }
    T sign = svd.matrixU().determinant() * Eigen::numext::conj(svd.matrixV().determinant());
    if constexpr (!Eigen::NumTraits<T>::IsComplex) sign = sign < 0 ? T(-1) : T(1);
    y = sign * (svd.matrixV() * others.asDiagonal() * svd.matrixU().adjoint());
  });
}
KERNEL(eigh) {
  const bool lower = r.ctx().flag("lower");
  return of_matrices(r, 2, [=](const auto& a, auto& y) {
    using T = typename std::decay_t<decltype(y)>::Scalar;
    const Matrix<T> x = lower ? Matrix<T>(a) : Matrix<T>(a.transpose());  // its lower triangle
    const Eigen::SelfAdjointEigenSolver<Matrix<T>> e(x);
    if (e.info() != Eigen::Success) {
      y.setConstant(kNaN<T>);
      return;
    }
    y.row(0) = e.eigenvalues().transpose();
    y.bottomRows(a.rows()) = e.eigenvectors();
  });
}
KERNEL(svd) {
  const bool full = r.ctx().flag("full");
  return of_matrices<true>(r, 2, [=](const auto& a, auto& y) {
    using T = typename std::decay_t<decltype(y)>::Scalar;
    const Index m = a.rows(), n = a.cols(), k = std::min(m, n);
    y.setZero();
    if (k == 0) {  // the vectors are any
      y.topLeftCorner(m, m).setIdentity();
      y.block(m, 0, n, n).setIdentity();
      return;
    }
    const Eigen::BDCSVD<Matrix<T>> s(Matrix<T>(a), full
                                                       ? Eigen::ComputeFullU | Eigen::ComputeFullV
                                                       : Eigen::ComputeThinU | Eigen::ComputeThinV);
    if (s.info() != Eigen::Success) {
      y.setConstant(kNaN<T>);
      return;
    }
    y.topLeftCorner(m, s.matrixU().cols()) = s.matrixU();
    y.block(m, 0, n, s.matrixV().cols()) = s.matrixV();
    y.row(m + n).head(k) = s.singularValues().transpose().template cast<T>();
  });
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
        const Eigen::BDCSVD<Matrix<T>> svd(Matrix<T>(a), Eigen::ComputeThinU | Eigen::ComputeThinV);
        auto s = svd.singularValues().eval();
        const T least =
            std::max(static_cast<const T*>(in[1])[i], static_cast<const T*>(in[2])[i] * s(0));
        for (Index k = 0; k < s.size(); ++k) s(k) = s(k) > least ? T(1) / s(k) : T(0);
        y = svd.matrixV() * s.asDiagonal() * svd.matrixU().transpose();
      });
    };
    t == DType::F32 ? go(float{}) : go(double{});
  });
}

}  // namespace

void register_spectral_kernels(KernelRegistry& r) {
  r.add("adjugate", {"eigen", adjugate, true});
  r.add("eigh", {"eigen", eigh, true});
  r.add("svd", {"eigen", svd, true});
  r.add("pinv", {"eigen", pinv, true});
}

}  // namespace pijit
