#include "dispatch/execution.h"

#include "base/config.h"
#include "dispatch/permission.h"
#include "dispatch/report.h"
#include "entry/guard.h"
#include "entry/instance.h"
#include "python/gil.h"
#include "runtime/collective.h"

namespace pijit {

uint64_t graphs_run = 0, graph_ops_run = 0;
uint64_t disturbances = 0;
thread_local int64_t compiled_ns = 0;
BudgetMeter trying_of_all{Budget::of_process};

namespace {
const int64_t began = clock_ns();  // the program, as far as we know
}  // namespace

bool may_try(const BudgetMeter& trying) {
  return !config().measure || trying.has_left(std::max<int64_t>(clock_ns() - began, 0));
}

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

// Up to CPython 3.11 a comprehension is a function, which has the loop.
static bool is_comprehension(const Instr& in) {
  return in.op == Op::LOAD_CONST && PyCode_Check(in.obj) &&
         text_of(reinterpret_cast<PyCodeObject*>(in.obj)->co_name) == "<listcomp>";
}

bool LoopsAhead::operator()(const CodeInfo& code, int instr) {
  if (from_.empty()) {
    from_.assign(code.instrs.size() + 1, false);
    for (bool changed = true; changed;) {
      changed = false;
      for (int pc = static_cast<int>(code.instrs.size()) - 1; pc >= 0; --pc)
        for (int to : successors(code, pc))
          if (to >= 0 && !from_[pc] && (to <= pc || from_[to] || is_comprehension(code.instrs[pc])))
            from_[pc] = changed = true;
    }
  }
  return from_[static_cast<size_t>(instr)];
}

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
      if (failed_ && !signalled_) note_failure(point, *found.entry);
      if (target_.osr && !failed_) {
        leave_stand();
        return {};
      }
      if (failed_ || plainly_) {
        const py::object r = plain();
        state_.signals_raise_nothing |= signalled_ && !target_.osr;  // there it goes on elsewhere
        return r;
      }
    }
    if (code_->instrs[instr_].op == Op::RETURN_VALUE) return stack_.back();
    const int at = instr_;
    if (!step()) return plain();
    untouched_ = false;
    if (signal_raises()) handle_raised(at);
  }
}

// Threads that wait for the interpreter have it before: a signal that one of them sends comes up
// here, where its `try` is known, and not at the start of a frame, outside all of them.
bool Execution::signal_raises() {
  let_others_run();
  return signals_.raises();
}

// Goes on where the function handles the current exception, or throws it.
void Execution::handle_raised(int at) {
  add_traceback(*code_, code_->instrs[at].line);
  BreakStep handler(target_, *code_, &slots_, &stack_, &shown_);
  handler.handle(at);
  instr_ = handler.next;
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
  if (point.hopeless) return point.lost_in == number_ || !point.hope.due();
  if (!again) return false;
  if (state_.of_arrays && turns_.loses_at(&point, state_.compile_count + disturbances)) {
    point.lost_in = number_;
    return point.hopeless = true;
  }
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
  const int64_t began = turns_.measures() ? clock_ns() : 0;
  if (!loop_in_python(&result)) return plain();
  if (turns_.measures()) turns_.ran_step(clock_ns() - began);  // a loop within the loop
  point.alone = !result;
  return result;
}

// Code that runs the innermost loop here; null: there is none that can run so.
py::object Execution::loop_code(const std::vector<bool>& nulls) {
  const auto [place, fresh] = state_.loops.try_emplace({instr_, nulls});
  if (fresh) {
    const auto [begin, end] = loop_around(*code_, instr_);
    if (begin >= 0) {
      place->second = make_loop_code(*code_, instr_, begin, end, nulls);
      if (place->second) never_capture(place->second.ptr());
    }
  }
  return place->second;
}

bool Execution::loop_in_python(py::object* result) {
  // is there anything for a graph behind it?
  auto promises = [](auto& o) { return is_promising(o.ptr()); };
  if (!won_ && state_.graph_runs == 0 && std::none_of(slots_.begin(), slots_.end(), promises) &&
      std::none_of(stack_.begin(), stack_.end(), promises))
    return false;
  // who looks at its frame must find the same behind the loop
  if (code_->reflective || code_->compares_frames) return false;
  const py::object code = loop_code(nulls_in(stack_));
  if (!code) return false;
  const py::object f = function_like(target_.func, code, true);
  if (signal_raises()) {
    handle_raised(instr_);
    return true;
  }
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
    auto started = begins(code, &frame);
    ResumeScope scope(
        {std::make_move_iterator(slots_.begin()), std::make_move_iterator(slots_.end())},
        std::move(stack_), std::move(started));
    slots_.clear();
    stack_.clear();
    *result = call_in_frame(f);
  }
  return go_on_in_loop(take_left_loop(), &frame, result);
}

