// Factors as LAPACK packs them.
#include "cpu/eigen/shared_parts.h"

namespace pijit::matrix {

template <class T>
void lu(const In<T>& a, Out<T>& y) {
  const Index m = a.rows(), n = a.cols(), k = std::min(m, n);
  Matrix<T> x = a;
  Eigen::Transpositions<Eigen::Dynamic> swaps(m);
  swaps.setIdentity();
  int count = 0;
  if (k > 0) Eigen::internal::partial_lu_inplace(x, swaps, count);
  Eigen::Matrix<int, Eigen::Dynamic, 1> order(m);
  for (Index i = 0; i < m; ++i) order(i) = static_cast<int>(i);
  for (Index i = 0; i < k; ++i) std::swap(order(i), order(swaps.coeff(i)));
  y.leftCols(n) = x;
  y.col(n) = swaps.indices().template cast<T>();
  y.col(n + 1) = order.template cast<T>();
}

template <class T>
void geqrf(const In<T>& a, Out<T>& y) {
  const Eigen::HouseholderQR<Matrix<T>> qr{Matrix<T>(a)};
  y.topRows(a.rows()) = qr.matrixQR();
  y.row(a.rows()).setZero();
  y.row(a.rows()).head(qr.hCoeffs().size()) = qr.hCoeffs().transpose();
}

using S = PIJIT_SCALAR;
template void lu(const In<S>&, Out<S>&);
template void geqrf(const In<S>&, Out<S>&);

}  // namespace pijit::matrix
