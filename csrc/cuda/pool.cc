// Windows that slide over images: pooling and its gradients. Gradients gather what each element
// receives, window by window in order, so that no two threads write to one place. cuDNN does not
// say which of equal maxima receives the gradient, and pads both ends of an axis alike: pooling is
// not its.
#include <algorithm>

#include "cuda/source_kernel.h"

namespace pijit::cuda {
namespace {

Gpu* gpu = nullptr;  // of this plug-in

// n: planes, H, W, OH, OW, kernel, stride and low padding of both axes.
constexpr const char* kPool = R"(
struct pj_pool {
  ix planes, h, w, oh, ow, kh, kw, sh, sw, ph, pw;
};
PJ pj_pool pj_geometry(const pj_args& a) {
  return {(ix)a.n[0], (ix)a.n[1], (ix)a.n[2], (ix)a.n[3], (ix)a.n[4], (ix)a.n[5],
          (ix)a.n[6], (ix)a.n[7], (ix)a.n[8], (ix)a.n[9], (ix)a.n[10]};
}
PJ ix pj_least(ix a, ix b) { return a < b ? a : b; }
PJ ix pj_most(ix a, ix b) { return a > b ? a : b; }
// The first maximum of a window, or its first NaN.
PJ ix pj_maximum(const pj_pool& g, const M* x, ix p, ix i, ix j) {
  const ix h = i * g.sh - g.ph, w = j * g.sw - g.pw;
  const ix h1 = pj_least(h + g.kh, g.h), w0 = pj_most(w, 0), w1 = pj_least(w + g.kw, g.w);
  ix at = (p * g.h + pj_most(h, 0)) * g.w + w0;
  T best = LOAD(x[at]);
  for (ix r = pj_most(h, 0); r < h1; ++r)
    for (ix c = w0; c < w1; ++c) {
      const ix k = (p * g.h + r) * g.w + c;
      const T v = LOAD(x[k]);
      if (best == best && (v > best || v != v)) best = v, at = k;
    }
  return at;
}
// The windows [i0, i1) of an axis that hold place h.
PJ ix pj_from(ix h, ix pad, ix kernel, ix stride) {
  const ix low = h + pad - kernel + 1;
  return low <= 0 ? 0 : (low + stride - 1) / stride;
}
PJ ix pj_to(ix h, ix pad, ix stride, ix count) {
  return pj_least(count, (h + pad) / stride + 1);
}
PJ T pj_divisor(const pj_pool& g, ix i, ix j) {
  if (COUNT_PAD) return (T)(g.kh * g.kw);
  const ix h = i * g.sh - g.ph, w = j * g.sw - g.pw;
  const ix n = (pj_least(h + g.kh, g.h) - pj_most(h, 0)) *
               (pj_least(w + g.kw, g.w) - pj_most(w, 0));
  return (T)pj_most(n, 1);
}
ENTRY(maximum) {
  const pj_pool g = pj_geometry(a);
  EACH(k, g.planes * g.oh * g.ow) {
    const ix at = pj_maximum(g, (const M*)a.p[0], k / g.ow / g.oh, k / g.ow % g.oh, k % g.ow);
    ((M*)a.p[2])[k] = ((const M*)a.p[1])[at];
  }
}
ENTRY(places) {
  const pj_pool g = pj_geometry(a);
  EACH(k, g.planes * g.oh * g.ow)
    ((ix*)a.p[2])[k] = pj_maximum(g, (const M*)a.p[0], k / g.ow / g.oh, k / g.ow % g.oh, k % g.ow);
}
ENTRY(maximum_dx) {
  const pj_pool g = pj_geometry(a);
  EACH(k, g.planes * g.h * g.w) {
    const ix p = k / g.w / g.h, h = k / g.w % g.h, w = k % g.w;
    T sum = 0;
    for (ix i = pj_from(h, g.ph, g.kh, g.sh); i < pj_to(h, g.ph, g.sh, g.oh); ++i)
      for (ix j = pj_from(w, g.pw, g.kw, g.sw); j < pj_to(w, g.pw, g.sw, g.ow); ++j)
      {
        const ix window = (p * g.oh + i) * g.ow + j;
        if (((const ix*)a.p[0])[window] == k)
          sum = pj_sum<T>(sum, LOAD(((const M*)a.p[1])[window]));
      }
    ((M*)a.p[2])[k] = STORE(sum);
  }
}
ENTRY(mean) {
  const pj_pool g = pj_geometry(a);
  EACH(k, g.planes * g.oh * g.ow) {
    const ix p = k / g.ow / g.oh, i = k / g.ow % g.oh, j = k % g.ow;
    const ix h = i * g.sh - g.ph, w = j * g.sw - g.pw;
    T sum = 0;
    for (ix r = pj_most(h, 0); r < pj_least(h + g.kh, g.h); ++r)
      for (ix c = pj_most(w, 0); c < pj_least(w + g.kw, g.w); ++c)
        sum += LOAD(((const M*)a.p[0])[(p * g.h + r) * g.w + c]);
    ((M*)a.p[2])[k] = STORE(sum / pj_divisor(g, i, j));
  }
}
ENTRY(mean_dx) {
  const pj_pool g = pj_geometry(a);
  EACH(k, g.planes * g.h * g.w) {
    const ix p = k / g.w / g.h, h = k / g.w % g.h, w = k % g.w;
    T sum = 0;
    for (ix i = pj_from(h, g.ph, g.kh, g.sh); i < pj_to(h, g.ph, g.sh, g.oh); ++i)
      for (ix j = pj_from(w, g.pw, g.kw, g.sw); j < pj_to(w, g.pw, g.sw, g.ow); ++j)
        sum += LOAD(((const M*)a.p[0])[(p * g.oh + i) * g.ow + j]) / pj_divisor(g, i, j);
    ((M*)a.p[2])[k] = STORE(sum);
  }
}
)";
struct Pool {
  Ints numbers;
  bool wide;
  std::shared_ptr<SourceKernel> kernel;
  Pool(const KernelRequest& r, std::vector<std::string> entries, const Shape& x, const Shape& y,
       bool count_pad)
      : wide(needs_wide(std::max<int64_t>(x.numel(), y.numel()))) {
    const OpCtx c = r.ctx();
    const Ints k = c.numbers("kernel"), s = c.numbers("stride"), p = c.numbers("pad");
    numbers = {x[0] * x[1], x[2], x[3], y[2], y[3], k[0], k[1], s[0], s[1], p[0], p[2]};
    kernel = std::make_shared<SourceKernel>(
        *gpu, r.op.name, 3, 11,
        element_types(r.out.dtype, wide) + define("COUNT_PAD", count_pad) + kPool,
        std::move(entries));
  }
};
std::unique_ptr<OpKernel> pool(const KernelRequest& r, const char* entry, const Shape& x,
                               const Shape& y, bool count_pad, int second) {
  const Pool p(r, {entry}, x, y, count_pad);
  return fn_kernel([p, second, n = int64_t{r.out.shape.numel()}](const void* const* in, void* out) {
    p.kernel->run(0, n, {in[0], in[second], out}, p.numbers);
  });
}
KERNEL(max_pool) {
  if (!computes_as_stored(r, why)) return nullptr;
  return pool(r, "maximum", r.in[0].shape, r.out.shape, false, 0);
}
KERNEL(max_pool_pick) {
  if (!computes_as_stored(r, why)) return nullptr;
  return pool(r, "maximum", r.in[0].shape, r.out.shape, false, 1);
}
KERNEL(max_pool_dx) {
  if (!computes_as_stored(r, why)) return nullptr;
  const Shape &x = r.in[0].shape, &y = r.in[1].shape;
  const Pool p(r, {"places", "maximum_dx"}, x, y, false);
  // Windows overlap: each is searched once.
  return fn_kernel(
      [p, n = int64_t{x.numel()}, windows = int64_t{y.numel()}](const void* const* in, void* out) {
        const DeviceBlock places(*gpu, static_cast<size_t>(windows) * (p.wide ? 8 : 4));
        p.kernel->run(0, windows, {in[0], nullptr, places.p}, p.numbers);
        p.kernel->run(1, n, {places.p, in[1], out}, p.numbers);
      });
}
KERNEL(avg_pool) {
  if (!computes_as_stored(r, why)) return nullptr;
  return pool(r, "mean", r.in[0].shape, r.out.shape, r.ctx().flag("count_pad"), 0);
}
KERNEL(avg_pool_dx) {
  if (!computes_as_stored(r, why)) return nullptr;
  return pool(r, "mean_dx", r.out.shape, r.in[0].shape, r.ctx().flag("count_pad"), 0);
}

}  // namespace

void register_pool(Gpu& g) {
  gpu = &g;
  const std::pair<const char*, KernelFactory> all[] = {{"max_pool2d", max_pool},
                                                       {"max_pool2d_pick", max_pool_pick},
                                                       {"max_pool2d_dx", max_pool_dx},
                                                       {"avg_pool2d", avg_pool},
                                                       {"avg_pool2d_dx", avg_pool_dx}};
  for (auto& [name, make] : all) g.kernels.add(name, {"cuda", make});
}

}  // namespace pijit::cuda
