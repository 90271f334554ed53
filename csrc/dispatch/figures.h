// What capture brings for a function that is being watched: calls of both ways in turn, as in a
// notebook's cell.
#pragma once
#include <cstdint>
#include <memory>
#include <vector>

#include "objects/objects.h"

namespace pijit {

// Times of calls in nanoseconds; those that are kept lie evenly over all of them.
class Times {
 public:
  void add(int64_t ns);
  uint64_t count() const { return count_; }
  int64_t sum() const { return sum_; }
  const std::vector<int64_t>& kept() const { return kept_; }

 private:
  static constexpr size_t kMost = 256;
  std::vector<int64_t> kept_;
  uint64_t count_ = 0, every_ = 1;
  int64_t sum_ = 0;
};

struct Figures {
  struct Calls {
    Times plain, captured;
    uint64_t chosen =
        0;       // of the plain ones: those that ran so because a comparison or a size wants it
    Times anew;  // with something captured or compiled
  };
  Calls all;  // outermost ones: not those that the function makes of itself
  Calls top;  // of these, with no other watched function above
  int64_t first_ns =
      0;  // captures and compiles of the first call, if others ran below it: it is in `all` alone
  int64_t compiled_ns = 0;  // by calls of it, but not of watched functions below
  uint64_t recursive = 0;   // the others
  Times rested;             // by CPython, while the function was deoptimized
  // Calls of the decorated object that CPython executed. Each takes `front_ns` more than a call of
  // the function itself.
  uint64_t fronted = 0;
  double front_ns = 0.0;
  uint64_t uncaptured = 0;  // of what can't be captured, as of generators
  uint64_t turns = 0;
  uint64_t cold = 0;  // plain calls that were the first: they compile their ops
  int depth = 0;

  // A plain call took `ns`, in which `fronts` calls of decorated objects are.
  int64_t without_fronts(int64_t ns, uint64_t fronts) const;
  // Is the next call to run plainly? Some of the first, then as long as that takes a small share.
  bool plain_is_due();
};

using FiguresRef = std::shared_ptr<Figures>;
py::object figures_object(FiguresRef figures);
// Null for None.
FiguresRef figures_of(const py::object& o);
py::dict described(const Figures& f);

}  // namespace pijit
