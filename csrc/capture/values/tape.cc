#include "capture/values/tape.h"

#include "capture/context.h"
#include "capture/rebuilder.h"
#include "capture/values/function.h"

namespace pijit {

PyTypeObject* tape_type() {
  static PyObject* t = py::object(py::module_::import("pijit._C").attr("Tape")).release().ptr();
  return reinterpret_cast<PyTypeObject*>(t);
}

PyTypeObject* TapeValue::type() const { return tape_type(); }

std::optional<V> TapeValue::getattr(Context& c, PyObject* name) {
  PyObject* found = type_lookup(type(), name);
  if (!found) return std::nullopt;
  return c.make<MethodValue>(this, c.wrap_static(found));
}

int TapeValue::rebuild(Rebuilder& r) { r.context().give_up(Reason::kRebuild, "a tape"); }

}  // namespace pijit
