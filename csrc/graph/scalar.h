// Scalar IR: what one element of an elementwise op computes. One rule per op builds a small DAG of
// exactly defined operations (IEEE, round to nearest; fma only where the rule says so), which the
// block interpreter and the code generators evaluate to the same bits.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "graph/dtype.h"

namespace pijit {

enum class SOp : uint8_t {
  kInput,
  kConst,
  kAdd,
  kSub,
  kMul,
  kDiv,
  kFma,
  kMin,
  kMax,    // kMin: a < b ? a : b. kMax: a > b ? a : b
  kScale,  // a * 2^b, rounded once, for integral |b| < 200 and 2^-20 < |a| < 2^20
  kFloorDiv,
  kFloorMod,
  kTruncMod,  // integer x / 0 and x % 0 are 0
  kNeg,
  kAbs,
  kSqrt,
  kFloor,
  kCeil,
  kRint,
  kTrunc,
  kEq,
  kNe,
  kLt,
  kLe,
  kGt,
  kGe,
  kSelect,
  kAnd,
  kOr,
  kXor,
  kNot,
  kShl,
  kShr,
  kTable,  // float32 value number a mod 16 of those at address imm (64-byte aligned)
  kCast,
  kBitcast,
  kCall1,  // with a mask as c: 0 in the other lanes
  kCall2,
  kWide,  // function number imm of float32 values, by float64 lanes where the mask c says so; else
          // 0
};

// Functions callable from scalar rules, on float64.
#define PIJIT_CALLS1(X) X(sin_far) X(cos_far) X(tan_far) X(lgamma) X(digamma) X(trigamma)
#define PIJIT_CALLS2(X) X(fmod)
enum class Call1 : uint8_t {
#define X(f) f,
  PIJIT_CALLS1(X)
#undef X
};
enum class Call2 : uint8_t {
#define X(f) f,
  PIJIT_CALLS2(X)
#undef X
};
// Functions whose float32 lanes serve most arguments, and float64 lanes the others.
#define PIJIT_WIDE(X) X(sin) X(cos) X(tan)
enum class Wide : uint8_t {
#define X(f) f,
  PIJIT_WIDE(X)
#undef X
};
// For |x| >= 2^24 (far_angles.cc).
double sin_far(double x);
double cos_far(double x);
double tan_far(double x);
double digamma(double x);
double trigamma(double x);
using Fn1 = double (*)(double);
using Fn2 = double (*)(double, double);
Fn1 call1_fn(Call1 f);
Fn2 call2_fn(Call2 f);

struct SNode {
  SOp op;
  DType dt;  // of the result; halves are held as float32 values that round to the half
  int a = -1, b = -1, c = -1;
  uint64_t imm = 0;  // kConst: the bits; kInput: the index; kCall: the function
  bool operator==(const SNode&) const = default;
};

// A function of input 0.
struct ScalarBody {
  std::vector<SNode> nodes;
  int result;
};
const ScalarBody& wide_body(Wide f);  // of float32, by float64 lanes (graph/ops/wide_angles.cc)

class SBuilder;
struct SVal {
  SBuilder* sb = nullptr;
  int id = -1;
  DType dtype() const;
};

class SBuilder {
 public:
  std::vector<SNode> nodes;
  SVal add(SNode n);  // hash-consed
  SVal input(int index, DType dt) {
    return add({SOp::kInput, dt, -1, -1, -1, static_cast<uint64_t>(index)});
  }
  SVal constant(DType dt, double v);
  SVal constant_int(DType dt, int64_t v);
  SVal bits(DType dt, uint64_t raw) { return add({SOp::kConst, dt, -1, -1, -1, raw}); }
  SVal op(SOp o, DType dt, SVal a, SVal b = {}, SVal c = {}) {
    return add({o, dt, a.id, b.id, c.id});
  }
};

inline DType SVal::dtype() const { return sb->nodes[id].dt; }

// Operators for rules. Arithmetic keeps the left operand's dtype; comparisons give bool.
#define PIJIT_SARITH(sym, code)                                                             \
  inline SVal operator sym(SVal a, SVal b) { return a.sb->op(code, a.dtype(), a, b); }      \
  inline SVal operator sym(SVal a, double b) { return a sym a.sb->constant(a.dtype(), b); } \
  inline SVal operator sym(double a, SVal b) { return b.sb->constant(b.dtype(), a) sym b; }
PIJIT_SARITH(+, SOp::kAdd)
PIJIT_SARITH(-, SOp::kSub)
PIJIT_SARITH(*, SOp::kMul)
PIJIT_SARITH(/, SOp::kDiv)
#undef PIJIT_SARITH
#define PIJIT_SCMP(sym, code)                                                            \
  inline SVal operator sym(SVal a, SVal b) { return a.sb->op(code, DType::Bool, a, b); } \
  inline SVal operator sym(SVal a, double b) { return a sym a.sb->constant(a.dtype(), b); }
PIJIT_SCMP(<, SOp::kLt)
PIJIT_SCMP(<=, SOp::kLe)
PIJIT_SCMP(>, SOp::kGt)
PIJIT_SCMP(>=, SOp::kGe)
PIJIT_SCMP(==, SOp::kEq)
PIJIT_SCMP(!=, SOp::kNe)
#undef PIJIT_SCMP
inline SVal operator&(SVal a, SVal b) { return a.sb->op(SOp::kAnd, a.dtype(), a, b); }
inline SVal operator|(SVal a, SVal b) { return a.sb->op(SOp::kOr, a.dtype(), a, b); }
inline SVal operator^(SVal a, SVal b) { return a.sb->op(SOp::kXor, a.dtype(), a, b); }
inline SVal operator~(SVal a) { return a.sb->op(SOp::kNot, a.dtype(), a); }
inline SVal operator-(SVal a) { return a.sb->op(SOp::kNeg, a.dtype(), a); }
inline SVal s_unary(SOp o, SVal a) { return a.sb->op(o, a.dtype(), a); }
inline SVal s_fma(SVal a, SVal b, SVal c) { return a.sb->op(SOp::kFma, a.dtype(), a, b, c); }
inline SVal s_fma(SVal a, SVal b, double c) { return s_fma(a, b, a.sb->constant(a.dtype(), c)); }
inline SVal s_select(SVal c, SVal a, SVal b) { return a.sb->op(SOp::kSelect, a.dtype(), c, a, b); }
inline SVal s_cast(SVal a, DType t) { return a.dtype() == t ? a : a.sb->op(SOp::kCast, t, a); }
inline SVal s_bitcast(SVal a, DType t) { return a.sb->op(SOp::kBitcast, t, a); }
inline SVal s_table(SVal index, const float (&values)[16]) {
  return index.sb->add(
      {SOp::kTable, DType::F32, index.id, -1, -1, reinterpret_cast<uint64_t>(&values[0])});
}
inline SVal s_call(Call1 f, SVal a) {
  return a.sb->add({SOp::kCall1, DType::F64, a.id, -1, -1, static_cast<uint64_t>(f)});
}
// 0 where `mask` is false. Generated code calls only where some lane needs it.
inline SVal s_call_where(Call1 f, SVal a, SVal mask) {
  return a.sb->add({SOp::kCall1, DType::F64, a.id, -1, mask.id, static_cast<uint64_t>(f)});
}
inline SVal s_wide_where(Wide f, SVal a, SVal mask) {
  return a.sb->add({SOp::kWide, DType::F32, a.id, -1, mask.id, static_cast<uint64_t>(f)});
}
inline SVal s_call(Call2 f, SVal a, SVal b) {
  return a.sb->add({SOp::kCall2, DType::F64, a.id, b.id, -1, static_cast<uint64_t>(f)});
}
inline SVal s_is_nan(SVal a) { return a != a; }

}  // namespace pijit
