#include "capture/regions/array_layouts.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <numeric>
#include <span>
#include <utility>

#include "objects/ndarray.h"

namespace pijit::regions {

int64_t elements_of(int rank, const int64_t* dims) {
  return std::accumulate(dims, dims + rank, int64_t{1}, std::multiplies<>());
}

bool Places::spread(const Statement& s, int rank, const int64_t* dims) {
  const int64_t* w = s.words.data();
  for (size_t k = 0; k < s.operands.size(); ++k) {
    const Described& o = s.operands[k];
    const int missing = rank - o.rank;
    int64_t* to = strides.data() + k * static_cast<size_t>(rank);
    std::fill_n(to, missing, 0);
    for (int d = 0; d < o.rank; ++d) {
      const int64_t size = o.sizes(w)[d];
      if (size != dims[missing + d] && size != 1) return false;
      to[missing + d] = size == dims[missing + d] && size != 1 ? o.strides(w)[d] : 0;
    }
    at[k] = o.data(w);
  }
  return true;
}

int64_t spread_operands(const Statement& s, int64_t* dims, Places* p) {
  std::fill_n(dims, s.rank, 1);
  for (const Described& o : s.operands)
    for (int d = 0; d < o.rank; ++d)
      if (const int64_t size = o.sizes(s.words.data())[d]; size != 1)
        dims[s.rank - o.rank + d] = size;
  if (!p->spread(s, s.rank, dims)) return -1;
  int64_t elements = 1;
  for (int d = 0; d < s.rank; ++d)
    if (__builtin_mul_overflow(elements, dims[d], &elements)) return -1;
  return elements;
}

void order_axes(int rank, const int64_t* strides, size_t operands, int* order) {
  std::array<int, kMostAxes> inner;  // the innermost first
  for (int d = 0; d < rank; ++d) inner[static_cast<size_t>(d)] = rank - 1 - d;
  for (int i = 1; i < rank; ++i) {
    const int axis = inner[static_cast<size_t>(i)];
    int to = i;
    for (int j = i - 1; j >= 0; --j) {
      const int other = inner[static_cast<size_t>(j)];
      bool compared = false, swaps = false;
      for (size_t k = 0; k < operands; ++k) {
        const int64_t* its = strides + k * static_cast<size_t>(rank);
        if (its[axis] == 0 || its[other] == 0) continue;
        // where operands disagree, the order of C wins
        swaps = std::abs(its[other]) > std::abs(its[axis]) && (swaps || !compared);
        compared = true;
      }
      if (!compared) continue;
      if (!swaps) break;
      to = j;
    }
    std::rotate(inner.begin() + to, inner.begin() + i, inner.begin() + i + 1);
  }
  for (int d = 0; d < rank; ++d) order[d] = inner[static_cast<size_t>(rank - 1 - d)];
}

namespace {

// An array that an expression reads, or that NumPy would make of one of its steps.
struct Layout {
  size_t rank = 0;
  std::array<int64_t, kMostAxes> sizes, strides;

