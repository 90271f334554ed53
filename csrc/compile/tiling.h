// Which consecutive loop kernels of a program run tile by tile (runtime/tiles.h).
#pragma once
#include <functional>
#include <vector>

#include "runtime/program.h"

namespace pijit {

struct TileGroup {
  size_t begin, end;  // steps
  int64_t rows;       // of equal size, that every kernel computes from its own row alone
  int64_t row_bytes;  // of all operands
};
// numel: of the value in a slot.
std::vector<TileGroup> plan_tiles(const std::vector<Program::Step>& steps,
                                  const std::function<int64_t(int)>& numel);

}  // namespace pijit
