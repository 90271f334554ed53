// Machine code of regions: asmjit's compiler gives registers, exits lie behind the code.
#include <asmjit/x86.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <map>
#include <utility>

#include "base/config.h"
#include "cpu/code.h"
#include "cpu/cpu.h"
#include "cpu/parallel.h"
#include "cpu/region_ints.h"
#include "cpu/region_registers.h"
#include "cpu/thread_pool.h"
#include "region/loops.h"
#include "region/parallel_loop.h"

namespace pijit {
namespace {

using asmjit::Label;
using region::Block;
using region::Edge;
using region::Function;
using region::Instr;
using region::kNoExit;
using region::kNoValue;
using region::Op;
using region::Type;
using x86::CondCode;

// asmjit's time grows faster than the code.
constexpr size_t kMostInstrs = 6000;

class Emitter : Registers {
 public:
  Emitter(x86::Compiler& cc, const Function& f)
      : Registers(cc, f), uses_(f.instrs.size()), tests_(f.instrs.size()) {}

  void emit() {
    if (f_.calls_itself()) {
      emit_caller();
    } else {
      auto* fn = cc_.addFunc(asmjit::FuncSignatureT<int, int64_t*>(asmjit::CallConvId::kHost));
      save_registers(fn);
      buffer_ = cc_.newIntPtr();
      fn->setArg(0, buffer_);
    }
    const region::Flow flow(f_);
    const auto& order = flow.order();
    count_uses(order);
    weigh(flow);
    labels_.resize(f_.blocks.size());
    exits_.resize(f_.exits.size());
    for (auto& l : labels_) l = cc_.newLabel();
    for (auto& l : exits_) l = cc_.newLabel();
    exit_used_.resize(f_.exits.size());
    for (int b : order)
      for (int p : f_.blocks[b].params) make(p);
    for (size_t k = 0; k < order.size(); ++k)
      block(order[k], k + 1 < order.size() ? order[k + 1] : -1);
    for (size_t k = 0; k < late_.size(); ++k) late_[k]();
    for (size_t k = 0; k < f_.exits.size(); ++k) {
      if (!exit_used_[k]) continue;
      cc_.bind(exits_[k]);
      leave(static_cast<int>(k));
    }
    if (f_.calls_itself()) {
      cc_.bind(given_up_);
      cc_.mov(x86::qword_ptr(buffer_, word(f_.depth + 1)), 1);
      leave_self(kNoValue);
    }
    cc_.endFunc();
  }

