// Unary and binary operators, as Objects/abstract.c has them.
#include <algorithm>

#include "capture/context.h"
#include "capture/protocol/operands.h"
#include "capture/protocol/protocol.h"
#include "capture/values/scalar.h"
#include "capture/values/tensor.h"
#include "python/compat.h"

namespace pijit::protocol {
namespace {

// The methods of classes in Python: as slot_nb_add and its kind reach them.
V ask_both(Context& c, BinaryOp op, const V& a, const V& b) {
  const auto& [method, reflected] = std::pair{facts(op).method, facts(op).reflected};
  const bool different = a->type() != b->type();
  // A class that has its own way comes before the one it is derived from.
  const bool derived =
      different && PyType_IsSubtype(b->type(), a->type()) &&
      type_lookup(b->type(), interned(reflected)) != type_lookup(a->type(), interned(reflected));
  return ask_in_turn(
      derived, [&] { return ask(c, a, method, b); }, [&] { return ask(c, b, reflected, a); },
      [&] { return different && (user_method(c, a, method) || a->declines_binary(b)); });
}

// Does `%` show its other operand, by what the class of that says of texts?
bool formats(PyTypeObject* type) {
  return PyType_HasFeature(type, Py_TPFLAGS_UNICODE_SUBCLASS | Py_TPFLAGS_BYTES_SUBCLASS) ||
         PyType_IsSubtype(type, &PyByteArray_Type);
}

V binary_op1(Context& c, BinaryOp op, const V& a, const V& b) {
  a->settle(c);
  b->settle(c);
  if (V r = ask_both(c, op, a, b)) return r;
  if (V n = a->base_number(c)) return for_class(c, [&] { return binary(c, op, n, b); });
  if (!(op == BinaryOp::kMod && formats(a->type())))
    if (V n = b->base_number(c)) return for_class(c, [&] { return binary(c, op, a, n); });
  if (V r = a->binary(c, op, b, Side::kLeft)) return r;
  return b->binary(c, op, a, Side::kRight);
}

// No slot answered.
[[noreturn]] void unsupported(Context& c, const char* function, const std::string& sign, const V& a,
                              const V& b) {
  raise_if_refused(c, original(function), {a, b});
  c.give_up(Reason::kUnsupportedOperand,
            str_cat(sign, " of ", a->type()->tp_name, " and ", b->type()->tp_name),
            (as<TensorValue>(a) || is_known(a) ? b : a)->type());
}

}  // namespace

void raise_if_refused(Context& c, PyObject* function, const std::vector<V>& args) {
  std::vector<py::object> held;
  std::vector<PyObject*> raw;
  for (auto& a : args) {
    held.push_back(a->stand_in(c));
    if (!held.back()) return;
    raw.push_back(held.back().ptr());
  }
  const auto result = py::reinterpret_steal<py::object>(
      PyObject_Vectorcall(function, raw.data(), raw.size(), nullptr));
  if (result) return;
  const py::error_already_set e;  // of types, not of values: those of the operands may be others
  if (!e.matches(PyExc_TypeError)) return;
  const std::string text = text_of(py::str(e.value()));
  if (std::any_of(args.begin(), args.end(), [](auto& a) { return as<TensorValue>(a); }))
    c.raise(PyExc_TypeError, text);  // it may tell shapes
  raise_type_error(c, text);
}

V on_constants(Context& c, const char* function, const std::vector<V>& args) {
  py::list l;
  std::optional<NumpyRaises> strict;
  for (auto& a : args) {
    const auto o = as_constant(c, a);
    if (!o) {
      raise_if_refused(c, original(function), args);
      c.give_up(Reason::kUnsupportedOperand, str_cat(function, " of ", a->type()->tp_name),
                a->type());
    }
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
  // each time it runs, at its line
  if (kInvertedBoolWarns && op == UnaryOp::kInvert && x->type() == &PyBool_Type)
    c.give_up(Reason::kUnsupportedOperand, "~ of bool");
  if (V n = x->base_number(c)) return for_class(c, [&] { return unary(c, op, n); });
  if (V r = x->unary(c, op)) return r;
  return on_constants(c, facts(op).function, {x});
}

V binary(Context& c, BinaryOp op, const V& a, const V& b) {
  if (V r = binary_op1(c, op, a, b)) return r;
  unsupported(c, facts(op).function, facts(op).sign, a, b);
}

V in_place(Context& c, BinaryOp op, const V& a, const V& b) {
  const std::string function = str_cat("i", facts(op).name), sign = str_cat(facts(op).sign, "=");
  if (V r = ask(c, a, facts(op).in_place, b)) return r;
  // += and *= of sequences come after the methods that numbers have
  const PySequenceMethods* s = a->type()->tp_as_sequence;
  const bool of_sequence = s && ((op == BinaryOp::kAdd && s->sq_inplace_concat) ||
                                 (op == BinaryOp::kMul && s->sq_inplace_repeat));
  if (of_sequence) {
    if (V r = ask_both(c, op, a, b)) return r;
    PyObject* reflected = type_lookup(b->type(), interned(facts(op).reflected));
    if (reflected && Py_TYPE(reflected) == &PyWrapperDescr_Type && !as<ScalarValue>(b))
      unsupported(c, function.c_str(), sign, a, b);
  }
  if (V r = a->in_place(c, op, b)) return r;
  if (V r = binary_op1(c, op, a, b)) return r;
  unsupported(c, function.c_str(), sign, a, b);
}

}  // namespace pijit::protocol
