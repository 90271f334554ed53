#include "capture/values/tape.h"

#include "capture/context.h"
#include "capture/rebuilder.h"
#include "capture/values/function.h"

namespace pijit {

PyTypeObject* tape_type() { return library.tape.type(); }

PyTypeObject* TapeValue::type() const { return tape_type(); }

std::optional<V> TapeValue::getattr(Context& c, PyObject* name) {
  PyObject* found = type_lookup(type(), name);
  if (!found) return std::nullopt;
  return c.make<MethodValue>(this, c.wrap_static(found));
}

void TapeValue::traverse(Visit visit) const {
  for (auto& x : tape.customs) visit(x.backward);
  for (auto& x : tape.hooks) visit(x.function);
}

int TapeValue::rebuild(Rebuilder& r) { r.context().give_up(Reason::kRebuild, "a tape"); }

}  // namespace pijit
