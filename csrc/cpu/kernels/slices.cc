// Sums of many slices in one buffer: each term is added where it lies, instead of a whole tensor of
// which most is 0. And slices at places that a run knows.
#include <algorithm>
#include <cstring>
#include <type_traits>
#include <vector>

#include "cpu/cpu.h"
#include "cpu/kernels/strided.h"

namespace pijit {
namespace {

// One addition as a loop makes it.
template <class T>
T added(T a, T b) {
  if constexpr (std::is_integral_v<T>)  // wraps
    return static_cast<T>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
  else
    return a + b;
}
struct F16Bits {
  uint16_t bits;
};
struct BF16Bits {
  uint16_t bits;
};
[[maybe_unused]] F16Bits added(F16Bits a, F16Bits b) {
  return {float_to_half(half_to_float(a.bits) + half_to_float(b.bits))};
}
[[maybe_unused]] BF16Bits added(BF16Bits a, BF16Bits b) {
  return {float_to_bf16(bf16_to_float(a.bits) + bf16_to_float(b.bits))};
}
// False: not a number that is added as one.
template <class F>
bool for_number(DType t, F f) {
  switch (t) {
    case DType::U8: return f(uint8_t{}), true;
    case DType::I8: return f(int8_t{}), true;
    case DType::I16: return f(int16_t{}), true;
    case DType::U16: return f(uint16_t{}), true;
    case DType::I32: return f(int32_t{}), true;
    case DType::U32: return f(uint32_t{}), true;
    case DType::I64: return f(int64_t{}), true;
    case DType::U64: return f(uint64_t{}), true;
    case DType::F16: return f(F16Bits{}), true;
    case DType::BF16: return f(BF16Bits{}), true;
    case DType::F32: return f(float{}), true;
    case DType::F64: return f(double{}), true;
    default: return false;
  }
}
// Where each term lies, and which elements all of them touch: along each axis, those that all do.
struct SlicesSum {
  struct Term {
    Shape shape;
    std::vector<int64_t> strides;
    int64_t offset = 0;
  };
  std::vector<Term> terms;
  std::vector<std::vector<bool>> in_all;  // per axis
  bool common = true;                     // is there an element that all touch?
  explicit SlicesSum(const KernelRequest& r) {
    const Shape& whole = r.out.shape;
    const size_t rank = static_cast<size_t>(whole.rank());
    const std::vector<int64_t> begin = r.ctx().numbers("begin"), step = r.ctx().numbers("step");
    const auto strides = whole.strides();
    std::vector<std::vector<size_t>> count(rank);
    for (size_t d = 0; d < rank; ++d) count[d].resize(static_cast<size_t>(int64_t{whole[d]}));
    for (size_t k = 1; k < r.in.size(); ++k) {
      Term t;
      t.shape = r.in[k].shape;
      for (size_t d = 0; d < rank; ++d) {
        const int64_t b = begin[(k - 1) * rank + d], s = step[(k - 1) * rank + d];
        t.strides.push_back(strides[d] * s);
        t.offset += b * strides[d];
        for (int64_t i = 0; i < t.shape[d]; ++i) ++count[d][static_cast<size_t>(b + i * s)];
      }
      terms.push_back(std::move(t));
    }
    for (auto& axis : count) {
      in_all.emplace_back();
      for (size_t n : axis) in_all.back().push_back(n == terms.size());
      common &= std::count(in_all.back().begin(), in_all.back().end(), true) > 0;
    }
  }
};
// As a chain of additions of whole tensors would: -0.0 only where all terms are.
std::unique_ptr<OpKernel> add_slices(const KernelRequest& r, std::string* why) {
  if (!for_number(r.out.dtype, [](auto) {})) return *why = "not numbers", nullptr;
  const Type out = r.out;
  const bool continues = r.present[0];
  return fn_kernel([out, continues, sum = SlicesSum(r)](const void* const* x, void* y) {
    const int64_t n = out.shape.numel();
    if (n == 0) return;
    const bool apart = !sum.common;  // every element has a 0 added
    for_number(out.dtype, [&](auto z) {
      using T = decltype(z);
      T* const to = static_cast<T*>(y);
      T none{};
      if constexpr (std::is_floating_point_v<T>) {
        if (!apart) none = T{-0.0};
      } else if constexpr (!std::is_integral_v<T>) {
        if (!apart) none.bits = 0x8000;
      }
      const T* const from = static_cast<const T*>(x[0]);
      parallel_for(n, 65536, [&](int64_t begin, int64_t end) {
        if (!continues)
          std::fill(to + begin, to + end, none);
        else if (apart)
          for (int64_t i = begin; i < end; ++i) to[i] = added(from[i], T{});
        else
          std::copy(from + begin, from + end, to + begin);
      });
      for (size_t k = 0; k < sum.terms.size(); ++k) {
        const auto& t = sum.terms[k];
        const auto own = t.shape.strides();
        strided<T>(static_cast<const T*>(x[k + 1]), to + t.offset, t.shape, own.data(),
                   t.strides.data(), [](const T* s, T* d, int64_t m, int64_t si, int64_t di) {
                     if (si == 1 && di == 1)
                       for (int64_t i = 0; i < m; ++i) d[i] = added(d[i], s[i]);
                     else
                       for (int64_t i = 0; i < m; ++i) d[i * di] = added(d[i * di], s[i * si]);
                   });
      }
      if (apart || std::is_integral_v<T>) return;
      int64_t index[kMaxRank] = {};
      for (int64_t i = 0; i < n; ++i) {
        bool all = true;
        for (size_t d = 0; d < sum.in_all.size(); ++d)
          all = all && sum.in_all[d][static_cast<size_t>(index[d])];
        if (!all) to[i] = added(to[i], T{});
        for (int d = out.shape.rank() - 1; d >= 0 && ++index[d] == out.shape[d]; --d) index[d] = 0;
      }
    });
  });
}

// The places of an axis from a number on, which guards keep on the axis.
struct Places {
  size_t outer, axis, length, inner;  // blocks, places of an axis, bytes of a place
  Places(const Shape& x, const Shape& part, Dim at, DType t)
      : outer(1),
        axis(static_cast<size_t>(int64_t{x[static_cast<int>(at)]})),
        length(static_cast<size_t>(int64_t{part[static_cast<int>(at)]})),
        inner(size_of(t)) {
    for (int d = 0; d < x.rank(); ++d)
      (d < at ? outer : inner) *= d == at ? 1 : static_cast<size_t>(int64_t{x[d]});
  }
  size_t from(const void* start) const {
    return static_cast<size_t>(std::clamp(*static_cast<const int64_t*>(start), int64_t{0},
                                          static_cast<int64_t>(axis - length)));
  }
};
std::unique_ptr<OpKernel> dynamic_slice(const KernelRequest& r, std::string*) {
  const Places p(r.in[0].shape, r.out.shape, r.ctx().i("axis"), r.out.dtype);
  return fn_kernel([=](const void* const* x, void* y) {
    const char* from = static_cast<const char*>(x[0]) + p.from(x[1]) * p.inner;
    for (size_t k = 0; k < p.outer; ++k)
      std::memcpy(static_cast<char*>(y) + k * p.length * p.inner, from + k * p.axis * p.inner,
                  p.length * p.inner);
  });
}
std::unique_ptr<OpKernel> dynamic_update_slice(const KernelRequest& r, std::string*) {
  const Places p(r.out.shape, r.in[1].shape, r.ctx().i("axis"), r.out.dtype);
  const size_t bytes = r.out.bytes();
  return fn_kernel([=](const void* const* x, void* y) {
    if (y != x[0]) std::memcpy(y, x[0], bytes);  // it may lie over its first operand
    char* to = static_cast<char*>(y) + p.from(x[2]) * p.inner;
    for (size_t k = 0; k < p.outer; ++k)
      std::memcpy(to + k * p.axis * p.inner,
                  static_cast<const char*>(x[1]) + k * p.length * p.inner, p.length * p.inner);
  });
}

}  // namespace

KernelFamily slices_kernels() {
  return {"in place",
          {{"add_slices", add_slices},
           {"dynamic_slice", dynamic_slice},
           {"dynamic_update_slice", dynamic_update_slice}}};
}

}  // namespace pijit
