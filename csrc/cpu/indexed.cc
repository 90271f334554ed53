// Gather and scatter by int32 and int64 indices, typed and in parallel. Where places meet, updates
// are applied in the order of the indices, as the reference has it: each thread walks all of them
// and applies those that fall in its part of the result.
#include <atomic>
#include <cstring>

#include "cpu/cpu.h"
#include "runtime/array.h"

namespace pijit {
namespace {

constexpr int64_t kGrain = 16384;  // elements worth a thread
constexpr int64_t kAhead = 16;     // blocks fetched before they are used

bool is_index(DType t) { return t == DType::I32 || t == DType::I64; }
int64_t index_at(const void* p, DType t, int64_t i) {
  return t == DType::I32 ? static_cast<const int32_t*>(p)[i] : static_cast<const int64_t*>(p)[i];
}

// Offsets in elements of the blocks that rows of coordinates [count, dims] address; raises
// IndexError for the first coordinate that is out of range.
class Offsets {
 public:
  Offsets(const std::string& op, const void* p, DType t, int64_t count,
          std::span<const int64_t> dims, std::span<const int64_t> strides)
      : block_(static_cast<size_t>(count) * 8), at_(reinterpret_cast<int64_t*>(block_.p)) {
    std::atomic<bool> bad = false;
    const auto k = static_cast<int64_t>(dims.size());
    auto fill = [&](auto* x) {
      parallel_for(count, kGrain, [&](int64_t b, int64_t e) {
        bool out = false;
        for (int64_t i = b; i < e; ++i) {
          int64_t off = 0;
          for (int64_t d = 0; d < k; ++d) {
            int64_t c = x[i * k + d];
            c += c < 0 ? dims[d] : 0;
            out |= static_cast<uint64_t>(c) >= static_cast<uint64_t>(dims[d]);
            off += c * strides[d];
          }
          at_[i] = off;
        }
        if (out) bad = true;
      });
    };
    t == DType::I32 ? fill(static_cast<const int32_t*>(p)) : fill(static_cast<const int64_t*>(p));
    for (int64_t i = 0; bad && i < count * k; ++i) {
      const int64_t c = index_at(p, t, i), n = dims[i % k];
      OP_CHECK(c >= -n && c < n, kIndex, "[", op, "] index ", c,
               " is out of range for a dimension of ", n);
    }
  }
  int64_t operator[](int64_t i) const { return at_[i]; }

