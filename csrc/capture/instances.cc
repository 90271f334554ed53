// Objects of Python classes: those made during capture, whose construction is Python code alone,
// and what both they and objects from outside do by methods of their class (operators, containers).
#include "capture/context.h"
#include "capture/values.h"
#include "python/quiet_lookup.h"

namespace pijit {
namespace {

bool not_implemented(const V& v) { return is_known(v) && v->obj.ptr() == Py_NotImplemented; }

}  // namespace

bool Context::bare_class(PyTypeObject* t) const {
  for (Py_ssize_t k = 0; k < PyTuple_GET_SIZE(t->tp_mro); ++k) {  // else C code has its say
    auto* base = reinterpret_cast<PyTypeObject*>(PyTuple_GET_ITEM(t->tp_mro, k));
    if (!PyType_HasFeature(base, Py_TPFLAGS_HEAPTYPE) && base != &PyBaseObject_Type) return false;
  }
  return PyType_HasFeature(t, Py_TPFLAGS_HEAPTYPE) && Py_TYPE(t)->tp_call == PyType_Type.tp_call &&
         t->tp_alloc == PyType_GenericAlloc && !PyType_HasFeature(t, Py_TPFLAGS_IS_ABSTRACT) &&
         !t->tp_finalize && !t->tp_del &&
         type_lookup(t, names.getattribute) == type_lookup(&PyBaseObject_Type, names.getattribute);
}

unsigned Context::version_of(PyTypeObject* t) const {
  const unsigned version = names_are_texts(t) ? type_version(t) : 0;
  if (!version)
    give_up(Reason::kUnsupportedAttribute, str_cat("type ", t->tp_name, " has no version"));
  return version;
}

int Context::guard_class(PyTypeObject* t) {
  py::object cls = share(reinterpret_cast<PyObject*>(t));
  const unsigned version = version_of(t);
  const int src = add_source({Source::kConst, -1, 0, cls});
  guard(Guard::kTypeVersion, src, cls, version);
  return src;
}

V Context::make_instance(PyTypeObject* t, std::vector<V> args, Kwargs kwargs) {
  if (PyType_HasFeature(Py_TYPE(t), Py_TPFLAGS_HEAPTYPE)) guard_class(Py_TYPE(t));
  guard_class(t);
  PyObject* const of_object = type_lookup(&PyBaseObject_Type, names.init);
  V v;
  if (t->tp_new == PyBaseObject_Type.tp_new) {
    v = bare_object(t);
    if (type_lookup(t, names.init) == of_object && (!args.empty() || !kwargs.empty()))
      give_up(Reason::kRaises, str_cat(t->tp_name, "() takes no arguments"));
  } else {
    PyObject* make = type_lookup(t, names.make);
    const bool declared = make && Py_TYPE(make) == &PyStaticMethod_Type;  // else set later
    const py::object fn = declared ? share(make).attr("__func__") : share(make);
    if (!fn || !(PyFunction_Check(fn.ptr()) || Py_TYPE(fn.ptr()) == jit_function_type))
      give_up(Reason::kUnsupportedCall, str_cat("making a ", t->tp_name));
    std::vector<V> all{wrap_static(reinterpret_cast<PyObject*>(t))};
    all.insert(all.end(), args.begin(), args.end());
    v = call(wrap_static(fn.ptr()), all, kwargs);
    if (!PyType_IsSubtype(type_of(v), t)) return v;
    if (v->kind == Value::kObject)  // one that there was before
      guard_type(v);
    else if (v->kind != Value::kInstance)
      give_up(Reason::kUnsupportedCall, str_cat("making a ", t->tp_name));
    guard_class(type_of(v));
  }
  PyObject* init = type_lookup(type_of(v), names.init);
  if (init == of_object) return v;
  if (!PyFunction_Check(init)) give_up(Reason::kUnsupportedCall, str_cat("making a ", t->tp_name));
  args.insert(args.begin(), v);
  if (!is_none(call(wrap_static(init), args, kwargs)))
    give_up(Reason::kRaises, "__init__() should return None");
  return v;
}

// What object.__new__ gives.
V Context::bare_object(PyTypeObject* t) {
  auto* v = make<InstanceValue>();
  v->obj = share(reinterpret_cast<PyObject*>(t));
  return v;
}

// What collections.namedtuple and typing.NamedTuple make: a __new__ in Python ends in
// tuple.__new__.
V Context::make_named_tuple(PyTypeObject* t, std::vector<V> args, Kwargs kwargs) {
  guard_class(t);
  PyObject* make = type_lookup(t, names.make);
  if (!make || Py_TYPE(make) != &PyStaticMethod_Type || !plain_tuple_type(t) ||
      Py_TYPE(t)->tp_call != PyType_Type.tp_call || t->tp_finalize ||
      type_lookup(t, names.init) != type_lookup(&PyBaseObject_Type, names.init))
    give_up(Reason::kUnsupportedCall, str_cat("making a ", t->tp_name));
  const py::object fn = share(make).attr("__func__");
  args.insert(args.begin(), wrap_static(reinterpret_cast<PyObject*>(t)));
  return call(wrap_static(fn.ptr()), args, kwargs);
}

std::optional<V> Context::instance_attribute(const V& v, PyObject* name_obj) {
  const std::string name = text_of(name_obj);
  PyTypeObject* type = type_of(v);
  if (name == "__class__" && says_its_class(type))
    return wrap_static(reinterpret_cast<PyObject*>(type));
  if (name == "__dict__") give_up(Reason::kUnsupportedAttribute, name);
  PyObject* found = type_lookup(type, name_obj);
  const bool slot = is_slot(found, type);
  if (found && Py_TYPE(found)->tp_descr_set && Py_TYPE(found)->tp_descr_get && !slot) {
    if (Py_TYPE(found) == &PyGetSetDescr_Type)
      give_up(Reason::kUnsupportedAttribute, str_cat(type->tp_name, ".", name));
    return bind(wrap_static(found), v, type);
  }
  if (const int k = find_key(v, name_obj); k >= 0) return v->items[k];
  if (found && !slot) return bind(class_attribute(found, guard_class(type), name_obj), v, type);
  return missing_attribute(v, name_obj);
}

// What __getattr__ gives.
std::optional<V> Context::missing_attribute(const V& v, PyObject* name) {
  PyObject* g = type_lookup(type_of(v), names.getattr);
  if (!g) return std::nullopt;
  if (!PyFunction_Check(g)) give_up(Reason::kUnsupportedAttribute, "__getattr__");
  return call(wrap_static(g), {v, constant(share(name))}, {});
}

void Context::set_instance_attribute(const V& v, PyObject* name_obj, const V& value) {
  PyObject* found = type_lookup(type_of(v), name_obj);
  if (!is_slot(found, type_of(v)) && !instances_have_dict(type_of(v)))
    give_up(Reason::kRaises, "AttributeError");
  set_entry(v, share(name_obj), value);
}

// Methods of `object`, as super() and object.__setattr__ reach them.
V Context::call_object_method(const std::string& name, const V& self, const std::vector<V>& args) {
  if (name == "__init__" && args.empty()) return constant(py::none());
  if (name == "__setattr__" && args.size() == 2) {
    auto n = as_constant(args[0]);
    if (n && PyUnicode_Check(n->ptr())) {
      PyObject* text = n->release().ptr();
      PyUnicode_InternInPlace(&text);
      const py::object keep = py::reinterpret_steal<py::object>(text);
      store_attribute(self, text, args[1]);
      return constant(py::none());
    }
  }
  give_up(Reason::kUnsupportedCall, "object." + name);
}

// The method `name` of an object whose class is Python's, if it is a Python function there.
PyObject* Context::user_method(const V& v, const std::string& name) {
  if (!v->asks_class()) return nullptr;
  PyTypeObject* t = type_of(v);
  if (!PyType_HasFeature(t, Py_TPFLAGS_HEAPTYPE)) return nullptr;
  v->guard_methods(*this);
  PyObject* f = type_lookup(t, interned(name));
  if (!f) return nullptr;
  if (f == Py_None) give_up(Reason::kRaises, str_cat(t->tp_name, " has no ", name));
  if (Py_TYPE(f) == jit_function_type) return jit_inner(f);
  return PyFunction_Check(f) ? f : nullptr;
}

}  // namespace pijit
