// AVX2 with FMA: the 64 bytes of lanes that reduction trees are defined on are two ymm registers
// (one for 4-byte types beside 8-byte ones). Bools are lanes of all ones or zeros, as wide as the
// widest type of the loop. What AVX2 lacks (64-bit multiply, scaling by a power of two, conversions
// of 64-bit integers) is put together from what it has, to the same bits.
#include <array>
#include <cstring>

#include "cpu/loops/vector_code.h"
#include "graph/eval/scalar_eval.h"

namespace pijit {
namespace {

using asmjit::Imm;
namespace I = x86::Inst;

// 8 elements at `x` converted, to x + 64.
template <class From, class To>
void convert_block(char* x) {
  static const BlockProgram* const program = [] {
    SBuilder sb;
    const DType from = std::is_same_v<From, float>    ? DType::F32
                       : std::is_same_v<From, double> ? DType::F64
                                                      : DType::I64;
    const DType to = std::is_same_v<To, float>    ? DType::F32
                     : std::is_same_v<To, double> ? DType::F64
                                                  : DType::I64;
    const SVal y = s_cast(sb.input(0, from), to);
    return new BlockProgram(sb.nodes, {y.id}, {to});
  }();
  const void* src = x;
  void* dst = x + 64;
  const int64_t one = 1;
  const DType from = std::is_same_v<From, float>    ? DType::F32
                     : std::is_same_v<From, double> ? DType::F64
                                                    : DType::I64;
  program->run(&src, &one, &from, &dst, &one, 8);
}
void load_bytes(char* to, const char* from, int64_t n) {
  std::memset(to, 0, 32);
  std::memcpy(to, from, n);
}
void store_bytes(char* to, const char* from, int64_t n) { std::memcpy(to, from, n); }

// Values in registers and in memory: one or two ymm for all lanes, constants, masks of tails.
class Avx2Lanes : public VectorCode {
 public:
  explicit Avx2Lanes(const InnerSpec& s) : VectorCode(s) {
    if (s.few) lanes_ = 8;
    by_columns_ = s.by_columns;
  }

 protected:
  using Vec = x86::Vec;
  using Parts = std::array<Vec, 2>;

  const void* keeping_registers(void (*f)()) const override {
    return with_saved_registers(f, 16 * 32, [](x86::Assembler& a, bool save) {
      for (uint32_t k = 0; k < 16; ++k) {
        const x86::Mem at = x86::ptr(x86::rsp, static_cast<int>(32 * k));
        save ? a.vmovups(at, x86::ymm(k)) : a.vmovups(x86::ymm(k), at);
      }
    });
  }
  void begin(asmjit::FuncNode* f) override {
    f->frame().setAvxEnabled();
    f->frame().setAvxCleanup();  // as of AVX-512
  }
  int max_hoisted() const override { return 5; }
  int max_sums() const override { return 2; }  // of two registers
  int window() const override { return 96; }
  int parts(DType t) const {
    const int bytes = is64(t) || (is_bool(t) && wide_) ? 8 : 4;
    return lanes_ * bytes / 32;
  }
  // The width of a bool's lanes.
  DType mask_type() const { return wide_ ? DType::I64 : DType::I32; }

  x86::Ymm ymm() { return new_register<x86::Ymm>(asmjit::TypeId::kInt32x8); }
  Vec part(const Reg& r, int p) const { return p ? r.hi : r.v; }
  Reg make(DType t) {
    Reg r;
    r.v = ymm();
    if (parts(t) == 2) r.hi = ymm();
    return r;
  }
  template <class F>
  Reg each(DType t, F f) {  // f(destination, part)
    Reg d = make(t);
    for (int p = 0; p < parts(t); ++p) f(part(d, p), p);
    return d;
  }
  Vec all_lanes(DType t, uint64_t bits) {
    Vec v = ymm();
    if (bits == 0)
      cc_->vpxor(v.as<x86::Ymm>(), v.as<x86::Ymm>(), v.as<x86::Ymm>());
    else if (bits == ~0ull)
      cc_->vpcmpeqd(v.as<x86::Ymm>(), v.as<x86::Ymm>(), v.as<x86::Ymm>());
    else if (is64(t))
      cc_->vbroadcastsd(v.as<x86::Ymm>(),
                        cc_->newInt64Const(asmjit::ConstPoolScope::kLocal, int64_t(bits)));
    else
      cc_->vbroadcastss(v.as<x86::Ymm>(),
                        cc_->newInt32Const(asmjit::ConstPoolScope::kLocal, int32_t(bits)));
    return v;
  }

