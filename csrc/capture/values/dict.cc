#include "capture/values/dict.h"

#include <algorithm>

#include "capture/context.h"
#include "capture/control_flow/merge.h"
#include "capture/kinds.h"
#include "capture/protocol/protocol.h"
#include "capture/rebuilder.h"
#include "capture/values/iterator.h"
#include "capture/values/scalar.h"
#include "capture/values/set.h"

namespace pijit {
namespace {

const RegisteredKind kKindOfDict({dict_like, empty_value<DictValue>, DictValue::construct});

// An empty one. Code of the class does not run.
py::object empty_dict(PyObject* cls) {
  auto* t = reinterpret_cast<PyTypeObject*>(cls);
  return checked(t->tp_new(t, py::tuple().ptr(), nullptr));
}
void put(const py::object& d, const py::object& key, const py::object& value) {
  if (PyObject_SetItem(d.ptr(), key.ptr(), value.ptr()) < 0) throw py::error_already_set();
}

struct DictRecipe final : Recipe {
  py::object make(Runner& r) const override {
    const py::object d = empty_dict(cls.ptr());
    if (factory >= 0) d.attr("default_factory") = r.make(factory);
    for (size_t k = 0; k < keys.size(); ++k)
      put(d, keys[k] ? keys[k] : r.make(parts[keys.size() + k]), r.make(parts[k]));
    return d;
  }
  int visit(visitproc visit, void* arg) const override {
    Py_VISIT(cls.ptr());
    for (auto& k : keys) Py_VISIT(k.ptr());
    return 0;
  }
  std::string describe() const override {
    std::string r = text_of(cls.attr("__name__")) + " with keys";
    for (auto& k : keys) r += " " + (k ? shown(k) : "made");
    return r;
  }

