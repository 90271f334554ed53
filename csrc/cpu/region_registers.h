// The values of a region's code in registers.
#pragma once
#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include "cpu/code.h"
#include "region/loops.h"

namespace pijit {

// The values of a function, each in a register of its own, and how they get from one to another.
class Registers {
 protected:
  Registers(x86::Compiler& cc, const region::Function& f)
      : cc_(cc), f_(f), gp_(f.instrs.size()), xmm_(f.instrs.size()) {}

  const region::Instr& at(int v) const { return f_.instrs[v]; }
  bool is_const(int v) const { return at(v).op == region::Op::kConst; }
  bool is_small(int v) const { return is_const(v) && at(v).imm == static_cast<int32_t>(at(v).imm); }
  double real(int v) const {
    double x;
    std::memcpy(&x, &at(v).imm, sizeof x);
    return x;
  }

  // What inner loops use stays in registers before what only exits want.
  void weigh(const region::Flow& flow) {
    weight_.resize(f_.instrs.size());
    for (int b : flow.order()) {
      const auto& loops = flow.loops();
      const auto deep = std::count_if(loops.begin(), loops.end(),
                                      [&](auto& l) { return l.body[static_cast<size_t>(b)]; });
      constexpr int kOfALoop = 60, kMost = 240;
      const auto weight = static_cast<uint8_t>(std::min<int64_t>(1 + deep * kOfALoop, kMost));
      auto use = [&](int v) { weight_[v] = std::max(weight_[v], weight); };
      for (int v : f_.blocks[b].instrs) {
        region::Instr in = at(v);
        region::each_operand(in, use);
      }
      if (f_.blocks[b].condition != region::kNoValue) use(f_.blocks[b].condition);
    }
  }
  // Once: a loop's head is emitted at its end, too.
  void make(int v) {
    if (at(v).type == region::Type::kF64) {
      if (xmm_[v].isValid()) return;
      xmm_[v] = cc_.newXmmSd();
      cc_.virtRegByReg(xmm_[v])->setWeight(weight_[v]);
    } else {
      if (gp_[v].isValid()) return;
      gp_[v] = cc_.newInt64();
      cc_.virtRegByReg(gp_[v])->setWeight(weight_[v]);
    }
  }
  // Registers; of a constant one that is made here.
  x86::Gp gp(int v) {
    if (!is_const(v)) return gp_[v];
    x86::Gp r = cc_.newInt64();
    cc_.mov(r, at(v).imm);
    return r;
  }
  x86::Mem real_const(double x) { return cc_.newDoubleConst(asmjit::ConstPoolScope::kLocal, x); }
  x86::Xmm xmm(int v) {
    if (!is_const(v)) return xmm_[v];
    x86::Xmm r = cc_.newXmmSd();
    if (at(v).imm == 0)
      cc_.vxorps(r, r, r);
    else
      cc_.vmovsd(r, real_const(real(v)));
    return r;
  }
  x86::Mem mask(uint64_t bits) {
    const uint64_t both[2] = {bits, bits};
    return cc_.newConst(asmjit::ConstPoolScope::kLocal, both, sizeof both);
  }

  bool no_moves(const region::Edge& e) {
    for (size_t k = 0; k < e.args.size(); ++k)
      if (e.args[k] != f_.blocks[e.block].params[k]) return false;
    return true;
  }
  // Arguments to parameters, all at once.
  void moves(const region::Edge& e) {
    std::vector<std::pair<int, int>> todo;  // parameter, argument
    for (size_t k = 0; k < e.args.size(); ++k)
      if (const int p = f_.blocks[e.block].params[k]; p != e.args[k])
        todo.emplace_back(p, e.args[k]);
    while (!todo.empty()) {
      bool moved = false;
      for (size_t k = 0; k < todo.size(); ++k) {
        const int p = todo[k].first;
        bool needed = false;
        for (size_t j = 0; j < todo.size(); ++j) needed |= j != k && todo[j].second == p;
        if (needed) continue;
        copy(p, todo[k].second);
        todo.erase(todo.begin() + static_cast<std::ptrdiff_t>(k));
        moved = true;
        break;
      }
      if (moved) continue;
      // a circle: one of its parameters is kept aside
      const int p = todo[0].first;
      if (at(p).type == region::Type::kF64) {
        x86::Xmm kept = cc_.newXmmSd();
        cc_.vmovapd(kept, xmm_[p]);
        copy(p, todo[0].second);
        xmm_kept_.emplace_back(p, kept);
      } else {
        x86::Gp kept = cc_.newInt64();
        cc_.mov(kept, gp_[p]);
        copy(p, todo[0].second);
        gp_kept_.emplace_back(p, kept);
      }
      todo.erase(todo.begin());
      // who needed it takes what was kept
      for (auto& [to, from] : todo) {
        if (from != p) continue;
        if (at(p).type == region::Type::kF64)
          late_xmm_.emplace_back(to, xmm_kept_.back().second);
        else
          late_gp_.emplace_back(to, gp_kept_.back().second);
        from = region::kNoValue;
      }
      std::erase_if(todo, [](auto& m) { return m.second == region::kNoValue; });
    }
    for (auto& [to, from] : late_xmm_) cc_.vmovapd(xmm_[to], from);
    for (auto& [to, from] : late_gp_) cc_.mov(gp_[to], from);
    late_xmm_.clear();
    late_gp_.clear();
    xmm_kept_.clear();
    gp_kept_.clear();
  }
  x86::Compiler& cc_;
  const region::Function& f_;
  std::vector<x86::Gp> gp_;
  std::vector<x86::Xmm> xmm_;

 private:
  void copy(int p, int v) {
    if (at(p).type == region::Type::kF64) {
      if (is_const(v) && at(v).imm == 0)
        cc_.vxorps(xmm_[p], xmm_[p], xmm_[p]);
      else if (is_const(v))
        cc_.vmovsd(xmm_[p], real_const(real(v)));
      else
        cc_.vmovapd(xmm_[p], xmm_[v]);
    } else if (is_const(v)) {
      cc_.mov(gp_[p], at(v).imm);
    } else {
      cc_.mov(gp_[p], gp_[v]);
    }
  }

  std::vector<uint8_t> weight_;
  std::vector<std::pair<int, x86::Gp>> gp_kept_, late_gp_;
  std::vector<std::pair<int, x86::Xmm>> xmm_kept_, late_xmm_;
};

}  // namespace pijit
