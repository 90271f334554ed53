#include "dispatch/run.h"

#include <algorithm>

#include "absl/hash/hash.h"
#include "base/config.h"
#include "base/log.h"
#include "base/progress.h"
#include "dispatch/permission.h"
#include "dispatch/report.h"
#include "entry/guard.h"
#include "entry/instance.h"
#include "entry/runner.h"
#include "python/quiet_lookup.h"
#include "python/call_in_frame.h"

namespace pijit {

uint64_t graphs_run = 0;
uint64_t disturbances = 0;
thread_local int64_t compiled_ns = 0;
BudgetMeter trying_of_all{Budget::of_process};

namespace {

constexpr size_t kMaxEntries = 16;
constexpr uint64_t kFreeCaptures = 8;  // from one point on, before they are taken for trying
// Instructions of loops and recursion that a capture looks at before its first op: where there is
// something for a graph, else, and where trying has cost what it may.
constexpr int64_t kPromising = 32768, kUnlikely = 4096, kSpent = 512;
const int64_t began = clock_ns();  // the program, as far as we know

// Tensors, and objects that can be called, as networks are.
bool is_promising(PyObject* o) {
  if (o && PyCell_Check(o)) o = PyCell_GET(o);
  return o && PyType_HasFeature(Py_TYPE(o), Py_TPFLAGS_HEAPTYPE) &&
         (Py_TYPE(o)->tp_call || is_tensor(o));
}

// Programs for further sizes are part of what compiling costs.
void note_sizes(FunctionCache* state) {
  if (const int64_t ns = take_time_for_sizes(); ns > 0) {
    state->compile_ms += static_cast<double>(ns) / 1e6;
    compiled_ns += ns;
    state->sizes_ms += static_cast<double>(ns) / 1e6;
    ++state->new_sizes;
    ++disturbances;
  }
}

void drop_given_up(FunctionCache& state) {
  if (state.running > 0) return;
  const auto dropped = std::move(state.given_up);  // which may run code of the user
  state.given_up.clear();
}

// Where the same value lets entry after entry fail (`misses`: the guard that failed, per entry),
// more entries will not help: the next capture depends on it no more, but breaks where its value is
// needed, so that the rest stays captured.
void stop_following(FunctionCache& state, ResumePoint& point, const std::vector<int>& misses) {
  constexpr size_t kSoon = 4;  // of what the code itself changes, where none was of use again
  struct Count {
    size_t all = 0, used_once = 0;
  };
  std::vector<std::pair<uint64_t, Count>> counts;  // in the order of the entries
  auto count_of = [&](uint64_t p) -> Count& {
    auto it = std::find_if(counts.begin(), counts.end(), [&](auto& c) { return c.first == p; });
    return it != counts.end() ? it->second : counts.emplace_back(p, Count{}).second;
  };
  auto follows_own_change = [&](const Entry& e, int src) -> bool {
    std::vector<bool> own(static_cast<size_t>(src) + 1);
    for (size_t s = 0; s < own.size(); ++s) {
      const Source& x = e.sources[s];
      auto from = [&](int a) { return a >= 0 && own[static_cast<size_t>(a)]; };
      own[s] =
          point.own_changes.count(x.path) ||
          ((x.kind == Source::kComputed || x.kind == Source::kPack || x.kind == Source::kLength ||
            x.kind == Source::kHasKey) &&
           (from(x.parent) || from(x.other) || std::any_of(x.args.begin(), x.args.end(), from)));
    }
    return own.back();
  };
  auto path = [&](size_t k) -> std::optional<uint64_t> {
    if (misses[k] < 0) return std::nullopt;
    const Entry& e = *point.entries[k];
    const Guard& g = e.guards[misses[k]];
    const bool value = g.kind == Guard::kEquals || g.kind == Guard::kRelation ||
                       g.kind == Guard::kKeys ||
                       (g.kind == Guard::kLength &&
                        g.obj.is(py::handle(reinterpret_cast<PyObject*>(&PyList_Type))));
    return value ? std::optional(e.sources[g.src].path) : std::nullopt;
  };
  for (size_t k = 0; k < misses.size(); ++k)
    if (auto p = path(k)) {
      Count& c = count_of(*p);
      ++c.all;
      const Entry& e = *point.entries[k];
      c.used_once += e.calls <= 1 && follows_own_change(e, e.guards[misses[k]].src);
    }
  std::optional<uint64_t> worst;
  for (auto& [p, c] : counts) {
    const bool keeps_changing =
        (c.used_once == c.all && c.all >= kSoon) || point.entries.size() >= kMaxEntries;
    if (keeps_changing && !point.unstable.count(p) && (!worst || c.all > count_of(*worst).all))
      worst = p;
  }
  if (!worst) return;
  point.unstable.insert(*worst);
  std::vector<std::unique_ptr<Entry>> kept;
  for (size_t k = 0; k < misses.size(); ++k)
    (path(k) != worst ? kept : state.given_up).push_back(std::move(point.entries[k]));
  point.entries = std::move(kept);
  drop_given_up(state);
}

}  // namespace

bool LoopsAhead::operator()(const CodeInfo& code, int instr) {
  if (from_.empty()) {
    from_.assign(code.instrs.size() + 1, false);
    for (bool changed = true; changed;) {
      changed = false;
      for (int pc = static_cast<int>(code.instrs.size()) - 1; pc >= 0; --pc)
        for (int to : successors(code, pc))
          if (to >= 0 && !from_[pc] && (to <= pc || from_[to])) from_[pc] = changed = true;
    }
  }
  return from_[static_cast<size_t>(instr)];
}

bool may_try(const BudgetMeter& trying) {
  return !config().measure || trying.has_left(std::max<int64_t>(clock_ns() - began, 0));
}

namespace {

// One call of a function: entries, break instructions and what follows them, to its end.
class Execution {
 public:
  Execution(const Target& target, std::span<PyObject* const> slots,
            absl::FunctionRef<py::object()> original)
      : target_(target),
        state_(target.state),
        code_(target.code),
        given_(slots),
        original_(original) {
    if (!target.osr) return;
    instr_ = target.osr->instr;
    stack_ = target.osr->stack;
  }