  // --- functions that call themselves: the code is one with operands and a result in registers,
  // and one in front of it that has a buffer
  static int32_t word(int k) { return 8 * k; }
  // The type of an operand, by the input that it is.
  Type operand(int k) const {
    for (auto& in : f_.instrs)
      if (in.op == Op::kInput && in.imm == k) return in.type;
    return Type::kI64;
  }
  Type result() const {
    for (auto& e : f_.exits)
      if (e.returns) return at(e.values[0]).type;
    return Type::kI64;
  }
  asmjit::FuncSignatureBuilder self_signature() const {
    asmjit::FuncSignatureBuilder s(asmjit::CallConvId::kHost);
    if (result() == Type::kF64)
      s.setRetT<double>();
    else
      s.setRetT<int64_t>();
    s.addArgT<int64_t*>();
    s.addArgT<int64_t>();
    for (int k = 0; k < kOperands; ++k) {
      if (operand(k) == Type::kF64)
        s.addArgT<double>();
      else
        s.addArgT<int64_t>();
    }
    return s;
  }
  void emit_caller() {
    const auto signature = self_signature();
    cc_.newFuncNode(&self_, signature);
    auto* fn = cc_.addFunc(asmjit::FuncSignatureT<int, int64_t*>(asmjit::CallConvId::kHost));
    save_registers(fn);
    buffer_ = cc_.newIntPtr();
    fn->setArg(0, buffer_);
    const x86::Mem flag = x86::qword_ptr(buffer_, word(f_.depth + 1));
    cc_.mov(flag, 0);
    x86::Gp depth = cc_.newInt64();
    cc_.mov(depth, x86::qword_ptr(buffer_, word(f_.depth)));
    asmjit::InvokeNode* node;
    std::vector<x86::Reg> operands;
    for (int k = 0; k < kOperands; ++k) {
      const x86::Mem from = x86::qword_ptr(buffer_, word(k));
      if (operand(k) == Type::kF64) {
        x86::Xmm r = cc_.newXmmSd();
        cc_.vmovsd(r, from);
        operands.push_back(r);
      } else {
        x86::Gp r = cc_.newInt64();
        cc_.mov(r, from);
        operands.push_back(r);
      }
    }
    cc_.invoke(&node, self_->label(), signature);
    node->setArg(0, buffer_);
    node->setArg(1, depth);
    for (int k = 0; k < kOperands; ++k) node->setArg(static_cast<size_t>(k) + 2, operands[k]);
    int returns = 0, other = 0;
    for (size_t k = 0; k < f_.exits.size(); ++k)
      if (f_.exits[k].as == kNoExit)  // who runs it knows of no copies
        (f_.exits[k].returns ? returns : other) = static_cast<int>(k);
    if (result() == Type::kF64) {
      x86::Xmm r = cc_.newXmmSd();
      node->setRet(0, r);
      cc_.vmovsd(x86::qword_ptr(buffer_), r);
    } else {
      x86::Gp r = cc_.newInt64();
      node->setRet(0, r);
      cc_.mov(x86::qword_ptr(buffer_), r);
    }
    x86::Gp exit = cc_.newInt32(), otherwise = cc_.newInt32();
    cc_.mov(exit, returns);
    cc_.mov(otherwise, other);
    cc_.cmp(flag, 0);
    cc_.cmovne(exit, otherwise);
    cc_.ret(exit);
    cc_.endFunc();

    cc_.addFunc(self_);
    save_registers(self_);
    buffer_ = cc_.newIntPtr();
    depth_ = cc_.newInt64();
    self_->setArg(0, buffer_);
    self_->setArg(1, depth_);
    for (int k = 0; k < kOperands; ++k) {
      if (operand(k) == Type::kF64)
        operands_.push_back(cc_.newXmmSd());
      else
        operands_.push_back(cc_.newInt64());
      self_->setArg(static_cast<size_t>(k) + 2, operands_.back());
    }
    given_up_ = cc_.newLabel();
  }
  void leave_self(int v) {
    if (result() == Type::kF64) {
      x86::Xmm r = cc_.newXmmSd();
      if (v == kNoValue)
        cc_.vxorps(r, r, r);
      else
        cc_.vmovapd(r, xmm(v));
      cc_.ret(r);
    } else {
      x86::Gp r = cc_.newInt64();
      cc_.mov(r, v == kNoValue ? depth_ : gp(v));
      cc_.ret(r);
    }
  }
  void call_self(const Instr& in, int v) {
    x86::Gp depth = cc_.newInt64();
    cc_.mov(depth, depth_);
    cc_.sub(depth, in.imm);
    cc_.js(given_up_);
    std::vector<x86::Reg> operands;
    for (int k = 0; k < kOperands; ++k) {
      if (operand(k) == Type::kF64)
        operands.push_back(xmm(in.args[k]));
      else
        operands.push_back(gp(in.args[k]));
    }
    asmjit::InvokeNode* node;
    cc_.invoke(&node, self_->label(), self_signature());
    node->setArg(0, buffer_);
    node->setArg(1, depth);
    for (int k = 0; k < kOperands; ++k) node->setArg(static_cast<size_t>(k) + 2, operands[k]);
    if (in.type == Type::kF64)
      node->setRet(0, xmm_[v]);
    else
      node->setRet(0, gp_[v]);
    cc_.cmp(x86::qword_ptr(buffer_, word(f_.depth + 1)), 0);
    cc_.jne(given_up_);
  }

 private:
  void count_uses(const std::vector<int>& order) {
    std::vector<bool> exits(f_.exits.size());
    auto use = [&](int v) { ++uses_[v]; };
    auto use_exit = [&](int exit) {
      if (exit == kNoExit || exits[exit]) return;
      exits[exit] = true;
      for (int v : f_.exits[exit].values) use(v);
    };
    for (int b : order) {
      Block block = f_.blocks[b];
      for (int v : block.instrs) {
        Instr in = at(v);
        region::each_operand(in, use);
        use_exit(in.exit);
        if (in.op == Op::kCheck || in.op == Op::kSelect) ++tests_[in.args[0]];
      }
      region::each_operand(block, use);
      if (block.condition != kNoValue) ++tests_[block.condition];
      use_exit(block.exit);
    }
  }

  // Where values wait to be looked at, that is done before.
  Label exit(int k) {
    if (pending_.empty()) return left(k);
    Label stub = cc_.newLabel();
    late_.push_back([=, this, pending = pending_] {
      cc_.bind(stub);
      for (int q : pending) leave_if_loud(q);
      cc_.jmp(left(k));
    });
    return stub;
  }
  Label left(int k) {
    exit_used_[k] = true;
    return exits_[k];
  }

