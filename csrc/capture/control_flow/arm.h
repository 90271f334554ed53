// An arm of a branch, or the body of a loop, while it is traced.
#pragma once
#include <utility>

#include "capture/tracer.h"
#include "capture/values/iterator.h"
#include "capture/views.h"

namespace pijit {

// While it lives, ops go to a graph of their own.
class ControlFlow::Inside {
 public:
  explicit Inside(Tracer& t)
      : t_(t),
        scope_(t.scope_),
        serial_(t.arm_serial_),
        views_(t.views_.size()),
        arm(std::make_shared<Arm>()) {
    if (!t.arm_writes_) keep_views_up(t, true);
    arm->scope = std::make_unique<Scope>(arm->graph.get(), t.scope_);
    t.scope_ = arm->scope.get();
    t.arm_serial_ = t.arena_.serial();
    outer_ = std::exchange(t.arm_writes_, &arm->writes);
  }
  ~Inside() {
    arm->end_writes(t_);
    t_.views_.resize(std::min(views_, t_.views_.size()));  // those of the arm are not seen outside
    t_.arm_writes_ = outer_;
    t_.scope_ = scope_;
    t_.arm_serial_ = serial_;
  }
  uint64_t serial() const { return t_.arm_serial_; }

 private:
  Tracer& t_;
  Scope* scope_;
  uint64_t serial_;
  std::vector<Context::Write>* outer_;
  size_t views_;

 public:
  std::shared_ptr<Arm> arm;
};

// A jump whose ways are being traced. Who meets it again is in a loop with several exits.
class ControlFlow::Branching {
 public:
  Branching(ControlFlow& flow, const Frame& f, bool unrolls = false) : list_(flow.branching_) {
    const Tracer& t = flow.t_;
    for (auto [frame, pc] : list_)
      if (frame == &f && pc == f.pc && !unrolls)
        t.give_up(Reason::kTensorValue, "a loop that is left early", Case::kTensorBranch);
    constexpr int kMostUnrolled = 64;
    if (list_.empty()) flow.unrolled_ = 0;
    if (unrolls && ++flow.unrolled_ > kMostUnrolled)
      t.give_up(Reason::kTensorValue, "a loop that is left early", Case::kTensorBranch);
    if (list_.size() > 24)
      t.give_up(Reason::kTensorValue, "branches nested too deep", Case::kTensorBranch);
    list_.push_back({&f, f.pc});
  }
  ~Branching() { list_.pop_back(); }
  Branching(const Branching&) = delete;

 private:
  std::vector<std::pair<const Frame*, int>>& list_;
};

// Where an iterator stands. `dirty`: a branch decides that.
V place_of(Context& c, IteratorValue* it);
void put_at(IteratorValue* it, const V& place);

}  // namespace pijit
