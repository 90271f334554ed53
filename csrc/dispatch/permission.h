// Whether this thread's code may be captured, or run as captured, at this moment. Whether that pays
// is another question (dispatch/tier.h).
#pragma once
#include "entry/runner.h"
#include "python/hook.h"

namespace pijit {

// Who asks.
enum class Asker : uint8_t {
  kCall,       // a decorated function is called
  kEntry,      // an entry may run from here on; nothing of the call has happened yet
  kResume,     // the same, behind a break
  kCapture,    // no entry fits
  kCallee,     // CPython calls a function below a break
  kBelow,      // CPython is about to run code whose calls may be captured
  kOp,         // an eager op looks for the user's function that it belongs to
  kLook,       // CPython calls a function while capture is on for whole programs
  kAutomatic,  // that function works on Tensors
  kLoop,       // a line of a loop begins, which an entry may take over
  kNextItem,   // of such a loop is to be taken from its iterator
  kCount
};

namespace permission {

// Jitted functions of this thread run plainly for now. It is read at every call: in the part of
// thread-local memory that needs no look-up.
[[gnu::tls_model("initial-exec")]] extern constinit thread_local bool paused;
extern bool graph_mode_on;
extern bool forbidden;  // on all threads

enum Obstacle : uint8_t {
  kPaused = 1,
  kTape = 2,        // a tape must see each op
  kTraced = 4,      // a tracer or profiler watches; it would see nothing of captured code
  kGraphMode = 8,   // Cells run as graphs, and the code around them plainly
  kAwaited = 16,    // CPython waits to run a signal's handler, or another thread
  kHookIsOff = 32,  // captured code runs further up
  kStackIsLow = 64,
};
// One row for each asker.
inline constexpr uint8_t kObstacles[] = {
    /* kCall */ kPaused | kTape | kTraced,
    /* kEntry */ kTape,  // jit_call and the hook have asked about tracers
    /* kResume */ kTape | kTraced,
    /* kCapture */ kStackIsLow,
    /* kCallee */ kTape | kTraced,
    /* kBelow */ kTape,
    /* kOp */ kPaused | kHookIsOff | kTraced,
    /* kLook */ kTraced,
    /* kAutomatic */ kPaused | kTape | kGraphMode,  // after kLook
    /* kLoop */ kPaused | kTape | kTraced | kGraphMode | kAwaited,
    /* kNextItem */ kAwaited,
};
static_assert(sizeof kObstacles == static_cast<size_t>(Asker::kCount));

}  // namespace permission

inline bool may_capture(Asker asker) {
  using namespace permission;
  const uint8_t asked = kObstacles[static_cast<size_t>(asker)];
  // what costs least comes first
  return !(((asked & kPaused) && (paused || forbidden)) ||
           ((asked & kGraphMode) && graph_mode_on && !paused && !forbidden) ||
           ((asked & kStackIsLow) && stack_is_low()) ||
           ((asked & kHookIsOff) && hook_is_off_here()) ||
           ((asked & kTape) && tape_needs_single_ops()) ||
           ((asked & kAwaited) && interpreter_is_awaited()) ||
           ((asked & kTraced) && thread_is_traced()));
}

}  // namespace pijit
