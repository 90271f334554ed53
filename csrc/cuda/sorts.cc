// Sorts, scans, and places of extrema. A sort ranks the elements of chunks and merges chunks pair
// by pair: each element finds its place by a binary search in the other chunk, so that the result
// depends on the keys alone.
#include <algorithm>

#include "cuda/source_kernel.h"

namespace pijit::cuda {
namespace {

Gpu* gpu = nullptr;  // of this plug-in

// n: lines, n, inner | width. BEFORE(a, b): a is smaller, or greater where the order is descending.
constexpr const char* kSort = R"(
PJ bool pj_before(T a, ix i, T b, ix j) {
  if (BEFORE(a, b)) return true;
  if (BEFORE(b, a)) return false;
  return i < j;
}
ENTRY(chunks) {
  __shared__ T keys[128];
  const ix lines = (ix)a.n[0], n = (ix)a.n[1], inner = (ix)a.n[2];
  const ix chunks = (n + 127) / 128, t = (ix)threadIdx.x;
  for (ix b = blockIdx.x; b < lines * chunks; b += gridDim.x) {
    const ix line = b / chunks, first = b % chunks * 128, i = first + t;
    const ix left = n - first < 128 ? n - first : 128;
    T key = 0;
    if (t < left)
      key = LOAD(((const M*)a.p[0])[line / inner * n * inner + line % inner + i * inner]);
    keys[t] = key;
    __syncthreads();
    if (t < left) {
      ix rank = 0;
      for (ix k = 0; k < left; ++k) rank += pj_before(keys[k], k, key, t);
      ((T*)a.p[1])[line * n + first + rank] = key;
      ((ix*)a.p[2])[line * n + first + rank] = i;
    }
    __syncthreads();
  }
}
ENTRY(merge) {
  const ix n = (ix)a.n[1], total = (ix)a.n[0] * n, width = (ix)a.n[3];
  for (ix i = (ix)blockIdx.x * 128 + threadIdx.x; i < total; i += (ix)gridDim.x * 128) {
    const ix line = i / n * n, e = i % n, own = e / width * width, pair = e / width / 2 * width * 2;
    const T* const keys = (const T*)a.p[0] + line;
    const ix* const at = (const ix*)a.p[1] + line;
    ix low = own == pair ? own + width : pair;
    ix high = own == pair ? low + width : own;
    if (low > n) low = n;
    if (high > n) high = n;
    const ix first = low;
    while (low < high) {
      const ix middle = low + (high - low) / 2;
      if (pj_before(keys[middle], at[middle], keys[e], at[e]))
        low = middle + 1;
      else
        high = middle;
    }
    const ix to = line + pair + (e - own) + (low - first);
    ((T*)a.p[2])[to] = keys[e];
    ((ix*)a.p[3])[to] = at[e];
  }
}
)";
// The first k places of each line: n: lines, n, inner, k.
constexpr const char* kFirst = R"(
ENTRY(first) {
  const ix n = (ix)a.n[1], inner = (ix)a.n[2], k = (ix)a.n[3], total = (ix)a.n[0] * k;
  for (ix i = (ix)blockIdx.x * 128 + threadIdx.x; i < total; i += (ix)gridDim.x * 128) {
    const ix j = i % inner, e = i / inner % k, o = i / inner / k;
    ((i64*)a.p[1])[i] = (i64)((const ix*)a.p[0])[(o * inner + j) * n + e];
  }
}
)";
std::string before(DType t, bool descending) {
  if (!is_float(t))
    return descending ? "#define BEFORE(a, b) (a > b)\n" : "#define BEFORE(a, b) (a < b)\n";
  return descending ? "#define BEFORE(a, b) (a > b || (a != a && b == b))\n"
                    : "#define BEFORE(a, b) (a < b || (b != b && a == a))\n";
}

}  // namespace

Sort::Sort(Gpu& g, const std::string& op, DType t, bool descending, int64_t lines, int64_t n)
    : lines_(lines),
      n_(n),
      key_(is_half(t) ? 4 : size_of(t)),
      place_(needs_wide(lines * n) ? 8 : 4),
      kernels_(g, op, 4, 4, element_types(t, needs_wide(lines * n)) + before(t, descending) + kSort,
               {"chunks", "merge"}) {}

Sort::Order Sort::run(const void* x, int64_t inner) const {
  Order r;
  const auto total = static_cast<size_t>(lines_ * n_);
  void *keys[2], *places[2];
  for (int k : {0, 1}) {
    r.memory.push_back(std::make_unique<DeviceBlock>(kernels_.gpu(), total * key_));
    keys[k] = r.memory.back()->p;
    r.memory.push_back(std::make_unique<DeviceBlock>(kernels_.gpu(), total * place_));
    places[k] = r.memory.back()->p;
  }
  const int64_t chunks = (n_ + kThreads - 1) / kThreads;
  kernels_.run(0, lines_ * chunks * kThreads, {x, keys[0], places[0]}, {lines_, n_, inner});
  int at = 0;
  for (int64_t width = kThreads; width < n_; width *= 2, at = 1 - at)
    kernels_.run(1, lines_ * n_, {keys[at], places[at], keys[1 - at], places[1 - at]},
                 {lines_, n_, inner, width});
  r.p = places[at];
  return r;
}

