#include "region/loops.h"

#include <algorithm>

namespace pijit::region {

Flow::Flow(const Function& f)
    : order_(reverse_postorder(f)), idom_(dominators(f, order_)), into_(f.blocks.size()) {
  for (int b : order_)
    for (int to : {f.blocks[b].next.block, f.blocks[b].otherwise.block})
      if (to >= 0) into_[to].push_back(b);
  for (int head : order_) add_loop(f, head);
  std::stable_sort(loops_.begin(), loops_.end(), [](auto& a, auto& b) { return a.size < b.size; });
}

bool Flow::dominates(int a, int b) const {
  while (b != a && b >= 0) b = idom_[b];
  return b == a;
}

void Flow::add_loop(const Function& f, int head) {
  Loop l{head, -1, {}, std::vector<bool>(f.blocks.size())};
  int entries = 0;
  for (int b : into_[head]) {
    if (dominates(head, b)) {
      l.ends.push_back(b);
    } else {
      l.before = b;
      ++entries;
    }
  }
  if (l.ends.empty()) return;
  if (entries != 1 || f.blocks[l.before].condition != kNoValue) l.before = -1;
  l.body[head] = true;
  std::vector<int> queue = l.ends;
  while (!queue.empty()) {
    const int b = queue.back();
    queue.pop_back();
    if (l.body[b]) continue;
    l.body[b] = true;
    ++l.size;
    for (int p : into_[b]) queue.push_back(p);
  }
  loops_.push_back(std::move(l));
}

bool Flow::is_innermost(const Loop& l) const {
  return std::none_of(loops_.begin(), loops_.end(), [&](const Loop& o) {
    return o.head != l.head && l.body[static_cast<size_t>(o.head)];
  });
}

std::vector<int> Flow::homes(const Function& f) const {
  std::vector<int> home(f.instrs.size(), -1);
  for (int b : order_) {
    for (int v : f.blocks[b].params) home[v] = b;
    for (int v : f.blocks[b].instrs) home[v] = b;
  }
  return home;
}

}  // namespace pijit::region
