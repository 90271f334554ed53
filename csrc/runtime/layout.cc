#include "runtime/layout.h"

#include <algorithm>
#include <cstring>

namespace pijit {

std::optional<Layout> Layout::in_order(std::vector<Axis> axes) {
  std::erase_if(axes, [](const Axis& a) { return a.count == 1; });
  std::sort(axes.begin(), axes.end(),
            [](const Axis& a, const Axis& b) { return a.place < b.place; });
  int64_t n = 1;
  for (const Axis& a : axes) {
    if (a.place != n) return std::nullopt;
    n *= a.count;
  }
  std::vector<Axis> merged;  // the innermost one first
  for (const Axis& a : axes)
    if (!merged.empty() && a.stride == merged.back().count * merged.back().stride)
      merged.back().count *= a.count;
    else
      merged.push_back(a);
  if (merged.size() > static_cast<size_t>(kMaxRank)) return std::nullopt;
  Layout r;
  for (auto a = merged.rbegin(); a != merged.rend(); ++a) {
    r.strides[r.shape.rank()] = a->stride;
    r.shape.push_back(a->count);
  }
  return r;
}

bool Layout::contiguous() const {
  int64_t n = 1;
  for (int i = shape.rank() - 1; i >= 0; --i) {
    if (shape[i] != 1 && strides[i] != n) return false;
    n *= shape[i];
  }
  return true;
}

bool Layout::repeats() const {
  for (int i = 0; i < shape.rank(); ++i)
    if (strides[i] == 0 && shape[i] > 1) return true;
  return false;
}

std::optional<std::pair<int64_t, int64_t>> Layout::range() const {
  int64_t low = offset, high = offset;
  for (int i = 0; i < shape.rank(); ++i) {
    if (shape[i] == 0) return std::nullopt;
    const int64_t reach = (static_cast<int64_t>(shape[i]) - 1) * strides[i];
    (reach < 0 ? low : high) += reach;
  }
  return std::pair(low, high);
}

bool overlap(const Layout& a, const Layout& b) {
  const auto x = a.range(), y = b.range();
  return x && y && x->first <= y->second && y->first <= x->second;
}

std::optional<Layout> Layout::reshaped(const Shape& to) const {
  Layout r{offset, to, {}};
  if (contiguous() || shape.numel() == 0) {
    r.strides = to.strides();
    return r;
  }
  // Axes that lie one inside of the other are a run; each axis of the result is a part of one.
  struct Run {
    int64_t size, stride;
  };
  std::array<Run, kMaxRank> runs;
  size_t count = 0, k = 0;
  for (int i = shape.rank() - 1; i >= 0; --i) {
    if (shape[i] == 1) continue;
    if (count && strides[i] == runs[count - 1].size * runs[count - 1].stride)
      runs[count - 1].size *= shape[i];
    else
      runs[count++] = {shape[i], strides[i]};
  }
  int64_t used = 1;
  for (int i = to.rank() - 1; i >= 0; --i) {
    if (to[i] == 1) {
      r.strides[i] =
          i + 1 < to.rank() ? static_cast<int64_t>(to[i + 1]) * r.strides[i + 1] : int64_t{1};
      continue;
    }
    r.strides[i] = k < count ? runs[k].stride * used : 1;
    if (k == count || runs[k].size % (used * to[i]) != 0) return std::nullopt;
    used *= to[i];
    if (used == runs[k].size) ++k, used = 1;
  }
  return r;
}

Layout Layout::transposed(std::span<const Dim> perm) const {
  Layout r{offset, {}, {}};
  for (auto p : perm) {
    const int from = static_cast<int>(static_cast<int64_t>(p));
    r.strides[r.shape.rank()] = strides[from];
    r.shape.push_back(shape[from]);
  }
  return r;
}

Layout Layout::sliced(std::span<const Dim> begin, std::span<const Dim> end,
                      std::span<const Dim> step) const {
  Layout r = *this;
  for (int i = 0; i < shape.rank(); ++i) {
    const int64_t b = begin[i], e = end[i], s = step[i];
    const int64_t n = slice_length(b, e, s);
    r.shape[i] = n;
    r.offset += b * strides[i];
    r.strides[i] = s * strides[i];
  }
  return r;
}

Layout Layout::diagonal(int64_t from) const {
  Layout r{offset, {}, {}};
  const int rows = shape.rank() - 2, columns = shape.rank() - 1;
  for (int i = 0; i < rows; ++i) {
    r.strides[i] = strides[i];
    r.shape.push_back(shape[i]);
  }
  r.offset += from >= 0 ? from * strides[columns] : -from * strides[rows];
  r.strides[rows] = strides[rows] + strides[columns];
  r.shape.push_back(std::min<int64_t>(shape[rows] + std::min<int64_t>(from, 0),
                                      shape[columns] - std::max<int64_t>(from, 0)));
  return r;
}

Layout Layout::broadcast(const Shape& to) const {
  Layout r{offset, to, {}};
  const int lead = to.rank() - shape.rank();
  for (int i = 0; i < shape.rank(); ++i)
    r.strides[lead + i] = shape[i] == to[lead + i] ? strides[i] : 0;
  return r;
}

namespace {

// Calls f(place, n, stride) for the elements in order, the innermost axis at once.
template <class F>
void each_row(const Layout& l, const F& f) {
  const int last = l.shape.rank() - 1;
  if (l.shape.numel() == 0) return;
  if (last < 0) return f(l.offset, int64_t{1}, int64_t{1});
  std::array<int64_t, kMaxRank> at{};
  int64_t place = l.offset;
  while (true) {
    f(place, static_cast<int64_t>(l.shape[last]), l.strides[last]);
    int i = last - 1;
    for (; i >= 0; --i) {
      place += l.strides[i];
      if (++at[i] < l.shape[i]) break;
      place -= at[i] * l.strides[i];
      at[i] = 0;
    }
    if (i < 0) return;
  }
}

// Calls f(place, at, n, stride) for rows of elements, `at` being the first one's number: those of
// tiles of the innermost axis and of the one whose elements are closest, so that lines of memory
// are read and written whole.
template <class F>
void each_in_tiles(const Layout& l, const F& f) {
  constexpr int64_t kTile = 16;
  const int rank = l.shape.rank(), last = rank - 1;
  int close = last;
  for (int i = 0; i < last; ++i)
    if (l.strides[i] < l.strides[close]) close = i;
  if (close == last) {
    int64_t at = 0;
    return each_row(l, [&](int64_t place, int64_t n, int64_t stride) {
      f(place, at, n, stride);
      at += n;
    });
  }
  const auto number = l.shape.strides();
  Layout places{l.offset, {}, {}}, numbers{0, {}, {}};  // without these two
  for (int i = 0; i < last; ++i) {
    if (i == close) continue;
    places.strides[places.shape.rank()] = l.strides[i];
    places.shape.push_back(l.shape[i]);
    numbers.strides[numbers.shape.rank()] = number[i];
    numbers.shape.push_back(l.shape[i]);
  }
  std::vector<int64_t> ats;
  each_row(numbers, [&](int64_t at, int64_t n, int64_t stride) {
    for (int64_t k = 0; k < n; ++k) ats.push_back(at + k * stride);
  });
  const int64_t rows = l.shape[close], columns = l.shape[last];
  const int64_t row = l.strides[close], column = l.strides[last];
  auto next = ats.begin();
  const auto tiles = [&](int64_t place, int64_t at) {
    for (int64_t i0 = 0; i0 < rows; i0 += kTile)
      for (int64_t j0 = 0; j0 < columns; j0 += kTile)
        for (int64_t i = i0; i < std::min(i0 + kTile, rows); ++i)
          f(place + i * row + j0 * column, at + i * number[close] + j0,
            std::min(kTile, columns - j0), column);
  };
  each_row(places, [&](int64_t place, int64_t n, int64_t stride) {
    for (int64_t k = 0; k < n; ++k) tiles(place + k * stride, *next++);
  });
}

template <size_t kBytes>
void gather(const char* from, const Layout& l, char* to) {
  each_row(l, [&](int64_t place, int64_t n, int64_t stride) {
    for (int64_t k = 0; k < n; ++k, to += kBytes)
      std::memcpy(to, from + (place + k * stride) * kBytes, kBytes);
  });
}
template <size_t kBytes>
void scatter(char* to, const Layout& l, const char* from) {
  each_row(l, [&](int64_t place, int64_t n, int64_t stride) {
    for (int64_t k = 0; k < n; ++k, from += kBytes)
      std::memcpy(to + (place + k * stride) * kBytes, from, kBytes);
  });
}
template <class F>
void by_size(size_t bytes, const F& f) {
  switch (bytes) {
    case 1: return f(std::integral_constant<size_t, 1>());
    case 2: return f(std::integral_constant<size_t, 2>());
    case 4: return f(std::integral_constant<size_t, 4>());
    case 8: return f(std::integral_constant<size_t, 8>());
    case 16: return f(std::integral_constant<size_t, 16>());
    default: throw InternalError("elements of an unknown size");
  }
}

}  // namespace

void gather(const void* from, const Layout& l, size_t bytes, void* to) {
  by_size(bytes, [&](auto size) {
    constexpr size_t n = size();
    each_in_tiles(l, [f = static_cast<const char*>(from), t = static_cast<char*>(to)](
                         int64_t place, int64_t at, int64_t count, int64_t stride) {
      for (int64_t k = 0; k < count; ++k)
        std::memcpy(t + (at + k) * n, f + (place + k * stride) * n, n);
    });
  });
}
bool has_all(const void* from, const Layout& l, size_t bytes, const void* expected) {
  bool other = false;
  by_size(bytes, [&](auto size) {
    constexpr size_t n = size();
    each_in_tiles(
        l, [&other, f = static_cast<const char*>(from), e = static_cast<const char*>(expected)](
               int64_t place, int64_t at, int64_t count, int64_t stride) {
          // (A sum instead of an end at the first one: elements are compared side by side.)
          int differ = 0;
          for (int64_t k = 0; k < count; ++k)
            differ += std::memcmp(e + (at + k) * n, f + (place + k * stride) * n, n) != 0;
          other |= differ != 0;
        });
  });
  return !other;
}

ArrayRef gathered(const ArrayRef& buffer, const Layout& l) {
  Type t{buffer->type.dtype, l.shape, buffer->type.device};
  if (l.offset == 0 && l.contiguous() && l.shape.numel() == buffer->type.shape.numel())
    return alias_array(buffer, t);
  const ArrayRef from = array_on(buffer, {});
  t.device = {};
  ArrayRef r = new_array(t);
  by_size(size_of(t.dtype), [&](auto bytes) {
    gather<bytes()>(static_cast<const char*>(from->data()), l, static_cast<char*>(r->data()));
  });
  return array_on(r, buffer->type.device);
}

ArrayRef scattered(const ArrayRef& buffer, const Layout& l, const ArrayRef& value) {
  const Type& t = buffer->type;
  PIJIT_CHECK(value->type.dtype == t.dtype && value->type.shape == l.shape, "another value");
  if (l.offset == 0 && l.contiguous() && l.shape.numel() == t.shape.numel())
    return alias_array(value, t);
  const ArrayRef old = array_on(buffer, {}), from = array_on(value, {});
  ArrayRef r = new_array(old->type);
  std::memcpy(r->data(), old->data(), old->type.bytes());
  by_size(size_of(t.dtype), [&](auto bytes) {
    scatter<bytes()>(static_cast<char*>(r->data()), l, static_cast<const char*>(from->data()));
  });
  return array_on(r, t.device);
}

}  // namespace pijit
