// AVX-512: one zmm per value (ymm for 4-byte types beside 8-byte ones), bools in mask registers.
#include "cpu/loops/vector_code.h"

namespace pijit {
namespace {

using asmjit::Imm;

class Avx512Code : public VectorCode {
 public:
  explicit Avx512Code(const InnerSpec& s) : VectorCode(s) { by_columns_ = s.by_columns; }

 private:
  const void* keeping_registers(void (*f)()) const override {
    return with_saved_registers(f, 32 * 64 + 8 * 8, [](x86::Assembler& a, bool save) {
      for (uint32_t k = 0; k < 32; ++k) {
        const x86::Mem at = x86::ptr(x86::rsp, static_cast<int>(64 * k));
        save ? a.vmovups(at, x86::zmm(k)) : a.vmovups(x86::zmm(k), at);
      }
      for (uint32_t k = 0; k < 8; ++k) {
        const x86::Mem at = x86::ptr(x86::rsp, static_cast<int>(32 * 64 + 8 * k));
        save ? a.kmovq(at, x86::k(k)) : a.kmovq(x86::k(k), at);
      }
    });
  }
  // Code without AVX that runs after it is slow while upper halves of registers are in use.
  void begin(asmjit::FuncNode* f) override {
    f->frame().setAvx512Enabled();
    f->frame().setAvxCleanup();
  }
  int max_hoisted() const override { return 14; }
  int max_sums() const override { return 8; }
  int window() const override { return 128; }
  void make_tail_mask(x86::Gp n) override {
    x86::Gp m = cc_->newInt32(), one = cc_->newInt32();
    cc_->mov(one, 1);
    cc_->shlx(m, one, n.r32());
    cc_->dec(m);
    mask_ = cc_->newKd();
    cc_->kmovd(mask_, m);
  }
  Reg accumulator(DType t, uint64_t bits) override {
    Reg r = constant({SOp::kConst, t, -1, -1, -1, bits});
    if (!zmm(t)) r.hi = constant({SOp::kConst, t, -1, -1, -1, bits}).v;
    return r;
  }
  Reg combined(Combiner c, DType t, const Reg& acc, const Reg& x) override {
    Reg d;
    d.v = new_vec(t);
    combine_into(c, t, acc, x, d.v);
    return d;
  }
  void accumulate(const Reg& acc, const Reg& x, DType t, bool tail) override {
    if (!tail)
      cc_->vmovaps(acc.v, x.v);
    else if (is64(t))
      cc_->k(mask_).vmovapd(acc.v, x.v);
    else
      cc_->k(mask_).vmovaps(acc.v, x.v);
  }
  bool zmm(DType t) const { return size_of(t) == 8 || !wide_; }
  x86::Vec new_vec(DType t) {
    return zmm(t) ? x86::Vec(new_register<x86::Zmm>(asmjit::TypeId::kInt32x16))
                  : x86::Vec(new_register<x86::Ymm>(asmjit::TypeId::kInt32x8));
  }
  x86::KReg new_k() { return new_register<x86::KReg>(asmjit::TypeId::kMask16); }

