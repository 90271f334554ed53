// Two short ways that meet again become one, which computes both and selects: a processor guesses
// wrong where numbers decide.
#include <algorithm>

#include "region/loops.h"

namespace pijit::region {

namespace {

constexpr size_t kMostOfAWay = 3;  // instructions
constexpr int kMostSelects = 2;

class Ways {
 public:
  explicit Ways(Function& f) : f_(f) {}

  bool run() {
    const Flow flow(f_);
    bool changed = false;
    for (auto b = flow.order().rbegin(); b != flow.order().rend(); ++b)
      changed |= f_.blocks[*b].condition != kNoValue && join(flow, *b);
    return changed;
  }

 private:
  // The block between, or -1 where the edge leads to the end at once.
  struct Way {
    int between = -1;
    const Edge* to = nullptr;
  };
  Way way(const Flow& flow, const Edge& e) const {
    const Block& b = f_.blocks[e.block];
    const bool own = flow.into(e.block).size() == 1 && b.params.empty() &&
                     b.condition == kNoValue && b.exit == kNoExit &&
                     b.instrs.size() <= kMostOfAWay && cheap(b);
    return own ? Way{e.block, &b.next} : Way{-1, &e};
  }
  bool cheap(const Block& b) const {
    return std::all_of(b.instrs.begin(), b.instrs.end(), [&](int v) {
      switch (f_.instrs[v].op) {
        case Op::kIAdd:
        case Op::kISub:
        case Op::kIMul:
        case Op::kINeg:
        case Op::kIAnd:
        case Op::kIOr:
        case Op::kIXor:
        case Op::kIShl:
        case Op::kIShr:
        case Op::kIBelow:
        case Op::kSelect:
        case Op::kIEq:
        case Op::kINe:
        case Op::kILt:
        case Op::kILe:
        case Op::kIGt:
        case Op::kIGe:
        case Op::kBNot:
        case Op::kBToI: return f_.instrs[v].type != Type::kF64;
        case Op::kIDiv:
        case Op::kIMod: {
          const Instr& y = f_.instrs[f_.instrs[v].args[1]];
          return y.op == Op::kConst && y.imm > 0 && (y.imm & (y.imm - 1)) == 0;
        }
        default: return false;
      }
    });
  }

  bool join(const Flow& flow, int at) {
    Block& block = f_.blocks[at];
    Way yes = way(flow, block.next), no = way(flow, block.otherwise);
    // one of them may be where the other leads
    if (yes.to->block != no.to->block) {
      if (yes.to->block == block.otherwise.block)
        no = {-1, &block.otherwise};
      else if (no.to->block == block.next.block)
        yes = {-1, &block.next};
    }
    if (yes.to->block != no.to->block || yes.to->block == at) return false;
    const Block& end = f_.blocks[yes.to->block];
    int selects = 0;
    for (size_t k = 0; k < end.params.size(); ++k) {
      if (yes.to->args[k] == no.to->args[k]) continue;
      if (f_.instrs[end.params[k]].type == Type::kF64) return false;
      ++selects;
    }
    if (selects > kMostSelects) return false;
    const int exit = exit_before(flow, at);
    for (const Way& w : {yes, no})
      if (w.between >= 0 && exit == kNoExit && leaves(f_.blocks[w.between])) return false;
    take(at, yes, no, exit);
    return true;
  }

  bool leaves(const Block& b) const {
    return std::any_of(b.instrs.begin(), b.instrs.end(),
                       [&](int v) { return f_.instrs[v].exit != kNoExit; });
  }

  // The last one behind which nothing was written: whoever leaves by it does the rest again.
  int exit_before(const Flow& flow, int b) const {
    for (;;) {
      const auto& instrs = f_.blocks[b].instrs;
      for (auto v = instrs.rbegin(); v != instrs.rend(); ++v) {
        if (f_.instrs[*v].exit != kNoExit) return f_.instrs[*v].exit;
        if (facts(f_.instrs[*v].op).effect == Effect::kWrites) return kNoExit;
      }
      if (flow.into(b).size() != 1) return kNoExit;
      b = flow.into(b)[0];
    }
  }

  void take(int at, const Way& yes, const Way& no, int exit) {
    const Edge one = *yes.to, other = *no.to;
    for (const Way& w : {yes, no}) {
      if (w.between < 0) continue;
      for (int v : f_.blocks[w.between].instrs) {
        if (f_.instrs[v].exit != kNoExit) f_.instrs[v].exit = exit;
        f_.blocks[at].instrs.push_back(v);
      }
    }
    const int condition = f_.blocks[at].condition;
    Edge next = one;
    for (size_t k = 0; k < one.args.size(); ++k) {
      if (one.args[k] == other.args[k]) continue;
      Instr in{Op::kSelect, f_.instrs[f_.blocks[one.block].params[k]].type};
      in.args[0] = condition;
      in.args[1] = one.args[k];
      in.args[2] = other.args[k];
      next.args[k] = f_.add(at, in);
    }
    Block& block = f_.blocks[at];
    block.condition = kNoValue;
    block.next = std::move(next);
    block.otherwise = {};
  }

  Function& f_;
};

}  // namespace

void select_ways(Function& f) {
  constexpr int kRounds = 4;
  for (int k = 0; k < kRounds; ++k)
    if (!Ways(f).run()) break;
}

}  // namespace pijit::region
