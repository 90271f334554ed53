// Products of NumPy's arrays under numerics="fast": dot products in an order of our own, and parts
// of products by threads.
#pragma once
#include <cstdint>

#include "graph/dtype.h"
#include "runtime/foreign.h"

namespace pijit::region {

struct Products {
  // Of x[n] and y[n] of float64 or float32, whose elements lie so many bytes apart; into one
  // element of that dtype. The order depends on n, and on whether elements lie side by side.
  void (*dot)(DType t, const char* x, std::ptrdiff_t x_step, const char* y, std::ptrdiff_t y_step,
              int64_t n, char* to);
  // Of matrices by NumPy's loop, with the sizes and steps that it takes.
  void (*of_matrices)(const ForeignLoop& loop, char* const* operands, const std::ptrdiff_t* sizes,
                      const std::ptrdiff_t* steps);
};
bool register_products(Products p);
const Products& products();

}  // namespace pijit::region
