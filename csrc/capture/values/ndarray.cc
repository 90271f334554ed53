#include "capture/values/ndarray.h"

#include <algorithm>
#include <numeric>

#include "base/config.h"
#include "capture/context.h"
#include "capture/protocol/protocol.h"
#include "capture/rebuilder.h"
#include "capture/ufuncs.h"
#include "capture/values/array.h"
#include "capture/values/masked.h"
#include "capture/values/object.h"
#include "capture/values/picked.h"
#include "capture/values/scalar.h"
#include "capture/values/sequence.h"
#include "capture/values/tensor.h"
#include "entry/recipe.h"
#include "graph/vals.h"
#include "objects/ndarray.h"

namespace pijit {
namespace {

struct NdarrayRecipe final : Recipe {
  NdarrayRecipe(int output, std::vector<int> axes, bool scalar)
      : output(output), axes(std::move(axes)), scalar(scalar) {}
  py::object make(Runner& r) const override {
    return scalar ? new_numpy_scalar(*r.output(output))
                  : new_ndarray(std::move(r.output(output)), axes);
  }
  std::string describe() const override {
    return str_cat(scalar ? "NumPy scalar " : "ndarray ", output);
  }

  int output;
  std::vector<int> axes;
  bool scalar;
};

constexpr const char *kReal = "real", *kImag = "imag";  // ops, and attributes of arrays
constexpr const char* kDiagonal = "diagonal";           // an op, and a method

}  // namespace

bool is_of_single_numbers(const std::vector<Guard>& guards, const Graph& g) {
  constexpr int kMany = 64;
  auto any = [&](Guard::Kind kind) {
    return std::any_of(guards.begin(), guards.end(), [&](auto& one) { return one.kind == kind; });
  };
  if (!any(Guard::kNdarray) || any(Guard::kTensor)) return false;
  int ops = 0;
  for (uint32_t k = 0; k < g.size(); ++k) {
    const Node& n = g.node(k);
    const Dim elements = n.type.shape.numel();
    if (n.kind != Node::kOp || n.abandoned) continue;
    if (elements.symbolic() || elements > 1) return false;
    ++ops;
  }
  return ops > kMany;
}

std::vector<int> axes_in_order(int rank) {
  std::vector<int> axes(static_cast<size_t>(rank));
  std::iota(axes.begin(), axes.end(), 0);
  return axes;
}

NdarrayValue* new_ndarray_value(Context& c, Val memory, std::vector<int> axes, bool scalar) {
  // A loop of so many turns gains less than its graph costs.
  constexpr uint32_t kMostNodes = 2048;
  // A function that is called may have machine code of its own.
  constexpr int64_t kMostInlined = 64;
  const bool inlined = config().regions && c.inlined_turns_ > kMostInlined;
  const bool many = config().measure && c.scope_->graph().size() > kMostNodes;
  if (!c.start_.whole && (inlined || many)) c.give_up(Reason::kBudget);
  auto* v = c.make<NdarrayValue>();
  v->memory = memory;
  v->axes = std::move(axes);
  v->scalar = scalar;
  return v;
}

static V transposed(Context& c, NdarrayValue& a);
static Val diagonal_of(Context& c, Val matrix, int64_t offset) {
  return c.scope_->graph().op(kDiagonal, {matrix}, {Dim(offset)});
}

NdarrayValue* as_ndarray(Context& c, const V& v) {
  if (auto* a = as<NdarrayValue>(v)) return a;
  auto* made = as<ArrayValue>(v);
  if (!made || !is_followed_ndarray(v->obj.ptr())) return nullptr;
  if (made->from) {  // by its strides, as NumPy goes through it
    auto* whole = as_ndarray(c, made->from);
    if (!whole || !whole->is_followed(c)) return nullptr;
    return as<NdarrayValue>(made->index ? whole->getitem(c, made->index) : transposed(c, *whole));
  }
  // of constants, made during capture: nothing changes it
  return as<NdarrayValue>(c.wrap(v->obj.ptr(), c.add_source({Source::kConst, -1, 0, v->obj})));
}

PyTypeObject* NdarrayValue::type() const {
  return scalar ? numpy_scalar_type(memory.dtype()) : library.ndarray.type();
}

bool NdarrayValue::is_followed(Context& c) const {
  // Gradients and regions are of Tensors.
  if (c.scope_ != &c.root_scope_ || c.mapped_serial_ || !c.open_tapes_.empty() ||
      !default_device().is_cpu() || c.start_.expects_raises || compute_dtype)
    return false;
  if (base || memory) return true;
  const auto* f = ndarray_fields(obj.ptr());
  const auto dtype = dtype_of_descr(f->descr);
  return dtype && pijit::is_followed(*dtype) &&
         (f->flags & kNdC || is_in_fortran_order(obj.ptr())) &&
         !is_empty_in_other_order(obj.ptr()) && (f->flags & kNdAligned) && f->nd <= kMaxRank &&
         is_of_ndarrays(obj.ptr());
}

bool NdarrayValue::is_diagonal() const { return by == kDiagonal; }

Val NdarrayValue::elements(Context& c) {
  if (!is_followed(c))
    c.give_up(Reason::kUnsupportedOperand, "ndarray of another layout or dtype, or in a gradient",
              Case::kNumpyArray);
  if (base) {
    const Val whole = base->elements(c);
    if (seen == base->version) return memory;
    seen = base->version;
    ++version;  // for views of this one
    if (is_half()) return memory = c.scope_->graph().op(by, {whole});
    if (is_diagonal()) return memory = diagonal_of(c, whole, *as_int(c, form->parts(c)[0]));
    return memory = index ? base->part(c, index) : v_reshape(whole, memory.shape());
  }
  if (memory) return memory;
  const auto* f = ndarray_fields(obj.ptr());
  const auto dtype = dtype_of_descr(f->descr);
  const bool c_order = f->flags & kNdC;
  uint64_t dynamic = 0;  // axes of the array
  if (auto it = c.start_.dynamic.find(c.sources_[src].path); it != c.start_.dynamic.end())
    dynamic = it->second & ((uint64_t{1} << f->nd) - 1);
  Type t{*dtype, {}}, lies{*dtype, {}};
  uint64_t lies_dynamic = 0;
  for (int k = 0; k < f->nd; ++k) {
    const int from = c_order ? k : f->nd - 1 - k;
    t.shape.push_back(f->shape[k]);
    lies.shape.push_back(f->shape[from]);
    axes.push_back(from);
    if (dynamic >> from & 1) lies_dynamic |= uint64_t{1} << k;
  }
  c.guards_.push_back({Guard::kNdarray,
                       src,
                       {},
                       {},
                       dynamic,
                       t,
                       static_cast<unsigned>(c_order ? NdOrder::kC : NdOrder::kF)});
  return memory = c.add_input(lies, src, lies_dynamic);
}

Val NdarrayValue::logical(Context& c) {
  const Val m = elements(c);
  if (std::is_sorted(axes.begin(), axes.end())) return m;
  Dims perm(axes.size());
  for (size_t k = 0; k < axes.size(); ++k) perm[static_cast<size_t>(axes[k])] = Dim(k);
  return c.scope_->graph().op("transpose", {m}, {perm});
}

namespace {

bool is_whole(const V& at) { return !at || (is_known(at) && at->obj.ptr() == Py_Ellipsis); }

// What a subscript takes of the axes in the order of memory, and which axes of the result those
// are that are left.
struct Items {
  std::vector<IndexItem> in_memory;
  std::vector<int> axes;
};

Items in_memory(Context& c, NdarrayValue* a, std::vector<IndexItem> items) {
  auto is = [](IndexItem::Kind kind) { return [kind](auto& i) { return i.kind == kind; }; };
  auto drops = [](const IndexItem& i) {
    return i.kind == IndexItem::kInt || (i.kind == IndexItem::kTake && !i.kept);
  };
  auto count = [&](const auto& which) {
    return static_cast<int>(std::count_if(items.begin(), items.end(), which));
  };
  const int added = count(is(IndexItem::kNewAxis)), dotted = count(is(IndexItem::kEllipsis));
  if (dotted > 1 || static_cast<int>(items.size()) - added - dotted > a->rank())
    c.give_up(Reason::kRaises, "too many indices");
  if (a->is_in_c_order()) {
    const int rank = a->rank() + added - count(drops);
    return {std::move(items), axes_in_order(rank)};
  }
  // A new axis would lie anywhere among them.
  if (added > 0)
    c.give_up(Reason::kUnsupportedOperand, "a new axis of a transposed ndarray", Case::kNumpyArray);
  const auto dots = std::find_if(items.begin(), items.end(), is(IndexItem::kEllipsis));
  const auto front = static_cast<size_t>(dots - items.begin());
  const size_t behind = dots == items.end() ? 0 : items.size() - front - 1;
  const size_t rank = a->axes.size();
  std::vector<const IndexItem*> of(rank);
  for (size_t k = 0; k < front; ++k) of[k] = &items[k];
  for (size_t k = 0; k < behind; ++k) of[rank - behind + k] = &items[front + 1 + k];
  std::vector<int> place(rank, -1);
  int left = 0;
  for (size_t k = 0; k < rank; ++k)
    if (!of[k] || !drops(*of[k])) place[k] = left++;
  Items made;
  for (const int k : a->axes) {
    const auto axis = static_cast<size_t>(k);
    made.in_memory.push_back(of[axis] ? *of[axis] : IndexItem{IndexItem::kSlice});
    if (place[axis] >= 0) made.axes.push_back(place[axis]);
  }
  return made;
}

Shape logical_shape(Context& c, NdarrayValue* a) {
  const Shape& lies = a->elements(c).shape();
  Dims dims(a->axes.size());
  for (size_t k = 0; k < dims.size(); ++k)
    dims[static_cast<size_t>(a->axes[k])] = lies[static_cast<int>(k)];
  return Shape(dims);
}

Items basic_items(Context& c, NdarrayValue* a, const V& at) {
  if (a->scalar)
    c.give_up(Reason::kUnsupportedOperand, "subscript of a NumPy scalar", Case::kNumpyArray);
  // A bool is a mask, not 0 or 1.
  const auto is_mask = [](const V& v) {
    return v->type() == &PyBool_Type || v->type() == numpy_scalar_type(DType::Bool);
  };
  const std::vector<V> parts = as<TupleValue>(at) ? at->parts(c) : std::vector<V>{at};
  if (std::any_of(parts.begin(), parts.end(), is_mask))
    c.give_up(Reason::kUnsupportedOperand, "a mask of an ndarray", Case::kNumpyArray);
  auto items = index_items(c, at, logical_shape(c, a));
  if (!is_basic_index(items))
    c.give_up(Reason::kUnsupportedOperand, "subscript of an ndarray", Case::kNumpyArray);
  return in_memory(c, a, std::move(items));
}

// Where the elements of a part with one axis lie in an array that is no view: along which of its
// axes, and how many apart. Nothing: the part has other axes, or that is not known.
using Course = std::pair<int, int64_t>;
std::optional<Course> course_of(Context& c, NdarrayValue* whole, const V& at) {
  if (whole->base || whole->scalar) return std::nullopt;
  const int rank = whole->elements(c).shape().rank();
  std::vector<IndexItem> items;
  if (!is_whole(at)) items = index_items(c, at, logical_shape(c, whole));
  std::optional<Course> found;
  int axis = 0, kept = 0;
  for (const IndexItem& i : items) {
    const bool slice = i.kind == IndexItem::kSlice;
    if (!slice && i.kind != IndexItem::kInt && !(i.kind == IndexItem::kTake && !i.kept))
      return std::nullopt;
    if (slice) {
      if (i.step && i.step->symbolic()) return std::nullopt;
      found = {axis, i.step ? int64_t{*i.step} : 1};
      ++kept;
    }
    ++axis;
  }
  for (; axis < rank; ++axis, ++kept) found = {axis, 1};
  return kept == 1 ? found : std::nullopt;
}

// NumPy copies one axis along another in the same direction without memory between them, so that
// where both are of one array and have other steps, it may read what it stored.
void check_course(Context& c, NdarrayValue* to, const V& at, NdarrayValue* from) {
  auto root_of = [](NdarrayValue* a) {
    while (a->base) a = a->base;
    return a;
  };
  if (from->scalar || from->elements(c).shape().rank() != 1 || root_of(to) != root_of(from)) return;
  const auto store = course_of(c, to, at);
  const auto read = from->base && !from->form && !from->by ? course_of(c, from->base, from->index)
                                                           : course_of(c, from, V());
  if (!store || store == read) return;
  if (read && store->first == read->first && (store->second < 0) != (read->second < 0)) return;
  c.give_up(Reason::kUnsupportedOperand, "parts of an ndarray that may share elements",
            Case::kNumpyArray);
}

}  // namespace

Val NdarrayValue::part(Context& c, const V& at) {
  const Val whole = elements(c);
  if (is_whole(at)) return whole;
  return index_get(c.scope_->graph(), whole, basic_items(c, this, at).in_memory);
}

// `now`: the new elements in the order of memory.
void NdarrayValue::replace(Context& c, Val now) {
  c.undoable([this, old = memory, v = version, s = seen] {
    memory = old;
    version = v;
    seen = s;
  });
  memory = now;
  ++version;
  if (!base) return;
  Graph& g = c.scope_->graph();
  const Val whole = base->elements(c);
  Val changed;
  if (is_half())
    changed = by == kReal ? g.op("complex", {now, g.op(kImag, {whole})})
                          : g.op("complex", {g.op(kReal, {whole}), now});
  else if (is_whole(index))
    changed = index ? now : v_reshape(now, whole.shape());
  else
    changed = index_set(g, whole, basic_items(c, base, index).in_memory, now);
  base->replace(c, changed);
  seen = base->version;
}

// Of an array from outside: each run stores in it, when all is computed.
void NdarrayValue::note_store(Context& c, const V& at, Val value) {
  NdarrayValue* root = this;
  while (root->base && !root->is_diagonal()) root = root->base;
  if (root->is_diagonal())
    c.give_up(Reason::kUnsupportedOperand, "an ndarray that cannot be written", Case::kNumpyArray);
  c.check_effect(root);
  if (root->src < 0) return;
  if (c.sources_[root->src].kind == Source::kConst ||
      !is_written_quietly(ndarray_fields(root->obj.ptr())->flags))
    c.give_up(Reason::kUnsupportedOperand, "an ndarray that cannot be written", Case::kNumpyArray);
  for (auto& g : c.guards_)
    if (g.kind == Guard::kNdarray && g.src == root->src) g.version |= kNdStored;
  c.touch(root);
  const V stored = new_ndarray_value(c, value, axes_in_order(value.shape().rank()), false);
  const V place = at ? at : c.constant(py::ellipsis());
  c.log({Context::Note::kStore, root, {}, {}, {this, place, stored}});
}

void NdarrayValue::store(Context& c, const V& at, Val value) {
  in_numpys_words(c, [&] { set(c, at, value); });
}

void NdarrayValue::set(Context& c, const V& at, Val value) {
  elements(c);
  Graph& g = c.scope_->graph();
  const bool all = is_whole(at);
  const Items items = all ? Items{{}, axes} : basic_items(c, this, at);
  const Shape lies = all ? memory.shape() : index_get(g, memory, items.in_memory).shape();
  Dims dims(items.axes.size());
  for (size_t k = 0; k < items.axes.size(); ++k)
    dims[static_cast<size_t>(items.axes[k])] = lies[static_cast<int>(k)];
  const Shape shape(dims);
  if (value.shape().rank() > shape.rank() ||
      !(broadcast_shapes("numpy", shape, value.shape()) == shape))
    c.give_up(Reason::kRaises, "an ndarray of another shape is stored");
  note_store(c, all ? V() : at, value);
  const bool turned = !std::is_sorted(items.axes.begin(), items.axes.end());
  if ((all || turned) && !(value.shape() == shape))
    value = g.op("broadcast_to", {value}, {shape.dims()});
  if (turned) {
    Dims perm;
    for (int k : items.axes) perm.push_back(k);
    value = g.op("transpose", {value}, {perm});
  }
  replace(c, all ? value : index_set(g, memory, items.in_memory, value));
}

void NdarrayValue::setitem(Context& c, const V& at, const V& value) {
  if (scalar) return Value::setitem(c, at, value);
  if (auto* from = as<NdarrayValue>(value)) check_course(c, this, at, from);
  const bool stored = in_numpys_words(
      c, [&] { return store_masked(c, this, at, value) || store_picked(c, this, at, value); });
  if (stored) return;
  store(c, at, value_to_store(c, value, elements(c).dtype()));
}

std::optional<bool> NdarrayValue::truth(Context& c) {
  c.give_up(Reason::kUnsupportedOperand, "truth value of an ndarray", Case::kNumpyArray);
}

V NdarrayValue::length(Context& c) {
  if (src >= 0 && !memory) {
    const Py_ssize_t n = PyObject_Size(obj.ptr());
    if (n < 0) c.raise(py::error_already_set());
    Source s{Source::kComputed, -1, 0, py::reinterpret_borrow<py::object>(original("len"))};
    s.args = {c.source_of(this)};
    return input_at(c, py::int_(n).ptr(), c.add_source(std::move(s)));
  }
  if (scalar || rank() == 0) c.give_up(Reason::kRaises, "len() of an ndarray without axes");
  const auto first = std::find(axes.begin(), axes.end(), 0);
  return dim(c, this, static_cast<int>(first - axes.begin()));
}

std::vector<V> NdarrayValue::rows(Context& c, size_t count) {
  const Val x = elements(c);
  const auto first = std::find(axes.begin(), axes.end(), 0) - axes.begin();
  if (axes.empty() || x.shape()[static_cast<int>(first)] != Dim(count))
    c.give_up(Reason::kRaises, "wrong number of values to unpack");
  std::vector<V> made;
  for (size_t k = 0; k < count; ++k)
    made.push_back(getitem(c, c.constant_int(static_cast<int64_t>(k))));
  return made;
}

V NdarrayValue::getitem(Context& c, const V& at) {
  return in_numpys_words(c, [&] { return item(c, at); });
}

V NdarrayValue::item(Context& c, const V& at) {
  if (V made = masked_part(c, this, at)) return made;
  if (V made = picked_part(c, this, at)) return made;
  elements(c);
  const bool all = is_whole(at) && !scalar;
  const Items items = all ? Items{{}, axes} : basic_items(c, this, at);
  const Val part = all ? memory : index_get(c.scope_->graph(), memory, items.in_memory);
  const auto is_dots = [](const V& p) { return is_known(p) && p->obj.ptr() == Py_Ellipsis; };
  const auto* parts = as<TupleValue>(at);
  const bool element = part.shape().rank() == 0 && !all &&
                       !(parts && std::any_of(parts->items.begin(), parts->items.end(), is_dots));
  auto* v = new_ndarray_value(c, part, items.axes, element);
  if (element) {
    NdarrayValue* root = this;
    while (root->base) root = root->base;
    const Graph& g = c.scope_->graph();
    if (config().measure && !c.start_.whole && g.size() >= root->looked_at) {
      if (is_of_single_numbers(c.guards_, g)) c.give_up(Reason::kBudget);
      root->looked_at = 2 * g.size();
    }
    return v;
  }
  v->base = this;
  v->index = at;
  v->seen = version;
  return v;
}

namespace {

V shape_of_axes(Context& c, NdarrayValue& a) {
  a.elements(c);
  std::vector<V> dims(a.axes.size());
  for (size_t k = 0; k < a.axes.size(); ++k)
    dims[static_cast<size_t>(a.axes[k])] = dim(c, &a, static_cast<int>(k));
  return c.tuple(std::move(dims));
}
V element_bytes(Context& c, NdarrayValue& a) {
  return c.constant_int(static_cast<int64_t>(size_of(a.elements(c).dtype())));
}
V all_bytes(Context& c, NdarrayValue& a) {
  const auto size = static_cast<int64_t>(size_of(a.elements(c).dtype()));
  return element_count(c, &a, size);
}
V count(Context& c, NdarrayValue& a) {
  a.elements(c);
  return element_count(c, &a, 1);
}
}  // namespace

static NdarrayValue* view_of_all(Context& c, NdarrayValue& a, Val memory, std::vector<int> axes,
                                 const char* by, const V& form) {
  auto* v = new_ndarray_value(c, memory, std::move(axes), false);
  v->base = &a;
  v->seen = a.version;
  v->by = by;
  v->form = form;
  return v;
}
NdarrayValue* view_in_shape(Context& c, NdarrayValue& a, const Shape& shape, const V& form) {
  const Val x = v_reshape(a.elements(c), shape);
  return view_of_all(c, a, x, axes_in_order(shape.rank()), "reshape", form);
}
NdarrayValue* view_by_axes(Context& c, NdarrayValue& a, std::span<const int> axes, const V& form) {
  const Val x = a.elements(c);
  std::vector<int> now(axes.size()), place(axes.size());
  for (size_t k = 0; k < axes.size(); ++k)
    place[static_cast<size_t>(axes[k])] = static_cast<int>(k);
  for (size_t k = 0; k < axes.size(); ++k) now[k] = place[static_cast<size_t>(a.axes[k])];
  return view_of_all(c, a, x, std::move(now), "transpose", form);
}
NdarrayValue* view_by_diagonal(Context& c, NdarrayValue& a, int64_t offset) {
  const Val x = diagonal_of(c, a.elements(c), offset);
  return view_of_all(c, a, x, axes_in_order(1), kDiagonal, c.tuple({c.constant_int(offset)}));
}
static V transposed(Context& c, NdarrayValue& a) {
  if (a.scalar) return nullptr;
  a.elements(c);
  std::vector<int> axes = axes_in_order(a.rank());
  std::reverse(axes.begin(), axes.end());
  return view_by_axes(c, a, axes, c.tuple({}));
}

// The real or the imaginary parts, in the memory of the whole.
static V half(Context& c, NdarrayValue& a, const char* by) {
  const Val part = c.scope_->graph().op(by, {a.elements(c)});
  if (a.scalar) return new_ndarray_value(c, part, {}, true);
  return view_of_all(c, a, part, a.axes, by, nullptr);
}

namespace {

constexpr Member<NdarrayValue> kMembers[] = {
    {"dtype",
     [](Context& c, NdarrayValue& a) { return c.wrap_static(descr_of(a.elements(c).dtype())); }},
    {"shape", shape_of_axes},
    {"ndim",
     [](Context& c, NdarrayValue& a) { return c.constant_int(a.elements(c).shape().rank()); }},
    {"size", count},
    {"itemsize", element_bytes},
    {"nbytes", all_bytes},
    {"T", transposed},
    {kReal,
     [](Context& c, NdarrayValue& a) {
       if (is_complex(a.elements(c).dtype())) return half(c, a, kReal);
       return a.scalar ? V() : V(&a);  // of numbers that have no other part
     }},
    {kImag,
     [](Context& c, NdarrayValue& a) {
       return is_complex(a.elements(c).dtype()) ? half(c, a, kImag) : V();
     }},
};

}  // namespace

std::optional<V> NdarrayValue::getattr(Context& c, PyObject* name_obj) {
  const std::string name = text_of(name_obj);
  PyObject* found = type_lookup(type(), name_obj);
  if (!found) return std::nullopt;
  if (Py_TYPE(found) == &PyMethodDescr_Type)
    return protocol::bind(c, c.wrap_static(found), this, type());
  if (is_followed(c))
    if (const V member = member_of(kMembers, *this, c, name)) return member;
  c.give_up(Reason::kUnsupportedAttribute, str_cat("ndarray.", name), Case::kNumpyArray);
}

std::optional<V> NdarrayValue::method(Context& c, const std::string& name, std::vector<V>& args,
                                      Kwargs& kwargs) {
  std::vector<V> all{this};
  all.insert(all.end(), args.begin(), args.end());
  if (V made = apply_numpy(c, name, all, kwargs)) {
    if (name != "sort") return made;
    store(c, nullptr, as<NdarrayValue>(made)->logical(c));  // where np.sort gives another array
    return c.constant(py::none());
  }
  c.give_up(Reason::kUnsupportedCall, "ndarray." + name, Case::kNumpyArray);
}

namespace {

// Is an operator one of NumPy's scalars and Python's numbers alone, which is other code than a
// ufunc?
bool is_of_scalars(const NdarrayValue& a, const V& other) {
  if (!a.scalar || !other) return a.scalar;
  const auto* b = as<NdarrayValue>(other);
  // one that differs from call to call is an object
  const bool object = as<ObjectValue>(other) && is_numpy_scalar(other->obj.ptr());
  return object || (b ? b->scalar : as<ScalarValue>(other) != nullptr);
}

V by_operator(Context& c, const NdarrayValue& a, const V& other, const char* name,
              const std::vector<V>& operands) {
  PyObject* const ufunc = numpy_attribute(name);
  return is_of_scalars(a, other) ? apply_to_scalars(c, ufunc, operands)
                                 : apply_ufunc(c, ufunc, operands);
}

}  // namespace

V NdarrayValue::unary(Context& c, UnaryOp op) {
  switch (op) {
    case UnaryOp::kNeg: return by_operator(c, *this, nullptr, "negative", {this});
    case UnaryOp::kPos: return by_operator(c, *this, nullptr, "positive", {this});
    case UnaryOp::kInvert: return by_operator(c, *this, nullptr, "invert", {this});
    default: return nullptr;
  }
}

V NdarrayValue::absolute(Context& c) { return by_operator(c, *this, nullptr, "absolute", {this}); }

V NdarrayValue::binary(Context& c, BinaryOp op, const V& other, Side side) {
  const V &a = side == Side::kLeft ? V(this) : other, &b = side == Side::kLeft ? other : V(this);
  const bool of_scalars = is_of_scalars(*this, other);
  if (op == BinaryOp::kMatmul) return of_scalars ? nullptr : apply_matmul(c, a, b);
  if (op == BinaryOp::kPow) return apply_power(c, a, b, of_scalars);
  const char* name = ufunc_of(op);
  return name ? by_operator(c, *this, other, name, {a, b}) : nullptr;
}

bool NdarrayValue::is_complex_number(Context& c) {
  return elements(c).shape().rank() == 0 && is_complex(memory.dtype());
}

V NdarrayValue::in_place(Context& c, BinaryOp op, const V& other) {
  if (scalar || !is_followed(c)) return nullptr;
  if (is_complex_number(c))
    c.give_up(Reason::kUnsupportedOperand, "a complex number changed in place", Case::kNumpyArray);
  auto* made =
      as<NdarrayValue>(op == BinaryOp::kMatmul ? nullptr : binary(c, op, other, Side::kLeft));
  if (!made || made->scalar || made->memory.dtype() != elements(c).dtype())
    c.give_up(Reason::kUnsupportedOperand, "an ndarray changed in place", Case::kNumpyArray);
  store(c, nullptr, made->logical(c));
  return this;
}

V NdarrayValue::compare(Context& c, CompareOp op, const V& other, Side side) {
  return by_operator(
      c, *this, other, ufunc_of(op),
      side == Side::kLeft ? std::vector<V>{this, other} : std::vector<V>{other, this});
}

void NdarrayValue::traverse(Visit visit) const {
  visit(base);
  visit(index);
  visit(form);
}

int NdarrayValue::rebuild(Rebuilder& r) {
  if (!base) return r.make<NdarrayRecipe>(this, r.output(memory), axes, scalar);
  const int whole = r.recipe(base);
  if (index)
    return r.make<CallRecipe>(this, share(original("getitem")),
                              std::vector<int>{whole, r.recipe(index)});
  if (is_half())
    return r.make<CallRecipe>(this, library.ndarray.object().attr(by).attr("__get__"),
                              std::vector<int>{whole});
  std::vector<int> args{whole};
  for (auto& v : form->parts(r.context())) args.push_back(r.recipe(v));
  return r.make<CallRecipe>(this, library.ndarray.object().attr(by), args);
}

}  // namespace pijit
