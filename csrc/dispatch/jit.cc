// JitFunction: the callable in front of a function.
#include "base/config.h"
#include "dispatch/automatic.h"
#include "dispatch/captured_call.h"
#include "capture/capture.h"
#include "dispatch/permission.h"
#include "dispatch/report.h"
#include "dispatch/run.h"
#include "capture/registry.h"
#include "entry/runner.h"
#include "capture/tracer.h"
#include "python/c_recursion.h"
#include "python/define.h"
#include "python/quirks.h"

#include <structmember.h>

#include <algorithm>

namespace pijit {

PyTypeObject* jit_function_type;

namespace {

struct JitObject {
  PyObject_HEAD vectorcallfunc vectorcall;
  PyObject* func;
  PyObject* dict;
  PyObject* weakrefs;
  std::shared_ptr<FunctionCache> state;
  PyObject* code;        // that the state is about
  const CodeInfo* info;  // of that code, which owns it
  bool graph;            // asked for: no comparison gives it back to CPython
  bool whole;            // as one graph, or an error
  bool of_cell;          // that run_cell made, of a construct: nobody sees it
  bool eager_only;       // asked for: no effect in GRAPH_MODE
};

// Read at every call: in the part of thread-local memory that needs no look-up.
#define CALL_LOCAL [[gnu::tls_model("initial-exec")]] thread_local
CALL_LOCAL int graph_depth = 0;
CALL_LOCAL int graph_calls = 0;  // of these, as graphs
#undef CALL_LOCAL

// Call arguments distributed over slots: borrowed from the caller, or from what is held.
struct Bound {
  absl::InlinedVector<PyObject*, 16> slots;
  absl::InlinedVector<py::object, 4> held;
  PyObject* hold(py::object o) { return held.emplace_back(std::move(o)).ptr(); }
};

// False: a bad call, which the function itself reports.
bool bind(PyObject* func, const CodeInfo& code, PyObject* const* args, Py_ssize_t nargs,
          PyObject* kwnames, Bound* bound) {
  auto* co = reinterpret_cast<PyCodeObject*>(PyFunction_GET_CODE(func));
  const int n = co->co_argcount, nkw = co->co_kwonlyargcount;
  const bool varargs = co->co_flags & CO_VARARGS, varkw = co->co_flags & CO_VARKEYWORDS;
  auto& slots = bound->slots;
  slots.resize(static_cast<size_t>(code.num_slots));
  std::copy_n(args, std::min<Py_ssize_t>(nargs, n), slots.begin());
  if (nargs > n && !varargs) return false;
  if (varargs) {
    py::tuple t(nargs > n ? nargs - n : 0);
    for (Py_ssize_t k = n; k < nargs; ++k) PyTuple_SET_ITEM(t.ptr(), k - n, Py_NewRef(args[k]));
    slots[n + nkw] = bound->hold(t);
  }
  py::object extra;
  if (varkw) extra = py::dict();
  for (Py_ssize_t k = 0; kwnames && k < PyTuple_GET_SIZE(kwnames); ++k) {
    const std::string name = text_of(PyTuple_GET_ITEM(kwnames, k));
    int at = -1;
    for (int i = co->co_posonlyargcount; i < n + nkw; ++i)
      if (code.slot_names[i] == name) at = i;
    if (at >= 0) {
      if (slots[at]) return false;
      slots[at] = args[nargs + k];
    } else {
      if (!varkw) return false;
      extra[py::handle(PyTuple_GET_ITEM(kwnames, k))] = py::handle(args[nargs + k]);
    }
  }
  if (varkw) slots[n + nkw + (varargs ? 1 : 0)] = bound->hold(extra);
  PyObject* d = PyFunction_GetDefaults(func);
  const Py_ssize_t nd = d ? PyTuple_GET_SIZE(d) : 0;
  bool defaults = false;
  for (int k = 0; k < n; ++k)
    if (!slots[k]) {
      if (k < n - nd) return false;
      slots[k] = PyTuple_GET_ITEM(d, k - (n - nd));
      defaults = true;
    }
  if (defaults) bound->hold(share(d));
  PyObject* kd = PyFunction_GetKwDefaults(func);
  for (int k = n; k < n + nkw; ++k)
    if (!slots[k]) {
      PyObject* v = kd ? PyDict_GetItemString(kd, code.slot_names[k].c_str()) : nullptr;
      if (!v) return false;
      slots[k] = bound->hold(share(v));
    }
  return true;
}

// Arguments against the declared types: TypeError or ValueError, as MindSpore raises.
void check_signature(const FunctionCache& s, const CodeInfo& code,
                     std::span<PyObject* const> slots) {
  for (size_t k = 0; k < s.signature.size(); ++k) {
    const Declared& want = s.signature[k];
    if (!want.dtype) continue;
    const std::string& name = code.slot_names[k];
    PyObject* o = slots[k];
    OP_CHECK(o && is_tensor(o), kType, "[jit] argument '", name, "' must be a Tensor of type ",
             public_name_of(*want.dtype), " by input_signature, got ",
             o ? Py_TYPE(o)->tp_name : "nothing");
    const Type& got = array_of(o)->type;
    OP_CHECK(got.dtype == *want.dtype, kType, "[jit] argument '", name, "' must be ",
             public_name_of(*want.dtype), " by input_signature, got ", public_name_of(got.dtype));
    if (!want.shape) continue;
    const Shape& shape = *want.shape;
    bool same = got.shape.rank() == shape.rank();
    for (int d = 0; same && d < shape.rank(); ++d) same = shape[d] < 0 || shape[d] == got.shape[d];
    OP_CHECK(same, kValue, "[jit] argument '", name, "' has shape ", got.shape.str(),
             ", which does not fit the one of input_signature");
  }
}

// Sets a flag for a scope.
class Flag {
 public:
  explicit Flag(bool& flag) : flag_(flag), before_(std::exchange(flag, true)) {}
  ~Flag() { flag_ = before_; }

