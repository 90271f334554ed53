#include "capture/values/scalar.h"

#include "capture/context.h"
#include "capture/control_flow/merge.h"
#include "capture/protocol/protocol.h"
#include "capture/rebuilder.h"
#include "capture/values/dict.h"
#include "capture/values/iterator.h"
#include "capture/values/ndarray.h"
#include "capture/values/sequence.h"
#include "capture/values/slice.h"
#include "capture/values/tensor.h"
#include "graph/vals.h"

namespace pijit {
namespace {

struct NumberRecipe final : Recipe {
  explicit NumberRecipe(int output) : output(output) {}
  py::object make(Runner& r) const override {
    const ArrayRef here = array_on(r.output(output), {});
    const Array& a = *here;
    if (a.type.dtype == DType::F64) return py::float_(*static_cast<const double*>(a.data()));
    if (a.type.dtype == DType::Bool) return py::bool_(*static_cast<const bool*>(a.data()));
    return py::int_(*static_cast<const int64_t*>(a.data()));
  }
  std::string describe() const override { return str_cat("number ", output); }

  int output;
};

py::object python_number(Number n) {
  if (n.index()) return py::float_(std::get<double>(n));
  return py::int_(std::get<int64_t>(n));
}

struct SizeRecipe final : Recipe {
  explicit SizeRecipe(int size) : size(size) {}
  py::object make(Runner& r) const override { return python_number(r.size(size)); }
  std::string describe() const override { return str_cat("size ", size); }

