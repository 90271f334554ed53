// What old versions of CPython's library do otherwise, in a way that programs see.
#pragma once
#include <Python.h>

namespace pijit {

// deque.remove() of what is not there moves the items all the same, once around.
constexpr bool kFailedRemoveMoves = PY_VERSION_HEX < 0x030A0000;

}  // namespace pijit
