// Running captured functions: the cache of entries of a function, and the loop over entries, break
// instructions and what follows them.
#pragma once
#include <span>

#include "absl/container/inlined_vector.h"
#include "absl/functional/function_ref.h"
#include "capture/capture.h"
#include "capture/regions/region.h"
#include "dispatch/figures.h"
#include "dispatch/tier.h"
#include "python/hook.h"
#include "python/signals.h"
#include "python/shown_frames.h"

namespace pijit {

// The local variables of a call, and its arguments before all others.
using Slots = absl::InlinedVector<py::object, 8>;

struct ResumePoint {
  std::vector<std::unique_ptr<Entry>> entries;  // newest first
  std::map<uint64_t, uint64_t> dynamic;         // numbers and dims seen to change, by path
  std::set<uint64_t> own_changes;               // what the code itself changes
  std::set<uint64_t> unstable;                  // of these, what entries cannot follow
  Backoff refused;                              // further entries, while there are too many
  bool expects_raises = false;                  // graphs that check for exceptions fail often
  bool never = false;                           // capture does not pay here
  uint64_t captures = 0;                        // so far
  uint64_t visited_by = 0;                      // the call that was here last
  uint64_t lost_in = 0;   // the call in which a loop was found slower that comes here
  bool hopeless = false;  // breaks came back here, and no graph ran
  Backoff hope;           // whether to try again, if so
  bool alone = false;     // the loop around it ran in CPython, the last time
  std::vector<std::unique_ptr<Region>> regions;  // of loops over numbers, from here on
  bool no_region = false;                        // there is none, or too many
  Backoff steps{1};                              // whether to look for one behind
};

// Looks for captured callees below a place. The hook costs each Python call there.
struct HookUse : Backoff {
  HookUse() : Backoff(3) {}
};

// Graphs that ran so far, of all functions.
extern uint64_t graphs_run;
// Their ops.
extern uint64_t graph_ops_run;
// Captures, programs for new sizes and plain calls of comparisons so far: calls with such tell
// nothing of what a captured call takes.
extern uint64_t disturbances;
// What captures and compiles of this thread took so far.
extern thread_local int64_t compiled_ns;

// What trying has cost all functions: captures without any op, and those of what was captured again
// and again.
extern BudgetMeter trying_of_all;
// Has the budget something left at this time? Always, where nothing is measured.
bool may_try(const BudgetMeter& trying);

// What is declared of an argument: nothing, a Tensor of some dtype and any shape, or its shape too.
struct Declared {
  std::optional<DType> dtype;
  std::optional<Shape> shape;
};

// From which instructions on a function may come to a loop.
class LoopsAhead {
 public:
  bool operator()(const CodeInfo& code, int instr);

 private:
  std::vector<bool> from_;
};

struct FunctionCache;
// What was captured below a decorated function, by keepers of it. Code that is made anew at every
// call (exec) would add up for ever, and its globals with it: whenever some have come, those that
// were not called since the last look go.
class Callees {
 public:
  struct Kept {
    py::object keeper;
    bool used = true;
  };
  bool room() { return all_.size() < limit_ || make_room(); }
  void use(const FunctionCache* s, const py::object& keeper) {
    all_.try_emplace(s, Kept{keeper}).first->second.used = true;
  }
  const std::map<const FunctionCache*, Kept>& all() const { return all_; }

