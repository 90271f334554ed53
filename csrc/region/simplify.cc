// Folding, values that were computed before, parameters that are always one value, dead code.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <optional>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "region/ir.h"

namespace pijit::region {

namespace {

class Simplifier {
 public:
  Simplifier(Function& f, bool bounded) : f_(f), bounded_(bounded), now_(f.instrs.size()) {
    for (size_t k = 0; k < now_.size(); ++k) now_[k] = static_cast<int>(k);
  }

  bool run() {
    changed_ = false;
    multiply_by_reciprocals();
    drop_params();
    const auto order = reverse_postorder(f_);
    number(order);
    for (int b : order) {
      Block& block = f_.blocks[b];
      if (block.condition == kNoValue) continue;
      const Instr& c = f_.instrs[block.condition];
      if (c.op == Op::kBNot) {
        block.condition = c.args[0];
        std::swap(block.next, block.otherwise);
        changed_ = true;
      } else if (c.op == Op::kConst) {
        if (!c.imm) std::swap(block.next, block.otherwise);
        block.condition = kNoValue;
        block.otherwise = {};
        changed_ = true;
      }
    }
    join_blocks();
    drop_dead();
    return changed_;
  }

 private:
  // A block and what only it leads to, and always.
  void join_blocks() {
    std::vector<int> ways(f_.blocks.size());
    const auto order = reverse_postorder(f_);
    for (int b : order)
      for (const Edge* e : {&f_.blocks[b].next, &f_.blocks[b].otherwise})
        if (e->block >= 0) ++ways[e->block];
    for (int b : order) {
      Block& block = f_.blocks[b];
      for (;;) {
        const int next = block.next.block;
        if (block.condition != kNoValue || block.exit != kNoExit || next <= 0 || next == b ||
            ways[next] != 1 || !f_.blocks[next].params.empty())
          break;
        Block behind = std::exchange(f_.blocks[next], {});
        block.instrs.insert(block.instrs.end(), behind.instrs.begin(), behind.instrs.end());
        block.condition = behind.condition;
        block.next = std::move(behind.next);
        block.otherwise = std::move(behind.otherwise);
        block.exit = behind.exit;
        changed_ = true;
      }
    }
  }
  int find(int v) {
    while (now_[v] != v) v = now_[v] = now_[now_[v]];
    return v;
  }
  void rename(int b) {
    auto name = [&](int& v) { v = find(v); };
    for (int v : f_.blocks[b].instrs) each_operand(f_.instrs[v], name);
    each_operand(f_.blocks[b], name);
  }
  void rename_all() {
    for (size_t b = 0; b < f_.blocks.size(); ++b) rename(static_cast<int>(b));
    for (auto& e : f_.exits)
      for (int& v : e.values) v = find(v);
  }

  void drop_params() {
    const auto order = reverse_postorder(f_);
    std::vector<std::vector<const Edge*>> into(f_.blocks.size());
    for (int b : order)
      for (const Edge* e : {&f_.blocks[b].next, &f_.blocks[b].otherwise})
        if (e->block >= 0) into[e->block].push_back(e);
    for (bool again = true; again;) {
      again = false;
      for (int b : order)
        for (size_t k = 0; k < f_.blocks[b].params.size(); ++k) {
          const int p = f_.blocks[b].params[k];
          if (find(p) != p) continue;
          int one = kNoValue;
          bool same = true;
          for (const Edge* e : into[b]) {
            const int v = find(e->args[k]);
            if (v == p || v == one) continue;
            same &= one == kNoValue;
            one = v;
          }
          if (!same || one == kNoValue) continue;
          now_[p] = one;
          again = changed_ = true;
        }
    }
    for (int b : order) {
      for (const Edge* c : into[b]) {
        auto& args = const_cast<Edge*>(c)->args;
        size_t n = 0;
        for (size_t k = 0; k < args.size(); ++k)
          if (find(f_.blocks[b].params[k]) == f_.blocks[b].params[k]) args[n++] = args[k];
        args.resize(n);
      }
      auto& params = f_.blocks[b].params;
      std::erase_if(params, [&](int p) { return find(p) != p; });
      for (size_t k = 0; k < params.size(); ++k) f_.instrs[params[k]].imm = static_cast<int64_t>(k);
    }
    rename_all();
  }

