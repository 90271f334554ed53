// Loops as data: a fused group of elementwise ops, with at most one reduced run of dims. A device
// makes kernels of them.
//
// Domain: dims in row-major order. Every operand has a stride per dim, in elements. Forms:
//   map   outputs are stored at every index
//   row   the last dim is reduced: [rows..., n]
//   col   the dim before the last is reduced: [outer..., r, n]
// Reduction trees are fixed by sizes alone. Row form: chunks of row_chunk(n) elements in order;
// inside a chunk 64/size lanes, element i to lane i mod lanes; lanes fold by halves. Col form:
// chunks of kRowChunk rows in order; inside a chunk rows in order. Threads, fusion and the device
// change nothing.
#pragma once
#include <algorithm>
#include <cstdint>
#include <memory>
#include <vector>

#include "graph/op.h"
#include "runtime/kernel.h"

namespace pijit {

constexpr int64_t kChunk = 4096;
constexpr int64_t kRowChunk = 1024;
constexpr int64_t kLaneBytes = 64;
// Elements of a chunk of a row of n: kChunk, or fewer where that makes all chunks alike, of whole
// lanes. Then a map keeps its layout where it is summed (compile/passes/layout.cc).
inline int64_t row_chunk(int64_t n) {
  constexpr int64_t kMostTried = 32;
  const int64_t least = (n + kChunk - 1) / kChunk;
  for (int64_t chunks = least; chunks > 1 && chunks < std::min(2 * least, least + kMostTried);
       ++chunks)
    if (n % (chunks * kLaneBytes) == 0) return n / chunks;
  return kChunk;
}

struct LoopOperand {
  DType dt;
  std::vector<int64_t> strides;  // per dim of the domain
  int64_t offset = 0;            // of the first element
  int memory = -1;               // operands of one number, not below 0, lie in the same memory
};
struct LoopOutput : LoopOperand {
  int node = -1;                       // in the body
  Combiner combine = Combiner::kNone;  // kNone: stored at every index
  bool stream = false;                 // around the caches, where memory is aligned for it
};
struct LoopSpec {
  enum Form : uint8_t { kMap, kRow, kCol } form = kMap;
  std::vector<int64_t> dims;
  std::vector<LoopOperand> in;
  std::vector<LoopOutput> out;
  std::vector<SNode> body;  // kInput k reads in[k]
  // Merges adjacent dims where every operand allows it, and drops dims of 1.
  void collapse();
  // Bytes of the operand's elements that the loop touches.
  int64_t footprint(const LoopOperand& o) const;
  std::string describe() const;
};

// Several loops over the same slices, run tile by tile: each loop takes a few slices before the
// next tile begins, so that what one hands to the next stays in cache. Values that only pass
// between them live in scratch memory of one tile. Slices are rows, or lie along another axis, as
// the channels of a batch norm.
struct TileSpec {
  struct Operand {
    enum Kind : uint8_t { kIn, kOut, kScratch } kind = kIn;
    int index = 0;      // operand of the step, or scratch value
    int64_t bytes = 0;  // from one slice to the next
  };
  struct Member {
    LoopSpec loop, rest;  // of a tile, and of the last one where it is smaller
    std::vector<Operand> in, out;
    std::unique_ptr<OpKernel> op, rest_op;  // instead: the loops tell what is touched
  };
  std::vector<Member> members;
  int64_t slices = 0, tile = 0;  // tile: slices that run together
  std::vector<size_t> scratch;   // bytes of each scratch value, of one tile
};

// The identity of a combiner, and a combination of two values, as memory bits of dtype t.
uint64_t combiner_identity(Combiner c, DType t);
SVal combine(SBuilder& sb, Combiner c, SVal a, SVal b);
void combine_scalar(Combiner c, DType t, void* acc, const void* x);

}  // namespace pijit
