// Frames of CPython 3.9 and 3.10, which are objects: local variables, cells, free variables and the
// stack in one array. An argument that is a cell lies among the cells, and its place is empty; for
// us it has its own slot, as in later versions.
#pragma once
#include <cstdint>

#include <frameobject.h>
#include <internal/pycore_interp.h>
#include <internal/pycore_pystate.h>
#include <internal/pycore_runtime.h>

namespace pijit::frames {

constexpr bool kHoldNumbers = false;
constexpr bool kCallsTakeStack = true;                // of C, also without a hook
constexpr bool kBytes = PY_VERSION_HEX < 0x030A0000;  // places are told in bytes, not in units

inline PyCodeObject* code_of(const _PyInterpreterFrame* f) { return f->f_code; }
inline _PyInterpreterFrame* caller_of(const _PyInterpreterFrame* f) { return f->f_back; }
inline _PyInterpreterFrame* of_object(PyFrameObject* object) { return object; }
inline bool is_python(const _PyInterpreterFrame*) { return true; }
inline bool is_of_call(const _PyInterpreterFrame*) { return true; }  // or of a generator
// Frames do not know their functions.
inline bool is_of_function(const _PyInterpreterFrame*, PyObject*) { return true; }
inline bool runs(const _PyInterpreterFrame* f) {
#if PY_VERSION_HEX >= 0x030A0000
  return f->f_state == FRAME_EXECUTING;
#else
  return f->f_executing;
#endif
}
// Of a function or a generator that will not go on.
inline bool has_ended(const _PyInterpreterFrame* f) {
#if PY_VERSION_HEX >= 0x030A0000
  return f->f_state > FRAME_EXECUTING;
#else
  return !f->f_executing;
#endif
}
inline bool has_begun(const _PyInterpreterFrame* f) { return f->f_lasti >= 0; }
inline bool begins(const _PyInterpreterFrame* f) { return f->f_lasti < 0; }
inline int offset_of(const _PyInterpreterFrame* f) { return f->f_lasti / (kBytes ? 2 : 1); }
inline void go_on_at(_PyInterpreterFrame* f, int offset) { f->f_lasti = offset * (kBytes ? 2 : 1); }

inline int num_units(const PyCodeObject* c) {
  return static_cast<int>(PyBytes_GET_SIZE(c->co_code)) / 2;
}
inline int num_cells(const PyCodeObject* c) {
  return static_cast<int>(PyTuple_GET_SIZE(c->co_cellvars));
}
inline int num_free(const PyCodeObject* c) {
  return static_cast<int>(PyTuple_GET_SIZE(c->co_freevars));
}
inline bool is_argument(const PyCodeObject* c, int cell) {
  return c->co_cell2arg && c->co_cell2arg[cell] != CO_CELL_NOT_AN_ARG;
}
// The slot of a cell or, behind those, of a free variable.
inline int slot_of_cell(const PyCodeObject* c, int cell) {
  if (cell < num_cells(c) && is_argument(c, cell)) return static_cast<int>(c->co_cell2arg[cell]);
  int slot = c->co_nlocals + cell;
  for (int k = 0; k < cell && k < num_cells(c); ++k) slot -= is_argument(c, k);
  return slot;
}
inline int num_slots(const PyCodeObject* c) { return slot_of_cell(c, num_cells(c) + num_free(c)); }
// Which cell or free variable a slot is; -1: a local variable.
inline int cell_of_slot(const PyCodeObject* c, int slot) {
  for (int k = 0; k < num_cells(c) + num_free(c); ++k)
    if (slot_of_cell(c, k) == slot) return k;
  return -1;
}

// Where a slot or, behind those, an entry of the stack lies.
inline PyObject** place_of(const _PyInterpreterFrame* f, int k) {
  auto* frame = const_cast<_PyInterpreterFrame*>(f);
  const PyCodeObject* c = f->f_code;
  if (num_cells(c) == 0) return frame->f_localsplus + k;
  const int slots = num_slots(c);
  if (k >= slots) return frame->f_valuestack + (k - slots);
  const int cell = cell_of_slot(c, k);
  return frame->f_localsplus + (cell < 0 ? k : c->co_nlocals + cell);
}
inline PyObject* slot(const _PyInterpreterFrame* f, int k) { return *place_of(f, k); }  // borrowed
// What a slot holds before the code makes cells: CPython has made them already.
inline PyObject* slot_at_begin(const _PyInterpreterFrame* f, int k) {
  const int cell = cell_of_slot(f->f_code, k);
  if (cell < 0) return slot(f, k);
  return k < f->f_code->co_nlocals ? PyCell_GET(slot(f, k)) : nullptr;
}
// All slots, where they lie there as objects.
inline PyObject* const* slots_in(const _PyInterpreterFrame* f) {
  return num_cells(f->f_code) + num_free(f->f_code) > 0 ? nullptr : f->f_localsplus;
}
// Puts an object there, whose reference it takes; whatever was there, it may be nobody's any more.
inline void put(_PyInterpreterFrame* f, int k, PyObject* o) { *place_of(f, k) = o; }
// The same, and gives the reference of the one before.
inline PyObject* exchange(_PyInterpreterFrame* f, int k, PyObject* o) {
  PyObject* before = slot(f, k);
  put(f, k, o);
  return before;
}
inline bool is_number(const _PyInterpreterFrame*, int) { return false; }
inline int number_at(const _PyInterpreterFrame*, int) { return 0; }
inline void put_number(_PyInterpreterFrame*, int, int) {}
// How many slots and entries of the stack there are, at an event.
#if PY_VERSION_HEX >= 0x030A0000
inline int stack_size(const _PyInterpreterFrame* f) { return f->f_stackdepth; }
inline void set_stack_size(_PyInterpreterFrame* f, int n) { f->f_stackdepth = n; }
#else
inline int stack_size(const _PyInterpreterFrame* f) {
  return static_cast<int>(f->f_stacktop - f->f_valuestack);
}
inline void set_stack_size(_PyInterpreterFrame* f, int n) { f->f_stacktop = f->f_valuestack + n; }
#endif
inline int size_of(const _PyInterpreterFrame* f) { return num_slots(f->f_code) + stack_size(f); }
inline void set_size(_PyInterpreterFrame* f, int n) { set_stack_size(f, n - num_slots(f->f_code)); }

inline void clear_and_pop(PyThreadState*, _PyInterpreterFrame*) {}  // its caller does it

inline const void* breaker(const PyThreadState* t) { return &t->interp->ceval.eval_breaker; }
constexpr uint32_t kBreakerMask = ~uint32_t{0};
inline bool is_awaited(const PyThreadState* t) {
  return _Py_atomic_load_relaxed(&t->interp->ceval.eval_breaker);
}

// CPython's tracing of the thread, which is off while what it calls runs.
inline void use_tracing(PyThreadState* t, bool on) {
#if PY_VERSION_HEX >= 0x030A0000
  t->cframe->use_tracing = on;
#else
  t->use_tracing = on;
#endif
}
inline void set_tracer(PyThreadState* t, Py_tracefunc tracer) {
#if PY_VERSION_HEX < 0x030A0000
  // how many threads have one, as PyEval_SetTrace() counts them
  t->interp->ceval.tracing_possible += (tracer != nullptr) - (t->c_tracefunc != nullptr);
#endif
  t->c_tracefunc = tracer;
}
inline void leave_tracing(PyThreadState* t) {
  --t->tracing;
  use_tracing(t, t->c_tracefunc || t->c_profilefunc);
}
inline void enter_tracing(PyThreadState* t) {
  ++t->tracing;
  use_tracing(t, false);
}
// From now on its line is that of its place.
inline void forget_line([[maybe_unused]] PyFrameObject* object) {
#if PY_VERSION_HEX >= 0x030A0000
  object->f_lineno = 0;
#endif
}

}  // namespace pijit::frames
