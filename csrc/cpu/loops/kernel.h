// The CPU's kernel of a loop: outer dims are iterated here, the innermost ones by generated code or
// by the block interpreter.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "runtime/kernel.h"
#include "runtime/loop_spec.h"

namespace pijit {

// Passes along the innermost dim, one after the other: ptrs are inputs then outputs, which move by
// `steps` bytes from one pass to the next; in row form a reduced output points to the accumulator
// of the chunk, in col form to the row of accumulators. `steps` is read for more than one pass.
class InnerLoop {
 public:
  virtual ~InnerLoop() = default;
  virtual void run(char* const* ptrs, int64_t n, int64_t passes, const int64_t* steps) const = 0;
  void run(char* const* ptrs, int64_t n) const { run(ptrs, n, 1, nullptr); }
};
// What the inner loop's code depends on: form, body, dtypes, inner strides (0, 1, or another
// value).
// Outputs that stream are aligned to vectors.
struct InnerSpec {
  LoopSpec::Form form;
  // Hints. Few elements side by side: vectors of half as many are filled better. Columns one after
  // the other (col form, of more than one row): sums stay in registers. Many rows (row form): some
  // of them are reduced side by side.
  bool few = false, by_columns = false, many = false;
  // Passes are over multiples of kWhole elements, as many as the widest vector holds: no code is
  // made for what would be left.
  bool whole = false;
  static constexpr int64_t kWhole = 16;
  std::vector<SNode> body;
  std::vector<DType> in_types;
  std::vector<int64_t> in_strides, out_strides;
  std::vector<LoopOutput> out;  // strides unused
  // Of each input, or of none: that it begins `shift` elements after input `of`, in the same
  // memory.
  struct Slice {
    int of = -1, shift = 0;
  };
  static constexpr int kMaxShift = 7;
  std::vector<Slice> slices;
  // Of further pointers, which follow the outputs': what lies there is wanted soon.
  std::vector<DType> ahead;
  std::string key() const;
};

// Emitters, best first (cpu/impl_list.cc); cached by key.
std::shared_ptr<const InnerLoop> make_inner_loop(const InnerSpec& s);
// Of a collapsed loop. Outputs that cannot stream are marked so.
InnerSpec inner_spec(LoopSpec* s);

// Inner loops one after the other as one function: the pointers of all of them in a row; of each,
// in `shape`, n, passes, and the steps of its pointers.
class InnerChain {
 public:
  virtual ~InnerChain() = default;
  virtual void run(char* const* ptrs, const int64_t* shape) const = 0;
};
// Null where one of them is not generated code.
std::shared_ptr<const InnerChain> make_inner_chain(const std::vector<InnerSpec>& loops);

class LoopKernel : public Kernel {
 public:
  explicit LoopKernel(LoopSpec s);
  void run(const void* const* in, void* const* out) const;
  void launch(const void* const* in, void* const* out) override { run(in, out); }
  // The same on the calling thread.
  void run_alone(const void* const* in, void* const* out) const {
    run_range(in, out, 0, spec_.form == LoopSpec::kMap && outer_dims_ == 0 ? inner_ : outer_);
  }
  // About 2 cycles per unit and vector. A parallel region of threads that are awake costs about a
  // microsecond, and some more for data that the other core wrote.
  int64_t cost() const { return cost_of(spec_); }
  static int64_t cost_of(const LoopSpec& s);
  static constexpr int64_t kParallelCost = 500000;
  const LoopSpec& spec() const { return spec_; }
  std::string describe() const override { return spec_.describe(); }

 private:
  bool sums_by_columns() const;
  void make_apart();
  void run_range(const void* const* in, void* const* out, int64_t begin, int64_t end) const {
    run_part(in, out, begin, end, 0, inner_);
  }
  // Outer indices [begin, end); of the inner dim, [first, last). With `shared`, threads share the
  // chunks of each reduction.
  void run_part(const void* const* in, void* const* out, int64_t begin, int64_t end, int64_t first,
                int64_t last, bool shared = false) const;
  // One reduction in chunks; ptrs are those of its first elements, and of its results.
  void reduce_row(const InnerLoop& loop, char* const* ptrs, bool shared) const;
  void reduce_columns(const InnerLoop& loop, char* const* ptrs, int64_t inner,
                      const int64_t* step_reduced, bool shared) const;
  LoopSpec spec_;
  int outer_dims_;  // dims iterated here, before the reduced dim or the inner one
  int64_t outer_ = 1, reduce_ = 1, inner_ = 1;
  std::vector<uint64_t> identity_;  // per output: of its combiner
  // The second one, if any, stores around the caches; it takes memory that is_aligned().
  std::shared_ptr<const InnerLoop> loop_, streaming_;
  // Instead, where threads take part: the rows, and the columns of what these stored. Per operand,
  // which of all operands it is, inputs first.
  struct Apart {
    std::unique_ptr<LoopKernel> kernel;
    std::vector<size_t> in, out;
  };
  std::vector<Apart> apart_;
  bool is_aligned(char* const* base) const;
};

}  // namespace pijit
