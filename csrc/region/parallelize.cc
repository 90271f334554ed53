// Outer loops whose turns do not need each other's results begin with turns that threads share: a
// function of the loop alone runs some of them, with what it stores put back where one would leave,
// and the loop goes on from there.
#include <algorithm>
#include <array>
#include <limits>
#include <map>
#include <optional>
#include <utility>

#include "base/config.h"
#include "region/turn_places.h"

namespace pijit::region {

namespace {

class Parallelizing : TurnPlaces {
 public:
  // The loop's block in front has its parameters, and its end is a block of its own.
  using TurnPlaces::TurnPlaces;

  void run() {
    for (int b : flow_.order())
      if (is_in(b)) look(b);
    find_live();
    find_origins();
    find_params();
    take_function();
    if (stores_) find_places(live_);
    place_code();
  }

 private:
  void look(int b) {
    for (int v : block(b).instrs) {
      const Instr& in = at(v);
      if (in.op == Op::kPoll) {
        if (made_->mask == 0 && !is_inside(in.args[0])) {
          made_->mask = static_cast<uint32_t>(in.imm);
          made_->poll = word_of(in.args[0]);
        }
        continue;
      }
      need(!is_self(in.op) && (!writes(v) || is_access(in.op)));
      stores_ |= writes(v);
    }
  }
  // --- what turns need but for what exits tell

  void find_live() {
    live_.resize(f_.instrs.size());
    std::vector<int> queue;
    auto mark = [&](int v) {
      if (!is_inside(v) || live_[static_cast<size_t>(v)]) return;
      live_[static_cast<size_t>(v)] = true;
      queue.push_back(v);
    };
    for (int b : flow_.order()) {
      if (!is_in(b)) continue;
      for (int v : block(b).instrs) {
        const Instr& in = at(v);
        if (in.exit != kNoExit || writes(v)) mark(v);
      }
      if (block(b).condition != kNoValue && b != l_.head) mark(block(b).condition);
    }
    for (int v : back().args) mark(v);
    while (!queue.empty()) {
      const int v = queue.back();
      queue.pop_back();
      if (is_param(v)) {
        if (head_param(v) < 0) each_argument(v, mark);
      } else {
        each_operand(at(v), mark);
      }
    }
  }

  // --- what values are made of that turns before gave
  struct Origin {
    int param = -1;      // of the loop; kMany: several
    bool other = false;  // perhaps something else
    bool operator==(const Origin&) const = default;
    void join(const Origin& o) {
      other |= o.other;
      if (o.param != -1) param = param == -1 || param == o.param ? o.param : kMany;
    }
  };
  static constexpr int kMany = -2;

  Origin origin(int v) {
    if (!is_inside(v) || is_const(v)) return {-1, true};
    if (const int k = head_param(v); k >= 0)
      return is_counter(v) ? Origin{-1, true} : Origin{k, false};
    return origins_[static_cast<size_t>(v)];
  }
  void find_origins() {
    origins_.resize(f_.instrs.size());
    added_.resize(params().size());
    constexpr int kMostRounds = 64;
    bool again = true;
    for (int round = 0; again; ++round) {
      need(round < kMostRounds);
      again = false;
      for (int b : flow_.order()) {
        if (!is_in(b)) continue;
        auto set = [&](int v, const Origin& o) {
          again |= !(origins_[static_cast<size_t>(v)] == o);
          origins_[static_cast<size_t>(v)] = o;
        };
        if (b != l_.head)
          for (int p : block(b).params) {
            Origin o;
            each_argument(p, [&](int v) { o.join(origin(v)); });
            set(p, o);
          }
        for (int v : block(b).instrs)
          if (live_[static_cast<size_t>(v)]) set(v, made_of(v));
      }
    }
    for (int b : flow_.order()) {
      if (!is_in(b)) continue;
      for (int v : block(b).instrs)
        if (live_[static_cast<size_t>(v)]) need(!is_needed(v));
      if (b != l_.head && block(b).condition != kNoValue)
        need(origin(block(b).condition).param == -1);
    }
  }
  // Which operand of a sum is the sum so far; -1: it is none.
  int sum_so_far(const Instr& in) {
    const bool reals = f_.any_order && (in.op == Op::kFAdd || in.op == Op::kFSub);
    const bool adds = in.op == Op::kIAdd || in.op == Op::kFAdd;
    if (!reals && in.op != Op::kIAdd && in.op != Op::kISub) return -1;
    const Origin a = origin(in.args[0]), b = origin(in.args[1]);
    if (a.param >= 0 && !a.other && b.param == -1) return 0;
    return adds && b.param >= 0 && !b.other && a.param == -1 ? 1 : -1;
  }
  Origin made_of(int v) {
    const Instr& in = at(v);
    if (const int k = sum_so_far(in); k >= 0) return origin(in.args[k]);
    Origin o{-1, true};
    if (in.op == Op::kSelect) {
      o = origin(in.args[1]);
      o.join(origin(in.args[2]));
    }
    return o;
  }
  // Is something computed of what turns before gave, other than a sum?
  bool is_needed(int v) {
    const Instr& in = at(v);
    if (const int k = sum_so_far(in); k >= 0) {
      added_[static_cast<size_t>(origin(in.args[k]).param)] = true;
      return false;
    }
    if (in.op == Op::kSelect) return origin(in.args[0]).param != -1;
    return std::any_of(std::begin(in.args), std::end(in.args),
                       [&](int a) { return a != kNoValue && origin(a).param != -1; });
  }

