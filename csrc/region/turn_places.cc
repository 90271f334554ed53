#include "region/turn_places.h"

#include <algorithm>
#include <cstdint>

namespace pijit::region {

using Node = ParallelLoop::Node;

TurnPlaces::TurnPlaces(Function& f, const Flow& flow, const Loop& l) : CountedLoop(f, flow, l) {
  made_->words.resize(ParallelLoop::kParams + params().size());
}

int TurnPlaces::head_param(int v) {
  const auto p = std::find(params().begin(), params().end(), v);
  return p == params().end() ? -1 : static_cast<int>(p - params().begin());
}

size_t TurnPlaces::word_of(int v) {
  const auto [it, fresh] = words_.try_emplace(v, made_->words.size());
  if (fresh) made_->words.push_back(0);
  return it->second;
}
// Calls g(comparison, whether it holds) for what was tested on the way to the access `access_`.
template <class G>
void TurnPlaces::each_test(G g) {
  auto checks = [&](int b) {
    for (int v : block(b).instrs) {
      if (v == access_) break;
      if (at(v).op == Op::kCheck) g(at(v).args[0], true);
    }
  };
  int b = at_;
  checks(b);
  while (b != l_.head) {
    const int over = flow_.above(b);
    need(is_in(over));
    const Block& from = block(over);
    if (from.condition != kNoValue && over != l_.head && flow_.into(b).size() == 1)
      g(from.condition, from.next.block == b);
    checks(over);
    b = over;
  }
}
void TurnPlaces::find_places(const std::vector<bool>& live) {
  for (int b : flow_.order()) {
    if (!is_in(b)) continue;
    for (int v : block(b).instrs) {
      const Instr in = at(v);
      need(in.op != Op::kLoadInt);  // it is of no elements
      if (!live[static_cast<size_t>(v)] || !is_access(in.op)) continue;
      at_ = b;
      access_ = v;
      int index = node(in.args[1]);
      if (log_scale_of(in.imm) > 0)
        index = add_node({Node::kMul, index, constant_node(int64_t{1} << log_scale_of(in.imm))});
      int place = add_node({Node::kAdd, node(in.args[0]), index});
      if (offset_of(in.imm) != 0)
        place = add_node({Node::kAdd, place, constant_node(offset_of(in.imm))});
      // what is stored at the same place in all turns
      need(!writes(v) || moves_[static_cast<size_t>(place)]);
      if (writes(v)) need_tests(in);
      made_->accesses.push_back(
          {place, static_cast<int64_t>(size_of(element_type(in.op))), writes(v)});
    }
  }
  constexpr size_t kMost = 32;
  need(made_->accesses.size() <= kMost);
}
int TurnPlaces::add_node(Node n) {
  made_->nodes.push_back(n);
  auto moves = [&](int k) { return k >= 0 && moves_[static_cast<size_t>(k)]; };
  moves_.push_back(n.kind == Node::kTurn || moves(n.a) || moves(n.b));
  return static_cast<int>(made_->nodes.size()) - 1;
}
int TurnPlaces::constant_node(int64_t n) { return add_node({Node::kConst, -1, -1, n}); }
// Of a number, where the access is reached.
int TurnPlaces::node(int v) {
  if (const auto it = known_.find({access_, v}); it != known_.end()) return it->second;
  need(std::find(open_.begin(), open_.end(), v) == open_.end());  // a test of two that compares
  open_.push_back(v);
  const size_t open = open_.size();
  const size_t nodes = made_->nodes.size(), tests = made_->tests.size();
  std::optional<int> r;
  try {
    r = made_node(v);
  } catch (const Refused&) {  // as what is read, it may be known from tests alone
    made_->nodes.resize(nodes);
    made_->tests.resize(tests);
    moves_.resize(nodes);
    std::erase_if(known_, [&](auto& k) { return k.second >= static_cast<int>(nodes); });
    open_.resize(open);
  }
  if (is_inside(v) && !is_const(v)) {
    const auto least = bound(v, false), most = bound(v, true);
    if (least && most) {
      const int tested = between(*least, *most);
      r = r ? add_node({Node::kWithin, *r, tested}) : tested;
    }
  }
  open_.pop_back();
  need(r.has_value());
  return known_[{access_, v}] = *r;
}
int TurnPlaces::made_node(int v) {
  const Instr in = at(v);
  if (is_const(v)) return constant_node(in.imm);
  if (!is_inside(v)) return add_node({Node::kWord, -1, -1, static_cast<int64_t>(word_of(v))});
  if (is_counter(v))
    return add_node(
        {Node::kTurn, -1, -1,
         static_cast<int64_t>(ParallelLoop::kParams + static_cast<size_t>(head_param(v)))});
  auto arg = [&](int k) { return node(in.args[k]); };
  switch (in.op) {
    case Op::kIBelow: return arg(0);
    case Op::kIAdd: return add_node({Node::kAdd, arg(0), arg(1)});
    case Op::kISub: return add_node({Node::kSub, arg(0), arg(1)});
    case Op::kIMul: return add_node({Node::kMul, arg(0), arg(1)});
    case Op::kLoadU8: return between(constant_node(0), constant_node(UINT8_MAX));
    case Op::kIMod:
      made_->tests.push_back({constant_node(0), arg(1), false, -1});
      return between(constant_node(0), add_node({Node::kAdd, arg(1), constant_node(-1)}));
    case Op::kSelect: return add_node({Node::kEither, arg(1), arg(2)});
    case Op::kIAnd:
      need(is_const(in.args[1]) && at(in.args[1]).imm >= 0);
      return between(constant_node(0), constant_node(at(in.args[1]).imm));
    case Op::kParam: return counted(v);
    default: throw Refused();
  }
}
int TurnPlaces::between(int a, int b) { return add_node({Node::kBetween, a, b}); }

// What an inner loop counts: from what it begins with to what its test lets through.
int TurnPlaces::counted(int v) {
  int start = kNoValue;
  int64_t way = 0;
  std::vector<int> seen{v};
  auto is_inner = [&](int w) { return is_inside(w) && is_param(w) && head_param(w) < 0; };
  for (size_t k = 0; k < seen.size(); ++k)
    each_argument(seen[k], [&](int from) {
      int next = from;
      const Instr& in = at(from);
      const bool counts = in.op == Op::kIAdd || in.op == Op::kISub;
      if (is_inside(from) && counts && is_const(in.args[1]) && is_inner(in.args[0])) {
        const int64_t step = in.op == Op::kIAdd ? at(in.args[1]).imm : -at(in.args[1]).imm;
        need(step != 0 && (way == 0 || (way > 0) == (step > 0)));
        way = step;
        next = in.args[0];
      }
      if (is_inner(next)) {
        if (std::find(seen.begin(), seen.end(), next) == seen.end()) seen.push_back(next);
        return;
      }
      need(start == kNoValue || is_same(start, next));
      start = next;
    });
  need(start != kNoValue && way != 0);
  const int first = node(start);
  const auto last = bound(v, way > 0);
  need(last.has_value());
  return way > 0 ? between(first, *last) : between(*last, first);
}
bool TurnPlaces::is_same(int a, int b) {
  return a == b || (is_const(a) && is_const(b) && at(a).imm == at(b).imm);
}
std::optional<TurnPlaces::Test> TurnPlaces::test_of(int comparison, bool holds) {
  const Instr in = at(comparison);
  const int a = in.args[0], b = in.args[1];
  switch (in.op) {
    case Op::kILt: return holds ? Test{a, b, false} : Test{b, a, true};
    case Op::kILe: return holds ? Test{a, b, true} : Test{b, a, false};
    case Op::kIGt: return holds ? Test{b, a, false} : Test{a, b, true};
    case Op::kIGe: return holds ? Test{b, a, true} : Test{a, b, false};
    default: return std::nullopt;
  }
}
// The most that tests let through on the way to the access; or the least.
std::optional<int> TurnPlaces::bound(int v, bool most) {
  std::optional<int> r;
  each_test([&](int comparison, bool holds) {
    const auto t = test_of(comparison, holds);
    if (!t || (most ? t->less : t->more) != v) return;
    const auto other = known_node(most ? t->more : t->less);
    if (!other) return;
    const int x = t->equal ? *other : add_node({Node::kAdd, *other, constant_node(most ? -1 : 1)});
    r = r ? add_node({most ? Node::kMin : Node::kMax, *r, x}) : x;
  });
  return r;
}
// What is stored is kept before, for all turns: that may not be beside the array, where tests
// would keep turns from it. They are of what the place is made of, or of what does not change.
void TurnPlaces::need_tests(const Instr& store) {
  std::vector<int> parts;
  for (int k = 0; k < 2; ++k) add_leaves(store.args[k], &parts);
  each_test([&](int comparison, bool holds) {
    const auto t = test_of(comparison, holds);
    if (!t) return;
    std::vector<int> less_of, more_of;
    add_leaves(t->less, &less_of);
    add_leaves(t->more, &more_of);
    auto is_of_place = [&](const std::vector<int>& leaves) {
      return !leaves.empty() && std::all_of(leaves.begin(), leaves.end(), [&](int v) {
        return std::find(parts.begin(), parts.end(), v) != parts.end();
      });
    };
    if (!(less_of.empty() && more_of.empty()) && !is_of_place(less_of) && !is_of_place(more_of))
      return;
    const auto less = known_node(t->less), more = known_node(t->more);
    const auto access = static_cast<int>(made_->accesses.size());
    if (less && more) made_->tests.push_back({*less, *more, t->equal, access});
  });
}
// What a number changes with, taken apart as addresses may be.
void TurnPlaces::add_leaves(int v, std::vector<int>* leaves) {
  if (!is_inside(v) || is_const(v)) return;
  Instr in = at(v);
  const bool apart = in.op == Op::kIAdd || in.op == Op::kISub || in.op == Op::kIMul ||
                     in.op == Op::kIBelow || in.op == Op::kSelect;
  if (apart)
    each_operand(in, [&](int& a) { add_leaves(a, leaves); });
  else if (std::find(leaves->begin(), leaves->end(), v) == leaves->end())
    leaves->push_back(v);
}
// Nothing: turns do not decide it.
std::optional<int> TurnPlaces::known_node(int v) {
  const size_t open = open_.size();
  try {
    return node(v);
  } catch (const Refused&) {
    open_.resize(open);
    return std::nullopt;
  }
}

}  // namespace pijit::region
