#include "capture/values/tape.h"

#include "capture/context.h"
#include "capture/rebuilder.h"
#include "capture/values/function.h"
#include "python/library_object.h"

namespace pijit {

PyTypeObject* tape_type() {
  static constinit LibraryObject tape{"pijit._C", "Tape"};
  return tape.type();
}

PyTypeObject* TapeValue::type() const { return tape_type(); }

std::optional<V> TapeValue::getattr(Context& c, PyObject* name) {
  PyObject* found = type_lookup(type(), name);
  if (!found) return std::nullopt;
  return c.make<MethodValue>(this, c.wrap_static(found));
}

int TapeValue::rebuild(Rebuilder& r) { r.context().give_up(Reason::kRebuild, "a tape"); }

}  // namespace pijit