  void find_params() {
    for (size_t k = 0; k < params().size(); ++k) {
      const int last = back().args[k];
      const Origin o = origin(last);
      if (is_counter(params()[k])) {
        made_->params.push_back(ParallelLoop::kCounter);
      } else if (added_[k]) {
        need(o.param == static_cast<int>(k) && !o.other);
        made_->params.push_back(at(last).type == Type::kI64 ? ParallelLoop::kSum
                                                            : ParallelLoop::kRealSum);
      } else {
        need(o.param == -1 || o.param == static_cast<int>(k));
        made_->params.push_back(at(last).type == Type::kB1 ? ParallelLoop::kLastTruth
                                                           : ParallelLoop::kLast);
      }
    }
  }

  // --- the function of a part of the turns

  void take_function() {
    Function& p = made_->function;
    p.any_order = f_.any_order;
    p.add_block();
    p.exits.resize(2);
    auto input = [&](Type t, size_t word) {
      Instr in{Op::kInput, t};
      in.imm = static_cast<int64_t>(word);
      return p.add(0, in);
    };
    std::map<int, int> blocks, values;
    auto value = [&](int v) {
      if (const auto it = values.find(v); it != values.end()) return it->second;
      const Instr& in = at(v);  // from before the loop
      return values[v] = is_const(v) ? p.add(0, in) : input(in.type, word_of(v));
    };
    for (int b : flow_.order()) {
      if (!is_in(b)) continue;
      blocks[b] = p.add_block();
      for (int v : block(b).params) values[v] = p.add_param(blocks[b], at(v).type);
    }
    const int leaves = p.add_block(), ends = p.add_block();
    p.blocks[static_cast<size_t>(leaves)].exit = 1;
    p.blocks[static_cast<size_t>(ends)].exit = 0;
    for (int b : flow_.order()) {
      if (!is_in(b)) continue;
      for (int v : block(b).instrs) {
        Instr in = at(v);
        each_operand(in, [&](int& a) { a = value(a); });
        if (in.exit != kNoExit) in.exit = 1;
        values[v] = p.add(blocks[b], in);
      }
    }
    auto edge = [&](const Edge& e) {
      Edge r;
      if (e.block < 0) return r;
      r.block = is_in(e.block) ? blocks[e.block] : leaves;
      if (is_in(e.block))
        for (int v : e.args) r.args.push_back(value(v));
      return r;
    };
    for (int b : flow_.order()) {
      if (!is_in(b)) continue;
      Block& to = p.blocks[static_cast<size_t>(blocks[b])];
      if (block(b).exit != kNoExit) {
        to.exit = 1;
        continue;
      }
      if (block(b).condition != kNoValue && b != l_.head) to.condition = value(block(b).condition);
      to.next = edge(block(b).next);
      to.otherwise = edge(block(b).otherwise);
    }
    count_turns(blocks, ends, input(Type::kI64, ParallelLoop::kTurns));
    Edge first{blocks[l_.head], {}};
    for (size_t k = 0; k < params().size(); ++k) {
      first.args.push_back(input(at(params()[k]).type, ParallelLoop::kParams + k));
      p.exits[0].values.push_back(values[params()[k]]);
    }
    first.args.push_back(constant(0));
    p.blocks[0].next = std::move(first);
    simplify(p, true);
    p.own_words = input(Type::kPtr, ParallelLoop::kOwnWords);
    vectorize_loops(p);
    p.verify();
  }
  int constant(int64_t n) {
    Instr in{Op::kConst, Type::kI64};
    in.imm = n;
    return made_->function.add(0, in);
  }
  void count_turns(const std::map<int, int>& blocks, int ends, int turns) {
    Function& p = made_->function;
    const int head = blocks.at(l_.head), last = blocks.at(l_.ends[0]);
    const int turn = p.add_param(head, Type::kI64);
    Instr less{Op::kILt, Type::kB1}, next{Op::kIAdd, Type::kI64};
    less.args[0] = next.args[0] = turn;
    less.args[1] = turns;
    next.args[1] = constant(1);
    Block& h = p.blocks[static_cast<size_t>(head)];
    h.condition = p.add(head, less);
    p.blocks[static_cast<size_t>(head)].otherwise = {ends, {}};
    const int sum = p.add(last, next);
    p.blocks[static_cast<size_t>(last)].next.args.push_back(sum);
  }

