// Gather and scatter, rows of one, numbers by place, and sums of distances. Where places meet,
// updates are applied in the order of the indices: the places are sorted, stably, and a thread
// applies all updates of a place. An index out of range gives 0, or no update, and is reported when
// the host waits.
#include <algorithm>
#include <cstring>

#include "cuda/source_kernel.h"

namespace pijit::cuda {
namespace {

Gpu* gpu = nullptr;  // of this plug-in

std::string index_type(DType t) {
  return str_cat("typedef ", is_signed_int(t) ? "i" : "u", 8 * size_of(t), " I;\n");
}
constexpr const char* kGather = R"(
ENTRY(k) {
  const ix total = (ix)a.n[0], m = (ix)a.n[1], size = (ix)a.n[2], inner = (ix)a.n[3];
  const W* const x = (const W*)a.p[0];
  const I* const at = (const I*)a.p[1];
  for (ix i = (ix)blockIdx.x * 128 + threadIdx.x; i < total; i += (ix)gridDim.x * 128) {
    const ix j = i % inner, b = i / inner;
    const i64 c = pj_place(at[b % m], size, a.p[3], a.n[4]);
    ((W*)a.p[2])[i] = c < 0 ? (W)0 : x[(b / m * size + (ix)c) * inner + j];
  }
}
)";
KERNEL(gather) {
  NEED(size_of(r.out.dtype) <= 8, "elements of 16 bytes");
  const Axis x(r.in[0].shape, normalize_axis("gather", r.ctx().i("axis"), r.in[0].shape.rank()));
  const int64_t total = r.out.shape.numel();
  const bool wide = needs_wide(std::max<int64_t>(total, r.in[0].shape.numel()));
  auto k = std::make_shared<SourceKernel>(
      *gpu, "gather", 4, 5,
      index_type(r.in[1].dtype) + word_type(r.out.dtype, wide) + kPlace + kGather,
      std::vector<std::string>{"k"});
  const Ints n{total, r.in[1].shape.numel(), x.n, x.inner, gpu->error_name("gather")};
  return fn_kernel([k, n](const void* const* in, void* out) {
    k->run(0, n[0], {in[0], in[1], out, gpu->error_record()}, n);
  });
}

// Along an axis: numbers are the indices' shape, then the strides of x.
constexpr const char* kAlong = R"(
PJ ix pj_along(const pj_args& a, ix i, i64 index) {
  ix at = (ix)index * (ix)a.n[3 + RANK + AXIS];
  for (int d = RANK - 1; d >= 0; --d) {
    const ix c = i % (ix)a.n[3 + d];
    i /= (ix)a.n[3 + d];
    if (d != AXIS) at += c * (ix)a.n[3 + RANK + d];
  }
  return at;
}
)";
constexpr const char* kGatherD = R"(
ENTRY(k) {
  const ix total = (ix)a.n[0];
  for (ix i = (ix)blockIdx.x * 128 + threadIdx.x; i < total; i += (ix)gridDim.x * 128) {
    const i64 c = pj_place(((const I*)a.p[1])[i], a.n[1], a.p[3], a.n[2]);
    ((W*)a.p[2])[i] = c < 0 ? (W)0 : ((const W*)a.p[0])[pj_along(a, i, c)];
  }
}
)";
struct Along {
  int rank, axis;
  Ints numbers;
  std::string text;
  explicit Along(const KernelRequest& r) : rank(r.in[0].shape.rank()) {
    axis = normalize_axis(r.op.name, r.ctx().i("axis"), rank);
    const auto strides = r.in[0].shape.strides();
    numbers = {r.in[1].shape.numel(), r.in[0].shape[axis], gpu->error_name(r.op.name)};
    for (auto d : r.in[1].shape) numbers.push_back(d);
    numbers.insert(numbers.end(), strides.begin(), strides.begin() + rank);
    text = define("RANK", rank) + define("AXIS", axis) + kPlace + kAlong;
  }
};
KERNEL(gather_d) {
  NEED(size_of(r.out.dtype) <= 8, "elements of 16 bytes");
  NEED(r.in[0].shape.rank() > 0, "no axis");
  const Along along(r);
  const bool wide = needs_wide(std::max<int64_t>(r.out.shape.numel(), r.in[0].shape.numel()));
  auto k = std::make_shared<SourceKernel>(
      *gpu, "gather_d", 4, static_cast<int>(along.numbers.size()),
      index_type(r.in[1].dtype) + word_type(r.out.dtype, wide) + along.text + kGatherD,
      std::vector<std::string>{"k"});
  return fn_kernel([k, n = along.numbers](const void* const* in, void* out) {
    k->run(0, n[0], {in[0], in[1], out, gpu->error_record()}, n);
  });
}

