// Loops whose turns are counted, as passes that put code in front of them see them.
#pragma once
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "region/loops.h"

namespace pijit::region {

struct Refused {};  // a loop stays as it is

class CountedLoop {
 public:
  // Throws Refused where the head's test does not count turns.
  CountedLoop(Function& f, const Flow& flow, const Loop& l);

 protected:
  static void need(bool so) {
    if (!so) throw Refused();
  }
  Instr& at(int v) { return f_.instrs[static_cast<size_t>(v)]; }
  Block& block(int b) { return f_.blocks[static_cast<size_t>(b)]; }
  bool is_const(int v) { return at(v).op == Op::kConst; }
  bool is_inside(int v) const {
    return l_.body[static_cast<size_t>(home_[static_cast<size_t>(v)])];
  }
  bool is_counter(int v) const;
  bool writes(int v) { return facts(at(v).op).effect == Effect::kWrites && at(v).op != Op::kPoll; }
  const std::vector<int>& params() { return block(l_.head).params; }
  const Edge& into() { return block(l_.before).next; }
  Edge& back();

  // How often a counter is in it, where that is known: 0 of what does not change. Nothing: it is
  // other, or grows by what only a run knows.
  std::optional<int64_t> growth(int v);
  bool grows_evenly(int v);
  // Turns go on only while it holds. Throws Refused where more than counters decide it.
  void limit(int condition);

  // --- code in front of the loop
  int emit(Op op, int a, int b = kNoValue, int c = kNoValue, Type t = Type::kI64, int64_t imm = 0);
  int number(int64_t n, Type t = Type::kI64);
  // A value in the first turn, or so many turns after it.
  int value(int v, int turns = kNoValue);
  int address(const Instr& access, int turns = kNoValue);
  // In how many turns all limits hold.
  int turns();
  // Where so many turns are to come, a block comes before the loop, which `prepares` fills, and
  // gives other arguments to the loop than `without`.
  template <class Prepare>
  void place(int64_t least, Edge without, Prepare prepare) {
    const int own = f_.add_block();
    std::vector<int> tests, code;
    code_ = &tests;
    turns_ = turns();
    const int enough = emit(Op::kIGe, turns_, number(least), kNoValue, Type::kB1);
    code_ = &code;
    values_.clear();
    Edge with = prepare();
    Block& front = block(l_.before);
    for (const auto* part : {&numbers_, &tests})
      front.instrs.insert(front.instrs.end(), part->begin(), part->end());
    front.condition = enough;
    front.next = {own, {}};
    front.otherwise = std::move(without);
    block(own).instrs = std::move(code);
    block(own).next = std::move(with);
  }

  Function& f_;
  const Flow& flow_;
  const Loop& l_;
  const std::vector<int> home_;
  int turns_ = kNoValue;  // of place()
  std::vector<int>* code_ = nullptr;
  std::vector<int> numbers_;

 private:
  struct Limit {
    Op op;
    int grows, bound;
  };
  void find_counters();

  std::vector<int> counters_;
  std::vector<Limit> limits_;
  std::map<std::pair<int, int>, std::optional<int>> values_;
};

// An innermost one, without other ways out than the head's test and exits.
class ChainLoop : protected CountedLoop {
 public:
  ChainLoop(Function& f, const Flow& flow, const Loop& l);

 protected:
  // Of ways that meet again: an instruction of one of them, or a parameter where they meet.
  struct Mask {
    int condition;
    bool holds;
  };
  struct Choice {
    int condition, yes, no;
  };
  std::vector<int> chain_;  // the instructions of a turn, those of both ways among them
  std::map<int, Mask> masks_;
  std::map<int, Choice> choices_;

 private:
  void find_chain();
  int both_ways(const Block& from, size_t* blocks);

  int meets_ = -1;                  // where two ways did last
  std::vector<int> tests_of_ways_;  // that lead to a way of its own where they hold
};

// What the turn before stored is a parameter (forward_stores.cc). False: there is nothing such.
bool forward_store(Function& f, const Flow& flow, const Loop& l);

}  // namespace pijit::region
