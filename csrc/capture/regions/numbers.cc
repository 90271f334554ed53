#include "capture/regions/numbers.h"

#include "base/error.h"
#include "capture/regions/complex.h"
#include "capture/regions/lists.h"
#include "objects/data.h"
#include "python/names.h"

namespace pijit::regions {

static Av numpy_binary(Emitter& e, BinaryOp op, const Av& a, const Av& b);
static Av plain_binary(Emitter& e, BinaryOp op, const Av& a, const Av& b);
static int power(Emitter& e, int x, int n);
static Av float_binary(Emitter& e, BinaryOp op, const Av& a, const Av& b);
static Av plain_compare(Emitter& e, CompareOp op, const Av& a, const Av& b);

static bool is_array(PyObject* o) {
  return numpy_is_loaded() && Py_TYPE(o) == library.ndarray.type();
}

Av num(Emitter& e, const Av& a) {
  Av t = e.d.typed(a);
  if (!t.is_number())
    leave(str_cat(a_(e.d.described(t)), " is no number of machine code"), kNumbers,
          t.kind == K::kRow || (t.kind == K::kEntry && is_array(e.d.object_at(t.index))));
  return t;
}

int as_int(Emitter& e, const Av& a) {
  return a.kind == K::kBool ? e.emit(Op::kBToI, a.v[0]) : a.v[0];
}

int as_float(Emitter& e, const Av& a) {
  return a.kind == K::kFloat ? a.v[0] : e.emit(Op::kIToF, as_int(e, a));
}

static int as_exact_float(Emitter& e, const Av& a) {
  return a.kind == K::kFloat ? a.v[0] : e.emit(Op::kIToFExact, as_int(e, a));
}

int truth(Emitter& e, const Av& x) {
  if (const List l = list_of(e, x); l.object != kNoValue)
    return e.emit(Op::kINe, list_length(e, l), e.d.icon(0));
  const Av a = e.d.typed(x);
  switch (a.kind) {
    case K::kBool: return a.v[0];
    case K::kInt: return e.emit(Op::kINe, a.v[0], e.d.icon(0));
    case K::kFloat: return e.emit(Op::kFNe, a.v[0], e.d.fcon(0));
    case K::kComplex: return complex_truth(e, a);
    case K::kCharacter: return e.d.constant(Type::kB1, 1);
    case K::kObject:
      if (a.object == Py_None) return e.d.constant(Type::kB1, 0);
      [[fallthrough]];
    default:
      leave(str_cat("the truth of ", a_(e.d.described(a)), " is asked for"), "compare numbers");
  }
}

void unary(Emitter& e, UnaryOp op, std::vector<Av>& st) {
  Av r;
  if (op == UnaryOp::kNot) {
    r = bool_of(e.emit(Op::kBNot, truth(e, st.back())));
  } else if (const Av z = e.d.typed(st.back()); z.kind == K::kComplex) {
    r = complex_unary(e, op, z);
  } else {
    const Av a = num(e, st.back());
    if (a.of_numpy() && a.kind == K::kBool) leave("an operator is applied to a np.bool_");
    switch (op) {
      case UnaryOp::kNeg:
        r = a.kind == K::kFloat ? float_of(e.emit(Op::kFNeg, a.v[0]))
                                : int_of(e.emit(Op::kINeg, as_int(e, a)));
        if (a.of_numpy() && a.kind == K::kInt) check_fits(e, r.v[0], *a.dtype());
        r.index = a.index;
        break;
      case UnaryOp::kPos: r = a.kind == K::kBool ? int_of(as_int(e, a)) : a; break;
      case UnaryOp::kInvert:
        if (a.kind != K::kInt) leave(str_cat("`~` is applied to ", a_(e.d.described(a))));
        if (a.of_numpy() && a.dtype()->least == 0) leave("`~` is applied to an unsigned int");
        r = int_of(e.emit(Op::kIXor, a.v[0], e.d.icon(-1)));
        r.index = a.index;
        break;
      default: leave("an operator has no machine code");
    }
  }
  st.back() = r;
}

Av binary(Emitter& e, BinaryOp op, const Av& a, const Av& b) {
  if (a.of_numpy() || b.of_numpy()) return numpy_binary(e, op, a, b);
  return plain_binary(e, op, a, b);
}

int as_index(Emitter& e, const Av& a) {
  const Av n = num(e, a);
  if (n.kind == K::kFloat || n.is_numpy_bool())
    leave(str_cat(a_(e.d.described(n)), " stands for an index"), "int(x)");
  return as_int(e, n);
}

int as_float32(Emitter& e, const Av& a) {
  if (a.is_float32()) return a.v[0];
  const int x = as_exact_float(e, a), r = e.emit(Op::kFRound32, x);
  e.d.r->numpy = true;
  e.emit(Op::kQuiet, r, x, x);
  return r;
}

void check_fits(Emitter& e, int x, const Dtype& d) {
  if (d.least != INT64_MIN) e.check(e.emit(Op::kIGe, x, e.d.icon(d.least)));
  if (d.most != INT64_MAX) e.check(e.emit(Op::kILe, x, e.d.icon(d.most)));
}

// What NumPy computes in, for numbers of which one is its own: Python's take the other's dtype, if
// they are of its kind.
static const Dtype& common_dtype(const Av& a, const Av& b) {
  const Dtype *x = a.dtype(), *y = b.dtype();
  if (!x) std::swap(x, y);
  if (a.kind != b.kind || !y) {
    const bool to_float = (a.kind == K::kFloat || b.kind == K::kFloat) && x->base != K::kFloat;
    if (!y) return to_float ? *dtype_of('d') : *x;
    const Dtype& ints = x->base == K::kInt ? *x : *y;
    const Dtype& floats = x->base == K::kInt ? *y : *x;
    return ints.bytes > 2 ? *dtype_of('d') : floats;
  }
  if (x->bytes < y->bytes) std::swap(x, y);
  if (x->base == K::kFloat || (x->least <= y->least && x->most >= y->most)) return *x;
  if (y->least <= x->least && y->most >= x->most) return *y;
  return *dtype_of(x->bytes == 1 ? 'h' : x->bytes == 2 ? 'i' : 'l');  // one has signs
}

// Of NumPy's scalars: where it would warn, it leaves.
static Av numpy_binary(Emitter& e, BinaryOp op, const Av& a, const Av& b) {
  const bool power = op == BinaryOp::kPow;
  if (a.kind == K::kBool || b.kind == K::kBool || !underflow_is_ignored(*e.d.r))
    leave(str_cat("`", facts(op).sign, "` of NumPy's numbers has no machine code here"));
  const Dtype& d = common_dtype(a, b);
  const bool exact = op == BinaryOp::kAdd || op == BinaryOp::kSub || op == BinaryOp::kMul ||
                     op == BinaryOp::kTrueDiv;
  e.d.r->numpy = true;
  // C's pow() is NumPy's own for float64
  if (power ? d.format != 'd' : d.base == K::kFloat && !exact)
    leave(str_cat("`", facts(op).sign, "` of np.", d.name, " has no machine code"),
          "float(x) of an element makes a Python number");
  if (d.format == 'f') {
    const Av x = float_of(as_float32(e, a)), y = float_of(as_float32(e, b));
    // as if it had been computed in float32: 53 bits are more than twice 24
    Av r = float_of(e.emit(Op::kFRound32, float_binary(e, op, x, y).v[0]));
    e.emit(Op::kQuiet, r.v[0], x.v[0], y.v[0]);
    r.index = d.format;
    return r;
  }
  if (d.base == K::kInt)
    for (const Av* x : {&a, &b})
      if (!x->of_numpy()) check_fits(e, x->v[0], d);  // else NumPy raises
  Av r = plain_binary(e, op, a, b);
  if (r.kind == K::kFloat) {
    e.emit(Op::kQuiet, r.v[0], as_float(e, a), as_float(e, b));
    r.index = 'd';
    return r;
  }
  check_fits(e, r.v[0], d);
  r.index = d.format;
  return r;
}

static Av plain_binary(Emitter& e, BinaryOp op, const Av& a, const Av& b) {
  if (a.kind == K::kFloat || b.kind == K::kFloat) return float_binary(e, op, a, b);
  if (op == BinaryOp::kTrueDiv) {
    const int x = as_exact_float(e, a), y = as_exact_float(e, b);
    return float_of(e.emit(Op::kFDiv, x, y));
  }
  if (op == BinaryOp::kPow) return int_of(power(e, as_int(e, a), as_int(e, b)));
  const int x = as_int(e, a), y = as_int(e, b);
  const bool bools = a.kind == K::kBool && b.kind == K::kBool;
  auto logic = [&](Op o) {
    const int r = e.emit(o, x, y);
    return bools ? bool_of(e.emit(Op::kINe, r, e.d.icon(0))) : int_of(r);
  };
  switch (op) {
    case BinaryOp::kAdd: return int_of(e.emit(Op::kIAdd, x, y));
    case BinaryOp::kSub: return int_of(e.emit(Op::kISub, x, y));
    case BinaryOp::kMul: return int_of(e.emit(Op::kIMul, x, y));
    case BinaryOp::kFloorDiv: return int_of(e.emit(Op::kIDiv, x, y));
    case BinaryOp::kMod: return int_of(e.emit(Op::kIMod, x, y));
    case BinaryOp::kLshift: return int_of(e.emit(Op::kIShl, x, y));
    case BinaryOp::kRshift: return int_of(e.emit(Op::kIShr, x, y));
    case BinaryOp::kAnd: return logic(Op::kIAnd);
    case BinaryOp::kOr: return logic(Op::kIOr);
    case BinaryOp::kXor: return logic(Op::kIXor);
    default: leave(str_cat("`", facts(op).sign, "` of ints has no machine code"));
  }
}

// By squares: none of the products is larger than the power itself.
static int power(Emitter& e, int x, int n) {
  int64_t left;
  if (!e.d.is_const(n, &left) || left < 0 || left > kLargestPower)
    leave("`**` of ints has an exponent that is no constant from 0 to 64",
          "a float as base, or x * x");
  int r = kNoValue;
  for (; left > 0; left >>= 1) {
    if (left & 1) r = r == kNoValue ? x : e.emit(Op::kIMul, r, x);
    if (left > 1) x = e.emit(Op::kIMul, x, x);
  }
  return r == kNoValue ? e.d.icon(1) : r;
}

static Av float_binary(Emitter& e, BinaryOp op, const Av& a, const Av& b) {
  const int x = as_float(e, a), y = as_float(e, b);
  switch (op) {
    case BinaryOp::kAdd: return float_of(e.emit(Op::kFAdd, x, y));
    case BinaryOp::kSub: return float_of(e.emit(Op::kFSub, x, y));
    case BinaryOp::kMul: return float_of(e.emit(Op::kFMul, x, y));
    case BinaryOp::kTrueDiv: return float_of(e.emit(Op::kFDiv, x, y));
    case BinaryOp::kFloorDiv:
      e.check(e.emit(Op::kFNe, y, e.d.fcon(0)));
      return float_of(e.call(region::Function2::k_py_floordiv, x, y));
    case BinaryOp::kMod:
      e.check(e.emit(Op::kFNe, y, e.d.fcon(0)));
      return float_of(e.call(region::Function2::k_py_mod, x, y));
    case BinaryOp::kPow: return float_of(e.call(region::Function2::k_py_pow, x, y));
    default: leave(str_cat("`", facts(op).sign, "` of floats has no machine code"));
  }
}

Av compare(Emitter& e, CompareOp op, const Av& a, const Av& b) {
  if (a.is_numpy_bool() || b.is_numpy_bool()) leave("a np.bool_ is compared");
  const bool numpy = a.of_numpy() || b.of_numpy();
  const bool of_float32 = numpy && (a.is_float32() || b.is_float32()) && a.kind != K::kBool &&
                          b.kind != K::kBool && common_dtype(a, b).format == 'f';
  Av r = of_float32 ? plain_compare(e, op, float_of(as_float32(e, a)), float_of(as_float32(e, b)))
                    : plain_compare(e, op, a, b);
  if (numpy) r.index = '?';
  return r;
}

static Av plain_compare(Emitter& e, CompareOp op, const Av& a, const Av& b) {
  const bool floats = a.kind == K::kFloat || b.kind == K::kFloat;
  const int x = floats ? as_exact_float(e, a) : as_int(e, a);
  const int y = floats ? as_exact_float(e, b) : as_int(e, b);
  auto of = [&](Op ints, Op reals) { return bool_of(e.emit(floats ? reals : ints, x, y)); };
  switch (op) {
    case CompareOp::kLt: return of(Op::kILt, Op::kFLt);
    case CompareOp::kLe: return of(Op::kILe, Op::kFLe);
    case CompareOp::kEq: return of(Op::kIEq, Op::kFEq);
    case CompareOp::kNe: return of(Op::kINe, Op::kFNe);
    case CompareOp::kGt: return of(Op::kIGt, Op::kFGt);
    case CompareOp::kGe: return of(Op::kIGe, Op::kFGe);
  }
  leave("a comparison has no machine code");
}

}  // namespace pijit::regions
