// What the code of a loop is put together from: a vector instruction set, as which each has a class
// of its own.
#pragma once
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "cpu/code.h"
#include "cpu/cpu.h"

namespace pijit {

// libm on 8 doubles in place; the second operand of call2 follows at x[8].
void call1_block(double* x, uint64_t function);
void call2_block(double* x, uint64_t function);
// Wide function `function` % 256 on function / 256 floats in place.
void wide_block(float* x, uint64_t function);

class VectorCode {
 public:
  explicit VectorCode(const InnerSpec& s);
  virtual ~VectorCode() = default;
  virtual bool covers(std::string* why) const;
  // What a storage type is in lanes: halves are float32, integers of 8 and 16 bits are int32.
  static DType lane_type(DType t) {
    if (is_half(t)) return DType::F32;
    return is_int(t) && size_of(t) < 4 ? DType::I32 : t;
  }
  static bool narrow(DType t) { return lane_type(t) != t; }

  // A value of all lanes: one 64-byte register (AVX-512), or up to two of 32 bytes (AVX2). Bools
  // are mask registers, or vectors of all-ones and all-zeros lanes.
  struct Reg {
    x86::Vec v, hi;
    x86::KReg k;
    x86::Mem constant;  // a constant in memory, read where it is used
  };
  virtual void begin(asmjit::FuncNode* f) = 0;
  virtual int max_hoisted() const = 0;
  virtual int max_sums() const = 0;  // that fit in registers beside what else a short body holds
  virtual int window() const = 0;    // nodes that the processor looks ahead, as measured
  virtual Reg constant(const SNode& n) = 0;
  virtual Reg constant_in_memory(const SNode& n) = 0;
  virtual Reg broadcast(DType t, x86::Gp p) = 0;
  virtual void make_tail_mask(x86::Gp n) = 0;  // n lanes are left, fewer than lanes_
  virtual Reg load(int k, DType t, bool tail) = 0;
  // Of vectors that lie side by side in memory, those that begin by[0], by[1], ... lanes after `a`.
  virtual std::vector<Reg> between(DType t, const Reg& a, const Reg& b,
                                   const std::vector<int>& by) = 0;
  virtual void store(int k, DType t, const Reg& r, bool tail) = 0;
  // All lanes, in 64 bytes of memory.
  virtual void spill(const x86::Mem& m, DType t, const Reg& r) = 0;
  virtual Reg fill(const x86::Mem& m, DType t) = 0;
  virtual Reg in_register(const Reg& r, DType t) = 0;
  virtual Reg compute(const SNode& n, const std::vector<Reg>& r) = 0;
  // float32 rounded to a half; int32 wrapped to a narrower integer.
  virtual Reg rounded(const Reg& r, DType t) = 0;
  // A value to accumulate into: registers of its own, all lanes holding `bits`.
  virtual Reg accumulator(DType t, uint64_t bits) = 0;
  virtual Reg combined(Combiner c, DType t, const Reg& acc, const Reg& x) = 0;
  // acc = x, in the lanes of the tail alone if `tail`.
  virtual void accumulate(const Reg& acc, const Reg& x, DType t, bool tail) = 0;
  // lane i = combine(lane i, lane i + h), h halving; the result goes to *p.
  virtual void fold(Combiner c, DType t, const Reg& acc, x86::Gp p) = 0;

  x86::Mem address(int k, DType t, int extra = 0) {
    const uint32_t shift = static_cast<uint32_t>(__builtin_ctzll(size_of(t)));
    return x86::ptr(p_[k], i_, shift, extra + ahead_ * static_cast<int>(size_of(t)));
  }
  // a * b + c, or with a product or a summand of the other sign: negations of operands take no
  // instruction of their own.
  struct Fma {
    int a, b, c;
    bool minus_product = false, minus_summand = false;
    uint32_t pick(uint32_t add, uint32_t sub, uint32_t negated_add, uint32_t negated_sub) const {
      return minus_product ? (minus_summand ? negated_sub : negated_add)
                           : (minus_summand ? sub : add);
    }
  };
  Fma fma_of(const SNode& n) const {
    Fma f{n.a, n.b, n.c};
    auto strip = [&](int* id, bool* minus) {
      for (; body_[*id].op == SOp::kNeg; *id = body_[*id].a) *minus = !*minus;
    };
    strip(&f.a, &f.minus_product);
    strip(&f.b, &f.minus_product);
    strip(&f.c, &f.minus_summand);
    return f;
  }

