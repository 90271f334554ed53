// What NumPy takes for what a graph computes.
#pragma once
#include <cstdint>

namespace pijit {

class Graph;

// An estimate, and a high one.
struct TimeInNumpy {
  int64_t ns = 0;           // where arrays that are computed with are small
  bool of_elements = true;  // none are: elements and parts of arrays are read and set
  int64_t copied = 0;  // bytes of arguments that kernels copy to set parts of them; NumPy does not
};
TimeInNumpy time_in_numpy(const Graph& g);

}  // namespace pijit
