#include "capture/values/object.h"

#include <pybind11/numpy.h>

#include "capture/context.h"
#include "capture/control_flow/merge.h"
#include "capture/protocol/protocol.h"
#include "capture/rebuilder.h"
#include "capture/values/iterator.h"
#include "capture/values/keyed.h"
#include "capture/values/scalar.h"
#include "capture/values/set.h"

namespace pijit {

PyTypeObject* ObjectValue::type() const { return Py_TYPE(obj.ptr()); }

void ObjectValue::guard_methods(Context& c) {
  if (static_object(obj.ptr())) c.guard_class(type());
}

bool ObjectValue::has_identity() const {
  PyObject* o = obj.ptr();
  return !PyFunction_Check(o) && !PyType_Check(o) && !PyModule_Check(o);
}

// A frozenset is looked at as a whole. Empty: it holds other things than constants, or it is none.
std::optional<py::object> ObjectValue::frozen(Context& c) {
  if (!PyFrozenSet_CheckExact(obj.ptr())) return std::nullopt;
  for (auto o : obj)
    if (!constant_key(o.ptr())) return std::nullopt;
  if (src >= 0 && c.sources_[src].kind != Source::kConst) {
    if (c.unstable(src))
      c.give_up(Reason::kUnstable, describe_source(c.sources_, src, *c.start_.code));
    c.guard(Guard::kEquals, src, obj);
  }
  return obj;
}

std::optional<py::object> ObjectValue::object(Context& c, Ask what) {
  if (auto o = frozen(c)) return o;
  if (!static_object(obj.ptr())) return std::nullopt;
  const Context::Nested nested(c);
  if (asks_user_code(c, type(), what)) return std::nullopt;
  return obj;
}

V ObjectValue::length(Context& c) {
  if (auto o = frozen(c)) return c.constant_int(static_cast<int64_t>(py::len(*o)));
  if (is_ndarray(obj.ptr()) && !protocol::user_method(c, this, "__len__")) {  // of a subclass
    const Py_ssize_t n = PyObject_Size(obj.ptr());
    if (n < 0) c.raise(py::error_already_set());
    Source s{Source::kComputed, -1, 0, py::reinterpret_borrow<py::object>(original("len"))};
    s.args = {c.source_of(this)};
    return input_at(c, py::int_(n).ptr(), c.add_source(std::move(s)));
  }
  return Value::length(c);
}

std::optional<bool> ObjectValue::contains(Context& c, const V& x) {
  if (!frozen(c)) return Value::contains(c, x);
  const int r = PySequence_Contains(obj.ptr(), key_object(c, x, type()).ptr());
  if (r < 0) c.raise(py::error_already_set());
  return r == 1;
}

std::optional<bool> ObjectValue::truth(Context& c) {
  if (auto o = frozen(c)) return py::len(*o) > 0;
  return Value::truth(c);
}

V ObjectValue::iter(Context& c) {
  if (!frozen(c)) return Value::iter(c);
  std::vector<V> all;
  for (auto o : obj) all.push_back(key_value(c, o.ptr()));
  return c.make<SetIterator>(this, all);
}

std::optional<V> ObjectValue::method(Context& c, const std::string& name, std::vector<V>& args,
                                     Kwargs& kwargs) {
  if (!kwargs.empty() || !frozen(c)) return std::nullopt;
  return set_question(c, this, name, args);
}

std::optional<V> ObjectValue::getattr(Context& c, PyObject* name) {
  return protocol::object_attribute(c, this, name);
}

void ObjectValue::setattr(Context& c, PyObject* name, const V& value) {
  PyObject* o = obj.ptr();
  if (PyModule_CheckExact(o) && !type_lookup(&PyModule_Type, name))
    return protocol::set_global(c, PyModule_GetDict(o), name, value);
  if (PyType_Check(o)) return protocol::set_class_attribute(c, this, name, value);
  if (PyModule_Check(o)) return Value::setattr(c, name, value);
  protocol::set_object_attribute(c, this, name, value);
}

void ObjectValue::traverse(Visit visit) const {
  for (auto& [name, x] : attrs) visit(x);
}

// Its __dict__ must not be looked at by other ways.
void ObjectValue::watch_dict(Context& c) {
  const auto d = py::reinterpret_steal<py::object>(instance_dict(obj.ptr()));
  if (!d) return;
  c.instance_dicts_.insert(d.ptr());
  if (c.known_.count(d.ptr())) c.give_up(Reason::kUnsupportedAttribute, "__dict__");
}

void ObjectValue::write(Context& c, const std::string& name, const V& value) {
  auto old = attrs.find(name);
  if (old == attrs.end())
    c.undoable([this, name] { attrs.erase(name); });
  else
    c.undoable([this, name, o = old->second] { attrs[name] = o; });
  attrs[name] = value;
}

void ObjectValue::store_attribute(Context& c, PyObject* name, const V& value) {
  const bool slot = is_slot(type_lookup(type(), name), type());
  if (!slot && !py::reinterpret_steal<py::object>(instance_dict(obj.ptr())))
    c.give_up(Reason::kRaises, "AttributeError");
  c.guard_type(this);
  watch_dict(c);
  const bool in_arm = c.written_in_arm(this, name);
  if (!in_arm) c.check_effect(this);
  write(c, text_of(name), value);
  if (!in_arm) c.log({Context::Note::kSetAttr, this, share(name), {}, {value}});
}

void ObjectValue::delattr(Context& c, PyObject* name) {
  PyObject* o = obj.ptr();
  if (PyType_Check(o) || PyModule_Check(o) || PyFunction_Check(o)) return Value::delattr(c, name);
  protocol::delete_object_attribute(c, this, name);
}

void ObjectValue::drop_attribute(Context& c, PyObject* name) {
  c.guard_type(this);
  const std::string text = text_of(name);
  const py::object d = py::reinterpret_steal<py::object>(instance_dict(obj.ptr()));
  const auto old = attrs.find(text);
  const bool was_written = old != attrs.end();
  if (was_written ? !old->second : !d || !c.found_in(d.ptr(), name))
    c.give_up(Reason::kRaises, "AttributeError");
  watch_dict(c);
  c.check_effect(this);
  if (!was_written)
    c.guard(Guard::kThere, c.add_source({Source::kDictAttr, c.source_of(this), 0, share(name)}));
  write(c, text, nullptr);
  c.log({Context::Note::kDelAttr, this, share(name), {}, {}});
}

// Functions, ops and classes; of others, what is known of the object itself or of its class.
V ObjectValue::call(Context& c, std::vector<V> args, Kwargs kwargs) {
  PyObject* o = obj.ptr();
  if (V r = c.call_known(o, args, kwargs, this)) return r;
  if (PyFunction_Check(o)) return c.call_function(this, std::move(args), std::move(kwargs));
  if (Py_TYPE(o) == jit_function_type) {
    c.meet_decorated(o);
    return c.call_function(protocol::behind(c, this), std::move(args), std::move(kwargs));
  }
  if (Py_TYPE(o) == op_function_type) return protocol::call_op_function(c, o, args, kwargs);
  if (PyType_Check(o))
    return protocol::call_class(c, reinterpret_cast<PyTypeObject*>(o), args, kwargs);
  if (is_c_method(o) && !args.empty()) {
    const V self = args[0];  // Type.method(self, ...)
    args.erase(args.begin());
    return protocol::call_descriptor(c, o, self, args, kwargs);
  }
  return Value::call(c, std::move(args), std::move(kwargs));
}

V ObjectValue::call_descriptor(Context& c, PyObject* d, std::vector<V>& args, Kwargs& kwargs) {
  const bool sets = reinterpret_cast<PyDescrObject*>(d)->d_type == &PyBaseObject_Type &&
                    text_of(py::object(py::handle(d).attr("__name__"))) == "__setattr__";
  if (sets && kwargs.empty() && !PyType_Check(obj.ptr()) && !PyModule_Check(obj.ptr()))
    return protocol::call_object_method(c, "__setattr__", this, args);
  return Value::call_descriptor(c, d, args, kwargs);
}

namespace {
constinit OnDemand<std::vector<PyObject*>> number_methods;
}  // namespace

V ObjectValue::base_number(Context& c) {
  PyTypeObject* t = type();
  PyTypeObject* base = PyType_IsSubtype(t, &PyLong_Type)    ? &PyLong_Type
                       : PyType_IsSubtype(t, &PyFloat_Type) ? &PyFloat_Type
                                                            : nullptr;
  if (!base || t == base || is_numpy_scalar(obj.ptr())) return nullptr;
  const auto& operators = number_methods.get([] {
    std::vector<PyObject*> all;
#define BINARY(id, name, sign, function, op) \
  all.push_back(interned("__" name "__"));   \
  all.push_back(interned("__r" name "__"));  \
  all.push_back(interned("__i" name "__"));
#define UNARY(id, name, sign, function, op) all.push_back(interned("__" name "__"));
#define COMPARE(id, name, sign, mirrored, negated, op) all.push_back(interned("__" name "__"));
#include "base/operators.def"
#undef BINARY
#undef UNARY
#undef COMPARE
    for (auto more : {"__int__", "__index__", "__float__", "__trunc__", "__hash__"})
      all.push_back(interned(more));
    return all;
  });
  c.guard_class(t);
  for (PyObject* name : operators)
    if (type_lookup(t, name) != type_lookup(base, name)) return nullptr;
  PyObject* pos = original("pos");  // gives one of the base class itself
  const auto x = py::reinterpret_steal<py::object>(PyObject_CallOneArg(pos, obj.ptr()));
  if (!x) throw py::error_already_set();
  if (static_object(obj.ptr())) {
    if (src >= 0 && c.sources_[src].kind != Source::kConst) c.guard(Guard::kIs, src, obj);
    return c.constant(x);
  }
  c.guard_type(this);
  Source s{Source::kComputed, -1, 0, share(pos)};
  s.args = {c.source_of(this)};
  return c.wrap(x.ptr(), c.add_source(std::move(s)));
}

// Operations of C code may take long or leave traces: only where one graph is asked for.
py::object ObjectValue::stand_in(Context& c) {
  const bool tried = c.start_.whole && !asks_user_code(c, type(), Ask::kAnything);
  return tried ? obj : py::object();
}

V ObjectValue::merge(Merge& m, const V& other) {
  const bool same = as<ObjectValue>(other) && obj && obj.ptr() == other->obj.ptr();
  return same ? V(this) : m.differ();
}

int ObjectValue::rebuild(Rebuilder& r) {
  if (!obj) r.context().give_up(Reason::kRebuild, "object");
  return r.make<ConstantRecipe>(this, obj);
}

}  // namespace pijit
