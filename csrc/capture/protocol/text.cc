// Texts: PyObject_Str and PyObject_Repr.
#include "capture/context.h"
#include "capture/protocol/protocol.h"
#include "capture/values.h"

namespace pijit::protocol {

std::optional<V> text(Context& c, const V& v, const char* name) {
  if (v->kind == Value::kException) return exception_text(c, v, name);
  if (v->kind == Value::kTensor) return std::nullopt;
  if (auto o = c.as_constant(v, Ask::kText)) {
    if (is_numpy_scalar(o->ptr())) return std::nullopt;  // as np.set_printoptions has it
    PyObject* s = name == std::string("__str__") ? PyObject_Str(o->ptr()) : PyObject_Repr(o->ptr());
    if (!s) c.raise(py::error_already_set());
    return c.constant(py::reinterpret_steal<py::object>(s));
  }
  if (PyObject* f = user_method(c, v, name)) {
    const V r = c.call(c.wrap_static(f), {v}, {});
    if (!is_text(r)) c.give_up(Reason::kRaises, str_cat(name, " gives no text"));
    return r;
  }
  if (name == std::string("__str__") && v->type()->tp_str == PyBaseObject_Type.tp_str)
    if (PyObject* f = user_method(c, v, "__repr__")) {
      const V r = c.call(c.wrap_static(f), {v}, {});
      if (is_text(r)) return r;
    }
  return std::nullopt;
}

}  // namespace pijit::protocol
