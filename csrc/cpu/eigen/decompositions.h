// What is done to one matrix, as functions of the element type. The files of per_type/ and
// per_real_type/ define them and are compiled once for each type: all types in one file took the
// compiler minutes and gigabytes.
#pragma once
#include "cpu/eigen/matrix.h"

namespace pijit::matrix {

// --- Of float, double and complex matrices (per_type/)

// The triangular factor, lower or its adjoint; false: a is not positive definite.
template <class T>
bool cholesky(const In<T>& a, Out<T>& y, bool upper);
// x := the solution of a x = x, or of a^T x = x.
template <class T>
void solve_triangular(const In<T>& a, Matrix<T>& x, bool lower, bool trans, bool unit);
template <class T>
bool solve(const In<T>& a, Matrix<T>& x, bool trans);  // false: a is singular
template <class T>
void inverse(const In<T>& a, Out<T>& y);
template <class T>
T determinant(const In<T>& a);
// y(0, 0): sign; y(0, 1): logarithm of the absolute value
template <class T>
void slogdet(const In<T>& a, Out<T>& y);
template <class T>
void adjugate(const In<T>& a, Out<T>& y);
// Rows of y: those of Q, then those of R^T
template <class T>
void qr(const In<T>& a, Out<T>& y);
// Blocks of y: U, then V, then a row of singular values
template <class T>
void svd(const In<T>& a, Out<T>& y, bool full);
// Rows of y: the eigenvalues, then the vectors
template <class T>
void eig(const In<T>& a, Out<std::complex<typename Eigen::NumTraits<T>::Real>>& y);

// --- Of float and double matrices (per_real_type/)

template <class T>
void eigh(const In<T>& a, Out<T>& y, bool lower);
// Singular values up to the larger of `absolute` and `relative` of the largest one count as 0.
template <class T>
void pinv(const In<T>& a, Out<T>& y, T absolute, T relative);
template <class T>
void lu(const In<T>& a, Out<T>& y);
template <class T>
void geqrf(const In<T>& a, Out<T>& y);
template <class T>
void exp(const In<T>& a, Out<T>& y);

}  // namespace pijit::matrix
