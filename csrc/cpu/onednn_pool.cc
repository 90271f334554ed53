// Mean pooling of bfloat16. For float32 our own kernels are faster (README), and maxima are not to
// be had from oneDNN: its comparisons pass over NaN.
#include "cpu/onednn.h"

namespace pijit::onednn {
namespace {

using dnnl::algorithm;

struct Pool {
  memory::desc x, y;
  Ints kernel, stride, dilation{0, 0}, pad_lo, pad_hi;
  algorithm kind;
  dnnl::pooling_forward::primitive_desc forward() const {
    return {
        engine(), dnnl::prop_kind::forward_inference, kind, x, y, stride, kernel, dilation, pad_lo,
        pad_hi};
  }
};
Pool pool_of(const KernelRequest& r, const Shape& x, const Shape& y) {
  const OpCtx c = r.ctx();
  const Ints pad = c.numbers("pad");
  Pool p;
  p.x = desc(x.numbers(), row_major(x.numbers()), r.out.dtype);
  p.y = desc(y.numbers(), row_major(y.numbers()), r.out.dtype);
  p.kernel = c.numbers("kernel");
  p.stride = c.numbers("stride");
  p.pad_lo = {pad[0], pad[2]};
  p.pad_hi = {pad[1], pad[3]};
  p.kind = c.flag("count_pad") ? algorithm::pooling_avg_include_padding
                               : algorithm::pooling_avg_exclude_padding;
  return p;
}
bool serves_pool(const KernelRequest& r, std::string* why) {
  if (r.out.dtype != DType::BF16) return *why = "dtype is not bfloat16", false;
  return serves_bf16_too(r, why);
}

std::unique_ptr<OpKernel> avg_pool(const KernelRequest& r, std::string* why) {
  if (!serves_pool(r, why)) return nullptr;
  return guarded(why, [&]() -> std::unique_ptr<OpKernel> {
    const Pool p = pool_of(r, r.in[0].shape, r.out.shape);
    const auto pd = p.forward();
    return std::make_unique<Primitive>(dnnl::pooling_forward(not_plain_loops(pd, r.out.dtype)),
                                       std::vector<Primitive::Arg>{{DNNL_ARG_SRC, p.x, p.x}},
                                       Primitive::Arg{DNNL_ARG_DST, p.y, p.y}, 0.0);
  });
}
std::unique_ptr<OpKernel> avg_pool_dx(const KernelRequest& r, std::string* why) {
  if (!serves_pool(r, why)) return nullptr;
  return guarded(why, [&]() -> std::unique_ptr<OpKernel> {
    const Pool p = pool_of(r, r.out.shape, r.in[0].shape);
    const dnnl::pooling_backward::primitive_desc pd(engine(), p.kind, p.x, p.y, p.stride, p.kernel,
                                                    p.dilation, p.pad_lo, p.pad_hi, p.forward());
    return std::make_unique<Primitive>(dnnl::pooling_backward(not_plain_loops(pd, r.out.dtype)),
                                       std::vector<Primitive::Arg>{{DNNL_ARG_DIFF_DST, p.y, p.y}},
                                       Primitive::Arg{DNNL_ARG_DIFF_SRC, p.x, p.x}, 0.0);
  });
}

}  // namespace

void register_pool(KernelRegistry& r) {
  r.add("avg_pool2d", {"onednn", avg_pool});
  r.add("avg_pool2d_dx", {"onednn", avg_pool_dx});
}

}  // namespace pijit::onednn
