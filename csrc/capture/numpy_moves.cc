// NumPy's functions that put elements in other places: pad, roll, meshgrid, select, copyto, diag.
#include <algorithm>

#include "capture/context.h"
#include "capture/numpy_functions.h"
#include "capture/protocol/protocol.h"
#include "capture/ufuncs.h"
#include "capture/values/scalar.h"
#include "capture/values/sequence.h"
#include "capture/values/slice.h"
#include "capture/values/tensor.h"
#include "graph/indexing.h"
#include "graph/vals.h"
#include "objects/ndarray.h"
#include "python/names.h"

namespace pijit {
namespace {

std::optional<int64_t> known_integer(Context& c, const V& v) {
  if (const auto* size = state_of<ScalarValue::Size>(v); size && size->expr.index() == 0) {
    const Dim d = std::get<Dim>(size->expr);
    return d.symbolic() ? std::nullopt : std::optional(int64_t{d});
  }
  if (!is_known(v) || !PyLong_CheckExact(v->obj.ptr())) return std::nullopt;
  return as_int(c, v);
}

// Of all arguments, those that are given by name or in place.
struct Arguments {
  const std::vector<V>& args;
  const Kwargs& kwargs;
  size_t taken = 0;

  V take(size_t place, std::string_view name) {
    if (place < args.size()) return args[place];
    for (auto& [k, v] : kwargs)
      if (k == name) return ++taken, v;
    return nullptr;
  }
  bool all_taken() const { return taken == kwargs.size(); }
};

struct Widths {
  int64_t before, after;
};

// The widths that np.pad takes of its second argument; none: of another form.
std::vector<Widths> widths_of(Context& c, const V& v, int rank) {
  const auto count = static_cast<size_t>(rank);
  auto one = [&](const V& x) -> std::optional<Widths> {
    if (const auto n = known_integer(c, x))
      return *n < 0 ? std::nullopt : std::optional(Widths{*n, *n});
    if (!is_sequence(x)) return std::nullopt;
    const std::vector<V> parts = x->parts(c);
    if (parts.size() != 2) return std::nullopt;
    const auto before = known_integer(c, parts[0]), after = known_integer(c, parts[1]);
    if (!before || !after || *before < 0 || *after < 0) return std::nullopt;
    return Widths{*before, *after};
  };
  if (const auto all = one(v)) return std::vector(count, *all);
  if (!is_sequence(v)) return {};
  const std::vector<V> parts = v->parts(c);
  if (parts.size() != 1 && parts.size() != count) return {};
  std::vector<Widths> made;
  for (auto& p : parts) {
    const bool single = known_integer(c, p).has_value();
    const auto w = single && parts.size() > 1 ? std::nullopt : one(p);
    if (!w) return {};
    made.push_back(*w);
  }
  made.resize(count, made[0]);
  return made;
}

// Elements `from`, `from + step`, … of an axis, up to `to`; nothing: to the end of the axis.
Val part_of_axis(Graph& g, Val x, int axis, int64_t from, std::optional<int64_t> to, int64_t step) {
  std::vector<IndexItem> items(static_cast<size_t>(axis) + 1, IndexItem{IndexItem::kSlice});
  items.back().start = Dim(from);
  if (to) items.back().stop = Dim(*to);
  items.back().step = Dim(step);
  return index_get(g, x, items);
}

Val put_together(Graph& g, const std::vector<Val>& parts, int axis) {
  return parts.size() == 1 ? parts[0]
                           : g.Builder::op(OpTable::get().at("concat"), parts, {Dim(axis)});
}

enum class PadMode : uint8_t { kConstant, kEdge, kReflect, kSymmetric, kWrap };

// What stands before and behind the `n` elements of an axis. Null: more than it has.
struct Margins {
  Val before, behind;
};
std::optional<Margins> margins(Graph& g, Val x, int axis, Widths w, PadMode mode) {
  const int64_t n = x.shape()[axis];
  const int64_t most = mode == PadMode::kReflect ? n - 1 : n;
  if (mode != PadMode::kEdge && (w.before > most || w.after > most)) return std::nullopt;
  auto part = [&](int64_t from, std::optional<int64_t> to, int64_t step) {
    return part_of_axis(g, x, axis, from, to, step);
  };
  auto edge = [&](int64_t at, int64_t times) {
    const Val one = part(at, at + 1, 1);
    Dims dims(one.shape().begin(), one.shape().end());
    dims[static_cast<size_t>(axis)] = Dim(times);
    return g.op("broadcast_to", {one}, {dims});
  };
  // backwards down to `last`, which comes first in memory
  auto backwards = [&](int64_t first, int64_t last) {
    return part(first, last > 0 ? std::optional(last - 1) : std::nullopt, -1);
  };
  Margins m;
  switch (mode) {
    case PadMode::kConstant: break;
    case PadMode::kEdge:
      if (w.before) m.before = edge(0, w.before);
      if (w.after) m.behind = edge(n - 1, w.after);
      break;
    case PadMode::kReflect:
      if (w.before) m.before = backwards(w.before, 1);
      if (w.after) m.behind = backwards(n - 2, n - 1 - w.after);
      break;
    case PadMode::kSymmetric:
      if (w.before) m.before = backwards(w.before - 1, 0);
      if (w.after) m.behind = backwards(n - 1, n - w.after);
      break;
    case PadMode::kWrap:
      if (w.before) m.before = part(n - w.before, n, 1);
      if (w.after) m.behind = part(0, w.after, 1);
      break;
  }
  return m;
}

std::optional<PadMode> pad_mode(const V& v) {
  if (!v) return PadMode::kConstant;
  if (!is_text(v)) return std::nullopt;
  static constexpr std::pair<std::string_view, PadMode> kRows[] = {
      {"constant", PadMode::kConstant},
      {"edge", PadMode::kEdge},
      {"reflect", PadMode::kReflect},
      {"symmetric", PadMode::kSymmetric},
      {"wrap", PadMode::kWrap}};
  const auto* row = std::ranges::find(kRows, text_of(v->obj), [](auto& r) { return r.first; });
  return row == std::end(kRows) ? std::nullopt : std::optional(row->second);
}

bool is_flag(const V& v, bool value) {
  return is_known(v) && v->obj.ptr() == (value ? Py_True : Py_False);
}

// May a number be stored by casts of the kind "same_kind"?
bool keeps_kind(const V& v, DType t) {
  if (!as<ScalarValue>(v)) return true;
  PyObject* o = v->obj.ptr();
  if (PyFloat_CheckExact(o)) return is_inexact(t);
  if (PyComplex_CheckExact(o)) return is_complex(t);
  return !PyLong_CheckExact(o) || PyBool_Check(o) || !is_bool(t);
}

// Are all elements beside one another in Fortran's order, and in no other?
bool is_turned_without_gaps(Context& c, NdarrayValue* a) {
  for (const Dim d : a->elements(c).shape())
    if (d.is_one()) return false;
  return std::is_sorted(a->axes.rbegin(), a->axes.rend()) && has_no_gaps(c, a);
}

}  // namespace

V padded(Context& c, const std::vector<V>& args, const Kwargs& kwargs) {
  auto* a = as<NdarrayValue>(args[0]);
  Arguments given{args, kwargs};
  const V width = given.take(1, "pad_width"), mode_name = given.take(2, "mode"),
          value = given.take(args.size(), "constant_values");
  const auto mode = pad_mode(mode_name);
  Val x = a->elements(c);
  if (a->scalar || args.size() > 3 || !width || !mode || !given.all_taken() ||
      (value && *mode != PadMode::kConstant) ||
      !(a->is_in_c_order() || is_turned_without_gaps(c, a)))
    return nullptr;
  const int rank = x.shape().rank();
  for (const Dim d : x.shape())
    if (d.symbolic() || d < Dim(1)) return nullptr;
  const std::vector<Widths> widths = rank ? widths_of(c, width, rank) : std::vector<Widths>();
  if (widths.empty() || (value && !as<ScalarValue>(value))) return nullptr;
  Graph& g = c.scope_->graph();
  Val fill;
  if (*mode == PadMode::kConstant)
    fill = value_to_store(c, value ? value : c.constant_int(0), x.dtype());
  for (int k = 0; k < rank; ++k) {
    const Widths w = widths[static_cast<size_t>(a->axes[static_cast<size_t>(k)])];
    auto m = margins(g, x, k, w, *mode);
    if (*mode == PadMode::kConstant) {
      auto of = [&](int64_t times) {
        Dims dims(x.shape().begin(), x.shape().end());
        dims[static_cast<size_t>(k)] = Dim(times);
        return g.op("broadcast_to", {fill}, {dims});
      };
      m = Margins{w.before ? of(w.before) : Val{}, w.after ? of(w.after) : Val{}};
    }
    if (!m) return nullptr;
    std::vector<Val> parts;
    for (const Val p : {m->before, x, m->behind})
      if (p) parts.push_back(p);
    x = put_together(g, parts, k);
  }
  return new_ndarray_value(c, x, a->axes, false);
}

V rolled(Context& c, const std::vector<V>& args, const Kwargs& kwargs) {
  auto* a = as<NdarrayValue>(args[0]);
  const Val x = a->elements(c);
  const int rank = x.shape().rank();
  if (args.size() < 2 || a->scalar || rank == 0 || !is_kept_in_c_order(c, a)) return nullptr;
  const auto axis = axis_argument(c, args, kwargs, 2, rank, -1);
  // of no axis it gives a view of a flat array
  if (!axis || !is_known(args[1]) || !PyLong_CheckExact(args[1]->obj.ptr())) return nullptr;
  const auto shift = as_int(c, args[1]);
  const Dim size = x.shape()[*axis];
  if (!shift || size.symbolic() || size == Dim(0)) return nullptr;
  const int64_t n = size, by = (*shift % n + n) % n;
  Graph& g = c.scope_->graph();
  std::vector<Val> parts{x};
  if (by > 0)
    parts = {part_of_axis(g, x, *axis, n - by, n, 1), part_of_axis(g, x, *axis, 0, n - by, 1)};
  return new_ndarray_value(c, put_together(g, parts, *axis), axes_in_order(rank), false);
}

static constinit OnDemand<bool> meshgrid_gives_lists;  // as older versions do

V mesh_grid(Context& c, const std::vector<V>& args, const Kwargs& kwargs) {
  bool by_matrix = false;
  for (auto& [k, v] : kwargs) {
    if (k == "indexing" && is_text(v) && (text_of(v->obj) == "ij" || text_of(v->obj) == "xy"))
      by_matrix = text_of(v->obj) == "ij";
    else if (!(k == "sparse" && is_flag(v, false)) && !(k == "copy" && is_flag(v, true)))
      return nullptr;
  }
  std::vector<Val> lines;
  bool any = false;
  for (auto& v : args) {
    auto* a = as_ndarray(c, v);
    if (!a || a->scalar || !a->is_followed(c)) return nullptr;
    any |= as<NdarrayValue>(v) != nullptr;
    lines.push_back(a->elements(c));
    if (lines.back().shape().rank() != 1) return nullptr;
  }
  const size_t rank = lines.size();
  if (!any || rank > static_cast<size_t>(kMaxRank)) return nullptr;
  auto axis_of = [&](size_t k) { return by_matrix || rank < 2 || k > 1 ? k : 1 - k; };
  Dims dims(rank);
  for (size_t k = 0; k < rank; ++k) dims[axis_of(k)] = lines[k].shape()[0];
  std::vector<V> made;
  for (size_t k = 0; k < rank; ++k) {
    Dims narrow(rank, Dim(1));
    narrow[axis_of(k)] = lines[k].shape()[0];
    const Val all =
        c.scope_->graph().op("broadcast_to", {v_reshape(lines[k], Shape(narrow))}, {dims});
    made.push_back(new_ndarray_value(c, all, axes_in_order(static_cast<int>(rank)), false));
  }
  const bool list = meshgrid_gives_lists.get([] {
    const py::object ones = py::handle(numpy_attribute("ones"))(1);
    return PyList_Check(py::object(py::handle(numpy_attribute("meshgrid"))(ones, ones)).ptr());
  });
  return list ? c.list(std::move(made)) : c.tuple(std::move(made));
}

namespace {

// The dtype that np.select gives for such choices, which it is asked for.
std::optional<DType> select_dtype(const std::vector<Given>& choices) {
  const py::handle ones = numpy_attribute("ones");
  py::list all;
  for (auto& g : choices) {
    if (g.weak) {
      all.append(g.v->obj);
      continue;
    }
    const py::object one = ones(py::make_tuple(1), g.spec);
    all.append(g.array && !g.array->scalar ? one : py::object(one[py::int_(0)]));
  }
  const py::object last = all[all.size() - 1];
  const py::object condition = ones(1, share(descr_of(DType::Bool)));
  py::list conditions;
  for (size_t k = 0; k + 1 < choices.size(); ++k) conditions.append(condition);
  const auto made = py::reinterpret_steal<py::object>(PyObject_CallFunctionObjArgs(
      numpy_attribute("select"), conditions.ptr(),
      py::object(all[py::slice(0, static_cast<py::ssize_t>(choices.size()) - 1, 1)]).ptr(),
      last.ptr(), nullptr));
  if (!made) {
    PyErr_Clear();
    return std::nullopt;
  }
  return dtype_of_descr(py::object(made.attr("dtype")).ptr());
}

}  // namespace

V selected(Context& c, const std::vector<V>& args, const Kwargs& kwargs) {
  Arguments all{args, kwargs};
  const V conditions = all.take(0, "condlist"), choices = all.take(1, "choicelist");
  V usual = all.take(2, "default");
  if (!conditions || !choices || !all.all_taken() || !is_sequence(conditions) ||
      !is_sequence(choices))
    return nullptr;
  if (!usual) usual = c.constant_int(0);
  std::vector<Val> masks;
  for (auto& v : conditions->parts(c)) {
    auto* a = as<NdarrayValue>(v);
    if (!a || a->scalar || !a->is_followed(c) || !is_bool(a->elements(c).dtype())) return nullptr;
    masks.push_back(a->logical(c));
  }
  std::vector<V> values = choices->parts(c);
  values.push_back(usual);
  if (masks.empty() || values.size() != masks.size() + 1) return nullptr;
  std::vector<Given> parts;
  for (auto& v : values) {
    auto g = given(c, v);
    if (!g || (g->weak && varies(v))) return nullptr;
    parts.push_back(std::move(*g));
  }
  const auto t = select_dtype(parts);
  if (!t || !is_followed(*t) || is_complex(*t)) return nullptr;
  const std::vector<Val> in =
      values_of(c, parts, std::vector(parts.size(), *t), axes_in_order(masks[0].shape().rank()));
  Shape shape = masks[0].shape();
  for (auto& m : masks) shape = broadcast_shapes("numpy", shape, m.shape());
  for (auto& x : in) shape = broadcast_shapes("numpy", shape, x.shape());
  if (shape.rank() == 0) return nullptr;
  Val made = v_broadcast(in.back(), shape);
  for (size_t k = masks.size(); k-- > 0;) made = v_select(masks[k], in[k], made);
  return new_ndarray_value(c, made, axes_in_order(shape.rank()), false);
}

V copied_to(Context& c, const std::vector<V>& args, const Kwargs& kwargs) {
  auto* a = as<NdarrayValue>(args[0]);
  const V where = kwargs.size() == 1 && kwargs[0].first == "where" ? kwargs[0].second : V();
  if (a->scalar || args.size() != 2 || kwargs.size() != (where ? 1 : 0)) return nullptr;
  auto root_of = [](NdarrayValue* v) {
    while (v->base) v = v->base;
    return v;
  };
  if (auto* from = as<NdarrayValue>(args[1]); from && root_of(from) == root_of(a))
    return nullptr;  // NumPy may read what it stored
  const DType t = a->elements(c).dtype();
  if (!keeps_kind(args[1], t)) return nullptr;
  const Shape shape = a->logical(c).shape();
  Val to = value_to_store(c, args[1], t);
  if (to.shape().rank() > shape.rank() || !(broadcast_shapes("numpy", shape, to.shape()) == shape))
    return nullptr;
  if (where && !is_flag(where, true)) {
    auto* m = as<NdarrayValue>(where);
    if (!m || !m->is_followed(c) || !is_bool(m->elements(c).dtype())) return nullptr;
    const Val mask = m->logical(c);
    if (!(broadcast_shapes("numpy", shape, mask.shape()) == shape)) return nullptr;
    to = v_select(mask, to, a->logical(c));
  }
  a->store(c, nullptr, to);
  return c.constant(py::none());
}

V filled_in_place(Context& c, const std::vector<V>& args, const Kwargs& kwargs) {
  auto* a = as<NdarrayValue>(args[0]);
  if (a->scalar || args.size() != 2 || !kwargs.empty() || !as<ScalarValue>(args[1])) return nullptr;
  a->store(c, nullptr, value_to_store(c, args[1], a->elements(c).dtype()));
  return c.constant(py::none());
}

V diagonal_view(Context& c, const std::vector<V>& args, const Kwargs& kwargs) {
  auto* a = as<NdarrayValue>(args[0]);
  Arguments given{args, kwargs};
  const V offset = given.take(1, "offset"), first = given.take(2, "axis1"),
          second = given.take(3, "axis2");
  const auto is_axis = [&](const V& v, int64_t axis) { return !v || known_integer(c, v) == axis; };
  const auto k = offset ? known_integer(c, offset) : std::optional<int64_t>(0);
  const Val x = a->elements(c);
  if (a->scalar || args.size() > 4 || !given.all_taken() || !k || a->rank() != 2 ||
      !is_axis(first, 0) || !is_axis(second, 1) || !a->is_in_c_order() || a->is_half() ||
      x.shape().symbolic())
    return nullptr;
  const int64_t rows = x.shape()[0], columns = x.shape()[1];
  if (rows <= 0 || *k >= columns || -*k >= rows) return nullptr;  // of no elements
  return view_by_diagonal(c, *a, *k);
}

V diagonal_matrix(Context& c, const std::vector<V>& args, const Kwargs& kwargs) {
  auto* a = as<NdarrayValue>(args[0]);
  Arguments given{args, kwargs};
  const V offset = given.take(1, "k");
  const auto k = offset ? known_integer(c, offset) : std::optional<int64_t>(0);
  if (a->scalar || args.size() > 2 || !given.all_taken() || !k) return nullptr;
  const Val x = a->elements(c);
  if (x.shape().rank() == 2) return diagonal_view(c, {args[0], c.constant_int(*k)}, {});
  if (x.shape().rank() != 1 || x.shape().symbolic()) return nullptr;
  const int64_t n = int64_t{x.shape()[0]} + std::abs(*k);
  if (n == std::abs(*k)) return nullptr;
  const Val zeros = v_zeros(c.scope_->graph(), {x.dtype(), Shape{n, n}});
  return new_ndarray_value(c, v_put_diagonal(zeros, x, *k), axes_in_order(2), false);
}

V single_item(Context& c, const std::vector<V>& args, const Kwargs& kwargs) {
  auto* a = as<NdarrayValue>(args[0]);
  const Val x = a->elements(c);
  if (args.size() > 2 || !kwargs.empty() || !is_float(x.dtype())) return nullptr;
  Val one = x;
  if (args.size() == 2) {
    if (a->scalar || x.shape().rank() != 1 || !known_integer(c, args[1])) return nullptr;
    auto* element = as<NdarrayValue>(a->getitem(c, args[1]));
    if (!element) return nullptr;
    one = element->memory;
  } else if (!a->scalar) {
    for (const Dim d : x.shape())
      if (!d.is_one()) return nullptr;
    one = v_reshape(x, Shape{});
  }
  return number_of(c, c.tensor(one), &PyFloat_Type);
}

}  // namespace pijit
