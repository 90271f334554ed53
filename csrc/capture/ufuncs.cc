#include "capture/ufuncs.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "absl/container/flat_hash_map.h"
#include "capture/context.h"
#include "capture/fast_ufuncs.h"
#include "capture/values/masked.h"
#include "capture/values/object.h"
#include "capture/values/scalar.h"
#include "capture/values/sequence.h"
#include "capture/values/slice.h"
#include "graph/vals.h"
#include "objects/data.h"
#include "objects/ndarray.h"
#include "runtime/foreign.h"
#include "runtime/fp_status.h"
#include "runtime/number_loops.h"

namespace pijit {
bool is_followed(DType t) {
  return is_bool(t) || is_int(t) || t == DType::F32 || t == DType::F64 || is_complex(t);
}

namespace {

Val complex_constant(Graph& g, DType t, Py_complex z) {
  const DType part = part_of(t);
  return g.op("complex", {g.constant(part, z.real), g.constant(part, z.imag)});
}

// A NumPy scalar as a constant of its dtype: np.float64 is a float, but no weak one.
Val constant_of(Context& c, PyObject* scalar) {
  for (const DType t : {DType::C64, DType::C128})
    if (Py_TYPE(scalar) == numpy_scalar_type(t)) {
      const Py_complex z = PyComplex_AsCComplex(scalar);
      if (PyErr_Occurred()) throw py::error_already_set();
      return complex_constant(c.scope_->graph(), t, z);
    }
  const ArrayRef a = array_on(array_from(scalar, std::nullopt), {});
  uint64_t bits = 0;
  std::memcpy(&bits, a->data(), size_of(a->type.dtype));
  return c.scope_->graph().constant(a->type.dtype, bits);
}

// A NumPy scalar that differs from call to call, as an input; null: it is none.
NdarrayValue* scalar_input(Context& c, const V& v) {
  if (!as<ObjectValue>(v) || v->src < 0 || !is_numpy_scalar(v->obj.ptr())) return nullptr;
  const auto known = c.dynamic_values_.find(v->src);
  if (known != c.dynamic_values_.end()) return as<NdarrayValue>(known->second);
  for (int k = 0; k < kNumDTypes; ++k) {
    const DType t = static_cast<DType>(k);
    const bool number = is_followed(t) && !is_complex(t);  // of 64 bits
    if (t == DType::BF16 || numpy_scalar_type(t) != Py_TYPE(v->obj.ptr()) || !number) continue;
    auto* made = new_ndarray_value(c, c.add_input({t, Shape{}}, v->src, 0), {}, true);
    c.dynamic_values_[v->src] = made;
    return made;
  }
  return nullptr;
}

}  // namespace

std::optional<Given> given(Context& c, const V& v) {
  Given g{v};
  if ((g.array = as_ndarray(c, v))) {
    if (!g.array->is_followed(c)) return std::nullopt;
    g.spec = share(descr_of(g.array->elements(c).dtype()));
    return g;
  }
  if ((g.array = scalar_input(c, v))) {
    g.spec = share(descr_of(g.array->memory.dtype()));
    return g;
  }
  if (!as<ScalarValue>(v)) return std::nullopt;
  PyObject* o = v->obj.ptr();
  const bool known_bool = is_known(v) && PyBool_Check(o);
  if (known_bool || (is_known(v) && is_numpy_scalar(o))) {
    g.number = known_bool ? c.scope_->graph().constant(DType::Bool, uint64_t{o == Py_True})
                          : constant_of(c, o);
    if (!is_followed(g.number.dtype())) return std::nullopt;
    g.spec = share(descr_of(g.number.dtype()));
    return g;
  }
  const bool complex = is_known(v) && PyComplex_CheckExact(o);
  if (!PyLong_CheckExact(o) && !PyFloat_CheckExact(o) && !complex) return std::nullopt;
  g.weak = share(reinterpret_cast<PyObject*>(Py_TYPE(o)));
  g.spec = g.weak;
  return g;
}

namespace {

[[noreturn]] void left_to_numpy(Context& c, const std::string& name) {
  c.give_up(Reason::kUnsupportedCall, "numpy." + name, Case::kNumpyFunction);
}

// A Python number in the dtype that it takes. Where NumPy would raise or warn, it does.
Val in_dtype(Context& c, const V& v, DType t) {
  Graph& g = c.scope_->graph();
  PyObject* o = v->obj.ptr();
  if (varies(v)) {
    // ints that vary have 31 bits
    if (is_float(t) || (t == DType::I64 && PyLong_CheckExact(o))) {
      const Operand x = operand_of(c, v);
      if (!is_known(v)) {
        const Val made = materialize(g, x, t);
        if (t == DType::F32) note_flags(c, made);
        return made;
      }
    }
    fix(c, v);
  }
  if (is_complex(t)) {
    const Py_complex z = PyComplex_AsCComplex(o);
    if (PyErr_Occurred()) {
      PyErr_Clear();
      c.give_up(Reason::kRaises, "an integer that no float holds");
    }
    auto is_lost = [&](double d) {
      const auto f = static_cast<float>(d);
      return std::isfinite(d) &&
             (std::isinf(f) || (d != 0.0 && std::abs(f) < std::numeric_limits<float>::min()));
    };
    if (t == DType::C64 && (is_lost(z.real) || is_lost(z.imag)))
      c.give_up(Reason::kRaises, "a number that complex64 cannot hold");
    return complex_constant(g, t, z);
  }
  if (is_float(t)) {
    const double d = PyFloat_AsDouble(o);
    if (d == -1.0 && PyErr_Occurred()) {
      PyErr_Clear();
      c.give_up(Reason::kRaises, "an integer that no float holds");
    }
    const auto f = static_cast<float>(d);
    const bool lost =
        t == DType::F32 && std::isfinite(d) &&
        (std::isinf(f) || (d != 0.0 && std::abs(f) < std::numeric_limits<float>::min()));
    if (lost) c.give_up(Reason::kRaises, "a number that float32 cannot hold");
    return g.constant(t, d);
  }
  const auto fits = py::reinterpret_steal<py::object>(
      PyObject_CallOneArg(reinterpret_cast<PyObject*>(numpy_scalar_type(t)), o));
  if (!fits) {
    PyErr_Clear();
    c.give_up(Reason::kRaises, "a number out of an integer's range");
  }
  return constant_of(c, fits.ptr());
}

struct OwnOp {
  std::string_view ufunc;
  const char* op;
  bool of_float, of_int, of_bool;
  bool sets_flags = false;  // may raise one of IEEE's exceptions for floats
};

// Where an own op gives the bits that NumPy's loop gives, it; else null.
const OwnOp* own_op(std::string_view ufunc, DType t) {
  static constexpr OwnOp kRows[] = {
      {"add", "add", true, true, false, true},
      {"subtract", "sub", true, true, false, true},
      {"multiply", "mul", true, true, false, true},
      {"divide", "div", true, false, false, true},
      {"negative", "neg", true, true, false},
      {"positive", "identity", true, true, false},
      {"absolute", "abs", true, true, false},
      {"fabs", "abs", true, false, false},
      {"square", "square", true, true, false, true},
      {"sqrt", "sqrt", true, false, false, true},
      {"reciprocal", "reciprocal", true, false, false, true},
      {"maximum", "maximum", true, true, false},
      {"minimum", "minimum", true, true, false},
      {"floor", "floor", true, false, false},
      {"ceil", "ceil", true, false, false},
      {"trunc", "trunc", true, false, false},
      {"rint", "round", true, false, false},
      {"equal", "equal", true, true, true},
      {"not_equal", "not_equal", true, true, true},
      {"less", "less", true, true, false},
      {"less_equal", "less_equal", true, true, false},
      {"greater", "greater", true, true, false},
      {"greater_equal", "greater_equal", true, true, false},
      {"isnan", "isnan", true, false, false},
      {"isinf", "isinf", true, false, false},
      {"isfinite", "isfinite", true, false, false},
      {"logical_and", "logical_and", false, false, true},
      {"logical_or", "logical_or", false, false, true},
      {"logical_xor", "logical_xor", false, false, true},
      {"logical_not", "logical_not", false, false, true},
      {"bitwise_and", "bitwise_and", false, true, true},
      {"bitwise_or", "bitwise_or", false, true, true},
      {"bitwise_xor", "bitwise_xor", false, true, true},
      {"invert", "bitwise_not", false, true, true},
  };
  for (auto& r : kRows)
    if (r.ufunc == ufunc && (is_float(t)  ? r.of_float
                             : is_int(t)  ? r.of_int
                             : is_bool(t) ? r.of_bool
                                          : false))
      return &r;
  return nullptr;
}

}  // namespace

bool in_c_order(const Given& g) {
  return !g.array || std::is_sorted(g.array->axes.begin(), g.array->axes.end());
}

namespace {

// A small array whose axes lie as those of a value do, full of ones.
py::object small_like(const Given& g, DType t) {
  if (!g.array) return share(reinterpret_cast<PyObject*>(numpy_scalar_type(t)))(1);
  const Shape& s = g.array->memory.shape();
  py::tuple shape(s.rank()), back(s.rank());
  for (int k = 0; k < s.rank(); ++k) {
    const bool one = !s[k].symbolic() && s[k] == Dim(1);
    shape[static_cast<size_t>(k)] = py::int_(one ? 1 : 2);
    back[static_cast<size_t>(g.array->axes[static_cast<size_t>(k)])] = py::int_(k);
  }
  const py::object ones = py::handle(numpy_attribute("ones"))(shape, share(descr_of(t)));
  return g.array->scalar ? ones[py::tuple()] : ones.attr("transpose")(back);
}

}  // namespace

std::vector<int> order_of(Context& c, const py::object& function, const std::vector<Given>& all,
                          const std::vector<DType>& types, int rank) {
  if (std::all_of(all.begin(), all.end(), in_c_order)) return axes_in_order(rank);
  for (auto& g : all)  // axes of one place take another order
    if (g.array)
      for (auto d : g.array->memory.shape())
        if (d.symbolic()) left_to_numpy(c, "memory in several orders");
  py::tuple args(all.size());
  for (size_t k = 0; k < all.size(); ++k) args[k] = small_like(all[k], types[k]);
  const NumpyErrors quiet(NumpyErrors::kIgnore);
  const py::object made = function(*args);
  const auto* f = ndarray_fields(made.ptr());
  PIJIT_CHECK(f->nd == rank, "NumPy gives an array of another rank");
  std::vector<int> axes = axes_in_order(rank);
  std::stable_sort(axes.begin(), axes.end(), [&](int a, int b) {
    if (f->strides[a] != f->strides[b]) return f->strides[a] > f->strides[b];
    return f->shape[a] > f->shape[b];  // one of a single place is the innermost
  });
  return axes;
}

namespace {

// An operand's elements with its axes in that order, as many as the result has or fewer in front.
Val in_order(Context& c, NdarrayValue* a, const std::vector<int>& axes) {
  if (a->axes == axes) return a->elements(c);
  Val x = a->logical(c);
  if (std::is_sorted(axes.begin(), axes.end()) || a->rank() == 0) return x;
  const int missing = static_cast<int>(axes.size()) - a->rank();
  if (missing > 0) {
    Dims shape(static_cast<size_t>(missing), Dim(1));
    for (auto d : x.shape()) shape.push_back(d);
    x = v_reshape(x, Shape(shape));
  }
  Dims perm;
  for (int k : axes) perm.push_back(k);
  return c.scope_->graph().op("transpose", {x}, {perm});
}

}  // namespace

Val numpy_cast(Val x, DType t) {
  if (!is_bool(x.dtype()) || t != DType::U64) return v_cast(x, t);
  return v_select(x, v_cast(v_const(x, 1.0), t), v_cast(v_const(x, 0.0), t));
}

std::vector<Val> values_of(Context& c, const std::vector<Given>& all,
                           const std::vector<DType>& types, const std::vector<int>& axes) {
  std::vector<Val> in;
  for (size_t k = 0; k < all.size(); ++k) {
    const Given& g = all[k];
    Val x = g.weak ? in_dtype(c, g.v, types[k]) : g.array ? in_order(c, g.array, axes) : g.number;
    if (x.dtype() != types[k]) x = numpy_cast(x, types[k]);
    in.push_back(x);
  }
  return in;
}

std::optional<int64_t> loop_for(PyObject* ufunc, const std::vector<DType>& types, DType out) {
  const UfuncFields* u = ufunc_fields(ufunc);
  const std::string_view name = u->name;
  const bool ints = std::any_of(types.begin(), types.end(), is_int);
  static constexpr std::string_view kRaise[] = {"power", "float_power", "ldexp"};
  if (ints && std::find(std::begin(kRaise), std::end(kRaise), name) != std::end(kRaise))
    return std::nullopt;
  const auto code = [](DType t) { return static_cast<char>(descr_number(t)); };
  const int k = ufunc_loop(u, [&](const char* codes) {
    bool fits = codes[u->nargs - 1] == code(out);
    for (size_t i = 0; i < types.size(); ++i) fits &= codes[i] == code(types[i]);
    return fits;
  });
  if (k < 0) return std::nullopt;
  Py_INCREF(ufunc);  // for ever: programs run its loop
  return number_of(ForeignLoop{u->functions[k], data_of_loop(u, k), u->name});
}

namespace {

// Does a loop cast as NumPy does, and with the same flags? Values in range, at the ends and beyond.
bool truncates_as_numpy(const ForeignLoop& loop, DType from, DType to) {
  const auto numpy = [](const char* name) { return py::handle(numpy_attribute(name)); };
  const py::object type = share(descr_of(to));
  const py::handle raises = numpy("errstate");
  constexpr double kValues[] = {
      1.5,      -1.5,   127.5, -129.0,       255.9,         256.0,        300.0, 32768.0,
      -32769.0, 65536,  7e4,   2147483648.0, -2147483904.0, 4294967296.0, 5e9,   9.3e18,
      -9.3e18,  1.9e19, 1e30,  -1e30,        HUGE_VAL,      -HUGE_VAL,    NAN};
  for (const double v : kValues)
    for (const std::ptrdiff_t n : {1, 37}) {
      const py::object x = numpy("full")(n, v, share(descr_of(from)));
      const py::object mine = numpy("zeros")(n, type);
      char* at[] = {ndarray_fields(x.ptr())->data, ndarray_fields(mine.ptr())->data};
      const std::ptrdiff_t steps[] = {static_cast<std::ptrdiff_t>(size_of(from)),
                                      static_cast<std::ptrdiff_t>(size_of(to))};
      clear_fp_flags();
      loop.function(at, &n, steps, loop.data);
      const bool invalid = fp_flags() & kFpInvalid;
      py::object theirs;
      {
        const NumpyErrors quiet(NumpyErrors::kIgnore);
        theirs = x.attr("astype")(type);
      }
      if (!py::object(mine.attr("tobytes")()).equal(theirs.attr("tobytes")())) return false;
      const py::object strict = raises(py::arg("invalid") = "raise");
      strict.attr("__enter__")();
      const bool refused = !py::reinterpret_steal<py::object>(
          PyObject_CallMethodOneArg(x.ptr(), interned("astype"), type.ptr()));
      PyErr_Clear();
      strict.attr("__exit__")(py::none(), py::none(), py::none());
      if (refused != invalid) return false;
    }
  return true;
}

}  // namespace

std::optional<int64_t> truncation_for(DType from, DType to) {
  static auto* known = new absl::flat_hash_map<std::pair<int, int>, int64_t>;  // under the GIL
  const std::pair key(static_cast<int>(from), static_cast<int>(to));
  if (const auto it = known->find(key); it != known->end())
    return it->second < 0 ? std::nullopt : std::optional(it->second);
  const ForeignLoop loop = truncating_loop(from, to);
  const int64_t number = truncates_as_numpy(loop, from, to) ? number_of(loop) : -1;
  (*known)[key] = number;
  return number < 0 ? std::nullopt : std::optional(number);
}

namespace {

struct Extreme {
  std::string_view name;
  const char* wins;  // what the operand is that wins, beside the other
};
constexpr Extreme kExtremes[] = {{"maximum", "greater"}, {"minimum", "less"}};
const Extreme* extreme_named(std::string_view name) {
  const auto* e = std::find_if(std::begin(kExtremes), std::end(kExtremes),
                               [&](const Extreme& x) { return x.name == name; });
  return e == std::end(kExtremes) ? nullptr : e;
}

// maximum or minimum of floats. The processor's own instruction takes a NaN for an invalid operand,
// of which NumPy says nothing: comparisons here raise no flags.
Val quiet_extreme(Graph& g, const Extreme& e, const Val& a, const Val& b) {
  const Val wins = g.op(e.wins, {a, b});
  return g.op("select", {g.op("logical_or", {wins, g.op("isnan", {a})}), a, b});
}

// Of bools, which may be any bytes. Null: it is another ufunc.
Val compared_truths(Graph& g, std::string_view ufunc, const std::vector<Val>& in) {
  constexpr std::pair<std::string_view, bool> kRows[] = {{"equal", true}, {"not_equal", false}};
  const auto* row = std::ranges::find(kRows, ufunc, [](auto& r) { return r.first; });
  if (row == std::end(kRows) || !is_bool(in[0].dtype())) return {};
  const Val differ = g.op("logical_xor", {in[0], in[1]});
  return row->second ? g.op("logical_not", {differ}) : differ;
}

// Does it go through its base backwards, or may it?
bool goes_backwards(NdarrayValue* a) {
  auto is_backwards = [](const V& v) {
    const auto* s = as<SliceValue>(v);
    if (!s || is_none(s->step)) return false;
    const bool known = is_known(s->step) && PyLong_CheckExact(s->step->obj.ptr());
    return !known || PyLong_AsLong(s->step->obj.ptr()) < 0;
  };
  for (; a && a->base; a = a->base) {
    const auto* parts = a->index ? as<TupleValue>(a->index) : nullptr;
    if (!a->index) continue;
    if (parts ? std::any_of(parts->items.begin(), parts->items.end(), is_backwards)
              : is_backwards(a->index))
      return true;
  }
  return false;
}

// An elementwise loop takes operands of the shape of the result, and single elements.
Val by_loop(Context& c, int64_t loop, DType out, std::vector<Val> in) {
  Shape shape = in[0].shape();
  for (auto& x : in) shape = broadcast_shapes("numpy", shape, x.shape());
  // What broadcasts along some axes has other steps in NumPy, which take other code there.
  for (auto& x : in)
    if (x.shape().rank() > 0 && !(x.shape() == shape)) left_to_numpy(c, "broadcasting");
  return c.scope_->graph().op(OpTable::get().at("numpy_loop"), in, {Dim(loop), out});
}

}  // namespace

Val value_to_store(Context& c, const V& value, DType t) {
  const auto g = given(c, value);
  if (!g) left_to_numpy(c, "ndarray.__setitem__");
  if (g->weak) return in_dtype(c, value, t);
  const Val x = g->array ? g->array->logical(c) : g->number;
  if (x.dtype() == t) return x;
  const py::object can =
      py::handle(numpy_attribute("can_cast"))(g->spec, share(descr_of(t)), "safe");
  if (!can.ptr() || can.ptr() != Py_True) left_to_numpy(c, "ndarray.__setitem__");
  return numpy_cast(x, t);
}

void note_flags(Context& c, Val v) { c.raising_.push_back(v.id); }

namespace {

// The loop of an operator of NumPy's scalars where it is another one than its ufunc's: integers
// raise a flag where they overflow, and powers are the C library's.
std::optional<int64_t> loop_of_numbers(std::string_view name, DType t) {
  static constexpr std::pair<std::string_view, CheckedOp> kChecked[] = {
      {"add", CheckedOp::kAdd},
      {"subtract", CheckedOp::kSub},
      {"multiply", CheckedOp::kMul},
      {"negative", CheckedOp::kNeg},
      {"absolute", CheckedOp::kAbs}};
  static constexpr std::string_view kPower = "power";
  if (is_float(t) && name == kPower) return number_of(libm_power_loop(t));
  const auto* row = std::ranges::find(kChecked, name, [](auto& r) { return r.first; });
  if (!is_int(t) || row == std::end(kChecked)) return std::nullopt;
  return number_of(checked_loop(row->second, t));
}

enum class Applied : uint8_t { kByUfunc, kByScalars };

}  // namespace

static V ufunc_value(Context& c, PyObject* ufunc, const std::vector<V>& operands,
                     Applied how = Applied::kByUfunc) {
  if (!is_ufunc(ufunc) || !py::object(py::handle(ufunc).attr("signature")).is_none())
    return nullptr;
  const UfuncFields* u = ufunc_fields(ufunc);
  if (u->nin != static_cast<int>(operands.size()) || u->nout != 1) return nullptr;
  std::vector<Given> all;
  int rank = 0;
  bool any = false, scalar = true;
  for (auto& v : operands) {
    auto g = given(c, v);
    if (!g) return nullptr;
    any |= g->array != nullptr;
    rank = std::max(rank, g->rank());
    all.push_back(std::move(*g));
  }
  scalar = rank == 0;
  if (!any) return nullptr;
  const std::string name = u->name;
  py::tuple specs(all.size() + 1);
  for (size_t k = 0; k < all.size(); ++k) specs[k] = all[k].spec;
  specs[all.size()] = py::none();
  const auto resolved = py::reinterpret_steal<py::object>(
      PyObject_CallMethodOneArg(ufunc, interned("resolve_dtypes"), specs.ptr()));
  if (!resolved) {
    PyErr_Clear();
    c.give_up(Reason::kRaises, "numpy." + name);
  }
  std::vector<DType> types;
  for (auto d : resolved) {
    const auto t = dtype_of_descr(d.ptr());
    if (!t || !is_followed(*t)) left_to_numpy(c, name);
    types.push_back(*t);
  }
  const DType out = types.back();
  types.pop_back();
  const bool same = std::all_of(types.begin(), types.end(), [&](DType t) { return t == types[0]; });
  auto loop = same && how == Applied::kByScalars ? loop_of_numbers(name, types[0]) : std::nullopt;
  const OwnOp* op = same && !loop ? own_op(name, types[0]) : nullptr;
  const FastUfunc* const fast =
      c.start_.fast && same && !op && is_float(types[0]) && types[0] == out && !scalar
          ? fast_ufunc(name)
          : nullptr;
  if (!op && !fast && !loop) loop = loop_for(ufunc, types, out);
  if (!op && !fast && !loop) left_to_numpy(c, name);
  // What lies in memory backwards goes through other code of NumPy's loops.
  const bool complex = is_complex(out) || std::any_of(types.begin(), types.end(), is_complex);
  if ((complex || loop) &&
      std::any_of(all.begin(), all.end(), [](auto& g) { return goes_backwards(g.array); }))
    left_to_numpy(c, name);
  const std::vector<int> axes =
      order_of(c, py::reinterpret_borrow<py::object>(ufunc), all, types, rank);
  const std::vector<Val> in = values_of(c, all, types, axes);
  const auto* extreme = op && is_float(out) ? extreme_named(name) : nullptr;
  Graph& g = c.scope_->graph();
  const Val truths = loop ? Val{} : compared_truths(g, name, in);
  const Val made = truths.b  ? truths
                   : loop    ? by_loop(c, *loop, out, in)
                   : extreme ? quiet_extreme(g, *extreme, in[0], in[1])
                   : fast    ? fast->value(g, in)
                             : g.op(OpTable::get().at(op->op), in, {});
  PIJIT_CHECK(made.dtype() == out, "numpy.", name, " gives another dtype than its op");
  if (loop || fast || (is_float(types[0]) && op->sets_flags)) note_flags(c, made);
  return new_ndarray_value(c, made, axes, scalar);
}

V apply_ufunc(Context& c, PyObject* ufunc, const std::vector<V>& operands) {
  return in_numpys_words(c, [&]() -> V {
    const auto all = unmasked(c, operands);
    if (!all) return ufunc_value(c, ufunc, operands);
    return masked_again(c, ufunc_value(c, ufunc, all->operands), all->mask);
  });
}

V apply_to_scalars(Context& c, PyObject* ufunc, const std::vector<V>& operands) {
  for (auto& v : operands) {
    auto* a = as<NdarrayValue>(v);
    if ((a && is_complex(a->memory.dtype())) || (is_known(v) && PyComplex_Check(v->obj.ptr())))
      return nullptr;
  }
  return in_numpys_words(c, [&] { return ufunc_value(c, ufunc, operands, Applied::kByScalars); });
}

// A power of integers, by multiplications: what wraps around wraps alike in any order of them.
static V power_of_integers(Context& c, const V& x, int64_t exponent) {
  V made, factor = x;
  for (; exponent; exponent /= 2) {
    auto times = [&](const V& a, const V& b) {
      return apply_ufunc(c, numpy_attribute("multiply"), {a, b});
    };
    if (exponent % 2) made = made ? times(made, factor) : factor;
    if (exponent > 1) factor = times(factor, factor);
  }
  return made;
}

// NumPy has shorter ways for some exponents that are Python numbers, with the same bits and other
// names in its warnings.
static V power_value(Context& c, const V& x, const V& y, bool of_scalars) {
  if (auto* a = as_ndarray(c, x); a && is_known(y) && a->is_followed(c)) {
    const bool integers = is_int(a->elements(c).dtype()) && PyLong_CheckExact(y->obj.ptr());
    const auto exponent = integers ? as_int(c, y) : std::nullopt;
    constexpr int64_t kMost = 64;
    if (exponent && *exponent >= 2 && *exponent <= kMost) return power_of_integers(c, a, *exponent);
  }
  if (of_scalars) return apply_to_scalars(c, numpy_attribute("power"), {x, y});
  if (auto* a = as<NdarrayValue>(x);
      a && !a->scalar && is_known(y) && a->is_followed(c) && is_float(a->elements(c).dtype())) {
    PyObject* o = y->obj.ptr();
    if ((PyLong_CheckExact(o) || PyFloat_CheckExact(o)) && !PyErr_Occurred()) {
      const double e = PyFloat_AsDouble(o);
      if (PyErr_Occurred()) PyErr_Clear();
      const char* name = e == 2 ? "square" : e == 0.5 ? "sqrt" : e == -1 ? "reciprocal" : nullptr;
      if (name) return apply_ufunc(c, numpy_attribute(name), {x});
    }
  }
  if (auto* a = as_ndarray(c, x); a && a->is_followed(c) && is_complex(a->elements(c).dtype())) {
    PyObject* o = is_known(y) ? y->obj.ptr() : nullptr;
    const bool integer = o && PyLong_CheckExact(o) && !a->scalar;
    if (integer && as_int(c, y) == 2) return apply_ufunc(c, numpy_attribute("square"), {x});
    if (as<ScalarValue>(y)) return nullptr;  // which have a shorter way, NumPy knows
  }
  return apply_ufunc(c, numpy_attribute("power"), {x, y});
}

V apply_power(Context& c, const V& x, const V& y, bool of_scalars) {
  return in_numpys_words(c, [&] { return power_value(c, x, y, of_scalars); });
}

// The parts of an index in the order in which the axes lie in memory, null for an axis that it does
// not name; none: that is not seen.
static std::optional<std::vector<V>> parts_in_memory(Context& c, NdarrayValue* whole,
                                                     const V& index) {
  std::vector<V> parts = as<TupleValue>(index) ? index->parts(c) : std::vector<V>{index};
  if (whole->is_in_c_order()) return parts;
  for (auto& p : parts)
    if (is_none(p) || (is_known(p) && p->obj.ptr() == Py_Ellipsis)) return std::nullopt;
  std::vector<V> made;
  for (const int k : whole->axes)
    made.push_back(static_cast<size_t>(k) < parts.size() ? parts[static_cast<size_t>(k)] : V());
  return made;
}

bool has_no_gaps(Context& c, NdarrayValue* a, bool new_axes) {
  for (; a->base; a = a->base) {
    if (a->is_half() || a->is_diagonal()) return false;
    if (!a->index || (is_known(a->index) && a->index->obj.ptr() == Py_Ellipsis)) continue;
    const auto parts = parts_in_memory(c, a->base, a->index);
    if (!parts) return false;
    bool sliced = false;
    for (auto& p : *parts) {
      if (!p) {
        sliced = true;
        continue;
      }
      if (new_axes && is_none(p)) continue;
      const auto* s = as<SliceValue>(p);
      const bool whole = s && is_none(s->start) && is_none(s->stop);
      const bool integer = as<ScalarValue>(p) && PyLong_CheckExact(p->obj.ptr());
      if (sliced ? !whole : !s && !integer) return false;
      if (s && !is_none(s->step)) return false;
      sliced |= s != nullptr;
    }
  }
  return true;
}

bool is_kept_in_c_order(Context& c, NdarrayValue* a) {
  if (!std::is_sorted(a->axes.begin(), a->axes.end())) return false;
  const Shape shape = a->elements(c).shape();
  return std::find(shape.begin(), shape.end(), Dim(1)) == shape.end() || has_no_gaps(c, a, true);
}

namespace {

NdarrayValue* root_of_views(NdarrayValue* a) {
  while (a->base) a = a->base;
  return a;
}

// An operand of a product as BLAS takes it: in C order, or transposed.
struct Factor {
  Val v;
  bool transposed = false;
};
std::optional<Factor> factor_of(Context& c, NdarrayValue* a) {
  const Val x = a->elements(c);
  const int rank = x.shape().rank();
  if (rank < 1 || rank > 2 || !has_no_gaps(c, a)) return std::nullopt;
  for (auto d : x.shape())
    if (d == Dim(0)) return std::nullopt;
  if (std::is_sorted(a->axes.begin(), a->axes.end())) return Factor{x};
  for (auto d : x.shape())
    if (d == Dim(1)) return std::nullopt;
  return Factor{x, true};
}

}  // namespace

static V product_value(Context& c, const V& x, const V& y) {
  auto *a = as_ndarray(c, x), *b = as_ndarray(c, y);
  if (!a || !b || !a->is_followed(c) || !b->is_followed(c)) return nullptr;
  const DType t = a->elements(c).dtype();
  const auto first = factor_of(c, a), second = factor_of(c, b);
  const bool plain = first && second && t == b->elements(c).dtype() && is_inexact(t);
  const auto loop = plain ? loop_for(numpy_attribute("matmul"), {t, t}, t) : std::nullopt;
  if (!loop) left_to_numpy(c, "matmul");
  Val left = first->v, right = second->v;
  // A matrix times its own transpose is another call of BLAS; two equal ones are not.
  if (left == right && root_of_views(a) != root_of_views(b)) left_to_numpy(c, "matmul");
  const int rank = left.shape().rank(), other = right.shape().rank();
  if (left.shape()[first->transposed ? 0 : rank - 1] != right.shape()[second->transposed ? 1 : 0])
    left_to_numpy(c, "matmul");
  Shape shape;
  if (rank == 2) shape.push_back(left.shape()[first->transposed ? 1 : 0]);
  if (other == 2) shape.push_back(right.shape()[second->transposed ? 0 : 1]);
  if (rank == 1) left = v_reshape(left, Shape{1, left.shape()[0]});
  if (other == 1) right = v_reshape(right, Shape{right.shape()[0], 1});
  const int64_t turned = (first->transposed ? 1 : 0) + (second->transposed ? 2 : 0);
  Graph& g = c.scope_->graph();
  // kernels of ours take float32, with what is computed of the product
  const Val made = c.start_.fast && t == DType::F32
                       ? g.op("matmul", {left, right}, {first->transposed, second->transposed})
                       : g.op("numpy_matmul", {left, right}, {Dim(*loop), t, Dim(turned)});
  note_flags(c, made);
  return new_ndarray_value(c, v_reshape(made, shape), axes_in_order(shape.rank()),
                           shape.rank() == 0);
}

V apply_matmul(Context& c, const V& x, const V& y) {
  return in_numpys_words(c, [&] { return product_value(c, x, y); });
}

}  // namespace pijit
