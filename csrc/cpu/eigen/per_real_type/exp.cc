// The exponential of matrices.
#include "cpu/eigen/decompositions.h"
#include <unsupported/Eigen/MatrixFunctions>

namespace pijit::matrix {

template <class T>
void exp(const In<T>& a, Out<T>& y) {
  y = Matrix<T>(a).exp().eval();
}

template void exp(const In<PIJIT_SCALAR>&, Out<PIJIT_SCALAR>&);

}  // namespace pijit::matrix
