#include "graph/dtype.h"

#include <immintrin.h>

#include <algorithm>

namespace pijit {

float half_to_float(uint16_t h) { return _cvtsh_ss(h); }
uint16_t float_to_half(float f) { return _cvtss_sh(f, _MM_FROUND_TO_NEAREST_INT); }

DType promote(DType a, DType b) {
  if (a == b) return a;
  const auto ka = info(a).kind, kb = info(b).kind;
  if (ka == kComplexKind || kb == kComplexKind) {
    const auto wide = [](DType t) { return part_of(t) == DType::F64; };
    return wide(a) || wide(b) ? DType::C128 : DType::C64;
  }
  if (ka == kBoolKind) return b;
  if (kb == kBoolKind) return a;
  if (ka == kFloatKind || kb == kFloatKind) {
    if (ka != kFloatKind) return b;
    if (kb != kFloatKind) return a;
    if (is_half(a) && is_half(b)) return DType::F32;
    return size_of(a) >= size_of(b) ? a : b;
  }
  if (ka == kb) return size_of(a) >= size_of(b) ? a : b;
  // signed with unsigned: the next signed type that holds both
  const DType s = ka == kIntKind ? a : b, u = ka == kIntKind ? b : a;
  if (size_of(s) > size_of(u)) return s;
  switch (size_of(u)) {
    case 1: return DType::I16;
    case 2: return DType::I32;
    default: return DType::I64;
  }
}

}  // namespace pijit
