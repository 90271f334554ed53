#include "capture/values/tensor.h"

#include <cstring>

#include "capture/context.h"
#include "capture/control_flow/merge.h"
#include "capture/protocol/protocol.h"
#include "capture/rebuilder.h"
#include "capture/values/exact.h"
#include "capture/values/host_array.h"
#include "capture/values/iterator.h"
#include "capture/values/scalar.h"
#include "capture/values/sequence.h"
#include "capture/views.h"
#include "graph/vals.h"
#include "objects/data.h"

namespace pijit {
namespace {

struct TensorRecipe final : Recipe {
  explicit TensorRecipe(int output) : output(output) {}
  py::object make(Runner& r) const override {
    return checked(new_tensor(std::move(r.output(output))));
  }
  std::string describe() const override { return str_cat("tensor ", output); }

  int output;
};

// One of two objects, as a branch on a tensor decided.
struct ChoiceRecipe final : Recipe {
  ChoiceRecipe(int output, int first, int second) : output(output) { parts = {first, second}; }
  py::object make(Runner& r) const override {
    return r.make(parts[*static_cast<const bool*>(array_on(r.output(output), {})->data()) ? 0 : 1]);
  }
  std::string describe() const override { return str_cat("choice ", output); }

  int output;
};

}  // namespace

PyTypeObject* TensorValue::type() const { return obj ? Py_TYPE(obj.ptr()) : tensor_type; }

// Guards of other objects ask for their class, which stays as it is.
void TensorValue::guard_methods(Context& c) {
  if (!obj && !c.plain_tensors_) c.guard_class(type());
}

Reason TensorValue::reason(Reason) const { return Reason::kTensorValue; }

V TensorValue::length(Context& c) {
  if (protocol::user_method(c, this, "__len__")) return Value::length(c);
  if (!last.shape().rank()) c.raise(PyExc_TypeError, "len() of a 0-d tensor");
  return dim(c, this, 0);
}

V TensorValue::getitem(Context& c, const V& index) {
  if (protocol::user_method(c, this, "__getitem__")) return Value::getitem(c, index);
  if (is_known(index) && index->obj.ptr() == Py_Ellipsis && type() == tensor_type) return this;
  TensorValue* part = c.tensor(
      index_get(c.scope_->graph(), c.scope_->val(node()), index_items(c, index, last.shape())));
  const V place = as<ListValue>(index) ? c.list(protocol::items_of(c, index)) : index;
  if (!is_none(index)) part->origin = this, part->place = place;
  make_view(c, part, this, place);
  return part;
}

void TensorValue::setitem(Context& c, const V& index, const V& value) {
  if (protocol::user_method(c, this, "__setitem__") || !value->is_operand())
    return Value::setitem(c, index, value);
  Graph& g = c.scope_->graph();
  auto set = [&](TensorValue* t, const V& place, Val made) {
    if (const auto* mask = as<TensorValue>(place); mask && is_bool(mask->last.dtype()))
      if (const auto now = masked_set(c.scope_->val(t->node()), c.scope_->val(mask->node()), made))
        return set_alone(c, t, *now);
    const auto items = index_items(c, place, t->last.shape());
    const Val now = index_set(g, c.scope_->val(t->node()), items, made);
    is_basic_index(items) ? set_shared(c, t, now) : set_alone(c, t, now);
  };
  const Operand o = operand_of(c, value);
  set(this, index, materialize(g, o, o.weak() ? last.dtype() : o.dtype()));
  for (TensorValue* part = this; TensorValue* whole = part->origin; part = whole)
    if (part->base != whole || !c.open_tapes_.empty())  // else it is there already
      set(whole, part->place, c.scope_->val(part->node()));
}

V TensorValue::iter(Context& c) {
  if (last.shape().rank() == 0) c.give_up(Reason::kRaises, "iteration over a 0-d tensor");
  std::vector<V> rows;
  for (int64_t i = 0, n = *as_int(c, dim(c, this, 0)); i < n; ++i)
    rows.push_back(protocol::getitem(c, this, c.constant_int(i)));
  return c.make<SequenceIterator>(as<TupleValue>(c.tuple(rows)), this);
}

std::optional<V> TensorValue::getattr(Context& c, PyObject* name_obj) {
  using T = TensorValue;
  static constexpr Member<T> kMembers[] = {
      {"shape", [](Context& c, T& t) { return shape_of(c, &t); }},
      {"dtype", [](Context& c, T& t) { return c.wrap_static(dtype_object(t.last.type().dtype)); }},
      {"ndim", [](Context& c, T& t) { return c.constant_int(t.last.type().shape.rank()); }},
      {"device",
       [](Context& c, T& t) { return c.wrap_static(str_of(name_of(t.last.type().device)).ptr()); }},
      {"size", [](Context& c, T& t) { return element_count(c, &t, 1); }},
      {"itemsize",
       [](Context& c, T& t) {
         return c.constant_int(static_cast<int64_t>(size_of(t.last.type().dtype)));
       }},
      {"nbytes",
       [](Context& c, T& t) {
         return element_count(c, &t, static_cast<int64_t>(size_of(t.last.type().dtype)));
       }},
  };
  if (const V found = member_of(kMembers, *this, c, text_of(name_obj))) return found;
  const auto key = py::reinterpret_borrow<py::object>(name_obj);
  if (obj && parameter) {  // attributes of its own: name, requires_grad
    const auto d = py::reinterpret_steal<py::object>(instance_dict(obj.ptr()));
    if (PyObject* x = d ? c.found_in(d.ptr(), name_obj) : nullptr)
      return c.wrap(x, c.add_source({Source::kDictAttr, src, 0, key}));
  }
  PyObject* found = type_lookup(type(), name_obj);
  if (!found) return std::nullopt;
  const auto cls = py::reinterpret_borrow<py::object>(reinterpret_cast<PyObject*>(type()));
  c.guard(Guard::kTypeVersion, c.add_source({Source::kConst, -1, 0, cls}), cls,
          c.version_of(type()));
  return protocol::bind(c, c.wrap_static(found), this, type());
}

namespace {
V item(Context& c, TensorValue& t, const std::vector<V>&) { return number_of(c, &t, nullptr); }
V asnumpy(Context& c, TensorValue& t, const std::vector<V>&) {
  if (c.mapped_serial_) return nullptr;
  return c.make<HostArrayValue>(v_op("stop_gradient", c.scope_->val(t.node())));
}
// Null: not here.
constexpr Method<TensorValue> kTensorMethods[] = {{"item", 0, 0, item}, {"asnumpy", 0, 0, asnumpy}};
}  // namespace

std::optional<V> TensorValue::method(Context& c, const std::string& name, std::vector<V>& args,
                                     Kwargs& kwargs) {
  if (auto r = run_exact(kTensorMethods, *this, c, name, args, kwargs); r && *r) return r;
  const bool number = name == "item" || name.rfind("__", 0) == 0;  // __float__, __index__ …
  c.give_up(Reason::kTensorValue, "Tensor." + name,
            number ? Case::kTensorToNumber : Case::kLeavesGraph);
}

void TensorValue::traverse(Visit visit) const {
  visit(first);
  visit(second);
  visit(origin);
  visit(base);
}

V TensorValue::unary(Context& c, UnaryOp op) {
  if (op == UnaryOp::kPos) return this;
  if (!facts(op).op) c.give_up(Reason::kTensorValue, facts(op).name);
  return c.tensor(call_op(c.scope_->graph(), OpTable::get().at(facts(op).op),
                          std::vector<Operand>{operand_of(c, this)}, {}));
}

namespace {

bool is_listed(const V& v) { return v->type() == &PyTuple_Type || v->type() == &PyList_Type; }

// A tuple or list of known numbers, at any depth, as lists; empty: it is none.
std::optional<py::object> listed_numbers(Context& c, const V& v) {
  if (is_listed(v)) {
    py::list all;
    for (auto& part : v->parts(c)) {
      auto o = listed_numbers(c, part);
      if (!o) return std::nullopt;
      all.append(std::move(*o));
    }
    return all;
  }
  if (as<TensorValue>(v) || !v->is_operand()) return std::nullopt;
  auto o = as_constant(c, v);
  if (!o || !(PyLong_Check(o->ptr()) || PyFloat_Check(o->ptr()))) return std::nullopt;
  return o;
}

// The Tensor that an operator makes of such a tuple or list, anew at each run; null: of nothing
// else.
V tensor_of_numbers(Context& c, const V& v) {
  if (!is_listed(v)) return nullptr;
  const auto numbers = listed_numbers(c, v);
  if (!numbers) return nullptr;
  py::object made;
  try {
    made = py::reinterpret_steal<py::object>(new_tensor(array_from(numbers->ptr(), std::nullopt)));
  } catch (const py::error_already_set&) {  // of rows of several lengths
    return nullptr;
  } catch (const OpError&) {
    return nullptr;
  }
  return c.wrap(made.ptr(), c.add_source({Source::kConst, -1, 0, made}));
}

}  // namespace

V TensorValue::binary(Context& c, BinaryOp op, const V& other, Side side) {
  if (!other->is_operand()) {
    const V made = op == BinaryOp::kMatmul ? nullptr : tensor_of_numbers(c, other);
    return made ? binary(c, op, made, side) : nullptr;
  }
  const V &a = side == Side::kLeft ? V(this) : other, &b = side == Side::kLeft ? other : V(this);
  return c.tensor(call_op(c.scope_->graph(), tensor_operator(op),
                          std::vector<Operand>{operand_of(c, a), operand_of(c, b)}, {}));
}

V TensorValue::compare(Context& c, CompareOp op, const V& other, Side side) {
  const V &a = side == Side::kLeft ? V(this) : other, &b = side == Side::kLeft ? other : V(this);
  if (other->is_operand())
    return c.tensor(call_op(c.scope_->graph(), tensor_operator(op),
                            std::vector<Operand>{operand_of(c, a), operand_of(c, b)}, {}));
  if (const V made = tensor_of_numbers(c, other)) return compare(c, op, made, side);
  if ((op == CompareOp::kEq || op == CompareOp::kNe) && (is_none(other) || is_text(other)))
    return c.constant(py::bool_(op == CompareOp::kNe));
  protocol::raise_if_refused(c, original(facts(op).name), {a, b});
  c.give_up(Reason::kUnsupportedOperand, "comparison of a tensor");
}

// Operators of Tensors take numbers, tuples, and what NumPy makes an array of.
bool TensorValue::declines_binary(const V& other) const {
  PyTypeObject* t = other->type();
  return !as<TupleValue>(other) && !PyType_IsSubtype(t, &PyLong_Type) &&
         !PyType_IsSubtype(t, &PyFloat_Type) && !type_lookup(t, names.array);
}

Operand TensorValue::operand(Context&, Scope& s) { return Operand(s.val(node())); }

py::object TensorValue::stand_in(Context& c) {
  if (!c.start_.whole) return {};
  Type t = last.type();
  t.shape = Shape(std::vector<Dim>(static_cast<size_t>(t.shape.rank()), Dim(1)));
  const ArrayRef a = new_array(t);
  if (t.device.is_cpu()) std::memset(a->data(), 0, size_of(t.dtype));
  return py::reinterpret_steal<py::object>(new_tensor(a));
}

V TensorValue::merge(Merge& m, const V& other) {
  auto* t = as<TensorValue>(other);
  return t ? m.tensor(this, t) : m.differ();
}

int TensorValue::rebuild(Rebuilder& r) {
  if (!first && !second) return r.make<TensorRecipe>(this, r.output(node()));
  const int made = r.make<TensorRecipe>(nullptr, r.output(node()));
  const int decides = r.output(pred);
  const int a = first ? r.recipe(first) : made, b = second ? r.recipe(second) : made;
  return r.make<ChoiceRecipe>(this, decides, a, b);
}

void set_node(Context& c, TensorValue* t, Val node) {
  if (!c.written_in_arm(t)) c.touch(t);
  c.undoable([t, old = t->last] { t->last = old; });
  t->last = node;
}

void assign_tensor(Context& c, const V& t, const V& value, bool shared) {
  auto* tensor = as<TensorValue>(t);
  if (!tensor) c.give_up(Reason::kRaises, "assignment to what is no Tensor");
  const Val old = c.scope_->val(tensor->node()),
            v = materialize(c.scope_->graph(), operand_of(c, value), old.dtype());
  OP_CHECK(v.shape() == old.shape(), kValue, "[assign] a tensor of shape ", old.shape().str(),
           " cannot take a value of shape ", v.shape().str());
  shared ? set_shared(c, tensor, v) : set_alone(c, tensor, v);
}

}  // namespace pijit
