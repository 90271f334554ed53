// Loops over numbers: which functions have such, and how a call runs their machine code.
#include "base/config.h"
#include "base/log.h"
#include "dispatch/execution.h"
#include "dispatch/permission.h"
#include "dispatch/report.h"
#include "entry/guard.h"
#include "python/quiet_lookup.h"
#include "runtime/code_names.h"

namespace pijit {
namespace {

// Why a function works on other things than numbers, or on what a graph may hold; nothing: it may
// well work on numbers. Also of the functions that it uses.
class OverNumbers {
 public:
  NoRegion because;
  bool calls_itself = false;

  void look(PyObject* func, const CodeInfo& code, int deep = 0) {
    constexpr size_t kMostCode = 2000;  // instructions: longer code takes longer than it gains
    if (deep == 0) func_ = func, code_ = &code;
    if (std::find(seen_.begin(), seen_.end(), func) != seen_.end()) return;
    seen_.push_back(func);
    if (code.instrs.size() > kMostCode)
      no(code, 0,
         str_cat("the function is too long: ", code.instrs.size(), " instructions, more than ",
                 kMostCode),
         "the loop in a function of its own");
    if (code.reflective || code.compares_frames) no(code, 0, "the function looks at its own frame");
    if (code.generator)
      no(code, 0, "the function is a generator", "the loop in a function of its own");
    if (has_other_builtins(func)) no(code, 0, "the function has other builtins than its module");
    PyObject* globals = PyFunction_GET_GLOBALS(func);
    auto global = [&](const Instr& in) {
      PyObject* o = quiet_item(globals, in.obj);
      return o ? o : quiet_item(builtins_of(globals), in.obj);
    };
    auto is_no_number = [&](const Instr& in) {
      PyObject* o = in.op == Op::LOAD_CONST    ? in.obj
                    : in.op == Op::LOAD_GLOBAL ? global(in)
                                               : nullptr;
      return o && (PyBool_Check(o) || !(PyNumber_Check(o) || PyTuple_Check(o)));
    };
    for (size_t k = 0; k < code.instrs.size() && because.why.empty(); ++k) {
      const Instr& in = code.instrs[k];
      if (in.op == Op::LOAD_GLOBAL) use(code, k, quiet_item(globals, in.obj), deep);
      if (in.op == Op::IMPORT_NAME)
        no(code, k, "the function imports a module", "an import at the top");
      // numbers that a region makes are other objects than CPython's
      if (in.op == Op::IS_OP && !is_no_number(code.instrs[k - 1]))
        no(code, k, "`is` may compare numbers", "compare numbers by ==");
    }
    Py_ssize_t n = 0;
    PyObject** cells = closure_of(func, &n);
    for (Py_ssize_t k = 0; k < n && because.why.empty(); ++k)
      use(code, 0, PyCell_GET(cells[k]), deep);
  }

