// Attributes: what a value, its class or its metaclass has under a name, as Objects/object.c,
// typeobject.c and descrobject.c have it.
#include <algorithm>
#include <set>

#include "capture/context.h"
#include "capture/protocol/inherent.h"
#include "capture/protocol/protocol.h"
#include "capture/values.h"
#include "objects/ndarray.h"

#include <structmember.h>

namespace pijit {

// A place for an object of a class's __slots__, which takes any. Members of C classes may be read
// alone, or take one type.
bool is_slot(PyObject* found, PyTypeObject* t) {
  if (!found || Py_TYPE(found) != &PyMemberDescr_Type) return false;
  const PyMemberDef* m = reinterpret_cast<PyMemberDescrObject*>(found)->d_member;
  return m->type == T_OBJECT_EX && !(m->flags & READONLY) &&
         PyType_IsSubtype(t, reinterpret_cast<PyDescrObject*>(found)->d_type);
}

bool says_its_class(PyTypeObject* t) {
  return type_lookup(t, names.cls) == type_lookup(&PyBaseObject_Type, names.cls);
}

bool own_getattribute(PyTypeObject* t) {
  PyObject* f = type_lookup(t, names.getattribute);
  return !f || Py_TYPE(f) != &PyWrapperDescr_Type;  // built-in types have one in C each
}

namespace protocol {
namespace {

// `obj.name = value` (__set__) or `del obj.name` (__delete__), where obj's class has a property or
// a descriptor written in Python under the name.
void ask_descriptor(Context& c, PyObject* found, const char* method, std::vector<V> args,
                    PyObject* name) {
  if (as<ObjectValue>(args[0])) c.guard_type(args[0]);
  py::object f;
  if (Py_TYPE(found) == &PyProperty_Type) {
    f = share(found).attr(args.size() > 1 ? "fset" : "fdel");
    if (f.is_none()) c.give_up(Reason::kRaises, "property without " + std::string(method));
  } else {
    const V d = c.wrap_static(found);
    PyObject* own = user_method(c, d, method);
    if (!own) c.give_up(Reason::kUnsupportedAttribute, "descriptor " + text_of(name));
    f = share(own);
    args.insert(args.begin(), d);
  }
  call(c, c.wrap_static(f.ptr()), args, {});
}

}  // namespace

// The method `name` of an object whose class is Python's, if it is a Python function there.
PyObject* user_method(Context& c, const V& v, const std::string& name) {
  if (!v->asks_class()) return nullptr;
  PyTypeObject* t = v->type();
  if (!PyType_HasFeature(t, Py_TPFLAGS_HEAPTYPE)) return nullptr;
  v->guard_methods(c);
  PyObject* f = type_lookup(t, interned(name));
  if (!f) return nullptr;
  if (f == Py_None) c.give_up(Reason::kRaises, str_cat(t->tp_name, " has no ", name));
  if (Py_TYPE(f) == jit_function_type) return jit_inner(f);
  return PyFunction_Check(f) ? f : nullptr;
}

V bind(Context& c, const V& found, const V& self, PyTypeObject* owner) {
  PyObject* o = found->obj.ptr();
  if (!as<ObjectValue>(found)) return found;
  if (PyFunction_Check(o) || Py_TYPE(o) == jit_function_type || Py_TYPE(o) == &PyMethodDescr_Type ||
      Py_TYPE(o) == &PyWrapperDescr_Type)
    return c.make<MethodValue>(self, found);
  if (Py_TYPE(o) == &PyProperty_Type) {
    PyObject* get = PyObject_GetAttrString(o, "fget");
    if (!get || get == Py_None) c.give_up(Reason::kUnsupportedAttribute, "property without getter");
    py::object keep = py::reinterpret_steal<py::object>(get);
    return call(c, c.wrap_static(get), {self}, {});
  }
  if (Py_TYPE(o) == &PyStaticMethod_Type)
    return c.wrap_static(py::object(share(o).attr("__func__")).ptr());
  if (Py_TYPE(o) == &PyClassMethod_Type) {
    const py::object f = share(o).attr("__func__");
    if (!PyFunction_Check(f.ptr()) &&
        Py_TYPE(f.ptr()) != jit_function_type)  // bound in ways of its own
      c.give_up(Reason::kUnsupportedAttribute,
                str_cat("classmethod of a ", Py_TYPE(f.ptr())->tp_name));
    return c.make<MethodValue>(c.wrap_static(reinterpret_cast<PyObject*>(owner)),
                               c.wrap_static(f.ptr()));
  }
  if (PyObject* get = user_method(c, found, "__get__")) {  // a descriptor written in Python
    if (found->src >= 0) c.guard_type(found);
    return call(c, c.wrap_static(get),
                {found, self, c.wrap_static(reinterpret_cast<PyObject*>(owner))}, {});
  }
  if (Py_TYPE(o)->tp_descr_get && !PyType_Check(o) && !PyCFunction_Check(o))
    c.give_up(Reason::kUnsupportedAttribute, std::string("descriptor ") + Py_TYPE(o)->tp_name);
  return found;
}

V behind(Context& c, const V& front) {
  return c.wrap(jit_inner(front->obj.ptr()),
                c.add_source({Source::kMethodFunc, c.source_of(front), 0, {}}));
}

V member(Context& c, const V& v, PyObject* name) {
  PyObject* d = type_lookup(v->type(), name);
  PIJIT_CHECK(d && Py_TYPE(d)->tp_descr_get, "no member of that name");
  const auto x = py::reinterpret_steal<py::object>(Py_TYPE(d)->tp_descr_get(
      d, v->obj.ptr(), reinterpret_cast<PyObject*>(Py_TYPE(v->obj.ptr()))));
  if (!x) c.raise(py::error_already_set());
  return c.wrap(x.ptr(), c.add_source({Source::kMember, c.source_of(v), 0, share(d)}));
}

V c_attribute(Context& c, const V& v, const char* name) {
  const int key = c.add_source({Source::kConst, -1, 0, share(interned(name))});
  const py::object o = v->obj.attr(name);
  return c.wrap(
      o.ptr(),
      c.add_source({Source::kComputed, -1, 0, share(original("getattr")), -1, {v->src, key}}));
}

V attribute(Context& c, const V& v, PyObject* name) {
  auto r = find_attribute(c, v, name);
  if (!r)
    c.raise(PyExc_AttributeError,
            str_cat("'", v->type()->tp_name, "' object has no attribute '", text_of(name), "'"));
  return *r;
}

std::optional<V> find_attribute(Context& c, const V& v, PyObject* name) {
  return v->getattr(c, name);
}

// Of an object of a built-in class, all of whose attributes are its class's.
std::optional<V> builtin_attribute(Context& c, const V& v, PyObject* name) {
  PyTypeObject* type = v->type();
  if (name == names.cls) return c.wrap_static(reinterpret_cast<PyObject*>(type));
  PyObject* found = type_lookup(type, name);
  if (!found) return std::nullopt;
  if (Py_TYPE(found) == &PyMethodDescr_Type || PyFunction_Check(found))
    return bind(c, c.wrap_static(found), v, type);
  c.give_up(Reason::kUnsupportedAttribute, text_of(name));
}

namespace {

// module_getattro
std::optional<V> module_attribute(Context& c, const V& v, PyObject* name_obj) {
  const std::string name = text_of(name_obj);
  PyObject* o = v->obj.ptr();
  PyTypeObject* type = Py_TYPE(o);
  PyObject* d = PyModule_GetDict(o);
  if (type != &PyModule_Type) {  // what its class has comes first
    if (PyType_HasFeature(type, Py_TPFLAGS_HEAPTYPE)) c.guard_class(type);
    PyObject* found = type_lookup(type, name_obj);
    if (own_getattribute(type) || (found && Py_TYPE(found)->tp_descr_set))
      c.give_up(Reason::kUnsupportedAttribute, str_cat("module attribute ", name));
  }
  if (auto w = c.global_writes_.find({d, name}); w != c.global_writes_.end()) return w->second;
  PyObject* x = c.found_in(d, name_obj);
  if (!x && named_as_library(d)) {  // our modules enter in their dicts what they load on demand
    Py_XDECREF(PyObject_GetAttr(o, name_obj));
    PyErr_Clear();
    x = c.found_in(d, name_obj);
  }
  if (!x) {  // what a module loads on demand may be there the next time
    c.guard(Guard::kNoDictAttr, c.source_of(v), share(name_obj));
    c.give_up(Reason::kUnsupportedAttribute, str_cat("module attribute ", name));
  }
  if (c.is_library(d)) return c.wrap_static(x);
  return c.wrap(x, c.add_source({Source::kDictAttr, c.source_of(v), 0, share(name_obj)}));
}

bool is_name_of_class(Inherent a) {
  return a == Inherent::kName || a == Inherent::kQualname || a == Inherent::kModule;
}

// type_getattro
std::optional<V> type_attribute(Context& c, const V& v, PyObject* name_obj) {
  const std::string name = text_of(name_obj);
  PyObject* o = v->obj.ptr();
  PyTypeObject* type = Py_TYPE(o);
  auto* t = reinterpret_cast<PyTypeObject*>(o);
  if (const V written = written_class_attribute(c, t, name)) return written;
  if (PyType_HasFeature(type, Py_TPFLAGS_HEAPTYPE)) c.guard_class(type);
  if (is_name_of_class(inherent(name)) && type->tp_getattro == PyType_Type.tp_getattro &&
      type_lookup(type, name_obj) == type_lookup(&PyType_Type, name_obj)) {
    PyObject* r = PyObject_GetAttr(o, name_obj);
    if (!r) throw py::error_already_set();
    const py::object keep = py::reinterpret_steal<py::object>(r);
    return c.wrap(r, c.add_source({Source::kClassName, c.source_of(v), 0, share(name_obj)}));
  }
  if (is_enum(t)) {  // members, found in ways of their own
    PyObject* r = PyObject_GetAttr(o, name_obj);
    if (!r) throw py::error_already_set();
    const py::object keep = py::reinterpret_steal<py::object>(r);
    if (is_enum(Py_TYPE(r))) {
      c.guard_class(t);
      return c.wrap_static(r);
    }
  }
  PyObject* found = type_lookup(t, name_obj);
  // what the metaclass computes comes first: names, documentation, annotations ...
  PyObject* above = type_lookup(type, name_obj);
  if (!found && !above && type->tp_getattro == PyType_Type.tp_getattro &&
      !type_lookup(type, names.getattr)) {
    c.guard_class(t);
    return std::nullopt;
  }
  // __getattr__ is for what is not found
  if (!found ||
      type_lookup(type, names.getattribute) != type_lookup(&PyType_Type, names.getattribute) ||
      (above && Py_TYPE(above)->tp_descr_set))
    c.give_up(Reason::kUnsupportedAttribute, str_cat("class attribute ", name));
  if (Py_TYPE(found) == &PyClassMethodDescr_Type) {  // int.from_bytes: C code, always the same
    PyObject* r = PyObject_GetAttr(o, name_obj);
    if (!r) throw py::error_already_set();
    return c.wrap_static(py::reinterpret_steal<py::object>(r).ptr());
  }
  static const std::set<PyTypeObject*> kThemselves = {
      &PyFunction_Type,    &PyStaticMethod_Type, &PyClassMethod_Type, &PyProperty_Type,
      &PyMethodDescr_Type, &PyWrapperDescr_Type, &PyMemberDescr_Type, &PyGetSetDescr_Type,
      &PyType_Type,        jit_function_type};
  if (Py_TYPE(found)->tp_descr_get && !PyType_Check(found) && !kThemselves.count(Py_TYPE(found)))
    c.give_up(Reason::kUnsupportedAttribute,
              str_cat("descriptor ", Py_TYPE(found)->tp_name, " ", name));
  V x = c.wrap(found, c.add_source({Source::kAttr, c.source_of(v), 0, share(name_obj)}));
  if (as<ObjectValue>(x) && Py_TYPE(x->obj.ptr()) == &PyStaticMethod_Type)
    return c.wrap_static(py::object(x->obj.attr("__func__")).ptr());
  if (as<ObjectValue>(x) && Py_TYPE(x->obj.ptr()) == &PyClassMethod_Type) return bind(c, x, v, t);
  return x;
}

// `name` and `value` of a member. Empty: its class has them in another way.
std::optional<V> member_of_enum(Context& c, const V& v, PyObject* name_obj) {
  const std::string name = text_of(name_obj);
  PyObject* o = v->obj.ptr();
  PyTypeObject* type = Py_TYPE(o);
  const std::pair<std::string_view, PyObject*> members[] = {{"name", names.enum_name},
                                                            {"value", names.enum_value}};
  const auto row = std::ranges::find(members, name, [](auto& m) { return m.first; });
  if (row == std::end(members)) return std::nullopt;
  PyObject* found = type_lookup(type, name_obj);
  if (found && Py_TYPE(found) == library.enum_property.type()) {
    c.guard_class(type);
    PyObject* key = row->second;
    const auto d = py::reinterpret_steal<py::object>(instance_dict(o));
    PyObject* x = d ? c.found_in(d.ptr(), key) : nullptr;
    if (!x) c.give_up(Reason::kUnsupportedAttribute, str_cat(type->tp_name, ".", name), type);
    return c.wrap(x, c.add_source({Source::kDictAttr, c.source_of(v), 0, share(key)}));
  }
  return std::nullopt;
}

// PyObject_GenericGetAttr of an object of a class in Python. `deleted`: it has no attribute of that
// name of its own any more.
std::optional<V> generic_attribute(Context& c, const V& v, PyObject* name_obj, bool deleted) {
  const std::string name = text_of(name_obj);
  PyObject* o = v->obj.ptr();
  PyTypeObject* type = Py_TYPE(o);
  if (type->tp_getattro != PyObject_GenericGetAttr) {
    // a class with __getattr__ still finds what is there; one with __getattribute__ does not
    if (type_lookup(type, names.getattribute) !=
        type_lookup(&PyBaseObject_Type, names.getattribute))
      c.give_up(Reason::kUnsupportedAttribute, str_cat(type->tp_name, " defines __getattribute__"));
  }
  // super objects made by call_type
  PyObject* found = type_lookup(type, name_obj);
  const bool data = found && Py_TYPE(found)->tp_descr_set && Py_TYPE(found)->tp_descr_get;
  if (inherent(name) == Inherent::kClass && says_its_class(type))
    return c.wrap_static(reinterpret_cast<PyObject*>(type));
  if (data) {
    if (dtype_of_descr(o)) {  // NumPy's dtypes of numbers never change
      if (v->src >= 0 && c.sources_[v->src].kind != Source::kConst)
        c.guard(Guard::kIs, v->src, v->obj);
      const auto x = py::reinterpret_steal<py::object>(PyObject_GetAttr(o, name_obj));
      if (!x) throw py::error_already_set();
      if (auto known = fresh(c, x)) return known;
    }
    if (Py_TYPE(found) == &PyMemberDescr_Type && PyType_HasFeature(type, Py_TPFLAGS_HEAPTYPE)) {
      const int src = c.add_source({Source::kSlot, c.source_of(v), 0, share(name_obj)});
      const py::object x = py::reinterpret_steal<py::object>(slot_value(found, o));
      if (!x) c.give_up(Reason::kRaises, str_cat("the slot ", name, " is not set"));
      return c.wrap(x.ptr(), src);
    }
    if (Py_TYPE(found) == &PyMemberDescr_Type || Py_TYPE(found) == &PyGetSetDescr_Type)
      c.give_up(Reason::kUnsupportedAttribute, str_cat(type->tp_name, ".", name), type);
    return bind(c, c.wrap_static(found), v, type);
  }
  py::object d = py::reinterpret_steal<py::object>(instance_dict(o));
  if (inherent(name) == Inherent::kDict) c.give_up(Reason::kUnsupportedAttribute, "__dict__");
  if (d && !deleted) {
    c.instance_dicts_.insert(d.ptr());
    if (c.known_.count(d.ptr())) c.give_up(Reason::kUnsupportedAttribute, "__dict__");
    if (PyObject* x = c.found_in(d.ptr(), name_obj))
      return c.wrap(x, c.add_source({Source::kDictAttr, c.source_of(v), 0, share(name_obj)}));
    c.guard(Guard::kNoDictAttr, c.source_of(v), share(name_obj));
  }
  if (!found) return missing_attribute(c, v, name_obj);
  return bind(c, class_attribute(c, found, c.source_of(v), name_obj), v, type);
}

}  // namespace

Inherent inherent(std::string_view name) {
  static constexpr std::pair<std::string_view, Inherent> kRows[] = {
      {"__class__", Inherent::kClass},   {"__dict__", Inherent::kDict},
      {"__name__", Inherent::kName},     {"__qualname__", Inherent::kQualname},
      {"__module__", Inherent::kModule}, {"__doc__", Inherent::kDoc}};
  for (auto& [text, which] : kRows)
    if (text == name) return which;
  return Inherent::kNone;
}

std::optional<V> object_attribute(Context& c, const V& v, PyObject* name) {
  const auto& written = as<ObjectValue>(v)->attrs;
  const auto pending = written.find(text_of(name));
  if (pending != written.end() && pending->second) return pending->second;
  PyObject* o = v->obj.ptr();
  PyTypeObject* type = Py_TYPE(o);
  if (type == dtype_type) {
    PyObject* r = PyObject_GetAttr(o, name);
    if (!r) throw py::error_already_set();
    return c.constant(py::reinterpret_steal<py::object>(r));
  }
  if (PyModule_Check(o)) return module_attribute(c, v, name);
  if (PyType_Check(o)) return type_attribute(c, v, name);
  if (type == jit_function_type) return find_attribute(c, behind(c, v), name);
  if (is_enum(type))
    if (auto found = member_of_enum(c, v, name)) return found;
  if (PyFunction_Check(o)) {
    const std::string text = text_of(name);
    if (is_name_of_class(inherent(text)) || inherent(text) == Inherent::kDoc)
      return member(c, v, name);
    c.give_up(Reason::kUnsupportedAttribute, str_cat("function attribute ", text));
  }
  return generic_attribute(c, v, name, pending != written.end());
}

// What a class has under a name, found by way of the object at `owner`. The type's version guards
// it; mutable ones are read through a source.
V class_attribute(Context& c, PyObject* found, int owner, PyObject* name) {
  return immutable_constant(found) || static_object(found) || PyFunction_Check(found) ||
                 Py_TYPE(found) == &PyStaticMethod_Type || Py_TYPE(found) == &PyClassMethod_Type ||
                 Py_TYPE(found) == &PyProperty_Type
             ? c.wrap_static(found)
             : c.wrap(found, c.add_source({Source::kAttr, owner, 0, share(name)}));
}

void set_attribute(Context& c, const V& v, PyObject* name, const V& value) {
  v->setattr(c, name, value);
}

void set_object_attribute(Context& c, const V& v, PyObject* name_obj, const V& value) {
  if (v->type()->tp_setattro == PyObject_GenericSetAttr)
    return store_attribute(c, v, name_obj, value);
  PyObject* f = user_method(c, v, "__setattr__");
  if (!f) c.give_up(Reason::kUnsupportedAttribute, str_cat(v->type()->tp_name, ".__setattr__"));
  if (as<ObjectValue>(v)) c.guard_type(v);
  call(c, c.wrap_static(f), {v, c.constant(share(name_obj)), value}, {});
}

// As object.__setattr__.
void store_attribute(Context& c, const V& v, PyObject* name_obj, const V& value) {
  PyTypeObject* type = v->type();
  PyObject* found = type_lookup(type, name_obj);
  const bool slot = is_slot(found, type);
  if (found && Py_TYPE(found)->tp_descr_set && !slot)
    return ask_descriptor(c, found, "__set__", {v, value}, name_obj);
  v->store_attribute(c, name_obj, value);
}

void delete_attribute(Context& c, const V& v, PyObject* name) { v->delattr(c, name); }

void delete_object_attribute(Context& c, const V& v, PyObject* name) {
  if (PyObject* f = user_method(c, v, "__delattr__")) {
    if (as<ObjectValue>(v)) c.guard_type(v);
    call(c, c.wrap_static(f), {v, c.constant(share(name))}, {});
    return;
  }
  PyTypeObject* type = v->type();
  PyObject* found = type_lookup(type, name);
  const bool own_hook =
      type_lookup(type, names.delattr) != type_lookup(&PyBaseObject_Type, names.delattr);
  const bool data = found && Py_TYPE(found)->tp_descr_set;
  if (!own_hook && data && Py_TYPE(found) != &PyMemberDescr_Type)
    return ask_descriptor(c, found, "__delete__", {v}, name);
  if (own_hook || data || c.arm_writes_)
    c.give_up(Reason::kUnsupportedAttribute, str_cat("deletion of ", text_of(name)));
  v->drop_attribute(c, name);
}

// Each assignment gives a class, and those derived from it, another version: where something else
// of it is depended on, CPython assigns.
void set_class_attribute(Context& c, const V& v, PyObject* name, const V& value) {
  auto* t = reinterpret_cast<PyTypeObject*>(v->obj.ptr());
  PyTypeObject* meta = Py_TYPE(t);
  PyObject* above = type_lookup(meta, name);
  const std::string text = text_of(name);
  const bool plain = PyType_HasFeature(t, Py_TPFLAGS_HEAPTYPE) && !is_immutable(t) && !is_enum(t) &&
                     meta->tp_setattro == PyType_Type.tp_setattro && text.rfind("__", 0) != 0 &&
                     !(above && Py_TYPE(above)->tp_descr_set) && !c.arm_serial_ &&
                     !c.mapped_serial_;
  PyTypeObject* of_value = value->type();
  bool used = !of_value || of_value->tp_descr_get;  // a method changes what instances do
  for (auto& g : c.guards_)
    used |= (g.kind == Guard::kType || g.kind == Guard::kTypeVersion) && g.obj &&
            PyType_Check(g.obj.ptr()) &&
            PyType_IsSubtype(reinterpret_cast<PyTypeObject*>(g.obj.ptr()), t);
  if (!plain || used)
    c.give_up(Reason::kUnsupportedAttribute,
              "assignment to an attribute of " + std::string(t->tp_name));
  const std::pair<PyObject*, std::string> key{v->obj.ptr(), text};
  c.undoable([&c, writes = c.class_writes_] { c.class_writes_ = writes; });
  c.class_writes_[key] = value;
  c.log({Context::Note::kSetClass, v, share(name), {}, {value}});
}

V written_class_attribute(Context& c, PyTypeObject* t, const std::string& name) {
  if (c.class_writes_.empty()) return nullptr;
  const py::str key = str_of(name);
  PyObject* const mro = mro_of(t);
  for (Py_ssize_t k = 0; k < PyTuple_GET_SIZE(mro); ++k) {
    PyObject* base = PyTuple_GET_ITEM(mro, k);
    if (auto w = c.class_writes_.find({base, name}); w != c.class_writes_.end()) return w->second;
    PyObject* own = reinterpret_cast<PyTypeObject*>(base)->tp_dict;
    if (own && PyDict_Contains(own, key.ptr()) == 1) return nullptr;
  }
  return nullptr;
}

// What __getattr__ gives.
std::optional<V> missing_attribute(Context& c, const V& v, PyObject* name) {
  PyObject* g = type_lookup(v->type(), names.getattr);
  if (!g) return std::nullopt;
  if (!PyFunction_Check(g) && !is_c_method(g))  // such as dict.__getitem__
    c.give_up(Reason::kUnsupportedAttribute, "__getattr__");
  return call(c, c.wrap_static(g), {v, c.constant(share(name))}, {});
}

}  // namespace protocol
}  // namespace pijit
