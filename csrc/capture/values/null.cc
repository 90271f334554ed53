#include "capture/values/null.h"

#include "capture/rebuilder.h"

namespace pijit {

PyTypeObject* NullValue::type() const { return Py_TYPE(Py_None); }

int NullValue::rebuild(Rebuilder& r) { return r.make<NullRecipe>(this); }

}  // namespace pijit