 private:
  void no(const CodeInfo& code, size_t at, std::string why, std::string help = "") {
    if (!because.why.empty()) return;
    const bool below = &code != code_;
    because.line = below ? code_->instrs[place_].line : code.instrs[at].line;
    because.why = below ? str_cat("the function uses ", code.name, "(): ", why) : std::move(why);
    because.help = std::move(help);
  }
  void use(const CodeInfo& code, size_t at, PyObject* o, int deep) {
    constexpr int kMostDeep = 3;
    const char* alone = "the loop in a function of its own that has only numbers and arrays";
    if (!o) return;
    if (&code == code_) place_ = at;
    if (PyModule_CheckExact(o)) {
      const char* name = PyModule_GetName(o);
      if (!name) PyErr_Clear();
      const std::string_view module = name ? name : "";
      if (module.rfind("pijit", 0) == 0 || module.rfind("mindspore", 0) == 0)
        no(code, at, str_cat("the function uses the module ", module), alone);
      return;
    }
    PyObject* f = Py_TYPE(o) == jit_function_type ? jit_inner(o)
                  : PyFunction_Check(o)           ? o
                                                  : nullptr;
    if (!f) {
      if (is_promising(o))
        no(code, at, str_cat("the function uses a ", Py_TYPE(o)->tp_name), alone);
      return;
    }
    calls_itself |= f == func_;
    const Code its = code_info(PyFunction_GET_CODE(f));
    if (!its || deep >= kMostDeep)
      return no(code, at,
                str_cat("the function uses the function ",
                        text_of(reinterpret_cast<PyFunctionObject*>(f)->func_qualname)),
                alone);
    look(f, *its, deep + 1);
  }
  PyObject* func_ = nullptr;
  const CodeInfo* code_ = nullptr;
  size_t place_ = 0;  // in that code
  std::vector<PyObject*> seen_;
};

// Of the outermost loop around a line, or else the first.
void loop_lines(const CodeInfo& code, NoRegion* n) {
  for (size_t pc = 0; pc < code.instrs.size(); ++pc)
    for (int to : successors(code, static_cast<int>(pc))) {
      if (to < 0 || to > static_cast<int>(pc)) continue;
      const auto [first, last] = lines_of(code, to, static_cast<int>(pc));
      const bool around = first <= n->line && n->line <= last;
      const bool had = n->first_line <= n->line && n->line <= n->last_line && n->first_line > 0;
      if (n->first_line > 0 && (had || !around) && !(around && first < n->first_line)) continue;
      n->first_line = first;
      n->last_line = last;
    }
}

// What is left of a call.
struct Rest {
  py::object f;
  std::vector<py::object> slots, stack;
};
PyObject* finish(PyObject* self, PyObject*) {
  auto* rest = static_cast<Rest*>(PyCapsule_GetPointer(self, nullptr));
  ResumeScope scope(std::move(rest->slots), std::move(rest->stack));
  return call_in_frame(rest->f).release().ptr();
}
PyMethodDef finish_method = {"rest_of_call", finish, METH_VARARGS, nullptr};

// A function in the place of another one, whose call it ends.
py::object rest_of_call(PyObject* func, int instr, std::vector<py::object> slots,
                        std::vector<py::object> stack) {
  const Code code = code_info(PyFunction_GET_CODE(func));
  const py::object made = make_resume_code(*code, instr, nulls_in(stack));
  never_capture(made.ptr());
  slots.resize(static_cast<size_t>(code->num_slots - code->num_free));
  auto rest = std::make_unique<Rest>(
      Rest{function_like(func, made, true), std::move(slots), std::move(stack)});
  const auto self =
      py::reinterpret_steal<py::object>(PyCapsule_New(rest.get(), nullptr, [](PyObject* capsule) {
        delete static_cast<Rest*>(PyCapsule_GetPointer(capsule, nullptr));
      }));
  if (!self) throw py::error_already_set();
  static_cast<void>(rest.release());
  PyObject* f = PyCFunction_New(&finish_method, self.ptr());
  if (!f) throw py::error_already_set();
  return py::reinterpret_steal<py::object>(f);
}

}  // namespace

// Does the function work on numbers in loops, and on nothing that a graph may hold? Found out once.
bool Execution::is_over_numbers() const {
  if (target_.osr || target_.whole || state_.no_regions || !config().regions ||
      state_.graph_runs > 0 || !state_.signature.empty() || runs_as_graph())
    return false;
  if (!state_.over_numbers) {
    OverNumbers found;
    found.look(target_.func, *code_);
    const bool loops = state_.loops_ahead(*code_, 0);
    state_.over_numbers = found.because.why.empty() && (loops || found.calls_itself);
    if (!found.because.why.empty() && loops) {
      loop_lines(*code_, &found.because);
      state_.left_loops.push_back(std::move(found.because));
    }
  }
  return *state_.over_numbers && std::none_of(given_.begin(), given_.end(), is_promising);
}

// What making regions may take, in nanoseconds, and for each that they ran.
constexpr int64_t kMadeAtFirst = 1'500'000, kMadeForRuns = 4;

// A region from here on, which is made; null: there is none, or too many.
Region* Execution::region_made(ResumePoint& point, const Region::Frame& frame) {
  constexpr int64_t kMostWasted = 3'000'000;
  const int64_t begin = clock_ns();
  std::unique_ptr<Region> made;
  NoRegion because;
  try {
    const NoCollection no_garbage;
    const NoSignals no_signals;
    const Span capturing(TraceEvent::kCapture, [&] { return call_metadata(&state_, *code_); });
    const CodeName name([&] {
      const std::string& file = code_->filename;
      return str_cat(code_->name, " ", file.substr(file.rfind('/') + 1), ":",
                     code_->instrs[instr_].line);
    });
    made = make_region(code_, instr_, frame, state_.fast, &because);
  } catch (const InternalError& e) {
    if (config().strict) throw;
    PIJIT_LOG("capture", code_->name, ": ", e.what());
  } catch (const std::bad_alloc&) {
  }
  const int64_t took = clock_ns() - begin;
  state_.compile_ms += static_cast<double>(took) / 1e6;
  compiled_ns += took;
  if (!made) {
    PIJIT_LOG("capture", code_->name, ": no region from line ", code_->instrs[instr_].line,
              " on: at line ", because.line, ", ", because.why);
    if (because.before >= instr_) state_.before_regions.emplace_back(instr_, because.before);
    if (!because.why.empty()) state_.left_loops.push_back(std::move(because));
    state_.wasted_ns += took;
    if (config().measure && state_.wasted_ns > kMostWasted && state_.region_count == 0)
      state_.no_regions = true;
    return nullptr;
  }
  ++state_.compile_count;
  ++state_.region_count;
  state_.regions_made_ns += took;
  ++disturbances;
  PIJIT_LOG("capture", code_->name, ": a region from line ", code_->instrs[instr_].line,
            " on, made in ", took / 1000, " us, ", made->code->bytes(), " bytes\n", made->text);
  return point.regions.emplace_back(std::move(made)).get();
}

Region* Execution::region_for(ResumePoint& point, const Region::Frame& frame, Words* words,
                              Region::Views* views) {
  constexpr size_t kMostRegions = 4, kMostOfFunction = 16;
  auto enters = [&](Region& r) {
    words->resize(r.words);
    views->clear();
    return r.enter(frame, words->data(), views);
  };
  // by number: looking at iterators allocates, so that code of a user may make others meanwhile
  for (size_t k = 0; k < point.regions.size(); ++k)
    if (Region* r = point.regions[k].get(); enters(*r)) return r;
  if (point.no_region || std::ranges::any_of(state_.before_regions, [&](auto& r) {
        return instr_ >= r.first && instr_ <= r.second;
      }))
    return nullptr;
  for (auto& r : point.regions)
    if (!r->has_room()) return nullptr;  // CPython raises, or so would another one
  // many that are left at once take longer to make than the loop takes
  const int64_t made_for = kMadeAtFirst + kMadeForRuns * state_.regions_ran_ns;
  if (config().measure && state_.regions_made_ns > made_for) return nullptr;
  if (point.regions.size() < kMostRegions && state_.region_count < kMostOfFunction &&
      may_capture(Asker::kCapture))
    if (Region* r = region_made(point, frame)) {
      if (enters(*r)) return r;
      PIJIT_CHECK(!config().strict || !r->has_room() || r->has_generators(), "a fresh region of ",
                  code_->name, " refuses its own state");
    }
  point.no_region = true;
  return nullptr;
}

// Where no region begins, CPython's instructions, one by one, lead to one, if they did so before.
bool Execution::step_to_region(ResumePoint& point, bool loops) {
  constexpr int kMostSteps = 96, kInLoop = 4;
  if (!loops && point.no_region && point.regions.empty()) state_.no_regions = true;
  if (!loops || state_.no_regions) return false;
  if (steps_ == 0) {
    steps_from_ = &point;
    if (!point.steps.due()) return false;
  }
  steps_ += loop_around(*code_, instr_).first >= 0 ? kInLoop : 1;
  if (steps_ > kMostSteps) {
    if (region_runs_ == 0) state_.no_regions = true;
    steps_from_->steps.failed();
    return false;
  }
  if (as_given_) {
    for (PyObject* o : given_) slots_.push_back(py::reinterpret_borrow<py::object>(o));
    as_given_ = false;
  }
  return true;
}

// What runs for longer than its exits cost is worth them.
bool Execution::region_pays(const Region& r, const RegionExit& left) {
  constexpr uint64_t kAtFirst = 8, kMostLosses = 3;
  constexpr int64_t kStepCost = 4'000;  // ns, of an exit and the instruction there
  if (region_runs_ <= kAtFirst) return true;
  const bool pays = region_ns_ >= static_cast<int64_t>(region_runs_) * kStepCost;
  // where nothing is measured, a graph is worth more than exits to what it could compute
  if (config().measure ? pays : !left.of_arrays) return true;
  state_.region_losses += left.of_arrays ? kMostLosses : 1;
  if (state_.region_losses >= kMostLosses && !state_.no_regions) {
    state_.no_regions = true;
    NoRegion because{code_->instrs[instr_].line};
    because.why =
        str_cat("its machine code was left too often", left.why.empty() ? "" : ": " + left.why);
    because.first_line = r.first_line;
    because.last_line = r.last_line;
    because.given_up = true;
    state_.left_loops.push_back(std::move(because));
  }
  return false;
}

bool Execution::run_region(ResumePoint& point) {
  if (at_handler() || shown_.any_lives()) return false;
  const bool loops = state_.loops_ahead(*code_, instr_);
  if (!loops && !(instr_ == 0 && untouched_)) return false;
  if (!loops && !state_.recursion.due()) return false;
  Words words;
  std::vector<PyObject*> slots, stack;
  for (auto& o : slots_) slots.push_back(o.ptr());
  for (auto& o : stack_) stack.push_back(o.ptr());
  Region::Frame frame{target_.func, as_given_ ? given_ : slots, stack};
  Region::Views views;
  Region* r = region_for(point, frame, &words, &views);
  if (!r) return step_to_region(point, loops);
  if (steps_ > 0) steps_from_->steps.worked();
  steps_ = 0;
  const bool timed = region_runs_ > 0 || state_.regions_made_ns > kMadeAtFirst;
  const int64_t begin = timed ? clock_ns() : 0;
  Region::Left now;
  const RegionExit* left;
  {
    const Span graph(TraceEvent::kGraph);
    left = &r->run(frame, words.data(), rest_of_call, &now);
  }
  views.clear();
  if (r->recursive && !left->returns) {  // CPython does all of it
    state_.recursion.failed();
    return false;
  }
  if (r->recursive) state_.recursion.worked();
  // no run earns more exits than this: another process may have had the processor meanwhile
  constexpr int64_t kMostOfRun = 1'000'000;
  const int64_t took = timed ? clock_ns() - begin : 0;
  state_.regions_ran_ns += took;
  if (region_runs_++) region_ns_ += std::min(took, kMostOfRun);
  ++graphs_run;
  instr_ = left->instr;
  stack_ = std::move(now.stack);
  if (left->returns) return true;
  state_.regions_left = true;
  as_given_ = untouched_ = false;
  slots_.assign(std::make_move_iterator(now.slots.begin()),
                std::make_move_iterator(now.slots.end()));
  if (now.error) {
    PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(now.error.ptr())), now.error.ptr());
    handle_raised(instr_);
    return true;
  }
  return region_pays(*r, *left);
}

}  // namespace pijit
