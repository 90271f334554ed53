// x[index] and x[index] = value as compositions of ops, for eager tensors and captured graphs
// alike.
#pragma once
#include <algorithm>
#include <optional>

#include "graph/op.h"

namespace pijit {

struct IndexItem {
  // kTake: an integer (kept: false) or a slice whose place only a run knows, all of it within the
  // axis.
  enum Kind : uint8_t { kInt, kSlice, kNewAxis, kEllipsis, kTensor, kTake } kind;
  Dim i;
  std::optional<Dim> start, stop, step;  // kSlice
  Val tensor;                            // kTensor: integer indices; kTake: the first place
  Dim length = 1;                        // kTake
  bool kept = true;
};

// Of integers, slices, None and an ellipsis, but an ellipsis alone?
bool is_basic_index(std::span<const IndexItem> index);

// What an index makes of each axis of x, left to right: f(item, begin, end, step), with the slice
// of the axis that it keeps. No item: the whole axis. A new axis has a slice of its own.
template <class F>
void each_axis(const Type& x, std::span<const IndexItem> index, const F& f) {
  const Shape& s = x.shape;
  int used = 0, dots = 0, axis = 0;
  for (auto& it : index) {
    dots += it.kind == IndexItem::kEllipsis;
    used += it.kind != IndexItem::kEllipsis && it.kind != IndexItem::kNewAxis;
  }
  OP_CHECK(dots <= 1, kIndex, "[getitem] an index can only have a single ellipsis");
  OP_CHECK(used <= s.rank(), kIndex, "[getitem] too many indices: ", used, " for ", x.str());
  const IndexItem* const whole = nullptr;
  auto keep = [&](int count) {
    for (int k = 0; k < count; ++k) f(whole, Dim(0), s[axis], Dim(1)), ++axis;
  };
  for (auto& it : index) switch (it.kind) {
      case IndexItem::kEllipsis: keep(s.rank() - used); break;
      case IndexItem::kNewAxis: f(&it, Dim(0), Dim(1), Dim(1)); break;
      case IndexItem::kInt: {
        const Dim n = s[axis++];
        OP_CHECK(it.i >= -n && it.i < n, kIndex, "[getitem] index ", it.i,
                 " is out of bounds for axis ", axis - 1, " with size ", n);
        const Dim i = it.i < 0 ? it.i + n : it.i;
        f(&it, i, i + 1, Dim(1));
        break;
      }
      case IndexItem::kSlice: {
        const Dim n = s[axis++], st = it.step.value_or(1);
        OP_CHECK(st != 0, kValue, "[getitem] slice step cannot be zero");
        auto clip = [&](std::optional<Dim> v, Dim def) {
          if (!v) return def;
          const Dim lo = st > 0 ? 0 : -1, hi = st > 0 ? n : n - 1;
          return std::clamp(*v < 0 ? *v + n : *v, lo, hi);
        };
        Dim from = clip(it.start, st > 0 ? Dim(0) : n - 1),
            to = clip(it.stop, st > 0 ? n : Dim(-1));
        if (st > 0 ? to < from : to > from) from = to = 0;  // empty
        f(&it, from, to, st);
        break;
      }
      case IndexItem::kTake:  // taken before
      case IndexItem::kTensor: f(&it, Dim(0), s[axis], Dim(1)), ++axis; break;
    }
  keep(s.rank() - axis);
}

Val index_get(Builder& b, Val x, std::span<const IndexItem> index);
// The value of x after the assignment; `value` broadcasts to the region and takes x's dtype.
Val index_set(Builder& b, Val x, std::span<const IndexItem> index, Val value);
// The same for x[mask] = value, `mask` being a bool Tensor of x's first axes and each place getting
// the same value; nothing where the value has elements of its own for each place.
std::optional<Val> masked_set(Val x, Val mask, Val value);

}  // namespace pijit
