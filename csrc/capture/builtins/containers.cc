// Functions on containers: copies; what collections and heapq do, by pijit/_polyfills.py.
#include "capture/protocol/protocol.h"
#include "capture/registry.h"
#include "capture/values.h"
#include "capture/values/deque.h"
#include "capture/values/open_set.h"

namespace pijit {
namespace {

bool is_atom(Tracer& t, const V& x) {
  if (is_known(x) || varies(x) || as<FunctionValue>(x)) return true;
  if (!as<ObjectValue>(x)) return false;
  PyObject* o = x->obj.ptr();
  if (PyType_Check(o)) {
    protocol::user_method(t, x, "__copy__");  // of a metaclass: guards that there is none
    return Py_TYPE(o) == &PyType_Type;
  }
  return PyFunction_Check(o) || PyCFunction_Check(o) || is_enum(Py_TYPE(o));
}
bool is_frozen_set(const V& x) {
  return as<ObjectValue>(x) && PyFrozenSet_CheckExact(x->obj.ptr());
}

// Of a class in Python, with attributes in a dict alone, that copies in no way of its own. Null: it
// is none.
InstanceValue* plain_instance(const V& v) {
  auto* x = as<InstanceValue>(v);
  if (!x) return nullptr;
  PyTypeObject* cls = x->type();
  for (auto name : {"__copy__", "__deepcopy__", "__reduce__", "__reduce_ex__", "__getstate__",
                    "__setstate__", "__getnewargs__", "__getnewargs_ex__"})
    if (type_lookup(cls, interned(name)) != type_lookup(&PyBaseObject_Type, interned(name)))
      return nullptr;
  if (cls->tp_new != PyBaseObject_Type.tp_new) return nullptr;
  for (auto& name : x->keys) {
    PyObject* d = type_lookup(cls, name.ptr());
    if (d && Py_TYPE(d)->tp_descr_set) return nullptr;
  }
  if (PyDict_Contains(library.copy_dispatch.ptr(), reinterpret_cast<PyObject*>(cls)))
    return nullptr;
  return x;
}

V instance_like(Tracer& t, const InstanceValue* x, std::vector<V> items) {
  auto* made = bare_object(t, x->type());
  made->keys = x->keys;
  made->items = std::move(items);
  return made;
}

// OrderedDict alone has a __dict__, which is copied, too.
void check_no_attributes(Tracer& t, const V& x) {
  auto* d = as<DictValue>(x);
  if (!d || !d->ordered() || d->src < 0) return;
  if (protocol::truth(t, protocol::c_attribute(t, d, "__dict__")).value_or(true))
    t.give_up(Reason::kUnsupportedCall, "a copy of an OrderedDict with attributes");
}

bool is_container(const V& x) {
  if (as<ListValue>(x)) return x->type() == &PyList_Type;  // others may have attributes
  return as<TupleValue>(x) || as<DictValue>(x) || as<DequeValue>(x);
}

V copy(Tracer& t, Call& c) {
  const V& x = c.args[0];
  if (is_atom(t, x) || is_frozen_set(x)) return x;
  check_no_attributes(t, x);
  if (auto copied =
          as<SetValue>(x) || as<OpenSetValue>(x) ? set_question(t, x, "copy", {}) : std::nullopt)
    return *copied;
  if (as<TensorValue>(x)) {
    PyObject* f = python_method(x->type(), "__copy__");
    if (f && PyFunction_Check(f)) return protocol::call(t, t.wrap_static(f), {x}, {});
  }
  if (as<TupleValue>(x) && x->type() == &PyTuple_Type) return x;
  if (is_container(x) && !python_method(x->type(), "__copy__"))
    return x->with_parts(t, x->parts(t));
  if (const auto* i = plain_instance(x)) return instance_like(t, i, i->items);
  t.give_up(Reason::kUnsupportedCall, str_cat("copy.copy() of a ", x->type()->tp_name));
}

class DeepCopy {
 public:
  explicit DeepCopy(Tracer& t) : t_(t) {}
  V of(const V& x) {
    const Context::Nested nested(t_);
    if (is_atom(t_, x)) return x;
    auto [known, fresh] = made_.try_emplace(x, nullptr);
    if (!fresh) {
      if (known->second) return known->second;
      t_.give_up(Reason::kUnsupportedCall, "copy.deepcopy() of what holds itself");
    }
    const V made = make(x);
    return made_[x] = made;
  }

 private:
  V make(const V& x) {
    if (as<SetValue>(x) || as<OpenSetValue>(x) || is_frozen_set(x)) {
      std::vector<V> items;
      const V it = protocol::iter(t_, x);
      for (V item; protocol::next(t_, it, &item);) items.push_back(of(item));
      return make_set(t_, x->type(), t_.list(items));
    }
    check_no_attributes(t_, x);
    if (x->type() == tensor_type) {  // a Parameter asks for the memo
      PyObject* f = python_method(x->type(), "__deepcopy__");
      if (f && PyFunction_Check(f))
        return protocol::call(t_, t_.wrap_static(f), {x, t_.constant(py::none())}, {});
    }
    const bool tuple = as<TupleValue>(x) != nullptr;
    if ((tuple && x->type() == &PyTuple_Type) || (!tuple && is_container(x))) {
      const std::vector<V> parts = x->parts(t_);
      std::vector<V> copies = of_all(parts);
      if (tuple && copies == parts) return x;
      const V made = x->with_parts(t_, std::move(copies));
      if (auto* d = as<DictValue>(made); d && d->factory) d->factory = of(d->factory);
      return made;
    }
    if (const auto* i = plain_instance(x)) return instance_like(t_, i, of_all(i->items));
    t_.give_up(Reason::kUnsupportedCall, str_cat("copy.deepcopy() of a ", x->type()->tp_name));
  }
  std::vector<V> of_all(const std::vector<V>& parts) {
    std::vector<V> copies;
    for (auto& p : parts) copies.push_back(of(p));
    return copies;
  }

  Tracer& t_;
  std::map<Value*, V> made_;
};

V deepcopy(Tracer& t, Call& c) { return DeepCopy(t).of(c.args[0]); }

}  // namespace

void add_containers(Registry& r) {
  r.functions("copy", {"copy"}, {1, 1}, copy);
  r.functions("copy", {"deepcopy"}, {1, 1}, deepcopy);
  r.functions("collections", {"_count_elements"}, {2, 2}, call_polyfill);
  r.method(&PyDict_Type, "fromkeys", {1, 2}, call_polyfill);
  r.functions("heapq", {"nlargest", "nsmallest"}, {2, 3, true}, call_polyfill);
}

}  // namespace pijit
