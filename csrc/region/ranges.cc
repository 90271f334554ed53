// Intervals of integers: from constants, lengths and counted loops.
#include <algorithm>
#include <array>

#include "region/ir.h"

namespace pijit::region {

namespace {

using Wide = __int128;
constexpr Wide kLeast = INT64_MIN, kMost = INT64_MAX, kExact = int64_t{1} << 53;

struct Interval {
  Wide lo = kMost, hi = kLeast;  // empty
  bool empty() const { return lo > hi; }
  bool operator==(const Interval&) const = default;
  bool fits() const { return lo >= kLeast && hi <= kMost; }
  Interval clipped() const { return {std::max(lo, kLeast), std::min(hi, kMost)}; }
  Interval with(const Interval& o) const { return {std::min(lo, o.lo), std::max(hi, o.hi)}; }
};
const Interval kAll{kLeast, kMost};
Wide floored(Wide a, Wide b) { return a / b - (a % b < 0); }  // b > 0

class Ranges {
 public:
  explicit Ranges(const Function& f) : f_(f), of_(f.instrs.size()), order_(reverse_postorder(f)) {
    constexpr int kWiden = 2, kNarrow = 2, kMostRounds = 64;
    for (int round = 0; round < kMostRounds && !settled_; ++round)
      settled_ = !pass(round >= kWiden ? kUp : kExactly);
    for (int round = 0; round < kNarrow; ++round) pass(kDown);
  }

  void apply(Function& f) {
    if (!settled_) return;
    for (int b : order_)
      for (int v : f.blocks[b].instrs) improve(f.instrs[v]);
  }
  std::vector<Range> all() const {
    std::vector<Range> r(of_.size(), {INT64_MIN, INT64_MAX});
    for (size_t v = 0; settled_ && v < r.size(); ++v)
      if (!of_[v].empty()) {
        const Interval i = of_[v].clipped();
        r[v] = {static_cast<int64_t>(i.lo), static_cast<int64_t>(i.hi)};
      }
    return r;
  }

 private:
  enum Way { kExactly, kUp, kDown };

  // What it computes, before 64 bits are asked for.
  Interval exact(const Instr& in) const {
    auto arg = [&](int k) { return of_[in.args[k]]; };
    for (int k = 0; k < facts(in.op).operands; ++k)
      if (f_.instrs[in.args[k]].type == Type::kI64 && arg(k).empty()) return {};
    switch (in.op) {
      case Op::kConst: return {in.imm, in.imm};
      case Op::kInput:
        if (std::find(f_.lengths.begin(), f_.lengths.end(), in.imm) != f_.lengths.end())
          return {0, kMostLength};
        return kAll;
      case Op::kIAdd: return {arg(0).lo + arg(1).lo, arg(0).hi + arg(1).hi};
      case Op::kISub: return {arg(0).lo - arg(1).hi, arg(0).hi - arg(1).lo};
      case Op::kIMul: {
        const std::array<Wide, 4> p{arg(0).lo * arg(1).lo, arg(0).lo * arg(1).hi,
                                    arg(0).hi * arg(1).lo, arg(0).hi * arg(1).hi};
        return {*std::min_element(p.begin(), p.end()), *std::max_element(p.begin(), p.end())};
      }
      case Op::kINeg: return {-arg(0).hi, -arg(0).lo};
      case Op::kIAbs: {
        const Wide far = std::max(arg(0).hi, -arg(0).lo);
        const Wide near = arg(0).lo > 0 ? arg(0).lo : arg(0).hi < 0 ? -arg(0).hi : Wide{0};
        return {near, far};
      }
      case Op::kIMod:
        if (arg(1).lo > 0) return {0, std::min(arg(1).hi - 1, arg(0).lo >= 0 ? arg(0).hi : kMost)};
        return kAll;
      case Op::kIDiv:
        if (arg(1).lo > 0)
          return {floored(arg(0).lo, arg(0).lo < 0 ? arg(1).lo : arg(1).hi),
                  floored(arg(0).hi, arg(0).hi < 0 ? arg(1).hi : arg(1).lo)};
        return kAll;
      case Op::kIAnd:
        if (arg(0).lo >= 0 && arg(1).lo >= 0) return {0, std::min(arg(0).hi, arg(1).hi)};
        if (arg(1).lo >= 0) return {0, arg(1).hi};
        if (arg(0).lo >= 0) return {0, arg(0).hi};
        return kAll;
      case Op::kIShr: return {std::min(arg(0).lo, Wide{0}), std::max(arg(0).hi, Wide{0})};
      case Op::kIBelow: return {arg(0).lo, std::min(arg(0).hi, arg(1).hi - 1)};
      case Op::kBToI: return {0, 1};
      case Op::kSelect: return arg(1).with(arg(2));
      case Op::kLoadU8: return {0, UINT8_MAX};
      case Op::kLoadI8: return {INT8_MIN, INT8_MAX};
      case Op::kLoadU16: return {0, UINT16_MAX};
      case Op::kLoadI16: return {INT16_MIN, INT16_MAX};
      case Op::kLoadU32: return {0, UINT32_MAX};
      case Op::kLoadI32: return {INT32_MIN, INT32_MAX};
      default: return kAll;
    }
  }