 private:
  bool& flag_;
  bool before_;
};

enum class Way : uint8_t { kNone, kPlain, kCaptured };
// How the outermost watched function of this thread runs.
[[gnu::tls_model("initial-exec")]] thread_local Way watched_way = Way::kNone;

// Outermost calls of watched functions so far.
thread_local uint64_t watched_calls = 0;

// Calls of their objects that CPython executed.
thread_local uint64_t fronted_calls = 0;

// What these took to capture and compile, told of the innermost that runs.
thread_local int64_t told_ns = 0;

// A call of a watched function. The outermost decides for all below it, so that each has times of
// both ways. Times of captured calls count where nothing was captured or ran plainly meanwhile.
// `begin`: when the call came, before its code was looked at. `captured` says by its argument
// whether a comparison let it run plainly.
template <class Captured, class Plain>
py::object watched_call(FunctionCache& state, int64_t begin, const Captured& captured,
                        const Plain& plain) {
  const FiguresRef kept = state.figures;
  Figures& f = *kept;
  bool tried = false;
  if (f.depth > 0) {
    ++f.recursive;
    if (watched_way != Way::kPlain) return captured(&tried);
    ++f.fronted, ++fronted_calls;
    return plain();
  }
  const bool top = watched_way == Way::kNone;
  // The first call, which may be the only one, leaves the functions below it to themselves.
  const bool first = top && f.turns == 0;
  const double compile_ms = state.compile_ms;
  const uint64_t alone = ++watched_calls;
  const bool plainly = top ? f.plain_is_due() : watched_way == Way::kPlain;
  struct Scope {
    Figures& f;
    const Way before;
    const bool paused = permission::paused;
    Scope(Figures& f, Way now) : f(f), before(std::exchange(watched_way, now)) { ++f.depth; }
    ~Scope() {
      --f.depth;
      watched_way = before;
      permission::paused = paused;
    }
  };
  const uint64_t before = disturbances;
  const int64_t untold = compiled_ns - told_ns;
  const uint64_t fronted = fronted_calls;
  py::object r;
  int64_t ns;
  {
    const Scope scope(f, first ? Way::kNone : plainly ? Way::kPlain : Way::kCaptured);
    if (plainly) permission::paused = true;
    r = plainly ? plain() : captured(&tried);
    ns = clock_ns() - begin;
    if (plainly || tried) ns = f.without_fronts(ns, fronted_calls - fronted);
  }
  const int64_t compiled = compiled_ns - told_ns - untold;
  f.compiled_ns += compiled;
  told_ns += compiled;
  auto note = [&](Figures::Calls& c) {
    c.chosen += tried;
    if (plainly || tried) return c.plain.add(ns);
    (disturbances != before ? c.anew : c.captured).add(ns);
  };
  if ((plainly || tried) && f.cold == 0) {
    ++f.cold;  // its ops were compiled
  } else {
    note(f.all);
    if (first && watched_calls != alone)
      f.first_ns = static_cast<int64_t>((state.compile_ms - compile_ms) * 1e6);
    else if (top)
      note(f.top);
  }
  disturbances += tried;
  return r;
}

// A call of a watched function that was deoptimized.
PyObject* rested_call(const FunctionCache& state, PyObject* func, PyObject* const* args,
                      size_t nargsf, PyObject* kwnames) {
  ++fronted_calls, ++state.figures->fronted;
  if (state.figures->depth > 0) {
    ++state.figures->recursive;
    const AsPythonCall call;
    return PyObject_Vectorcall(func, args, nargsf, kwnames);
  }
  const FiguresRef f = state.figures;  // the call may drop the function
  const uint64_t fronted = fronted_calls;
  ++f->depth;
  const int64_t begin = clock_ns();
  const AsPythonCall call;
  PyObject* r = PyObject_Vectorcall(func, args, nargsf, kwnames);
  f->rested.add(f->without_fronts(clock_ns() - begin, fronted_calls - fronted));
  --f->depth;
  return r;
}

// Every Tensor is of a class made at run time, which what most functions are given is not.
bool has_tensor(PyObject* const* args, Py_ssize_t nargs, PyObject* kwnames) {
  const Py_ssize_t n = nargs + (kwnames ? PyTuple_GET_SIZE(kwnames) : 0);
  return std::any_of(args, args + n, [](PyObject* a) {
    return PyType_HasFeature(Py_TYPE(a), Py_TPFLAGS_HEAPTYPE) && is_tensor(a);
  });
}

// Does CPython call the function at once?
bool is_idle(FunctionCache& state, bool tensor) {
  if (state.tier.rests(tensor)) return true;
  if (!tensor && !may_try(state.trying)) {
    state.tier.rest_on();
    return true;
  }
  if (auto it = state.points.find({0, 0}); it != state.points.end()) it->second.never = false;
  return false;
}

// What the call gains, or costs, is noted. A captured call begins at `began`, with what it takes to
// come here.
template <class Captured, class Plain>
py::object tried_call(FunctionCache& state, bool tensor, int64_t began, const Captured& captured,
                      const Plain& plain, bool* plainly = nullptr) {
  // What has no breaks may be slower only where it is a matter of guards.
  constexpr int64_t kGuards = 10'000;
  // A captured call takes some time before its clock begins and after it ends: nanoseconds, as
  // measured. A resting one takes less than reading the clock.
  constexpr int64_t kUnseen = 60;
  // How long a captured run may take that is compared early. NumPy takes no other order of time
  // for arrays. What goes on in CPython behind machine code may be nearly all of the call, or take
  // many times as long without.
  constexpr int64_t kOfArrays = 12'000'000, kOfLeftRegions = 1'000'000;
  const bool ever_new = state.sizes.ever_new(),
             arrays = state.of_arrays && !tensor && state.region_count == 0,
             simple = state.breaks.empty() && !ever_new && !arrays && !state.regions_left;
  const int64_t early = arrays ? kOfArrays : state.regions_left ? kOfLeftRegions : 0;
  if (state.sizes.waiting() && !state.sizes.due()) {
    if (plainly) *plainly = true;
    return plain();
  }
  if (state.tier.next(config().measure, simple ? kGuards : INT64_MAX, ever_new, early) ==
      Tier::Way::kPlain) {
    const Flag off(permission::paused);
    if (plainly) *plainly = true;
    struct Plainly {  // also where the call raises
      Tier& tier;
      const int64_t begin = clock_ns();
      ~Plainly() { tier.ran_plainly(clock_ns() - begin); }
    } note{state.tier};
    return plain();
  }
  struct Note {  // also where the call raises
    FunctionCache& state;
    const bool tensor, timed;
    const int64_t began;
    const uint64_t captures = state.compile_count, graphs = graphs_run, sizes = state.new_sizes;
    ~Note() {
      if (std::exchange(state.left_by_size, false)) return;
      state.sizes.ran(state.new_sizes != sizes);
      state.tier.ran_captured(timed ? clock_ns() - began + kUnseen : Tier::kUntimed,
                              {.graph = graphs_run != graphs,
                               .anew = state.compile_count != captures,
                               .tensor = tensor,
                               .hopeless = std::exchange(state.hopeless, false),
                               .ever_new = state.sizes.ever_new()});
      if (state.sizes.ever_new() && state.tier.lost_a_comparison() && state.sizes.wait())
        state.tier.go_on();
    }
  } note{state, tensor, state.tier.timed(), began};
  return captured();
}

PyObject* jit_call(PyObject* self, PyObject* const* args, size_t nargsf, PyObject* kwnames);

// The call of a function that rests, which is mostly a small one: CPython's own but for what may
// end the rest, and with nothing of ours on the stack.
PyObject* resting_call(PyObject* self, PyObject* const* args, size_t nargsf, PyObject* kwnames) {
  auto* jit = reinterpret_cast<JitObject*>(self);
  FunctionCache& state = *jit->state;
  if (jit->code != PyFunction_GET_CODE(jit->func) || recording() || !state.tier.still_rests([&] {
        return has_tensor(args, PyVectorcall_NARGS(nargsf), kwnames);
      })) {
    jit->vectorcall = jit_call;
    return jit_call(self, args, nargsf, kwnames);
  }
  if (stack_is_short()) return nullptr;
  ++state.calls;
  if (state.figures) return rested_call(state, jit->func, args, nargsf, kwnames);
  const AsPythonCall call;
  return reinterpret_cast<PyFunctionObject*>(jit->func)->vectorcall(jit->func, args, nargsf,
                                                                    kwnames);
}

PyObject* jit_call(PyObject* self, PyObject* const* args, size_t nargsf, PyObject* kwnames) {
  auto* jit = reinterpret_cast<JitObject*>(self);
  const Py_ssize_t nargs = PyVectorcall_NARGS(nargsf);
  if (stack_is_short()) return nullptr;
  // Recursion of a call that is measured plainly takes the shortest way, whose time is known.
  if (permission::paused && jit->state->figures && jit->state->figures->depth > 0 &&
      jit->code == PyFunction_GET_CODE(jit->func) && !recording()) {
    ++jit->state->calls;
    return rested_call(*jit->state, jit->func, args, nargsf, kwnames);
  }
  const bool tensor = has_tensor(args, nargs, kwnames);
  if (jit->state->tier.resting() && jit->code == PyFunction_GET_CODE(jit->func) && !recording() &&
      is_idle(*jit->state, tensor)) {
    ++jit->state->calls;
    jit->vectorcall = resting_call;
    if (jit->state->figures) return rested_call(*jit->state, jit->func, args, nargsf, kwnames);
    const AsPythonCall call;
    return PyObject_Vectorcall(jit->func, args, nargsf, kwnames);
  }
  const int64_t began = jit->state->figures || jit->state->tier.may_time() ? clock_ns() : 0;
  auto original = [&] {
    const AsPythonCall call;
    PyObject* r = PyObject_Vectorcall(jit->func, args, static_cast<size_t>(nargs), kwnames);
    if (!r) throw py::error_already_set();
    return py::reinterpret_steal<py::object>(r);
  };
  try {
    // The plain function runs under a tracer, and under tapes that must see each op.
    if (!may_capture(Asker::kCall) || (jit->eager_only && graph_mode())) {
      if (watched_way != Way::kPlain || !jit->state->figures) return original().release().ptr();
      return watched_call(
                 *jit->state, began, [&](bool*) { return original(); }, original)
          .release()
          .ptr();
    }
    const bool known = jit->code == PyFunction_GET_CODE(jit->func);
    const Code code =
        known ? Code(jit->info, jit->code) : code_info(PyFunction_GET_CODE(jit->func));
    Bound bound;
    if (!code || !bind(jit->func, *code, args, nargs, kwnames, &bound)) {
      if (jit->state->figures) ++jit->state->figures->uncaptured;
      return original().release().ptr();
    }
    if (!known) {  // assigned to __code__: nothing that is known holds
      auto fresh = std::make_shared<FunctionCache>();
      fresh->fast = jit->state->fast;
      fresh->figures = jit->state->figures;
      fresh->signature = jit->state->signature;
      jit->state = std::move(fresh);
      jit->info = &*code;
      Py_XSETREF(jit->code, Py_NewRef(code->code));
    }
    const std::shared_ptr<FunctionCache> state = jit->state;  // a call may drop the function
    if (!state->signature.empty()) check_signature(*state, *code, bound.slots);
    struct Depth {  // Cells called below a captured function are none of their own
      explicit Depth(bool as_graph) : as_graph(as_graph) { ++graph_depth, graph_calls += as_graph; }
      ~Depth() { --graph_depth, graph_calls -= as_graph; }
      bool as_graph;
    } depth(jit->graph && !jit->whole);
    auto captured = [&] {
      OwnerScope owner(state.get());
      return run({jit->func, code, *state, jit->whole}, bound.slots, original);
    };
    // Under "fast", last digits of arrays may differ between captured and plain calls.
    const bool tries = !jit->graph && (!state->fast || (state->of_arrays && !tensor));
    if (state->figures) {
      auto watched = [&](bool* plainly) {
        return tries ? tried_call(*state, tensor, began, captured, original, plainly) : captured();
      };
      return watched_call(*state, began, watched, original).release().ptr();
    }
    if (!tries) return captured().release().ptr();
    return tried_call(*state, tensor, began, captured, original).release().ptr();
  } catch (...) {
    return raise_current_exception();
  }
}

PyObject* make_jit(PyObject* func, bool graph, bool whole, bool fast) {
  auto* o = reinterpret_cast<JitObject*>(jit_function_type->tp_alloc(jit_function_type, 0));
  if (!o) throw py::error_already_set();
  o->vectorcall = jit_call;
  o->func = Py_NewRef(func);
  note_qualname(func);
  o->dict = nullptr;
  o->weakrefs = nullptr;
  new (&o->state) std::shared_ptr<FunctionCache>(std::make_shared<FunctionCache>());
  o->state->fast = fast;
  o->code = nullptr;
  o->info = nullptr;
  o->graph = graph;
  o->whole = whole;
  o->of_cell = false;
  o->eager_only = false;
  return reinterpret_cast<PyObject*>(o);
}

void jit_dealloc(PyObject* self) {
  auto* jit = reinterpret_cast<JitObject*>(self);
  PyTypeObject* type = Py_TYPE(self);
  PyObject_GC_UnTrack(self);
  if (jit->weakrefs) PyObject_ClearWeakRefs(self);
  jit->state.~shared_ptr();
  Py_XDECREF(jit->func);
  Py_XDECREF(jit->code);
  Py_XDECREF(jit->dict);
  type->tp_free(self);
  Py_DECREF(type);
}
int jit_traverse(PyObject* self, visitproc visit, void* arg) {
  auto* jit = reinterpret_cast<JitObject*>(self);
  Py_VISIT(Py_TYPE(self));
  Py_VISIT(jit->func);
  Py_VISIT(jit->code);
  Py_VISIT(jit->dict);
  return jit->state.use_count() == 1 ? traverse(*jit->state, visit, arg) : 0;
}
int jit_clear(PyObject* self) {
  auto* jit = reinterpret_cast<JitObject*>(self);
  if (jit->state.use_count() == 1) jit->state = std::make_shared<FunctionCache>();
  Py_CLEAR(jit->dict);
  return 0;
}
PyObject* jit_get(PyObject* self, PyObject* obj, PyObject*) {
  return obj && obj != Py_None ? PyMethod_New(self, obj) : Py_NewRef(self);
}
PyObject* jit_repr(PyObject* self) {
  return PyUnicode_FromFormat("<pijit.jit %R>", reinterpret_cast<JitObject*>(self)->func);
}
// Everything the function has, as on the function. Its class is shown too, so that inspect, pydoc
// and mock take it for a function; __wrapped__ is the function, until functools.wraps sets another.
PyObject* jit_getattro(PyObject* self, PyObject* name) {
  auto* jit = reinterpret_cast<JitObject*>(self);
  if (PyUnicode_CompareWithASCIIString(name, "__wrapped__") == 0) {
    PyObject* set = jit->dict ? PyDict_GetItemWithError(jit->dict, name) : nullptr;
    return Py_NewRef(set ? set : jit->func);
  }
  if (PyUnicode_CompareWithASCIIString(name, "__class__") == 0)
    return Py_NewRef(reinterpret_cast<PyObject*>(&PyFunction_Type));
  PyObject* own = type_lookup(jit_function_type, name);
  const bool forward = !own || PyUnicode_CompareWithASCIIString(name, "__doc__") == 0 ||
                       PyUnicode_CompareWithASCIIString(name, "__module__") == 0 ||
                       PyUnicode_CompareWithASCIIString(name, "__dict__") == 0;
  if (forward) return PyObject_GetAttr(jit->func, name);
  return PyObject_GenericGetAttr(self, name);
}
int jit_setattro(PyObject* self, PyObject* name, PyObject* value) {
  auto* jit = reinterpret_cast<JitObject*>(self);
  if (PyUnicode_CompareWithASCIIString(name, "__wrapped__") == 0) {
    if (!jit->dict && !(jit->dict = PyDict_New())) return -1;
    return value ? PyDict_SetItem(jit->dict, name, value) : PyDict_DelItem(jit->dict, name);
  }
  return value ? PyObject_SetAttr(jit->func, name, value) : PyObject_DelAttr(jit->func, name);
}
PyObject* jit_reduce(PyObject* self, PyObject*) {
  // Who copies a function with its attributes makes another one.
  if (reinterpret_cast<JitObject*>(self)->of_cell)
    return Py_BuildValue("O()", reinterpret_cast<PyObject*>(Py_TYPE(Py_None)));
  return PyObject_GetAttrString(reinterpret_cast<JitObject*>(self)->func, "__qualname__");
}
PyObject* jit_dir(PyObject* self, PyObject*) {
  return PyObject_Dir(reinterpret_cast<JitObject*>(self)->func);
}
PyObject* jit_copy(PyObject* self, PyObject*) { return Py_NewRef(self); }

PyMethodDef jit_methods[] = {{"__reduce__", jit_reduce, METH_NOARGS, nullptr},
                             {"__dir__", jit_dir, METH_NOARGS, nullptr},
                             {"__copy__", jit_copy, METH_NOARGS, nullptr},
                             {"__deepcopy__", jit_copy, METH_O, nullptr},
                             {nullptr, nullptr, 0, nullptr}};
// pydoc reads it past __getattribute__.
PyObject* jit_doc(PyObject* self, void*) {
  return PyObject_GetAttrString(reinterpret_cast<JitObject*>(self)->func, "__doc__");
}
PyGetSetDef jit_getset[] = {{"__doc__", jit_doc, nullptr, nullptr, nullptr},
                            {nullptr, nullptr, nullptr, nullptr, nullptr}};
PyMemberDef jit_members[] = {
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(JitObject, vectorcall), READONLY, nullptr},
    {"__weaklistoffset__", T_PYSSIZET, offsetof(JitObject, weakrefs), READONLY, nullptr},
    {nullptr, 0, 0, 0, nullptr}};
#define SLOT(id, f) \
  { id, reinterpret_cast<void*>(f) }
PyType_Slot jit_slots[] = {SLOT(Py_tp_dealloc, jit_dealloc),   SLOT(Py_tp_traverse, jit_traverse),
                           SLOT(Py_tp_clear, jit_clear),       SLOT(Py_tp_call, PyVectorcall_Call),
                           SLOT(Py_tp_descr_get, jit_get),     SLOT(Py_tp_repr, jit_repr),
                           SLOT(Py_tp_getattro, jit_getattro), SLOT(Py_tp_setattro, jit_setattro),
                           SLOT(Py_tp_methods, jit_methods),   SLOT(Py_tp_members, jit_members),
                           SLOT(Py_tp_getset, jit_getset),     {0, nullptr}};
// Immutable, so that CPython specialises the look-up of methods that are such objects.
PyType_Spec jit_spec = {"pijit._C.JitFunction", sizeof(JitObject), 0,
                        Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL |
                            Py_TPFLAGS_METHOD_DESCRIPTOR | Py_TPFLAGS_DISALLOW_INSTANTIATION |
                            kImmutableType,
                        jit_slots};

py::object jit(py::object f, bool graph, bool whole, bool fast) {
  if (Py_TYPE(f.ptr()) == jit_function_type) return f;
  if (PyFunction_Check(f.ptr()))
    return py::reinterpret_steal<py::object>(make_jit(f.ptr(), graph, whole, fast));
  if (PyMethod_Check(f.ptr()) && PyFunction_Check(PyMethod_GET_FUNCTION(f.ptr()))) {
    py::object j = py::reinterpret_steal<py::object>(
        make_jit(PyMethod_GET_FUNCTION(f.ptr()), graph, whole, fast));
    return py::reinterpret_steal<py::object>(PyMethod_New(j.ptr(), PyMethod_GET_SELF(f.ptr())));
  }
  PyObject* c = PyType_Check(f.ptr()) ? nullptr : type_lookup(Py_TYPE(f.ptr()), names.call);
  if (c && PyFunction_Check(c)) {
    py::object j = py::reinterpret_steal<py::object>(make_jit(c, graph, whole, fast));
    return py::reinterpret_steal<py::object>(PyMethod_New(j.ptr(), f.ptr()));
  }
  return f;  // builtins and classes: nothing to read bytecode from
}

// The JitFunction of a construct.
py::object graph_of(PyObject* construct) {
  PyObject* const name = names.graph;
  const py::object attributes =
      py::reinterpret_steal<py::object>(PyObject_GenericGetDict(construct, nullptr));
  if (!attributes) throw py::error_already_set();
  if (PyObject* known = PyDict_GetItemWithError(attributes.ptr(), name);
      known && Py_TYPE(known) == jit_function_type &&
      reinterpret_cast<JitObject*>(known)->func == construct)  // functools.wraps copies it
    return share(known);
  py::object made = py::reinterpret_steal<py::object>(make_jit(construct, true, false, false));
  reinterpret_cast<JitObject*>(made.ptr())->of_cell = true;
  if (PyDict_SetItem(attributes.ptr(), name, made.ptr()) < 0) throw py::error_already_set();
  return made;
}

// signature: (dtype, dims) per argument; dims of -1 vary, None for dims stands for any shape, None
// for the pair for any argument. self is not among them.
void set_signature(py::object f, const py::object& given) {
  const auto signature = argument<py::sequence>("jit", "input_signature", given);
  OP_CHECK(Py_TYPE(f.ptr()) == jit_function_type, kType,
           "[jit] input_signature is for functions, got ", Py_TYPE(f.ptr())->tp_name);
  auto* jit = reinterpret_cast<JitObject*>(f.ptr());
  auto* co = reinterpret_cast<PyCodeObject*>(PyFunction_GET_CODE(jit->func));
  OP_CHECK(static_cast<int>(signature.size()) <= co->co_argcount, kValue,
           "[jit] input_signature describes ", signature.size(), " arguments of ", co->co_argcount);
  std::vector<Declared> types;
  for (auto s : signature) {
    if (s.is_none()) {
      types.push_back({});
      continue;
    }
    const auto pair = argument<py::tuple>("jit", "an element of input_signature", s);
    OP_CHECK(pair.size() == 2, kValue, "[jit] input_signature holds pairs of dtype and shape");
    const auto dt = dtype_of(py::object(pair[0]).ptr());
    OP_CHECK(dt, kType, "[jit] input_signature holds an unknown dtype");
    Declared t{dt, std::nullopt};
    if (!py::object(pair[1]).is_none()) {
      t.shape.emplace();
      for (auto d : argument<std::vector<int64_t>>("jit", "a shape of input_signature", pair[1]))
        t.shape->push_back(d);
    }
    types.push_back(t);
  }
  jit->state->signature = std::move(types);
}

py::dict explain(py::object f) {
  if (PyMethod_Check(f.ptr())) f = share(PyMethod_GET_FUNCTION(f.ptr()));
  std::shared_ptr<const FunctionCache> known;
  if (Py_TYPE(f.ptr()) == jit_function_type) {
    auto* jit = reinterpret_cast<JitObject*>(f.ptr());
    known = jit->state;
    f = share(jit->func);
  } else if (PyFunction_Check(f.ptr())) {
    known = callee_state(PyFunction_GET_CODE(f.ptr()));
  }
  OP_CHECK(
      known, kType,
      "[explain] expected a jitted function, or one that a jitted function called (explain(f, ...) "
      "with arguments captures a call), got ",
      shown(f));
  return report(*known, f);
}

}  // namespace

