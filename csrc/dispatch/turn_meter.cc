#include "dispatch/turn_meter.h"

#include "entry/entry.h"
#include "runtime/record.h"

namespace pijit {

namespace {

constexpr int kTurns = 8, kLosses = 6;
// Turns in a row in each of which something was compiled, after which more of them count as they
// are: sizes that are ever new go on like that.
constexpr int kMostDisturbed = 12;
// The place is not that of a loop any more when so many others came again.
constexpr int kElsewhere = 64;
// Longer kernels are worth their graph; what they copy is not.
constexpr int64_t kLongKernels = 5000, kLongTime = 1'000'000'000, kCopiedBytesPerNs = 5;

}  // namespace

void TurnMeter::begin(const void* place, uint64_t disturbances) {
  if (at_ != place) turns_ = losses_ = disturbed_ = 0;
  at_ = place;
  disturbances_ = disturbances;
  elsewhere_ = 0;
  step_ns_ = plain_ns_ = 0;
  began_ = clock_ns();
}

bool TurnMeter::loses_at(const void* place, uint64_t disturbances) {
  if (done_ || (at_ && at_ != place && ++elsewhere_ < kElsewhere)) return false;
  const bool disturbed = at_ == place && disturbances_ != disturbances;
  disturbed_ = disturbed ? disturbed_ + 1 : 0;
  if (at_ == place && (!disturbed || disturbed_ > kMostDisturbed)) {
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
  const int64_t computing = ns - e.in_numpy.copied / kCopiedBytesPerNs;
  plain_ns_ += computing > kLongKernels && !e.in_numpy.of_elements ? kLongTime : e.in_numpy.ns;
}

}  // namespace pijit
