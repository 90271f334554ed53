// Inner loops as machine code: the walk over an InnerSpec and the loop around it, of what a vector
// instruction set makes of each node (vector_code.h).
#pragma once
#include <array>
#include <memory>
#include <vector>

#include "base/config.h"
#include "cpu/loops/vector_code.h"

namespace pijit {

class LoopEmitter {
 public:
  using Fn = void (*)(char* const*, int64_t n, int64_t passes, const int64_t* steps);
  explicit LoopEmitter(std::unique_ptr<VectorCode> isa)
      : isa_(std::move(isa)), s_(isa_->s_), body_(isa_->body_) {}
  // A function of this loop alone.
  Code<Fn> emit();
  // The loop inside a function: `ptrs`, its pointers from the one numbered `first` on.
  void begin_function(asmjit::FuncNode* f) { isa_->begin(f); }
  void emit(x86::Compiler& cc, x86::Gp ptrs, size_t first, x86::Gp n, x86::Gp passes,
            x86::Gp steps);
  size_t pointers() const { return s_.in_types.size() + s_.out.size() + s_.ahead.size(); }
  // Puts f(cc) into code.
  template <class Signature, class F>
  static Code<Signature> function(F f) {
    return Code<Signature>([&](asmjit::CodeHolder& code) {
      x86::Compiler cc(&code);
      if (config().verify)
        cc.addDiagnosticOptions(asmjit::DiagnosticOptions::kValidateIntermediate |
                                asmjit::DiagnosticOptions::kValidateAssembler);
      f(cc);
      cc.endFunc();
      cc.finalize();
    });
  }

 private:
  using Reg = VectorCode::Reg;
  bool reduces_in_registers(const LoopOutput& o) const {
    return o.combine != Combiner::kNone && (s_.form == LoopSpec::kRow || isa_->by_columns_);
  }
  // Reductions are trees over 64 bytes of lanes: beside 8-byte types, those of a 4-byte type take
  // the lanes of two vectors in a row, and have an accumulator for each (Reg::v and Reg::hi).
  bool half_lanes(const LoopOutput& o) const {
    return isa_->wide_ && s_.form == LoopSpec::kRow && o.combine != Combiner::kNone &&
           size_of(o.dt) == 4;
  }
  void rows(x86::Gp n, x86::Gp passes, x86::Gp steps);
  // Rows that are reduced side by side, each with sums of its own: within a row, additions wait for
  // each other.
  int rows_together() const;
  struct Row {
    std::vector<x86::Gp> p;
    std::vector<Reg> hoisted, acc;
  };
  void use(Row* r) {
    std::swap(isa_->p_, r->p);
    std::swap(hoisted_, r->hoisted);
    std::swap(acc_, r->acc);
  }
  void columns(x86::Gp n, x86::Gp passes, x86::Gp steps);
  // f(tail, half), for all n elements: lanes_ at a time, and what is left. `half` counts the
  // vectors from 0 to halves - 1, over and over.
  template <class F>
  void each_vector(x86::Gp n, int halves, F f, bool from_start = true);
  // Of a row, the vectors whose slices of one array can be made of two in registers: the next one
  // is loaded once for all of them. Returns whether there are such slices; others follow from i_
  // on.
  bool slide(x86::Gp n);
  void load_scalars();
  void start_sums();
  void load_sums(bool tail);
  // Nodes [begin, end) of a body that runs in stages.
  struct Stage {
    size_t begin = 0, end = 0;
    std::vector<int> spills;  // values that later stages read
  };
  // `half`: which of two vectors in a row this is, for reductions of half_lanes().
  void body(bool tail, int half) { body(tail, half, {0, body_.size(), {}}); }
  void body(bool tail, int half, const Stage& stage);
  std::array<int, 3> operands(const SNode& n) const {
    const auto f = n.op == SOp::kFma ? isa_->fma_of(n) : VectorCode::Fma{n.a, n.b, n.c};
    return {f.a, f.b, f.c};
  }
  bool takes_memory(const SNode& n, int operand) const;
  void find_needed();
  bool waits() const;
  void find_stages();
  // each_vector() of a body that runs in stages.
  void each_block(x86::Gp n);
  x86::Mem slot(int id) const {
    return x86::ptr(slots_, slot_offset_, 0, slot_[static_cast<size_t>(id)] * kBlock * 64);
  }
  const std::unique_ptr<VectorCode> isa_;
  const InnerSpec& s_;
  const std::vector<SNode>& body_;
  static constexpr int kBlock = 16;  // vectors that a stage goes along
  std::vector<bool> in_loop_;        // constants that are not hoisted
  std::vector<bool> needed_;         // nodes that are computed
  std::vector<Reg> hoisted_, acc_;
  std::vector<Reg> slices_;    // while slide() goes along: inputs that are in registers
  std::vector<Stage> stages_;  // none, or at least two
  std::vector<int> slot_;      // where values wait from one stage to another
  x86::Gp slots_, slot_offset_;
};

}  // namespace pijit
