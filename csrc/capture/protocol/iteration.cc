// Iteration: PyObject_GetIter, PyIter_Next, and all items at once.
#include "capture/context.h"
#include "capture/protocol/protocol.h"
#include "capture/values.h"
#include "python/quirks.h"

namespace pijit::protocol {

std::optional<std::vector<V>> unpack(Context& c, const V& v) {
  if (as<ListValue>(v) || as<TupleValue>(v)) return v->parts(c);
  if (!v->iterable()) return std::nullopt;
  std::vector<V> out;
  V it = iter(c, v), x;
  while (next(c, it, &x)) {
    c.tick();
    out.push_back(x);
  }
  return out;
}

std::vector<V> items_of(Context& c, const V& v) {
  auto items = unpack(c, v);
  if (!items) c.give_up(Reason::kUnsupportedIterable, v->type()->tp_name);
  return *items;
}

V iter(Context& c, const V& x) {
  if (PyObject* f = user_method(c, x, "__iter__")) {
    V r = call(c, c.wrap_static(f), {x}, {});
    if (as<IteratorValue>(r)) return r;
    if (!has_next(r->type())) raise_type_error(c, no_iterator(x->type(), r->type()));
    c.give_up(Reason::kUnsupportedIterable, x->type()->tp_name);
  }
  PyTypeObject* t = x->type();
  const bool items = t->tp_as_sequence && t->tp_as_sequence->sq_item;
  if (!t->tp_iter && (!items || PyType_IsSubtype(t, &PyDict_Type)))
    raise_type_error(c, str_cat("'", t->tp_name, "' object is not iterable"));
  return x->iter(c);
}

bool has_next(PyTypeObject* t) {
  PyObject of_type{};  // PyIter_Check looks at nothing but the type
  Py_SET_TYPE(&of_type, t);
  return PyIter_Check(&of_type);
}

bool next(Context& c, const V& it, V* value) { return it->next(c, value); }

}  // namespace pijit::protocol
