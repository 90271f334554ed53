// Block interpreter of scalar IR: the definition of what a kernel computes, and the kernel of last
// resort.
#pragma once
#include <span>
#include <vector>

#include "graph/scalar.h"

namespace pijit {

class BlockProgram {
 public:
  // `outputs[k]` is the node stored as `out_types[k]`.
  BlockProgram(std::vector<SNode> nodes, std::vector<int> outputs, std::vector<DType> out_types);
  // Elements i = 0..n-1: input k is read at src[k] + i * strides[k] (in elements of in_types[k]).
  void run(const void* const* src, const int64_t* strides, const DType* in_types, void* const* dst,
           const int64_t* dst_strides, int64_t n) const;

 private:
  std::vector<SNode> nodes_;
  std::vector<int> outputs_;
  std::vector<DType> out_types_;
};

}  // namespace pijit
