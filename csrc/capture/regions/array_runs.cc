#include "capture/regions/array_runs.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <numeric>
#include <optional>
#include <span>

#include "runtime/fp_status.h"

namespace pijit::regions {

namespace {

constexpr unsigned kTold = kFpInvalid | kFpDivide | kFpOverflow;
constexpr int kMostAxes = region::ArrayLoop::kMostAxes;
constexpr int kMostOperands = region::ArrayLoop::kMostOperands;

constexpr int64_t kWidest = 16;  // bytes of an element

int64_t elements_of(int rank, const int64_t* dims) {
  return std::accumulate(dims, dims + rank, int64_t{1}, std::multiplies<>());
}

// Where operands lie, and their strides along the axes of the result.
struct Places {
  std::array<char*, kMostOperands> at{};
  std::array<int64_t, static_cast<size_t>(kMostOperands) * kMostAxes> strides;
  // False: the shape of one does not fit.
  bool spread(const Statement& s, int rank, const int64_t* dims) {
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
};

struct Bounds {
  uintptr_t begin, end;
};
Bounds bounds_of(char* data, int rank, const int64_t* dims, const int64_t* strides,
                 int64_t itemsize) {
  auto begin = reinterpret_cast<uintptr_t>(data), end = begin + static_cast<uintptr_t>(itemsize);
  for (int d = 0; d < rank; ++d) {
    const int64_t far = (dims[d] - 1) * strides[d];
    (far < 0 ? begin : end) += static_cast<uintptr_t>(far);
  }
  return {begin, end};
}

template <class T>
void copy_row(char* to, int64_t step, const char* from, int64_t from_step, int64_t n) {
  for (int64_t i = 0; i < n; ++i) std::memcpy(to + i * step, from + i * from_step, sizeof(T));
}

// Elements from one place to another.
void copy(int rank, const int64_t* dims, char* to, const int64_t* to_strides, const char* from,
          const int64_t* from_strides, int64_t itemsize) {
  if (rank > 1) {
    for (int64_t i = 0; i < dims[0]; ++i)
      copy(rank - 1, dims + 1, to + i * to_strides[0], to_strides + 1, from + i * from_strides[0],
           from_strides + 1, itemsize);
    return;
  }
  const int64_t n = dims[0];
  if (to_strides[0] == itemsize && from_strides[0] == itemsize)
    std::memcpy(to, from, static_cast<size_t>(n * itemsize));
  else if (itemsize == 8)
    copy_row<int64_t>(to, to_strides[0], from, from_strides[0], n);
  else if (itemsize == 4)
    copy_row<int32_t>(to, to_strides[0], from, from_strides[0], n);
  else if (itemsize == 16)
    copy_row<std::array<int64_t, 2>>(to, to_strides[0], from, from_strides[0], n);
  else if (itemsize == 2)
    copy_row<int16_t>(to, to_strides[0], from, from_strides[0], n);
  else
    copy_row<char>(to, to_strides[0], from, from_strides[0], n);
}

// As NumPy copies one axis along another in the same direction: without memory between them, also
// where they share elements and have other steps.
void copy_in_turn(int64_t n, int64_t itemsize, char* to, int64_t step, const char* from,
                  int64_t from_step) {
  if (step < 0) {
    to += (n - 1) * step;
    from += (n - 1) * from_step;
    step = -step;
    from_step = -from_step;
  }
  if (from < to && from + n * from_step > to) {
    to += (n - 1) * step;
    from += (n - 1) * from_step;
    step = -step;
    from_step = -from_step;
  }
  for (int64_t k = 0; k < n; ++k)
    std::memcpy(to + k * step, from + k * from_step, static_cast<size_t>(itemsize));
}

// Strides of memory of its own, whose axes lie as those of the result.
void compact(int rank, const int64_t* dims, const int64_t* like, int64_t itemsize, int64_t* to) {
  std::array<int, kMostAxes> order;
  for (int d = 0; d < rank; ++d) {
    int at = d;
    for (; at > 0 && std::abs(like[order[static_cast<size_t>(at - 1)]]) > std::abs(like[d]); --at)
      order[static_cast<size_t>(at)] = order[static_cast<size_t>(at - 1)];
    order[static_cast<size_t>(at)] = d;
  }
  int64_t bytes = itemsize;
  for (int i = 0; i < rank; ++i) {
    const int d = order[static_cast<size_t>(i)];
    to[d] = bytes;
    bytes *= dims[d];
  }
}

// --- arrays that are made

// The axes from the outermost in memory to the innermost, as NumPy's iterator orders them for what
// it makes of operands. `strides`: of each one in turn, 0 along axes of one place.
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

// The order of the result's axes. NumPy makes an array of each step, and the next one follows it.
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
}

// One that nobody reads any more, or a new one; null: there is no memory.
std::unique_ptr<MadeArray> array_of(Arena* arena, const Statement& s, const int64_t* dims,
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

// Where operands go backwards, or stay in their place along an axis, NumPy's iterator may bring
// them together before: it does so itself.
bool is_iterated(const Statement& s, const int64_t* dims, const Places& p) {
  const auto rank = static_cast<size_t>(s.rank);
  for (size_t k = 0; k < s.operands.size(); ++k)
    for (size_t d = 0; s.operands[k].rank > 0 && d < rank; ++d)
      if (dims[d] != 1 && p.strides[k * rank + d] <= 0) return true;
  return false;
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
std::unique_ptr<MadeArray> by_numpy(const Statement& s) {
  const auto views = views_of(s, s.descrs);
  std::vector<PyObject*> given;
  for (const py::object& v : views) given.push_back(v.ptr());
  const NumpyErrors raises(NumpyErrors::kRaise);
  return array_with(s, PyObject_Vectorcall(s.ufunc, given.data(), given.size(), nullptr));
}
std::unique_ptr<MadeArray> taken_by_numpy(const Gather& g) {
  const auto views = views_of(g.made, g.descrs);
  return array_with(g.made, PyObject_GetItem(views[0].ptr(), views[1].ptr()));
}
bool is_in_order_of_c(const Described& o, const int64_t* w, int64_t itemsize) {
  for (int d = o.rank; d-- > 0; itemsize *= o.sizes(w)[d])
    if (o.sizes(w)[d] != 1 && o.strides(w)[d] != itemsize) return false;
  return true;
}

constexpr size_t kMostArrays = 64;
constexpr std::array<int, kMostAxes> kOrderOfC{0, 1, 2, 3, 4, 5, 6, 7};
static_assert(kMostAxes == 8);

// Calls g(k) for each of n places that a mask has, or eight(k) for all from k on.
template <class Eight, class G>
void each_chosen(const char* mask, int64_t step, int64_t n, Eight eight, G g) {
  constexpr uint64_t kAll = 0x0101010101010101;
  int64_t k = 0;
  for (; step == 1 && k + 8 <= n; k += 8) {
    uint64_t some;
    std::memcpy(&some, mask + k, sizeof some);
    if (some == kAll)
      eight(k);
    else
      for (; some; some &= some - 1) g(k + __builtin_ctzll(some) / 8);
  }
  for (; k < n; ++k)
    if (mask[k * step]) g(k);
}
int64_t chosen(const char* mask, int64_t step, int64_t n) {
  int64_t count = 0;
  if (step == 1) {
    for (int64_t k = 0; k < n; ++k) count += mask[k];
    return count;
  }
  for (int64_t k = 0; k < n; ++k) count += mask[k * step] != 0;
  return count;
}

template <class Place>
bool gather(const Described& of, const Described& places, const int64_t* w, int64_t itemsize,
            char* to) {
  const int64_t n = of.sizes(w)[0], step = of.strides(w)[0];
  const int64_t count = places.sizes(w)[0], its = places.strides(w)[0];
  const char *from = of.data(w), *place = places.data(w);
  for (int64_t k = 0; k < count; ++k, place += its, to += itemsize) {
    Place i;
    std::memcpy(&i, place, sizeof i);
    const int64_t at = i < 0 ? i + n : i;
    if (at < 0 || at >= n) return false;
    if (itemsize == 8)
      std::memcpy(to, from + at * step, 8);
    else if (itemsize == 4)
      std::memcpy(to, from + at * step, 4);
    else
      std::memcpy(to, from + at * step, static_cast<size_t>(itemsize));
  }
  return true;
}

}  // namespace

static int64_t store(int64_t which) {
  auto& s = *reinterpret_cast<Statement*>(which);
  const int64_t* w = s.words.data();
  const Described& out = s.operands.back();
  const int rank = out.rank;
  const int64_t* dims = out.sizes(w);
  Places p;
  if (!p.spread(s, rank, dims)) return 1;
  if (elements_of(rank, dims) == 0) return 0;
  auto& [at, strides] = p;
  const size_t n = s.operands.size();
  int64_t* const out_strides = strides.data() + (n - 1) * static_cast<size_t>(rank);
  // what is read of the very elements that are stored is read before
  bool staged = s.flags;
  const Bounds stored = bounds_of(at[n - 1], rank, dims, out_strides, s.itemsize);
  for (size_t k = 0; !staged && k + 1 < n; ++k) {
    const int64_t* its = strides.data() + k * static_cast<size_t>(rank);
    if (at[k] == at[n - 1] && std::equal(its, its + rank, out_strides)) continue;
    const Bounds read = bounds_of(at[k], rank, dims, its, kWidest);
    staged = read.begin < stored.end && stored.begin < read.end;
  }
  if (staged && s.copies && rank == 1 && strides[0] * strides[1] > 0) {
    copy_in_turn(dims[0], s.itemsize, at[1], strides[1], at[0], strides[0]);
    return 0;
  }
  auto run = [&] {
    if (s.loop)
      s.loop->run(rank, dims, at.data(), strides.data());
    else
      copy(rank, dims, at[1], out_strides, at[0], strides.data(), s.itemsize);
  };
  if (!staged) {
    run();
    return 0;
  }
  const Block memory(static_cast<size_t>(elements_of(rank, dims) * s.itemsize));
  std::array<int64_t, kMostAxes> real;
  std::copy_n(out_strides, rank, real.begin());
  char* const to = std::exchange(at[n - 1], memory.p);
  compact(rank, dims, real.data(), s.itemsize, out_strides);
  if (s.flags) {
    FpWatch watch;
    run();
    if (watch.raised() & kTold) return 1;
  } else {
    run();
  }
  copy(rank, dims, to, real.data(), memory.p, out_strides, s.itemsize);
  return 0;
}

static int64_t computed_array(int64_t which, int64_t where) {
  constexpr int64_t kMostElements = int64_t{1} << 36;
  auto& s = *reinterpret_cast<Statement*>(which);
  auto* arena = reinterpret_cast<Arena*>(where);
  if (!s.loop || arena->arrays.size() >= kMostArrays) return 0;
  const int64_t* w = s.words.data();
  std::array<int64_t, kMostAxes> dims;
  std::fill_n(dims.begin(), s.rank, 1);
  for (const Described& o : s.operands)
    for (int d = 0; d < o.rank; ++d)
      if (const int64_t size = o.sizes(w)[d]; size != 1)
        *(dims.begin() + s.rank - o.rank + d) = size;
  Places p;
  if (!p.spread(s, s.rank, dims.data())) return 0;
  int64_t elements = 1;
  for (int d = 0; d < s.rank; ++d)
    if (__builtin_mul_overflow(elements, dims[static_cast<size_t>(d)], &elements)) return 0;
  // what has no elements has axes in an order of its own
  if (elements > kMostElements || (elements == 0 && s.rank > 1)) return 0;
  if (s.ufunc && elements > 0 && is_iterated(s, dims.data(), p)) {
    auto made = by_numpy(s);
    return made ? given(arena, std::move(made)) : 0;
  }
  std::array<int, kMostAxes> order;
  order_of_result(s, s.rank, order.data());
  auto made = array_of(arena, s, dims.data(), order.data());
  if (!made) return 0;
  if (elements > 0) {
    const size_t n = s.operands.size();
    p.at[n] = made->data;
    std::copy_n(made->strides.begin(), s.rank, p.strides.data() + n * static_cast<size_t>(s.rank));
    std::optional<FpWatch> watch;
    if (s.flags) watch.emplace();
    s.loop->run(s.rank, dims.data(), p.at.data(), p.strides.data());
    if (watch && watch->raised() & kTold) return 0;
  }
  return given(arena, std::move(made));
}

static int64_t product_of(int64_t which, int64_t where) {
  auto& product = *reinterpret_cast<MatrixProduct*>(which);
  const Statement& s = product.made;
  auto* arena = reinterpret_cast<Arena*>(where);
  if (arena->arrays.size() >= kMostArrays) return 0;
  const int64_t* w = s.words.data();
  const Described &a = s.operands[0], &b = s.operands[1];
  const bool rows = a.rank == 2, columns = b.rank == 2;
  const int64_t n = rows ? a.sizes(w)[0] : 1, m = columns ? b.sizes(w)[1] : 1;
  const int64_t k = a.sizes(w)[rows];
  if (k != b.sizes(w)[0] || n == 0 || m == 0) return 0;
  std::array<int64_t, 2> dims{};
  int rank = 0;
  if (rows) dims[static_cast<size_t>(rank++)] = n;
  if (columns) dims[static_cast<size_t>(rank++)] = m;
  auto made = array_of(arena, s, dims.data(), kOrderOfC.data());
  if (!made) return 0;
  char* at[] = {a.data(w), b.data(w), made->data};
  const Py_ssize_t sizes[] = {1, n, k, m};
  const Py_ssize_t steps[] = {0,
                              0,
                              0,
                              rows ? a.strides(w)[0] : 0,
                              a.strides(w)[rows],
                              b.strides(w)[0],
                              columns ? b.strides(w)[1] : 0,
                              rows ? made->strides[0] : 0,
                              columns ? made->strides[static_cast<size_t>(rank) - 1] : 0};
  clear_fp_flags();
  product.loop(at, sizes, steps, product.data);
  if (fp_flags() & kTold) return 0;
  return given(arena, std::move(made));
}

static int64_t gathered_by(int64_t which, int64_t where) {
  auto& g = *reinterpret_cast<Gather*>(which);
  const Statement& s = g.made;
  auto* arena = reinterpret_cast<Arena*>(where);
  if (arena->arrays.size() >= kMostArrays) return 0;
  const int64_t* w = s.words.data();
  const Described &of = s.operands[0], &by = s.operands[1];
  const char* mask = by.data(w);
  int64_t count = by.sizes(w)[0];
  int64_t step = by.strides(w)[0], its = of.strides(w)[0];
  if (by.rank > 1) {  // all axes are one, or NumPy does it
    if (!std::equal(by.sizes(w), by.sizes(w) + by.rank, of.sizes(w))) return 0;
    if (!is_in_order_of_c(by, w, 1) || !is_in_order_of_c(of, w, s.itemsize)) {
      auto taken = taken_by_numpy(g);
      return taken ? given(arena, std::move(taken)) : 0;
    }
    count = elements_of(by.rank, by.sizes(w));
    step = 1;
    its = s.itemsize;
  }
  const int64_t all = count;
  if (g.is_mask) {
    if (by.rank == 1 && count != of.sizes(w)[0]) return 0;
    count = chosen(mask, step, all);
  }
  auto made = array_of(arena, s, &count, kOrderOfC.data());
  if (!made) return 0;
  if (!g.is_mask) {
    const bool fits = g.wide ? gather<int64_t>(of, by, w, s.itemsize, made->data)
                             : gather<int32_t>(of, by, w, s.itemsize, made->data);
    return fits ? given(arena, std::move(made)) : 0;
  }
  const char* from = of.data(w);
  char* to = made->data;
  auto take = [&]<class T>(T) {
    auto one = [&](int64_t k) {
      std::memcpy(to, from + k * its, sizeof(T));
      to += sizeof(T);
    };
    auto eight = [&](int64_t k) {
      if (its != sizeof(T)) {
        for (int64_t i = 0; i < 8; ++i) one(k + i);
        return;
      }
      std::memcpy(to, from + k * its, 8 * sizeof(T));
      to += 8 * sizeof(T);
    };
    each_chosen(mask, step, all, eight, one);
  };
  switch (s.itemsize) {
    case 16: take(std::array<int64_t, 2>{}); break;
    case 8: take(int64_t{}); break;
    case 4: take(int32_t{}); break;
    case 2: take(int16_t{}); break;
    default: take(char{});
  }
  return given(arena, std::move(made));
}

static int64_t reduce(int64_t which) {
  auto& r = *reinterpret_cast<Reduction*>(which);
  const int64_t* w = r.words.data();
  Py_ssize_t n = r.of.sizes(w)[0];
  const Py_ssize_t step = r.of.strides(w)[0];
  if (n == 0) return 1;
  char *from = r.of.data(w), *to = reinterpret_cast<char*>(&r.result);
  r.result = 0;
  const auto count = static_cast<double>(n);
  if (!r.has_start) {
    std::memcpy(&r.result, from, sizeof r.result);
    from += step;
    --n;
  }
  clear_fp_flags();
  if (n > 0) {
    char* at[] = {to, from, to};
    const Py_ssize_t steps[] = {0, step, 0};
    r.loop(at, &n, steps, r.data);
  }
  if (r.divides) r.result /= count;
  return (fp_flags() & kTold) != 0;
}

int64_t let_go_of_arrays(int64_t where, int64_t, int64_t) {
  constexpr size_t kMostSpare = 16;
  constexpr int64_t kMostBytes = int64_t{16} << 20;
  auto* arena = reinterpret_cast<Arena*>(where);
  auto& all = arena->arrays;
  for (size_t k = 0; k < all.size();) {
    if (all[k]->holders > 0) {
      ++k;
      continue;
    }
    auto dead = std::exchange(all[k], std::move(all.back()));
    all.pop_back();
    int64_t kept = dead->bytes;
    for (const auto& s : arena->spare) kept += s->bytes;
    if (dead->is_ours && kept <= kMostBytes && arena->spare.size() < kMostSpare)
      arena->spare.push_back(std::move(dead));
  }
  return 0;
}

static int64_t multiply(int64_t which) {
  auto& p = *reinterpret_cast<Product*>(which);
  const int64_t* w = p.words.data();
  const int64_t n = p.a.sizes(w)[0];
  if (n != p.b.sizes(w)[0]) return 1;
  char* at[] = {p.a.data(w), p.b.data(w), p.result.data()};
  const Py_ssize_t dims[] = {1, 1, n, 1};
  int64_t steps[] = {p.a.strides(w)[0], p.b.strides(w)[0]};
  std::array<std::optional<Block>, 2> copies;
  for (size_t k = 0; p.is_dot && k < 2; ++k) {
    if (n == 0 || steps[k] > 0 || (steps[k] == 0 && n == 1)) continue;
    copies[k].emplace(static_cast<size_t>(n * p.itemsize));
    copy(1, &n, copies[k]->p, &p.itemsize, at[k], &steps[k], p.itemsize);
    at[k] = copies[k]->p;
    steps[k] = p.itemsize;
  }
  // a row times a column
  const Py_ssize_t all[] = {0, 0, 0, 0, steps[0], steps[1], 0, 0, 0};
  if (p.is_dot) return p.loop(at, dims, all, p.data), 0;
  clear_fp_flags();
  p.loop(at, dims, all, p.data);
  return (fp_flags() & kTold) != 0;
}

static int64_t rolled_by(int64_t which, int64_t where) {
  auto& r = *reinterpret_cast<Roll*>(which);
  const Statement& s = r.made;
  auto* arena = reinterpret_cast<Arena*>(where);
  if (arena->arrays.size() >= kMostArrays) return 0;
  const int64_t* w = s.words.data();
  const Described& of = s.operands[0];
  const auto rank = static_cast<size_t>(s.rank), axis = static_cast<size_t>(r.axis);
  std::array<int64_t, kMostAxes> dims;
  std::copy_n(of.sizes(w), rank, dims.begin());
  if (elements_of(s.rank, dims.data()) == 0) return 0;
  std::array<int, kMostAxes> order;
  order_of_result(s, s.rank, order.data());
  auto made = array_of(arena, s, dims.data(), order.data());
  if (!made) return 0;
  const int64_t n = dims[axis], by = ((r.shift % n) + n) % n;
  const int64_t *from = of.strides(w), *to = made->strides.data();
  dims[axis] = n - by;
  copy(s.rank, dims.data(), made->data + by * to[axis], to, of.data(w), from, s.itemsize);
  dims[axis] = by;
  if (by > 0)
    copy(s.rank, dims.data(), made->data, to, of.data(w) + (n - by) * from[axis], from, s.itemsize);
  return given(arena, std::move(made));
}

// No exception passes through a region's code: CPython does what could not be done.
template <class F>
static int64_t guarded(int64_t failed, F f) {
  try {
    return f();
  } catch (const std::exception&) {
    return failed;
  }
}
int64_t run_statement(int64_t which, int64_t, int64_t) {
  return guarded(1, [&] { return store(which); });
}
int64_t run_product(int64_t which, int64_t, int64_t) {
  return guarded(1, [&] { return multiply(which); });
}
int64_t run_reduction(int64_t which, int64_t, int64_t) {
  return guarded(1, [&] { return reduce(which); });
}
int64_t make_array(int64_t which, int64_t arena, int64_t) {
  return guarded(0, [&] { return computed_array(which, arena); });
}
int64_t make_product(int64_t which, int64_t arena, int64_t) {
  return guarded(0, [&] { return product_of(which, arena); });
}
int64_t make_rolled(int64_t which, int64_t arena, int64_t) {
  return guarded(0, [&] { return rolled_by(which, arena); });
}
int64_t make_gathered(int64_t which, int64_t arena, int64_t) {
  return guarded(0, [&] { return gathered_by(which, arena); });
}

}  // namespace pijit::regions
