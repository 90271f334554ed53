// Singular values by divide and conquer.
#include "cpu/eigen/shared_parts.h"

PIJIT_SVD(, PIJIT_SCALAR)

namespace pijit::matrix {

template <class T>
void svd(const In<T>& a, Out<T>& y, bool full) {
  const Index m = a.rows(), n = a.cols(), k = std::min(m, n);
  y.setZero();
  if (k == 0) {  // the vectors are any
    y.topLeftCorner(m, m).setIdentity();
    y.block(m, 0, n, n).setIdentity();
    return;
  }
  const Eigen::BDCSVD<Matrix<T>> s(Matrix<T>(a), full ? Eigen::ComputeFullU | Eigen::ComputeFullV
                                                      : Eigen::ComputeThinU | Eigen::ComputeThinV);
  if (s.info() != Eigen::Success) {
    y.setConstant(kNaN<T>);
    return;
  }
  y.topLeftCorner(m, s.matrixU().cols()) = s.matrixU();
  y.block(m, 0, n, s.matrixV().cols()) = s.matrixV();
  y.row(m + n).head(k) = s.singularValues().transpose().template cast<T>();
}

using S = PIJIT_SCALAR;
template void svd(const In<S>&, Out<S>&, bool);

}  // namespace pijit::matrix
