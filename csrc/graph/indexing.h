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

// Of integers, slices, None and an ellipsis, but an ellipsis alone?
bool is_basic_index(std::span<const IndexItem> index);
// What such an index names: a slice of each axis, and what becomes of the axes, left to right.
struct BasicIndex {
  enum Axis : uint8_t { kKeep, kDrop, kNew };
  Dims begin, end, step;
  std::vector<Axis> axes;
};
BasicIndex basic_index(const Type& x, std::span<const IndexItem> index);

Val index_get(Builder& b, Val x, std::span<const IndexItem> index);
// The value of x after the assignment; `value` broadcasts to the region and takes x's dtype.
Val index_set(Builder& b, Val x, std::span<const IndexItem> index, Val value);
// The same for x[mask] = value, `mask` being a bool Tensor of x's first axes and each place getting
// the same value; nothing where the value has elements of its own for each place.
std::optional<Val> masked_set(Val x, Val mask, Val value);

}  // namespace pijit
