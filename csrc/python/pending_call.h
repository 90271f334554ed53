// A call that CPython makes in the main thread, between two of its instructions.
#pragma once
#include <Python.h>

#include "python/hook.h"

namespace pijit {

// Asks for one, from any thread and without the GIL; `breaker` is the main thread's. False: CPython
// keeps as many as it can.
inline bool add_pending_call(int (*call)(void*), const Breaker& breaker) {
  if (Py_AddPendingCall(call, nullptr) < 0) return false;
#if PY_VERSION_HEX < 0x030D0000  // which forget to tell the main thread of another's calls
  __atomic_store_n(static_cast<int*>(const_cast<void*>(breaker.address)), 1, __ATOMIC_RELAXED);
#endif
  return true;
}

}  // namespace pijit
