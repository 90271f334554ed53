#include "capture/values/open_set.h"

#include <algorithm>

#include "capture/context.h"
#include "capture/rebuilder.h"
#include "capture/values/iterator.h"

namespace pijit {
namespace {

struct OpenSetIterator final : IteratorValue {
  OpenSetIterator(V of, std::vector<V> items)
      : of(of), items(std::move(items)), changes(of->changes) {}
  PyTypeObject* type() const override { return &PySetIter_Type; }
  bool next(Context& c, V* value) override {
    if (of->changes != changes)
      c.give_up(Reason::kUnsupportedIterable, "a set that changes during its iteration");
    if (static_cast<size_t>(pos) >= items.size()) return false;
    *value = items[static_cast<size_t>(pos++)];
    return true;
  }
  int rebuild(Rebuilder& r) override {
    if (pos > 0 || of->changes != changes) leave();
    const int whole = r.recipe(of);
    const auto iter = py::reinterpret_borrow<py::object>(original("iter"));
    return r.make<CallRecipe>(this, iter, std::vector<int>{whole});
  }

  V of;
  std::vector<V> items;
  uint64_t changes;
};

}  // namespace

bool OpenSetValue::source_has(PyObject* key) const {
  const int r = PySet_Contains(obj.ptr(), key);
  if (r < 0) PyErr_Clear();
  return r == 1;
}

std::vector<V> OpenSetValue::elements(Context& c) {
  if (changes || cleared_)
    c.give_up(Reason::kUnsupportedIterable, "the order of a set that has changed");
  if (c.unstable(src))
    c.give_up(Reason::kUnstable, describe_source(c.sources_, src, *c.start_.code));
  py::list all;
  std::vector<V> values;
  for (auto o : obj) {
    if (!immutable_constant(o.ptr()))
      c.give_up(Reason::kUnsupportedOperand, "a set of other things than constants");
    all.append(o);
    values.push_back(c.wrap_static(o.ptr()));
  }
  c.guard(Guard::kKeys, src, py::tuple(all), 0,
          py::reinterpret_borrow<py::object>(reinterpret_cast<PyObject*>(&PySet_Type)));
  return values;
}

std::optional<py::object> OpenSetValue::object(Context& c, Ask) {
  py::set s;
  for (auto& v : elements(c)) s.add(v->obj);
  return py::object(s);
}

V OpenSetValue::iter(Context& c) { return c.make<OpenSetIterator>(this, elements(c)); }

int OpenSetValue::rebuild(Rebuilder& r) { r.context().give_up(Reason::kRebuild, "set"); }

void OpenSetValue::put(Context& c, const V& key) {
  c.check_effect(this);
  c.undoable([this] { --changes; });
  ++changes;
  if (Context::unfixed(key) && key->src >= 0 && !cleared_) {
    change_loosely(c, key, nullptr);
  } else {
    const py::object k = hashable_key(c, key);
    tighten(c, key);
    change(c, k, true);
  }
  log_call(c, "add", {key});
}

void OpenSetValue::drop(Context& c, const V& key, const char* by) {
  const py::object k = hashable_key(c, key);
  c.check_effect(this);
  c.undoable([this] { --changes; });
  ++changes;
  tighten(c, key);
  change(c, k, false);
  log_call(c, by, {key});
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

V none(Context& c) { return c.constant(py::none()); }
V add(Context& c, OpenSetValue& s, Args a) {
  s.put(c, a[0]);
  return none(c);
}
V update(Context& c, OpenSetValue& s, Args a) {
  for (auto& x : c.items_of(a[0])) s.put(c, x);
  return none(c);
}
V discard(Context& c, OpenSetValue& s, Args a) {
  s.drop(c, a[0], "discard");
  return none(c);
}
V remove(Context& c, OpenSetValue& s, Args a) {
  if (!s.has(c, a[0])) c.raise(PyExc_KeyError, {a[0]});
  s.drop(c, a[0], "remove");
  return none(c);
}
V clear(Context& c, OpenSetValue& s, Args) {
  s.clear(c);
  return none(c);
}
V size(Context& c, OpenSetValue& s, Args) { return s.length(c); }
V contains(Context& c, OpenSetValue& s, Args a) { return c.constant(py::bool_(s.has(c, a[0]))); }

constexpr Method<OpenSetValue> kMethods[] = {
    {"add", 1, 1, add},
    {"update", 1, 1, update},
    {"discard", 1, 1, discard},
    {"remove", 1, 1, remove},
    {"clear", 0, 0, clear},
    {"__len__", 0, 0, size},
    {"__contains__", 1, 1, contains},
};
}  // namespace

std::optional<V> OpenSetValue::method(Context& c, const std::string& name, std::vector<V>& args,
                                      Kwargs& kwargs) {
  return run_method(kMethods, *this, c, name, args, kwargs);
}

}  // namespace pijit
