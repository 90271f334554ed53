// Convolutions and their gradients.
#include <algorithm>
#include <numeric>

#include "base/config.h"
#include "cpu/onednn/onednn.h"
#include "cpu/onednn/faults.h"
#include "runtime/pooled.h"

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

  int64_t w_elements() const {
    int64_t n = 1;
    for (int64_t d : w) n *= d;
    return n;
  }
  // Every so many-th row or column of the input alone?
  bool reads_part() const {
    return std::gcd(stride[0], dil[0] + 1) > 1 || std::gcd(stride[1], dil[1] + 1) > 1;
  }
  bool grouped() const { return w.size() == 5; }
  // Blocks where both sides have whole ones; else as oneDNN likes.
  void choose_inside();
};
void Conv::choose_inside() {
  const int64_t b = channel_block();
  const bool depthwise = grouped() && w[0] == x[1] && w[0] == y[1];
  const bool blocks = b && (!grouped() || depthwise) && x[1] % b == 0 && y[1] % b == 0;
  x_inside = blocks ? in_blocks_of(b, x, dtype) : desc(x, tag::any, dtype);
  w_inside = desc(w, tag::any, dtype);
  y_inside = blocks ? in_blocks_of(b, y, dtype) : desc(y, tag::any, dtype);
}
Conv conv_of(const KernelRequest& r, const Shape& x, const Shape& w, const Shape& y) {
  const OpCtx c = r.ctx();
  const DType t = r.out.dtype;
  Conv v;
  v.dtype = t;
  v.x = logical(x).numbers();
  v.y = logical(y).numbers();
  v.w = w.numbers();
  const int64_t g = c.i("group");
  v.flops = 2.0 * static_cast<double>(y.numel()) * static_cast<double>(w[1] * w[2] * w[3]);
  if (g > 1) v.w = {g, w[0] / g, w[1], w[2], w[3]};
  v.stride = c.numbers("stride");
  for (auto d : c.numbers("dilation")) v.dil.push_back(d - 1);
  const Ints& p = c.numbers("pad");
  v.pad_lo = {p[0], p[2]};
  v.pad_hi = {p[1], p[3]};
  v.x_outside = feature_map(x, t);
  v.y_outside = feature_map(y, t);
  v.w_outside = desc(v.w, row_major(v.w), t);
  v.choose_inside();
  return v;
}
using dnnl::algorithm;
dnnl::convolution_forward::primitive_desc forward_pd(
    const Conv& c, bool bias, const dnnl::primitive_attr& attr = attributes()) {
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

// Products with patches of the input.
template <class PrimitiveDesc>
bool by_patches(const PrimitiveDesc& pd) {
  return std::string_view(pd.impl_info_str()).find("gemm") != std::string_view::npos;
}
// Throws dnnl::error where oneDNN has plain loops alone (groups, dilation, strides in some
// combinations): products with patches of the input are up to 1000 times faster; or where it has
// these products, but the kernels after it are faster (conv_subsampled, conv_depthwise,
// conv_direct).
template <class PrimitiveDesc>
PrimitiveDesc compiled(PrimitiveDesc pd, const Conv& c) {
  if (plain_loops(pd)) throw dnnl::error(dnnl_unimplemented, "only plain loops");
  if (c.dtype == DType::F32 && by_patches(pd) && (c.grouped() || c.reads_part()))
    throw dnnl::error(dnnl_unimplemented,
                      "patches of groups, or of every so many-th row or column");
  return pd;
}

std::unique_ptr<OpKernel> conv2d(const KernelRequest& r, std::string* why) {
  if (!serves_bf16_too(r, why)) return nullptr;
  return guarded(why, [&]() -> std::unique_ptr<OpKernel> {
    const Conv c = conv_of(r, r.in[0].shape, r.in[1].shape, r.out.shape);
    const Threads threads(threads_for(r, c.flops));
    const bool post = r.op.name.starts_with("conv2d_post"), residual = post && r.present[3];
    const auto pd = forward_pd(
        c, r.present[2],
        post ? post_ops(residual ? c.y_inside : memory::desc(), epilogue_of(r).activation)
             : attributes());
    if (is_faulty(pd)) throw dnnl::error(dnnl_unimplemented, "oneDNN would compute it wrong");
    const auto bias = desc({c.y[1]}, tag::a, c.dtype);
    std::vector<Primitive::Arg> in{{DNNL_ARG_SRC, c.x_outside, pd.src_desc()},
                                   {DNNL_ARG_WEIGHTS, c.w_outside, pd.weights_desc()},
                                   {r.present[2] ? DNNL_ARG_BIAS : Primitive::kAbsent, bias, bias}};
    if (residual)
      in.push_back({DNNL_ARG_ATTR_MULTIPLE_POST_OP(0) | DNNL_ARG_SRC_1, c.y_outside, c.y_inside});
    return std::make_unique<Primitive>(dnnl::convolution_forward(compiled(pd, c)), in,
                                       Primitive::Arg{DNNL_ARG_DST, c.y_outside, pd.dst_desc()});
  });
}
// The gradient of the input of a convolution without strides: the convolution of dy with the
// kernels turned around, filters and channels in each other's place. For the gradients of some,
// with dilation and a group per channel, oneDNN has products with patches alone, for convolutions
// more (measured: 8 images of 32 channels of 14 x 14, kernels of 5 x 5: 60 us for 890).
class TurnedConvolution : public OpKernel {
 public:
  explicit TurnedConvolution(const Conv& c) : w_(c.w), element_(size_of(c.dtype)) {
    if (c.stride != Ints{1, 1}) throw dnnl::error(dnnl_unimplemented, "strides");
    Conv t = c;
    const size_t groups = c.w.size() - 4;
    std::swap(t.x, t.y);
    std::swap(t.x_outside, t.y_outside);
    std::swap(t.w[groups], t.w[groups + 1]);
    for (size_t d = 0; d < 2; ++d) {
      const int64_t reach = (c.dil[d] + 1) * (c.w[groups + 2 + d] - 1);
      t.pad_lo[d] = reach - c.pad_lo[d];
      t.pad_hi[d] = reach - c.pad_hi[d];
      if (t.pad_lo[d] < 0 || t.pad_hi[d] < 0)
        throw dnnl::error(dnnl_unimplemented, "padding beyond the kernel");
    }
    t.w_outside = desc(t.w, row_major(t.w), t.dtype);
    t.choose_inside();
    const auto pd = forward_pd(t, false);
    if (by_patches(pd)) throw dnnl::error(dnnl_unimplemented, "patches here, too");
    if (is_faulty(pd)) throw dnnl::error(dnnl_unimplemented, "oneDNN would compute it wrong");
    kernel_ = std::make_unique<Primitive>(
        dnnl::convolution_forward(compiled(pd, t)),
        std::vector<Primitive::Arg>{{DNNL_ARG_SRC, t.x_outside, pd.src_desc()},
                                    {DNNL_ARG_WEIGHTS, t.w_outside, pd.weights_desc()}},
        Primitive::Arg{DNNL_ARG_DST, t.y_outside, pd.dst_desc()});
  }
  void run(const void* const* in, void* out) override {
    int64_t elements = 1;
    for (int64_t d : w_) elements *= d;
    const Block turned(static_cast<size_t>(elements) * element_);
    if (element_ == 2)
      turn(static_cast<const uint16_t*>(in[1]), reinterpret_cast<uint16_t*>(turned.p));
    else
      turn(static_cast<const float*>(in[1]), reinterpret_cast<float*>(turned.p));
    const void* from[] = {in[0], turned.p};
    kernel_->run(from, out);
  }

 private:
  template <class T>
  void turn(const T* w, T* to) const {
    const size_t groups = w_.size() - 4;
    const int64_t count = groups ? w_[0] : 1, filters = w_[groups], channels = w_[groups + 1],
                  taps = w_[groups + 2] * w_[groups + 3];
    for (int64_t g = 0; g < count; ++g, w += filters * channels * taps)
      for (int64_t c = 0; c < channels; ++c)
        for (int64_t f = 0; f < filters; ++f, to += taps)
          std::reverse_copy(w + (f * channels + c) * taps, w + (f * channels + c + 1) * taps, to);
  }
  Ints w_;  // [groups,] filters, channels, kernel
  size_t element_;
  std::unique_ptr<Primitive> kernel_;
};

std::unique_ptr<OpKernel> conv2d_dx(const KernelRequest& r, std::string* why) {
  if (!serves_bf16_too(r, why)) return nullptr;
  return guarded(why, [&]() -> std::unique_ptr<OpKernel> {
    const Conv c = conv_of(r, r.out.shape, r.in[1].shape, r.in[0].shape);
    const Threads threads(threads_for(r, c.flops));
    const dnnl::convolution_backward_data::primitive_desc pd(
        engine(), algorithm::convolution_direct, c.x_inside, c.w_inside, c.y_inside, c.stride,
        c.dil, c.pad_lo, c.pad_hi, forward_pd(c, false), attributes());
    if (plain_loops(pd) || by_patches(pd))
      if (auto turned = guarded(why, [&] { return std::make_unique<TurnedConvolution>(c); }))
        return turned;
    return std::make_unique<Primitive>(
        dnnl::convolution_backward_data(compiled(pd, c)),
        std::vector<Primitive::Arg>{{DNNL_ARG_DIFF_DST, c.y_outside, pd.diff_dst_desc()},
                                    {DNNL_ARG_WEIGHTS, c.w_outside, pd.weights_desc()}},
        Primitive::Arg{DNNL_ARG_DIFF_SRC, c.x_outside, pd.diff_src_desc()});
  });
}
// A gradient of weights is a sum over images and pixels. oneDNN would divide that sum among the
// threads there are, and its bits would depend on their number. It is divided by sizes alone: into
// ranges of images, whose sums are added in order, and of filters. A part is a primitive for one
// thread.
class WeightGradient : public OpKernel {
 public:
  explicit WeightGradient(const Conv& whole) : w_elements_(whole.w_elements()) {
    const int64_t images = whole.x[0], filters = whole.y[1];
    const int64_t pixels = images * whole.y[2] * whole.y[3];
    const int64_t wanted = whole.flops < 3e5 ? 1 : whole.flops < 2e7 ? 2 : 8;
    // A range of images costs one more pass over the weights: little where each has many pixels, or
    // where they stay in the cache.
    const int64_t least = w_elements_ <= 32768 ? 200 : 1600;
    const int64_t most = std::min({pixels / least, wanted, images});
    while (2 * ranges_ <= most) ranges_ *= 2;  // powers of two: threads get equal shares
    int64_t filter_ranges = 1;
    if (whole.w.size() == 4 && filters % 16 == 0)
      while (2 * filter_ranges * ranges_ <= wanted && filters / 16 % (2 * filter_ranges) == 0)
        filter_ranges *= 2;
    half_ = whole.dtype == DType::BF16;
    const Threads one(1);
    for (int64_t r = 0; r < ranges_; ++r)
      for (int64_t f = 0; f < filter_ranges; ++f)
        parts_.push_back(part(whole, r, images * r / ranges_, images * (r + 1) / ranges_, f,
                              filters / filter_ranges));
  }
  void run(const void* const* in, void* out) override {
    const int64_t n = w_elements_, extra = half_ ? ranges_ : ranges_ - 1;
    const std::vector<size_t> bytes(static_cast<size_t>(extra),
                                    static_cast<size_t>(n) * sizeof(float));
    const Pieces memory(bytes);
    auto sum = [&](int64_t range) {
      return half_   ? memory.of<float>(range)
             : range ? memory.of<float>(range - 1)
                     : static_cast<float*>(out);
    };
    parallel_for(static_cast<int64_t>(parts_.size()), 1, [&](int64_t begin, int64_t end) {
      for (int64_t k = begin; k < end; ++k) {
        const Part& p = parts_[k];
        const void* from[] = {static_cast<const char*>(in[0]) + p.x_offset,
                              static_cast<const char*>(in[1]) + p.y_offset};
        p.kernel->run(from, sum(p.range) + p.w_offset);
      }
    });
    if (extra == 0) return;
    parallel_for(n, 1 << 16, [&](int64_t begin, int64_t end) {
      float* first = sum(0);
      for (int64_t r = 1; r < ranges_; ++r) {
        const float* more = sum(r);
        for (int64_t i = begin; i < end; ++i) first[i] += more[i];
      }
      if (half_)
        for (int64_t i = begin; i < end; ++i)
          static_cast<uint16_t*>(out)[i] = float_to_bf16(first[i]);
    });
  }

 private:
  struct Part {
    int64_t range;
    std::unique_ptr<Primitive> kernel;
    size_t x_offset, y_offset;  // bytes
    int64_t w_offset;           // elements
  };
  // Images [first, past) and the f-th range of filters.
  static Part part(const Conv& whole, int64_t range, int64_t first, int64_t past, int64_t f,
                   int64_t filters) {
    Conv c = whole;
    c.x[0] = c.y[0] = past - first;
    c.y[1] = filters;
    if (c.w.size() == 4) c.w[0] = filters;
    c.x_outside = whole.x_outside.submemory_desc(c.x, {0, 0, 0, 0});
    c.y_outside = whole.y_outside.submemory_desc(c.y, {0, f * filters, 0, 0});
    c.w_outside = desc(c.w, row_major(c.w), DType::F32);
    c.choose_inside();
    const auto gradient = [](const Conv& c) {
      return dnnl::convolution_backward_weights::primitive_desc(
          engine(), algorithm::convolution_direct, c.x_inside, desc(c.w, tag::any, DType::F32),
          c.y_inside, c.stride, c.dil, c.pad_lo, c.pad_hi, forward_pd(c, false), attributes());
    };
    dnnl::convolution_backward_weights::primitive_desc pd;
    // Few input channels leave most of a channel block empty; with channels last nothing is padded
    // (measured: 6 to 16 channels, 5 x 5: 55 us instead of 106).
    if (c.x[1] < 16 && c.y[1] >= 16) {
      Conv last = c;
      last.x_inside = desc(c.x, tag::nhwc, c.dtype);
      last.y_inside = desc(c.y, tag::nhwc, c.dtype);
      pd = gradient(last);
    }
    if (!pd || is_faulty(pd)) pd = gradient(c);
    if (is_faulty(pd)) throw dnnl::error(dnnl_unimplemented, "oneDNN would compute it wrong");
    const auto bytes = [&](const Ints& d) {
      return static_cast<size_t>(first * d[1] * d[2] * d[3]) * size_of(whole.dtype);
    };
    return {range,
            std::make_unique<Primitive>(
                dnnl::convolution_backward_weights(compiled(pd, c)),
                std::vector<Primitive::Arg>{{DNNL_ARG_SRC, c.x_outside, pd.src_desc()},
                                            {DNNL_ARG_DIFF_DST, c.y_outside, pd.diff_dst_desc()}},
                Primitive::Arg{DNNL_ARG_DIFF_WEIGHTS, c.w_outside, pd.diff_weights_desc()}),
            bytes(whole.x), bytes(whole.y), f * c.w_elements()};
  }
  int64_t w_elements_, ranges_ = 1;
  bool half_;
  std::vector<Part> parts_;
};
std::unique_ptr<OpKernel> conv2d_dw(const KernelRequest& r, std::string* why) {
  if (!serves_bf16_too(r, why)) return nullptr;
  return guarded(why, [&]() -> std::unique_ptr<OpKernel> {
    return std::make_unique<WeightGradient>(conv_of(r, r.in[0].shape, r.out.shape, r.in[1].shape));
  });
}

// Into blocks and out of them.
std::unique_ptr<OpKernel> reorder(const KernelRequest& r, std::string* why) {
  if (!serves(r, why)) return nullptr;
  return guarded(why, [&]() -> std::unique_ptr<OpKernel> {
    const auto from = feature_map(r.in[0].shape, DType::F32),
               to = feature_map(r.out.shape, DType::F32);
    const Threads threads(threads_for(r, 0.0));
    return std::make_unique<Primitive>(reorder_of(from, to),
                                       std::vector<Primitive::Arg>{{DNNL_ARG_FROM, from, from}},
                                       Primitive::Arg{DNNL_ARG_TO, to, to});
  });
}

}  // namespace

KernelFamily conv_kernels() {
  return {"onednn",
          {{"conv2d", for_threads<conv2d>},
           {"conv2d_post", for_threads<conv2d>},
           {"conv2d_dx", for_threads<conv2d_dx>},
           {"conv2d_dw", conv2d_dw},
           {"conv2d_blocked", for_threads<conv2d>},
           {"conv2d_post_blocked", for_threads<conv2d>},
           {"conv2d_dx_blocked", for_threads<conv2d_dx>},
           {"conv2d_dw_blocked", conv2d_dw},
           {"block_channels", for_threads<reorder>},
           {"unblock_channels", for_threads<reorder>}}};
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
