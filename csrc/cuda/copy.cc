// What moves elements without computing: loops over strided operands; where the element that comes
// next in the result lies far away in the operand, tiles in shared memory, so that reads and writes
// both go along rows.
#include <algorithm>

#include "cuda/source_kernel.h"

namespace pijit::cuda {
namespace {

Gpu* gpu = nullptr;  // of this plug-in

// Bits are moved as unsigned numbers.
DType word(DType t) {
  switch (size_of(t)) {
    case 1: return DType::U8;
    case 2: return DType::U16;
    case 4: return DType::U32;
    default: return DType::U64;
  }
}
Ints strides_of(const Shape& s) {
  const auto all = s.strides();
  return {all.begin(), all.begin() + s.rank()};
}

constexpr int64_t kTile = 32;
constexpr const char* kTiles = R"(
ENTRY(k) {
  __shared__ W tile[32][33];
  const i64* const dims = a.n + 2;
  const i64* const from = dims + RANK;
  const i64* const to = from + RANK;
  const W* const x = (const W*)a.p[0] + a.n[0];
  W* const y = (W*)a.p[1] + a.n[1];
  const ix across = (ix)((dims[AXIS] + 31) / 32), along = (ix)((dims[RANK - 1] + 31) / 32);
  ix blocks = across * along;
  for (int d = 0; d < RANK - 1; ++d)
    if (d != AXIS) blocks *= (ix)dims[d];
  const int low = threadIdx.x % 32, high = threadIdx.x / 32;
  for (ix b = blockIdx.x; b < blocks; b += gridDim.x) {
    const ix j = b % along * 32, i = b / along % across * 32;
    ix rest = b / along / across, of = 0, at = 0;
    for (int d = RANK - 2; d >= 0; --d) {
      if (d == AXIS) continue;
      const ix c = rest % (ix)dims[d];
      rest /= (ix)dims[d];
      of += c * (ix)from[d];
      at += c * (ix)to[d];
    }
    for (int r = high; r < 32; r += 4)
      if (i + low < dims[AXIS] && j + r < dims[RANK - 1])
        tile[r][low] = x[of + (i + low) * (ix)from[AXIS] + (j + r) * (ix)from[RANK - 1]];
    __syncthreads();
    for (int r = high; r < 32; r += 4)
      if (i + r < dims[AXIS] && j + low < dims[RANK - 1])
        y[at + (i + r) * (ix)to[AXIS] + (j + low) * (ix)to[RANK - 1]] = tile[low][r];
    __syncthreads();
  }
}
)";

// y[to of c] = x[from of c] for all coordinates c of dims.
std::shared_ptr<Kernel> strided_copy(DType t, const Ints& dims, const Ints& from, int64_t of,
                                     const Ints& to, int64_t at) {
  LoopSpec s;
  s.dims = dims;
  s.in = {{word(t), from, of}};
  LoopOutput o;
  o.dt = word(t);
  o.strides = to;
  o.offset = at;
  o.node = 0;
  s.out = {o};
  s.body = {{SOp::kInput, word(t), -1, -1, -1, 0}};
  if (s.dims.empty()) s.dims = {1}, s.in[0].strides = {0}, s.out[0].strides = {1};
  s.collapse();
  const int rank = static_cast<int>(s.dims.size());
  const Ints &ss = s.in[0].strides, &ds = s.out[0].strides;
  int axis = -1;  // that lies side by side in the operand
  for (int d = 0; d + 1 < rank; ++d)
    if (ss[d] == 1 && s.dims[d] >= kTile / 2) axis = d;
  if (axis < 0 || ss[rank - 1] == 1 || ds[rank - 1] != 1 || s.dims[rank - 1] < kTile / 2)
    return gpu->make_loop(std::move(s));

  int64_t reach = of + at + 1, blocks = 1;
  for (int d = 0; d < rank; ++d) {
    reach += (std::abs(ss[d]) + std::abs(ds[d])) * s.dims[d];
    blocks *= d == axis || d == rank - 1 ? (s.dims[d] + kTile - 1) / kTile : s.dims[d];
  }
  auto kernel = std::make_shared<SourceKernel>(
      *gpu, "a transposition", 2, 2 + 3 * rank,
      word_type(t, needs_wide(reach)) + define("RANK", rank) + define("AXIS", axis) + kTiles,
      std::vector<std::string>{"k"});
  Ints numbers{of, at};
  for (auto* list : {&s.dims, &s.in[0].strides, &s.out[0].strides})
    numbers.insert(numbers.end(), list->begin(), list->end());
  class Tiles : public Kernel {
   public:
    Tiles(std::shared_ptr<SourceKernel> k, int64_t blocks, Ints numbers)
        : kernel_(std::move(k)), blocks_(blocks), numbers_(std::move(numbers)) {}
    void launch(const void* const* in, void* const* out) override {
      kernel_->run(0, blocks_ * kThreads, {in[0], out[0]}, numbers_);
    }

   private:
    const std::shared_ptr<SourceKernel> kernel_;
    const int64_t blocks_;
    const Ints numbers_;
  };
  return std::make_shared<Tiles>(std::move(kernel), blocks, std::move(numbers));
}

// Every element the same bits.
std::shared_ptr<Kernel> fill(DType t, int64_t n, uint64_t bits) {
  LoopSpec s;
  s.dims = {n};
  SBuilder sb;
  LoopOutput o;
  o.dt = word(t);
  o.strides = {1};
  o.node = sb.bits(word(t), bits).id;
  s.out = {o};
  s.body = sb.nodes;
  return gpu->make_loop(std::move(s));
}

constexpr const char* kTooLarge = "elements of 16 bytes";

std::unique_ptr<OpKernel> of_one(std::shared_ptr<Kernel> k) {
  return fn_kernel([k](const void* const* in, void* out) { k->launch(in, &out); });
}

KERNEL(transpose) {
  NEED(size_of(r.out.dtype) <= 8, kTooLarge);
  const Ints perm = r.ctx().numbers("perm"), in = strides_of(r.in[0].shape);
  Ints from;
  for (auto p : perm) from.push_back(in[static_cast<size_t>(p)]);
  return of_one(
      strided_copy(r.out.dtype, r.out.shape.numbers(), from, 0, strides_of(r.out.shape), 0));
}
KERNEL(reshape) {
  const size_t bytes = r.out.bytes();
  return fn_kernel([bytes](const void* const* in, void* out) { gpu->copy(out, in[0], bytes); });
}

// Where a slice lies in the whole: strides and the first element's place.
struct Part {
  Ints strides;
  int64_t offset = 0;
  Part(const OpCtx& c, const Shape& whole) : strides(strides_of(whole)) {
    const Ints begin = c.numbers("begin"), step = c.numbers("step");
    for (size_t d = 0; d < strides.size(); ++d) {
      offset += begin[d] * strides[d];
      strides[d] *= step[d];
    }
  }
};
KERNEL(slice) {
  NEED(size_of(r.out.dtype) <= 8, kTooLarge);
  const Part p(r.ctx(), r.in[0].shape);
  return of_one(strided_copy(r.out.dtype, r.out.shape.numbers(), p.strides, p.offset,
                             strides_of(r.out.shape), 0));
}
KERNEL(slice_update) {
  NEED(size_of(r.out.dtype) <= 8, kTooLarge);
  const Part p(r.ctx(), r.in[0].shape);
  const size_t bytes = r.out.bytes();
  const auto k = strided_copy(r.out.dtype, r.in[1].shape.numbers(), strides_of(r.in[1].shape), 0,
                              p.strides, p.offset);
  return fn_kernel([k, bytes](const void* const* in, void* out) {
    if (out != in[0]) gpu->copy(out, in[0], bytes);  // it may lie over its first operand
    k->launch(in + 1, &out);
  });
}
// Slices that lie apart, as those of chunk and split: each is written where it belongs. A zero is
// added to each, as the sum of whole tensors would have it.
KERNEL(add_slices) {
  const DType t = r.out.dtype;
  NEED(!is_complex(t) && !is_bool(t), "not numbers");
  NEED(!r.present[0], "a sum that goes on");
  const Ints begin = r.ctx().numbers("begin"), step = r.ctx().numbers("step");
  const size_t rank = static_cast<size_t>(r.out.shape.rank()), terms = r.in.size() - 1;
  NEED(terms > 1, "one slice");
  auto size = [&](size_t k, size_t d) { return int64_t{r.in[k + 1].shape[static_cast<int>(d)]}; };
  auto apart = [&](size_t j, size_t k) {
    for (size_t d = 0; d < rank; ++d) {
      const int64_t a = begin[j * rank + d], b = begin[k * rank + d];
      if (a + size(j, d) <= b || b + size(k, d) <= a) return true;
    }
    return false;
  };
  int64_t covered = 0;
  for (size_t k = 0; k < terms; ++k) {
    covered += r.in[k + 1].shape.numel();
    for (size_t d = 0; d < rank; ++d) NEED(step[k * rank + d] == 1, "slices with steps");
    for (size_t j = 0; j < k; ++j) NEED(apart(j, k), "slices that overlap");
  }
  const int64_t all = r.out.shape.numel();
  const auto around = covered == all ? nullptr : fill(t, all, 0);
  const Ints whole = strides_of(r.out.shape);
  std::vector<std::shared_ptr<Kernel>> parts;
  for (size_t k = 0; k < terms; ++k) {
    LoopSpec s;
    s.dims = r.in[k + 1].shape.numbers();
    s.in = {{t, strides_of(r.in[k + 1].shape)}};
    LoopOutput o;
    o.dt = t;
    o.strides = whole;
    for (size_t d = 0; d < rank; ++d) o.offset += begin[k * rank + d] * whole[d];
    SBuilder sb;
    o.node = (sb.input(0, t) + sb.bits(t, 0)).id;
    s.out = {o};
    s.body = sb.nodes;
    s.collapse();
    parts.push_back(gpu->make_loop(std::move(s)));
  }
  return fn_kernel([around, parts](const void* const* in, void* out) {
    if (around) around->launch(nullptr, &out);
    for (size_t k = 0; k < parts.size(); ++k) parts[k]->launch(in + k + 1, &out);
  });
}
KERNEL(pad) {
  NEED(size_of(r.out.dtype) <= 8, kTooLarge);
  const Ints low = r.ctx().numbers("low"), to = strides_of(r.out.shape);
  int64_t at = 0;
  for (size_t d = 0; d < low.size(); ++d) at += low[d] * to[d];
  const auto around =
      fill(r.out.dtype, r.out.shape.numel(), bits_of(r.out.dtype, r.ctx().f("value")));
  const auto k =
      strided_copy(r.out.dtype, r.in[0].shape.numbers(), strides_of(r.in[0].shape), 0, to, at);
  return fn_kernel([around, k](const void* const* in, void* out) {
    around->launch(nullptr, &out);
    k->launch(in, &out);
  });
}
KERNEL(concat) {
  NEED(size_of(r.out.dtype) <= 8, kTooLarge);
  const int axis = normalize_axis("concat", r.ctx().i("axis"), r.out.shape.rank());
  const Ints to = strides_of(r.out.shape);
  std::vector<std::shared_ptr<Kernel>> parts;
  int64_t at = 0;
  for (auto& t : r.in) {
    parts.push_back(strided_copy(r.out.dtype, t.shape.numbers(), strides_of(t.shape), 0, to, at));
    at += t.shape[axis] * to[static_cast<size_t>(axis)];
  }
  return fn_kernel([parts](const void* const* in, void* out) {
    for (size_t k = 0; k < parts.size(); ++k) parts[k]->launch(in + k, &out);
  });
}
// Real and imaginary parts, side by side in memory.
KERNEL(complex) {
  const DType part = part_of(r.out.dtype);
  LoopSpec s;
  s.dims = {r.out.shape.numel()};
  SBuilder sb;
  for (int k : {0, 1}) {
    s.in.push_back({part, {1}});
    LoopOutput o;
    o.dt = part;
    o.strides = {2};
    o.offset = k;
    o.node = sb.input(k, part).id;
    s.out.push_back(o);
  }
  s.body = sb.nodes;
  std::shared_ptr<Kernel> k = gpu->make_loop(std::move(s));
  return fn_kernel([k](const void* const* in, void* out) {
    void* both[] = {out, out};
    k->launch(in, both);
  });
}

}  // namespace

void register_copy(Gpu& g) {
  gpu = &g;
  const std::pair<const char*, KernelFactory> all[] = {
      {"transpose", transpose},   {"reshape", reshape},
      {"slice", slice},           {"slice_update", slice_update},
      {"add_slices", add_slices}, {"pad", pad},
      {"concat", concat},         {"complex", complex}};
  for (auto& [name, make] : all) g.kernels.add(name, {"cuda", make});
}

}  // namespace pijit::cuda
