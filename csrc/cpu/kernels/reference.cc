// Reference kernels: the living definition of every op that is not a loop. Plain loops, every
// dtype.
#include <algorithm>
#include <cmath>
#include <numeric>
#include <cstring>

#include "cpu/cpu.h"
#include "cpu/kernels/strided.h"
#include "graph/number_cast.h"
#include "runtime/pooled.h"

namespace pijit {
namespace {

using Ints = std::vector<int64_t>;

template <class F>
bool for_dtype(DType t, F f) {
  switch (t) {
    case DType::Bool:
    case DType::U8: f(uint8_t{}); return true;
    case DType::I8: f(int8_t{}); return true;
    case DType::I16: f(int16_t{}); return true;
    case DType::U16: f(uint16_t{}); return true;
    case DType::I32: f(int32_t{}); return true;
    case DType::U32: f(uint32_t{}); return true;
    case DType::I64: f(int64_t{}); return true;
    case DType::U64: f(uint64_t{}); return true;
    case DType::F32: f(float{}); return true;
    case DType::F64: f(double{}); return true;
    default: return false;
  }
}
struct Pair {  // complex128
  Pair() = default;
  explicit Pair(uint64_t first) : a(first), b(0) {}
  uint64_t a, b;
};
// Elements as opaque words, for ops that only move data.
template <class F>
void for_size(DType t, F f) {
  switch (size_of(t)) {
    case 1: return f(uint8_t{});
    case 2: return f(uint16_t{});
    case 4: return f(uint32_t{});
    case 16: return f(Pair{});
    default: return f(uint64_t{});
  }
}
// Halves are computed in float: reads and writes of element i.
double read(const void* p, DType t, int64_t i) {
  if (t == DType::F16) return half_to_float(static_cast<const uint16_t*>(p)[i]);
  if (t == DType::BF16) return bf16_to_float(static_cast<const uint16_t*>(p)[i]);
  double r = 0;
  for_dtype(t, [&](auto z) { r = static_cast<double>(static_cast<const decltype(z)*>(p)[i]); });
  return r;
}
void write(void* p, DType t, int64_t i, double v) {
  if (t == DType::F16)
    static_cast<uint16_t*>(p)[i] = float_to_half(static_cast<float>(v));
  else if (t == DType::BF16)
    static_cast<uint16_t*>(p)[i] = float_to_bf16(static_cast<float>(v));
  else if (t == DType::Bool)
    static_cast<uint8_t*>(p)[i] = v != 0;
  else
    for_dtype(t, [&](auto z) { static_cast<decltype(z)*>(p)[i] = number_cast<decltype(z)>(v); });
}
int64_t read_index(const void* p, DType t, int64_t i) {
  int64_t r = 0;
  for_dtype(t, [&](auto z) { r = static_cast<int64_t>(static_cast<const decltype(z)*>(p)[i]); });
  return r;
}
int64_t checked_index(const char* op, int64_t i, int64_t n) {
  OP_CHECK(i >= -n && i < n, kIndex, "[", op, "] index ", i, " is out of range for a dimension of ",
           n);
  return i < 0 ? i + n : i;
}

// Copies n elements `si` apart to places `di` apart.
template <class T>
void copy_line(const T* s, T* d, int64_t n, int64_t si, int64_t di) {
  if (di == 1 && si == 1) {
    std::memcpy(d, s, static_cast<size_t>(n) * sizeof(T));
  } else if (di == 1 && si == -1) {
    for (int64_t i = 0; i < n; ++i) d[i] = s[-i];
  } else {
    for (int64_t i = 0; i < n; ++i) d[i * di] = s[i * si];
  }
}
// For all indices of `dims`, dst[i.ds] = src[i.ss].
template <class T>
void strided_copy(const T* src, T* dst, const Shape& dims, const int64_t* ss, const int64_t* ds) {
  strided(src, dst, dims, ss, ds, copy_line<T>);
}

#define KERNEL(name) std::unique_ptr<OpKernel> name(const KernelRequest& r, std::string* why)

KERNEL(ref_transpose) {
  const Ints perm = r.ctx().numbers("perm");
  const Type in = r.in[0], out = r.out;
  return fn_kernel([=](const void* const* x, void* y) {
    const auto is = in.shape.strides(), os = out.shape.strides();
    int64_t ss[kMaxRank];
    for (size_t i = 0; i < perm.size(); ++i) ss[i] = is[perm[i]];
    for_size(in.dtype, [&](auto z) {
      using T = decltype(z);
      const T* s = static_cast<const T*>(x[0]);
      T* d = static_cast<T*>(y);
      const int n = out.shape.rank();
      // the last two axes swapped: tiles keep both sides in cache
      if (n >= 2 && ss[n - 2] == 1 && ss[n - 1] != 1) {
        const int64_t rows = out.shape[n - 2], cols = out.shape[n - 1], ld = ss[n - 1];
        const int64_t batch = rows * cols != 0 ? out.shape.numel() / (rows * cols) : Dim(0);
        int64_t index[kMaxRank] = {};
        for (int64_t b = 0; b < batch; ++b) {
          const T* sb = s;
          for (int k = 0; k + 2 < n; ++k) sb += index[k] * ss[k];
          T* db = d + b * rows * cols;
          for (int64_t i0 = 0; i0 < rows; i0 += 16)
            for (int64_t j0 = 0; j0 < cols; j0 += 16)
              for (int64_t i = i0; i < std::min(rows, i0 + 16); ++i)
                for (int64_t j = j0; j < std::min(cols, j0 + 16); ++j)
                  db[i * cols + j] = sb[j * ld + i];
          for (int k = n - 3; k >= 0; --k) {
            if (++index[k] < out.shape[k]) break;
            index[k] = 0;
          }
        }
      } else {
        strided_copy(s, d, out.shape, ss, os.data());
      }
    });
  });
}
KERNEL(ref_reshape) {
  const size_t bytes = r.out.bytes();
  return fn_kernel([=](const void* const* x, void* y) { std::memcpy(y, x[0], bytes); });
}
KERNEL(ref_slice) {
  const Ints b = r.ctx().numbers("begin"), st = r.ctx().numbers("step");
  const Type in = r.in[0], out = r.out;
  return fn_kernel([=](const void* const* x, void* y) {
    if (out.shape.numel() == 0) return;
    const auto is = in.shape.strides(), os = out.shape.strides();
    int64_t ss[kMaxRank], off = 0;
    for (size_t i = 0; i < b.size(); ++i) ss[i] = is[i] * st[i], off += b[i] * is[i];
    for_size(in.dtype, [&](auto z) {
      strided_copy(static_cast<const decltype(z)*>(x[0]) + off, static_cast<decltype(z)*>(y),
                   out.shape, ss, os.data());
    });
  });
}
KERNEL(ref_slice_update) {
  const Ints b = r.ctx().numbers("begin"), st = r.ctx().numbers("step");
  const Type in = r.in[0], val = r.in[1];
  return fn_kernel([=](const void* const* x, void* y) {
    if (y != x[0]) std::memcpy(y, x[0], in.bytes());  // it may lie over its first operand
    const auto is = in.shape.strides(), vs = val.shape.strides();
    int64_t ds[kMaxRank], off = 0;
    for (size_t i = 0; i < b.size(); ++i) ds[i] = is[i] * st[i], off += b[i] * is[i];
    if (val.shape.numel() == 0) return;
    for_size(in.dtype, [&](auto z) {
      strided_copy(static_cast<const decltype(z)*>(x[1]), static_cast<decltype(z)*>(y) + off,
                   val.shape, vs.data(), ds);
    });
  });
}
KERNEL(ref_pad) {
  const Ints lo = r.ctx().numbers("low");
  const double value = r.ctx().f("value");
  const Type in = r.in[0], out = r.out;
  return fn_kernel([=](const void* const* x, void* y) {
    uint64_t fill = 0;
    write(&fill, out.dtype, 0, value);
    const auto is = in.shape.strides(), os = out.shape.strides();
    int64_t off = 0;
    for (size_t i = 0; i < lo.size(); ++i) off += lo[i] * os[i];
    for_size(in.dtype, [&](auto z) {
      using T = decltype(z);
      std::fill_n(static_cast<T*>(y), out.shape.numel(), static_cast<T>(fill));
      strided_copy(static_cast<const T*>(x[0]), static_cast<T*>(y) + off, in.shape, is.data(),
                   os.data());
    });
  });
}
KERNEL(ref_concat) {
  const int axis = normalize_axis("concat", r.ctx().i("axis"), r.out.shape.rank());
  const Type& out = r.out;
  int64_t outer = 1, inner = static_cast<int64_t>(size_of(out.dtype));
  for (int i = 0; i < axis; ++i) outer *= out.shape[i];
  for (int i = axis + 1; i < out.shape.rank(); ++i) inner *= out.shape[i];
  std::vector<size_t> bytes;
  for (auto& t : r.in) bytes.push_back(static_cast<size_t>(t.shape[axis] * inner));
  return fn_kernel([bytes = std::move(bytes), outer](const void* const* x, void* y) {
    char* d = static_cast<char*>(y);
    for (int64_t o = 0; o < outer; ++o)
      for (size_t k = 0; k < bytes.size(); ++k) {
        const size_t n = bytes[k];
        std::memcpy(d, static_cast<const char*>(x[k]) + static_cast<size_t>(o) * n, n);
        d += n;
      }
  });
}
KERNEL(ref_arange) {
  const double start = r.ctx().f("start"), step = r.ctx().f("step");
  const Type out = r.out;
  return fn_kernel([=](const void* const*, void* y) {
    if (out.dtype == DType::I32 && start == 0 && step == 1) {  // places, which other ops ask for
      auto* places = static_cast<int32_t*>(y);
      std::iota(places, places + out.shape[0], 0);
      return;
    }
    for (int64_t i = 0; i < out.shape[0]; ++i)
      write(y, out.dtype, i, start + static_cast<double>(i) * step);
  });
}

// --- reductions that are no combiner
// ---------------------------------------------------------------
// Element i of line (o, j) along an axis stands at (o * n + i) * inner + j.
struct Lines {
  int64_t outer = 1, n, inner = 1;
};
Lines lines_along(const Shape& s, int axis) {
  Lines l;
  l.n = s[axis];
  for (int i = 0; i < axis; ++i) l.outer *= s[i];
  for (int i = axis + 1; i < s.rank(); ++i) l.inner *= s[i];
  return l;
}
// Integers as wide as a value's lane in a vector.
template <class T>
using LaneInt = std::conditional_t<sizeof(T) == 8, int64_t, int32_t>;
// The first extremum of a contiguous line, or the first NaN: extrema of chunks by lanes, which
// compilers vectorise, then the place within the best chunk.
template <bool kMax, class T>
int64_t arg_extremum(const T* x, int64_t n) {
  constexpr int64_t kLanes = 64 / sizeof(T), kStep = kLanes * 16;
  auto better = [](T a, T b) { return kMax ? a > b : a < b; };
  T best = x[0];
  int64_t from = 0;  // the chunk that holds it
  if (best != best) return 0;
  for (int64_t at = 0; at < n; at += kStep) {
    const int64_t m = std::min(kStep, n - at);
    T lane[kLanes];
    LaneInt<T> strange[kLanes] = {};  // NaN has been in it
    std::fill_n(lane, kLanes, x[at]);
    int64_t i = 0;
    for (; i + kLanes <= m; i += kLanes)
#pragma omp simd
      for (int64_t k = 0; k < kLanes; ++k) {
        const T v = x[at + i + k];
        lane[k] = better(v, lane[k]) ? v : lane[k];
        strange[k] = v != v ? 1 : strange[k];
      }
    bool nan = std::any_of(strange, strange + kLanes, [](auto b) { return b != 0; });
    for (; i < m; ++i) {
      const T v = x[at + i];
      lane[0] = better(v, lane[0]) ? v : lane[0];
      nan |= v != v;
    }
    if (nan)
      for (int64_t k = at;; ++k)
        if (x[k] != x[k]) return k;
    for (T v : lane)
      if (better(v, best)) best = v, from = at;
  }
  while (x[from] != best) ++from;
  return from;
}
// The same of `m` columns of n rows, `stride` apart: row by row, so that columns share vectors.
constexpr int64_t kArgColumns = 256, kArgElements = 1 << 18;  // a thread is worth so many
template <bool kMax, class T>
void arg_extrema(const T* x, int64_t n, int64_t stride, int64_t m, int64_t* places) {
  T best[kArgColumns];
  LaneInt<T> at[kArgColumns] = {};
  std::copy_n(x, m, best);
  for (int64_t i = 1; i < n; ++i) {
    const T* row = x + i * stride;
    const auto place = static_cast<LaneInt<T>>(i);
#pragma omp simd
    for (int64_t j = 0; j < m; ++j) {
      const T v = row[j], b = best[j];
      // Better, or the first NaN.
      const bool take = !(kMax ? v <= b : v >= b) & (b == b);
      best[j] = take ? v : b;
      at[j] = take ? place : at[j];
    }
  }
  std::copy_n(at, m, places);
}
std::unique_ptr<OpKernel> arg_reduce(const KernelRequest& r, bool max) {
  const int axis = normalize_axis(r.op.name, r.ctx().i("axis"), r.in[0].shape.rank());
  const Type in = r.in[0];
  return fn_kernel([=](const void* const* x, void* y) {
    const auto [outer, n, inner] = lines_along(in.shape, axis);
    int64_t* const places = static_cast<int64_t*>(y);
    auto go = [&](auto get) {
      for (int64_t o = 0; o < outer; ++o)
        for (int64_t j = 0; j < inner; ++j) {
          auto best = get((o * n) * inner + j);
          int64_t at = 0;
          for (int64_t i = 1; i < n && best == best; ++i) {  // the first NaN wins
            auto v = get((o * n + i) * inner + j);
            if (v != v || (max ? v > best : v < best)) best = v, at = i;
          }
          places[o * inner + j] = at;
        }
    };
    if (!for_dtype(in.dtype, [&, n = n, inner = inner, outer = outer](auto z) {
          using T = decltype(z);
          const T* p = static_cast<const T*>(x[0]);
          if (inner != 1 && n <= std::numeric_limits<int32_t>::max()) {
            const int64_t blocks = (inner + kArgColumns - 1) / kArgColumns;
            parallel_for(outer * blocks, std::max<int64_t>(1, kArgElements / (n * kArgColumns)),
                         [&](int64_t b, int64_t e) {
                           for (; b < e; ++b) {
                             const int64_t o = b / blocks, j = b % blocks * kArgColumns;
                             (max ? arg_extrema<true, T>
                                  : arg_extrema<false, T>)(p + o * n * inner + j, n, inner,
                                                           std::min(kArgColumns, inner - j),
                                                           places + o * inner + j);
                           }
                         });
            return;
          }
          if (inner != 1) return go([&](int64_t i) { return p[i]; });
          parallel_for(outer, std::max<int64_t>(1, kArgElements / n), [&](int64_t b, int64_t e) {
            for (int64_t o = b; o < e; ++o)
              places[o] =
                  max ? arg_extremum<true>(p + o * n, n) : arg_extremum<false>(p + o * n, n);
          });
        }))
      go([&](int64_t i) { return read(x[0], in.dtype, i); });
  });
}
KERNEL(ref_argmax) { return arg_reduce(r, true); }
KERNEL(ref_argmin) { return arg_reduce(r, false); }
KERNEL(ref_argsort) {
  const int axis = normalize_axis(r.op.name, r.ctx().i("axis"), r.in[0].shape.rank());
  const bool descending = r.ctx().flag("descending");
  const Type in = r.in[0];
  return fn_kernel([=](const void* const* x, void* y) {
    const auto lines = lines_along(in.shape, axis);
    const int64_t n = lines.n, inner = lines.inner;
    auto go = [&](auto get) {
      using T = decltype(get(0));
      struct Item {
        T key;
        int64_t at;
      };
      const int64_t grain = std::max<int64_t>(1, 4096 / std::max<int64_t>(1, n));
      parallel_for(lines.outer * inner, grain, [&](int64_t b, int64_t e) {
        const Block block(static_cast<size_t>(n) * sizeof(Item));
        Item* items = reinterpret_cast<Item*>(block.p);
        auto less = [](const Item& a, const Item& b) {
          return a.key < b.key || (b.key != b.key && a.key == a.key);
        };
        for (int64_t line = b; line < e; ++line) {
          const int64_t first = line / inner * n * inner + line % inner;
          for (int64_t i = 0; i < n; ++i) items[i] = {get(first + i * inner), i};
          if (descending)
            std::stable_sort(items, items + n,
                             [&](const Item& a, const Item& b) { return less(b, a); });
          else
            std::stable_sort(items, items + n, less);
          for (int64_t i = 0; i < n; ++i) static_cast<int64_t*>(y)[first + i * inner] = items[i].at;
        }
      });
    };
    if (!for_dtype(in.dtype, [&](auto z) {
          go([&](int64_t i) { return static_cast<const decltype(z)*>(x[0])[i]; });
        }))
      go([&](int64_t i) { return read(x[0], in.dtype, i); });
  });
}
KERNEL(ref_cumsum) {
  const int axis = normalize_axis("cumsum", r.ctx().i("axis"), r.in[0].shape.rank());
  const bool reverse = r.ctx().flag("reverse");
  const Type in = r.in[0];
  return fn_kernel([=](const void* const* x, void* y) {
    const auto [outer, n, inner] = lines_along(in.shape, axis);
    auto place = [&](int64_t o, int64_t i, int64_t j) {
      return (o * n + (reverse ? n - 1 - i : i)) * inner + j;
    };
    for (int64_t o = 0; o < outer; ++o)
      for (int64_t j = 0; j < inner; ++j) {
        if (!for_dtype(in.dtype, [&](auto z) {
              using T = decltype(z);
              T acc = 0;
              for (int64_t i = 0; i < n; ++i) {
                acc = static_cast<T>(acc + static_cast<const T*>(x[0])[place(o, i, j)]);
                static_cast<T*>(y)[place(o, i, j)] = acc;
              }
            })) {
          float acc = 0;
          for (int64_t i = 0; i < n; ++i) {
            acc += static_cast<float>(read(x[0], in.dtype, place(o, i, j)));
            write(y, in.dtype, place(o, i, j), acc);
          }
        }
      }
  });
}

// --- gather and scatter
// ----------------------------------------------------------------------------
KERNEL(ref_gather) {
  const int axis = normalize_axis("gather", r.ctx().i("axis"), r.in[0].shape.rank());
  const Type in = r.in[0], idx = r.in[1];
  return fn_kernel([=](const void* const* x, void* y) {
    int64_t outer = 1, inner = static_cast<int64_t>(size_of(in.dtype));
    const int64_t n = in.shape[axis], m = idx.shape.numel();
    for (int i = 0; i < axis; ++i) outer *= in.shape[i];
    for (int i = axis + 1; i < in.shape.rank(); ++i) inner *= in.shape[i];
    for (int64_t o = 0; o < outer; ++o)
      for (int64_t k = 0; k < m; ++k) {
        const int64_t i = checked_index("gather", read_index(x[1], idx.dtype, k), n);
        std::memcpy(static_cast<char*>(y) + (o * m + k) * inner,
                    static_cast<const char*>(x[0]) + (o * n + i) * inner, inner);
      }
  });
}
template <class T>
T apply_mode(const std::string& mode, T a, T b) {
  if (mode == "update") return b;
  if (mode == "add") return static_cast<T>(a + b);
  if (mode == "sub") return static_cast<T>(a - b);
  if (mode == "mul") return static_cast<T>(a * b);
  if (mode == "max") return a > b ? a : b;
  if (mode == "min") return a < b ? a : b;
  if constexpr (std::is_integral_v<T>) {
    if (b == 0) return 0;
    if constexpr (std::is_signed_v<T>)
      if (b == -1) return static_cast<T>(-a);
  }
  return static_cast<T>(a / b);
}
// dst[j] = mode(dst[j], src[k])
void combine_at(const std::string& mode, DType t, void* dst, int64_t j, const void* src,
                int64_t k) {
  if (t == DType::Bool) {
    auto* d = static_cast<uint8_t*>(dst) + j;
    const uint8_t b = static_cast<const uint8_t*>(src)[k];
    *d = mode == "update" ? b : mode == "mul" || mode == "min" ? (*d & b) : (*d | b);
    return;
  }
  if (!for_dtype(t, [&](auto z) {
        using T = decltype(z);
        static_cast<T*>(dst)[j] =
            apply_mode(mode, static_cast<T*>(dst)[j], static_cast<const T*>(src)[k]);
      }))
    write(dst, t, j,
          apply_mode<float>(mode, static_cast<float>(read(dst, t, j)),
                            static_cast<float>(read(src, t, k))));
}
KERNEL(ref_index_add) {
  const int axis = normalize_axis("index_add", r.ctx().i("axis"), r.in[0].shape.rank());
  const Type in = r.in[0], idx = r.in[1];
  return fn_kernel([=](const void* const* x, void* y) {
    std::memcpy(y, x[0], in.bytes());
    int64_t outer = 1, inner = 1;
    const int64_t n = in.shape[axis], m = idx.shape.numel();
    for (int i = 0; i < axis; ++i) outer *= in.shape[i];
    for (int i = axis + 1; i < in.shape.rank(); ++i) inner *= in.shape[i];
    for (int64_t o = 0; o < outer; ++o)
      for (int64_t k = 0; k < m; ++k) {
        const int64_t i = checked_index("index_add", read_index(x[1], idx.dtype, k), n);
        for (int64_t j = 0; j < inner; ++j)
          combine_at("add", in.dtype, y, (o * n + i) * inner + j, x[2], (o * m + k) * inner + j);
      }
  });
}
// Calls f(flat index into x, flat index into indices) for take-along-axis addressing.
template <class F>
void along(const Type& in, const Type& idx, int axis, const char* op, const void* indices, F f) {
  const auto is = in.shape.strides();
  int64_t index[kMaxRank] = {};
  const int64_t n = idx.shape.numel();
  for (int64_t k = 0; k < n; ++k) {
    int64_t off = 0;
    for (int d = 0; d < idx.shape.rank(); ++d)
      off += (d == axis ? checked_index(op, read_index(indices, idx.dtype, k), in.shape[d])
                        : index[d]) *
             is[d];
    f(off, k);
    for (int d = idx.shape.rank() - 1; d >= 0; --d) {
      if (++index[d] < idx.shape[d]) break;
      index[d] = 0;
    }
  }
}
KERNEL(ref_gather_d) {
  const int axis = normalize_axis("gather_d", r.ctx().i("axis"), r.in[0].shape.rank());
  const Type in = r.in[0], idx = r.in[1];
  return fn_kernel([=](const void* const* x, void* y) {
    for_size(in.dtype, [&](auto z) {
      using T = decltype(z);
      along(in, idx, axis, "gather_d", x[1],
            [&](int64_t s, int64_t k) { static_cast<T*>(y)[k] = static_cast<const T*>(x[0])[s]; });
    });
  });
}
KERNEL(ref_scatter_d) {
  const int axis = normalize_axis("scatter_d", r.ctx().i("axis"), r.in[0].shape.rank());
  const std::string mode = r.ctx().s("mode");
  const Type in = r.in[0], idx = r.in[1];
  return fn_kernel([=](const void* const* x, void* y) {
    std::memcpy(y, x[0], in.bytes());
    along(in, idx, axis, "scatter_d", x[1],
          [&](int64_t d, int64_t k) { combine_at(mode, in.dtype, y, d, x[2], k); });
  });
}
// Calls f(flat offset of the addressed block, block number).
template <class F>
void nd_blocks(const Type& in, const Type& idx, const char* op, const void* indices, F f) {
  const int64_t k = idx.shape[idx.shape.rank() - 1];
  const int64_t n =
      k ? idx.shape.numel() / k : Shape(std::span(idx.shape.begin(), idx.shape.rank() - 1)).numel();
  const auto is = in.shape.strides();
  for (int64_t b = 0; b < n; ++b) {
    int64_t off = 0;
    for (int64_t d = 0; d < k; ++d)
      off += checked_index(op, read_index(indices, idx.dtype, b * k + d), in.shape[d]) * is[d];
    f(off, b);
  }
}
int64_t nd_block_size(const Type& in, const Type& idx) {
  int64_t n = 1;
  for (int d = static_cast<int>(idx.shape[idx.shape.rank() - 1]); d < in.shape.rank(); ++d)
    n *= in.shape[d];
  return n;
}
KERNEL(ref_gather_nd) {
  const Type in = r.in[0], idx = r.in[1];
  return fn_kernel([=](const void* const* x, void* y) {
    const int64_t block = nd_block_size(in, idx) * static_cast<int64_t>(size_of(in.dtype));
    nd_blocks(in, idx, "gather_nd", x[1], [&](int64_t off, int64_t b) {
      std::memcpy(static_cast<char*>(y) + b * block,
                  static_cast<const char*>(x[0]) + off * static_cast<int64_t>(size_of(in.dtype)),
                  block);
    });
  });
}
KERNEL(ref_scatter_nd) {
  const std::string mode = r.ctx().s("mode");
  const Type in = r.in[0], idx = r.in[1];
  return fn_kernel([=](const void* const* x, void* y) {
    std::memcpy(y, x[0], in.bytes());
    const int64_t block = nd_block_size(in, idx);
    nd_blocks(in, idx, "scatter_nd", x[1], [&](int64_t off, int64_t b) {
      for (int64_t j = 0; j < block; ++j)
        combine_at(mode, in.dtype, y, off + j, x[2], b * block + j);
    });
  });
}
KERNEL(ref_one_hot) {
  const int64_t depth = r.ctx().i("depth");
  const double on = r.ctx().f("on"), off = r.ctx().f("off");
  const Type idx = r.in[0], out = r.out;
  return fn_kernel([=](const void* const* x, void* y) {
    uint64_t with = 0, without = 0;
    write(&with, out.dtype, 0, on);
    write(&without, out.dtype, 0, off);
    for_size(out.dtype, [&](auto z) {
      using T = decltype(z);
      T* d = static_cast<T*>(y);
      const int64_t n = idx.shape.numel();
      std::fill_n(d, n * depth, static_cast<T>(without));
      for (int64_t i = 0; i < n; ++i) {
        const int64_t hot = read_index(x[0], idx.dtype, i);
        if (hot >= 0 && hot < depth) d[i * depth + hot] = static_cast<T>(with);
      }
    });
  });
}

KERNEL(ref_require) {
  return fn_kernel([](const void* const* x, void* y) {
    const bool holds = *static_cast<const bool*>(x[0]);
    OP_CHECK(holds, kValue, "[require] not fulfilled");
    *static_cast<bool*>(y) = holds;
  });
}

// --- matrix products, convolution, pooling
// ---------------------------------------------------------
KERNEL(ref_matmul) {
  const Type ta = r.in[0], tb = r.in[1], out = r.out;
  const bool trans_a = r.ctx().flag("trans_a"), trans_b = r.ctx().flag("trans_b");
  return fn_kernel([=](const void* const* x, void* y) {
    const int ra = ta.shape.rank(), rb = tb.shape.rank(), ro = out.shape.rank();
    const int64_t m = out.shape[ro - 2], n = out.shape[ro - 1],
                  k = ta.shape[ra - (trans_a ? 2 : 1)];
    const auto sa = ta.shape.strides(), sb = tb.shape.strides();
    const int64_t am = sa[ra - (trans_a ? 1 : 2)], ak = sa[ra - (trans_a ? 2 : 1)];
    const int64_t bk = sb[rb - (trans_b ? 1 : 2)], bn = sb[rb - (trans_b ? 2 : 1)];
    const int64_t batch = m * n != 0 ? out.shape.numel() / (m * n) : Dim(0);
    int64_t index[kMaxRank] = {};
    for (int64_t b = 0; b < batch; ++b) {
      int64_t oa = 0, ob = 0;
      for (int d = 0; d + 2 < ro; ++d) {
        const int da = d - (ro - ra), db = d - (ro - rb);
        if (da >= 0 && ta.shape[da] != 1) oa += index[d] * sa[da];
        if (db >= 0 && tb.shape[db] != 1) ob += index[d] * sb[db];
      }
      for_dtype(out.dtype, [&](auto z) {
        using T = decltype(z);
        const T *A = static_cast<const T*>(x[0]) + oa, *B = static_cast<const T*>(x[1]) + ob;
        T* C = static_cast<T*>(y) + b * m * n;
        for (int64_t i = 0; i < m; ++i)
          for (int64_t j = 0; j < n; ++j) {
            T acc = 0;
            for (int64_t p = 0; p < k; ++p)
              acc = static_cast<T>(acc + A[i * am + p * ak] * B[p * bk + j * bn]);
            C[i * n + j] = acc;
          }
      });
      for (int d = ro - 3; d >= 0; --d) {
        if (++index[d] < out.shape[d]) break;
        index[d] = 0;
      }
    }
  });
}
KERNEL(ref_dense) {
  const Type tx = r.in[0], tw = r.in[1];
  const bool bias = r.present[2];
  return fn_kernel([=](const void* const* x, void* y) {
    const int64_t k = tw.shape[1], n = tw.shape[0],
                  m = k ? tx.shape.numel() / k
                        : Shape(std::span(tx.shape.begin(), tx.shape.rank() - 1)).numel();
    for_dtype(tx.dtype, [&](auto z) {
      using T = decltype(z);
      const T *X = static_cast<const T*>(x[0]), *W = static_cast<const T*>(x[1]),
              *B = static_cast<const T*>(x[2]);
      for (int64_t i = 0; i < m; ++i)
        for (int64_t j = 0; j < n; ++j) {
          T acc = 0;
          for (int64_t p = 0; p < k; ++p) acc = static_cast<T>(acc + X[i * k + p] * W[j * k + p]);
          static_cast<T*>(y)[i * n + j] = bias ? static_cast<T>(acc + B[j]) : acc;
        }
    });
  });
}

struct ConvGeometry {
  Ints x, w, y;
  Ints stride, pad, dilation;
  int64_t group;
  // Calls f(flat y, flat x, flat w) for each product of the convolution, y outermost.
  template <class F>
  void each(F f) const {
    const int64_t cpg = w[1], opg = w[0] / group, height = x[2], width = x[3], rows = w[2],
                  columns = w[3];
    int64_t iy = 0;
    for (int64_t n = 0; n < y[0]; ++n)
      for (int64_t o = 0; o < y[1]; ++o)
        for (int64_t i = 0; i < y[2]; ++i)
          for (int64_t j = 0; j < y[3]; ++j, ++iy)
            for (int64_t c = 0; c < cpg; ++c) {
              const int64_t plane = (n * x[1] + (o / opg) * cpg + c) * height;
              for (int64_t a = 0; a < rows; ++a) {
                const int64_t h = i * stride[0] - pad[0] + a * dilation[0];
                if (h < 0 || h >= height) continue;
                for (int64_t b = 0; b < columns; ++b) {
                  const int64_t v = j * stride[1] - pad[2] + b * dilation[1];
                  if (v < 0 || v >= width) continue;
                  f(iy, (plane + h) * width + v, ((o * cpg + c) * rows + a) * columns + b);
                }
              }
            }
  }
};
ConvGeometry conv_geometry(const KernelRequest& r, const Shape& x, const Shape& w, const Shape& y) {
  const OpCtx c = r.ctx();
  auto sizes = [](const Shape& s) { return Ints(s.begin(), s.end()); };
  return {
      sizes(x),    sizes(w), sizes(y), c.numbers("stride"), c.numbers("pad"), c.numbers("dilation"),
      c.i("group")};
}
// Sums in double: the reference has no order of its own to defend.
template <class Pick>
std::unique_ptr<OpKernel> conv_kernel(const KernelRequest& r, ConvGeometry g, Pick pick) {
  const DType t = r.out.dtype;
  const int64_t sizes[] = {r.in[0].shape.numel(), r.in[1].shape.numel(), r.out.shape.numel()};
  const bool bias = r.present.size() > 2 && r.present[2];
  const int64_t channels = g.y[1], plane = std::max<int64_t>(g.y[2] * g.y[3], 1);
  return fn_kernel([=](const void* const* x, void* y) {
    PoolVector<double> first(sizes[0]), second(sizes[1]), sum(sizes[2]);
    for (int64_t i = 0; i < sizes[0]; ++i) first[i] = read(x[0], t, i);
    for (int64_t i = 0; i < sizes[1]; ++i) second[i] = read(x[1], t, i);
    g.each([&](int64_t iy, int64_t ix, int64_t iw) {
      pick(sum.data(), first.data(), second.data(), iy, ix, iw);
    });
    for (int64_t i = 0; i < sizes[2]; ++i)
      write(y, t, i, sum[i] + (bias ? read(x[2], t, i / plane % channels) : 0));
  });
}
KERNEL(ref_conv2d) {
  return conv_kernel(r, conv_geometry(r, r.in[0].shape, r.in[1].shape, r.out.shape),
                     [](double* sum, const double* x, const double* w, int64_t iy, int64_t ix,
                        int64_t iw) { sum[iy] += x[ix] * w[iw]; });
}
KERNEL(ref_conv2d_dx) {
  return conv_kernel(r, conv_geometry(r, r.out.shape, r.in[1].shape, r.in[0].shape),
                     [](double* sum, const double* y, const double* w, int64_t iy, int64_t ix,
                        int64_t iw) { sum[ix] += y[iy] * w[iw]; });
}
KERNEL(ref_conv2d_dw) {
  return conv_kernel(r, conv_geometry(r, r.in[0].shape, r.out.shape, r.in[1].shape),
                     [](double* sum, const double* x, const double* y, int64_t iy, int64_t ix,
                        int64_t iw) { sum[iw] += x[ix] * y[iy]; });
}

struct PoolGeometry {
  Ints x, y;
  Ints kernel, stride, pad;
  // Calls f(plane, flat y, h0, h1, w0, w1) per window, clipped to the input.
  template <class F>
  void each(F f) const {
    parallel_for(
        x[0] * x[1],
        std::max<int64_t>(1, 100000 / std::max<int64_t>(1, y[2] * y[3] * kernel[0] * kernel[1])),
        [&](int64_t b, int64_t e) {
          for (int64_t p = b; p < e; ++p)
            for (int64_t i = 0; i < y[2]; ++i)
              for (int64_t j = 0; j < y[3]; ++j) {
                const int64_t h = i * stride[0] - pad[0], w = j * stride[1] - pad[2];
                f(p, (p * y[2] + i) * y[3] + j, std::max<int64_t>(h, 0),
                  std::min(h + kernel[0], x[2]), std::max<int64_t>(w, 0),
                  std::min(w + kernel[1], x[3]));
              }
        });
  }
};
PoolGeometry pool_geometry(const KernelRequest& r, const Shape& x, const Shape& y) {
  return {x.numbers(), y.numbers(), r.ctx().numbers("kernel"), r.ctx().numbers("stride"),
          r.ctx().numbers("pad")};
}
// Flat place of the first maximum of a window; the first NaN wins.
template <class T>
int64_t window_max(const T* x, const PoolGeometry& g, int64_t p, int64_t h0, int64_t h1, int64_t w0,
                   int64_t w1) {
  const int64_t base = p * g.x[2] * g.x[3];
  int64_t at = base + h0 * g.x[3] + w0;
  for (int64_t h = h0; h < h1; ++h)
    for (int64_t w = w0; w < w1; ++w) {
      const int64_t k = base + h * g.x[3] + w;
      if (!(x[at] != x[at]) && (x[k] > x[at] || x[k] != x[k])) at = k;
    }
  return at;
}
template <class F>
std::unique_ptr<OpKernel> max_pool_kernel(const KernelRequest& r, const Shape& y, std::string* why,
                                          F f) {
  const PoolGeometry g = pool_geometry(r, r.in[0].shape, y);
  const DType t = r.in[0].dtype;
  const int64_t out_bytes = static_cast<int64_t>(r.out.bytes());
  return fn_kernel([=](const void* const* x, void* out) {
    for_dtype(t, [&](auto z) { f(g, z, x, out, out_bytes); });
  });
}
// Calls f(first flat y of an output row, values of the maxima, their flat places in x, width).
// Windows that no edge clips go position by position along the row, which the compiler vectorises.
template <class T, class F>
void each_max_row(const PoolGeometry& g, const T* x, F f) {
  const int64_t width = g.y[3], sw = g.stride[1];
  parallel_for(g.x[0] * g.x[1],
               std::max<int64_t>(
                   1, 16000 / std::max<int64_t>(1, g.y[2] * width * g.kernel[0] * g.kernel[1])),
               [&](int64_t b, int64_t e) {
                 PoolVector<T> best(width);
                 PoolVector<int32_t> at(width);  // relative to the plane
                 for (int64_t p = b; p < e; ++p)
                   for (int64_t i = 0; i < g.y[2]; ++i) {
                     const T* plane = x + p * g.x[2] * g.x[3];
                     T* bv = best.data();
                     int32_t* av = at.data();
                     // windows that the plane's left or right edge clips, one by one
                     const int64_t h = i * g.stride[0] - g.pad[0], h0 = std::max<int64_t>(h, 0),
                                   h1 = std::min(h + g.kernel[0], g.x[2]);
                     const int64_t left = std::min(width, (g.pad[2] + sw - 1) / sw);
                     const int64_t fit = g.x[3] + g.pad[2] - g.kernel[1];
                     const int64_t right =
                         std::max(left, fit < 0 ? 0 : std::min(width, fit / sw + 1));
                     auto clip = [&](int64_t from, int64_t to) {
                       for (int64_t j = from; j < to; ++j) {
                         const int64_t w = j * sw - g.pad[2];
                         const int64_t k = window_max(x, g, p, h0, h1, std::max<int64_t>(w, 0),
                                                      std::min(w + g.kernel[1], g.x[3]));
                         bv[j] = x[k];
                         av[j] = static_cast<int32_t>(k - (plane - x));
                       }
                     };
                     clip(0, left);
                     clip(right, width);
                     // the others position by position along the row
                     const int32_t start = static_cast<int32_t>(h0 * g.x[3] - g.pad[2]);
                     const T* first = plane + start;
                     for (int64_t j = left; j < right; ++j)
                       bv[j] = first[j * sw], av[j] = start + static_cast<int32_t>(j * sw);
                     for (int64_t kh = 0; kh < h1 - h0; ++kh)
                       for (int64_t kw = kh == 0 ? 1 : 0; kw < g.kernel[1]; ++kw) {
                         const int32_t off = static_cast<int32_t>(kh * g.x[3] + kw);
                         const T* src = first + off;
                         for (int64_t j = left; j < right; ++j) {
                           const T v = src[j * sw];
                           const bool take =
                               (v > bv[j]) | ((v != v) & (bv[j] == bv[j]));  // the first NaN wins
                           bv[j] = take ? v : bv[j];
                           av[j] = take ? start + static_cast<int32_t>(j * sw) + off : av[j];
                         }
                       }
                     f((p * g.y[2] + i) * width, bv, av, p * g.x[2] * g.x[3], width);
                   }
               });
}
KERNEL(ref_max_pool2d) {
  return max_pool_kernel(
      r, r.out.shape, why,
      [](const PoolGeometry& g, auto z, const void* const* x, void* out, int64_t) {
        using T = decltype(z);
        each_max_row(g, static_cast<const T*>(x[0]),
                     [&](int64_t y0, const T* best, const int32_t*, int64_t, int64_t n) {
                       std::copy_n(best, n, static_cast<T*>(out) + y0);
                     });
      });
}
KERNEL(ref_max_pool2d_dx) {
  return max_pool_kernel(
      r, r.in[1].shape, why,
      [](const PoolGeometry& g, auto z, const void* const* x, void* out, int64_t bytes) {
        using T = decltype(z);
        std::memset(out, 0, bytes);
        each_max_row(g, static_cast<const T*>(x[0]),
                     [&](int64_t y0, const T*, const int32_t* at, int64_t plane, int64_t n) {
                       const T* dy = static_cast<const T*>(x[1]) + y0;
                       T* d = static_cast<T*>(out) + plane;
                       for (int64_t j = 0; j < n; ++j) d[at[j]] = static_cast<T>(d[at[j]] + dy[j]);
                     });
      });
}
KERNEL(ref_max_pool2d_pick) {
  return max_pool_kernel(
      r, r.out.shape, why,
      [](const PoolGeometry& g, auto z, const void* const* x, void* out, int64_t) {
        using T = decltype(z);
        each_max_row(g, static_cast<const T*>(x[0]),
                     [&](int64_t y0, const T*, const int32_t* at, int64_t plane, int64_t n) {
                       for (int64_t j = 0; j < n; ++j)
                         static_cast<T*>(out)[y0 + j] = static_cast<const T*>(x[1])[plane + at[j]];
                     });
      });
}
KERNEL(ref_avg_pool2d) {
  const PoolGeometry g = pool_geometry(r, r.in[0].shape, r.out.shape);
  const bool count_pad = r.ctx().flag("count_pad");
  const DType t = r.out.dtype;
  return fn_kernel([=](const void* const* x, void* out) {
    g.each([&](int64_t p, int64_t iy, int64_t h0, int64_t h1, int64_t w0, int64_t w1) {
      double acc = 0;
      for (int64_t h = h0; h < h1; ++h)
        for (int64_t w = w0; w < w1; ++w) acc += read(x[0], t, (p * g.x[2] + h) * g.x[3] + w);
      write(out, t, iy,
            acc / static_cast<double>(count_pad ? g.kernel[0] * g.kernel[1]
                                                : std::max<int64_t>(1, (h1 - h0) * (w1 - w0))));
    });
  });
}
KERNEL(ref_avg_pool2d_dx) {
  const PoolGeometry g = pool_geometry(r, r.out.shape, r.in[0].shape);
  const size_t count = static_cast<size_t>(int64_t{r.out.shape.numel()});
  const bool count_pad = r.ctx().flag("count_pad");
  const DType t = r.out.dtype;
  return fn_kernel([=](const void* const* x, void* out) {
    PoolVector<double> acc(count);
    g.each([&](int64_t p, int64_t iy, int64_t h0, int64_t h1, int64_t w0, int64_t w1) {
      const double d = read(x[0], t, iy) /
                       static_cast<double>(count_pad ? g.kernel[0] * g.kernel[1]
                                                     : std::max<int64_t>(1, (h1 - h0) * (w1 - w0)));
      for (int64_t h = h0; h < h1; ++h)
        for (int64_t w = w0; w < w1; ++w) acc[(p * g.x[2] + h) * g.x[3] + w] += d;
    });
    for (size_t i = 0; i < acc.size(); ++i) write(out, t, static_cast<int64_t>(i), acc[i]);
  });
}

// --- random
// -----------------------------------------------------------------------------------------
void philox(uint32_t c[4], uint32_t k0, uint32_t k1) {
  for (int round = 0; round < 10; ++round) {
    const uint64_t a = 0xD2511F53ull * c[0], b = 0xCD9E8D57ull * c[2];
    const uint32_t n0 = static_cast<uint32_t>(b >> 32) ^ c[1] ^ k0,
                   n2 = static_cast<uint32_t>(a >> 32) ^ c[3] ^ k1;
    c[1] = static_cast<uint32_t>(b);
    c[3] = static_cast<uint32_t>(a);
    c[0] = n0;
    c[2] = n2;
    k0 += 0x9E3779B9u;
    k1 += 0xBB67AE85u;
  }
}
KERNEL(ref_random_bits) {
  const int64_t n = r.out.shape.numel();
  return fn_kernel([=](const void* const* x, void* y) {
    uint64_t state[2];
    std::memcpy(state, x[0], 16);
    uint32_t* out = static_cast<uint32_t*>(y);
    parallel_for((n + 3) / 4, 16384, [&](int64_t b, int64_t e) {
      for (int64_t i = b; i < e; ++i) {
        // counter words: block index (64 bits), draw counter (64 bits); key: seed
        uint32_t c[4] = {static_cast<uint32_t>(i),
                         static_cast<uint32_t>(static_cast<uint64_t>(i) >> 32),
                         static_cast<uint32_t>(state[1]), static_cast<uint32_t>(state[1] >> 32)};
        philox(c, static_cast<uint32_t>(state[0]), static_cast<uint32_t>(state[0] >> 32));
        for (int64_t j = 0; j < 4 && i * 4 + j < n; ++j) out[i * 4 + j] = c[j];
      }
    });
  });
}

}  // namespace

KernelFamily reference_kernels() {
  return {"reference",
          {{"transpose", ref_transpose},
           {"reshape", ref_reshape},
           {"slice", ref_slice},
           {"slice_update", ref_slice_update},
           {"pad", ref_pad},
           {"concat", ref_concat},
           {"arange", ref_arange},
           {"argmax", ref_argmax},
           {"argsort", ref_argsort},
           {"argmin", ref_argmin},
           {"cumsum", ref_cumsum},
           {"gather", ref_gather},
           {"index_add", ref_index_add},
           {"gather_d", ref_gather_d},
           {"scatter_d", ref_scatter_d},
           {"gather_nd", ref_gather_nd},
           {"scatter_nd", ref_scatter_nd},
           {"one_hot", ref_one_hot},
           {"require", ref_require},
           {"matmul", ref_matmul},
           {"dense", ref_dense},
           {"conv2d", ref_conv2d},
           {"conv2d_dx", ref_conv2d_dx},
           {"conv2d_dw", ref_conv2d_dw},
           {"max_pool2d", ref_max_pool2d},
           {"max_pool2d_dx", ref_max_pool2d_dx},
           {"max_pool2d_pick", ref_max_pool2d_pick},
           {"avg_pool2d", ref_avg_pool2d},
           {"avg_pool2d_dx", ref_avg_pool2d_dx},
           {"random_bits", ref_random_bits}},
          kReference};
}

}  // namespace pijit
