#include "capture/values/sequence.h"

#include "capture/context.h"
#include "capture/control_flow/merge.h"
#include "capture/protocol/inherent.h"
#include "capture/protocol/protocol.h"
#include "capture/rebuilder.h"
#include "capture/values/iterator.h"
#include "capture/values/scalar.h"
#include "capture/values/slice.h"

namespace pijit {
namespace {

struct TupleRecipe final : Recipe {
  py::object make(Runner& r) const override {
    py::object o = checked(PyTuple_New(static_cast<Py_ssize_t>(parts.size())));
    for (size_t k = 0; k < parts.size(); ++k)
      PyTuple_SET_ITEM(o.ptr(), static_cast<Py_ssize_t>(k), Py_XNewRef(r.make(parts[k]).ptr()));
    if (!cls) return o;
    return checked(PyTuple_Type.tp_new(reinterpret_cast<PyTypeObject*>(cls.ptr()),
                                       py::make_tuple(o).ptr(), nullptr));
  }
  int visit(visitproc visit, void* arg) const override {
    Py_VISIT(cls.ptr());
    return 0;
  }
  std::string describe() const override { return "tuple" + (cls ? " " + shown(cls) : ""); }

  py::object cls;  // null: tuple
};

struct ListRecipe final : Recipe {
  py::object make(Runner& r) const override {
    py::list l;
    for (int k : parts) l.append(r.make(k));
    return l;
  }
  std::string describe() const override { return "list"; }
};

// The item at a known place; raises IndexError where there is none.
V item_at(Context& c, Container* x, int64_t i) {
  const int64_t n = static_cast<int64_t>(x->items.size());
  if (i < -n || i >= n) c.raise(PyExc_IndexError, "index out of range");
  return x->item(c, static_cast<size_t>(i < 0 ? i + n : i));
}

std::vector<V> items_at(Context& c, Container* x, const py::object& slice) {
  Py_ssize_t b, e, st;
  if (PySlice_Unpack(slice.ptr(), &b, &e, &st) < 0) throw py::error_already_set();
  const Py_ssize_t n = PySlice_AdjustIndices(static_cast<Py_ssize_t>(x->items.size()), &b, &e, st);
  std::vector<V> out;
  for (Py_ssize_t k = 0; k < n; ++k) out.push_back(x->item(c, static_cast<size_t>(b + k * st)));
  return out;
}

std::optional<py::list> objects(Context& c, Container* x, Ask what) {
  const Context::Nested nested(c);
  py::list l;
  for (size_t k = 0; k < x->items.size(); ++k) {
    auto o = as_constant(c, x->item(c, k), what);
    if (!o) return std::nullopt;
    l.append(*o);
  }
  return l;
}

std::vector<V> all_items(Context& c, Container* x) {
  std::vector<V> out;
  for (size_t k = 0; k < x->items.size(); ++k) out.push_back(x->item(c, k));
  return out;
}

// A tuple itself stands for one that is equal; objects of derived classes don't.
bool is_tuple(const V& v) { return v->type() == &PyTuple_Type; }

// A new list, or tuple, as x is one.
V sequence(Context& c, Container* x, std::vector<V> items) {
  return as<TupleValue>(x) ? c.tuple(std::move(items)) : c.list(std::move(items));
}

// + of two tuples, or two lists. Null: of others.
V concatenated(Context& c, Container* a, const V& other) {
  auto* b = as<Container>(other);
  if (!b || a->kind != b->kind) return nullptr;
  if (a->items.empty() && is_tuple(b)) return b;
  if (b->items.empty() && is_tuple(a)) return a;
  std::vector<V> all = protocol::items_of(c, a);
  for (auto& x : protocol::items_of(c, b)) all.push_back(x);
  return sequence(c, a, std::move(all));
}

// Null: not by a number.
V repeated(Context& c, Container* x, const V& times) {
  const auto n = as_int(c, times);
  if (!n) return nullptr;
  if (*n == 1 && is_tuple(x)) return x;
  const auto items = protocol::items_of(c, x);
  std::vector<V> out;
  for (int64_t i = 0; i < *n; ++i) {
    c.tick(1 + static_cast<int64_t>(items.size()) / 16);
    out.insert(out.end(), items.begin(), items.end());
  }
  return sequence(c, x, std::move(out));
}

V sequence_operation(Context& c, BinaryOp op, Container* x, const V& other, Side side) {
  if (op == BinaryOp::kAdd && side == Side::kLeft) return concatenated(c, x, other);
  return op == BinaryOp::kMul ? repeated(c, x, other) : nullptr;
}

// Of two tuples, or two lists, with sizes in them, item by item. Null: of others.
V equality(Context& c, CompareOp op, Container* a, const V& other, Side side) {
  auto* b = as<Container>(other);
  if (!b || (op != CompareOp::kEq && op != CompareOp::kNe) || side != Side::kLeft ||
      a->kind != b->kind || !(holds_size(c, a) || holds_size(c, b)))
    return nullptr;
  bool same = a->items.size() == b->items.size();
  for (size_t k = 0; same && k < a->items.size(); ++k) {
    const auto t =
        protocol::truth(c, protocol::compare(c, CompareOp::kEq, a->item(c, k), b->item(c, k)));
    if (!t) c.give_up(Reason::kUnsupportedOperand, "equality");
    same = *t;
  }
  return c.constant(py::bool_(same == (op == CompareOp::kEq)));
}

// Of constants. Sizes are compared one by one, so that what holds for others, too, stays general.
std::optional<bool> known_contains(Context& c, Container* box, const V& x) {
  return holds_size(c, x) || holds_size(c, box) ? std::nullopt : box->Value::contains(c, x);
}

std::optional<bool> is_among(Context& c, const std::vector<V>& items, const V& x) {
  for (auto& item : items)
    if (const auto same = protocol::same_or_equal(c, item, x); !same || *same) return same;
  return false;
}

}  // namespace

namespace {
std::optional<py::list> stand_ins(Context& c, const Container& x) {
  const Context::Nested nested(c);
  py::list l;
  for (auto& item : x.items) {
    const py::object o = item ? item->stand_in(c) : py::object();
    if (!o) return std::nullopt;
    l.append(o);
  }
  return l;
}
}  // namespace

py::object TupleValue::stand_in(Context& c) {
  const auto l = type() == &PyTuple_Type ? stand_ins(c, *this) : std::nullopt;
  return l ? py::tuple(*l) : py::object();
}

py::object ListValue::stand_in(Context& c) {
  const auto l = is_open() ? std::nullopt : stand_ins(c, *this);
  return l ? py::object(*l) : py::object();
}

// --- tuples

PyTypeObject* TupleValue::type() const {
  return obj   ? Py_TYPE(obj.ptr())
         : cls ? reinterpret_cast<PyTypeObject*>(cls.ptr())
               : &PyTuple_Type;
}

void TupleValue::guard_methods(Context& c) { c.guard_class(type()); }

std::optional<py::object> TupleValue::object(Context& c, Ask what) {
  if (asks_user_code(c, type(), what)) return std::nullopt;
  const auto l = objects(c, this, what);
  if (!l) return std::nullopt;
  if (obj && src < 0) return obj;  // one that the code holds
  py::object t = py::tuple(*l);
  if (type() == &PyTuple_Type) return t;
  return checked(PyTuple_Type.tp_new(type(), py::make_tuple(t).ptr(), nullptr));
}

V TupleValue::read_item(Context& c, size_t i) {
  PyObject* o = PyTuple_GET_ITEM(obj.ptr(), i);
  return c.wrap(o, c.add_source({Source::kItem, src, static_cast<int>(i), {}}));
}

std::optional<bool> TupleValue::truth(Context&) { return !items.empty(); }
V TupleValue::length(Context& c) { return c.constant_int(static_cast<int64_t>(items.size())); }

V TupleValue::getitem(Context& c, const V& index) {
  if (auto i = as_int(c, index)) return item_at(c, this, *i);
  if (as<SliceValue>(index))
    if (const auto s = as_constant(c, index)) {
      const std::vector<V> some = items_at(c, this, *s);
      const py::object step = s->attr("step");
      const bool all = some.size() == items.size() && type() == &PyTuple_Type &&
                       (step.is_none() || step.equal(py::int_(1)));
      return all ? V(this) : c.tuple(some);
    }
  c.give_up(Reason::kUnsupportedOperand, str_cat("subscript of ", type()->tp_name));
}

std::optional<bool> TupleValue::contains(Context& c, const V& x) {
  if (is_input(x))
    if (const V r = at_each_run(c, original("contains"), {this, x})) return protocol::truth(c, r);
  if (const auto known = known_contains(c, this, x)) return known;
  return is_among(c, all_items(c, this), x);
}

V TupleValue::iter(Context& c) { return c.make<SequenceIterator>(this); }

std::optional<V> TupleValue::getattr(Context& c, PyObject* name_obj) {
  PyTypeObject* t = type();
  if (t == &PyTuple_Type) return protocol::builtin_attribute(c, this, name_obj);
  const std::string name = text_of(name_obj);
  PyObject* found = type_lookup(t, name_obj);
  c.guard_class(t);
  if (own_getattribute(t))
    c.give_up(Reason::kUnsupportedAttribute, str_cat(t->tp_name, " defines __getattribute__"));
  if (protocol::inherent(name) == protocol::Inherent::kClass && says_its_class(t))
    return c.wrap_static(reinterpret_cast<PyObject*>(t));
  if (protocol::inherent(name) == protocol::Inherent::kDict)
    c.give_up(Reason::kUnsupportedAttribute, name);
  const bool data = found && Py_TYPE(found)->tp_descr_set;
  const auto key = py::reinterpret_borrow<py::object>(name_obj);
  if (!data && obj && instances_have_dict(t)) {
    const auto d = py::reinterpret_steal<py::object>(instance_dict(obj.ptr()));
    if (PyObject* x = d ? c.found_in(d.ptr(), name_obj) : nullptr)
      return c.wrap(x, c.add_source({Source::kDictAttr, c.source_of(this), 0, key}));
    c.guard(Guard::kNoDictAttr, c.source_of(this), key);
  }
  if (!found) return protocol::missing_attribute(c, this, name_obj);
  if (Py_TYPE(found) == &PyMethodDescr_Type || PyFunction_Check(found))
    return protocol::bind(c, c.wrap_static(found), this, t);
  // a named tuple, as a rule
  if (Py_TYPE(found) == library.named_field.type()) {
    const py::tuple made = py::reinterpret_borrow<py::object>(found).attr("__reduce__")();
    return item(c, py::cast<size_t>(py::tuple(made[1])[0]));
  }
  if (Py_TYPE(found)->tp_descr_set && Py_TYPE(found) != &PyProperty_Type)
    c.give_up(Reason::kUnsupportedAttribute, name);
  return protocol::bind(c, protocol::class_attribute(c, found, c.guard_class(t), name_obj), this,
                        t);
}

std::optional<V> TupleValue::method(Context& c, const std::string& name, std::vector<V>& args,
                                    Kwargs& kwargs) {
  const V r = protocol::call_constant_method(c, this, name, args, kwargs);
  return r ? std::optional(r) : std::nullopt;
}

std::vector<V> TupleValue::parts(Context& c) { return all_items(c, this); }
V TupleValue::with_parts(Context& c, std::vector<V> p) {
  V t = c.tuple(std::move(p));
  if (type() != &PyTuple_Type)
    as<TupleValue>(t)->cls =
        py::reinterpret_borrow<py::object>(reinterpret_cast<PyObject*>(type()));
  return t;
}

V TupleValue::binary(Context& c, BinaryOp op, const V& other, Side side) {
  return sequence_operation(c, op, this, other, side);
}

V TupleValue::compare(Context& c, CompareOp op, const V& other, Side side) {
  return equality(c, op, this, other, side);
}

V TupleValue::merge(Merge& m, const V& other) {
  auto* r = m.items<TupleValue>(this, other);
  if (r && type() != &PyTuple_Type) r->cls = share(reinterpret_cast<PyObject*>(type()));
  return r;
}

int TupleValue::rebuild(Rebuilder& r) {
  if (obj) return r.make<ConstantRecipe>(this, obj);  // one that the code holds
  auto made = std::make_unique<TupleRecipe>();
  for (auto& x : all_items(r.context(), this)) made->parts.push_back(r.recipe(x));
  made->cls = cls;
  return r.add(this, std::move(made));
}

// --- lists

PyTypeObject* ListValue::type() const { return obj ? Py_TYPE(obj.ptr()) : &PyList_Type; }

std::optional<V> ListValue::getattr(Context& c, PyObject* name) {
  if (type() == &PyList_Type) return GrowingSequence::getattr(c, name);
  if (protocol::inherent(text_of(name)) == protocol::Inherent::kDict)
    c.give_up(Reason::kUnsupportedAttribute, text_of(name));
  const auto d = py::reinterpret_steal<py::object>(instance_dict(obj.ptr()));
  if (PyObject* x = d ? c.found_in(d.ptr(), name) : nullptr)
    return c.wrap(x, c.add_source({Source::kDictAttr, c.source_of(this), 0, share(name)}));
  c.guard(Guard::kNoDictAttr, c.source_of(this), share(name));
  return GrowingSequence::getattr(c, name);
}

std::optional<bool> ListValue::contains(Context& c, const V& x) {
  if (const auto known = known_contains(c, this, x)) return known;
  const std::vector<V> all = parts(c);
  const uint64_t before = edits;
  const auto r = is_among(c, all, x);
  if (edits != before) c.give_up(Reason::kUnsupportedCall, "a comparison that changes its list");
  return r;
}

std::optional<py::object> ListValue::object(Context& c, Ask what) {
  settle(c);
  if (auto l = objects(c, this, what)) return py::object(*l);
  return std::nullopt;
}

V ListValue::getitem(Context& c, const V& index) {
  if (open_) {
    if (V v = computed_item(c, index)) return v;
    if (as<SliceValue>(index))
      if (auto some = end(c, index)) return c.list(*some);
    if (auto i = as_int(c, index)) {
      const V v = at(c, *i);
      if (!v) c.raise(PyExc_IndexError, "index out of range");
      return v;
    }
    settle(c);
  }
  if (auto i = as_int(c, index)) return item_at(c, this, *i);
  if (as<SliceValue>(index))
    if (const auto s = as_constant(c, index)) return c.list(items_at(c, this, *s));
  c.give_up(Reason::kUnsupportedOperand, "subscript of list");
}

void ListValue::setitem(Context& c, const V& index, const V& value) {
  const auto slice = as<SliceValue>(index) ? as_constant(c, index) : std::nullopt;
  if (!slice) return GrowingSequence::setitem(c, index, value);
  Py_ssize_t begin, end, step;
  if (PySlice_Unpack(slice->ptr(), &begin, &end, &step) < 0) throw py::error_already_set();
  settle(c);
  Py_ssize_t n = PySlice_AdjustIndices(static_cast<Py_ssize_t>(items.size()), &begin, &end, step);
  const size_t before = items.size();
  auto* by = as<ListValue>(c.list(protocol::items_of(c, value)));
  if (items.size() != before) {  // what gives the values has changed the list
    if (step != 1) c.give_up(Reason::kUnsupportedOperand, "a slice of a list that changes");
    const auto now = static_cast<Py_ssize_t>(items.size());
    begin = std::min(begin, now);
    n = std::min(begin + n, now) - begin;
  }
  read_all(c);
  if (step == 1) {
    splice(c, static_cast<size_t>(begin), static_cast<size_t>(n), by->items);
  } else {
    if (static_cast<size_t>(n) != by->items.size())
      c.give_up(Reason::kRaises, "a slice and what is assigned to it differ in length");
    for (Py_ssize_t k = 0; k < n; ++k)
      splice(c, static_cast<size_t>(begin + k * step), 1, {by->items[static_cast<size_t>(k)]});
  }
  if (src >= 0) c.log({Context::Note::kSetItem, this, {}, {}, {index, by}});
}

void ListValue::log_extend(Context& c, const std::vector<V>& values) {
  c.log({Context::Note::kExtend, this, {}, {}, values});
}

// While CPython asks for keys, the list is empty.
std::optional<V> ListValue::sort(Context& c, Kwargs& kwargs) {
  settle(c);
  const std::vector<V> all = parts(c);
  const V given = c.list(all);
  const size_t notes = c.journal_.size();
  auto put = [&](const V& items) {
    replace(c, items_in(items));
    if (src < 0) return;
    const V none = c.constant(py::none());
    c.log({Context::Note::kSetItem, this, {}, {}, {c.make<SliceValue>(none, none, none), items}});
  };
  splice(c, 0, all.size(), {});
  const uint64_t before = edits;
  V sorted;
  try {
    sorted = protocol::call(c, c.wrap_static(original("sorted")), {given}, kwargs);
  } catch (const Raised&) {
    if (c.journal_.size() != notes)
      put(given);
    else
      replace(c, all);
    throw;
  }
  if (!as<ListValue>(sorted)) c.give_up(Reason::kUnsupportedCall, "list.sort");
  const bool changed = edits != before;
  put(sorted);
  if (changed) c.raise(PyExc_ValueError, {c.constant(py::str("list modified during sort"))});
  return c.constant(py::none());
}

std::optional<V> ListValue::method(Context& c, const std::string& name, std::vector<V>& args,
                                   Kwargs& kwargs) {
  if (name != "sort" || !args.empty()) return GrowingSequence::method(c, name, args, kwargs);
  return sort(c, kwargs);
}

V ListValue::with_parts(Context& c, std::vector<V> p) { return c.list(std::move(p)); }

V ListValue::binary(Context& c, BinaryOp op, const V& other, Side side) {
  return sequence_operation(c, op, this, other, side);
}

V ListValue::in_place(Context& c, BinaryOp op, const V& other) {
  if (op == BinaryOp::kAdd) {
    extend_by(c, other);
    return this;
  }
  if (op != BinaryOp::kMul) return nullptr;
  if (src >= 0 || !as_int(c, other))
    c.give_up(Reason::kUnsupportedOperand, str_cat("*= of list and ", other->type()->tp_name));
  replace(c, items_in(repeated(c, this, other)));
  return this;
}

V ListValue::compare(Context& c, CompareOp op, const V& other, Side side) {
  return equality(c, op, this, other, side);
}

V ListValue::merge(Merge& m, const V& other) { return m.items<ListValue>(this, other); }

int ListValue::rebuild(Rebuilder& r) {
  auto made = std::make_unique<ListRecipe>();
  for (auto& x : all_items(r.context(), this)) made->parts.push_back(r.recipe(x));
  return r.add(this, std::move(made));
}

}  // namespace pijit
