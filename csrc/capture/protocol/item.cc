// Items and lengths: PyObject_GetItem and its kind, PyObject_Size, PySequence_Contains.
#include "capture/context.h"
#include "capture/protocol/protocol.h"
#include "capture/values.h"

namespace pijit::protocol {

V length(Context& c, const V& v) {
  PyTypeObject* t = v->type();
  const bool sequence = t->tp_as_sequence && t->tp_as_sequence->sq_length;
  if (!sequence && !(t->tp_as_mapping && t->tp_as_mapping->mp_length))
    raise_type_error(c, str_cat("object of type '", t->tp_name, "' has no len()"));
  return v->length(c);
}

std::optional<bool> contains(Context& c, const V& box, const V& x) {
  if (PyObject* f = user_method(c, box, "__contains__"))
    return truth(c, call(c, c.wrap_static(f), {box, x}, {}));
  return box->contains(c, x);
}

V getitem(Context& c, const V& x, const V& index) {
  PyTypeObject* t = x->type();
  const bool sequence = t->tp_as_sequence && t->tp_as_sequence->sq_item;
  const bool mapping = t->tp_as_mapping && t->tp_as_mapping->mp_subscript;
  if (!sequence && !mapping && !PyType_IsSubtype(t, &PyType_Type))
    raise_type_error(c, str_cat("'", t->tp_name, "' object is not subscriptable"));
  return x->getitem(c, index);
}

namespace {
// Neither mp_ass_subscript nor sq_ass_item.
bool items_stay(PyTypeObject* t) {
  return !(t->tp_as_mapping && t->tp_as_mapping->mp_ass_subscript) &&
         !(t->tp_as_sequence && t->tp_as_sequence->sq_ass_item);
}
}  // namespace

void setitem(Context& c, const V& x, const V& index, const V& value) {
  if (items_stay(x->type()))
    raise_type_error(c,
                     str_cat("'", x->type()->tp_name, "' object does not support item assignment"));
  x->setitem(c, index, value);
}

void delitem(Context& c, const V& x, const V& index) {
  PyTypeObject* t = x->type();
  if (items_stay(t)) {
    const bool by_index = index->type()->tp_as_number && index->type()->tp_as_number->nb_index &&
                          t->tp_as_sequence;  // PySequence_DelItem
    raise_type_error(c, str_cat("'", t->tp_name, "' object ", by_index ? "doesn't" : "does not",
                                " support item deletion"));
  }
  x->delitem(c, index);
}

}  // namespace pijit::protocol
