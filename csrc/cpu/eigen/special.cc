// Special functions, by Eigen's ports of Cephes.
#include <cmath>

#include "cpu/eigen/eigen.h"
#include <unsupported/Eigen/SpecialFunctions>

namespace pijit {
namespace {

template <class F>
std::unique_ptr<OpKernel> of_elements(const KernelRequest& r, F f) {
  const int64_t n = r.out.shape.numel();
  const DType t = r.out.dtype;
  const bool two = r.in.size() == 2;
  return fn_kernel([=](const void* const* x, void* y) {
    auto go = [&](auto z) {
      using T = decltype(z);
      const T* a = static_cast<const T*>(x[0]);
      const T* b = static_cast<const T*>(x[two ? 1 : 0]);
      T* out = static_cast<T*>(y);
      parallel_for(n, 1024, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i)
          out[i] = a[i] != a[i] || b[i] != b[i] ? kNaN<T> : f(a[i], b[i]);
      });
    };
    t == DType::F32 ? go(float{}) : go(double{});
  });
}

KERNEL(bessel) {
  const std::string& fn = r.ctx().s("fn");
#define PIJIT_BESSEL(name) \
  if (fn == #name)         \
    return of_elements(r, [](auto x, auto) { return Eigen::numext::bessel_##name(x); });
  PIJIT_BESSEL(i0)
  PIJIT_BESSEL(i1)
  PIJIT_BESSEL(i0e)
  PIJIT_BESSEL(i1e)
  PIJIT_BESSEL(j0)
  PIJIT_BESSEL(j1)
  PIJIT_BESSEL(y0)
  PIJIT_BESSEL(y1)
  PIJIT_BESSEL(k0)
  PIJIT_BESSEL(k1)
  PIJIT_BESSEL(k0e)
  PIJIT_BESSEL(k1e)
#undef PIJIT_BESSEL
  *why = "unknown function";
  return nullptr;
}
KERNEL(igamma) {
  return of_elements(r, [](auto a, auto x) { return Eigen::numext::igamma(a, x); });
}
KERNEL(igammac) {
  return of_elements(r, [](auto a, auto x) { return Eigen::numext::igammac(a, x); });
}
KERNEL(igamma_da) {
  return of_elements(r, [](auto a, auto x) { return Eigen::numext::igamma_der_a(a, x); });
}
KERNEL(zeta) {
  return of_elements(r, [](auto a, auto x) { return Eigen::numext::zeta(a, x); });
}
KERNEL(polygamma) {
  return of_elements(r, [](auto n, auto x) { return Eigen::numext::polygamma(n, x); });
}
KERNEL(nextafter) {
  return of_elements(r, [](auto a, auto x) { return std::nextafter(a, x); });
}
KERNEL(betainc) {
  const int64_t n = r.out.shape.numel();
  const DType t = r.out.dtype;
  return fn_kernel([=](const void* const* x, void* y) {
    auto go = [&](auto z) {
      using T = decltype(z);
      const T *a = static_cast<const T*>(x[0]), *b = static_cast<const T*>(x[1]),
              *at = static_cast<const T*>(x[2]);
      T* out = static_cast<T*>(y);
      parallel_for(n, 256, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) out[i] = Eigen::numext::betainc(a[i], b[i], at[i]);
      });
    };
    t == DType::F32 ? go(float{}) : go(double{});
  });
}

}  // namespace

KernelFamily eigen_special_kernels() {
  return {"eigen",
          {{"bessel", bessel},
           {"igamma", igamma},
           {"igammac", igammac},
           {"igamma_da", igamma_da},
           {"zeta", zeta},
           {"polygamma", polygamma},
           {"nextafter", nextafter},
           {"betainc", betainc}},
          kReference};
}

}  // namespace pijit