namespace {

std::unique_ptr<OpKernel> first_in_order(const KernelRequest& r, bool descending, int64_t k) {
  const Axis x(r.in[0].shape, normalize_axis(r.op.name, r.ctx().i("axis"), r.in[0].shape.rank()));
  const int64_t lines = x.outer * x.inner;
  auto sort = std::make_shared<Sort>(*gpu, r.op.name, r.in[0].dtype, descending, lines, x.n);
  auto store = std::make_shared<SourceKernel>(
      *gpu, r.op.name, 2, 4, word_type(DType::I64, needs_wide(lines * x.n)) + kFirst,
      std::vector<std::string>{"first"});
  return fn_kernel([=](const void* const* in, void* out) {
    if (lines * k == 0) return;
    const Sort::Order order = sort->run(in[0], x.inner);
    store->run(0, lines * k, {order.p, out}, {lines, x.n, x.inner, k});
  });
}
KERNEL(argsort) {
  NEED(!is_complex(r.in[0].dtype) && r.in[0].shape.rank() > 0, "complex numbers, or no axis");
  const int axis = normalize_axis(r.op.name, r.ctx().i("axis"), r.in[0].shape.rank());
  return first_in_order(r, r.ctx().flag("descending"), r.in[0].shape[axis]);
}
KERNEL(topk) {
  NEED(!is_complex(r.in[0].dtype) && r.in[0].shape.rank() > 0, "complex numbers, or no axis");
  return first_in_order(r, r.ctx().flag("largest"), r.ctx().i("k"));
}

// Sums of chunks, then of the chunks before each, then within: the order depends on sizes alone.
// n: lines, n, inner, chunks.
constexpr const char* kScan = R"(
#define PLACE(i) (line / inner * n * inner + line % inner + (REVERSE ? n - 1 - (i)  : (i)) * inner)
ENTRY(sums) {
  const ix n = (ix)a.n[1], inner = (ix)a.n[2], chunks = (ix)a.n[3], total = (ix)a.n[0] * chunks;
  for (ix b = (ix)blockIdx.x * 128 + threadIdx.x; b < total; b += (ix)gridDim.x * 128) {
    const ix line = b / chunks, first = b % chunks * CHUNK;
    const ix end = n - first < CHUNK ? n : first + CHUNK;
    T sum = 0;
    for (ix i = first; i < end; ++i) sum = pj_sum<T>(sum, LOAD(((const M*)a.p[0])[PLACE(i)]));
    ((T*)a.p[2])[b] = sum;
  }
}
ENTRY(before) {
  const ix lines = (ix)a.n[0], chunks = (ix)a.n[3];
  for (ix line = (ix)blockIdx.x * 128 + threadIdx.x; line < lines; line += (ix)gridDim.x * 128) {
    T* const part = (T*)a.p[2] + line * chunks;
    T sum = 0;
    for (ix c = 0; c < chunks; ++c) {
      const T own = part[c];
      part[c] = sum;
      sum = pj_sum<T>(sum, own);
    }
  }
}
ENTRY(within) {
  const ix n = (ix)a.n[1], inner = (ix)a.n[2], chunks = (ix)a.n[3], total = (ix)a.n[0] * chunks;
  for (ix b = (ix)blockIdx.x * 128 + threadIdx.x; b < total; b += (ix)gridDim.x * 128) {
    const ix line = b / chunks, first = b % chunks * CHUNK;
    const ix end = n - first < CHUNK ? n : first + CHUNK;
    T sum = chunks > 1 ? ((const T*)a.p[2])[b] : (T)0;
    for (ix i = first; i < end; ++i) {
      sum = pj_sum<T>(sum, LOAD(((const M*)a.p[0])[PLACE(i)]));
      ((M*)a.p[1])[PLACE(i)] = STORE(sum);
    }
  }
}
)";
KERNEL(cumsum) {
  NEED(!is_complex(r.out.dtype) && r.out.shape.rank() > 0, "complex numbers, or no axis");
  constexpr int64_t kScanChunk = 512;
  const Axis x(r.out.shape, normalize_axis("cumsum", r.ctx().i("axis"), r.out.shape.rank()));
  const int64_t lines = x.outer * x.inner, chunks = (x.n + kScanChunk - 1) / kScanChunk;
  auto k = std::make_shared<SourceKernel>(*gpu, "cumsum", 3, 4,
                                          element_types(r.out.dtype, needs_wide(lines * x.n)) +
                                              define("REVERSE", r.ctx().flag("reverse")) +
                                              define("CHUNK", kScanChunk) + kScan,
                                          std::vector<std::string>{"sums", "before", "within"});
  const size_t part = chunks > 1 ? static_cast<size_t>(lines * chunks) * 8 : 0;
  const Ints n{lines, x.n, x.inner, chunks};
  return fn_kernel([=](const void* const* in, void* out) {
    const DeviceBlock sums(*gpu, part);
    if (chunks > 1) {
      k->run(0, lines * chunks, {in[0], out, sums.p}, n);
      k->run(1, lines, {in[0], out, sums.p}, n);
    }
    k->run(2, lines * chunks, {in[0], out, sums.p}, n);
  });
}

