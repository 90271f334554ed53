// Elimination: triangular factors, and what is read from them.
#include "cpu/eigen/shared_parts.h"

PIJIT_LU(, PIJIT_SCALAR)

namespace pijit::matrix {

template <class T>
bool cholesky(const In<T>& a, Out<T>& y, bool upper) {
  const Matrix<T> x = upper ? Matrix<T>(a.adjoint()) : Matrix<T>(a);  // its lower triangle
  const Eigen::LLT<Matrix<T>> llt(x);
  const Matrix<T> l = llt.matrixL();
  if (upper)
    y = l.adjoint();
  else
    y = l;
  return llt.info() == Eigen::Success;
}

template <class T>
void solve_triangular(const In<T>& a, Matrix<T>& x, bool lower, bool trans, bool unit) {
  using namespace Eigen;
  auto go = [&](const auto& m, bool low) {
    if (low)
      unit ? m.template triangularView<UnitLower>().solveInPlace(x)
           : m.template triangularView<Lower>().solveInPlace(x);
    else
      unit ? m.template triangularView<UnitUpper>().solveInPlace(x)
           : m.template triangularView<Upper>().solveInPlace(x);
  };
  if (trans)
    go(a.transpose(), !lower);
  else
    go(a, lower);
}

template <class T>
bool solve(const In<T>& a, Matrix<T>& x, bool trans) {
  using M = Matrix<T>;
  const Eigen::PartialPivLU<M> lu(trans ? M(a.transpose()) : M(a));
  x = lu.solve(x).eval();
  return !(lu.matrixLU().diagonal().array() == T(0)).any();
}

template <class T>
void inverse(const In<T>& a, Out<T>& y) {
  y = Matrix<T>(a).partialPivLu().inverse();
}

template <class T>
T determinant(const In<T>& a) {
  return Matrix<T>(a).partialPivLu().determinant();
}

template <class T>
void slogdet(const In<T>& a, Out<T>& y) {
  const Eigen::PartialPivLU<Matrix<T>> lu{Matrix<T>(a)};
  typename Eigen::NumTraits<T>::Real log = 0;
  T sign = static_cast<T>(lu.permutationP().determinant());
  for (Index i = 0; i < a.rows(); ++i) {
    const T d = lu.matrixLU()(i, i);
    const auto size = std::abs(d);
    if constexpr (Eigen::NumTraits<T>::IsComplex)
      sign = size == 0 ? T(0) : sign * (d / size);
    else
      sign = d == 0 ? T(0) : d < 0 ? -sign : sign;
    log += std::log(size);
  }
  y(0, 0) = sign;
  y(0, 1) = log;
}

using S = PIJIT_SCALAR;
template bool cholesky(const In<S>&, Out<S>&, bool);
template void solve_triangular(const In<S>&, Matrix<S>&, bool, bool, bool);
template bool solve(const In<S>&, Matrix<S>&, bool);
template void inverse(const In<S>&, Out<S>&);
template S determinant(const In<S>&);
template void slogdet(const In<S>&, Out<S>&);

}  // namespace pijit::matrix
