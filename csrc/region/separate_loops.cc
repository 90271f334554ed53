// Nested loops that begin with the same block get one each: what the inner one does not change can
// then be computed before it.
#include <algorithm>

#include "region/loops.h"

namespace pijit::region {

namespace {

// How many parameters an edge leaves as they are, less those that it sets back: outer loops do that
// with what inner ones count.
int64_t kept_by(const Function& f, int from, int head) {
  const Block& b = f.blocks[static_cast<size_t>(from)];
  const Edge& e = b.next.block == head ? b.next : b.otherwise;
  const auto& params = f.blocks[static_cast<size_t>(head)].params;
  int64_t n = 0;
  for (size_t k = 0; k < params.size(); ++k) {
    n += e.args[k] == params[k];
    n -= f.instrs[static_cast<size_t>(e.args[k])].op == Op::kConst;
  }
  return n;
}

// Do both ends count on what the head tests? Then they end turns of one loop.
bool end_the_same(const Function& f, const Flow& flow, int a, int b, int head) {
  const Block& h = f.blocks[static_cast<size_t>(head)];
  const Block* tests = &h;
  while (tests->condition == kNoValue) {  // blocks that only this one leads to
    const int next = tests->next.block;
    if (next < 0 || next == head || flow.into(next).size() != 1) return false;
    tests = &f.blocks[static_cast<size_t>(next)];
  }
  auto edge = [&](int from) -> const Edge& {
    const Block& end = f.blocks[static_cast<size_t>(from)];
    return end.next.block == head ? end.next : end.otherwise;
  };
  const Instr& test = f.instrs[static_cast<size_t>(tests->condition)];
  for (size_t k = 0; k < h.params.size(); ++k) {
    const int p = h.params[k], next = edge(a).args[k];
    if (next != edge(b).args[k] || (test.args[0] != p && test.args[1] != p)) continue;
    const Instr& in = f.instrs[static_cast<size_t>(next)];
    if (in.op != Op::kIAdd) continue;
    const Instr& from = f.instrs[static_cast<size_t>(in.args[0])];
    if (in.args[0] == p || (from.op == Op::kIBelow && from.args[0] == p)) return true;
  }
  return false;
}

bool separate(Function& f) {
  const Flow flow(f);
  for (const Loop& l : flow.loops()) {
    if (l.ends.size() < 2) continue;
    std::vector<int> ends = l.ends;
    std::stable_sort(ends.begin(), ends.end(),
                     [&](int a, int b) { return kept_by(f, a, l.head) > kept_by(f, b, l.head); });
    // the inner one changes fewer
    if (kept_by(f, ends[0], l.head) == kept_by(f, ends[1], l.head)) continue;
    if (end_the_same(f, flow, ends[0], ends[1], l.head)) continue;
    const int outer = f.add_block();
    Edge in{l.head, {}};
    for (size_t k = 0; k < f.blocks[static_cast<size_t>(l.head)].params.size(); ++k) {
      const int p = f.blocks[static_cast<size_t>(l.head)].params[k];
      in.args.push_back(f.add_param(outer, f.instrs[static_cast<size_t>(p)].type));
    }
    for (int b : flow.into(l.head)) {
      if (b == ends[0]) continue;
      Block& from = f.blocks[static_cast<size_t>(b)];
      for (Edge* e : {&from.next, &from.otherwise})
        if (e->block == l.head) e->block = outer;
    }
    f.blocks[static_cast<size_t>(outer)].next = std::move(in);
    return true;
  }
  return false;
}

}  // namespace

void separate_loops(Function& f) {
  constexpr int kMost = 32;
  for (int k = 0; k < kMost && separate(f); ++k) {
  }
}

}  // namespace pijit::region
