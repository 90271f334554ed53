// The loops of a region.
#pragma once
#include <vector>

#include "region/ir.h"

namespace pijit::region {

struct Loop {
  int head, before = -1;  // a block of its own in front of it, which leads nowhere else; else -1
  std::vector<int> ends;  // blocks that lead back
  std::vector<bool> body;
  size_t size = 1;  // blocks
};

class Flow {
 public:
  explicit Flow(const Function& f);
  bool dominates(int a, int b) const;
  // The block that each way to it comes through last; -1: there is none.
  int above(int b) const { return idom_[static_cast<size_t>(b)]; }
  const std::vector<int>& order() const { return order_; }
  const std::vector<int>& into(int b) const { return into_[static_cast<size_t>(b)]; }
  // Inner ones first.
  const std::vector<Loop>& loops() const { return loops_; }
  bool is_innermost(const Loop& l) const;
  const Loop* loop_at(int head) const;  // null: none begins there
  // By value: the block that has it.
  std::vector<int> homes(const Function& f) const;

 private:
  void add_loop(const Function& f, int head);
  std::vector<int> order_, idom_;
  std::vector<std::vector<int>> into_;
  std::vector<Loop> loops_;
};

// The ends of a loop become one.
void join_ends(Function& f, const Loop& l);

}  // namespace pijit::region
