#include "capture/values/host_array.h"

#include "capture/context.h"
#include "capture/rebuilder.h"

namespace pijit {

PyTypeObject* HostArrayValue::type() const {
  static PyObject* const t =
      py::object(py::module_::import("numpy").attr("ndarray")).release().ptr();
  return reinterpret_cast<PyTypeObject*>(t);
}

std::optional<V> HostArrayValue::getattr(Context& c, PyObject* name) {
  return c.builtin_attribute(this, name);
}

int HostArrayValue::rebuild(Rebuilder& r) {
  const auto copy =
      py::reinterpret_borrow<py::object>(type_lookup(tensor_type, interned("asnumpy")));
  const int whole = r.recipe(r.context().tensor(node));
  return r.make<CallRecipe>(this, copy, std::vector<int>{whole});
}

}  // namespace pijit
