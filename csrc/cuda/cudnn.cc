// Convolutions and their gradients by cuDNN, opened at run time. Algorithms are deterministic and
// add up products as they are: transforms (FFT, Winograd) would spread an infinity over its
// neighbours. Products of float32 are exact (TF32 only under numerics="fast"); halves are added in
// float32. The algorithm is chosen when the kernel is made: launching waits for nothing, so that
// it can be recorded.
#include <limits>
#include <optional>

#include "base/error.h"
#include "cuda/cudnn.h"
#include "cuda/nvrtc.h"
#include "cuda/source_kernel.h"

namespace pijit::cuda {

struct Choice {  // cudnnConvolution{Fwd,BwdData,BwdFilter}AlgoPerf_t
  int algorithm, status;
  float time;
  size_t memory;
  int determinism, math;
  int reserved[3];
};

Cudnn* cudnn() {
  static Cudnn* made = []() -> Cudnn* {
    void* lib = open_library({"libcudnn.so.9"});
    if (!lib) return nullptr;
    auto* l = new Cudnn;
#define X(member, name, type) {name, &l->member},
    if (!find_functions(lib, {PIJIT_CUDNN_FUNCTIONS(X)}) && l->create(&l->handle) == 0) return l;
#undef X
    delete l;
    return nullptr;
  }();
  return made;
}

namespace {

// Of the library's binary interface: cudnn.h.
enum : int {
  kRowMajor = 0,       // cudnnTensorFormat_t
  kCorrelation = 1,    // cudnnConvolutionMode_t
  kDeterministic = 1,  // cudnnDeterminism_t
  kDefaultMath = 0,    // cudnnMathType_t: float32 by TF32 where the GPU has it
  kTensorMath = 1,
  kConvertingMath = 2,  // float32 by halves
  kFmaMath = 3,
  kSigmoid = 0,  // cudnnActivationMode_t
  kRelu = 1,
  kTanh = 2,
  kIdentity = 5,
  kSwish = 6,
  kPropagateNan = 1,         // cudnnNanPropagation_t
  kImplicitPrecomputed = 1,  // cudnnConvolutionFwdAlgo_t: the one that adds a bias
};

Gpu* gpu = nullptr;  // of this plug-in

struct Owned {
  Descriptor d = nullptr;
  Destroy* destroy = nullptr;
  Owned() = default;
  Owned(const Owned&) = delete;
  ~Owned() {
    if (d) destroy(d);
  }
};

enum Result { kY, kDx, kDw };

// The algorithms that add up products as they are, by bits; the others transform.
constexpr unsigned kPlain[] = {0b1111, 0b11, 0b1011};
constexpr size_t kMostWorkspace = size_t{512} << 20;

// What cuDNN's convolutions have not: other padding at the end of an axis than at its beginning.
// The images get the difference ahead. n: planes, H, W, both with padding, how much is above and
// left.
constexpr const char* kBorder = R"(
ENTRY(widen) {
  const ix h = (ix)a.n[1], w = (ix)a.n[2], ph = (ix)a.n[3], pw = (ix)a.n[4];
  EACH(k, (ix)a.n[0] * ph * pw) {
    const ix i = k / pw % ph - (ix)a.n[5], j = k % pw - (ix)a.n[6];
    const bool inside = i >= 0 && i < h && j >= 0 && j < w;
    ((W*)a.p[1])[k] = inside ? ((const W*)a.p[0])[(k / pw / ph * h + i) * w + j] : (W)0;
  }
}
ENTRY(crop) {
  const ix h = (ix)a.n[1], w = (ix)a.n[2], ph = (ix)a.n[3], pw = (ix)a.n[4];
  EACH(k, (ix)a.n[0] * h * w)
    ((W*)a.p[1])[k] = ((const W*)a.p[0])[(k / w / h * ph + k / w % h + (ix)a.n[5]) * pw + k % w + (ix)a.n[6]];
}
)";

class Convolution {
 public:
  Convolution(Cudnn& l, Result result, DType dtype) : lib_(l), result_(result), dtype_(dtype) {}
  // Null, or why the library does not serve it.
  const char* set_up(const KernelRequest& r, const Shape& x, const Shape& w, const Shape& y) {
    what_ = str_cat(r.op.name, " of x ", x.str(), " and w ", w.str());
    const OpCtx c = r.ctx();
    const Ints stride = c.numbers("stride"), pad = c.numbers("pad");
    const Ints dilation = c.numbers("dilation");
    const bool wide = dtype_ == DType::F64, single = dtype_ == DType::F32;
    type_ = wide ? kFloat64 : single ? kFloat32 : dtype_ == DType::F16 ? kFloat16 : kBfloat16;
    if (wide)
      one_.d = 1;
    else
      one_.f = 1;
    // Padding on both sides alike is the convolution's; the rest is put around the images.
    const int64_t high = std::min(pad[0], pad[1]), across = std::min(pad[2], pad[3]);
    const Shape bordered{x[0], x[1], x[2] + (pad[0] + pad[1] - 2 * high),
                         x[3] + (pad[2] + pad[3] - 2 * across)};
    for (const Shape* s : {&bordered, &w, &y})
      if (s->numel() == 0 || s->numel() > std::numeric_limits<int>::max())
        return "too many elements, or none";
    for (const Ints* numbers : {&stride, &pad, &dilation})
      for (int64_t n : *numbers)
        if (n > std::numeric_limits<int>::max()) return "a window that is too large";
    if (!(bordered == x)) {
      border_numbers_ = {x[0] * x[1], x[2],          x[3],           bordered[2],
                         bordered[3], pad[0] - high, pad[2] - across};
      border_bytes_ = static_cast<size_t>(bordered.numel()) * size_of(dtype_);
      border_.emplace(*gpu, r.op.name, 2, static_cast<int>(border_numbers_.size()),
                      word_type(dtype_, needs_wide(bordered.numel())) + kBorder,
                      std::vector<std::string>{"widen", "crop"});
    }
    const int math = wide || (single && r.fast) ? kDefaultMath : single ? kFmaMath : kTensorMath;
    const int both[] = {static_cast<int>(high), static_cast<int>(across)};
    const int s[] = {static_cast<int>(stride[0]), static_cast<int>(stride[1])};
    const int d[] = {static_cast<int>(dilation[0]), static_cast<int>(dilation[1])};
    if (!tensor(&x_, bordered) || !tensor(&y_, y) || !filter(w) ||
        !make(&conv_, lib_.conv_create, lib_.conv_destroy) ||
        lib_.conv_set(conv_.d, 2, both, s, d, kCorrelation, wide ? kFloat64 : kFloat32) != 0 ||
        lib_.conv_groups(conv_.d, static_cast<int>(c.i("group"))) != 0)
      return "cuDNN has no such convolution";
    const std::string activation = r.op.name.ends_with("_post") ? c.s("activation") : "";
    activates_ = !activation.empty();
    bias_ = result_ == kY && r.present[2];
    if (bias_ && !tensor(&bias_shape_, Shape{1, y[1], 1, 1})) return "cuDNN has no such bias";
    if ((bias_ || activates_) && !activate_as(activation.empty()        ? kIdentity
                                              : activation == "relu"    ? kRelu
                                              : activation == "sigmoid" ? kSigmoid
                                              : activation == "tanh"    ? kTanh
                                                                        : kSwish))
      return "cuDNN has no such activation";
    // One algorithm adds a bias, and applies ReLU, while the sums are in registers.
    joined_ = bias_ && (activation.empty() || activation == "relu") &&
              choose(math, 1u << kImplicitPrecomputed);
    return joined_ || choose(math, kPlain[result_]) ? nullptr
                                                    : "cuDNN has no deterministic algorithm";
  }

