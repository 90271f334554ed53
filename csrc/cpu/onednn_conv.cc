// Convolutions and their gradients.
#include "base/config.h"
#include "cpu/onednn.h"

namespace pijit::onednn {
namespace {

// Feature maps come as [N,C,H,W] or with channels in blocks, [N,C/b,H,W,b]. What is computed, and
// so each bit, is the same: where both sides have whole blocks, the primitive works on blocks.
struct Conv {
  Ints x, w, y, stride, dil, pad_lo, pad_hi;
  memory::desc x_outside, w_outside, y_outside;
  memory::desc x_inside, w_inside, y_inside;
  double flops;
  DType dtype;
};
tag blocks_of(int64_t b) { return b == 16 ? tag::nChw16c : tag::nChw8c; }
Shape logical(const Shape& s) { return s.rank() == 5 ? Shape{s[0], s[1] * s[4], s[2], s[3]} : s; }
memory::desc outside(const Shape& s, DType t) {
  const Ints d = logical(s).numbers();
  return s.rank() == 5 ? desc(d, blocks_of(s[4]), t) : desc(d, row_major(d), t);
}
Conv conv_of(const KernelRequest& r, const Shape& x, const Shape& w, const Shape& y) {
  const OpCtx c = r.ctx();
  const DType t = r.out.dtype;
  Conv v;
  v.dtype = t;
  v.x = logical(x).numbers();
  v.y = logical(y).numbers();
  v.w = w.numbers();
  const int64_t g = c.i("group"), b = channel_block();
  v.flops = 2.0 * static_cast<double>(y.numel()) * static_cast<double>(w[1] * w[2] * w[3]);
  if (g > 1) v.w = {g, w[0] / g, w[1], w[2], w[3]};
  v.stride = c.numbers("stride");
  for (auto d : c.numbers("dilation")) v.dil.push_back(d - 1);
  const Ints& p = c.numbers("pad");
  v.pad_lo = {p[0], p[2]};
  v.pad_hi = {p[1], p[3]};
  v.x_outside = outside(x, t);
  v.y_outside = outside(y, t);
  v.w_outside = desc(v.w, row_major(v.w), t);
  v.x_inside = desc(v.x, tag::any, t);
  v.w_inside = desc(v.w, tag::any, t);
  v.y_inside = desc(v.y, tag::any, t);
  if (b && g == 1 && v.x[1] % b == 0 && v.y[1] % b == 0) {
    v.x_inside = desc(v.x, blocks_of(b), t);
    v.y_inside = desc(v.y, blocks_of(b), t);
  }
  return v;
}
using dnnl::algorithm;
dnnl::convolution_forward::primitive_desc forward_pd(const Conv& c, bool bias,
                                                     const dnnl::primitive_attr& attr = {}) {
  const auto kind = dnnl::prop_kind::forward_training;
  if (bias)
    return {engine(),   kind,       algorithm::convolution_direct,
            c.x_inside, c.w_inside, desc({c.y[1]}, tag::a, c.dtype),
            c.y_inside, c.stride,   c.dil,
            c.pad_lo,   c.pad_hi,   attr};
  return {engine(),   kind,       algorithm::convolution_direct,
          c.x_inside, c.w_inside, c.y_inside,
          c.stride,   c.dil,      c.pad_lo,
          c.pad_hi,   attr};
}

std::unique_ptr<OpKernel> conv2d(const KernelRequest& r, std::string* why) {
  if (!serves_bf16_too(r, why)) return nullptr;
  return guarded(why, [&]() -> std::unique_ptr<OpKernel> {
    const Conv c = conv_of(r, r.in[0].shape, r.in[1].shape, r.out.shape);
    const bool post = r.op.name.starts_with("conv2d_post"), residual = post && r.present[3];
    const auto pd =
        forward_pd(c, r.present[2],
                   post ? post_ops(residual ? c.y_inside : memory::desc(), r.ctx().s("activation"))
                        : dnnl::primitive_attr());
    const auto bias = desc({c.y[1]}, tag::a, c.dtype);
    std::vector<Primitive::Arg> in{{DNNL_ARG_SRC, c.x_outside, pd.src_desc()},
                                   {DNNL_ARG_WEIGHTS, c.w_outside, pd.weights_desc()},
                                   {DNNL_ARG_BIAS, bias, bias}};
    if (residual)
      in.push_back({DNNL_ARG_ATTR_MULTIPLE_POST_OP(0) | DNNL_ARG_SRC_1, c.y_outside, c.y_inside});
    return std::make_unique<Primitive>(dnnl::convolution_forward(not_plain_loops(pd, c.dtype)), in,
                                       Primitive::Arg{DNNL_ARG_DST, c.y_outside, pd.dst_desc()},
                                       c.flops);
  });
}
std::unique_ptr<OpKernel> conv2d_dx(const KernelRequest& r, std::string* why) {
  if (!serves_bf16_too(r, why)) return nullptr;
  return guarded(why, [&]() -> std::unique_ptr<OpKernel> {
    const Conv c = conv_of(r, r.out.shape, r.in[1].shape, r.in[0].shape);
    const dnnl::convolution_backward_data::primitive_desc pd(
        engine(), algorithm::convolution_direct, c.x_inside, c.w_inside, c.y_inside, c.stride,
        c.dil, c.pad_lo, c.pad_hi, forward_pd(c, false));
    return std::make_unique<Primitive>(
        dnnl::convolution_backward_data(not_plain_loops(pd, c.dtype)),
        std::vector<Primitive::Arg>{{DNNL_ARG_DIFF_DST, c.y_outside, pd.diff_dst_desc()},
                                    {DNNL_ARG_WEIGHTS, c.w_outside, pd.weights_desc()}},
        Primitive::Arg{DNNL_ARG_DIFF_SRC, c.x_outside, pd.diff_src_desc()}, c.flops);
  });
}
std::unique_ptr<OpKernel> conv2d_dw(const KernelRequest& r, std::string* why) {
  if (!serves_bf16_too(r, why)) return nullptr;
  return guarded(why, [&]() -> std::unique_ptr<OpKernel> {
    Conv c = conv_of(r, r.in[0].shape, r.out.shape, r.in[1].shape);
    // Few input channels leave most of a channel block empty; with channels last nothing is padded
    // (measured: 6 to 16 channels, 5 x 5: 55 us instead of 106).
    if (c.x[1] < 16 && c.y[1] >= 16) {
      c.x_inside = desc(c.x, tag::nhwc, c.dtype);
      c.y_inside = desc(c.y, tag::nhwc, c.dtype);
    }
    const dnnl::convolution_backward_weights::primitive_desc pd(
        engine(), algorithm::convolution_direct, c.x_inside, c.w_inside, c.y_inside, c.stride,
        c.dil, c.pad_lo, c.pad_hi, forward_pd(c, false));
    return std::make_unique<Primitive>(
        dnnl::convolution_backward_weights(not_plain_loops(pd, c.dtype)),
        std::vector<Primitive::Arg>{{DNNL_ARG_SRC, c.x_outside, pd.src_desc()},
                                    {DNNL_ARG_DIFF_DST, c.y_outside, pd.diff_dst_desc()}},
        Primitive::Arg{DNNL_ARG_DIFF_WEIGHTS, c.w_outside, pd.diff_weights_desc()}, c.flops);
  });
}

// Into blocks and out of them.
std::unique_ptr<OpKernel> reorder(const KernelRequest& r, std::string* why) {
  if (!serves(r, why)) return nullptr;
  return guarded(why, [&]() -> std::unique_ptr<OpKernel> {
    const auto from = outside(r.in[0].shape, DType::F32), to = outside(r.out.shape, DType::F32);
    return std::make_unique<Primitive>(dnnl::reorder({engine(), from, engine(), to}),
                                       std::vector<Primitive::Arg>{{DNNL_ARG_FROM, from, from}},
                                       Primitive::Arg{DNNL_ARG_TO, to, to}, 0.0);
  });
}

}  // namespace

void register_conv(KernelRegistry& r) {
  for (const std::string layout : {"", "_blocked"}) {
    r.add("conv2d" + layout, {"onednn", conv2d});
    r.add("conv2d_post" + layout, {"onednn", conv2d});
    r.add("conv2d_dx" + layout, {"onednn", conv2d_dx});
    r.add("conv2d_dw" + layout, {"onednn", conv2d_dw});
  }
  r.add("block_channels", {"onednn", reorder});
  r.add("unblock_channels", {"onednn", reorder});
}

}  // namespace pijit::onednn

namespace pijit {

int64_t channel_block() {
  static const int64_t block = [] {  // as oneDNN's kernels for the instructions that it may use
    const auto isa = static_cast<unsigned>(dnnl::get_effective_cpu_isa());
    auto has = [&](dnnl::cpu_isa i) {
      return (isa & static_cast<unsigned>(i)) == static_cast<unsigned>(i);
    };
    return has(dnnl::cpu_isa::avx512_core) ? 16 : has(dnnl::cpu_isa::avx2) ? 8 : 0;
  }();
  return config().backend == "reference" ? 0 : block;
}

}  // namespace pijit
