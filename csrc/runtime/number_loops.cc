#include "runtime/number_loops.h"

#include <cfenv>
#include <cmath>
#include <type_traits>

#include "base/error.h"

namespace pijit {
namespace {

// The result, and whether it wrapped around.
template <CheckedOp kOp, class T>
bool wraps(T x, T y, T* made) {
  switch (kOp) {
    case CheckedOp::kAdd: return __builtin_add_overflow(x, y, made);
    case CheckedOp::kSub: return __builtin_sub_overflow(x, y, made);
    case CheckedOp::kMul: return __builtin_mul_overflow(x, y, made);
    case CheckedOp::kNeg: return __builtin_sub_overflow(T{0}, x, made);
    case CheckedOp::kAbs: break;
  }
  *made = x;
  return std::is_signed_v<T> && x < T{0} && __builtin_sub_overflow(T{0}, x, made);
}

template <class T>
T read(const char* at) {
  return *reinterpret_cast<const T*>(at);
}

template <CheckedOp kOp, class T>
void checked(char** at, const std::ptrdiff_t* n, const std::ptrdiff_t* steps, void*) {
  constexpr bool kUnary = kOp == CheckedOp::kNeg || kOp == CheckedOp::kAbs;
  bool any = false;
  for (std::ptrdiff_t k = 0; k < *n; ++k) {
    const T x = read<T>(at[0] + k * steps[0]), y = kUnary ? T{0} : read<T>(at[1] + k * steps[1]);
    constexpr int kOut = kUnary ? 1 : 2;
    any |= wraps<kOp>(x, y, reinterpret_cast<T*>(at[kOut] + k * steps[kOut]));
  }
  if (any) std::feraiseexcept(FE_OVERFLOW);
}

template <class T>
ForeignLoop checked_of(CheckedOp op) {
  switch (op) {
    case CheckedOp::kAdd: return {checked<CheckedOp::kAdd, T>, nullptr, "checked add"};
    case CheckedOp::kSub: return {checked<CheckedOp::kSub, T>, nullptr, "checked subtract"};
    case CheckedOp::kMul: return {checked<CheckedOp::kMul, T>, nullptr, "checked multiply"};
    case CheckedOp::kNeg: return {checked<CheckedOp::kNeg, T>, nullptr, "checked negative"};
    case CheckedOp::kAbs: break;
  }
  return {checked<CheckedOp::kAbs, T>, nullptr, "checked absolute"};
}

template <class From, class To>
void truncated(char** at, const std::ptrdiff_t* n, const std::ptrdiff_t* steps, void*) {
  for (std::ptrdiff_t k = 0; k < *n; ++k)
    *reinterpret_cast<To*>(at[1] + k * steps[1]) =
        static_cast<To>(read<From>(at[0] + k * steps[0]));
}

template <class T>
void powers(char** at, const std::ptrdiff_t* n, const std::ptrdiff_t* steps, void*) {
  for (std::ptrdiff_t k = 0; k < *n; ++k)
    *reinterpret_cast<T*>(at[2] + k * steps[2]) =
        std::pow(read<T>(at[0] + k * steps[0]), read<T>(at[1] + k * steps[1]));
}

}  // namespace

// f of a zero of the type.
template <class F>
static ForeignLoop with_integer(DType t, F f) {
  switch (t) {
    case DType::I8: return f(int8_t{});
    case DType::I16: return f(int16_t{});
    case DType::I32: return f(int32_t{});
    case DType::I64: return f(int64_t{});
    case DType::U8: return f(uint8_t{});
    case DType::U16: return f(uint16_t{});
    case DType::U32: return f(uint32_t{});
    case DType::U64: return f(uint64_t{});
    default: PIJIT_CHECK(false, "an integer dtype was expected, not ", name_of(t));
  }
}

ForeignLoop checked_loop(CheckedOp op, DType t) {
  return with_integer(t, [&](auto zero) { return checked_of<decltype(zero)>(op); });
}

ForeignLoop truncating_loop(DType from, DType to) {
  PIJIT_CHECK(from == DType::F64 || from == DType::F32, "truncating_loop: expected a float dtype");
  return with_integer(to, [&](auto zero) {
    using To = decltype(zero);
    return ForeignLoop{from == DType::F64 ? truncated<double, To> : truncated<float, To>, nullptr,
                       "truncated"};
  });
}

ForeignLoop libm_power_loop(DType t) {
  PIJIT_CHECK(t == DType::F64 || t == DType::F32, "libm_power_loop: a float dtype was expected");
  const auto function = t == DType::F64 ? powers<double> : powers<float>;
  return {function, nullptr, "pow of libm"};
}

}  // namespace pijit