  void run(const void* first, const void* second, const void* bias, void* out) {
    gpu->enter();
    const DeviceBlock workspace(*gpu, workspace_bytes_), bordered(*gpu, border_bytes_);
    if (border_ && result_ != kDx) {
      border_->run(0, static_cast<int64_t>(border_bytes_ / size_of(dtype_)), {first, bordered.p},
                   border_numbers_);
      first = bordered.p;
    }
    convolve(first, second, bias, border_ && result_ == kDx ? bordered.p : out, workspace.p);
    if (border_ && result_ == kDx) {
      const auto& n = border_numbers_;
      border_->run(1, n[0] * n[1] * n[2], {bordered.p, out}, n);
    }
    gpu->after(what_);
  }

 private:
  bool make(Owned* o, Create* create, Destroy* destroy) {
    o->destroy = destroy;
    return create(&o->d) == 0;
  }
  bool tensor(Owned* o, const Shape& s) {
    const auto strides = s.strides();
    int dims[4], steps[4];
    for (int k = 0; k < 4; ++k)
      dims[k] = static_cast<int>(s[k]), steps[k] = static_cast<int>(strides[k]);
    return make(o, lib_.tensor_create, lib_.tensor_destroy) &&
           lib_.tensor_set(o->d, type_, 4, dims, steps) == 0;
  }
  bool filter(const Shape& s) {
    int dims[4];
    for (int k = 0; k < 4; ++k) dims[k] = static_cast<int>(s[k]);
    return make(&w_, lib_.filter_create, lib_.filter_destroy) &&
           lib_.filter_set(w_.d, type_, kRowMajor, 4, dims) == 0;
  }
  bool activate_as(int mode) {
    return make(&activation_, lib_.activation_create, lib_.activation_destroy) &&
           lib_.activation_set(activation_.d, mode, kPropagateNan, 0) == 0 &&
           (mode != kSwish || lib_.activation_beta(activation_.d, 1) == 0);
  }
  // Operands in the library's order.
  Descriptor first() const { return result_ == kDx ? w_.d : x_.d; }
  Descriptor second() const { return result_ == kY ? w_.d : y_.d; }
  Descriptor made() const { return result_ == kY ? y_.d : result_ == kDx ? x_.d : w_.d; }

