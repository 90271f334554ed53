// How CPython's ints lie in memory, for code that reads small ones by itself.
#pragma once
#include <Python.h>

#include <cstddef>
#if PY_VERSION_HEX < 0x030B0000
#include <longintrepr.h>
#endif

namespace pijit {

// A word tells the sign and how many digits there are; the first digit, of 32 bits, is always
// there.
#if PY_VERSION_HEX >= 0x030C0000
inline constexpr bool kIntsAreTagged = true;  // below 16: one digit times 1 - (word & 3)
inline constexpr size_t kIntWord = offsetof(PyLongObject, long_value.lv_tag);
inline constexpr size_t kIntDigit = offsetof(PyLongObject, long_value.ob_digit);
#else
inline constexpr bool kIntsAreTagged = false;  // -1, 0 and 1: one digit times the word
inline constexpr size_t kIntWord = offsetof(PyVarObject, ob_size);
inline constexpr size_t kIntDigit = offsetof(PyLongObject, ob_digit);
#endif

}  // namespace pijit