  Reg constant(const SNode& n) override {
    Reg r;
    if (is_bool(n.dt)) {
      r.k = new_k();
      if (n.imm)
        cc_->kxnorw(r.k, r.k, r.k);
      else
        cc_->kxorw(r.k, r.k, r.k);
      return r;
    }
    r.v = new_vec(n.dt);
    if (is64(n.dt))
      cc_->vbroadcastsd(
          r.v, cc_->newInt64Const(asmjit::ConstPoolScope::kLocal, static_cast<int64_t>(n.imm)));
    else
      cc_->vbroadcastss(
          r.v, cc_->newInt32Const(asmjit::ConstPoolScope::kLocal, static_cast<int32_t>(n.imm)));
    return r;
  }
  Reg constant_in_memory(const SNode& n) override {
    Reg r;
    if (is64(n.dt))
      r.constant = cc_->newInt64Const(asmjit::ConstPoolScope::kLocal, static_cast<int64_t>(n.imm));
    else
      r.constant = cc_->newInt32Const(asmjit::ConstPoolScope::kLocal, static_cast<int32_t>(n.imm));
    return r;
  }
  // The operand as an instruction may take it in its last place: a register, or memory with
  // broadcast.
  asmjit::Operand last(const Reg& r, DType t) {
    if (!r.constant.hasBase()) return r.v;
    x86::Mem m = r.constant;
    const int lanes = zmm(t) ? (is64(t) ? 8 : 16) : 8;
    m.setBroadcast(lanes == 16 ? x86::Mem::Broadcast::k1To16 : x86::Mem::Broadcast::k1To8);
    return m;
  }
  Reg in_register(const Reg& r, DType t) override {
    if (!r.constant.hasBase()) return r;
    Reg d;
    d.v = new_vec(t);
    if (is64(t))
      cc_->vbroadcastsd(d.v, r.constant);
    else
      cc_->vbroadcastss(d.v, r.constant);
    return d;
  }
  Reg broadcast(DType t, x86::Gp p) override {
    Reg r;
    if (narrow(t)) {
      r.v = new_vec(lane_type(t));
      x86::Xmm one = cc_->newXmm();
      cc_->vmovd(one, narrow_scalar(t, p));
      if (t == DType::F16) cc_->vcvtph2ps(one, one);
      cc_->vbroadcastss(r.v, one);
      return r;
    }
    if (is_bool(t)) {
      x86::Gp b = cc_->newInt32();
      cc_->movzx(b, x86::byte_ptr(p));
      cc_->neg(b);
      r.k = new_k();
      cc_->kmovw(r.k, b);
      return r;
    }
    r.v = new_vec(t);
    if (is64(t))
      cc_->vbroadcastsd(r.v, x86::ptr(p));
    else
      cc_->vbroadcastss(r.v, x86::ptr(p));
    return r;
  }
  // Half as many bytes, or a quarter, as the lanes take.
  x86::Vec new_narrow(DType t) {
    const size_t bytes = size_of(t) * static_cast<size_t>(lanes_);
    return bytes == 32 ? x86::Vec(cc_->newYmm()) : x86::Vec(cc_->newXmm());
  }
  x86::Vec narrowed(const x86::Vec& v, DType t) {
    namespace I = x86::Inst;
    x86::Vec d = new_narrow(t);
    if (t == DType::F16) {
      cc_->emit(I::kIdVcvtps2ph, d, v, Imm(0));
    } else if (t == DType::BF16) {
      x86::Vec high = like(v);
      cc_->emit(I::kIdVpsrld, high, v, Imm(16));
      cc_->emit(I::kIdVpmovdw, d, high);
    } else {
      cc_->emit(size_of(t) == 1 ? I::kIdVpmovdb : I::kIdVpmovdw, d, v);
    }
    return d;
  }
  Reg rounded(const Reg& r, DType t) override {
    namespace I = x86::Inst;
    Reg d;
    d.v = like(r.v);
    if (t != DType::BF16) {
      widen_from(d.v, narrowed(r.v, t), t);
      return d;
    }
    // to nearest, ties to even, in integers; NaN stays NaN
    auto bits = [&](uint32_t x) { return constant({SOp::kConst, DType::I32, -1, -1, -1, x}).v; };
    x86::Vec odd = like(r.v), nan = like(r.v);
    cc_->emit(I::kIdVpsrld, odd, r.v, Imm(16));
    cc_->emit(I::kIdVpandd, odd, odd, bits(1));
    cc_->emit(I::kIdVpaddd, d.v, r.v, bits(0x7fff));
    cc_->emit(I::kIdVpaddd, d.v, d.v, odd);
    x86::KReg is_nan = new_k();
    cc_->emit(I::kIdVcmpps, is_nan, r.v, r.v, Imm(3));
    cc_->emit(I::kIdVpord, nan, r.v, bits(0x400000));
    cc_->k(is_nan).vmovaps(d.v, nan);
    cc_->emit(I::kIdVpandd, d.v, d.v, bits(0xffff0000));
    return d;
  }

