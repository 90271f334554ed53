// Eigenvalues and eigenvectors of matrices that need not be symmetric.
#include "cpu/eigen/decompositions.h"

namespace pijit::matrix {

template <class T>
void eig(const In<T>& a, Out<std::complex<typename Eigen::NumTraits<T>::Real>>& y) {
  using C = std::complex<typename Eigen::NumTraits<T>::Real>;
  using Solver = std::conditional_t<std::is_same_v<T, C>, Eigen::ComplexEigenSolver<Matrix<T>>,
                                    Eigen::EigenSolver<Matrix<T>>>;
  Solver solver(a.cols());
  if (a.allFinite()) solver.compute(Matrix<T>(a));
  if (!a.allFinite() || solver.info() != Eigen::Success) {
    y.setConstant(kNaN<C>);
    return;
  }
  y.row(0) = solver.eigenvalues().transpose();
  y.bottomRows(a.cols()) = solver.eigenvectors();
}

using S = PIJIT_SCALAR;
template void eig(const In<S>&, Out<std::complex<typename Eigen::NumTraits<S>::Real>>&);

}  // namespace pijit::matrix
