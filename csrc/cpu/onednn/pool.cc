// Pooling of float32, in either layout, and mean pooling of bfloat16.
//
// Means are sums over a window in row-major order, here as in our own kernels (pool.cc), so that
// the choice among them, by speed, changes no bit. Gradients of windows that overlap are sums whose
// order is oneDNN's: where channels fill blocks, they are computed here whatever the layout.
#include <atomic>
#include <cfloat>

#include "base/config.h"
#include "cpu/onednn/onednn.h"
#include "cpu/kernels/pool.h"
#include "runtime/array.h"

namespace pijit::onednn {
namespace {

using dnnl::algorithm;
using Forward = dnnl::pooling_forward::primitive_desc;
using Backward = dnnl::pooling_backward::primitive_desc;

struct Pool {
  Ints kernel, stride, dilation{0, 0}, pad_lo, pad_hi;
  Shape x, y;  // as they come: in blocks of channels or plain
  DType dtype;
  algorithm kind;
  memory::desc x_inside, y_inside;

  bool blocked() const { return x.rank() == 5; }
  bool overlapping() const { return stride[0] < kernel[0] || stride[1] < kernel[1]; }
  int64_t pixels() const { return x[2] * x[3]; }  // of an input map
  bool pairs() const {
    const Ints two{2, 2}, none{0, 0};
    return kernel == two && stride == two && pad_lo == none && pad_hi == none;
  }
  // To tell small problems: elements that are looked at, each worth about 8 operations of a
  // product.
  double work() const {
    return 8.0 * static_cast<double>(y.numel()) * static_cast<double>(kernel[0] * kernel[1]);
  }
  Forward forward(dnnl::prop_kind prop) const {
    return {engine(), prop,     kind,   x_inside, y_inside,    stride,
            kernel,   dilation, pad_lo, pad_hi,   attributes()};
  }
  Backward backward(const Forward& f) const {
    return {engine(), kind,   x_inside, y_inside, stride,      kernel,
            dilation, pad_lo, pad_hi,   f,        attributes()};
  }
  Primitive::Arg arg_x(int id) const { return {id, feature_map(x, dtype), x_inside}; }
  Primitive::Arg arg_y(int id) const { return {id, feature_map(y, dtype), y_inside}; }
};
// Sums that must not depend on the layout: see above.
bool same_sums(const Pool& p) {
  const int64_t b = channel_block();
  return b && p.dtype == DType::F32 && p.overlapping() && (p.blocked() || p.x[1] % b == 0);
}
// In which layout oneDNN shall compute: the one that the maps have or, where that is the plain one
// and there is generated code for blocks only (AVX2), in blocks, if it has to. False: our own
// kernels are the better choice.
bool choose_inside(Pool* p, bool must, std::string* why) {
  p->x_inside = feature_map(p->x, p->dtype);
  p->y_inside = feature_map(p->y, p->dtype);
  if (p->blocked()) return true;
  const Forward plain = p->forward(dnnl::prop_kind::forward_inference);
  if (std::string_view(plain.impl_info_str()).find("jit") != std::string_view::npos) return true;
  if (!must) return *why = "plain loops", false;
  const int64_t b = channel_block();
  p->x_inside = in_blocks_of(b, p->x.numbers(), p->dtype);
  p->y_inside = in_blocks_of(b, p->y.numbers(), p->dtype);
  return true;
}
Pool pool_of(const KernelRequest& r, const Shape& x, const Shape& y) {
  const OpCtx c = r.ctx();
  const Ints pad = c.numbers("pad");
  Pool p;
  p.x = x;
  p.y = y;
  p.dtype = r.out.dtype;
  p.kernel = c.numbers("kernel");
  p.stride = c.numbers("stride");
  p.pad_lo = {pad[0], pad[2]};
  p.pad_hi = {pad[1], pad[3]};
  p.kind = r.op.name.starts_with("max") ? algorithm::pooling_max
           : c.flag("count_pad")        ? algorithm::pooling_avg_include_padding
                                        : algorithm::pooling_avg_exclude_padding;
  return p;
}
// Where the layout is plain, oneDNN turns pieces of the maps so that channels stand in vectors. For
// large ones our own kernels, which have pixels in vectors, are faster: 2 x 2 side by side at
// 32x64x56x56 2.6 times; 5 x 5 at 8x256x14x14 takes them 1.8 times as long.
bool large(const Pool& p, int64_t most_pixels, std::string* why) {
  if (p.blocked() || p.dtype != DType::F32 || p.pixels() <= most_pixels) return false;
  *why = "own kernels are faster for large maps";
  return true;
}
std::unique_ptr<OpKernel> avg_pool(const KernelRequest& r, std::string* why) {
  if (!serves_bf16_too(r, why)) return nullptr;
  return guarded(why, [&]() -> std::unique_ptr<OpKernel> {
    Pool p = pool_of(r, r.in[0].shape, r.out.shape);
    const Threads threads(threads_for(r, p.work()));
    if (large(p, p.pairs() ? 256 : 4096, why) || !choose_inside(&p, false, why)) return nullptr;
    const auto pd = p.forward(dnnl::prop_kind::forward_inference);
    return std::make_unique<Primitive>(dnnl::pooling_forward(not_plain_loops(pd, p.dtype)),
                                       std::vector<Primitive::Arg>{p.arg_x(DNNL_ARG_SRC)},
                                       p.arg_y(DNNL_ARG_DST));
  });
}
std::unique_ptr<OpKernel> avg_pool_dx(const KernelRequest& r, std::string* why) {
  if (!serves_bf16_too(r, why)) return nullptr;
  return guarded(why, [&]() -> std::unique_ptr<OpKernel> {
    Pool p = pool_of(r, r.out.shape, r.in[0].shape);
    const Threads threads(threads_for(r, p.work()));
    const bool must = same_sums(p);
    if (!must && large(p, p.pairs() ? 0 : 1024, why)) return nullptr;
    if (!choose_inside(&p, must, why)) return nullptr;
    const auto pd = p.backward(p.forward(dnnl::prop_kind::forward_inference));
    return std::make_unique<Primitive>(dnnl::pooling_backward(not_plain_loops(pd, p.dtype)),
                                       std::vector<Primitive::Arg>{p.arg_y(DNNL_ARG_DIFF_DST)},
                                       p.arg_x(DNNL_ARG_DIFF_SRC));
  });
}

// oneDNN's maximum passes over NaN and begins at the least finite number. Where there are such
// values, our own kernel takes the call.
bool ordinary(const float* x, int64_t n) {
  std::atomic<bool> all{true};
  parallel_for(n, 1 << 16, [&](int64_t from, int64_t to) {
    const __m256 least = _mm256_set1_ps(-FLT_MAX);
    __m256 good[4];
    std::fill_n(good, 4, _mm256_castsi256_ps(_mm256_set1_epi32(-1)));
    int64_t i = from;
    for (; i + 32 <= to; i += 32)
#pragma GCC unroll 4
      for (int k = 0; k < 4; ++k)
        good[k] = _mm256_and_ps(good[k],
                                _mm256_cmp_ps(_mm256_loadu_ps(x + i + 8 * k), least, _CMP_GT_OQ));
    const __m256 all_good =
        _mm256_and_ps(_mm256_and_ps(good[0], good[1]), _mm256_and_ps(good[2], good[3]));
    bool rest = _mm256_movemask_ps(all_good) == 0xff;
    for (; i < to; ++i) rest &= x[i] > -FLT_MAX;
    if (!rest) all = false;
  });
  return all;
}

struct MaxPool : OpKernel {
  std::unique_ptr<Primitive> primitive;
  std::unique_ptr<OpKernel> any_values;
  int64_t n;
  void run(const void* const* in, void* out) override {
    if (ordinary(static_cast<const float*>(in[0]), n))
      primitive->run(in, out);
    else
      any_values->run(in, out);
  }
};
std::unique_ptr<OpKernel> max_pool(const KernelRequest& r, std::string* why) {
  if (!serves(r, why)) return nullptr;
  return guarded(why, [&]() -> std::unique_ptr<OpKernel> {
    Pool p = pool_of(r, r.in[0].shape, r.out.shape);
    if (p.blocked() && p.x[4] == 8 && p.pairs())
      return *why = "own kernels are faster for pairs", nullptr;
    const Threads threads(threads_for(r, p.work()));
    if (large(p, p.pairs() ? 100 : 256, why) || !choose_inside(&p, false, why)) return nullptr;
    auto k = std::make_unique<MaxPool>();
    k->any_values = own_max_pool(r, why);
    if (!k->any_values) return nullptr;
    k->n = p.x.numel();
    k->primitive = std::make_unique<Primitive>(
        dnnl::pooling_forward(p.forward(dnnl::prop_kind::forward_inference)),
        std::vector<Primitive::Arg>{p.arg_x(DNNL_ARG_SRC)}, p.arg_y(DNNL_ARG_DST));
    return k;
  });
}

// The maxima again, now with their places, and then the gradient.
struct MaxPoolGradient : OpKernel {
  std::unique_ptr<Primitive> places, gradient;
  std::unique_ptr<OpKernel> any_values;
  int64_t n;
  size_t y_bytes, places_bytes;
  void run(const void* const* in, void* out) override {
    if (!ordinary(static_cast<const float*>(in[0]), n)) return any_values->run(in, out);
    const Block y(y_bytes), where(places_bytes);
    const void* maxima[] = {in[0], where.p};
    places->run(maxima, y.p);
    const void* back[] = {in[1], where.p};
    gradient->run(back, out);
  }
};
std::unique_ptr<OpKernel> max_pool_dx(const KernelRequest& r, std::string* why) {
  if (!serves(r, why)) return nullptr;
  return guarded(why, [&]() -> std::unique_ptr<OpKernel> {
    Pool p = pool_of(r, r.out.shape, r.in[1].shape);
    const Threads threads(threads_for(r, p.work()));
    // Each pixel is in one window: our own kernel needs no second pass.
    if (p.pairs()) return *why = "own kernels are faster for pairs", nullptr;
    const bool must = same_sums(p);
    if (!must && large(p, 1024, why)) return nullptr;
    if (!choose_inside(&p, must, why)) return nullptr;
    auto k = std::make_unique<MaxPoolGradient>();
    k->any_values = own_max_pool_dx(r, why);
    if (!k->any_values) return nullptr;
    const auto f = p.forward(dnnl::prop_kind::forward_training);
    const Primitive::Arg places{DNNL_ARG_WORKSPACE, f.workspace_desc(), f.workspace_desc()};
    k->places = std::make_unique<Primitive>(
        dnnl::pooling_forward(f), std::vector<Primitive::Arg>{p.arg_x(DNNL_ARG_SRC), places},
        Primitive::Arg{DNNL_ARG_DST, p.y_inside, p.y_inside});
    k->gradient =
        std::make_unique<Primitive>(dnnl::pooling_backward(p.backward(f)),
                                    std::vector<Primitive::Arg>{p.arg_y(DNNL_ARG_DIFF_DST), places},
                                    p.arg_x(DNNL_ARG_DIFF_SRC));
    k->n = p.x.numel();
    k->y_bytes = p.y_inside.get_size();
    k->places_bytes = f.workspace_desc().get_size();
    return k;
  });
}

}  // namespace

KernelFamily pool_kernels() {
  return {"onednn",
          {{"max_pool2d", for_threads<max_pool>},
           {"max_pool2d_dx", for_threads<max_pool_dx>},
           {"avg_pool2d", for_threads<avg_pool>},
           {"avg_pool2d_dx", for_threads<avg_pool_dx>},
           {"max_pool2d_blocked", for_threads<max_pool>},
           {"max_pool2d_dx_blocked", for_threads<max_pool_dx>},
           {"avg_pool2d_blocked", for_threads<avg_pool>},
           {"avg_pool2d_dx_blocked", for_threads<avg_pool_dx>}}};
}

}  // namespace pijit::onednn
