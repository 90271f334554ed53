// Calls: PyObject_Call, and what tp_call of classes, of C functions and of descriptors does. C code
// without effects is run at capture, ops become nodes.
#include <algorithm>

#include "base/called_as.h"
#include "capture/context.h"
#include "capture/kinds.h"
#include "capture/protocol/protocol.h"
#include "capture/values.h"
#include "capture/views.h"

namespace pijit::protocol {
namespace {

// With its module, for a reader.
std::string name_of_builtin(PyObject* f) {
  const std::string name = reinterpret_cast<PyCFunctionObject*>(f)->m_ml->ml_name;
  const auto module = py::reinterpret_steal<py::object>(PyObject_GetAttrString(f, "__module__"));
  if (!module) PyErr_Clear();
  const std::string from = module && PyUnicode_Check(module.ptr()) ? text_of(module) : "";
  static constexpr std::pair<std::string_view, std::string_view> kShown[] = {
      {"builtins", ""}, {"_operator", "operator"}};
  const auto row = std::ranges::find(kShown, from, [](auto& r) { return r.first; });
  const std::string shown(row != std::end(kShown) ? row->second : from);
  return shown.empty() ? name : shown + "." + name;
}

// What people know it by, where no code of theirs has to be asked.
std::string name_of_callable(PyObject* o) {
  if (PyCFunction_Check(o)) return name_of_builtin(o) + "()";
  PyTypeObject* t = Py_TYPE(o);
  PyObject* d = type_lookup(t, names.name);
  if (d && t->tp_getattro == PyObject_GenericGetAttr && Py_IS_TYPE(d, &PyGetSetDescr_Type)) {
    const auto found = py::reinterpret_steal<py::object>(PyObject_GetAttr(o, names.name));
    if (found && PyUnicode_Check(found.ptr())) return text_of(found.ptr()) + "()";
    PyErr_Clear();
  }
  // as NumPy's functions that arrays of other libraries may answer
  if (PyObject** attributes = _PyObject_GetDictPtr(o); attributes && *attributes) {
    PyObject* name = PyDict_GetItemString(*attributes, "__name__");
    PyObject* module = PyDict_GetItemString(*attributes, "__module__");
    if (name && PyUnicode_Check(name))
      return (module && PyUnicode_Check(module) ? text_of(module) + "." : "") + text_of(name) +
             "()";
  }
  return t->tp_name;
}

}  // namespace

V call(Context& c, const V& f, std::vector<V> args, Kwargs kwargs) {
  PyTypeObject* t = f->type();
  if (t->tp_call) return f->call(c, std::move(args), std::move(kwargs));
  const std::string text = str_cat("'", t->tp_name, "' object is not callable");
  if (as<ObjectValue>(f) && PyModule_Check(f->obj.ptr())) c.raise(PyExc_TypeError, text);  // more
  raise_type_error(c, text);
}

void raise_type_error(Context& c, const std::string& text) {
  c.raise(PyExc_TypeError, {c.constant(str_of(text))});
}

// As slot_tp_call of Objects/typeobject.c: the method that the class has in Python.
V slot_call(Context& c, const V& f, std::vector<V> args, Kwargs kwargs) {
  PyObject* method = user_method(c, f, "__call__");
  if (!method)
    c.give_up(Reason::kUnsupportedCall,
              as<ObjectValue>(f) ? name_of_callable(f->obj.ptr()) : f->type()->tp_name,
              as<ObjectValue>(f) ? f->obj.ptr() : nullptr);
  PyObject* found = type_lookup(f->type(), names.call);
  if (found != method) c.meet_decorated(found);
  args.insert(args.begin(), f);
  return call(c, c.wrap_static(method), std::move(args), std::move(kwargs));
}

// As type_call does, and what classes have in its place.
V call_class(Context& c, PyTypeObject* t, std::vector<V>& args, Kwargs& kwargs) {
  if (const auto* kind = kind_of(t); kind && kind->construct)
    if (const V made = kind->construct(c, t, args, kwargs)) return made;
  if (is_enum(t) && kwargs.empty() && args.size() == 1) {
    // Member by value: the enum module's own code, unless the class has its own for what is missing
    PyObject* missing = type_lookup(t, names.missing_member);
    const bool usual = missing == type_lookup(library.enumeration.type(), names.missing_member) ||
                       missing == type_lookup(library.flag.type(), names.missing_member);
    const auto value = as_constant(c, args[0]);
    if (usual && value) {
      c.guard_class(t);
      PyObject* r = PyObject_CallOneArg(reinterpret_cast<PyObject*>(t), value->ptr());
      if (!r) c.raise(py::error_already_set());
      const py::object made = py::reinterpret_steal<py::object>(r);
      if (Py_TYPE(r) == t) return c.wrap_static(r);
    }
  }
  if (PyType_IsSubtype(t, &PyTuple_Type) && t != &PyTuple_Type)
    return make_named_tuple(c, t, args, kwargs);
  if (bare_class(t)) return make_instance(c, t, args, kwargs);
  if (kwargs.empty())
    if (auto v = make_exception(c, t, args)) return *v;
  c.give_up(Reason::kUnsupportedCall, str_cat("making a ", t->tp_name), t);
}

// As method_vectorcall of Objects/descrobject.c.
V call_descriptor(Context& c, PyObject* d, const V& self, std::vector<V>& args, Kwargs& kwargs) {
  args.insert(args.begin(), self);
  if (V r = c.call_known(d, args, kwargs)) return r;
  args.erase(args.begin());
  return self->call_descriptor(c, d, args, kwargs);
}

V call_constant_method(Context& c, const V& self, const std::string& name,
                       const std::vector<V>& args, const Kwargs& kwargs) {
  const auto o = as_constant(c, self);
  return o ? call_pure(c, o->attr(name.c_str()), args, kwargs, name, self) : nullptr;
}

V call_op_function(Context& c, PyObject* f, const std::vector<V>& args, const Kwargs& kwargs) {
  const auto* function = reinterpret_cast<OpFunctionObject*>(f);
  try {
    return call_op(c, *function->op, args, kwargs, function->views);
  } catch (const OpError& e) {
    const std::string name = text_of(function->name);
    if (name == function->op->name) throw;
    throw OpError(e.kind, called_as(e.what(), name));
  }
}

// Methods of `object`, as super() and object.__setattr__ reach them.
V call_object_method(Context& c, const std::string& name, const V& self,
                     const std::vector<V>& args) {
  if (name == "__init__" && args.empty()) return c.constant(py::none());
  if (name == "__setattr__" && args.size() == 2) {
    auto n = as_constant(c, args[0]);
    if (n && PyUnicode_Check(n->ptr())) {
      PyObject* text = n->release().ptr();
      PyUnicode_InternInPlace(&text);
      const py::object keep = py::reinterpret_steal<py::object>(text);
      store_attribute(c, self, text, args[1]);
      return c.constant(py::none());
    }
  }
  c.give_up(Reason::kUnsupportedCall, "object." + name);
}

V call_op(Context& c, const OpDef& op, const std::vector<V>& args, const Kwargs& kwargs,
          bool views) {
  std::vector<std::pair<std::string_view, V>> kw;
  for (auto& [k, v] : kwargs) kw.push_back({k, v});
  const auto slots = bind_args<V>(op, std::span<const V>(args), kw);
  std::vector<Operand> in;
  for (size_t k = 0; k < op.inputs.size(); ++k) {
    if (op.inputs[k].variadic) {
      auto items = unpack(c, slots[k]);
      if (!items || !is_tuple_or_list(slots[k])) c.give_up(Reason::kUnsupportedOperand, op.name);
      for (auto& x : *items) in.push_back(operand_of(c, x));
    } else {
      const bool none = !slots[k] || is_none(slots[k]);
      OP_CHECK(!none || op.inputs[k].optional, kType, "[", op.name, "] ", op.inputs[k].name,
               " must be a tensor or a number");
      in.push_back(none ? Operand() : operand_of(c, slots[k]));
    }
  }
  Attrs attrs;
  for (size_t k = 0; k < op.attrs.size(); ++k) {
    const V& v = slots[op.inputs.size() + k];
    if (!v) {
      attrs.push_back(op.attrs[k].def);
      continue;
    }
    const auto o = object_with_sizes(c, v);
    if (!o)
      c.give_up(v->reason(Reason::kUnsupportedOperand),
                str_cat("attribute ", op.attrs[k].name, " of ", op.name));
    attrs.push_back(to_attr(op, op.attrs[k], o->ptr()));
  }
  TensorValue* made = c.tensor(pijit::call_op(c.scope_->graph(), op, in, attrs));
  if (auto* whole = views ? as<TensorValue>(slots[0]) : nullptr)
    make_view(c, made, whole, op, attrs,
              c.tuple(std::vector<V>(slots.begin() + static_cast<ptrdiff_t>(op.inputs.size()),
                                     slots.end())));
  return made;
}

Kwargs keywords_of(Context& c, const V& v) {
  auto* dict = as<DictValue>(v);
  if (!dict) c.give_up(Reason::kUnsupportedOperand, "**kwargs");
  dict->settle(c);
  Kwargs kw;
  for (size_t k = 0; k < dict->keys.size(); ++k) {
    if (!PyUnicode_Check(dict->keys[k].ptr()))
      c.give_up(Reason::kRaises, "keywords must be strings");
    kw.push_back({text_of(dict->keys[k]), dict->item(c, k)});
  }
  return kw;
}

std::optional<V> fresh(Context& c, const py::object& o) {
  if (immutable_constant(o.ptr()) || static_object(o.ptr()) || PyFrozenSet_CheckExact(o.ptr()))
    return c.wrap_static(o.ptr());
  const bool is_tuple = PyTuple_CheckExact(o.ptr());
  if (!is_tuple && !PyList_CheckExact(o.ptr())) return std::nullopt;
  const Context::Nested nested(c);
  std::vector<V> items;
  for (auto x : o) {
    auto v = fresh(c, py::reinterpret_borrow<py::object>(x));
    if (!v) return std::nullopt;
    items.push_back(*v);
  }
  return is_tuple ? c.tuple(std::move(items)) : c.list(std::move(items));
}

// A callable without effects, run at capture on constants.
V call_pure(Context& c, const py::object& f, const std::vector<V>& args, const Kwargs& kwargs,
            const std::string& name, const V& self) {
  if (kwargs.empty() && std::any_of(args.begin(), args.end(), is_input))
    if (V r = at_each_run(c, f.ptr(), args)) return r;
  auto known = [&](const V& v) {
    auto o = as_constant(c, v);
    if (!o) c.give_up(v->reason(Reason::kUnsupportedCall), name, f.ptr());
    return *o;
  };
  py::list positional;
  for (auto& a : args) positional.append(known(a));
  py::dict keywords;
  for (auto& [k, v] : kwargs) keywords[str_of(k)] = known(v);
  PyObject* r = PyObject_Call(f.ptr(), py::tuple(positional).ptr(), keywords.ptr());
  if (!r) {
    py::error_already_set e;
    c.raise(e);
  }
  const auto result = py::reinterpret_steal<py::object>(r);
  for (size_t k = 0; k < args.size(); ++k)  // int(x) may be x itself
    if (py::object(positional[k]).is(result)) return args[k];
  if (self && py::object(f.attr("__self__")).is(result)) return self;
  if (auto v = fresh(c, result)) return *v;
  c.give_up(Reason::kUnsupportedCall, name, f.ptr());
}

}  // namespace pijit::protocol
