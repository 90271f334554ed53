// Which consecutive loops of a program run tile by tile (TileSpec), and the loops of one
// tile.
#pragma once
#include <vector>

#include "absl/functional/function_ref.h"
#include "graph/graph.h"
#include "runtime/device.h"

namespace pijit {

// A step that is a loop, before its kernel is made; or one of a kernel that takes rows; or another
// step.
struct PlannedLoop {
  LoopSpec spec;             // not collapsed
  std::vector<int> in, out;  // slots
  uint32_t op = kNoNode;  // of such a kernel, whose rows a loop without a body would read and write
  bool runs_in_tiles() const { return !out.empty(); }
  bool is_loop() const { return runs_in_tiles() && op == kNoNode; }
  template <class F>
  void each_operand(F f) const {
    for (size_t k = 0; k < spec.in.size(); ++k) f(in[k], spec.in[k]);
    for (size_t k = 0; k < spec.out.size(); ++k) f(out[k], spec.out[k]);
  }
};

// Where the domain of a collapsed loop is divided into slices: dims[dim] is before * slices *
// after.
struct Cut {
  int dim;
  int64_t before, after;
  // An operand's elements of slice t are those i with i / stride % slices == t; 0: each slice reads
  // all of it.
  int64_t stride(const LoopOperand& o) const { return o.strides[dim] * after; }
};

struct TileGroup {
  size_t begin, end;  // steps
  int64_t slices;     // of equal size, that every loop computes from its own slice alone
  int64_t tile;       // slices that run together
  std::vector<Cut> cuts;
  // Or the tiles overlap, as those of stencils of stencils: slices are rows (of the first dim) of
  // the last loop, and each loop computes so many more behind a tile's last one (the halo), which
  // the next tile computes again.
  std::vector<int64_t> halo;
};
// `goes_outside`: is a slot read by steps from `end` on, or a result?
using GoesOutside = absl::FunctionRef<bool(int slot, size_t end)>;
std::vector<TileGroup> plan_tiles(const std::vector<PlannedLoop>& loops, const DeviceFacts& facts,
                                  GoesOutside goes_outside);

// The part of a collapsed loop that computes `count` slices. scratch: per operand, inputs first,
// whether its memory holds those slices only.
LoopSpec slices_of(const LoopSpec& s, const Cut& cut, int64_t slices, int64_t count,
                   const std::vector<bool>& scratch);
// The part of a loop, not collapsed, that computes so many rows.
LoopSpec rows_of(const LoopSpec& s, int64_t rows);

}  // namespace pijit
