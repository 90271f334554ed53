#include "graph/eval/scalar_eval.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>
#include <type_traits>

#include "base/error.h"
#include "graph/number_cast.h"

namespace pijit {
namespace {

constexpr int kBlock = 256;
using Reg = std::aligned_storage_t<kBlock * 8, 64>;

// Register types: halves live in float.
template <class F>
void with_type(DType t, F f) {
  switch (t) {
    case DType::Bool: return f(uint8_t{});
    case DType::I8: return f(int8_t{});
    case DType::I16: return f(int16_t{});
    case DType::I32: return f(int32_t{});
    case DType::I64: return f(int64_t{});
    case DType::U8: return f(uint8_t{});
    case DType::U16: return f(uint16_t{});
    case DType::U32: return f(uint32_t{});
    case DType::U64: return f(uint64_t{});
    case DType::F16:
    case DType::BF16:
    case DType::F32: return f(float{});
    case DType::F64: return f(double{});
    case DType::C64:
    case DType::C128: break;  // pairs of real values by now
  }
  throw InternalError("a complex value in a loop");
}

template <class T>
constexpr bool kIsInt = std::is_integral_v<T>;
template <class T>
using Unsigned = std::make_unsigned_t<std::conditional_t<std::is_integral_v<T>, T, int>>;

template <class T>
T floor_div(T a, T b) {
  if (b == 0) return 0;
  if constexpr (std::is_signed_v<T>) {
    if (b == -1) return static_cast<T>(-static_cast<Unsigned<T>>(a));
    T q = a / b;
    return static_cast<T>(q - ((a % b != 0) && ((a < 0) != (b < 0))));
  } else {
    return a / b;
  }
}
template <class T>
T trunc_mod(T a, T b) {
  if (b == 0) return 0;
  if constexpr (std::is_signed_v<T>)
    if (b == -1) return 0;
  return static_cast<T>(a % b);
}
template <class T>
T floor_mod(T a, T b) {
  T r = trunc_mod(a, b);
  if constexpr (std::is_signed_v<T>)
    if (r != 0 && ((r < 0) != (b < 0))) r = static_cast<T>(r + b);
  return r;
}
template <class T>
T wrap(SOp op, T a, T b) {  // integer arithmetic wraps around
  using U = Unsigned<T>;
  using W = std::conditional_t<(sizeof(T) < 4), uint32_t, U>;
  const W x = static_cast<W>(static_cast<U>(a)), y = static_cast<W>(static_cast<U>(b));
  switch (op) {
    case SOp::kAdd: return static_cast<T>(x + y);
    case SOp::kSub: return static_cast<T>(x - y);
    default: return static_cast<T>(x * y);
  }
}

template <class T>
void load(Reg& r, const void* p, int64_t stride, int64_t n) {
  T* d = reinterpret_cast<T*>(&r);
  const T* s = static_cast<const T*>(p);
  if (stride == 1)
    std::memcpy(d, s, n * sizeof(T));
  else
    for (int64_t i = 0; i < n; ++i) d[i] = s[i * stride];
}
template <class T>
void store(const Reg& r, void* p, int64_t stride, int64_t n) {
  const T* s = reinterpret_cast<const T*>(&r);
  T* d = static_cast<T*>(p);
  if (stride == 1)
    std::memcpy(d, s, n * sizeof(T));
  else
    for (int64_t i = 0; i < n; ++i) d[i * stride] = s[i];
}

#define LOOP(expr) \
  for (int64_t i = 0; i < n; ++i) d[i] = (expr)

// Each of these does one node for n elements; false: it has no such op.
template <class T>
bool eval_integers(SOp op, bool of_bools, const T* a, const T* b, T* d, int64_t n) {
  switch (op) {
    case SOp::kAdd: LOOP(wrap<T>(SOp::kAdd, a[i], b[i])); return true;
    case SOp::kSub: LOOP(wrap<T>(SOp::kSub, a[i], b[i])); return true;
    case SOp::kMul: LOOP(wrap<T>(SOp::kMul, a[i], b[i])); return true;
    case SOp::kDiv:
    case SOp::kFloorDiv: LOOP(floor_div<T>(a[i], b[i])); return true;
    case SOp::kFloorMod: LOOP(floor_mod<T>(a[i], b[i])); return true;
    case SOp::kTruncMod: LOOP(trunc_mod<T>(a[i], b[i])); return true;
    case SOp::kNeg: LOOP(wrap<T>(SOp::kSub, T{0}, a[i])); return true;
    case SOp::kAbs: LOOP(a[i] < 0 ? wrap<T>(SOp::kSub, T{0}, a[i]) : a[i]); return true;
    case SOp::kAnd: LOOP(a[i] & b[i]); return true;
    case SOp::kOr: LOOP(a[i] | b[i]); return true;
    case SOp::kXor: LOOP(a[i] ^ b[i]); return true;
    case SOp::kNot:
      if (of_bools)
        LOOP(!a[i]);
      else
        LOOP(static_cast<T>(~a[i]));
      return true;
    // shifts by the width or more give 0 (or the sign)
    case SOp::kShl:
      LOOP(static_cast<uint64_t>(b[i]) < 8 * sizeof(T)
               ? static_cast<T>(static_cast<Unsigned<T>>(a[i]) << b[i])
               : T{0});
      return true;
    case SOp::kShr:
      LOOP(static_cast<uint64_t>(b[i]) < 8 * sizeof(T) ? static_cast<T>(a[i] >> b[i])
                                                       : static_cast<T>(a[i] < 0 ? -1 : 0));
      return true;
    default: return false;
  }
}

template <class T>
bool eval_floats(SOp op, const T* a, const T* b, const T* c, T* d, int64_t n) {
  switch (op) {
    case SOp::kAdd: LOOP(a[i] + b[i]); return true;
    case SOp::kSub: LOOP(a[i] - b[i]); return true;
    case SOp::kMul: LOOP(a[i] * b[i]); return true;
    case SOp::kDiv: LOOP(a[i] / b[i]); return true;
    case SOp::kFma: LOOP(std::fma(a[i], b[i], c[i])); return true;
    case SOp::kScale:
      LOOP(std::ldexp(a[i], (number_cast<int32_t, T>(b[i] > 4000    ? T{4000}
                                                     : b[i] < -4000 ? T{-4000}
                                                                    : b[i]))));
      return true;
    case SOp::kNeg: LOOP(-a[i]); return true;
    case SOp::kAbs: LOOP(std::fabs(a[i])); return true;
    case SOp::kSqrt: LOOP(std::sqrt(a[i])); return true;
    case SOp::kFloor: LOOP(std::floor(a[i])); return true;
    case SOp::kCeil: LOOP(std::ceil(a[i])); return true;
    case SOp::kRint: LOOP(std::rint(a[i])); return true;
    case SOp::kTrunc: LOOP(std::trunc(a[i])); return true;
    default: return false;
  }
}

template <class T>
void eval_comparison(SOp op, const T* a, const T* b, uint8_t* d, int64_t n) {
  switch (op) {
    case SOp::kEq: LOOP(a[i] == b[i]); break;
    case SOp::kNe: LOOP(a[i] != b[i]); break;
    case SOp::kLt: LOOP(a[i] < b[i]); break;
    case SOp::kLe: LOOP(a[i] <= b[i]); break;
    case SOp::kGt: LOOP(a[i] > b[i]); break;
    default: LOOP(a[i] >= b[i]); break;
  }
}

template <class F>
void eval_cast(DType to, const F* a, void* pd, int64_t n) {
  if (is_bool(to)) {
    uint8_t* d = static_cast<uint8_t*>(pd);
    LOOP(a[i] != 0);
    return;
  }
  with_type(to, [&](auto t) {
    using T = decltype(t);
    T* d = static_cast<T*>(pd);
    LOOP((number_cast<T, F>(a[i])));
    if constexpr (std::is_same_v<T, float>) {
      if (to == DType::F16) LOOP(half_to_float(float_to_half(d[i])));
      if (to == DType::BF16) LOOP(bf16_to_float(float_to_bf16(d[i])));
    }
  });
}

// Calls of functions, with a mask or without.
void eval_call(const SNode& s, const void* pa, const void* pb, const void* pc, void* pd,
               int64_t n) {
  switch (s.op) {
    case SOp::kCall1: {
      const Fn1 f = call1_fn(static_cast<Call1>(s.imm));
      const double* a = static_cast<const double*>(pa);
      double* d = static_cast<double*>(pd);
      if (const auto* mask = static_cast<const uint8_t*>(pc))
        LOOP(mask[i] ? f(a[i]) : 0.0);
      else
        LOOP(f(a[i]));
      return;
    }
    case SOp::kWide: {
      static const auto programs = [] {
        std::vector<BlockProgram> all;
#define X(f)                                                                         \
  all.emplace_back(wide_body(Wide::f).nodes, std::vector{wide_body(Wide::f).result}, \
                   std::vector{DType::F32});
        PIJIT_WIDE(X)
#undef X
        return all;
      }();
      const auto* mask = static_cast<const uint8_t*>(pc);
      auto* d = static_cast<float*>(pd);
      if (std::any_of(mask, mask + n, [](uint8_t m) { return m != 0; })) {
        const int64_t one = 1;
        const DType t = DType::F32;
        programs[s.imm].run(&pa, &one, &t, &pd, &one, n);
      }
      LOOP(mask[i] ? d[i] : 0.0f);
      return;
    }
    case SOp::kCall2: {
      const Fn2 f = call2_fn(static_cast<Call2>(s.imm));
      const double *a = static_cast<const double*>(pa), *b = static_cast<const double*>(pb);
      double* d = static_cast<double*>(pd);
      LOOP(f(a[i], b[i]));
      return;
    }
    default: throw InternalError("not a call");
  }
}

void eval(const SNode& s, const SNode* nodes, Reg* regs, int id, int64_t n) {
  const DType src = s.a >= 0 ? nodes[s.a].dt : s.dt;
  const void *pa = s.a >= 0 ? &regs[s.a] : nullptr, *pb = s.b >= 0 ? &regs[s.b] : nullptr,
             *pc = s.c >= 0 ? &regs[s.c] : nullptr;
  void* pd = &regs[id];
  switch (s.op) {
    case SOp::kInput: return;
    case SOp::kConst:
      return with_type(s.dt, [&](auto t) {
        using T = decltype(t);
        T v;
        std::memcpy(&v, &s.imm, sizeof v);
        T* d = static_cast<T*>(pd);
        LOOP(v);
      });
    case SOp::kEq:
    case SOp::kNe:
    case SOp::kLt:
    case SOp::kLe:
    case SOp::kGt:
    case SOp::kGe:
      return with_type(src, [&](auto t) {
        using T = decltype(t);
        eval_comparison(s.op, static_cast<const T*>(pa), static_cast<const T*>(pb),
                        static_cast<uint8_t*>(pd), n);
      });
    case SOp::kSelect:
      return with_type(s.dt, [&](auto t) {
        using T = decltype(t);
        const uint8_t* c = static_cast<const uint8_t*>(pa);
        const T *a = static_cast<const T*>(pb), *b = static_cast<const T*>(pc);
        T* d = static_cast<T*>(pd);
        LOOP(c[i] ? a[i] : b[i]);
      });
    case SOp::kCast:
      return with_type(src, [&](auto f) {
        using F = decltype(f);
        eval_cast(s.dt, static_cast<const F*>(pa), pd, n);
      });
    case SOp::kTable: {
      const auto* table = reinterpret_cast<const float*>(s.imm);
      const auto* a = static_cast<const int32_t*>(pa);
      auto* d = static_cast<float*>(pd);
      LOOP(table[a[i] & 15]);
      return;
    }
    case SOp::kBitcast: std::memcpy(pd, pa, n * size_of(s.dt)); return;
    case SOp::kCall1:
    case SOp::kCall2:
    case SOp::kWide: return eval_call(s, pa, pb, pc, pd, n);
    default: break;
  }
  with_type(s.dt, [&](auto t) {
    using T = decltype(t);
    const T *a = static_cast<const T*>(pa), *b = static_cast<const T*>(pb),
            *c = static_cast<const T*>(pc);
    T* d = static_cast<T*>(pd);
    switch (s.op) {
      case SOp::kMin: LOOP(a[i] < b[i] ? a[i] : b[i]); return;
      case SOp::kMax: LOOP(a[i] > b[i] ? a[i] : b[i]); return;
      default: break;
    }
    bool done = false;
    if constexpr (kIsInt<T>)
      done = eval_integers(s.op, is_bool(s.dt), a, b, d, n);
    else
      done = eval_floats(s.op, a, b, c, d, n);
    if (done) return;
    throw InternalError(str_cat("scalar op ", static_cast<int>(s.op), " on ", name_of(s.dt)));
  });
}
#undef LOOP

}  // namespace

BlockProgram::BlockProgram(std::vector<SNode> nodes, std::vector<int> outputs,
                           std::vector<DType> out_types)
    : nodes_(std::move(nodes)), outputs_(std::move(outputs)), out_types_(std::move(out_types)) {}

void BlockProgram::run(const void* const* src, const int64_t* strides, const DType* in_types,
                       void* const* dst, const int64_t* dst_strides, int64_t n) const {
  const auto regs = std::make_unique_for_overwrite<Reg[]>(nodes_.size());
  for (int64_t at = 0; at < n; at += kBlock) {
    const int64_t m = std::min<int64_t>(kBlock, n - at);
    for (size_t id = 0; id < nodes_.size(); ++id) {
      const SNode& s = nodes_[id];
      if (s.op != SOp::kInput) {
        eval(s, nodes_.data(), regs.get(), static_cast<int>(id), m);
        continue;
      }
      const int k = static_cast<int>(s.imm);
      const char* p = static_cast<const char*>(src[k]) +
                      at * strides[k] * static_cast<int64_t>(size_of(in_types[k]));
      if (is_half(s.dt)) {
        const uint16_t* h = reinterpret_cast<const uint16_t*>(p);
        float* d = reinterpret_cast<float*>(&regs[id]);
        for (int64_t i = 0; i < m; ++i)
          d[i] = s.dt == DType::F16 ? half_to_float(h[i * strides[k]])
                                    : bf16_to_float(h[i * strides[k]]);
      } else {
        with_type(s.dt, [&](auto t) { load<decltype(t)>(regs[id], p, strides[k], m); });
      }
    }
    for (size_t k = 0; k < outputs_.size(); ++k) {
      const DType t = out_types_[k];
      char* p = static_cast<char*>(dst[k]) + at * dst_strides[k] * static_cast<int64_t>(size_of(t));
      const Reg& r = regs[outputs_[k]];
      if (is_half(t)) {
        const float* f = reinterpret_cast<const float*>(&r);
        uint16_t* h = reinterpret_cast<uint16_t*>(p);
        for (int64_t i = 0; i < m; ++i)
          h[i * dst_strides[k]] = t == DType::F16 ? float_to_half(f[i]) : float_to_bf16(f[i]);
      } else {
        with_type(t, [&](auto x) { store<decltype(x)>(r, p, dst_strides[k], m); });
      }
    }
  }
}

}  // namespace pijit
