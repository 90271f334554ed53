// NumPy's functions of ndarrays by name: reductions, running sums, joins, new arrays, masks. What
// dtypes results have, how they lie in memory and what is refused, NumPy is asked at capture.
#include <algorithm>
#include <cmath>

#include "capture/context.h"
#include "capture/numpy_functions.h"
#include "capture/ufuncs.h"
#include "capture/values/masked.h"
#include "capture/values/picked.h"
#include "capture/values/rows.h"
#include "capture/values/scalar.h"
#include "capture/values/sequence.h"
#include "capture/values/slice.h"
#include "capture/values/tensor.h"
#include "graph/indexing.h"
#include "graph/vals.h"
#include "objects/data.h"
#include "objects/ndarray.h"

namespace pijit {
namespace {

// The arguments of a reduction that are followed; nothing: others are given.
struct Folding {
  std::vector<int64_t> axes;  // none: all
  bool keeps = false;
};
std::optional<Folding> folding(Context& c, const std::vector<V>& args, const Kwargs& kwargs) {
  Folding f;
  auto take_axis = [&](const V& v) {
    if (is_none(v)) return true;
    const auto* all = as<TupleValue>(v);
    for (auto& one : all ? all->items : std::vector<V>{v}) {
      if (!is_known(one) || !PyLong_CheckExact(one->obj.ptr())) return false;
      const auto axis = as_int(c, one);
      if (!axis) return false;
      f.axes.push_back(*axis);
    }
    return !f.axes.empty();
  };
  if (args.size() > 2 || (args.size() == 2 && !take_axis(args[1]))) return std::nullopt;
  for (auto& [k, v] : kwargs) {
    if (k == "axis" && args.size() == 1) {
      if (!take_axis(v)) return std::nullopt;
    } else if (k == "keepdims" && is_known(v) && PyBool_Check(v->obj.ptr())) {
      f.keeps = v->obj.ptr() == Py_True;
    } else {
      return std::nullopt;
    }
  }
  return f;
}

// Axes side by side, from the first to the last, from the front; none: they are not, or there is
// no such axis. NumPy goes through those of an array without gaps as through one.
struct Axes {
  int64_t first, last;
};
std::optional<Axes> axes_side_by_side(std::vector<int64_t> axes, int rank) {
  if (axes.empty()) return Axes{0, rank - 1};
  for (auto& k : axes) {
    if (k < 0) k += rank;
    if (k < 0 || k >= rank) return std::nullopt;
  }
  std::sort(axes.begin(), axes.end());
  for (size_t k = 1; k < axes.size(); ++k)
    if (axes[k] != axes[k - 1] + 1) return std::nullopt;
  return Axes{axes.front(), axes.back()};
}

struct Folded {
  Val value;
  Dim count;  // of the elements that one of the result is made of
};

// The elements in the dtype that ufunc.reduce takes of them. Nothing: NumPy casts and sums by
// buffers.
std::optional<Val> summed_as(Context& c, Val x, const char* ufunc) {
  const py::object one = py::handle(numpy_attribute(ufunc))
                             .attr("reduce")(py::handle(numpy_attribute("ones"))(
                                 py::make_tuple(1), share(descr_of(x.dtype()))));
  const auto type = dtype_of_descr(py::object(one.attr("dtype")).ptr());
  if (!type || !is_followed(*type)) return std::nullopt;
  if (*type == x.dtype()) return x;
  if (is_inexact(*type)) return std::nullopt;
  return numpy_cast(x, *type);
}

// The op that folds in an order of its own, under numerics="fast"; null: there is none.
const char* fast_reduction(std::string_view ufunc) {
  static constexpr std::pair<std::string_view, const char*> kOps[] = {{"add", "reduce_sum"},
                                                                      {"multiply", "reduce_prod"},
                                                                      {"maximum", "reduce_max"},
                                                                      {"minimum", "reduce_min"}};
  const auto* row = std::ranges::find(kOps, ufunc, [](auto& r) { return r.first; });
  return row == std::end(kOps) ? nullptr : row->second;
}

// Is the order of NumPy's additions that of its loop over all elements?
bool is_reduced_at_once(const Val& x) {
  if (!is_inexact(x.dtype()) || numpy_reduces_at_once()) return true;
  int64_t n = 1;
  for (const Dim d : x.shape()) {
    if (d.symbolic()) return false;
    n *= int64_t{d};
  }
  return n <= kNumpyBuffer;
}

// ufunc.reduce of an array, by NumPy's own loop and in its order. Nothing: it is NumPy's.
std::optional<Folded> fold(Context& c, NdarrayValue* a, const char* ufunc, const Folding& f,
                           std::optional<double> start) {
  Val x = a->elements(c);
  const int rank = x.shape().rank();
  if (a->scalar || rank == 0) return std::nullopt;
  if (a->base && (a->index || a->is_half() || a->is_diagonal()) && !has_no_gaps(c, a))
    return std::nullopt;  // some by buffers
  if (!f.axes.empty() && !std::is_sorted(a->axes.begin(), a->axes.end())) return std::nullopt;
  const auto summed = summed_as(c, x, ufunc);
  if (!summed) return std::nullopt;
  x = *summed;
  const DType type = x.dtype();
  const char* const fast = c.start_.fast && is_float(type) ? fast_reduction(ufunc) : nullptr;
  if (!fast && !is_reduced_at_once(x)) return std::nullopt;
  const auto loop = loop_for(numpy_attribute(ufunc), {type, type}, type);
  if (!loop) return std::nullopt;
  Dim outer = 1, n = 1, inner = 1;
  Shape kept;
  const auto axes = axes_side_by_side(f.axes, rank);
  if (!axes) return std::nullopt;
  for (int k = 0; k < rank; ++k) {
    const Dim d = x.shape()[k];
    if (k >= axes->first && k <= axes->last) {
      n *= d;
      if (f.keeps) kept.push_back(1);
      continue;
    }
    (k < axes->first ? outer : inner) *= d;
    kept.push_back(d);
  }
  if (!start && n == Dim(0)) return std::nullopt;  // ValueError
  Graph& g = c.scope_->graph();
  if (fast) {
    Dims along;
    for (int k = axes->first; k <= axes->last; ++k) along.push_back(k);
    const Val made = g.op(fast, {x}, {along, false});
    note_flags(c, made);
    return Folded{v_reshape(made, kept), n};
  }
  std::vector<Val> in{v_reshape(x, Shape{outer, n, inner}), Val{}};
  if (start) in[1] = g.constant(type, *start);
  Val made = g.op(OpTable::get().at("numpy_reduce"), in, {Dim(*loop), type});
  note_flags(c, made);
  return Folded{v_reshape(made, kept), n};
}

NdarrayValue* folded_value(Context& c, Val v, bool keeps) {
  const int rank = v.shape().rank();
  return new_ndarray_value(c, v, axes_in_order(rank), rank == 0 && !keeps);
}

// Divided as complex128: the count is an int64.
V complex_mean(Context& c, NdarrayValue* a, const Folding& f) {
  const DType t = a->elements(c).dtype();
  auto sum = fold(c, a, "add", f, 0.0);
  if (!sum || sum->count == Dim(0) || sum->count.symbolic()) return nullptr;  // of nothing it warns
  const auto loop = loop_for(numpy_attribute("divide"), {DType::C128, DType::C128}, DType::C128);
  if (!loop) return nullptr;
  Graph& g = c.scope_->graph();
  const Val count = g.constant(DType::C128, static_cast<double>(int64_t{sum->count}));
  const std::vector<Val> in{v_cast(sum->value, DType::C128), count};
  Val q = g.op(OpTable::get().at("numpy_loop"), in, {Dim(*loop), DType::C128});
  note_flags(c, q);
  if (t != DType::C128) {
    q = v_cast(q, t);
    note_flags(c, q);
  }
  return folded_value(c, q, f.keeps);
}

V mean(Context& c, NdarrayValue* a, const Folding& f) {
  const Val x = a->elements(c);
  // NumPy adds integers as float64: small ones are exact in any order, others it casts by buffers.
  if (is_complex(x.dtype())) return complex_mean(c, a, f);
  const bool small = is_bool(x.dtype()) || (is_int(x.dtype()) && size_of(x.dtype()) <= 2);
  const DType t = is_float(x.dtype()) ? x.dtype() : DType::F64;
  NdarrayValue* summed = a;
  if (t != x.dtype() && !small) {
    const Dim n = x.shape().numel();
    if (a->scalar || n.symbolic() || int64_t{n} > kNumpyBuffer || !has_no_gaps(c, a))
      return nullptr;
    summed = new_ndarray_value(c, v_cast(x, t), a->axes, false);
  }
  auto sum = fold(c, summed, "add", f, 0.0);
  if (!sum || sum->count == Dim(0)) return nullptr;  // of nothing it warns
  // Divided in float64, as the count is an int64.
  const Val count = c.scope_->graph().constant(DType::F64, SizeNumber(sum->count));
  Val q = c.scope_->graph().op("div", {v_cast(sum->value, DType::F64), count});
  note_flags(c, q);
  if (t != DType::F64) q = v_cast(q, t);
  return folded_value(c, q, f.keeps);
}

V where(Context& c, const std::vector<V>& args) {
  std::vector<Given> all;
  int rank = 0;
  bool any = false;
  for (auto& v : args) {
    auto g = given(c, v);
    if (!g) return nullptr;
    any |= g->array != nullptr;
    rank = std::max(rank, g->rank());
    all.push_back(std::move(*g));
  }
  if (!any || rank == 0 || all[0].weak) return nullptr;
  auto spec = [](const Given& g) { return g.weak ? g.v->obj : g.spec; };
  const py::object type = py::handle(numpy_attribute("result_type"))(spec(all[1]), spec(all[2]));
  const auto t = dtype_of_descr(type.ptr());
  if (!t || !is_followed(*t)) return nullptr;
  const DType of = all[0].array ? all[0].array->memory.dtype() : all[0].number.dtype();
  const std::vector<int> axes =
      order_of(c, share(numpy_attribute("where")), all, {of, *t, *t}, rank);
  const std::vector<Val> in = values_of(c, all, {DType::Bool, *t, *t}, axes);
  return new_ndarray_value(c, c.scope_->graph().op(OpTable::get().at("select"), in, {}), axes,
                           false);
}

// The dtype that a constant names; none: another kind.
std::optional<DType> dtype_named(Context& c, const V& v) {
  const auto o = as_constant(c, v);
  const auto descr =
      o ? py::reinterpret_steal<py::object>(PyObject_CallOneArg(numpy_attribute("dtype"), o->ptr()))
        : py::object();
  if (!descr) PyErr_Clear();
  const auto t = descr ? dtype_of_descr(descr.ptr()) : std::nullopt;
  return t && is_followed(*t) ? t : std::nullopt;
}

// A cast in C order, or a copy.
V cast(Context& c, NdarrayValue* a, const V& to) {
  const Val x = a->elements(c);
  const auto t = a->scalar ? std::nullopt : dtype_named(c, to);
  if (!t || (is_complex(x.dtype()) && !is_complex(*t) && !is_bool(*t)))  // which warns
    return nullptr;
  if (a->base && !is_kept_in_c_order(c, a)) return nullptr;
  Val made = x;
  if (is_float(x.dtype()) && is_int(*t)) {
    const auto loop = truncation_for(x.dtype(), *t);
    if (!loop) return nullptr;
    made = c.scope_->graph().op("numpy_loop", {x}, {Dim(*loop), *t});
    note_flags(c, made);
  } else if (x.dtype() != *t) {
    made = numpy_cast(x, *t);
    if (is_inexact(x.dtype())) note_flags(c, made);
  }
  return new_ndarray_value(c, made, a->axes, false);
}

// zeros_like and its kind; what empty_like holds is nobody's business.
V filled_like(Context& c, NdarrayValue* a, DType t, double value) {
  const Val x = a->elements(c);
  if (a->scalar || !is_kept_in_c_order(c, a)) return nullptr;
  Graph& g = c.scope_->graph();
  const Val all = g.op("broadcast_to", {g.constant(t, value)}, {x.shape().dims()});
  return new_ndarray_value(c, all, a->axes, false);
}

// The sizes that an argument gives, negative ones among them. Nothing: others than integers.
std::optional<Dims> sizes_of(Context& c, const V& v) {
  Dims sizes;
  for (auto& d : is_sequence(v) ? v->parts(c) : std::vector<V>{v}) {
    const auto* size = state_of<ScalarValue::Size>(d);
    if (size && size->expr.index() == 0) {
      sizes.push_back(std::get<Dim>(size->expr));
      continue;
    }
    if (!is_known(d) || !PyLong_CheckExact(d->obj.ptr())) return std::nullopt;
    const auto n = as_int(c, d);
    if (!n || sizes.size() == kMaxRank) return std::nullopt;
    sizes.push_back(*n);
  }
  return sizes;
}

// np.zeros and its kind, where a function has ndarrays already: it may store in them.
V filled(Context& c, const std::vector<V>& args, const Kwargs& kwargs, double value) {
  const bool among_arrays = std::any_of(c.guards_.begin(), c.guards_.end(),
                                        [](auto& g) { return g.kind == Guard::kNdarray; }) ||
                            std::any_of(c.known_.begin(), c.known_.end(), [](auto& v) {
                              return as<NdarrayValue>(v.second) != nullptr;
                            });
  V type = args.size() == 2 ? args[1] : V();
  if (kwargs.size() == 1 && kwargs[0].first == "dtype" && !type)
    type = kwargs[0].second;
  else if (!kwargs.empty())
    return nullptr;
  if (!among_arrays || args.empty() || args.size() > 2 || c.scope_ != &c.root_scope_ ||
      c.start_.expects_raises)
    return nullptr;
  DType t = DType::F64;
  if (type) {
    const auto known = dtype_named(c, type);
    if (!known) return nullptr;
    t = *known;
  }
  const auto sizes = sizes_of(c, args[0]);
  const Shape shape = sizes ? Shape(*sizes) : Shape();
  if (std::any_of(shape.begin(), shape.end(), [](Dim d) { return !d.symbolic() && d < Dim(0); }))
    return nullptr;
  if (shape.rank() == 0) return nullptr;
  Graph& g = c.scope_->graph();
  return new_ndarray_value(c, g.op("broadcast_to", {g.constant(t, value)}, {shape.dims()}),
                           axes_in_order(shape.rank()), false);
}

V clip(Context& c, const std::vector<V>& args, const Kwargs& kwargs) {
  V low, high;
  if (args.size() > 1) low = args[1];
  if (args.size() > 2) high = args[2];
  auto* a = as<NdarrayValue>(args[0]);
  if (args.size() != 3 || !kwargs.empty() || !a || a->scalar || is_bool(a->elements(c).dtype()))
    return nullptr;
  const bool below = low && !is_none(low), above = high && !is_none(high);
  if (!below && !above) return nullptr;
  if (!below) return apply_ufunc(c, numpy_attribute("minimum"), {args[0], high});
  if (!above) return apply_ufunc(c, numpy_attribute("maximum"), {args[0], low});
  static const char* const kModule = "numpy._core.umath";
  const py::object ufunc = python_module(kModule).attr("clip");
  return apply_ufunc(c, ufunc.ptr(), {args[0], low, high});
}

// The axis that an argument gives, from the front. Nothing: it is none that is followed.
std::optional<int> axis_from(Context& c, const V& v, int rank) {
  if (!is_known(v) || !PyLong_CheckExact(v->obj.ptr())) return std::nullopt;
  const auto k = as_int(c, v);
  if (!k || *k < -rank || *k >= rank) return std::nullopt;
  return static_cast<int>(*k < 0 ? *k + rank : *k);
}
}  // namespace

std::optional<int> axis_argument(Context& c, const std::vector<V>& args, const Kwargs& kwargs,
                                 size_t place, int rank, int usual) {
  V given = args.size() == place + 1 ? args[place] : V();
  if (args.size() > place + 1 || kwargs.size() > 1 || (given && !kwargs.empty()))
    return std::nullopt;
  if (!kwargs.empty()) {
    if (kwargs[0].first != "axis") return std::nullopt;
    given = kwargs[0].second;
  }
  if (given) return axis_from(c, given, rank);
  return usual < 0 ? std::nullopt : std::optional(usual);
}

namespace {

// The variance, or its root, by the steps of NumPy's own function.
V spread(Context& c, const std::vector<V>& args, const Kwargs& kwargs, bool root) {
  Kwargs others;
  int64_t freedom = 0;
  for (auto& [k, v] : kwargs) {
    if (k != "ddof") {
      others.push_back({k, v});
      continue;
    }
    const bool integer = is_known(v) && PyLong_CheckExact(v->obj.ptr());
    const auto n = integer ? as_int(c, v) : std::nullopt;
    if (!n || *n < 0 || *n > 1) return nullptr;
    freedom = *n;
  }
  auto* a = as<NdarrayValue>(args[0]);
  const auto f = folding(c, args, others);
  if (!f || is_complex(a->elements(c).dtype())) return nullptr;
  Folding keeping = *f;
  keeping.keeps = true;
  const V centre = mean(c, a, keeping);
  if (!centre) return nullptr;
  const V apart = apply_ufunc(c, numpy_attribute("subtract"), {a, centre});
  const V squares = apply_ufunc(c, numpy_attribute("multiply"), {apart, apart});
  auto sum = fold(c, as<NdarrayValue>(squares), "add", *f, 0.0);
  if (!sum || sum->count == Dim(0) || sum->count == Dim(freedom)) return nullptr;
  Graph& g = c.scope_->graph();
  const DType t = sum->value.dtype();
  const Val count = g.op("sub", {g.constant(DType::F64, SizeNumber(sum->count)),
                                 g.constant(DType::F64, static_cast<double>(freedom))});
  Val q = g.op("div", {v_cast(sum->value, DType::F64), count});
  note_flags(c, q);
  if (t != DType::F64) q = v_cast(q, t);
  if (root) q = g.op("sqrt", {q});
  return folded_value(c, q, f->keeps);
}
// The sum of a matrix's diagonal.
V trace(Context& c, const std::vector<V>& args, const Kwargs& kwargs) {
  auto* a = as<NdarrayValue>(args[0]);
  if (a->scalar || args.size() != 1 || !kwargs.empty() || a->elements(c).shape().rank() != 2)
    return nullptr;
  const Val places = c.scope_->graph().op("diagonal", {a->logical(c)}, {Dim(0)});
  auto sum = fold(c, new_ndarray_value(c, places, axes_in_order(1), false), "add", {}, 0.0);
  return sum ? V(folded_value(c, sum->value, false)) : nullptr;
}

// To so many decimals, by the steps of NumPy's own function.
V rounded(Context& c, const std::vector<V>& args, const Kwargs& kwargs) {
  auto* a = as<NdarrayValue>(args[0]);
  V given = args.size() == 2 ? args[1] : V();
  if (kwargs.size() == 1 && kwargs[0].first == "decimals" && !given)
    given = kwargs[0].second;
  else if (!kwargs.empty() || args.size() > 2)
    return nullptr;
  const bool integer = !given || (is_known(given) && PyLong_CheckExact(given->obj.ptr()));
  const auto decimals = given && integer ? as_int(c, given) : std::optional<int64_t>(0);
  constexpr int64_t kMost = 22;  // powers of ten that a float64 holds
  if (!integer || !decimals || *decimals < -kMost || *decimals > kMost || a->scalar ||
      !is_float(a->elements(c).dtype()))
    return nullptr;
  const V x = args[0];
  if (*decimals == 0) return apply_ufunc(c, numpy_attribute("rint"), {x});
  const char *first = "multiply", *last = "divide";
  if (*decimals < 0) std::swap(first, last);
  const V scale = c.constant(py::float_(std::pow(10.0, static_cast<double>(std::abs(*decimals)))));
  const V scaled = apply_ufunc(c, numpy_attribute(first), {x, scale});
  return apply_ufunc(c, numpy_attribute(last),
                     {apply_ufunc(c, numpy_attribute("rint"), {scaled}), scale});
}

template <bool kRoot>
V spread_of(Context& c, const std::vector<V>& args, const Kwargs& kwargs) {
  return spread(c, args, kwargs, kRoot);
}

V peak_to_peak(Context& c, const std::vector<V>& args, const Kwargs& kwargs) {
  auto* a = as<NdarrayValue>(args[0]);
  const auto f = folding(c, args, kwargs);
  const auto high = f ? fold(c, a, "maximum", *f, std::nullopt) : std::nullopt;
  const auto low = high ? fold(c, a, "minimum", *f, std::nullopt) : std::nullopt;
  if (!low) return nullptr;
  return apply_ufunc(
      c, numpy_attribute("subtract"),
      {folded_value(c, high->value, f->keeps), folded_value(c, low->value, f->keeps)});
}

// Sums or products of all elements up to each one.
V accumulated(Context& c, const std::vector<V>& args, const Kwargs& kwargs, const char* ufunc) {
  auto* a = as<NdarrayValue>(args[0]);
  Val x = a->elements(c);
  if (a->scalar || x.shape().rank() == 0 || !in_c_order({a, a})) return nullptr;
  if (x.shape().rank() > 1 && args.size() == 1 && kwargs.empty())  // of all in one line
    x = v_reshape(x, Shape{x.shape().numel()});
  const int rank = x.shape().rank();
  const auto axis = axis_argument(c, args, kwargs, 1, rank, rank == 1 ? 0 : -1);
  if (!axis) return nullptr;
  const py::object one = py::handle(numpy_attribute(ufunc))
                             .attr("accumulate")(py::handle(numpy_attribute("ones"))(
                                 py::make_tuple(1), share(descr_of(x.dtype()))));
  const auto type = dtype_of_descr(py::object(one.attr("dtype")).ptr());
  if (!type || !is_followed(*type) || (*type != x.dtype() && is_inexact(*type))) return nullptr;
  if (*type != x.dtype()) x = v_cast(x, *type);
  const auto loop = loop_for(numpy_attribute(ufunc), {*type, *type}, *type);
  if (!loop) return nullptr;
  Dim outer = 1, inner = 1;
  for (int k = 0; k < rank; ++k)
    if (k != *axis) (k < *axis ? outer : inner) *= x.shape()[k];
  const Shape shape = x.shape();
  const Val made = c.scope_->graph().op(
      "numpy_accumulate", {v_reshape(x, Shape{outer, shape[*axis], inner})}, {Dim(*loop), *type});
  note_flags(c, made);
  return new_ndarray_value(c, v_reshape(made, shape), axes_in_order(rank), false);
}
V running_sum(Context& c, const std::vector<V>& args, const Kwargs& kwargs) {
  return accumulated(c, args, kwargs, "add");
}
V running_product(Context& c, const std::vector<V>& args, const Kwargs& kwargs) {
  return accumulated(c, args, kwargs, "multiply");
}

V differences(Context& c, const std::vector<V>& args, const Kwargs& kwargs) {
  auto* a = as<NdarrayValue>(args[0]);
  const int rank = a->elements(c).shape().rank();
  if (args.size() != 1 || a->scalar || rank == 0) return nullptr;
  const auto axis = axis_argument(c, args, kwargs, 3, rank, rank - 1);
  if (!axis) return nullptr;
  const V none = c.constant(py::none());
  auto part = [&](int64_t from, int64_t to) {
    std::vector<V> places(static_cast<size_t>(rank), c.make<SliceValue>(none, none, none));
    places[static_cast<size_t>(*axis)] = c.make<SliceValue>(from ? c.constant_int(from) : none,
                                                            to ? c.constant_int(to) : none, none);
    return a->getitem(c, c.tuple(places));
  };
  const char* ufunc = is_bool(a->elements(c).dtype()) ? "not_equal" : "subtract";
  return apply_ufunc(c, numpy_attribute(ufunc), {part(1, 0), part(0, -1)});
}

// One of the arrays that are joined; a list of numbers is an array of constants.
NdarrayValue* joinable(Context& c, const V& v) {
  if (!as<ListValue>(v) && !as<TupleValue>(v)) return as<NdarrayValue>(v);
  const auto o = as_constant(c, v);
  if (!o) return nullptr;
  const py::object made = py::handle(numpy_attribute("array"))(*o);
  if (!is_followed_ndarray(made.ptr())) return nullptr;
  return as<NdarrayValue>(c.wrap(made.ptr(), c.add_source({Source::kConst, -1, 0, made})));
}

V joined(Context& c, const std::vector<Val>& parts, int axis) {
  const Val made = c.scope_->graph().Builder::op(OpTable::get().at("concat"), parts, {Dim(axis)});
  return new_ndarray_value(c, made, axes_in_order(made.shape().rank()), false);
}

// How a function makes one array of several.
enum class Join : uint8_t { kConcatenate, kStack, kHorizontal, kVertical, kColumns };
template <Join kHow>
V join(Context& c, const std::vector<V>& args, const Kwargs& kwargs) {
  if (args.empty() || !(as<TupleValue>(args[0]) || as<ListValue>(args[0]))) return nullptr;
  std::vector<Val> parts;
  for (auto& v : args[0]->parts(c)) {
    auto* a = joinable(c, v);
    if (!a || !a->is_followed(c) || a->scalar) return nullptr;
    parts.push_back(a->elements(c));
    if (!in_c_order({a, a})) return nullptr;
    const Shape& s = parts.back().shape();
    if (s.rank() == 0 || s.rank() != parts[0].shape().rank() ||
        parts.back().dtype() != parts[0].dtype())
      return nullptr;
    for (auto d : s)  // of which arrays are in two orders, and empty ones
      if (d == Dim(0) || (s.rank() > 1 && d == Dim(1))) return nullptr;
  }
  constexpr size_t kMost = 64;
  if (parts.empty() || parts.size() > kMost) return nullptr;
  const int rank = parts[0].shape().rank();
  const bool chooses = kHow == Join::kConcatenate || kHow == Join::kStack;
  if (!chooses && (args.size() > 1 || !kwargs.empty())) return nullptr;
  const auto axis =
      chooses ? axis_argument(c, args, kwargs, 1, rank + (kHow == Join::kStack ? 1 : 0), 0)
              : std::optional(
                    kHow == Join::kColumns || (kHow == Join::kHorizontal && rank > 1) ? 1 : 0);
  if (!axis) return nullptr;
  const bool of_lines = kHow == Join::kVertical || kHow == Join::kColumns;
  const bool widens = kHow == Join::kStack || (of_lines && rank == 1);
  for (auto& p : parts) {
    if (!widens) break;
    Dims wide(p.shape().begin(), p.shape().end());
    wide.insert(wide.begin() + *axis, Dim(1));
    if (wide.size() > static_cast<size_t>(kMaxRank)) return nullptr;
    p = v_reshape(p, Shape(wide));
  }
  return joined(c, parts, *axis);
}

// Is it the dtype of an array, or none?
bool is_dtype_of(Context& c, NdarrayValue* a, const V& type) {
  return !type || is_none(type) || dtype_named(c, type) == a->elements(c).dtype();
}

// np.array of an array: a copy in its order, or as another dtype, or what it is, where no copy is
// asked for; with as many axes as are.
V copy_of_array(Context& c, NdarrayValue* a, const std::vector<V>& args, const Kwargs& kwargs) {
  if (a->scalar || !a->is_followed(c) || args.size() > 2) return nullptr;
  V type = args.size() == 2 ? args[1] : V();
  bool copies = true;
  int64_t least = 0;
  for (auto& [k, v] : kwargs) {
    const bool flag = is_known(v) && PyBool_Check(v->obj.ptr());
    const auto n = k == "ndmin" && is_known(v) && PyLong_CheckExact(v->obj.ptr()) ? as_int(c, v)
                                                                                  : std::nullopt;
    if (k == "dtype" && !type)
      type = v;
    else if (k == "copy" && (flag || is_none(v)))
      copies = flag && v->obj.ptr() == Py_True;
    else if (n && *n <= kMaxRank)
      least = *n;
    else if (k == "order" ? !is_none(v) : k != "subok" || !flag)
      return nullptr;
  }
  V made = a;
  const Val x = a->elements(c);
  if (!is_dtype_of(c, a, type)) {
    if (!copies) return nullptr;
    made = cast(c, a, type);
  } else if (copies) {
    if (a->base && !is_kept_in_c_order(c, a)) return nullptr;
    made = new_ndarray_value(c, x, a->axes, false);
  }
  auto* of = as<NdarrayValue>(made);
  if (!of || least <= x.shape().rank()) return made;
  if (!of->is_in_c_order() || !has_no_gaps(c, of) || x.shape().numel() == Dim(0)) return nullptr;
  Dims wide(static_cast<size_t>(least - x.shape().rank()), Dim(1));
  std::vector<V> form;
  for (const Dim d : x.shape()) wide.push_back(d);
  for (const Dim d : wide) {
    if (d.symbolic()) return nullptr;
    form.push_back(c.constant_int(int64_t{d}));
  }
  return view_in_shape(c, *of, Shape(wide), c.tuple({c.tuple(form)}));
}

// np.array of NumPy's float64 scalars and Python's floats.
V array_of_numbers(Context& c, const std::vector<V>& args, const Kwargs& kwargs) {
  if (!args.empty() && as<NdarrayValue>(args[0]))
    return copy_of_array(c, as<NdarrayValue>(args[0]), args, kwargs);
  if (args.size() != 1 || !kwargs.empty() || !as<ListValue>(args[0])) return nullptr;
  std::vector<Val> parts;
  bool any = false;
  const std::vector<V> items = args[0]->parts(c);
  for (auto& v : items) {
    auto* a = as<NdarrayValue>(v);
    if (!a && (!is_known(v) || !PyFloat_CheckExact(v->obj.ptr()))) return nullptr;
    if (a && !a->is_followed(c)) return nullptr;
    Val x = a ? a->elements(c)
              : c.scope_->graph().constant(DType::F64, PyFloat_AS_DOUBLE(v->obj.ptr()));
    if (a && (!a->scalar || x.dtype() != DType::F64)) return nullptr;
    any |= a != nullptr;
    parts.push_back(v_reshape(x, Shape{1}));
  }
  constexpr size_t kMost = 64;
  return any && parts.size() <= kMost ? joined(c, parts, 0) : nullptr;
}

V full_like(Context& c, const std::vector<V>& args, const Kwargs& kwargs) {
  auto* a = as<NdarrayValue>(args[0]);
  const Val x = a->elements(c);
  if (args.size() != 2 || !kwargs.empty() || a->scalar || !is_kept_in_c_order(c, a)) return nullptr;
  const Val one = value_to_store(c, args[1], x.dtype());
  if (one.shape().rank() != 0) return nullptr;
  const Val all = c.scope_->graph().op("broadcast_to", {one}, {x.shape().dims()});
  return new_ndarray_value(c, all, a->axes, false);
}

// The one array of a function that gives a view of it.
NdarrayValue* to_view(Context& c, const std::vector<V>& args, const Kwargs& kwargs) {
  auto* a = as<NdarrayValue>(args[0]);
  if (a->scalar || !kwargs.empty()) return nullptr;
  const Val x = a->elements(c);
  return x.shape().rank() == 0 || x.shape().numel() == Dim(0) ? nullptr : a;
}

V reshape(Context& c, const std::vector<V>& args, const Kwargs& kwargs) {
  auto* a = to_view(c, args, kwargs);
  if (!a || args.size() < 2 || !a->is_in_c_order() || !has_no_gaps(c, a)) return nullptr;
  const V form = args.size() == 2 ? args[1] : c.tuple({args.begin() + 1, args.end()});
  auto sizes = sizes_of(c, form);
  if (!sizes) return nullptr;
  const Dim all = a->elements(c).shape().numel();
  Dim others = 1;
  Dim* open = nullptr;
  for (auto& d : *sizes) {
    if (d.symbolic() || d > Dim(0)) {
      others *= d;
      continue;
    }
    if (open || d != Dim(-1)) return nullptr;
    open = &d;
  }
  if (open) {
    if (others.is_one())
      *open = all;
    else if (all.symbolic() || others.symbolic())
      return nullptr;
    else
      *open = int64_t{all} / int64_t{others};
    others *= *open;
  }
  if (!others.same_as(all)) return nullptr;
  return view_in_shape(c, *a, Shape(*sizes), c.tuple({form}));
}

// All elements in one axis: a view, or of memory of its own.
template <bool kView>
V flat(Context& c, const std::vector<V>& args, const Kwargs& kwargs) {
  auto* a = to_view(c, args, {});
  const bool ordered =
      kwargs.size() == 1 && kwargs[0].first == "order" && is_text(kwargs[0].second);
  const std::string order = ordered ? text_of(kwargs[0].second->obj) : "C";
  if (!a || args.size() != 1 || kwargs.size() > (ordered ? 1 : 0)) return nullptr;
  if (order != "C" && ((order != "K" && order != "A") || !a->is_in_c_order())) return nullptr;
  const Shape shape{a->elements(c).shape().numel()};
  if (kView && a->is_in_c_order() && has_no_gaps(c, a))
    return view_in_shape(c, *a, shape, c.tuple({c.constant_int(-1)}));
  const Shape& all = a->elements(c).shape();  // beside one another after all, perhaps
  if (kView && (a->is_in_c_order() || std::find(all.begin(), all.end(), Dim(1)) != all.end()))
    return nullptr;
  return new_ndarray_value(c, v_reshape(a->logical(c), shape), axes_in_order(1), false);
}

V axes_in_other_order(Context& c, const std::vector<V>& args, const Kwargs& kwargs) {
  auto* a = to_view(c, args, kwargs);
  if (!a) return nullptr;
  const int rank = a->rank();
  std::vector<int> axes = axes_in_order(rank);
  std::reverse(axes.begin(), axes.end());
  std::vector<V> given(args.begin() + 1, args.end());
  if (given.size() == 1 && is_sequence(given[0])) given = given[0]->parts(c);
  if (given.size() == 1 && is_none(given[0])) given.clear();
  if (!given.empty() && given.size() != axes.size()) return nullptr;
  std::vector<V> form;
  for (size_t k = 0; k < given.size(); ++k) {
    const auto axis = axis_from(c, given[k], rank);
    if (!axis || std::find(axes.begin(), axes.begin() + static_cast<ptrdiff_t>(k), *axis) !=
                     axes.begin() + static_cast<ptrdiff_t>(k))
      return nullptr;
    axes[k] = *axis;
    form.push_back(c.constant_int(*axis));
  }
  return view_by_axes(c, *a, axes, c.tuple(form));
}

V two_axes_swapped(Context& c, const std::vector<V>& args, const Kwargs& kwargs) {
  auto* a = to_view(c, args, kwargs);
  if (!a || args.size() != 3) return nullptr;
  const auto p = axis_from(c, args[1], a->rank()), q = axis_from(c, args[2], a->rank());
  if (!p || !q) return nullptr;
  std::vector<int> axes = axes_in_order(a->rank());
  std::swap(axes[static_cast<size_t>(*p)], axes[static_cast<size_t>(*q)]);
  std::vector<V> form;
  for (int k : axes) form.push_back(c.constant_int(k));
  return view_by_axes(c, *a, axes, c.tuple(form));
}

// Without the axes of one place.
V squeezed(Context& c, const std::vector<V>& args, const Kwargs& kwargs) {
  auto* a = to_view(c, args, {});
  if (!a || !a->is_in_c_order() || args.size() + kwargs.size() > 2) return nullptr;
  const int rank = a->rank();
  std::optional<int> only;
  if (args.size() + kwargs.size() == 2) {
    only = axis_argument(c, args, kwargs, 1, rank, -1);
    if (!only) return nullptr;
  }
  const V none = c.constant(py::none());
  std::vector<V> places;
  bool any = false;
  for (int k = 0; k < rank; ++k) {
    const Dim d = a->elements(c).shape()[k];
    const bool one = d == Dim(1) && (!only || *only == k);
    if (only && *only == k && !one) return nullptr;  // ValueError
    any |= one;
    places.push_back(one ? c.constant_int(0) : c.make<SliceValue>(none, none, none));
  }
  if (!any || std::none_of(places.begin(), places.end(), [](auto& p) { return as<SliceValue>(p); }))
    return nullptr;
  return a->getitem(c, c.tuple(places));
}

V repeated(Context& c, const std::vector<V>& args, const Kwargs& kwargs) {
  auto* a = to_view(c, args, {});
  if (!a || args.size() < 2 || !a->is_in_c_order()) return nullptr;
  const int rank = a->rank();
  const bool none = kwargs.size() == 1 && kwargs[0].first == "axis" && is_none(kwargs[0].second);
  const bool given = !none && args.size() + kwargs.size() > 2;
  const auto axis = given ? axis_argument(c, args, kwargs, 2, rank, -1) : std::optional(0);
  if (!axis || !is_known(args[1]) || !PyLong_CheckExact(args[1]->obj.ptr())) return nullptr;
  const auto times = as_int(c, args[1]);
  if (!times || *times < 1) return nullptr;
  Val x = a->elements(c);
  if (!given) x = v_reshape(x, Shape{x.shape().numel()});
  Dims made(x.shape().begin(), x.shape().end()), narrow = made;
  const auto place = made.begin() + *axis;
  *place *= Dim(*times);
  narrow.insert(narrow.begin() + *axis + 1, Dim(1));
  if (narrow.size() > static_cast<size_t>(kMaxRank)) return nullptr;
  Dims wide = narrow;
  wide[static_cast<size_t>(*axis) + 1] = Dim(*times);
  const Val all = c.scope_->graph().op("broadcast_to", {v_reshape(x, Shape(narrow))}, {wide});
  return new_ndarray_value(c, v_reshape(all, Shape(made)), axes_in_order(x.shape().rank()), false);
}

V conjugate(Context& c, const std::vector<V>& args, const Kwargs& kwargs) {
  auto* a = as<NdarrayValue>(args[0]);
  if (args.size() != 1 || !kwargs.empty() || a->scalar) return nullptr;
  return is_complex(a->elements(c).dtype()) ? apply_ufunc(c, numpy_attribute("conjugate"), {a})
                                            : args[0];
}

template <int kValue>
V filled_with(Context& c, const std::vector<V>& args, const Kwargs& kwargs) {
  return filled(c, args, kwargs, kValue);
}
template <int kValue>
V like(Context& c, const std::vector<V>& args, const Kwargs& kwargs) {
  auto* a = as<NdarrayValue>(args[0]);
  V type = args.size() == 2 ? args[1] : V();
  if (kwargs.size() == 1 && kwargs[0].first == "dtype" && !type)
    type = kwargs[0].second;
  else if (!kwargs.empty() || args.size() > 2)
    return nullptr;
  const bool same = !type || is_none(type);
  const auto t = same ? std::optional(a->elements(c).dtype()) : dtype_named(c, type);
  return t ? filled_like(c, a, *t, kValue) : nullptr;
}
V dot(Context& c, const std::vector<V>& args, const Kwargs& kwargs) {
  return args.size() == 2 && kwargs.empty() ? apply_matmul(c, args[0], args[1]) : nullptr;
}
V as_type(Context& c, const std::vector<V>& args, const Kwargs& kwargs) {
  const bool copies = kwargs.size() == 1 && kwargs[0].first == "copy" &&
                      is_known(kwargs[0].second) && PyBool_Check(kwargs[0].second->obj.ptr());
  if (args.size() != 2 || kwargs.size() != (copies ? 1 : 0)) return nullptr;
  auto* a = as<NdarrayValue>(args[0]);
  if (copies && kwargs[0].second->obj.ptr() == Py_False && !a->scalar && is_dtype_of(c, a, args[1]))
    return args[0];
  return cast(c, a, args[1]);
}
V copy(Context& c, const std::vector<V>& args, const Kwargs& kwargs) {
  auto* a = as<NdarrayValue>(args[0]);
  if (a->scalar || args.size() != 1 || !kwargs.empty()) return nullptr;
  const Val x = a->logical(c);
  return new_ndarray_value(c, x, axes_in_order(x.shape().rank()), false);
}
V choose(Context& c, const std::vector<V>& args, const Kwargs& kwargs) {
  return kwargs.empty() && args.size() == 3 ? where(c, args) : nullptr;
}
V mean_of(Context& c, const std::vector<V>& args, const Kwargs& kwargs) {
  const auto f = folding(c, args, kwargs);
  return f ? mean(c, as<NdarrayValue>(args[0]), *f) : nullptr;
}

V nonzero_count(Context& c, const std::vector<V>& args, const Kwargs& kwargs) {
  auto* a = as<NdarrayValue>(args[0]);
  Val x = a->elements(c);
  if (args.size() != 1 || !kwargs.empty() || a->scalar || is_inexact(x.dtype())) return nullptr;
  if (!is_bool(x.dtype())) x = v_op("not_equal", x, c.scope_->graph().constant_int(x.dtype(), 0));
  auto* sum =
      as<NdarrayValue>(apply_numpy(c, "sum", {new_ndarray_value(c, x, a->axes, false)}, {}));
  // with older versions a Python number
  const py::object one = py::handle(numpy_attribute("count_nonzero"))(py::make_tuple(true));
  const bool python = PyLong_CheckExact(one.ptr());
  return sum && python ? number_of(c, c.tensor(sum->memory), nullptr) : V(sum);
}

// vdot and inner, of vectors of real numbers.
V product_of_lines(Context& c, const std::vector<V>& args, const Kwargs& kwargs) {
  if (args.size() != 2 || !kwargs.empty()) return nullptr;
  for (auto& v : args) {
    auto* a = as_ndarray(c, v);
    if (!a || !a->is_followed(c) || a->elements(c).shape().rank() != 1 ||
        is_complex(a->elements(c).dtype()))
      return nullptr;
  }
  return apply_matmul(c, args[0], args[1]);
}

struct Function {
  std::string_view name;
  V (*run)(Context& c, const std::vector<V>& args, const Kwargs& kwargs);
  bool of_array = true;  // its first argument is one
};
constexpr Function kFunctions[] = {
    {"zeros", filled_with<0>, false},
    {"ones", filled_with<1>, false},
    {"empty", filled_with<0>, false},
    {"where", choose, false},
    {"clip", clip},
    {"dot", dot},
    {"astype", as_type},
    {"copy", copy},
    {"zeros_like", like<0>},
    {"empty_like", like<0>},
    {"ones_like", like<1>},
    {"mean", mean_of},
    {"std", spread_of<true>},
    {"var", spread_of<false>},
    {"ptp", peak_to_peak},
    {"cumsum", running_sum},
    {"cumprod", running_product},
    {"diff", differences},
    {"roll", rolled},
    {"reshape", reshape},
    {"ravel", flat<true>},
    {"flatten", flat<false>},
    {"transpose", axes_in_other_order},
    {"swapaxes", two_axes_swapped},
    {"squeeze", squeezed},
    {"trace", trace},
    {"conj", conjugate},
    {"conjugate", conjugate},
    {"round", rounded},
    {"repeat", repeated},
    {"full_like", full_like},
    {"concatenate", join<Join::kConcatenate>, false},
    {"stack", join<Join::kStack>, false},
    {"hstack", join<Join::kHorizontal>, false},
    {"vstack", join<Join::kVertical>, false},
    {"column_stack", join<Join::kColumns>, false},
    {"array", array_of_numbers, false},
    {"take", take},
    {"take_along_axis", take_along_axis},
    {"put_along_axis", put_along_axis},
    {"sort", sorted},
    {"argsort", order_of_rows},
    {"argmax", place_of_extreme<true>},
    {"argmin", place_of_extreme<false>},
    {"searchsorted", places_in_order},
    {"count_nonzero", nonzero_count},
    {"vdot", product_of_lines},
    {"inner", product_of_lines},
    {"pad", padded},
    {"meshgrid", mesh_grid, false},
    {"select", selected, false},
    {"copyto", copied_to},
    {"fill", filled_in_place},
    {"diag", diagonal_matrix},
    {"diagonal", diagonal_view},
    {"item", single_item},
};

struct Reduction {
  std::string_view name;
  const char* ufunc;
  std::optional<double> start;
};
constexpr Reduction kReductions[] = {
    {"sum", "add", 0.0},
    {"prod", "multiply", 1.0},
    {"max", "maximum", std::nullopt},
    {"amax", "maximum", std::nullopt},
    {"min", "minimum", std::nullopt},
    {"amin", "minimum", std::nullopt},
    {"any", "logical_or", 0.0},
    {"all", "logical_and", 1.0},
};

// A reduction of the elements that a mask has.
std::optional<Val> masked_fold(Context& c, MaskedValue* a, const Reduction& r) {
  const auto in = summed_as(c, a->whole->elements(c), r.ufunc);
  if (!in || !(in->shape() == a->mask.shape())) return std::nullopt;
  const DType t = in->dtype();
  const auto loop = loop_for(numpy_attribute(r.ufunc), {t, t}, t);
  if (!loop) return std::nullopt;
  Graph& g = c.scope_->graph();
  const Shape flat{in->shape().numel()};
  std::vector<Val> all{v_reshape(*in, flat), v_reshape(a->mask, flat), Val{}};
  if (r.start) all[2] = g.constant(t, *r.start);
  if (!is_reduced_at_once(all[0])) return std::nullopt;
  const Val made = g.op(OpTable::get().at("numpy_masked_reduce"), all, {Dim(*loop), t});
  note_flags(c, made);
  return made;
}

// The sum by the count; of nothing, NumPy warns.
V masked_mean(Context& c, MaskedValue* a) {
  const DType t = a->whole->elements(c).dtype();
  const auto sum = is_float(t) ? masked_fold(c, a, {"sum", "add", 0.0}) : std::nullopt;
  if (!sum) return nullptr;
  Graph& g = c.scope_->graph();
  const Shape flat{a->mask.shape().numel()};
  const Val count = g.op("numpy_count", {v_reshape(a->mask, flat)}, {Dim(1)});
  Val q = g.op("div", {v_cast(*sum, DType::F64), v_cast(count, DType::F64)});
  note_flags(c, q);
  if (t != DType::F64) q = v_cast(q, t);
  return folded_value(c, q, false);
}

V masked_function(Context& c, std::string_view name, const std::vector<V>& args,
                  const Kwargs& kwargs) {
  auto* a = as<MaskedValue>(args[0]);
  if (args.size() != 1 || !kwargs.empty()) return nullptr;
  static constexpr Member<MaskedValue> kOwn[] = {
      {"mean", [](Context& c, MaskedValue& m) { return masked_mean(c, &m); }}};
  if (const V own = member_of(kOwn, *a, c, name)) return own;
  for (auto& r : kReductions) {
    if (r.name != name) continue;
    const auto made = masked_fold(c, a, r);
    return made ? V(folded_value(c, *made, false)) : nullptr;
  }
  return nullptr;
}

}  // namespace

static V function_value(Context& c, std::string_view name, const std::vector<V>& args,
                        const Kwargs& kwargs) {
  if (!args.empty() && as<MaskedValue>(args[0])) return masked_function(c, name, args, kwargs);
  auto* a = args.empty() ? nullptr : as<NdarrayValue>(args[0]);
  if (a && !a->is_followed(c)) return nullptr;
  for (auto& f : kFunctions)
    if (f.name == name && (a || !f.of_array)) return f.run(c, args, kwargs);
  if (!a) return nullptr;
  for (auto& r : kReductions) {
    if (r.name != name) continue;
    const auto f = folding(c, args, kwargs);
    const auto made = f ? fold(c, a, r.ufunc, *f, r.start) : std::nullopt;
    return made ? V(folded_value(c, made->value, f->keeps)) : nullptr;
  }
  return nullptr;
}

V apply_outer(Context& c, PyObject* ufunc, const V& x, const V& y) {
  auto *a = as_ndarray(c, x), *b = as_ndarray(c, y);
  if (!a || !b || a->scalar || b->scalar || !a->is_followed(c) || !b->is_followed(c))
    return nullptr;
  b->elements(c);
  std::vector<V> index(static_cast<size_t>(b->rank()), c.constant(py::none()));
  index.insert(index.begin(), c.constant(py::ellipsis()));
  return apply_ufunc(c, ufunc, {a->getitem(c, c.tuple(std::move(index))), b});
}

V apply_numpy(Context& c, std::string_view name, const std::vector<V>& args, const Kwargs& kwargs) {
  Kwargs given;  // but for what says that there is none
  for (auto& k : kwargs)
    if (k.first != "out" || !is_none(k.second)) given.push_back(k);
  return in_numpys_words(c, [&] { return function_value(c, name, args, given); });
}

}  // namespace pijit
