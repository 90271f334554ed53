// Capture: symbolic execution of bytecode into an entry: a graph, guards, effects and, where Python
// can't be captured, a break. Nothing user-visible happens during capture. What the symbolic
// interpreter knows about a Python object is a Value (value.h).
#pragma once
#include <functional>
#include <memory>
#include <set>

#include "capture/scope.h"
#include "entry/entry.h"
#include "graph/grad.h"

namespace pijit {

// Ends the graph before the current instruction. Caught where calls are inlined and at the frame's
// root.
struct GraphBreak {
  Reason reason;
  std::string detail;
  std::string where;  // file:line of the innermost frame
  Case of = Case::kNone;
  // It is a call of NumPy's or SciPy's own Python code: what capture found out on the way is of no
  // use, and would be asked for at each call.
  bool in_numpy = false;
};

// Thrown where an iterator under way can't be handed to CPython: capture begins anew, and CPython
// runs the instruction of the outermost frame that made it.
struct StartedIterator {
  int made_at;
};
// Thrown at a break in NumPy's own code: capture begins anew, and ends at the instruction of the
// outermost frame that calls it.
struct EndsInNumpy {
  int pc;
  GraphBreak because;
};
// Thrown where the code changes numbers and texts that it depends on: capture begins anew and takes
// these paths as dynamic.
struct ChangesItself {
  std::vector<uint64_t> paths;
};
// Thrown where a module of ours is asked for NumPy, which isn't loaded yet: it is, and capture
// begins anew.
struct AsksForNumpy {};
// Thrown where a signal waits that the captured code, run plainly, would have seen long ago. Its
// handler is Python code, which nothing may run during a capture.
struct Interrupted {};

// What a frame starts from: the function's entry, or an instruction after a break.
struct StartPoint {
  PyObject* func;  // borrowed
  Code code;
  int instr = 0;
  int stack_size = 0;
  // What changed between calls before: numbers, and dims of tensors (a bit mask), by the paths of
  // their sources.
  std::map<uint64_t, uint64_t> dynamic = {};
  // The paths of what changed more often than entries can follow: nothing may depend on its value.
  std::set<uint64_t> unstable = {};
  // The paths of what the code itself changes at each call.
  std::set<uint64_t> own_changes = {};
  bool expects_raises = false;  // what is raised on a tensor's value is raised often
  // What may be counted of the budget before the first op.
  int64_t before_ops = INT64_MAX;
  bool fast = false;       // numerics
  bool automatic = false;  // nobody decorated the function
  bool whole = false;      // one graph is asked for
};

// Captures from a state (slots, then stack, then the exception that is handled or None; null:
// unbound). Throws InternalError on our own faults; never returns null. Adds to `dynamic` and
// `own_changes`. The entry's graph is not compiled yet.
// Is it of elements of ndarrays alone, one by one, and of many? CPython's loop, or its machine
// code, needs no graph of a thousand steps.
bool is_of_single_numbers(const std::vector<Guard>& guards, const Graph& g);
std::unique_ptr<Entry> capture(StartPoint& p, const std::vector<PyObject*>& state);
// An entry of which all runs in Python: there is no graph from this state, for the reason given.
std::unique_ptr<Entry> plain_entry(const StartPoint& p, const std::vector<PyObject*>& state,
                                   const GraphBreak& b);

bool graph_mode();
// Does a call run that GRAPH_MODE, or jit(mode="PSJit"), compiles?
bool runs_as_graph();

}  // namespace pijit
