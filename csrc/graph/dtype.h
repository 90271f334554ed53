// Element types. One row per type; everything else is derived from the row.
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace pijit {

// X(enumerator, printed name, public name, size in bytes, kind)
#define PIJIT_DTYPES(X)                       \
  X(Bool, "bool", "bool", 1, kBoolKind)       \
  X(I8, "i8", "int8", 1, kIntKind)            \
  X(I16, "i16", "int16", 2, kIntKind)         \
  X(I32, "i32", "int32", 4, kIntKind)         \
  X(I64, "i64", "int64", 8, kIntKind)         \
  X(U8, "u8", "uint8", 1, kUIntKind)          \
  X(U16, "u16", "uint16", 2, kUIntKind)       \
  X(U32, "u32", "uint32", 4, kUIntKind)       \
  X(U64, "u64", "uint64", 8, kUIntKind)       \
  X(F16, "f16", "float16", 2, kFloatKind)     \
  X(BF16, "bf16", "bfloat16", 2, kFloatKind)  \
  X(F32, "f32", "float32", 4, kFloatKind)     \
  X(F64, "f64", "float64", 8, kFloatKind)     \
  X(C64, "c64", "complex64", 8, kComplexKind) \
  X(C128, "c128", "complex128", 16, kComplexKind)

enum DTypeKind : uint8_t { kBoolKind, kIntKind, kUIntKind, kFloatKind, kComplexKind };

enum class DType : uint8_t {
#define X(e, s, p, n, k) e,
  PIJIT_DTYPES(X)
#undef X
};
#define X(e, s, p, n, k) +1
constexpr int kNumDTypes = 0 PIJIT_DTYPES(X);
#undef X

struct DTypeInfo {
  std::string_view name, public_name;
  size_t size;
  DTypeKind kind;
};
inline constexpr DTypeInfo kDTypeInfo[] = {
#define X(e, s, p, n, k) {s, p, n, k},
    PIJIT_DTYPES(X)
#undef X
};
constexpr const DTypeInfo& info(DType t) { return kDTypeInfo[static_cast<int>(t)]; }
constexpr size_t size_of(DType t) { return info(t).size; }
constexpr std::string_view name_of(DType t) { return info(t).name; }
constexpr std::string_view public_name_of(DType t) { return info(t).public_name; }
constexpr bool is_float(DType t) { return info(t).kind == kFloatKind; }
constexpr bool is_signed_int(DType t) { return info(t).kind == kIntKind; }
constexpr bool is_int(DType t) { return info(t).kind == kIntKind || info(t).kind == kUIntKind; }
constexpr bool is_bool(DType t) { return t == DType::Bool; }
constexpr bool is_complex(DType t) { return info(t).kind == kComplexKind; }
// What gradients flow through.
constexpr bool is_inexact(DType t) { return is_float(t) || is_complex(t); }
// Of the real and the imaginary part.
constexpr DType part_of(DType t) {
  return t == DType::C64 ? DType::F32 : t == DType::C128 ? DType::F64 : t;
}
// float16 and bfloat16 are stored in 16 bits and computed in float32, rounded after every op.
constexpr bool is_half(DType t) { return t == DType::F16 || t == DType::BF16; }

inline std::optional<DType> dtype_from_name(std::string_view s) {
  for (int i = 0; i < kNumDTypes; ++i)
    if (kDTypeInfo[i].name == s || kDTypeInfo[i].public_name == s) return static_cast<DType>(i);
  return std::nullopt;
}

// The dtype both operands convert to, as NumPy's result_type gives it but with integer + float
// giving the float operand's own type (float32 for integers with no float operand's precision).
DType promote(DType a, DType b);

float half_to_float(uint16_t h);
uint16_t float_to_half(float f);
inline float bf16_to_float(uint16_t h) {
  uint32_t u = static_cast<uint32_t>(h) << 16;
  float f;
  __builtin_memcpy(&f, &u, 4);
  return f;
}
inline uint16_t float_to_bf16(float f) {
  uint32_t u;
  __builtin_memcpy(&u, &f, 4);
  if ((u & 0x7fffffff) > 0x7f800000) return static_cast<uint16_t>((u >> 16) | 0x40);
  return static_cast<uint16_t>((u + 0x7fff + ((u >> 16) & 1)) >> 16);
}

}  // namespace pijit
