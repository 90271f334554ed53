#include "capture/regions/complex.h"

#include <cmath>

#include "base/error.h"
#include "capture/regions/numbers.h"
#include "python/quirks.h"

namespace pijit::regions {

namespace {

struct Pair {
  int real, imag;
};

bool is_complex(const Av& a) { return a.kind == K::kComplex; }
Av made(const Pair& p) { return complex_of(p.real, p.imag); }

// Of another number of Python's.
int real_part(Emitter& e, const Av& a, const char* sign) {
  const Av n = num(e, a);
  if (n.of_numpy())
    leave(str_cat("`", sign, "` of a complex and ", a_(e.d.described(n)), " has no machine code"),
          "float(x) of an element makes a Python number");
  return as_float(e, n);
}

Pair pair_of(Emitter& e, const Av& a, const char* sign) {
  if (is_complex(a)) return {a.v[0], a.v[1]};
  return {real_part(e, a, sign), e.d.fcon(0.0)};
}

int either(Emitter& e, int a, int b) { return e.emit(Op::kSelect, a, a, b); }
int both(Emitter& e, int a, int b) { return e.emit(Op::kSelect, a, b, a); }

// Later versions of CPython look for infinities where both parts are none.
Pair recovered(Emitter& e, Pair p) {
  if (kComplexRecoversInfinities)
    e.check(either(e, e.emit(Op::kFEq, p.real, p.real), e.emit(Op::kFEq, p.imag, p.imag)));
  return p;
}

Pair product(Emitter& e, const Pair& a, const Pair& b) {
  auto times = [&](int x, int y) { return e.emit(Op::kFMul, x, y); };
  const int real = e.emit(Op::kFSub, times(a.real, b.real), times(a.imag, b.imag));
  const int imag = e.emit(Op::kFAdd, times(a.real, b.imag), times(a.imag, b.real));
  return recovered(e, {real, imag});
}

// By Smith's algorithm, which divides by the larger part.
Pair quotient(Emitter& e, const Pair& a, const Pair& b) {
  const int real_is_larger = e.emit(Op::kFGe, e.emit(Op::kFAbs, b.real), e.emit(Op::kFAbs, b.imag));
  auto pick = [&](int x, int y) { return e.emit(Op::kSelect, real_is_larger, x, y); };
  const int large = pick(b.real, b.imag), small = pick(b.imag, b.real);
  const int first = pick(a.real, a.imag), second = pick(a.imag, a.real);
  const int ratio = e.emit(Op::kFDiv, small, large);  // leaves where both are 0
  const int by = e.emit(Op::kFAdd, large, e.emit(Op::kFMul, small, ratio));
  const int real = e.emit(Op::kFAdd, first, e.emit(Op::kFMul, second, ratio));
  const int across = e.emit(Op::kFMul, first, ratio);
  const int imag = pick(e.emit(Op::kFSub, second, across), e.emit(Op::kFSub, across, second));
  return recovered(e, {e.emit(Op::kFDiv, real, by), e.emit(Op::kFDiv, imag, by)});
}

// By squares, from 1 on, as CPython does. It raises where the result is infinite.
Pair power(Emitter& e, Pair x, const Av& exponent) {
  int64_t n = 0;
  const bool known =
      exponent.is_number() && !exponent.of_numpy() && e.d.is_const(exponent.v[0], &n);
  if (known && exponent.kind == K::kFloat) {
    const double y = real_of(n);
    n = y >= 1 && y <= kLargestPower && y == std::floor(y) ? static_cast<int64_t>(y) : 0;
  }
  if (!known || n < 1 || n > kLargestPower || kComplexRecoversInfinities)
    leave("`**` of a complex has an exponent that is no constant from 1 to 64", "z * z");
  Pair r{e.d.fcon(1.0), e.d.fcon(0.0)};
  for (int64_t left = n;;) {
    if (left & 1) r = product(e, r, x);
    if ((left >>= 1) == 0) break;
    x = product(e, x, x);
  }
  for (int part : {r.real, r.imag})
    e.check(e.emit(Op::kFNe, e.emit(Op::kFAbs, part), e.d.fcon(HUGE_VAL)));
  return r;
}

// A complex and a real number, where these keep their own rules. `first`: the complex one is.
Pair mixed(Emitter& e, BinaryOp op, const Av& z, int x, bool first) {
  const int real = z.v[0], imag = z.v[1];
  auto of = [&](Op o) { return first ? e.emit(o, real, x) : e.emit(o, x, real); };
  switch (op) {
    case BinaryOp::kAdd: return {of(Op::kFAdd), imag};
    case BinaryOp::kSub: return {of(Op::kFSub), first ? imag : e.emit(Op::kFNeg, imag)};
    case BinaryOp::kMul: return {of(Op::kFMul), e.emit(Op::kFMul, imag, x)};
    default: break;
  }
  if (!first) leave("a number is divided by a complex");
  return {of(Op::kFDiv), e.emit(Op::kFDiv, imag, x)};
}

}  // namespace

Av complex_binary(Emitter& e, BinaryOp op, const Av& a, const Av& b) {
  const char* sign = facts(op).sign;
  if (op == BinaryOp::kPow) {
    if (!is_complex(a)) leave("`**` has a complex as exponent");
    return made(power(e, {a.v[0], a.v[1]}, b));
  }
  if (op != BinaryOp::kAdd && op != BinaryOp::kSub && op != BinaryOp::kMul &&
      op != BinaryOp::kTrueDiv)
    leave(str_cat("`", sign, "` of a complex has no machine code"));
  if (kMixedComplexNumbers && is_complex(a) != is_complex(b))
    return made(is_complex(a) ? mixed(e, op, a, real_part(e, b, sign), true)
                              : mixed(e, op, b, real_part(e, a, sign), false));
  const Pair x = pair_of(e, a, sign), y = pair_of(e, b, sign);
  switch (op) {
    case BinaryOp::kAdd:
      return complex_of(e.emit(Op::kFAdd, x.real, y.real), e.emit(Op::kFAdd, x.imag, y.imag));
    case BinaryOp::kSub:
      return complex_of(e.emit(Op::kFSub, x.real, y.real), e.emit(Op::kFSub, x.imag, y.imag));
    case BinaryOp::kMul: return made(product(e, x, y));
    default: return made(quotient(e, x, y));
  }
}

Av complex_compare(Emitter& e, CompareOp op, const Av& a, const Av& b) {
  if (op != CompareOp::kEq && op != CompareOp::kNe) leave("complex numbers have no order");
  auto part = [&](const Av& x) -> Pair {
    if (is_complex(x)) return {x.v[0], x.v[1]};
    const Av n = num(e, x);
    if (n.of_numpy()) leave(str_cat("a complex is compared with ", a_(e.d.described(n))));
    const int real = n.kind == K::kFloat ? n.v[0] : e.emit(Op::kIToFExact, as_int(e, n));
    return {real, e.d.fcon(0.0)};
  };
  const Pair x = part(a), y = part(b);
  const int same = both(e, e.emit(Op::kFEq, x.real, y.real), e.emit(Op::kFEq, x.imag, y.imag));
  return bool_of(op == CompareOp::kEq ? same : e.emit(Op::kBNot, same));
}

Av complex_unary(Emitter& e, UnaryOp op, const Av& a) {
  if (op == UnaryOp::kPos) return a;
  if (op != UnaryOp::kNeg) leave("an operator of a complex has no machine code");
  return complex_of(e.emit(Op::kFNeg, a.v[0]), e.emit(Op::kFNeg, a.v[1]));
}

int complex_truth(Emitter& e, const Av& a) {
  const int zero = e.d.fcon(0.0);
  return either(e, e.emit(Op::kFNe, a.v[0], zero), e.emit(Op::kFNe, a.v[1], zero));
}

Av complex_abs(Emitter& e, const Av& a) {
  return float_of(e.call(region::Function2::k_py_abs, a.v[0], a.v[1]));
}

Av complex_from(Emitter& e, const std::vector<Av>& args) {
  const Av first = e.d.typed(args[0]);
  if (args.size() == 1 && is_complex(first)) return first;
  std::vector<Av> parts;
  for (const Av& a : args) {
    parts.push_back(num(e, a));
    // NumPy's turn themselves into complex numbers
    if (parts.back().of_numpy() && (parts.back().index != 'd' || kComplexRecoversInfinities))
      leave(str_cat("complex() is called with ", a_(e.d.described(parts.back()))),
            "float(x) of an element makes a Python number");
  }
  const int real = as_float(e, parts[0]);
  if (parts.size() == 1) return complex_of(real, e.d.fcon(0.0));
  const int imag = as_float(e, parts[1]);
  // the first one's imaginary part is added, where it had one
  return complex_of(real, parts[0].of_numpy() ? e.emit(Op::kFAdd, imag, e.d.fcon(0.0)) : imag);
}

const ComplexMember* complex_member(std::string_view name, bool method) {
  static constexpr ComplexMember kMembers[] = {
      {"real", false, [](Emitter&, const Av& a) { return float_of(a.v[0]); }},
      {"imag", false, [](Emitter&, const Av& a) { return float_of(a.v[1]); }},
      {"conjugate", true,
       [](Emitter& e, const Av& a) { return complex_of(a.v[0], e.emit(Op::kFNeg, a.v[1])); }},
  };
  for (const ComplexMember& m : kMembers)
    if (m.name == name && m.method == method) return &m;
  return nullptr;
}

}  // namespace pijit::regions
