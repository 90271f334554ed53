// The CPU's threads and cache.
#pragma once
#include <cstdint>
#include <functional>

namespace pijit {

// Runs f(begin, end) over [0, n), in parallel when n exceeds `grain`. The split never changes
// results: callers give each index its own output.
void parallel_for(int64_t n, int64_t grain, const std::function<void(int64_t, int64_t)>& f);
// As many as a region of Threads gets, started here and now: no more than OMP_THREAD_LIMIT, one
// within another region and in a forked child.
int max_threads();
// While it lives, regions of other libraries ask for n threads and get them: OpenMP does not give
// fewer as the load is (OMP_DYNAMIC), where work was divided by n.
class Threads {
 public:
  explicit Threads(int n);
  ~Threads();
  Threads(const Threads&) = delete;

 private:
  int saved_;
  bool dynamic_;
};
// Of the last-level cache.
int64_t cache_bytes();

}  // namespace pijit
