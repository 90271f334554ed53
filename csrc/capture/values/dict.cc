#include "capture/values/dict.h"

#include <algorithm>

#include "capture/context.h"
#include "capture/rebuilder.h"
#include "capture/values/iterator.h"

namespace pijit {
namespace {

py::object share(PyObject* o) { return py::reinterpret_borrow<py::object>(o); }
// An error of a comparison by a key's own class counts as: not found. Guards see the same.
PyObject* lookup(PyObject* dict, PyObject* key) {
  PyObject* v = PyDict_GetItemWithError(dict, key);
  if (!v) PyErr_Clear();
  return v;
}

struct DictRecipe final : Recipe {
  py::object make(Runner& r) const override {
    py::dict d;
    for (size_t k = 0; k < parts.size(); ++k) d[keys[k]] = r.make(parts[k]);
    return d;
  }
  int visit(visitproc visit, void* arg) const override {
    for (auto& k : keys) Py_VISIT(k.ptr());
    return 0;
  }
  std::string describe() const override {
    std::string r = "dict with keys";
    for (auto& k : keys) r += " " + shown(k);
    return r;
  }

  std::vector<py::object> keys;
};

}  // namespace

PyTypeObject* DictValue::type() const { return obj ? Py_TYPE(obj.ptr()) : &PyDict_Type; }

void DictValue::set_open(bool open) {
  open_ = open;
  kind = open ? kOpenDict : kDict;
}

bool DictValue::source_has(PyObject* key) const { return lookup(obj.ptr(), key) != nullptr; }
bool DictValue::settled_has(Context& c, const py::object& key) {
  return c.find_key(this, key.ptr()) >= 0;
}

void DictValue::settle(Context& c) {
  if (!open_) return;
  PyObject* o = obj.ptr();
  if (type()->tp_iter != PyDict_Type.tp_iter)
    c.give_up(Reason::kUnsupportedOperand, str_cat("all keys of ", type()->tp_name));
  if (c.unstable(src))
    c.give_up(Reason::kUnstable, describe_source(c.sources_, src, *c.start_.code));
  tighten(c);
  std::vector<py::object> all;
  std::vector<V> values;
  py::list source_keys;
  Py_ssize_t pos = 0;
  PyObject *k, *x;
  while (PyDict_Next(o, &pos, &k, &x)) {
    if (!immutable_constant(k))
      c.give_up(Reason::kUnsupportedOperand, "dict with keys other than strings and numbers");
    source_keys.append(py::handle(k));
    const Known* of = find(k);
    if (of && (!of->present || of->moved)) continue;
    all.push_back(share(k));
    values.push_back(of ? of->value : nullptr);
  }
  std::vector<const Known*> behind;
  for (auto& of : known)
    if (of.present && (of.moved || !source_has(of.key.ptr()))) behind.push_back(&of);
  std::sort(behind.begin(), behind.end(), [](auto* a, auto* b) { return a->order < b->order; });
  for (auto* of : behind) {
    all.push_back(of->key);
    values.push_back(of->value);
  }
  c.guard(Guard::kKeys, src, py::tuple(source_keys), 0, share(reinterpret_cast<PyObject*>(type())));
  c.undoable([this] {
    set_open(true);
    keys.clear();
    items.clear();
    index = {};
  });
  keys = std::move(all);
  items = std::move(values);
  set_open(false);
}

V DictValue::get(Context& c, const V& key) {
  if (open_ && Context::unfixed(key)) {
    if (!loose.empty() && loose.back().key == key) return loose.back().value;
    PyObject* x = key->src >= 0 && loose.empty() && !written_like(key)
                      ? lookup(obj.ptr(), key->obj.ptr())
                      : nullptr;
    if (x) return c.wrap(x, c.add_source({Source::kDictItem, src, 0, {}, key->src}));
  }
  const py::object k = hashable_key(c, key);
  if (!open_) {
    const int i = c.find_key(this, k.ptr());
    return i < 0 ? nullptr : c.item(this, static_cast<size_t>(i));
  }
  tighten(c, key);
  Known& of = know(c, k);
  if (!of.present) return nullptr;
  if (!of.value) {
    const size_t at = static_cast<size_t>(&of - known.data());
    const V v =
        c.wrap(lookup(obj.ptr(), k.ptr()), c.add_source({Source::kDictItem, src, 0, of.key}));
    known[at].value = v;
  }
  return find(k.ptr())->value;
}

V DictValue::getitem(Context& c, const V& key) {
  if (V v = get(c, key)) return v;
  return missing(c, key);
}

void DictValue::setitem(Context& c, const V& key, const V& value) {
  if (open_ && Context::unfixed(key)) {
    change_loosely(c, key, value);
  } else {
    const py::object k = hashable_key(c, key);
    if (open_) {
      c.check_effect(this);
      tighten(c, key);
      change(c, k, true, value);
    } else {
      c.set_entry(this, k, value);
    }
  }
  if (src >= 0) c.log({Context::Note::kSetItem, this, {}, {}, {key, value}});
}

void DictValue::delitem(Context& c, const V& key) {
  if (!has(c, key)) {
    if (python_method(type(), "__delitem__"))  // Counter's does nothing
      c.give_up(Reason::kUnsupportedOperand, str_cat("del of an item of ", type()->tp_name));
    c.raise(PyExc_KeyError, {key});
  }
  remove(c, key);
}

void DictValue::remove(Context& c, const V& key) {
  const py::object k = hashable_key(c, key);
  if (open_) {
    c.check_effect(this);
    tighten(c, key);
    change(c, k, false);
  } else {
    c.remove_entry(this, static_cast<size_t>(c.find_key(this, k.ptr())));
  }
  if (src >= 0) c.log({Context::Note::kDelItem, this, {}, {}, {key}});
}

void DictValue::clear(Context& c) {
  c.check_effect(this);
  if (open_)
    forget(c);
  else
    c.clear_entries(this);
  log_call(c, "clear", {});
}

V DictValue::missing(Context& c, const V& key) {
  PyObject* hook = plain() ? nullptr : type_lookup(type(), interned("__missing__"));
  if (!hook) c.raise(PyExc_KeyError, {key});
  if (PyFunction_Check(hook)) return c.call(c.wrap_static(hook), {this, key}, {});
  const V factory = c.c_attribute(this, "default_factory");  // of a defaultdict
  if (factory->kind == kConst && factory->obj.is_none()) c.raise(PyExc_KeyError, {key});
  const V made = c.call(factory, {}, {});
  setitem(c, key, made);
  return made;
}

V DictValue::iter(Context& c) {
  settle(c);
  return c.make<DictIterator>(this);
}

// --- methods

namespace {
using Args = const std::vector<V>&;

V none(Context& c) { return c.constant(py::none()); }
V get(Context& c, DictValue& d, Args a) {
  if (const V v = d.get(c, a[0])) return v;
  return a.size() == 2 ? a[1] : none(c);
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
  const V made = a.size() == 2 ? a[1] : none(c);
  d.setitem(c, a[0], made);
  return made;
}
template <ViewValue::What what>
V view(Context& c, DictValue& d, Args) {
  if (d.type()->tp_iter != PyDict_Type.tp_iter)
    c.give_up(Reason::kUnsupportedCall, str_cat("a view of a ", d.type()->tp_name));
  auto* made = c.make<ViewValue>();
  made->dict = &d;
  made->what = what;
  return made;
}
V clear(Context& c, DictValue& d, Args) {
  d.clear(c);
  return none(c);
}
V copy(Context& c, DictValue& d, Args) {
  if (!d.plain()) c.give_up(Reason::kUnsupportedCall, str_cat("copy of a ", d.type()->tp_name));
  return d.with_parts(c, d.parts(c));
}
V popitem(Context& c, DictValue& d, Args) {
  d.settle(c);
  if (d.keys.empty()) c.raise(PyExc_KeyError, "popitem(): dictionary is empty");
  const V key = c.constant(d.keys.back()), value = c.item(&d, d.keys.size() - 1);
  d.remove(c, key);
  return c.tuple({key, value});
}
V size(Context& c, DictValue& d, Args) { return d.length(c); }
V contains(Context& c, DictValue& d, Args a) { return c.constant(py::bool_(d.has(c, a[0]))); }
V getitem(Context& c, DictValue& d, Args a) { return d.getitem(c, a[0]); }
V setitem(Context& c, DictValue& d, Args a) {
  d.setitem(c, a[0], a[1]);
  return none(c);
}
V delitem(Context& c, DictValue& d, Args a) {
  d.delitem(c, a[0]);
  return none(c);
}

constexpr Method<DictValue> kMethods[] = {
    {"get", 1, 2, get},
    {"pop", 1, 2, pop},
    {"setdefault", 1, 2, setdefault},
    {"keys", 0, 0, view<ViewValue::kKeys>},
    {"values", 0, 0, view<ViewValue::kValues>},
    {"items", 0, 0, view<ViewValue::kItems>},
    {"clear", 0, 0, clear},
    {"copy", 0, 0, copy},
    {"popitem", 0, 0, popitem},
    {"__len__", 0, 0, size},
    {"__contains__", 1, 1, contains},
    {"__getitem__", 1, 1, getitem},
    {"__setitem__", 2, 2, setitem},
    {"__delitem__", 1, 1, delitem},
};
}  // namespace

std::optional<V> DictValue::method(Context& c, const std::string& name, std::vector<V>& args,
                                   Kwargs& kwargs) {
  if (name != "update") return run_method(kMethods, *this, c, name, args, kwargs);
  auto* from = args.empty() ? nullptr : as<DictValue>(args[0]);
  if (args.size() > 1 || (!args.empty() && !from) ||
      type()->tp_as_mapping->mp_ass_subscript != PyDict_Type.tp_as_mapping->mp_ass_subscript)
    return std::nullopt;
  if (from) {
    const std::vector<V> values = from->parts(c);
    const std::vector<py::object> names = from->keys;
    for (size_t k = 0; k < names.size(); ++k) setitem(c, c.constant(names[k]), values[k]);
  }
  for (auto& [k, v] : kwargs) setitem(c, c.constant(str_of(k)), v);
  return c.constant(py::none());
}

std::vector<V> DictValue::parts(Context& c) {
  settle(c);
  std::vector<V> all;
  for (size_t k = 0; k < items.size(); ++k) all.push_back(c.item(this, k));
  return all;
}
V DictValue::with_parts(Context& c, std::vector<V> p) {
  auto* d = c.make<DictValue>();
  d->keys = keys;
  d->items = std::move(p);
  return d;
}

int DictValue::rebuild(Rebuilder& r) {
  auto made = std::make_unique<DictRecipe>();
  for (auto& x : parts(r.context())) made->parts.push_back(r.recipe(x));
  made->keys = keys;
  return r.add(this, std::move(made));
}

// --- views

PyTypeObject* ViewValue::type() const {
  return what == kKeys     ? &PyDictKeys_Type
         : what == kValues ? &PyDictValues_Type
                           : &PyDictItems_Type;
}

std::optional<bool> ViewValue::truth(Context& c) { return c.truth(dict); }
V ViewValue::length(Context& c) { return c.length_of(dict); }

std::optional<bool> ViewValue::contains(Context& c, const V& x) {
  return what == kKeys ? c.contains(dict, x) : Value::contains(c, x);
}

V ViewValue::iter(Context& c) {
  as<DictValue>(dict)->settle(c);
  return c.make<DictIterator>(this);
}

int ViewValue::rebuild(Rebuilder& r) {
  static const char* names[] = {"keys", "values", "items"};
  const auto cls = py::reinterpret_borrow<py::object>(reinterpret_cast<PyObject*>(&PyDict_Type));
  const int d = r.recipe(dict);
  return r.make<CallRecipe>(this, cls.attr(names[what]), std::vector<int>{d});
}

}  // namespace pijit
