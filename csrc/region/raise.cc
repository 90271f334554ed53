// Innermost loops over elements, whose turns do not need each other's results, begin with vectors:
// before the loop, as many turns as possible are computed by a loop over arrays, and what is left,
// or would leave the region, is the loop's own.
#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <utility>

#include "region/loops.h"
#include "region/raised_loop.h"

namespace pijit::region {

namespace {

// --- as code is made

std::optional<DType> element_type(Op op) {
  switch (op) {
    case Op::kLoadF64:
    case Op::kStoreF64: return DType::F64;
    case Op::kLoadF32:
    case Op::kStoreF32: return DType::F32;
    case Op::kLoadI64:
    case Op::kStoreI64: return DType::I64;
    case Op::kLoadI32:
    case Op::kStoreI32: return DType::I32;
    case Op::kLoadU32: return DType::U32;
    case Op::kLoadI16:
    case Op::kStoreI16: return DType::I16;
    case Op::kLoadU16: return DType::U16;
    case Op::kLoadI8: return DType::I8;
    case Op::kLoadU8:
    case Op::kStoreU8: return DType::U8;
    default: return std::nullopt;
  }
}
DType vector_type(Type t) {
  return t == Type::kF64 ? DType::F64 : t == Type::kB1 ? DType::Bool : DType::I64;
}

struct Refused {};  // the loop stays as it is

// Of one loop.
class Raising {
 public:
  Raising(Function& f, const Flow& flow, const Loop& l, std::vector<int> home)
      : f_(f), flow_(flow), l_(l), home_(std::move(home)), made_(std::make_shared<RaisedLoop>()) {}

  void run() {
    find_chain();
    find_params();
    if (carry()) return;
    for (int v : chain_) look(v);
    find_lasts();
    // sums of what is there are as fast one by one
    constexpr auto kWorth = 4;
    need(!made_->stores.empty() ||
         (!made_->sums.empty() &&
          std::count_if(body_.nodes.begin(), body_.nodes.end(), [](const SNode& n) {
            return n.op != SOp::kInput && n.op != SOp::kConst && n.op != SOp::kCast;
          }) >= kWorth));
    place_code();
  }

 private:
  struct Mask {
    int condition;
    bool holds;
  };
  struct Choice {
    int condition, yes, no;
  };
  Instr& at(int v) { return f_.instrs[static_cast<size_t>(v)]; }
  bool is_inside(int v) const {
    return l_.body[static_cast<size_t>(home_[static_cast<size_t>(v)])];
  }
  bool is_const(int v) { return at(v).op == Op::kConst; }
  static void need(bool so) {
    if (!so) throw Refused();
  }

  // The instructions of a turn, one after the other: only the head's test and exits lead out. Ways
  // that meet again are both taken.
  void find_chain() {
    need(l_.before >= 0 && l_.ends.size() == 1);
    size_t blocks = 0;
    int b = l_.head;
    do {
      const Block& block = f_.blocks[static_cast<size_t>(b)];
      need(block.exit == kNoExit && (block.params.empty() || b == l_.head || b == meets_));
      chain_.insert(chain_.end(), block.instrs.begin(), block.instrs.end());
      ++blocks;
      if (b != l_.head && block.condition != kNoValue)
        b = both_ways(block, &blocks);
      else
        b = block.next.block;
      need(b >= 0 && l_.body[static_cast<size_t>(b)] && blocks <= l_.size);
    } while (b != l_.head);
    need(blocks == l_.size);
    const Block& head = f_.blocks[static_cast<size_t>(l_.head)];
    need(head.condition != kNoValue && !l_.body[static_cast<size_t>(head.otherwise.block)]);
    constexpr size_t kMostInstrs = 200;
    need(chain_.size() <= kMostInstrs);
  }
  int both_ways(const Block& block, size_t* blocks) {
    std::array<const Edge*, 2> ends{&block.next, &block.otherwise};
    for (size_t k = 0; k < 2; ++k) {
      const Block& way = f_.blocks[static_cast<size_t>(ends[k]->block)];
      if (flow_.into(ends[k]->block).size() != 1) continue;
      need(way.params.empty() && way.condition == kNoValue && way.exit == kNoExit);
      for (int v : way.instrs) {
        masks_[v] = {block.condition, k == 0};
        chain_.push_back(v);
      }
      ends[k] = &way.next;
      ++*blocks;
    }
    need(ends[0]->block == ends[1]->block && ends[0]->block != l_.head);
    meets_ = ends[0]->block;
    const auto& params = f_.blocks[static_cast<size_t>(meets_)].params;
    for (size_t k = 0; k < params.size(); ++k)
      choices_[params[k]] = {block.condition, ends[0]->args[k], ends[1]->args[k]};
    return meets_;
  }