  // Where in which loop it is.
  const InnerSpec& s_;
  std::vector<SNode> body_;  // s_.body in lane types
  x86::Compiler* cc_ = nullptr;
  bool wide_ = false;  // a 64-bit type takes part: 8 lanes, else 16
  int lanes_;
  int ahead_ = 0;            // elements from i_ on that address() gives
  bool by_columns_ = false;  // see InnerSpec
  // Of the tail: lanes past the end must not raise flags, as 0 / 0 does (runtime/fp_status.h).
  bool in_tail_ = false;
  x86::Gp i_;
  std::vector<x86::Gp> p_;

 protected:
  // One with a name: asmjit prints a number into the name of each that has none, which takes a
  // tenth of the time that it takes to generate a long loop.
  template <class R>
  R new_register(asmjit::TypeId type) {
    R r;
    cc_->_newReg(&r, type, "v");
    return r;
  }
  // f(address, number), which changes no register as seen from here: its code saves all of them.
  // Where calls are rare, values stay in registers around them.
  template <class T>
  void call_keeping_registers(void (*f)(T*, uint64_t), const x86::Mem& address, uint64_t number) {
    x86::Gp a = cc_->newIntPtr(), n = cc_->newInt64(), target = cc_->newIntPtr();
    cc_->lea(a, address);
    cc_->mov(n, number);
    cc_->mov(target,
             reinterpret_cast<uint64_t>(keeping_registers(reinterpret_cast<void (*)()>(f))));
    asmjit::InvokeNode* call;
    cc_->invoke(&call, target,
                asmjit::FuncSignatureT<void, void*, uint64_t>(asmjit::CallConvId::kHost));
    call->setArg(0, a);
    call->setArg(1, n);
    for (auto group : {asmjit::RegGroup::kGp, asmjit::RegGroup::kVec, asmjit::RegGroup::kX86_K})
      call->detail()._callConv.setPreservedRegs(group, ~0u);
  }
  // The function behind code that saves and restores every register.
  virtual const void* keeping_registers(void (*f)()) const = 0;
  bool streams(int k) const {
    const int out = k - static_cast<int>(s_.in_types.size());
    return out >= 0 && s_.out[static_cast<size_t>(out)].stream;
  }
  // A narrow element in a general register: a float16 as it is, others as their lane.
  x86::Gp narrow_scalar(DType t, x86::Gp p) {
    x86::Gp x = cc_->newInt32();
    if (size_of(t) == 1)
      is_signed_int(t) ? cc_->movsx(x, x86::byte_ptr(p)) : cc_->movzx(x, x86::byte_ptr(p));
    else
      is_signed_int(t) ? cc_->movsx(x, x86::word_ptr(p)) : cc_->movzx(x, x86::word_ptr(p));
    if (t == DType::BF16) cc_->shl(x, 16);
    return x;
  }
  // Narrow elements in `raw` (register or memory) as lanes.
  void widen_from(const x86::Vec& d, const asmjit::Operand& raw, DType t) {
    namespace I = x86::Inst;
    switch (t) {
      case DType::F16: cc_->emit(I::kIdVcvtph2ps, d, raw); break;
      case DType::BF16:
        cc_->emit(I::kIdVpmovzxwd, d, raw);
        cc_->emit(I::kIdVpslld, d, d, asmjit::Imm(16));
        break;
      case DType::I8: cc_->emit(I::kIdVpmovsxbd, d, raw); break;
      case DType::U8: cc_->emit(I::kIdVpmovzxbd, d, raw); break;
      case DType::I16: cc_->emit(I::kIdVpmovsxwd, d, raw); break;
      case DType::U16: cc_->emit(I::kIdVpmovzxwd, d, raw); break;
      default: throw InternalError("not a narrow type");
    }
  }
  static bool f32(DType t) { return t == DType::F32; }
  static bool is64(DType t) { return size_of(t) == 8; }
  // Of four forms of an instruction, that for lanes of type t.
  static uint32_t by_type(DType t, uint32_t fs, uint32_t fd, uint32_t i32, uint32_t i64) {
    return t == DType::F32 ? fs : t == DType::F64 ? fd : is64(t) ? i64 : i32;
  }
};

bool has_avx512();
std::unique_ptr<VectorCode> avx512_code(const InnerSpec& s);  // where has_avx512()
std::unique_ptr<VectorCode> avx2_code(const InnerSpec& s);
// `f` behind code that saves general registers, and others by save(a, true), which takes `bytes` of
// stack; save(a, false) restores them. Made once for each f.
const void* with_saved_registers(void (*f)(), int bytes,
                                 const std::function<void(x86::Assembler&, bool)>& save);

}  // namespace pijit