// The block that coordinates b address; numbers from 3 on: the sizes that they address, then their
// strides.
constexpr const char* kCoordinates = R"(
PJ i64 pj_block(const pj_args& a, const I* at, void* error, ix b) {
  i64 of = 0;
  for (int d = 0; d < DIMS; ++d) {
    const i64 c = pj_place(at[b * DIMS + d], a.n[3 + d], error, a.n[2]);
    if (c < 0) return -1;
    of += c * a.n[3 + DIMS + d];
  }
  return of;
}
)";
constexpr const char* kGatherNd = R"(
ENTRY(k) {
  const ix total = (ix)a.n[0], block = (ix)a.n[1];
  for (ix i = (ix)blockIdx.x * 128 + threadIdx.x; i < total; i += (ix)gridDim.x * 128) {
    const i64 of = pj_block(a, (const I*)a.p[1], a.p[3], i / block);
    ((W*)a.p[2])[i] = of < 0 ? (W)0 : ((const W*)a.p[0])[(ix)of + i % block];
  }
}
)";
struct Coordinates {
  int64_t count = 1, block = 1;
  Ints numbers;  // from 3 on
  std::string text;
  explicit Coordinates(const KernelRequest& r) {
    const Shape &x = r.in[0].shape, &at = r.in[1].shape;
    const int k = static_cast<int>(int64_t{at[at.rank() - 1]});
    const auto strides = x.strides();
    for (int d = k; d < x.rank(); ++d) block *= x[d];
    for (int d = 0; d + 1 < at.rank(); ++d) count *= at[d];
    for (int d = 0; d < k; ++d) numbers.push_back(x[d]);
    numbers.insert(numbers.end(), strides.begin(), strides.begin() + k);
    text = define("DIMS", k) + kPlace + kCoordinates;
  }
};
KERNEL(gather_nd) {
  NEED(size_of(r.out.dtype) <= 8, "elements of 16 bytes");
  const Coordinates c(r);
  const bool wide = needs_wide(std::max<int64_t>(r.out.shape.numel(), r.in[0].shape.numel()));
  Ints n{c.count * c.block, c.block, gpu->error_name("gather_nd")};
  n.insert(n.end(), c.numbers.begin(), c.numbers.end());
  auto k = std::make_shared<SourceKernel>(
      *gpu, "gather_nd", 4, static_cast<int>(n.size()),
      index_type(r.in[1].dtype) + word_type(r.out.dtype, wide) + c.text + kGatherNd,
      std::vector<std::string>{"k"});
  return fn_kernel([k, n](const void* const* in, void* out) {
    k->run(0, n[0], {in[0], in[1], out, gpu->error_record()}, n);
  });
}

// --- Scatter: places of the updates' blocks; their order; updates in this order.

constexpr const char* kRowPlaces = R"(
ENTRY(places) {
  const ix total = (ix)a.n[0], m = (ix)a.n[1], inner = (ix)a.n[4];
  for (ix i = (ix)blockIdx.x * 128 + threadIdx.x; i < total; i += (ix)gridDim.x * 128) {
    const i64 c = pj_place(((const I*)a.p[0])[i % m], a.n[3], a.p[2], a.n[2]);
    ((i64*)a.p[1])[i] = c < 0 ? -1 : ((i64)(i / m) * a.n[3] + c) * inner;
  }
}
)";
constexpr const char* kAlongPlaces = R"(
ENTRY(places) {
  const ix total = (ix)a.n[0];
  for (ix i = (ix)blockIdx.x * 128 + threadIdx.x; i < total; i += (ix)gridDim.x * 128) {
    const i64 c = pj_place(((const I*)a.p[0])[i], a.n[1], a.p[2], a.n[2]);
    ((i64*)a.p[1])[i] = c < 0 ? -1 : (i64)pj_along(a, i, c);
  }
}
)";
constexpr const char* kBlockPlaces = R"(
ENTRY(places) {
  const ix total = (ix)a.n[0];
  for (ix i = (ix)blockIdx.x * 128 + threadIdx.x; i < total; i += (ix)gridDim.x * 128)
    ((i64*)a.p[1])[i] = pj_block(a, (const I*)a.p[0], a.p[2], i);
}
)";
// The thread of a place's first update applies all of them.
constexpr const char* kApply = R"(
ENTRY(k) {
  const ix count = (ix)a.n[0], block = (ix)a.n[1];
  const i64* const place = (const i64*)a.p[0];
  const ORDER* const order = (const ORDER*)a.p[1];
  const M* const u = (const M*)a.p[2];
  M* const y = (M*)a.p[3];
  for (ix i = (ix)blockIdx.x * 128 + threadIdx.x; i < count * block;
       i += (ix)gridDim.x * 128) {
    const ix j = i % block;
    ix k = i / block;
    const i64 p = place[order[k]];
    if (p < 0 || (k > 0 && place[order[k - 1]] == p)) continue;
    M value = y[p + j];
    for (; k < count && place[order[k]] == p; ++k) {
      const T b = LOAD(u[(i64)order[k] * block + j]), a = LOAD(value);
      value = STORE(APPLY);
    }
    y[p + j] = value;
  }
}
)";

