// Elementwise loops over arrays whose sizes and strides only a run knows: what statements with
// whole arrays do within a region.
#pragma once
#include <memory>
#include <vector>

#include "graph/scalar.h"
#include "runtime/foreign.h"

namespace pijit::region {

struct ArrayLoopSpec {
  std::vector<SNode> body;  // kInput k is an element of input k
  std::vector<DType> in;
  DType out;
  int node = -1;                            // of the body: what is stored
  ForeignLoop::Function foreign = nullptr;  // in the body's place
  void* data = nullptr;
  // The output stays in its place along some axes, but not along the innermost one: axes are taken
  // in the order in which they are given. Sums are of what lies there and all elements.
  bool folds = false, sums = false;
};

class ArrayLoop {
 public:
  static constexpr int kMostAxes = 8, kMostOperands = 32;
  virtual ~ArrayLoop() = default;
  // Operands are the inputs and, behind them, the output. `strides`: of each operand in turn, bytes
  // along each axis. None is empty, and where an input shares memory with the output, both have the
  // same elements at the same places.
  virtual void run(int rank, const int64_t* dims, char* const* operands,
                   const int64_t* strides) = 0;
};

using ArrayLoops = std::unique_ptr<ArrayLoop> (*)(ArrayLoopSpec);
bool register_array_loops(ArrayLoops make);
std::unique_ptr<ArrayLoop> make_array_loop(ArrayLoopSpec spec);

}  // namespace pijit::region
