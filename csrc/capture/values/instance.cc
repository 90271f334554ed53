#include "capture/values/instance.h"

#include "capture/context.h"
#include "capture/protocol/inherent.h"
#include "capture/protocol/protocol.h"
#include "capture/rebuilder.h"
#include "capture/values/keyed.h"
#include "capture/values/scalar.h"
#include "capture/values/object.h"

namespace pijit {
namespace {

struct InstanceRecipe final : Recipe {
  py::object make(Runner&) const override { return allocate(); }
  py::object allocate() const override {
    auto* t = reinterpret_cast<PyTypeObject*>(cls.ptr());
    return checked(PyBaseObject_Type.tp_new(t, py::tuple().ptr(), nullptr));
  }
  void fill(Runner& r, const py::object& made) const override {
    for (size_t k = 0; k < parts.size(); ++k)
      if (PyObject_GenericSetAttr(made.ptr(), names[k].ptr(), r.make(parts[k]).ptr()) < 0)
        throw py::error_already_set();
  }
  int visit(visitproc visit, void* arg) const override {
    Py_VISIT(cls.ptr());
    for (auto& n : names) Py_VISIT(n.ptr());
    return 0;
  }
  std::string describe() const override {
    std::string r = "instance of " + shown(cls);
    for (auto& n : names) r += " " + text_of(n);
    return r;
  }

