// Layer normalisation. Batch normalisation and softmax are made of loops: these are as fast or
// faster (README), and oneDNN's softmax gives 0 where a row holds a NaN or an infinity.
#include "cpu/onednn.h"

namespace pijit::onednn {
namespace {

std::unique_ptr<OpKernel> layer_norm(const KernelRequest& r, std::string* why) {
  if (!serves_bf16_too(r, why)) return nullptr;
  // Below, making a call costs more than it saves.
  if (r.out.shape.numel() < 4096) return *why = "small", nullptr;
  return guarded(why, [&]() -> std::unique_ptr<OpKernel> {
    const int64_t begin = r.ctx().i("begin");
    int64_t rows = 1, n = 1;
    for (int k = 0; k < r.out.shape.rank(); ++k) (k < begin ? rows : n) *= r.out.shape[k];
    const DType t = r.out.dtype;
    const auto x = desc({rows, n}, tag::ab, t), from = desc({n}, tag::a, t), g = desc({n}, tag::a);
    using dnnl::normalization_flags;
    auto flags = normalization_flags::none;
    if (r.present[1]) flags |= normalization_flags::use_scale;
    if (r.present[2]) flags |= normalization_flags::use_shift;
    const dnnl::layer_normalization_forward::primitive_desc pd(
        engine(), dnnl::prop_kind::forward_inference, x, x, static_cast<float>(r.ctx().f("eps")),
        flags);
    return std::make_unique<Primitive>(
        dnnl::layer_normalization_forward(not_plain_loops(pd, t)),
        std::vector<Primitive::Arg>{
            {DNNL_ARG_SRC, x, x}, {DNNL_ARG_SCALE, from, g}, {DNNL_ARG_SHIFT, from, g}},
        Primitive::Arg{DNNL_ARG_DST, x, x}, 8.0 * static_cast<double>(rows * n));
  });
}

}  // namespace

void register_norm(KernelRegistry& r) { r.add("layer_norm", {"onednn", layer_norm}); }

}  // namespace pijit::onednn