  Reg constant(const SNode& n) override {
    Reg r;
    r.v = is_bool(n.dt) ? all_lanes(mask_type(), n.imm ? ~0ull : 0) : all_lanes(n.dt, n.imm);
    r.hi = r.v;
    return r;
  }
  Reg constant_in_memory(const SNode& n) override {
    alignas(32) char bytes[32];
    const size_t size = size_of(n.dt);
    for (size_t i = 0; i < 32; i += size) std::memcpy(bytes + i, &n.imm, size);
    Reg r;
    r.constant = cc_->newConst(asmjit::ConstPoolScope::kLocal, bytes, 32);
    return r;
  }
  Reg in_register(const Reg& r, DType) override {
    if (!r.constant.hasBase()) return r;
    Reg d;
    d.v = ymm();
    cc_->emit(I::kIdVmovups, d.v, r.constant);
    d.hi = d.v;
    return d;
  }
  void spill(const x86::Mem& m, DType t, const Reg& r) override {
    const Reg x = in_register(r, t);
    for (int p = 0; p < parts(t); ++p) cc_->vmovups(m.cloneAdjusted(32 * p), part(x, p));
  }
  Reg fill(const x86::Mem& m, DType t) override {
    return each(t, [&](Vec v, int p) { cc_->vmovups(v, m.cloneAdjusted(32 * p)); });
  }
  asmjit::Operand last(const Reg& r, int p) const {
    if (r.constant.hasBase()) return r.constant;
    return part(r, p);
  }
  Reg broadcast(DType t, x86::Gp p) override {
    Reg r;
    r.v = ymm();
    if (narrow(t)) {
      x86::Xmm one = cc_->newXmm();
      cc_->vmovd(one, narrow_scalar(t, p));
      if (t == DType::F16) cc_->vcvtph2ps(one, one);
      cc_->emit(I::kIdVbroadcastss, r.v, one);
    } else if (is_bool(t)) {
      x86::Gp b = cc_->newInt64();
      cc_->movzx(b.r32(), x86::byte_ptr(p));
      cc_->neg(b);
      x86::Xmm x = cc_->newXmm();
      cc_->vmovq(x, b);
      cc_->vpbroadcastq(r.v.as<x86::Ymm>(), x);
    } else {
      cc_->emit(is64(t) ? I::kIdVbroadcastsd : I::kIdVbroadcastss, r.v, x86::ptr(p));
    }
    r.hi = r.v;
    return r;
  }

  void make_tail_mask(x86::Gp n) override {
    left_ = n;
    auto masks = [&](DType t, int count) {
      alignas(32) int64_t i64[4];
      alignas(32) int32_t i32[8];
      x86::Xmm x = cc_->newXmm();
      cc_->vmovq(x, n);
      x86::Ymm bound = ymm();
      cc_->emit(is64(t) ? I::kIdVpbroadcastq : I::kIdVpbroadcastd, bound, x);
      Parts m;
      for (int p = 0; p < count; ++p) {
        const int lanes = is64(t) ? 4 : 8;
        for (int i = 0; i < lanes; ++i)
          is64(t) ? void(i64[i] = p * lanes + i) : void(i32[i] = p * lanes + i);
        x86::Mem iota =
            cc_->newConst(asmjit::ConstPoolScope::kLocal,
                          is64(t) ? static_cast<void*>(i64) : static_cast<void*>(i32), 32);
        m[p] = ymm();
        cc_->emit(is64(t) ? I::kIdVpcmpgtq : I::kIdVpcmpgtd, m[p], bound, iota);
      }
      return m;
    };
    mask32_ = masks(DType::I32, lanes_ / 8);
    if (wide_) mask64_ = masks(DType::I64, 2);
  }
  const Parts& tail_mask(DType t) const { return is64(t) ? mask64_ : mask32_; }

  x86::Mem stack(int bytes) { return cc_->newStack(bytes, 32); }
  template <class... A>
  void call(void (*f)(A...), std::initializer_list<x86::Gp> args) {
    x86::Gp target = cc_->newIntPtr();
    cc_->mov(target, reinterpret_cast<uint64_t>(f));
    asmjit::InvokeNode* node;
    cc_->invoke(&node, target, asmjit::FuncSignatureT<void, A...>(asmjit::CallConvId::kHost));
    int k = 0;
    for (auto& a : args) node->setArg(k++, a);
  }
  x86::Gp address_of(const x86::Mem& m) {
    x86::Gp a = cc_->newIntPtr();
    cc_->lea(a, m);
    return a;
  }

  x86::Gp left_;

 private:
  Parts mask32_, mask64_;
};

// What instructions do with them.
class Avx2Code final : public Avx2Lanes {
 public:
  using Avx2Lanes::Avx2Lanes;
  bool covers(std::string* why) const override {
    for (auto& n : s_.body)
      if (n.op == SOp::kScale && n.dt != DType::F32) return *why = "float64 scaling", false;
    return VectorCode::covers(why);
  }

 private:
  void make_tail_mask(x86::Gp n) override {
    index_ = Vec();  // what the loop before computed may not have run
    Avx2Lanes::make_tail_mask(n);
  }

