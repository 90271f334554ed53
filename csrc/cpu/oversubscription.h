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
  // A region took `all` in which threads worked for `work` in sum.
  void ran(int64_t all, int64_t work) {
    constexpr int64_t kOften = 4, kWake = 2'000;
    if (all <= work + kWake) {
      const int64_t left = score_.load(std::memory_order_relaxed) - 1;
      if (left >= 0) score_.store(left, std::memory_order_relaxed);
      if (left <= 0) rest_.store(kShortest, std::memory_order_relaxed);
      return;
    }
    if (score_.fetch_add(2, std::memory_order_relaxed) + 2 < kOften) return;
    const int64_t rest = rest_.load(std::memory_order_relaxed);
    until_.store(now_() + rest, std::memory_order_relaxed);
    rest_.store(std::min(2 * rest, kLongest), std::memory_order_relaxed);
    score_.store(0, std::memory_order_relaxed);  // once may be as threads had to wake
  }

  static constexpr int64_t kShortest = 1'000'000, kLongest = 64'000'000;  // rests

 private:
  const Clock now_;
  std::atomic<int64_t> until_{0}, rest_{kShortest}, score_{0};
};

}  // namespace pijit
