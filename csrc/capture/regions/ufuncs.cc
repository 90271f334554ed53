#include "capture/regions/ufuncs.h"

#include <array>
#include <cfenv>
#include <cmath>
#include <deque>

#include "base/error.h"
#include "capture/regions/arrays.h"
#include "capture/regions/complex.h"
#include "capture/regions/numbers.h"
#include "objects/ndarray.h"
#include "python/convert.h"
#include "python/names.h"

namespace pijit::regions {

py::object spec_of(const Av& a) {
  if (a.of_numpy() || a.kind == K::kBool) {
    const char format[] = {a.index ? static_cast<char>(a.index) : '?', '\0'};
    return py::handle(numpy_attribute("dtype"))(format);
  }
  PyTypeObject* const t = a.kind == K::kInt     ? &PyLong_Type
                          : a.kind == K::kFloat ? &PyFloat_Type
                                                : &PyComplex_Type;
  return py::reinterpret_borrow<py::object>(reinterpret_cast<PyObject*>(t));
}

std::vector<const Dtype*> resolved_types(PyObject* ufunc, const py::tuple& specs,
                                         const std::string& told) {
  std::vector<const Dtype*> types;
  try {
    for (const py::handle d :
         py::tuple(py::reinterpret_borrow<py::object>(ufunc).attr("resolve_dtypes")(specs)))
      types.push_back(dtype_of(text_of(d.attr("char").ptr())[0]));
  } catch (py::error_already_set&) {
    types.clear();
  }
  if (types.empty() || std::find(types.begin(), types.end(), nullptr) != types.end())
    leave(str_cat(told, " has no machine code for these numbers"));
  return types;
}

Av number_as(Emitter& e, const Av& a, const Dtype& d) {
  if (d.base == K::kComplex) return complex_as(e, a, d);
  Av r;
  if (d.base == K::kBool) {
    r = number(K::kBool, truth(e, a));
  } else if (d.base == K::kInt) {
    if (a.kind == K::kFloat) leave("a float is used as an int");
    r = number(K::kInt, as_int(e, a));
    check_fits(e, r.v[0], d);
  } else {
    r = number(K::kFloat, d.format == 'f' ? as_float32(e, a) : as_float(e, a));
  }
  r.index = d.format;
  return r;
}

namespace {

// A loop of a ufunc for a single element, and where that and the result lie.
struct ScalarLoop {
  UfuncLoop loop;
  void* data;
  std::array<const Dtype*, 2> in;
  const Dtype* out;
  alignas(16) std::array<std::array<char, 16>, 2> operands;
  alignas(16) std::array<char, 16> result;
};

void put(const Dtype& d, int64_t word, char* to) {
  if (d.base == K::kFloat && d.bytes == sizeof(float)) {
    const auto x = static_cast<float>(real_of(word));
    std::memcpy(to, &x, sizeof x);
  } else {
    std::memcpy(to, &word, static_cast<size_t>(d.bytes));
  }
}

void put_complex(const Dtype& d, int64_t real, int64_t imag, char* to) {
  const bool single = d.bytes == 2 * sizeof(float);
  const Dtype& part = *dtype_of(single ? 'f' : 'd');
  put(part, real, to);
  put(part, imag, to + part.bytes);
}

// As NumPy calls it with scalars: their steps are 0. Whether it has something to warn of, or
// raised.
int64_t run_loop(int64_t which, int64_t a, int64_t b) {
  auto& l = *reinterpret_cast<ScalarLoop*>(which);
  constexpr int kTold = FE_INVALID | FE_DIVBYZERO | FE_OVERFLOW;
  if (l.in[0]->base == K::kComplex) {
    put_complex(*l.in[0], a, b, l.operands[0].data());
  } else {
    put(*l.in[0], a, l.operands[0].data());
    if (l.in[1]) put(*l.in[1], b, l.operands[1].data());
  }
  char* at[] = {l.operands[0].data(), l.operands[1].data(), nullptr};
  Py_ssize_t steps[] = {0, 0, 0};
  const size_t result = l.in[1] ? 2 : 1;
  at[result] = l.result.data();
  steps[result] = l.out->bytes;
  const Py_ssize_t n = 1;
  if (std::fetestexcept(kTold)) std::feclearexcept(kTold);
  l.loop(at, &n, steps, l.data);
  if (!PyErr_Occurred()) return std::fetestexcept(kTold) != 0;
  PyErr_Clear();
  return 1;
}

// In the order of NumPy's numbers of dtypes.
constexpr std::string_view kCodes = "?bBhHiIlLqQfdgFD";

// For a ufunc and the dtypes that it is called with there; null: its table has none. They stay:
// code runs them.
ScalarLoop* scalar_loop(PyObject* ufunc, const std::vector<const Dtype*>& types) {
  static std::deque<ScalarLoop> all;
  const UfuncFields* u = ufunc_fields(ufunc);
  const int k = ufunc_loop(u, [&](const char* numbers) {
    bool fits = true;
    for (size_t i = 0; i < types.size(); ++i)
      fits &= numbers[i] == static_cast<char>(kCodes.find(types[i]->format));
    return fits;
  });
  if (k < 0) return nullptr;
  ScalarLoop made{u->functions[k], data_of_loop(u, k), {types[0]}, types.back(), {}, {}};
  if (types.size() > 2) made.in[1] = types[1];
  for (ScalarLoop& l : all)
    if (l.loop == made.loop && l.data == made.data && l.in == made.in && l.out == made.out)
      return &l;
  all.push_back(made);
  Py_INCREF(ufunc);
  return &all.back();
}

int word_of(Emitter& e, const Av& a) {
  if (a.kind == K::kFloat) return e.emit(Op::kFBits, a.v[0]);
  return a.kind == K::kBool ? e.emit(Op::kBToI, a.v[0]) : a.v[0];
}

// --- those that instructions compute as NumPy does

struct Direct {
  std::string_view name;
  Av (*code)(Emitter& e, const Av& x);  // of a float64 or float32
};
Av like(const Av& x, int v) {
  Av r = number(K::kFloat, v);
  r.index = x.index;
  return r;
}
Av predicate(int v) {
  Av r = bool_of(v);
  r.index = '?';
  return r;
}
Av magnitude(Emitter& e, const Av& x) { return like(x, e.emit(Op::kFAbs, x.v[0])); }
constexpr Direct kDirect[] = {
    {"sqrt",
     [](Emitter& e, const Av& x) {
       const int r = e.emit(Op::kFSqrt, x.v[0]);
       return like(x, x.is_float32() ? e.emit(Op::kFRound32, r) : r);
     }},
    {"absolute", magnitude},
    {"fabs", magnitude},
    {"isnan", [](Emitter& e, const Av& x) { return predicate(e.emit(Op::kFNe, x.v[0], x.v[0])); }},
    {"isinf",
     [](Emitter& e, const Av& x) {
       return predicate(e.emit(Op::kFEq, e.emit(Op::kFAbs, x.v[0]), e.d.fcon(HUGE_VAL)));
     }},
    {"isfinite",
     [](Emitter& e, const Av& x) {
       return predicate(e.emit(Op::kFLt, e.emit(Op::kFAbs, x.v[0]), e.d.fcon(HUGE_VAL)));
     }},
};

Av by_ufunc(Emitter& e, PyObject* fn, const std::vector<Av>& args) {
  const UfuncFields* u = ufunc_fields(fn);
  const std::string told = str_cat("np.", u->name, "()");
  if (u->nout != 1 || args.size() != static_cast<size_t>(u->nin) || args.size() > 2)
    leave(str_cat(told, " has no machine code for these arguments"));
  if (!underflow_is_ignored(*e.d.r)) leave(str_cat(told, " has no machine code here"));
  e.d.r->numpy = true;
  py::tuple specs(args.size() + 1);
  for (size_t k = 0; k < args.size(); ++k) specs[k] = spec_of(args[k]);
  specs[args.size()] = py::none();
  const auto types = resolved_types(fn, specs, told);
  std::vector<Av> given;
  for (size_t k = 0; k < args.size(); ++k) given.push_back(number_as(e, args[k], *types[k]));
  if (given.size() == 1 && given[0].kind == K::kFloat)
    for (const Direct& d : kDirect)
      if (d.name == u->name) return d.code(e, given[0]);
  const bool complex = given[0].kind == K::kComplex;
  ScalarLoop* loop = complex && given.size() > 1 ? nullptr : scalar_loop(fn, types);
  if (!loop) leave(str_cat(told, " has no machine code for these numbers"));
  const int first = complex ? e.emit(Op::kFBits, given[0].v[0]) : word_of(e, given[0]);
  const int second = complex            ? e.emit(Op::kFBits, given[0].v[1])
                     : given.size() > 1 ? word_of(e, given[1])
                                        : e.d.icon(0);
  const int told_of = e.call(run_loop, e.d.icon(reinterpret_cast<int64_t>(loop)), first, second);
  e.check(e.emit(Op::kIEq, told_of, e.d.icon(0)));
  return loaded(e, *types.back(),
                e.d.constant(Type::kPtr, reinterpret_cast<int64_t>(loop->result.data())),
                e.d.icon(0));
}

// np.float32(x) and the like.
Av by_class(Emitter& e, const Dtype& d, const std::vector<Av>& args) {
  const std::string told = str_cat("np.", d.name, "()");
  if (args.size() != 1) leave(str_cat(told, " has no machine code for these arguments"));
  Av a = args[0];
  e.d.r->numpy = true;
  if (d.base == K::kInt && a.kind == K::kFloat) a = int_of(e.emit(Op::kFToI, a.v[0]));
  if (a.kind == K::kComplex && d.base != K::kComplex)
    leave(str_cat(told, " is called with ", a_(e.d.described(a))));
  return number_as(e, a, d);
}

const Dtype* class_of_numbers(PyObject* fn) {
  if (!PyType_Check(fn)) return nullptr;
  for (const Dtype& d : kDtypes)
    if (fn == numpy_attribute(d.name)) return &d;
  return nullptr;
}

// Others' ufuncs may do anything, and those of rows and matrices take no numbers.
bool is_elementwise_of_numpy(PyObject* ufunc) {
  const py::handle u(ufunc);
  return find_numpy_attribute(ufunc_fields(ufunc)->name) == ufunc && u.attr("signature").is_none();
}

}  // namespace

bool is_of_numpy(PyObject* fn) {
  if (!numpy_is_followed()) return false;
  return is_ufunc(fn) ? is_elementwise_of_numpy(fn) : class_of_numbers(fn) != nullptr;
}

Av numpy_result(Emitter& e, PyObject* fn, const std::vector<Av>& args) {
  if (!e.d.uses_numpy()) leave("a function of an old NumPy is called");
  std::vector<Av> a;
  for (auto& x : args) {
    const Av t = e.d.typed(x);
    a.push_back(t.kind == K::kComplex ? t : num(e, x));
  }
  return is_ufunc(fn) ? by_ufunc(e, fn, a) : by_class(e, *class_of_numbers(fn), a);
}

}  // namespace pijit::regions