  int size;
};

// An input of the graph holds them exactly, and what few operations make of them.
bool fits_input(PyObject* i) {
  int overflow = 0;
  const int64_t n = PyLong_AsLongLongAndOverflow(i, &overflow);
  return !overflow && small_int(n);
}

// A symbol for the number that is this input of the graph, or for its negative (`axis`, as in
// Entry::dynamic), which is not below 0.
Dim input_size(Context& c, Val input, int axis, int64_t now) {
  const auto& inputs = c.graph_->inputs();
  const auto at = std::find(inputs.begin(), inputs.end(), input.id) - inputs.begin();
  const std::pair symbol(static_cast<int>(at), axis);
  for (size_t k = 0; k < c.dynamic_.size(); ++k)
    if (c.dynamic_[k] == symbol) return c.symbols_.at(k);
  c.dynamic_.push_back(symbol);
  return c.symbols_.symbol(now);
}

}  // namespace

PyTypeObject* ScalarValue::type() const { return Py_TYPE(obj.ptr()); }

std::optional<py::object> ScalarValue::object(Context& c, Ask) {
  fix(c);
  return obj;
}

Val ScalarValue::node() const {
  if (auto* s = state<Input>()) return s->node;
  if (auto* s = state<Computed>()) return s->node;
  return {};
}

std::optional<bool> ScalarValue::truth(Context& c) {
  if (state<Computed>()) return std::nullopt;
  if (varies(this)) {
    if (is_number(this)) {
      if (auto r = scalar_relation(c, CompareOp::kNe, this, c.constant_int(0))) return r;
    } else if (V r = at_each_run(c, original("truth"), {this})) {
      return protocol::truth(c, r);
    }
    fix(c);
  }
  if (obj.ptr() == Py_NotImplemented)  // which warns each time
    c.give_up(Reason::kUnsupportedOperand, "truth value of NotImplemented");
  return PyObject_IsTrue(obj.ptr()) == 1;
}

V ScalarValue::length(Context& c) {
  if (state<Input>())
    if (V r = at_each_run(c, original("len"), {this})) return r;
  if (!state<Known>()) return Value::length(c);
  const Py_ssize_t n = PyObject_Size(obj.ptr());
  if (n < 0) c.raise(py::error_already_set());
  return c.constant_int(n);
}

V ScalarValue::getitem(Context& c, const V& index) {
  if (state<Size>()) return Value::getitem(c, index);
  if (state<Input>() || is_input(index))
    if (V r = at_each_run(c, original("getitem"), {this, index})) return r;
  return protocol::on_constants(c, "getitem", {this, index});
}

std::optional<bool> ScalarValue::contains(Context& c, const V& x) {
  if (state<Input>() || (is_input(x) && state<Known>()))
    if (const V r = at_each_run(c, original("contains"), {this, x})) return protocol::truth(c, r);
  return Value::contains(c, x);
}

bool ScalarValue::iterable() const {
  return state<Known>() && (PyRange_Check(obj.ptr()) || PyUnicode_Check(obj.ptr()));
}

V ScalarValue::iter(Context& c) {
  if (state<Known>() && PyRange_Check(obj.ptr())) return c.make<RangeIterator>(obj);
  if (!state<Known>() || !PyUnicode_Check(obj.ptr())) return Value::iter(c);
  std::vector<V> chars;
  for (auto x : py::cast<py::list>(py::list(obj)))
    chars.push_back(c.constant(py::reinterpret_borrow<py::object>(x)));
  return c.make<SequenceIterator>(as<TupleValue>(c.tuple(chars)), this);
}

std::optional<V> ScalarValue::getattr(Context& c, PyObject* name) {
  PyObject* found = type_lookup(type(), name);
  if (state<Input>() && found && Py_TYPE(found) == &PyMethodDescr_Type)
    return protocol::bind(c, c.wrap_static(found), this, type());
  fix(c);
  if (!found) return std::nullopt;
  if (Py_TYPE(found) == &PyMethodDescr_Type || PyFunction_Check(found))
    return protocol::bind(c, c.wrap_static(found), this, type());
  PyObject* r = PyObject_GetAttr(obj.ptr(), name);
  if (!r) throw py::error_already_set();
  return c.wrap_static(py::reinterpret_steal<py::object>(r).ptr());
}

V ScalarValue::merge(Merge& m, const V& other) {
  if (is_known(this) && is_known(other) && equal_constants(obj.ptr(), other->obj.ptr()))
    return this;
  const bool numbers = plain_number(this) && plain_number(other) && type() == other->type();
  return numbers ? m.number(this, other) : m.differ();
}

int ScalarValue::rebuild(Rebuilder& r) {
  if (state<Known>()) return r.make<ConstantRecipe>(this, obj);
  if (auto* s = state<Size>()) return r.make<SizeRecipe>(this, r.size(s->expr));
  return r.make<NumberRecipe>(this, r.output(node()));
}

bool ScalarValue::is_operand() const {
  return PyLong_Check(obj.ptr()) || PyFloat_Check(obj.ptr()) ||
         (state<Known>() && is_numpy_scalar(obj.ptr()));
}

// Methods of numbers and texts run for real: they have no effects.
std::optional<V> ScalarValue::method(Context& c, const std::string& name, std::vector<V>& args,
                                     Kwargs& kwargs) {
  std::vector<V> all{this};
  all.insert(all.end(), args.begin(), args.end());
  if (name == "format" && !kwargs.empty() && type() == &PyUnicode_Type) {
    py::tuple names(kwargs.size());
    for (size_t k = 0; k < kwargs.size(); ++k) {
      names[k] = str_of(kwargs[k].first);
      all.push_back(kwargs[k].second);
    }
    return protocol::call_pure(c, polyfill("formatter")(names), all, {}, "format");
  }
  if (kwargs.empty() && (is_known(this) || is_input(this)) &&
      std::any_of(all.begin(), all.end(), is_input)) {
    PyObject* method = type_lookup(type(), str_of(name).ptr());
    if (V r = method ? at_each_run(c, method, all) : nullptr) return r;
  }
  fix(c);
  const V r = protocol::call_constant_method(c, this, name, args, kwargs);
  return r ? std::optional(r) : std::nullopt;
}

V ScalarValue::unary(Context& c, UnaryOp op) {
  if (state<Known>()) return nullptr;
  if (op == UnaryOp::kPos) return this;
  if (op == UnaryOp::kNeg) return scalar_negation(c, this);
  if (op == UnaryOp::kInvert && state<Input>()) return at_each_run(c, original("invert"), {this});
  return nullptr;
}

V ScalarValue::arithmetic(Context& c, BinaryOp op, const V& other, const char* function) {
  if (varies(this) || varies(other)) {
    if (V r = scalar_arithmetic(c, op, this, other)) return r;
    fix(c);
    pijit::fix(c, other);
  }
  if (op == BinaryOp::kPow || op == BinaryOp::kLshift)  // no astronomically large numbers
    if (const auto y = as_int(c, other); y && std::abs(*y) > 4096 && !PyFloat_Check(obj.ptr()))
      c.give_up(Reason::kUnsupportedOperand, "large power");
  return protocol::on_constants(c, function, {this, other});
}

V ScalarValue::binary(Context& c, BinaryOp op, const V& other, Side side) {
  if (as<ScalarValue>(other))
    return side == Side::kLeft ? arithmetic(c, op, other, facts(op).function) : nullptr;
  if ((as<TensorValue>(other) && is_operand()) || as<NdarrayValue>(other))
    return nullptr;  // which does it
  if (varies(this)) {
    const V &a = side == Side::kLeft ? V(this) : other, &b = side == Side::kLeft ? other : V(this);
    if (V r = scalar_arithmetic(c, op, a, b)) return r;
    fix(c);
  }
  if (op != BinaryOp::kMod || side != Side::kLeft || !PyUnicode_CheckExact(obj.ptr()))
    return nullptr;
  // text % values
  if (as<TupleValue>(other)) {
    auto is_new = [](const V& x) { return x && is_input(x); };
    if (std::any_of(items_in(other).begin(), items_in(other).end(), is_new))
      if (V r = at_each_run(c, original("mod"), {this, other})) return r;
    return protocol::on_constants(c, "mod", {this, other});
  }
  auto* dict = as<DictValue>(other);
  if (!dict || !dict->plain()) return nullptr;
  std::vector<V> args{this};
  py::tuple keys(dict->keys.size());
  for (size_t k = 0; k < dict->keys.size(); ++k) {
    args.push_back(dict->item(c, k));
    keys[k] = dict->keys[k];
  }
  return protocol::call_pure(c, polyfill("percent")(keys), args, {}, "%");
}

V ScalarValue::in_place(Context& c, BinaryOp op, const V& other) {
  if (!as<ScalarValue>(other)) return nullptr;
  // an error names the operator that was written
  return arithmetic(c, op, other, str_cat("i", facts(op).name).c_str());
}

V ScalarValue::compare(Context& c, CompareOp op, const V& other, Side side) {
  const bool scalars = as<ScalarValue>(other);
  if (as<TensorValue>(other) || as<NdarrayValue>(other) || (scalars && side == Side::kRight))
    return nullptr;
  if (varies(this) || varies(other)) {
    const V &a = side == Side::kLeft ? V(this) : other, &b = side == Side::kLeft ? other : V(this);
    if (auto r = scalar_relation(c, op, a, b)) return c.constant(py::bool_(*r));
    if (V r = graph_relation(c, op, a, b)) return r;
    fix(c);
    pijit::fix(c, other);
  }
  return scalars ? protocol::on_constants(c, facts(op).name, {this, other}) : nullptr;
}

bool ScalarValue::declines_comparison(const V& other) const {
  return declines_binary(other) || PyUnicode_Check(obj.ptr());
}

// But for text % anything.
bool ScalarValue::declines_binary(const V&) const {
  return obj.is_none() || PyLong_Check(obj.ptr()) || PyFloat_Check(obj.ptr());
}

Operand ScalarValue::operand(Context& c, Scope& s) {
  PyObject* o = obj.ptr();
  if ((state<Input>() || state<Computed>()) && is_number(this) && make_input(c)) {
    Operand x = Operand::weak_value(s.val(node()));
    if (is_bool(node().dtype())) x.kind = Operand::kPyBool;
    return x;
  }
  if (auto* size = state<Size>())
    return size->expr.index() ? Operand::py_float(std::get<Real>(size->expr))
                              : Operand::py_int(std::get<Dim>(size->expr));
  if (state<Known>()) {
    if (PyBool_Check(o)) return Operand::py_bool(o == Py_True);
    if (PyLong_Check(o)) {
      auto i = as_int(c, this);
      if (!i) c.give_up(Reason::kRaises, "integer too large");
      return Operand::py_int(*i);
    }
    if (PyFloat_Check(o)) return Operand::py_float(PyFloat_AS_DOUBLE(o));
    if (is_numpy_scalar(o)) {
      const ArrayRef a = array_on(array_from(o, std::nullopt), {});
      uint64_t bits = 0;
      __builtin_memcpy(&bits, a->data(), size_of(a->type.dtype));
      return Operand(s.graph().constant(a->type.dtype, bits));
    }
  }
  return Value::operand(c, s);
}

void ScalarValue::fix(Context& c) {
  if (auto* size = state<Size>()) {
    const Number n = c.symbols_.hint(size->expr);
    c.symbols_.decide(
        size->expr, "eq",
        n.index() ? SizeNumber(Real(std::get<double>(n))) : Dim(std::get<int64_t>(n)));
  } else if (state<Computed>()) {
    c.give_up(Reason::kTensorValue, "the value of a number that a tensor decided");
  } else if (state<Input>()) {
    if (c.unstable(src))
      c.give_up(Reason::kUnstable, describe_source(c.sources_, src, *c.start_.code));
    const size_t known = c.guards_.size();
    c.guard(Guard::kEquals, src, obj);
    // Code that is left to CPython after all does not depend on the value.
    if (c.guards_.size() > known)
      c.undoable([&c, src = src, value = obj.ptr()] {
        const auto is = [&](const Guard& g) {
          return g.kind == Guard::kEquals && g.src == src && g.obj.ptr() == value;
        };
        c.guards_.erase(std::find_if(c.guards_.begin(), c.guards_.end(), is));
        c.guard_index_.erase({Guard::kEquals, src, 0, value});
      });
  } else {
    return;
  }
  c.undoable([this, before = state_] { state_ = before; });
  state_ = Known{};
}

bool ScalarValue::make_input(Context& c) {
  if (node()) return true;
  PyObject* o = obj.ptr();
  if (PyBool_Check(o) || (PyLong_Check(o) && !fits_input(o))) {
    fix(c);
    return false;
  }
  c.guard(Guard::kNumber, src, share(reinterpret_cast<PyObject*>(Py_TYPE(o))));
  const DType t = PyFloat_Check(o) ? DType::F64 : DType::I64;
  std::get<Input>(state_).node = c.add_input({t, Shape{}}, src, 0);
  return true;
}

bool ScalarValue::may_be_size() const {
  if (!PyLong_CheckExact(obj.ptr())) return false;
  const auto* computed = state<Computed>();
  if (!computed) return true;
  return computed->of && as<ScalarValue>(computed->of->a)->may_be_size() &&
         as<ScalarValue>(computed->of->b)->may_be_size();
}

bool ScalarValue::make_size(Context& c) {
  if (!may_be_size()) return false;
  if (!state<Input>() && !state<Computed>()) return true;
  V size;
  if (state<Computed>()) {
    const auto of = state<Computed>()->of;
    for (auto& x : {of->a, of->b})
      if (!as<ScalarValue>(x)->make_size(c)) return false;
    size = scalar_arithmetic(c, of->op, of->a, of->b);
  } else {
    if (c.unstable(src)) return false;
    const auto below = scalar_relation(c, CompareOp::kLt, this, c.constant_int(0));
    if (!below || !make_input(c)) return false;
    const int64_t now = PyLong_AsLongLong(obj.ptr());
    size = size_value(c, *below ? -input_size(c, node(), Entry::kNegated, -now)
                                : input_size(c, node(), Entry::kNumber, now));
  }
  if (!size || !is_size(size)) return false;
  c.undoable([this, before = state_] { state_ = before; });
  state_ = *state_of<Size>(size);
  return true;
}

bool plain_number(const V& v) {
  if (!as<ScalarValue>(v)) return false;
  PyObject* o = v->obj.ptr();
  return PyFloat_CheckExact(o) || PyLong_CheckExact(o) || PyBool_Check(o);
}

DType number_dtype(const V& v) {
  PyObject* o = v->obj.ptr();
  return PyFloat_Check(o) ? DType::F64 : PyBool_Check(o) ? DType::Bool : DType::I64;
}

double magnitude(const V& v) {
  if (auto* s = state_of<ScalarValue::Computed>(v)) return s->bound;
  if (is_input(v)) return kSmallInt;
  return PyFloat_Check(v->obj.ptr()) ? 0 : std::abs(PyLong_AsDouble(v->obj.ptr()));
}

bool is_number(const V& v) {
  return as<ScalarValue>(v) && (PyLong_Check(v->obj.ptr()) || PyFloat_Check(v->obj.ptr()));
}

std::optional<int64_t> as_int(Context& c, const V& v) {
  if (!as<ScalarValue>(v) || !PyLong_Check(v->obj.ptr())) return std::nullopt;
  fix(c, v);
  int overflow = 0;
  const long long i = PyLong_AsLongLongAndOverflow(v->obj.ptr(), &overflow);
  if (overflow) return std::nullopt;
  return i;
}

// --- sizes

V size_value(Context& c, const SizeNumber& n) {
  if (symbolic(n))
    return c.make<ScalarValue>(python_number(c.symbols_.hint(n)), ScalarValue::Size{n});
  if (n.index()) return c.constant(py::float_(std::get<Real>(n).value));
  return c.constant_int(std::get<Dim>(n));
}

V dim(Context& c, const V& t, int axis) { return size_value(c, t->node().shape()[axis]); }

V shape_of(Context& c, const V& t) {
  std::vector<V> dims;
  for (int k = 0; k < t->node().shape().rank(); ++k) dims.push_back(dim(c, t, k));
  return c.tuple(dims);
}

V element_count(Context& c, const V& t, int64_t times) {
  return size_value(c, t->node().shape().numel() * times);
}

V source_length(Context& c, const V& x) {
  const py::object n = py::int_(PyObject_Size(x->obj.ptr()));
  return c.wrap(n.ptr(), c.add_source({Source::kLength, x->src, 0, {}}));
}

std::optional<py::object> object_with_sizes(Context& c, const V& v) {
  const auto* size = state_of<ScalarValue::Size>(v);
  if (size && size->expr.index() == 0) return symbolic_object(std::get<Dim>(size->expr));
  if (!as<SliceValue>(v) && !as<TupleValue>(v) && !as<ListValue>(v)) return as_constant(c, v);
  const Context::Nested nested(c);
  py::list l;
  for (auto& x : v->parts(c)) {
    auto part = object_with_sizes(c, x);
    if (!part) return std::nullopt;
    l.append(*part);
  }
  if (as<TupleValue>(v)) return py::tuple(l);
  if (as<ListValue>(v)) return l;
  return py::reinterpret_steal<py::object>(
      PySlice_New(py::object(l[0]).ptr(), py::object(l[1]).ptr(), py::object(l[2]).ptr()));
}

bool holds_size(Context& c, const V& v) {
  if (is_size(v)) return true;
  const Context::Nested nested(c);
  if (as<SliceValue>(v)) {
    for (auto& x : v->parts(c))
      if (holds_size(c, x)) return true;
    return false;
  }
  for (auto& x : is_sequence(v) ? items_in(v) : std::vector<V>())  // of those that were read
    if (x && holds_size(c, x)) return true;
  return false;
}

// --- inputs

bool is_dynamic(Context& c, PyObject* o, int src) {
  if (c.unstable(src)) return o != Py_None && !is_numpy_scalar(o);
  // what the instruction that broke the graph gave, the value of a Tensor as a rule
  const Source& s = c.sources_[src];
  if (s.kind == Source::kState && s.index >= c.start_.code->num_slots && PyFloat_CheckExact(o))
    return true;
  if (c.start_.dynamic.empty() ||
      (!PyFloat_CheckExact(o) && !PyLong_CheckExact(o) && !PyUnicode_CheckExact(o)))
    return false;
  return c.start_.dynamic.count(c.sources_[src].path) > 0;
}

V input_at(Context& c, PyObject* o, int src) {
  if (auto made = c.dynamic_values_.find(src); made != c.dynamic_values_.end()) return made->second;
  const V v = c.dynamic_values_[src] = c.make<ScalarValue>(share(o), ScalarValue::Input{});
  v->src = src;
  c.guard(Guard::kExact, src, share(reinterpret_cast<PyObject*>(Py_TYPE(o))));
  return v;
}

py::object argument(Context& c, const V& v) {
  const Context::Nested nested(c);
  if (is_input(v)) return v->obj;
  if (is_known(v) && immutable_constant(v->obj.ptr()) && !is_numpy_scalar(v->obj.ptr()))
    return v->obj;
  if (!as<TupleValue>(v) || v->type() != &PyTuple_Type) return {};
  const auto& items = items_in(v);
  py::tuple t(items.size());
  for (size_t k = 0; k < items.size(); ++k) {
    py::object x = items[k] ? argument(c, items[k]) : py::object();
    if (!x) return {};
    t[k] = x;
  }
  return t;
}

int argument_source(Context& c, const V& v) {
  if (!as<TupleValue>(v)) return c.source_of(v);
  Source s{Source::kPack};
  bool constant = true;
  for (auto& x : items_in(v)) {
    s.args.push_back(argument_source(c, x));
    constant &= c.sources_[s.args.back()].kind == Source::kConst;
  }
  if (!constant) return c.add_source(std::move(s));
  const py::object o = argument(c, v);
  c.held_.push_back(o);  // sources are told apart by the addresses of their keys
  return c.add_source({Source::kConst, -1, 0, o});
}

V at_each_run(Context& c, PyObject* f, const std::vector<V>& args) {
  std::vector<py::object> held;
  std::vector<PyObject*> raw;
  for (auto& a : args) {
    held.push_back(argument(c, a));
    if (!held.back()) return nullptr;
    raw.push_back(held.back().ptr());
  }
  const py::object r =
      py::reinterpret_steal<py::object>(PyObject_Vectorcall(f, raw.data(), raw.size(), nullptr));
  if (!r) {
    PyErr_Clear();
    return nullptr;
  }
  PyObject* o = r.ptr();
  const bool varies = PyLong_CheckExact(o) || PyFloat_CheckExact(o) || PyUnicode_CheckExact(o);
  if (!varies && !PyBool_Check(o) && o != Py_None) return nullptr;
  Source s{Source::kComputed, -1, 0, share(f)};
  for (auto& a : args) s.args.push_back(argument_source(c, a));
  const int src = c.add_source(std::move(s));
  return varies ? input_at(c, o, src) : c.wrap(o, src);
}

// --- numbers that the graph gives

V graph_number(Context& c, Val x, DType t) {
  if (c.mapped_serial_) c.give_up(Reason::kTensorValue, "a number in a mapped function");
  py::object one_of_type = t == DType::F64   ? py::object(py::float_(0.0))
                           : t == DType::I64 ? py::object(py::int_(0))
                                             : py::object(py::bool_(false));
  ScalarValue::Computed s;
  if (t != DType::F64) s.bound = std::ldexp(1.0, static_cast<int>(size_of(x.dtype())) * 8);
  const Val one = v_reshape(c.scope_->val(x), {});
  s.node = v_op("stop_gradient", one.dtype() == t ? one : v_cast(one, t));
  return c.make<ScalarValue>(std::move(one_of_type), s);
}

std::optional<int64_t> constant_integer(const V& x) {
  if (!as<TensorValue>(x)) return std::nullopt;
  const Val v = x->node();
  const Node& n = static_cast<const Graph*>(v.b)->node(v.id);
  const DType d = n.type.dtype;
  if (n.kind != Node::kConst || n.size || !is_int(d) || d == DType::U64) return std::nullopt;
  const size_t unused = 64 - 8 * size_of(d);
  const uint64_t high = n.bits << unused;
  return d == DType::U8 || d == DType::U16 || d == DType::U32
             ? static_cast<int64_t>(high >> unused)
             : static_cast<int64_t>(high) >> unused;
}

V number_of(Context& c, const V& x, PyTypeObject* type) {
  if (!as<TensorValue>(x) || c.mapped_serial_) return nullptr;
  const Val v = x->node();
  const DType d = v.dtype();
  const Dim n = v.shape().numel();
  if (n.symbolic() || !(n == Dim(1)) || is_complex(d) || d == DType::U64) return nullptr;
  const bool real = is_float(d);
  if (type == &PyFloat_Type || (!type && real)) return graph_number(c, v, DType::F64);
  if (real) return nullptr;  // int() may raise
  if (const auto known = constant_integer(x)) return c.constant_int(*known);
  return graph_number(c, v, !type && is_bool(d) ? DType::Bool : DType::I64);
}

bool undecided(const V& v) { return as<TensorValue>(v) || is_computed(v); }

Val truth_val(Context& c, const V& x, bool negated) {
  const Val v = v_reshape(c.scope_->val(x->node()), {});
  const Val t =
      is_bool(v.dtype()) ? v : v_op("not_equal", v, c.scope_->graph().constant_int(v.dtype(), 0));
  return negated ? v_op("logical_not", t) : t;
}

}  // namespace pijit
