#include "capture/regions/array_runs.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>

#include "base/set_bytes.h"
#include "capture/regions/array_layouts.h"
#include "region/products.h"

namespace pijit::regions {

namespace {

constexpr int64_t kWidest = 16;  // bytes of an element

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

// Where operands go backwards, or stay in their place along an axis, NumPy's iterator may bring
// them together before: it does so itself.
bool is_iterated(const Statement& s, const int64_t* dims, const Places& p) {
  const auto rank = static_cast<size_t>(s.rank);
  for (size_t k = 0; k < s.operands.size(); ++k)
    for (size_t d = 0; s.operands[k].rank > 0 && d < rank; ++d)
      if (dims[d] != 1 && p.strides[k * rank + d] <= 0) return true;
  return false;
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

constexpr std::array<int, kMostAxes> kOrderOfC{0, 1, 2, 3, 4, 5, 6, 7};
static_assert(kMostAxes == 8);

// Calls g(k) for each of n places that a mask has, or all(k) for all from k on.
template <class All, class G>
void each_chosen(const char* mask, int64_t step, int64_t n, All all, G g) {
  int64_t k = 0;
  for (; step == 1 && k + kBytesAtOnce <= n; k += kBytesAtOnce) {
    uint32_t some = set_bytes(mask + k);
    if (some == UINT32_MAX)
      all(k);
    else
      for (; some; some &= some - 1) g(k + __builtin_ctz(some));
  }
  for (; k < n; ++k)
    if (mask[k * step]) g(k);
}
int64_t chosen(const char* mask, int64_t step, int64_t n) {
  int64_t count = 0, k = 0;
  for (; step == 1 && k + kBytesAtOnce <= n; k += kBytesAtOnce)
    count += __builtin_popcount(set_bytes(mask + k));
  for (; k < n; ++k) count += mask[k * step] != 0;
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
  std::array<int64_t, kMostAxes> dims;
  Places p;
  const int64_t elements = spread_operands(s, dims.data(), &p);
  if (elements < 0) return 0;
  // what has no elements has axes in an order of its own
  if (elements > kMostElements || (elements == 0 && s.rank > 1)) return 0;
  if (s.ufunc && elements > 0 && is_iterated(s, dims.data(), p)) {
    auto made = by_numpy(s);
    return made ? given(arena, std::move(made)) : 0;
  }
  std::array<int, kMostAxes> order;
  order_of_result(s, s.rank, order.data());
  auto made = array_in(arena, s, dims.data(), order.data());
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
  auto made = array_in(arena, s, dims.data(), kOrderOfC.data());
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
  FpWatch watch;
  if (product.fast)
    region::products().of_matrices({product.loop, product.data, {}}, at, sizes, steps);
  else
    product.loop(at, sizes, steps, product.data);
  if (watch.raised() & kTold) return 0;
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
  auto made = array_in(arena, s, &count, kOrderOfC.data());
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
    auto many = [&](int64_t k) {
      if (its != sizeof(T)) {
        for (int64_t i = 0; i < kBytesAtOnce; ++i) one(k + i);
        return;
      }
      std::memcpy(to, from + k * its, kBytesAtOnce * sizeof(T));
      to += kBytesAtOnce * sizeof(T);
    };
    each_chosen(mask, step, all, many, one);
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
  if (p.fast) {
    clear_fp_flags();
    region::products().dot(p.dtype, at[0], steps[0], at[1], steps[1], n, at[2]);
    return !p.is_dot && (fp_flags() & kTold) != 0;
  }
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
  auto made = array_in(arena, s, dims.data(), order.data());
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

int64_t run_statement(int64_t which, int64_t, int64_t) {
  return guarded(1, [&] { return store(which); });
}
int64_t run_product(int64_t which, int64_t, int64_t) {
  return guarded(1, [&] { return multiply(which); });
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
