// Calls under capture: Python functions are inlined, ops become nodes, known builtins are evaluated
// on values, gradient functions become graph transforms. Anything else ends the graph.
#include <algorithm>
#include <cmath>
#include <set>

#include "base/called_as.h"
#include "capture/kinds.h"
#include "capture/protocol/protocol.h"
#include "capture/registry.h"
#include "capture/tracer.h"
#include "capture/values.h"
#include "graph/vals.h"

namespace pijit {
namespace {

// With its module, for a reader.
std::string name_of_builtin(PyObject* f) {
  const std::string name = reinterpret_cast<PyCFunctionObject*>(f)->m_ml->ml_name;
  const auto module = py::reinterpret_steal<py::object>(PyObject_GetAttrString(f, "__module__"));
  if (!module) PyErr_Clear();
  const std::string from = module && PyUnicode_Check(module.ptr()) ? text_of(module) : "";
  if (from.empty() || from == "builtins") return name;
  return (from == "_operator" ? "operator" : from) + "." + name;
}
}  // namespace

namespace {

// What people know it by, where no code of theirs has to be asked.
std::string name_of_callable(PyObject* o) {
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

// Under code that nobody decorated, a decorated function keeps graphs, and an account, of its own;
// but a gradient is captured whole.
void Tracer::meet_decorated(PyObject* o) {
  if (start_.automatic && active_tapes_.empty())
    give_up(Reason::kDecorated, text_of(py::handle(jit_inner(o)).attr("__name__")));
}

V Tracer::call(const V& f, std::vector<V> args, Kwargs kwargs) {
  if (const auto* m = as<MethodValue>(f)) {
    PyObject* d = as<ObjectValue>(m->func) ? m->func->obj.ptr() : Py_None;
    if (Py_TYPE(d) == &PyMethodDescr_Type || Py_TYPE(d) == &PyWrapperDescr_Type)
      return call_descriptor(d, m->self, args, kwargs);
    args.insert(args.begin(), m->self);
    return call(m->func, args, kwargs);
  }
  if (f->kind == Value::kFunction) return call_function(f, args, kwargs);
  if (const auto* p = as<PartialValue>(f)) {
    std::vector<V> all = p->args;
    all.insert(all.end(), args.begin(), args.end());
    return call(p->func, all, with_keywords(p->kwargs, kwargs));
  }
  if (f->kind == Value::kInstance) {
    PyObject* c = type_lookup(type_of(f), PyUnicode_InternFromString("__call__"));
    if (c && (PyFunction_Check(c) || Py_TYPE(c) == jit_function_type)) {
      if (!PyFunction_Check(c)) meet_decorated(c);
      args.insert(args.begin(), f);
      return call(wrap_static(PyFunction_Check(c) ? c : jit_inner(c)), args, kwargs);
    }
  }
  if (f->kind != Value::kObject) give_up(Reason::kUnsupportedCall, type_of(f)->tp_name);
  PyObject* o = f->obj.ptr();
  if (V r = call_known(o, args, kwargs, f)) return r;
  if (PyFunction_Check(o)) return call_function(f, args, kwargs);
  if (Py_TYPE(o) == jit_function_type) {
    meet_decorated(o);
    return call_function(protocol::behind(*this, f), args, kwargs);
  }
  if (Py_TYPE(o) == op_function_type) {
    const auto* function = reinterpret_cast<OpFunctionObject*>(o);
    try {
      return protocol::call_op(*this, *function->op, args, kwargs);
    } catch (const OpError& e) {
      const std::string name = text_of(function->name);
      if (name == function->op->name) throw;
      throw OpError(e.kind, called_as(e.what(), name));
    }
  }
  if (PyType_Check(o)) return call_type(reinterpret_cast<PyTypeObject*>(o), args, kwargs);
  if (PyCFunction_Check(o)) give_up(Reason::kUnsupportedCall, name_of_builtin(o) + "()");
  if ((Py_TYPE(o) == &PyMethodDescr_Type || Py_TYPE(o) == &PyWrapperDescr_Type) && !args.empty()) {
    const V self = args[0];  // Type.method(self, ...)
    args.erase(args.begin());
    return call_descriptor(o, self, args, kwargs);
  }
  PyObject* c = type_lookup(Py_TYPE(o), names.call);
  if (c && PyFunction_Check(c)) {
    args.insert(args.begin(), f);
    return call(wrap_static(c), args, kwargs);
  }
  if (c && Py_TYPE(c) == jit_function_type) {
    meet_decorated(c);
    args.insert(args.begin(), f);
    return call(wrap_static(jit_inner(c)), args, kwargs);
  }
  if (V r = call_object(*this, f, args, kwargs)) return r;
  // functools.partial
  if (Py_TYPE(o) == PartialValue::partial_type()) {
    // its parts can change: __setstate__ replaces them, and the keywords are a dict
    std::vector<V> all =
        protocol::items_of(*this, protocol::member(*this, f, PyUnicode_InternFromString("args")));
    all.insert(all.end(), args.begin(), args.end());
    const Kwargs own =
        keywords_of(protocol::member(*this, f, PyUnicode_InternFromString("keywords")));
    return call(protocol::member(*this, f, PyUnicode_InternFromString("func")), all,
                with_keywords(own, kwargs));
  }
  give_up(Reason::kUnsupportedCall, name_of_callable(o));
}

namespace {
// The function that dataclasses and reprlib.recursive_repr wrap, so that an object that holds
// itself has a text; values that do so are not followed. Null: another function.
PyObject* behind_repr(PyObject* fn) {
  auto* code = reinterpret_cast<PyCodeObject*>(PyFunction_GET_CODE(fn));
  auto is = [](PyObject* text, const char* s) {
    return text && PyUnicode_Check(text) && PyUnicode_CompareWithASCIIString(text, s) == 0;
  };
  if (!is(code->co_name, "wrapper")) return nullptr;
  PyObject* module = PyDict_GetItemString(PyFunction_GET_GLOBALS(fn), "__name__");
  if (!is(module, "dataclasses") && !is(module, "reprlib")) return nullptr;
  const auto names =
      py::handle(reinterpret_cast<PyObject*>(code)).attr("co_freevars").cast<py::tuple>();
  Py_ssize_t n = 0;
  PyObject** cells = closure_of(fn, &n);
  for (Py_ssize_t k = 0; k < n; ++k)
    if (is(py::object(names[static_cast<size_t>(k)]).ptr(), "user_function")) {
      PyObject* f = PyCell_GET(cells[k]);
      return f && PyFunction_Check(f) ? f : nullptr;
    }
  return nullptr;
}
}  // namespace

V Tracer::call_function(const V& f, std::vector<V> args, Kwargs kwargs) {
  PyObject* fn = f->kind == Value::kObject ? f->obj.ptr() : nullptr;
  if (PyObject* user = fn ? behind_repr(fn) : nullptr)
    return call_function(wrap_static(user), std::move(args), std::move(kwargs));
  const auto* made = as<FunctionValue>(f);  // during capture
  PyObject* code_obj = fn ? PyFunction_GET_CODE(fn) : made->code.ptr();
  auto* co = reinterpret_cast<PyCodeObject*>(code_obj);
  const std::string name = text_of(py::handle(code_obj).attr("co_name"));
  auto code = code_info(code_obj, true);
  if (!code || (fn && has_other_builtins(fn)))
    give_up(co->co_flags & CO_OPTIMIZED ? Reason::kGenerator : Reason::kUnsupportedCall, name);
  if (fn && !is_library(PyFunction_GET_GLOBALS(fn)))
    guard(Guard::kCode, source_of(f), share(code_obj), 0, share(PyFunction_GET_GLOBALS(fn)));

  Frame fr;
  fr.code = code;
  fr.globals = fn ? PyFunction_GET_GLOBALS(fn) : made->globals.ptr();
  fr.func = f;
  const int nargs = co->co_argcount, nkw = co->co_kwonlyargcount, npos = co->co_posonlyargcount;
  const bool varargs = co->co_flags & CO_VARARGS, varkw = co->co_flags & CO_VARKEYWORDS;
  fr.slots.assign(code->num_slots, nullptr);
  auto bad = [&](const std::string& what) { give_up(Reason::kRaises, name + "() " + what); };
  for (int k = 0; k < nargs && k < static_cast<int>(args.size()); ++k) fr.slots[k] = args[k];
  if (static_cast<int>(args.size()) > nargs) {
    if (!varargs) bad("takes fewer positional arguments");
    fr.slots[nargs + nkw] = tuple(std::vector<V>(args.begin() + nargs, args.end()));
  } else if (varargs) {
    fr.slots[nargs + nkw] = tuple({});
  }
  V extra;
  if (varkw) {
    extra = make<DictValue>();
    fr.slots[nargs + nkw + (varargs ? 1 : 0)] = extra;
  }
  for (auto& [k, v] : kwargs) {
    int at = -1;
    for (int i = npos; i < nargs + nkw; ++i)
      if (code->slot_names[i] == k) at = i;
    if (at < 0) {
      if (!extra) bad("got an unexpected keyword argument " + k);
      extra->keys.push_back(str_of(k));
      extra->items.push_back(v);
      continue;
    }
    if (fr.slots[at]) bad("got multiple values for " + k);
    fr.slots[at] = v;
  }
  // defaults
  if (fn) {
    PyObject* d = PyFunction_GetDefaults(fn);
    const Py_ssize_t nd = d ? PyTuple_GET_SIZE(d) : 0;
    V defaults;
    for (int k = 0; k < nargs; ++k) {
      if (fr.slots[k]) continue;
      const Py_ssize_t i = k - (nargs - nd);
      if (i < 0) bad("missing argument " + code->slot_names[k]);
      if (is_library(fr.globals)) {
        fr.slots[k] = wrap_static(PyTuple_GET_ITEM(d, i));
        continue;
      }
      if (!defaults) defaults = wrap(d, add_source({Source::kFuncDefaults, source_of(f), 0, {}}));
      fr.slots[k] = item(defaults, static_cast<size_t>(i));
    }
    PyObject* kd = PyFunction_GetKwDefaults(fn);
    for (int k = nargs; k < nargs + nkw; ++k) {
      if (fr.slots[k]) continue;
      py::str key = str_of(code->slot_names[k]);
      PyObject* x = kd ? found_in(kd, key.ptr()) : nullptr;
      if (!x) bad("missing keyword argument " + code->slot_names[k]);
      fr.slots[k] = is_library(fr.globals)
                        ? wrap_static(x)
                        : wrap(x, add_source({Source::kFuncKwDefault, source_of(f), 0, key}));
    }
  } else {
    const int nd = made->defaults ? static_cast<int>(made->defaults->items.size()) : 0;
    for (int k = 0; k < nargs; ++k)
      if (!fr.slots[k]) {
        if (k < nargs - nd) bad("missing argument " + code->slot_names[k]);
        fr.slots[k] = item(made->defaults, k - (nargs - nd));
      }
    for (int k = nargs; k < nargs + nkw; ++k)
      if (!fr.slots[k]) {
        const int i = made->kwdefaults
                          ? find_key(*this, made->kwdefaults, str_of(code->slot_names[k]).ptr())
                          : -1;
        if (i < 0) bad("missing keyword argument " + code->slot_names[k]);
        fr.slots[k] = item(made->kwdefaults, i);
      }
  }
  for (auto& s : fr.slots)
    if (!s) s = null();
  if (code->generator) {
    auto* it = make<GeneratorValue>(std::make_shared<Frame>(fr));
    if (!varkw && !nkw) {  // what it takes to call it again
      it->func = f;
      for (int k = 0; k < nargs; ++k) it->args.push_back(fr.slots[k]);
      if (varargs)
        for (auto& x : fr.slots[nargs]->items) it->args.push_back(x);
    }
    if (cleans_up(*code)) {
      undoable([this] { cleaning_.pop_back(); });
      cleaning_.push_back(it);
    }
    return it;
  }
  const size_t depth = frames_.size();
  try {
    return run_inlined(fr);
  } catch (const OpError& e) {
    const GraphBreak b{Reason::kRaises, e.what(), location()};
    frames_.resize(depth);
    throw b;
  } catch (...) {
    frames_.resize(depth);
    returned_ = false;
    throw;
  }
}

V Tracer::call_descriptor(PyObject* d, const V& self, std::vector<V>& args, Kwargs& kwargs) {
  args.insert(args.begin(), self);
  if (V r = call_known(d, args, kwargs)) return r;
  args.erase(args.begin());
  const std::string name = text_of(py::object(py::handle(d).attr("__name__")));
  const bool of_object = reinterpret_cast<PyDescrObject*>(d)->d_type == &PyBaseObject_Type;
  if (self->kind == Value::kObject && of_object && name == "__setattr__" && kwargs.empty() &&
      !PyType_Check(self->obj.ptr()) && !PyModule_Check(self->obj.ptr()))
    return protocol::call_object_method(*this, name, self, args);
  if (self->kind == Value::kInstance) {
    if (of_object && kwargs.empty()) return protocol::call_object_method(*this, name, self, args);
    give_up(Reason::kUnsupportedCall, str_cat(type_of(self)->tp_name, ".", name));
  }
  if (self->kind == Value::kException && kwargs.empty())
    return call_exception_method(*this, d, self, args);
  // object.__eq__(1, 2), int.__repr__(True): not the method that the class has under this name
  if (type_lookup(type_of(self), str_of(name).ptr()) != d) {
    const auto own = reinterpret_cast<PyDescrObject*>(d)->d_type;
    if (const auto* dict = as<DictValue>(self)) {  // by super(), or as dict.update(d)
      if (!dict->ordered() && own == &PyDict_Type)
        if (auto r = self->method(*this, name, args, kwargs)) return *r;
      give_up(Reason::kUnsupportedCall, str_cat(own->tp_name, ".", name));
    }
    if (!PyType_IsSubtype(type_of(self), own))
      give_up(Reason::kRaises, str_cat(name, " of a ", type_of(self)->tp_name));
    std::vector<V> all{self};
    all.insert(all.end(), args.begin(), args.end());
    return protocol::call_pure(*this, share(d), all, kwargs, name);
  }
  return call_method_descriptor(name, self, args, kwargs);
}

V Tracer::call_method_descriptor(const std::string& name, const V& self, std::vector<V>& args,
                                 Kwargs& kwargs) {
  if (self->kind == Value::kTensor && name == "item" && args.empty() && kwargs.empty())
    if (V number = number_of(*this, self, nullptr)) return number;
  if (self->kind == Value::kTensor && name == "asnumpy" && args.empty() && kwargs.empty() &&
      !mapped_serial_)
    return make<HostArrayValue>(v_op("stop_gradient", scope_->val(self->node())));
  if (self->kind == Value::kTensor) give_up(Reason::kTensorValue, "Tensor." + name);
  if (self->kind == Value::kHostArray && name == "item" && args.empty() && kwargs.empty())
    if (V number = number_of(*this, tensor(self->node()), nullptr)) return number;
  if (auto r = self->method(*this, name, args, kwargs)) return *r;
  if (self->kind == Value::kArray) {
    static const std::set<std::string> kFresh = {"astype", "sum",  "mean", "max",
                                                 "min",    "copy", "item", "flatten"};
    if (!kFresh.count(name) || std::any_of(kwargs.begin(), kwargs.end(), [](auto& k) {
          return k.first == "copy" || k.first == "out";
        }))
      give_up(Reason::kUnsupportedCall, "ndarray." + name);
    return call_numpy(*this, self->obj.attr(name.c_str()), args, kwargs);
  }
  if (name == "format" && !kwargs.empty() && type_of(self) == &PyUnicode_Type) {
    std::vector<V> all{self};
    all.insert(all.end(), args.begin(), args.end());
    py::tuple names(kwargs.size());
    for (size_t k = 0; k < kwargs.size(); ++k) {
      names[k] = str_of(kwargs[k].first);
      all.push_back(kwargs[k].second);
    }
    return protocol::call_pure(*this, polyfill("formatter")(names), all, {}, "format");
  }
  // methods of constants (strings, numbers, tuples of constants) run for real: they have no effects
  if (kwargs.empty() && (is_known(self) || is_input(self)) &&
      (is_input(self) || std::any_of(args.begin(), args.end(), is_input))) {
    std::vector<V> all{self};
    all.insert(all.end(), args.begin(), args.end());
    PyObject* method = type_lookup(type_of(self), str_of(name).ptr());
    if (V r = method ? at_each_run(*this, method, all) : nullptr) return r;
  }
  fix(*this, self);
  if (is_known(self) || self->kind == Value::kTuple) {
    if (auto c = as_constant(self)) {
      return protocol::call_pure(*this, c->attr(name.c_str()), args, kwargs, name, self);
    }
  }
  give_up(Reason::kUnsupportedCall, str_cat(type_of(self)->tp_name, ".", name));
}

// Prints after the graph, in the order of all effects, what the values are now.
V Tracer::call_print(const Call& call) {
  if (arm_serial_ || mapped_serial_)
    give_up(Reason::kTensorValue, "print() in a branch or loop on a tensor or a mapped function");
  for (auto* f : frames_)
    if (handles_stream_errors(*f))
      give_up(Reason::kUnsupportedCall, "print() where its exceptions are handled");
  py::dict keywords;
  for (auto& [k, v] : call.kwargs) {
    auto c = as_constant(v);
    const bool text = c && (c->is_none() || PyUnicode_CheckExact(c->ptr()));
    if (!c || (k != "flush" && !((k == "sep" || k == "end") && text)))
      give_up(Reason::kUnsupportedCall, "print()");
    keywords[str_of(k)] = *c;
  }
  std::vector<V> values, given;
  const std::function<void(const V&)> add = [&](const V& x) {
    const Nested nested(*this);
    const bool made = x->src < 0 && (is_list(x) || is_dict(x));
    if ((!made && x->kind != Value::kTuple) || (!is_dict(x) && as_constant(x))) {
      given.push_back(x);
    } else {  // as graph mode shows them
      const auto parts = is_dict(x) ? x->items : protocol::items_of(*this, x);
      std::for_each(parts.begin(), parts.end(), add);
    }
  };
  for (auto& x : call.args) runs_as_graph() ? add(x) : given.push_back(x);
  for (auto& x : given) {
    if (x->kind == Value::kTensor) {
      if (x->dirty && as<TensorValue>(x)->parameter) give_up(Reason::kUnsupportedCall, "print()");
      values.push_back(x->src >= 0 && !x->dirty ? x : V(tensor(x->node())));
    } else if (is_input(x) || is_computed(x) || x->kind == Value::kHostArray) {
      values.push_back(x);
    } else if (x->kind == Value::kException) {
      values.push_back(exception_text(*this, x, "__str__"));
    } else if (auto c = as_constant(x)) {
      values.push_back(constant(*c));
    } else if (auto s = x->kind == Value::kObject || x->kind == Value::kInstance
                            ? protocol::text(*this, x, "__str__")
                            : std::nullopt) {
      values.push_back(*s);
    } else {
      give_up(Reason::kUnsupportedCall, "print()");
    }
  }
  log({Note::kPrint, nullptr, share(call.callable), {}, values, keywords});
  return constant(py::none());
}

V Tracer::call_type(PyTypeObject* t, std::vector<V>& args, Kwargs& kwargs) {
  if (const auto* kind = kind_of(t); kind && kind->construct)
    if (const V made = kind->construct(*this, t, args, kwargs)) return made;
  if (is_enum(t) && kwargs.empty() && args.size() == 1) {
    // Member by value: the enum module's own code, unless the class has its own for what is missing
    PyObject* missing = type_lookup(t, names.missing_member);
    const bool usual = missing == type_lookup(library.enumeration.type(), names.missing_member) ||
                       missing == type_lookup(library.flag.type(), names.missing_member);
    const auto value = as_constant(args[0]);
    if (usual && value) {
      guard_class(t);
      PyObject* r = PyObject_CallOneArg(reinterpret_cast<PyObject*>(t), value->ptr());
      if (!r) raise(py::error_already_set());
      const py::object made = py::reinterpret_steal<py::object>(r);
      if (Py_TYPE(r) == t) return wrap_static(r);
    }
  }
  if (PyType_IsSubtype(t, &PyTuple_Type) && t != &PyTuple_Type)
    return make_named_tuple(*this, t, args, kwargs);
  if (bare_class(t)) return make_instance(*this, t, args, kwargs);
  if (kwargs.empty())
    if (auto v = make_exception(*this, t, args)) return *v;
  give_up(Reason::kUnsupportedCall, str_cat("making a ", t->tp_name));
}

Kwargs Tracer::keywords_of(const V& dict) {
  dict->settle(*this);
  if (dict->kind != Value::kDict) give_up(Reason::kUnsupportedOperand, "**kwargs");
  Kwargs kw;
  for (size_t k = 0; k < dict->keys.size(); ++k) {
    if (!PyUnicode_Check(dict->keys[k].ptr())) give_up(Reason::kRaises, "keywords must be strings");
    kw.push_back({text_of(dict->keys[k]), item(dict, k)});
  }
  return kw;
}

V Tracer::call_sorted(const std::vector<V>& args, const Kwargs& kwargs) {
  V key;
  bool reverse = false;
  for (auto& [k, v] : kwargs) {
    if (k == "key") {
      key = is_none(v) ? nullptr : v;
    } else {
      const auto r = k == "reverse" ? as_int(*this, v) : std::nullopt;
      if (!r) give_up(Reason::kUnsupportedCall, "sorted()");
      reverse = *r != 0;
    }
  }
  const std::vector<V> items = protocol::items_of(*this, args[0]);
  py::list keys, order;
  for (size_t k = 0; k < items.size(); ++k) {
    const V x = key ? call(key, {items[k]}, {}) : items[k];
    const auto c = as_constant(x);
    if (!c)
      give_up(x->kind == Value::kTensor ? Reason::kTensorValue : Reason::kUnsupportedCall,
              "sorted()");
    if (holds_nan(c->ptr())) give_up(Reason::kUnsupportedCall, "sorted() of NaN");
    keys.append(*c);
    order.append(k);
  }
  // places, sorted by what stands there: the items stay the objects that they are
  try {
    order.attr("sort")(py::arg("key") = keys.attr("__getitem__"), py::arg("reverse") = reverse);
  } catch (const py::error_already_set& e) {
    raise(e);
  }
  std::vector<V> sorted;
  for (auto k : order) sorted.push_back(items[PyLong_AsSize_t(k.ptr())]);
  return list(sorted);
}

V Tracer::call_sum(const std::vector<V>& args) {
  V r = args.size() > 1 ? args[1] : constant_int(0), x;
  if (is_known(r) && (PyUnicode_Check(r->obj.ptr()) || PyBytes_Check(r->obj.ptr())))
    give_up(Reason::kRaises, "sum() of text");
  const V it = protocol::iter(*this, args[0]);  // item and addition in turn
  // Constants at the beginning are for CPython, which adds floats with a correction from 3.12 on.
  auto number = [](const V& v) {
    return is_known(v) && (PyLong_Check(v->obj.ptr()) || PyFloat_Check(v->obj.ptr()));
  };
  py::list numbers;
  bool more = false;
  while ((more = protocol::next(*this, it, &x)) && number(r) && number(x)) {
    tick();
    numbers.append(x->obj);
  }
  if (!numbers.empty()) {
    PyObject* args[] = {numbers.ptr(), r->obj.ptr()};
    PyObject* total = PyObject_Vectorcall(original("sum"), args, 2, nullptr);
    if (!total) raise(py::error_already_set());
    r = constant(py::reinterpret_steal<py::object>(total));
  }
  for (; more; more = protocol::next(*this, it, &x)) {
    tick();
    r = protocol::binary(*this, BinaryOp::kAdd, r, x);
  }
  return r;
}

V Tracer::call_reversed(const V& x) {
  x->settle(*this);
  if (is_known(x) && PyRange_Check(x->obj.ptr()))
    return protocol::iter(*this, constant(x->obj[py::slice(py::none(), py::none(), py::int_(-1))]));
  if (PyObject* f = protocol::user_method(*this, x, "__reversed__"))
    return call(wrap_static(f), {x}, {});
  if (is_sequence(x)) return make<ReversedIterator>(x);
  give_up(Reason::kUnsupportedIterable, str_cat("reversed() of a ", type_of(x)->tp_name));
}

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

// As PyObject_IsInstance goes.
bool Tracer::is_instance(const V& v, PyObject* cls) {
  if (PyTuple_Check(cls)) {
    const Nested nested(*this);
    for (Py_ssize_t k = 0; k < PyTuple_GET_SIZE(cls); ++k)
      if (is_instance(v, PyTuple_GET_ITEM(cls, k))) return true;
    return false;
  }
  if (!PyType_Check(cls)) give_up(Reason::kUnsupportedCall, "isinstance() of no class");
  PyTypeObject* t = type_of(v);
  if (!t) give_up(Reason::kUnsupportedCall, "isinstance()");
  auto* c = reinterpret_cast<PyTypeObject*>(cls);
  if (t == c) return true;
  if (plain_abstract_class(c)) {
    // which classes belong to it may be told at any time, and is then counted
    const py::object count = library.abc_cache_token.object(), now = count();
    guard(Guard::kEquals, add_source({Source::kComputed, -1, 0, count}), now);
    if (PyType_HasFeature(t, Py_TPFLAGS_HEAPTYPE)) guard_class(t);
    guard_class(c);
    const int belongs = PyObject_IsSubclass(reinterpret_cast<PyObject*>(t), cls);
    if (belongs < 0) raise(py::error_already_set());
    if (belongs) return true;
    if (says_another_class(t))
      give_up(Reason::kUnsupportedCall, "isinstance() of what has a __class__ of its own");
    return false;
  }
  if (PyObject* f = protocol::user_method(*this, wrap_static(cls), "__instancecheck__")) {
    if (Py_TYPE(cls)->tp_name == std::string("ABCMeta") || Py_TYPE(cls)->tp_base != &PyType_Type)
      give_up(Reason::kUnsupportedCall, "isinstance() of an abstract class");
    const auto r = protocol::truth(*this, call(wrap_static(f), {wrap_static(cls), v}, {}));
    if (!r) give_up(Reason::kTensorValue, "__instancecheck__");
    return *r;
  }
  if (type_lookup(Py_TYPE(cls), names.instancecheck) !=
      type_lookup(&PyType_Type, names.instancecheck))
    give_up(Reason::kUnsupportedCall, "isinstance() of an abstract class");
  if (PyType_IsSubtype(t, c)) return true;
  // an object may say that it is of another class
  if (says_another_class(t))
    give_up(Reason::kUnsupportedCall, "isinstance() of what has a __class__ of its own");
  return false;
}

bool Tracer::is_subclass(PyObject* sub, PyObject* cls) {
  if (PyTuple_Check(cls)) {
    const Nested nested(*this);
    for (Py_ssize_t k = 0; k < PyTuple_GET_SIZE(cls); ++k)
      if (is_subclass(sub, PyTuple_GET_ITEM(cls, k))) return true;
    return false;
  }
  if (!PyType_Check(cls) || !PyType_Check(sub))
    give_up(Reason::kUnsupportedCall, "issubclass() of no class");
  if (type_lookup(Py_TYPE(cls), names.subclasscheck) !=
      type_lookup(&PyType_Type, names.subclasscheck))
    give_up(Reason::kUnsupportedCall, "issubclass() of an abstract class");
  protocol::user_method(*this, wrap_static(cls), "__subclasscheck__");  // guards that there is none
  return PyType_IsSubtype(reinterpret_cast<PyTypeObject*>(sub),
                          reinterpret_cast<PyTypeObject*>(cls));
}

}  // namespace pijit