  // The best of the allowed algorithms, which stand in `plain` by bits.
  bool choose(int math, unsigned plain) {
    Choice found[16] = {};
    int n = 0;
    std::lock_guard lock(lib_.mu);
    if (lib_.conv_math(conv_.d, math) != 0) return false;
    auto* ask = result_ == kY ? lib_.choose_y : result_ == kDx ? lib_.choose_dx : lib_.choose_dw;
    auto* size = result_ == kY    ? lib_.workspace_y
                 : result_ == kDx ? lib_.workspace_dx
                                  : lib_.workspace_dw;
    if (ask(lib_.handle, first(), second(), conv_.d, made(), std::size(found), &n, found) != 0)
      return false;
    for (const Choice* c = found; c < found + n; ++c) {
      if (c->status != 0 || c->determinism != kDeterministic || c->math == kConvertingMath ||
          c->algorithm < 0 || c->algorithm > 31 || !(plain >> c->algorithm & 1))
        continue;
      if (math == kFmaMath && c->math == kTensorMath) continue;
      // The algorithm is made for the math that it was found with; exact float32 stays so.
      if (lib_.conv_math(conv_.d, math == kFmaMath ? kFmaMath : c->math) != 0 ||
          size(lib_.handle, first(), second(), conv_.d, made(), c->algorithm, &workspace_bytes_) !=
              0 ||
          workspace_bytes_ > kMostWorkspace)
        continue;
      algorithm_ = c->algorithm;
      return true;
    }
    return false;
  }

  void convolve(const void* a, const void* b, const void* bias, void* out, void* workspace) {
    std::lock_guard lock(lib_.mu);
    check(lib_.set_stream(lib_.handle, gpu->stream()));
    const void *one = &one_, *zero = &zero_;
    if (joined_) {
      const int status = lib_.convolve_and_add(lib_.handle, one, x_.d, a, w_.d, b, conv_.d,
                                               algorithm_, workspace, workspace_bytes_, zero, y_.d,
                                               out, bias_shape_.d, bias, activation_.d, y_.d, out);
      if (status / 1000 != kNotSupported) return check(status);
      joined_ = false;  // one after the other, then
    }
    auto* go = result_ == kY    ? lib_.convolve_y
               : result_ == kDx ? lib_.convolve_dx
                                : lib_.convolve_dw;
    check(go(lib_.handle, one, first(), a, second(), b, conv_.d, algorithm_, workspace,
             workspace_bytes_, zero, made(), out));
    if (bias_) check(lib_.add(lib_.handle, one, bias_shape_.d, bias, one, y_.d, out));
    if (activates_)
      check(lib_.activate(lib_.handle, activation_.d, one, y_.d, out, zero, y_.d, out));
  }
  void check(int status) const {
    OP_CHECK(status == 0, kRuntime, "[GPU] cuDNN refuses ", what_, ": ", lib_.error_string(status));
  }

  static constexpr int kNotSupported = 3;  // thousands of a status
  Cudnn& lib_;
  const Result result_;
  const DType dtype_;
  std::string what_;
  int type_ = 0, algorithm_ = 0;
  size_t workspace_bytes_ = 0;
  union {
    float f;
    double d;
  } one_{}, zero_{};
  Owned x_, w_, y_, conv_, activation_, bias_shape_;
  bool bias_ = false, activates_ = false;
  bool joined_ = false;  // bias and activation are part of the convolution
  std::optional<SourceKernel> border_;
  Ints border_numbers_;
  size_t border_bytes_ = 0;
};

std::unique_ptr<OpKernel> convolution(const KernelRequest& r, Result result, const Shape& x,
                                      const Shape& w, const Shape& y, std::string* why) {
  NEED(is_float(r.out.dtype), "not a convolution of floats");
  for (size_t k = 0; k < r.in.size(); ++k)
    NEED(!r.present[k] || r.in[k].dtype == r.out.dtype, "operands of different dtypes");
  NEED(r.present.size() < 4 || !r.present[3], "a residual");
  gpu->enter();
  Cudnn* l = cudnn();
  NEED(l, "libcudnn is not found");
  auto made = std::make_shared<Convolution>(*l, result, r.out.dtype);
  if (const char* reason = made->set_up(r, x, w, y)) return *why = reason, nullptr;
  // The library takes the weight ahead of what comes from the result.
  return fn_kernel([made, swap = result == kDx, bias = result == kY && r.present[2]](
                       const void* const* in, void* out) {
    made->run(in[swap], in[!swap], bias ? in[2] : nullptr, out);
  });
}
KERNEL(conv2d) { return convolution(r, kY, r.in[0].shape, r.in[1].shape, r.out.shape, why); }
KERNEL(conv2d_dx) { return convolution(r, kDx, r.out.shape, r.in[1].shape, r.in[0].shape, why); }
KERNEL(conv2d_dw) { return convolution(r, kDw, r.in[0].shape, r.out.shape, r.in[1].shape, why); }

}  // namespace

void register_cudnn(Gpu& g) {
  gpu = &g;
  const std::pair<const char*, KernelFactory> all[] = {{"conv2d", conv2d},
                                                       {"conv2d_post", conv2d},
                                                       {"conv2d_dx", conv2d_dx},
                                                       {"conv2d_dw", conv2d_dw}};
  for (auto& [name, make] : all) g.kernels.add(name, {"cudnn", make});
}

}  // namespace pijit::cuda
