// What does not change in a loop is computed before it.
#include <algorithm>

#include "region/ir.h"

namespace pijit::region {

void hoist(Function& f) {
  const auto order = reverse_postorder(f);
  const auto idom = dominators(f, order);
  auto dominates = [&](int a, int b) {
    while (b != a && b >= 0) b = idom[b];
    return b == a;
  };
  struct Loop {
    int head, before;
    std::vector<bool> body;
    size_t size;
  };
  std::vector<std::vector<int>> into(f.blocks.size());
  for (int b : order)
    for (int to : {f.blocks[b].next.block, f.blocks[b].otherwise.block})
      if (to >= 0) into[to].push_back(b);
  std::vector<Loop> loops;
  for (int head : order) {
    Loop l{head, -1, std::vector<bool>(f.blocks.size()), 1};
    std::vector<int> queue;
    int entries = 0;
    for (int b : into[head]) {
      if (dominates(head, b)) {
        queue.push_back(b);
      } else {
        l.before = b;
        ++entries;
      }
    }
    // a block of its own in front of the loop, which leads nowhere else
    if (queue.empty() || entries != 1 || f.blocks[l.before].condition != kNoValue) continue;
    l.body[head] = true;
    while (!queue.empty()) {
      const int b = queue.back();
      queue.pop_back();
      if (l.body[b]) continue;
      l.body[b] = true;
      ++l.size;
      for (int p : into[b]) queue.push_back(p);
    }
    loops.push_back(std::move(l));
  }
  std::sort(loops.begin(), loops.end(), [](auto& a, auto& b) { return a.size < b.size; });
  std::vector<int> home(f.instrs.size(), -1);
  for (int b : order) {
    for (int v : f.blocks[b].params) home[v] = b;
    for (int v : f.blocks[b].instrs) home[v] = b;
  }
  for (const Loop& l : loops)
    for (int b : order) {
      if (!l.body[b]) continue;
      std::erase_if(f.blocks[b].instrs, [&](int v) {
        const Instr& in = f.instrs[v];
        const Effect effect = facts(in.op).effect;
        if (effect != Effect::kPure && (effect != Effect::kCheck || in.exit != kNoExit))
          return false;
        // it may be reached where the loop's own tests would not let it be
        if ((in.op == Op::kIDiv || in.op == Op::kIMod) && f.instrs[in.args[1]].op != Op::kConst)
          return false;
        for (int a : in.args)
          if (a != kNoValue && l.body[home[a]]) return false;
        home[v] = l.before;
        f.blocks[l.before].instrs.push_back(v);
        return true;
      });
    }
}

}  // namespace pijit::region