  // 8 lanes as narrow elements, in the low part of an xmm register.
  x86::Xmm narrowed(const Vec& v, DType t) {
    x86::Xmm d = cc_->newXmm();
    if (t == DType::F16) {
      cc_->emit(I::kIdVcvtps2ph, d, v, Imm(0));
      return d;
    }
    x86::Ymm x = ymm();
    if (t == DType::BF16)
      cc_->vpsrld(x, v.as<x86::Ymm>(), Imm(16));
    else
      cc_->vpand(x, v.as<x86::Ymm>(),
                 all_lanes(DType::I32, size_of(t) == 1 ? 0xff : 0xffff).as<x86::Ymm>());
    cc_->vpackusdw(x, x, x);
    cc_->vpermq(x, x, Imm(0x08));
    if (size_of(t) == 1)
      cc_->vpackuswb(d, x.xmm(), x.xmm());
    else
      cc_->vmovdqa(d, x.xmm());
    return d;
  }
  Reg rounded(const Reg& r, DType t) override {
    return each(lane_type(t), [&](Vec d, int p) {
      const Vec x = part(r, p);
      if (t != DType::BF16) return widen_from(d, narrowed(x, t), t);
      // to nearest, ties to even, in integers; NaN stays NaN
      auto bits = [&](uint32_t b) { return all_lanes(DType::I32, b); };
      Vec odd = ymm(), nan = ymm(), quiet = ymm();
      cc_->emit(I::kIdVpsrld, odd, x, Imm(16));
      cc_->emit(I::kIdVpand, odd, odd, bits(1));
      cc_->emit(I::kIdVpaddd, odd, odd, x);
      cc_->emit(I::kIdVpaddd, odd, odd, bits(0x7fff));
      cc_->emit(I::kIdVcmpps, nan, x, x, Imm(3));
      cc_->emit(I::kIdVpor, quiet, x, bits(0x400000));
      blend(DType::F32, d, odd, quiet, nan);
      cc_->emit(I::kIdVpand, d, d, bits(0xffff0000));
    });
  }
  // The bytes that are left of narrow elements.
  x86::Gp bytes_left(DType t) {
    if (size_of(t) == 1) return left_;
    x86::Gp n = cc_->newInt64();
    cc_->lea(n, x86::ptr(left_, left_));
    return n;
  }

  Reg load(int k, DType t, bool tail) override {
    if (narrow(t)) {
      x86::Mem bytes;
      if (tail) {
        bytes = stack(32);
        call(load_bytes, {address_of(bytes), address_of(address(k, t)), bytes_left(t)});
      }
      return each(lane_type(t), [&](Vec d, int p) {
        const int at = p * 8 * static_cast<int>(size_of(t));
        widen_from(d, tail ? bytes.cloneAdjusted(at) : address(k, t, at), t);
      });
    }
    if (is_bool(t)) {
      x86::Mem bytes;
      if (tail) {
        bytes = stack(32);
        call(load_bytes, {address_of(bytes), address_of(address(k, t)), left_});
      }
      const Vec zero = all_lanes(mask_type(), 0);
      return each(t, [&](Vec d, int p) {
        const int at = p * lanes_ / 2;  // of the second half
        x86::Mem from = tail ? bytes.cloneAdjusted(at) : address(k, t, at);
        cc_->emit(wide_ ? I::kIdVpmovzxbq : I::kIdVpmovzxbd, d, from);
        cc_->emit(wide_ ? I::kIdVpcmpgtq : I::kIdVpcmpgtd, d, d, zero);
      });
    }
    return each(t, [&](Vec d, int p) {
      if (tail)
        cc_->emit(is64(t) ? I::kIdVmaskmovpd : I::kIdVmaskmovps, d, tail_mask(t)[p],
                  address(k, t, 32 * p));
      else
        cc_->emit(I::kIdVmovups, d, address(k, t, 32 * p));
    });
  }
  std::vector<Reg> between(DType t, const Reg& a, const Reg& b,
                           const std::vector<int>& by) override {
    std::vector<Vec> side_by_side;
    for (const Reg* r : {&a, &b})
      for (int p = 0; p < parts(t); ++p) side_by_side.push_back(part(*r, p));
    // The second half of one and the first of the next.
    std::vector<Vec> middle(side_by_side.size());
    const auto at = [&](int bytes) -> Vec {
      const auto k = static_cast<size_t>(bytes / 32);
      if (bytes % 32 == 0) return side_by_side[k];
      if (!middle[k].isValid()) {
        middle[k] = ymm();
        cc_->emit(I::kIdVperm2f128, middle[k], side_by_side[k], side_by_side[k + 1], Imm(0x21));
      }
      if (bytes % 32 == 16) return middle[k];
      Vec d = ymm();
      if (bytes % 32 < 16)
        cc_->emit(I::kIdVpalignr, d, middle[k], side_by_side[k], Imm(bytes % 16));
      else
        cc_->emit(I::kIdVpalignr, d, side_by_side[k + 1], middle[k], Imm(bytes % 16));
      return d;
    };
    std::vector<Reg> all;
    for (int lanes : by) {
      Reg r;
      const int bytes = lanes * static_cast<int>(size_of(t));
      r.v = at(bytes);
      if (parts(t) == 2) r.hi = at(bytes + 32);
      all.push_back(r);
    }
    return all;
  }
  void store(int k, DType t, const Reg& r, bool tail) override {
    if (narrow(t)) {
      const x86::Mem bytes = tail ? stack(32) : x86::Mem();
      for (int p = 0; p < parts(lane_type(t)); ++p) {
        const int at = p * 8 * static_cast<int>(size_of(t));
        const x86::Mem to = tail ? bytes.cloneAdjusted(at) : address(k, t, at);
        const x86::Xmm raw = narrowed(part(r, p), t);
        size_of(t) == 1 ? cc_->vmovq(to, raw) : cc_->vmovups(to, raw);
      }
      if (tail) call(store_bytes, {address_of(address(k, t)), address_of(bytes), bytes_left(t)});
      return;
    }
    if (is_bool(t)) {
      x86::Xmm lo = cc_->newXmm(), hi = cc_->newXmm();
      x86::Ymm words = ymm();
      if (wide_) {
        words = low_halves(r).as<x86::Ymm>();
        cc_->vextracti128(hi, words, 1);
        cc_->vpackssdw(lo, words.xmm(), hi);
        cc_->vpacksswb(lo, lo, lo);
      } else if (lanes_ == 8) {
        cc_->vextracti128(hi, r.v.as<x86::Ymm>(), 1);
        cc_->vpackssdw(lo, r.v.as<x86::Ymm>().xmm(), hi);
        cc_->vpacksswb(lo, lo, lo);
      } else {
        cc_->vpackssdw(words, r.v.as<x86::Ymm>(), r.hi.as<x86::Ymm>());
        cc_->vpermq(words, words, Imm(0xd8));
        cc_->vextracti128(hi, words, 1);
        cc_->vpacksswb(lo, words.xmm(), hi);
      }
      cc_->vpabsb(lo, lo);
      if (tail) {
        x86::Mem bytes = stack(16);
        cc_->vmovups(bytes, lo);
        call(store_bytes, {address_of(address(k, t)), address_of(bytes), left_});
      } else if (lanes_ == 8) {
        cc_->vmovq(address(k, t), lo);
      } else {
        cc_->vmovups(address(k, t), lo);
      }
      return;
    }
    for (int p = 0; p < parts(t); ++p) {
      if (tail)
        cc_->emit(is64(t) ? I::kIdVmaskmovpd : I::kIdVmaskmovps, address(k, t, 32 * p),
                  tail_mask(t)[p], part(r, p));
      else
        cc_->emit(streams(k) ? I::kIdVmovntps : I::kIdVmovups, address(k, t, 32 * p), part(r, p));
    }
  }

