// Iterators: what a loop gets from an object, one item at a time.
#include "capture/tracer.h"
#include "python/hook.h"

namespace pijit {
namespace {
constexpr int64_t kExhausted = -1;  // as a position: there it stays
}

V Tracer::get_iter(const V& x) {
  if (x->kind == Value::kIter) return x;
  if (PyObject* f = user_method(x, "__iter__")) {
    V r = call(wrap_static(f), {x}, {});
    if (r->kind == Value::kIter) return r;
    give_up(Reason::kUnsupportedIterable, type_of(x)->tp_name);
  }
  settle(x->kind == Value::kView ? x->items[0] : x);
  auto* it = make<IteratorValue>();
  if (x->kind == Value::kConst && PyRange_Check(x->obj.ptr())) {
    it->iter = Value::kRange;
    it->obj = x->obj;
    const Py_ssize_t n = PyObject_Size(x->obj.ptr());
    if (n < 0) PyErr_Clear();  // more than any loop gets through
    it->stop = n < 0 ? PY_SSIZE_T_MAX : n;
    return it;
  }
  if (x->kind == Value::kTuple || x->kind == Value::kList) {
    it->items = {x};
    return it;
  }
  if (x->kind == Value::kTensor) {
    if (x->node.shape().rank() == 0) give_up(Reason::kRaises, "iteration over a 0-d tensor");
    it->self = x;
    std::vector<V> rows;
    for (int64_t i = 0, n = *as_int(dim(x, 0)); i < n; ++i)
      rows.push_back(subscript(x, constant_int(i)));
    it->items = {sequence(Value::kTuple, rows)};
    return it;
  }
  if (x->kind == Value::kDict || x->kind == Value::kView) {
    it->watched = x->kind == Value::kDict ? x : x->items[0];
    it->view = x->kind == Value::kDict ? Value::kKeys : x->view;
    it->self = x;
    it->stop = static_cast<int64_t>(it->watched->keys.size());
    it->changes = it->watched->changes;
    return it;
  }
  if (x->kind == Value::kSet) {
    std::vector<V> out;
    for (auto o : elements(x)) out.push_back(wrap_static(o.ptr()));
    it->items = {sequence(Value::kTuple, out)};
    it->watched = it->self = x;
    it->stop = static_cast<int64_t>(x->keys.size());
    return it;
  }
  if (x->kind == Value::kConst && PyUnicode_Check(x->obj.ptr())) {
    std::vector<V> chars;
    for (auto c : py::cast<py::list>(py::list(x->obj)))
      chars.push_back(constant(py::reinterpret_borrow<py::object>(c)));
    it->self = x;
    it->items = {sequence(Value::kTuple, chars)};
    return it;
  }
  give_up(Reason::kUnsupportedIterable, type_of(x)->tp_name);
}

bool Tracer::resume_generator(const V& it, V* value) {
  if (!it->frame) return false;
  undoable([it, frame = it->frame, copy = *it->frame] {
    it->frame = frame;
    *frame = copy;
  });
  const auto frame = it->frame;  // a step may end it
  if (frames_.size() > 60 || stack_is_low()) give_up(Reason::kRecursion);
  const size_t depth = frames_.size();
  frames_.push_back(frame.get());
  try {
    while (true) {
      tick();
      try {
        step(*frame);
      } catch (const Raised& r) {
        throw GraphBreak{Reason::kRaises, describe(r), r.where};
      }
      if (returned_) {
        returned_ = false;
        frames_.pop_back();
        it->frame = nullptr;
        return false;
      }
      if (yielded_) {
        frames_.pop_back();
        *value = std::move(yielded_);
        yielded_ = nullptr;
        return true;
      }
    }
  } catch (...) {
    frames_.resize(depth);
    returned_ = false;
    yielded_ = nullptr;
    throw;
  }
}

bool Tracer::iterate(const V& it, V* value) {
  check_effect(it);
  undoable([it, pos = it->pos] { it->pos = pos; });
  switch (it->iter) {
    case Value::kRange:
      if (it->pos >= it->stop) return false;
      *value = constant(it->obj[py::int_(it->pos++)]);
      return true;
    case Value::kSequence: {
      if (it->pos == kExhausted) return false;
      const V d = it->watched;
      if (d && static_cast<int64_t>(d->keys.size()) != it->stop) {
        undoable([it, stop = it->stop] { it->stop = stop; });
        it->stop = -1;  // and so from now on
        const bool set = d->kind == Value::kSet;
        raise(PyExc_RuntimeError,
              {constant(py::str(set ? "Set changed size during iteration"
                                    : "dictionary changed size during iteration"))});
      }
      if (d && d->changes != it->changes)
        give_up(Reason::kUnsupportedIterable, "a dict that loses and gets keys");
      const size_t at = static_cast<size_t>(it->pos);
      if (at >= (it->items.empty() ? d->keys.size() : it->items[0]->items.size())) {
        it->pos = kExhausted;
        return false;
      }
      ++it->pos;
      if (!it->items.empty()) {
        *value = item(it->items[0], at);
        return true;
      }
      const V key = constant(d->keys[at]);
      *value = it->view == Value::kKeys     ? key
               : it->view == Value::kValues ? item(d, at)
                                            : sequence(Value::kTuple, {key, item(d, at)});
      return true;
    }
    case Value::kReversed: {
      const int64_t n = static_cast<int64_t>(it->items[0]->items.size());
      if (it->pos < 0 || it->pos >= n) {
        it->pos = -1;
        return false;
      }
      *value = item(it->items[0], static_cast<size_t>(it->pos--));
      return true;
    }
    case Value::kZip: {
      std::vector<V> parts;
      for (auto& sub : it->items) {
        V v;
        if (!iterate(sub, &v)) return false;
        parts.push_back(v);
      }
      if (parts.empty()) return false;
      *value = sequence(Value::kTuple, parts);
      return true;
    }
    case Value::kEnumerate: {
      V v;
      if (!iterate(it->items[0], &v)) return false;
      *value = sequence(Value::kTuple, {constant_int(it->pos++), v});
      return true;
    }
    case Value::kMap: {
      std::vector<V> args;
      for (size_t k = 1; k < it->items.size(); ++k) {
        V v;
        if (!iterate(it->items[k], &v)) return false;
        args.push_back(v);
      }
      *value = call(it->items[0], args, {});
      return true;
    }
    case Value::kGenerator:
      ++it->pos;  // it has started
      return resume_generator(it, value);
  }
  return false;
}

}  // namespace pijit
