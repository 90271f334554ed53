// cuDNN on the host, as its documentation has it: convolutions of NCHW tensors and their gradients
// from the descriptors, in plain loops on the fake driver's stream. Its heuristic offers what must
// not be taken first. PIJIT_FAKE_CUDNN: "absent" (it does not start), "refuses" (it has no
// algorithm), "apart" (no convolution with a bias), "fails" (launches fail), "forward" (no gradient
// of attention), "old" (a library that must not be asked for one).
#include <math.h>

#include <algorithm>

#include "fake.h"

namespace {
enum { kOk = 0, kBad = 2000, kNotSupported = 3000, kFailed = 5000 };
enum { kF32, kF64, kF16, kBf16 = 9 };
enum { kY, kDx, kDw, kJoined, kAdd, kActivate, kAttend, kAttendBack };
constexpr size_t kWorkspace = 96;
int calls[8];

struct Handle {
  void* stream;
};
struct Tensor {  // of a filter, too
  int type = -1, dims[4];
  bool filter;
};
struct Convolution {
  int pad[2], stride[2], dilation[2], compute = -1, math = 0, groups = 1;
};
struct Activation {
  int mode = -1;
  double beta = 0;
};

double read(const void* p, int type, int64_t i) {
  if (type == kF64) return static_cast<const double*>(p)[i];
  if (type == kF32) return static_cast<const float*>(p)[i];
  const uint16_t h = static_cast<const uint16_t*>(p)[i];
  if (type == kBf16) {
    const uint32_t u = uint32_t{h} << 16;
    float f;
    return memcpy(&f, &u, 4), f;
  }
  _Float16 f;
  return memcpy(&f, &h, 2), f;
}
void write(void* p, int type, int64_t i, double v) {
  if (type == kF64) static_cast<double*>(p)[i] = v;
  if (type == kF32) static_cast<float*>(p)[i] = v;
  if (type == kF16) static_cast<_Float16*>(p)[i] = static_cast<float>(v);
  if (type == kBf16) {  // to the nearest, ties to even
    const float f = v;
    uint32_t u;
    memcpy(&u, &f, 4);
    static_cast<uint16_t*>(p)[i] = f != f ? 0x7fc0 : (u + 0x7fff + (u >> 16 & 1)) >> 16;
  }
}
int64_t count(const Tensor& t) { return int64_t{t.dims[0]} * t.dims[1] * t.dims[2] * t.dims[3]; }

bool fits(const Tensor& x, const Tensor& w, const Convolution& c, const Tensor& y) {
  if (x.filter || !w.filter || y.filter || x.type < 0 || x.type != w.type || x.type != y.type)
    return false;
  if (c.compute != (x.type == kF64 ? kF64 : kF32)) return false;
  bool ok = x.dims[0] == y.dims[0] && x.dims[1] == w.dims[1] * c.groups && y.dims[1] == w.dims[0] &&
            w.dims[0] % c.groups == 0;
  for (int k = 0; k < 2; ++k)
    ok = ok &&
         y.dims[2 + k] == (x.dims[2 + k] + 2 * c.pad[k] - c.dilation[k] * (w.dims[2 + k] - 1) - 1) /
                                  c.stride[k] +
                              1;
  return ok;
}
// Whether exact products are asked for, or the math that a dtype has.
bool proper_math(const Tensor& x, int math) {
  return x.type == kF32 ? math == 3 || math == 0 : x.type == kF64 ? math == 0 : math == 1;
}

double activated(int mode, double v) {
  return mode == 0   ? 1 / (1 + exp(-v))
         : mode == 1 ? (v > 0 || v != v ? v : 0)
         : mode == 2 ? tanh(v)
         : mode == 6 ? v / (1 + exp(-v))
                     : v;
}
// Adds up each product of image, weight and result where it belongs.
void convolve(int what, const Tensor x, const void* px, const Tensor w, const void* pw,
              const Convolution c, const Tensor y, const void* py, void* out, const void* bias,
              int activation) {
  const Tensor& to = what == kDx ? x : what == kDw ? w : y;
  const int64_t n = count(to);
  auto* sums = new double[n]();
  const bool rounded = x.type == kF32 && c.math == 0;
  auto value = [&](const void* p, int64_t i) {
    const double v = read(p, x.type, i);
    return rounded ? tf32(v) : v;
  };
  const int outputs = y.dims[1] / c.groups;
  for (int b = 0; b < y.dims[0]; ++b)
    for (int o = 0; o < y.dims[1]; ++o)
      for (int i = 0; i < y.dims[2]; ++i)
        for (int j = 0; j < y.dims[3]; ++j)
          for (int ch = 0; ch < w.dims[1]; ++ch)
            for (int p = 0; p < w.dims[2]; ++p)
              for (int q = 0; q < w.dims[3]; ++q) {
                const int h = i * c.stride[0] - c.pad[0] + p * c.dilation[0];
                const int v = j * c.stride[1] - c.pad[1] + q * c.dilation[1];
                if (h < 0 || h >= x.dims[2] || v < 0 || v >= x.dims[3]) continue;
                const int channel = o / outputs * w.dims[1] + ch;
                const int64_t at_x =
                    ((int64_t{b} * x.dims[1] + channel) * x.dims[2] + h) * x.dims[3] + v;
                const int64_t at_w =
                    ((int64_t{o} * w.dims[1] + ch) * w.dims[2] + p) * w.dims[3] + q;
                const int64_t at_y = ((int64_t{b} * y.dims[1] + o) * y.dims[2] + i) * y.dims[3] + j;
                if (what == kDx)
                  sums[at_x] += value(pw, at_w) * value(py, at_y);
                else if (what == kDw)
                  sums[at_w] += value(px, at_x) * value(py, at_y);
                else
                  sums[at_y] += value(px, at_x) * value(pw, at_w);
              }
  for (int64_t i = 0; i < n; ++i) {
    if (bias) sums[i] += read(bias, x.type, i / y.dims[2] / y.dims[3] % y.dims[1]);
    write(out, x.type, i, activated(activation, sums[i]));
  }
  delete[] sums;
}
bool one(const Tensor& t, const void* alpha, double v = 1) {
  return (t.type == kF64 ? *static_cast<const double*>(alpha)
                         : *static_cast<const float*>(alpha)) == v;
}
// The algorithm that the heuristic means to be taken; all need a workspace.
int proper(int what) { return what == kDx ? 1 : what == kDw ? 3 : 2; }
bool ready(const Handle* h, int what, const Tensor& x, int math, int algorithm, void* workspace,
           size_t n) {
  const bool plain = algorithm == proper(what) || (what == kY && algorithm == 1);
  return h->stream && plain && workspace && n == kWorkspace && proper_math(x, math);
}
void scribble(void* workspace) { memset(workspace, 0x77, kWorkspace); }

struct Choice {
  int algorithm, status;
  float time;
  size_t memory;
  int determinism, math;
  int reserved[3];
};
int choose(int what, const Tensor* x, const Tensor* w, const Convolution* c, const Tensor* y,
           int most, int* n, Choice* r) {
  *n = 0;
  if (!fits(*x, *w, *c, *y)) return kBad;
  if (mode("PIJIT_FAKE_CUDNN", "refuses")) return kOk;
  const int math = c->math;
  const int transform = what == kY ? 6 : 4;
  const Choice all[] = {{0, kOk, 1, 0, 0, math},              // not deterministic
                        {transform, kOk, 2, 0, 1, math},      // Winograd
                        {1, kNotSupported, -1, 0, 1, math},   // not there
                        {proper(what), kOk, 3, 0, 1, 2},      // float32 by halves
                        {what ? 1 : 2, kOk, 3, 0, 0, math},   // not deterministic
                        {proper(what), kOk, 4, 96, 1, math},  // the one
                        {1, kOk, 5, 96, what == kY, math}};   // which a bias can be joined to
  while (*n < most && *n < 7) r[*n] = all[*n], ++*n;
  return kOk;
}
int workspace(int what, const Tensor* x, const Tensor* w, const Convolution* c, const Tensor* y,
              int algorithm, size_t* n) {
  if (!fits(*x, *w, *c, *y)) return kBad;
  if (algorithm != proper(what) && algorithm != 1) return kNotSupported;
  return *n = kWorkspace, kOk;
}
}  // namespace

