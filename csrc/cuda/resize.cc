// Lines that are interpolated: images of another size.
#include <algorithm>

#include "cuda/source_kernel.h"

namespace pijit::cuda {
namespace {

Gpu* gpu = nullptr;  // of this plug-in

// x[low] * (1 - share) + x[high] * share; n: total, m, size, inner, op.
constexpr const char* kInterpolate = R"(
ENTRY(k) {
  const ix total = (ix)a.n[0], m = (ix)a.n[1], size = (ix)a.n[2], inner = (ix)a.n[3];
  for (ix i = (ix)blockIdx.x * 128 + threadIdx.x; i < total; i += (ix)gridDim.x * 128) {
    const ix j = i % inner, b = i / inner, q = b % m;
    const i64 low = pj_place(((const I*)a.p[1])[q], size, a.p[5], a.n[4]);
    const i64 high = pj_place(((const I*)a.p[2])[q], size, a.p[5], a.n[4]);
    const M* const x = (const M*)a.p[0] + b / m * size * inner + j;
    const T s = ((const M*)a.p[3])[q];
    ((M*)a.p[4])[i] =
        low < 0 || high < 0 ? (T)0 : x[(ix)low * inner] * ((T)1 - s) + x[(ix)high * inner] * s;
  }
}
)";
KERNEL(interpolate_axis) {
  if (!computes_as_stored(r, why)) return nullptr;
  const Axis x(r.in[0].shape, normalize_axis(r.op.name, r.ctx().i("axis"), r.in[0].shape.rank()));
  const int64_t total = r.out.shape.numel();
  auto k = std::make_shared<SourceKernel>(
      *gpu, r.op.name, 6, 5,
      str_cat(
          "typedef i64 I;\n",
          element_types(r.out.dtype, needs_wide(std::max<int64_t>(total, r.in[0].shape.numel()))),
          kPlace, kInterpolate),
      std::vector<std::string>{"k"});
  const Ints n{total, r.in[1].shape[0], x.n, x.inner, gpu->error_name("interpolate_axis")};
  return fn_kernel([k, n](const void* const* in, void* out) {
    k->run(0, n[0], {in[0], in[1], in[2], in[3], out, gpu->error_record()}, n);
  });
}

}  // namespace

void register_resize(Gpu& g) {
  gpu = &g;
  g.kernels.add("interpolate_axis", {"cuda", interpolate_axis});
}

}  // namespace pijit::cuda