  // --- values that may be a new infinity, or no number
  // Such a value makes others of its kind: it is looked at with them, in the same block, before
  // anything is written.
  void find_deferred(const Block& block) {
    deferred_.clear();
    std::vector<int> later;
    for (auto k = block.instrs.rbegin(); k != block.instrs.rend(); ++k) {
      const Instr& in = at(*k);
      if (region::facts(in.op).effect == region::Effect::kWrites) later.clear();
      if (in.op != Op::kQuiet) continue;
      for (int q : later)
        if (region::carries_what_is_not_finite(at(at(q).args[0]), in.args[0]))
          deferred_[*k] = check_of(q);
      later.push_back(*k);
    }
  }
  // The one that looks at what such a value makes of others.
  int check_of(int q) const {
    const auto by = deferred_.find(q);
    return by == deferred_.end() ? q : by->second;
  }
  void quiet(int q) {
    if (deferred_.count(q)) {
      pending_.push_back(q);
      return;
    }
    const x86::Xmm result = xmm(at(q).args[0]);
    Label seldom = cc_.newLabel(), done = cc_.newLabel();
    x86::Xmm t = cc_.newXmmSd();
    cc_.vsubsd(t, result, result);
    cc_.vucomisd(t, t);
    cc_.jp(seldom);
    cc_.bind(done);
    pending_.push_back(q);
    late_.push_back([=, this, pending = pending_] {
      cc_.bind(seldom);
      for (int w : pending) leave_if_loud(w);
      cc_.jmp(done);
    });
    std::erase_if(pending_, [&](int w) { return check_of(w) == q; });
  }
  void leave_if_loud(int q) {
    const Instr in = at(q);
    leave_if_loud(xmm(in.args[0]), {xmm(in.args[1]), xmm(in.args[2])}, in.exit);
  }

  void leave(int k) {
    const auto& values = f_.exits[k].values;
    if (f_.calls_itself()) {
      if (f_.exits[k].returns)
        leave_self(values[0]);
      else
        cc_.jmp(given_up_);
      return;
    }
    for (size_t i = 0; i < values.size(); ++i) {
      const x86::Mem to = x86::qword_ptr(buffer_, static_cast<int32_t>(8 * i));
      const int v = values[i];
      if (is_const(v)) {
        if (is_small(v))
          cc_.mov(to, at(v).imm);
        else
          cc_.mov(to, gp(v));
      } else if (at(v).type == Type::kF64) {
        cc_.vmovsd(to, xmm_[v]);
      } else {
        cc_.mov(to, gp_[v]);
      }
    }
    x86::Gp r = cc_.newInt32();
    cc_.mov(r, f_.returned_by(k));
    cc_.ret(r);
  }

  // --- blocks
  void block(int b, int behind) {
    const Block& block = f_.blocks[b];
    cc_.bind(labels_[b]);
    find_deferred(block);
    for (int v : block.instrs) instruction(v);
    if (block.exit != kNoExit)
      leave(block.exit);
    else
      go_on(block, behind);
    done_.push_back(b);
  }
  void go_on(const Block& block, int behind) {
    if (block.condition != kNoValue) {
      const CondCode holds = flags(block.condition);
      if (no_moves(block.next) && block.next.block != behind) {
        cc_.j(holds, labels_[block.next.block]);
        jump(block.otherwise, behind);
        return;
      }
      if (block.otherwise.args.empty() || no_moves(block.otherwise)) {
        cc_.j(x86::negateCond(holds), labels_[block.otherwise.block]);
      } else {
        Label next = cc_.newLabel();
        cc_.j(holds, next);
        moves(block.otherwise);
        cc_.jmp(labels_[block.otherwise.block]);
        cc_.bind(next);
      }
    }
    jump(block.next, behind);
  }
  // To a short head of a loop that was emitted before: what it does is done here, which saves a
  // jump each turn.
  void jump(const Edge& e, int behind) {
    constexpr size_t kShort = 4;
    const Block& to = f_.blocks[e.block];
    moves(e);
    const bool back = std::find(done_.begin(), done_.end(), e.block) != done_.end();
    if (back && !at_end_ && to.condition != kNoValue && to.instrs.size() <= kShort &&
        no_moves(to.next) && no_moves(to.otherwise)) {
      at_end_ = true;
      for (int v : to.instrs) instruction(v);
      go_on(to, behind);
      at_end_ = false;
    } else if (e.block != behind) {
      cc_.jmp(labels_[e.block]);
    }
  }

  // --- conditions
  static bool is_compare(Op op) {
    return (op >= Op::kIEq && op <= Op::kIGe) || (op >= Op::kFEq && op <= Op::kFGe);
  }
  // Compared right before its only use, which asks for flags.
  bool is_fused(int v) const { return is_compare(at(v).op) && uses_[v] == 1 && tests_[v] == 1; }