  // The low halves of 8 64-bit lanes as 8 32-bit lanes.
  Vec low_halves(const Reg& r) {
    x86::Ymm d = ymm();
    cc_->vshufps(d, r.v.as<x86::Ymm>(), r.hi.as<x86::Ymm>(), Imm(0x88));
    cc_->vpermq(d, d, Imm(0xd8));
    return d;
  }
  // 8 32-bit lanes, sign-extended (or as cvt: converted) to 64-bit lanes.
  Reg widen(const Vec& v, uint32_t inst, DType t) {
    return each(t, [&](Vec d, int p) {
      x86::Xmm half = cc_->newXmm();
      cc_->vextractf128(half, v.as<x86::Ymm>(), p);
      cc_->emit(inst, d, half);
    });
  }
  // A bool as lanes of type t.
  Reg mask_for(const Reg& m, DType t) {
    if (!wide_ || is64(t)) return m;
    Reg r;
    r.v = low_halves(m);
    return r;
  }
  // A comparison of lanes of type t as a bool.
  Reg as_bool(const Reg& m, DType t) {
    return wide_ && !is64(t) ? widen(m.v, I::kIdVpmovsxdq, DType::Bool) : m;
  }
  void blend(DType t, Vec d, Vec no, asmjit::Operand yes, Vec mask) {
    asmjit::Operand ops[] = {d, no, yes, mask};
    cc_->emitOpArray(is64(t) ? I::kIdVblendvpd : I::kIdVblendvps, ops, 4);
  }

  void multiply_i64(Vec d, Vec a, Vec b) {
    x86::Ymm x = ymm(), y = ymm(), u = a.as<x86::Ymm>(), v = b.as<x86::Ymm>();
    cc_->vpsrlq(x, u, 32);
    cc_->vpmuludq(x, x, v);
    cc_->vpsrlq(y, v, 32);
    cc_->vpmuludq(y, y, u);
    cc_->vpaddq(x, x, y);
    cc_->vpsllq(x, x, 32);
    cc_->vpmuludq(y, u, v);
    cc_->vpaddq(d.as<x86::Ymm>(), x, y);
  }
  void min_max(bool max, DType t, Vec d, Vec a, asmjit::Operand b) {
    if (t == DType::I64) {
      Vec m = ymm();
      cc_->emit(I::kIdVpcmpgtq, m, a, b);
      if (max) {
        Vec other = ymm();
        cc_->emit(I::kIdVmovups, other, b);
        blend(t, d, other, a, m);
      } else {
        blend(t, d, a, b, m);
      }
    } else if (t == DType::U32) {
      cc_->emit(max ? I::kIdVpmaxud : I::kIdVpminud, d, a, b);
    } else if (max) {
      cc_->emit(by_type(t, I::kIdVmaxps, I::kIdVmaxpd, I::kIdVpmaxsd, 0), d, a, b);
    } else {
      cc_->emit(by_type(t, I::kIdVminps, I::kIdVminpd, I::kIdVpminsd, 0), d, a, b);
    }
  }

