// Capture of what nobody decorated: functions and loops of the user's own files that work on
// tensors. Nothing looks for them but the eager ops themselves, so that code without any runs as
// if pijit were not there; the frame hook, which costs every Python call, stays installed only
// while it pays. What is captured is measured against the plain code, and deoptimized if it is no
// faster.
#pragma once
#include <optional>

#include "dispatch/run.h"

namespace pijit {

// What is known of a code object of the user's.
struct Automatic {
  std::string name, filename;
  int line = 0;
  uint64_t generation = 0;
  bool wanted = false;  // one of the user's own files, or of an included package
  uint64_t ops = 0;     // eager ops of it, or of libraries for it
  int64_t samples = 0;  // at which it ran
  std::shared_ptr<FunctionCache> state;

  // Calls.
  uint64_t calls = 0, inside = 0;
  bool begun = false;  // to be captured
  Tier tier{TierPolicy::automatic};
  bool captured() const { return begun && !tier.resting(); }

  // Where ops of a frame come again and again.
  const void* frame = nullptr;
  int last_op = -1;  // code units
  unsigned turns = 0;
  int counted = -1;                               // the loop of whose these are
  uint64_t own_before = 0, in_graphs_before = 0;  // ops before them
  std::map<int, int> loop_of_op;                  // -1: none that can be captured
  struct Loop {
    int line = 0;
    uint64_t iterations = 0;  // that were watched
    uint64_t captured = 0;    // of those
    uint64_t settled = 0, compiled = 0, lines = 0;
    int64_t began = 0;
    Tier tier{TierPolicy::loop};
    std::map<int, unsigned> without_graph;  // runs, by instruction
    // Found by a sample, not by an eager op: its lines may be too short to be looked at.
    bool sampled = false, short_lines = false;
    uint64_t looks = 0;
    int64_t looks_since = 0;
  };
  std::map<int, Loop> loops;  // by the instruction that an iteration begins with
  int watched = -1;           // which one
  const void* watched_frame = nullptr;
};

// What is attached to a code object.
struct Callee {
  std::weak_ptr<FunctionCache> state;  // below a decorated function
  bool examined = false;               // whether it can be one
  bool skip = false;
  std::optional<bool> loops;  // of the user's own over ndarrays
  Tier tier{TierPolicy::callee};
  bool shared =
      false;  // code of our own layers, which does for one network what it doesn't for others
  std::shared_ptr<Automatic> automatic;
};
Callee* callee_of(PyObject* code);  // or null
Callee* make_callee(PyObject* code);

bool automatic_is_on();
PyObject* automatic_call(PendingCall& call, Callee* callee);
void init_automatic(py::module_& m);

// --- between automatic.cc and loops.cc
// Made at the first question; null where the code is of no interest.
Automatic* automatic_of(const LiveFrame& frame);
FunctionCache* automatic_state(Automatic& a, PyObject* globals);
void earned(double ns);
// Is a function that runs being looked at, which may soon be captured with all below it? Not where
// it runs for long: it may never be called again.
bool is_hidden(const Automatic& a);
// An eager op of this frame is about to run; or a sample has met it.
enum class Met : uint8_t { kOp, kSample };
void look_for_loop(Automatic& a, const LiveFrame& frame, Met met);

}  // namespace pijit
