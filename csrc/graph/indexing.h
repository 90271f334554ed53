// x[index] and x[index] = value as compositions of ops, for eager tensors and captured graphs
// alike.
#pragma once
#include <optional>

#include "graph/op.h"

namespace pijit {

struct IndexItem {
  // kTake: an integer (kept: false) or a slice whose places only a run knows, all within the axis.
  enum Kind : uint8_t { kInt, kSlice, kNewAxis, kEllipsis, kTensor, kTake } kind;
  Dim i;
  std::optional<Dim> start, stop, step;  // kSlice
  Val tensor;                            // kTensor: integer indices; kTake: 1-d, the places
  bool kept = true;
};

Val index_get(Builder& b, Val x, std::span<const IndexItem> index);
// The value of x after the assignment; `value` broadcasts to the region and takes x's dtype.
Val index_set(Builder& b, Val x, std::span<const IndexItem> index, Val value);

}  // namespace pijit
