// Whether other processes leave the cores to us.
#pragma once
#include <algorithm>
#include <atomic>
#include <cstdint>

namespace pijit {

// Where other processes take the cores, threads wait for each other longer than one of them would
// work: then one thread does it for some milliseconds, ever longer ones as long as nothing changes.
// Times are in nanoseconds.
class Oversubscription {
 public:
  using Clock = int64_t (*)();
  explicit constexpr Oversubscription(Clock now) : now_(now) {}
  bool is_over() const {
    const int64_t until = until_.load(std::memory_order_relaxed);
    return until == 0 || now_() >= until;
  }
  // A thread that should have worked did not get a core.
  void waited() {
    const int64_t now = now_(), until = until_.load(std::memory_order_relaxed);
    if (now < until) return;  // of a region before the rest
    int64_t rest = rest_.load(std::memory_order_relaxed);
    // Rests of 64 ms after every 3 ms of work that a scheduler grants cost little; it was over if
    // the work went well for much longer than the last rest.
    rest = until != 0 && now - until < kLongAfter * rest ? std::min(2 * rest, kLongest) : kShortest;
    rest_.store(rest, std::memory_order_relaxed);
    until_.store(now + rest, std::memory_order_relaxed);
  }

  static constexpr int64_t kShortest = 1'000'000, kLongest = 64'000'000;  // rests
  static constexpr int64_t kLongAfter = 8;

 private:
  const Clock now_;
  std::atomic<int64_t> until_{0}, rest_{kShortest};
};

}  // namespace pijit
