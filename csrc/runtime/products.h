// Products of NumPy's arrays under numerics="fast": parts of them by threads, and dot products in
// the registers' own order.
#pragma once
#include <cstdint>
#include <functional>

#include "graph/dtype.h"
#include "runtime/foreign.h"

namespace pijit {

// Of x[n] and y[n] of float64 or float32, whose elements lie so many bytes apart; into one element
// of that dtype. The sum's order depends on n and on which steps are those of the dtype.
void dot_product(DType t, const char* x, std::ptrdiff_t x_step, const char* y,
                 std::ptrdiff_t y_step, int64_t n, char* to);

// f(begin, end) over [0, n), by threads.
using Share = std::function<void(int64_t n, const std::function<void(int64_t, int64_t)>& f)>;
// A product of matrices by NumPy's loop, with the sizes and steps that it takes. Threads share the
// result's rows or columns where that is worth it, and where the library behind the loop would use
// one thread.
void shared_product(const ForeignLoop& loop, char* const* operands, const std::ptrdiff_t* sizes,
                    const std::ptrdiff_t* steps, int threads, const Share& share);

}  // namespace pijit