  // The condition that holds where v does.
  CondCode flags(int v) {
    if (is_fused(v)) return compare(at(v));
    if (is_const(v)) {
      x86::Gp r = gp(v);
      cc_.test(r, r);
    } else {
      cc_.test(gp_[v], gp_[v]);
    }
    return CondCode::kNotZero;
  }
  CondCode compare(const Instr& in) {
    const int a = in.args[0], b = in.args[1];
    if (in.op <= Op::kIGe && in.op >= Op::kIEq) {
      x86::Gp x = gp(a);
      if (is_const(b) && at(b).imm == 0)
        cc_.test(x, x);
      else if (is_small(b))
        cc_.cmp(x, static_cast<int32_t>(at(b).imm));
      else
        cc_.cmp(x, gp(b));
      switch (in.op) {
        case Op::kIEq: return CondCode::kEqual;
        case Op::kINe: return CondCode::kNotEqual;
        case Op::kILt: return CondCode::kSignedLT;
        case Op::kILe: return CondCode::kSignedLE;
        case Op::kIGt: return CondCode::kSignedGT;
        default: return CondCode::kSignedGE;
      }
    }
    x86::Xmm x = xmm(a), y = xmm(b);
    switch (in.op) {
      case Op::kFLt: cc_.vucomisd(y, x); return CondCode::kUnsignedGT;
      case Op::kFLe: cc_.vucomisd(y, x); return CondCode::kUnsignedGE;
      case Op::kFGt: cc_.vucomisd(x, y); return CondCode::kUnsignedGT;
      case Op::kFGe: cc_.vucomisd(x, y); return CondCode::kUnsignedGE;
      default: break;
    }
    x86::Xmm mask = cc_.newXmmSd();
    x86::Gp bits = cc_.newInt64();
    cc_.vcmpsd(mask, x, y, in.op == Op::kFEq ? x86::VCmpImm::kEQ_OQ : x86::VCmpImm::kNEQ_UQ);
    cc_.vmovmskpd(bits.r32(), mask);
    cc_.test(bits.r32(), 1);
    return CondCode::kNotZero;
  }

  // --- instructions
  template <class F>
  void float_op(const Instr& in, int v, F op) {
    x86::Xmm a = xmm(in.args[0]);
    if (is_const(in.args[1]))
      op(xmm_[v], a, real_const(real(in.args[1])));
    else
      op(xmm_[v], a, xmm_[in.args[1]]);
  }