PyObject* jit_inner(PyObject* f) { return reinterpret_cast<JitObject*>(f)->func; }
bool runs_as_graph() { return graph_calls > 0 || (graph_depth > 0 && graph_mode()); }

void init_jit(py::module_& m) {
  PyObject* t = type_without_instances(&jit_spec);
  if (!t) throw py::error_already_set();
  jit_function_type = reinterpret_cast<PyTypeObject*>(t);
  m.attr("JitFunction") = py::handle(t);
  permission::forbidden = !frames_are_known();
  Registry::add_python();
  init_callees();
  init_automatic(m);
  using Args = std::vector<py::object>;
  define(m, "jit", {{"f"}, {"graph"}, {"whole"}, {"fast"}}, [](const Args& a) {
    return jit(a[0], argument<bool>("jit", "graph", a[1]), argument<bool>("jit", "whole", a[2]),
               argument<bool>("jit", "fast", a[3]));
  });
  define(m, "explain", {{"f"}}, [](const Args& a) { return explain(a[0]); });
  define(
      m, "captured_call", {{"f"}, {"args"}},
      [](const Args& a) {
        OP_CHECK(Py_TYPE(a[0].ptr()) == jit_function_type, kType,
                 "[captured_call] expected a jitted function, got ", Py_TYPE(a[0].ptr())->tp_name);
        auto* jit = reinterpret_cast<JitObject*>(a[0].ptr());
        const auto args = argument<py::tuple>("captured_call", "args", a[1]);
        const Code code = code_info(PyFunction_GET_CODE(jit->func));
        Bound bound;
        OP_CHECK(code && bind(jit->func, *code, PySequence_Fast_ITEMS(args.ptr()),
                              PyTuple_GET_SIZE(args.ptr()), nullptr, &bound),
                 kType, "[captured_call] the function does not take these arguments");
        return captured_call(jit->state.get(), jit->func, *code, bound.slots);
      },
      "What capture made of a call with these arguments, which must have been made before: a dict, "
      "or None where it is no graph from its beginning to its end.");
  define(m, "set_eager_only", {{"f"}}, [](const Args& a) {
    OP_CHECK(Py_TYPE(a[0].ptr()) == jit_function_type, kType, "[jit] is for functions, got ",
             Py_TYPE(a[0].ptr())->tp_name);
    reinterpret_cast<JitObject*>(a[0].ptr())->eager_only = true;
    return py::none();
  });
  define(m, "set_signature", {{"f"}, {"signature"}},
         [](const Args& a) { return set_signature(a[0], a[1]), py::none(); });
  define(
      m, "fresh_jit", {{"f"}},
      [](const Args& a) {
        OP_CHECK(Py_TYPE(a[0].ptr()) == jit_function_type, kType,
                 "[fresh_jit] expected a jitted function, got ", Py_TYPE(a[0].ptr())->tp_name);
        auto* of = reinterpret_cast<JitObject*>(a[0].ptr());
        PyObject* f = make_jit(of->func, of->graph, of->whole, of->state->fast);
        reinterpret_cast<JitObject*>(f)->state->signature = of->state->signature;
        return py::reinterpret_steal<py::object>(f);
      },
      "The same function, of which nothing is captured yet.");
  define(
      m, "new_figures", {{"front"}},
      [](const Args& a) {
        auto f = std::make_shared<Figures>();
        f->front_ns = argument<double>("new_figures", "front", a[0]) * 1e9;
        return figures_object(std::move(f));
      },
      "What watched functions put their times into. front: seconds that a call of the decorated "
      "object takes beyond one of the function, once CPython executes it.");
  define(
      m, "figures", {{"figures"}},
      [](const Args& a) {
        const FiguresRef f = figures_of(a[0]);
        OP_CHECK(f, kType, "[figures] expected what new_figures gives, got None");
        return py::object(described(*f));
      },
      "Times so far, in seconds: of all calls and of top ones, plain, captured, and with "
      "captures.");
  define(
      m, "watch", {{"f"}, {"figures"}},
      [](const Args& a) {
        OP_CHECK(Py_TYPE(a[0].ptr()) == jit_function_type, kType,
                 "[watch] expected a jitted function, got ", Py_TYPE(a[0].ptr())->tp_name);
        reinterpret_cast<JitObject*>(a[0].ptr())->state->figures = figures_of(a[1]);
        return py::none();
      },
      "Whether some calls of a jitted function run plainly, for times of both ways, and into which "
      "figures; None: no more.");
  define(
      m, "pause_capture", {{"on"}},
      [](const Args& a) {
        return std::exchange(permission::paused, argument<bool>("pause_capture", "on", a[0]));
      },
      "Whether jitted functions run plainly on this thread from now on; gives what was so.");
  define(
      m, "forbid_capture", {{"on"}},
      [](const Args& a) {
        const bool on = argument<bool>("forbid_capture", "on", a[0]);
        return std::exchange(permission::forbidden, on || !frames_are_known());
      },
      "Whether all threads run plainly from now on; gives what was so.");
  define(m, "set_graph_mode", {{"on"}}, [](const Args& a) {
    permission::graph_mode_on = argument<bool>("set_graph_mode", "on", a[0]);
    return py::none();
  });
  define(
      m, "graphs_run", {}, [](const Args&) { return graphs_run; },
      "How many graphs ran so far, of all functions.");
  define(m, "runs_as_graph", {}, [](const Args&) { return runs_as_graph(); });
  define(m, "graph_mode", {},
         [](const Args&) { return graph_mode() && graph_depth == 0 && !tape_needs_single_ops(); });
  // GRAPH_MODE: an outermost Cell's construct as a graph. One JitFunction per construct function,
  // which lives and dies with it: among its attributes, where the garbage collector sees it.
  define(m, "run_cell", {{"cell"}, {"args"}, {"kwargs"}}, [](const Args& a) {
    const py::object& cell = a[0];
    const auto args = argument<py::tuple>("run_cell", "args", a[1]);
    const auto kwargs = argument<py::dict>("run_cell", "kwargs", a[2]);
    py::object f = py::type::of(cell).attr("construct");
    return py::object((PyFunction_Check(f.ptr()) ? graph_of(f.ptr()) : jit(f, true, false, false))(
        cell, *args, **kwargs));
  });
}

}  // namespace pijit