  // As a frame does that is left: variables go in their order.
  ~Execution() {
    values_.held.clear();
    stack_.clear();
    handled_ = {};
    if (!shown_.empty()) shown_.show(slots_);
    for (size_t k = 0, n = slots_.size(); k < n; ++k)
      slots_[kLastSlotDiesFirst ? n - 1 - k : k] = {};
  }
  Execution(const Execution&) = delete;
  py::object run();

 private:
  struct Found {
    Entry* entry = nullptr;  // null: what follows runs in Python
    std::shared_ptr<const Instance> instance;
  };
  Found lookup(ResumePoint& point);
  Found known(ResumePoint& point);
  bool is_new_size(const Entry& e);
  StartPoint start_point(const ResumePoint& point) const;
  Found capture_here(ResumePoint& point);
  // The result; null: the entry ends in a break, or could not run (`failed_`, `overtaken_`).
  py::object run_entry(const Found& found);
  void note_failure(ResumePoint& point, Entry& e);
  bool is_hopeless(ResumePoint& point);
  bool may_capture_more(const ResumePoint& point) const;
  bool promises() const { return std::any_of(raw_.begin(), raw_.end(), is_promising); }
  int64_t patience() const;
  void leave_stand();
  // Of a function of loops over numbers: runs a region from here on, where there is one, to one of
  // its exits. False: the rest is CPython's.
  bool run_region(ResumePoint& point);
  using Words = absl::InlinedVector<int64_t, 64>;
  Region* region_for(ResumePoint& point, const Region::Frame& frame, Words* words,
                     Region::Views* views);
  bool is_over_numbers() const;
  bool at_handler() const {
    return std::any_of(code_->handlers.begin(), code_->handlers.end(),
                       [&](auto& h) { return h.target == instr_; });
  }
  bool step();  // the break instruction; false: it must run with all that follows
  py::object plain();
  py::object rest_in_python();
  ResumeScope::Begins begins(const py::object& code, py::object* frame);
  // The result, or null, where it is captured again behind a loop.
  py::object end_capture(ResumePoint& point);
  // The innermost loop here, in CPython; false: there is none that can run so. The result: the
  // function has returned.
  bool loop_in_python(py::object* result);

