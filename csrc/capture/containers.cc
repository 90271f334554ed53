// Lists and dicts under capture. One that comes from outside stays open as long as it can: what is
// guarded is what was read of it, what changes it is an operation in the journal, and neither its
// length nor its other items matter.
#include <algorithm>

#include "capture/context.h"
#include "capture/values.h"

namespace pijit {
namespace {

py::object share(PyObject* o) { return py::reinterpret_borrow<py::object>(o); }
py::object list_method(const char* name) {
  return share(reinterpret_cast<PyObject*>(&PyList_Type)).attr(name);
}
bool is_number_object(PyObject* o) { return PyLong_Check(o) || PyFloat_Check(o); }
// An error of a comparison by a key's own class counts as: not found. Guards see the same.
PyObject* lookup(PyObject* dict, PyObject* key) {
  PyObject* v = PyDict_GetItemWithError(dict, key);
  if (!v) PyErr_Clear();
  return v;
}

}  // namespace

// --- both

void Context::settle(const V& v) {
  PyObject* o = v->obj.ptr();
  if (v->kind == Value::kOpenList) {
    tighten_list(v);
    const int64_t n = PyList_GET_SIZE(o), end = n - v->drop;
    if (unstable(v->src))
      give_up(Reason::kUnstable, describe_source(sources_, v->src, *start_.code));
    guard(Guard::kLength, v->src, share(reinterpret_cast<PyObject*>(Py_TYPE(o))),
          static_cast<uint64_t>(n));
    undoable([v, items = v->items, head = v->head, skip = v->skip, drop = v->drop] {
      v->kind = Value::kOpenList;
      v->items = items, v->head = head, v->skip = skip, v->drop = drop;
    });
    std::vector<V> all = v->head;
    const bool moved = static_cast<int64_t>(v->head.size()) != v->skip;
    for (int64_t i = v->skip; i < end; ++i) {
      auto it = v->read.find(i);
      if (it == v->read.end()) it = v->read.find(i - n);
      all.push_back(it != v->read.end() ? it->second : moved ? source_item(v, i) : nullptr);
    }
    all.insert(all.end(), v->items.begin(), v->items.end());
    v->items = std::move(all);
    v->head.clear();
    v->skip = v->drop = 0;
    v->kind = Value::kList;
    v->whole = false;
    return;
  }
  if (v->kind != Value::kOpenDict) return;
  if (Py_TYPE(o)->tp_iter != PyDict_Type.tp_iter)
    give_up(Reason::kUnsupportedOperand, str_cat("all keys of ", Py_TYPE(o)->tp_name));
  if (unstable(v->src)) give_up(Reason::kUnstable, describe_source(sources_, v->src, *start_.code));
  tighten(v);
  std::vector<py::object> keys;
  std::vector<V> items;
  py::list source_keys;
  Py_ssize_t pos = 0;
  PyObject *k, *x;
  while (PyDict_Next(o, &pos, &k, &x)) {
    if (!immutable_constant(k))
      give_up(Reason::kUnsupportedOperand, "dict with keys other than strings and numbers");
    source_keys.append(py::handle(k));
    const Value::Known* known = find_known(v, k);
    if (known && (!known->present || known->moved)) continue;
    keys.push_back(share(k));
    items.push_back(known ? known->value : nullptr);
  }
  std::vector<const Value::Known*> behind;
  for (auto& known : v->known)
    if (known.present && (known.moved || !lookup(o, known.key.ptr()))) behind.push_back(&known);
  std::sort(behind.begin(), behind.end(), [](auto* a, auto* b) { return a->order < b->order; });
  for (auto* known : behind) {
    keys.push_back(known->key);
    items.push_back(known->value);
  }
  guard(Guard::kKeys, v->src, py::tuple(source_keys), 0,
        share(reinterpret_cast<PyObject*>(Py_TYPE(o))));
  undoable([v] {
    v->kind = Value::kOpenDict;
    v->keys.clear();
    v->items.clear();
    v->index = {};
  });
  v->keys = std::move(keys);
  v->items = std::move(items);
  v->kind = Value::kDict;
}

// What a list or dict from outside has as its length, before changes.
V Context::source_length(const V& x) {
  const py::object n = py::int_(PyObject_Size(x->obj.ptr()));
  return wrap(n.ptr(), add_source({Source::kLength, x->src, 0, {}}));
}

V Context::dict_length(const V& x) {
  if (x->kind == Value::kDict) return constant_int(static_cast<int64_t>(x->items.size()));
  int64_t more = 0;
  PyObject* o = x->obj.ptr();
  auto in_source = [&](PyObject* key, int other, const py::object& held) {
    return decided(lookup(o, key) != nullptr, {Source::kHasKey, x->src, 0, held, other});
  };
  // one item by a key that varies is that of no other
  if (x->loose.size() > 1 || !x->known.empty()) tighten(x);
  for (auto& [k, v] : x->loose) more += !in_source(k->obj.ptr(), k->src, {});
  for (size_t k = 0; k < x->known.size(); ++k)
    if (x->known[k].written) {
      const py::object key = x->known[k].key;
      const bool had = in_source(key.ptr(), -1, key);
      more += x->known[k].present - had;
    }
  const V base = source_length(x);
  return more ? binary("add", base, constant_int(more)) : base;
}

bool Context::nonempty(const V& x) {
  auto at_least = [&](int64_t n) {
    if (PyObject_Size(x->obj.ptr()) < n) return false;
    guard(Guard::kAtLeast, x->src, {}, static_cast<uint64_t>(n));
    return true;
  };
  if (x->kind == Value::kOpenList) {
    if (!x->head.empty() || !x->items.empty() || at_least(x->skip + x->drop + 1)) return true;
    settle(x);
    return false;
  }
  if (x->kind == Value::kOpenDict) {
    if (!x->loose.empty()) return true;
    bool written = false;
    for (auto& k : x->known) {
      if (k.present) return true;
      written |= k.written;
    }
    if (!written && at_least(1)) return true;
    return *truth(length_of(x));
  }
  return !x->items.empty();
}

// --- lists

V Context::source_item(const V& l, int64_t i) {
  if (auto it = l->read.find(i); it != l->read.end()) return it->second;
  const int64_t n = PyList_GET_SIZE(l->obj.ptr());
  PyObject* o = PyList_GET_ITEM(l->obj.ptr(), i < 0 ? n + i : i);
  return l->read[i] = wrap(o, add_source({Source::kItem, l->src, static_cast<int>(i), {}}));
}

// Before items of a kList change their places.
void Context::read_all(const V& l) {
  if (l->src < 0 || l->whole) return;
  for (size_t k = 0; k < l->items.size(); ++k) item(l, k);
  l->whole = true;
}

// Fixes the places of loose items.
void Context::tighten_list(const V& l) {
  if (l->loose.empty()) return;
  const auto all = l->loose;
  undoable([l, all] { l->loose = all; });
  l->loose.clear();
  const size_t notes = journal_.size();  // they are noted already
  for (auto& [i, v] : all) {
    fix(i);
    set_list_item(l, *as_int(i), v);
  }
  journal_.resize(notes);
}

// An item of a list from outside at a place that varies; null where other things are known of it.
V Context::computed_item(const V& l, const V& index) {
  if (!sourced(index) || !PyLong_CheckExact(index->obj.ptr())) return nullptr;
  if (!l->loose.empty() && l->loose.back().first == index) return l->loose.back().second;
  if (l->kind != Value::kOpenList || !l->loose.empty() || !l->items.empty() || !l->head.empty() ||
      l->skip || l->drop)
    return nullptr;
  PyObject* x = PyObject_GetItem(l->obj.ptr(), index->obj.ptr());
  if (!x) {
    PyErr_Clear();
    return nullptr;
  }
  const py::object held = py::reinterpret_steal<py::object>(x);
  return wrap(
      x,
      add_source({Source::kComputed, -1, 0, share(original("getitem")), -1, {l->src, index->src}}));
}

V Context::list_item(const V& l, int64_t i) {
  tighten_list(l);
  if (l->kind == Value::kOpenList) {
    const int64_t n = PyList_GET_SIZE(l->obj.ptr()), tail = static_cast<int64_t>(l->items.size()),
                  head = static_cast<int64_t>(l->head.size());
    if (i < 0 && -i <= tail) return l->items[static_cast<size_t>(tail + i)];
    if (i >= 0 && i < head) return l->head[static_cast<size_t>(i)];
    const int64_t at = i < 0 ? i + tail - l->drop : i - head + l->skip;
    if (at < 0 ? -at <= n - l->skip : at < n - l->drop) {
      if (at < 0 ? l->skip : l->drop)
        guard(Guard::kAtLeast, l->src, {},
              static_cast<uint64_t>(at < 0 ? l->skip - at : at + 1 + l->drop));
      return source_item(l, at);
    }
    settle(l);
  }
  const int64_t n = static_cast<int64_t>(l->items.size());
  if (i < -n || i >= n) return nullptr;
  return item(l, static_cast<size_t>(i < 0 ? i + n : i));
}

void Context::list_extend(const V& l, const std::vector<V>& values) {
  if (values.empty()) return check_effect(l);
  if (l->kind == Value::kOpenList) {
    check_effect(l);
    undoable([l, n = l->items.size()] { l->items.resize(n); });
    l->items.insert(l->items.end(), values.begin(), values.end());
  } else {
    splice(l, l->items.size(), 0, values);
  }
  if (l->src >= 0) log({Note::kExtend, l, {}, {}, values});
}

void Context::list_insert(const V& l, int64_t i, const V& value) {
  tighten_list(l);
  if (l->kind == Value::kOpenList && i != 0) settle(l);
  if (l->kind == Value::kOpenList) {
    check_effect(l);
    l->head.insert(l->head.begin(), value);
    undoable([l] { l->head.erase(l->head.begin()); });
  } else {
    read_all(l);
    const int64_t n = static_cast<int64_t>(l->items.size());
    splice(l, static_cast<size_t>(std::clamp<int64_t>(i < 0 ? i + n : i, 0, n)), 0, {value});
  }
  if (l->src >= 0) {
    static PyObject* method = list_method("insert").release().ptr();
    log({Note::kCall, l, share(method), {}, {constant_int(i), value}});
  }
}

void Context::set_list_item(const V& l, int64_t i, const V& value) {
  tighten_list(l);
  if (l->kind == Value::kOpenList) {
    const int64_t n = PyList_GET_SIZE(l->obj.ptr()), tail = static_cast<int64_t>(l->items.size()),
                  head = static_cast<int64_t>(l->head.size());
    const int64_t rest = n - l->skip - l->drop;  // of the source
    auto has = [&] {
      guard(Guard::kAtLeast, l->src, {}, static_cast<uint64_t>(l->skip + l->drop + 1));
    };
    const bool behind = i < 0 && -i == tail + 1 && rest > 0,
               front = i >= 0 && i == head && rest > 0;
    if ((i < 0 && -i <= tail) || (i >= 0 && i < head)) {
      check_effect(l);
      auto& list = i < 0 ? l->items : l->head;
      V& slot = list[static_cast<size_t>(i < 0 ? tail + i : i)];
      undoable(
          [&list, l, k = static_cast<size_t>(&slot - list.data()), old = slot] { list[k] = old; });
      slot = value;
    } else if (behind) {
      check_effect(l);
      has();
      undoable([l] { --l->drop, l->items.erase(l->items.begin()); });
      ++l->drop;
      l->items.insert(l->items.begin(), value);
    } else if (front) {
      check_effect(l);
      has();
      undoable([l] { --l->skip, l->head.pop_back(); });
      ++l->skip;
      l->head.push_back(value);
    } else {
      settle(l);
    }
  }
  if (l->kind == Value::kList) {
    const int64_t n = static_cast<int64_t>(l->items.size());
    if (i < -n || i >= n) give_up(Reason::kRaises, "index out of range");
    splice(l, static_cast<size_t>(i < 0 ? i + n : i), 1, {value});
  }
  if (l->src >= 0) log({Note::kSetItem, l, {}, {}, {constant_int(i), value}});
}

void Context::delete_list_item(const V& l, int64_t i) {
  tighten_list(l);
  if (l->kind == Value::kOpenList) {
    const int64_t rest = PyList_GET_SIZE(l->obj.ptr()) - l->skip - l->drop;
    auto& list = i < 0 ? l->items : l->head;
    if ((i != 0 && i != -1) || (list.empty() && rest <= 0)) {
      settle(l);
    } else {
      check_effect(l);
      if (!list.empty()) {
        undoable([&list, l, i, old = i ? list.back() : list.front()] {
          list.insert(i ? list.end() : list.begin(), old);
        });
        list.erase(i ? list.end() - 1 : list.begin());
      } else {
        int64_t& gone = i ? l->drop : l->skip;
        guard(Guard::kAtLeast, l->src, {}, static_cast<uint64_t>(l->skip + l->drop + 1));
        undoable([&gone, l] { --gone; });
        ++gone;
      }
    }
  }
  if (l->kind == Value::kList) {
    const int64_t n = static_cast<int64_t>(l->items.size());
    if (i < -n || i >= n) give_up(Reason::kRaises, "index out of range");
    read_all(l);
    splice(l, static_cast<size_t>(i < 0 ? i + n : i), 1);
  }
  if (l->src >= 0) log({Note::kDelItem, l, {}, {}, {constant_int(i)}});
}

// By an index that need not be a constant. False: it is none of a list.
bool Context::set_list_place(const V& l, const V& index, const V& value) {
  if (l->kind == Value::kOpenList && sourced(index) && l->head.empty() && l->items.empty() &&
      !l->skip && !l->drop && l->loose.empty() && PyLong_CheckExact(index->obj.ptr()) &&
      unfixed_relation("ge", index, constant_int(0)).value_or(false)) {
    const py::object old =
        py::reinterpret_steal<py::object>(PyObject_GetItem(l->obj.ptr(), index->obj.ptr()));
    if (old) {
      guard(Guard::kThere,
            add_source(
                {Source::kComputed, -1, 0, share(original("getitem")), -1, {l->src, index->src}}));
      check_effect(l);
      undoable([l] { l->loose.clear(); });
      l->loose.push_back({index, value});
      log({Note::kSetItem, l, {}, {}, {index, value}});
      return true;
    }
    PyErr_Clear();
  }
  const auto i = as_int(index);
  if (i) set_list_item(l, *i, value);
  return i.has_value();
}

// The items of a slice at one end of an open list, which need not be settled for it.
std::optional<std::vector<V>> Context::end_of_list(const V& l, const V& slice) {
  auto none = [](const V& v) { return v->kind == Value::kConst && v->obj.is_none(); };
  const V start = as<SliceValue>(slice)->start, stop = as<SliceValue>(slice)->stop,
          step = as<SliceValue>(slice)->step;
  if (l->kind != Value::kOpenList || !none(step)) return std::nullopt;
  const bool back = none(stop) && start->kind == Value::kConst,
             front = none(start) && stop->kind == Value::kConst;
  const auto bound = back && !none(start) ? as_int(start) : front ? as_int(stop) : std::nullopt;
  const int64_t n = static_cast<int64_t>(l->head.size() + l->items.size()) - l->skip - l->drop +
                    PyList_GET_SIZE(l->obj.ptr());
  constexpr int64_t kMost = 256;
  if (!bound || (back ? *bound >= 0 : *bound < 0) || std::abs(*bound) > std::min(n, kMost))
    return std::nullopt;
  std::vector<V> out;
  for (int64_t k = back ? *bound : 0, end = back ? 0 : *bound; k < end; ++k) {
    out.push_back(list_item(l, k));
    if (l->kind != Value::kOpenList) return std::nullopt;  // across its middle
  }
  return out;
}

V Context::call_list_method(const std::string& name, const V& self, std::vector<V>& args,
                            Kwargs& kwargs) {
  auto arity = [&](size_t lo, size_t hi) {
    if (args.size() < lo || args.size() > hi || !kwargs.empty())
      give_up(Reason::kUnsupportedCall, name);
  };
  const V none = constant(py::none());
  if (name == "append") {
    arity(1, 1);
    list_extend(self, {args[0]});
    return none;
  }
  if (name == "extend" || name == "__iadd__") {
    arity(1, 1);
    list_extend(self, items_of(args[0]));
    return name == "extend" ? none : self;
  }
  if (name == "insert") {
    arity(2, 2);
    auto i = as_int(args[0]);
    if (!i) give_up(Reason::kUnsupportedOperand, "insert");
    list_insert(self, *i, args[1]);
    return none;
  }
  if (name == "pop") {
    arity(0, 1);
    auto i = args.empty() ? std::optional<int64_t>(-1) : as_int(args[0]);
    const V v = i ? list_item(self, *i) : nullptr;
    if (!v) give_up(Reason::kRaises, "pop");
    delete_list_item(self, *i);
    return v;
  }
  if (name == "clear" || name == "reverse") {
    arity(0, 0);
    if (name == "reverse") {
      std::vector<V> items = items_of(self);
      std::reverse(items.begin(), items.end());
      splice(self, 0, items.size(), items);
    } else if (self->kind == Value::kOpenList) {
      check_effect(self);
      undoable([self, items = self->items, head = self->head, skip = self->skip, drop = self->drop,
                loose = self->loose] {
        self->kind = Value::kOpenList;
        self->loose = loose;
        self->items = items, self->head = head, self->skip = skip, self->drop = drop;
      });
      self->kind = Value::kList;
      self->items.clear();
      self->head.clear();
      self->skip = self->drop = 0;
      self->loose.clear();
    } else {
      splice(self, 0, self->items.size());
    }
    if (self->src >= 0) log({Note::kCall, self, list_method(name.c_str()), {}, {}});
    return none;
  }
  if (name == "copy") return sequence(Value::kList, items_of(self));
  if (name == "__len__") return length_of(self);
  if (name == "index" || name == "count")
    if (auto c = as_constant(self)) return call_pure(c->attr(name.c_str()), args, kwargs, name);
  give_up(Reason::kUnsupportedCall, "list." + name);
}

// --- dicts

// A key that may be looked up at any time, also by guards.
py::object Context::constant_key(const V& key) {
  if (key->kind == Value::kConst) return key->obj;
  if (key->kind != Value::kTuple || type_of(key) != &PyTuple_Type) return {};
  auto c = as_constant(key);
  return c && PyObject_Hash(c->ptr()) != -1 ? *c : (PyErr_Clear(), py::object());
}

Value::Known* Context::find_known(const V& d, PyObject* key) {
  const Py_hash_t hash = PyObject_Hash(key);
  if (hash == -1) throw py::error_already_set();
  auto [b, e] = d->known_index.equal_range(hash);
  for (; b != e; ++b) {
    const int same = PyObject_RichCompareBool(d->known[b->second].key.ptr(), key, Py_EQ);
    if (same < 0) throw py::error_already_set();
    if (same) return &d->known[b->second];
  }
  return nullptr;
}

// What is known of a key, read from the source if need be.
Value::Known& Context::known_key(const V& d, const py::object& key) {
  if (auto* k = find_known(d, key.ptr())) return *k;
  const bool has = lookup(d->obj.ptr(), key.ptr()) != nullptr;
  if (!has) decided(false, {Source::kHasKey, d->src, 0, key});
  return add_known(d, {key, has, nullptr});
}

Value::Known& Context::add_known(const V& d, Value::Known known) {
  const Py_hash_t hash = PyObject_Hash(known.key.ptr());
  d->known_index.emplace(hash, d->known.size());
  d->known.push_back(std::move(known));
  undoable([d, hash] {
    d->known.pop_back();
    auto [b, e] = d->known_index.equal_range(hash);
    while (b->second != d->known.size()) ++b;
    d->known_index.erase(b);
  });
  return d->known.back();
}

// An open dict gets or loses an item, whatever was there before.
void Context::change_known(const V& d, const py::object& key, bool present, const V& value) {
  const uint64_t order = arena_.next_serial();
  Value::Known* k = find_known(d, key.ptr());
  if (!k) {
    add_known(d, {key, present, value, true, false, order});
    return;
  }
  undoable([d, at = static_cast<size_t>(k - d->known.data()), old = *k] { d->known[at] = old; });
  if (present && !k->present) k->moved = true, k->order = order;
  k->present = present;
  k->value = value;
  k->written = true;
}

// Fixes the keys of loose items, or those that may be `key`, which is constant.
void Context::tighten(const V& d, const V& key) {
  auto may_be = [&](const V& k) {
    return !key || is_number_object(k->obj.ptr()) == is_number_object(key->obj.ptr());
  };
  if (std::none_of(d->loose.begin(), d->loose.end(), [&](auto& x) { return may_be(x.first); }))
    return;
  const auto all = d->loose;
  undoable([d, all] { d->loose = all; });
  d->loose.clear();
  for (auto& [k, v] : all) {
    fix(k);
    change_known(d, k->obj, true, v);
  }
}

bool Context::dict_has(const V& d, const V& key) {
  if (d->kind == Value::kOpenDict && unfixed(key)) {
    if (!d->loose.empty() && d->loose.back().first == key) return true;
    if (key->src >= 0 && d->loose.empty() && !written_like(d, key)) {
      const bool has = lookup(d->obj.ptr(), key->obj.ptr()) != nullptr;
      return decided(has, {Source::kHasKey, d->src, 0, {}, key->src});
    }
  }
  fix(key);
  const py::object k = constant_key(key);
  if (!k) give_up(Reason::kUnsupportedOperand, str_cat("a key of type ", type_of(key)->tp_name));
  if (PyObject_Hash(k.ptr()) == -1) raise(py::error_already_set());
  if (d->kind == Value::kDict) return find_key(d, k.ptr()) >= 0;
  tighten(d, key);
  Value::Known& known = known_key(d, k);
  if (known.present && !known.written && !known.value) {
    // nothing else guards that it is there
    decided(true, {Source::kHasKey, d->src, 0, known.key});
  }
  return known.present;
}

V Context::dict_get(const V& d, const V& key) {
  if (d->kind == Value::kOpenDict && unfixed(key)) {
    if (!d->loose.empty() && d->loose.back().first == key) return d->loose.back().second;
    PyObject* x = key->src >= 0 && d->loose.empty() && !written_like(d, key)
                      ? lookup(d->obj.ptr(), key->obj.ptr())
                      : nullptr;
    if (x) return wrap(x, add_source({Source::kDictItem, d->src, 0, {}, key->src}));
  }
  fix(key);
  const py::object k = constant_key(key);
  if (!k) give_up(Reason::kUnsupportedOperand, str_cat("a key of type ", type_of(key)->tp_name));
  if (PyObject_Hash(k.ptr()) == -1) raise(py::error_already_set());
  if (d->kind == Value::kDict) {
    const int i = find_key(d, k.ptr());
    return i < 0 ? nullptr : item(d, static_cast<size_t>(i));
  }
  tighten(d, key);
  Value::Known& known = known_key(d, k);
  if (!known.present) return nullptr;
  if (!known.value) {
    const size_t at = static_cast<size_t>(&known - d->known.data());
    const V v =
        wrap(lookup(d->obj.ptr(), k.ptr()), add_source({Source::kDictItem, d->src, 0, known.key}));
    d->known[at].value = v;
  }
  return find_known(d, k.ptr())->value;
}

// Whether a key that varies may be one that was set or deleted here.
bool Context::written_like(const V& d, const V& key) const {
  return std::any_of(d->known.begin(), d->known.end(), [&](auto& k) {
    return k.written && is_number_object(k.key.ptr()) == is_number_object(key->obj.ptr());
  });
}

void Context::dict_set(const V& d, const V& key, const V& value) {
  if (d->kind == Value::kOpenDict && unfixed(key)) {
    check_effect(d);
    undoable([d, old = d->loose] { d->loose = old; });
    if (!d->loose.empty() && d->loose.back().first == key)
      d->loose.back().second = value;
    else
      d->loose.push_back({key, value});
    if (d->loose.size() > 1) tighten(d);
    log({Note::kSetItem, d, {}, {}, {key, value}});
    return;
  }
  fix(key);
  const py::object k = constant_key(key);
  if (!k) give_up(Reason::kUnsupportedOperand, str_cat("a key of type ", type_of(key)->tp_name));
  if (PyObject_Hash(k.ptr()) == -1) raise(py::error_already_set());
  if (d->kind == Value::kOpenDict) {
    check_effect(d);
    tighten(d, key);
    change_known(d, k, true, value);
  } else {
    set_entry(d, k, value);
  }
  if (d->src >= 0) log({Note::kSetItem, d, {}, {}, {key, value}});
}

// Of a key that is there.
void Context::dict_delete(const V& d, const V& key) {
  fix(key);
  const py::object k = constant_key(key);
  if (d->kind == Value::kOpenDict) {
    check_effect(d);
    change_known(d, k, false, nullptr);
  } else {
    remove_entry(d, static_cast<size_t>(find_key(d, k.ptr())));
  }
  if (d->src >= 0) log({Note::kDelItem, d, {}, {}, {key}});
}

V Context::call_dict_method(const std::string& name, const V& self, std::vector<V>& args,
                            Kwargs& kwargs) {
  auto arity = [&](size_t lo, size_t hi) {
    if (args.size() < lo || args.size() > hi || !kwargs.empty())
      give_up(Reason::kUnsupportedCall, name);
  };
  const V none = constant(py::none());
  if (name == "get" || name == "pop" || name == "setdefault") {
    arity(1, 2);
    if (const V v = dict_get(self, args[0])) {
      if (name == "pop") dict_delete(self, args[0]);
      return v;
    }
    if (name == "pop" && args.size() == 1) raise(PyExc_KeyError, {args[0]});
    const V def = args.size() == 2 ? args[1] : none;
    if (name == "setdefault") dict_set(self, args[0], def);
    return def;
  }
  if ((name == "keys" || name == "values" || name == "items") &&
      type_of(self)->tp_iter == PyDict_Type.tp_iter) {
    arity(0, 0);
    auto* view = make<ViewValue>();
    view->what = name == "keys"     ? ViewValue::kKeys
                 : name == "values" ? ViewValue::kValues
                                    : ViewValue::kItems;
    view->dict = self;
    return view;
  }
  if (name == "update" && args.size() <= 1 && (args.empty() || is_dict(args[0])) &&
      type_of(self)->tp_as_mapping->mp_ass_subscript ==
          PyDict_Type.tp_as_mapping->mp_ass_subscript) {
    if (!args.empty()) settle(args[0]);
    for (size_t k = 0; !args.empty() && k < args[0]->keys.size(); ++k)
      dict_set(self, constant(args[0]->keys[k]), item(args[0], k));
    for (auto& [k, v] : kwargs) dict_set(self, constant(str_of(k)), v);
    return none;
  }
  if (name == "clear") {
    arity(0, 0);
    if (self->kind == Value::kOpenDict) {
      check_effect(self);
      undoable([d = self, known = self->known, index = self->known_index, loose = self->loose] {
        d->kind = Value::kOpenDict;
        d->known = known, d->known_index = index, d->loose = loose;
      });
      self->kind = Value::kDict;
      self->known.clear();
      self->known_index.clear();
      self->loose.clear();
    } else {
      clear_entries(self);
    }
    if (self->src >= 0)
      log({Note::kCall,
           self,
           share(reinterpret_cast<PyObject*>(type_of(self))).attr("clear"),
           {},
           {}});
    return none;
  }
  if (name == "copy" && type_of(self) == &PyDict_Type) {
    settle(self);
    auto* d = make<DictValue>();
    d->keys = self->keys;
    for (size_t k = 0; k < self->items.size(); ++k) d->items.push_back(item(self, k));
    return d;
  }
  if (name == "__len__") return length_of(self);
  if (name == "__contains__" && args.size() == 1)
    return constant(py::bool_(dict_has(self, args[0])));
  if (name == "__getitem__" && args.size() == 1) return subscript(self, args[0]);
  if (name == "__setitem__" && args.size() == 2) {
    dict_set(self, args[0], args[1]);
    return none;
  }
  give_up(Reason::kUnsupportedCall, str_cat(type_of(self)->tp_name, ".", name));
}

// What the class of a dict does for a key that is not there.
V Context::missing_item(const V& d, const V& key) {
  PyTypeObject* t = type_of(d);
  static PyObject* hook = PyUnicode_InternFromString("__missing__");
  PyObject* missing = t == &PyDict_Type ? nullptr : type_lookup(t, hook);
  if (!missing) raise(PyExc_KeyError, {key});
  if (PyFunction_Check(missing)) return call(wrap_static(missing), {d, key}, {});
  // defaultdict
  static PyObject* get =
      py::object(py::module_::import("builtins").attr("getattr")).release().ptr();
  static PyObject* name = PyUnicode_InternFromString("default_factory");
  const py::object factory = d->obj.attr("default_factory");
  const int n = add_source({Source::kConst, -1, 0, share(name)});
  const V f =
      wrap(factory.ptr(), add_source({Source::kComputed, -1, 0, share(get), -1, {d->src, n}}));
  if (f->kind == Value::kConst && f->obj.is_none()) raise(PyExc_KeyError, {key});
  const V made = call(f, {}, {});
  dict_set(d, key, made);
  return made;
}

// --- containers of C code that are not followed but for a few questions, and changes that only add

bool Context::c_container(const V& v) {
  static PyTypeObject* deque = reinterpret_cast<PyTypeObject*>(
      py::object(py::module_::import("collections").attr("deque")).release().ptr());
  if (v->kind != Value::kObject || v->src < 0) return false;
  PyTypeObject* t = Py_TYPE(v->obj.ptr());
  return t == &PySet_Type || t == deque;
}

V Context::c_length(const V& x) {
  if (x->dirty) give_up(Reason::kUnsupportedCall, "the length of what was changed");
  return source_length(x);
}

// A change that cannot fail and returns None. False: it is none.
bool Context::change_c_container(const std::string& name, const V& self,
                                 const std::vector<V>& args) {
  if (!c_container(self)) return false;
  const bool set = type_of(self) == &PySet_Type;
  auto hashable = [&](const V& x) {
    const py::object o = argument(x);
    if (!o) return false;
    if (PyObject_Hash(o.ptr()) != -1) return true;
    PyErr_Clear();
    return false;
  };
  const bool one = args.size() == 1;
  std::vector<V> values = args;
  if (set && one && (name == "add" || name == "discard")) {
    if (!hashable(args[0])) return false;
    argument_source(args[0]);
  } else if (!set && one && (name == "extend" || name == "extendleft")) {
    values = {sequence(Value::kTuple, items_of(args[0]))};
  } else if (!(!set && one && (name == "append" || name == "appendleft")) &&
             !(args.empty() && name == "clear")) {
    return false;
  }
  check_effect(self);
  undoable([self, dirty = self->dirty] { self->dirty = dirty; });
  self->dirty = true;
  log({Note::kCall,
       self,
       share(reinterpret_cast<PyObject*>(type_of(self))).attr(name.c_str()),
       {},
       std::move(values)});
  return true;
}

}  // namespace pijit
