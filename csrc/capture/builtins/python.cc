// Functions of the module builtins.
#include "capture/protocol/protocol.h"
#include "capture/registry.h"
#include "capture/values.h"
#include "objects/ndarray.h"

namespace pijit {
namespace {

[[noreturn]] void unsupported(Tracer& t, const Call& c) {
  Reason reason = Reason::kUnsupportedCall;
  for (auto& a : c.args) reason = a->reason(reason);
  t.give_up(reason, c.name + "()");
}

V is_instance(Tracer& t, Call& c) {
  const auto cls = as_constant(t, c.args[1], Ask::kIdentity);
  if (!cls) unsupported(t, c);
  return t.constant(py::bool_(protocol::is_instance(t, c.args[0], cls->ptr())));
}

V is_subclass(Tracer& t, Call& c) {
  const auto cls = as_constant(t, c.args[1], Ask::kIdentity);
  const auto* o = as<ObjectValue>(c.args[0]);  // one of NumPy's dtypes
  if (o && cls && PyType_Check(cls->ptr()) && numpy_is_followed() && dtype_of_descr(o->obj.ptr()))
    t.raise(PyExc_TypeError, {t.constant(str_of("issubclass() arg 1 must be a class"))});
  const auto sub = as_constant(t, c.args[0], Ask::kIdentity);
  if (!cls || !sub) unsupported(t, c);
  return t.constant(py::bool_(protocol::is_subclass(t, sub->ptr(), cls->ptr())));
}

V next(Tracer& t, Call& c) {
  const V& it = c.args[0];
  if (!protocol::has_next(it->type()))
    protocol::raise_type_error(t, str_cat("'", it->type()->tp_name, "' object is not an iterator"));
  if (PyObject* f = c.args.size() == 1 ? protocol::user_method(t, it, "__next__") : nullptr)
    return protocol::call(t, t.wrap_static(f), {it}, {});
  if (!as<IteratorValue>(it)) unsupported(t, c);
  V v;
  if (protocol::next(t, it, &v)) return v;
  if (c.args.size() == 2) return c.args[1];
  const bool value = generator_of(it) && v && !is_none(v);
  t.raise(PyExc_StopIteration, value ? std::vector<V>{v} : std::vector<V>());
}

// The text of an attribute's name.
py::object name_of(Tracer& t, const Call& c) {
  auto n = as_constant(t, c.args[1]);
  if (!n || !PyUnicode_Check(n->ptr())) unsupported(t, c);
  PyObject* text = n->release().ptr();
  if (PyUnicode_CheckExact(text)) PyUnicode_InternInPlace(&text);
  return py::reinterpret_steal<py::object>(text);
}

// What getattr() finds; empty: AttributeError, also of a property or __getattr__ unless strict.
std::optional<V> find(Tracer& t, Call& c, bool strict = false) {
  const py::object name = name_of(t, c);
  try {
    return protocol::find_attribute(t, c.args[0], name.ptr());
  } catch (const Raised& e) {
    if (!PyType_IsSubtype(e.exception->type(),
                          reinterpret_cast<PyTypeObject*>(PyExc_AttributeError)))
      throw;
    if (strict) throw;
    return std::nullopt;
  }
}

V get_attribute(Tracer& t, Call& c) {
  if (auto r = find(t, c, c.args.size() == 2)) return *r;
  if (c.args.size() == 3) return c.args[2];
  t.raise(PyExc_AttributeError, text_of(name_of(t, c)));
}

V has_attribute(Tracer& t, Call& c) { return t.constant(py::bool_(find(t, c).has_value())); }

V set_attribute(Tracer& t, Call& c) {
  protocol::set_attribute(t, c.args[0], name_of(t, c).ptr(), c.args[2]);
  return t.constant(py::none());
}

V identity(Tracer& t, Call& c) {
  const V& x = c.args[0];
  const bool stays =
      x->src >= 0 && x->obj && !is_known(x) &&
      (!as<TensorValue>(x) || as<TensorValue>(x)->parameter);  // other tensors come and go
  if (!stays) unsupported(t, c);
  // a variable's object dies with the call: nothing here may keep it
  PyTypeObject* type = Py_TYPE(x->obj.ptr());
  if (t.sources_[x->src].kind == Source::kState && !PyType_SUPPORTS_WEAKREFS(type))
    unsupported(t, c);
  if (root_of(t.sources_, x->src).kind == Source::kState && PyType_SUPPORTS_WEAKREFS(type) &&
      !PyType_Check(x->obj.ptr()))
    t.guard(Guard::kIsStill, x->src, checked(PyWeakref_NewRef(x->obj.ptr(), nullptr)));
  else
    t.guard(Guard::kIs, x->src, x->obj);  // which keeps the object, and so its address
  return t.constant(py::reinterpret_steal<py::object>(PyLong_FromVoidPtr(x->obj.ptr())));
}

V is_callable(Tracer& t, Call& c) {
  const V& x = c.args[0];
  const bool function = as<FunctionValue>(x) || as<MethodValue>(x);
  return t.constant(py::bool_(function || x->type()->tp_call != nullptr));
}

V absolute(Tracer& t, Call& c) {
  if (as<TensorValue>(c.args[0]))
    return protocol::call_op(t, OpTable::get().at("abs"), c.args, c.kwargs);
  if (PyObject* f = protocol::user_method(t, c.args[0], "__abs__"))
    return protocol::call(t, t.wrap_static(f), c.args, {});
  if (auto* a = as<NdarrayValue>(c.args[0]))
    if (V made = a->absolute(t)) return made;
  if (as<MaskedValue>(c.args[0]))
    if (V made = apply_ufunc(t, numpy_attribute("absolute"), c.args)) return made;
  return call_pure(t, c);
}

V power(Tracer& t, Call& c) {
  if (c.args.size() == 2 && c.kwargs.empty() && as<TensorValue>(c.args[0]))
    return protocol::binary(t, BinaryOp::kPow, c.args[0], c.args[1]);
  return call_pure(t, c);
}

V sorted(Tracer& t, Call& c) {
  V key;
  bool reverse = false;
  for (auto& [k, v] : c.kwargs) {
    if (k == "key") {
      key = is_none(v) ? nullptr : v;
    } else {
      const auto r = k == "reverse" ? as_int(t, v) : std::nullopt;
      if (!r) t.give_up(Reason::kUnsupportedCall, "sorted()");
      reverse = *r != 0;
    }
  }
  const std::vector<V> items = protocol::items_of(t, c.args[0]);
  py::list keys, order;
  for (size_t k = 0; k < items.size(); ++k) {
    const V x = key ? protocol::call(t, key, {items[k]}, {}) : items[k];
    const auto o = as_constant(t, x);
    if (!o) t.give_up(x->reason(Reason::kUnsupportedCall), "sorted()");
    if (holds_nan(o->ptr())) t.give_up(Reason::kUnsupportedCall, "sorted() of NaN");
    keys.append(*o);
    order.append(k);
  }
  // places, sorted by what stands there: the items stay the objects that they are
  try {
    order.attr("sort")(py::arg("key") = keys.attr("__getitem__"), py::arg("reverse") = reverse);
  } catch (const py::error_already_set& e) {
    t.raise(e);
  }
  std::vector<V> in_order;
  for (auto k : order) in_order.push_back(items[PyLong_AsSize_t(k.ptr())]);
  return t.list(in_order);
}

V sum(Tracer& t, Call& c) {
  const std::vector<V>& args = c.args;
  V r = args.size() > 1 ? args[1] : t.constant_int(0), x;
  if (is_known(r) && (PyUnicode_Check(r->obj.ptr()) || PyBytes_Check(r->obj.ptr())))
    t.give_up(Reason::kRaises, "sum() of text");
  const V it = protocol::iter(t, args[0]);  // item and addition in turn
  // Constants at the beginning are for CPython, which adds floats with a correction from 3.12 on.
  auto number = [](const V& v) {
    return is_known(v) && (PyLong_Check(v->obj.ptr()) || PyFloat_Check(v->obj.ptr()));
  };
  py::list numbers;
  bool more = false;
  while ((more = protocol::next(t, it, &x)) && number(r) && number(x)) {
    t.tick();
    numbers.append(x->obj);
  }
  if (!numbers.empty()) {
    PyObject* given[] = {numbers.ptr(), r->obj.ptr()};
    PyObject* total = PyObject_Vectorcall(original("sum"), given, 2, nullptr);
    if (!total) t.raise(py::error_already_set());
    r = t.constant(py::reinterpret_steal<py::object>(total));
  }
  for (; more; more = protocol::next(t, it, &x)) {
    t.tick();
    r = protocol::binary(t, BinaryOp::kAdd, r, x);
  }
  return r;
}

// max() and min(): one of the items themselves.
V extreme(Tracer& t, Call& c, CompareOp better) {
  const std::vector<V>& args = c.args;
  if (args.size() == 2 && c.kwargs.empty() && is_number(args[0]) && is_number(args[1]) &&
      (varies(args[0]) || varies(args[1])))
    if (auto second = scalar_relation(t, better, args[1], args[0])) return args[*second];
  // tensors and numbers of the graph: by branches of the graph
  const V several = args.size() == 1 ? args[0] : t.tuple(args);
  bool in_graph = generator_of(several);
  if (as<TupleValue>(several) || as<ListValue>(several))
    for (auto& x : several->parts(t)) in_graph |= undecided(x);
  if (in_graph) return t.call_polyfill(c.name.c_str(), {several}, c.kwargs);
  V key, otherwise;
  for (auto& [k, v] : c.kwargs) {
    if (k == "key")
      key = is_none(v) ? nullptr : v;
    else if (k == "default" && args.size() == 1)
      otherwise = v;
    else
      t.give_up(Reason::kRaises, c.name + "()");
  }
  const V it = protocol::iter(t, several);
  V best, best_key, x;
  while (protocol::next(t, it, &x)) {
    t.tick();
    const V k = key ? protocol::call(t, key, {x}, {}) : x;
    if (best) {
      const V wins = protocol::compare(t, better, k, best_key);
      const auto yes = protocol::truth(t, wins);
      if (!yes) t.give_up(wins->reason(Reason::kUnsupportedOperand), c.name + "()");
      if (!*yes) continue;
    }
    best = x, best_key = k;
  }
  if (best) return best;
  if (otherwise) return otherwise;
  t.raise(PyExc_ValueError, c.name + "() of nothing");
}

V representation(Tracer& t, Call& c) {
  if (is_input(c.args[0])) return call_pure(t, c);
  if (auto s = protocol::text(t, c.args[0], "__repr__")) return *s;
  unsupported(t, c);
}

V make_object(Tracer& t, Call& c) {  // object.__new__, as a class's own __new__ calls it
  const V& cls = c.args[0];
  auto* type = as<ObjectValue>(cls) && PyType_Check(cls->obj.ptr())
                   ? reinterpret_cast<PyTypeObject*>(cls->obj.ptr())
                   : nullptr;
  if (!type || !bare_class(type)) unsupported(t, c);
  const bool excess = c.args.size() > 1 || !c.kwargs.empty();
  if (excess &&
      (type->tp_new != PyBaseObject_Type.tp_new || type->tp_init == PyBaseObject_Type.tp_init))
    t.give_up(Reason::kRaises, "object.__new__() takes exactly one argument");
  t.guard_class(type);
  return bare_object(t, type);
}

V new_tuple(Tracer& t, Call& c) {  // tuple.__new__, as named tuples call it
  const auto cls = as_constant(t, c.args[0]);
  if (!cls || !PyType_Check(cls->ptr()) || !as<TupleValue>(c.args[1])) unsupported(t, c);
  V made = t.tuple(protocol::items_of(t, c.args[1]));
  as<TupleValue>(made)->cls = *cls;
  return made;
}

}  // namespace

V call_pure(Tracer& t, Call& c) {
  return protocol::call_pure(t, py::reinterpret_borrow<py::object>(c.callable), c.args, c.kwargs,
                             c.name + "()");
}

void add_python(Registry& r) {
  const py::object builtins = python_module("builtins");
  auto add = [&](const char* name, Arity arity, Known handler) {
    r.add(builtins.attr(name), arity, handler);
  };
  add("len", {1, 1}, [](Tracer& t, Call& c) { return protocol::length(t, c.args[0]); });
  add("isinstance", {2, 2}, is_instance);
  add("issubclass", {2, 2}, is_subclass);
  add("print", {0, kAny, true}, print);
  add("iter", {1, 1}, [](Tracer& t, Call& c) { return protocol::iter(t, c.args[0]); });
  add("next", {1, 2}, next);
  add("getattr", {2, 3}, get_attribute);
  add("hasattr", {2, 2}, has_attribute);
  add("setattr", {3, 3}, set_attribute);
  add("id", {1, 1}, identity);
  add("callable", {1, 1}, is_callable);
  add("abs", {1, 1}, absolute);
  add("pow", {2, 3, true}, power);
  add("max", {1, kAny, true}, [](Tracer& t, Call& c) { return extreme(t, c, CompareOp::kGt); });
  add("min", {1, kAny, true}, [](Tracer& t, Call& c) { return extreme(t, c, CompareOp::kLt); });
  add("sum", {1, 2}, sum);
  add("sorted", {1, 1, true}, sorted);
  add("any", {1, 1}, call_polyfill);
  add("all", {1, 1}, call_polyfill);
  add("repr", {1, 1}, representation);
  for (auto name :
       {"divmod", "round", "ord", "chr", "hash", "bin", "hex", "oct", "ascii", "format"})
    add(name, {1, kAny, true}, call_pure);
  r.add(py::handle(reinterpret_cast<PyObject*>(&PyTuple_Type)).attr("__new__"), {2, 2}, new_tuple);
  r.add(py::handle(reinterpret_cast<PyObject*>(&PyBaseObject_Type)).attr("__new__"),
        {1, kAny, true}, make_object);
}

}  // namespace pijit
