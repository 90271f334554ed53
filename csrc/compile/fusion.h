// Fusion: partitions the live op nodes of a lowered graph into groups, each one kernel (or view).
//
// Elementwise nodes, and slices, with one domain share a group; a reduction joins the group of its
// operand. A group holds reductions over one run of axes at most. Nothing is computed twice, and a
// merge that would make two groups wait for each other is refused.
#pragma once
#include <array>

#include "graph/graph.h"
#include "runtime/device.h"

namespace pijit {

struct FusionGroup {
  enum Kind : uint8_t { kLoop, kLibrary, kView } kind;
  std::vector<uint32_t> nodes;  // in graph order
  Shape domain;                 // kLoop
  int lo = -1, hi = -1;         // kLoop: the reduced run of axes [lo, hi), if any
  uint8_t lanes = 0;            // kLoop: what its long functions compute on, see fusion.cc
  size_t instructions = 0;      // kLoop: of the functions' scalar code
  bool reduces() const { return lo >= 0; }
};

struct FusionPlan {
  std::vector<FusionGroup> groups;  // in an order of execution
  std::vector<int> group_of;        // per node; -1: input, constant, dead
};

FusionPlan plan_fusion(const Graph& g, const DeviceFacts& facts);

// A part of an operand that loops read where it lies.
struct Window {
  std::array<int64_t, kMaxRank> strides;  // in the operand, per axis of the part
  int64_t offset;
  // Do axes [lo, hi) of the part, whose shape is s, act as one?
  bool merges(const Shape& s, int lo, int hi) const;
};
// Those of a node that reads its operand so: steps must go forward, and elements lie side by side
// along an axis. One for a slice; for fold_lanes one per lane. Empty: no such node.
std::vector<Window> windows_of(const Graph& g, const Node& n);

}  // namespace pijit