  Reg load(int k, DType t, bool tail) override {
    Reg r;
    if (narrow(t)) {
      r.v = new_vec(lane_type(t));
      if (!tail) {
        widen_from(r.v, address(k, t), t);
      } else {
        x86::Vec raw = new_narrow(t);
        cc_->k(mask_).z().emit(size_of(t) == 1 ? x86::Inst::kIdVmovdqu8 : x86::Inst::kIdVmovdqu16,
                               raw, address(k, t));
        widen_from(r.v, raw, t);
      }
      return r;
    }
    if (is_bool(t)) {
      x86::Xmm bytes = cc_->newXmm();
      if (tail)
        cc_->k(mask_).z().vmovdqu8(bytes, address(k, t));
      else if (lanes_ == 16)
        cc_->vmovdqu(bytes, address(k, t));
      else
        cc_->vmovq(bytes, address(k, t));
      x86::KReg k64 = cc_->newKd();
      cc_->vptestmb(k64, bytes, bytes);
      r.k = k64;
      return r;
    }
    r.v = new_vec(t);
    if (tail) {
      if (is64(t))
        cc_->k(mask_).z().vmovupd(r.v, address(k, t));
      else
        cc_->k(mask_).z().vmovups(r.v, address(k, t));
    } else {
      cc_->vmovups(r.v, address(k, t));
    }
    return r;
  }
  std::vector<Reg> between(DType t, const Reg& a, const Reg& b,
                           const std::vector<int>& by) override {
    std::vector<Reg> all;
    for (int lanes : by) {
      Reg r = a;
      if (lanes > 0) {
        r.v = new_vec(t);
        cc_->emit(is64(t) ? x86::Inst::kIdValignq : x86::Inst::kIdValignd, r.v, b.v, a.v,
                  Imm(lanes));
      }
      all.push_back(r);
    }
    return all;
  }
  void spill(const x86::Mem& m, DType t, const Reg& r) override {
    if (is_bool(t))
      cc_->kmovw(m, r.k);
    else
      cc_->vmovups(m, in_register(r, t).v);
  }
  Reg fill(const x86::Mem& m, DType t) override {
    Reg r;
    if (is_bool(t)) {
      r.k = new_k();
      cc_->kmovw(r.k, m);
    } else {
      r.v = new_vec(t);
      cc_->vmovups(r.v, m);
    }
    return r;
  }
  void store(int k, DType t, const Reg& r, bool tail) override {
    if (narrow(t)) {
      const x86::Vec raw = narrowed(r.v, t);
      const size_t bytes = size_of(t) * static_cast<size_t>(lanes_);
      if (tail)
        cc_->k(mask_).emit(size_of(t) == 1 ? x86::Inst::kIdVmovdqu8 : x86::Inst::kIdVmovdqu16,
                           address(k, t), raw);
      else if (bytes == 8)
        cc_->vmovq(address(k, t), raw.as<x86::Xmm>());
      else
        cc_->emit(x86::Inst::kIdVmovdqu, address(k, t), raw);
      return;
    }
    if (is_bool(t)) {
      x86::Xmm bytes = cc_->newXmm();
      x86::Gp one = cc_->newInt32();
      cc_->mov(one, 1);
      cc_->k(r.k).z().vpbroadcastb(bytes, one);
      if (tail)
        cc_->k(mask_).vmovdqu8(address(k, t), bytes);
      else if (lanes_ == 16)
        cc_->vmovdqu(address(k, t), bytes);
      else
        cc_->vmovq(address(k, t), bytes);
      return;
    }
    if (tail) {
      if (is64(t))
        cc_->k(mask_).vmovupd(address(k, t), r.v);
      else
        cc_->k(mask_).vmovups(address(k, t), r.v);
    } else {
      cc_->emit(streams(k) ? x86::Inst::kIdVmovntps : x86::Inst::kIdVmovups, address(k, t), r.v);
    }
  }

