// Which value stands for an object, and what is guarded of it.
#include <algorithm>
#include <cmath>
#include <set>

#include "absl/container/flat_hash_map.h"
#include "capture/context.h"
#include "capture/kinds.h"
#include "capture/protocol/protocol.h"
#include "capture/values.h"
#include "capture/values/deque.h"
#include "objects/ndarray.h"
#include "graph/vals.h"
#include "objects/caller.h"

namespace pijit {
bool immutable_constant(PyObject* o) {
  return o == Py_None || PyBool_Check(o) || PyLong_CheckExact(o) || PyFloat_CheckExact(o) ||
         PyUnicode_CheckExact(o) || PyBytes_CheckExact(o) || o == Py_Ellipsis ||
         o == Py_NotImplemented || PyRange_Check(o) || PyComplex_CheckExact(o) ||
         is_numpy_scalar(o);
}
bool is_enum(PyTypeObject* t) { return PyType_IsSubtype(Py_TYPE(t), library.enum_meta.type()); }
// Objects whose identity is their meaning and that outlive any model: kept by strong reference.
bool static_object(PyObject* o) {
  return PyType_Check(o) || PyCFunction_Check(o) || PyModule_Check(o) ||
         Py_TYPE(o) == op_function_type || Py_TYPE(o) == dtype_type || PyCode_Check(o) ||
         Py_TYPE(o) == &PyMethodDescr_Type || Py_TYPE(o) == &PyGetSetDescr_Type ||
         Py_TYPE(o) == &PyWrapperDescr_Type || Py_TYPE(o) == &PyClassMethodDescr_Type ||
         is_enum(Py_TYPE(o)) || (numpy_is_followed() && dtype_of_descr(o));
}

// Subclasses of dict that differ from it in what they do for a missing key, or in the order of
// keys.
bool dict_like(PyTypeObject* t) {
  return t == library.defaultdict.type() || t == library.counter.type() ||
         t == library.ordered_dict.type();
}

// Classes in Python that derive from dict and leave to it how items are found, set and counted, as
// configurations whose keys are attributes do.
bool derived_dict(PyTypeObject* t) {
  if (t == &PyDict_Type || !PyType_IsSubtype(t, &PyDict_Type)) return false;
  for (PyTypeObject* base = t; base != &PyDict_Type; base = base->tp_base)
    if (!PyType_HasFeature(base, Py_TPFLAGS_HEAPTYPE) || dict_like(base)) return false;
  static const char* kNames[] = {"__getitem__", "__setitem__",  "__delitem__", "__len__",
                                 "__iter__",    "__contains__", "__bool__",    "__reversed__",
                                 "keys",        "values",       "items"};
  return std::all_of(std::begin(kNames), std::end(kNames), [&](const char* name) {
    PyObject* key = interned(name);
    return type_lookup(t, key) == type_lookup(&PyDict_Type, key);
  });
}

// Classes in Python that derive from list and add nothing to it but attributes of instances.
bool derived_list(PyTypeObject* t) {
  if (t == &PyList_Type || !PyType_IsSubtype(t, &PyList_Type)) return false;
  static const std::set<std::string> kNames = {
      "__module__",      "__doc__",        "__dict__",
      "__weakref__",     "__slots__",      "__parameters__",
      "__annotations__", "__orig_bases__", "__static_attributes__",
      "__firstlineno__"};
  for (PyTypeObject* base = t; base != &PyList_Type; base = base->tp_base) {
    if (!PyType_HasFeature(base, Py_TPFLAGS_HEAPTYPE) || Py_TYPE(base) != &PyType_Type)
      return false;
    for (auto item : py::reinterpret_borrow<py::dict>(base->tp_dict))
      if (!kNames.count(text_of(item.first.ptr()))) return false;
  }
  return true;
}

// A container like a tuple; operators may be its class's own.
bool plain_tuple_type(PyTypeObject* t) {
  if (!PyType_IsSubtype(t, &PyTuple_Type)) return false;
  if (t == &PyTuple_Type) return true;
  const PyMappingMethods *m = t->tp_as_mapping, *own_m = PyTuple_Type.tp_as_mapping;
  const PySequenceMethods *s = t->tp_as_sequence, *own_s = PyTuple_Type.tp_as_sequence;
  return t->tp_iter == PyTuple_Type.tp_iter && m && s && m->mp_subscript == own_m->mp_subscript &&
         m->mp_length == own_m->mp_length && s->sq_length == own_s->sq_length &&
         s->sq_contains == own_s->sq_contains && !(t->tp_as_number && t->tp_as_number->nb_bool);
}

// --- making values

V Context::constant(py::object o) { return make<ScalarValue>(std::move(o)); }
V Context::tuple(std::vector<V> items) {
  auto* v = make<TupleValue>();
  v->items = std::move(items);
  return v;
}
V Context::list(std::vector<V> items) {
  auto* v = make<ListValue>();
  v->items = std::move(items);
  return v;
}
TensorValue* Context::tensor(Val node) {
  auto* v = make<TensorValue>();
  v->last = node;
  return v;
}

V Context::wrap_static(PyObject* o) {
  if (o == library.no_numpy.ptr()) throw AsksForNumpy{};
  if (immutable_constant(o)) return constant(share(o));
  if (PyTuple_CheckExact(o)) {
    const Nested nested(*this);
    std::vector<V> items;
    for (Py_ssize_t k = 0; k < PyTuple_GET_SIZE(o); ++k)
      items.push_back(wrap_static(PyTuple_GET_ITEM(o, k)));
    V t = tuple(std::move(items));
    t->obj = share(o);
    return t;
  }
  if (static_object(o) || PyFunction_Check(o) || PyFrozenSet_CheckExact(o)) {
    auto known = known_.find(o);
    if (known != known_.end() && static_object(o)) return known->second;
    auto* v = make<ObjectValue>();
    v->obj = share(o);
    if (static_object(o)) known_[o] = v;
    return v;
  }
  return wrap(o, add_source({Source::kConst, -1, 0, share(o)}));
}

namespace {
// A class that a call makes, and may drop, is not kept by what was captured then.
void guard_identity(Context& c, PyObject* o, int src) {
  const Source::Kind from = c.sources_[src].kind;
  if (from == Source::kConst) return;
  const bool local = from == Source::kState && PyType_Check(o) &&
                     PyType_HasFeature(reinterpret_cast<PyTypeObject*>(o), Py_TPFLAGS_HEAPTYPE);
  if (!local) return c.guard(Guard::kIs, src, share(o));
  const auto weak = py::reinterpret_steal<py::object>(PyWeakref_NewRef(o, nullptr));
  if (!weak) throw py::error_already_set();
  c.guard(Guard::kIsStill, src, weak);
}

// A value of this kind for the object at `src`.
template <class T>
T* outside(Context& c, PyObject* o, int src) {
  auto* v = c.make<T>();
  v->src = src;
  v->obj = share(o);
  return v;
}

// One that varies is looked at by float() alone: what numpy computes with it is numpy's. Null: it
// is taken as it is.
V dynamic_numpy_scalar(Context& c, PyObject* o, int src) {
  const Source& s = c.sources_[src];
  const bool given =  // by a break
      s.kind == Source::kState && s.index >= c.start_.code->num_slots;
  if (!given && !c.unstable(src) && !c.start_.dynamic.count(s.path)) return nullptr;
  V& v = c.known_[o];
  if (v) {  // np.True_ is one object
    if (v->src != src && v->src >= 0)
      c.guard(Guard::kSame, std::max(src, v->src), {},
              static_cast<uint64_t>(std::min(src, v->src)));
    return v;
  }
  v = outside<ObjectValue>(c, o, src);
  c.guard(Guard::kExact, src, share(reinterpret_cast<PyObject*>(Py_TYPE(o))));
  return v;
}

V constant_at(Context& c, PyObject* o, int src) {
  if (is_dynamic(c, o, src)) return input_at(c, o, src);
  const V v = c.constant(share(o));
  if (c.sources_[src].kind == Source::kConst) return v;
  c.guard(Guard::kEquals, src, share(o));
  if (o != Py_None && !PyBool_Check(o)) v->src = src;  // each call has its own object
  return v;
}

V tensor_at(Context& c, PyObject* o, int src) {
  auto* x = outside<TensorValue>(c, o, src);
  PyTypeObject* t = Py_TYPE(o);
  x->parameter = t != tensor_type;
  const Type& ty = array_of(o)->type;
  uint64_t dynamic = 0;
  if (!c.start_.dynamic.empty()) {
    auto it = c.start_.dynamic.find(c.sources_[src].path);
    if (it != c.start_.dynamic.end()) dynamic = it->second & ((1ull << ty.shape.rank()) - 1);
  }
  const unsigned version = c.version_of(t);
  c.guards_.push_back(
      {Guard::kTensor, src, share(reinterpret_cast<PyObject*>(t)), {}, dynamic, ty, version});
  c.plain_tensors_ |= t == tensor_type;
  x->last = c.add_input(ty, src, dynamic, x->parameter);
  return x;
}

// A library's table: one version check.
V table_at(Context& c, PyObject* o, int src) {
  auto* d = outside<DictValue>(c, o, src);
  c.guard(Guard::kDictVersion, src, d->obj, dict_version(o));
  Py_ssize_t pos = 0;
  PyObject *k, *x;
  while (PyDict_Next(o, &pos, &k, &x)) {
    if (!constant_key(k)) c.give_up(Reason::kUnsupportedOperand, "dict with keys that can change");
    d->keys.push_back(share(k));
  }
  d->items.resize(d->keys.size());
  return d;
}

V cell_at(Context& c, PyObject* o, int src) {
  auto* v = outside<CellValue>(c, o, src);
  PyObject* const type = reinterpret_cast<PyObject*>(Py_TYPE(o));
  c.guard(Guard::kType, src, share(type), type_version(Py_TYPE(o)));
  c.known_[o] = v;
  if (PyCell_GET(o))
    v->content = c.wrap(PyCell_GET(o), c.add_source({Source::kCell, src, 0, {}}));
  else
    c.guard(Guard::kCellEmpty, src);
  return v;
}

V slice_at(Context& c, PyObject* o, int src) {
  auto* s = c.make<SliceValue>(nullptr, nullptr, nullptr);
  s->src = src;
  s->obj = share(o);
  c.guard(Guard::kExact, src, share(reinterpret_cast<PyObject*>(Py_TYPE(o))));
  const std::pair<const char*, V*> places[] = {
      {"start", &s->start}, {"stop", &s->stop}, {"step", &s->step}};
  for (auto [name, place] : places) {
    PyObject* d = type_lookup(Py_TYPE(o), interned(name));
    const auto x = py::reinterpret_steal<py::object>(PyObject_GetAttrString(o, name));
    *place = c.wrap(x.ptr(), c.add_source({Source::kMember, src, 0, share(d)}));
  }
  return s;
}

// `exact`: of C code.
V method_at(Context& c, PyObject* o, int src, PyObject* self, PyObject* function, bool exact) {
  auto* m = outside<MethodValue>(c, o, src);
  const py::object type = share(reinterpret_cast<PyObject*>(Py_TYPE(o)));
  exact ? c.guard(Guard::kExact, src, type)
        : c.guard(Guard::kType, src, type, type_version(Py_TYPE(o)));
  m->self = c.wrap(self, c.add_source({Source::kMethodSelf, src, 0, {}}));
  m->func = c.wrap(function, c.add_source({Source::kMethodFunc, src, 0, {}}));
  return m;
}

// A container that takes what is asked of it as guards.
V open_at(Context& c, const V& v, PyObject* o, int src) {
  v->src = src;
  v->obj = share(o);
  v->from_outside(c);
  c.guard(Guard::kExact, src, share(reinterpret_cast<PyObject*>(Py_TYPE(o))));
  return v;
}

// Is a dict what a module, or exec(), has its names in? Those are read and written past the dict.
bool is_namespace(PyObject* dict) {
  auto has = [&](const char* name) { return PyDict_GetItemString(dict, name) != nullptr; };
  return has("__builtins__") || (has("__name__") && has("__loader__"));
}

V container_at(Context& c, PyObject* o, int src) {
  PyTypeObject* t = Py_TYPE(o);
  if (plain_tuple_type(t)) {
    auto* x = outside<TupleValue>(c, o, src);
    const auto n = static_cast<uint64_t>(PyTuple_GET_SIZE(o));
    c.guard(Guard::kLength, src, share(reinterpret_cast<PyObject*>(t)), n);
    x->items.resize(n);
    return x;
  }
  if (PyList_CheckExact(o)) return open_at(c, c.make<ListValue>(), o, src);
  if (PyDict_CheckExact(o)) {
    if (c.sources_[src].kind == Source::kConst) return table_at(c, o, src);
    if (c.instance_dicts_.count(o)) c.give_up(Reason::kUnsupportedAttribute, "__dict__");
    if (is_namespace(o)) c.give_up(Reason::kUnsupportedOperand, "a module's dict");
    return open_at(c, c.make<DictValue>(), o, src);
  }
  const V v = derived_list(t)                   ? V(outside<ListValue>(c, o, src))
              : dict_like(t) || derived_dict(t) ? V(outside<DictValue>(c, o, src))
                                                : nullptr;
  if (!v) return nullptr;
  v->from_outside(c);
  c.known_[o] = v;
  c.guard_type(v);
  return v;
}

// What stands for an object that is met for the first time.
V value_at(Context& c, PyObject* o, int src) {
  if (is_tensor(o)) return tensor_at(c, o, src);
  if (V v = container_at(c, o, src)) return v;
  if (PyCell_Check(o)) return cell_at(c, o, src);
  if (PySlice_Check(o)) return slice_at(c, o, src);
  if (PyObject* method = PyCFunction_Check(o) ? method_behind(o) : nullptr)
    return method_at(c, o, src, PyCFunction_GET_SELF(o), method, true);
  if (PyMethod_Check(o))
    return method_at(c, o, src, PyMethod_GET_SELF(o), PyMethod_GET_FUNCTION(o), false);
  const auto* kind = PyFunction_Check(o) || static_object(o) ? nullptr : kind_of(Py_TYPE(o));
  if (kind) {
    const V v = kind->make(c);
    v->src = src;
    v->obj = share(o);
    c.known_[o] = v;
    c.guard(Guard::kExact, src, share(reinterpret_cast<PyObject*>(Py_TYPE(o))));
    v->from_outside(c);
    return v;
  }
  if (is_followed_ndarray(o)) {
    c.guard(Guard::kExact, src, share(reinterpret_cast<PyObject*>(Py_TYPE(o))));
    return outside<NdarrayValue>(c, o, src);
  }
  auto* v = outside<ObjectValue>(c, o, src);
  if (PyFunction_Check(o)) {
    c.guard(Guard::kCode, src, share(PyFunction_GET_CODE(o)), 0, share(PyFunction_GET_GLOBALS(o)));
  } else if (static_object(o)) {
    guard_identity(c, o, src);
  } else {
    c.known_[o] = v;
    c.guard_type(v);
  }
  return v;
}
}  // namespace

V Context::wrap(PyObject* o, int src) {
  if (o == library.no_numpy.ptr()) throw AsksForNumpy{};
  if (is_numpy_scalar(o))
    if (V v = dynamic_numpy_scalar(*this, o, src)) return v;
  if (immutable_constant(o)) return constant_at(*this, o, src);
  const auto known = known_.find(o);
  if (known == known_.end()) {
    const V v = value_at(*this, o, src);
    return known_[o] = v;
  }
  const V v = known->second;
  if (static_object(o))
    guard_identity(*this, o, src);
  else if (v->src != src && v->src >= 0)
    guard(Guard::kSame, std::max(src, v->src), {}, static_cast<uint64_t>(std::min(src, v->src)));
  return v;
}

// --- questions

bool asks_user_code(Context& c, PyTypeObject* t, Ask what) {
  if (what == Ask::kIdentity || !PyType_HasFeature(t, Py_TPFLAGS_HEAPTYPE)) return false;
  struct Known {
    unsigned version = 0;
    bool hash = false, text = false, any = false;
  };
  static absl::flat_hash_map<PyTypeObject*, Known> known;  // versions tell types apart
  c.guard_class(t);
  Known k = known[t];  // no reference to it: others may enter theirs while methods are looked up
  if (k.version != t->tp_version_tag) {
    k = {t->tp_version_tag};
    // enums, named tuples, classes: their Python code depends on nothing else
    auto harmless = [](PyObject* f) {
      static const std::set<std::string> kModules = {"enum", "collections", "typing", "abc"};
      if (!PyFunction_Check(f)) return false;
      PyObject* n = PyDict_GetItemString(PyFunction_GET_GLOBALS(f), "__name__");
      return n && PyUnicode_Check(n) && kModules.count(text_of(n)) > 0;
    };
    auto own = [&](const char* name) {
      PyObject* f = type_lookup(t, str_of(name).ptr());
      if (!f || f == Py_None || PyCFunction_Check(f) || Py_TYPE(f) == &PyWrapperDescr_Type ||
          Py_TYPE(f) == &PyMethodDescr_Type || Py_TYPE(f) == &PyClassMethodDescr_Type)
        return false;
      return !harmless(f);
    };
    k.hash = own("__hash__") || own("__eq__");
    k.text = own("__repr__") || own("__str__") || own("__format__");
    static const char* kNames[] = {
        "__ne__",          "__lt__",       "__le__",       "__gt__",          "__ge__",
        "__bool__",        "__len__",      "__iter__",     "__getitem__",     "__contains__",
        "__index__",       "__int__",      "__float__",    "__complex__",     "__abs__",
        "__neg__",         "__pos__",      "__invert__",   "__round__",       "__trunc__",
        "__floor__",       "__ceil__",     "__divmod__",   "__rdivmod__",     "__add__",
        "__radd__",        "__sub__",      "__rsub__",     "__mul__",         "__rmul__",
        "__truediv__",     "__rtruediv__", "__floordiv__", "__rfloordiv__",   "__mod__",
        "__rmod__",        "__pow__",      "__rpow__",     "__matmul__",      "__rmatmul__",
        "__and__",         "__rand__",     "__or__",       "__ror__",         "__xor__",
        "__rxor__",        "__lshift__",   "__rlshift__",  "__rshift__",      "__rrshift__",
        "__iter__",        "__bytes__",    "__fspath__",   "__length_hint__", "__reversed__",
        "__getattribute__"};
    k.any = k.hash || k.text || std::any_of(std::begin(kNames), std::end(kNames), own);
    known[t] = k;
  }
  return what == Ask::kHash ? k.hash : what == Ask::kText ? k.text : k.any;
}

bool is_nan(PyObject* o) {
  return PyFloat_Check(o) && PyFloat_AS_DOUBLE(o) != PyFloat_AS_DOUBLE(o);
}

bool holds_nan(PyObject* o) {
  if (PyComplex_Check(o))
    return std::isnan(PyComplex_RealAsDouble(o)) || std::isnan(PyComplex_ImagAsDouble(o));
  if (PyDict_Check(o)) {
    Py_ssize_t pos = 0;
    PyObject *key, *value;
    while (PyDict_Next(o, &pos, &key, &value))
      if (holds_nan(key) || holds_nan(value)) return true;
    return false;
  }
  if (is_numpy_scalar(o)) return !py::handle(o).equal(py::handle(o));
  const bool items =
      PyTuple_Check(o) || PyList_Check(o) || PyAnySet_Check(o) || Py_TYPE(o) == deque_type();
  if (!items) return is_nan(o);
  for (auto x : py::reinterpret_borrow<py::object>(o))
    if (holds_nan(x.ptr())) return true;
  return false;
}

void Context::touch(const V& v) {
  check_effect(v);
  if (v->src >= 0 && !v->dirty) {
    if (as<TensorValue>(v)) log({Note::kAssign, v, {}, {}, {}});
    undoable([v] { v->dirty = false; });
    v->dirty = true;
  }
}

}  // namespace pijit
