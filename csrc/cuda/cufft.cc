// Discrete Fourier transforms by cuFFT, opened at run time. It takes lines one after the other;
// kernels of ours put them there, scale what comes back, and leave out what the transform to real
// values does not read, the imaginary parts of the first element and of the one in the middle.
#include <cmath>
#include <cstring>
#include <limits>
#include <mutex>

#include "base/error.h"
#include "cuda/nvrtc.h"
#include "cuda/source_kernel.h"

namespace pijit::cuda {
namespace {

// Of the library's binary interface: cufft.h, cufftXt.h, library_types.h.
using Plan = int;
enum : int {
  kReal32 = 0,
  kReal64 = 1,
  kComplex32 = 4,
  kComplex64 = 5,
  kForward = -1,
  kInverse = 1
};

// X(member, exported name, parameters)
#define PIJIT_CUFFT_FUNCTIONS(X)                                                         \
  X(create, "cufftCreate", (Plan*))                                                      \
  X(destroy, "cufftDestroy", (Plan))                                                     \
  X(allocate, "cufftSetAutoAllocation", (Plan, int))                                     \
  X(set_workspace, "cufftSetWorkArea", (Plan, void*))                                    \
  X(set_stream, "cufftSetStream", (Plan, Stream))                                        \
  X(make, "cufftXtMakePlanMany",                                                         \
    (Plan, int rank, long long* n, long long*, long long, long long, int in, long long*, \
     long long, long long, int out, long long lines, size_t* workspace, int type))       \
  X(run, "cufftXtExec", (Plan, void*, void*, int direction))

struct Library {
#define X(member, name, parameters) int(*member) parameters = nullptr;
  PIJIT_CUFFT_FUNCTIONS(X)
#undef X
};

// Null where the library is not found.
const Library* library() {
  static const Library* made = []() -> const Library* {
    void* lib = open_library({"libcufft.so.12", "libcufft.so.11", "libcufft.so"});
    if (!lib) return nullptr;
    auto* l = new Library;
#define X(member, name, parameters) {name, &l->member},
    if (!find_functions(lib, {PIJIT_CUFFT_FUNCTIONS(X)})) return l;
#undef X
    delete l;
    return nullptr;
  }();
  return made;
}

Gpu* gpu = nullptr;  // of this plug-in

// n: lines, elements of a line, inner elements, the length of the whole transform, the scale.
constexpr const char* kLines = R"(
ENTRY(gather) {
  const ix n = (ix)a.n[1], inner = (ix)a.n[2];
  EACH(k, (ix)a.n[0] * n) {
    const ix j = k % n, line = k / n, from = (line / inner * n + j) * inner + line % inner;
    const T* const x = (const T*)a.p[0] + from * IN;
    T* const y = (T*)a.p[1] + k * IN;
    y[0] = x[0];
    if (IN == 2) y[IN - 1] = HALF && (j == 0 || 2 * j == (ix)a.n[3]) ? (T)0 : x[IN - 1];
  }
}
ENTRY(scatter) {
  const ix n = (ix)a.n[1], inner = (ix)a.n[2];
  union { i64 i; f64 d; } scale;
  scale.i = a.n[4];
  EACH(k, (ix)a.n[0] * n) {
    const ix j = k / inner % n, line = k / inner / n * inner + k % inner;
    for (int p = 0; p < OUT; ++p)
      ((T*)a.p[1])[k * OUT + p] = ((const T*)a.p[0])[(line * n + j) * OUT + p] * (T)scale.d;
  }
}
)";

double scale_of(const std::string& norm, bool inverse, int64_t n) {
  const auto d = static_cast<double>(n);
  if (norm == "ortho") return 1 / std::sqrt(d);
  return (norm == "backward") == inverse ? 1 / d : 1;
}

class Transform {
 public:
  Transform(const Library& l, const KernelRequest& r, int64_t n, bool inverse)
      : lib_(l),
        op_(r.op.name),
        direction_(inverse ? kInverse : kForward),
        in_parts_(is_complex(r.in[0].dtype) ? 2 : 1),
        out_parts_(is_complex(r.out.dtype) ? 2 : 1),
        wide_(r.in[0].dtype == DType::F64 || r.in[0].dtype == DType::C128),
        kernels_(*gpu, op_, 2, 5,
                 str_cat(element_types(wide_ ? DType::F64 : DType::F32,
                                       needs_wide(2 * std::max<int64_t>(r.in[0].shape.numel(),
                                                                        r.out.shape.numel()))),
                         define("IN", in_parts_), define("OUT", out_parts_),
                         define("HALF", out_parts_ == 1), kLines),
                 {"gather", "scatter"}) {
    const int axis = normalize_axis(op_, r.ctx().i("axis"), r.in[0].shape.rank());
    const Axis from(r.in[0].shape, axis), to(r.out.shape, axis);
    const int64_t lines = from.outer * from.inner;
    const double scale = scale_of(r.ctx().s("norm"), inverse, n);
    int64_t bits;
    std::memcpy(&bits, &scale, sizeof bits);
    from_ = {lines, from.n, from.inner, n, bits}, to_ = {lines, to.n, to.inner, n, bits};
    gathers_ = from.inner != 1 || out_parts_ == 1;
    scatters_ = from.inner != 1 || scale != 1;
    const int type = wide_ ? kComplex64 : kComplex32, part = wide_ ? kReal64 : kReal32;
    long long length = n;
    ok_ = l.create(&plan_) == 0;
    ok_ = ok_ && l.allocate(plan_, 0) == 0 &&
          l.make(plan_, 1, &length, nullptr, 1, from.n, in_parts_ == 2 ? type : part, nullptr, 1,
                 to.n, out_parts_ == 2 ? type : part, lines, &workspace_, type) == 0;
  }
  ~Transform() {
    if (plan_ >= 0) lib_.destroy(plan_);
  }
  Transform(const Transform&) = delete;
  bool ok() const { return ok_; }

