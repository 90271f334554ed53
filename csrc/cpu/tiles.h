// The CPU's executor of loops that run tile by tile: one parallel region serves all of them.
#pragma once
#include "cpu/loop_kernel.h"

namespace pijit {

class Tiles : public Kernel {
 public:
  explicit Tiles(TileSpec s);
  void launch(const void* const* in, void* const* out) override;
  std::string describe() const override;

 private:
  struct Member {
    std::unique_ptr<LoopKernel> kernel, rest;
    std::vector<TileSpec::Operand> in, out;
  };
  void run_tiles(const void* const* in, void* const* out, int64_t begin, int64_t end) const;
  std::vector<Member> members_;
  int64_t slices_, tile_, cost_ = 0;
  std::vector<size_t> offset_;  // of scratch values
  size_t scratch_ = 0;
};

}  // namespace pijit
