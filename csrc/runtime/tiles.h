// Several loop kernels over the same rows, run tile by tile: each kernel takes a few rows before
// the next tile begins, so that what one hands to the next stays in cache, and one parallel region
// serves all. Values that only pass between them live in scratch memory of one tile.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "runtime/loop_kernel.h"

namespace pijit {

class Tiles {
 public:
  struct Operand {
    enum Kind : uint8_t { kIn, kOut, kScratch } kind;
    int index;  // operand of the step, or scratch value
  };
  struct Member {
    std::unique_ptr<LoopKernel> kernel;
    std::vector<Operand> in, out;
  };
  // row_bytes: of each scratch value; tile: rows at a time.
  Tiles(std::vector<Member> members, int64_t rows, int64_t tile, std::vector<size_t> row_bytes);
  void run(const void* const* in, void* const* out) const;
  std::string describe() const;

 private:
  void run_rows(const void* const* in, void* const* out, int64_t begin, int64_t end) const;
  std::vector<Member> members_;
  int64_t rows_, tile_, cost_ = 0;
  std::vector<size_t> row_bytes_, offset_;  // of scratch values
  size_t scratch_ = 0;
};

}  // namespace pijit