 private:
  static constexpr size_t kFew = 64, kMost = 1024;
  bool make_room();
  std::map<const FunctionCache*, Kept> all_;
  size_t limit_ = kFew, asked_ = 0;
};

inline std::vector<bool> nulls_in(const std::vector<py::object>& stack) {
  std::vector<bool> nulls;
  for (auto& v : stack) nulls.push_back(!v);
  return nulls;
}

// What is known of a function.
struct FunctionCache {
  std::map<std::pair<int, int>, ResumePoint> points;  // (instruction, stack size)
  // By instruction, and which stack entries are NULL: functions (code, where there are free
  // variables) that execute it, code that goes on from there, and code that runs a loop from there
  // (null: none).
  std::map<std::pair<int, std::vector<bool>>, py::object> steps, resumes, loops;
  std::map<int, HookUse> hook_uses;  // by instruction
  HookUse plain_use;                 // where the function runs plainly
  // Of a decorated function: what was captured below its breaks. Callees own nothing of one
  // another, so that no FunctionCache keeps itself.
  Callees callees;
  PyObject* keeper = nullptr;  // its own, borrowed
  // Of a callee:
  py::object globals;
  std::string place;
  std::vector<BreakRecord> breaks;
  struct Miss {
    std::string place, guard, was, is;
  };
  std::vector<Miss> misses;  // guards that led to further captures
  MetadataRef metadata;      // of calls, in recordings; null as long as there were none
  uint64_t compile_count = 0;
  uint64_t new_sizes = 0;               // programs for further sizes
  double compile_ms = 0, sizes_ms = 0;  // all of that; of the programs for further sizes
  uint64_t calls = 0;
  uint64_t graph_runs = 0;
  FiguresRef figures;      // of a watched function; else null
  bool hopeless = false;   // the last call went on plainly after breaks without any graph
  bool of_arrays = false;  // ndarrays are computed with
  bool fast = false;       // numerics, of what is compiled
  bool automatic = false;  // nobody decorated the function, nor one above it
  bool busy = false;       // a capture of this function is under way
  LoopsAhead loops_ahead;
  std::optional<bool> over_numbers;  // is it about loops over numbers?
  bool no_regions = false;           // these gain nothing as regions
  uint64_t region_count = 0, region_losses = 0;
  bool signals_raise_nothing = false;  // one ended a graph, and the plain run was not
  bool regions_left = false;           // a call went on in CPython behind one
  Backoff recursion{3};                // attempts of a function that calls itself
  int64_t wasted_ns = 0;               // on regions that came to nothing
  // None begins within these, as the last instruction of each has no code.
  std::vector<std::pair<int, int>> before_regions;
  int64_t regions_made_ns = 0, regions_ran_ns = 0;
  std::vector<NoRegion> left_loops;
  // Entries that were given up in calls below one that still runs: it may be theirs.
  int running = 0;
  std::vector<std::unique_ptr<Entry>> given_up;
  Tier tier{TierPolicy::decorated};  // of a decorated function
  NewSizes sizes;
  bool left_by_size = false;  // the last call: it ran plainly, as its size is new
  BudgetMeter trying{Budget::of_function, &trying_of_all};
  // Declared types of the arguments, in order; dims of -1 vary. Empty: not declared.
  std::vector<Declared> signature;
};

// The objects that a FunctionCache keeps, for the garbage collector.
int traverse(const FunctionCache& s, visitproc visit, void* arg);

// Where a frame that CPython runs stands, before and after one entry ran from there.
struct OsrFrame {
  int instr;
  std::vector<py::object> slots, stack;
  bool moved = false;     // else nothing has happened
  bool returned = false;  // the stack is what the frame returns
  bool graph = false;     // a graph ran
};

// A function to run.
struct Target {
  PyObject* func;  // borrowed
  Code code;       // its own
  FunctionCache& state;
  bool whole;               // as one graph, or not at all
  OsrFrame* osr = nullptr;  // one entry only, from here
};

// A call of a decorated function: it owns what is captured below it.
class OwnerScope {
 public:
  explicit OwnerScope(FunctionCache* owner);
  ~OwnerScope();

 private:
  FunctionCache* before_;
};
// Under it, functions that CPython calls are captured, where that pays, but for the next call of
// code `but`.
class CalleeScope {
 public:
  CalleeScope(const Target& target, HookUse& use, PyObject* but = nullptr);
  ~CalleeScope();
  // A call below that is none to capture, of this thread's innermost scope. After many of them and
  // none that ran a graph, calls are CPython's alone, until an op runs.
  static void passed_over();

 private:
  HookUse* use_ = nullptr;
  uint64_t found_before_ = 0;
  int passed_over_ = 0;
  CalleeScope* outer_;
  std::optional<HookScope> hook_;
};
void init_callees();
void init_jit(py::module_& m);
// Do arguments or free variables hold tensors?
bool works_on_tensors(const PendingCall& call);
bool works_on_ndarrays(const PendingCall& call);
// Whose calls below a break are captured; null: none's.
FunctionCache* current_owner();
// The FunctionCache of a function that was captured as a callee, or null.
std::shared_ptr<FunctionCache> callee_state(PyObject* code);
void never_capture(PyObject* code);

// Calls with these arguments in slots, which the caller keeps; `original` runs the function
// plainly.
py::object run(const Target& target, std::span<PyObject* const> slots,
               absl::FunctionRef<py::object()> original);

// The execution of a break instruction by CPython.
class BreakStep {
 public:
  // Frames of steps that raised what the function handles go to `shown`.
  BreakStep(const Target& target, const CodeInfo& code, Slots* slots,
            std::vector<py::object>* stack, ShownFrames* shown)
      : target_(target), code_(code), slots_(*slots), stack_(*stack), shown_(*shown) {}
  // kNotAlone: it must run in CPython with all that follows. Throws what the instruction raises, if
  // the function has no handler for it there.
  enum Outcome { kDone, kNotAlone };
  Outcome run(int pc);
  // Takes the current exception, raised at `pc` by a frame of `code` (which may be null), to its
  // handler; throws it where there is none.
  Outcome handle(int pc, PyObject* code = nullptr);
  int next = 0;  // the instruction to go on with

 private:
  py::object step_function(int pc, const std::vector<bool>& nulls);
  Outcome resize(int pc, size_t below);
  void lend_variables(int pc, size_t below, std::vector<PyObject*>* given);
  const Target& target_;
  const CodeInfo& code_;
  Slots& slots_;
  std::vector<py::object>& stack_;
  ShownFrames& shown_;
};

}  // namespace pijit
