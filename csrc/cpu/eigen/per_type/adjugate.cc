#include "cpu/eigen/shared_parts.h"

namespace pijit::matrix {

template <class T>
void adjugate(const In<T>& a, Out<T>& y) {
  using M = Matrix<T>;
  using Real = typename Eigen::NumTraits<T>::Real;
  const Eigen::PartialPivLU<M> lu{M(a)};
  const bool singular = (lu.matrixLU().diagonal().array() == 0).any();  // then rcond says nothing
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
}

using S = PIJIT_SCALAR;
template void adjugate(const In<S>&, Out<S>&);

}  // namespace pijit::matrix
