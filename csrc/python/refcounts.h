// How CPython counts who holds an object, for code that looks at it by itself.
#pragma once
#include <Python.h>

#include <cstddef>
#include <cstdint>

namespace pijit {

inline constexpr size_t kReferences = offsetof(PyObject, ob_refcnt);
#if PY_VERSION_HEX >= 0x030C0000
// True, False and small ints live for ever: nobody counts who holds them. 32 bits tell.
inline constexpr bool kSomeAreImmortal = true;
inline constexpr int64_t kImmortal = int64_t{1} << 31;  // from there on
#else
inline constexpr bool kSomeAreImmortal = false;
inline constexpr int64_t kImmortal = 0;
#endif

}  // namespace pijit
