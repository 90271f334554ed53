// Undecorated functions that CPython calls while it runs a broken region: each is captured like a
// decorated one. Its FunctionCache belongs to the decorated function; its code object knows it.
#include <algorithm>

#include "base/config.h"
#include "dispatch/automatic.h"
#include "dispatch/permission.h"
#include "dispatch/run.h"
#include "entry/runner.h"
#include "objects/ndarray.h"

namespace pijit {

namespace {

[[gnu::tls_model("initial-exec")]] thread_local FunctionCache* owner = nullptr;
thread_local uint64_t found = 0;  // calls that ran a graph, or machine code

template <class Is>
bool holds(PyObject* o, Is is) {
  if (!o) return false;
  if (is(o)) return true;
  if (PyTuple_CheckExact(o) || PyList_CheckExact(o)) {
    PyObject** items = PySequence_Fast_ITEMS(o);
    for (Py_ssize_t k = 0; k < PySequence_Fast_GET_SIZE(o) && k < 16; ++k)
      if (is(items[k])) return true;
  }
  return false;
}

// Is there such an object among the arguments and what the function closes over?
template <class Is>
bool works_on(const PendingCall& call, Is is) {
  auto* co = reinterpret_cast<PyCodeObject*>(call.code());
  const int n = co->co_argcount + co->co_kwonlyargcount + !!(co->co_flags & CO_VARARGS);
  std::vector<PyObject*> room;
  const auto slots = call.slots(static_cast<size_t>(n), &room);
  if (std::any_of(slots.begin(), slots.end(), [&](PyObject* o) { return holds(o, is); }))
    return true;
  const auto cells = call.cells();
  return std::any_of(cells.begin(), cells.end(),
                     [&](PyObject* c) { return PyCell_Check(c) && holds(PyCell_GET(c), is); });
}

}  // namespace

bool works_on_tensors(const PendingCall& call) { return works_on(call, is_tensor); }
bool works_on_ndarrays(const PendingCall& call) { return works_on(call, is_followed_ndarray); }

namespace {

// Our own library's functions are a few ops each: eager calls of them are as fast.
// Its layers call what users wrote.
struct Library {
  bool functions, layers;
};
Library library_of(PyObject* globals) {
  PyObject* name = PyDict_GetItemString(globals, "__name__");
  if (!name || !PyUnicode_Check(name)) return {};
  const auto module = text_of(name);
  auto starts = [&](const char* s) { return module.rfind(s, 0) == 0; };
  const bool layers = starts("pijit.nn");
  return {starts("pijit.") && !layers, layers};
}

// What is known of a callee belongs to all functions that called it. Each holds a reference to this
// object, so that the garbage collector sees how many there are.
struct Keeper {
  PyObject_HEAD std::shared_ptr<FunctionCache> state;
};
PyTypeObject* keeper_type;

void keeper_dealloc(PyObject* self) {
  PyTypeObject* type = Py_TYPE(self);
  PyObject_GC_UnTrack(self);
  auto& state = reinterpret_cast<Keeper*>(self)->state;
  if (state) state->keeper = nullptr;
  state.~shared_ptr();
  type->tp_free(self);
  Py_DECREF(type);
}
// While a call holds the state, too, what it keeps counts as seen from outside.
int keeper_traverse(PyObject* self, visitproc visit, void* arg) {
  auto& state = reinterpret_cast<Keeper*>(self)->state;
  Py_VISIT(Py_TYPE(self));
  return state.use_count() == 1 ? traverse(*state, visit, arg) : 0;
}
int keeper_clear(PyObject* self) {
  auto& state = reinterpret_cast<Keeper*>(self)->state;
  if (state.use_count() != 1) return 0;
  state->keeper = nullptr;
  const auto unused = std::exchange(state, nullptr);
  return 0;
}
void init_keeper() {
  static PyType_Slot slots[] = {{Py_tp_dealloc, reinterpret_cast<void*>(keeper_dealloc)},
                                {Py_tp_traverse, reinterpret_cast<void*>(keeper_traverse)},
                                {Py_tp_clear, reinterpret_cast<void*>(keeper_clear)},
                                {0, nullptr}};
  static PyType_Spec spec = {
      "pijit._C.Keeper", sizeof(Keeper), 0,
      Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_DISALLOW_INSTANTIATION, slots};
  keeper_type = reinterpret_cast<PyTypeObject*>(type_without_instances(&spec));
  if (!keeper_type) throw py::error_already_set();
}
py::object keeper_of(const std::shared_ptr<FunctionCache>& state) {
  if (state->keeper) return py::reinterpret_borrow<py::object>(state->keeper);
  auto* k = reinterpret_cast<Keeper*>(keeper_type->tp_alloc(keeper_type, 0));
  if (!k) throw py::error_already_set();
  new (&k->state) std::shared_ptr<FunctionCache>(state);
  state->keeper = reinterpret_cast<PyObject*>(k);
  return py::reinterpret_steal<py::object>(state->keeper);
}

// A call of a comparison. Functions below it are captured as ever.
PyObject* timed_plainly(PendingCall& call) {
  PyObject* code = call.code();
  const int64_t began = clock_ns();
  PyObject* r = call.run();
  const int64_t ns = clock_ns() - began;
  ++disturbances;
  if (Callee* callee = callee_of(code)) callee->tier.ran_plainly(ns);
  return r;
}

// An eager call of one op is as fast as a graph of it.
bool is_one_op(const FunctionCache& state) {
  for (auto& [at, point] : state.points)
    for (auto& e : point.entries)
      if (e->num_ops > 1 || e->result < 0) return false;
  return true;
}

// NumPy's own functions among them.
bool is_installed(const CodeInfo& code) {
  return code.filename.find("/site-packages/") != std::string::npos ||
         code.filename.find("/dist-packages/") != std::string::npos;
}
// Loops over ndarrays may have machine code. What has none is a few calls of NumPy, which CPython
// makes as fast.
bool loops_over_ndarrays(const PendingCall& call, Callee** callee) {
  if (*callee && (*callee)->loops == false) return false;
  if (!works_on_ndarrays(call)) return false;
  if (!*callee) *callee = make_callee(call.code());
  if (!(*callee)->loops) {
    const Code code = code_info(call.code());
    (*callee)->loops = code && has_loop(*code) && !is_installed(*code);
  }
  return *(*callee)->loops;
}

PyObject* on_call(PendingCall& call) {
  try {
    Callee* callee = callee_of(call.code());
    if (!owner && automatic_is_on()) return automatic_call(call, callee);
    if (!may_capture(Asker::kCallee)) return call.run();
    if ((callee && callee->skip) ||
        !(works_on_tensors(call) || loops_over_ndarrays(call, &callee))) {
      CalleeScope::passed_over();
      return call.run();
    }
    PyObject* globals = call.globals();
    const Code code = code_info(call.code());
    if (!callee) callee = make_callee(call.code());
    if (!callee->examined) {
      callee->examined = true;
      const Library library = library_of(globals);
      callee->skip |= !code || library.functions;
      callee->shared = library.layers;
    }
    if (callee->skip) return call.run();
    std::shared_ptr<FunctionCache> state = callee->state.lock();
    if (!state) {
      if (!owner->callees.room()) return call.run();
      state = std::make_shared<FunctionCache>();
      state->globals = py::reinterpret_borrow<py::object>(globals);
      state->automatic = owner->automatic;
      state->place = str_cat(code->name, " at ", code->filename, ":", code->instrs.front().line);
      callee->state = state;
      callee->tier = Tier(TierPolicy::callee);
    }
    if (callee->tier.resting()) return call.run();
    const bool measure = config().measure && !callee->shared;
    if (callee->tier.next(measure) == Tier::Way::kPlain) return timed_plainly(call);
    // a function that shares its code with one of other globals is none of ours
    if (state->globals.ptr() != globals) return call.run();
    owner->callees.use(state.get(), keeper_of(state));
    std::vector<PyObject*> room;
    const auto slots = call.slots(static_cast<size_t>(code->num_slots), &room);
    HookScope quiet(false);
    const uint64_t own = state->graph_runs, runs = graphs_run;
    const uint64_t captures = state->compile_count + disturbances;
    const py::object func = call.func();
    const int64_t began = callee->tier.timed() ? clock_ns() : 0;
    py::object r = run({func.ptr(), code, *state, false}, slots, [&] {
      PyObject* r = call.run();
      if (!r) throw py::error_already_set();
      return py::reinterpret_steal<py::object>(r);
    });
    const bool graph = graphs_run != runs;  // or a loop of machine code
    if (graph) ++found;
    callee = callee_of(code->code);
    if (callee->shared) return r.release().ptr();  // what holds for one layer doesn't for another
    const bool anew = state->compile_count + disturbances != captures;
    if (config().measure && state->graph_runs != own && anew && is_one_op(*state))
      callee->tier.found_nothing();
    else
      callee->tier.ran_captured(began ? clock_ns() - began : Tier::kUntimed,
                                {.graph = graph, .anew = anew});
    return r.release().ptr();
  } catch (...) {
    return raise_current_exception();
  }
}

}  // namespace

bool Callees::make_room() {
  if (all_.size() >= kMost && ++asked_ % kMost != 0) return false;  // all were in use
  std::vector<py::object> unused;  // as these go, code of the user may run
  for (auto it = all_.begin(); it != all_.end();) {
    if (std::exchange(it->second.used, false)) {
      ++it;
      continue;
    }
    unused.push_back(std::move(it->second.keeper));
    it = all_.erase(it);
  }
  limit_ = std::min(all_.size() + kFew, kMost);
  return all_.size() < limit_;
}

static thread_local CalleeScope* innermost_scope;

CalleeScope::CalleeScope(const Target& target, HookUse& use, PyObject* but)
    : outer_(std::exchange(innermost_scope, this)) {
  if (target.whole || !may_capture(Asker::kBelow) || !use.due()) {
    hook_.emplace(false);
    return;
  }
  use_ = &use;
  found_before_ = found;
  hook_.emplace(true, but);
}
void CalleeScope::passed_over() {
  constexpr int kMany = 1000;
  CalleeScope* s = innermost_scope;
  // once in a scope: where an op wakes it, there is something to capture
  if (s && s->use_ && found == s->found_before_ && ++s->passed_over_ == kMany) put_hook_to_sleep();
}
CalleeScope::~CalleeScope() {
  innermost_scope = outer_;
  if (!use_) return;
  found != found_before_ ? use_->worked() : use_->failed();
}

FunctionCache* current_owner() { return owner; }
Callee* callee_of(PyObject* code) { return static_cast<Callee*>(attached_to_code(code).get()); }

OwnerScope::OwnerScope(FunctionCache* s) : before_(std::exchange(owner, s)) {}
OwnerScope::~OwnerScope() { owner = before_; }

Callee* make_callee(PyObject* code) {
  auto made = std::make_shared<Callee>();
  Callee* callee = made.get();
  attached_to_code(code) = std::move(made);
  return callee;
}
void never_capture(PyObject* code) {
  if (PyCode_Check(code)) make_callee(code)->skip = true;
}

int traverse(const FunctionCache& s, visitproc visit, void* arg) {
  for (auto& [at, point] : s.points) {
    for (auto& r : point.regions)
      if (const int failed = r->visit(visit, arg)) return failed;
    for (auto& e : point.entries) {
      for (auto& x : e->sources) Py_VISIT(x.key.ptr());
      for (auto& x : e->guards) {
        Py_VISIT(x.obj.ptr());
        Py_VISIT(x.obj2.ptr());
      }
      for (auto& x : e->recipes)
        if (const int r = x->visit(visit, arg)) return r;
      for (auto& x : e->effects)
        if (const int r = x->visit(visit, arg)) return r;
    }
  }
  for (auto& [at, step] : s.steps) Py_VISIT(step.ptr());
  for (auto& [at, code] : s.resumes) Py_VISIT(code.ptr());
  for (auto& [at, code] : s.loops) Py_VISIT(code.ptr());
  Py_VISIT(s.globals.ptr());
  for (auto& [callee, kept] : s.callees.all()) Py_VISIT(kept.keeper.ptr());
  return 0;
}

void init_callees() {
  init_keeper();
  set_call_handler(on_call);
}

std::shared_ptr<FunctionCache> callee_state(PyObject* code) {
  Callee* c = callee_of(code);
  if (c && c->automatic && c->automatic->state) return c->automatic->state;
  return c ? c->state.lock() : nullptr;
}

}  // namespace pijit