  using Key = std::array<int64_t, 7>;
  static bool commutes(Op op) {
    switch (op) {
      case Op::kIAdd:
      case Op::kIMul:
      case Op::kIAnd:
      case Op::kIOr:
      case Op::kIXor:
      case Op::kIEq:
      case Op::kINe: return true;
      default: return false;
    }
  }

  // By a power of two whose reciprocal is one, too, both give the same bits.
  void multiply_by_reciprocals() {
    for (size_t k = 0; k < f_.instrs.size(); ++k) {
      if (f_.instrs[k].op != Op::kFDiv) continue;
      const Instr& y = f_.instrs[f_.instrs[k].args[1]];
      if (y.op != Op::kConst) continue;
      double by;
      std::memcpy(&by, &y.imm, sizeof by);
      int exponent = 0;
      constexpr int kFar = 1000;
      if (std::abs(std::frexp(by, &exponent)) != 0.5 || std::abs(exponent) > kFar) continue;
      const double reciprocal = 1 / by;
      Instr c{Op::kConst, Type::kF64};
      std::memcpy(&c.imm, &reciprocal, sizeof reciprocal);
      f_.instrs.push_back(c);
      const int constant = static_cast<int>(f_.instrs.size()) - 1;
      now_.push_back(constant);
      auto& first = f_.blocks[0].instrs;
      first.insert(first.begin(), constant);
      f_.instrs[k].op = Op::kFMul;
      f_.instrs[k].exit = kNoExit;
      f_.instrs[k].args[1] = constant;
      changed_ = true;
    }
  }

  // What it is already, or becomes.
  std::optional<int> known(int v) {
    Instr& in = f_.instrs[v];
    const Effect effect = facts(in.op).effect;
    if (effect != Effect::kPure && effect != Effect::kCheck) return std::nullopt;
    auto is = [&](int a, int64_t n) {
      return f_.instrs[a].op == Op::kConst && f_.instrs[a].imm == n;
    };
    if (commutes(in.op) && in.args[0] > in.args[1] && f_.instrs[in.args[1]].op != Op::kConst)
      std::swap(in.args[0], in.args[1]);
    if (commutes(in.op) && f_.instrs[in.args[0]].op == Op::kConst)
      std::swap(in.args[0], in.args[1]);
    switch (in.op) {
      case Op::kIAdd:
      case Op::kISub:
        if (is(in.args[1], 0)) return in.args[0];
        break;
      case Op::kIMul:
      case Op::kIDiv:
        if (is(in.args[1], 1)) return in.args[0];
        break;
      case Op::kSelect:
        if (const Instr& c = f_.instrs[in.args[0]]; c.op == Op::kConst)
          return in.args[c.imm ? 1 : 2];
        if (in.args[1] == in.args[2]) return in.args[1];
        break;
      case Op::kIBelow:
        if (bounded_) return in.args[0];
        break;
      case Op::kBNot:
        if (f_.instrs[in.args[0]].op == Op::kBNot) return f_.instrs[in.args[0]].args[0];
        break;
      default: break;
    }
    int64_t a[3] = {};
    bool constant = facts(in.op).operands > 0;
    for (int k = 0; k < facts(in.op).operands; ++k) {
      const Instr& x = f_.instrs[in.args[k]];
      constant &= x.op == Op::kConst;
      a[k] = x.imm;
    }
    int64_t r = 0;
    if (constant && evaluate(in, a, &r)) {
      in = {Op::kConst, in.type};
      in.imm = r;
    }
    return std::nullopt;
  }

