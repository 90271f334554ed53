#include "capture/values/rows.h"

#include <algorithm>

#include "absl/container/flat_hash_map.h"
#include "capture/context.h"
#include "capture/values/scalar.h"
#include "graph/vals.h"
#include "objects/ndarray.h"
#include "runtime/foreign.h"

namespace pijit {
namespace {

// Does the function of one row give what NumPy's own function gives, to the bit? Which of them that
// calls, it alone knows. Rows have many equal elements, zeros of both signs among them.
bool does_as(const char* name, RowTask task, DType t, const ForeignLoop& loop, const char* kind) {
  const auto numpy = [](const char* attribute) { return py::handle(numpy_attribute(attribute)); };
  const bool extreme = task == RowTask::kLargest || task == RowTask::kSmallest;
  py::dict how;
  if (!extreme) how["kind"] = kind;
  for (const int64_t n : {7, 100, 777}) {
    const py::object k = numpy("arange")(n);
    const py::object x = numpy("remainder")(k * k * py::int_(7919), 13) - py::int_(6);
    const py::object row =
        (x * ((k & py::int_(1)) - py::float_(0.5))).attr("astype")(share(descr_of(t)));
    py::object expected = numpy("asarray")(numpy(name)(row, **how));
    py::object mine = row.attr("copy")(), places = numpy("arange")(n);
    char* at[] = {ndarray_fields(mine.ptr())->data, ndarray_fields(places.ptr())->data};
    loop.function(at, &n, nullptr, loop.data);
    if (extreme) places = places[py::slice(0, 1, 1)];
    const py::object got = task == RowTask::kSort ? mine : places;
    if (!py::object(got.attr("tobytes")()).equal(expected.attr("tobytes")())) return false;
  }
  return true;
}

std::optional<int64_t> loop_of(const char* name, RowTask task, DType t, int kind) {
  static constexpr const char* kKinds[] = {"quicksort", "heapsort", "stable"};
  static auto* known = new absl::flat_hash_map<std::pair<int, int>, int64_t>;  // under the GIL
  const std::pair key(static_cast<int>(task) * 3 + kind, static_cast<int>(t));
  const auto it = known->find(key);
  if (it != known->end()) return it->second < 0 ? std::nullopt : std::optional(it->second);
  const ForeignLoop loop = row_loop(task, t, kind);
  const bool same = loop.function && loop.data && does_as(name, task, t, loop, kKinds[kind]);
  const int64_t number = same ? number_of(loop) : -1;
  (*known)[key] = number;
  return same ? std::optional(number) : std::nullopt;
}

struct Rows {
  Val x;
  Shape shape;
};
// Rows along the last axis of an array, in C order.
std::optional<Rows> rows_of(Context& c, NdarrayValue* a) {
  const Val x = a->elements(c);
  if (a->scalar || !a->is_in_c_order()) return std::nullopt;
  const Shape shape = x.shape();
  if (shape.rank() == 0 || std::find(shape.begin(), shape.end(), Dim(0)) != shape.end())
    return std::nullopt;
  if (shape.rank() > 1 && std::find(shape.begin(), shape.end(), Dim(1)) != shape.end())
    return std::nullopt;
  const Dim n = shape[shape.rank() - 1];
  return Rows{v_reshape(x, Shape{shape.numel() / n, n}), shape};
}

bool is_last(Context& c, const V& v, int rank) {
  if (!is_known(v) || !PyLong_CheckExact(v->obj.ptr())) return false;
  const auto k = as_int(c, v);
  return k && (*k == -1 || *k == rank - 1);
}

// What an argument's text stands for.
template <class T>
struct Named {
  std::string_view name;
  T value;
};
template <class T, size_t N>
std::optional<T> value_of(const Named<T> (&rows)[N], std::string_view name) {
  for (auto& row : rows)
    if (row.name == name) return row.value;
  return std::nullopt;
}

// The kind that is asked for; nothing: other arguments than an axis, which is the last, and it.
std::optional<int> kind_of(Context& c, const std::vector<V>& args, const Kwargs& kwargs, int rank) {
  if (args.size() > 2 || (args.size() == 2 && !is_last(c, args[1], rank))) return std::nullopt;
  int kind = 0;
  for (auto& [k, v] : kwargs) {
    if (k == "axis" && args.size() == 1 && is_last(c, v, rank)) continue;
    if (k != "kind" || !is_known(v) || !PyUnicode_Check(v->obj.ptr())) return std::nullopt;
    static constexpr Named<int> kKinds[] = {
        {"quicksort", 0}, {"heapsort", 1}, {"stable", 2}, {"mergesort", 2}};
    const auto named = value_of(kKinds, text_of(v->obj));
    if (!named) return std::nullopt;
    kind = *named;
  }
  return kind;
}

V by_rows(Context& c, const std::vector<V>& args, const Kwargs& kwargs, bool orders) {
  auto* a = as<NdarrayValue>(args[0]);
  const auto rows = rows_of(c, a);
  const auto kind = rows ? kind_of(c, args, kwargs, rows->shape.rank()) : std::nullopt;
  if (!kind) return nullptr;
  const RowTask task = orders ? RowTask::kOrder : RowTask::kSort;
  const auto loop = loop_of(orders ? "argsort" : "sort", task, rows->x.dtype(), *kind);
  if (!loop) return nullptr;
  const Val made = c.scope_->graph().op("numpy_sort", {rows->x}, {Dim(*loop), orders});
  return new_ndarray_value(c, v_reshape(made, rows->shape), axes_in_order(rows->shape.rank()),
                           false);
}

}  // namespace

V sorted(Context& c, const std::vector<V>& args, const Kwargs& kwargs) {
  return by_rows(c, args, kwargs, false);
}
V order_of_rows(Context& c, const std::vector<V>& args, const Kwargs& kwargs) {
  return by_rows(c, args, kwargs, true);
}

template <bool kLargest>
V place_of_extreme(Context& c, const std::vector<V>& args, const Kwargs& kwargs) {
  auto* a = as<NdarrayValue>(args[0]);
  const auto rows = rows_of(c, a);
  if (!rows || args.size() > 2 || args.size() + kwargs.size() > 2) return nullptr;
  V axis = args.size() == 2 ? args[1] : V();
  if (!kwargs.empty()) {
    if (kwargs[0].first != "axis") return nullptr;
    axis = kwargs[0].second;
  }
  const bool all = !axis || is_none(axis);
  if (!all && !is_last(c, axis, rows->shape.rank())) return nullptr;
  const auto loop = loop_of(kLargest ? "argmax" : "argmin",
                            kLargest ? RowTask::kLargest : RowTask::kSmallest, rows->x.dtype(), 0);
  if (!loop) return nullptr;
  const Val x = all ? v_reshape(rows->x, Shape{1, rows->shape.numel()}) : rows->x;
  const Val made = c.scope_->graph().op("numpy_extreme", {x}, {Dim(*loop)});
  Shape shape;
  for (int k = 0; !all && k + 1 < rows->shape.rank(); ++k) shape.push_back(rows->shape[k]);
  return new_ndarray_value(c, v_reshape(made, shape), axes_in_order(shape.rank()),
                           shape.rank() == 0);
}
template V place_of_extreme<true>(Context& c, const std::vector<V>& args, const Kwargs& kwargs);
template V place_of_extreme<false>(Context& c, const std::vector<V>& args, const Kwargs& kwargs);

V places_in_order(Context& c, const std::vector<V>& args, const Kwargs& kwargs) {
  auto* a = as<NdarrayValue>(args[0]);
  if (a->scalar || args.size() < 2 || args.size() > 3) return nullptr;
  auto* keys = as_ndarray(c, args[1]);
  V side = args.size() == 3 ? args[2] : V();
  if (kwargs.size() == 1 && kwargs[0].first == "side" && !side)
    side = kwargs[0].second;
  else if (!kwargs.empty())
    return nullptr;
  if (side && (!is_known(side) || !PyUnicode_Check(side->obj.ptr()))) return nullptr;
  static constexpr Named<bool> kRight[] = {{"left", false}, {"right", true}};
  const auto right = value_of(kRight, side ? text_of(side->obj) : "left");
  if (!keys || !keys->is_followed(c) || !right) return nullptr;
  const Val x = a->elements(c), y = keys->elements(c);
  if (!keys->is_in_c_order()) return nullptr;
  const DType t = x.dtype();
  if (x.shape().rank() != 1 || y.dtype() != t ||
      (t != DType::F64 && t != DType::F32 && t != DType::I64))
    return nullptr;
  const Val made = c.scope_->graph().op("numpy_search", {x, y}, {*right});
  return new_ndarray_value(c, made, axes_in_order(made.shape().rank()),
                           keys->scalar || made.shape().rank() == 0);
}

}  // namespace pijit