// The place of the first extremum, or of the first NaN: 32 threads a chunk of a line, then a thread
// a line. n: lines, n, inner, chunks.
constexpr const char* kArg = R"(
// Does v at i come before best at j?
PJ bool pj_better(T v, ix i, T best, ix j) {
  if (v != v || best != best) return best == best || (v != v && i < j);
  if (v == best) return i < j;
  return MAXIMUM ? v > best : v < best;
}
ENTRY(chunks) {
  const ix n = (ix)a.n[1], inner = (ix)a.n[2], chunks = (ix)a.n[3], total = (ix)a.n[0] * chunks;
  const int t = threadIdx.x % 32;
  for (ix b0 = (ix)blockIdx.x * 4; b0 < total; b0 += (ix)gridDim.x * 4) {
    const ix own = b0 + threadIdx.x / 32, b = own < total ? own : total - 1;
    const ix line = b / chunks, first = b % chunks * CHUNK;
    const ix end = n - first < CHUNK ? n : first + CHUNK;
    const M* const x = (const M*)a.p[0] + line / inner * n * inner + line % inner;
    ix at = first + t < end ? first + t : first;
    T best = LOAD(x[at * inner]);
    for (ix i = first + t + 32; i < end; i += 32) {
      const T v = LOAD(x[i * inner]);
      if (pj_better(v, i, best, at)) best = v, at = i;
    }
    for (int h = 16; h > 0; h /= 2) {
      const T v = pj_down(best, h, 32);
      const ix i = pj_down(at, h, 32);
      if (pj_better(v, i, best, at)) best = v, at = i;
    }
    if (t == 0 && own < total) {
      if (chunks == 1)
        ((i64*)a.p[1])[b] = at;
      else
        ((ix*)a.p[2])[b] = at;
    }
  }
}
ENTRY(fold) {
  const ix lines = (ix)a.n[0], n = (ix)a.n[1], inner = (ix)a.n[2], chunks = (ix)a.n[3];
  for (ix line = (ix)blockIdx.x * 128 + threadIdx.x; line < lines; line += (ix)gridDim.x * 128) {
    const M* const x = (const M*)a.p[0] + line / inner * n * inner + line % inner;
    const ix* const part = (const ix*)a.p[2] + line * chunks;
    ix at = part[0];
    T best = LOAD(x[at * inner]);
    for (ix c = 1; c < chunks; ++c) {
      const T v = LOAD(x[part[c] * inner]);
      if (pj_better(v, part[c], best, at)) best = v, at = part[c];
    }
    ((i64*)a.p[1])[line] = at;
  }
}
)";
std::unique_ptr<OpKernel> arg_extremum(const KernelRequest& r, std::string* why, bool maximum) {
  NEED(!is_complex(r.in[0].dtype), "complex numbers");
  const Axis x(r.in[0].shape, normalize_axis(r.op.name, r.ctx().i("axis"), r.in[0].shape.rank()));
  constexpr int64_t kArgChunk = 4096;
  const int64_t lines = x.outer * x.inner, chunks = (x.n + kArgChunk - 1) / kArgChunk;
  const bool wide = needs_wide(lines * x.n);
  auto k = std::make_shared<SourceKernel>(*gpu, r.op.name, 3, 4,
                                          element_types(r.in[0].dtype, wide) +
                                              define("MAXIMUM", maximum) +
                                              define("CHUNK", kArgChunk) + kArg,
                                          std::vector<std::string>{"chunks", "fold"});
  const size_t part = chunks > 1 ? static_cast<size_t>(lines * chunks) * (wide ? 8 : 4) : 0;
  const Ints n{lines, x.n, x.inner, chunks};
  return fn_kernel([=](const void* const* in, void* out) {
    const DeviceBlock places(*gpu, part);
    k->run(0, lines * chunks * 32, {in[0], out, places.p}, n);
    if (chunks > 1) k->run(1, lines, {in[0], out, places.p}, n);
  });
}
KERNEL(argmax) { return arg_extremum(r, why, true); }
KERNEL(argmin) { return arg_extremum(r, why, false); }

}  // namespace

void register_sorts(Gpu& g) {
  gpu = &g;
  const std::pair<const char*, KernelFactory> all[] = {{"argsort", argsort},
                                                       {"topk", topk},
                                                       {"cumsum", cumsum},
                                                       {"argmax", argmax},
                                                       {"argmin", argmin}};
  for (auto& [name, make] : all) g.kernels.add(name, {"cuda", make});
}

}  // namespace pijit::cuda