  static inline uint64_t calls = 0;
  const uint64_t number_ = ++calls;
  uint64_t graphs_ = graphs_run;       // when the last of this call had run
  bool won_ = false;                   // one has
  bool over_numbers_ = false;          // loops over numbers are regions
  int steps_ = 0;                      // of CPython since the last one
  ResumePoint* steps_from_ = nullptr;  // where these began
  uint64_t region_runs_ = 0;
  int64_t region_ns_ = 0;
  uint64_t fruitless_ = 0;  // breaks since then, at places that this call had been at
  const Target& target_;
  FunctionCache& state_;
  const Code& code_;
  const std::span<PyObject* const> given_;  // slots before anything has happened
  Slots slots_;                             // from then on: without as_given_
  bool as_given_ = true;
  std::vector<py::object> stack_;
  ShownFrames shown_;
  const absl::FunctionRef<py::object()> original_;
  int instr_ = 0;
  bool untouched_ = true;   // nothing has happened yet
  bool failed_ = false;     // the entry
  bool overtaken_ = false;  // it ran for nothing: other threads changed what it had read
  bool alone_ = false;      // so that they wait when it runs again
  bool by_size_ = false;    // a new size: plainly
  bool plainly_ = false;    // what follows the entry runs in Python
  std::string why_;         // the last graph broke
  absl::InlinedVector<PyObject*, 16>
      raw_;  // the state: slots, stack, the exception that is handled
  py::object handled_;
  Values values_;
  std::vector<int> misses_;        // per entry, the guard that failed
  std::vector<uint64_t> numbers_;  // of the graph, in the state: by their paths
};

py::object Execution::run() {
  over_numbers_ = is_over_numbers();
  const Span call(TraceEvent::kCall, [&] { return call_metadata(&state_, *code_); });
  while (true) {
    ResumePoint& point = state_.points[{instr_, static_cast<int>(stack_.size())}];
    // a tape or a tracer that was started meanwhile must see each op
    if ((point.never && !over_numbers_) ||
        !may_capture(untouched_ ? Asker::kEntry : Asker::kResume))
      return plain();
    // it asks once where a graph was overtaken
    if (!untouched_ && !alone_ && !over_numbers_ && is_hopeless(point)) [[unlikely]] {
      if (const py::object result = end_capture(point)) return result;
      continue;
    }
    if (over_numbers_) {
      if (!run_region(point)) {
        // what calls itself, and has no loop, may have a graph
        if (!untouched_ || !state_.no_regions || state_.loops_ahead(*code_, 0)) return plain();
        over_numbers_ = false;
        continue;
      }
    } else {
      const Found found = lookup(point);
      if (!found.entry) {
        const py::object r = plain();
        state_.left_by_size = by_size_;
        return r;
      }
      // an entry that returns leaves no variables to show; a graph is worth more than that
      if (found.entry->result >= 0 && !found.instance->program && shown_.any_lives())
        return plain();
      const py::object result = run_entry(found);
      if (result) return result;
      if (overtaken_) continue;
      if (failed_) note_failure(point, *found.entry);
      if (target_.osr && !failed_) {
        leave_stand();
        return {};
      }
      if (failed_ || plainly_) return plain();
    }
    const Instr& in = code_->instrs[instr_];
    if (in.op == Op::RETURN_VALUE) return stack_.back();
    const int at = instr_;
    if (!step()) return plain();
    untouched_ = false;
    if (PyErr_CheckSignals() < 0) {
      add_traceback(*code_, in.line);
      BreakStep handler(target_, *code_, &slots_, &stack_, &shown_);
      handler.handle(at);
      instr_ = handler.next;
    }
  }
}

// A loop over what capture can't compute comes back to its breaks: each costs some microseconds,
// and where no graph runs between them the rest of the call is CPython's. So are the next calls
// from here on, but for some.
[[gnu::noinline]] bool Execution::is_hopeless(ResumePoint& point) {
  constexpr uint64_t kAtFirst = 4, kWhereGraphsRan = 32;
  if (!config().measure || target_.osr) return false;
  const bool again = std::exchange(point.visited_by, number_) == number_;
  const bool alone = std::exchange(point.alone, false);  // else graphs ran between its breaks
  if (graphs_ != graphs_run) {
    graphs_ = graphs_run;
    won_ = true;
    fruitless_ = 0;
    point.hopeless &= !again || alone;
  }
  if (point.hopeless) return !point.hope.due();
  if (!again) return false;
  const bool ran = won_ || state_.graph_runs > 0;
  if (++fruitless_ < (ran ? kWhereGraphsRan : kAtFirst) && (ran || may_try(state_.trying)))
    return false;
  point.hopeless = true;
  state_.hopeless = !won_;
  return true;
}

// Where a graph mostly fails, capture breaks before what may raise.
void Execution::note_failure(ResumePoint& point, Entry& e) {
  constexpr uint64_t kSeveral = 4;
  ++e.failures;
  if (e.failures < kSeveral || e.failures * 2 < e.calls || point.expects_raises) return;
  if (e.watches_flags || !e.stored.empty()) {  // NumPy warns at each call, or arrays share memory
    point.never = true;
    if (instr_ == 0 && !target_.osr) state_.tier.found_nothing();
    return;
  }
  point.expects_raises = true;
  std::move(point.entries.begin(), point.entries.end(), std::back_inserter(state_.given_up));
  point.entries.clear();
  drop_given_up(state_);
}

// What follows, in CPython. From the start where nothing has happened.
py::object Execution::plain() {
  if (target_.osr) return {};
  raw_.clear();
  values_.held.clear();
  if (!untouched_) return rest_in_python();
  slots_.clear();  // the function may drop its arguments
  const Span piece(TraceEvent::kPython, [&] { return piece_metadata(*code_, -1, why_); });
  CalleeScope callees(target_, state_.plain_use, PyFunction_GET_CODE(target_.func));
  return original_();
}

[[gnu::noinline]] py::object Execution::end_capture(ResumePoint& point) {
  py::object result;
  if (!loop_in_python(&result)) return plain();
  point.alone = !result;
  return result;
}

bool Execution::loop_in_python(py::object* result) {
  // is there anything for a graph behind it?
  auto promises = [](auto& o) { return is_promising(o.ptr()); };
  if (!won_ && state_.graph_runs == 0 && std::none_of(slots_.begin(), slots_.end(), promises) &&
      std::none_of(stack_.begin(), stack_.end(), promises))
    return false;
  // who looks at its frame must find the same behind the loop
  if (code_->reflective || code_->compares_frames) return false;
  const auto nulls = nulls_in(stack_);
  const auto [place, fresh] = state_.loops.try_emplace({instr_, nulls});
  if (fresh) {
    const auto [begin, end] = loop_around(*code_, instr_);
    if (begin >= 0) {
      place->second = make_loop_code(*code_, instr_, begin, end, nulls);
      if (place->second) never_capture(place->second.ptr());
    }
  }
  if (!place->second) return false;
  const py::object f = function_like(target_.func, place->second, true);
  raw_.clear();
  values_.held.clear();
  slots_.resize(static_cast<size_t>(code_->num_slots - code_->num_free));
  handled_ = {};
  py::object frame;
  {
    const Span piece(TraceEvent::kPython, [&] {
      return piece_metadata(*code_, instr_, "a loop without graphs: " + why_);
    });
    CalleeScope callees(target_, state_.hook_uses[instr_]);
    if (!shown_.empty()) shown_.show(slots_);
    auto started = begins(place->second, &frame);
    ResumeScope scope(
        {std::make_move_iterator(slots_.begin()), std::make_move_iterator(slots_.end())},
        std::move(stack_), std::move(started));
    slots_.clear();
    stack_.clear();
    *result = call_in_frame(f);
  }
  std::optional<LeftLoop> left = take_left_loop();
  if (left) {
    shown_.hide();
    if (left->frame) shown_.add(std::move(left->frame));
  } else {
    if (frame) shown_.end_as(frame);
    if (!*result) throw py::error_already_set();
    return true;
  }
  slots_.assign(std::make_move_iterator(left->slots.begin()),
                std::make_move_iterator(left->slots.end()));
  stack_ = std::move(left->stack);
  instr_ = left->instr;
  numbers_.clear();
  if (!*result) {  // a signal's handler raised on the way out
    BreakStep handler(target_, *code_, &slots_, &stack_, &shown_);
    handler.handle(instr_);
    instr_ = handler.next;
  }
  *result = {};
  return true;
}

// Where frames of this call are kept, they show what the next one holds, which goes on: at the end,
// and the exception that is handled at once.
ResumeScope::Begins Execution::begins(const py::object& code, py::object* frame) {
  if (shown_.empty()) return {};
  std::vector<py::object> exceptions;
  for (auto& o : stack_)
    if (o && PyExceptionInstance_Check(o.ptr())) exceptions.push_back(o);
  if (const py::object now = handled_exception(); now && PyExceptionInstance_Check(now.ptr()))
    exceptions.push_back(now);
  const int shift = units_before(code, *code_);
  return [this, frame, shift, exceptions](const py::object& object) {
    *frame = object;
    for (auto& e : exceptions) shown_.move(e, object.ptr(), shift);
  };
}

py::object Execution::rest_in_python() {
  const auto nulls = nulls_in(stack_);
  py::object& made = state_.resumes[{instr_, nulls}];
  if (!made) {
    made = make_resume_code(*code_, instr_, nulls);
    never_capture(made.ptr());
  }
  // functions that share their code differ in closure
  const py::object f = function_like(target_.func, made, true);
  slots_.resize(static_cast<size_t>(code_->num_slots - code_->num_free));  // these it has
  const Span piece(TraceEvent::kPython, [&] {
    return piece_metadata(*code_, instr_, "the rest of the function: " + why_);
  });
  CalleeScope callees(target_, state_.hook_uses[instr_]);
  handled_ = {};
  std::vector<py::object> slots(std::make_move_iterator(slots_.begin()),
                                std::make_move_iterator(slots_.end()));
  slots_.clear();
  if (!shown_.empty()) shown_.show(slots);
  py::object frame;
  // what the rest drops dies there
  auto started = begins(made, &frame);
  ResumeScope scope(std::move(slots), std::move(stack_), std::move(started));
  py::object r = call_in_frame(f);
  if (frame) shown_.end_as(frame);
  if (!r) throw py::error_already_set();
  return r;
}

Execution::Found Execution::known(ResumePoint& point) {
  const Span guards(TraceEvent::kGuards);
  misses_.clear();
  for (size_t k = 0; k < point.entries.size(); ++k) {
    Entry& e = *point.entries[k];
    int failed = -1;
    if (recheck_guards(e, target_.func, raw_.data(), &values_, &failed)) {
      if (state_.sizes.waiting() && untouched_ && !target_.osr && is_new_size(e)) {
        by_size_ = true;
        return {};
      }
      auto instance = instance_for(e, values_);
      note_sizes(&state_);
      if (instance) return {&e, std::move(instance)};
    }
    misses_.push_back(failed);
    if (failed >= 0 && log_enabled("recompiles"))
      PIJIT_LOG("recompiles", code_->name, ": guard failed: ",
                describe_guard(e, e.guards[static_cast<size_t>(failed)], *code_));
  }
  return {};
}

// One that has no program, and gets none as long as it does not come back.
[[gnu::noinline]] bool Execution::is_new_size(const Entry& e) {
  if (e.dynamic.empty()) return false;
  const std::vector<int64_t> sizes = sizes_of(e, values_);
  if (has_instance(e, sizes)) {
    state_.sizes.known();
    return false;
  }
  return !state_.sizes.comes_back(absl::HashOf(sizes) | 1);
}

Execution::Found Execution::lookup(ResumePoint& point) {
  raw_.clear();
  if (as_given_)
    for (PyObject* s : given_) raw_.push_back(s);
  for (auto& s : slots_) raw_.push_back(s.ptr());
  for (auto& s : stack_) raw_.push_back(s.ptr());
  if (!code_->handlers.empty()) handled_ = handled_exception();
  raw_.push_back(handled_ ? handled_.ptr() : Py_None);
  if (Found f = known(point); f.entry || by_size_) return f;
  if (instr_ == 0)
    for (size_t k = 0; k < state_.signature.size(); ++k)
      for (int d = 0; state_.signature[k].shape && d < state_.signature[k].shape->rank(); ++d)
        if ((*state_.signature[k].shape)[d] < 0)
          point.dynamic[path_of({Source::kState, -1, static_cast<int>(k), {}}, 0)] |= uint64_t{1}
                                                                                      << d;
  if (state_.busy || !may_capture(Asker::kCapture) || !may_capture_more(point)) return {};
  stop_following(state_, point, misses_);
  if (point.entries.size() >= kMaxEntries) {
    // nothing that could be left alone: tried again ever more rarely
    if (!point.refused.due()) return {};
    const auto least = std::min_element(point.entries.begin(), point.entries.end(),
                                        [](auto& a, auto& b) { return a->calls < b->calls; });
    state_.given_up.push_back(std::move(*least));
    point.entries.erase(least);
    drop_given_up(state_);
  }
  return capture_here(point);
}

// Does what capture may cost allow one more? Never is a function's first in question, nor one where
// there is something for a graph, as long as it is not captured again and again.
bool Execution::may_capture_more(const ResumePoint& point) const {
  if (state_.compile_count == 0 || may_try(state_.trying)) return true;
  return point.captures < kFreeCaptures && (state_.graph_runs > 0 || promises());
}

// For how long a capture looks for something to compute: a loop over numbers and texts would be
// gone through to its end for nothing.
int64_t Execution::patience() const {
  if (!config().measure || target_.whole || runs_as_graph()) return INT64_MAX;
  if (state_.graph_runs > 0 || promises()) return kPromising;
  return may_try(state_.trying) ? kUnlikely : kSpent;
}

namespace {
// Where there is no program, the plain run says whether the code is at fault.
std::unique_ptr<Entry> compiled_entry(StartPoint& at, const std::vector<PyObject*>& state) {
  auto entry = capture(at, state);
  if (config().measure && !at.whole && is_of_single_numbers(entry->guards, *entry->graph))
    return plain_entry(at, state, {Reason::kBudget, "", ""});
  GraphBreak because{Reason::kRaises, "the graph cannot be compiled for these sizes", ""};
  try {
    if (compile_entry(*entry)) return entry;
  } catch (const OpError& e) {
    PIJIT_LOG("capture", at.code->name, ": ", e.what());
    // A type or an index that no kernel takes is the code's; all else is the compiler's.
    because = {e.kind == OpError::kRuntime ? Reason::kInternal : Reason::kRaises, e.what(), ""};
  } catch (const std::bad_alloc&) {
    because = {Reason::kRaises, "MemoryError", ""};
  }
  return plain_entry(at, state, because);
}
}  // namespace

StartPoint Execution::start_point(const ResumePoint& point) const {
  StartPoint at{target_.func, code_, instr_, static_cast<int>(stack_.size())};
  at.before_ops = patience();
  at.fast = state_.fast;
  at.automatic = state_.automatic;
  at.dynamic = point.dynamic;
  at.unstable = point.unstable;
  at.own_changes = point.own_changes;
  at.expects_raises = point.expects_raises;
  at.whole = target_.whole;
  for (uint64_t path : numbers_) at.dynamic[path] = ~uint64_t{0};
  return at;
}

Execution::Found Execution::capture_here(ResumePoint& point) {
  note_misses(&state_, point, target_.func, raw_.data(), *code_);
  for (auto& e : point.entries) find_dynamic(*e, target_.func, raw_.data(), *code_, &point.dynamic);
  StartPoint at = start_point(point);
  struct Busy {
    bool& on;
    explicit Busy(bool& on) : on(on) { on = true; }
    ~Busy() { on = false; }
  };
  const int64_t begin = clock_ns();
  values_.held.clear();  // who holds an object counts
  std::unique_ptr<Entry> fresh;
  DictsForNow dicts;
  struct Paid {  // also where it comes to nothing
    BudgetMeter& by;
    const std::unique_ptr<Entry>& fresh;
    const bool again;
    const int64_t begin;
    ~Paid() {
      if (again || !fresh || fresh->ops.empty()) by.spend(clock_ns() - begin);
    }
  };
  try {
    const NoCollection
        quiet;  // capture runs no code of the user's, nor do the finalizers of garbage
    Busy busy(state_.busy);
    const Paid paid{state_.trying, fresh, ++point.captures > kFreeCaptures, begin};
    const LongWork work("capturing", code_->name);
    const Span capturing(TraceEvent::kCapture, [&] { return call_metadata(&state_, *code_); });
    fresh = compiled_entry(at, {raw_.begin(), raw_.end()});
    point.dynamic = at.dynamic;
    point.own_changes = at.own_changes;
  } catch (const InternalError& e) {
    if (config().strict) throw;
    PIJIT_LOG("capture", code_->name, ": ", e.what());
    point.never = true;
    return {};
  } catch (const std::bad_alloc&) {  // the plain run says where, or gets by with less
    return {};
  } catch (const Interrupted& e) {
    if (PyErr_CheckSignals() < 0) {
      for (auto& [c, line] : e.frames) add_traceback(*c, line);
      throw py::error_already_set();
    }
    return {};
  }
  const int64_t took = clock_ns() - begin;
  state_.compile_ms += static_cast<double>(took) / 1e6;
  compiled_ns += took;
  ++state_.compile_count;
  ++disturbances;
  write_replay(*fresh, *code_, instr_);
  // A loop that was taken over ends an iteration where CPython takes the next item.
  if (target_.osr && fresh->instr >= 0 && code_->instrs[fresh->instr].op == Op::FOR_ITER &&
      fresh->break_record && fresh->break_record->reason == Reason::kUnsupportedIterable)
    fresh->break_record.reset();
  if (fresh->break_record) {
    state_.breaks.push_back(*fresh->break_record);
    if (target_.whole) {
      const BreakRecord& b = *fresh->break_record;
      // the plain run raises the user's own error
      if (b.reason == Reason::kRaises || b.reason == Reason::kUnboundName ||
          (b.reason == Reason::kInternal && fresh->rest_in_python))
        return {};
      throw OpError(OpError::kRuntime,
                    str_cat(b.location, ": cannot be compiled as one graph: ",
                            reason_text(b.reason), b.detail.empty() ? "" : " (" + b.detail + ")"));
    }
  }
  bool tensors = false;
  for (auto& g : fresh->guards) {
    tensors |= g.kind == Guard::kTensor || g.kind == Guard::kNdarray;
    state_.of_arrays |= g.kind == Guard::kNdarray;
  }
  // what is too long and has no op yet is a program of numbers
  const bool too_long =
      config().measure && fresh->break_record && fresh->break_record->reason == Reason::kBudget;
  if (untouched_ && (fresh->result >= 0 || too_long) && fresh->ops.empty() && !tensors) {
    point.never = true;  // nothing for a graph in it
    if (instr_ == 0 && !target_.osr) state_.tier.found_nothing();
    return {};
  }
  dicts.keep();  // guards look at them
  point.entries.insert(point.entries.begin(), std::move(fresh));
  Entry& entry = *point.entries.front();
  int failed = -1;
  if (check_guards(entry, target_.func, raw_.data(), &values_, &failed)) {
    auto instance = instance_for(entry, values_);
    note_sizes(&state_);
    if (instance) return {&entry, std::move(instance)};
  }
  // a guard that does not even hold at capture: never reuse, and say so
  PIJIT_CHECK(!config().strict, "a fresh entry of ", code_->name, " refuses its own state: ",
              failed < 0 ? "its sizes" : describe_guard(entry, entry.guards[failed], *code_));
  point.entries.erase(point.entries.begin());
  point.never = true;
  return {};
}

py::object Execution::run_entry(const Found& found) {
  Entry& e = *found.entry;
  ++e.calls;
  struct Running {
    FunctionCache& state;
    explicit Running(FunctionCache& s) : state(s) { ++state.running; }
    ~Running() {
      --state.running;
      if (!state.given_up.empty()) drop_given_up(state);
    }
  } running{state_};
  Runner r(e, *found.instance, values_);
  failed_ = false;
  overtaken_ = false;
  try {
    const Span graph(TraceEvent::kGraph);
    auto recheck = [&](Values* now) {
      int failed;
      return recheck_guards(e, target_.func, raw_.data(), now, &failed);
    };
    const Runner::Recheck ask = recheck;
    if (!r.compute(alone_ ? nullptr : &ask)) {
      --e.calls;
      overtaken_ = alone_ = true;
      return {};
    }
    alone_ = false;
  } catch (const OpError&) {
    failed_ = true;  // nothing has happened yet: the plain run raises the error at its line
    return {};
  } catch (const std::bad_alloc&) {
    failed_ = true;
    return {};
  }
  if (found.instance->program) ++state_.graph_runs, ++graphs_run;
  const Span outcome(TraceEvent::kOutcome);
  r.apply_effects();
  if (e.handled >= 0) set_handled_exception(r.make(e.handled));
  if (OsrFrame* osr = target_.osr)
    osr->moved = true, osr->graph = found.instance->program != nullptr;
  if (e.result >= 0) {
    if (target_.osr) target_.osr->returned = true;
    return r.make(e.result);
  }
  as_given_ = false;
  slots_.resize(given_.size());
  for (size_t s = 0; s < slots_.size(); ++s) slots_[s] = r.make(e.slot_recipes[s]);
  stack_.clear();
  for (int id : e.stack_recipes) stack_.push_back(r.make(id));
  untouched_ = untouched_ && e.effects.empty() && !found.instance->program && e.instr == instr_;
  instr_ = e.instr;
  plainly_ = e.rest_in_python;
  numbers_ = e.numbers;
  if (recording()) why_ = why_broken(e);
  r.clear();
  raw_.clear();
  values_.held.clear();
  return {};
}

void Execution::leave_stand() {
  OsrFrame& osr = *target_.osr;
  osr.moved = !untouched_;
  osr.instr = instr_;
  osr.slots.assign(std::make_move_iterator(slots_.begin()), std::make_move_iterator(slots_.end()));
  osr.stack = std::move(stack_);
}

namespace {
// Why a function works on other things than numbers, or on what a graph may hold; nothing: it may
// well work on numbers. Also of the functions that it uses.
class OverNumbers {
 public:
  NoRegion because;
  bool calls_itself = false;

