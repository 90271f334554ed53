// Matrix products by cuBLASLt, opened at run time. Products of float32 are exact
// (TF32, 10 bits of mantissa, only under numerics="fast"); halves are added in float32. A row-major
// matrix is a column-major one with rows and columns swapped: out = a b becomes out^T = b^T a^T,
// and all matrices stay where they are.
#include <limits>
#include <mutex>

#include "base/error.h"
#include "cuda/gpu.h"
#include "cuda/source_kernel.h"
#include "cuda/nvrtc.h"

namespace pijit::cuda {
namespace {

using Handle = void*;
using Descriptor = void*;

// Of the library's binary interface: cublasLt.h.
struct Algorithm {
  uint64_t data[8];
};
struct Choice {
  Algorithm algorithm;
  size_t workspace;
  int status;
  float waves;
  int reserved[4];
};
enum : int {
  kFloat32 = 0,  // cudaDataType
  kFloat64 = 1,
  kFloat16 = 2,
  kBfloat16 = 14,
  kCompute32 = 68,  // cublasComputeType_t
  kCompute64 = 70,
  kComputeTf32 = 77,
  kTransA = 3,  // attributes of a product
  kTransB = 4,
  kEpilogue = 7,
  kBiasPointer = 8,
  kBatchCount = 5,  // attributes of a matrix
  kBatchStride = 6,
  kMaxWorkspace = 1,    // attributes of a preference
  kLeastAlignment = 5,  // of A; then of B, C and D
  kEpilogueBias = 4,
};

struct Library {
  int (*create)(Handle*);
  int (*product_create)(Descriptor*, int compute, int scale);
  int (*product_set)(Descriptor, int, const void*, size_t);
  int (*product_destroy)(Descriptor);
  int (*matrix_create)(Descriptor*, int type, uint64_t rows, uint64_t cols, int64_t ld);
  int (*matrix_set)(Descriptor, int, const void*, size_t);
  int (*matrix_destroy)(Descriptor);
  int (*preference_create)(Descriptor*);
  int (*preference_set)(Descriptor, int, const void*, size_t);
  int (*preference_destroy)(Descriptor);
  int (*heuristic)(Handle, Descriptor, Descriptor, Descriptor, Descriptor, Descriptor, Descriptor,
                   int, Choice*, int*);
  int (*multiply)(Handle, Descriptor, const void* alpha, const void* a, Descriptor, const void* b,
                  Descriptor, const void* beta, const void* c, Descriptor, void* d, Descriptor,
                  const Algorithm*, void* workspace, size_t, Stream);
  Handle handle = nullptr;
};

// Null where the library is not found.
const Library* library() {
  static const Library* made = []() -> const Library* {
    void* lib = open_library({"libcublasLt.so.13", "libcublasLt.so.12", "libcublasLt.so"});
    if (!lib) return nullptr;
    auto* l = new Library;
    const char* missing =
        find_functions(lib, {{"cublasLtCreate", &l->create},
                             {"cublasLtMatmulDescCreate", &l->product_create},
                             {"cublasLtMatmulDescSetAttribute", &l->product_set},
                             {"cublasLtMatmulDescDestroy", &l->product_destroy},
                             {"cublasLtMatrixLayoutCreate", &l->matrix_create},
                             {"cublasLtMatrixLayoutSetAttribute", &l->matrix_set},
                             {"cublasLtMatrixLayoutDestroy", &l->matrix_destroy},
                             {"cublasLtMatmulPreferenceCreate", &l->preference_create},
                             {"cublasLtMatmulPreferenceSetAttribute", &l->preference_set},
                             {"cublasLtMatmulPreferenceDestroy", &l->preference_destroy},
                             {"cublasLtMatmulAlgoGetHeuristic", &l->heuristic},
                             {"cublasLtMatmul", &l->multiply}});
    if (!missing && l->create(&l->handle) == 0) return l;
    delete l;
    return nullptr;
  }();
  return made;
}

Gpu* gpu = nullptr;  // of this plug-in

// d[cols of the right, rows of the left], all column-major; see above.
struct Problem {
  DType dtype;
  int64_t m, n, k;                     // of the row-major product: [m, k] times [k, n]
  bool swap_a, swap_b;                 // [k, m] and [n, k] are given instead
  int64_t batch = 1;                   // products
  int64_t stride_a = 0, stride_b = 0;  // elements from one to the next; 0: the same for all
  bool bias = false;                   // of n elements
  bool fast = false;                   // TF32
};

class Product {
 public:
  Product(const Library& l, const Problem& p) : lib_(l), p_(p) {
    const int type = p.dtype == DType::F64   ? kFloat64
                     : p.dtype == DType::F32 ? kFloat32
                     : p.dtype == DType::F16 ? kFloat16
                                             : kBfloat16;
    const bool wide = p.dtype == DType::F64;
    const int compute = wide                              ? kCompute64
                        : p.fast && p.dtype == DType::F32 ? kComputeTf32
                                                          : kCompute32;
    ok_ = l.product_create(&product_, compute, wide ? kFloat64 : kFloat32) == 0;
    // The library's A is our b.
    ok_ = ok_ && set(kTransA, int{p.swap_b}) && set(kTransB, int{p.swap_a});
    if (p.bias) ok_ = ok_ && set(kEpilogue, int{kEpilogueBias});
    auto matrix = [&](Descriptor* d, int64_t rows, int64_t cols, int64_t stride) {
      ok_ = ok_ && l.matrix_create(d, type, static_cast<uint64_t>(rows),
                                   static_cast<uint64_t>(cols), rows) == 0;
      if (!ok_ || p.batch == 1) return;
      const auto count = static_cast<int32_t>(p.batch);
      ok_ = l.matrix_set(*d, kBatchCount, &count, sizeof count) == 0 &&
            l.matrix_set(*d, kBatchStride, &stride, sizeof stride) == 0;
    };
    matrix(&b_, p.swap_b ? p.k : p.n, p.swap_b ? p.n : p.k, p.stride_b);
    matrix(&a_, p.swap_a ? p.m : p.k, p.swap_a ? p.k : p.m, p.stride_a);
    matrix(&d_, p.n, p.m, p.m * p.n);
    Descriptor preference = nullptr;
    ok_ = ok_ && l.preference_create(&preference) == 0;
    const size_t most = size_t{32} << 20;
    const uint32_t alignment =
        64;  // of values in a program's memory; unasked, the library takes 256
    for (int k = 0; k < 4; ++k)
      ok_ = ok_ &&
            l.preference_set(preference, kLeastAlignment + k, &alignment, sizeof alignment) == 0;
    int found = 0;
    ok_ = ok_ && l.preference_set(preference, kMaxWorkspace, &most, sizeof most) == 0 &&
          l.heuristic(l.handle, product_, b_, a_, d_, d_, preference, 1, &choice_, &found) == 0 &&
          found > 0;
    if (preference) l.preference_destroy(preference);
  }
  ~Product() {
    for (Descriptor d : {a_, b_, d_})
      if (d) lib_.matrix_destroy(d);
    if (product_) lib_.product_destroy(product_);
  }
  Product(const Product&) = delete;
  bool ok() const { return ok_; }

