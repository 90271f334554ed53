// Frames and interpreters as the running CPython has them: the frame file of its version, and what
// its headers declare for CPython's own build only, in C. Without C's atomics C++ reads those, too.
// For the sources of this folder that need frames; nobody else includes this.
#pragma once
#define Py_BUILD_CORE 1
#include <Python.h>
#undef HAVE_STD_ATOMIC

#include "python/compat.h"

#if PY_VERSION_HEX >= 0x030E0000
#include "python/frame_314.h"
#elif PY_VERSION_HEX >= 0x030D0000
#include "python/frame_313.h"
#elif PY_VERSION_HEX >= 0x030B0000
#include "python/frame_311.h"
#else
#include "python/frame_310.h"
#endif
#if PY_VERSION_HEX >= 0x030B0000
#include "python/frame_structs.h"
#endif
#undef Py_BUILD_CORE
