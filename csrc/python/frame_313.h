// Frames of CPython 3.13.
#pragma once
#include <cstdint>

#include <internal/pycore_ceval.h>
#include <internal/pycore_frame.h>
#include <internal/pycore_instruments.h>
#include <internal/pycore_interp.h>
#include <internal/pycore_runtime.h>

#include "python/frame_objects.h"

namespace pijit::frames {

// Not of the frames that the evaluator makes for itself, whose executable is None.
inline PyCodeObject* code_of(const _PyInterpreterFrame* f) {
  return reinterpret_cast<PyCodeObject*>(f->f_executable);
}
inline PyObject* function_of(const _PyInterpreterFrame* f) { return f->f_funcobj; }

// Of a Python function, module or class, not one that the evaluator makes for a call from C.
inline bool is_python(const _PyInterpreterFrame* f) { return f->owner != FRAME_OWNED_BY_CSTACK; }

}  // namespace pijit::frames

#include "python/frame_places.h"
