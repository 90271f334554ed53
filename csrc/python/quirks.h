// What old versions of CPython and its library do otherwise, in a way that programs see.
#pragma once
#include <Python.h>

namespace pijit {

// deque.remove() of what is not there moves the items all the same, once around.
constexpr bool kFailedRemoveMoves = PY_VERSION_HEX < 0x030A0000;
// A complex and a real number are added, and so on, by the real one's rules.
constexpr bool kMixedComplexNumbers = PY_VERSION_HEX >= 0x030E0000;
// Products and quotients of complex numbers are looked at again where both parts are NaN.
constexpr bool kComplexRecoversInfinities = PY_VERSION_HEX >= 0x030E0000;
// math.pow(0.0, -math.inf) raises ValueError.
constexpr bool kPowOfZeroRaises = PY_VERSION_HEX < 0x030B0000;
// Comparisons of numbers count as calls where recursion is limited.
constexpr bool kComparisonsAreCalls = PY_VERSION_HEX < 0x030B0000;

}  // namespace pijit