  static uint32_t max_i32(DType t) {
    return t == DType::U32 ? x86::Inst::kIdVpmaxud : x86::Inst::kIdVpmaxsd;
  }
  static uint32_t min_i32(DType t) {
    return t == DType::U32 ? x86::Inst::kIdVpminud : x86::Inst::kIdVpminsd;
  }
  void combine_into(Combiner c, DType t, Reg acc, Reg x, x86::Vec dst) {
    const uint32_t D = x86::Inst::kIdVaddpd, S = x86::Inst::kIdVaddps;
    auto emit3 = [&](uint32_t fs, uint32_t fd, uint32_t i32, uint32_t i64) {
      cc_->emit(by_type(t, fs, fd, i32, i64), dst, acc.v, x.v);
    };
    switch (c) {
      case Combiner::kSum: emit3(S, D, x86::Inst::kIdVpaddd, x86::Inst::kIdVpaddq); break;
      case Combiner::kProd:
        emit3(x86::Inst::kIdVmulps, x86::Inst::kIdVmulpd, x86::Inst::kIdVpmulld,
              x86::Inst::kIdVpmullq);
        break;
      case Combiner::kMax:
      case Combiner::kMin: {
        x86::KReg nan;
        x86::Vec keep;
        if (is_float(t)) {
          nan = new_k();
          cc_->emit(f32(t) ? x86::Inst::kIdVcmpps : x86::Inst::kIdVcmppd, nan, acc.v, acc.v,
                    Imm(3));
          keep = acc.v;
          if (dst.id() == acc.v.id()) {
            keep = like(acc.v);
            cc_->vmovaps(keep, acc.v);
          }
        }
        if (c == Combiner::kMax)
          emit3(x86::Inst::kIdVmaxps, x86::Inst::kIdVmaxpd, max_i32(t), x86::Inst::kIdVpmaxsq);
        else
          emit3(x86::Inst::kIdVminps, x86::Inst::kIdVminpd, min_i32(t), x86::Inst::kIdVpminsq);
        if (is_float(t)) {
          if (f32(t))
            cc_->k(nan).vmovaps(dst, keep);
          else
            cc_->k(nan).vmovapd(dst, keep);
        }
        break;
      }
      default: throw InternalError("combiner");
    }
  }
  x86::Vec like(const x86::Vec& v) {
    return v.isZmm()   ? x86::Vec(cc_->newZmm())
           : v.isYmm() ? x86::Vec(cc_->newYmm())
                       : x86::Vec(cc_->newXmm());
  }

  void fold(Combiner c, DType t, const Reg& acc, x86::Gp p) override {
    x86::Vec v = acc.v;
    if (!zmm(t)) {
      v = like(acc.v);
      combine_into(c, t, Reg{acc.v}, Reg{acc.hi}, v);
    } else {
      x86::Ymm hi = cc_->newYmm(), lo = cc_->newYmm();
      cc_->vextractf64x4(hi, v, 1);
      cc_->vextractf64x4(lo, v, 0);
      combine_into(c, t, Reg{lo}, Reg{hi}, lo);
      v = lo;
    }
    x86::Xmm x = cc_->newXmm(), hi = cc_->newXmm();
    cc_->vextractf128(hi, v.as<x86::Ymm>(), 1);
    cc_->vextractf128(x, v.as<x86::Ymm>(), 0);
    combine_into(c, t, Reg{x}, Reg{hi}, x);
    cc_->vpermilpd(hi, x, 1);
    combine_into(c, t, Reg{x}, Reg{hi}, x);
    if (size_of(t) == 4) {
      cc_->vpermilps(hi, x, 1);
      combine_into(c, t, Reg{x}, Reg{hi}, x);
      cc_->vmovss(x86::ptr(p), x);
    } else {
      cc_->vmovsd(x86::ptr(p), x);
    }
  }