  void combine_part(Combiner c, DType t, Vec d, Vec acc, Vec x) {
    switch (c) {
      case Combiner::kSum:
        cc_->emit(by_type(t, I::kIdVaddps, I::kIdVaddpd, I::kIdVpaddd, I::kIdVpaddq), d, acc, x);
        return;
      case Combiner::kProd:
        if (t == DType::I64) {
          PIJIT_CHECK(acc.isYmm(), "64-bit products fold in ymm");
          return multiply_i64(d, acc, x);
        }
        cc_->emit(by_type(t, I::kIdVmulps, I::kIdVmulpd, I::kIdVpmulld, 0), d, acc, x);
        return;
      case Combiner::kMax:
      case Combiner::kMin: {
        if (!is_float(t)) return min_max(c == Combiner::kMax, t, d, acc, x);
        Vec nan = ymm(), picked = ymm();
        cc_->emit(f32(t) ? I::kIdVcmpps : I::kIdVcmppd, nan, acc, acc, Imm(3));
        min_max(c == Combiner::kMax, t, picked, acc, x);
        blend(t, d, picked, acc, nan);
        return;
      }
      default: throw InternalError("combiner");
    }
  }
  Reg accumulator(DType t, uint64_t bits) override {
    Reg r;
    r.v = all_lanes(t, bits);
    r.hi = all_lanes(t, bits);
    return r;
  }
  Reg combined(Combiner c, DType t, const Reg& acc, const Reg& x) override {
    return each(t, [&](Vec d, int p) { combine_part(c, t, d, part(acc, p), part(x, p)); });
  }
  void accumulate(const Reg& acc, const Reg& x, DType t, bool tail) override {
    for (int p = 0; p < parts(t); ++p) {
      if (tail)
        blend(t, part(acc, p), part(acc, p), part(x, p), tail_mask(t)[p]);
      else
        cc_->emit(I::kIdVmovups, part(acc, p), part(x, p));
    }
  }
  void fold(Combiner c, DType t, const Reg& acc, x86::Gp p) override {
    x86::Ymm v = ymm(), other = ymm();
    combine_part(c, t, v, acc.v, acc.hi);
    auto step = [&] { combine_part(c, t, v, v, other); };
    cc_->vperm2f128(other, v, v, Imm(1));
    step();
    cc_->vpermilpd(other, v, Imm(5));
    step();
    if (size_of(t) == 4) {
      cc_->vpermilps(other, v, Imm(0xb1));
      step();
      cc_->vmovss(x86::ptr(p), v.xmm());
    } else {
      cc_->vmovsd(x86::ptr(p), v.xmm());
    }
  }

  Reg compare(SOp op, DType t, const Reg& a, const Reg& b) {
    const Reg m = each(t, [&](Vec d, int p) {
      if (is_float(t)) {
        const int f = op == SOp::kEq   ? 0
                      : op == SOp::kNe ? 4
                      : op == SOp::kLt ? 17
                      : op == SOp::kLe ? 18
                      : op == SOp::kGt ? 30
                                       : 29;
        cc_->emit(f32(t) ? I::kIdVcmpps : I::kIdVcmppd, d, part(a, p), part(b, p), Imm(f));
        return;
      }
      const bool q = is64(t);
      const bool swap = op == SOp::kLt || op == SOp::kGe;
      Vec x = part(swap ? b : a, p), y = part(swap ? a : b, p);
      if (t == DType::U32 && op != SOp::kEq && op != SOp::kNe) {
        const Vec sign = all_lanes(t, 0x80000000), u = x, v = y;
        cc_->emit(I::kIdVpxor, x = ymm(), u, sign);
        cc_->emit(I::kIdVpxor, y = ymm(), v, sign);
      }
      if (op == SOp::kEq || op == SOp::kNe)
        cc_->emit(q ? I::kIdVpcmpeqq : I::kIdVpcmpeqd, d, x, y);
      else
        cc_->emit(q ? I::kIdVpcmpgtq : I::kIdVpcmpgtd, d, x, y);
      if (op == SOp::kNe || op == SOp::kLe || op == SOp::kGe)
        cc_->emit(I::kIdVpxor, d, d, all_lanes(t, ~0ull));
    });
    return as_bool(m, t);
  }

  // In two steps, as 2^b alone may be no float32; the first one loses nothing.
  void scale(Vec d, Vec a, Vec b) {
    Vec whole = ymm(), half = ymm();
    const Vec one = all_lanes(DType::I32, 0x3f800000);
    cc_->emit(I::kIdVcvtps2dq, whole, b);
    cc_->emit(I::kIdVpsrad, half, whole, Imm(1));
    cc_->emit(I::kIdVpsubd, whole, whole, half);
    for (Vec* power : {&half, &whole}) {
      cc_->emit(I::kIdVpslld, *power, *power, Imm(23));
      cc_->emit(I::kIdVpaddd, *power, *power, one);
    }
    cc_->emit(I::kIdVmulps, d, a, half);
    cc_->emit(I::kIdVmulps, d, d, whole);
  }

