// Layer normalisation. Softmax and batch normalisation are loop kernels, which are faster (README).
#include "cpu/onednn.h"

namespace pijit::onednn {
namespace {

std::unique_ptr<OpKernel> layer_norm(const KernelRequest& r, std::string* why) {
  if (!serves(r, why)) return nullptr;
  // Below, making a call costs more than it saves.
  if (r.out.shape.numel() < 4096) return *why = "small", nullptr;
  return guarded(why, [&]() -> std::unique_ptr<OpKernel> {
    const int64_t begin = r.ctx().i("begin");
    int64_t rows = 1, n = 1;
    for (int k = 0; k < r.out.shape.rank(); ++k) (k < begin ? rows : n) *= r.out.shape[k];
    const auto x = desc({rows, n}, tag::ab), g = desc({n}, tag::a);
    using dnnl::normalization_flags;
    auto flags = normalization_flags::none;
    if (r.present[1]) flags |= normalization_flags::use_scale;
    if (r.present[2]) flags |= normalization_flags::use_shift;
    const dnnl::layer_normalization_forward::primitive_desc pd(
        engine(), dnnl::prop_kind::forward_inference, x, x, static_cast<float>(r.ctx().f("eps")),
        flags);
    return std::make_unique<Primitive>(
        dnnl::layer_normalization_forward(pd),
        std::vector<Primitive::Arg>{
            {DNNL_ARG_SRC, x, x}, {DNNL_ARG_SCALE, g, g}, {DNNL_ARG_SHIFT, g, g}},
        Primitive::Arg{DNNL_ARG_DST, x, x}, 8.0 * static_cast<double>(rows * n));
  });
}

}  // namespace

void register_norm(KernelRegistry& r) { r.add("layer_norm", {"onednn", layer_norm}); }

}  // namespace pijit::onednn
