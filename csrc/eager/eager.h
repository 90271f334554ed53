// Eager execution: each op is a one-node graph, compiled once per (op, attributes, operand types)
// and kept, and so is its gradient.
#pragma once
#include <span>
#include <vector>

#include "graph/grad.h"
#include "runtime/program.h"

namespace pijit {

// Runs ops as they are emitted. Vals index the arrays it holds.
class EagerBuilder : public Builder {
 public:
  // kAmongOthers: ops that take long let go of the GIL. Not for callers who change a Tensor
  // by what they read of it.
  enum Company : bool { kAlone, kAmongOthers };
  explicit EagerBuilder(Company company = kAlone) : company_(company) {}
  Val wrap(ArrayRef a) {
    settle(a->type);
    return keep(std::move(a));
  }
  const ArrayRef& array(Val v) const {
    return v.id < kInline ? inline_[v.id] : more_[v.id - kInline];
  }
  Val emit(const OpDef& op, std::span<const Val> in, Attrs attrs, const Type& out) override;
  const Type& type(Val v) const override { return array(v)->type; }
  using Builder::constant;
  Val constant(DType dt, uint64_t bits) override { return keep(scalar_array(dt, bits)); }
  // The rule as one program, unless its ops are to be recorded.
  bool run_vjp(const OpDef& op, const Attrs& attrs, std::span<const Val> in, Val out, Val ct,
               const std::vector<bool>& need, std::vector<Val>* d) override;
  uint32_t values() const override { return n_; }
  void drop(Val v) override {
    (v.id < kInline ? inline_[v.id] : more_[v.id - kInline]) = ArrayRef();
  }

 private:
  Val keep(ArrayRef a) {
    if (n_ < kInline)
      inline_[n_] = std::move(a);
    else
      more_.push_back(std::move(a));
    return {this, n_++};
  }
  void run(const Program& p, std::span<Array* const> in, ArrayRef* out) const {
    if (company_ == kAmongOthers)
      p.run_among_others(in, out);
    else
      p.run(in, nullptr, out);
  }
  static constexpr uint32_t kInline = 10;
  const Company company_;
  ArrayRef inline_[kInline];
  std::vector<ArrayRef> more_;
  uint32_t n_ = 0;
};

}  // namespace pijit