  Reg multiply_add(DType t, const Fma& f, const Reg& a, const Reg& b, const Reg& c) {
    return each(t, [&](Vec d, int p) {
      cc_->emit(I::kIdVmovups, d, part(a, p));
      cc_->emit(f32(t) ? f.pick(I::kIdVfmadd213ps, I::kIdVfmsub213ps, I::kIdVfnmadd213ps,
                                I::kIdVfnmsub213ps)
                       : f.pick(I::kIdVfmadd213pd, I::kIdVfmsub213pd, I::kIdVfnmadd213pd,
                                I::kIdVfnmsub213pd),
                d, part(b, p), last(c, p));
    });
  }
  Reg look_up(DType t, const SNode& n, const Reg& a) {
    const auto* values = reinterpret_cast<const char*>(n.imm);
    const x86::Mem low = cc_->newConst(asmjit::ConstPoolScope::kLocal, values, 32),
                   high = cc_->newConst(asmjit::ConstPoolScope::kLocal, values + 32, 32);
    // Whether the upper half is meant, as the sign: the same for all tables of an index.
    if (index_ != a.v) {
      index_ = a.v;
      upper_ = each(t, [&](Vec d, int p) { cc_->emit(I::kIdVpslld, d, part(a, p), Imm(28)); });
    }
    return each(t, [&](Vec d, int p) {
      x86::Ymm other = ymm();
      cc_->emit(I::kIdVpermps, other, part(a, p), high);
      cc_->emit(I::kIdVpermps, d, part(a, p), low);
      cc_->emit(I::kIdVblendvps, d, d, other, part(upper_, p));
    });
  }
  Reg call_out(DType t, const SNode& n, const Reg& a, const Reg& b, const std::vector<Reg>& r) {
    Reg d = make(t);
    if (n.c >= 0) {
      const asmjit::Label skip = cc_->newLabel();
      const Reg mask = mask_for(in_register(r[n.c], body_[n.c].dt), t);
      x86::Ymm any = ymm();
      for (int p = 0; p < parts(t); ++p) cc_->emit(I::kIdVpxor, part(d, p), part(d, p), part(d, p));
      if (parts(t) == 2)
        cc_->emit(I::kIdVpor, any, mask.v, mask.hi);
      else
        cc_->emit(I::kIdVmovups, any, mask.v);
      cc_->vptest(any, any);
      cc_->jz(skip);
      x86::Mem x = stack(64);
      for (int p = 0; p < parts(t); ++p)
        cc_->emit(I::kIdVmovups, x.cloneAdjusted(32 * p), part(a, p));
      if (n.op == SOp::kWide)
        call_keeping_registers(wide_block, x, n.imm + 256 * static_cast<uint64_t>(lanes_));
      else
        call_keeping_registers(call1_block, x, n.imm);
      for (int p = 0; p < parts(t); ++p)
        cc_->emit(I::kIdVpand, part(d, p), part(mask, p), x.cloneAdjusted(32 * p));
      cc_->bind(skip);
      return d;
    }
    x86::Mem x = stack(128);
    for (int p = 0; p < 2; ++p) cc_->emit(I::kIdVmovups, x.cloneAdjusted(32 * p), part(a, p));
    if (n.op == SOp::kCall2)
      for (int p = 0; p < 2; ++p)
        cc_->emit(I::kIdVmovups, x.cloneAdjusted(64 + 32 * p), part(b, p));
    x86::Gp fn = cc_->newInt64();
    cc_->mov(fn, n.imm);
    call(n.op == SOp::kCall1 ? call1_block : call2_block, {address_of(x), fn});
    for (int p = 0; p < 2; ++p) cc_->emit(I::kIdVmovups, part(d, p), x.cloneAdjusted(32 * p));
    return d;
  }
  Reg shift_right(DType t, const Reg& a, const Reg& b) {
    if (!is64(t))
      return each(t, [&](Vec d, int p) {
        cc_->emit(t == DType::U32 ? I::kIdVpsrlvd : I::kIdVpsravd, d, part(a, p), part(b, p));
      });
    const Vec zero = all_lanes(t, 0);
    return each(t, [&](Vec d, int p) {  // logical shift of the value with its sign removed
      Vec s = ymm();
      cc_->emit(I::kIdVpcmpgtq, s, zero, part(a, p));
      cc_->emit(I::kIdVpxor, d, part(a, p), s);
      cc_->emit(I::kIdVpsrlvq, d, d, part(b, p));
      cc_->emit(I::kIdVpxor, d, d, s);
    });
  }
  Reg absolute(DType t, const Reg& a) {  // of integers
    if (t == DType::U32) return a;
    if (!is64(t)) return each(t, [&](Vec d, int p) { cc_->emit(I::kIdVpabsd, d, part(a, p)); });
    const Vec zero = all_lanes(t, 0);
    return each(t, [&](Vec d, int p) {
      Vec s = ymm();
      cc_->emit(I::kIdVpcmpgtq, s, zero, part(a, p));
      cc_->emit(I::kIdVpxor, d, part(a, p), s);
      cc_->emit(I::kIdVpsubq, d, d, s);
    });
  }
  Reg divide_tail(DType t, const Reg& a, const Reg& by) {
    const Vec one = all_lanes(t, f32(t) ? 0x3f800000ull : 0x3ff0000000000000ull);
    return each(t, [&](Vec d, int p) {
      const Vec y = ymm();
      blend(t, y, one, part(by, p), tail_mask(t)[p]);
      cc_->emit(f32(t) ? I::kIdVdivps : I::kIdVdivpd, d, part(a, p), y);
    });
  }

