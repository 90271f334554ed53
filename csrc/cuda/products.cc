// Matrix products on the GPU as loops: every dtype, added in order of k. A library's kernels come
// before them.
#include <algorithm>

#include "cuda/gpu.h"
#include "graph/scalar.h"

namespace pijit::cuda {
namespace {

Gpu* gpu = nullptr;  // of this plug-in

struct Side {  // strides of a matrix whose rows and columns may be swapped
  int64_t row, col;
  Side(const Shape& s, bool swap) {
    const auto st = s.strides();
    const int r = s.rank();
    row = st[r - 2], col = st[r - 1];
    if (swap) std::swap(row, col);
  }
};

// out[..., m, n] = sum over k of a[..., m, k] b[..., k, n]
LoopSpec product(const Type& a, bool swap_a, const Type& b, bool swap_b, const Type& out) {
  LoopSpec s;
  s.form = LoopSpec::kCol;
  const int ro = out.shape.rank();
  const int64_t k = a.shape[a.shape.rank() - (swap_a ? 2 : 1)];
  LoopOperand x{a.dtype, {}}, y{b.dtype, {}};
  LoopOutput z;
  z.dt = out.dtype;
  z.node = 2;
  z.combine = Combiner::kSum;
  const auto sa = a.shape.strides(), sb = b.shape.strides(), so = out.shape.strides();
  for (int d = 0; d < ro - 2; ++d) {
    const int da = d - (ro - a.shape.rank()), db = d - (ro - b.shape.rank());
    s.dims.push_back(out.shape[d]);
    x.strides.push_back(da >= 0 && a.shape[da] != 1 ? sa[da] : 0);
    y.strides.push_back(db >= 0 && b.shape[db] != 1 ? sb[db] : 0);
    z.strides.push_back(so[d]);
  }
  const Side left(a.shape, swap_a), right(b.shape, swap_b);
  auto dim = [&](int64_t n, int64_t in_a, int64_t in_b, int64_t in_out) {
    s.dims.push_back(n);
    x.strides.push_back(in_a);
    y.strides.push_back(in_b);
    z.strides.push_back(in_out);
  };
  dim(out.shape[ro - 2], left.row, 0, so[ro - 2]);
  dim(k, left.col, right.row, 0);
  dim(out.shape[ro - 1], 0, right.col, 1);
  s.in = {x, y};
  s.out = {z};
  SBuilder sb2;
  const SVal p = sb2.input(0, a.dtype) * sb2.input(1, b.dtype);
  s.body = sb2.nodes;
  s.out[0].node = p.id;
  return s;
}

// out += bias, for rows of out.
LoopSpec bias(const Type& out) {
  LoopSpec s;
  const int64_t n = out.shape[out.shape.rank() - 1];
  s.dims = {n ? out.shape.numel() / Dim(n) : Dim(0), n};
  s.in = {{out.dtype, {n, 1}}, {out.dtype, {0, 1}}};
  SBuilder sb;
  const SVal y = sb.input(0, out.dtype) + sb.input(1, out.dtype);
  s.body = sb.nodes;
  LoopOutput o;
  o.dt = out.dtype;
  o.strides = {n, 1};
  o.node = y.id;
  s.out = {o};
  return s;
}

bool takes(const KernelRequest& r, std::string* why) {
  if (is_half(r.out.dtype)) return *why = "halves are computed in float32", false;
  for (auto& t : r.in)
    if (const auto s = t.dtype; s != r.out.dtype && t.shape.rank() > 0)
      return *why = "operands of different dtypes", false;
  return true;
}

std::unique_ptr<OpKernel> matmul(const KernelRequest& r, std::string* why) {
  if (!takes(r, why)) return nullptr;
  const OpCtx c = r.ctx();
  std::shared_ptr<Kernel> k =
      gpu->make_loop(product(r.in[0], c.flag("trans_a"), r.in[1], c.flag("trans_b"), r.out));
  return fn_kernel([k](const void* const* in, void* out) { k->launch(in, &out); });
}

std::unique_ptr<OpKernel> dense(const KernelRequest& r, std::string* why) {
  if (!takes(r, why)) return nullptr;
  Type x{r.in[0].dtype, {}}, out = x;
  const int64_t in = r.in[1].shape[1], n = r.in[1].shape[0];
  const int64_t rows = n ? r.out.shape.numel() / Dim(n) : Dim(0);
  x.shape = Shape{rows, in};
  out.shape = Shape{rows, n};
  std::shared_ptr<Kernel> k = gpu->make_loop(product(x, false, r.in[1], true, out)), add;
  if (r.present[2]) add = gpu->make_loop(bias(out));
  return fn_kernel([k, add](const void* const* in, void* out) {
    k->launch(in, &out);
    const void* args[] = {out, in[2]};
    if (add) add->launch(args, &out);
  });
}

}  // namespace

void register_products(Gpu& g) {
  gpu = &g;
  g.kernels.add("matmul", {"loop", matmul});
  g.kernels.add("dense", {"loop", dense});
}

}  // namespace pijit::cuda
