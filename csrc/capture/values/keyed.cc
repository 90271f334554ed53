#include "capture/values/keyed.h"

#include <algorithm>

#include "absl/strings/str_replace.h"

#include "capture/context.h"
#include "capture/protocol/protocol.h"
#include "capture/values/object.h"
#include "capture/values/open_set.h"
#include "capture/values/scalar.h"
#include "capture/values/sequence.h"

namespace pijit {
namespace {
// A tuple made here is no object yet.
bool is_number_object(PyObject* o) { return o && (PyLong_Check(o) || PyFloat_Check(o)); }
bool alike(PyObject* a, PyObject* b) { return is_number_object(a) == is_number_object(b); }
}  // namespace

std::optional<V> KeyedContainer::getattr(Context& c, PyObject* name) {
  return protocol::builtin_attribute(c, this, name);
}

void KeyedContainer::traverse(Visit visit) const {
  Container::traverse(visit);
  for (auto& of : known) visit(of.value);
  for (auto& of : loose) visit(of.value);
}

V KeyedContainer::length(Context& c) {
  if (!open_) return c.constant_int(static_cast<int64_t>(items.size()));
  if (cleared_)
    return c.constant_int(
        std::count_if(known.begin(), known.end(), [](auto& k) { return k.present; }));
  int64_t more = 0;
  // one item by a key that varies is that of no other
  if (loose.size() > 1 || !known.empty() || (loose.size() == 1 && loose[0].key->src < 0))
    tighten(c);
  for (auto& of : loose)
    more += of.present -
            c.decided(source_has(c, of.key->obj.ptr()), {Source::kHasKey, src, 0, {}, of.key->src});
  for (size_t k = 0; k < known.size(); ++k)
    if (known[k].written) {
      const py::object key = known[k].key;
      more +=
          known[k].present - c.decided(source_has(c, key.ptr()), {Source::kHasKey, src, 0, key});
    }
  const V base = source_length(c, this);
  return more ? protocol::binary(c, BinaryOp::kAdd, base, c.constant_int(more)) : base;
}

std::optional<bool> KeyedContainer::truth(Context& c) {
  if (!open_) return !items.empty();
  if (!loose.empty() && loose.back().present) return true;
  bool written = !loose.empty();
  for (auto& k : known) {
    if (k.present) return true;  // a guard or an effect says so
    written |= k.written;
  }
  if (!written && !cleared_ && PyObject_Size(obj.ptr()) >= 1) {
    c.guard(Guard::kAtLeast, src, {}, 1);
    return true;
  }
  return protocol::truth(c, length(c));
}

// No user code: __hash__ and __eq__ are the enum module's or a built-in class's.
bool hashes_as_enum(PyTypeObject* t) {
  for (const char* name : {"__hash__", "__eq__"}) {
    PyObject* f = type_lookup(t, interned(name));
    if (f != type_lookup(library.enumeration.type(), interned(name)) &&
        !(f && Py_IS_TYPE(f, &PyWrapperDescr_Type)))
      return false;
  }
  return true;
}

// A class whose metaclass compares by identity.
bool is_plain_class(PyObject* o) {
  return Py_TYPE(o)->tp_hash == PyType_Type.tp_hash &&
         Py_TYPE(o)->tp_richcompare == PyType_Type.tp_richcompare;
}

bool constant_key(PyObject* o) {
  if (PyTuple_CheckExact(o)) {
    for (Py_ssize_t k = 0; k < PyTuple_GET_SIZE(o); ++k)
      if (!constant_key(PyTuple_GET_ITEM(o, k))) return false;
    return true;
  }
  if (PyType_Check(o)) return is_plain_class(o);
  if (is_enum(Py_TYPE(o))) return hashes_as_enum(Py_TYPE(o));
  if (immutable_constant(o)) return !holds_nan(o);  // guards cannot tell one NaN from another
  return PyFunction_Check(o) || (static_object(o) && !PyModule_Check(o));
}

namespace {
// What this CPython says of it.
std::string unhashable(PyTypeObject* type, PyTypeObject* container) {
  const py::list no_key;
  const bool element =
      PyType_IsSubtype(container, &PySet_Type) || PyType_IsSubtype(container, &PyFrozenSet_Type);
  if (element ? PySet_Contains(py::set().ptr(), no_key.ptr()) < 0
              : PyDict_Contains(py::dict().ptr(), no_key.ptr()) < 0) {
    const std::string said = text_of(py::str(raised_exception()));
    return absl::StrReplaceAll(said, {{"'list'", str_cat("'", type->tp_name, "'")}});
  }
  throw InternalError("a list can be hashed");
}
}  // namespace

py::object key_object(Context& c, const V& key, PyTypeObject* container) {
  fix(c, key);
  py::object o;
  if (is_known(key)) {
    o = key->obj;
  } else if (as<TupleValue>(key) && key->type() == &PyTuple_Type) {
    o = as_constant(c, key).value_or(py::object());
    if (o && !o.is(key->obj)) o = as_key(c, key, o);
  } else if (as<ObjectValue>(key) && is_enum(key->type()) && hashes_as_enum(key->type())) {
    c.guard_class(key->type());
    o = as_constant(c, key, Ask::kIdentity).value_or(py::object());
  } else if (as<ObjectValue>(key) && constant_key(key->obj.ptr()) &&
             !is_numpy_scalar(key->obj.ptr())) {  // by its identity
    if (key->src >= 0 && c.sources_[key->src].kind != Source::kConst)
      c.guard(Guard::kIs, key->src, key->obj);
    o = key->obj;
  }
  if (!o && key->type()->tp_hash == PyObject_HashNotImplemented &&
      !PyType_IsSubtype(key->type(), &PySet_Type))  // by which sets are looked for in sets
    protocol::raise_type_error(c, unhashable(key->type(), container));
  if (!o) c.give_up(Reason::kUnsupportedOperand, str_cat("a key of type ", key->type()->tp_name));
  if (PyObject_Hash(o.ptr()) == -1) c.raise(py::error_already_set());
  // it is found by its identity, which differs from call to call
  if (holds_nan(o.ptr())) c.give_up(Reason::kUnsupportedOperand, "NaN as a key");
  return o;
}

KeyedContainer::Known* KeyedContainer::find(PyObject* key) {
  const Py_hash_t hash = PyObject_Hash(key);
  if (hash == -1) throw py::error_already_set();
  auto [b, e] = known_index.equal_range(hash);
  for (; b != e; ++b) {
    const int same = PyObject_RichCompareBool(known[b->second].key.ptr(), key, Py_EQ);
    if (same < 0) throw py::error_already_set();
    if (same) return &known[b->second];
  }
  return nullptr;
}

KeyedContainer::Known& KeyedContainer::know(Context& c, const py::object& key) {
  if (auto* k = find(key.ptr())) return *k;
  const bool has = !cleared_ && source_has(c, key.ptr());
  if (!has && !cleared_) c.decided(false, {Source::kHasKey, src, 0, key});
  return add(c, {key, has, nullptr});
}

KeyedContainer::Known& KeyedContainer::add(Context& c, Known k) {
  const Py_hash_t hash = PyObject_Hash(k.key.ptr());
  known_index.emplace(hash, known.size());
  known.push_back(std::move(k));
  c.undoable([this, hash] {
    known.pop_back();
    auto [b, e] = known_index.equal_range(hash);
    while (b->second != known.size()) ++b;
    known_index.erase(b);
  });
  return known.back();
}

// It gets or loses an item, whatever was there before.
void KeyedContainer::change(Context& c, const py::object& key, bool present, V value,
                            uint64_t order) {
  if (!order) order = c.arena_.next_serial();
  Known* k = find(key.ptr());
  if (!k) {
    add(c, {key, present, value, true, false, false, order});
    return;
  }
  c.undoable([this, at = static_cast<size_t>(k - known.data()), old = *k] { known[at] = old; });
  if (present && !k->present) k->key = key, k->moved = true, k->front = false, k->order = order;
  k->present = present;
  k->value = value;
  k->written = true;
}

void KeyedContainer::change_loosely(Context& c, const V& key, V value, bool present) {
  c.check_effect(this);
  c.undoable([this, old = loose] { loose = old; });
  if (!loose.empty() && loose.back().key == key)
    loose.back().value = value, loose.back().present = present;
  else
    loose.push_back({key, value, c.arena_.next_serial(), present});
  if (loose.size() > 1 && !as<OpenSetValue>(this)) tighten(c);
}

void KeyedContainer::tighten(Context& c, const V& key) {
  auto may_be = [&](auto& x) { return !key || alike(x.key->obj.ptr(), key->obj.ptr()); };
  if (std::none_of(loose.begin(), loose.end(), may_be)) return;
  const auto all = loose;
  c.undoable([this, all] { loose = all; });
  loose.clear();
  for (auto& of : all) {
    key_object(c, of.key, type());
    change(c, of.key->obj, of.present, of.value, of.order);
  }
}

bool KeyedContainer::written_like(const V& key) const {
  return std::any_of(known.begin(), known.end(),
                     [&](auto& k) { return k.written && alike(k.key.ptr(), key->obj.ptr()); });
}

bool KeyedContainer::has(Context& c, const V& key) {
  if (open_ && varies(key)) {
    if (!loose.empty() && loose.back().key == key) return loose.back().present;
    if (key->src >= 0 && loose.empty() && !cleared_ && !written_like(key))
      return c.decided(source_has(c, key->obj.ptr()), {Source::kHasKey, src, 0, {}, key->src});
  }
  const py::object k = key_object(c, key, type());
  if (!open_) return settled_has(c, k);
  tighten(c, key);
  Known& found = know(c, k);
  if (found.present && !found.written && !found.value)  // nothing else guards that it is there
    c.decided(true, {Source::kHasKey, src, 0, found.key});
  return found.present;
}

void KeyedContainer::forget(Context& c) {
  c.undoable([this, known = known, index = known_index, loose = loose] {
    set_open(true);
    this->known = known, known_index = index, this->loose = loose;
  });
  set_open(cleared_);
  known.clear();
  known_index.clear();
  loose.clear();
}

void KeyedContainer::log_call(Context& c, const char* method, std::vector<V> args) {
  const auto cls = py::reinterpret_borrow<py::object>(reinterpret_cast<PyObject*>(type()));
  if (src >= 0) c.log({Context::Note::kCall, this, cls.attr(method), {}, std::move(args)});
}

py::object as_key(Context& c, const V& key, py::object o) {
  const auto [it, fresh] = c.keys_made_.try_emplace(static_cast<Value*>(key), o);
  if (fresh) c.key_values_[o.ptr()] = key;
  return it->second;
}

V made_key(Context& c, PyObject* o) {
  const auto it = c.key_values_.find(o);
  return it == c.key_values_.end() ? V() : it->second;
}

V key_value(Context& c, PyObject* o) {
  const V made = made_key(c, o);
  return made ? made : c.wrap_static(o);
}

}  // namespace pijit
