// What an index of a tensor selects.
#include <map>

#include "capture/context.h"
#include "capture/values/scalar.h"
#include "capture/values/sequence.h"
#include "capture/values/slice.h"
#include "capture/values/tensor.h"
#include "graph/vals.h"

namespace pijit {
namespace {

std::optional<int64_t> known_int(const V& v) {
  if (!is_known(v) || PyBool_Check(v->obj.ptr()) || !PyLong_CheckExact(v->obj.ptr()))
    return std::nullopt;
  int overflow = 0;
  const int64_t i = PyLong_AsLongLongAndOverflow(v->obj.ptr(), &overflow);
  return overflow ? std::nullopt : std::optional(i);
}

bool make_input(Context& c, const V& v) { return as<ScalarValue>(v)->make_input(c); }

// Bounds of a slice whose length varies with them become sizes.
void make_length(Context& c, const SliceValue& slice) {
  const auto step = is_none(slice.step) ? std::optional<int64_t>(1) : known_int(slice.step);
  for (const V& bound : {slice.start, slice.stop})
    if (step && varies(bound)) as<ScalarValue>(bound)->make_size(c);
}

// An integer or slice that varies, as a place that each run knows; empty: it must be fixed.
// Only what holds for all of a loop's numbers is asked of them: where they lie in the axis, and how
// long a slice is.
std::optional<IndexItem> dynamic_index(Context& c, const V& v, const Dim& size) {
  auto integer = [](const V& x) { return is_input(x) && PyLong_CheckExact(x->obj.ptr()); };
  auto is = [&](const V& x, CompareOp op, int64_t n) {
    const auto r = scalar_relation(c, op, x, c.constant_int(n));
    return r && *r;
  };
  auto hint = [](const V& x) {
    int overflow = 0;
    const int64_t i = PyLong_AsLongLongAndOverflow(x->obj.ptr(), &overflow);
    return overflow || !small_int(i) ? std::optional<int64_t>() : i;
  };
  const auto* slice = as<SliceValue>(v);
  if (slice && (size.symbolic() || !integer(slice->start) || !integer(slice->stop)))
    make_length(c, *slice);
  if (size.symbolic() || !integer(slice ? slice->start : v)) return std::nullopt;
  const int64_t n = size;
  IndexItem item{IndexItem::kTake};
  V start = slice ? slice->start : v;
  const auto from = hint(start);
  if (!from || !n) return std::nullopt;
  if (!slice) {
    if (*from >= n || *from < -n) return std::nullopt;
    if (is(start, CompareOp::kLt, 0)) {
      if (is(start, CompareOp::kLt, -n)) return std::nullopt;
      start = scalar_arithmetic(c, BinaryOp::kAdd, start, c.constant_int(n));
    } else if (is(start, CompareOp::kGe, n)) {
      return std::nullopt;
    }
    if (!start || !is_input(start) || !make_input(c, start)) return std::nullopt;
    item.kept = false;
    item.tensor = c.scope_->val(start->node());
    return item;
  }
  const auto step = is_none(slice->step) ? std::optional<int64_t>(1) : known_int(slice->step);
  V stop = slice->stop;
  if (is_none(stop)) stop = c.constant_int(n);
  if (step != 1 || !(integer(stop) || known_int(stop)) || !hint(stop)) return std::nullopt;
  if (*from < 0 || *hint(stop) < 0 || std::min(*hint(stop), n) <= *from) return std::nullopt;
  if (is(start, CompareOp::kLt, 0)) return std::nullopt;
  if (integer(stop) ? is(stop, CompareOp::kGt, n) : *hint(stop) > n) stop = c.constant_int(n);
  const V length = scalar_arithmetic(c, BinaryOp::kSub, stop, start);
  if (!length || !hint(length)) return std::nullopt;
  const int64_t places = *hint(length);
  if (is_input(length) && is_dynamic(c, length->obj.ptr(), length->src)) {
    make_length(c, *slice);
    return std::nullopt;
  }
  fix(c, length);
  if (!make_input(c, start)) return std::nullopt;
  item.tensor = c.scope_->val(start->node());
  item.length = places;
  return item;
}

}  // namespace

std::vector<IndexItem> index_items(Context& c, const V& index, const Shape& shape) {
  std::vector<std::pair<py::object, Val>> tensors;
  std::map<size_t, IndexItem> taken;  // by place in the index
  auto part = [&](const V& v, size_t place, int axis) -> py::object {
    if (as<TensorValue>(v)) {
      if (is_bool(v->node().dtype())) c.give_up(Reason::kTensorValue, "boolean mask", Case::kMask);
      py::object placeholder =
          py::reinterpret_steal<py::object>(new_tensor(scalar_array(v->node().dtype(), 0)));
      tensors.push_back({placeholder, v->node()});
      return placeholder;
    }
    if (axis < shape.rank())
      if (auto item = dynamic_index(c, v, shape[axis])) {
        taken.emplace(place, *item);
        return py::slice(py::none(), py::none(), py::none());
      }
    if (const auto* s = as<SliceValue>(v)) {
      const auto known = [&](const V& x) {
        const auto n = constant_integer(x);
        return n ? c.constant_int(*n) : x;
      };
      const V slice = c.make<SliceValue>(known(s->start), known(s->stop), known(s->step));
      if (auto o = object_with_sizes(c, slice)) return *o;
      c.give_up(Reason::kUnsupportedOperand, "index");
    }
    auto o = is_size(v) ? object_with_sizes(c, v) : as_constant(c, v);  // a list becomes an array
    if (!o) c.give_up(Reason::kUnsupportedOperand, "index");
    return *o;
  };
  py::object object;
  if (as<TupleValue>(index)) {
    py::list l;
    auto is = [](const V& v, PyObject* o) { return is_known(v) && v->obj.ptr() == o; };
    std::vector<V> all;
    for (size_t k = 0; k < items_in(index).size(); ++k) all.push_back(item(c, index, k));
    int axis = 0, left = 0;
    for (auto& v : all) left += !is(v, Py_None) && !is(v, Py_Ellipsis);
    for (size_t k = 0; k < all.size(); ++k) {
      if (is(all[k], Py_Ellipsis)) axis = std::max(axis, shape.rank() - left);
      l.append(part(all[k], k, axis));
      if (is(all[k], Py_None) || is(all[k], Py_Ellipsis)) continue;
      ++axis, --left;
    }
    object = py::tuple(l);
  } else {
    object = part(index, 0, 0);
  }
  auto value = [&](PyObject* o) -> Val {
    for (auto& [p, v] : tensors)
      if (p.ptr() == o) return c.scope_->val(v);
    const ArrayRef a = array_on(array_from(o, std::nullopt), {});  // a list of constants
    const int64_t n = a->type.shape.numel();
    if (n == 0 || n > 64) c.give_up(Reason::kUnsupportedOperand, "long list as an index");
    if (is_bool(a->type.dtype)) c.give_up(Reason::kTensorValue, "boolean mask", Case::kMask);
    std::vector<Val> parts;
    for (int64_t k = 0; k < n; ++k) {
      uint64_t bits = 0;
      const size_t size = size_of(a->type.dtype);
      __builtin_memcpy(&bits, static_cast<const char*>(a->data()) + static_cast<size_t>(k) * size,
                       size);
      parts.push_back(v_reshape(c.scope_->graph().constant(a->type.dtype, bits), Shape{1}));
    }
    return v_reshape(c.scope_->graph().Builder::op(OpTable::get().at("concat"), parts, {Dim(0)}),
                     a->type.shape);
  };
  std::vector<IndexItem> items;
  if (!parse_index(object.ptr(), &items, value))
    c.give_up(Reason::kTensorValue, "boolean mask", Case::kMask);
  for (auto& [place, item] : taken) items[place] = item;
  return items;
}

}  // namespace pijit