// Behind the loop, or with what the function has returned in it.
bool Execution::go_on_in_loop(std::optional<LeftLoop> left, py::object* frame, py::object* result) {
  if (!left) {
    if (*frame) shown_.end_as(*frame);
    if (!*result) throw py::error_already_set();
    return true;
  }
  shown_.hide();
  if (left->frame) shown_.add(std::move(left->frame));
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
  py::object& known = state_.resumes[{instr_, nulls}];
  if (!known) {
    known = make_resume_code(*code_, instr_, nulls);
    never_capture(known.ptr());
  }
  const py::object made = known;  // handlers of signals may call the function
  // functions that share their code differ in closure
  const py::object f = function_like(target_.func, made, true);
  // its frame would raise it before it is in the `try` that instr_ lies in
  if (signal_raises()) {
    handle_raised(instr_);
    return rest_in_python();
  }
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

// Runs the graph; false: it could not run (`failed_`, `overtaken_`), and nothing has happened.
bool Execution::compute(const Found& found, Runner* r) {
  Entry& e = *found.entry;
  failed_ = false;
  overtaken_ = false;
  const uint64_t begun = processes::begun();
  const Program* const program = found.instance->program.get();
  const SignalsEnd ends(program && !program->collects && !state_.signals_raise_nothing);
  try {
    const Span graph(TraceEvent::kGraph);
    auto recheck = [&](Values* now) {
      int failed;
      return recheck_guards(e, target_.func, raw_.data(), now, &failed);
    };
    const Runner::Recheck ask = recheck;
    if (!r->compute(alone_ ? nullptr : &ask)) {
      --e.calls;
      overtaken_ = alone_ = true;
      return false;
    }
    alone_ = false;
  } catch (const SignalWaits&) {
    if (!target_.osr) signals_.begin(INT64_MAX);
    failed_ = signalled_ = true;
  } catch (const OpError&) {
    if (processes::begun() != begun) throw;  // other processes do not run it again
    failed_ = true;                          // the plain run raises the error at its line
  } catch (const std::bad_alloc&) {
    if (processes::begun() != begun) throw;
    failed_ = true;
  }
  return !failed_;
}

// The state behind an entry that ends in a break.
void Execution::go_on_behind(const Found& found, Runner* r) {
  Entry& e = *found.entry;
  as_given_ = false;
  slots_.resize(given_.size());
  for (size_t s = 0; s < slots_.size(); ++s) slots_[s] = r->make(e.slot_recipes[s]);
  stack_.clear();
  for (int id : e.stack_recipes) stack_.push_back(r->make(id));
  untouched_ = untouched_ && e.effects.empty() && !found.instance->program && e.instr == instr_;
  instr_ = e.instr;
  plainly_ = e.rest_in_python;
  numbers_ = e.numbers;
  if (recording()) why_ = why_broken(e);
  r->clear();
  raw_.clear();
  values_.held.clear();
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
  const int64_t began = turns_.measures() ? clock_ns() : 0;
  if (!compute(found, &r)) return {};
  if (turns_.measures() && found.instance->program) turns_.ran_graph(e, clock_ns() - began);
  if (found.instance->program) ++state_.graph_runs, ++graphs_run, graph_ops_run += e.num_ops;
  const Span outcome(TraceEvent::kOutcome);
  r.apply_effects();
  if (e.handled >= 0) set_handled_exception(r.make(e.handled));
  if (OsrFrame* osr = target_.osr)
    osr->moved = true, osr->graph = found.instance->program != nullptr;
  if (e.result < 0) {
    go_on_behind(found, &r);
    return {};
  }
  if (target_.osr) target_.osr->returned = true;
  return r.make(e.result);
}

void Execution::leave_stand() {
  OsrFrame& osr = *target_.osr;
  osr.moved = !untouched_;
  osr.instr = instr_;
  osr.slots.assign(std::make_move_iterator(slots_.begin()), std::make_move_iterator(slots_.end()));
  osr.stack = std::move(stack_);
}

bool Execution::step() {
  BreakStep step(target_, *code_, &slots_, &stack_, &shown_);
  const Span piece(TraceEvent::kPython, [&] { return piece_metadata(*code_, instr_, why_); });
  CalleeScope callees(target_, state_.hook_uses[instr_]);
  const int64_t began = turns_.measures() ? clock_ns() : 0;
  if (step.run(instr_) == BreakStep::kNotAlone) return false;
  if (turns_.measures()) turns_.ran_step(clock_ns() - began);
  instr_ = step.next;
  return true;
}

py::object run(const Target& target, std::span<PyObject* const> slots,
               absl::FunctionRef<py::object()> original) {
  ++target.state.calls;
  return Execution(target, slots, original).run();
}

}  // namespace pijit
