// Eigen's own templates that several files of this folder, or Eigen's other templates, use:
// compiled once per element type, by the file of per_type/ named here, and only called by the
// others.
#pragma once
#include "cpu/eigen/decompositions.h"

#define PIJIT_LU(HOW, T) /* elimination.cc */                                                \
  HOW template void Eigen::internal::partial_lu_inplace(                                     \
      pijit::Matrix<T>&, Eigen::Transpositions<Eigen::Dynamic, Eigen::Dynamic, int>&, int&); \
  HOW template void Eigen::PartialPivLU<pijit::Matrix<T>>::compute();
#define PIJIT_QR(HOW, T) /* qr.cc */ \
  HOW template void Eigen::HouseholderQR<pijit::Matrix<T>>::computeInPlace();
#define PIJIT_SVD(HOW, T) /* svd.cc */                                                    \
  HOW template Eigen::BDCSVD<pijit::Matrix<T>>& Eigen::BDCSVD<pijit::Matrix<T>>::compute( \
      const pijit::Matrix<T>&, unsigned);
#define PIJIT_SMALL_SVD(HOW, T) /* small_svd.cc */                                              \
  HOW template Eigen::JacobiSVD<pijit::Matrix<T>>& Eigen::JacobiSVD<pijit::Matrix<T>>::compute( \
      const pijit::Matrix<T>&, unsigned);
#define PIJIT_BIDIAGONAL(HOW, T) /* bidiagonal.cc */                      \
  HOW template Eigen::internal::UpperBidiagonalization<pijit::Matrix<T>>& \
  Eigen::internal::UpperBidiagonalization<pijit::Matrix<T>>::compute(const pijit::Matrix<T>&);

#define PIJIT_ELSEWHERE(T)   \
  PIJIT_LU(extern, T)        \
  PIJIT_QR(extern, T)        \
  PIJIT_SVD(extern, T)       \
  PIJIT_SMALL_SVD(extern, T) \
  PIJIT_BIDIAGONAL(extern, T)
PIJIT_ELSEWHERE(float)
PIJIT_ELSEWHERE(double)
PIJIT_ELSEWHERE(std::complex<float>)
PIJIT_ELSEWHERE(std::complex<double>)
#undef PIJIT_ELSEWHERE