  bool set(int v, Interval r, Way way) {
    Interval& now = of_[v];
    if (way == kUp && !now.empty()) {
      if (r.lo < now.lo) r.lo = r.lo >= 0 ? Wide{0} : kLeast;
      if (r.hi > now.hi) r.hi = kMost;
      r = r.with(now);
    }
    if (r == now) return false;
    now = r;
    return true;
  }

  bool pass(Way way) {
    bool changed = false;
    std::vector<std::vector<const Edge*>> into(f_.blocks.size());
    for (int b : order_)
      for (const Edge* e : {&f_.blocks[b].next, &f_.blocks[b].otherwise})
        if (e->block >= 0) into[e->block].push_back(e);
    for (int b : order_) {
      const Block& block = f_.blocks[b];
      for (size_t k = 0; k < block.params.size(); ++k) {
        if (f_.instrs[block.params[k]].type != Type::kI64) continue;
        Interval r;
        for (const Edge* e : into[b]) r = r.with(of_[e->args[k]]);
        changed |= set(block.params[k], r, way);
      }
      for (int v : block.instrs) {
        const Instr& in = f_.instrs[v];
        if (in.type != Type::kI64) continue;
        const Interval r = exact(in);
        // what does not fit has left; what wraps may be anything
        changed |= set(v, r.fits() || in.exit != kNoExit ? r.clipped() : kAll, kExactly);
      }
    }
    return changed;
  }

  void decide(Instr& in, bool value) {
    in = {Op::kConst, Type::kB1};
    in.imm = value;
  }

  void improve(Instr& in) {
    auto arg = [&](int k) { return of_[in.args[k]]; };
    switch (in.op) {
      case Op::kIAdd:
      case Op::kISub:
      case Op::kIMul:
      case Op::kINeg:
      case Op::kIAbs:
        if (exact(in).fits()) in.exit = kNoExit;
        break;
      case Op::kIDiv:
      case Op::kIMod:
        if (arg(1).lo > 0 || arg(1).hi < -1) in.exit = kNoExit;
        if (arg(0).lo >= 0 && arg(1).lo > 0) in.imm = kSameSigns;
        break;
      case Op::kFDiv:
        if (const Instr& y = f_.instrs[in.args[1]]; y.op == Op::kConst && (y.imm & INT64_MAX) != 0)
          in.exit = kNoExit;
        break;
      case Op::kIShr:
        if (arg(1).lo >= 0) in.exit = kNoExit;
        break;
      case Op::kIToFExact:
        if (arg(0).lo >= -kExact && arg(0).hi <= kExact) {
          in.op = Op::kIToF;
          in.exit = kNoExit;
        }
        break;
      case Op::kILt: {
        const Instr& x = f_.instrs[in.args[0]];
        if (arg(0).hi < arg(1).lo || (x.op == Op::kIBelow && x.args[1] == in.args[1]))
          decide(in, true);
        else if (arg(0).lo >= arg(1).hi)
          decide(in, false);
        break;
      }
      case Op::kILe:
        if (arg(0).hi <= arg(1).lo)
          decide(in, true);
        else if (arg(0).lo > arg(1).hi)
          decide(in, false);
        break;
      case Op::kIGe:
        if (arg(0).lo >= arg(1).hi)
          decide(in, true);
        else if (arg(0).hi < arg(1).lo)
          decide(in, false);
        break;
      default: break;
    }
  }

  const Function& f_;
  std::vector<Interval> of_;
  std::vector<int> order_;
  bool settled_ = false;
};

}  // namespace

void drop_checks(Function& f) { Ranges(f).apply(f); }
std::vector<Range> ranges_of(const Function& f) { return Ranges(f).all(); }

}  // namespace pijit::region