  py::object cls;
  std::vector<py::object> names;  // of attributes, the parts
};

}  // namespace

PyTypeObject* InstanceValue::type() const { return reinterpret_cast<PyTypeObject*>(obj.ptr()); }

void InstanceValue::setattr(Context& c, PyObject* name, const V& value) {
  protocol::set_object_attribute(c, this, name, value);
}

// By super(), as a rule.
V InstanceValue::call_descriptor(Context& c, PyObject* d, std::vector<V>& args, Kwargs& kwargs) {
  const std::string name = text_of(py::object(py::handle(d).attr("__name__")));
  if (reinterpret_cast<PyDescrObject*>(d)->d_type == &PyBaseObject_Type && kwargs.empty())
    return protocol::call_object_method(c, name, this, args);
  c.give_up(Reason::kUnsupportedCall, str_cat(type()->tp_name, ".", name));
}

int InstanceValue::rebuild(Rebuilder& r) {
  auto made = std::make_unique<InstanceRecipe>();
  InstanceRecipe& recipe = *made;
  recipe.cls = obj;
  recipe.names = keys;
  const int id = r.add(this, std::move(made));  // known before its attributes, which may lead back
  for (auto& x : items) recipe.parts.push_back(r.recipe(x));
  return id;
}

bool bare_class(PyTypeObject* t) {
  PyObject* const mro = mro_of(t);
  for (Py_ssize_t k = 0; k < PyTuple_GET_SIZE(mro); ++k) {  // else C code has its say
    auto* base = reinterpret_cast<PyTypeObject*>(PyTuple_GET_ITEM(mro, k));
    if (!PyType_HasFeature(base, Py_TPFLAGS_HEAPTYPE) && base != &PyBaseObject_Type) return false;
  }
  return PyType_HasFeature(t, Py_TPFLAGS_HEAPTYPE) && Py_TYPE(t)->tp_call == PyType_Type.tp_call &&
         t->tp_alloc == PyType_GenericAlloc && !PyType_HasFeature(t, Py_TPFLAGS_IS_ABSTRACT) &&
         !t->tp_finalize && !t->tp_del &&
         type_lookup(t, names.getattribute) == type_lookup(&PyBaseObject_Type, names.getattribute);
}

V make_instance(Context& c, PyTypeObject* t, std::vector<V> args, Kwargs kwargs) {
  if (PyType_HasFeature(Py_TYPE(t), Py_TPFLAGS_HEAPTYPE)) c.guard_class(Py_TYPE(t));
  c.guard_class(t);
  PyObject* const of_object = type_lookup(&PyBaseObject_Type, names.init);
  V v;
  if (t->tp_new == PyBaseObject_Type.tp_new) {
    v = bare_object(c, t);
    if (type_lookup(t, names.init) == of_object && (!args.empty() || !kwargs.empty()))
      c.give_up(Reason::kRaises, str_cat(t->tp_name, "() takes no arguments"));
  } else {
    PyObject* make = type_lookup(t, names.make);
    const bool declared = make && Py_TYPE(make) == &PyStaticMethod_Type;  // else set later
    const py::object fn = declared ? share(make).attr("__func__") : share(make);
    if (!fn || !(PyFunction_Check(fn.ptr()) || Py_TYPE(fn.ptr()) == jit_function_type))
      c.give_up(Reason::kUnsupportedCall, str_cat("making a ", t->tp_name), t);
    std::vector<V> all{c.wrap_static(reinterpret_cast<PyObject*>(t))};
    all.insert(all.end(), args.begin(), args.end());
    v = protocol::call(c, c.wrap_static(fn.ptr()), all, kwargs);
    if (!PyType_IsSubtype(v->type(), t)) return v;
    if (as<ObjectValue>(v))  // one that there was before
      c.guard_type(v);
    else if (!as<InstanceValue>(v))
      c.give_up(Reason::kUnsupportedCall, str_cat("making a ", t->tp_name), t);
    c.guard_class(v->type());
  }
  PyObject* init = type_lookup(v->type(), names.init);
  if (init == of_object) return v;
  if (!PyFunction_Check(init))
    c.give_up(Reason::kUnsupportedCall, str_cat("making a ", t->tp_name), t);
  args.insert(args.begin(), v);
  if (!is_none(protocol::call(c, c.wrap_static(init), args, kwargs)))
    c.give_up(Reason::kRaises, "__init__() should return None");
  return v;
}

// What object.__new__ gives.
InstanceValue* bare_object(Context& c, PyTypeObject* t) {
  auto* v = c.make<InstanceValue>();
  v->obj = share(reinterpret_cast<PyObject*>(t));
  return v;
}

// What collections.namedtuple and typing.NamedTuple make: a __new__ in Python ends in
// tuple.__new__.
V make_named_tuple(Context& c, PyTypeObject* t, std::vector<V> args, Kwargs kwargs) {
  c.guard_class(t);
  PyObject* make = type_lookup(t, names.make);
  if (!make || Py_TYPE(make) != &PyStaticMethod_Type || !plain_tuple_type(t) ||
      Py_TYPE(t)->tp_call != PyType_Type.tp_call || t->tp_finalize ||
      type_lookup(t, names.init) != type_lookup(&PyBaseObject_Type, names.init))
    c.give_up(Reason::kUnsupportedCall, str_cat("making a ", t->tp_name), t);
  const py::object fn = share(make).attr("__func__");
  args.insert(args.begin(), c.wrap_static(reinterpret_cast<PyObject*>(t)));
  return protocol::call(c, c.wrap_static(fn.ptr()), args, kwargs);
}

std::optional<V> InstanceValue::getattr(Context& c, PyObject* name_obj) {
  const std::string name = text_of(name_obj);
  PyTypeObject* t = type();
  if (protocol::inherent(name) == protocol::Inherent::kClass && says_its_class(t))
    return c.wrap_static(reinterpret_cast<PyObject*>(t));
  if (protocol::inherent(name) == protocol::Inherent::kDict)
    c.give_up(Reason::kUnsupportedAttribute, name);
  PyObject* found = type_lookup(t, name_obj);
  const bool slot = is_slot(found, t);
  if (found && Py_TYPE(found)->tp_descr_set && Py_TYPE(found)->tp_descr_get && !slot) {
    if (Py_TYPE(found) == &PyGetSetDescr_Type)
      c.give_up(Reason::kUnsupportedAttribute, str_cat(t->tp_name, ".", name), t);
    return protocol::bind(c, c.wrap_static(found), this, t);
  }
  if (const int k = place_of(c, name_obj); k >= 0) return items[k];
  if (found && !slot)
    return protocol::bind(c, protocol::class_attribute(c, found, c.guard_class(t), name_obj), this,
                          t);
  return protocol::missing_attribute(c, this, name_obj);
}

void InstanceValue::store_attribute(Context& c, PyObject* name, const V& value) {
  if (!is_slot(type_lookup(type(), name), type()) && !instances_have_dict(type()))
    c.give_up(Reason::kRaises, "AttributeError");
  set_entry(c, share(name), value);
}

void InstanceValue::delattr(Context& c, PyObject* name) {
  protocol::delete_object_attribute(c, this, name);
}

void InstanceValue::drop_attribute(Context& c, PyObject* name) {
  const int k = place_of(c, name);
  if (k < 0) c.give_up(Reason::kRaises, "AttributeError");
  remove_entry(c, static_cast<size_t>(k));
}

}  // namespace pijit