extern "C" {
// For tests: how often a function was called.
EXPORT pijit_fake_cudnn(int which) { return calls[which]; }
__attribute__((visibility("default"))) size_t cudnnGetVersion() {
  return mode("PIJIT_FAKE_CUDNN", "old") ? 92700 : 92800;
}
EXPORT cudnnCreate(Handle** h) {
  return mode("PIJIT_FAKE_CUDNN", "absent") ? 1001 : (*h = new Handle{}, kOk);
}
__attribute__((visibility("default"))) const char* cudnnGetErrorString(int status) {
  return status == kFailed ? "CUDNN_STATUS_EXECUTION_FAILED" : "CUDNN_STATUS_BAD_PARAM";
}
EXPORT cudnnSetStream(Handle* h, void* stream) { return h->stream = stream, kOk; }
EXPORT cudnnCreateTensorDescriptor(Tensor** t) { return *t = new Tensor{}, kOk; }
EXPORT cudnnCreateFilterDescriptor(Tensor** t) { return *t = new Tensor{}, kOk; }
EXPORT cudnnDestroyTensorDescriptor(Tensor* t) { return delete t, kOk; }
EXPORT cudnnDestroyFilterDescriptor(Tensor* t) { return delete t, kOk; }
int tensor_set(Tensor* t, int type, int rank, const int* dims, bool filter) {
  if (rank != 4 || (type > kF16 && type != kBf16) || *std::min_element(dims, dims + 4) < 1)
    return kBad;
  *t = {type, {}, filter};
  return memcpy(t->dims, dims, sizeof t->dims), kOk;
}
EXPORT cudnnSetTensorNdDescriptor(Tensor* t, int type, int rank, const int* dims,
                                  const int* strides) {
  if (strides[3] != 1) return kNotSupported;
  for (int k = 0; k < 3; ++k)
    if (strides[k] != strides[k + 1] * dims[k + 1]) return kNotSupported;
  return tensor_set(t, type, rank, dims, false);
}
EXPORT cudnnSetFilterNdDescriptor(Tensor* t, int type, int format, int rank, const int* dims) {
  return format ? kNotSupported : tensor_set(t, type, rank, dims, true);
}
EXPORT cudnnCreateConvolutionDescriptor(Convolution** c) { return *c = new Convolution{}, kOk; }
EXPORT cudnnDestroyConvolutionDescriptor(Convolution* c) { return delete c, kOk; }
EXPORT cudnnSetConvolutionNdDescriptor(Convolution* c, int axes, const int* pad, const int* stride,
                                       const int* dilation, int how, int compute) {
  if (axes != 2 || how != 1 || (compute != kF32 && compute != kF64)) return kBad;
  for (int k = 0; k < 2; ++k) {
    if (pad[k] < 0 || stride[k] < 1 || dilation[k] < 1) return kBad;
    c->pad[k] = pad[k], c->stride[k] = stride[k], c->dilation[k] = dilation[k];
  }
  return c->compute = compute, kOk;
}
EXPORT cudnnSetConvolutionMathType(Convolution* c, int math) {
  return math < 0 || math > 3 ? kBad : (c->math = math, kOk);
}
EXPORT cudnnSetConvolutionGroupCount(Convolution* c, int n) {
  return n < 1 ? kBad : (c->groups = n, kOk);
}
EXPORT cudnnCreateActivationDescriptor(Activation** a) { return *a = new Activation{}, kOk; }
EXPORT cudnnDestroyActivationDescriptor(Activation* a) { return delete a, kOk; }
EXPORT cudnnSetActivationDescriptor(Activation* a, int how, int nan, double coefficient) {
  if (nan != 1) return kBad;
  return a->mode = how, kOk;
}
EXPORT cudnnSetActivationDescriptorSwishBeta(Activation* a, double beta) {
  return a->beta = beta, kOk;
}
EXPORT cudnnGetConvolutionForwardAlgorithm_v7(Handle*, Tensor* x, Tensor* w, Convolution* c,
                                              Tensor* y, int most, int* n, Choice* r) {
  return choose(kY, x, w, c, y, most, n, r);
}
EXPORT cudnnGetConvolutionBackwardDataAlgorithm_v7(Handle*, Tensor* w, Tensor* dy, Convolution* c,
                                                   Tensor* dx, int most, int* n, Choice* r) {
  return choose(kDx, dx, w, c, dy, most, n, r);
}
EXPORT cudnnGetConvolutionBackwardFilterAlgorithm_v7(Handle*, Tensor* x, Tensor* dy, Convolution* c,
                                                     Tensor* dw, int most, int* n, Choice* r) {
  return choose(kDw, x, dw, c, dy, most, n, r);
}
EXPORT cudnnGetConvolutionForwardWorkspaceSize(Handle*, Tensor* x, Tensor* w, Convolution* c,
                                               Tensor* y, int algorithm, size_t* n) {
  return workspace(kY, x, w, c, y, algorithm, n);
}
EXPORT cudnnGetConvolutionBackwardDataWorkspaceSize(Handle*, Tensor* w, Tensor* dy, Convolution* c,
                                                    Tensor* dx, int algorithm, size_t* n) {
  return workspace(kDx, dx, w, c, dy, algorithm, n);
}
EXPORT cudnnGetConvolutionBackwardFilterWorkspaceSize(Handle*, Tensor* x, Tensor* dy,
                                                      Convolution* c, Tensor* dw, int algorithm,
                                                      size_t* n) {
  return workspace(kDw, x, dw, c, dy, algorithm, n);
}
int start(Handle* h, int what, const void* alpha, Tensor* x, const void* px, Tensor* w,
          const void* pw, Convolution* c, Tensor* y, const void* py, int algorithm, void* ws,
          size_t n, const void* beta, void* out) {
  if (!fits(*x, *w, *c, *y) || !one(*x, alpha) || !one(*x, beta, 0)) return kBad;
  if (!ready(h, what, *x, c->math, algorithm, ws, n)) return kNotSupported;
  if (mode("PIJIT_FAKE_CUDNN", "fails")) return kFailed;
  ++calls[what];
  later([=, tx = *x, tw = *w, ty = *y, tc = *c] {
    scribble(ws);
    convolve(what, tx, px, tw, pw, tc, ty, py, out, nullptr, 5);
  });
  return kOk;
}
EXPORT cudnnConvolutionForward(Handle* h, const void* alpha, Tensor* x, const void* px, Tensor* w,
                               const void* pw, Convolution* c, int algorithm, void* ws, size_t n,
                               const void* beta, Tensor* y, void* py) {
  return start(h, kY, alpha, x, px, w, pw, c, y, nullptr, algorithm, ws, n, beta, py);
}
EXPORT cudnnConvolutionBackwardData(Handle* h, const void* alpha, Tensor* w, const void* pw,
                                    Tensor* dy, const void* pdy, Convolution* c, int algorithm,
                                    void* ws, size_t n, const void* beta, Tensor* dx, void* pdx) {
  return start(h, kDx, alpha, dx, nullptr, w, pw, c, dy, pdy, algorithm, ws, n, beta, pdx);
}
EXPORT cudnnConvolutionBackwardFilter(Handle* h, const void* alpha, Tensor* x, const void* px,
                                      Tensor* dy, const void* pdy, Convolution* c, int algorithm,
                                      void* ws, size_t n, const void* beta, Tensor* dw, void* pdw) {
  return start(h, kDw, alpha, x, px, dw, nullptr, c, dy, pdy, algorithm, ws, n, beta, pdw);
}
bool is_bias(const Tensor& b, const Tensor& y) {
  return b.type == y.type && b.dims[0] == 1 && b.dims[1] == y.dims[1] && b.dims[2] == 1 &&
         b.dims[3] == 1;
}
EXPORT cudnnConvolutionBiasActivationForward(Handle* h, const void* alpha, Tensor* x,
                                             const void* px, Tensor* w, const void* pw,
                                             Convolution* c, int algorithm, void* ws, size_t n,
                                             const void* alpha2, Tensor* z, const void* pz,
                                             Tensor* b, const void* pb, Activation* a, Tensor* y,
                                             void* py) {
  if (!fits(*x, *w, *c, *y) || !is_bias(*b, *y) || !one(*x, alpha) || !one(*x, alpha2, 0) ||
      !fits(*x, *w, *c, *z) || !pz)
    return kBad;
  if (mode("PIJIT_FAKE_CUDNN", "apart") || algorithm != 1 || (a->mode != 5 && a->mode != 1) ||
      !ready(h, kY, *x, c->math, algorithm, ws, n))
    return kNotSupported;
  if (mode("PIJIT_FAKE_CUDNN", "fails")) return kFailed;
  ++calls[kJoined];
  later([=, tx = *x, tw = *w, ty = *y, tc = *c, how = a->mode] {
    scribble(ws);
    convolve(kY, tx, px, tw, pw, tc, ty, nullptr, py, pb, how);
  });
  return kOk;
}
EXPORT cudnnAddTensor(Handle* h, const void* alpha, Tensor* b, const void* pb, const void* beta,
                      Tensor* y, void* py) {
  if (!h->stream || !is_bias(*b, *y) || !one(*y, alpha) || !one(*y, beta)) return kBad;
  ++calls[kAdd];
  later([=, t = *y] {
    for (int64_t i = 0; i < count(t); ++i)
      write(py, t.type, i,
            read(py, t.type, i) + read(pb, t.type, i / t.dims[2] / t.dims[3] % t.dims[1]));
  });
  return kOk;
}
EXPORT cudnnActivationForward(Handle* h, Activation* a, const void* alpha, Tensor* x,
                              const void* px, const void* beta, Tensor* y, void* py) {
  if (!h->stream || count(*x) != count(*y) || x->type != y->type || !one(*y, alpha) ||
      !one(*y, beta, 0))
    return kBad;
  if (a->mode == 6 && a->beta != 1) return kBad;
  ++calls[kActivate];
  later([=, t = *y, how = a->mode] {
    for (int64_t i = 0; i < count(t); ++i)
      write(py, t.type, i, activated(how, read(px, t.type, i)));
  });
  return kOk;
}
}

#include "fake_cudnn_graph.h"
