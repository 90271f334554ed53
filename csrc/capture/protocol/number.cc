// Unary and binary operators, as Objects/abstract.c has them.
#include "capture/context.h"
#include "capture/protocol/protocol.h"
#include "capture/values/scalar.h"
#include "capture/values/tensor.h"

namespace pijit::protocol {
namespace {

// What a method of the class in Python gives. Null: there is none, or it gives NotImplemented.
V ask(Context& c, const V& self, const char* method, const V& other) {
  PyObject* f = user_method(c, self, method);
  const V r = f ? call(c, c.wrap_static(f), {self, other}, {}) : nullptr;
  return r && is_known(r) && r->obj.ptr() == Py_NotImplemented ? V() : r;
}

// The methods of classes in Python: as slot_nb_add and its kind reach them.
V ask_both(Context& c, BinaryOp op, const V& a, const V& b) {
  const auto& [method, reflected] = std::pair{facts(op).method, facts(op).reflected};
  const bool different = a->type() != b->type();
  // A class that has its own way comes before the one it is derived from.
  const bool derived =
      different && PyType_IsSubtype(b->type(), a->type()) &&
      type_lookup(b->type(), interned(reflected)) != type_lookup(a->type(), interned(reflected));
  if (derived)
    if (V r = ask(c, b, reflected, a)) return r;
  if (V r = ask(c, a, method, b)) return r;
  if (different && !derived && (user_method(c, a, method) || a->declines_binary(b)))
    return ask(c, b, reflected, a);
  return nullptr;
}

V binary_op1(Context& c, BinaryOp op, const V& a, const V& b) {
  a->settle(c);
  b->settle(c);
  if (V r = ask_both(c, op, a, b)) return r;
  if (V n = a->base_number(c)) return binary_op1(c, op, n, b);
  if (V n = b->base_number(c)) return binary_op1(c, op, a, n);
  if (V r = a->binary(c, op, b, Side::kLeft)) return r;
  return b->binary(c, op, a, Side::kRight);
}

[[noreturn]] void unsupported(Context& c, const std::string& sign, const V& a, const V& b) {
  c.give_up(Reason::kUnsupportedOperand,
            str_cat(sign, " of ", a->type()->tp_name, " and ", b->type()->tp_name));
}

}  // namespace

V on_constants(Context& c, const char* function, const std::vector<V>& args) {
  py::list l;
  std::optional<NumpyRaises> strict;
  for (auto& a : args) {
    const auto o = as_constant(c, a);
    if (!o) c.give_up(Reason::kUnsupportedOperand, str_cat(function, " of ", a->type()->tp_name));
    if (is_numpy_scalar(o->ptr()) && !strict) strict.emplace();
    l.append(*o);
  }
  PyObject* r = PyObject_CallObject(original(function), py::tuple(l).ptr());
  if (!r) {
    py::error_already_set e;
    if (strict) c.give_up(Reason::kRaises, e.what());  // a warning, in truth
    c.raise(e);
  }
  const auto result = py::reinterpret_steal<py::object>(r);
  for (size_t k = 0; k < args.size(); ++k)  // x + 0 may be x itself
    if (py::object(l[k]).is(result)) return args[k];
  if (auto v = fresh(c, result)) return *v;
  c.give_up(Reason::kUnsupportedOperand, function);
}

V unary(Context& c, UnaryOp op, const V& x) {
  if (op == UnaryOp::kNot) {
    if (const auto t = truth(c, x)) return c.constant(py::bool_(!*t));
    if (undecided(x) && x->node().shape().numel() == 1)
      return graph_number(c, truth_val(c, x, true), DType::Bool);
    c.give_up(x->reason(Reason::kUnsupportedOperand), "not");
  }
  if (PyObject* f = user_method(c, x, facts(op).method)) return call(c, c.wrap_static(f), {x}, {});
  if (V n = x->base_number(c)) return unary(c, op, n);
  if (V r = x->unary(c, op)) return r;
  return on_constants(c, facts(op).function, {x});
}

V binary(Context& c, BinaryOp op, const V& a, const V& b) {
  if (V r = binary_op1(c, op, a, b)) return r;
  unsupported(c, facts(op).sign, a, b);
}

V in_place(Context& c, BinaryOp op, const V& a, const V& b) {
  if (V r = ask(c, a, facts(op).in_place, b)) return r;
  // += and *= of sequences come after the methods that numbers have
  const PySequenceMethods* s = a->type()->tp_as_sequence;
  const bool of_sequence = s && ((op == BinaryOp::kAdd && s->sq_inplace_concat) ||
                                 (op == BinaryOp::kMul && s->sq_inplace_repeat));
  if (of_sequence) {
    if (V r = ask_both(c, op, a, b)) return r;
    PyObject* reflected = type_lookup(b->type(), interned(facts(op).reflected));
    if (reflected && Py_TYPE(reflected) == &PyWrapperDescr_Type && !as<ScalarValue>(b))
      unsupported(c, str_cat(facts(op).sign, "="), a, b);
  }
  if (V r = a->in_place(c, op, b)) return r;
  if (V r = binary_op1(c, op, a, b)) return r;
  unsupported(c, str_cat(facts(op).sign, "="), a, b);
}

}  // namespace pijit::protocol
