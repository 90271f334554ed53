// Python values that capture does not fix: numbers that follow from sizes that vary (kSize: known
// whenever the graph is built), and numbers and texts that are read and change from call to call
// (kVarying). What Python computes from the latter is computed anew before each run, as a source
// like any other; where an op needs a number, it becomes an input of the graph with a Python
// scalar's weak dtype. What needs the value itself at capture fixes it, under a guard.
#include <cmath>

#include "capture/context.h"
#include "capture/graph_numbers.h"
#include "capture/values.h"
#include "graph/vals.h"

namespace pijit {
namespace {

py::object python_number(Number n) {
  if (n.index()) return py::float_(std::get<double>(n));
  return py::int_(std::get<int64_t>(n));
}
std::optional<Number> constant_number(const V& v) {
  if (v->kind != Value::kConst || PyBool_Check(v->obj.ptr())) return std::nullopt;
  if (PyFloat_Check(v->obj.ptr())) return PyFloat_AS_DOUBLE(v->obj.ptr());
  if (!PyLong_CheckExact(v->obj.ptr())) return std::nullopt;
  int overflow = 0;
  const int64_t i = PyLong_AsLongLongAndOverflow(v->obj.ptr(), &overflow);
  if (overflow) return std::nullopt;
  return i;
}
// Of a size, or of a constant.
std::optional<SizeNumber> size_number(const V& v) {
  if (v->kind == Value::kSize) return v->expr;
  const auto n = constant_number(v);
  if (!n) return std::nullopt;
  if (n->index()) return Real(std::get<double>(*n));
  return Dim(std::get<int64_t>(*n));
}
std::optional<int64_t> constant_integer(const V& v) {
  const auto n = constant_number(v);
  return n && !n->index() ? std::optional(std::get<int64_t>(*n)) : std::nullopt;
}

}  // namespace

// --- sizes

V Context::size_value(const SizeNumber& n) {
  if (!symbolic(n)) {
    if (n.index()) return constant(py::float_(std::get<Real>(n).value));
    return constant_int(std::get<Dim>(n));
  }
  auto* v = make<ConstantValue>();
  v->kind = Value::kSize;
  v->obj = python_number(symbols_.hint(n));
  v->expr = n;
  return v;
}

V Context::dim(const V& t, int axis) { return size_value(t->node.shape()[axis]); }

V Context::shape_of(const V& t) {
  std::vector<V> dims;
  for (int k = 0; k < t->node.shape().rank(); ++k) dims.push_back(dim(t, k));
  return sequence(Value::kTuple, dims);
}

V Context::element_count(const V& t, int64_t times) {
  return size_value(t->node.shape().numel() * times);
}

// --- values that vary

// Whether `o`, found at `src`, is read anew at each call: it varied before.
bool Context::is_varying(PyObject* o, int src) const {
  if (unstable(src)) return o != Py_None && !is_numpy_scalar(o);
  // what the instruction that broke the graph gave, the value of a Tensor as a rule
  const Source& s = sources_[src];
  if (s.kind == Source::kState && s.index >= start_.code->num_slots && PyFloat_CheckExact(o))
    return true;
  if (start_.varying.empty() ||
      (!PyFloat_CheckExact(o) && !PyLong_CheckExact(o) && !PyUnicode_CheckExact(o)))
    return false;
  return start_.varying.count(sources_[src].path) > 0;
}

V Context::varying(PyObject* o, int src) {
  if (auto made = varying_values_.find(src); made != varying_values_.end()) return made->second;
  const V v = varying_values_[src] = make<ConstantValue>();
  v->kind = Value::kVarying;
  v->src = src;
  v->obj = share(o);
  v->bound = 2147483648.0;
  guard(Guard::kExact, src, share(reinterpret_cast<PyObject*>(Py_TYPE(o))));
  return v;
}

// What stands for v here as an argument of a computed source; null where it cannot be one.
py::object Context::argument(const V& v) {
  const Nested nested(*this);
  if (sourced(v)) return v->obj;
  if (v->kind == Value::kConst && immutable_constant(v->obj.ptr()) &&
      !is_numpy_scalar(v->obj.ptr()))
    return v->obj;
  if (v->kind != Value::kTuple || type_of(v) != &PyTuple_Type) return {};
  py::tuple t(v->items.size());
  for (size_t k = 0; k < v->items.size(); ++k) {
    py::object x = v->items[k] ? argument(v->items[k]) : py::object();
    if (!x) return {};
    t[k] = x;
  }
  return t;
}

// Of a value that has an `argument`.
int Context::argument_source(const V& v) {
  if (v->kind != Value::kTuple) return source_of(v);
  Source s{Source::kPack};
  bool constant = true;
  for (auto& x : v->items) {
    s.args.push_back(argument_source(x));
    constant &= sources_[s.args.back()].kind == Source::kConst;
  }
  if (!constant) return add_source(std::move(s));
  const py::object o = argument(v);
  held_.push_back(o);  // sources are told apart by the addresses of their keys
  return add_source({Source::kConst, -1, 0, o});
}

// What a function of C without effects gives, computed anew before each run. Null: it is not known
// to be of a kind that may vary, or raises here.
V Context::computed(PyObject* f, const std::vector<V>& args) {
  std::vector<py::object> held;
  std::vector<PyObject*> raw;
  for (auto& a : args) {
    held.push_back(argument(a));
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
  for (auto& a : args) s.args.push_back(argument_source(a));
  const int src = add_source(std::move(s));
  return varies ? varying(o, src) : wrap(o, src);
}

// A question whose answer the code takes into account.
bool Context::decided(bool outcome, Source s) {
  const int src = add_source(std::move(s));
  if (unstable(src)) give_up(Reason::kUnstable, describe_source(sources_, src, *start_.code));
  guard(Guard::kEquals, src, py::bool_(outcome));
  return outcome;
}

// --- both

// Makes the value a constant, under a guard.
void Context::fix(const V& v) {
  if (v->kind == Value::kSize) {
    const Number n = symbols_.hint(v->expr);
    symbols_.decide(v->expr, "eq",
                    n.index() ? SizeNumber(Real(std::get<double>(n))) : Dim(std::get<int64_t>(n)));
  } else if (v->kind == Value::kVarying) {
    if (v->src < 0) give_up(Reason::kTensorValue, "the value of a number that a tensor decided");
    if (unstable(v->src))
      give_up(Reason::kUnstable, describe_source(sources_, v->src, *start_.code));
    const size_t known = guards_.size();
    guard(Guard::kEquals, v->src, v->obj);
    // Code that is left to CPython after all does not depend on the value.
    if (guards_.size() > known)
      undoable([this, src = v->src, value = v->obj.ptr()] {
        const auto is = [&](const Guard& g) {
          return g.kind == Guard::kEquals && g.src == src && g.obj.ptr() == value;
        };
        guards_.erase(std::find_if(guards_.begin(), guards_.end(), is));
        guard_index_.erase({Guard::kEquals, src, 0, value});
      });
  } else {
    return;
  }
  undoable([v, kind = v->kind] { v->kind = kind; });
  v->kind = Value::kConst;
}

// The input of the graph that a number is; none where it is too large: it is fixed then.
bool Context::number_input(const V& v) {
  if (v->node) return true;
  PyObject* o = v->obj.ptr();
  if (PyBool_Check(o)) {
    fix(v);
    return false;
  }
  if (PyLong_Check(o)) {
    int overflow = 0;
    const int64_t i = PyLong_AsLongLongAndOverflow(o, &overflow);
    if (overflow || !small_int(i)) {
      fix(v);
      return false;
    }
  }
  guard(Guard::kNumber, v->src, share(reinterpret_cast<PyObject*>(Py_TYPE(o))));
  v->node = add_input({PyFloat_Check(o) ? DType::F64 : DType::I64, Shape{}}, v->src, 0);
  return true;
}

// A tensor or number as an operand of an op in a scope.
Operand Context::operand(const V& v, Scope& s) {
  if (v->kind == Value::kTensor) return Operand(s.val(v->node));
  if (v->kind == Value::kVarying && is_number(v) && number_input(v)) {
    Operand o = Operand::weak_value(s.val(v->node));
    if (is_bool(v->node.dtype())) o.kind = Operand::kPyBool;
    return o;
  }
  if (v->kind == Value::kSize)
    return v->expr.index() ? Operand::py_float(std::get<Real>(v->expr))
                           : Operand::py_int(std::get<Dim>(v->expr));
  if (v->kind == Value::kConst) {
    PyObject* o = v->obj.ptr();
    if (PyBool_Check(o)) return Operand::py_bool(o == Py_True);
    if (PyLong_Check(o)) {
      auto i = as_int(v);
      if (!i) give_up(Reason::kRaises, "integer too large");
      return Operand::py_int(*i);
    }
    if (PyFloat_Check(o)) return Operand::py_float(PyFloat_AS_DOUBLE(o));
    if (is_numpy_scalar(o)) {
      const ArrayRef a = array_on(array_from(o, std::nullopt), {});
      uint64_t bits = 0;
      __builtin_memcpy(&bits, a->data, size_of(a->type.dtype));
      return Operand(s.graph().constant(a->type.dtype, bits));
    }
  }
  give_up(Reason::kUnsupportedOperand, str_cat(type_of(v)->tp_name, " as an operand of an op"));
}

// A constant as the Python object that it is, with symbolic_object for the ints in it that vary.
// Floats and numbers passed in are fixed. Null: not a constant.
std::optional<py::object> Context::object_with_sizes(const V& v) {
  if (v->kind == Value::kSize && v->expr.index() == 0)
    return symbolic_object(std::get<Dim>(v->expr));
  if (!as<SliceValue>(v) && !as<TupleValue>(v) && !as<ListValue>(v)) return as_constant(v);
  const Nested nested(*this);
  py::list l;
  for (auto& x : v->parts(*this)) {
    auto part = object_with_sizes(x);
    if (!part) return std::nullopt;
    l.append(*part);
  }
  if (as<TupleValue>(v)) return py::tuple(l);
  if (as<ListValue>(v)) return l;
  return py::reinterpret_steal<py::object>(
      PySlice_New(py::object(l[0]).ptr(), py::object(l[1]).ptr(), py::object(l[2]).ptr()));
}

// A size, or a container with one in it.
bool Context::holds_size(const V& v) {
  if (v->kind == Value::kSize) return true;
  const Nested nested(*this);
  if (as<SliceValue>(v)) {
    for (auto& x : v->parts(*this))
      if (holds_size(x)) return true;
    return false;
  }
  for (auto& x : is_sequence(v) ? v->items : std::vector<V>())  // of those that were read
    if (x && holds_size(x)) return true;
  return false;
}

// Only what holds for all of a loop's numbers is asked of them: where they lie in the axis, and how
// long a slice is.
std::optional<IndexItem> Context::varying_index(const V& v, const Dim& size) {
  auto integer = [](const V& x) { return sourced(x) && PyLong_CheckExact(x->obj.ptr()); };
  auto none = [](const V& x) { return x->kind == Value::kConst && x->obj.is_none(); };
  auto is = [&](const V& x, CompareOp op, int64_t n) {
    const auto r = unfixed_relation(op, x, constant_int(n));
    return r && *r;
  };
  auto hint = [](const V& x) {
    int overflow = 0;
    const int64_t i = PyLong_AsLongLongAndOverflow(x->obj.ptr(), &overflow);
    return overflow || !small_int(i) ? std::optional<int64_t>() : i;
  };
  const auto* slice = as<SliceValue>(v);
  if (size.symbolic() || !integer(slice ? slice->start : v)) return std::nullopt;
  const int64_t n = size;
  Builder& g = scope_->graph();
  IndexItem item{IndexItem::kTake};
  V start = slice ? slice->start : v;
  const auto from = hint(start);
  if (!from || !n) return std::nullopt;
  if (!slice) {
    if (*from >= n || *from < -n) return std::nullopt;
    if (is(start, CompareOp::kLt, 0)) {
      if (is(start, CompareOp::kLt, -n)) return std::nullopt;
      start = unfixed_arithmetic(BinaryOp::kAdd, start, constant_int(n));
    } else if (is(start, CompareOp::kGe, n)) {
      return std::nullopt;
    }
    if (!start || !sourced(start) || !number_input(start)) return std::nullopt;
    item.kept = false;
    item.tensor = v_reshape(scope_->val(start->node), Shape{1});
    return item;
  }
  const auto step = none(slice->step) ? std::optional<int64_t>(1) : constant_integer(slice->step);
  V stop = slice->stop;
  if (none(stop)) stop = constant_int(n);
  if (step != 1 || !(integer(stop) || constant_integer(stop)) || !hint(stop)) return std::nullopt;
  if (*from < 0 || *hint(stop) < 0 || std::min(*hint(stop), n) <= *from) return std::nullopt;
  if (is(start, CompareOp::kLt, 0)) return std::nullopt;
  if (integer(stop) ? is(stop, CompareOp::kGt, n) : *hint(stop) > n) stop = constant_int(n);
  const V length = unfixed_arithmetic(BinaryOp::kSub, stop, start);
  if (!length || !hint(length)) return std::nullopt;
  const int64_t places = *hint(length);
  fix(length);
  if (!number_input(start)) return std::nullopt;
  const Val first = v_reshape(scope_->val(start->node), Shape{1});
  item.tensor =
      v_broadcast(first, Shape{places}) + g.op("arange", {}, {0.0, 1.0, Dim(places), DType::I64});
  return item;
}

V Context::unfixed_arithmetic(BinaryOp op, const V& a, const V& b) {
  if (sourced(a) || sourced(b)) {
    if ((op == BinaryOp::kPow || op == BinaryOp::kLshift) &&
        PyLong_Check(b->obj ? b->obj.ptr() : Py_None) &&
        std::abs(PyLong_AsDouble(b->obj.ptr())) > 4096)
      return nullptr;  // no astronomically large numbers
    if (V r = computed(original(facts(op).function), {a, b})) return r;
  }
  auto number = [this](const V& v) {
    return v->kind == Value::kSize ||
           (v->kind == Value::kVarying && !PyBool_Check(v->obj.ptr()) && is_number(v)) ||
           constant_number(v).has_value();
  };
  if (!number(a) || !number(b)) return nullptr;
  if (a->kind != Value::kVarying && b->kind != Value::kVarying) {
    try {
      return size_value(size_arithmetic(facts(op).name, *size_number(a), *size_number(b)));
    } catch (const Misfit&) {
      return nullptr;
    }
  }
  auto real = [](const V& v) { return PyFloat_Check(v->obj.ptr()) != 0; };
  auto bound = [&](const V& v) {
    if (v->kind == Value::kVarying) return v->bound;
    if (v->kind == Value::kSize) return kExactInt;
    const Number n = *constant_number(v);
    return n.index() ? 0.0 : std::abs(static_cast<double>(std::get<int64_t>(n)));
  };
  const bool is_real = real(a) || real(b) || op == BinaryOp::kTrueDiv;
  double limit = 0;
  if (op == BinaryOp::kAdd || op == BinaryOp::kSub) {
    limit = bound(a) + bound(b);
  } else if (op == BinaryOp::kMul) {
    limit = bound(a) * bound(b);
  } else {
    const auto divisor = constant_number(b);
    if (!divisor || *divisor == Number(int64_t{0}) || *divisor == Number(0.0)) return nullptr;
    if (op == BinaryOp::kFloorDiv || op == BinaryOp::kMod) {
      if (is_real) return nullptr;
      limit = std::max(bound(a), bound(b));
    } else if (op != BinaryOp::kTrueDiv) {
      return nullptr;
    }
  }
  for (auto& v : {a, b})
    if (!real(v) && bound(v) > kExactInt) return nullptr;
  if (!is_real && limit > kExactInt) return nullptr;
  py::object hint;
  try {
    hint = py::reinterpret_borrow<py::object>(original(facts(op).function))(a->obj, b->obj);
  } catch (py::error_already_set&) {
    return nullptr;
  }
  const DType t = is_real ? DType::F64 : DType::I64;
  auto* r = make<ConstantValue>();
  r->kind = Value::kVarying;
  r->obj = hint;
  r->bound = is_real ? 0 : limit;
  Graph& g = scope_->graph();
  r->node = g.Builder::op(
      tensor_operator(op),
      std::vector<Val>{materialize(g, operand(a), t), materialize(g, operand(b), t)}, {});
  return r;
}

V Context::unfixed_negation(const V& x) {
  if (sourced(x)) return computed(original("neg"), {x});
  if (!PyFloat_Check(x->obj.ptr())) return unfixed_arithmetic(BinaryOp::kSub, constant_int(0), x);
  if (x->kind == Value::kSize) return nullptr;
  auto* r = make<ConstantValue>();  // 0.0 - x would lose the sign of zero
  r->kind = Value::kVarying;
  r->bound = x->bound;
  r->obj = py::float_(-PyFloat_AS_DOUBLE(x->obj.ptr()));
  r->node = scope_->graph().op("neg", {scope_->val(x->node)});
  return r;
}

std::optional<bool> Context::unfixed_relation(CompareOp op, const V& a, const V& b) {
  auto size = [](const V& v) { return v->kind == Value::kSize; };
  const auto ca = constant_number(a), cb = constant_number(b);
  if ((size(a) || ca) && (size(b) || cb) && (size(a) || size(b))) {
    try {
      return symbols_.decide(*size_number(a), facts(op).name, *size_number(b));
    } catch (const Misfit&) {
      return std::nullopt;
    }
  }
  if (!sourced(a) && !sourced(b)) return std::nullopt;
  auto plain = [](const V& v) {
    return v->kind == Value::kConst && immutable_constant(v->obj.ptr());
  };
  const py::object x = argument(a), y = argument(b);
  if (!x || !y) return std::nullopt;
  // NaN is not equal to itself, so no question of identity comes first
  const auto answer = py::reinterpret_steal<py::object>(
      PyObject_RichCompare(x.ptr(), y.ptr(), static_cast<int>(op)));
  const int r = answer ? PyObject_IsTrue(answer.ptr()) : -1;
  if (r < 0) {
    PyErr_Clear();
    return std::nullopt;
  }
  if (plain(a) || plain(b)) {
    const V &n = plain(a) ? b : a, &c = plain(a) ? a : b;
    if (unstable(n->src)) fix(n);  // gives up
    const CompareOp relation = plain(a) ? facts(op).mirrored : op;
    guard(Guard::kRelation, n->src, c->obj,
          static_cast<uint64_t>(static_cast<int>(relation) * 2 + r));
  } else {
    decided(r, {Source::kComputed,
                -1,
                0,
                share(original(facts(op).name)),
                -1,
                {argument_source(a), argument_source(b)}});
  }
  return r == 1;
}

}  // namespace pijit
