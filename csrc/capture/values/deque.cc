#include "capture/values/deque.h"

#include <algorithm>

#include "capture/context.h"
#include "capture/kinds.h"
#include "capture/protocol/protocol.h"
#include "capture/rebuilder.h"
#include "capture/values/exact.h"
#include "capture/values/iterator.h"
#include "capture/values/scalar.h"
#include "python/quirks.h"

namespace pijit {
namespace {

const RegisteredKind kKindOfDeque({[](PyTypeObject* t) { return t == deque_type(); },
                                   empty_value<DequeValue>, DequeValue::construct});

// Ends with an error where the deque was changed meanwhile.
struct DequeIterator final : IteratorValue {
  explicit DequeIterator(DequeValue* of) : of(of), size(of->items.size()), changes(of->changes) {}
  PyTypeObject* type() const override { return library.deque_iterator.type(); }
  bool advance(Context& c, V* value) override {
    if (of->changes != changes)
      c.raise(PyExc_RuntimeError, {c.constant(py::str("deque mutated during iteration"))});
    if (static_cast<size_t>(pos) >= size) return false;
    *value = of->item(c, static_cast<size_t>(pos++));
    return true;
  }
  int rebuild(Rebuilder& r) override {
    if (pos > 0 || of->changes != changes) leave();
    const int whole = r.recipe(of);
    const auto iter = py::reinterpret_borrow<py::object>(original("iter"));
    return r.make<CallRecipe>(this, iter, std::vector<int>{whole});
  }

