// The exponential of matrices.
#include "cpu/eigen.h"
#include <unsupported/Eigen/MatrixFunctions>

namespace pijit {
namespace {

KERNEL(matrix_exp) {
  return of_matrices(r, 2, [](const auto& a, auto& y) {
    using M = Matrix<typename std::decay_t<decltype(y)>::Scalar>;
    y = M(a).exp().eval();
  });
}

}  // namespace

void register_matrix_exp_kernels(KernelRegistry& r) {
  r.add("matrix_exp", {"eigen", matrix_exp, true});
}

}  // namespace pijit