  Reg compute(const SNode& n, const std::vector<Reg>& r) override {
    const DType src = n.a >= 0 ? body_[n.a].dt : n.dt;
    auto reg = [&](int id) { return id >= 0 ? in_register(r[id], body_[id].dt) : Reg{}; };
    // where the last operand may be memory, it stays there; commutative ops move a constant to the
    // back
    const bool binary = n.op == SOp::kAdd || n.op == SOp::kSub || n.op == SOp::kMul ||
                        n.op == SOp::kDiv || n.op == SOp::kScale || n.op == SOp::kMin ||
                        n.op == SOp::kMax ||
                        ((n.op == SOp::kAnd || n.op == SOp::kOr || n.op == SOp::kXor ||
                          n.op == SOp::kShl || n.op == SOp::kShr) &&
                         !is_bool(n.dt));
    const bool fma = n.op == SOp::kFma;
    const Fma f = fma ? fma_of(n) : Fma{n.a, n.b, n.c};
    int ia = f.a, ib = f.b;
    if ((n.op == SOp::kAdd || n.op == SOp::kMul) && ia >= 0 && r[ia].constant.hasBase() &&
        !r[ib].constant.hasBase())
      std::swap(ia, ib);
    const Reg a = reg(ia), b = binary ? r[ib] : reg(ib), c = fma ? r[f.c] : reg(f.c);
    Reg d;
    if (is_bool(n.dt))
      d.k = new_k();
    else
      d.v = new_vec(n.dt);
    auto op3 = [&](uint32_t fs, uint32_t fd, uint32_t i32, uint32_t i64) {
      if (in_tail_ && is_float(n.dt)) cc_->k(mask_).z();
      cc_->emit(by_type(n.dt, fs, fd, i32, i64), d.v, a.v, last(b, n.dt));
    };
    namespace I = x86::Inst;
    if (is_bool(n.dt)) return compute_bool(n.op, src, a, b, c, d);
    switch (n.op) {
      case SOp::kAdd: op3(I::kIdVaddps, I::kIdVaddpd, I::kIdVpaddd, I::kIdVpaddq); break;
      case SOp::kSub: op3(I::kIdVsubps, I::kIdVsubpd, I::kIdVpsubd, I::kIdVpsubq); break;
      case SOp::kMul: op3(I::kIdVmulps, I::kIdVmulpd, I::kIdVpmulld, I::kIdVpmullq); break;
      case SOp::kDiv: op3(I::kIdVdivps, I::kIdVdivpd, 0, 0); break;
      case SOp::kScale: op3(I::kIdVscalefps, I::kIdVscalefpd, 0, 0); break;
      case SOp::kMin: op3(I::kIdVminps, I::kIdVminpd, min_i32(n.dt), I::kIdVpminsq); break;
      case SOp::kMax: op3(I::kIdVmaxps, I::kIdVmaxpd, max_i32(n.dt), I::kIdVpmaxsq); break;
      case SOp::kFma:
        cc_->vmovaps(d.v, a.v);
        cc_->emit(f32(n.dt) ? f.pick(I::kIdVfmadd213ps, I::kIdVfmsub213ps, I::kIdVfnmadd213ps,
                                     I::kIdVfnmsub213ps)
                            : f.pick(I::kIdVfmadd213pd, I::kIdVfmsub213pd, I::kIdVfnmadd213pd,
                                     I::kIdVfnmsub213pd),
                  d.v, b.v, last(c, n.dt));
        break;
      case SOp::kNeg: negate(n.dt, d, a); break;
      case SOp::kAbs: absolute(n.dt, d, a); break;
      case SOp::kSqrt:
        if (in_tail_) cc_->k(mask_).z();
        cc_->emit(f32(n.dt) ? I::kIdVsqrtps : I::kIdVsqrtpd, d.v, a.v);
        break;
      case SOp::kRint: round(n.dt, d.v, a.v, 8); break;
      case SOp::kFloor: round(n.dt, d.v, a.v, 9); break;
      case SOp::kCeil: round(n.dt, d.v, a.v, 10); break;
      case SOp::kTrunc: round(n.dt, d.v, a.v, 11); break;
      case SOp::kSelect:
        if (is64(n.dt))
          cc_->k(a.k).vblendmpd(d.v, c.v, b.v);
        else
          cc_->k(a.k).vblendmps(d.v, c.v, b.v);
        break;
      case SOp::kAnd:
        cc_->emit(is64(n.dt) ? I::kIdVpandq : I::kIdVpandd, d.v, a.v, last(b, n.dt));
        break;
      case SOp::kOr:
        cc_->emit(is64(n.dt) ? I::kIdVporq : I::kIdVpord, d.v, a.v, last(b, n.dt));
        break;
      case SOp::kXor:
        cc_->emit(is64(n.dt) ? I::kIdVpxorq : I::kIdVpxord, d.v, a.v, last(b, n.dt));
        break;
      case SOp::kNot: {
        Reg ones = constant({SOp::kConst, n.dt, -1, -1, -1, ~0ull});
        cc_->emit(I::kIdVpxorq, d.v, a.v, ones.v);
        break;
      }
      case SOp::kShl: op3(0, 0, I::kIdVpsllvd, I::kIdVpsllvq); break;
      case SOp::kShr:
        op3(0, 0, n.dt == DType::U32 ? I::kIdVpsrlvd : I::kIdVpsravd, I::kIdVpsravq);
        break;
      case SOp::kCast: cast(src, n.dt, a, d); break;
      case SOp::kTable: look_up(n, d, a); break;
      case SOp::kBitcast: cc_->vmovaps(d.v, a.v); break;
      case SOp::kCall1:
      case SOp::kCall2:
      case SOp::kWide: call_out(n, d, a, b, c); break;
      default: throw InternalError("scalar op");
    }
    return d;
  }
  Reg compute_bool(SOp op, DType src, const Reg& a, const Reg& b, const Reg& c, const Reg& d) {
    switch (op) {
      case SOp::kAnd: cc_->kandw(d.k, a.k, b.k); return d;
      case SOp::kOr: cc_->korw(d.k, a.k, b.k); return d;
      case SOp::kXor: cc_->kxorw(d.k, a.k, b.k); return d;
      case SOp::kNot: cc_->knotw(d.k, a.k); return d;
      case SOp::kSelect: {  // (c & x) | (~c & y)
        x86::KReg t = new_k();
        cc_->kandw(d.k, a.k, b.k);
        cc_->kandnw(t, a.k, c.k);
        cc_->korw(d.k, d.k, t);
        return d;
      }
      case SOp::kCast: {
        Reg zero = constant({SOp::kConst, src, -1, -1, -1, 0});
        compare(SOp::kNe, src, d.k, a.v, zero.v);
        return d;
      }
      case SOp::kNe:
      case SOp::kEq:
      case SOp::kLt:
      case SOp::kLe:
      case SOp::kGt:
      case SOp::kGe: compare(op, src, d.k, a.v, b.v); return d;
      default: throw InternalError("bool scalar op");
    }
  }
  void negate(DType t, const Reg& d, const Reg& a) {
    namespace I = x86::Inst;
    if (is_float(t)) {
      Reg sign = constant({SOp::kConst, t, -1, -1, -1, f32(t) ? 0x80000000ull : 1ull << 63});
      cc_->emit(I::kIdVpxorq, d.v, a.v, sign.v);
    } else {
      Reg zero = constant({SOp::kConst, t, -1, -1, -1, 0});
      cc_->emit(by_type(t, 0, 0, I::kIdVpsubd, I::kIdVpsubq), d.v, zero.v, a.v);
    }
  }
  void absolute(DType t, const Reg& d, const Reg& a) {
    namespace I = x86::Inst;
    if (is_float(t)) {
      Reg m = constant({SOp::kConst, t, -1, -1, -1, f32(t) ? 0x7fffffffull : ~(1ull << 63)});
      cc_->emit(I::kIdVpandq, d.v, a.v, m.v);
    } else if (t == DType::U32) {
      cc_->vmovaps(d.v, a.v);
    } else {
      cc_->emit(by_type(t, 0, 0, I::kIdVpabsd, I::kIdVpabsq), d.v, a.v);
    }
  }
  void look_up(const SNode& n, const Reg& d, const Reg& a) {
    namespace I = x86::Inst;
    const auto* values = reinterpret_cast<const char*>(n.imm);
    if (lanes_ == 16) {
      cc_->emit(I::kIdVpermps, d.v, a.v, cc_->newConst(asmjit::ConstPoolScope::kLocal, values, 64));
      return;
    }
    // vpermt2ps overwrites the lower half of the table. (vpermi2ps would overwrite the indices,
    // but this asmjit takes its first operand for one that is only written, so that the
    // register allocator may lose the indices between the move and the instruction.)
    cc_->vmovups(d.v, cc_->newConst(asmjit::ConstPoolScope::kLocal, values, 32));
    cc_->emit(I::kIdVpermt2ps, d.v, a.v,
              cc_->newConst(asmjit::ConstPoolScope::kLocal, values + 32, 32));
  }
  // A function of the C library or one of ours, for all lanes or those of a mask.
  void call_out(const SNode& n, const Reg& d, const Reg& a, const Reg& b, const Reg& c) {
    namespace I = x86::Inst;
    if (n.c >= 0) {
      const asmjit::Label skip = cc_->newLabel();
      cc_->emit(I::kIdVpxorq, d.v, d.v, d.v);
      cc_->kortestw(c.k, c.k);
      cc_->jz(skip);
      x86::Mem stack = cc_->newStack(64, 64);
      cc_->vmovups(stack, a.v);
      if (n.op == SOp::kWide)
        call_keeping_registers(wide_block, stack, n.imm + 256 * static_cast<uint64_t>(lanes_));
      else
        call_keeping_registers(call1_block, stack, n.imm);
      if (n.op == SOp::kWide)
        cc_->k(c.k).vmovups(d.v, stack);
      else
        cc_->k(c.k).vmovupd(d.v, stack);
      cc_->bind(skip);
      return;
    }
    x86::Mem stack = cc_->newStack(128, 64);
    cc_->vmovupd(stack, a.v);
    if (n.op == SOp::kCall2) cc_->vmovupd(stack.cloneAdjusted(64), b.v);
    x86::Gp arg = cc_->newIntPtr(), fn = cc_->newInt64(), target = cc_->newIntPtr();
    cc_->lea(arg, stack);
    cc_->mov(fn, n.imm);
    cc_->mov(target, reinterpret_cast<uint64_t>(n.op == SOp::kCall1 ? &call1_block : &call2_block));
    asmjit::InvokeNode* call;
    cc_->invoke(&call, target,
                asmjit::FuncSignatureT<void, double*, uint64_t>(asmjit::CallConvId::kHost));
    call->setArg(0, arg);
    call->setArg(1, fn);
    cc_->vmovupd(d.v, stack);
  }
  void round(DType t, x86::Vec d, x86::Vec a, int mode) {
    cc_->emit(f32(t) ? x86::Inst::kIdVrndscaleps : x86::Inst::kIdVrndscalepd, d, a, Imm(mode));
  }
  void compare(SOp op, DType t, x86::KReg k, x86::Vec a, x86::Vec b) {
    namespace I = x86::Inst;
    int f = 0, i = 0;
    switch (op) {
      case SOp::kEq: f = 0, i = 0; break;
      case SOp::kNe: f = 4, i = 4; break;
      case SOp::kLt: f = 17, i = 1; break;
      case SOp::kLe: f = 18, i = 2; break;
      case SOp::kGt: f = 30, i = 6; break;
      default: f = 29, i = 5; break;
    }
    if (is_float(t))
      cc_->emit(f32(t) ? I::kIdVcmpps : I::kIdVcmppd, k, a, b, Imm(f));
    else
      cc_->emit(is64(t)           ? I::kIdVpcmpq
                : t == DType::U32 ? I::kIdVpcmpud
                                  : I::kIdVpcmpd,
                k, a, b, Imm(i));
  }
  void cast(DType from, DType to, Reg a, Reg d) {
    namespace I = x86::Inst;
    auto is = [&](DType f, DType t) { return from == f && to == t; };
    if (is_bool(from)) {
      SBuilder sb;
      Reg one = constant(sb.nodes[sb.constant_int(to, 1).id]);
      if (is64(to))
        cc_->k(a.k).z().vmovapd(d.v, one.v);
      else
        cc_->k(a.k).z().vmovaps(d.v, one.v);
    } else if (is(DType::F32, DType::F64))
      cc_->emit(I::kIdVcvtps2pd, d.v, a.v);
    else if (is(DType::F64, DType::F32))
      cc_->emit(I::kIdVcvtpd2ps, d.v, a.v);
    else if (is(DType::F32, DType::I32))
      cc_->emit(I::kIdVcvttps2dq, d.v, a.v);
    else if (is(DType::I32, DType::F32))
      cc_->emit(I::kIdVcvtdq2ps, d.v, a.v);
    else if (is(DType::F32, DType::I64))
      cc_->emit(I::kIdVcvttps2qq, d.v, a.v);
    else if (is(DType::I64, DType::F32))
      cc_->emit(I::kIdVcvtqq2ps, d.v, a.v);
    else if (is(DType::F64, DType::I64))
      cc_->emit(I::kIdVcvttpd2qq, d.v, a.v);
    else if (is(DType::I64, DType::F64))
      cc_->emit(I::kIdVcvtqq2pd, d.v, a.v);
    else if (is(DType::F64, DType::I32))
      cc_->emit(I::kIdVcvttpd2dq, d.v, a.v);
    else if (is(DType::I32, DType::F64))
      cc_->emit(I::kIdVcvtdq2pd, d.v, a.v);
    else if (is(DType::I32, DType::I64))
      cc_->emit(I::kIdVpmovsxdq, d.v, a.v);
    else if (is(DType::I64, DType::I32) || is(DType::I64, DType::U32))
      cc_->emit(I::kIdVpmovqd, d.v, a.v);
    else if (is(DType::U32, DType::I64))
      cc_->emit(I::kIdVpmovzxdq, d.v, a.v);
    else if (is(DType::U32, DType::F32))
      cc_->emit(I::kIdVcvtudq2ps, d.v, a.v);
    else if (is(DType::U32, DType::F64))
      cc_->emit(I::kIdVcvtudq2pd, d.v, a.v);
    else if (is(DType::U32, DType::I32) || is(DType::I32, DType::U32))
      cc_->vmovaps(d.v, a.v);
    else
      throw InternalError("cast");
  }
  x86::KReg mask_;
};

}  // namespace

bool has_avx512() {
  static const bool ok = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
                         __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl");
  return ok;
}

std::unique_ptr<VectorCode> avx512_code(const InnerSpec& s) {
  return std::make_unique<Avx512Code>(s);
}

}  // namespace pijit
