// Loops of a few turns, whose number is known, become those turns: what is read of neighbours is
// then part of the loop around, which may begin with vectors.
#include <algorithm>
#include <optional>

#include "region/loops.h"

namespace pijit::region {

namespace {

constexpr int64_t kMostTurns = 5;
constexpr size_t kMostInstrs = 160, kMostOfAll = 2500;  // of all turns; of the function

class Unrolling {
 public:
  Unrolling(Function& f, const Flow& flow, const Loop& l) : f_(f), flow_(flow), l_(l) {}

  bool run() {
    const auto turns = count();
    if (!turns || !leads_out_once()) return false;
    const Block& before = block(l_.before);
    std::vector<int> given = before.next.args;
    int to = new_block();
    block(l_.before).next = {to, {}};
    for (int64_t k = 0; k < *turns; ++k) {
      const int next = new_block();
      given = turn(to, next, given, k == 0);
      to = next;
    }
    end(to, given);
    return true;
  }

 private:
  Block& block(int b) { return f_.blocks[static_cast<size_t>(b)]; }
  Instr& at(int v) { return f_.instrs[static_cast<size_t>(v)]; }
  int new_block() { return f_.add_block(); }

  // From a constant on, by one, below a constant.
  std::optional<int64_t> count() {
    if (l_.before < 0 || l_.ends.size() != 1) return std::nullopt;
    const Block& head = block(l_.head);
    if (head.condition == kNoValue || block(l_.before).condition != kNoValue) return std::nullopt;
    const Instr test = at(head.condition);
    if (test.op != Op::kILt || at(test.args[1]).op != Op::kConst) return std::nullopt;
    const auto p = std::find(head.params.begin(), head.params.end(), itself(test.args[0]));
    if (p == head.params.end()) return std::nullopt;
    const auto k = static_cast<size_t>(p - head.params.begin());
    const Instr first = at(block(l_.before).next.args[k]), next = at(back().args[k]);
    if (first.op != Op::kConst || next.op != Op::kIAdd || itself(next.args[0]) != *p ||
        at(next.args[1]).op != Op::kConst || at(next.args[1]).imm != 1)
      return std::nullopt;
    int64_t turns;
    if (__builtin_sub_overflow(at(test.args[1]).imm, first.imm, &turns) || turns < 1 ||
        turns > kMostTurns)
      return std::nullopt;
    size_t instrs = 0;
    for (int b : flow_.order())
      if (is_inside(b)) instrs += block(b).instrs.size();
    const size_t all = instrs * static_cast<size_t>(turns);
    if (all > kMostInstrs || f_.instrs.size() + all > kMostOfAll) return std::nullopt;
    return turns;
  }
  int itself(int v) {
    while (at(v).op == Op::kIBelow) v = at(v).args[0];
    return v;
  }
  bool is_inside(int b) const { return l_.body[static_cast<size_t>(b)]; }
  const Edge& back() {
    const Block& end = block(l_.ends[0]);
    return end.next.block == l_.head ? end.next : end.otherwise;
  }
  // By the head's test alone.
  bool leads_out_once() {
    for (int b : flow_.order()) {
      if (!is_inside(b)) continue;
      const Block& from = block(b);
      if (from.exit != kNoExit) return false;
      for (const Edge* e : {&from.next, &from.otherwise})
        if (e->block >= 0 && !is_inside(e->block) && (b != l_.head || e != &from.otherwise))
          return false;
    }
    return !is_inside(block(l_.head).otherwise.block);
  }