  // Parts are the values, and then, if some of the keys are made anew, all keys.
  py::object cls;
  int factory = -1;              // a recipe
  std::vector<py::object> keys;  // null: made by its part
};

}  // namespace

PyTypeObject* DictValue::type() const {
  return obj ? Py_TYPE(obj.ptr()) : cls ? reinterpret_cast<PyTypeObject*>(cls.ptr()) : &PyDict_Type;
}
void DictValue::guard_methods(Context& c) { c.guard_class(type()); }
bool DictValue::ordered() const { return type()->tp_iter != PyDict_Type.tp_iter; }

bool DictValue::source_has(Context& c, PyObject* key) const {
  return c.found_in(obj.ptr(), key) != nullptr;
}
bool DictValue::settled_has(Context& c, const py::object& key) {
  return place_of(c, key.ptr()) >= 0;
}

void DictValue::settle(Context& c) {
  if (!open_) return;
  PyObject* o = obj.ptr();
  if (c.unstable(src))
    c.give_up(Reason::kUnstable, describe_source(c.sources_, src, *c.start_.code));
  if (reordered_) c.give_up(Reason::kUnsupportedOperand, "an order that a key that varies decides");
  tighten(c);
  std::vector<py::object> all;
  std::vector<V> values;
  py::list source_keys;
  if (ordered()) {
    source_keys = py::list(obj);
  } else {
    Py_ssize_t pos = 0;
    PyObject *k, *x;
    while (PyDict_Next(o, &pos, &k, &x)) source_keys.append(py::handle(k));
  }
  std::vector<const Known*> front, behind;
  for (auto& of : known)
    if (of.present && (of.moved || !source_has(c, of.key.ptr())))
      (of.front ? front : behind).push_back(&of);
  std::sort(front.begin(), front.end(), [](auto* a, auto* b) { return a->order > b->order; });
  std::sort(behind.begin(), behind.end(), [](auto* a, auto* b) { return a->order < b->order; });
  for (auto* of : front) {
    all.push_back(of->key);
    values.push_back(of->value);
  }
  for (auto k : source_keys) {
    if (!constant_key(k.ptr()))
      c.give_up(Reason::kUnsupportedOperand, "dict with keys that can change");
    const Known* of = find(k.ptr());
    if (of && (!of->present || of->moved)) continue;
    all.push_back(share(k.ptr()));
    values.push_back(of ? of->value : nullptr);
  }
  for (auto* of : behind) {
    all.push_back(of->key);
    values.push_back(of->value);
  }
  c.guard(Guard::kKeys, src, py::tuple(source_keys), 0, share(reinterpret_cast<PyObject*>(type())));
  c.undoable([this] {
    set_open(true);
    keys.clear();
    items.clear();
    index_ = {};
  });
  keys = std::move(all);
  items = std::move(values);
  set_open(false);
}

V DictValue::get(Context& c, const V& key) {
  if (open_ && varies(key)) {
    if (!loose.empty() && loose.back().key == key) return loose.back().value;
    PyObject* x = key->src >= 0 && loose.empty() && !written_like(key)
                      ? c.found_in(obj.ptr(), key->obj.ptr())
                      : nullptr;
    if (x) return c.wrap(x, c.add_source({Source::kDictItem, src, 0, {}, key->src}));
  }
  const py::object k = key_object(c, key, type());
  if (!open_) {
    const int i = place_of(c, k.ptr());
    return i < 0 ? nullptr : item(c, static_cast<size_t>(i));
  }
  tighten(c, key);
  Known& of = know(c, k);
  if (!of.present) return nullptr;
  if (!of.value) {
    const size_t at = static_cast<size_t>(&of - known.data());
    const V v =
        c.wrap(c.found_in(obj.ptr(), k.ptr()), c.add_source({Source::kDictItem, src, 0, of.key}));
    known[at].value = v;
  }
  return find(k.ptr())->value;
}

V DictValue::getitem(Context& c, const V& key) {
  if (V v = get(c, key)) return v;
  return missing(c, key);
}

void DictValue::setitem(Context& c, const V& key, const V& value) {
  if (open_ && varies(key)) {
    change_loosely(c, key, value);
  } else {
    const py::object k = key_object(c, key, type());
    if (open_) {
      c.check_effect(this);
      tighten(c, key);
      change(c, k, true, value);
    } else {
      set_entry(c, k, value);
    }
  }
  if (src >= 0) c.log({Context::Note::kSetItem, this, {}, {}, {key, value}});
}

void DictValue::delitem(Context& c, const V& key) {
  if (!has(c, key)) {
    if (python_method(type(), "__delitem__")) return;  // Counter's does nothing
    c.raise(PyExc_KeyError, {key});
  }
  remove(c, key);
}

void DictValue::remove(Context& c, const V& key) {
  const py::object k = key_object(c, key, type());
  if (open_) {
    c.check_effect(this);
    tighten(c, key);
    change(c, k, false);
  } else {
    remove_entry(c, static_cast<size_t>(place_of(c, k.ptr())));
  }
  if (src >= 0) c.log({Context::Note::kDelItem, this, {}, {}, {key}});
}

void DictValue::clear(Context& c) {
  c.check_effect(this);
  if (open_)
    forget(c);
  else
    clear_entries(c);
  log_call(c, "clear", {});
}

V DictValue::missing(Context& c, const V& key) {
  PyObject* hook = plain() ? nullptr : type_lookup(type(), names.missing);
  if (!hook) c.raise(PyExc_KeyError, {key});
  if (PyFunction_Check(hook)) return protocol::call(c, c.wrap_static(hook), {this, key}, {});
  const V factory = default_factory(c);
  if (is_none(factory)) c.raise(PyExc_KeyError, {key});
  const V made = protocol::call(c, factory, {}, {});
  setitem(c, key, made);
  return made;
}

V DictValue::default_factory(Context& c) {
  if (src >= 0) return protocol::c_attribute(c, this, "default_factory");
  return factory ? factory : c.constant(py::none());
}

// Null: it is no defaultdict, or has none.
V DictValue::factory_if_any(Context& c) {
  if (src < 0 || plain() || !type_lookup(type(), names.default_factory)) return factory;
  const V f = protocol::c_attribute(c, this, "default_factory");
  return is_none(f) ? nullptr : f;
}

std::optional<V> DictValue::getattr(Context& c, PyObject* name) {
  if (name == names.default_factory && type_lookup(type(), names.missing) &&
      !python_method(type(), "__missing__"))
    return default_factory(c);
  PyObject* found = type_lookup(type(), name);
  if (src >= 0 && instances_have_dict(type()) && !(found && Py_TYPE(found)->tp_descr_set)) {
    const auto attributes = py::reinterpret_steal<py::object>(instance_dict(obj.ptr()));
    if (PyObject* x = attributes ? PyDict_GetItemWithError(attributes.ptr(), name) : nullptr)
      return c.wrap(x, c.add_source({Source::kDictAttr, src, 0, share(name)}));
    c.guard(Guard::kNoDictAttr, src, share(name));
  }
  if (!derived_dict(type())) return KeyedContainer::getattr(c, name);
  if (own_getattribute(type()))
    c.give_up(Reason::kUnsupportedAttribute, str_cat(type()->tp_name, " defines __getattribute__"));
  if (name == names.cls && says_its_class(type()))
    return c.wrap_static(reinterpret_cast<PyObject*>(type()));
  if (!found) return protocol::missing_attribute(c, this, name);
  if (Py_TYPE(found)->tp_descr_set && Py_TYPE(found) != &PyProperty_Type)
    c.give_up(Reason::kUnsupportedAttribute, text_of(name));
  if (is_c_method(found) || PyFunction_Check(found))
    return protocol::bind(c, c.wrap_static(found), this, type());
  return protocol::bind(c, protocol::class_attribute(c, found, c.guard_class(type()), name), this,
                        type());
}

void DictValue::move_to_end(Context& c, const V& key, bool last) {
  if (!has(c, key)) c.raise(PyExc_KeyError, {key});
  if (open_ && varies(key)) {
    c.check_effect(this);
    c.undoable([this, was = reordered_] { reordered_ = was; });
    reordered_ = true;
    return log_call(c, "move_to_end", {key, c.constant(py::bool_(last))});
  }
  const py::object k = key_object(c, key, type());
  c.check_effect(this);
  if (open_) {
    tighten(c, key);
    const V value = know(c, k).value;
    change(c, k, false);
    change(c, k, true, value);
    find(k.ptr())->front = !last;  // undone with the change
  } else {
    c.touch(this);
    c.undoable([this, keys = keys, items = items] {
      this->keys = keys, this->items = items, index_ = {};
      --changes;
    });
    ++changes;
    index_ = {};
    const auto at = place_of(c, k.ptr());
    auto move = [&](auto& all) {
      const auto x = all.begin() + at;
      last ? std::rotate(x, x + 1, all.end()) : std::rotate(all.begin(), x, x + 1);
    };
    move(keys);
    move(items);
  }
  log_call(c, "move_to_end", {key, c.constant(py::bool_(last))});
}

void DictValue::update(Context& c, const V& from) {
  if (auto* d = as<DictValue>(from)) {
    const std::vector<V> values = d->parts(c);
    const std::vector<py::object> names = d->keys;
    for (size_t k = 0; k < names.size(); ++k) setitem(c, key_value(c, names[k].ptr()), values[k]);
    return;
  }
  // As dict_merge: a dict that is iterated as a dict is one, whatever its keys() gives.
  const bool as_dict =
      PyType_IsSubtype(from->type(), &PyDict_Type) && from->type()->tp_iter == PyDict_Type.tp_iter;
  PyObject* method = as_dict ? nullptr : protocol::user_method(c, from, "keys");
  if (method) {
    std::vector<V> all;
    protocol::each(c, protocol::call(c, c.wrap_static(method), {from}, {}),
                   [&](const V& key) { all.push_back(key); });
    for (auto& key : all) setitem(c, key, protocol::getitem(c, from, key));
    return;
  }
  if (type_lookup(from->type(), names.keys))
    c.give_up(Reason::kUnsupportedCall, str_cat("a dict of a ", from->type()->tp_name));
  const V it = protocol::iter(c, from);
  V pair;
  while (protocol::next(c, it, &pair)) {
    const auto parts = protocol::unpack(c, pair);
    if (!parts || parts->size() != 2) c.give_up(Reason::kRaises, "dict.update()");
    setitem(c, (*parts)[0], (*parts)[1]);
  }
}

// Where its values are constants.
std::optional<py::object> DictValue::object(Context& c, Ask what) {
  if (derived_dict(type()) || asks_user_code(c, type(), what)) return std::nullopt;
  const Context::Nested nested(c);
  settle(c);
  py::object d = empty_dict(reinterpret_cast<PyObject*>(type()));
  if (const V made = factory_if_any(c)) {
    const auto o = as_constant(c, made, Ask::kIdentity);
    if (!o) return std::nullopt;
    d.attr("default_factory") = *o;
  }
  for (size_t k = 0; k < keys.size(); ++k) {
    const V v = item(c, k);  // one that varies is not fixed for a text or a comparison
    const auto o = varies(v) ? std::nullopt : as_constant(c, v, what);
    if (!o) return std::nullopt;
    put(d, keys[k], *o);
  }
  return d;
}

V DictValue::construct(Context& c, PyTypeObject* t, std::vector<V>& args, Kwargs& kwargs) {
  if (t->tp_init != PyDict_Type.tp_init) c.guard_class(t);
  auto* d = c.make<DictValue>();
  d->cls = share(reinterpret_cast<PyObject*>(t));
  if (PyObject* init = python_method(t, "__init__")) {
    args.insert(args.begin(), d);
    protocol::call(c, c.wrap_static(init), args, kwargs);
    return d;
  }
  if (!d->ordered()) {  // a defaultdict
    if (!args.empty()) {
      const bool none = is_none(args[0]);
      if (!none && is_known(args[0])) return nullptr;
      if (!none) d->factory = args[0];
      args.erase(args.begin());
    }
  }
  if (args.size() > 1) return nullptr;
  if (!args.empty()) d->update(c, args[0]);
  for (auto& [name, v] : kwargs) d->setitem(c, c.constant(str_of(name)), v);
  return d;
}

V DictValue::iter(Context& c) {
  settle(c);
  return c.make<DictIterator>(this);
}

// --- methods

namespace {
using Args = const std::vector<V>&;

V get(Context& c, DictValue& d, Args a) {
  if (const V v = d.get(c, a[0])) return v;
  return a.size() == 2 ? a[1] : c.constant(py::none());
}
V pop(Context& c, DictValue& d, Args a) {
  if (const V v = d.get(c, a[0])) {
    d.remove(c, a[0]);
    return v;
  }
  if (a.size() == 1) c.raise(PyExc_KeyError, {a[0]});
  return a[1];
}
V setdefault(Context& c, DictValue& d, Args a) {
  if (const V v = d.get(c, a[0])) return v;
  const V made = a.size() == 2 ? a[1] : c.constant(py::none());
  d.setitem(c, a[0], made);
  return made;
}
template <ViewValue::What what>
V view(Context& c, DictValue& d, Args) {
  auto* made = c.make<ViewValue>();
  made->dict = &d;
  made->what = what;
  return made;
}
V clear(Context& c, DictValue& d, Args) {
  d.clear(c);
  return c.constant(py::none());
}
V copy(Context& c, DictValue& d, Args) {
  const V made = d.with_parts(c, d.parts(c));
  if (derived_dict(d.type())) as<DictValue>(made)->cls = {};
  return made;
}
V popitem(Context& c, DictValue& d, bool last) {
  if (d.sets_dynamic_keys()) c.give_up(Reason::kUnsupportedCall, "popitem() where keys vary");
  d.settle(c);
  if (d.keys.empty())
    c.raise(PyExc_KeyError, {c.constant(py::str(d.ordered() ? "dictionary is empty"
                                                            : "popitem(): dictionary is empty"))});
  const size_t at = last ? d.keys.size() - 1 : 0;
  const V key = key_value(c, d.keys[at].ptr()), value = d.item(c, at);
  d.remove(c, key);
  return c.tuple({key, value});
}
V pop_last(Context& c, DictValue& d, Args) { return popitem(c, d, true); }
V size(Context& c, DictValue& d, Args) { return d.length(c); }
V contains(Context& c, DictValue& d, Args a) { return c.constant(py::bool_(d.has(c, a[0]))); }
V getitem(Context& c, DictValue& d, Args a) { return d.getitem(c, a[0]); }
V setitem(Context& c, DictValue& d, Args a) {
  d.setitem(c, a[0], a[1]);
  return c.constant(py::none());
}
V delitem(Context& c, DictValue& d, Args a) {
  d.delitem(c, a[0]);
  return c.constant(py::none());
}

constexpr Method<DictValue> kDictMethods[] = {
    {"get", 1, 2, get},
    {"pop", 1, 2, pop},
    {"setdefault", 1, 2, setdefault},
    {"keys", 0, 0, view<ViewValue::kKeys>},
    {"values", 0, 0, view<ViewValue::kValues>},
    {"items", 0, 0, view<ViewValue::kItems>},
    {"clear", 0, 0, clear},
    {"copy", 0, 0, copy},
    {"popitem", 0, 0, pop_last},
    {"__len__", 0, 0, size},
    {"__contains__", 1, 1, contains},
    {"__getitem__", 1, 1, getitem},
    {"__setitem__", 2, 2, setitem},
    {"__delitem__", 1, 1, delitem},
};

// Of OrderedDict, with `last` as the last argument, which decides.
V pop_at_end(Context& c, DictValue& d, Args a) {
  const auto last = a.empty() ? true : protocol::truth(c, a[0]);
  return last ? popitem(c, d, *last) : V();
}
V move_to_an_end(Context& c, DictValue& d, Args a) {
  const auto last = a.size() == 1 ? true : protocol::truth(c, a[1]);
  if (!last) return nullptr;
  d.move_to_end(c, a[0], *last);
  return c.constant(py::none());
}
constexpr Method<DictValue> kOrderedOnly[] = {
    {"popitem", 0, 1, pop_at_end},
    {"move_to_end", 1, 2, move_to_an_end},
};
}  // namespace

V DictValue::call_descriptor(Context& c, PyObject* d, std::vector<V>& args, Kwargs& kwargs) {
  const std::string name = text_of(py::object(py::handle(d).attr("__name__")));
  if (type_lookup(type(), str_of(name).ptr()) == d)
    return Value::call_descriptor(c, d, args, kwargs);
  PyTypeObject* const owner = reinterpret_cast<PyDescrObject*>(d)->d_type;
  if (!ordered() && owner == &PyDict_Type)  // by super(), or as dict.update(d)
    if (auto r = method(c, name, args, kwargs)) return *r;
  c.give_up(Reason::kUnsupportedCall, str_cat(owner->tp_name, ".", name));
}

std::optional<V> DictValue::method(Context& c, const std::string& name, std::vector<V>& args,
                                   Kwargs& kwargs) {
  if (ordered() &&
      std::ranges::find(kOrderedOnly, name, &Method<DictValue>::name) != std::end(kOrderedOnly)) {
    std::vector<V> given = args;
    for (auto& [k, v] : kwargs) {
      if (k != "last") return std::nullopt;
      given.push_back(v);
    }
    const auto r = run_method(kOrderedOnly, *this, c, name, given, {});
    return r && *r ? r : std::nullopt;
  }
  if (name != "update" && name != "__init__")
    return run_method(kDictMethods, *this, c, name, args, kwargs);
  if (args.size() > 1) return std::nullopt;
  if (!args.empty()) update(c, args[0]);
  for (auto& [k, v] : kwargs) setitem(c, c.constant(str_of(k)), v);
  return c.constant(py::none());
}

V DictValue::read_item(Context& c, size_t i) {
  PyObject* v = c.found_in(obj.ptr(), keys[i].ptr());
  if (!v) c.give_up(Reason::kInternal, "dict changed during capture");
  if (c.sources_[src].kind == Source::kConst) return c.wrap_static(v);
  return c.wrap(v, c.add_source({Source::kDictItem, src, 0, keys[i]}));
}

std::vector<V> DictValue::parts(Context& c) {
  settle(c);
  std::vector<V> all;
  for (size_t k = 0; k < items.size(); ++k) all.push_back(item(c, k));
  return all;
}
V DictValue::with_parts(Context& c, std::vector<V> p) {
  auto* d = c.make<DictValue>();
  d->keys = keys;
  d->items = std::move(p);
  if (!plain()) d->cls = share(reinterpret_cast<PyObject*>(type()));
  d->factory = factory_if_any(c);
  return d;
}

void DictValue::traverse(Visit visit) const {
  KeyedContainer::traverse(visit);
  visit(factory);
}

V DictValue::binary(Context& c, BinaryOp op, const V& other, Side side) {
  const auto* b = as<DictValue>(other);
  if (op != BinaryOp::kOr || side != Side::kLeft || !b) return nullptr;
  if (type() != b->type() && !b->plain())  // its class decides
    c.give_up(Reason::kUnsupportedOperand, str_cat("| of a dict and a ", b->type()->tp_name));
  return copy(c, *this, {})->in_place(c, op, other);
}

V DictValue::in_place(Context& c, BinaryOp op, const V& other) {
  if (op != BinaryOp::kOr) return nullptr;
  auto* from = as<DictValue>(other);
  if (!from)
    c.give_up(Reason::kUnsupportedOperand,
              str_cat("|= of ", type()->tp_name, " and ", other->type()->tp_name));
  settle(c);
  from->settle(c);
  for (size_t k = 0; k < from->keys.size(); ++k)
    setitem(c, key_value(c, from->keys[k].ptr()), from->item(c, k));
  return this;
}

V DictValue::merge(Merge& m, const V& other) {
  const auto* d = as<DictValue>(other);
  if (!d || !m.new_alike(this, other)) return m.differ();
  for (size_t k = 0; k < keys.size(); ++k)
    if (!equal_constants(keys[k].ptr(), d->keys[k].ptr()))
      return m.fail("the branches leave dicts with different keys");
  if (factory != d->factory)
    return m.fail("the branches leave dicts that differ in what they make");
  auto* r = m.items<DictValue>(this, other);
  if (!r) return nullptr;
  r->keys = keys;
  r->factory = factory;
  if (!plain()) r->cls = share(reinterpret_cast<PyObject*>(type()));
  return r;
}

int DictValue::rebuild(Rebuilder& r) {
  auto made = std::make_unique<DictRecipe>();
  for (auto& x : parts(r.context())) made->parts.push_back(r.recipe(x));
  std::vector<int> made_keys;
  for (auto& k : keys) {
    const V key = made_key(r.context(), k.ptr());
    made->keys.push_back(key ? py::object() : k);
    made_keys.push_back(key ? r.recipe(key) : -1);
  }
  if (std::any_of(made_keys.begin(), made_keys.end(), [](int id) { return id >= 0; }))
    made->parts.insert(made->parts.end(), made_keys.begin(), made_keys.end());
  made->cls = share(reinterpret_cast<PyObject*>(type()));
  if (factory) made->factory = r.recipe(factory);
  return r.add(this, std::move(made));
}

// --- views

PyTypeObject* ViewValue::type() const {
  if (as<DictValue>(dict)->ordered())
    return what == kKeys     ? &PyODictKeys_Type
           : what == kValues ? &PyODictValues_Type
                             : &PyODictItems_Type;
  return what == kKeys     ? &PyDictKeys_Type
         : what == kValues ? &PyDictValues_Type
                           : &PyDictItems_Type;
}

std::optional<bool> ViewValue::truth(Context& c) { return protocol::truth(c, dict); }
V ViewValue::length(Context& c) { return protocol::length(c, dict); }

std::optional<bool> ViewValue::contains(Context& c, const V& x) {
  return what == kKeys ? protocol::contains(c, dict, x) : Value::contains(c, x);
}

V ViewValue::iter(Context& c) {
  as<DictValue>(dict)->settle(c);
  return c.make<DictIterator>(this);
}

void ViewValue::traverse(Visit visit) const { visit(dict); }

int ViewValue::rebuild(Rebuilder& r) {
  static const char* names[] = {"keys", "values", "items"};
  const auto cls = py::reinterpret_borrow<py::object>(reinterpret_cast<PyObject*>(dict->type()));
  const int d = r.recipe(dict);
  return r.make<CallRecipe>(this, cls.attr(names[what]), std::vector<int>{d});
}

}  // namespace pijit