  DequeValue* of;
  size_t size;
  uint64_t changes;
};

}  // namespace

PyTypeObject* deque_type() { return library.deque.type(); }

PyTypeObject* DequeValue::type() const { return deque_type(); }

void DequeValue::from_outside(Context& c) {
  set_open(true);
  const V most = protocol::c_attribute(c, this, "maxlen");
  if (!most->obj.is_none()) maxlen = as_int(c, most).value_or(0);
}

void DequeValue::settle(Context& c) {
  if (!open_) return;
  GrowingSequence::settle(c);
  if (pending.empty()) return;
  const auto all = pending;
  c.undoable([this, all] { pending = all; });
  pending.clear();
  read_all(c);  // they change their places
  for (auto& [left, v] : all) {
    splice(c, left ? 0 : items.size(), 0, {v});
    trim(c, !left);
  }
}

void DequeValue::push(Context& c, const std::vector<V>& values, bool left) {
  c.check_effect(this);
  if (bounded() && open_) {
    c.undoable([this, n = pending.size()] { pending.resize(n); });
    for (auto& v : values) pending.push_back({left, v});
  } else if (left) {
    for (auto& v : values) {
      put(c, 0, v);
      trim(c, false);
    }
  } else if (!values.empty()) {
    if (open_) {
      c.undoable([this, n = items.size()] { items.resize(n); });
      items.insert(items.end(), values.begin(), values.end());
    } else {
      splice(c, items.size(), 0, values);
      trim(c, true);
    }
  }
  for (auto& v : values) log_call(c, left ? "appendleft" : "append", {v});
}

void DequeValue::empty(Context& c) {
  c.undoable([this, old = pending] { pending = old; });
  pending.clear();
  clear(c);
}

void DequeValue::trim(Context& c, bool left) {
  if (!bounded() || open_ || static_cast<int64_t>(items.size()) <= maxlen) return;
  read_all(c);  // they change their places
  const size_t excess = items.size() - static_cast<size_t>(maxlen);
  c.undoable([this, old = items] { items = old; });
  if (left)
    items.erase(items.begin(), items.begin() + static_cast<std::ptrdiff_t>(excess));
  else
    items.resize(static_cast<size_t>(maxlen));
}

std::optional<py::object> DequeValue::object(Context& c, Ask what) {
  const Context::Nested nested(c);
  py::list l;
  for (auto& x : parts(c)) {
    const auto o = as_constant(c, x, what);
    if (!o) return std::nullopt;
    l.append(*o);
  }
  const auto cls = py::reinterpret_borrow<py::object>(reinterpret_cast<PyObject*>(type()));
  return bounded() ? cls(l, maxlen) : cls(l);
}

std::optional<bool> DequeValue::truth(Context& c) {
  if (!bounded() || !open_) return GrowingSequence::truth(c);
  if (!pending.empty()) return maxlen > 0;
  if (outside.size() == 0) return GrowingSequence::truth(c);
  c.guard(Guard::kAtLeast, src, {}, 1);
  return true;
}

V DequeValue::length(Context& c) {
  if (!bounded() || !open_) return GrowingSequence::length(c);
  const V before = source_length(c, this);
  if (pending.empty()) return before;
  const V all = protocol::binary(c, BinaryOp::kAdd, before,
                                 c.constant_int(static_cast<int64_t>(pending.size())));
  const V most = c.constant_int(maxlen);
  return protocol::truth(c, protocol::compare(c, CompareOp::kLe, all, most)).value_or(false) ? all
                                                                                             : most;
}

V DequeValue::getitem(Context& c, const V& index) {
  const auto i = as_int(c, index);
  if (!i) c.give_up(Reason::kUnsupportedOperand, "subscript of deque");
  // what was just put at that end
  const size_t back = static_cast<size_t>(*i < 0 ? -*i : *i + 1);
  bool known = open_ && back <= pending.size() && static_cast<int64_t>(back) <= maxlen;
  for (size_t k = 0; known && k < back; ++k)
    known = pending[pending.size() - 1 - k].first == (*i >= 0);
  const V v = known ? pending[pending.size() - back].second : at(c, *i);
  if (!v) c.raise(PyExc_IndexError, {c.constant(py::str("deque index out of range"))});
  return v;
}

V DequeValue::iter(Context& c) {
  parts(c);  // what it holds now
  return c.make<DequeIterator>(this);
}

V DequeValue::with_parts(Context& c, std::vector<V> p) {
  auto* d = c.make<DequeValue>();
  d->items = std::move(p);
  d->maxlen = maxlen;
  return d;
}

// Of what is pending, what it surely holds still: the rest may have been pushed out at the other
// end, which its length tells.
void DequeValue::traverse(Visit visit) const {
  GrowingSequence::traverse(visit);
  int64_t held = 0;
  for (auto at = pending.rbegin(); at != pending.rend() && held < maxlen; ++at, ++held) {
    if (at->first != pending.back().first) break;
    visit(at->second);
  }
}

V DequeValue::in_place(Context& c, BinaryOp op, const V& other) {
  if (op != BinaryOp::kAdd) return nullptr;
  std::vector<V> args{other};
  Kwargs none;
  method(c, "extend", args, none);
  return this;
}

int DequeValue::rebuild(Rebuilder& r) {
  Context& c = r.context();
  std::vector<int> args{r.recipe(c.list(parts(c)))};
  if (bounded()) args.push_back(r.recipe(c.constant_int(maxlen)));
  const auto cls = py::reinterpret_borrow<py::object>(reinterpret_cast<PyObject*>(type()));
  return r.make<CallRecipe>(this, cls, std::move(args));
}

V DequeValue::construct(Context& c, PyTypeObject*, std::vector<V>& args, Kwargs& kwargs) {
  V most = args.size() > 1 ? args[1] : nullptr;
  for (auto& [name, v] : kwargs) {
    if (name != "maxlen" || most) return nullptr;
    most = v;
  }
  if (args.size() > 2) return nullptr;
  auto* d = c.make<DequeValue>();
  if (most && !is_none(most)) {
    const auto n = as_int(c, most);
    if (!n || *n < 0) return nullptr;
    d->maxlen = *n;
  }
  if (!args.empty()) d->items = protocol::items_of(c, args[0]);
  d->trim(c, true);
  return d;
}

// --- methods

namespace {
using Args = const std::vector<V>&;

V push(Context& c, DequeValue& d, const std::vector<V>& values, bool left) {
  d.push(c, values, left);
  return c.constant(py::none());
}
V append(Context& c, DequeValue& d, Args a) { return push(c, d, {a[0]}, false); }
// Item by item, as GrowingSequence::extend_by.
V push_each(Context& c, DequeValue& d, const V& from, bool left) {
  if (d.takes_at_once(from)) return push(c, d, protocol::items_of(c, from), left);
  protocol::each(c, from, [&](const V& x) { push(c, d, {x}, left); });
  return c.constant(py::none());
}
V extend(Context& c, DequeValue& d, Args a) { return push_each(c, d, a[0], false); }
V append_left(Context& c, DequeValue& d, Args a) { return push(c, d, {a[0]}, true); }
V extend_left(Context& c, DequeValue& d, Args a) { return push_each(c, d, a[0], true); }
V clear(Context& c, DequeValue& d, Args) {
  d.empty(c);
  return c.constant(py::none());
}
V pop(Context& c, DequeValue& d, int64_t i) {
  const V v = d.at(c, i);
  if (!v) c.raise(PyExc_IndexError, {c.constant(py::str("pop from an empty deque"))});
  d.erase(c, i);
  return v;
}
V pop_right(Context& c, DequeValue& d, Args) { return pop(c, d, -1); }
V pop_left(Context& c, DequeValue& d, Args) { return pop(c, d, 0); }
V rotate(Context& c, DequeValue& d, Args a) {
  const auto n = a.empty() ? std::optional<int64_t>(1) : as_int(c, a[0]);
  if (!n) c.give_up(Reason::kUnsupportedOperand, "deque.rotate");
  std::vector<V> all = d.parts(c);
  const int64_t size = static_cast<int64_t>(all.size());
  if (size > 1) {
    ++d.changes;  // wherever they come to stand
    c.undoable([&d] { --d.changes; });
    const int64_t by = ((*n % size) + size) % size;
    std::rotate(all.begin(), all.end() - by, all.end());
    d.replace(c, all);
  }
  d.log_method(c, "rotate", {c.constant_int(*n)});
  return c.constant(py::none());
}

V add_in_place(Context& c, DequeValue& d, const std::vector<V>& args) {
  push_each(c, d, args[0], false);
  return &d;
}

constexpr Method<DequeValue> kDequeMethods[] = {
    {"append", 1, 1, append},          {"extend", 1, 1, extend}, {"appendleft", 1, 1, append_left},
    {"extendleft", 1, 1, extend_left}, {"pop", 0, 0, pop_right}, {"popleft", 0, 0, pop_left},
    {"rotate", 0, 1, rotate},          {"clear", 0, 0, clear},
};
constexpr Method<DequeValue> kInPlace[] = {{"__iadd__", 1, 1, add_in_place}};
}  // namespace

std::optional<V> DequeValue::method(Context& c, const std::string& name, std::vector<V>& args,
                                    Kwargs& kwargs) {
  if (auto r = run_method(kDequeMethods, *this, c, name, args, kwargs)) return r;
  if (auto r = run_exact(kInPlace, *this, c, name, args, {})) return r;
  if (bounded() && name == "insert") return std::nullopt;
  if (kFailedRemoveMoves && name == "remove") try {
      return GrowingSequence::method(c, name, args, kwargs);
    } catch (const Raised&) {
      if (items.size() > 1) {
        ++changes;
        c.undoable([this] { --changes; });
      }
      throw;
    }
  return GrowingSequence::method(c, name, args, kwargs);
}

}  // namespace pijit
