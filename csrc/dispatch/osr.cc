// Loops of frames that run: from the beginning of a line on, an entry takes over until its break,
// where the frame goes on in CPython. So all that can be seen of the frame is as ever: its names,
// its handlers, its place in tracebacks.
#include <algorithm>

#include "base/config.h"
#include "dispatch/automatic.h"
#include "dispatch/permission.h"
#include "entry/runner.h"
#include "objects/ndarray.h"
#include "python/module_code.h"
#include "python/quiet_lookup.h"

namespace pijit {

namespace {

// Turns of ops before a loop is watched; a function may better be captured as a whole.
constexpr unsigned kTurnsInModule = 8, kTurnsInFunction = 24;
constexpr double kLineCost = 150;      // ns, of a look at a line
constexpr unsigned kWithoutGraph = 3;  // runs, before CPython keeps a line
constexpr uint64_t kBatch = 4;         // iterations that are timed at once

// Turns of a loop until it may be watched. Most of its ops may run in graphs of functions that it
// calls, which are compiled once more with it: that takes as long for each as kCompile eager ops,
// and is worth it once the loop has run as many of its own.
bool ran_long_enough(const Automatic& a, unsigned turns) {
  constexpr uint64_t kCompile = 10;
  return a.turns >= turns &&
         a.ops - a.own_before >= kCompile * ((graph_ops_run - a.in_graphs_before) / a.turns);
}

// Iterators that run no Python code.
bool plain_iterator(PyObject* o) {
  return Py_IS_TYPE(o, &PyRangeIter_Type) || Py_IS_TYPE(o, &PyListIter_Type);
}

using Loop = Automatic::Loop;

// A look takes as long as a line over numbers: such are left alone, before their loop is slowed
// down.
bool are_short(Loop& l) {
  constexpr uint64_t kLooks = 5;
  constexpr int64_t kShort = 2'500;  // ns, with the look
  if (l.looks++ == 0) l.looks_since = clock_ns();
  if (l.looks <= kLooks) return false;
  l.looks = 0;
  return clock_ns() - l.looks_since < static_cast<int64_t>(kLooks) * kShort;
}

// An iteration has ended. At first they are left to CPython, which is slowed down by our looking at
// its lines; captured ones are timed in batches.
void iterated(Loop& l, uint64_t compiled) {
  ++l.iterations;
  const bool warming = l.tier.next(config().measure) == Tier::Way::kPlain;
  const bool anew = l.compiled != compiled;
  if (anew) {
    l.compiled = compiled;
    l.settled = 0;
  }
  const uint64_t batch = warming ? 1 : kBatch;
  int64_t each = Tier::kUntimed;
  if (l.settled++ % batch == 0) {
    const int64_t now = clock_ns();
    const auto looks = static_cast<int64_t>(kLineCost * static_cast<double>(l.lines));
    if (l.settled > 1)
      each = warming ? std::max<int64_t>(now - l.began - looks, 0)
                     : (now - l.began) / static_cast<int64_t>(kBatch);
    l.began = now;
    l.lines = 0;
  }
  if (warming) {
    if (each != Tier::kUntimed) l.tier.ran_plainly(each);
    if (!l.tier.warming()) l.settled = 0;
    return;
  }
  l.tier.ran_captured(each, {.graph = true, .anew = anew});
  if (each == Tier::kUntimed) return;
  l.captured += kBatch;
  earned((l.tier.plain().least() - static_cast<double>(each)) * kBatch);
}

LineAnswer on_line(LiveFrame& frame) {
  Callee* callee = callee_of(frame.code());
  if (!callee || !callee->automatic || !automatic_is_on()) return LineAnswer::kStop;
  const std::shared_ptr<Automatic> a = callee->automatic;
  if (a->watched < 0 || !a->state) return LineAnswer::kStop;
  const int head = a->watched;
  Loop& l = a->loops[head];
  if (l.tier.resting()) return LineAnswer::kStop;
  if (l.sampled && l.tier.warming() && are_short(l)) {
    l.short_lines = true;
    return LineAnswer::kStop;
  }
  try {
    if (!may_capture(Asker::kLoop)) return LineAnswer::kGoOn;
    const Code code = code_info(frame.code());
    const int offset = frame.offset();
    const auto at = std::find_if(code->instrs.begin(), code->instrs.end(),
                                 [&](auto& i) { return i.offset == offset && i.next > offset; });
    if (at == code->instrs.end()) return LineAnswer::kGoOn;
    OsrFrame osr{static_cast<int>(at - code->instrs.begin()), {}, {}};
    const int began_at = osr.instr;
    for (py::object& o : frame.stack()) {
      // a handler of exceptions is at work, or CPython has begun something
      const bool beside_iterator =
          !osr.stack.empty() && osr.stack.back() && PyIter_Check(osr.stack.back().ptr());
      if (o ? PyExceptionInstance_Check(o.ptr()) : !beside_iterator) return LineAnswer::kGoOn;
      osr.stack.push_back(std::move(o));
    }
    for (int k = 0; k < code->num_slots; ++k)
      osr.slots.push_back(py::reinterpret_borrow<py::object>(frame.slot(k)));
    const std::shared_ptr<FunctionCache> state = a->state;
    bool moved = false;
    auto next_item = [&] {
      const Instr& in = code->instrs[osr.instr];
      const size_t below = 1 + static_cast<size_t>(in.b);
      if (in.op != Op::FOR_ITER || osr.stack.size() < below || !may_capture(Asker::kNextItem))
        return false;
      PyObject* it = osr.stack[osr.stack.size() - below].ptr();
      if (!plain_iterator(it)) return false;
      PyObject* item = Py_TYPE(it)->tp_iternext(it);
      if (!item) {
        PyErr_Clear();  // at its end for CPython, too
        return false;
      }
      osr.stack.push_back(py::reinterpret_steal<py::object>(item));
      ++osr.instr;
      return true;
    };
    if (began_at == head) iterated(l, state->compile_count);
    ++l.lines;
    if (l.tier.resting()) return LineAnswer::kStop;
    if (l.tier.warming()) return LineAnswer::kGoOn;
    HookScope quiet(false);
    OwnerScope owner(state.get());
    const py::object func = frame.func();
    for (bool first = true;; first = false) {
      const bool stepped = next_item();
      moved |= stepped;
      if (!first && !stepped) break;
      const int from = osr.instr;
      if (auto few = l.without_graph.find(from);
          few != l.without_graph.end() && few->second >= kWithoutGraph)
        break;
      osr.moved = osr.graph = false;
      // the frame keeps its objects for as long as it stands where it stands
      const std::vector<py::object> now = osr.slots;
      std::vector<PyObject*> slots;
      for (auto& o : now) slots.push_back(o.ptr());
      const py::object result =
          run({func.ptr(), code, *state, false, &osr}, slots, [] { return py::object(); });
      if (!osr.graph) ++l.without_graph[from];
      if (!osr.moved) break;
      moved = true;
      if (osr.returned) {
        const auto end = std::find_if(code->instrs.begin(), code->instrs.end(),
                                      [](auto& i) { return i.op == Op::RETURN_VALUE; });
        osr.instr = static_cast<int>(end - code->instrs.begin());
        osr.stack = {result};
        break;
      }
      if (osr.instr == head) {
        iterated(l, state->compile_count);
        if (l.tier.resting()) break;
      }
    }
    if (!moved) return LineAnswer::kGoOn;
    if (osr.slots.size() != static_cast<size_t>(code->num_slots)) osr.slots.resize(code->num_slots);
    if (!frame.go_on_at(*code, osr.instr, std::move(osr.slots), std::move(osr.stack)))
      return LineAnswer::kRaise;
    return l.tier.resting() ? LineAnswer::kStop : LineAnswer::kGoOn;
  } catch (...) {
    raise_current_exception();
    return LineAnswer::kRaise;
  }
}

bool is_function(const LiveFrame& frame) {
  return reinterpret_cast<PyCodeObject*>(frame.code())->co_flags & CO_OPTIMIZED;
}

Code code_of(const LiveFrame& frame) {
  return is_function(frame) ? code_info(frame.code()) : module_code_info(frame.code());
}

// By the instruction that its iterations begin with; -1: the op is in none that can be captured.
int loop_around_op(Automatic& a, const LiveFrame& frame, int offset) {
  const auto [known, fresh] = a.loop_of_op.try_emplace(offset, -1);
  if (!fresh || !(is_function(frame) || frame.names_in_globals())) return known->second;
  const Code code = code_of(frame);
  if (!code || !automatic_state(a, frame.globals())) return -1;
  const auto at = std::find_if(code->instrs.begin(), code->instrs.end(),
                               [&](auto& i) { return i.offset >= offset; });
  return known->second = loop_around(*code, static_cast<int>(at - code->instrs.begin())).first;
}

// Among its variables; those of a module's frame are globals.
bool holds_ndarrays(const LiveFrame& frame) {
  if (!is_function(frame)) {
    PyObject* names = reinterpret_cast<PyCodeObject*>(frame.code())->co_names;
    for (Py_ssize_t k = 0; k < PyTuple_GET_SIZE(names); ++k)
      if (PyObject* o = quiet_item(frame.globals(), PyTuple_GET_ITEM(names, k));
          o && is_followed_ndarray(o))
        return true;
    return false;
  }
  const Code code = code_of(frame);
  for (int k = 0; code && k < code->num_slots; ++k)
    if (PyObject* o = frame.slot(k); o && is_followed_ndarray(o)) return true;
  return false;
}

}  // namespace

void look_for_loop(Automatic& a, const LiveFrame& frame, Met met) {
  if (a.captured()) return;
  const int offset = frame.offset();
  const bool again = offset <= a.last_op && a.frame == frame.id();
  auto count_turns_of = [&](int head) {
    a.counted = head;
    a.turns = 0;
    a.own_before = a.ops;
    a.in_graphs_before = graph_ops_run;
  };
  if (a.frame != frame.id()) count_turns_of(-1);
  a.frame = frame.id();
  a.last_op = offset;
  if (!again) return;
  ++a.turns;
  const unsigned turns = is_function(frame) ? kTurnsInFunction : kTurnsInModule;
  // A library may run many ops for one line: where these come in no loop, they are no turns.
  if (a.counted < 0 ? a.turns < turns / 3 : !ran_long_enough(a, turns - turns / 3)) return;
  const int head = loop_around_op(a, frame, offset);
  if (head < 0 || head != a.counted || a.loops[head].tier.resting()) return count_turns_of(head);
  if (is_hidden(a)) return;
  count_turns_of(head);
  Loop& l = a.loops[head];
  const bool sampled = met == Met::kSample;
  if (sampled && (l.short_lines || !holds_ndarrays(frame))) return;
  if (!watch_lines(frame, on_line)) return;
  l.sampled = sampled;
  l.looks = 0;
  // an iteration with many ops comes here again and again
  if (a.watched != head || a.watched_frame != frame.id()) l.settled = 0;
  a.watched = head;
  a.watched_frame = frame.id();
  l.line = code_of(frame)->instrs[head].line;
}

}  // namespace pijit