  void run(const void* in, void* out) {
    gpu->enter();
    const DeviceBlock gathered(*gpu, gathers_ ? bytes(from_, in_parts_) : 0);
    const DeviceBlock made(*gpu, scatters_ ? bytes(to_, out_parts_) : 0);
    const DeviceBlock workspace(*gpu, workspace_);
    if (gathers_) kernels_.run(0, from_[0] * from_[1], {in, gathered.p}, from_);
    void* from = gathers_ ? gathered.p : const_cast<void*>(in);
    void* to = scatters_ ? made.p : out;
    {
      std::lock_guard lock(mu_);  // workspace and stream are the plan's
      check(lib_.set_stream(plan_, gpu->stream()));
      check(lib_.set_workspace(plan_, workspace.p));
      check(lib_.run(plan_, from, to, direction_));
    }
    if (scatters_) kernels_.run(1, to_[0] * to_[1], {to, out}, to_);
    gpu->after(op_);
  }

 private:
  size_t bytes(const Ints& n, int parts) const {
    return static_cast<size_t>(n[0] * n[1] * parts) * (wide_ ? 8 : 4);
  }
  void check(int status) const {
    OP_CHECK(status == 0, kRuntime, "[GPU] cuFFT refuses ", op_, " of ", from_[0], " lines of ",
             from_[3], " elements, status ", status);
  }
  const Library& lib_;
  const std::string op_;
  const int direction_, in_parts_, out_parts_;  // real parts of an element
  const bool wide_;
  const SourceKernel kernels_;
  Ints from_, to_;
  bool gathers_ = false, scatters_ = false, ok_ = false;
  Plan plan_ = -1;
  size_t workspace_ = 0;
  std::mutex mu_;
};

std::unique_ptr<OpKernel> transform(const KernelRequest& r, int64_t n, bool inverse,
                                    std::string* why) {
  const int64_t most = std::max<int64_t>(r.in[0].shape.numel(), r.out.shape.numel());
  NEED(r.in[0].shape.numel() > 0, "nothing to transform");
  NEED(most < std::numeric_limits<int>::max(), "too many elements");
  gpu->enter();
  const Library* l = library();
  NEED(l, "libcufft is not found");
  auto made = std::make_shared<Transform>(*l, r, n, inverse);
  NEED(made->ok(), "cuFFT has no such transform");
  return fn_kernel([made](const void* const* in, void* out) { made->run(in[0], out); });
}
int64_t length(const KernelRequest& r) {
  return r.in[0].shape[normalize_axis(r.op.name, r.ctx().i("axis"), r.in[0].shape.rank())];
}
KERNEL(fft) { return transform(r, length(r), r.ctx().flag("inverse"), why); }
KERNEL(rfft) { return transform(r, length(r), false, why); }
KERNEL(irfft) { return transform(r, r.ctx().i("n"), true, why); }

}  // namespace

void register_cufft(Gpu& g) {
  gpu = &g;
  const std::pair<const char*, KernelFactory> all[] = {
      {"fft", fft}, {"rfft", rfft}, {"irfft", irfft}};
  for (auto& [name, make] : all) g.kernels.add(name, {"cufft", make});
}

}  // namespace pijit::cuda