  int now(int v) const { return v == kNoValue ? v : values_[static_cast<size_t>(v)]; }
  Edge now(Edge e) const {
    for (int& v : e.args) v = now(v);
    return e;
  }
  void begin(const std::vector<int>& given) {
    values_.resize(f_.instrs.size());
    for (size_t v = 0; v < values_.size(); ++v) values_[v] = static_cast<int>(v);
    const auto& params = block(l_.head).params;
    for (size_t k = 0; k < params.size(); ++k) values_[static_cast<size_t>(params[k])] = given[k];
  }
  void copy(int from, int to, bool polls) {
    for (int v : std::vector<int>(block(from).instrs)) {
      Instr in = at(v);
      if (in.op == Op::kPoll && !polls) continue;
      each_operand(in, [&](int& a) { a = now(a); });
      if (in.exit != kNoExit) in.exit = copied_exit(in.exit);
      const int made = f_.add(to, in);
      values_.resize(f_.instrs.size(), made);
      values_[static_cast<size_t>(v)] = made;
    }
  }
  int copied_exit(int exit) {
    Exit e = f_.exits[static_cast<size_t>(exit)];
    e.as = f_.returned_by(exit);
    for (int& v : e.values) v = now(v);
    f_.exits.push_back(std::move(e));
    return static_cast<int>(f_.exits.size()) - 1;
  }

  // A turn, from the block `first` on to `next`. What that gives its successor.
  std::vector<int> turn(int first, int next, const std::vector<int>& given, bool polls) {
    begin(given);
    std::vector<int> blocks(f_.blocks.size(), -1);
    std::vector<int> inside;
    for (int b : flow_.order())
      if (is_inside(b)) inside.push_back(b);
    for (int b : inside) {
      blocks[static_cast<size_t>(b)] = b == l_.head ? first : new_block();
      if (b == l_.head) continue;
      for (int p : std::vector<int>(block(b).params)) {
        const int made = f_.add_param(blocks[static_cast<size_t>(b)], at(p).type);
        values_.resize(f_.instrs.size(), made);
        values_[static_cast<size_t>(p)] = made;
      }
    }
    // in an order in which each comes behind what it is made of
    for (int b : inside) copy(b, blocks[static_cast<size_t>(b)], polls);
    std::vector<int> gives;
    for (int v : back().args) gives.push_back(now(v));
    auto led = [&](const Edge& e) {
      if (e.block < 0) return e;
      if (e.block == l_.head) return Edge{next, {}};
      Edge r = now(e);
      r.block = blocks[static_cast<size_t>(e.block)];
      return r;
    };
    for (int b : inside) {
      const Block from = block(b);
      Block& to = block(blocks[static_cast<size_t>(b)]);
      to.next = led(from.next);
      if (b == l_.head || from.condition == kNoValue) continue;
      to.condition = now(from.condition);
      to.otherwise = led(from.otherwise);
    }
    return gives;
  }
  // The head's instructions once more, and on to what comes behind the loop, which knows nothing
  // else of it.
  void end(int to, const std::vector<int>& given) {
    begin(given);
    copy(l_.head, to, false);
    block(to).next = now(block(l_.head).otherwise);
    auto rename = [&](int& v) { v = now(v); };
    for (int b : flow_.order()) {
      if (is_inside(b)) continue;
      for (int v : block(b).instrs) {
        each_operand(at(v), rename);
        if (at(v).exit != kNoExit)
          for (int& x : f_.exits[static_cast<size_t>(at(v).exit)].values) rename(x);
      }
      each_operand(block(b), rename);
      if (block(b).exit != kNoExit)
        for (int& x : f_.exits[static_cast<size_t>(block(b).exit)].values) rename(x);
    }
  }

  Function& f_;
  const Flow& flow_;
  const Loop& l_;
  std::vector<int> values_;
};

bool unroll_one(Function& f) {
  const Flow flow(f);
  for (const Loop& l : flow.loops())
    if (flow.is_innermost(l) && Unrolling(f, flow, l).run()) return true;
  return false;
}

}  // namespace

void unroll(Function& f) {
  constexpr int kMost = 12;
  for (int k = 0; k < kMost && unroll_one(f); ++k) {
    f.unrolled = true;
    simplify(f);
  }
}

}  // namespace pijit::region