  const Edge& into() { return f_.blocks[static_cast<size_t>(l_.before)].next; }
  const Edge& back() { return f_.blocks[static_cast<size_t>(l_.ends[0])].next; }

  // The turn's number: what counts up by one.
  void find_params() {
    const Block& head = f_.blocks[static_cast<size_t>(l_.head)];
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

  // --- integers that grow by the same number in each turn

  // How often a counter is in it, where that is known: 0 of what does not change. Nothing: it is
  // other, or grows by what only a run knows.
  std::optional<int64_t> growth(int v) {
    if (!is_inside(v)) return 0;
    if (std::find(counters_.begin(), counters_.end(), v) != counters_.end()) return 1;
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
  // Does it grow evenly, by whatever number?
  bool is_even(int v) {
    if (growth(v)) return true;
    const Instr in = at(v);
    if (in.exit != kNoExit) return false;
    if (in.op == Op::kIAdd || in.op == Op::kISub) return is_even(in.args[0]) && is_even(in.args[1]);
    if (in.op != Op::kIMul) return false;
    return (growth(in.args[0]) == 0 && is_even(in.args[1])) ||
           (growth(in.args[1]) == 0 && is_even(in.args[0]));
  }

  int emit(Op op, int a, int b = kNoValue, int c = kNoValue, Type t = Type::kI64, int64_t imm = 0) {
    Instr in{op, t};
    in.args[0] = a;
    in.args[1] = b;
    in.args[2] = c;
    in.imm = imm;
    f_.instrs.push_back(in);
    code_->push_back(static_cast<int>(f_.instrs.size()) - 1);
    return code_->back();
  }
  int number(int64_t n, Type t = Type::kI64) {
    Instr in{Op::kConst, t};
    in.imm = n;
    f_.instrs.push_back(in);
    first_.push_back(static_cast<int>(f_.instrs.size()) - 1);
    return first_.back();
  }
  // Its value in a turn: the first one, or `turns` after it.
  int value(int v, int turns = kNoValue) {
    if (!is_inside(v)) return v;
    auto& known = values_[{turns, v}];
    if (known) return *known;
    const Block& head = f_.blocks[static_cast<size_t>(l_.head)];
    const auto p = std::find(head.params.begin(), head.params.end(), v);
    int r;
    if (p != head.params.end()) {
      r = into().args[static_cast<size_t>(p - head.params.begin())];
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

  // --- how many turns pass all tests

  struct Limit {
    Op op;
    int grows, bound;
  };
  static Op turned(Op op) {
    return op == Op::kILt   ? Op::kIGt
           : op == Op::kILe ? Op::kIGe
           : op == Op::kIGt ? Op::kILt
                            : Op::kILe;
  }
  void limit(int condition) {
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
  int turns() {
    int least = kNoValue;
    for (const Limit& l : limits_) {
      const int x = value(l.grows), bound = value(l.bound);
      int n;
      if (l.op == Op::kILt || l.op == Op::kILe) {
        n = emit(Op::kISub, bound, x);
        if (l.op == Op::kILe) n = emit(Op::kIAdd, n, number(1));
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

  // --- elements that the turn before has stored

  // One that is read is a parameter then: memory would give it some cycles later, and each turn
  // waits for the one before. The first turn's is read before the loop, if it comes so far.
  bool carry() {
    const auto last = std::find_if(chain_.begin(), chain_.end(), [&](int v) {
      return facts(at(v).op).effect == Effect::kWrites && at(v).op != Op::kPoll;
    });
    if (last == chain_.end() || masks_.count(*last)) return false;
    const Op stores = at(*last).op, value = at(at(*last).args[2]).op;
    const bool rounded =
        stores == Op::kStoreF32 && (value == Op::kFRound32 || value == Op::kLoadF32);
    if (stores != Op::kStoreF64 && stores != Op::kStoreI64 && !rounded) return false;
    if (std::any_of(last + 1, chain_.end(), [&](int v) {
          return facts(at(v).op).effect == Effect::kWrites && at(v).op != Op::kPoll;
        }))
      return false;
    const Instr store = at(*last);
    const auto grows = growth(store.args[1]);
    if (!grows || *grows == 0 || is_inside(store.args[0])) return false;
    const int64_t step = *grows * (int64_t{1} << log_scale_of(store.imm));
    const Op loads = rounded                     ? Op::kLoadF32
                     : store.op == Op::kStoreF64 ? Op::kLoadF64
                                                 : Op::kLoadI64;
    const auto load = std::find_if(chain_.begin(), last, [&](int v) {
      const Instr& in = at(v);
      return in.op == loads && in.args[0] == store.args[0] && in.args[1] == store.args[1] &&
             log_scale_of(in.imm) == log_scale_of(store.imm) &&
             offset_of(in.imm) == offset_of(store.imm) - step;
    });
    if (load == last) return false;
    for (auto v = chain_.begin(); v != load; ++v)
      if (at(*v).op == Op::kCheck && is_inside(at(*v).args[0])) limit(at(*v).args[0]);
    place_carried(*load, store.args[2]);
    return true;
  }
  void place_carried(int load, int stored) {
    const Instr read = at(load);
    const int prepares = f_.add_block();
    std::vector<int> tests, code;
    code_ = &tests;
    const int some = emit(Op::kIGe, turns(), number(1), kNoValue, Type::kB1);
    const int none = number(0, read.type);
    code_ = &code;
    values_.clear();
    const int first = emit(read.op, address(read, kNoValue), number(0), kNoValue, read.type);
    Block& front = f_.blocks[static_cast<size_t>(l_.before)];
    front.instrs.insert(front.instrs.end(), first_.begin(), first_.end());
    front.instrs.insert(front.instrs.end(), tests.begin(), tests.end());
    Edge with = front.next, without = front.next;
    with.args.push_back(first);
    without.args.push_back(none);
    front.condition = some;
    front.next = {prepares, {}};
    front.otherwise = std::move(without);
    Block& own = f_.blocks[static_cast<size_t>(prepares)];
    own.instrs = code;
    own.next = std::move(with);
    const int carried = f_.add_param(l_.head, read.type);
    Block& end = f_.blocks[static_cast<size_t>(l_.ends[0])];
    (end.next.block == l_.head ? end.next : end.otherwise).args.push_back(stored);
    auto replace = [&](int& v) { v = v == load ? carried : v; };
    for (size_t b = 0; b < f_.blocks.size(); ++b) {
      std::erase(f_.blocks[b].instrs, load);
      each_operand(f_.blocks[b], replace);
    }
    for (Instr& in : f_.instrs) each_operand(in, replace);
    for (Exit& e : f_.exits)
      for (int& v : e.values) replace(v);
  }

  // --- what is computed

  void look(int v) {
    const Instr in = at(v);
    switch (facts(in.op).effect) {
      case Effect::kReads: order_.emplace(v, made_->stores.size()); return;
      case Effect::kPure: return;
      case Effect::kWrites:
        if (in.op == Op::kPoll) {
          if (made_->mask == 0 && !is_inside(in.args[0])) {
            made_->mask = static_cast<uint32_t>(in.imm);
            made_->poll = words(1);
            numbers_.emplace_back(in.args[0], made_->poll);
          }
          return;
        }
        need(is_access(in.op));
        store(v);
        return;
      case Effect::kCheck: break;
    }
    if (in.op == Op::kQuiet) {  // as the processor tells
      needed_.push_back(in.args[0]);
      return;
    }
    if (in.op == Op::kCheck) {
      // a test that nothing else than turns decide
      if (is_inside(in.args[0])) limit(in.args[0]);
      return;
    }
    if (in.exit == kNoExit) return;
    if (in.op == Op::kFDiv || in.op == Op::kFSqrt) {
      needed_.push_back(v);
      return;
    }
    need(is_sum(v));
  }

  // Is it what a parameter gets with one number more?
  bool is_sum(int v) {
    const Block& head = f_.blocks[static_cast<size_t>(l_.head)];
    for (size_t k = 0; k < head.params.size(); ++k)
      if (const auto added = sum_of(k); added && added->by == v) return true;
    return false;
  }
  // What is added to it, perhaps in some turns alone; nothing: it is no sum.
  struct Added {
    int by, what;
    bool less;
    std::optional<Mask> where;
  };
  std::optional<Added> sum_of(size_t k) {
    const Block& head = f_.blocks[static_cast<size_t>(l_.head)];
    const int p = head.params[k], last = back().args[k];
    Added r{last, kNoValue, false, std::nullopt};
    if (const auto c = choices_.find(last); c != choices_.end()) {
      const Choice& choice = c->second;
      if ((choice.yes == p) == (choice.no == p)) return std::nullopt;
      r.where = Mask{choice.condition, choice.no == p};
      r.by = choice.no == p ? choice.yes : choice.no;
    }
    const Instr next = at(r.by);
    const bool adds = next.op == Op::kFAdd || next.op == Op::kIAdd;
    r.less = next.op == Op::kFSub;
    if (!adds && !r.less) return std::nullopt;
    r.what = next.args[0] == p ? next.args[1] : adds && next.args[1] == p ? next.args[0] : p;
    if (r.what == p) return std::nullopt;
    for (int v : chain_) {  // nothing else asks for it
      const Instr in = at(v);
      if (v == r.by || in.op == Op::kQuiet) continue;
      for (int a : in.args)
        if (a == p || a == r.by || a == last) return std::nullopt;
    }
    for (const auto& [q, c] : choices_)
      if (q != last && (c.yes == p || c.no == p || c.yes == r.by || c.no == r.by))
        return std::nullopt;
    return r;
  }
  // Of turns that add nothing: what changes no sum, not even one of -0.
  SVal added(const Added& a) {
    SVal x = vector(a.what);
    if (a.less) x = body_.op(SOp::kNeg, x.dtype(), x);
    if (!a.where) return x;
    const SVal c = vector(a.where->condition);
    const SVal none = x.dtype() == DType::F64 ? body_.bits(DType::F64, uint64_t{1} << 63)
                                              : body_.bits(DType::I64, 0);
    return a.where->holds ? body_.op(SOp::kSelect, x.dtype(), c, x, none)
                          : body_.op(SOp::kSelect, x.dtype(), c, none, x);
  }

  size_t words(size_t n) {
    const size_t first = made_->words.size();
    made_->words.resize(first + n);
    return first;
  }
  int elements(const Instr& access, DType t, size_t stores) {
    need(!is_inside(access.args[0]) && is_even(access.args[1]));
    RaisedLoop::Input in{RaisedLoop::kElements, t, words(2), stores};
    accesses_.push_back({access, in.word});
    made_->inputs.push_back(in);
    return static_cast<int>(made_->inputs.size()) - 1;
  }
  SVal input(SBuilder& b, RaisedLoop::Kind kind, DType t, int v) {
    RaisedLoop::Input in{kind, t, 0, 0};
    if (kind == RaisedLoop::kNumber) {
      in.word = words(1);
      numbers_.emplace_back(v, in.word);
    }
    made_->inputs.push_back(in);
    return b.input(static_cast<int>(made_->inputs.size()) - 1, t);
  }

  // As a vector.
  SVal vector(int v) {
    if (const auto it = vectors_.find(v); it != vectors_.end()) return it->second;
    const SVal r = made(v);
    vectors_.emplace(v, r);
    return r;
  }
  SVal made(int v) {
    SBuilder& b = body_;
    const Instr in = at(v);
    const DType t = vector_type(in.type);
    if (in.op == Op::kConst) {
      need(in.type != Type::kB1);
      return b.bits(t, static_cast<uint64_t>(in.imm));
    }
    if (!is_inside(v)) {
      need(in.type == Type::kF64 || in.type == Type::kI64);
      return input(b, RaisedLoop::kNumber, t, v);
    }
    if (const auto c = choices_.find(v); c != choices_.end()) {
      need(in.type != Type::kB1);
      const SVal yes = vector(c->second.yes), no = vector(c->second.no);
      return b.op(SOp::kSelect, t, vector(c->second.condition), yes, no);
    }
    if (in.type == Type::kI64 && growth(v) == 1) {
      if (!turn_.sb)
        turn_ = b.op(SOp::kAdd, DType::I64, input(b, RaisedLoop::kPlaces, DType::I64, v),
                     input(b, RaisedLoop::kTurn, DType::I64, v));
      return b.op(SOp::kAdd, DType::I64, turn_, input(b, RaisedLoop::kNumber, DType::I64, v));
    }
    if (const auto e = element_type(in.op); e && facts(in.op).effect == Effect::kReads) {
      const auto place = order_.find(v);
      need(place != order_.end());
      return s_cast(b.input(elements(in, *e, place->second), *e), t);
    }
    need(in.exit == kNoExit || in.op == Op::kFDiv || in.op == Op::kFSqrt);
    return computed(in, t);
  }
  SVal computed(const Instr& in, DType t) {
    auto arg = [&](int k) { return vector(in.args[k]); };
    auto op = [&](SOp o) {
      const int n = facts(in.op).operands;
      const SVal x = arg(0);
      return body_.op(o, t, x, n > 1 ? arg(1) : SVal{}, n > 2 ? arg(2) : SVal{});
    };
    switch (in.op) {
      case Op::kIBelow: return arg(0);
      case Op::kIAdd:
      case Op::kFAdd: return op(SOp::kAdd);
      case Op::kISub:
      case Op::kFSub: return op(SOp::kSub);
      case Op::kIMul:
      case Op::kFMul: return op(SOp::kMul);
      case Op::kFDiv: return op(SOp::kDiv);
      case Op::kINeg:
      case Op::kFNeg: return op(SOp::kNeg);
      case Op::kIAbs:
      case Op::kFAbs: return op(SOp::kAbs);
      case Op::kFSqrt: return op(SOp::kSqrt);
      case Op::kIAnd: return op(SOp::kAnd);
      case Op::kIOr: return op(SOp::kOr);
      case Op::kIXor: return op(SOp::kXor);
      case Op::kIEq:
      case Op::kFEq: return op(SOp::kEq);
      case Op::kINe:
      case Op::kFNe: return op(SOp::kNe);
      case Op::kILt:
      case Op::kFLt: return op(SOp::kLt);
      case Op::kILe:
      case Op::kFLe: return op(SOp::kLe);
      case Op::kIGt:
      case Op::kFGt: return op(SOp::kGt);
      case Op::kIGe:
      case Op::kFGe: return op(SOp::kGe);
      case Op::kBNot: return op(SOp::kNot);
      case Op::kSelect: return op(SOp::kSelect);
      case Op::kBToI:
      case Op::kIToF: return s_cast(arg(0), t);
      case Op::kFRound32: return s_cast(s_cast(arg(0), DType::F32), DType::F64);
      default: throw Refused();
    }
  }

  void store(int v) {
    const Instr in = at(v);
    const DType t = *element_type(in.op);
    need(!is_inside(in.args[0]) && is_even(in.args[1]));
    SVal x = vector(in.args[2]);
    if (t == DType::U8 && x.dtype() == DType::Bool) throw Refused();
    if (t != x.dtype()) x = s_cast(x, t);
    if (const auto mask = masks_.find(v); mask != masks_.end()) {
      const SVal old = body_.input(elements(in, t, made_->stores.size()), t);
      const SVal c = vector(mask->second.condition);
      x = mask->second.holds ? body_.op(SOp::kSelect, t, c, x, old)
                             : body_.op(SOp::kSelect, t, c, old, x);
    }
    RaisedLoop::Result s{nullptr, t, words(2)};
    accesses_.push_back({in, s.word});
    made_->stores.push_back(std::move(s));
    results_.push_back({&made_->stores, made_->stores.size() - 1, x.id});
  }

  // What parameters are after some turns.
  void find_lasts() {
    const Block& head = f_.blocks[static_cast<size_t>(l_.head)];
    for (size_t k = 0; k < head.params.size(); ++k) {
      const int p = head.params[k], next = back().args[k];
      Param r;
      if (std::find(counters_.begin(), counters_.end(), p) != counters_.end()) {
        r.kind = Param::kCounter;
      } else if (next == p || !is_inside(next)) {
        r.kind = Param::kStays;
        need(next != p);
      } else if (const auto sum = sum_of(k)) {
        r.kind = Param::kNumber;
        r.word = result(&made_->sums, added(*sum));
        starts_.emplace_back(p, r.word);
      } else if (at(next).type == Type::kI64 && growth(next) == 1) {
        r.kind = Param::kGrows;
      } else {
        r.kind = Param::kNumber;
        need(at(next).type != Type::kB1);
        r.word = result(&made_->lasts, vector(next));
      }
      params_.push_back(r);
    }
    // what may leave is computed for all turns
    std::vector<bool> reached(body_.nodes.size());
    for (const Body& r : results_)
      if (r.list != &made_->lasts) reached[static_cast<size_t>(r.node)] = true;
    for (size_t k = body_.nodes.size(); k-- > 0;)
      for (int a : {body_.nodes[k].a, body_.nodes[k].b, body_.nodes[k].c})
        if (reached[k] && a >= 0) reached[static_cast<size_t>(a)] = true;
    for (int v : needed_) {
      if (is_sum(v)) continue;
      const auto it = vectors_.find(v);
      need(!is_inside(v) || (it != vectors_.end() && reached[static_cast<size_t>(it->second.id)]));
    }
    for (const auto& list : {&made_->stores, &made_->sums, &made_->lasts})
      need(list->size() <= RaisedLoop::kMost);
    need(made_->inputs.size() < static_cast<size_t>(ArrayLoop::kMostOperands));
    // what a turn is given of the one before it
    for (size_t k = 0; k < head.params.size(); ++k)
      if (params_[k].kind != Param::kCounter) need(vectors_.find(head.params[k]) == vectors_.end());
  }
  size_t result(std::vector<RaisedLoop::Result>* list, const SVal& x) {
    RaisedLoop::Result r{nullptr, x.dtype(), words(1)};
    const size_t word = r.word;
    list->push_back(std::move(r));
    results_.push_back({list, list->size() - 1, x.id});
    return word;
  }

  // --- code before the loop

  void place_code() {
    for (const Body& r : results_) {
      ArrayLoopSpec spec;
      spec.body = body_.nodes;
      for (const auto& in : made_->inputs) spec.in.push_back(in.type);
      spec.out = (*r.list)[r.at].type;
      spec.node = r.node;
      (*r.list)[r.at].loop = make_array_loop(std::move(spec));
    }
    const int front = l_.before, prepares = f_.add_block();
    std::vector<int> tests, code;
    code_ = &tests;
    const int n = turns();
    const int enough = emit(Op::kIGe, n, number(made_->least()), kNoValue, Type::kB1);
    code_ = &code;
    values_.clear();
    const int memory = number(reinterpret_cast<int64_t>(made_->words.data()), Type::kPtr);
    auto put = [&](size_t word, int v, Op op) {
      emit(op, memory, number(static_cast<int64_t>(word * sizeof(int64_t))), v, Type::kNone);
    };
    const int one = number(1);
    for (const auto& [access, word] : accesses_) {
      const int first = address(access, kNoValue);
      put(word, first, Op::kStoreI64);
      put(word + 1, emit(Op::kISub, address(access, one), first), Op::kStoreI64);
    }
    for (const auto& [v, word] : numbers_)
      put(word, value(v), at(v).type == Type::kF64 ? Op::kStoreF64 : Op::kStoreI64);
    for (const auto& [p, word] : starts_) {
      const Block& head = f_.blocks[static_cast<size_t>(l_.head)];
      const auto k = std::find(head.params.begin(), head.params.end(), p) - head.params.begin();
      put(word, into().args[static_cast<size_t>(k)],
          at(p).type == Type::kF64 ? Op::kStoreF64 : Op::kStoreI64);
    }
    const int done = emit(Op::kCallOut, number(reinterpret_cast<int64_t>(made_.get())), n,
                          number(0), Type::kI64, reinterpret_cast<int64_t>(&run_raised));
    Edge after{l_.head, {}};
    const int none = emit(Op::kIEq, done, number(0), kNoValue, Type::kB1);
    const int last = emit(Op::kISub, done, one);
    const Edge before = into();
    for (size_t k = 0; k < params_.size(); ++k) {
      const Param& p = params_[k];
      const int start = before.args[k], next = back().args[k];
      auto some = [&](int x) { return emit(Op::kSelect, none, start, x, at(start).type); };
      switch (p.kind) {
        case Param::kCounter: after.args.push_back(emit(Op::kIAdd, start, done)); break;
        case Param::kStays: after.args.push_back(some(next)); break;
        case Param::kGrows: after.args.push_back(some(value(next, last))); break;
        case Param::kNumber: {
          const bool real = at(start).type == Type::kF64;
          const int x = emit(real ? Op::kLoadF64 : Op::kLoadI64, memory,
                             number(static_cast<int64_t>(p.word * sizeof(int64_t))), kNoValue,
                             at(start).type);
          after.args.push_back(some(x));
          break;
        }
      }
    }
    Block& b = f_.blocks[static_cast<size_t>(front)];
    auto append = [](std::vector<int>* to, const std::vector<int>& more) {
      to->insert(to->end(), more.begin(), more.end());
    };
    append(&b.instrs, first_);
    append(&b.instrs, tests);
    b.condition = enough;
    b.otherwise = before;
    b.next = {prepares, {}};
    Block& own = f_.blocks[static_cast<size_t>(prepares)];
    own.instrs = std::move(code);
    own.next = std::move(after);
    f_.kept.push_back(made_);
  }
  int address(const Instr& access, int turns) {
    int index = value(access.args[1], turns);
    if (log_scale_of(access.imm) > 0)
      index = emit(Op::kIMul, index, number(int64_t{1} << log_scale_of(access.imm)));
    const int sum = emit(Op::kIAdd, access.args[0], index);
    return offset_of(access.imm) == 0 ? sum : emit(Op::kIAdd, sum, number(offset_of(access.imm)));
  }

  struct Body {
    std::vector<RaisedLoop::Result>* list;
    size_t at;
    int node;
  };
  struct Param {
    enum Kind : uint8_t { kCounter, kStays, kGrows, kNumber } kind = kStays;
    size_t word = 0;
  };
  Function& f_;
  const Flow& flow_;
  const Loop& l_;
  const std::vector<int> home_;
  const std::shared_ptr<RaisedLoop> made_;
  int meets_ = -1;                 // where two ways did last
  std::map<int, Mask> masks_;      // of instructions of one of two ways
  std::map<int, Choice> choices_;  // parameters where ways meet
  std::vector<int> chain_, counters_, needed_;
  std::vector<Limit> limits_;
  std::map<int, size_t> order_;  // of what is read: the stores before it
  SBuilder body_;
  SVal turn_;
  std::map<int, SVal> vectors_;
  std::vector<Body> results_;
  std::vector<std::pair<Instr, size_t>> accesses_;
  std::vector<std::pair<int, size_t>> numbers_, starts_;
  std::vector<Param> params_;
  std::vector<int>* code_ = nullptr;
  std::vector<int> first_;
  std::map<std::pair<int, int>, std::optional<int>> values_;
};

}  // namespace

// The ends of a loop become one.
static void join_ends(Function& f, const Loop& l) {
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

// The innermost loop that begins with the block.
static bool raise_loop(Function& f, int head) {
  const Flow flow(f);
  const auto l = std::find_if(flow.loops().begin(), flow.loops().end(),
                              [&](const Loop& o) { return o.head == head; });
  if (l->ends.size() > 1) {
    Function joined = f;
    join_ends(joined, *l);
    if (!raise_loop(joined, head)) return false;
    f = std::move(joined);
    return true;
  }
  try {
    Raising(f, flow, *l, flow.homes(f)).run();
    return true;
  } catch (const Refused&) {
    return false;
  }
}

void raise_loops(Function& f) {
  if (f.calls_itself()) return;
  std::vector<int> heads;
  const Flow flow(f);
  for (const Loop& l : flow.loops())
    if (std::none_of(flow.loops().begin(), flow.loops().end(), [&](const Loop& o) {
          return o.head != l.head && l.body[static_cast<size_t>(o.head)];
        }))
      heads.push_back(l.head);
  for (int head : heads) raise_loop(f, head);
}

}  // namespace pijit::region
