// Packed matrix products of float64, int32 and int64, and of the float32 convolutions that oneDNN
// leaves.
#pragma once
#include <vector>

#include "cpu/cpu.h"

namespace pijit {

template <class T>
struct Matrix {
  const T* p;
  int64_t row, col;  // strides
};
// A product's output: rows at `row` elements from one another. `onto`: what is there is added to.
template <class T>
struct Output {
  T* p;
  int64_t row;
  bool onto = false;
};
// Of stacks of matrices that broadcast against each other: the first elements of each product's
// operands.
struct Operands {
  int64_t a, b;
};
std::vector<Operands> stacked(const Shape& a, const Shape& b, const Shape& out);
// c[m, n] = a[m, k] b[k, n] (+ bias per column), in parallel. The bits do not depend on the number
// of threads.
template <class T>
void multiply(Matrix<T> a, Matrix<T> b, const T* bias, Output<T> c, int64_t m, int64_t n,
              int64_t k);

}  // namespace pijit
