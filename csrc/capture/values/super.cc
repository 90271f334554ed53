#include "capture/values/super.h"

#include "capture/context.h"
#include "capture/recipe.h"

namespace pijit {

PyTypeObject* SuperValue::type() const { return &PySuper_Type; }

std::optional<V> SuperValue::getattr(Context& c, PyObject* name) {
  PyObject* mro = self->type()->tp_mro;
  bool behind = false;
  for (Py_ssize_t k = 0; k < PyTuple_GET_SIZE(mro); ++k) {
    PyObject* base = PyTuple_GET_ITEM(mro, k);
    const auto d =
        py::reinterpret_steal<py::object>(type_dict(reinterpret_cast<PyTypeObject*>(base)));
    if (behind && d)
      if (PyObject* x = PyDict_GetItemWithError(d.ptr(), name))
        return c.bind(c.wrap_static(x), self, self->type());
    behind |= base == cls->obj.ptr();
  }
  c.give_up(Reason::kUnsupportedAttribute, str_cat("super().", text_of(name)));
}

int SuperValue::rebuild(Rebuilder& r) { r.context().give_up(Reason::kRebuild, "super()"); }

}  // namespace pijit