  void instruction(int v) {
    const Instr& in = at(v);
    if (in.op == Op::kConst) return;
    if (is_fused(v)) return;
    if (in.type != Type::kNone) make(v);
    auto [a, b, c] = in.args;
    switch (in.op) {
      case Op::kParam:
      case Op::kConst: break;
      case Op::kInput: {
        if (f_.calls_itself() && in.imm < kOperands) {
          if (in.type == Type::kF64)
            cc_.vmovapd(xmm_[v], operands_[static_cast<size_t>(in.imm)].as<x86::Xmm>());
          else
            cc_.mov(gp_[v], operands_[static_cast<size_t>(in.imm)].as<x86::Gp>());
          break;
        }
        const x86::Mem from = x86::qword_ptr(buffer_, static_cast<int32_t>(8 * in.imm));
        if (in.type == Type::kF64)
          cc_.vmovsd(xmm_[v], from);
        else
          cc_.mov(gp_[v], from);
        break;
      }
      case Op::kIAdd:
      case Op::kISub:
      case Op::kIAnd:
      case Op::kIOr:
      case Op::kIXor: binary(in, v); break;
      case Op::kIMul:
        if (is_small(b)) {
          cc_.imul(gp_[v], gp(a), static_cast<int32_t>(at(b).imm));
        } else {
          cc_.mov(gp_[v], gp(a));
          cc_.imul(gp_[v], gp(b));
        }
        on_overflow(in);
        break;
      case Op::kINeg:
        cc_.mov(gp_[v], gp(a));
        cc_.neg(gp_[v]);
        on_overflow(in);
        break;
      case Op::kIAbs: {
        x86::Gp x = gp(a);
        cc_.mov(gp_[v], x);
        cc_.neg(gp_[v]);
        on_overflow(in);
        cc_.cmovs(gp_[v], x);
        break;
      }
      case Op::kIDiv:
      case Op::kIMod: divide(in, v); break;
      case Op::kIShl: shift_left(in, v); break;
      case Op::kIShr: shift_right(in, v); break;
      case Op::kIBelow:
      case Op::kBToI: cc_.mov(gp_[v], gp(a)); break;
      case Op::kIEq:
      case Op::kINe:
      case Op::kILt:
      case Op::kILe:
      case Op::kIGt:
      case Op::kIGe:
      case Op::kFEq:
      case Op::kFNe:
      case Op::kFLt:
      case Op::kFLe:
      case Op::kFGt:
      case Op::kFGe: {
        const CondCode holds = compare(in);
        cc_.set(holds, gp_[v].r8());
        cc_.movzx(gp_[v].r32(), gp_[v].r8());
        break;
      }
      case Op::kFAdd: float_op(in, v, [&](auto... x) { cc_.vaddsd(x...); }); break;
      case Op::kFSub: float_op(in, v, [&](auto... x) { cc_.vsubsd(x...); }); break;
      case Op::kFMul: float_op(in, v, [&](auto... x) { cc_.vmulsd(x...); }); break;
      case Op::kFDiv:
        if (in.exit != kNoExit) {
          x86::Xmm zero = cc_.newXmmSd();
          cc_.vxorps(zero, zero, zero);
          cc_.vucomisd(zero, xmm(b));
          Label fine = cc_.newLabel();
          cc_.jp(fine);
          cc_.je(exit(in.exit));
          cc_.bind(fine);
        }
        float_op(in, v, [&](auto... x) { cc_.vdivsd(x...); });
        break;
      case Op::kFNeg: cc_.vxorpd(xmm_[v], xmm(a), mask(uint64_t{1} << 63)); break;
      case Op::kFAbs: cc_.vandpd(xmm_[v], xmm(a), mask(~(uint64_t{1} << 63))); break;
      case Op::kFRound32: {
        x86::Xmm t = cc_.newXmmSs();
        cc_.vcvtsd2ss(t, xmm(a), xmm(a));
        cc_.vcvtss2sd(xmm_[v], t, t);
        break;
      }
      case Op::kFSqrt: {
        x86::Xmm x = xmm(a);
        if (in.exit != kNoExit) {
          x86::Xmm zero = cc_.newXmmSd();
          cc_.vxorps(zero, zero, zero);
          cc_.vucomisd(zero, x);
          cc_.ja(exit(in.exit));
        }
        cc_.vsqrtsd(xmm_[v], x, x);
        break;
      }
      case Op::kBNot:
        cc_.mov(gp_[v], gp(a));
        cc_.xor_(gp_[v], 1);
        break;
      // asmjit would take a spilled operand of vmovq from memory, which is another instruction
      case Op::kFOfBits:
        cc_.vxorps(xmm_[v], xmm_[v], xmm_[v]);
        cc_.vpinsrq(xmm_[v], xmm_[v], gp(a), 0);
        break;
      case Op::kFBits: cc_.vpextrq(gp_[v], xmm(a), 0); break;
      case Op::kIToFExact:
        if (in.exit != kNoExit) {
          constexpr int64_t kExact = int64_t{1} << 53;
          x86::Gp t = cc_.newInt64(), most = cc_.newInt64();
          cc_.mov(t, kExact);
          cc_.add(t, gp(a));
          cc_.mov(most, 2 * kExact);
          cc_.cmp(t, most);
          cc_.ja(exit(in.exit));
        }
        [[fallthrough]];
      case Op::kIToF:
        cc_.vxorps(xmm_[v], xmm_[v], xmm_[v]);
        cc_.vcvtsi2sd(xmm_[v], xmm_[v], gp(a));
        break;
      case Op::kFToI: {
        cc_.vcvttsd2si(gp_[v], xmm(a));
        if (in.exit == kNoExit) break;
        x86::Gp none = cc_.newInt64();
        cc_.mov(none, INT64_MIN);
        cc_.cmp(gp_[v], none);
        cc_.je(exit(in.exit));
        break;
      }
      case Op::kSelect: select(in, v); break;
      case Op::kCall1:
      case Op::kCall2: call(in, v); break;
      case Op::kSelfI:
      case Op::kSelfF:
      case Op::kSelfB: call_self(in, v); break;
      case Op::kCheck: cc_.j(x86::negateCond(flags(a)), exit(in.exit)); break;
      case Op::kQuiet: quiet(v); break;
      case Op::kPoll:
        cc_.test(x86::dword_ptr(gp(a)), static_cast<int32_t>(in.imm));
        cc_.jnz(exit(in.exit));
        break;
      case Op::kCallOut: call_out(in, v); break;
      case Op::kLoadInt: load_int(cc_, gp(in.args[0]), gp_[v], in, exit(in.exit), &late_); break;
      case Op::kLoadF64: cc_.vmovsd(xmm_[v], place(in)); break;
      case Op::kLoadF32:
        cc_.vxorps(xmm_[v], xmm_[v], xmm_[v]);
        cc_.vcvtss2sd(xmm_[v], xmm_[v], place(in));
        break;
      case Op::kLoadI64: cc_.mov(gp_[v], place(in)); break;
      case Op::kLoadI32: cc_.movsxd(gp_[v], place(in)); break;
      case Op::kLoadU32: cc_.mov(gp_[v].r32(), place(in)); break;
      case Op::kLoadI16: cc_.movsx(gp_[v], place(in)); break;
      case Op::kLoadU16: cc_.movzx(gp_[v].r32(), place(in)); break;
      case Op::kLoadI8: cc_.movsx(gp_[v], place(in)); break;
      case Op::kLoadU8: cc_.movzx(gp_[v].r32(), place(in)); break;
      case Op::kStoreF64: cc_.vmovsd(place(in), xmm(c)); break;
      case Op::kStoreF32: {
        x86::Xmm x = cc_.newXmmSs();
        cc_.vcvtsd2ss(x, xmm(c), xmm(c));
        cc_.vmovss(place(in), x);
        break;
      }
      case Op::kStoreI64: cc_.mov(place(in), gp(c)); break;
      case Op::kStoreI32: cc_.mov(place(in), gp(c).r32()); break;
      case Op::kStoreI16: cc_.mov(place(in), gp(c).r16()); break;
      case Op::kStoreU8: cc_.mov(place(in), gp(c).r8()); break;
    }
  }

