// How numbers of one C++ type become those of another, in eager mode, constants, and every kernel.
#pragma once
#include <cstdint>
#include <limits>
#include <type_traits>

#include "graph/dtype.h"

namespace pijit {

// As x86 and MindSpore have it: a float out of range, an infinity or NaN gives the least int64, or
// the least int32 for what is narrower than 64 bits, whose lower bits the type takes. Of uint64 all
// values are in range, and what is above them gives 0.
template <class To, class From>
To number_cast(From x) {
  if constexpr (std::is_floating_point_v<From> && std::is_integral_v<To>) {
    using Wide =
        std::conditional_t<(sizeof(To) < 8 && !std::is_same_v<To, uint32_t>), int32_t, int64_t>;
    if constexpr (std::is_same_v<To, uint64_t>)
      if (x >= 9223372036854775808.0)
        return x < 18446744073709551616.0 ? static_cast<uint64_t>(x) : 0;
    constexpr double lo = static_cast<double>(std::numeric_limits<Wide>::min());
    if (!(x >= lo && x < -lo)) return static_cast<To>(std::numeric_limits<Wide>::min());
    return static_cast<To>(static_cast<Wide>(x));
  } else {
    return static_cast<To>(x);
  }
}

// Of an element of a bool or integer type; bits above it are undefined.
inline uint64_t integer_bits(DType t, double v) {
  if (is_bool(t)) return v != 0;
  if (t == DType::U64) return number_cast<uint64_t>(v);
  if (t == DType::I64 || t == DType::U32) return static_cast<uint64_t>(number_cast<int64_t>(v));
  return static_cast<uint64_t>(number_cast<int32_t>(v));
}

}  // namespace pijit
