// Inner loops that add up begin with turns in which nothing is looked at: how many there can be is
// known from what places are tested against, an infinity or what is no number stays in the sums,
// and nothing is stored, so that turns can be done once more. The loop itself does what is left,
// and all turns since the last look where a sum is not finite.
#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "region/counted_loop.h"

namespace pijit::region {

namespace {

class Unchecked : ChainLoop {
 public:
  using ChainLoop::ChainLoop;

  void run() {
    need(masks_.empty() && choices_.empty());
    find_sums();
    for (int v : chain_) look(v);
    need(checks_ > 0 && !sums_.empty());
    place_code();
  }

 private:
  // What is not finite in a turn is not in later ones either.
  void find_sums() {
    for (size_t k = 0; k < params().size(); ++k) {
      const auto made = carriers(params()[k]);
      const int next = back().args[k];
      if (next != params()[k] && std::find(made.begin(), made.end(), next) != made.end())
        sums_.push_back(k);
    }
  }
  // What is not finite where that value is not.
  std::vector<int> carriers(int v) {
    std::vector<int> made{v};
    for (int w : chain_)
      if (std::any_of(made.begin(), made.end(),
                      [&](int x) { return carries_what_is_not_finite(at(w), x); }))
        made.push_back(w);
    return made;
  }
  void look(int v) {
    const Instr& in = at(v);
    if (in.op == Op::kPoll) {
      need(home_[static_cast<size_t>(v)] == l_.head);
      poll_ = v;
      return;
    }
    need(!writes(v));
    if (in.op == Op::kQuiet) {
      need(reaches_a_sum(in.args[0]));
      ++checks_;
    } else if (in.op == Op::kCheck) {
      if (is_inside(in.args[0])) limit(in.args[0]);
      ++checks_;
    } else {
      need(in.exit == kNoExit);
    }
  }
  bool reaches_a_sum(int v) {
    const auto made = carriers(v);
    return std::any_of(sums_.begin(), sums_.end(), [&](size_t k) {
      return std::find(made.begin(), made.end(), back().args[k]) != made.end();
    });
  }

  // --- code in front

  // Before the loop a block counts turns, one does as many, and one looks at the sums: after it,
  // more turns are counted.
  void place_code() {
    constexpr int64_t kLeast = 6, kMost = 4096;  // turns until others are let in
    const int outside = l_.before, front = f_.add_block(), fast = f_.add_block(),
              seen = f_.add_block();
    const Edge start = into();
    Edge in{front, start.args}, slow{l_.head, {}}, go{fast, {}};
    for (int p : std::vector<int>(params())) {
      const Type t = at(p).type;
      slow.args.push_back(f_.add_param(front, t));
      go.args.push_back(slow.args.back());
      f_.add_param(fast, t);
    }
    std::vector<int> tests, turn, looks;
    // places are counted from what the front is given
    block(outside).next = slow;
    code_ = &tests;
    if (poll_ != kNoValue) {
      Instr poll = at(poll_);
      poll.exit = exit_with(poll.exit, slow.args);
      f_.instrs.push_back(poll);
      tests.push_back(static_cast<int>(f_.instrs.size()) - 1);
    }
    const int all = turns(), most = number(kMost), one = number(1), none = number(0);
    const int some = emit(Op::kSelect, emit(Op::kILt, all, most, kNoValue, Type::kB1), all, most);
    const int enough = emit(Op::kIGe, all, number(kLeast), kNoValue, Type::kB1);
    code_ = &turn;
    go.args.push_back(some);
    const int left = f_.add_param(fast, Type::kI64);
    Edge again{fast, {}};
    std::map<int, int> values;
    for (size_t k = 0; k < params().size(); ++k) values[params()[k]] = block(fast).params[k];
    auto value = [&](int v) {
      const auto it = values.find(v);
      return it == values.end() ? v : it->second;
    };
    const std::vector<int> needed = live();
    for (int v : chain_) {
      if (std::find(needed.begin(), needed.end(), v) == needed.end()) continue;
      Instr copy = at(v);
      each_operand(copy, [&](int& a) { a = value(a); });
      f_.instrs.push_back(copy);
      turn.push_back(static_cast<int>(f_.instrs.size()) - 1);
      values[v] = turn.back();
    }
    for (int v : back().args) again.args.push_back(value(v));
    const Edge after{front, again.args};
    again.args.push_back(emit(Op::kISub, left, one));
    const int more = emit(Op::kINe, again.args.back(), none, kNoValue, Type::kB1);
    code_ = &looks;
    int finite = kNoValue;
    for (size_t k : sums_) {  // x - x is 0
      const int x = after.args[k], difference = emit(Op::kFSub, x, x, kNoValue, Type::kF64);
      const int is = emit(Op::kFEq, difference, number(0, Type::kF64), kNoValue, Type::kB1);
      finite = finite == kNoValue ? is : emit(Op::kSelect, finite, is, finite, Type::kB1);
    }
    block(front).instrs = std::move(tests);
    block(front).condition = enough;
    block(front).next = std::move(go);
    block(front).otherwise = slow;
    block(fast).instrs = std::move(turn);
    block(fast).condition = more;
    block(fast).next = std::move(again);
    block(fast).otherwise = {seen, {}};
    block(seen).instrs = std::move(looks);
    block(seen).condition = finite;
    block(seen).next = after;
    block(seen).otherwise = std::move(slow);
    Block& b = block(outside);
    b.instrs.insert(b.instrs.end(), numbers_.begin(), numbers_.end());
    b.next = std::move(in);
  }
  // What the next turn is given, and what that is made of.
  std::vector<int> live() {
    std::vector<int> all = back().args;
    for (size_t k = 0; k < all.size(); ++k)
      if (is_inside(all[k]))
        each_operand(at(all[k]), [&](int& a) {
          if (std::find(all.begin(), all.end(), a) == all.end()) all.push_back(a);
        });
    return all;
  }
  // The one of the loop's head, where its parameters are these values.
  int exit_with(int from, const std::vector<int>& args) {
    Exit e = f_.exits[static_cast<size_t>(from)];
    e.as = f_.returned_by(from);
    for (int& v : e.values) {
      const auto p = std::find(params().begin(), params().end(), v);
      need(p != params().end() || !is_inside(v));
      if (p != params().end()) v = args[static_cast<size_t>(p - params().begin())];
    }
    f_.exits.push_back(std::move(e));
    return static_cast<int>(f_.exits.size()) - 1;
  }

  std::vector<size_t> sums_;  // places of parameters
  int checks_ = 0, poll_ = kNoValue;
};

}  // namespace

bool unchecked_loop(Function& f, int head) {
  const Flow flow(f);
  const Loop* const l = flow.loop_at(head);
  if (!l || l->before < 0 || l->ends.size() != 1) return false;
  Function made = f;
  try {
    Unchecked(made, flow, *l).run();
  } catch (const Refused&) {
    return false;
  }
  f = std::move(made);
  return true;
}

}  // namespace pijit::region
