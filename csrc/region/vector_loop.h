// What a loop over elements that begins with vectors has for them, and how they are run.
#pragma once
#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "region/array_loop.h"

namespace pijit::region {

struct VectorLoop {
  static constexpr size_t kMost = 6;  // stores, sums or last values

  enum Kind : uint8_t { kElements, kNumber, kPlaces, kTurn };
  struct Input {
    Kind kind = kElements;
    DType type = DType::F64;
    size_t word = 0;    // of kElements: the address of the first, and the step; else the number
    size_t stores = 0;  // of the same turn before it
  };
  struct Result {
    std::unique_ptr<ArrayLoop> loop;
    DType type = DType::F64;
    size_t word = 0;  // of a store: address and step; of a sum or a last value: the number
  };
  std::vector<Input> inputs;
  std::vector<Result> stores, sums, lasts;
  bool any_order = false;  // of sums of floats
  size_t words = 0;
  std::vector<int64_t> memory;  // of the words, where no thread has its own
  // Calls in a row that did nothing, as turns need each other's results or would leave. Most later
  // ones do not try.
  std::atomic<unsigned> refused = 0;
  // Of the loop's poll: the word that has the address, and the bits.
  size_t poll = 0;
  uint32_t mask = 0;

  // Fewer turns take less time one by one. Sums wait for each other in any case.
  int64_t least() const {
    constexpr int64_t kFirst = 48, kEach = 16, kOfSums = 4;
    const auto results = static_cast<int64_t>(stores.size() + sums.size() + lasts.size());
    return (kFirst + kEach * results) * (stores.empty() && !any_order ? kOfSums : 1);
  }
  bool is_awaited(const int64_t* words) const {
    return mask != 0 && (*reinterpret_cast<const volatile uint32_t*>(words[poll]) & mask) != 0;
  }
};

// Of type CallOut: how many of so many turns were done; `words`: their address.
int64_t run_vectors(int64_t loop, int64_t turns, int64_t words);

}  // namespace pijit::region
