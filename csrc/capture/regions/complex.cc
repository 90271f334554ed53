#include "capture/regions/complex.h"

#include <cmath>

#include "base/error.h"
#include "capture/regions/numbers.h"
#include "capture/regions/numpy_calls.h"
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
  if (n.of_numpy() && n.index != 'd')  // which is a float, too
    leave(str_cat("`", sign, "` of a complex and ", a_(e.d.described(n)), " has no machine code"),
          "float(x) of an element makes a Python number");
  return as_float(e, n);
}

Pair pair_of(Emitter& e, const Av& a, const char* sign) {
  if (is_complex(a)) return {a.v[0], a.v[1]};
  return {real_part(e, a, sign), e.d.fcon(0.0)};
}

int both(Emitter& e, int a, int b) { return e.emit(Op::kSelect, a, b, a); }

// Later versions of CPython look for infinities where both parts are none.
Pair recovered(Emitter& e, Pair p) {
  if (kComplexRecoversInfinities)
    e.check(e.either(e.emit(Op::kFEq, p.real, p.real), e.emit(Op::kFEq, p.imag, p.imag)));
  return p;
}

// Operations of floats, in float64 or rounded to float32 each.
struct Parts {
  Emitter& e;
  bool single = false;

  int rounded(int x) const { return single ? e.emit(Op::kFRound32, x) : x; }
  int plus(int x, int y) const { return rounded(e.emit(Op::kFAdd, x, y)); }
  int minus(int x, int y) const { return rounded(e.emit(Op::kFSub, x, y)); }
  int times(int x, int y) const { return rounded(e.emit(Op::kFMul, x, y)); }
  int by(int x, int y) const { return rounded(e.emit(Op::kFDiv, x, y)); }
  Pair product(const Pair& a, const Pair& b) const {
    const int real = minus(times(a.real, b.real), times(a.imag, b.imag));
    return {real, plus(times(a.real, b.imag), times(a.imag, b.real))};
  }
};

Pair product(Emitter& e, const Pair& a, const Pair& b) {
  return recovered(e, Parts{e}.product(a, b));
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

// --- NumPy's

// What is new that is no finite number, NumPy may warn of.
void check_finite(Emitter& e, int x) {
  e.check(e.emit(Op::kFEq, e.emit(Op::kFSub, x, x), e.d.fcon(0.0)));
}

// Smith's quotient, with the reciprocal of the divisor.
Pair numpy_quotient(const Parts& p, const Pair& a, const Pair& b) {
  Emitter& e = p.e;
  const int real_is_larger = e.emit(Op::kFGe, e.emit(Op::kFAbs, b.real), e.emit(Op::kFAbs, b.imag));
  auto pick = [&](int x, int y) { return e.emit(Op::kSelect, real_is_larger, x, y); };
  const int large = pick(b.real, b.imag), small = pick(b.imag, b.real);
  const int first = pick(a.real, a.imag), second = pick(a.imag, a.real);
  const int ratio = p.by(small, large);  // leaves where both are 0
  const int divisor = p.plus(large, p.times(small, ratio));
  check_finite(e, divisor);  // its reciprocal would be 0
  const int scale = p.by(e.d.fcon(1.0), divisor);
  const int across = p.times(first, ratio);
  const int imag = pick(p.minus(second, across), p.minus(across, second));
  return {p.times(p.plus(first, p.times(second, ratio)), scale), p.times(imag, scale)};
}

// 2 or 3, where it is one of these; else 0.
int64_t small_exponent(Emitter& e, const Av& exponent) {
  int64_t n = 0;
  if (!exponent.is_number() || exponent.of_numpy() || !e.d.is_const(exponent.v[0], &n)) return 0;
  if (exponent.kind == K::kFloat) n = real_of(n) == 2 ? 2 : real_of(n) == 3 ? 3 : 0;
  return n == 2 || n == 3 ? n : 0;
}

// By squares. NumPy has other signs of zeros for a base of 0.
Pair numpy_power(const Parts& p, Pair x, int64_t n) {
  Emitter& e = p.e;
  const int zero = e.d.fcon(0.0);
  e.check(e.either(e.emit(Op::kFNe, x.real, zero), e.emit(Op::kFNe, x.imag, zero)));
  const Pair square = p.product(x, x);
  return n == 2 ? square : p.product(x, square);
}

// What NumPy computes in, where one of them is a complex number: Python's take part by their kind
// alone.
const Dtype& common_complex(const Av& a, const Av& b) {
  bool single = false, small = true;
  for (const Av* x : {&a, &b}) {
    const Dtype* d = x->dtype();
    if (!d) continue;
    single |= d->format == 'F' || d->format == 'f';
    small &= d->base == K::kInt ? d->bytes <= 2 : d->format != 'd' && d->format != 'D';
  }
  return *dtype_of(single && small ? 'F' : 'D');
}

// Does NumPy compute it? Python's complex takes a np.float64, which is a float, at its right.
bool by_numpy(const Av& a, const Av& b) {
  return a.of_numpy() || (b.of_numpy() && !(b.kind == K::kFloat && b.index == 'd'));
}

Pair parts_as(Emitter& e, const Av& a, const Dtype& d) {
  const Av z = complex_as(e, a, d);
  return {z.v[0], z.v[1]};
}

Av numpy_complex(Emitter& e, BinaryOp op, const Av& a, const Av& b) {
  const char* sign = facts(op).sign;
  if (!underflow_is_ignored(*e.d.r))
    leave(str_cat("`", sign, "` of NumPy's numbers has no machine code here"));
  e.d.r->numpy = true;
  const int64_t exponent = op == BinaryOp::kPow ? small_exponent(e, b) : 0;
  if (op == BinaryOp::kPow && exponent == 0)
    return called_numpy(e, py::object(python_module("_operator").attr("pow")).ptr(), {a, b},
                        nullptr);
  const Dtype& d = common_complex(a, b);
  const Parts p{e, d.format == 'F'};
  const Pair x = parts_as(e, a, d);
  auto code = [&]() -> Pair {
    if (op == BinaryOp::kPow) return numpy_power(p, x, exponent);
    const Pair y = parts_as(e, b, d);
    switch (op) {
      case BinaryOp::kAdd: return {p.plus(x.real, y.real), p.plus(x.imag, y.imag)};
      case BinaryOp::kSub: return {p.minus(x.real, y.real), p.minus(x.imag, y.imag)};
      case BinaryOp::kMul: return p.product(x, y);
      case BinaryOp::kTrueDiv: return numpy_quotient(p, x, y);
      default: leave(str_cat("`", sign, "` of a complex has no machine code"));
    }
  };
  const Pair r = code();
  check_finite(e, r.real);
  check_finite(e, r.imag);
  Av z = made(r);
  z.index = d.format;
  return z;
}

// A real number of the parts' dtype.
Av real_of_numpy(const Av& of, int x) {
  Av r = float_of(x);
  r.index = of.index == 'F' ? 'f' : of.index == 'D' ? 'd' : 0;
  return r;
}

}  // namespace

