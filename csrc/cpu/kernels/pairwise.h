// Sums in pairs, in the order of NumPy's additions.
#pragma once
#include <cstdint>
#include <memory>

#include "graph/dtype.h"
#include "runtime/foreign.h"

namespace pijit {

// What a loop of another library adds up when its result is its first operand: elements side by
// side, halves of them in pairs, 128 or fewer by eight sums (N. J. Higham, The Accuracy of Floating
// Point Summation, 1993; NumPy's since 1.9).
class PairwiseSum {
 public:
  // None, where the loop computes anything else, which is found out by calling it.
  static std::shared_ptr<const PairwiseSum> of(const ForeignLoop& loop, DType t);
  virtual ~PairwiseSum() = default;

  // y + (x[0] + ...), to the bits of the loop, by all threads: `rows` rows of n elements, `step`
  // bytes from one to the next, onto one element of y each.
  virtual void onto(const char* x, int64_t rows, int64_t n, int64_t step, char* y) const = 0;
};

}  // namespace pijit
