#include "graph/type.h"

#include <algorithm>
#include <new>

namespace pijit {

std::string Shape::str() const {
  std::string s = "[";
  for (int i = 0; i < rank_; ++i) {
    if (i) s += ',';
    s += d_[i].str();
  }
  return s + "]";
}

size_t Type::bytes() const {
  int64_t n = static_cast<int64_t>(size_of(dtype));
  bool too_many = false;
  for (auto d : shape) {
    if (d == 0) return 0;
    too_many |= __builtin_mul_overflow(n, int64_t{d}, &n);
  }
  if (too_many) throw std::bad_alloc();
  return static_cast<size_t>(n);
}

std::string Type::str() const {
  return std::string(name_of(dtype)) + shape.str() + (device.is_cpu() ? "" : "@" + name_of(device));
}

Shape broadcast_shapes(std::string_view op, const Shape& a, const Shape& b) {
  if (a.same_as(b)) return a;
  const int r = std::max(a.rank(), b.rank());
  Shape out = a.rank() == r ? a : b;
  for (int i = 0; i < r; ++i) {
    const int ia = a.rank() - 1 - i, ib = b.rank() - 1 - i;
    const Dim da = ia >= 0 ? a[ia] : Dim(1), db = ib >= 0 ? b[ib] : Dim(1);
    // What holds for all sizes first: a size that varies is not asked whether it is 1.
    const bool first = db.is_one() || (!da.is_one() && (da == db || db == 1));
    OP_CHECK(first || da == 1, kValue, "[", op, "] shapes ", a.str(), " and ", b.str(),
             " do not broadcast: dimension ", r - 1 - i, " is ", da, " and ", db);
    out[r - 1 - i] = first ? da : db;
  }
  return out;
}

int normalize_axis(std::string_view op, int64_t axis, int rank) {
  OP_CHECK(axis >= -rank && axis < rank, kValue, "[", op, "] axis ", axis, " is out of range [",
           -rank, ", ", rank, ") for a tensor of ", rank, " dimensions");
  return static_cast<int>(axis < 0 ? axis + rank : axis);
}

std::vector<int64_t> normalize_axes(std::string_view op, std::span<const Dim> axes, int rank) {
  std::vector<int64_t> out;
  if (axes.empty()) {
    for (int i = 0; i < rank; ++i) out.push_back(i);
    return out;
  }
  // A single element is folded over its only axis, as it were.
  if (rank == 0 && axes.size() == 1 && (axes[0] == Dim(0) || axes[0] == Dim(-1))) return out;
  for (int64_t a : axes) out.push_back(normalize_axis(op, a, rank));
  std::sort(out.begin(), out.end());
  OP_CHECK(std::adjacent_find(out.begin(), out.end()) == out.end(), kValue, "[", op,
           "] the same axis is named twice");
  return out;
}

}  // namespace pijit
