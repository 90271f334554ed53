#include "capture/values/object.h"

#include "capture/context.h"
#include "capture/rebuilder.h"

namespace pijit {

PyTypeObject* ObjectValue::type() const { return Py_TYPE(obj.ptr()); }

void ObjectValue::guard_methods(Context& c) {
  if (static_object(obj.ptr())) c.guard_class(type());
}

bool ObjectValue::has_identity() const {
  PyObject* o = obj.ptr();
  return !PyFunction_Check(o) && !PyType_Check(o) && !PyModule_Check(o);
}

std::optional<py::object> ObjectValue::object(Context& c, Ask what) {
  if (!static_object(obj.ptr())) return std::nullopt;
  const Context::Nested nested(c);
  if (c.asks_user_code(type(), what)) return std::nullopt;
  return obj;
}

V ObjectValue::length(Context& c) {
  if (py::isinstance<py::array>(obj) && !c.user_method(this, "__len__")) {
    const Py_ssize_t n = PyObject_Size(obj.ptr());
    if (n < 0) c.raise(py::error_already_set());
    Source s{Source::kComputed, -1, 0, py::reinterpret_borrow<py::object>(original("len"))};
    s.args = {c.source_of(this)};
    return c.varying(py::int_(n).ptr(), c.add_source(std::move(s)));
  }
  return Value::length(c);
}

std::optional<bool> ObjectValue::contains(Context& c, const V& x) {
  if (!PyFrozenSet_CheckExact(obj.ptr())) return Value::contains(c, x);
  const auto o = c.as_constant(x);
  if (!o || is_nan(o->ptr())) return std::nullopt;
  if (src >= 0 && c.sources_[src].kind != Source::kConst) c.guard(Guard::kIs, src, obj);
  const int r = PySequence_Contains(obj.ptr(), o->ptr());
  if (r < 0) c.raise(py::error_already_set());
  return r == 1;
}

std::optional<V> ObjectValue::getattr(Context& c, PyObject* name) {
  return c.object_attribute(this, name);
}

void ObjectValue::setattr(Context& c, PyObject* name, const V& value) {
  PyObject* o = obj.ptr();
  if (PyModule_CheckExact(o) && !type_lookup(&PyModule_Type, name))
    return c.set_global(PyModule_GetDict(o), name, value);
  if (PyType_Check(o)) return c.set_class_attribute(this, name, value);
  if (PyModule_Check(o)) return Value::setattr(c, name, value);
  c.set_object_attribute(this, name, value);
}

int ObjectValue::rebuild(Rebuilder& r) {
  if (!obj) r.context().give_up(Reason::kRebuild, "object");
  return r.make<ConstantRecipe>(this, obj);
}

}  // namespace pijit
