#include "capture/values/exception.h"

#include "capture/context.h"
#include "capture/rebuilder.h"

namespace pijit {

PyTypeObject* ExceptionValue::type() const { return reinterpret_cast<PyTypeObject*>(obj.ptr()); }

std::optional<V> ExceptionValue::getattr(Context& c, PyObject* name) {
  return c.exception_attribute(this, name);
}

void ExceptionValue::setattr(Context& c, PyObject* name, const V& value) {
  c.set_exception_attribute(this, name, value);
}

void ExceptionValue::traverse(Visit visit) const {
  Value::traverse(visit);
  visit(args);
}

int ExceptionValue::rebuild(Rebuilder& r) {
  if (raised || dirty || !args)
    r.context().give_up(Reason::kRebuild, "an exception that was raised or changed");
  std::vector<int> given;
  for (auto& x : args->items) given.push_back(r.recipe(x));
  return r.make<CallRecipe>(this, obj, std::move(given));
}

}  // namespace pijit