  void look(PyObject* func, const CodeInfo& code, int deep = 0) {
    constexpr size_t kMostCode = 600;  // instructions: longer code takes longer than it gains
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
}  // namespace

namespace {
// Of the outermost loop around a line, or else the first.
void loop_lines(const CodeInfo& code, NoRegion* n) {
  for (size_t pc = 0; pc < code.instrs.size(); ++pc)
    for (int to : successors(code, static_cast<int>(pc))) {
      if (to < 0 || to > static_cast<int>(pc)) continue;
      const int first = code.instrs[to].line, last = code.instrs[pc].line;
      const bool around = first <= n->line && n->line <= last;
      const bool had = n->first_line <= n->line && n->line <= n->last_line && n->first_line > 0;
      if (n->first_line > 0 && (had || !around) && !(around && first < n->first_line)) continue;
      n->first_line = first;
      n->last_line = std::max(first, last);
    }
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
  if (point.no_region) return nullptr;
  for (auto& r : point.regions)
    if (!r->has_room()) return nullptr;  // CPython raises, or so would another one
  if (point.regions.size() >= kMostRegions || state_.region_count >= kMostOfFunction ||
      !may_capture(Asker::kCapture)) {
    point.no_region = true;
    return nullptr;
  }
  const int64_t begin = clock_ns();
  std::unique_ptr<Region> made;
  NoRegion because;
  try {
    const NoCollection quiet;
    const Span capturing(TraceEvent::kCapture, [&] { return call_metadata(&state_, *code_); });
    made = make_region(code_, instr_, frame, &because);
  } catch (const InternalError& e) {
    if (config().strict) throw;
    PIJIT_LOG("capture", code_->name, ": ", e.what());
  } catch (const std::bad_alloc&) {
  }
  const int64_t took = clock_ns() - begin;
  state_.compile_ms += static_cast<double>(took) / 1e6;
  compiled_ns += took;
  if (!made) {
    constexpr int64_t kMostWasted = 3'000'000;
    point.no_region = true;
    if (!because.why.empty()) state_.left_loops.push_back(std::move(because));
    if ((state_.wasted_ns += took) > kMostWasted && state_.region_count == 0)
      state_.no_regions = true;
    return nullptr;
  }
  ++state_.compile_count;
  ++state_.region_count;
  ++disturbances;
  PIJIT_LOG("capture", code_->name, ": a region from line ", code_->instrs[instr_].line,
            " on, made in ", took / 1000, " us, ", made->code->bytes(), " bytes\n", made->text);
  Region* r = point.regions.emplace_back(std::move(made)).get();
  if (enters(*r)) return r;
  PIJIT_CHECK(!config().strict || !r->has_room(), "a fresh region of ", code_->name,
              " refuses its own state");
  point.no_region = true;
  return nullptr;
}

bool Execution::run_region(ResumePoint& point) {
  constexpr int kMostSteps = 24;
  constexpr uint64_t kAtFirst = 8, kMostLosses = 3;
  constexpr int64_t kStepCost = 4'000;  // ns, of an exit and the instruction there
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
  if (!r) {
    if (!loops && point.no_region && point.regions.empty()) state_.no_regions = true;
    if (!loops || state_.no_regions) return false;
    // CPython's instructions, one by one, lead to where one begins, if they did so before
    if (steps_ == 0) {
      steps_from_ = &point;
      if (!point.steps.due()) return false;
    }
    if (++steps_ > kMostSteps) {
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
  if (steps_ > 0) steps_from_->steps.worked();
  steps_ = 0;
  const int64_t begin = region_runs_ ? clock_ns() : 0;
  std::vector<py::object> now_slots, now_stack;
  const RegionExit* left;
  {
    const Span graph(TraceEvent::kGraph);
    left = &r->run(frame, words.data(), &now_slots, &now_stack);
  }
  views.clear();
  if (r->recursive && !left->returns) {  // CPython does all of it
    state_.recursion.failed();
    return false;
  }
  if (r->recursive) state_.recursion.worked();
  if (region_runs_++) region_ns_ += clock_ns() - begin;
  ++graphs_run;
  instr_ = left->instr;
  stack_ = std::move(now_stack);
  if (left->returns) return true;
  as_given_ = untouched_ = false;
  slots_.assign(std::make_move_iterator(now_slots.begin()),
                std::make_move_iterator(now_slots.end()));
  // what runs for longer than its exits cost is worth them
  if (region_runs_ > kAtFirst && region_ns_ < static_cast<int64_t>(region_runs_) * kStepCost &&
      config().measure) {
    if (++state_.region_losses >= kMostLosses && !state_.no_regions) {
      state_.no_regions = true;
      NoRegion because{code_->instrs[instr_].line};
      because.why =
          str_cat("its machine code was left too often", left->why.empty() ? "" : ": " + left->why);
      because.first_line = r->first_line;
      because.last_line = r->last_line;
      because.given_up = true;
      state_.left_loops.push_back(std::move(because));
    }
    return false;
  }
  return true;
}

bool Execution::step() {
  BreakStep step(target_, *code_, &slots_, &stack_, &shown_);
  const Span piece(TraceEvent::kPython, [&] { return piece_metadata(*code_, instr_, why_); });
  CalleeScope callees(target_, state_.hook_uses[instr_]);
  if (step.run(instr_) == BreakStep::kNotAlone) return false;
  instr_ = step.next;
  return true;
}

}  // namespace

py::object run(const Target& target, std::span<PyObject* const> slots,
               absl::FunctionRef<py::object()> original) {
  ++target.state.calls;
  return Execution(target, slots, original).run();
}

}  // namespace pijit