 private:
  Block block_;
  int64_t* at_;
};

void copy(void* to, const void* from, size_t bytes) {
  parallel_for(static_cast<int64_t>(bytes), 1 << 18, [&](int64_t b, int64_t e) {
    std::memcpy(static_cast<char*>(to) + b, static_cast<const char*>(from) + b,
                static_cast<size_t>(e - b));
  });
}

// Blocks of `bytes` bytes from x[off(i)] to y[i], for i in [0, count)
template <class F>
void gather_blocks(const char* x, char* y, int64_t count, int64_t bytes, F off) {
  parallel_for(count, std::max<int64_t>(1, 4 * kGrain / std::max<int64_t>(bytes, 1)),
               [&](int64_t b, int64_t e) {
                 switch (bytes) {
                   case 4:
                     for (int64_t i = b; i < e; ++i) std::memcpy(y + i * 4, x + off(i) * 4, 4);
                     break;
                   case 8:
                     for (int64_t i = b; i < e; ++i) std::memcpy(y + i * 8, x + off(i) * 8, 8);
                     break;
                   default:
                     for (int64_t i = b; i < e; ++i)
                       std::memcpy(y + i * bytes, x + off(i) * bytes, static_cast<size_t>(bytes));
                 }
               });
}

// What a mode does to an element, for numbers of 4 and 8 bytes that are no halves.
template <class F>
bool for_mode(const std::string& mode, F f) {
  if (mode == "update") return f([](auto, auto b) { return b; }), true;
  if (mode == "add") return f([](auto a, auto b) { return a + b; }), true;
  if (mode == "sub") return f([](auto a, auto b) { return a - b; }), true;
  if (mode == "mul") return f([](auto a, auto b) { return a * b; }), true;
  if (mode == "max") return f([](auto a, auto b) { return a > b ? a : b; }), true;
  if (mode == "min") return f([](auto a, auto b) { return a < b ? a : b; }), true;
  return false;
}
bool mode_served(const std::string& mode) { return mode != "div"; }
template <class F>
void for_number(DType t, F f) {
  switch (t) {
    case DType::F32: return f(float{});
    case DType::F64: return f(double{});
    case DType::I32: return f(int32_t{});
    default: return f(int64_t{});
  }
}
bool is_number(DType t) {
  return t == DType::F32 || t == DType::F64 || t == DType::I32 || t == DType::I64;
}
// y[off[b] + j] = f(y[off[b] + j], u[b * block + j]) for the blocks b in order; y has `size`
// elements.
template <class T, class Off, class F>
void scatter_blocks(T* y, int64_t size, const T* u, int64_t count, int64_t block, const Off& off,
                    F f) {
  auto apply = [&](int64_t b, int64_t from, int64_t to) {
    T* __restrict d = y + off[b];
    const T* __restrict s = u + b * block;
    for (int64_t j = from; j < to; ++j) d[j] = f(d[j], s[j]);
  };
  const int64_t parts = count * block < kGrain ? 1 : max_threads();
  if (block >= 512) {  // a part of each block
    parallel_for(block, std::max<int64_t>(64, kGrain / std::max<int64_t>(1, count)),
                 [&](int64_t b, int64_t e) {
                   for (int64_t i = 0; i < count; ++i) apply(i, b, e);
                 });
    return;
  }
  parallel_for(parts, 1, [&](int64_t p0, int64_t p1) {
    const int64_t lo = size * p0 / parts, hi = size * p1 / parts;
    for (int64_t i = 0; i < count; ++i) {
      if (i + kAhead < count) __builtin_prefetch(y + off[i + kAhead], 1);
      if (off[i] >= lo && off[i] < hi) apply(i, 0, block);
    }
  });
}

// An axis of x: [outer, n, inner].
struct Axis {
  int64_t outer = 1, n, inner = 1;
  Axis(const Shape& s, int axis) : n(s[axis]) {
    for (int i = 0; i < axis; ++i) outer *= s[i];
    for (int i = axis + 1; i < s.rank(); ++i) inner *= s[i];
  }
};
// The axes that the last axis of indices addresses.
struct Coordinates {
  std::vector<int64_t> dims, strides;
  int64_t count = 1, block = 1;
  Coordinates(const Shape& x, const Shape& indices) {
    const int k = static_cast<int>(int64_t{indices[indices.rank() - 1]});
    const auto all = x.strides();
    for (int d = 0; d < k; ++d) dims.push_back(x[d]), strides.push_back(all[d]);
    for (int d = k; d < x.rank(); ++d) block *= x[d];
    for (int d = 0; d + 1 < indices.rank(); ++d) count *= indices[d];
  }
};

#define KERNEL(name) std::unique_ptr<OpKernel> name(const KernelRequest& r, std::string* why)
#define NEED(cond, reason) \
  if (!(cond)) {           \
    *why = reason;         \
    return nullptr;        \
  }

KERNEL(gather) {
  NEED(is_index(r.in[1].dtype), "indices of another dtype");
  const Axis a(r.in[0].shape, normalize_axis("gather", r.ctx().i("axis"), r.in[0].shape.rank()));
  const int64_t m = r.in[1].shape.numel();
  const auto size = static_cast<int64_t>(size_of(r.out.dtype));
  const DType t = r.in[1].dtype;
  return fn_kernel([=](const void* const* x, void* y) {
    const int64_t dims[] = {a.n}, one[] = {1};
    const Offsets at("gather", x[1], t, m, dims, one);
    const char* from = static_cast<const char*>(x[0]);
    char* to = static_cast<char*>(y);
    const int64_t bytes = a.inner * size;
    if (a.outer == 1) return gather_blocks(from, to, m, bytes, [&](int64_t i) { return at[i]; });
    parallel_for(a.outer, std::max<int64_t>(1, 4 * kGrain / std::max<int64_t>(1, m * bytes)),
                 [&](int64_t b, int64_t e) {
                   for (int64_t o = b; o < e; ++o) {
                     const char* s = from + o * a.n * bytes;
                     char* d = to + o * m * bytes;
                     if (bytes == 4)
                       for (int64_t i = 0; i < m; ++i) std::memcpy(d + i * 4, s + at[i] * 4, 4);
                     else
                       for (int64_t i = 0; i < m; ++i)
                         std::memcpy(d + i * bytes, s + at[i] * bytes, static_cast<size_t>(bytes));
                   }
                 });
  });
}
KERNEL(gather_nd) {
  NEED(is_index(r.in[1].dtype), "indices of another dtype");
  const Coordinates c(r.in[0].shape, r.in[1].shape);
  const auto size = static_cast<int64_t>(size_of(r.out.dtype));
  const DType t = r.in[1].dtype;
  return fn_kernel([=](const void* const* x, void* y) {
    const Offsets at("gather_nd", x[1], t, c.count, c.dims, c.strides);
    if (c.block == 0) return;
    gather_blocks(static_cast<const char*>(x[0]), static_cast<char*>(y), c.count, c.block * size,
                  [&](int64_t i) { return at[i] / c.block; });
  });
}
KERNEL(scatter_nd) {
  const std::string mode = r.ctx().s("mode");
  NEED(is_index(r.in[1].dtype), "indices of another dtype");
  NEED(is_number(r.out.dtype) && mode_served(mode), "another dtype or mode");
  const Coordinates c(r.in[0].shape, r.in[1].shape);
  const Type in = r.in[0];
  const DType t = r.in[1].dtype;
  return fn_kernel([=](const void* const* x, void* y) {
    const Offsets at("scatter_nd", x[1], t, c.count, c.dims, c.strides);
    copy(y, x[0], in.bytes());
    for_number(in.dtype, [&](auto z) {
      using T = decltype(z);
      for_mode(mode, [&](auto f) {
        scatter_blocks(static_cast<T*>(y), in.shape.numel(), static_cast<const T*>(x[2]), c.count,
                       c.block, at, [f](T a, T b) { return static_cast<T>(f(a, b)); });
      });
    });
  });
}
KERNEL(index_add) {
  NEED(is_index(r.in[1].dtype), "indices of another dtype");
  NEED(is_number(r.out.dtype), "another dtype");
  const Axis a(r.in[0].shape, normalize_axis("index_add", r.ctx().i("axis"), r.in[0].shape.rank()));
  const int64_t m = r.in[1].shape.numel();
  const Type in = r.in[0];
  const DType t = r.in[1].dtype;
  return fn_kernel([=](const void* const* x, void* y) {
    const int64_t dims[] = {a.n}, strides[] = {a.inner};
    const Offsets at("index_add", x[1], t, m, dims, strides);
    copy(y, x[0], in.bytes());
    for_number(in.dtype, [&](auto z) {
      using T = decltype(z);
      auto lines = [&](int64_t b, int64_t e) {
        for (int64_t o = b; o < e; ++o)
          scatter_blocks(static_cast<T*>(y) + o * a.n * a.inner, a.n * a.inner,
                         static_cast<const T*>(x[2]) + o * m * a.inner, m, a.inner, at,
                         [](T p, T q) { return static_cast<T>(p + q); });
      };
      if (a.outer == 1)
        lines(0, 1);
      else
        parallel_for(a.outer, std::max<int64_t>(1, kGrain / std::max<int64_t>(1, m * a.inner)),
                     lines);
    });
  });
}

// Are x and the indices of one shape but for the axis?
bool alike_but(const Shape& x, const Shape& indices, int axis) {
  for (int d = 0; d < x.rank(); ++d)
    if (d != axis && x[d] != indices[d]) return false;
  return true;
}
// f(flat index into x, flat index into indices), line by line along the axis, outer lines in
// parallel.
template <class F>
void along(const char* op, const Axis& a, int64_t m, const void* indices, DType t, F f) {
  auto go = [&](auto* at) {
    std::atomic<bool> bad = false;
    const int64_t line = m * a.inner;
    parallel_for(a.outer, std::max<int64_t>(1, kGrain / std::max<int64_t>(1, line)),
                 [&](int64_t b, int64_t e) {
                   for (int64_t o = b; o < e; ++o)
                     for (int64_t i = 0; i < m; ++i)
                       for (int64_t j = 0; j < a.inner; ++j) {
                         const int64_t k = (o * m + i) * a.inner + j;
                         int64_t c = at[k];
                         c += c < 0 ? a.n : 0;
                         if (static_cast<uint64_t>(c) >= static_cast<uint64_t>(a.n)) {
                           bad = true;
                           return;
                         }
                         f((o * a.n + c) * a.inner + j, k);
                       }
                 });
    for (int64_t k = 0; bad && k < a.outer * line; ++k)
      OP_CHECK(at[k] >= -a.n && at[k] < a.n, kIndex, "[", op, "] index ", int64_t{at[k]},
               " is out of range for a dimension of ", a.n);
  };
  t == DType::I32 ? go(static_cast<const int32_t*>(indices))
                  : go(static_cast<const int64_t*>(indices));
}
KERNEL(gather_d) {
  const int axis = normalize_axis("gather_d", r.ctx().i("axis"), r.in[0].shape.rank());
  NEED(is_index(r.in[1].dtype), "indices of another dtype");
  NEED(alike_but(r.in[0].shape, r.in[1].shape, axis), "fewer indices than lines");
  NEED(size_of(r.out.dtype) >= 4, "small elements");
  const Axis a(r.in[0].shape, axis);
  const int64_t m = r.in[1].shape[axis];
  const DType t = r.in[1].dtype;
  const bool wide = size_of(r.out.dtype) == 8;
  return fn_kernel([=](const void* const* x, void* y) {
    if (wide)
      along("gather_d", a, m, x[1], t, [&](int64_t s, int64_t k) {
        static_cast<uint64_t*>(y)[k] = static_cast<const uint64_t*>(x[0])[s];
      });
    else
      along("gather_d", a, m, x[1], t, [&](int64_t s, int64_t k) {
        static_cast<uint32_t*>(y)[k] = static_cast<const uint32_t*>(x[0])[s];
      });
  });
}
KERNEL(scatter_d) {
  const int axis = normalize_axis("scatter_d", r.ctx().i("axis"), r.in[0].shape.rank());
  const std::string mode = r.ctx().s("mode");
  NEED(is_index(r.in[1].dtype), "indices of another dtype");
  NEED(alike_but(r.in[0].shape, r.in[1].shape, axis), "fewer indices than lines");
  NEED(is_number(r.out.dtype) && mode_served(mode), "another dtype or mode");
  const Axis a(r.in[0].shape, axis);
  const int64_t m = r.in[1].shape[axis];
  const Type in = r.in[0];
  const DType t = r.in[1].dtype;
  return fn_kernel([=](const void* const* x, void* y) {
    copy(y, x[0], in.bytes());
    for_number(in.dtype, [&](auto z) {
      using T = decltype(z);
      T* d = static_cast<T*>(y);
      const T* u = static_cast<const T*>(x[2]);
      for_mode(mode, [&](auto f) {
        along("scatter_d", a, m, x[1], t,
              [=](int64_t p, int64_t k) { d[p] = static_cast<T>(f(d[p], u[k])); });
      });
    });
  });
}

KERNEL(interpolate_axis) {
  const Axis a(r.in[0].shape, normalize_axis(r.op.name, r.ctx().i("axis"), r.in[0].shape.rank()));
  const int64_t m = r.in[1].shape[0];
  const DType t = r.out.dtype;
  return fn_kernel([=](const void* const* x, void* y) {
    if (m == 0 || a.outer == 0) return;
    const int64_t dims[] = {a.n}, strides[] = {a.inner};
    const Offsets low("interpolate_axis", x[1], DType::I64, m, dims, strides),
        high("interpolate_axis", x[2], DType::I64, m, dims, strides);
    auto go = [&](auto z) {
      using T = decltype(z);
      const T* share = static_cast<const T*>(x[3]);
      parallel_for(a.outer * m, std::max<int64_t>(1, kGrain / std::max<int64_t>(1, a.inner)),
                   [&](int64_t b, int64_t e) {
                     int64_t o = b / m, i = b % m;
                     const T* from = static_cast<const T*>(x[0]) + o * a.n * a.inner;
                     T* __restrict to = static_cast<T*>(y) + b * a.inner;
                     for (int64_t k = b; k < e; ++k, to += a.inner) {
                       const T *p = from + low[i], *q = from + high[i];
                       const T s = share[i], rest = T(1) - s;
                       for (int64_t j = 0; j < a.inner; ++j) to[j] = p[j] * rest + q[j] * s;
                       if (++i == m) i = 0, from += a.n * a.inner;
                     }
                   });
    };
    t == DType::F32 ? go(float{}) : go(double{});
  });
}

// The k first in order of a line: (value, place) pairs, of equal values the first; NaN counts as
// the greatest value. The order is total, so the result is that of sorting the line.
template <class T>
struct Item {
  T key;
  int64_t at;
};
template <bool kLargest, class T>
bool before(const Item<T>& a, const Item<T>& b) {
  if (a.key != a.key || b.key != b.key) {
    const bool p = a.key != a.key, q = b.key != b.key;
    if (p != q) return kLargest ? p : q;
    return a.at < b.at;
  }
  if (a.key != b.key) return kLargest ? a.key > b.key : a.key < b.key;
  return a.at < b.at;
}
// The first k of x[i * stride], i in [begin, end), into heap[0, k) in no order; returns how many.
template <bool kLargest, class T>
int64_t select(const T* x, int64_t stride, int64_t begin, int64_t end, int64_t k, Item<T>* heap) {
  int64_t n = 0;
  const auto less = before<kLargest, T>;  // the heap's top is the last in order
  for (int64_t i = begin; i < end; ++i) {
    const Item<T> v{x[i * stride], i};
    if (n < k) {
      heap[n++] = v;
      if (n == k) std::make_heap(heap, heap + n, less);
      continue;
    }
    if (kLargest ? v.key <= heap[0].key : v.key >= heap[0].key) continue;  // a later equal, as well
    if (!less(v, heap[0])) continue;
    std::pop_heap(heap, heap + k, less);
    heap[k - 1] = v;
    std::push_heap(heap, heap + k, less);
  }
  return n;
}
template <bool kLargest, class T>
void topk_lines(const T* x, int64_t* y, const Axis& a, int64_t k) {
  const int64_t lines = a.outer * a.inner;
  const int64_t parts =
      lines >= max_threads() || a.n < kGrain ? 1 : std::min<int64_t>(max_threads(), a.n / (2 * k));
  const auto less = before<kLargest, T>;
  const Block block(static_cast<size_t>(std::max<int64_t>(parts, 1) * lines * k) * sizeof(Item<T>));
  Item<T>* all = reinterpret_cast<Item<T>*>(block.p);
  auto first = [&](int64_t line) { return line / a.inner * a.n * a.inner + line % a.inner; };
  auto finish = [&](int64_t line, Item<T>* items, int64_t n) {
    std::partial_sort(items, items + k, items + n, less);
    const int64_t to = line / a.inner * k * a.inner + line % a.inner;
    for (int64_t i = 0; i < k; ++i) y[to + i * a.inner] = items[i].at;
  };
  if (parts > 1) {
    for (int64_t line = 0; line < lines; ++line) {
      Item<T>* items = all + line * parts * k;
      parallel_for(parts, 1, [&](int64_t b, int64_t e) {
        for (int64_t p = b; p < e; ++p)
          select<kLargest>(x + first(line), a.inner, a.n * p / parts, a.n * (p + 1) / parts, k,
                           items + p * k);
      });
      finish(line, items, parts * k);
    }
    return;
  }
  parallel_for(lines, std::max<int64_t>(1, kGrain / std::max<int64_t>(1, a.n)),
               [&](int64_t b, int64_t e) {
                 for (int64_t line = b; line < e; ++line)
                   finish(line, all + line * k,
                          select<kLargest>(x + first(line), a.inner, 0, a.n, k, all + line * k));
               });
}
KERNEL(topk) {
  const int axis = normalize_axis("topk", r.ctx().i("axis"), r.in[0].shape.rank());
  const bool largest = r.ctx().flag("largest");
  const Axis a(r.in[0].shape, axis);
  const int64_t k = r.ctx().i("k");
  const DType t = r.in[0].dtype;
  return fn_kernel([=](const void* const* x, void* y) {
    if (k == 0 || a.outer * a.inner == 0) return;
    auto go = [&](auto z) {
      using T = decltype(z);
      int64_t* out = static_cast<int64_t*>(y);
      const T* in = static_cast<const T*>(x[0]);
      largest ? topk_lines<true>(in, out, a, k) : topk_lines<false>(in, out, a, k);
    };
    auto widened = [&](auto widen) {
      const int64_t n = a.outer * a.n * a.inner;
      const Block wide(static_cast<size_t>(n) * 4);
      float* in = reinterpret_cast<float*>(wide.p);
      for (int64_t i = 0; i < n; ++i) in[i] = widen(static_cast<const uint16_t*>(x[0])[i]);
      int64_t* out = static_cast<int64_t*>(y);
      largest ? topk_lines<true>(in, out, a, k) : topk_lines<false>(in, out, a, k);
    };
    switch (t) {
      case DType::Bool:
      case DType::U8: return go(uint8_t{});
      case DType::I8: return go(int8_t{});
      case DType::I16: return go(int16_t{});
      case DType::U16: return go(uint16_t{});
      case DType::I32: return go(int32_t{});
      case DType::U32: return go(uint32_t{});
      case DType::I64: return go(int64_t{});
      case DType::U64: return go(uint64_t{});
      case DType::F32: return go(float{});
      case DType::F64: return go(double{});
      case DType::F16: return widened([](uint16_t h) { return half_to_float(h); });
      case DType::BF16: return widened([](uint16_t h) { return bf16_to_float(h); });
    }
  });
}

// Sums over the last axis of |a_i - b_j|^p in lanes that fold by halves: the order of the terms
// depends on the axis' length alone.
constexpr int kLanes = 16;
template <class T, class F>
T row_sum(const T* a, const T* b, int64_t m, F f) {
  T lane[kLanes] = {};
  int64_t k = 0;
  for (; k + kLanes <= m; k += kLanes)
    for (int l = 0; l < kLanes; ++l) lane[l] += f(a[k + l] - b[k + l]);
  for (int l = 0; k < m; ++k, ++l) lane[l] += f(a[k] - b[k]);
  for (int h = kLanes / 2; h > 0; h /= 2)
    for (int l = 0; l < h; ++l) lane[l] += lane[l + h];
  return lane[0];
}
KERNEL(distance_sums) {
  const Shape as = r.in[0].shape, ys = r.out.shape;
  const bool squares = r.ctx().flag("squares");
  const DType t = r.out.dtype;
  return fn_kernel([=](const void* const* x, void* y) {
    const int rank = ys.rank();
    const int64_t p = ys[rank - 2], q = ys[rank - 1], m = as[rank - 1];
    const int64_t rows = q == 0 ? 0 : int64_t{ys.numel()} / q;
    auto go = [&](auto z) {
      using T = decltype(z);
      constexpr int64_t kTile = 64;  // rows of b that stay in the nearest cache
      parallel_for(rows, std::max<int64_t>(1, kGrain / std::max<int64_t>(1, q * m)),
                   [&](int64_t r0, int64_t r1) {
                     for (int64_t j0 = 0; j0 < q; j0 += kTile)
                       for (int64_t i = r0; i < r1; ++i) {
                         const T* a = static_cast<const T*>(x[0]) + i * m;
                         const T* b = static_cast<const T*>(x[1]) + i / p * q * m;
                         T* out = static_cast<T*>(y) + i * q;
                         for (int64_t j = j0; j < std::min(q, j0 + kTile); ++j)
                           out[j] = squares
                                        ? row_sum(a, b + j * m, m, [](T d) { return d * d; })
                                        : row_sum(a, b + j * m, m, [](T d) { return std::abs(d); });
                       }
                   });
    };
    t == DType::F32 ? go(float{}) : go(double{});
  });
}

}  // namespace

void register_indexed_kernels(KernelRegistry& r) {
  r.add("gather", {"indexed", gather});
  r.add("gather_nd", {"indexed", gather_nd});
  r.add("scatter_nd", {"indexed", scatter_nd});
  r.add("index_add", {"indexed", index_add});
  r.add("gather_d", {"indexed", gather_d});
  r.add("scatter_d", {"indexed", scatter_d});
  r.add("interpolate_axis", {"indexed", interpolate_axis, true});
  r.add("topk", {"indexed", topk, true});
  r.add("distance_sums", {"indexed", distance_sums, true});
}

}  // namespace pijit
