// Gather and scatter by int32 and int64 indices, typed and in parallel. Where places meet, updates
// are applied in the order of the indices, as the reference has it: each thread walks all of them
// and applies those that fall in its part of the result.
#include <algorithm>
#include <atomic>
#include <cstring>

#include "base/set_bytes.h"
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
        if (k == 1) {
          const int64_t n = dims[0], stride = strides[0];
          auto each = [&](auto offset) {
            for (int64_t i = b; i < e; ++i) {
              int64_t c = x[i];
              c += c < 0 ? n : 0;
              out |= static_cast<uint64_t>(c) >= static_cast<uint64_t>(n);
              at_[i] = offset(c);
            }
          };
          stride == 1 ? each([](int64_t c) { return c; })
                      : each([=](int64_t c) { return c * stride; });
        }
        for (int64_t i = b; k != 1 && i < e; ++i) {
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
// y[off[b] + j] = f(y[off[b] + j], u[b * block + j]) for the blocks b in order.
template <class T, class Off, class F>
void scatter_blocks(T* y, const T* u, int64_t count, int64_t block, const Off& off, F f) {
  auto apply = [&](int64_t b, int64_t from, int64_t to) {
    T* __restrict d = y + off[b];
    const T* __restrict s = u + b * block;
    for (int64_t j = from; j < to; ++j) d[j] = f(d[j], s[j]);
  };
  if (block >= 512) {  // a part of each block
    parallel_for(block, std::max<int64_t>(64, kGrain / std::max<int64_t>(1, count)),
                 [&](int64_t b, int64_t e) {
                   for (int64_t i = 0; i < count; ++i) apply(i, b, e);
                 });
    return;
  }
  // Of two threads with half of y each, both would look at all places and guess wrong at half of
  // them: that takes twice as long as one thread does.
  for (int64_t i = 0; i < count; ++i) {
    if (i + kAhead < count) __builtin_prefetch(y + off[i + kAhead], 1);
    apply(i, 0, block);
  }
}

// A bit for each of 64 elements in a row, or of the n that are left: is it not 0?
template <class T, class F>
uint64_t bits_of(const T* x, int64_t n, F is_set) {
  alignas(32) uint8_t set[64] = {};
  if (n >= 64)
    for (int i = 0; i < 64; ++i) set[i] = is_set(x[i]);
  else
    for (int64_t i = 0; i < n; ++i) set[i] = is_set(x[i]);
  return set_bytes(set) | static_cast<uint64_t>(set_bytes(set + kBytesAtOnce)) << kBytesAtOnce;
}
// f(bits(i)) with bits_of the elements from i on.
template <class F>
void with_bits(DType t, const void* x, int64_t size, F f) {
  auto go = [&](auto zero, auto is_set) {
    const auto* p = static_cast<const decltype(zero)*>(x);
    f([=](int64_t i) { return bits_of(p + i, size - i, is_set); });
  };
  auto number = [&](auto zero) { go(zero, [](auto v) { return v != 0; }); };
  auto complex = [&](auto zero) {
    using T = decltype(zero);
    struct Value {
      T re, im;
    };
    go(Value{}, [](Value v) { return v.re != 0 || v.im != 0; });
  };
  switch (t) {
    case DType::F32: return number(float{});
    case DType::F64: return number(double{});
    case DType::F16:
    case DType::BF16: return go(uint16_t{}, [](uint16_t v) { return (v & 0x7fff) != 0; });
    case DType::C64: return complex(float{});
    case DType::C128: return complex(double{});
    default: break;
  }
  switch (size_of(t)) {
    case 1: return number(uint8_t{});
    case 2: return number(uint16_t{});
    case 4: return number(uint32_t{});
    default: return number(uint64_t{});
  }
}
// Where one of `parts` parts of `size` elements begins.
int64_t part_begin(int64_t size, int64_t parts, int64_t part) {
  return part == parts ? size : size / 64 * part / parts * 64;
}

// y[at[i]] = f(y[at[i]], u[i]) for i in order. False where an index is out of range.
template <class T, class I, class F>
bool scatter_elements(T* y, int64_t size, const T* u, int64_t count, const I* index, F f) {
  std::atomic<bool> bad = false;
  auto place = [=](int64_t i) {
    const int64_t at = index[i];
    return at + (at < 0 ? size : 0);
  };
  // A thread alone is faster where a cache holds y.
  const bool near = size * static_cast<int64_t>(sizeof(T)) < 16 << 20;
  const int64_t parts = near || count < kGrain ? 1 : max_threads();
  if (parts == 1) {
    for (int64_t i = 0; i < count; ++i) {
      const int64_t at = place(i);
      if (static_cast<uint64_t>(at) >= static_cast<uint64_t>(size)) return false;
      y[at] = f(y[at], u[i]);
    }
    return true;
  }
  // Each thread lists what falls into its part, without branches, some at a time.
  parallel_for(parts, 1, [&](int64_t p0, int64_t p1) {
    const int64_t begin = size * p0 / parts;
    const auto own = static_cast<uint64_t>(size * p1 / parts - begin);
    constexpr int64_t kSome = 256;
    int64_t to[kSome];
    T value[kSome];
    bool out = false;
    for (int64_t first = 0; first < count; first += kSome) {
      int64_t n = 0;
      for (int64_t i = first; i < std::min(count, first + kSome); ++i) {
        const int64_t at = place(i);
        out |= static_cast<uint64_t>(at) >= static_cast<uint64_t>(size);
        to[n] = at;
        value[n] = u[i];
        n += static_cast<uint64_t>(at - begin) < own;
      }
      for (int64_t k = 0; k < n; ++k) y[to[k]] = f(y[to[k]], value[k]);
    }
    if (out) bad = true;
  });
  return !bad;
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
    if (c.dims.size() == 1 && c.block == 1) {
      bool done = true;
      copy(y, x[0], in.bytes());
      for_number(in.dtype, [&](auto z) {
        using T = decltype(z);
        for_mode(mode, [&](auto f) {
          auto go = [&](auto* index) {
            done =
                scatter_elements(static_cast<T*>(y), c.dims[0], static_cast<const T*>(x[2]),
                                 c.count, index, [f](T a, T b) { return static_cast<T>(f(a, b)); });
          };
          t == DType::I32 ? go(static_cast<const int32_t*>(x[1]))
                          : go(static_cast<const int64_t*>(x[1]));
        });
      });
      if (done) return;
    }
    const Offsets at("scatter_nd", x[1], t, c.count, c.dims, c.strides);
    copy(y, x[0], in.bytes());
    for_number(in.dtype, [&](auto z) {
      using T = decltype(z);
      for_mode(mode, [&](auto f) {
        scatter_blocks(static_cast<T*>(y), static_cast<const T*>(x[2]), c.count, c.block, at,
                       [f](T a, T b) { return static_cast<T>(f(a, b)); });
      });
    });
  });
}
KERNEL(nonzero_counts) {
  const Type in = r.in[0];
  const int64_t parts = r.out.shape[0], size = in.shape.numel();
  return fn_kernel([=](const void* const* x, void* y) {
    with_bits(in.dtype, x[0], size, [&](auto bits) {
      parallel_for(parts, size < 4 * kGrain ? parts : 1, [&](int64_t b, int64_t e) {
        for (int64_t p = b; p < e; ++p) {
          int64_t n = 0;
          const int64_t end = part_begin(size, parts, p + 1);
          for (int64_t i = part_begin(size, parts, p); i < end; i += 64)
            n += __builtin_popcountll(bits(i));
          static_cast<int64_t*>(y)[p] = n;
        }
      });
    });
  });
}
KERNEL(nonzero_places) {
  const Type in = r.in[0];
  const int64_t parts = r.in[1].shape[0], size = in.shape.numel();
  const int rank = in.shape.rank();
  const bool columns = r.ctx().flag("columns");
  const int64_t total = r.out.shape[columns ? 1 : 0];
  const int64_t step = columns ? 1 : rank,
                apart = columns ? total : 1;  // of places, of coordinates
  const std::vector<int64_t> dims = numbers_of(in.shape.dims());
  return fn_kernel([=](const void* const* x, void* y) {
    std::vector<int64_t> first(static_cast<size_t>(parts) + 1);
    for (int64_t p = 0; p < parts; ++p)
      first[p + 1] = first[p] + static_cast<const int64_t*>(x[1])[p];
    with_bits(in.dtype, x[0], size, [&](auto bits) {
      parallel_for(parts, size < 4 * kGrain ? parts : 1, [&](int64_t b, int64_t e) {
        int64_t* to = static_cast<int64_t*>(y) + first[b] * step;
        int64_t at[kMaxRank] = {};  // coordinates of the line's first element, which is `line`
        int64_t line = 0, line_end = 0;
        const int64_t n = dims[rank - 1], end = part_begin(size, parts, e);
        for (int64_t i = part_begin(size, parts, b); i < end; i += 64)
          for (uint64_t set = bits(i); set; set &= set - 1, to += step) {
            const int64_t k = i + __builtin_ctzll(set);
            if (k >= line_end) {
              int64_t rest = k / n;
              line = rest * n;
              line_end = line + n;
              for (int d = rank - 2; d > 0; --d) {
                at[d] = rest % dims[d];
                rest /= dims[d];
              }
              at[0] = rest;
            }
            for (int d = 0; d + 1 < rank; ++d) to[d * apart] = at[d];
            to[(rank - 1) * apart] = k - line;
          }
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
          scatter_blocks(static_cast<T*>(y) + o * a.n * a.inner,
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

// The k first in order of a line. An element and its place are one unsigned number, whose upper
// half orders elements and whose lower half is the place: of equal values the first, and NaN counts
// as the greatest value. So the result is that of sorting the line.
template <class T>
struct Ordered {
  using Bits = std::conditional_t<sizeof(T) <= 4, uint32_t, uint64_t>;
  using Item = std::conditional_t<sizeof(T) <= 4, uint64_t, unsigned __int128>;
  static constexpr int kHalf = 8 * sizeof(Bits);
  static Item item(T x, int64_t at, bool largest) {
    constexpr Bits kSign = Bits{1} << (kHalf - 1);
    Bits b;
    if constexpr (std::is_floating_point_v<T>) {
      x += T(0);  // -0 is 0
      std::memcpy(&b, &x, sizeof b);
      b = x != x ? ~Bits{0} : b & kSign ? ~b : b | kSign;
    } else {
      b = static_cast<Bits>(x) ^ (std::is_signed_v<T> ? kSign : 0);
    }
    return static_cast<Item>(largest ? static_cast<Bits>(~b) : b) << kHalf | static_cast<Bits>(at);
  }
  static int64_t place(Item i) { return static_cast<int64_t>(static_cast<Bits>(i)); }
};
constexpr int64_t kStrip = 64;  // elements that are compared with the last of the first k at once
// Room for items that are kept before the first k of them are found again.
int64_t room_for(int64_t k) { return std::max<int64_t>(2 * k, 32) + kStrip; }
// The first k of x[i * stride], i in [begin, end), into items[0, k) in no order; returns how many.
template <bool kLargest, class T>
int64_t select(const T* x, int64_t stride, int64_t begin, int64_t end, int64_t k,
               typename Ordered<T>::Item* items) {
  const int64_t full = room_for(k) - kStrip;
  int64_t n = 0, i = begin;
  bool bounded = false;
  T bound{};  // the last of the first k so far: a later one must come before it
  auto add = [&](int64_t at) { items[n++] = Ordered<T>::item(x[at * stride], at, kLargest); };
  auto cut = [&] {
    std::nth_element(items, items + (k - 1), items + n);
    n = k;
    bound = x[Ordered<T>::place(items[k - 1]) * stride];
    bounded = true;
  };
  for (; i < end; i += kStrip) {
    const int64_t strip_end = std::min(end, i + kStrip);
    auto comes_before = [=](T v) { return kLargest ? !(v <= bound) : !(v >= bound); };
    if (!bounded)
      for (int64_t j = i; j < strip_end; ++j) add(j);
    else if (stride == 1)
      for (uint64_t some = bits_of(x + i, strip_end - i, comes_before); some; some &= some - 1)
        add(i + __builtin_ctzll(some));
    else
      for (int64_t j = i; j < strip_end; ++j)
        if (comes_before(x[j * stride])) add(j);
    if (n >= full) cut();
  }
  if (n > k) cut();
  return n;
}
template <bool kLargest, class T>
void topk_lines(const T* x, int64_t* y, const Axis& a, int64_t k) {
  using Item = typename Ordered<T>::Item;
  const int64_t lines = a.outer * a.inner;
  const int64_t parts =
      lines >= max_threads() || a.n < kGrain ? 1 : std::min<int64_t>(max_threads(), a.n / (2 * k));
  auto first = [&](int64_t line) { return line / a.inner * a.n * a.inner + line % a.inner; };
  auto finish = [&](int64_t line, Item* items, int64_t n) {
    if (n > k) std::nth_element(items, items + (k - 1), items + n);
    std::sort(items, items + k);
    const int64_t to = line / a.inner * k * a.inner + line % a.inner;
    for (int64_t i = 0; i < k; ++i) y[to + i * a.inner] = Ordered<T>::place(items[i]);
  };
  const auto bytes = static_cast<size_t>(room_for(k)) * sizeof(Item);
  if (parts > 1) {
    const Block block(bytes * static_cast<size_t>(parts));
    Item* const items = reinterpret_cast<Item*>(block.p);
    for (int64_t line = 0; line < lines; ++line) {
      parallel_for(parts, 1, [&](int64_t b, int64_t e) {
        for (int64_t p = b; p < e; ++p)
          select<kLargest>(x + first(line), a.inner, a.n * p / parts, a.n * (p + 1) / parts, k,
                           items + p * room_for(k));
      });
      for (int64_t p = 1; p < parts; ++p) std::copy_n(items + p * room_for(k), k, items + p * k);
      finish(line, items, parts * k);
    }
    return;
  }
  parallel_for(
      lines, std::max<int64_t>(1, kGrain / std::max<int64_t>(1, a.n)), [&](int64_t b, int64_t e) {
        const Block block(bytes);
        Item* const items = reinterpret_cast<Item*>(block.p);
        for (int64_t line = b; line < e; ++line)
          finish(line, items, select<kLargest>(x + first(line), a.inner, 0, a.n, k, items));
      });
}
KERNEL(topk) {
  const int axis = normalize_axis("topk", r.ctx().i("axis"), r.in[0].shape.rank());
  const bool largest = r.ctx().flag("largest");
  const Axis a(r.in[0].shape, axis);
  const int64_t k = r.ctx().i("k");
  const DType t = r.in[0].dtype;
  OP_CHECK(a.n < int64_t{1} << 32 || size_of(t) == 8, kValue,
           "[topk] takes axes of up to 2^32 - 1, got ", a.n);
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
      case DType::C64:
      case DType::C128: PIJIT_CHECK(false, "complex values have no order");
    }
  });
}

// Sums over the last axis of |a_i - b_j|^p. Columns of results are lanes: kTerms terms at a time
// are added in order, and so are those sums, so the order depends on the axis' length alone.
constexpr int64_t kTerms = 128;
template <class T>
struct Lanes {
  static constexpr int kCount = 32 / sizeof(T);
  typedef T Vector __attribute__((vector_size(32)));
  typedef T Unaligned __attribute__((vector_size(32), aligned(sizeof(T)), may_alias));
};
inline Lanes<float>::Vector multiply_add(Lanes<float>::Vector a, Lanes<float>::Vector c) {
  return _mm256_fmadd_ps(a, a, c);
}
inline Lanes<double>::Vector multiply_add(Lanes<double>::Vector a, Lanes<double>::Vector c) {
  return _mm256_fmadd_pd(a, a, c);
}
inline Lanes<float>::Vector magnitude(Lanes<float>::Vector x) {
  return _mm256_andnot_ps(_mm256_set1_ps(-0.0f), x);
}
inline Lanes<double>::Vector magnitude(Lanes<double>::Vector x) {
  return _mm256_andnot_pd(_mm256_set1_pd(-0.0), x);
}
constexpr int kVectors = 2;  // of results side by side
// sums[r][columns] += those of `terms` terms of rows a + r * m, and of columns b.
template <int kRows, bool kSquares, class T>
void add_terms(const T* a, int64_t m, const T* b, int64_t terms, T* sums) {
  using V = typename Lanes<T>::Vector;
  using U = typename Lanes<T>::Unaligned;
  constexpr int n = Lanes<T>::kCount;
  V sum[kRows][kVectors] = {};
  for (int64_t k = 0; k < terms; ++k, b += kVectors * n)
    for (int v = 0; v < kVectors; ++v) {
      const V y = *reinterpret_cast<const U*>(b + v * n);
      for (int r = 0; r < kRows; ++r) {
        const V d = a[r * m + k] - y;
        sum[r][v] = kSquares ? multiply_add(d, sum[r][v]) : sum[r][v] + magnitude(d);
      }
    }
  for (int r = 0; r < kRows; ++r)
    for (int v = 0; v < kVectors; ++v)
      *reinterpret_cast<U*>(sums + (r * kVectors + v) * n) += sum[r][v];
}
template <bool kSquares, class T>
void distances(const T* a, int64_t rows, const T* b, int64_t columns, int64_t m, T* y) {
  constexpr int64_t kSide = kVectors * Lanes<T>::kCount;
  constexpr int64_t kRows = 4;
  const Block memory(static_cast<size_t>((m + kRows) * kSide) * sizeof(T));
  T *packed = reinterpret_cast<T*>(memory.p), *sums = packed + m * kSide;
  for (int64_t j = 0; j < columns; j += kSide) {
    const int64_t side = std::min(kSide, columns - j);
    for (int64_t k = 0; k < m; ++k)
      for (int64_t c = 0; c < kSide; ++c)
        packed[k * kSide + c] = c < side ? b[(j + c) * m + k] : T(0);
    for (int64_t i = 0; i < rows; i += kRows) {
      const int64_t some = std::min(kRows, rows - i);
      std::fill_n(sums, kRows * kSide, T(0));
      for (int64_t k = 0; k < m; k += kTerms) {
        const int64_t terms = std::min(kTerms, m - k);
        const T *x = a + i * m + k, *p = packed + k * kSide;
        if (some == kRows)
          add_terms<kRows, kSquares>(x, m, p, terms, sums);
        else
          for (int64_t r = 0; r < some; ++r)
            add_terms<1, kSquares>(x + r * m, m, p, terms, sums + r * kSide);
      }
      for (int64_t r = 0; r < some; ++r)
        std::copy_n(sums + r * kSide, side, y + (i + r) * columns + j);
    }
  }
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
      parallel_for(rows, std::max<int64_t>(1, kGrain / std::max<int64_t>(1, q * (m + 4))),
                   [&](int64_t b, int64_t e) {
                     while (b < e) {  // the rows of one batch
                       const int64_t batch = b / p, some = std::min(e, (batch + 1) * p) - b;
                       (squares ? distances<true, T>
                                : distances<false, T>)(static_cast<const T*>(x[0]) + b * m, some,
                                                       static_cast<const T*>(x[1]) + batch * q * m,
                                                       q, m, static_cast<T*>(y) + b * q);
                       b += some;
                     }
                   });
    };
    t == DType::F32 ? go(float{}) : go(double{});
  });
}

}  // namespace

KernelFamily indexed_kernels() {
  return {"indexed",
          {{"gather", gather},
           {"gather_nd", gather_nd},
           {"scatter_nd", scatter_nd},
           {"index_add", index_add},
           {"gather_d", gather_d},
           {"scatter_d", scatter_d}}};
}
KernelFamily sole_indexed_kernels() {
  return {"indexed",
          {{"topk", topk},
           {"nonzero_counts", nonzero_counts},
           {"nonzero_places", nonzero_places},
           {"distance_sums", distance_sums}},
          kReference};
}

}  // namespace pijit
