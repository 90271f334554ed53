// What NumPy takes for what a graph computes.
#pragma once
#include <cstdint>

namespace pijit {

class Graph;

// Nanoseconds, where arrays are small: an estimate, and a high one.
int64_t time_in_numpy(const Graph& g);

}  // namespace pijit