  void run(const void* a, const void* b, const void* bias, void* out) {
    gpu->enter();
    std::lock_guard lock(mu_);  // the bias's address is part of the product
    if (p_.bias) PIJIT_CHECK(set(kBiasPointer, bias), "cuBLASLt takes no bias");
    const DeviceBlock workspace(*gpu, choice_.workspace);
    const double one = 1, zero = 0;
    const float one32 = 1, zero32 = 0;
    const bool wide = p_.dtype == DType::F64;
    const void *alpha = wide ? static_cast<const void*>(&one) : &one32,
               *beta = wide ? static_cast<const void*>(&zero) : &zero32;
    const int status =
        lib_.multiply(lib_.handle, product_, alpha, b, b_, a, a_, beta, out, d_, out, d_,
                      &choice_.algorithm, workspace.p, choice_.workspace, gpu->stream());
    OP_CHECK(status == 0, kRuntime, "[GPU] cuBLASLt refuses a product [", p_.m, ",", p_.k, "] x [",
             p_.k, ",", p_.n, "], status ", status);
    gpu->after("a product by cuBLASLt");
  }

 private:
  template <class T>
  bool set(int attribute, T value) {
    return lib_.product_set(product_, attribute, &value, sizeof value) == 0;
  }
  const Library& lib_;
  const Problem p_;
  bool ok_ = false;
  Descriptor product_ = nullptr, a_ = nullptr, b_ = nullptr, d_ = nullptr;
  Choice choice_{};
  std::mutex mu_;
};

std::shared_ptr<Product> product(const Problem& p, std::string* why) {
  if (!is_float(p.dtype)) return *why = "not a product of floats", nullptr;
  if (p.m * p.n * p.k * p.batch == 0) return *why = "nothing to multiply", nullptr;
  gpu->enter();  // the library starts in the thread's context
  const Library* l = library();
  if (!l) return *why = "libcublasLt is not found", nullptr;
  auto made = std::make_shared<Product>(*l, p);
  if (!made->ok()) return *why = "cuBLASLt has no algorithm", nullptr;
  return made;
}

std::unique_ptr<OpKernel> matmul(const KernelRequest& r, std::string* why) {
  const Shape &a = r.in[0].shape, &b = r.in[1].shape, &out = r.out.shape;
  const int ra = a.rank(), rb = b.rank(), ro = out.rank();
  Problem p{
      r.out.dtype, out[ro - 2], out[ro - 1], 0, r.ctx().flag("trans_a"), r.ctx().flag("trans_b")};
  p.k = a[ra - (p.swap_a ? 2 : 1)];
  int64_t in_a = 1, in_b = 1;
  for (int d = 0; d < ro - 2; ++d) p.batch *= out[d];
  for (int d = 0; d < ra - 2; ++d) in_a *= a[d];
  for (int d = 0; d < rb - 2; ++d) in_b *= b[d];
  if ((in_a != 1 && in_a != p.batch) || (in_b != 1 && in_b != p.batch))
    return *why = "stacks that broadcast in part", nullptr;
  if (p.batch > std::numeric_limits<int32_t>::max()) return *why = "too many products", nullptr;
  p.fast = r.fast;
  if (in_a != 1) p.stride_a = p.m * p.k;
  if (in_b != 1) p.stride_b = p.n * p.k;
  const auto made = product(p, why);
  if (!made) return nullptr;
  return fn_kernel(
      [made](const void* const* in, void* out) { made->run(in[0], in[1], nullptr, out); });
}

constexpr const char* kActivate = R"(
ENTRY(k) {
  M* const y = (M*)a.p[0];
  EACH(i, (ix)a.n[0]) {
    const T v = LOAD(y[i]);
    y[i] = STORE(ACTIVATION(v));
  }
}
)";
std::unique_ptr<OpKernel> dense(const KernelRequest& r, std::string* why) {
  const int64_t n = r.in[1].shape[0], k = r.in[1].shape[1];
  const int64_t rows = n ? r.out.shape.numel() / Dim(n) : Dim(0);
  Problem p{r.out.dtype, rows, n, k, false, true};
  p.bias = r.present[2];
  p.fast = r.fast;
  const auto made = product(p, why);
  if (!made) return nullptr;
  if (!r.op.name.ends_with("_post"))
    return fn_kernel(
        [made](const void* const* in, void* out) { made->run(in[0], in[1], in[2], out); });
  // The library's ReLU loses NaN, and its other activations are approximations.
  const int64_t total = r.out.shape.numel();
  auto activate =
      std::make_shared<SourceKernel>(*gpu, r.op.name, 1, 1,
                                     element_types(r.out.dtype, needs_wide(total)) +
                                         activation_macro(r.ctx().s("activation")) + kActivate,
                                     std::vector<std::string>{"k"});
  return fn_kernel([made, activate, total](const void* const* in, void* out) {
    made->run(in[0], in[1], in[2], out);
    activate->run(0, total, {out}, {total});
  });
}

}  // namespace

void register_cublas(Gpu& g) {
  gpu = &g;
  g.kernels.add("matmul", {"cublaslt", matmul});
  g.kernels.add("dense", {"cublaslt", dense});
  g.kernels.add("dense_post", {"cublaslt", dense});
}

}  // namespace pijit::cuda
