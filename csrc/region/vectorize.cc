// Innermost loops over elements, whose turns do not need each other's results, begin with vectors:
// before the loop, as many turns as possible are computed by a loop over arrays, and what is left,
// or would leave the region, is the loop's own.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <map>
#include <optional>
#include <utility>

#include "region/counted_loop.h"
#include "region/vector_loop.h"

namespace pijit::region {

namespace {

DType vector_type(Type t) {
  return t == Type::kF64 ? DType::F64 : t == Type::kB1 ? DType::Bool : DType::I64;
}

class Vectorizing : ChainLoop {
 public:
  using ChainLoop::ChainLoop;

  void run() {
    for (int v : chain_) look(v);
    find_lasts();
    // sums of what is there are as fast one by one, where they are to be in order
    const auto worth = f_.any_order || sums_some_ ? 0 : 4;
    made_->any_order = f_.any_order;
    need(!made_->stores.empty() ||
         (!made_->sums.empty() &&
          std::count_if(body_.nodes.begin(), body_.nodes.end(), [](const SNode& n) {
            return n.op != SOp::kInput && n.op != SOp::kConst && n.op != SOp::kCast;
          }) >= worth));
    place_code();
  }

 private:
  // --- what is computed

  void look(int v) {
    const Instr in = at(v);
    switch (facts(in.op).effect) {
      case Effect::kReads:
        need(in.exit == kNoExit);
        order_.emplace(v, made_->stores.size());
        return;
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
    for (size_t k = 0; k < params().size(); ++k)
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
    const int p = params()[k], last = back().args[k];
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
    const size_t first = made_->words;
    made_->words += n;
    return first;
  }
  int elements(const Instr& access, DType t, size_t stores) {
    need(!is_inside(access.args[0]) && grows_evenly(access.args[1]));
    VectorLoop::Input in{VectorLoop::kElements, t, words(2), stores};
    accesses_.push_back({access, in.word});
    made_->inputs.push_back(in);
    return static_cast<int>(made_->inputs.size()) - 1;
  }
  SVal input(SBuilder& b, VectorLoop::Kind kind, DType t, int v) {
    VectorLoop::Input in{kind, t, 0, 0};
    if (kind == VectorLoop::kNumber) {
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
      return input(b, VectorLoop::kNumber, t, v);
    }
    if (const auto c = choices_.find(v); c != choices_.end()) {
      need(in.type != Type::kB1);
      const SVal yes = vector(c->second.yes), no = vector(c->second.no);
      return b.op(SOp::kSelect, t, vector(c->second.condition), yes, no);
    }
    if (in.type == Type::kI64 && growth(v) == 1) {
      if (!turn_.sb)
        turn_ = b.op(SOp::kAdd, DType::I64, input(b, VectorLoop::kPlaces, DType::I64, v),
                     input(b, VectorLoop::kTurn, DType::I64, v));
      return b.op(SOp::kAdd, DType::I64, turn_, input(b, VectorLoop::kNumber, DType::I64, v));
    }
    if (is_access(in.op) && facts(in.op).effect == Effect::kReads) {
      const DType e = element_type(in.op);
      const auto place = order_.find(v);
      need(place != order_.end());
      return s_cast(b.input(elements(in, e, place->second), e), t);
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
      case Op::kFBits: return body_.op(SOp::kBitcast, t, arg(0));
      case Op::kFRound32: return s_cast(s_cast(arg(0), DType::F32), DType::F64);
      case Op::kIDiv:
      case Op::kIMod: return divided(in, arg(0));
      default: throw Refused();
    }
  }

  // By float64 numbers: quotients of integers below 2^53 are apart from the next whole number by
  // more than their rounding.
  SVal divided(const Instr& in, const SVal& dividend) {
    constexpr int64_t kExact = int64_t{1} << 53, kMostDivisor = int64_t{1} << 31;
    need(is_const(in.args[1]));
    const int64_t by = at(in.args[1]).imm;
    need(by != 0 && std::abs(by) <= kMostDivisor);
    auto real = [&](double x) {
      uint64_t bits;
      std::memcpy(&bits, &x, sizeof bits);
      return body_.bits(DType::F64, bits);
    };
    auto op = [&](SOp o, const SVal& a, const SVal& b = {}) {
      return body_.op(o, DType::F64, a, b);
    };
    SVal x = s_cast(dividend, DType::F64);
    if (ranges_.empty()) ranges_ = ranges_of(f_);
    const Range range = ranges_[static_cast<size_t>(in.args[0])];
    if (range.least <= -kExact || range.most >= kExact) {
      // what is larger raises the flag of invalid operations, and adds 0 else
      const SVal large = body_.op(SOp::kGe, DType::Bool, op(SOp::kAbs, x), real(0x1p53));
      const SVal told = body_.op(SOp::kSelect, DType::F64, large, real(HUGE_VAL), real(0));
      x = op(SOp::kAdd, x, op(SOp::kMul, told, real(0)));
    }
    const SVal divisor = real(static_cast<double>(by));
    const SVal quotient = op(SOp::kFloor, op(SOp::kDiv, x, divisor));
    if (in.op == Op::kIDiv) return s_cast(quotient, DType::I64);
    return s_cast(op(SOp::kSub, x, op(SOp::kMul, quotient, divisor)), DType::I64);
  }
  void store(int v) {
    const Instr in = at(v);
    const DType t = element_type(in.op);
    need(!is_inside(in.args[0]) && grows_evenly(in.args[1]));
    SVal x = vector(in.args[2]);
    if (t == DType::U8 && x.dtype() == DType::Bool) throw Refused();
    if (t != x.dtype()) x = s_cast(x, t);
    if (const auto mask = masks_.find(v); mask != masks_.end()) {
      const SVal old = body_.input(elements(in, t, made_->stores.size()), t);
      const SVal c = vector(mask->second.condition);
      x = mask->second.holds ? body_.op(SOp::kSelect, t, c, x, old)
                             : body_.op(SOp::kSelect, t, c, old, x);
    }
    VectorLoop::Result s{nullptr, t, words(2)};
    accesses_.push_back({in, s.word});
    made_->stores.push_back(std::move(s));
    results_.push_back({&made_->stores, made_->stores.size() - 1, x.id});
  }

  // What parameters are after some turns.
  void find_lasts() {
    for (size_t k = 0; k < params().size(); ++k) {
      const int p = params()[k], next = back().args[k];
      Param r;
      if (is_counter(p)) {
        r.kind = Param::kCounter;
      } else if (next == p || !is_inside(next)) {
        r.kind = Param::kStays;
        need(next != p);
      } else if (const auto sum = sum_of(k)) {
        r.kind = Param::kNumber;
        r.word = result(&made_->sums, added(*sum));
        sums_some_ |= sum->where.has_value();
        starts_.emplace_back(p, r.word);
      } else if (at(next).type == Type::kI64 && growth(next) == 1) {
        r.kind = Param::kGrows;
      } else {
        r.kind = Param::kNumber;
        need(at(next).type != Type::kB1);
        r.word = result(&made_->lasts, vector(next));
      }
      lasts_.push_back(r);
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
      need(list->size() <= VectorLoop::kMost);
    need(made_->inputs.size() < static_cast<size_t>(ArrayLoop::kMostOperands));
    // what a turn is given of the one before it
    for (size_t k = 0; k < params().size(); ++k)
      if (lasts_[k].kind != Param::kCounter) need(vectors_.find(params()[k]) == vectors_.end());
  }
  size_t result(std::vector<VectorLoop::Result>* list, const SVal& x) {
    VectorLoop::Result r{nullptr, x.dtype(), words(1)};
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
    place(made_->least(), into(), [&] { return prepared(); });
    f_.kept.push_back(made_);
  }
  int words_in_memory() {
    if (f_.own_words == kNoValue) {
      made_->memory.resize(made_->words);
      return number(reinterpret_cast<int64_t>(made_->memory.data()), Type::kPtr);
    }
    const size_t first = f_.own_words_used;
    f_.own_words_used += made_->words;
    return emit(Op::kIAdd, f_.own_words, number(static_cast<int64_t>(first * sizeof(int64_t))));
  }
  // Code that calls for vectors. What the loop is given then.
  Edge prepared() {
    const int memory = words_in_memory();
    auto put = [&](size_t word, int v, Op op) {
      emit(op, memory, number(static_cast<int64_t>(word * sizeof(int64_t))), v, Type::kNone);
    };
    const int one = number(1);
    for (const auto& [access, word] : accesses_) {
      const int first = address(access);
      put(word, first, Op::kStoreI64);
      put(word + 1, emit(Op::kISub, address(access, one), first), Op::kStoreI64);
    }
    for (const auto& [v, word] : numbers_)
      put(word, value(v), at(v).type == Type::kF64 ? Op::kStoreF64 : Op::kStoreI64);
    for (const auto& [p, word] : starts_) {
      const auto k = std::find(params().begin(), params().end(), p) - params().begin();
      put(word, into().args[static_cast<size_t>(k)],
          at(p).type == Type::kF64 ? Op::kStoreF64 : Op::kStoreI64);
    }
    const int done = emit(Op::kCallOut, number(reinterpret_cast<int64_t>(made_.get())), turns_,
                          memory, Type::kI64, reinterpret_cast<int64_t>(&run_vectors));
    Edge after{l_.head, {}};
    const int none = emit(Op::kIEq, done, number(0), kNoValue, Type::kB1);
    const int last = emit(Op::kISub, done, one);
    const Edge before = into();
    for (size_t k = 0; k < lasts_.size(); ++k) {
      const Param& p = lasts_[k];
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
    return after;
  }

  struct Body {
    std::vector<VectorLoop::Result>* list;
    size_t at;
    int node;
  };
  struct Param {
    enum Kind : uint8_t { kCounter, kStays, kGrows, kNumber } kind = kStays;
    size_t word = 0;
  };
  const std::shared_ptr<VectorLoop> made_ = std::make_shared<VectorLoop>();
  std::vector<int> needed_;
  std::map<int, size_t> order_;  // of what is read: the stores before it
  SBuilder body_;
  SVal turn_;
  std::map<int, SVal> vectors_;
  std::vector<Range> ranges_;  // none: nobody asked
  bool sums_some_ = false;     // turns alone, which processors guess wrongly
  std::vector<Body> results_;
  std::vector<std::pair<Instr, size_t>> accesses_;
  std::vector<std::pair<int, size_t>> numbers_, starts_;
  std::vector<Param> lasts_;
};

}  // namespace

static bool vectorize(Function& f, const Flow& flow, const Loop& l) {
  try {
    Vectorizing(f, flow, l).run();
    return true;
  } catch (const Refused&) {
    return false;
  }
}

bool vectorize_loop(Function& f, int head) {
  const Flow flow(f);
  const Loop* const l = flow.loop_at(head);
  if (!l) return false;
  if (l->ends.size() == 1) return forward_store(f, flow, *l) || vectorize(f, flow, *l);
  Function joined = f;
  join_ends(joined, *l);
  if (!vectorize_loop(joined, head)) return false;
  f = std::move(joined);
  return true;
}

void vectorize_loops(Function& f) {
  const Flow flow(f);
  for (const Loop& l : flow.loops())
    if (flow.is_innermost(l)) vectorize_loop(f, l.head) || unchecked_loop(f, l.head);
}

}  // namespace pijit::region
