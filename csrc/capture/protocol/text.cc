// Texts: PyObject_Str and PyObject_Repr.
#include "capture/context.h"
#include "capture/protocol/protocol.h"
#include "capture/values.h"

namespace pijit::protocol {

std::optional<V> text(Context& c, const V& v, const char* name) { return v->text(c, name); }

// By the constant that it is, or the methods that its class has in Python.
std::optional<V> slot_text(Context& c, const V& v, const char* name) {
  if (auto o = as_constant(c, v, Ask::kText)) {
    if (is_numpy_scalar(o->ptr())) return std::nullopt;  // as np.set_printoptions has it
    PyObject* s = name == std::string("__str__") ? PyObject_Str(o->ptr()) : PyObject_Repr(o->ptr());
    if (!s) c.raise(py::error_already_set());
    return c.constant(py::reinterpret_steal<py::object>(s));
  }
  if (PyObject* f = user_method(c, v, name)) {
    const V r = call(c, c.wrap_static(f), {v}, {});
    if (!is_text(r)) c.give_up(Reason::kRaises, str_cat(name, " gives no text"));
    return r;
  }
  if (name == std::string("__str__") && v->type()->tp_str == PyBaseObject_Type.tp_str)
    if (PyObject* f = user_method(c, v, "__repr__")) {
      const V r = call(c, c.wrap_static(f), {v}, {});
      if (is_text(r)) return r;
    }
  return std::nullopt;
}

V format(Context& c, V value, int conversion, V spec) {
  const V plain = c.constant(py::str(""));
  if (is_input(value) || (spec && is_input(spec))) {
    PyObject* const functions[] = {original("format"), reinterpret_cast<PyObject*>(&PyUnicode_Type),
                                   original("repr"), original("ascii")};
    V r = conversion ? at_each_run(c, functions[conversion], {value}) : value;
    if (r) r = at_each_run(c, functions[0], {r, spec ? spec : plain});
    if (r) return r;
  }
  const bool is_empty = !spec || (is_text(spec) && PyUnicode_GET_LENGTH(spec->obj.ptr()) == 0);
  if (conversion) {
    const auto t = text(c, value, conversion == 1 ? "__str__" : "__repr__");
    if (!t) c.give_up(Reason::kTensorValue, "formatting");
    value = *t;
    if (conversion == 3)
      value = c.constant(value->obj.attr("encode")("ascii", "backslashreplace").attr("decode")());
  } else if (!as_constant(c, value) && !as<TensorValue>(value)) {
    const bool of_object =
        type_lookup(value->type(), names.format) == type_lookup(&PyBaseObject_Type, names.format);
    if (is_empty && of_object) {
      if (const auto t = text(c, value, "__str__")) value = *t;
    } else if (PyObject* f = user_method(c, value, "__format__")) {
      value = call(c, c.wrap_static(f), {value, spec ? spec : plain}, {});
      if (!is_text(value)) c.give_up(Reason::kRaises, "__format__ gives no text");
      spec = nullptr;
    }
  }
  const auto x = as_constant(c, value), s = spec ? as_constant(c, spec) : py::object(py::str(""));
  if (!x || !s) c.give_up(Reason::kTensorValue, "formatting");
  const auto result = py::reinterpret_steal<py::object>(PyObject_Format(x->ptr(), s->ptr()));
  if (!result) c.raise(py::error_already_set());
  return x->is(result) ? value : c.constant(result);
}

}  // namespace pijit::protocol
