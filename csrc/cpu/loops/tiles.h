// The CPU's executor of loops that run tile by tile: one parallel region serves all of them.
#pragma once
#include "cpu/loops/kernel.h"

namespace pijit {

class Tiles : public Kernel {
 public:
  explicit Tiles(TileSpec s);
  void launch(const void* const* in, void* const* out) override;
  std::string describe() const override;

 private:
  using Operand = TileSpec::Operand;
  struct Member {
    std::unique_ptr<LoopKernel> kernel, rest;
    std::unique_ptr<OpKernel> op, rest_op;  // instead
    std::vector<Operand> in, out;
  };
  // All loops of a few rows as one function, where each takes one inner loop: a kernel of its own
  // takes about 100 ns to begin, as long as a row.
  struct Chain {
    struct Pointer {
      Operand of;
      int64_t offset;  // bytes
      bool stored, streams;
    };
    std::shared_ptr<const InnerChain> loops, streaming;  // see LoopKernel
    std::vector<Pointer> pointers;
    std::vector<int64_t> shape, rest;  // of tile_ slices, and of the last ones
  };
  int64_t slice_bytes(const TileSpec& s) const;
  bool make_chain(const TileSpec& s);
  void run_tiles(const void* const* in, void* const* out, int64_t begin, int64_t end) const;
  void run_chain(const void* const* in, void* const* out, int64_t begin, int64_t end) const;
  std::vector<Member> members_;
  std::unique_ptr<const Chain> chain_;  // instead of members_
  std::string text_;
  int64_t slices_, tile_, cost_ = 0;
  std::vector<size_t> scratch_;  // bytes of values between the loops
};

}  // namespace pijit