  void number(const std::vector<int>& order) {
    const auto idom = dominators(f_, order);
    std::vector<std::vector<int>> below(f_.blocks.size());
    for (int b : order)
      if (idom[b] >= 0) below[idom[b]].push_back(b);
    absl::flat_hash_map<Key, int> table;
    std::vector<std::pair<int, size_t>> way;  // blocks, and keys before them
    std::vector<Key> keys;
    std::vector<int> entries(f_.blocks.size());
    for (int b : order)
      for (int to : {f_.blocks[b].next.block, f_.blocks[b].otherwise.block})
        if (to >= 0) ++entries[to];
    absl::flat_hash_map<int, int> holds;  // conditions, by where they were asked
    std::vector<int> pending{0};
    // behind a block come its children, then the mark that ends it
    while (!pending.empty()) {
      const int b = pending.back();
      pending.pop_back();
      if (b < 0) {
        absl::erase_if(holds, [&](auto& h) { return h.second == way.back().first; });
        for (; keys.size() > way.back().second; keys.pop_back()) table.erase(keys.back());
        way.pop_back();
        continue;
      }
      way.emplace_back(b, keys.size());
      pending.push_back(-1);
      for (int c : below[b]) pending.push_back(c);
      if (const int up = idom[b]; up >= 0 && entries[b] == 1 && f_.blocks[up].condition >= 0 &&
                                  f_.blocks[up].next.block == b)
        holds.try_emplace(find(f_.blocks[up].condition), b);
      std::erase_if(f_.blocks[b].instrs, [&](int v) {
        Instr& in = f_.instrs[v];
        each_operand(in, [&](int& a) { a = find(a); });
        if (const auto same = known(v)) {
          now_[v] = find(*same);
          return changed_ = true;
        }
        const Effect effect = facts(in.op).effect;
        if (effect != Effect::kPure && effect != Effect::kCheck) return false;
        if (in.op == Op::kCheck && f_.instrs[in.args[0]].op == Op::kConst &&
            f_.instrs[in.args[0]].imm)
          return changed_ = true;
        if (in.op == Op::kCheck && holds.contains(in.args[0])) return changed_ = true;
        const Key key{static_cast<int64_t>(in.op),
                      static_cast<int64_t>(in.type),
                      in.args[0],
                      in.args[1],
                      in.args[2],
                      in.imm,
                      in.exit != kNoExit};  // what was never looked at stands for no other
        const auto [it, fresh] = table.try_emplace(key, v);
        if (fresh) {
          keys.push_back(key);
          return false;
        }
        // the first may have been proven not to leave, which holds for the other, too
        now_[v] = it->second;
        return changed_ = true;
      });
    }
    rename_all();
  }

  void drop_dead() {
    const auto order = reverse_postorder(f_);
    std::vector<bool> live(f_.instrs.size());
    std::vector<int> queue;
    auto mark = [&](int v) {
      if (!live[v]) live[v] = true, queue.push_back(v);
    };
    auto mark_exit = [&](int exit) {
      if (exit != kNoExit)
        for (int v : f_.exits[exit].values) mark(v);
    };
    std::vector<std::vector<const Edge*>> into(f_.blocks.size());
    std::vector<int> home(f_.instrs.size(), -1);
    for (int b : order) {
      Block& block = f_.blocks[b];
      for (int p : block.params) home[p] = b;
      for (const Edge* e : {&block.next, &block.otherwise})
        if (e->block >= 0) into[e->block].push_back(e);
      for (int v : block.instrs) {
        const Instr& in = f_.instrs[v];
        if (facts(in.op).effect == Effect::kWrites || in.exit != kNoExit) mark(v);
        mark_exit(in.exit);
      }
      mark_exit(block.exit);
      if (block.condition != kNoValue) mark(block.condition);
    }
    while (!queue.empty()) {
      const int v = queue.back();
      queue.pop_back();
      each_operand(f_.instrs[v], mark);
      if (home[v] >= 0)
        for (const Edge* e : into[home[v]]) mark(e->args[static_cast<size_t>(f_.instrs[v].imm)]);
    }
    for (int b : order) {
      auto& block = f_.blocks[b];
      changed_ |= std::erase_if(block.instrs, [&](int v) { return !live[v]; }) > 0;
      for (const Edge* c : into[b]) {
        auto& args = const_cast<Edge*>(c)->args;
        size_t n = 0;
        for (size_t k = 0; k < args.size(); ++k)
          if (live[block.params[k]]) args[n++] = args[k];
        args.resize(n);
      }
      std::erase_if(block.params, [&](int p) { return !live[p]; });
      for (size_t k = 0; k < block.params.size(); ++k)
        f_.instrs[block.params[k]].imm = static_cast<int64_t>(k);
    }
  }

  Function& f_;
  const bool bounded_;
  std::vector<int> now_;  // what stands for a value
  bool changed_ = false;
};

}  // namespace

void simplify(Function& f, bool bounded) {
  constexpr int kRounds = 4;
  for (int k = 0; k < kRounds; ++k)
    if (!Simplifier(f, bounded).run()) break;
}

void optimize(Function& f) {
  simplify(f);
  separate_loops(f);
  simplify(f);
  unroll(f);
  drop_checks(f);
  simplify(f);
  drop_checks(f);  // of what was selected by a test that is known now
  simplify(f, true);
  select_ways(f);
  hoist(f);
  split_addresses(f);
  hoist(f);
  simplify(f, true);
}

}  // namespace pijit::region
