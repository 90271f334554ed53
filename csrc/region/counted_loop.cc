#include "region/counted_loop.h"

#include <algorithm>
#include <array>

namespace pijit::region {

CountedLoop::CountedLoop(Function& f, const Flow& flow, const Loop& l)
    : f_(f), flow_(flow), l_(l), home_(flow.homes(f)) {
  need(l.before >= 0 && l.ends.size() == 1);
  const Block& head = block(l.head);
  need(head.exit == kNoExit && head.condition != kNoValue &&
       !l.body[static_cast<size_t>(head.otherwise.block)]);
  find_counters();
}

bool CountedLoop::is_counter(int v) const {
  return std::find(counters_.begin(), counters_.end(), v) != counters_.end();
}
Edge& CountedLoop::back() {
  Block& end = block(l_.ends[0]);
  return end.next.block == l_.head ? end.next : end.otherwise;
}

// The turn's number: what counts up by one.
void CountedLoop::find_counters() {
  const Block& head = block(l_.head);
  for (size_t k = 0; k < head.params.size(); ++k) {
    const Instr next = at(back().args[k]);
    if (next.op == Op::kIAdd && next.exit == kNoExit && is_const(next.args[1]) &&
        at(next.args[1]).imm == 1 && next.args[0] == head.params[k])
      counters_.push_back(head.params[k]);
  }
  need(!counters_.empty());
  limit(head.condition);
  need(limits_[0].op == Op::kILt || limits_[0].op == Op::kILe);
}

std::optional<int64_t> CountedLoop::growth(int v) {
  if (!is_inside(v)) return 0;
  if (is_counter(v)) return 1;
  const Instr in = at(v);
  if (in.exit != kNoExit) return std::nullopt;
  auto of = [&](int k) { return growth(in.args[k]); };
  switch (in.op) {
    case Op::kIBelow: return of(0);
    case Op::kIAdd:
    case Op::kISub: {
      const auto a = of(0), b = of(1);
      if (!a || !b) return std::nullopt;
      return in.op == Op::kIAdd ? *a + *b : *a - *b;
    }
    case Op::kIMul: {
      const auto a = of(0), b = of(1);
      if (a == 0 && b == 0) return 0;
      if (a && b == 0 && is_const(in.args[1])) return *a * at(in.args[1]).imm;
      if (b && a == 0 && is_const(in.args[0])) return *b * at(in.args[0]).imm;
      return std::nullopt;
    }
    default: return std::nullopt;
  }
}
bool CountedLoop::grows_evenly(int v) {
  if (growth(v)) return true;
  const Instr in = at(v);
  if (in.exit != kNoExit) return false;
  if (in.op == Op::kIAdd || in.op == Op::kISub)
    return grows_evenly(in.args[0]) && grows_evenly(in.args[1]);
  if (in.op != Op::kIMul) return false;
  return (growth(in.args[0]) == 0 && grows_evenly(in.args[1])) ||
         (growth(in.args[1]) == 0 && grows_evenly(in.args[0]));
}

int CountedLoop::emit(Op op, int a, int b, int c, Type t, int64_t imm) {
  Instr in{op, t};
  in.args[0] = a;
  in.args[1] = b;
  in.args[2] = c;
  in.imm = imm;
  f_.instrs.push_back(in);
  code_->push_back(static_cast<int>(f_.instrs.size()) - 1);
  return code_->back();
}
int CountedLoop::number(int64_t n, Type t) {
  Instr in{Op::kConst, t};
  in.imm = n;
  f_.instrs.push_back(in);
  numbers_.push_back(static_cast<int>(f_.instrs.size()) - 1);
  return numbers_.back();
}
int CountedLoop::value(int v, int turns) {
  if (!is_inside(v)) return v;
  auto& known = values_[{turns, v}];
  if (known) return *known;
  const auto p = std::find(params().begin(), params().end(), v);
  int r;
  if (p != params().end()) {
    r = into().args[static_cast<size_t>(p - params().begin())];
    if (turns != kNoValue) r = emit(Op::kIAdd, r, turns);
  } else {
    const Instr in = at(v);
    std::array<int, 3> args{kNoValue, kNoValue, kNoValue};
    for (size_t k = 0; k < 3; ++k)
      if (in.args[k] != kNoValue) args[k] = value(in.args[k], turns);
    r = in.op == Op::kIBelow ? args[0] : emit(in.op, args[0], args[1], args[2], in.type, in.imm);
  }
  values_[{turns, v}] = r;
  return r;
}

int CountedLoop::address(const Instr& access, int turns) {
  int index = value(access.args[1], turns);
  if (log_scale_of(access.imm) > 0)
    index = emit(Op::kIMul, index, number(int64_t{1} << log_scale_of(access.imm)));
  const int sum = emit(Op::kIAdd, access.args[0], index);
  return offset_of(access.imm) == 0 ? sum : emit(Op::kIAdd, sum, number(offset_of(access.imm)));
}

static Op turned(Op op) {
  return op == Op::kILt   ? Op::kIGt
         : op == Op::kILe ? Op::kIGe
         : op == Op::kIGt ? Op::kILt
                          : Op::kILe;
}
void CountedLoop::limit(int condition) {
  need(is_inside(condition));
  const Instr in = at(condition);
  need(in.op == Op::kILt || in.op == Op::kILe || in.op == Op::kIGt || in.op == Op::kIGe);
  const auto a = growth(in.args[0]), b = growth(in.args[1]);
  if (a == 1 && b == 0)
    limits_.push_back({in.op, in.args[0], in.args[1]});
  else if (a == 0 && b == 1)
    limits_.push_back({turned(in.op), in.args[1], in.args[0]});
  else
    throw Refused();
}
int CountedLoop::turns() {
  int least = kNoValue;
  for (const Limit& l : limits_) {
    const int x = value(l.grows), bound = value(l.bound);
    int n;
    if (l.op == Op::kILt || l.op == Op::kILe) {
      n = emit(Op::kISub, bound, x);
      if (l.op == Op::kILe) n = emit(Op::kIAdd, n, number(1));
      // of bounds that are far below, the difference may be any number
      n = emit(Op::kSelect, emit(l.op, x, bound, kNoValue, Type::kB1), n, number(0));
    } else {  // all turns, if the first one
      n = emit(Op::kSelect, emit(l.op, x, bound, kNoValue, Type::kB1), number(INT32_MAX),
               number(0));
    }
    if (least == kNoValue)
      least = n;
    else
      least = emit(Op::kSelect, emit(Op::kILt, n, least, kNoValue, Type::kB1), n, least);
  }
  return least;
}

ChainLoop::ChainLoop(Function& f, const Flow& flow, const Loop& l) : CountedLoop(f, flow, l) {
  find_chain();
  // What a way reads may be tested by the condition alone: it is taken in all turns, or decided by
  // other values than places are.
  for (int v : tests_of_ways_) {
    const Instr in = at(v);
    if (in.op >= Op::kIEq && in.op <= Op::kIGe && growth(in.args[0]) && growth(in.args[1]))
      limit(v);
  }
}

// The instructions of a turn, one after the other: only the head's test and exits lead out. Ways
// that meet again are both taken.
void ChainLoop::find_chain() {
  size_t blocks = 0;
  int b = l_.head;
  do {
    const Block& now = block(b);
    need(now.exit == kNoExit && (now.params.empty() || b == l_.head || b == meets_));
    chain_.insert(chain_.end(), now.instrs.begin(), now.instrs.end());
    ++blocks;
    if (b != l_.head && now.condition != kNoValue)
      b = both_ways(now, &blocks);
    else
      b = now.next.block;
    need(b >= 0 && l_.body[static_cast<size_t>(b)] && blocks <= l_.size);
  } while (b != l_.head);
  need(blocks == l_.size);
  constexpr size_t kMostInstrs = 200;
  need(chain_.size() <= kMostInstrs);
}
int ChainLoop::both_ways(const Block& from, size_t* blocks) {
  std::array<const Edge*, 2> ends{&from.next, &from.otherwise};
  for (size_t k = 0; k < 2; ++k) {
    const Block& way = block(ends[k]->block);
    if (flow_.into(ends[k]->block).size() != 1) continue;
    need(way.params.empty() && way.condition == kNoValue && way.exit == kNoExit);
    if (k == 0) tests_of_ways_.push_back(from.condition);
    for (int v : way.instrs) {
      masks_[v] = {from.condition, k == 0};
      chain_.push_back(v);
    }
    ends[k] = &way.next;
    ++*blocks;
  }
  need(ends[0]->block == ends[1]->block && ends[0]->block != l_.head);
  meets_ = ends[0]->block;
  const auto& met = block(meets_).params;
  for (size_t k = 0; k < met.size(); ++k)
    choices_[met[k]] = {from.condition, ends[0]->args[k], ends[1]->args[k]};
  return meets_;
}

}  // namespace pijit::region
