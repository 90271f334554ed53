// Entries of a function: the one that fits a state, how many there may be, and their capture.
#include "absl/cleanup/cleanup.h"
#include "absl/hash/hash.h"
#include "base/config.h"
#include "base/log.h"
#include "base/progress.h"
#include "dispatch/execution.h"
#include "dispatch/permission.h"
#include "dispatch/report.h"
#include "entry/guard.h"
#include "entry/instance.h"

namespace pijit {
namespace {

constexpr size_t kMaxEntries = 16;
constexpr uint64_t kFreeCaptures = 8;  // from one point on, before they are taken for trying
// Instructions of loops and recursion that a capture looks at before its first op: where there is
// something for a graph, else, and where trying has cost what it may.
constexpr int64_t kPromising = 32768, kUnlikely = 4096, kSpent = 512;

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

// Sizes that the signature leaves open.
void Execution::note_declared(ResumePoint& point) const {
  for (size_t k = 0; k < state_.signature.size(); ++k)
    for (int d = 0; state_.signature[k].shape && d < state_.signature[k].shape->rank(); ++d)
      if ((*state_.signature[k].shape)[d] < 0)
        point.dynamic[path_of({Source::kState, -1, static_cast<int>(k), {}}, 0)] |= uint64_t{1}
                                                                                    << d;
}

// Room for one more entry. Where there are too many, nothing could be left alone: another is tried
// ever more rarely, in the place of the one that is used least.
bool Execution::make_room(ResumePoint& point) {
  if (point.entries.size() < kMaxEntries) return true;
  if (!point.refused.due()) return false;
  const auto least = std::min_element(point.entries.begin(), point.entries.end(),
                                      [](auto& a, auto& b) { return a->calls < b->calls; });
  state_.given_up.push_back(std::move(*least));
  point.entries.erase(least);
  drop_given_up(state_);
  return true;
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
  if (instr_ == 0) note_declared(point);
  if (state_.busy || !may_capture(Asker::kCapture) || !may_capture_more(point)) return {};
  stop_following(state_, point, misses_);
  return make_room(point) ? capture_here(point) : Found{};
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

struct Busy {
  bool& on;
  explicit Busy(bool& on) : on(on) { on = true; }
  ~Busy() { on = false; }
};

// What an attempt took is paid, also where it comes to nothing.
struct Paid {
  BudgetMeter& by;
  const std::unique_ptr<Entry>& fresh;
  const bool again;
  const int64_t begin;
  ~Paid() {
    if (again || !fresh || fresh->ops.empty()) by.spend(clock_ns() - begin);
  }
};
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

// The entry from here on; null where nothing came of it.
std::unique_ptr<Entry> Execution::captured(ResumePoint& point) {
  StartPoint at = start_point(point);
  const int64_t begin = clock_ns();
  std::unique_ptr<Entry> fresh;
  const auto signals = absl::MakeCleanup([&] {
    if (!target_.osr) signals_.begin(clock_ns() - begin);
  });
  try {
    // capture runs no code of the user's, nor do the finalizers of garbage and signals' handlers
    const NoCollection no_garbage;
    const NoSignals no_signals;
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
    return nullptr;
  } catch (const std::bad_alloc&) {  // the plain run says where, or gets by with less
    return nullptr;
  } catch (const Interrupted&) {
    return nullptr;
  }
  const int64_t took = clock_ns() - begin;
  state_.compile_ms += static_cast<double>(took) / 1e6;
  compiled_ns += took;
  ++state_.compile_count;
  ++disturbances;
  return fresh;
}

// Takes down the break of a new entry. False: the function is to be one graph, and the plain run
// raises the user's own error; all else is one.
bool Execution::note_break(Entry& fresh) {
  // A loop that was taken over ends an iteration where CPython takes the next item.
  if (target_.osr && fresh.instr >= 0 && code_->instrs[fresh.instr].op == Op::FOR_ITER &&
      fresh.break_record && fresh.break_record->reason == Reason::kUnsupportedIterable)
    fresh.break_record.reset();
  if (!fresh.break_record) return true;
  const BreakRecord& b = *fresh.break_record;
  state_.breaks.push_back(b);
  if (!target_.whole) return true;
  if (b.reason == Reason::kRaises || b.reason == Reason::kUnboundName ||
      (b.reason == Reason::kInternal && fresh.rest_in_python))
    return false;
  throw OpError(OpError::kRuntime,
                str_cat(b.location, ": cannot be compiled as one graph: ", reason_text(b.reason),
                        b.detail.empty() ? "" : " (" + b.detail + ")"));
}

// Is there nothing for a graph in the function?
bool Execution::has_nothing(const Entry& fresh) const {
  // what is too long and has no op yet is a program of numbers
  const bool too_long =
      config().measure && fresh.break_record && fresh.break_record->reason == Reason::kBudget;
  return untouched_ && (fresh.result >= 0 || too_long) && fresh.ops.empty() &&
         std::none_of(fresh.guards.begin(), fresh.guards.end(), [](const Guard& g) {
           return g.kind == Guard::kTensor || g.kind == Guard::kNdarray;
         });
}

Execution::Found Execution::capture_here(ResumePoint& point) {
  note_misses(&state_, point, target_.func, raw_.data(), *code_);
  for (auto& e : point.entries) find_dynamic(*e, target_.func, raw_.data(), *code_, &point.dynamic);
  values_.held.clear();  // who holds an object counts
  std::unique_ptr<Entry> fresh;
  DictsForNow dicts;
  fresh = captured(point);
  if (!fresh) return {};
  write_replay(*fresh, *code_, instr_);
  if (!note_break(*fresh)) return {};
  state_.of_arrays |= std::any_of(fresh->guards.begin(), fresh->guards.end(),
                                  [](const Guard& g) { return g.kind == Guard::kNdarray; });
  if (has_nothing(*fresh)) {
    point.never = true;
    // what is too long is so with Tensors, too
    if (instr_ == 0 && !target_.osr) state_.tier.found_nothing(fresh->result < 0);
    return {};
  }
  return keep(point, std::move(fresh));
}

// A new entry and its program for this state.
Execution::Found Execution::keep(ResumePoint& point, std::unique_ptr<Entry> fresh) {
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

}  // namespace pijit
