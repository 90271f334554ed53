#include "dispatch/automatic.h"

#include <algorithm>

#include "base/config.h"
#include "dispatch/permission.h"
#include "dispatch/report.h"
#include "dispatch/sampling.h"
#include "entry/runner.h"
#include "python/define.h"
#include "runtime/watch.h"

namespace pijit {

namespace {

constexpr uint64_t kHiddenCalls = 16;  // of a function in one that is still warming
constexpr uint64_t kLooks = 8;  // at arguments, before a function without tensors is left alone
constexpr size_t kMaxStates = 1024;
// What the hook costs a call that it passes on (ns), and what may be spent on that: a share of the
// time that passed, and one of what was gained; but little of it at a time, so that what was gained
// is not lost again where no more tensors come.
constexpr double kPassCost = 80, kShareOfTime = 0.01, kShareOfGain = 0.5;
constexpr double kAtFirst = 2e6, kAtATime = 2e6;
constexpr int64_t kPasses = 1000;  // between two looks at that
constexpr int kOpsUnasked = 15;    // of eager ops, after it was too much: a clock takes 25 ns

constexpr auto kSampleEvery = std::chrono::milliseconds(5);

struct HookBudget {
  bool on = false;
  int64_t since = 0;
  int64_t left = kPasses;
  int asked_in = 0;  // ops
  double spent = 0, gained = 0;
  double idle = 0;  // spent since the last work on tensors
};
HookBudget hook_budget;
PyObject* classifier;
struct Automatics {
  std::vector<std::shared_ptr<Automatic>> all;
  size_t states = 0;
  uint64_t generation = 1;
};
Automatics& automatics() {
  static auto* r = new Automatics;  // outlives the interpreter
  return *r;
}
// The outermost function of this thread that is being looked at before it is captured.
thread_local Automatic* warming = nullptr;
thread_local int64_t warming_since = 0;
constexpr int64_t kHiddenTime = 50'000'000;  // ns, of loops in one that is warming

bool affordable() {
  return hook_budget.spent < kShareOfTime * static_cast<double>(clock_ns() - hook_budget.since) +
                                 kShareOfGain * hook_budget.gained + kAtFirst;
}

// A call was passed on for nothing.
void passed() {
  if (--hook_budget.left > 0) return;
  hook_budget.left = kPasses;
  hook_budget.spent += kPassCost * kPasses;
  hook_budget.idle += kPassCost * kPasses;
  if (!affordable() || hook_budget.idle > kAtATime) set_hook_for_all(false);
}

bool is_unwanted(const Callee* c) {
  return c && c->automatic && !c->automatic->wanted &&
         c->automatic->generation == automatics().generation;
}

bool ask_classifier(PyObject* code, PyObject* globals) {
  const HookScope no_hook(false);
  const NoSignals no_signals;  // what their handlers raise is the program's
  PyObject *type, *value, *traceback;
  PyErr_Fetch(&type, &value, &traceback);
  PyObject* name = PyDict_GetItemString(globals, "__name__");
  auto* co = reinterpret_cast<PyCodeObject*>(code);
  PyObject* r = PyObject_CallFunctionObjArgs(classifier, co->co_filename,
                                             name && PyUnicode_Check(name) ? name : Py_None,
                                             qualname_of(code, globals), nullptr);
  const bool wanted = r && PyObject_IsTrue(r) == 1;
  if (!r) PyErr_Clear();
  Py_XDECREF(r);
  PyErr_Restore(type, value, traceback);
  return wanted;
}

Automatic* automatic_of(PyObject* code, PyObject* globals) {
  Callee* callee = callee_of(code);
  if (!callee) callee = make_callee(code);
  if (!callee->automatic || callee->automatic->generation != automatics().generation) {
    callee->automatic = std::make_shared<Automatic>();
    Automatic& a = *callee->automatic;
    a.generation = automatics().generation;
    a.wanted = !callee->skip && ask_classifier(code, globals);
    if (a.wanted) {
      auto* co = reinterpret_cast<PyCodeObject*>(code);
      a.name = text_of(qualname_of(code, globals));
      a.filename = text_of(co->co_filename);
      a.line = co->co_firstlineno;
      automatics().all.push_back(callee->automatic);
    }
  }
  return callee->automatic->wanted ? callee->automatic.get() : nullptr;
}

void give_back(Automatic& a, Callee& callee, Verdict::Reason reason) {
  a.tier.give_back(reason);
  callee.skip = true;
}

PyObject* run_plain(PendingCall& call, Automatic& a) {
  constexpr auto kHook = static_cast<int64_t>(kPassCost);  // is gone where nothing is captured
  const int64_t begin = clock_ns();
  PyObject* r = call.run();
  if (r) a.tier.ran_plainly(std::max<int64_t>(clock_ns() - begin - kHook, 1));
  return r;
}

// The user's function that runs, and the loop that it is in, may be worth to be captured.
Automatic* find_users_code(Met met) {
  constexpr int kDeepest = 24;  // of libraries between what works and the user's code
  LiveFrame f = LiveFrame::innermost();
  for (int k = 0; f && k < kDeepest; ++k, f = f.caller()) {
    if (!f.complete()) continue;
    Callee* callee = callee_of(f.code());
    if (is_unwanted(callee)) continue;
    Automatic* a = automatic_of(f);
    if (!a) continue;
    if (a->ops++ == 0 && !a->begun && !a->tier.resting()) callee_of(f.code())->skip = false;
    look_for_loop(*a, f, met);
    return a;
  }
  return nullptr;
}

void on_eager_op() {
  if (!hook_budget.on || current_owner() || !PyGILState_Check() || !may_capture(Asker::kOp)) return;
  hook_budget.idle = 0;
  if (!hook_is_for_all()) {
    if (hook_budget.asked_in > 0) {
      --hook_budget.asked_in;
      return;
    }
    if (!affordable()) {
      hook_budget.asked_in = kOpsUnasked;
      return;
    }
    set_hook_for_all(true);
  }
  find_users_code(Met::kOp);
}

// The program has run for some time since the last look: the function that takes its time may be
// one of loops over numbers, or of ndarrays. CPython forgets what it specialised calls for each
// time that the hook comes: so for what is not captured yet, it comes ever more rarely.
void on_sample() {
  if (!hook_budget.on || current_owner() || !may_capture(Asker::kOp)) return;
  Automatic* a = find_users_code(Met::kSample);
  if (a) ++a->samples;
  if (!a || a->tier.resting() || hook_is_for_all()) return;
  const bool due = a->begun || (a->ops & (a->ops - 1)) == 0;
  if (due && affordable()) set_hook_for_all(true);
}

}  // namespace

bool automatic_is_on() { return hook_budget.on; }
void earned(double ns) {
  if (ns > 0) hook_budget.gained += ns;
}

bool is_hidden(const Automatic& a) {
  return warming && warming != &a && clock_ns() - warming_since < kHiddenTime;
}

Automatic* automatic_of(const LiveFrame& f) { return automatic_of(f.code(), f.globals()); }

FunctionCache* automatic_state(Automatic& a, PyObject* globals) {
  if (!a.state) {
    if (automatics().states >= kMaxStates) return nullptr;
    ++automatics().states;
    a.state = std::make_shared<FunctionCache>();
    a.state->automatic = true;
    a.state->globals = py::reinterpret_borrow<py::object>(globals);
    a.state->place = str_cat(a.name, " at ", a.filename, ":", a.line);
  }
  // code that functions of other globals share
  return a.state->globals.ptr() == globals ? a.state.get() : nullptr;
}

PyObject* automatic_call(PendingCall& call, Callee* callee) {
  if (callee && (callee->skip || is_unwanted(callee))) {
    passed();
    return call.run();
  }
  const int64_t came =
      callee && callee->automatic && callee->automatic->tier.may_time() ? clock_ns() : 0;
  if (!may_capture(Asker::kLook)) return call.run();
  PyObject* globals = call.globals();
  Automatic* known = automatic_of(call.code(), globals);
  if (!known) {
    passed();
    return call.run();
  }
  callee = callee_of(call.code());
  const std::shared_ptr<Automatic> a = callee->automatic;
  a->frame = nullptr;
  ++a->calls;
  if (!may_capture(Asker::kAutomatic)) return call.run();
  if (a->tier.resting()) return call.run();
  if (!a->begun) {
    if (a->ops == 0 && !works_on_tensors(call) && !works_on_ndarrays(call)) {
      if (a->calls >= kLooks) callee->skip = true;  // until an eager op is its own
      passed();
      return call.run();
    }
    if (warming && warming != a.get() && ++a->inside <= kHiddenCalls) return call.run();
    const int64_t begin = a->state ? 0 : clock_ns();
    const Code code = code_info(call.code());
    if (!code || !automatic_state(*a, globals)) {
      give_back(*a, *callee, code ? Verdict::kTooMany : Verdict::kImpossible);
      return call.run();
    }
    if (begin) a->state->compile_ms += static_cast<double>(clock_ns() - begin) / 1e6;
    a->tier.was_seen_to_run(a->samples * std::chrono::nanoseconds(kSampleEvery).count());
    if (a->tier.warming()) {
      struct Warming {
        Automatic* before = warming;
        explicit Warming(Automatic* now) {
          if (!before) warming = now, warming_since = clock_ns();
        }
        ~Warming() { warming = before; }
      } scope(a.get());
      return run_plain(call, *a);
    }
    // What spends its time in a loop that was taken over already gains nothing more.
    constexpr uint64_t kLong = 64;
    for (auto& [head, l] : a->loops)
      if (!l.tier.resting() && l.iterations > kLong * a->calls) return call.run();
    a->begun = true;
  }
  FunctionCache* state = automatic_state(*a, globals);
  if (!state) return call.run();
  if (state->sizes.waiting() && !state->sizes.due()) return call.run();
  if (a->tier.next(config().measure) == Tier::Way::kPlain) {
    HookScope quiet(false);
    return run_plain(call, *a);
  }
  const Code code = code_info(call.code());
  std::vector<PyObject*> room;
  const auto slots = call.slots(static_cast<size_t>(code->num_slots), &room);
  const uint64_t compiled = state->compile_count, graphs = graphs_run, sizes = state->new_sizes;
  const bool timed = a->tier.timed();
  const std::shared_ptr<FunctionCache> kept = a->state;
  py::object r;
  {
    HookScope quiet(false);
    OwnerScope owner(state);
    const py::object func = call.func();
    r = run({func.ptr(), code, *state, false}, slots, [&] {
      PyObject* r = call.run();
      if (!r) throw py::error_already_set();
      return py::reinterpret_steal<py::object>(r);
    });
  }
  hook_budget.idle = 0;
  if (std::exchange(state->left_by_size, false)) return r.release().ptr();
  state->sizes.ran(state->new_sizes != sizes);
  const bool anew = state->compile_count != compiled;
  a->tier.ran_captured(
      timed ? clock_ns() - came : Tier::kUntimed,
      {.graph = graphs_run != graphs, .anew = anew, .ever_new = state->sizes.ever_new()});
  if (state->sizes.several() && a->tier.lost_a_comparison() && state->sizes.wait()) a->tier.go_on();
  if (!anew) earned(a->tier.gain());
  if (a->tier.resting()) callee->skip = true;
  return r.release().ptr();
}

namespace {

// What trying took beyond what captured runs usually take, which holds the programs for further
// sizes if most of them need one.
double trying_ms(const FunctionCache& s, const Tier& tier) {
  const bool usual = 2 * s.new_sizes > tier.captured_runs();
  return std::max(s.compile_ms - s.sizes_ms, tier.trying() / 1e6) + (usual ? 0 : s.sizes_ms);
}

// Lines that captures went through, in order.
py::list visited_places(const FunctionCache& s) {
  py::list places;
  for (auto& [at, point] : s.points)
    for (auto& e : point.entries)
      for (auto& p : e->places) places.append(str_of(p));
  return places;
}

py::list report() {
  py::list out;
  for (auto& a : automatics().all) {
    bool charged = false;  // what compiling took, to the first of its function and loops
    auto add = [&](const char* kind, int line, uint64_t calls, uint64_t captured,
                   const Tier& tier) {
      py::dict x;
      x["kind"] = kind;
      x["name"] = str_of(a->name);
      x["file"] = str_of(a->filename);
      x["line"] = line;
      x["calls"] = calls;
      x["captured"] = captured;
      x["plain_us"] = tier.typical_plain() / 1e3;
      x["captured_us"] = tier.typical_captured() / 1e3;
      x["plain_runs"] = tier.plain().size();
      x["deoptimized"] = str_of(tier.verdict());
      x["graphs"] = a->state ? a->state->compile_count : 0;
      x["graph_runs"] = a->state ? a->state->graph_runs : 0;
      x["compile_ms"] = a->state && !charged ? a->state->compile_ms : 0.0;
      x["trying_ms"] = a->state && !charged ? trying_ms(*a->state, tier) : 0.0;
      charged = true;
      x["breaks"] = a->state ? described_breaks(*a->state) : py::list();
      x["places"] = a->state ? visited_places(*a->state) : py::list();
      out.append(x);
    };
    if (a->tier.captured_runs() || a->tier.resting())
      add("function", a->line, a->calls, a->tier.captured_runs(), a->tier);
    for (auto& [head, l] : a->loops)
      if (l.captured || l.tier.resting()) add("loop", l.line, l.iterations, l.captured, l.tier);
  }
  return out;
}

}  // namespace

void init_automatic(py::module_& m) {
  using Args = std::vector<py::object>;
  define(m, "enable_automatic", {{"wanted"}}, [](const Args& a) {
    Py_XSETREF(classifier, Py_NewRef(a[0].ptr()));
    hook_budget = {};
    hook_budget.on = true;
    hook_budget.since = clock_ns();
    eager_watcher = on_eager_op;
    sample_every(kSampleEvery, on_sample);
    return py::none();
  });
  define(m, "disable_automatic", {}, [](const Args&) {
    hook_budget.on = false;
    eager_watcher = nullptr;
    stop_sampling();
    set_hook_for_all(false);
    return py::none();
  });
  define(m, "pause_sampling", {}, [](const Args&) {
    pause_sampling();
    return py::none();
  });
  define(m, "resume_sampling", {}, [](const Args&) {
    resume_sampling();
    return py::none();
  });
  // All that was captured, or deoptimized.
  define(m, "automatic_report", {}, [](const Args&) { return py::object(report()); });
  // Forgets all of that: for the end of the process, so that what it kept dies as it should, and
  // for another choice of files.
  define(m, "forget_automatic", {}, [](const Args&) {
    auto all = std::move(automatics().all);
    const uint64_t next = automatics().generation + 1;
    automatics() = {};
    automatics().generation = next;
    for (auto& a : all) {
      const auto state = std::move(a->state);
      *a = {};
    }
    return py::none();
  });
}

}  // namespace pijit
