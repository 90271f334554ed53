// Loop kernels: a fused group of elementwise ops, with at most one reduced run of dims.
//
// Domain: dims in row-major order. Every operand has a stride per dim, in elements. Forms:
//   map   outputs are stored at every index
//   row   the last dim is reduced: [rows..., n]
//   col   the dim before the last is reduced: [outer..., r, n]
// Reduction trees are fixed by sizes alone. Row form: chunks of kChunk elements in order; inside a
// chunk 64/size lanes, element i to lane i mod lanes; lanes fold by halves. Col form: chunks of
// kRowChunk rows in order; inside a chunk rows in order. Threads and fusion change nothing.
#pragma once
#include <memory>
#include <vector>

#include "graph/op.h"

namespace pijit {

constexpr int64_t kChunk = 4096;
constexpr int64_t kRowChunk = 1024;
constexpr int64_t kLaneBytes = 64;

struct LoopOperand {
  DType dt;
  std::vector<int64_t> strides;  // per dim of the domain
  int64_t offset = 0;            // of the first element
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
};

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
  // the other (col form, of more than one row): sums stay in registers.
  bool few = false, by_columns = false;
  std::vector<SNode> body;
  std::vector<DType> in_types;
  std::vector<int64_t> in_strides, out_strides;
  std::vector<LoopOutput> out;  // strides unused
  std::string key() const;
};

// Emitters, best first (cpu/impl_list.cc); cached by key.
std::shared_ptr<const InnerLoop> make_inner_loop(const InnerSpec& s);

class LoopKernel {
 public:
  explicit LoopKernel(LoopSpec s);
  void run(const void* const* in, void* const* out) const;
  // The same on the calling thread.
  void run_alone(const void* const* in, void* const* out) const {
    run_range(in, out, 0, spec_.form == LoopSpec::kMap && outer_dims_ == 0 ? inner_ : outer_);
  }
  // About 2 cycles per unit and vector. A parallel region costs some microseconds, and as much
  // again for data that the other core wrote: alone, 65,536 elements of a Momentum update take 7.6
  // us on two cores and 10.7 on one; in a training step they take 44 and 13.
  int64_t cost() const;
  static constexpr int64_t kParallelCost = 1200000;
  const LoopSpec& spec() const { return spec_; }
  std::string describe() const;

 private:
  bool sums_by_columns() const;
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
  bool is_aligned(char* const* base) const;
};

// The identity of a combiner, and a combination of two values, as memory bits of dtype t.
uint64_t combiner_identity(Combiner c, DType t);
SVal combine(SBuilder& sb, Combiner c, SVal a, SVal b);
void combine_scalar(Combiner c, DType t, void* acc, const void* x);

}  // namespace pijit
