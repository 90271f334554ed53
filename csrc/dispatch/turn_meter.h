// Whether the graphs in a loop whose body breaks are worth what they cost.
#pragma once
#include <cstdint>

namespace pijit {

struct Entry;

// A turn of such a loop runs several graphs and, between them, instructions in CPython, which take
// the same time either way. What is left of the turn is kernels, guards, and values that change
// hands. A few turns of a call are measured: where nearly all of them take longer than
// CPython's own operations would, the loop is CPython's. The two ways can't be compared within one
// call, so what CPython takes is an estimate, and a high one.
class TurnMeter {
 public:
  bool measures() const { return at_ != nullptr && !done_; }
  // The call is at this place again. `disturbances` counts captures and compiles so far. True: the
  // turns that ended here were measured, and lose.
  bool loses_at(const void* place, uint64_t disturbances);
  // While it measures: what was run in this turn, in nanoseconds. A step is what CPython does.
  void ran_graph(const Entry& e, int64_t ns);
  void ran_step(int64_t ns) { step_ns_ += ns; }

 private:
  void begin(const void* place, uint64_t disturbances);

  const void* at_ = nullptr;  // where turns begin and end
  bool done_ = false;
  int64_t began_ = 0, step_ns_ = 0, plain_ns_ = 0;
  uint64_t disturbances_ = 0;
  int turns_ = 0, losses_ = 0, elsewhere_ = 0, disturbed_ = 0;
};

}  // namespace pijit
