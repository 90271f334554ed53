#include "capture/run.h"

#include <algorithm>

#include "base/config.h"
#include "base/log.h"
#include "base/progress.h"
#include "capture/report.h"
#include "capture/runner.h"

namespace pijit {

namespace {

constexpr size_t kMaxEntries = 16;

// Takes the state: what the rest drops is to die there.
py::object rest_in_python(const Front& front, const CodeInfo& code, int instr,
                          std::vector<py::object>&& slots, std::vector<py::object>&& stack,
                          const std::string& why) {
  // free variables come with the closure
  const auto own = static_cast<size_t>(code.num_slots - code.num_free);
  std::vector<int> bound;
  std::vector<bool> nulls;
  std::string shape;
  for (size_t s = 0; s < own; ++s) {
    shape.push_back(slots[s] ? '1' : '0');
    if (slots[s]) bound.push_back(static_cast<int>(s));
  }
  for (auto& v : stack) {
    shape.push_back(v ? 'v' : 'n');
    nulls.push_back(!v);
  }
  py::object& made = front.state.resumes[{instr, shape}];
  if (!made) {
    made = make_resume_code(code, instr, bound, nulls);
    never_capture(made.ptr());
  }
  // functions that share their code differ in closure
  const py::object f = function_like(front.func, made, true);
  const bool takes_first = reinterpret_cast<PyCodeObject*>(made.ptr())->co_argcount > 0;
  const py::object first = takes_first && slots[0] ? slots[0] : py::none();
  std::vector<py::object> values;
  for (int s : bound) values.push_back(std::move(slots[s]));
  for (auto& v : stack)
    if (v) values.push_back(std::move(v));
  slots.clear();
  stack.clear();
  const Span piece(TraceEvent::kPython,
                   [&] { return piece_subject(code, instr, "the rest of the function: " + why); });
  CalleeScope callees(front, front.state.hook_uses[instr]);
  ResumeScope scope(std::move(values));
  PyObject* args[] = {first.ptr()};
  PyObject* r = PyObject_Vectorcall(f.ptr(), args, takes_first ? 1 : 0, nullptr);
  if (!r) throw py::error_already_set();
  return py::reinterpret_steal<py::object>(r);
}

// Where the same value lets entry after entry fail (`misses`: the guard that failed, per entry),
// more entries will not help: the next capture depends on it no more, but breaks where its value is
// needed, so that the rest stays captured.
void stop_following(Point& point, const std::vector<int>& misses) {
  constexpr size_t kSoon = 4;  // of what the code itself changes, where none was of use again
  struct Count {
    size_t all = 0, used_once = 0;
  };
  std::vector<std::pair<uint64_t, Count>> counts;  // in the order of the entries
  auto count_of = [&](uint64_t p) -> Count& {
    auto it = std::find_if(counts.begin(), counts.end(), [&](auto& c) { return c.first == p; });
    return it != counts.end() ? it->second : counts.emplace_back(p, Count{}).second;
  };
  auto follows_own_change = [&](const Entry& e, int src) {
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
    if (path(k) != worst) kept.push_back(std::move(point.entries[k]));
  point.entries = std::move(kept);
}

}  // namespace

// Calls with these arguments in slots; `original` runs the function plainly.
py::object run(const Front& front, std::vector<py::object> slots,
               const std::function<py::object()>& original) {
  State& state = front.state;
  ++state.calls;
  auto code = code_info(PyFunction_GET_CODE(front.func));
  StartPoint at{front.func, code};
  at.fast = state.fast;
  const Span call(TraceEvent::kCall, [&] { return call_subject(&state, *code); });
  std::string why;  // the last graph broke
  std::vector<py::object> stack;
  if (Stand* stand = front.stand) {
    at.instr = stand->instr;
    stack = stand->stack;
    at.stack_size = static_cast<int>(stack.size());
  }
  std::vector<PyObject*> raw;
  std::vector<py::object> values;
  std::vector<int> misses;
  bool first = true;
  auto from_start = [&] {
    slots.clear();  // the function may drop its arguments
    raw.clear();
    values.clear();
    const Span piece(TraceEvent::kPython, [&] { return piece_subject(*code, -1, why); });
    CalleeScope callees(front, state.plain_use, PyFunction_GET_CODE(front.func));
    return original();
  };
  while (true) {
    Point& point = state.points[{at.instr, at.stack_size}];
    auto plain = [&] {
      if (front.stand) return py::object();
      return first
                 ? from_start()
                 : rest_in_python(front, *code, at.instr, std::move(slots), std::move(stack), why);
    };
    if (point.never) return plain();
    // a tape or a tracer that was started meanwhile must see each op
    if (tape_needs_single_ops() || (!first && thread_is_traced())) return plain();
    raw.clear();
    for (auto& s : slots) raw.push_back(s.ptr());
    for (auto& s : stack) raw.push_back(s.ptr());
    Entry* entry = nullptr;
    std::shared_ptr<const Instance> instance;
    misses.clear();
    Span guards(TraceEvent::kGuards);
    for (size_t k = 0; k < point.entries.size(); ++k) {
      int failed = -1;
      if (check_guards(*point.entries[k], front.func, raw.data(), &values, &failed)) {
        instance = instance_for(*point.entries[k], values);
        if (!instance) {
          misses.push_back(-1);
          continue;
        }
        entry = point.entries[k].get();
        break;
      }
      misses.push_back(failed);
      if (failed >= 0 && log_enabled("recompiles"))
        PIJIT_LOG("recompiles", code->name, ": guard failed: ",
                  describe_guard(*point.entries[k], point.entries[k]->guards[failed], *code));
    }
    guards.end();
    if (!entry) {
      if (at.instr == 0)
        for (size_t k = 0; k < state.signature.size(); ++k)
          for (int d = 0; d < state.signature[k].shape.rank(); ++d)
            if (state.signature[k].shape[d] < 0)
              point.varying[path_of({Source::kState, -1, static_cast<int>(k), {}}, 0)] |=
                  uint64_t{1} << d;
      if (state.busy || stack_is_low()) return plain();
      stop_following(point, misses);
      if (point.entries.size() >= kMaxEntries) {
        // nothing that could be left alone: tried again ever more rarely
        ++point.refused;
        if (point.refused & (point.refused - 1)) return plain();
        point.entries.erase(std::min_element(point.entries.begin(), point.entries.end(),
                                             [](auto& a, auto& b) { return a->calls < b->calls; }));
      }
      note_misses(&state, point, front.func, raw.data(), *code);
      for (auto& e : point.entries) find_varying(*e, front.func, raw.data(), *code, &point.varying);
      at.varying = point.varying;
      at.unstable = point.unstable;
      at.own_changes = point.own_changes;
      state.busy = true;
      const auto t0 = std::chrono::steady_clock::now();
      std::unique_ptr<Entry> fresh;
      std::optional<LongWork> work;
      work.emplace("capturing", code->name);
      Span capturing(TraceEvent::kCapture, [&] { return call_subject(&state, *code); });
      try {
        fresh = capture(at, raw, front.whole);
        point.varying = at.varying;
        point.own_changes = at.own_changes;
      } catch (const InternalError& e) {
        state.busy = false;
        if (config().strict) throw;
        PIJIT_LOG("capture", code->name, ": ", e.what());
        point.never = true;
        return plain();
      } catch (const Interrupted& e) {
        state.busy = false;
        if (PyErr_CheckSignals() < 0) {
          for (auto& [c, line] : e.frames) add_traceback(*c, line);
          throw py::error_already_set();
        }
        return plain();
      } catch (...) {
        state.busy = false;
        throw;
      }
      capturing.end();
      work.reset();
      state.busy = false;
      state.compile_ms +=
          std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - t0).count();
      ++state.compile_count;
      write_replay(*fresh, *code, at.instr);
      if (fresh->break_record) {
        state.breaks.push_back(*fresh->break_record);
        if (front.whole) {
          const BreakRecord& b = *fresh->break_record;
          if (b.reason == Reason::kRaises)
            return plain();  // the plain run raises the user's own error
          throw OpError(
              OpError::kRuntime,
              str_cat(b.location, ": cannot be compiled as one graph: ", reason_text(b.reason),
                      b.detail.empty() ? "" : " (" + b.detail + ")"));
        }
      }
      bool tensors = false;
      for (auto& g : fresh->guards) tensors |= g.kind == Guard::kTensor;
      if (first && fresh->result >= 0 && fresh->ops.empty() && !tensors) {
        point.never = true;  // nothing for a graph in it
        return plain();
      }
      point.entries.insert(point.entries.begin(), std::move(fresh));
      entry = point.entries.front().get();
      int failed = -1;
      instance = check_guards(*entry, front.func, raw.data(), &values, &failed)
                     ? instance_for(*entry, values)
                     : nullptr;
      if (!instance) {
        // a guard that does not even hold at capture: never reuse, and say so
        PIJIT_CHECK(
            !config().strict, "a fresh entry of ", code->name, " refuses its own state: ",
            failed < 0 ? "its sizes" : describe_guard(*entry, entry->guards[failed], *code));
        point.entries.erase(point.entries.begin());
        point.never = true;
        return plain();
      }
    }
    ++entry->calls;
    Runner r(*entry, *instance, values);
    try {
      const Span graph(TraceEvent::kGraph);
      r.compute();
    } catch (const OpError&) {
      return plain();  // nothing has happened yet: the plain run raises the error at its line
    }
    if (instance->program) ++state.graph_runs;
    Span outcome(TraceEvent::kOutcome);
    r.apply_effects();
    if (front.stand) front.stand->moved = true, front.stand->graph = instance->program != nullptr;
    if (entry->result >= 0) {
      if (front.stand) front.stand->returned = true;
      return r.make(entry->result);
    }
    // the break
    for (size_t s = 0; s < slots.size(); ++s) slots[s] = r.make(entry->slot_recipes[s]);
    stack.clear();
    for (int id : entry->stack_recipes) stack.push_back(r.make(id));
    first = first && entry->effects.empty() && !instance->program && entry->instr == at.instr;
    const int pc = entry->instr;
    const bool rest = entry->rest_in_python;
    if (recording()) why = why_broken(*entry);
    r.clear();
    values.clear();
    outcome.end();
    if (Stand* stand = front.stand) {
      stand->moved = !first;
      stand->instr = pc;
      stand->slots = std::move(slots);
      stand->stack = std::move(stack);
      return {};
    }
    if (rest) {
      if (first) return from_start();
      return rest_in_python(front, *code, pc, std::move(slots), std::move(stack), why);
    }
    if (code->instrs[pc].op == Op::RETURN_VALUE) return stack.back();
    BreakStep step(front, *code, &stack);
    bool done;
    {
      const Span piece(TraceEvent::kPython, [&] { return piece_subject(*code, pc, why); });
      CalleeScope callees(front, state.hook_uses[pc]);
      done = step.run(pc);
    }
    if (!done) {
      if (first) return from_start();
      return rest_in_python(front, *code, pc, std::move(slots), std::move(stack), why);
    }
    first = false;
    at.instr = step.next;
    at.stack_size = static_cast<int>(stack.size());
    if (PyErr_CheckSignals() < 0) {
      add_traceback(*code, code->instrs[pc].line);
      throw py::error_already_set();
    }
  }
}

}  // namespace pijit
