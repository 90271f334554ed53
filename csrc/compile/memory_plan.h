// Where the intermediate values of a program lie in its arena: first fit over lifetimes. A value
// may take the place of an operand of its kernel.
#pragma once
#include <cstddef>
#include <span>
#include <vector>

namespace pijit {

struct PlannedValue {
  size_t bytes = 0;
  int first = 0, last = 0;  // positions at which its memory is in use, both included
  // Earlier values, by index, whose place this one may take: of as many bytes, read by the kernel
  // that computes this value at the index where it writes, and by nothing else from `first` on.
  std::vector<size_t> over;
};

struct MemoryPlan {
  std::vector<size_t> offsets;  // per value, multiples of kAlignment
  size_t bytes = 0;
  static constexpr size_t kAlignment = 64;
};

// Values in an order in which they are first used. Values of no bytes have an address too.
MemoryPlan plan_memory(std::span<const PlannedValue> values);

}  // namespace pijit