  void on_overflow(const Instr& in) {
    if (in.exit != kNoExit) cc_.jo(exit(in.exit));
  }
  x86::Mem place(const Instr& in) {
    uint32_t size = 8;
    switch (in.op) {
      case Op::kLoadF32:
      case Op::kLoadI32:
      case Op::kLoadU32:
      case Op::kStoreF32:
      case Op::kStoreI32: size = 4; break;
      case Op::kLoadI16:
      case Op::kLoadU16:
      case Op::kStoreI16: size = 2; break;
      case Op::kLoadI8:
      case Op::kLoadU8:
      case Op::kStoreU8: size = 1; break;
      default: break;
    }
    const int scale = region::log_scale_of(in.imm);
    const int64_t offset = region::offset_of(in.imm);
    const int64_t known = is_small(in.args[1]) ? at(in.args[1]).imm * (1 << scale) + offset : 0;
    x86::Mem m = is_small(in.args[1]) && known == static_cast<int32_t>(known)
                     ? x86::ptr(gp(in.args[0]), static_cast<int32_t>(known))
                     : x86::ptr(gp(in.args[0]), gp(in.args[1]), static_cast<uint32_t>(scale),
                                static_cast<int32_t>(offset));
    m.setSize(size);
    return m;
  }

  void binary(const Instr& in, int v) {
    const int a = in.args[0], b = in.args[1];
    x86::Gp x = gp(a), to = gp_[v];
    if (in.op == Op::kIAdd && in.exit == kNoExit) {
      cc_.lea(to, is_small(b) ? x86::ptr(x, static_cast<int32_t>(at(b).imm)) : x86::ptr(x, gp(b)));
      return;
    }
    cc_.mov(to, x);
    auto with = [&](auto y) {
      switch (in.op) {
        case Op::kIAdd: cc_.add(to, y); break;
        case Op::kISub: cc_.sub(to, y); break;
        case Op::kIAnd: cc_.and_(to, y); break;
        case Op::kIOr: cc_.or_(to, y); break;
        default: cc_.xor_(to, y); break;
      }
    };
    if (is_small(b))
      with(static_cast<int32_t>(at(b).imm));
    else
      with(gp(b));
    if (in.op == Op::kIAdd || in.op == Op::kISub) on_overflow(in);
  }

  void divide(const Instr& in, int v) {
    const int a = in.args[0], b = in.args[1];
    const bool mod = in.op == Op::kIMod;
    x86::Gp x = gp(a), to = gp_[v];
    if (is_const(b) && at(b).imm > 0 && (at(b).imm & (at(b).imm - 1)) == 0) {
      cc_.mov(to, x);
      if (!mod)
        cc_.sar(to, __builtin_ctzll(static_cast<uint64_t>(at(b).imm)));
      else if (at(b).imm - 1 == static_cast<int32_t>(at(b).imm - 1))
        cc_.and_(to, static_cast<int32_t>(at(b).imm - 1));
      else {
        x86::Gp m = cc_.newInt64();
        cc_.mov(m, at(b).imm - 1);
        cc_.and_(to, m);
      }
      return;
    }
    x86::Gp y = gp(b), low = cc_.newInt64(), high = cc_.newInt64();
    if (in.exit != kNoExit) {
      Label divisible = cc_.newLabel();
      if (!is_const(b)) {
        cc_.test(y, y);
        cc_.jz(exit(in.exit));
      } else if (at(b).imm == 0) {
        cc_.jmp(exit(in.exit));
      }
      if (!is_const(b) || at(b).imm == -1) {
        cc_.cmp(y, -1);
        cc_.jne(divisible);
        cc_.mov(low, x);
        cc_.neg(low);
        cc_.jo(exit(in.exit));
        cc_.bind(divisible);
      }
    }
    Label done = cc_.newLabel();
    if (in.imm == region::kSameSigns) {
      // 32 bits are divided faster
      Label wide = cc_.newLabel();
      cc_.mov(low, x);
      cc_.or_(low, y);
      cc_.shr(low, 32);
      cc_.jnz(wide);
      cc_.mov(low.r32(), x.r32());
      cc_.xor_(high.r32(), high.r32());
      cc_.div(high.r32(), low.r32(), y.r32());
      cc_.mov(to.r32(), mod ? high.r32() : low.r32());
      cc_.jmp(done);
      cc_.bind(wide);
    }
    cc_.mov(low, x);
    cc_.cqo(high, low);
    cc_.idiv(high, low, y);
    if (in.imm == region::kSameSigns) {
      cc_.mov(to, mod ? high : low);
      cc_.bind(done);
      return;
    }
    // rounded down: where signs differ and something is left
    x86::Gp signs = cc_.newInt64(), down = cc_.newInt64();
    cc_.mov(signs, high);
    cc_.xor_(signs, y);
    cc_.sar(signs, 63);  // -1 where they differ
    cc_.xor_(down.r32(), down.r32());
    cc_.test(high, high);
    cc_.cmovnz(down, signs);
    if (mod) {
      cc_.and_(down, y);
      cc_.lea(to, x86::ptr(high, down));
    } else {
      cc_.lea(to, x86::ptr(low, down));
    }
  }