// What a mode makes of a, which is there, and b.
std::string applied(const std::string& mode, DType t) {
  if (mode == "update") return "b";
  if (is_bool(t)) return mode == "mul" || mode == "min" ? "(a & b)" : "(a | b)";
  if (mode == "add") return "pj_sum<T>(a, b)";
  if (mode == "sub") return is_float(t) ? "(a - b)" : "(T)((u64)a - (u64)b)";
  if (mode == "mul") return "pj_prod<T>(a, b)";
  if (mode == "max") return "(a > b ? a : b)";
  if (mode == "min") return "(a < b ? a : b)";
  if (is_float(t)) return "(a / b)";
  const char* wraps = is_signed_int(t) ? " : b == (T)-1 ? (T)(0 - (u64)a)" : "";
  return str_cat("(b == 0 ? (T)0", wraps, " : (T)(a / b))");
}

// `places`: text of the entry, with its numbers; the updates are `count` blocks.
std::unique_ptr<OpKernel> scatter(const KernelRequest& r, const std::string& places, Ints numbers,
                                  int64_t count, int64_t block, const std::string& mode) {
  const bool wide = needs_wide(std::max<int64_t>(r.out.shape.numel(), r.in[2].shape.numel()));
  auto find = std::make_shared<SourceKernel>(
      *gpu, r.op.name, 3, static_cast<int>(numbers.size()),
      index_type(r.in[1].dtype) + element_types(r.out.dtype, wide) + places,
      std::vector<std::string>{"places"});
  auto sort = std::make_shared<Sort>(*gpu, r.op.name, DType::I64, false, 1, count);
  auto apply = std::make_shared<SourceKernel>(
      *gpu, r.op.name, 4, 2,
      str_cat(element_types(r.out.dtype, wide), "#define ORDER ", needs_wide(count) ? "i64" : "i32",
              "\n#define APPLY ", applied(mode, r.out.dtype), "\n", kApply),
      std::vector<std::string>{"k"});
  return fn_kernel([=, bytes = r.out.bytes()](const void* const* in, void* out) {
    gpu->copy(out, in[0], bytes);
    if (count == 0 || block == 0) return;
    const DeviceBlock place(*gpu, static_cast<size_t>(count) * 8);
    find->run(0, count, {in[1], place.p, gpu->error_record()}, numbers);
    const Sort::Order order = sort->run(place.p, 1);
    apply->run(0, count * block, {place.p, order.p, in[2], out}, {count, block});
  });
}
KERNEL(index_add) {
  NEED(!is_complex(r.out.dtype), "complex numbers");
  const Axis x(r.in[0].shape, normalize_axis("index_add", r.ctx().i("axis"), r.in[0].shape.rank()));
  const int64_t m = r.in[1].shape.numel();
  return scatter(r, std::string(kPlace) + kRowPlaces,
                 {x.outer * m, m, gpu->error_name("index_add"), x.n, x.inner}, x.outer * m, x.inner,
                 "add");
}
// A thread applies all updates of a line, in order: only they can meet.
constexpr const char* kLines = R"(
ENTRY(k) {
  const ix lines = (ix)(a.n[0] / COUNT), inner = (ix)a.n[INNER];
  const M* const u = (const M*)a.p[1];
  M* const y = (M*)a.p[2];
  EACH(line, lines) {
    const ix first = line / inner * COUNT * inner + line % inner;
    for (int j = 0; j < COUNT; ++j) {
      const ix i = first + j * inner;
      const i64 c = pj_place(((const I*)a.p[0])[i], a.n[1], a.p[3], a.n[2]);
      if (c < 0) continue;
      M* const at = y + pj_along(a, i, c);
      const T b = LOAD(u[i]), a = LOAD(*at);
      *at = STORE(APPLY);
    }
  }
}
)";
constexpr int64_t kFewUpdates = 16;  // of a line; more are sorted by place
KERNEL(scatter_d) {
  NEED(!is_complex(r.out.dtype) && r.in[0].shape.rank() > 0, "complex numbers, or no axis");
  const Along along(r);
  if (const Axis at(r.in[1].shape, along.axis); at.n > 0 && at.n <= kFewUpdates) {
    Ints n = along.numbers;
    n.push_back(at.inner);
    const bool wide = needs_wide(std::max<int64_t>(r.out.shape.numel(), r.in[2].shape.numel()));
    auto apply = std::make_shared<SourceKernel>(
        *gpu, r.op.name, 4, static_cast<int>(n.size()),
        str_cat(index_type(r.in[1].dtype), element_types(r.out.dtype, wide), along.text,
                define("COUNT", at.n), define("INNER", static_cast<int64_t>(n.size()) - 1),
                "#define APPLY ", applied(r.ctx().s("mode"), r.out.dtype), "\n", kLines),
        std::vector<std::string>{"k"});
    return fn_kernel(
        [apply, n, bytes = r.out.bytes(), lines = n[0] / at.n](const void* const* in, void* out) {
          gpu->copy(out, in[0], bytes);
          apply->run(0, lines, {in[1], in[2], out, gpu->error_record()}, n);
        });
  }
  return scatter(r, along.text + kAlongPlaces, along.numbers, along.numbers[0], 1,
                 r.ctx().s("mode"));
}
KERNEL(scatter_nd) {
  NEED(!is_complex(r.out.dtype), "complex numbers");
  const Coordinates c(r);
  Ints n{c.count, c.block, gpu->error_name("scatter_nd")};
  n.insert(n.end(), c.numbers.begin(), c.numbers.end());
  return scatter(r, c.text + kBlockPlaces, n, c.count, c.block, r.ctx().s("mode"));
}

