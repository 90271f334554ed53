#include "capture/values/picked.h"

#include <algorithm>

#include "capture/context.h"
#include "capture/values/scalar.h"
#include "capture/values/sequence.h"
#include "capture/values/slice.h"
#include "graph/vals.h"
#include "objects/ndarray.h"

namespace pijit {
namespace {

// An array of integers, or a list of them, as the graph's; null: it is none.
Val places_of(Context& c, const V& v) {
  auto* a = as_ndarray(c, v);
  if (!a && as<ListValue>(v)) {
    const auto list = as_constant(c, v);
    if (!list || PyList_GET_SIZE(list->ptr()) == 0) return {};
    for (auto i : *list)
      if (!PyLong_CheckExact(i.ptr())) return {};
    const py::object made = py::handle(numpy_attribute("array"))(*list);
    a = as<NdarrayValue>(c.wrap(made.ptr(), c.add_source({Source::kConst, -1, 0, made})));
  }
  if (!a || a->scalar || !a->is_followed(c)) return {};
  const Val x = a->elements(c);
  if (!is_int(x.dtype()) || x.shape().rank() == 0 || !a->is_in_c_order()) return {};
  return x.dtype() == DType::I64 ? x : v_cast(x, DType::I64);
}

bool is_all(const V& v) {
  const auto* s = as<SliceValue>(v);
  return s && is_none(s->start) && is_none(s->stop) && is_none(s->step);
}

// The index as arrays of one shape, for axes side by side behind `lead` others; none: it is of
// another kind.
struct Places {
  std::vector<Val> of;
  int lead = 0;
};
Places indexes_of(Context& c, NdarrayValue* a, const V& at) {
  if (a->scalar || !a->is_followed(c)) return {};
  const Shape shape = a->elements(c).shape();
  if (!a->is_in_c_order()) return {};
  std::vector<V> parts = as<TupleValue>(at) ? at->parts(c) : std::vector<V>{at};
  const auto is_dots = [](const V& p) { return is_known(p) && p->obj.ptr() == Py_Ellipsis; };
  if (const auto dots = std::ranges::find_if(parts, is_dots); dots != parts.end()) {
    const V none = c.constant(py::none());
    const int missing = shape.rank() - static_cast<int>(parts.size()) + 1;
    const auto place = parts.erase(dots);
    if (missing < 0) return {};
    parts.insert(place, static_cast<size_t>(missing), V(c.make<SliceValue>(none, none, none)));
  }
  if (parts.empty() || static_cast<int>(parts.size()) > shape.rank()) return {};
  while (parts.size() > 1 && is_all(parts.back())) parts.pop_back();
  int lead = 0;
  for (; parts.size() > 1 && is_all(parts.front()); ++lead) parts.erase(parts.begin());
  Graph& g = c.scope_->graph();
  std::vector<Val> places;
  Shape all;
  bool any = false;
  for (auto& p : parts) {
    Val x;
    if (is_known(p) && PyLong_CheckExact(p->obj.ptr())) {
      const auto i = as_int(c, p);
      if (i) x = g.constant(DType::I64, static_cast<uint64_t>(*i));
    } else {
      x = places_of(c, p);
      any |= static_cast<bool>(x);
    }
    if (!x) return {};
    all = broadcast_shapes("numpy", all, x.shape());
    places.push_back(x);
  }
  if (!any || all.rank() + shape.rank() > kMaxRank) return {};
  for (auto& x : places)
    if (!(x.shape() == all)) x = g.op("broadcast_to", {x}, {all.dims()});
  return {std::move(places), lead};
}

V fresh(Context& c, Val made) {
  note_flags(c, made);
  return new_ndarray_value(c, made, axes_in_order(made.shape().rank()), false);
}

Val elements_at(Graph& g, Val x, const std::vector<Val>& indexes) {
  std::vector<Val> in{x};
  in.insert(in.end(), indexes.begin(), indexes.end());
  return g.Builder::op(OpTable::get().at("numpy_take"), in, {});
}
Val with_elements(Graph& g, Val x, Val y, const std::vector<Val>& indexes) {
  std::vector<Val> in{x, y};
  in.insert(in.end(), indexes.begin(), indexes.end());
  return g.Builder::op(OpTable::get().at("numpy_put"), in, {});
}

// The axis that is given behind `count` arguments, or by name, from the front.
struct AxisOf {
  bool none = true;  // no axis, or None
  int axis = 0;
};
std::optional<AxisOf> axis_of(Context& c, const std::vector<V>& args, const Kwargs& kwargs,
                              size_t count, int rank) {
  V v = args.size() == count + 1 ? args[count] : V();
  if (args.size() < count || args.size() > count + 1 || kwargs.size() > (v ? 0 : 1))
    return std::nullopt;
  if (!kwargs.empty()) {
    if (kwargs[0].first != "axis") return std::nullopt;
    v = kwargs[0].second;
  }
  if (!v || is_none(v)) return AxisOf{};
  if (!is_known(v) || !PyLong_CheckExact(v->obj.ptr())) return std::nullopt;
  const auto k = as_int(c, v);
  if (!k || *k < -rank || *k >= rank) return std::nullopt;
  return AxisOf{false, static_cast<int>(*k < 0 ? *k + rank : *k)};
}

// An array and indexes for each of its lines along an axis; nothing: of another kind.
struct Along {
  NdarrayValue* array;
  Val places;
  int axis;
};
std::optional<Along> along(Context& c, const std::vector<V>& args, const Kwargs& kwargs,
                           size_t count) {
  auto* a = args.empty() ? nullptr : as<NdarrayValue>(args[0]);
  if (!a || a->scalar || !a->is_followed(c) || args.size() < 2) return std::nullopt;
  const Shape shape = a->elements(c).shape();
  const Val places = a->is_in_c_order() ? places_of(c, args[1]) : Val{};
  const auto axis = places ? axis_of(c, args, kwargs, count, shape.rank()) : std::nullopt;
  if (!axis || axis->none || places.shape().rank() != shape.rank()) return std::nullopt;
  for (int k = 0; k < shape.rank(); ++k)
    if (k != axis->axis && places.shape()[k] != shape[k]) return std::nullopt;  // they broadcast
  return Along{a, places, axis->axis};
}

}  // namespace

// Elements of axes behind others: NumPy puts those axes first in memory, and gives a view.
static V picked_behind(Context& c, Val x, const Places& places) {
  const int lead = places.lead, picked = places.of[0].shape().rank();
  const auto count = static_cast<int>(places.of.size());
  Graph& g = c.scope_->graph();
  if (x.shape().numel() == Dim(0) || places.of[0].shape().numel() == Dim(0)) return nullptr;
  Val made;
  Dims order;
  if (count == 1) {
    made = g.op("gather", {x, places.of[0]}, {Dim(lead)});
    note_flags(c, made);
    for (int k = lead; k < lead + picked; ++k) order.push_back(Dim(k));
    for (int k = 0; k < made.shape().rank(); ++k)
      if (k < lead || k >= lead + picked) order.push_back(Dim(k));
    made = v_transpose(made, order);
  } else {
    for (int k = lead; k < lead + count; ++k) order.push_back(Dim(k));
    for (int k = 0; k < x.shape().rank(); ++k)
      if (k < lead || k >= lead + count) order.push_back(Dim(k));
    made = elements_at(g, v_transpose(x, order), places.of);
    note_flags(c, made);
  }
  auto* whole = new_ndarray_value(c, made, axes_in_order(made.shape().rank()), false);
  std::vector<int> axes;
  std::vector<V> form;
  for (int k = 0; k < made.shape().rank(); ++k) {
    axes.push_back(k < lead ? picked + k : k < lead + picked ? k - lead : k);
    form.push_back(c.constant_int(axes.back()));
  }
  return view_by_axes(c, *whole, axes, c.tuple(form));
}

V picked_part(Context& c, NdarrayValue* a, const V& at) {
  const Places places = indexes_of(c, a, at);
  if (places.of.empty()) return nullptr;
  if (places.lead > 0) return picked_behind(c, a->elements(c), places);
  return fresh(c, elements_at(c.scope_->graph(), a->elements(c), places.of));
}

// The graph makes all of the array anew: where few elements are stored, NumPy is faster.
static bool is_worth_it(const Shape& stored, const Shape& whole) {
  constexpr int64_t kFew = 4096, kShare = 4;
  const int64_t all = whole.numel().hint();
  return all <= kFew || stored.numel().hint() >= all / kShare;
}

bool store_picked(Context& c, NdarrayValue* a, const V& at, const V& value) {
  const auto [places, lead] = indexes_of(c, a, at);
  if (places.empty() || lead > 0) return false;
  Graph& g = c.scope_->graph();
  const Val x = a->elements(c);
  Val to = value_to_store(c, value, x.dtype());
  Shape shape = places[0].shape();
  for (int k = static_cast<int>(places.size()); k < x.shape().rank(); ++k)
    shape.push_back(x.shape()[k]);
  if (!is_worth_it(shape, x.shape())) return false;
  if (to.shape().rank() > shape.rank() || !(broadcast_shapes("numpy", shape, to.shape()) == shape))
    c.give_up(Reason::kRaises, "an ndarray of another shape is stored");
  if (!(to.shape() == shape)) to = g.op("broadcast_to", {to}, {shape.dims()});
  const Val made = with_elements(g, x, to, places);
  note_flags(c, made);
  a->store(c, nullptr, made);
  return true;
}

V take(Context& c, const std::vector<V>& args, const Kwargs& kwargs) {
  auto* a = as<NdarrayValue>(args[0]);
  const Val x = a->elements(c);
  if (a->scalar || args.size() < 2 || !a->is_in_c_order()) return nullptr;
  const auto axis = axis_of(c, args, kwargs, 2, x.shape().rank());
  const Val places = axis ? places_of(c, args[1]) : Val{};
  if (!places || x.shape().rank() + places.shape().rank() > kMaxRank) return nullptr;
  const Val from = axis->none ? v_reshape(x, Shape{x.shape().numel()}) : x;
  Graph& g = c.scope_->graph();
  return fresh(c, axis->axis == 0 ? elements_at(g, from, {places})
                                  : g.op("gather", {from, places}, {Dim(axis->axis)}));
}

V take_along_axis(Context& c, const std::vector<V>& args, const Kwargs& kwargs) {
  const auto a = along(c, args, kwargs, 2);
  if (!a) return nullptr;
  return fresh(
      c, c.scope_->graph().op("gather_d", {a->array->elements(c), a->places}, {Dim(a->axis)}));
}

V put_along_axis(Context& c, const std::vector<V>& args, const Kwargs& kwargs) {
  const auto a = along(c, args, kwargs, 3);
  if (!a) return nullptr;
  Graph& g = c.scope_->graph();
  const Val x = a->array->elements(c);
  Val to = value_to_store(c, args[2], x.dtype());
  const Shape shape = a->places.shape();
  if (!is_worth_it(shape, x.shape())) return nullptr;
  if (to.shape().rank() > shape.rank() || !(broadcast_shapes("numpy", shape, to.shape()) == shape))
    return nullptr;
  if (!(to.shape() == shape)) to = g.op("broadcast_to", {to}, {shape.dims()});
  const Val made = g.op("scatter_d", {x, a->places, to}, {Dim(a->axis), std::string("update")});
  note_flags(c, made);
  a->array->store(c, nullptr, made);
  return c.constant(py::none());
}

}  // namespace pijit