  void shift_left(const Instr& in, int v) {
    const int a = in.args[0], b = in.args[1];
    x86::Gp x = gp(a), to = gp_[v], back = cc_.newInt64();
    if (is_const(b) && at(b).imm >= 0 && at(b).imm < 64) {
      cc_.mov(to, x);
      cc_.shl(to, static_cast<int32_t>(at(b).imm));
      cc_.mov(back, to);
      cc_.sar(back, static_cast<int32_t>(at(b).imm));
    } else {
      x86::Gp n = gp(b);
      cc_.cmp(n, 63);
      cc_.ja(exit(in.exit));
      cc_.shlx(to, x, n);
      cc_.sarx(back, to, n);
    }
    cc_.cmp(back, x);
    cc_.jne(exit(in.exit));
  }
  void shift_right(const Instr& in, int v) {
    const int a = in.args[0], b = in.args[1];
    x86::Gp x = gp(a), to = gp_[v];
    if (is_const(b) && at(b).imm >= 0) {
      cc_.mov(to, x);
      cc_.sar(to, static_cast<int32_t>(std::min<int64_t>(at(b).imm, 63)));
      return;
    }
    x86::Gp n = gp(b), most = cc_.newInt64();
    cc_.test(n, n);
    if (in.exit != kNoExit) cc_.js(exit(in.exit));
    cc_.mov(most, 63);
    cc_.cmp(n, most);
    cc_.cmovl(most, n);
    cc_.sarx(to, x, most);
  }

  void select(const Instr& in, int v) {
    const auto [c, a, b] = in.args;
    if (in.type != Type::kF64) {
      x86::Gp x = gp(a), y = gp(b), to = cc_.newInt64();
      cc_.mov(to, y);
      cc_.cmov(flags(c), to, x);
      cc_.mov(gp_[v], to);
      return;
    }
    x86::Xmm x = xmm(a), y = xmm(b);
    if (const Instr& test = at(c); test.op == Op::kFLt || test.op == Op::kFGt) {
      // the second one where neither is less, as the instructions have it
      const bool first = test.args[0] == a && test.args[1] == b;
      if (first || (test.args[0] == b && test.args[1] == a)) {
        (test.op == Op::kFLt) == first ? cc_.vminsd(xmm_[v], x, y) : cc_.vmaxsd(xmm_[v], x, y);
        return;
      }
    }
    Label done = cc_.newLabel();
    x86::Xmm to = cc_.newXmmSd();
    cc_.vmovapd(to, x);
    cc_.j(flags(c), done);
    cc_.vmovapd(to, y);
    cc_.bind(done);
    cc_.vmovapd(xmm_[v], to);
  }

  // Leaves where a number that is none came of numbers, or infinity of finite ones.
  void call(const Instr& in, int v) {
    const bool power =
        in.op == Op::kCall2 && in.imm == static_cast<int64_t>(region::Function2::k_py_pow);
    if (power && is_const(in.args[1]) && real(in.args[1]) == 2) return square(in, v);
    invoke(in, v);
  }
  // pow(x, 2): C libraries round it to the nearest but where the product is so near to the middle
  // of two numbers that their error decides. glibc's is at most 0.013 of a unit in the last place
  // for results between 2^-100 and 2^100 (0.009 in 6 * 10**7 tries): it is asked where the middle
  // is nearer than twice that, and for other results.
  void square(const Instr& in, int v) {
    constexpr double kFurther = 1.05, kSmall = 0x1p-100, kLarge = 0x1p100;
    const x86::Xmm x = xmm(in.args[0]), p = cc_.newXmmSd(), t = cc_.newXmmSd();
    Label seldom = cc_.newLabel(), done = cc_.newLabel();
    cc_.vmulsd(p, x, x);
    cc_.vmovapd(t, p);
    cc_.vfmsub231sd(t, x, x);  // what was rounded off
    cc_.vfmadd132sd(t, p, real_const(kFurther));
    cc_.vucomisd(t, p);
    cc_.jp(seldom);
    cc_.jne(seldom);
    cc_.vucomisd(p, real_const(kSmall));
    cc_.jb(seldom);
    cc_.vucomisd(p, real_const(kLarge));
    cc_.ja(seldom);
    cc_.vmovapd(xmm_[v], p);
    cc_.bind(done);
    late_.push_back([=, this, pending = pending_] {
      cc_.bind(seldom);
      pending_ = pending;
      invoke(in, v);
      pending_.clear();
      cc_.jmp(done);
    });
  }
  void invoke(const Instr& in, int v) {
    asmjit::InvokeNode* node;
    std::vector<x86::Xmm> x{xmm(in.args[0])};
    if (in.op == Op::kCall1) {
      const auto fn = facts(static_cast<region::Function1>(in.imm)).fn;
      cc_.invoke(&node, asmjit::imm(reinterpret_cast<uint64_t>(fn)),
                 asmjit::FuncSignatureT<double, double>(asmjit::CallConvId::kHost));
      node->setArg(0, x[0]);
    } else {
      x.push_back(xmm(in.args[1]));
      const auto fn = facts(static_cast<region::Function2>(in.imm)).fn;
      cc_.invoke(&node, asmjit::imm(reinterpret_cast<uint64_t>(fn)),
                 asmjit::FuncSignatureT<double, double, double>(asmjit::CallConvId::kHost));
      node->setArg(0, x[0]);
      node->setArg(1, x[1]);
    }
    node->setRet(0, xmm_[v]);
    if (in.exit == kNoExit) return;
    Label seldom = cc_.newLabel(), done = cc_.newLabel();
    x86::Xmm t = cc_.newXmmSd();
    cc_.vsubsd(t, xmm_[v], xmm_[v]);
    cc_.vucomisd(t, t);
    cc_.jp(seldom);
    cc_.bind(done);
    late_.push_back([=, this, pending = pending_, result = xmm_[v]] {
      cc_.bind(seldom);
      for (int w : pending) leave_if_loud(w);
      leave_if_loud(result, x, in.exit);
      cc_.jmp(done);
    });
  }

