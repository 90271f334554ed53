// Layout: where a view's elements lie among those of a buffer.
#pragma once
#include <array>
#include <optional>
#include <span>
#include <vector>

#include "runtime/array.h"

namespace pijit {

// Of a slice that is clipped already.
inline int64_t slice_length(int64_t begin, int64_t end, int64_t step) {
  const int64_t n = step > 0 ? (end - begin + step - 1) / step : (begin - end - step - 1) / -step;
  return n > 0 ? n : 0;
}

struct Layout {
  int64_t offset = 0;  // in elements, as strides
  Shape shape;         // numbers
  std::array<int64_t, kMaxRank> strides{};

  // Some elements whose places in a buffer that has nothing else are `place` apart, and here
  // `stride`.
  struct Axis {
    int64_t count, place, stride;
  };
  // All of them in the buffer's order. Nothing: the axes leave some of it out.
  static std::optional<Layout> in_order(std::vector<Axis> axes);

  static Layout contiguous(const Shape& s) { return {0, s, s.strides()}; }
  bool contiguous() const;
  // Whether an element of the buffer may stand at several places.
  bool repeats() const;
  // The first and the last element of the buffer that it may reach; empty: none.
  std::optional<std::pair<int64_t, int64_t>> range() const;

  // Empty where no strides give the elements in this shape.
  std::optional<Layout> reshaped(const Shape& to) const;
  Layout transposed(std::span<const Dim> perm) const;
  Layout sliced(std::span<const Dim> begin, std::span<const Dim> end,
                std::span<const Dim> step) const;
  Layout diagonal(int64_t from) const;  // of the last two axes
  Layout broadcast(const Shape& to) const;
};
bool overlap(const Layout& a, const Layout& b);

// The elements at a layout's places of a buffer, and a buffer that has those of `value` there; of
// values that meet in one place the last one stays.
// Elements of `bytes` at a layout's places, one after the other, and whether they are these.
void gather(const void* from, const Layout& l, size_t bytes, void* to);
bool has_all(const void* from, const Layout& l, size_t bytes, const void* expected);

ArrayRef gathered(const ArrayRef& buffer, const Layout& l);
ArrayRef scattered(const ArrayRef& buffer, const Layout& l, const ArrayRef& value);

}  // namespace pijit
