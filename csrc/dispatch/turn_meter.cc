#include "dispatch/turn_meter.h"

#include "entry/entry.h"
#include "runtime/record.h"

namespace pijit {

namespace {

constexpr int kTurns = 8, kLosses = 6;
// The place is not that of a loop any more when so many others came again.
constexpr int kElsewhere = 64;
// Longer kernels are worth their graph.
constexpr int64_t kLongKernels = 5000, kLongTime = 1'000'000'000;

}  // namespace

void TurnMeter::begin(const void* place, uint64_t disturbances) {
  if (at_ != place) turns_ = losses_ = 0;
  at_ = place;
  disturbances_ = disturbances;
  elsewhere_ = 0;
  step_ns_ = plain_ns_ = 0;
  began_ = clock_ns();
}

bool TurnMeter::loses_at(const void* place, uint64_t disturbances) {
  if (done_ || (at_ && at_ != place && ++elsewhere_ < kElsewhere)) return false;
  if (at_ == place && disturbances_ == disturbances) {
    losses_ += clock_ns() - began_ > step_ns_ + plain_ns_;
    done_ = ++turns_ == kTurns;
    if (done_ && losses_ >= kLosses) {
      *this = {};  // the loop around it may lose, too
      return true;
    }
    if (done_) return false;
  }
  begin(place, disturbances);
  return false;
}

void TurnMeter::ran_graph(const Entry& e, int64_t ns) {
  // to set an element, a kernel may copy an array
  plain_ns_ += ns > kLongKernels && !e.in_numpy.of_elements ? kLongTime : e.in_numpy.ns;
}

}  // namespace pijit
