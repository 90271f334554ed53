#include "capture/values/array.h"

#include <set>

#include "capture/context.h"
#include "capture/rebuilder.h"

namespace pijit {

PyTypeObject* ArrayValue::type() const { return Py_TYPE(obj.ptr()); }

std::optional<V> ArrayValue::getattr(Context& c, PyObject* name_obj) {
  const std::string name = text_of(name_obj);
  static const std::set<std::string> kFields = {"shape", "ndim",     "size",
                                                "dtype", "itemsize", "nbytes"};
  PyObject* found = type_lookup(type(), name_obj);
  if (found && Py_TYPE(found) == &PyMethodDescr_Type)
    return c.bind(c.wrap_static(found), this, type());
  if (kFields.count(name)) return c.wrap_static(py::object(obj.attr(name.c_str())).ptr());
  c.give_up(Reason::kUnsupportedAttribute, str_cat("ndarray.", name));
}

int ArrayValue::rebuild(Rebuilder& r) {
  const int own = r.make<ConstantRecipe>(nullptr, obj);
  return r.make<CallRecipe>(this, library.ndarray_copy.object(), std::vector<int>{own});
}

}  // namespace pijit
