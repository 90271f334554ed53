// Which class an object belongs to: PyObject_IsInstance and PyObject_IsSubclass.
#include <set>

#include "capture/context.h"
#include "capture/protocol/protocol.h"
#include "capture/values/scalar.h"

namespace pijit::protocol {
namespace {
bool says_another_class(PyTypeObject* t) { return own_getattribute(t) || !says_its_class(t); }

// An abstract class whose question of what belongs to it runs no code but the library's.
bool plain_abstract_class(PyTypeObject* t) {
  PyTypeObject* const meta = library.abc_meta.type();
  if (!PyType_IsSubtype(Py_TYPE(t), meta)) return false;
  for (PyObject* name : {names.instancecheck, names.subclasscheck})
    if (type_lookup(Py_TYPE(t), name) != type_lookup(meta, name)) return false;
  PyObject* hook = type_lookup(t, names.subclasshook);
  if (hook == type_lookup(&PyBaseObject_Type, names.subclasshook)) return true;
  if (!hook || Py_TYPE(hook) != &PyClassMethod_Type) return false;
  const py::object f = py::handle(hook).attr("__func__");
  if (!PyFunction_Check(f.ptr())) return false;
  PyObject* module = PyDict_GetItemString(PyFunction_GET_GLOBALS(f.ptr()), "__name__");
  static const std::set<std::string> kLibrary = {
      "_collections_abc", "collections.abc", "abc", "os", "contextlib", "typing", "importlib.abc"};
  return module && PyUnicode_Check(module) && kLibrary.count(text_of(module));
}
}  // namespace

bool is_instance(Context& c, const V& v, PyObject* cls) {
  if (PyTuple_Check(cls)) {
    const Context::Nested nested(c);
    for (Py_ssize_t k = 0; k < PyTuple_GET_SIZE(cls); ++k)
      if (is_instance(c, v, PyTuple_GET_ITEM(cls, k))) return true;
    return false;
  }
  if (!PyType_Check(cls)) c.give_up(Reason::kUnsupportedCall, "isinstance() of no class");
  PyTypeObject* t = v->type();
  auto* of = reinterpret_cast<PyTypeObject*>(cls);
  if (t == of) return true;
  if (plain_abstract_class(of)) {
    // which classes belong to it may be told at any time, and is then counted
    const py::object count = library.abc_cache_token.object(), now = count();
    c.guard(Guard::kEquals, c.add_source({Source::kComputed, -1, 0, count}), now);
    if (PyType_HasFeature(t, Py_TPFLAGS_HEAPTYPE)) c.guard_class(t);
    c.guard_class(of);
    const int belongs = PyObject_IsSubclass(reinterpret_cast<PyObject*>(t), cls);
    if (belongs < 0) c.raise(py::error_already_set());
    if (belongs) return true;
    if (says_another_class(t))
      c.give_up(Reason::kUnsupportedCall, "isinstance() of what has a __class__ of its own");
    return false;
  }
  if (PyObject* f = user_method(c, c.wrap_static(cls), "__instancecheck__")) {
    if (Py_TYPE(cls)->tp_name == std::string("ABCMeta") || Py_TYPE(cls)->tp_base != &PyType_Type)
      c.give_up(Reason::kUnsupportedCall, "isinstance() of an abstract class");
    const auto r = truth(c, call(c, c.wrap_static(f), {c.wrap_static(cls), v}, {}));
    if (!r) c.give_up(Reason::kTensorValue, "__instancecheck__");
    return *r;
  }
  if (type_lookup(Py_TYPE(cls), names.instancecheck) !=
      type_lookup(&PyType_Type, names.instancecheck))
    c.give_up(Reason::kUnsupportedCall, "isinstance() of an abstract class");
  if (PyType_IsSubtype(t, of)) return true;
  // an object may say that it is of another class
  if (says_another_class(t))
    c.give_up(Reason::kUnsupportedCall, "isinstance() of what has a __class__ of its own");
  return false;
}

bool is_subclass(Context& c, PyObject* sub, PyObject* cls) {
  if (PyTuple_Check(cls)) {
    const Context::Nested nested(c);
    for (Py_ssize_t k = 0; k < PyTuple_GET_SIZE(cls); ++k)
      if (is_subclass(c, sub, PyTuple_GET_ITEM(cls, k))) return true;
    return false;
  }
  if (!PyType_Check(cls) || !PyType_Check(sub))
    c.give_up(Reason::kUnsupportedCall, "issubclass() of no class");
  if (type_lookup(Py_TYPE(cls), names.subclasscheck) !=
      type_lookup(&PyType_Type, names.subclasscheck))
    c.give_up(Reason::kUnsupportedCall, "issubclass() of an abstract class");
  user_method(c, c.wrap_static(cls), "__subclasscheck__");  // guards that there is none
  return PyType_IsSubtype(reinterpret_cast<PyTypeObject*>(sub),
                          reinterpret_cast<PyTypeObject*>(cls));
}

}  // namespace pijit::protocol