  // --- code in front

  void place_code() {
    const int front = l_.before;
    std::vector<int> tests, asks, code;
    const int again = f_.add_param(front, Type::kI64);
    const int decide = f_.add_block(), own = f_.add_block();
    const auto which = reinterpret_cast<int64_t>(made_.get());
    const int none = number(0), one = number(1);
    const int all = number(std::numeric_limits<int64_t>::max());
    code_ = &tests;
    const int memory = number(reinterpret_cast<int64_t>(made_->words.data()), Type::kPtr);
    const int count = number(ParallelLoop::kNotAsked * sizeof(int64_t));
    const int not_asked = emit(Op::kISub, emit(Op::kLoadI64, memory, count), one);
    emit(Op::kStoreI64, memory, count, not_asked, Type::kNone);
    const int asked = emit(Op::kILt, not_asked, none, kNoValue, Type::kB1);
    code_ = &asks;
    turns_ = turns();
    const int given = emit(Op::kCallOut, number(which), turns_, again, Type::kI64,
                           reinterpret_cast<int64_t>(&turns_to_measure));
    const int now = emit(Op::kIEq, given, none, kNoValue, Type::kB1);
    code_ = &code;
    const Edge start = into();
    auto begin = [&](const std::vector<int>& args, int some) {
      Edge e{l_.head, args};
      e.args.push_back(some);
      return e;
    };
    const Edge after = shared(start, which, memory, none);
    // the loop's end asks again when the turns that were given are done
    const int budget = f_.add_param(l_.head, Type::kI64);
    const int end = l_.ends[0];
    code_ = &block(end).instrs;
    const int left = emit(Op::kISub, budget, one);
    const int over = emit(Op::kIEq, left, none, kNoValue, Type::kB1);
    const Edge next = block(end).next;
    block(end).condition = over;
    block(end).otherwise = begin(next.args, left);
    block(end).next = {front, next.args};
    block(end).next.args.push_back(one);
    block(front).instrs = std::move(tests);
    block(front).condition = asked;
    block(front).next = {decide, {}};
    block(front).otherwise = begin(start.args, all);
    block(decide).instrs = std::move(asks);
    block(decide).condition = now;
    block(decide).next = {own, {}};
    block(decide).otherwise = begin(start.args, given);
    block(own).instrs = std::move(code);
    block(own).next = begin(after.args, all);
    // numbers are before all of it, and the front's first turns are not the second ones
    const int outside = before_front();
    Block& b = block(outside);
    b.instrs.insert(b.instrs.end(), numbers_.begin(), numbers_.end());
    b.next.args.push_back(none);
    f_.parallel.push_back(made_);
  }
  int before_front() {
    for (int b : flow_.into(l_.before)) return b;
    throw Refused();
  }
  // Code that has turns shared. What the loop is given then.
  Edge shared(const Edge& start, int64_t which, int memory, int none) {
    auto at_word = [&](size_t word) {
      return number(static_cast<int64_t>(word * sizeof(int64_t)));
    };
    auto put = [&](size_t word, int v) {
      const Type t = at(v).type;
      if (t == Type::kB1) v = emit(Op::kBToI, v);
      emit(t == Type::kF64 ? Op::kStoreF64 : Op::kStoreI64, memory, at_word(word), v, Type::kNone);
    };
    for (size_t k = 0; k < start.args.size(); ++k) put(ParallelLoop::kParams + k, start.args[k]);
    for (const auto& [v, word] : words_) put(word, v);
    const int done = emit(Op::kCallOut, number(which), turns_, none, Type::kI64,
                          reinterpret_cast<int64_t>(&run_shared));
    Edge after{l_.head, {}};
    for (size_t k = 0; k < start.args.size(); ++k) {
      const Type t = at(start.args[k]).type;
      if (made_->params[k] == ParallelLoop::kCounter) {
        after.args.push_back(emit(Op::kIAdd, start.args[k], done));
        continue;
      }
      int x = emit(t == Type::kF64 ? Op::kLoadF64 : Op::kLoadI64, memory,
                   at_word(ParallelLoop::kParams + k), kNoValue, t == Type::kB1 ? Type::kI64 : t);
      if (t == Type::kB1) x = emit(Op::kINe, x, none, kNoValue, Type::kB1);
      after.args.push_back(x);
    }
    return after;
  }

