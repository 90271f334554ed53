// What does not change in a loop is computed before it, and looked at there.
#include <algorithm>

#include "region/loops.h"

namespace pijit::region {

namespace {

class Hoisting {
 public:
  explicit Hoisting(Function& f) : f_(f), flow_(f), home_(flow_.homes(f)) {}

  void run() {
    for (const Loop& l : flow_.loops()) {
      if (l.before < 0) continue;
      exit_ = kNoExit;
      for (int b : flow_.order()) {
        if (!l.body[b]) continue;
        const bool always = std::all_of(l.ends.begin(), l.ends.end(),
                                        [&](int end) { return flow_.dominates(b, end); });
        std::erase_if(f_.blocks[b].instrs, [&](int v) { return moves(l, v, always); });
      }
    }
  }

 private:
  // `always`: each turn comes there, so that the loop would soon leave if this leaves before it.
  bool moves(const Loop& l, int v, bool always) {
    Instr& in = f_.instrs[v];
    const Effect effect = facts(in.op).effect;
    if (effect != Effect::kPure && effect != Effect::kCheck) return false;
    // it may be reached where the loop's own tests would not let it be
    if ((in.op == Op::kIDiv || in.op == Op::kIMod) && f_.instrs[in.args[1]].op != Op::kConst)
      return false;
    for (int a : in.args)
      if (a != kNoValue && l.body[home_[a]]) return false;
    if (in.exit != kNoExit) {
      if (!always || is_self(in.op) || (exit_ == kNoExit && !find_exit(l))) return false;
      in.exit = exit_;
    }
    home_[v] = l.before;
    f_.blocks[l.before].instrs.push_back(v);
    return true;
  }

  // Where the loop begins its frame is known, and so before the loop, with what the first turn is
  // given.
  bool find_exit(const Loop& l) {
    const Block& head = f_.blocks[l.head];
    const auto first = std::find_if(head.instrs.begin(), head.instrs.end(), [&](int v) {
      const Instr& in = f_.instrs[v];
      return in.exit != kNoExit || facts(in.op).effect == Effect::kWrites;
    });
    if (first == head.instrs.end() || f_.instrs[*first].exit == kNoExit) return false;
    const int from = f_.instrs[*first].exit;
    Exit exit = f_.exits[from];
    exit.as = f_.returned_by(from);
    for (int& v : exit.values) {
      const auto p = std::find(head.params.begin(), head.params.end(), v);
      if (p != head.params.end())
        v = f_.blocks[l.before].next.args[static_cast<size_t>(p - head.params.begin())];
      else if (l.body[home_[v]])
        return false;
    }
    exit_ = static_cast<int>(f_.exits.size());
    f_.exits.push_back(std::move(exit));
    return true;
  }

  Function& f_;
  const Flow flow_;
  std::vector<int> home_;
  int exit_ = kNoExit;  // of the loop's front
};

}  // namespace

void hoist(Function& f) { Hoisting(f).run(); }

}  // namespace pijit::region