// --- By place alone

constexpr const char* kOneHot = R"(
ENTRY(k) {
  const ix total = (ix)a.n[0], depth = (ix)a.n[1];
  for (ix i = (ix)blockIdx.x * 128 + threadIdx.x; i < total; i += (ix)gridDim.x * 128)
    ((W*)a.p[1])[i] = (W)((i64)((const I*)a.p[0])[i / depth] == (i64)(i % depth) ? a.n[2] : a.n[3]);
}
)";
KERNEL(one_hot) {
  NEED(size_of(r.out.dtype) <= 8 && !is_complex(r.out.dtype), "complex numbers");
  const DType t = r.out.dtype;
  const int64_t total = r.out.shape.numel();
  auto k = std::make_shared<SourceKernel>(
      *gpu, "one_hot", 2, 4, index_type(r.in[0].dtype) + word_type(t, needs_wide(total)) + kOneHot,
      std::vector<std::string>{"k"});
  const Ints n{total, r.ctx().i("depth"), static_cast<int64_t>(bits_of(t, r.ctx().f("on"))),
               static_cast<int64_t>(bits_of(t, r.ctx().f("off")))};
  return fn_kernel([k, n](const void* const* in, void* out) { k->run(0, n[0], {in[0], out}, n); });
}

constexpr const char* kArange = R"(
ENTRY(k) {
  const ix total = (ix)a.n[0];
  const f64 start = pj_bits<f64>(a.n[1]), step = pj_bits<f64>(a.n[2]);
  for (ix i = (ix)blockIdx.x * 128 + threadIdx.x; i < total; i += (ix)gridDim.x * 128) {
    const f64 v = start + (f64)i * step;
    ((M*)a.p[0])[i] = STORE(CONVERT);
  }
}
)";
KERNEL(arange) {
  const DType t = r.out.dtype;
  NEED(!is_complex(t), "complex numbers");
  const int64_t total = r.out.shape.numel();
  const char* convert = is_bool(t) ? "(v != 0)" : is_float(t) ? "(T)v" : "pj_to_i64(v)";
  auto k = std::make_shared<SourceKernel>(
      *gpu, "arange", 1, 3,
      element_types(t, needs_wide(total)) + "#define CONVERT " + convert + "\n" + kArange,
      std::vector<std::string>{"k"});
  auto bits = [](double v) { return static_cast<int64_t>(bits_of(DType::F64, v)); };
  const Ints n{total, bits(r.ctx().f("start")), bits(r.ctx().f("step"))};
  return fn_kernel([k, n](const void* const*, void* out) { k->run(0, n[0], {out}, n); });
}

