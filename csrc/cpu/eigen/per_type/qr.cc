#include "cpu/eigen/shared_parts.h"

PIJIT_QR(, PIJIT_SCALAR)

namespace pijit::matrix {

template <class T>
void qr(const In<T>& a, Out<T>& y) {
  using M = Matrix<T>;
  const Index m = a.rows(), n = a.cols(), k = y.cols();
  const Eigen::HouseholderQR<M> qr{M(a)};
  y.topRows(m) = qr.householderQ() * M::Identity(m, k);
  M upper = M::Zero(k, n);
  const Index d = std::min(m, n);
  upper.topRows(d) = qr.matrixQR().topRows(d).template triangularView<Eigen::Upper>();
  y.bottomRows(n) = upper.transpose();
}

using S = PIJIT_SCALAR;
template void qr(const In<S>&, Out<S>&);

}  // namespace pijit::matrix