  bool stores_ = false;
  std::vector<bool> live_, added_;
  std::vector<Origin> origins_;
};

}  // namespace

// The loop's end is a block of its own, and the block before it has the loop's parameters.
static void set_apart(Function& f, const Loop& l) {
  const int end = l.ends[0], last = f.add_block(), front = f.add_block();
  auto block = [&](int b) -> Block& { return f.blocks[static_cast<size_t>(b)]; };
  Edge& back = block(end).next.block == l.head ? block(end).next : block(end).otherwise;
  block(last).next = std::move(back);
  back = {last, {}};
  Edge in{l.head, {}};
  for (int p : std::vector<int>(block(l.head).params))
    in.args.push_back(f.add_param(front, f.instrs[static_cast<size_t>(p)].type));
  block(front).next = std::move(in);
  block(l.before).next.block = front;
}

bool parallelize_loop(Function& f, int head) {
  const Flow before(f);
  const Loop* const l = before.loop_at(head);
  if (!l || l->before < 0) return false;
  Function made = f;
  if (l->ends.size() > 1) {
    join_ends(made, *l);
    const Flow joined(made);
    set_apart(made, *joined.loop_at(head));
  } else {
    set_apart(made, *l);
  }
  const Flow flow(made);
  try {
    Parallelizing(made, flow, *flow.loop_at(head)).run();
  } catch (const Refused&) {
    return false;
  }
  f = std::move(made);
  return true;
}

void prepare_loops(Function& f) {
  if (f.calls_itself()) return;
  const Flow flow(f);
  std::vector<bool> shared(f.blocks.size());  // blocks
  const bool shares = config().parallel_loops != "off";
  for (auto l = flow.loops().rbegin(); shares && l != flow.loops().rend(); ++l)
    if (!flow.is_innermost(*l) && !shared[static_cast<size_t>(l->head)] &&
        parallelize_loop(f, l->head))
      for (size_t b = 0; b < l->body.size(); ++b) shared[b] = shared[b] || l->body[b];
  for (const Loop& l : flow.loops()) {
    if (!flow.is_innermost(l) || vectorize_loop(f, l.head)) continue;
    if (shares && !shared[static_cast<size_t>(l.head)] && parallelize_loop(f, l.head)) continue;
    unchecked_loop(f, l.head);
  }
}

}  // namespace pijit::region
