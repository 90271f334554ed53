// The CPU's threads and cache.
#pragma once
#include <cstdint>
#include <functional>
#include <utility>

namespace pijit {

// Runs f(begin, end) over [0, n), in parallel when n exceeds `grain`. The split never changes
// results: callers give each index its own output.
void parallel_for(int64_t n, int64_t grain, const std::function<void(int64_t, int64_t)>& f);
// The k-th of n parts of all, as equal as can be: [first, past).
inline std::pair<int64_t, int64_t> share_of(int64_t all, int64_t k, int64_t n) {
  return {all * k / n, all * (k + 1) / n};
}
// As many as a region gets, started here and now: OpenMP's number, no more than OMP_THREAD_LIMIT,
// one within another region and in a forked child.
int max_threads();
bool in_forked_child();
// While it lives, oneDNN's regions ask for n threads and get them, where work was divided by n.
class Threads {
 public:
  explicit Threads(int n);
  ~Threads() { current_ = before_; }
  Threads(const Threads&) = delete;
  // max_threads() outside.
  static int current() { return current_ > 0 ? current_ : max_threads(); }

 private:
  [[gnu::tls_model("initial-exec")]] static inline constinit thread_local int current_ = 0;
  int before_;
};
// Of the last-level cache.
int64_t cache_bytes();

}  // namespace pijit
