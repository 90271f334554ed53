// Items and lengths: PyObject_GetItem and its kind, PyObject_Size, PySequence_Contains.
#include "capture/context.h"
#include "capture/protocol/protocol.h"
#include "capture/values.h"

namespace pijit::protocol {

V length(Context& c, const V& v) { return v->length(c); }

std::optional<bool> contains(Context& c, const V& box, const V& x) {
  if (PyObject* f = user_method(c, box, "__contains__"))
    return truth(c, call(c, c.wrap_static(f), {box, x}, {}));
  return box->contains(c, x);
}

V getitem(Context& c, const V& x, const V& index) { return x->getitem(c, index); }

void delitem(Context& c, const V& x, const V& index) { x->delitem(c, index); }

void setitem(Context& c, const V& x, const V& index, const V& value) {
  x->setitem(c, index, value);
}

}  // namespace pijit::protocol
