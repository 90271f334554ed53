// The CPU's threads and cache.
#pragma once
#include <cstdint>
#include <functional>

namespace pijit {

// Runs f(begin, end) over [0, n), in parallel when n exceeds `grain`. The split never changes
// results: callers give each index its own output.
void parallel_for(int64_t n, int64_t grain, const std::function<void(int64_t, int64_t)>& f);
int max_threads();
// Of the last-level cache.
int64_t cache_bytes();

}  // namespace pijit
