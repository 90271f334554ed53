// Python numbers that capture does not fix: those that follow from sizes that vary (kSize: known
// whenever the graph is built), and those that are passed in and change from call to call
// (kNumber: inputs of the graph, with a Python scalar's weak dtype). What needs such a number's
// value at capture fixes it, under a guard.
#include <cmath>

#include "capture/tracer.h"
#include "graph/vals.h"

namespace pijit {
namespace {

py::object share(PyObject* o) { return py::reinterpret_borrow<py::object>(o); }
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
constexpr double kExactInt = 9007199254740992.0;  // 2^53

}  // namespace

// --- actions

std::vector<Val> Tracer::record_all(std::function<std::vector<Val>(Scope&)> f) {
  scope_->starts.push_back(static_cast<uint32_t>(scope_->graph().size()));
  Action a;
  a.results = f(*scope_);
  a.run = std::move(f);
  actions_->push_back(std::move(a));
  return actions_->back().results;
}
Val Tracer::record(std::function<Val(Scope&)> f) {
  return record_all([f = std::move(f)](Scope& s) { return std::vector<Val>{f(s)}; })[0];
}

// --- sizes

V Tracer::size_value(SizeExpr e) {
  auto v = std::make_shared<Value>();
  v->kind = Value::kSize;
  v->obj = python_number(e(*scope_));
  v->expr = std::move(e);
  return v;
}

V Tracer::dim(const V& t, int axis) {
  const Val n = t->node;
  if (!sizes_vary_) return constant_int(n.shape()[axis]);
  for (size_t k = 0; k < input_source_.size(); ++k)  // an input whose dim does not vary
    if (n.b == graph_.get() && graph_->inputs()[k] == n.id) {
      auto& d = varying_dims_[k];
      if (!(d >> axis & 1)) return constant_int(n.shape()[axis]);
    }
  return size_value([n, axis](Scope& s) -> Number { return s.val(n).shape()[axis]; });
}

V Tracer::shape_of(const V& t) {
  std::vector<V> dims;
  for (int k = 0; k < t->node.shape().rank(); ++k) dims.push_back(dim(t, k));
  return sequence(Value::kTuple, dims);
}

V Tracer::element_count(const V& t, int64_t times) {
  const Val n = t->node;
  if (!sizes_vary_) return constant_int(n.shape().numel() * times);
  return size_value([n, times](Scope& s) -> Number { return s.val(n).shape().numel() * times; });
}

// --- numbers passed in

V Tracer::number_input(PyObject* o, int src) {
  auto it = numbers_.find(src);
  if (it != numbers_.end()) return it->second;
  auto v = std::make_shared<Value>();
  v->kind = Value::kNumber;
  v->src = src;
  v->obj = share(o);
  v->bound = 2147483648.0;
  v->roots = {src};
  guard(Guard::kNumber, src, share(reinterpret_cast<PyObject*>(Py_TYPE(o))));
  v->node = add_input({PyFloat_Check(o) ? DType::F64 : DType::I64, Shape{}}, src, 0);
  return numbers_[src] = v;
}

// Whether `o`, found at `src`, is to be an input: its value varied before.
bool Tracer::is_varying_number(PyObject* o, int src) {
  if (start_.varying.empty() || (!PyFloat_CheckExact(o) && !PyLong_CheckExact(o))) return false;
  if (!start_.varying.count(describe_source(sources_, src, *start_.code))) return false;
  if (PyFloat_CheckExact(o)) return true;
  int overflow = 0;
  const int64_t i = PyLong_AsLongLongAndOverflow(o, &overflow);
  return !overflow && small_int(i);
}

// --- both

// Makes the number a constant, under a guard.
void Tracer::fix(const V& v) {
  if (v->kind == Value::kSize) {
    const py::object value = v->obj;
    const Number n = PyFloat_Check(value.ptr()) ? Number(PyFloat_AS_DOUBLE(value.ptr()))
                                                : Number(py::cast<int64_t>(value));
    record_all([e = v->expr, n](Scope& s) -> std::vector<Val> {
      if (e(s) != n) throw Misfit{};
      return {};
    });
  } else if (v->kind == Value::kNumber) {
    for (int src : v->roots)
      if (src < 0) give_up(Reason::kTensorValue, "the value of a number that a tensor decided");
    for (int src : v->roots) guard(Guard::kEquals, src, numbers_.at(src)->obj);
  } else {
    return;
  }
  undoable([v, kind = v->kind] { v->kind = kind; });
  v->kind = Value::kConst;
}

// The number as an operand of an op: a function of the scope.
DeferredOperand Tracer::operand(const V& v) {
  if (v->kind == Value::kTensor) return [n = v->node](Scope& s) { return Operand(s.val(n)); };
  if (v->kind == Value::kNumber)
    return [n = v->node](Scope& s) { return Operand::weak_value(s.val(n)); };
  if (v->kind == Value::kSize)
    return [e = v->expr](Scope& s) {
      const Number n = e(s);
      return n.index() ? Operand::py_float(std::get<double>(n))
                       : Operand::py_int(std::get<int64_t>(n));
    };
  if (v->kind == Value::kConst) {
    PyObject* o = v->obj.ptr();
    Operand r;
    if (PyBool_Check(o)) {
      r = Operand::py_bool(o == Py_True);
    } else if (PyLong_Check(o)) {
      auto i = as_int(v);
      if (!i) give_up(Reason::kRaises, "integer too large");
      r = Operand::py_int(*i);
    } else if (PyFloat_Check(o)) {
      r = Operand::py_float(PyFloat_AS_DOUBLE(o));
    } else if (is_numpy_scalar(o)) {
      const ArrayRef a = array_from(o, std::nullopt);
      uint64_t bits = 0;
      __builtin_memcpy(&bits, a->data, size_of(a->type.dtype));
      return [t = a->type.dtype, bits](Scope& s) { return Operand(s.graph().constant(t, bits)); };
    } else if (o != Py_None) {
      give_up(Reason::kUnsupportedOperand, str_cat(type_of(v)->tp_name, " as an operand of an op"));
    }
    return [r](Scope&) { return r; };
  }
  give_up(Reason::kUnsupportedOperand, str_cat(type_of(v)->tp_name, " as an operand of an op"));
}

// A constant, possibly with sizes in it, as the Python object that it is in a scope; numbers passed
// in are fixed. Null: not a constant.
std::function<py::object(Scope&)> Tracer::deferred_object(const V& v) {
  if (v->kind == Value::kSize) return [e = v->expr](Scope& s) { return python_number(e(s)); };
  if (v->kind == Value::kTuple || v->kind == Value::kList || v->kind == Value::kSlice) {
    std::vector<std::function<py::object(Scope&)>> parts;
    for (size_t k = 0; k < v->items.size(); ++k) {
      parts.push_back(deferred_object(v->kind == Value::kSlice ? v->items[k] : item(v, k)));
      if (!parts.back()) return nullptr;
    }
    return [parts, kind = v->kind](Scope& s) -> py::object {
      py::list l;
      for (auto& p : parts) l.append(p(s));
      if (kind == Value::kTuple) return py::tuple(l);
      if (kind == Value::kList) return l;
      return py::reinterpret_steal<py::object>(
          PySlice_New(py::object(l[0]).ptr(), py::object(l[1]).ptr(), py::object(l[2]).ptr()));
    };
  }
  auto c = as_constant(v);
  if (!c) return nullptr;
  return [o = *c](Scope&) { return o; };
}

// A size, or a container with one in it.
bool Tracer::holds_size(const V& v) {
  if (v->kind == Value::kSize) return true;
  if (v->kind == Value::kTuple || v->kind == Value::kList || v->kind == Value::kSlice)
    for (auto& x : v->items)
      if (x && holds_size(x)) return true;
  return false;
}

V Tracer::unfixed_arithmetic(const std::string& op, const V& a, const V& b) {
  auto number = [](const V& v) {
    return v->kind == Value::kSize || v->kind == Value::kNumber || constant_number(v).has_value();
  };
  if (!number(a) || !number(b)) return nullptr;
  auto expr = [](const V& v) -> SizeExpr {
    if (v->kind == Value::kSize) return v->expr;
    return [n = *constant_number(v)](Scope&) { return n; };
  };
  if (a->kind != Value::kNumber && b->kind != Value::kNumber) {
    try {
      return size_value(
          [op, x = expr(a), y = expr(b)](Scope& s) { return number_arithmetic(op, x(s), y(s)); });
    } catch (const Misfit&) {
      return nullptr;
    }
  }
  auto real = [](const V& v) { return PyFloat_Check(v->obj.ptr()) != 0; };
  auto bound = [&](const V& v) {
    if (v->kind == Value::kNumber) return v->bound;
    if (v->kind == Value::kSize) return kExactInt;
    const Number n = *constant_number(v);
    return n.index() ? 0.0 : std::abs(static_cast<double>(std::get<int64_t>(n)));
  };
  const bool is_real = real(a) || real(b) || op == "truediv";
  double limit = 0;
  if (op == "add" || op == "sub") {
    limit = bound(a) + bound(b);
  } else if (op == "mul") {
    limit = bound(a) * bound(b);
  } else {
    const auto divisor = constant_number(b);
    if (!divisor || *divisor == Number(int64_t{0}) || *divisor == Number(0.0)) return nullptr;
    if (op == "floordiv" || op == "mod") {
      if (is_real) return nullptr;
      limit = std::max(bound(a), bound(b));
    } else if (op != "truediv") {
      return nullptr;
    }
  }
  for (auto& v : {a, b})
    if (!real(v) && bound(v) > kExactInt) return nullptr;
  if (!is_real && limit > kExactInt) return nullptr;
  py::object hint;
  try {
    hint = py::module_::import("operator").attr(op.c_str())(a->obj, b->obj);
  } catch (py::error_already_set&) {
    return nullptr;
  }
  const DType t = is_real ? DType::F64 : DType::I64;
  auto r = std::make_shared<Value>();
  r->kind = Value::kNumber;
  r->obj = hint;
  r->bound = is_real ? 0 : limit;
  for (auto& v : {a, b}) r->roots.insert(r->roots.end(), v->roots.begin(), v->roots.end());
  r->node = record([op = binary_operator(op), t, x = operand(a), y = operand(b)](Scope& s) {
    return s.graph().Builder::op(
        *op, std::vector<Val>{materialize(s.graph(), x(s), t), materialize(s.graph(), y(s), t)},
        {});
  });
  return r;
}

V Tracer::unfixed_negation(const V& x) {
  if (!PyFloat_Check(x->obj.ptr())) return unfixed_arithmetic("sub", constant_int(0), x);
  if (x->kind == Value::kSize) return nullptr;
  auto r = std::make_shared<Value>(*x);  // 0.0 - x would lose the sign of zero
  r->src = -1;
  r->obj = py::float_(-PyFloat_AS_DOUBLE(x->obj.ptr()));
  r->node = record([n = x->node](Scope& s) { return s.graph().op("neg", {s.val(n)}); });
  return r;
}

std::optional<bool> Tracer::unfixed_relation(const std::string& op, const V& a, const V& b) {
  auto size = [](const V& v) { return v->kind == Value::kSize; };
  const auto ca = constant_number(a), cb = constant_number(b);
  if ((size(a) || ca) && (size(b) || cb) && (size(a) || size(b))) {
    auto expr = [](const V& v, std::optional<Number> c) -> SizeExpr {
      if (!c) return v->expr;
      return [n = *c](Scope&) { return n; };
    };
    const SizeExpr x = expr(a, ca), y = expr(b, cb);
    try {
      const bool r = number_relation(op, x(*scope_), y(*scope_));
      record_all([op, x, y, r](Scope& s) -> std::vector<Val> {
        if (number_relation(op, x(s), y(s)) != r) throw Misfit{};
        return {};
      });
      return r;
    } catch (const Misfit&) {
      return std::nullopt;
    }
  }
  static const char* names[] = {"lt", "le", "eq", "ne", "gt", "ge"};
  static const int mirrored[] = {Py_GT, Py_GE, Py_EQ, Py_NE, Py_LT, Py_LE};
  int code = 0;
  while (op != names[code]) ++code;
  const bool left = a->kind == Value::kNumber && a->src >= 0 && cb;
  const bool right = b->kind == Value::kNumber && b->src >= 0 && ca;
  if (!left && !right) return std::nullopt;
  const V& n = left ? a : b;
  const V& c = left ? b : a;
  if (right) code = mirrored[code];
  const int r = PyObject_RichCompareBool(n->obj.ptr(), c->obj.ptr(), code);
  guard(Guard::kRelation, n->src, c->obj, static_cast<uint64_t>(code * 2 + r));
  return r == 1;
}

}  // namespace pijit
