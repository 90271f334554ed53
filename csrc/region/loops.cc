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

const Loop* Flow::loop_at(int head) const {
  const auto l =
      std::find_if(loops_.begin(), loops_.end(), [&](const Loop& o) { return o.head == head; });
  return l == loops_.end() ? nullptr : &*l;
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

void join_ends(Function& f, const Loop& l) {
  auto back = [&](int b) -> Edge& {
    Block& end = f.blocks[static_cast<size_t>(b)];
    return end.next.block == l.head ? end.next : end.otherwise;
  };
  const int joint = f.add_block();
  Edge whole{l.head, {}};
  std::vector<Edge> parts(l.ends.size(), Edge{joint, {}});
  for (size_t k = 0; k < f.blocks[static_cast<size_t>(l.head)].params.size(); ++k) {
    const int one = back(l.ends[0]).args[k];
    const bool same =
        std::all_of(l.ends.begin(), l.ends.end(), [&](int b) { return back(b).args[k] == one; });
    const int p = f.blocks[static_cast<size_t>(l.head)].params[k];
    whole.args.push_back(same ? one : f.add_param(joint, f.instrs[static_cast<size_t>(p)].type));
    for (size_t e = 0; e < parts.size() && !same; ++e)
      parts[e].args.push_back(back(l.ends[e]).args[k]);
  }
  for (size_t e = 0; e < parts.size(); ++e) back(l.ends[e]) = std::move(parts[e]);
  f.blocks[static_cast<size_t>(joint)].next = std::move(whole);
}

}  // namespace pijit::region
