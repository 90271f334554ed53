// Names for Eigen's matrices. Without the kernels' headers, as per_type/ is compiled many times.
#pragma once
#include <Eigen/Dense>  // with EIGEN_MPL2_ONLY, EIGEN_DONT_PARALLELIZE: CMakeLists.txt
#include <complex>
#include <limits>

namespace pijit {

using Index = Eigen::Index;
template <class T>
using Matrix = Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic>;
template <class T>
using RowMajor = Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
template <class T>
using In = Eigen::Map<const RowMajor<T>>;
template <class T>
using Out = Eigen::Map<RowMajor<T>>;

template <class T>
constexpr T kNaN = std::numeric_limits<T>::quiet_NaN();
template <class T>
constexpr std::complex<T> kNaN<std::complex<T>> = {kNaN<T>, kNaN<T>};

}  // namespace pijit
