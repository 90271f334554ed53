// Iteration: PyObject_GetIter, PyIter_Next, and all items at once.
#include "capture/context.h"
#include "capture/protocol/protocol.h"
#include "capture/values.h"

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
    V r = c.call(c.wrap_static(f), {x}, {});
    if (as<IteratorValue>(r)) return r;
    c.give_up(Reason::kUnsupportedIterable, x->type()->tp_name);
  }
  return x->iter(c);
}

bool next(Context& c, const V& v, V* value) {
  auto* it = as<IteratorValue>(v);
  if (it->dirty) c.give_up(Reason::kTensorValue, "an iterator that a branch on a tensor moves");
  if (!generator_of(it) && !c.written_in_arm(it)) c.check_effect(it);
  c.undoable([it, pos = it->pos] { it->pos = pos; });
  return it->next(c, value);
}

}  // namespace pijit::protocol
