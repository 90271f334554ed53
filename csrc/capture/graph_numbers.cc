// Numbers that the graph gives.
#include "capture/graph_numbers.h"

#include <cmath>

#include "capture/values.h"
#include "graph/vals.h"

namespace pijit {

V graph_number(Context& c, Val x, DType t) {
  if (c.mapped_serial_) c.give_up(Reason::kTensorValue, "a number in a mapped function");
  auto* v = c.make<ConstantValue>();
  v->kind = Value::kVarying;
  if (t == DType::F64)
    v->obj = py::float_(0.0);
  else if (t == DType::I64)
    v->obj = py::int_(0);
  else
    v->obj = py::bool_(false);
  if (t != DType::F64) v->bound = std::ldexp(1.0, static_cast<int>(size_of(x.dtype())) * 8);
  const Val one = v_reshape(c.scope_->val(x), {});
  v->node = v_op("stop_gradient", one.dtype() == t ? one : v_cast(one, t));
  return v;
}

Val truth_val(Context& c, const V& x, bool negated) {
  const Val v = v_reshape(c.scope_->val(x->node), {});
  const Val t =
      is_bool(v.dtype()) ? v : v_op("not_equal", v, c.scope_->graph().constant_int(v.dtype(), 0));
  return negated ? v_op("logical_not", t) : t;
}

V graph_relation(Context& c, CompareOp op, const V& a, const V& b) {
  if (!from_graph(a) && !from_graph(b)) return nullptr;
  auto real = [](const V& v) { return PyFloat_CheckExact(v->obj.ptr()); };
  for (auto& v : {a, b}) {
    const bool number = as<ConstantValue>(v) && (real(v) || PyLong_CheckExact(v->obj.ptr()));
    if (!number) return nullptr;
  }
  const DType t = real(a) || real(b) ? DType::F64 : DType::I64;
  for (auto& v : {a, b})  // an int and a float are compared by their exact values
    if (t == DType::F64 && !real(v)) {
      const double greatest = v->kind == Value::kVarying ? v->bound
                              : v->kind == Value::kSize  ? kExactInt
                                                         : std::abs(PyLong_AsDouble(v->obj.ptr()));
      if (PyErr_Occurred()) PyErr_Clear();
      if (!(greatest <= kExactInt)) return nullptr;
    }
  Graph& g = c.scope_->graph();
  const Val x = materialize(g, c.operand(a), t), y = materialize(g, c.operand(b), t);
  return graph_number(c, g.Builder::op(tensor_operator(op), std::vector<Val>{x, y}, {}),
                      DType::Bool);
}

V number_of(Tracer& t, const V& x, PyTypeObject* type) {
  if (x->kind != Value::kTensor || t.mapped_serial_) return nullptr;
  const DType d = x->node.dtype();
  const Dim n = x->node.shape().numel();
  if (n.symbolic() || !(n == Dim(1)) || is_complex(d) || d == DType::U64) return nullptr;
  const bool real = is_float(d);
  if (type == &PyFloat_Type || (!type && real)) return graph_number(t, x->node, DType::F64);
  if (real) return nullptr;  // int() may raise
  return graph_number(t, x->node, !type && is_bool(d) ? DType::Bool : DType::I64);
}

py::object polyfill(const char* name) { return python_module("pijit._polyfills").attr(name); }

}  // namespace pijit