Av complex_as(Emitter& e, const Av& a, const Dtype& d) {
  const Av n = is_complex(a) ? a : num(e, a);
  const bool narrow = d.format == 'F' && n.index != 'F';
  auto part = [&](const Av& x) { return narrow ? as_float32(e, x) : as_float(e, x); };
  Av r = complex_of(part(is_complex(n) ? float_of(n.v[0]) : n),
                    is_complex(n) ? part(float_of(n.v[1])) : e.d.fcon(0.0));
  r.index = d.format;
  return r;
}

Av complex_binary(Emitter& e, BinaryOp op, const Av& a, const Av& b) {
  if (by_numpy(a, b)) return numpy_complex(e, op, a, b);
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
  const bool numpy = by_numpy(a, b);
  if (numpy) e.d.r->numpy = true;
  auto part = [&](const Av& x) -> Pair {
    if (numpy) return parts_as(e, x, common_complex(a, b));
    if (is_complex(x)) return {x.v[0], x.v[1]};
    const Av n = num(e, x);
    const int real = n.kind == K::kFloat ? n.v[0] : e.emit(Op::kIToFExact, as_int(e, n));
    return {real, e.d.fcon(0.0)};
  };
  const Pair x = part(a), y = part(b);
  const int same = both(e, e.emit(Op::kFEq, x.real, y.real), e.emit(Op::kFEq, x.imag, y.imag));
  Av r = bool_of(op == CompareOp::kEq ? same : e.emit(Op::kBNot, same));
  if (numpy) r.index = '?';
  return r;
}

Av complex_unary(Emitter& e, UnaryOp op, const Av& a) {
  if (op == UnaryOp::kPos) return a;
  if (op != UnaryOp::kNeg) leave("an operator of a complex has no machine code");
  Av r = complex_of(e.emit(Op::kFNeg, a.v[0]), e.emit(Op::kFNeg, a.v[1]));
  r.index = a.index;
  return r;
}

int complex_truth(Emitter& e, const Av& a) {
  const int zero = e.d.fcon(0.0);
  return e.either(e.emit(Op::kFNe, a.v[0], zero), e.emit(Op::kFNe, a.v[1], zero));
}

Av complex_abs(Emitter& e, const Av& a) {
  const auto length = a.index == 'F' ? region::Function2::k_np_hypotf : region::Function2::k_py_abs;
  return real_of_numpy(a, e.call(length, a.v[0], a.v[1]));
}

Av complex_from(Emitter& e, const std::vector<Av>& args) {
  const Av first = e.d.typed(args[0]);
  if (args.size() == 1 && is_complex(first)) return complex_of(first.v[0], first.v[1]);
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

static Av conjugate(Emitter& e, const Av& a) {
  Av r = complex_of(a.v[0], e.emit(Op::kFNeg, a.v[1]));
  r.index = a.index;
  return r;
}

const ComplexMember* complex_member(const Av& of, std::string_view name, bool method) {
  static constexpr ComplexMember kMembers[] = {
      {"real", false, false, [](Emitter&, const Av& a) { return real_of_numpy(a, a.v[0]); }},
      {"imag", false, false, [](Emitter&, const Av& a) { return real_of_numpy(a, a.v[1]); }},
      {"conjugate", true, false, conjugate},
      {"conj", true, true, conjugate},
  };
  for (const ComplexMember& m : kMembers)
    if (m.name == name && m.method == method && (!m.of_numpy || of.of_numpy())) return &m;
  return nullptr;
}

}  // namespace pijit::regions
