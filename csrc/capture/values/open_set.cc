#include "capture/values/open_set.h"

#include <algorithm>

#include "capture/context.h"
#include "capture/kinds.h"
#include "capture/protocol/protocol.h"
#include "capture/rebuilder.h"
#include "capture/values/dict.h"
#include "capture/values/iterator.h"
#include "capture/values/scalar.h"
#include "capture/values/sequence.h"
#include "capture/values/set.h"
#include "python/quiet_lookup.h"

namespace pijit {
namespace {

const RegisteredKind kKindOfSet({[](PyTypeObject* t) { return t == &PySet_Type; },
                                 empty_value<OpenSetValue>});

}  // namespace
bool OpenSetValue::source_has(Context& c, PyObject* key) const {
  bool unsure = false;
  const bool has = quiet_contains(obj.ptr(), key, &unsure);
  if (unsure) c.give_up(Reason::kUnsupportedOperand, "a key that Python code compares");
  return has;
}

std::vector<py::object> OpenSetValue::source_elements(Context& c, bool places) {
  if (c.unstable(src))
    c.give_up(Reason::kUnstable, describe_source(c.sources_, src, *c.start_.code));
  py::list all;
  std::vector<py::object> values;
  for (auto o : obj) {
    if (!constant_key(o.ptr()))
      c.give_up(Reason::kUnsupportedOperand, "a set of other things than constants");
    all.append(o);
    values.push_back(py::reinterpret_borrow<py::object>(o));
  }
  c.guard(Guard::kKeys, src, py::tuple(all), places ? places_of_elements(obj.ptr()) : 0,
          py::reinterpret_borrow<py::object>(reinterpret_cast<PyObject*>(&PySet_Type)));
  return values;
}

std::optional<py::object> OpenSetValue::object(Context& c, Ask) {
  if (changes) c.give_up(Reason::kUnsupportedIterable, "the order of a set that has changed");
  source_elements(c, true);
  return checked(copy_of_table(obj.ptr()));
}

py::object OpenSetValue::content(Context& c) {
  tighten(c);
  py::set s;
  if (!cleared_)
    for (auto& o : source_elements(c)) s.add(o);
  for (auto& k : known)
    if (k.written) s.attr(k.present ? "add" : "discard")(k.key);
  return s;
}

V OpenSetValue::iter(Context& c) {
  if (changes) c.give_up(Reason::kUnsupportedIterable, "the order of a set that has changed");
  std::vector<V> values;
  for (auto& o : source_elements(c)) values.push_back(c.wrap_static(o.ptr()));
  return c.make<SetIterator>(this, values);
}

int OpenSetValue::rebuild(Rebuilder& r) { r.context().give_up(Reason::kRebuild, "set"); }

void OpenSetValue::put(Context& c, const V& key) { change_key(c, key, true); }
void OpenSetValue::drop(Context& c, const V& key) { change_key(c, key, false); }

void OpenSetValue::change_key(Context& c, const V& key, bool present) {
  c.check_effect(this);
  c.undoable([this] { --changes; });
  ++changes;
  if (varies(key) && !cleared_) {
    source_has(c, key->obj.ptr());  // gives up where Python code compares it with what is there
    change_loosely(c, key, nullptr, present);
  } else {
    const py::object k = key_object(c, key, type());
    tighten(c, key);
    if (!cleared_) source_has(c, k.ptr());
    KeyedContainer::change(c, k, present);
  }
}

void OpenSetValue::clear(Context& c) {
  c.check_effect(this);
  c.undoable([this, was = cleared_] { --changes, cleared_ = was; });
  ++changes;
  cleared_ = true;
  forget(c);
  log_call(c, "clear", {});
}

// --- methods

namespace {
using Args = const std::vector<V>&;

V add(Context& c, OpenSetValue& s, Args a) {
  s.put(c, a[0]);
  s.log(c, "add", a);
  return c.constant(py::none());
}
bool at_once(Context& c, const V& from) {
  return is_dict(from) || (!as<ViewValue>(from) && set_object(c, from));
}
// What a method is given, as it is now: a set, a dict of these keys or a list. Each leaves an order
// of its own behind.
V given(Context& c, const V& from) {
  if (auto* d = as<DictValue>(from)) {
    d->settle(c);
    auto* keys = c.make<DictValue>();
    for (auto& k : d->keys) keys->setitem(c, key_value(c, k.ptr()), c.constant(py::none()));
    return keys;
  }
  if (at_once(c, from)) return set_snapshot(c, from);
  std::vector<V> all;
  protocol::each(c, from, [&](const V& x) { all.push_back(x); });
  return c.list(all);
}
std::vector<V> elements(Context& c, const V& constant) {
  if (as<ListValue>(constant)) return items_in(constant);
  const py::object all =
      as<DictValue>(constant) ? py::list(*as_constant(c, constant)) : *set_object(c, constant);
  std::vector<V> values;
  for (auto o : all) values.push_back(key_value(c, o.ptr()));
  return values;
}
V update(Context& c, OpenSetValue& s, Args a) {
  for (auto& from : a) {
    if (!at_once(c, from)) {  // each as it comes
      protocol::each(c, from, [&](const V& x) { add(c, s, {x}); });
      continue;
    }
    const V constant = given(c, from);
    for (auto& x : elements(c, constant)) s.put(c, x);
    s.log(c, "update", {constant});
  }
  return c.constant(py::none());
}
V difference_update(Context& c, OpenSetValue& s, Args a) {
  for (auto& from : a) {
    V constant;
    if (!at_once(c, from)) {
      protocol::each(c, from, [&](const V& x) {
        s.drop(c, x);
        s.log(c, "discard", {x});
      });
      constant = c.tuple({});  // at its end CPython tidies up
    } else {
      constant = given(c, from);
      for (auto& x : elements(c, constant)) s.drop(c, x);
    }
    s.log(c, "difference_update", {constant});
  }
  return c.constant(py::none());
}
V symmetric_difference_update(Context& c, OpenSetValue& s, Args a) {
  const V constant = is_dict(a[0]) ? given(c, a[0]) : make_set(c, &PySet_Type, given(c, a[0]));
  for (auto& x : elements(c, constant)) s.has(c, x) ? s.drop(c, x) : s.put(c, x);
  s.log(c, "symmetric_difference_update", {constant});
  return c.constant(py::none());
}
V intersection_update(Context& c, OpenSetValue& s, Args a) {
  const py::object mine = s.content(c);
  std::vector<V> others;
  py::object kept = mine;
  for (auto& from : a) {
    others.push_back(given(c, from));
    kept = kept.attr("intersection")(*set_object(c, make_set(c, &PySet_Type, others.back())));
  }
  for (auto x : mine)
    if (PySet_Contains(kept.ptr(), x.ptr()) != 1) s.drop(c, key_value(c, x.ptr()));
  s.log(c, "intersection_update", others);
  return c.constant(py::none());
}
V discard(Context& c, OpenSetValue& s, Args a) {
  s.drop(c, a[0]);
  s.log(c, "discard", a);
  return c.constant(py::none());
}
V remove(Context& c, OpenSetValue& s, Args a) {
  if (!s.has(c, a[0])) c.raise(PyExc_KeyError, {a[0]});
  s.drop(c, a[0]);
  s.log(c, "remove", a);
  return c.constant(py::none());
}
V clear(Context& c, OpenSetValue& s, Args) {
  s.clear(c);
  return c.constant(py::none());
}

constexpr size_t kMany = 1000;
constexpr Method<OpenSetValue> kOpenSetMethods[] = {
    {"add", 1, 1, add},
    {"update", 0, kMany, update},
    {"difference_update", 0, kMany, difference_update},
    {"intersection_update", 0, kMany, intersection_update},
    {"symmetric_difference_update", 1, 1, symmetric_difference_update},
    {"discard", 1, 1, discard},
    {"remove", 1, 1, remove},
    {"clear", 0, 0, clear},
};
}  // namespace

std::optional<V> OpenSetValue::method(Context& c, const std::string& name, std::vector<V>& args,
                                      Kwargs& kwargs) {
  if (auto r = run_method(kOpenSetMethods, *this, c, name, args, kwargs)) return r;
  return kwargs.empty() ? set_question(c, this, name, args) : std::nullopt;
}

}  // namespace pijit