  Reg compute(const SNode& n, const std::vector<Reg>& r) override {
    const DType t = n.dt, src = n.a >= 0 ? body_[n.a].dt : n.dt;
    auto reg = [&](int id) { return id >= 0 ? in_register(r[id], body_[id].dt) : Reg{}; };
    const Fma f = n.op == SOp::kFma ? fma_of(n) : Fma{n.a, n.b, n.c};
    int ia = f.a, ib = f.b;
    if ((n.op == SOp::kAdd || n.op == SOp::kMul) && r[ia].constant.hasBase() &&
        !r[ib].constant.hasBase())
      std::swap(ia, ib);
    const bool simple =
        n.op == SOp::kAdd || n.op == SOp::kSub || n.op == SOp::kDiv ||
        (n.op == SOp::kMul && t != DType::I64) ||
        ((n.op == SOp::kAnd || n.op == SOp::kOr || n.op == SOp::kXor) && !is_bool(t));
    const Reg a = reg(ia), b = simple ? r[ib] : reg(ib), c = n.op == SOp::kFma ? r[f.c] : reg(f.c);
    auto op3 = [&](uint32_t inst) {
      return each(t, [&](Vec d, int p) { cc_->emit(inst, d, part(a, p), last(b, p)); });
    };
    auto unary = [&](uint32_t inst) {
      return each(t, [&](Vec d, int p) { cc_->emit(inst, d, part(a, p)); });
    };
    auto round = [&](int mode) {
      return each(t, [&](Vec d, int p) {
        cc_->emit(f32(t) ? I::kIdVroundps : I::kIdVroundpd, d, part(a, p), Imm(mode));
      });
    };
    auto with_bits = [&](uint32_t inst, uint64_t bits) {
      const Vec m = all_lanes(t, bits);
      return each(t, [&](Vec d, int p) { cc_->emit(inst, d, part(a, p), m); });
    };
    const uint64_t sign = is64(t) ? 1ull << 63 : 0x80000000ull;
    switch (n.op) {
      case SOp::kAdd:
        return op3(by_type(t, I::kIdVaddps, I::kIdVaddpd, I::kIdVpaddd, I::kIdVpaddq));
      case SOp::kSub:
        return op3(by_type(t, I::kIdVsubps, I::kIdVsubpd, I::kIdVpsubd, I::kIdVpsubq));
      case SOp::kMul:
        if (t == DType::I64)
          return each(t, [&](Vec d, int p) { multiply_i64(d, part(a, p), part(b, p)); });
        return op3(by_type(t, I::kIdVmulps, I::kIdVmulpd, I::kIdVpmulld, 0));
      case SOp::kDiv:
        if (in_tail_) return divide_tail(t, a, reg(ib));
        return op3(f32(t) ? I::kIdVdivps : I::kIdVdivpd);
      case SOp::kScale: return each(t, [&](Vec d, int p) { scale(d, part(a, p), part(b, p)); });
      case SOp::kMin:
      case SOp::kMax:
        return each(
            t, [&](Vec d, int p) { min_max(n.op == SOp::kMax, t, d, part(a, p), part(b, p)); });
      case SOp::kFma: return multiply_add(t, f, a, b, c);
      case SOp::kNeg: {
        if (is_float(t)) return with_bits(I::kIdVpxor, sign);
        const Vec zero = all_lanes(t, 0);
        return each(t, [&](Vec d, int p) {
          cc_->emit(is64(t) ? I::kIdVpsubq : I::kIdVpsubd, d, zero, part(a, p));
        });
      }
      case SOp::kAbs: return is_float(t) ? with_bits(I::kIdVpand, sign - 1) : absolute(t, a);
      case SOp::kSqrt:
        if (!in_tail_) return unary(f32(t) ? I::kIdVsqrtps : I::kIdVsqrtpd);
        return each(t, [&](Vec d, int p) {
          const Vec x = ymm();
          cc_->emit(I::kIdVpand, x, part(a, p), tail_mask(t)[p]);
          cc_->emit(f32(t) ? I::kIdVsqrtps : I::kIdVsqrtpd, d, x);
        });
      case SOp::kRint: return round(8);
      case SOp::kFloor: return round(9);
      case SOp::kCeil: return round(10);
      case SOp::kTrunc: return round(11);
      case SOp::kEq:
      case SOp::kNe:
      case SOp::kLt:
      case SOp::kLe:
      case SOp::kGt:
      case SOp::kGe: return compare(n.op, src, a, b);
      case SOp::kSelect: {
        const DType lanes = is_bool(t) ? mask_type() : t;
        const Reg m = mask_for(a, lanes);
        return each(t, [&](Vec d, int p) { blend(lanes, d, part(c, p), part(b, p), part(m, p)); });
      }
      case SOp::kAnd: return op3(I::kIdVpand);
      case SOp::kOr: return op3(I::kIdVpor);
      case SOp::kXor: return op3(I::kIdVpxor);
      case SOp::kNot: return with_bits(I::kIdVpxor, ~0ull);
      case SOp::kShl:
        return each(t, [&](Vec d, int p) {
          cc_->emit(is64(t) ? I::kIdVpsllvq : I::kIdVpsllvd, d, part(a, p), part(b, p));
        });
      case SOp::kShr: return shift_right(t, a, b);
      case SOp::kCast: return cast(src, t, a);
      case SOp::kTable: return look_up(t, n, a);
      case SOp::kBitcast:
        return each(t, [&](Vec d, int p) { cc_->emit(I::kIdVmovups, d, part(a, p)); });
      case SOp::kCall1:
      case SOp::kCall2:
      case SOp::kWide: return call_out(t, n, a, b, r);
      default: throw InternalError("scalar op");
    }
  }

