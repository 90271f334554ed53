// Several loop kernels over the same slices, run tile by tile: each kernel takes a few slices
// before the next tile begins, so that what one hands to the next stays in cache, and one parallel
// region serves all. Values that only pass between them live in scratch memory of one tile. Slices
// are rows, or lie along another axis, as the channels of a batch norm.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "runtime/loop_kernel.h"

namespace pijit {

class Tiles {
 public:
  struct Operand {
    enum Kind : uint8_t { kIn, kOut, kScratch } kind = kIn;
    int index = 0;      // operand of the step, or scratch value
    int64_t bytes = 0;  // from one slice to the next
  };
  struct Member {
    std::unique_ptr<LoopKernel> kernel, rest;  // of a tile, and of the last one where it is smaller
    std::vector<Operand> in, out;
  };
  // scratch: bytes of each scratch value, of one tile.
  Tiles(std::vector<Member> members, int64_t slices, int64_t tile, std::vector<size_t> scratch);
  void run(const void* const* in, void* const* out) const;
  std::string describe() const;

 private:
  void run_tiles(const void* const* in, void* const* out, int64_t begin, int64_t end) const;
  std::vector<Member> members_;
  int64_t slices_, tile_, cost_ = 0;
  std::vector<size_t> offset_;  // of scratch values
  size_t scratch_ = 0;
};

}  // namespace pijit
