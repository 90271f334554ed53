#include "capture/values/super.h"

#include "capture/context.h"
#include "capture/protocol/protocol.h"
#include "capture/rebuilder.h"
#include "capture/values/object.h"

namespace pijit {

PyTypeObject* SuperValue::type() const { return &PySuper_Type; }

std::optional<V> SuperValue::getattr(Context& c, PyObject* name) {
  // of a class: what comes behind in its own order, as for an object of it
  auto* own = as<ObjectValue>(self) && PyType_Check(self->obj.ptr())
                  ? reinterpret_cast<PyTypeObject*>(self->obj.ptr())
                  : nullptr;
  const bool of_class =
      own && PyType_IsSubtype(own, reinterpret_cast<PyTypeObject*>(cls->obj.ptr()));
  if (of_class) c.guard_class(own);
  PyObject* const mro = mro_of(of_class ? own : self->type());
  bool behind = false;
  for (Py_ssize_t k = 0; k < PyTuple_GET_SIZE(mro); ++k) {
    PyObject* base = PyTuple_GET_ITEM(mro, k);
    const auto d =
        py::reinterpret_steal<py::object>(type_dict(reinterpret_cast<PyTypeObject*>(base)));
    if (behind && d)
      if (PyObject* x = c.found_in(d.ptr(), name)) {
        const bool function = PyFunction_Check(x) || Py_TYPE(x) == jit_function_type;
        if (of_class && (function || Py_TYPE(x) == &PyProperty_Type)) return c.wrap_static(x);
        return protocol::bind(c, c.wrap_static(x), self, of_class ? own : self->type());
      }
    behind |= base == cls->obj.ptr();
  }
  c.give_up(Reason::kUnsupportedAttribute, str_cat("super().", text_of(name)));
}

void SuperValue::traverse(Visit visit) const {
  visit(cls);
  visit(self);
}

int SuperValue::rebuild(Rebuilder& r) { r.context().give_up(Reason::kRebuild, "super()"); }

}  // namespace pijit
