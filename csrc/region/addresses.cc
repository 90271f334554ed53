// Addresses as the processor adds them up: what a loop does not change is a base of its own, a
// factor of 2, 4 or 8 and a constant are part of the access.
#include <algorithm>
#include <cstdint>

#include "region/loops.h"

namespace pijit::region {

namespace {

class Addresses {
 public:
  explicit Addresses(Function& f) : f_(f), flow_(f), home_(flow_.homes(f)) {}

  void run() {
    for (int b : flow_.order()) {
      const auto inner = std::find_if(flow_.loops().begin(), flow_.loops().end(),
                                      [&](const Loop& l) { return l.body[b]; });
      loop_ = inner == flow_.loops().end() ? nullptr : &*inner;
      std::vector<int> all;
      for (int v : std::vector<int>(f_.blocks[b].instrs)) {
        if (is_access(f_.instrs[v].op) && f_.instrs[v].imm == 0) split(b, v, &all);
        all.push_back(v);
      }
      f_.blocks[b].instrs = std::move(all);
    }
  }

 private:
  bool stays(int v) const { return loop_ && !loop_->body[home_[v]]; }
  bool is_const(int v, int64_t* n) const {
    *n = f_.instrs[v].imm;
    return f_.instrs[v].op == Op::kConst;
  }
  // Sums and products that wrap are what addresses are, so that only those that leave count.
  const Instr* plain(int v, Op op) const {
    const Instr& in = f_.instrs[v];
    return in.op == op && in.exit == kNoExit ? &in : nullptr;
  }

  void split(int b, int v, std::vector<int>* all) {
    int base = f_.instrs[v].args[0], index = f_.instrs[v].args[1], scale = 0;
    int64_t offset = 0, n = 0;
    for (bool again = true; again;) {
      again = true;
      if (const Instr* in = plain(index, Op::kIAdd); in && is_const(in->args[1], &n)) {
        if (!add(&offset, n, scale)) break;
        index = in->args[0];
      } else if (in && scale == 0 && stays(base) && stays(in->args[0]) != stays(in->args[1])) {
        const int still = stays(in->args[0]) ? 0 : 1;
        const int apart = in->args[still];
        index = in->args[1 - still];
        base = sum(b, base, apart, all);
      } else if (const Instr* less = plain(index, Op::kISub); less && is_const(less->args[1], &n)) {
        if (!add(&offset, -n, scale)) break;
        index = less->args[0];
      } else if (const Instr* times = plain(index, Op::kIMul); times && scale == 0 &&
                                                               is_const(times->args[1], &n) &&
                                                               (n == 2 || n == 4 || n == 8)) {
        scale = __builtin_ctzll(static_cast<uint64_t>(n));
        index = times->args[0];
      } else {
        again = false;
      }
    }
    Instr& in = f_.instrs[v];
    in.args[0] = base;
    in.args[1] = index;
    in.imm = address_imm(scale, offset);
  }

  static bool add(int64_t* offset, int64_t n, int scale) {
    constexpr int64_t kFar = int64_t{1} << 24;
    if (n < -kFar || n > kFar) return false;
    const int64_t sum = *offset + n * (1 << scale);
    if (sum != static_cast<int32_t>(sum)) return false;
    *offset = sum;
    return true;
  }

  int sum(int b, int base, int part, std::vector<int>* all) {
    Instr in{Op::kIAdd, Type::kI64};
    in.args[0] = base;
    in.args[1] = part;
    f_.instrs.push_back(in);
    home_.push_back(loop_->before >= 0 ? loop_->before : b);
    all->push_back(static_cast<int>(f_.instrs.size()) - 1);
    return all->back();
  }

  Function& f_;
  const Flow flow_;
  std::vector<int> home_;
  const Loop* loop_ = nullptr;
};

}  // namespace

void split_addresses(Function& f) { Addresses(f).run(); }

}  // namespace pijit::region