  bool is_without_gaps(bool rows, int64_t itemsize) const {  // in the order of C, or the other one
    int64_t step = itemsize;
    for (size_t k = 0; k < rank; ++k) {
      const size_t d = rows ? rank - 1 - k : k;
      if (sizes[d] != 1 && strides[d] != step) return false;
      step *= sizes[d];
    }
    return true;
  }
  // The same axes, one after the other in memory.
  void fill(const int* order, int64_t itemsize) {
    int64_t step = itemsize;
    for (size_t k = rank; k-- > 0;) {
      strides[static_cast<size_t>(order[k])] = step;
      step *= sizes[static_cast<size_t>(order[k])];
    }
  }
};

// How NumPy lays out the result of such operands, of which none is a single number. What they have
// in common decides where they have one shape and no gaps; else their strides do. `order`: the axes
// from the outermost to the innermost.
Layout layout_of_result(std::span<const Layout* const> operands, std::span<const int64_t> itemsizes,
                        int64_t itemsize, int* order) {
  Layout r;
  for (const Layout* o : operands) r.rank = std::max(r.rank, o->rank);
  std::fill_n(r.sizes.begin(), r.rank, 1);
  for (const Layout* o : operands)
    for (size_t d = 0; d < o->rank; ++d)
      if (o->sizes[d] != 1) r.sizes[r.rank - o->rank + d] = o->sizes[d];
  bool rows = r.rank > 1, columns = rows;
  for (size_t k = 0; k < operands.size(); ++k) {
    const Layout& o = *operands[k];
    const bool same = o.rank == r.rank &&
                      std::equal(o.sizes.begin(), o.sizes.begin() + static_cast<ptrdiff_t>(o.rank),
                                 r.sizes.begin());
    rows = rows && same && o.is_without_gaps(true, itemsizes[k]);
    columns = columns && same && o.is_without_gaps(false, itemsizes[k]);
  }
  const int rank = static_cast<int>(r.rank);
  std::iota(order, order + rank, 0);
  if (!rows && columns) {
    std::reverse(order, order + rank);
  } else if (!rows) {
    std::vector<int64_t> strides(operands.size() * r.rank, 0);
    for (size_t k = 0; k < operands.size(); ++k)
      for (size_t d = 0; d < operands[k]->rank; ++d)
        if (operands[k]->sizes[d] != 1)
          strides[k * r.rank + r.rank - operands[k]->rank + d] = operands[k]->strides[d];
    order_axes(rank, strides.data(), operands.size(), order);
  }
  r.fill(order, itemsize);
  return r;
}

}  // namespace

void order_of_result(const Statement& s, int rank, int* order) {
  std::iota(order, order + rank, 0);
  if (s.layout.empty() || rank < 2) return;
  const int64_t* w = s.words.data();
  std::vector<Layout> made(s.layout.size());
  std::vector<const Layout*> of;
  std::vector<int64_t> sizes;
  for (size_t k = 0; k < s.layout.size(); ++k) {
    const LayoutStep& step = s.layout[k];
    if (step.operand >= 0) {
      const Described& o = s.operands[static_cast<size_t>(step.operand)];
      made[k].rank = static_cast<size_t>(o.rank);
      std::copy_n(o.sizes(w), o.rank, made[k].sizes.begin());
      std::copy_n(o.strides(w), o.rank, made[k].strides.begin());
      continue;
    }
    of.clear();
    sizes.clear();
    for (int a : step.made) {
      of.push_back(&made[static_cast<size_t>(a)]);
      sizes.push_back(s.layout[static_cast<size_t>(a)].itemsize);
    }
    made[k] = layout_of_result(of, sizes, step.itemsize, order);
  }
  if (s.layout.back().operand < 0) return;  // else it is cast alone
  of.assign(1, &made.back());
  sizes.assign(1, s.layout.back().itemsize);
  layout_of_result(of, sizes, s.layout.back().itemsize, order);
}

std::unique_ptr<MadeArray> array_in(Arena* arena, const Statement& s, const int64_t* dims,
                                    const int* order) {
  std::array<int64_t, kMostAxes> strides;
  const auto rank = static_cast<size_t>(s.rank);
  int64_t step = s.itemsize;
  for (size_t k = rank; k-- > 0;) {
    strides[static_cast<size_t>(order[k])] = step;
    step *= dims[order[k]];
  }
  for (auto& spare : arena->spare) {
    if (spare->format != s.format || spare->rank != s.rank ||
        !std::equal(dims, dims + rank, spare->sizes.begin()) ||
        !std::equal(strides.begin(), strides.begin() + s.rank, spare->strides.begin()))
      continue;
    auto found = std::exchange(spare, std::move(arena->spare.back()));
    arena->spare.pop_back();
    return found;
  }
  auto made = std::make_unique<MadeArray>();
  made->is_ours = true;
  try {
    made->object = empty_ndarray(s.dtype, {dims, rank}, {order, rank}).release().ptr();
  } catch (const std::bad_alloc&) {
    return nullptr;
  } catch (py::error_already_set&) {
    return nullptr;
  }
  const NdarrayFields* f = ndarray_fields(made->object);
  made->data = f->data;
  std::copy_n(f->shape, rank, made->sizes.begin());
  std::copy_n(f->strides, rank, made->strides.begin());
  made->rank = s.rank;
  made->format = s.format;
  made->bytes = elements_of(s.rank, dims) * s.itemsize;
  return made;
}

int64_t given(Arena* arena, std::unique_ptr<MadeArray> made) {
  arena->arrays.push_back(std::move(made));
  return reinterpret_cast<int64_t>(arena->arrays.back().get());
}

std::vector<py::object> views_of(const Statement& s, const std::vector<PyObject*>& descrs) {
  const int64_t* w = s.words.data();
  std::vector<py::object> views;
  for (size_t k = 0; k < s.operands.size(); ++k) {
    const Described& o = s.operands[k];
    views.push_back(ndarray_over(descrs[k], {o.sizes(w), static_cast<size_t>(o.rank)}, o.strides(w),
                                 o.data(w)));
  }
  return views;
}

std::unique_ptr<MadeArray> array_with(const Statement& s, PyObject* object) {
  if (!object) throw py::error_already_set();
  auto made = std::make_unique<MadeArray>();
  made->object = object;
  const NdarrayFields* f = ndarray_fields(made->object);
  if (!is_followed_ndarray(made->object) || f->nd != s.rank) return nullptr;
  made->data = f->data;
  std::copy_n(f->shape, f->nd, made->sizes.begin());
  std::copy_n(f->strides, f->nd, made->strides.begin());
  made->rank = s.rank;
  made->format = s.format;
  made->bytes = elements_of(s.rank, made->sizes.data()) * s.itemsize;
  return made;
}

}  // namespace pijit::regions
