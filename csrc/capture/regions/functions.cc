#include "capture/regions/functions.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <deque>
#include <optional>

#include "base/error.h"
#include "python/convert.h"
#include "python/names.h"
#include "capture/regions/arrays.h"
#include "capture/regions/complex.h"
#include "capture/regions/iterators.h"
#include "capture/regions/lists.h"
#include "capture/regions/numbers.h"
#include "capture/regions/statements.h"
#include "capture/regions/text.h"
#include "capture/regions/twister.h"
#include "capture/regions/ufuncs.h"
#include "python/quirks.h"

namespace pijit::regions {

static std::string name_of(PyObject* fn) {
  if (PyCFunction_CheckExact(fn)) return reinterpret_cast<PyCFunctionObject*>(fn)->m_ml->ml_name;
  return PyType_Check(fn) ? reinterpret_cast<PyTypeObject*>(fn)->tp_name : "the function";
}

// The name of a function of C in a module, or null.
static const char* function_of(const char* module, PyObject* o) {
  if (!PyCFunction_CheckExact(o)) return nullptr;
  auto* f = reinterpret_cast<PyCFunctionObject*>(o);
  if (!f->m_self || !PyModule_CheckExact(f->m_self)) return nullptr;
  const char* name = PyModule_GetName(f->m_self);
  if (!name) {
    PyErr_Clear();
    return nullptr;
  }
  return std::strcmp(name, module) == 0 ? f->m_ml->ml_name : nullptr;
}

static Av rounded(Emitter& e, region::Function1 f, const Av& a) {
  if (a.kind != K::kFloat) return int_of(as_int(e, a));
  return int_of(e.emit(Op::kFToI, e.call(f, a.v[0])));
}

static Av extremum(Emitter& e, CompareOp better, const char* name, const std::vector<Av>& a) {
  Av best = a[0];
  for (size_t k = 1; k < a.size(); ++k) {
    if (a[k].kind != best.kind || a[k].index != best.index)
      leave(str_cat(name, "() is called with numbers of several types"),
            "numbers of one type: float(x)");
    const Av is_better = compare(e, better, a[k], best);
    best.v[0] = e.emit(Op::kSelect, is_better.v[0], a[k].v[0], best.v[0]);
  }
  return best;
}

std::optional<OneOfTwo> one_of_two(Emitter& e, PyObject* fn, const std::vector<Av>& args) {
  struct Extreme {
    std::string_view name;
    CompareOp better;
  };
  static constexpr Extreme kExtremes[] = {{"min", CompareOp::kLt}, {"max", CompareOp::kGt}};
  const char* name = function_of("builtins", fn);
  const auto* extreme = std::find_if(std::begin(kExtremes), std::end(kExtremes),
                                     [&](const Extreme& x) { return name && x.name == name; });
  if (args.size() != 2 || extreme == std::end(kExtremes)) return std::nullopt;
  const Av first = e.d.typed(args[0]), second = e.d.typed(args[1]);
  const bool known =
      first.is_number() && second.is_number() && !first.is_numpy_bool() && !second.is_numpy_bool();
  if (!known || (first.kind == second.kind && first.index == second.index)) return std::nullopt;
  const Av better = compare(e, extreme->better, second, first);
  return OneOfTwo{better.v[0], second, first};
}

static Av absolute(Emitter& e, const std::vector<Av>& a) {
  Av r = a[0].kind == K::kFloat ? float_of(e.emit(Op::kFAbs, a[0].v[0]))
                                : int_of(e.emit(Op::kIAbs, as_int(e, a[0])));
  if (a[0].of_numpy() && a[0].kind == K::kInt) check_fits(e, r.v[0], *a[0].dtype());
  r.index = a[0].index;
  return r;
}

static Av enumerated(Emitter& e, const std::vector<Av>& a) {
  Av r = number(K::kEnumerate, a.size() > 1 ? as_index(e, a[1]) : e.d.icon(0));
  r.items = {iterator(e, a[0])};
  return r;
}

static Av zipped(Emitter& e, const std::vector<Av>& a) {
  Av r;
  r.kind = K::kZip;
  for (const Av& x : a) r.items.push_back(iterator(e, x));
  return r;
}

static Av length(Emitter& e, const std::vector<Av>& a) {
  if (const List l = list_of(e, a[0]); l.object != kNoValue) return int_of(list_length(e, l));
  if (const Av t = e.d.as_items(a[0]); t.kind == K::kTuple)
    return int_of(e.d.icon(static_cast<int64_t>(t.items.size())));
  const Part x = part_of(e, a[0]);
  if (!x.array) leave(str_cat("len() of ", a_(e.d.described(e.d.typed(a[0]))), " is asked for"));
  return int_of(x.array->sizes[static_cast<size_t>(x.axis)]);
}

static Av quotient_and_rest(Emitter& e, const std::vector<Av>& a) {
  Av t;
  t.kind = K::kTuple;
  t.items = {binary(e, BinaryOp::kFloorDiv, a[0], a[1]), binary(e, BinaryOp::kMod, a[0], a[1])};
  return t;
}

namespace {

using Args = const std::vector<Av>&;

enum class Takes : uint8_t { kAnything, kNumbers, kPythonNumbers };
// Of the module builtins, and of math.
struct Row {
  std::string_view name;
  size_t least, most;  // arguments
  Takes takes;
  Av (*code)(Emitter& e, Args a);
};
constexpr Row kBuiltins[] = {
    {"len", 1, 1, Takes::kAnything, length},
    {"ord", 1, 1, Takes::kAnything, place_of_character},
    {"chr", 1, 1, Takes::kAnything, character_at},
    {"abs", 1, 1, Takes::kNumbers, absolute},
    {"round", 1, 1, Takes::kPythonNumbers,
     [](Emitter& e, Args a) { return rounded(e, region::Function1::k_rint, a[0]); }},
    {"pow", 2, 2, Takes::kNumbers,
     [](Emitter& e, Args a) { return binary(e, BinaryOp::kPow, a[0], a[1]); }},
    {"divmod", 2, 2, Takes::kNumbers, quotient_and_rest},
    {"min", 2, SIZE_MAX, Takes::kNumbers,
     [](Emitter& e, Args a) { return extremum(e, CompareOp::kLt, "min", a); }},
    {"max", 2, SIZE_MAX, Takes::kNumbers,
     [](Emitter& e, Args a) { return extremum(e, CompareOp::kGt, "max", a); }},
};
constexpr double kPi = 3.141592653589793238462643383279502884197;
// Those that are not functions of doubles alone, see region/functions.def.
constexpr Row kMath[] = {
    {"floor", 1, 1, Takes::kPythonNumbers,
     [](Emitter& e, Args a) { return rounded(e, region::Function1::k_floor, a[0]); }},
    {"ceil", 1, 1, Takes::kPythonNumbers,
     [](Emitter& e, Args a) { return rounded(e, region::Function1::k_ceil, a[0]); }},
    {"trunc", 1, 1, Takes::kPythonNumbers,
     [](Emitter& e, Args a) { return rounded(e, region::Function1::k_trunc, a[0]); }},
    {"sqrt", 1, 1, Takes::kNumbers,
     [](Emitter& e, Args a) { return float_of(e.emit(Op::kFSqrt, as_float(e, a[0]))); }},
    {"fabs", 1, 1, Takes::kNumbers,
     [](Emitter& e, Args a) { return float_of(e.emit(Op::kFAbs, as_float(e, a[0]))); }},
    {"isnan", 1, 1, Takes::kNumbers,
     [](Emitter& e, Args a) {
       const int x = as_float(e, a[0]);
       return bool_of(e.emit(Op::kFNe, x, x));
     }},
    {"isinf", 1, 1, Takes::kNumbers,
     [](Emitter& e, Args a) {
       const int x = e.emit(Op::kFAbs, as_float(e, a[0]));
       return bool_of(e.emit(Op::kFEq, x, e.d.fcon(HUGE_VAL)));
     }},
    {"isfinite", 1, 1, Takes::kNumbers,
     [](Emitter& e, Args a) {
       const int x = e.emit(Op::kFAbs, as_float(e, a[0]));
       return bool_of(e.emit(Op::kFLt, x, e.d.fcon(HUGE_VAL)));
     }},
    {"radians", 1, 1, Takes::kNumbers,
     [](Emitter& e, Args a) {
       return float_of(e.emit(Op::kFMul, as_float(e, a[0]), e.d.fcon(kPi / 180.0)));
     }},
    {"degrees", 1, 1, Takes::kNumbers,
     [](Emitter& e, Args a) {
       return float_of(e.emit(Op::kFMul, as_float(e, a[0]), e.d.fcon(180.0 / kPi)));
     }},
    {"atan2", 2, 2, Takes::kNumbers,
     [](Emitter& e, Args a) {
       const int y = as_float(e, a[0]), x = as_float(e, a[1]);
       // of one that is no number, versions of CPython give others
       for (int v : {y, x}) e.check(e.emit(Op::kFEq, v, v));
       return float_of(e.call(region::Function2::k_py_atan2, y, x));
     }},
    {"pow", 2, 2, Takes::kNumbers,
     [](Emitter& e, Args a) {
       const int x = as_float(e, a[0]), y = as_float(e, a[1]);
       if (kPowOfZeroRaises) {
         const int zero = e.emit(Op::kFEq, x, e.d.fcon(0.0));
         const int low = e.emit(Op::kFEq, y, e.d.fcon(-HUGE_VAL));
         e.check(e.emit(Op::kBNot, e.emit(Op::kSelect, zero, low, zero)));
       }
       return float_of(e.call(region::Function2::k_py_pow, x, y));
     }},
};

// Null: none for so many arguments.
const Row* row_of(std::span<const Row> rows, std::string_view name, size_t args) {
  for (const Row& r : rows)
    if (r.name == name && args >= r.least && args <= r.most) return &r;
  return nullptr;
}

}  // namespace

static std::vector<Av> numbers(Emitter& e, const std::vector<Av>& args) {
  std::vector<Av> a;
  for (auto& x : args) a.push_back(num(e, x));
  return a;
}

namespace {

// A function of C that gives the same for the same numbers, called as Python calls it.
struct PureCall {
  PyObject* fn;
  size_t args;
  std::array<RegionKind, 2> kinds;
  RegionKind result;
  int64_t word;  // what it gave
};

// Whether it raised, or gave something else than such a number.
int64_t call_pure(int64_t which, int64_t a, int64_t b) {
  auto& call = *reinterpret_cast<PureCall*>(which);
  const int64_t words[] = {a, b};
  PyObject* given[2] = {};
  bool fine = true;
  for (size_t k = 0; k < call.args; ++k) {
    given[k] = call.kinds[k] == K::kFloat  ? PyFloat_FromDouble(real_of(words[k]))
               : call.kinds[k] == K::kBool ? PyBool_FromLong(words[k] != 0)
                                           : PyLong_FromLongLong(words[k]);
    fine &= given[k] != nullptr;
  }
  PyObject* r = fine ? PyObject_Vectorcall(call.fn, given, call.args, nullptr) : nullptr;
  for (PyObject* o : given) Py_XDECREF(o);
  if (!r) return PyErr_Clear(), 1;
  if (call.result == K::kFloat) {
    fine = PyFloat_CheckExact(r);
    if (fine) call.word = bits_of(PyFloat_AS_DOUBLE(r));
  } else {
    fine = PyLong_CheckExact(r) && as_int64(r, &call.word);
  }
  Py_DECREF(r);
  return !fine;
}

struct PureFunction {
  std::string_view name;
  size_t least, most;
  RegionKind result;
};
constexpr PureFunction kPure[] = {
    {"hypot", 1, 2, K::kFloat}, {"gamma", 1, 1, K::kFloat},     {"lgamma", 1, 1, K::kFloat},
    {"log", 2, 2, K::kFloat},   {"remainder", 2, 2, K::kFloat}, {"nextafter", 2, 2, K::kFloat},
    {"ulp", 1, 1, K::kFloat},   {"ldexp", 2, 2, K::kFloat},     {"gcd", 2, 2, K::kInt},
    {"lcm", 2, 2, K::kInt},     {"isqrt", 1, 1, K::kInt},       {"comb", 2, 2, K::kInt},
    {"perm", 1, 2, K::kInt},    {"factorial", 1, 1, K::kInt},
};

Av by_python(Emitter& e, PyObject* fn, const std::vector<Av>& args, RegionKind result) {
  static std::deque<PureCall> all;  // code runs them
  PureCall call{fn, args.size(), {}, result, 0};
  std::array<int, 2> words{e.d.icon(0), e.d.icon(0)};
  for (size_t k = 0; k < args.size(); ++k) {
    const Av& x = args[k];
    // a np.float64 is a float; other numbers of NumPy's may be taken otherwise, or not at all
    if ((x.of_numpy() && x.index != 'd') || (result == K::kInt && x.kind == K::kFloat))
      leave(str_cat("a function is called with ", a_(e.d.described(x))));
    call.kinds[k] = x.kind;
    words[k] = x.kind == K::kFloat ? e.emit(Op::kFBits, x.v[0]) : as_int(e, x);
  }
  auto at = std::find_if(all.begin(), all.end(), [&](const PureCall& c) {
    return c.fn == fn && c.args == call.args && c.kinds == call.kinds;
  });
  if (at == all.end()) {
    Py_INCREF(fn);
    at = all.insert(all.end(), call);
  }
  const int failed =
      e.call(call_pure, e.d.icon(reinterpret_cast<int64_t>(&*at)), words[0], words[1]);
  e.check(e.emit(Op::kIEq, failed, e.d.icon(0)));
  const int place = e.d.constant(Type::kPtr, reinterpret_cast<int64_t>(&at->word));
  return number(result,
                e.emit(result == K::kFloat ? Op::kLoadF64 : Op::kLoadI64, place, e.d.icon(0)));
}

}  // namespace

static Av math(Emitter& e, PyObject* fn, const char* name, const std::vector<Av>& args) {
  const std::vector<Av> a = numbers(e, args);
  const std::string told = str_cat("math.", name, "()");
  if (const Row* r = row_of(kMath, name, a.size())) {
    if (r->takes == Takes::kPythonNumbers && a[0].of_numpy())
      leave(str_cat(told, " is called with a NumPy number"));
    return r->code(e, a);
  }
  for (const PureFunction& f : kPure)
    if (f.name == name && a.size() >= f.least && a.size() <= f.most)
      return by_python(e, fn, a, f.result);
  region::Function1 of_one;
  region::Function2 of_two;
  if (a.size() == 1 && region::function1(name, &of_one))
    return float_of(e.call(of_one, as_float(e, a[0])));
  if (a.size() == 2 && region::function2(name, &of_two)) {
    const int x = as_float(e, a[0]), y = as_float(e, a[1]);
    return float_of(e.call(of_two, x, y));
  }
  leave(str_cat(told, " has no machine code"));
}

namespace {
// Functions of a list of numbers that only look at it: whether they look at numbers alone, and what
// they give, of items of a kind.
struct OfList {
  std::string_view name;
  bool numbers;
  K (*gives)(K item);
};
constexpr OfList kOfList[] = {
    {"any", false, [](K) { return K::kBool; }},
    {"all", false, [](K) { return K::kBool; }},
    {"sum", true, [](K item) { return item == K::kBool ? K::kInt : item; }},
    {"min", true, [](K item) { return item; }},
    {"max", true, [](K item) { return item; }},
};
}  // namespace

// Nothing: it is another function.
static std::optional<Av> of_list(Emitter& e, PyObject* fn, const char* name, const Av& a) {
  const List l = list_of(e, a);
  const auto row = std::find_if(std::begin(kOfList), std::end(kOfList),
                                [&](const OfList& r) { return r.name == name; });
  if (l.object == kNoValue || row == std::end(kOfList)) return std::nullopt;
  const K item = row->numbers ? e.d.lists.read(l.kind).item : K::kNull;
  if (row->numbers && item != K::kInt && item != K::kFloat && item != K::kBool)
    leave(str_cat(name, "() is called with a list of other things than numbers"), kNumbers);
  return applied(e, fn, l, row->gives(item));
}

Av result_of(Emitter& e, PyObject* fn, const std::vector<Av>& args, int kind) {
  if (const auto r = draw_of_python(e, fn, args)) return *r;
  if (const char* name = function_of("math", fn)) return math(e, fn, name, args);
  struct Class {
    PyTypeObject* type;
    size_t least, most;
    Av (*code)(Emitter& e, Args a);
  };
  static const Class kOfIterators[] = {
      {&PyRange_Type, 1, 3, range}, {&PyEnum_Type, 1, 2, enumerated}, {&PyZip_Type, 1, 4, zipped}};
  for (const Class& c : kOfIterators)
    if (fn == reinterpret_cast<PyObject*>(c.type) && args.size() >= c.least &&
        args.size() <= c.most)
      return c.code(e, args);
  if (fn == reinterpret_cast<PyObject*>(&PyList_Type) && args.size() <= 1)
    return list_from(e, args, kind);
  if (fn == reinterpret_cast<PyObject*>(&PyComplex_Type) && (args.size() == 1 || args.size() == 2))
    return complex_from(e, args);
  if (is_of_numpy(fn)) return numpy_result(e, fn, args);
  const char* name = function_of("builtins", fn);
  if (name && args.size() == 1 && std::strcmp(name, "abs") == 0)
    if (is_arrays(e, args[0])) return array_abs(e, args[0]);
  if (name && args.size() == 1 && std::strcmp(name, "abs") == 0)
    if (const Av z = e.d.typed(args[0]); z.kind == K::kComplex) return complex_abs(e, z);
  if (name && args.size() == 1)
    if (const auto r = of_list(e, fn, name, args[0])) return *r;
  const Row* row = name ? row_of(kBuiltins, name, args.size()) : nullptr;
  if (row && row->takes == Takes::kAnything) return row->code(e, args);
  if (fn == reinterpret_cast<PyObject*>(&PyLong_Type) && args.size() == 1 &&
      args[0].kind == K::kCharacter)
    return digit_of(e, args[0]);
  const std::vector<Av> a = numbers(e, args);
  for (auto& x : a)
    if (x.of_numpy() && (x.kind == K::kBool || (row && row->takes == Takes::kPythonNumbers)))
      leave(str_cat("a function is called with ", a_(e.d.described(x))));
  if (row) return row->code(e, a);
  if (a.size() == 1) {
    if (fn == reinterpret_cast<PyObject*>(&PyLong_Type))
      return a[0].kind == K::kFloat ? int_of(e.emit(Op::kFToI, a[0].v[0]))
                                    : int_of(as_int(e, a[0]));
    if (fn == reinterpret_cast<PyObject*>(&PyFloat_Type)) return float_of(as_float(e, a[0]));
    if (fn == reinterpret_cast<PyObject*>(&PyBool_Type)) return bool_of(truth(e, a[0]));
  }
  leave(str_cat(name_of(fn), "() has no machine code for these arguments"));
}

}  // namespace pijit::regions
