// Symmetric matrices, and pseudoinverses.
#include "cpu/eigen/shared_parts.h"

namespace pijit::matrix {

template <class T>
void eigh(const In<T>& a, Out<T>& y, bool lower) {
  const Matrix<T> x = lower ? Matrix<T>(a) : Matrix<T>(a.transpose());  // its lower triangle
  const Eigen::SelfAdjointEigenSolver<Matrix<T>> e(x);
  if (e.info() != Eigen::Success) {
    y.setConstant(kNaN<T>);
    return;
  }
  y.row(0) = e.eigenvalues().transpose();
  y.bottomRows(a.rows()) = e.eigenvectors();
}

template <class T>
void pinv(const In<T>& a, Out<T>& y, T absolute, T relative) {
  const Eigen::BDCSVD<Matrix<T>> svd(Matrix<T>(a), Eigen::ComputeThinU | Eigen::ComputeThinV);
  auto s = svd.singularValues().eval();
  const T least = std::max(absolute, relative * s(0));
  for (Index k = 0; k < s.size(); ++k) s(k) = s(k) > least ? T(1) / s(k) : T(0);
  y = svd.matrixV() * s.asDiagonal() * svd.matrixU().transpose();
}

using S = PIJIT_SCALAR;
template void eigh(const In<S>&, Out<S>&, bool);
template void pinv(const In<S>&, Out<S>&, S, S);

}  // namespace pijit::matrix