  void call_out(const Instr& in, int v) {
    const x86::Gp given[] = {gp(in.args[0]), gp(in.args[1]), gp(in.args[2])};
    asmjit::InvokeNode* node;
    cc_.invoke(
        &node, asmjit::imm(static_cast<uint64_t>(in.imm)),
        asmjit::FuncSignatureT<int64_t, int64_t, int64_t, int64_t>(asmjit::CallConvId::kHost));
    for (size_t k = 0; k < 3; ++k) node->setArg(k, given[k]);
    node->setRet(0, gp_[v]);
  }

  void leave_if_loud(x86::Xmm result, const std::vector<x86::Xmm>& x, int to) {
    Label not_a_number = cc_.newLabel(), done = cc_.newLabel();
    const Label left_by = left(to);
    x86::Xmm t = cc_.newXmmSd();
    cc_.vsubsd(t, result, result);
    cc_.vucomisd(t, t);
    cc_.jnp(done);
    cc_.vucomisd(result, result);
    cc_.jp(not_a_number);
    for (auto& a : x) {
      cc_.vsubsd(t, a, a);
      cc_.vucomisd(t, t);
      cc_.jp(done);
    }
    cc_.jmp(left_by);
    cc_.bind(not_a_number);
    for (auto& a : x) {
      cc_.vucomisd(a, a);
      cc_.jp(done);
    }
    cc_.jmp(left_by);
    cc_.bind(done);
  }

  static constexpr int kOperands = 3;  // of a function that calls itself
  x86::Gp buffer_, depth_;
  asmjit::FuncNode* self_ = nullptr;
  std::vector<x86::Reg> operands_;
  Label given_up_;
  std::vector<int> uses_, tests_;            // all, and those that ask whether it holds
  std::vector<int> done_;                    // blocks
  bool at_end_ = false;                      // of a loop, whose head is emitted once more
  std::vector<std::function<void()>> late_;  // what is seldom done lies behind all blocks
  std::map<int, int> deferred_;              // kQuiet whose value reaches that of a later one
  std::vector<int> pending_;                 // those of them that were not looked at yet
  std::vector<Label> labels_, exits_;
  std::vector<bool> exit_used_;
};

class Machine : public region::Code {
 public:
  explicit Machine(const Function& f)
      : code_([&](asmjit::CodeHolder& code) {
          x86::Compiler cc(&code);
          Emitter(cc, f).emit();
          cc.finalize();
          bytes_ = code.codeSize();
        }) {}
  int run(int64_t* buffer) const override { return code_.get()(buffer); }
  size_t bytes() const override { return bytes_; }

 private:
  size_t bytes_ = 0;
  pijit::Code<int (*)(int64_t*)> code_;
};

std::unique_ptr<region::Code> generate(const Function& f) {
  if (!generates_code() || config().backend == "reference" || f.instrs.size() > kMostInstrs)
    return nullptr;
  return std::make_unique<Machine>(f);
}

int threads() {
  const int most = max_threads();
  return most == 1 || Team::crowded() ? 1 : Team::ready(most);
}

[[maybe_unused]] const bool generator_registered = region::register_generator(generate);
[[maybe_unused]] const bool threads_registered =
    region::register_loop_threads({threads, parallel_for});

}  // namespace
}  // namespace pijit