// Philox4x32-10: four numbers of each counter.
constexpr const char* kRandomBits = R"(
ENTRY(k) {
  const i64 total = a.n[0];
  const u64 seed = ((const u64*)a.p[0])[0], draw = ((const u64*)a.p[0])[1];
  u32* const y = (u32*)a.p[1];
  for (i64 i = (i64)blockIdx.x * 128 + threadIdx.x; i * 4 < total; i += (i64)gridDim.x * 128) {
    u32 c0 = (u32)i, c1 = (u32)((u64)i >> 32), c2 = (u32)draw, c3 = (u32)(draw >> 32);
    u32 k0 = (u32)seed, k1 = (u32)(seed >> 32);
    for (int round = 0; round < 10; ++round) {
      const u64 p = 0xD2511F53ull * c0, q = 0xCD9E8D57ull * c2;
      c0 = (u32)(q >> 32) ^ c1 ^ k0;
      c1 = (u32)q;
      c2 = (u32)(p >> 32) ^ c3 ^ k1;
      c3 = (u32)p;
      k0 += 0x9E3779B9u;
      k1 += 0xBB67AE85u;
    }
    const u32 c[4] = {c0, c1, c2, c3};
    for (int j = 0; j < 4 && i * 4 + j < total; ++j) y[i * 4 + j] = c[j];
  }
}
)";
KERNEL(random_bits) {
  auto k = std::make_shared<SourceKernel>(*gpu, "random_bits", 2, 1, kRandomBits,
                                          std::vector<std::string>{"k"});
  const int64_t n = r.out.shape.numel();
  return fn_kernel([k, n](const void* const* in, void* out) {
    k->run(0, (n + 3) / 4, {in[0], out}, {n});
  });
}

// Terms in 16 lanes that fold by halves, as the CPU adds them. n: total, p, q, m.
constexpr const char* kDistances = R"(
ENTRY(k) {
  const ix total = (ix)a.n[0], p = (ix)a.n[1], q = (ix)a.n[2], m = (ix)a.n[3];
  for (ix i = (ix)blockIdx.x * 128 + threadIdx.x; i < total; i += (ix)gridDim.x * 128) {
    const T* const x = (const T*)a.p[0] + i / q * m;
    const T* const y = (const T*)a.p[1] + (i / q / p * q + i % q) * m;
    T lane[16] = {};
    for (ix k = 0; k < m; k += 16)
      for (int l = 0; l < 16; ++l) {
        if (k + l >= m) break;
        const T d = x[k + l] - y[k + l];
        lane[l] += SQUARES ? d * d : pj_fabs(d);
      }
    for (int h = 8; h > 0; h /= 2)
      for (int l = 0; l < h; ++l) lane[l] += lane[l + h];
    ((T*)a.p[2])[i] = lane[0];
  }
}
)";
KERNEL(distance_sums) {
  const Shape& y = r.out.shape;
  const int rank = y.rank();
  const int64_t total = y.numel();
  auto k = std::make_shared<SourceKernel>(
      *gpu, r.op.name, 3, 4,
      element_types(r.out.dtype, needs_wide(std::max<int64_t>(
                                     total, r.in[0].shape.numel() + r.in[1].shape.numel()))) +
          define("SQUARES", r.ctx().flag("squares")) + kDistances,
      std::vector<std::string>{"k"});
  const Ints n{total, y[rank - 2], y[rank - 1], r.in[0].shape[rank - 1]};
  return fn_kernel([k, n](const void* const* in, void* out) {
    k->run(0, n[0], {in[0], in[1], out}, n);
  });
}

}  // namespace

void register_indexed(Gpu& g) {
  gpu = &g;
  const std::pair<const char*, KernelFactory> all[] = {
      {"gather", gather},           {"gather_d", gather_d},
      {"gather_nd", gather_nd},     {"index_add", index_add},
      {"scatter_d", scatter_d},     {"scatter_nd", scatter_nd},
      {"one_hot", one_hot},         {"arange", arange},
      {"random_bits", random_bits}, {"distance_sums", distance_sums}};
  for (auto& [name, make] : all) g.kernels.add(name, {"cuda", make});
}

}  // namespace pijit::cuda