  // Two 128-bit results joined.
  template <class F>
  Reg join(F half) {
    x86::Xmm x[2];
    for (int p = 0; p < 2; ++p) half(x[p] = cc_->newXmm(), p);
    x86::Ymm t = ymm();
    cc_->vmovaps(t.xmm(), x[0]);
    cc_->vinsertf128(t, t, x[1], Imm(1));
    Reg r;
    r.v = t;
    return r;
  }
  Reg through_memory(void (*f)(char*), DType from, DType to, const Reg& a) {
    x86::Mem x = stack(128);
    for (int p = 0; p < parts(from); ++p)
      cc_->emit(I::kIdVmovups, x.cloneAdjusted(32 * p), part(a, p));
    call(f, {address_of(x)});
    return each(to,
                [&](Vec d, int p) { cc_->emit(I::kIdVmovups, d, x.cloneAdjusted(64 + 32 * p)); });
  }
  Reg cast(DType from, DType to, const Reg& a) {
    auto is = [&](DType f, DType t) { return from == f && to == t; };
    auto each_part = [&](uint32_t inst) {
      return each(to, [&](Vec d, int p) { cc_->emit(inst, d, part(a, p)); });
    };
    if (is_bool(to)) {
      Reg zero;
      zero.v = zero.hi = all_lanes(from, 0);
      return compare(SOp::kNe, from, a, zero);
    }
    if (is_bool(from)) {
      SBuilder sb;
      const Vec one = all_lanes(to, sb.nodes[sb.constant_int(to, 1).id].imm);
      const Reg m = mask_for(a, to);
      return each(to, [&](Vec d, int p) { cc_->emit(I::kIdVpand, d, part(m, p), one); });
    }
    if (is(DType::F32, DType::I32)) return each_part(I::kIdVcvttps2dq);
    if (is(DType::I32, DType::F32)) return each_part(I::kIdVcvtdq2ps);
    if (is(DType::F32, DType::F64)) return widen(a.v, I::kIdVcvtps2pd, to);
    if (is(DType::I32, DType::F64)) return widen(a.v, I::kIdVcvtdq2pd, to);
    if (is(DType::I32, DType::I64)) return widen(a.v, I::kIdVpmovsxdq, to);
    if (is(DType::F64, DType::F32))
      return join([&](x86::Xmm d, int p) { cc_->emit(I::kIdVcvtpd2ps, d, part(a, p)); });
    if (is(DType::F64, DType::I32))
      return join([&](x86::Xmm d, int p) { cc_->emit(I::kIdVcvttpd2dq, d, part(a, p)); });
    if (is(DType::I32, DType::U32) || is(DType::U32, DType::I32)) return a;
    if (is(DType::U32, DType::I64)) return widen(a.v, I::kIdVpmovzxdq, to);
    if (is(DType::U32, DType::F64)) {  // as signed, 2^31 lower: exact
      Reg low;
      cc_->emit(I::kIdVpxor, low.v = ymm(), a.v, all_lanes(from, 0x80000000));
      const Reg d = widen(low.v, I::kIdVcvtdq2pd, to);
      const Vec offset = all_lanes(to, 0x41e0000000000000);
      return each(to, [&](Vec x, int p) { cc_->emit(I::kIdVaddpd, x, part(d, p), offset); });
    }
    if (is(DType::U32, DType::F32))  // both halves are exact; their sum is rounded once
      return each(to, [&](Vec d, int p) {
        Vec low = ymm(), high = ymm();
        cc_->emit(I::kIdVpand, low, part(a, p), all_lanes(from, 0xffff));
        cc_->emit(I::kIdVpsrld, high, part(a, p), Imm(16));
        cc_->emit(I::kIdVcvtdq2ps, low, low);
        cc_->emit(I::kIdVcvtdq2ps, high, high);
        cc_->emit(I::kIdVmulps, high, high, all_lanes(to, 0x47800000));
        cc_->emit(I::kIdVaddps, d, high, low);
      });
    if (is(DType::I64, DType::I32) || is(DType::I64, DType::U32)) {
      Reg r;
      r.v = low_halves(a);
      return r;
    }
    if (is(DType::F32, DType::I64))
      return through_memory(convert_block<float, int64_t>, from, to, a);
    if (is(DType::I64, DType::F32))
      return through_memory(convert_block<int64_t, float>, from, to, a);
    if (is(DType::F64, DType::I64))
      return through_memory(convert_block<double, int64_t>, from, to, a);
    if (is(DType::I64, DType::F64))
      return through_memory(convert_block<int64_t, double>, from, to, a);
    throw InternalError("cast");
  }

  Vec index_;  // of the last table
  Reg upper_;
};

}  // namespace

std::unique_ptr<VectorCode> avx2_code(const InnerSpec& s) { return std::make_unique<Avx2Code>(s); }

}  // namespace pijit
