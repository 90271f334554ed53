// Calls under capture: Python functions are inlined, ops become nodes, known builtins are evaluated
// on values, gradient functions become graph transforms. Anything else ends the graph.
#include <algorithm>
#include <cmath>
#include <set>

#include "capture/kinds.h"
#include "capture/tracer.h"
#include "capture/values.h"
#include "graph/vals.h"

namespace pijit {
namespace {
py::object share(PyObject* o) { return py::reinterpret_borrow<py::object>(o); }
PyTypeObject* grad_type() {
  static PyObject* t =
      py::object(py::module_::import("pijit.grad").attr("GradFunction")).release().ptr();
  return reinterpret_cast<PyTypeObject*>(t);
}
}  // namespace

V Context::call_op(const OpDef& op, const std::vector<V>& args, const Kwargs& kwargs) {
  std::vector<std::pair<std::string_view, V>> kw;
  for (auto& [k, v] : kwargs) kw.push_back({k, v});
  const auto slots = bind_args<V>(op, std::span<const V>(args), kw);
  std::vector<Operand> in;
  for (size_t k = 0; k < op.inputs.size(); ++k) {
    if (op.inputs[k].variadic) {
      auto items = unpack(slots[k]);
      if (!items || (slots[k]->kind != Value::kTuple && slots[k]->kind != Value::kList))
        give_up(Reason::kUnsupportedOperand, op.name);
      for (auto& x : *items) in.push_back(operand(x));
    } else {
      const bool none = !slots[k] || (slots[k]->kind == Value::kConst && slots[k]->obj.is_none());
      OP_CHECK(!none || op.inputs[k].optional, kType, "[", op.name, "] ", op.inputs[k].name,
               " must be a tensor or a number");
      in.push_back(none ? Operand() : operand(slots[k]));
    }
  }
  Attrs attrs;
  for (size_t k = 0; k < op.attrs.size(); ++k) {
    const V& v = slots[op.inputs.size() + k];
    if (!v) {
      attrs.push_back(op.attrs[k].def);
      continue;
    }
    const auto o = object_with_sizes(v);
    if (!o)
      give_up(v->kind == Value::kTensor ? Reason::kTensorValue : Reason::kUnsupportedOperand,
              str_cat("attribute ", op.attrs[k].name, " of ", op.name));
    attrs.push_back(to_attr(op, op.attrs[k], o->ptr()));
  }
  return tensor(pijit::call_op(scope_->graph(), op, in, std::move(attrs)));
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
  if (f->kind == Value::kInstance) {
    if (type_of(f) == grad_type()) return call_grad(f, args, kwargs);
    PyObject* c = type_lookup(type_of(f), PyUnicode_InternFromString("__call__"));
    if (c && (PyFunction_Check(c) || Py_TYPE(c) == jit_function_type)) {
      args.insert(args.begin(), f);
      return call(wrap_static(PyFunction_Check(c) ? c : jit_inner(c)), args, kwargs);
    }
  }
  if (f->kind != Value::kObject) give_up(Reason::kUnsupportedCall, type_of(f)->tp_name);
  PyObject* o = f->obj.ptr();
  static PyTypeObject* dispatcher =
      Py_TYPE(py::object(py::module_::import("numpy").attr("prod")).ptr());
  if (PyFunction_Check(o))
    if (auto r = call_transform(o, args, kwargs)) return *r;
  if ((PyFunction_Check(o) || PyCFunction_Check(o) || Py_TYPE(o) == dispatcher) && makes_array(o))
    return call_numpy(f, args, kwargs);
  if (PyFunction_Check(o)) return call_function(f, args, kwargs);
  if (Py_TYPE(o) == jit_function_type) return call_function(behind(f), args, kwargs);
  if (Py_TYPE(o) == op_function_type)
    return call_op(*reinterpret_cast<OpFunctionObject*>(o)->op, args, kwargs);
  if (PyType_Check(o)) return call_type(reinterpret_cast<PyTypeObject*>(o), args, kwargs);
  if (PyCFunction_Check(o)) return call_builtin(o, args, kwargs);
  if ((Py_TYPE(o) == &PyMethodDescr_Type || Py_TYPE(o) == &PyWrapperDescr_Type) && !args.empty()) {
    const V self = args[0];  // Type.method(self, ...)
    args.erase(args.begin());
    return call_descriptor(o, self, args, kwargs);
  }
  if (Py_TYPE(o) == grad_type()) return call_grad(f, args, kwargs);
  static PyObject* ufunc = py::object(py::module_::import("numpy").attr("ufunc")).release().ptr();
  if (reinterpret_cast<PyObject*>(Py_TYPE(o)) == ufunc) return call_numpy(f, args, kwargs);
  if (Py_TYPE(o) == dispatcher && dispatcher != &PyFunction_Type) {
    // of those that have no effect but a result
    static const std::set<std::string> kPure = {"prod", "sum", "max",  "min",  "amax", "amin",
                                                "mean", "std", "ndim", "size", "round"};
    if (kPure.count(text_of(py::str(share(o).attr("__name__")))))
      return call_numpy(f, args, kwargs);
  }
  static PyObject* name = PyUnicode_InternFromString("__call__");
  PyObject* c = type_lookup(Py_TYPE(o), name);
  if (c && PyFunction_Check(c)) {
    args.insert(args.begin(), f);
    return call(wrap_static(c), args, kwargs);
  }
  if (c && Py_TYPE(c) == jit_function_type) {
    args.insert(args.begin(), f);
    return call(wrap_static(jit_inner(c)), args, kwargs);
  }
  // functools.partial
  static PyObject* partial =
      py::object(py::module_::import("functools").attr("partial")).release().ptr();
  if (reinterpret_cast<PyObject*>(Py_TYPE(o)) == partial) {
    // its parts can change: __setstate__ replaces them, and the keywords are a dict
    std::vector<V> all = items_of(member(f, PyUnicode_InternFromString("args")));
    all.insert(all.end(), args.begin(), args.end());
    Kwargs kw;
    for (auto& [k, v] : keywords_of(member(f, PyUnicode_InternFromString("keywords"))))
      if (std::none_of(kwargs.begin(), kwargs.end(), [&](auto& p) { return p.first == k; }))
        kw.push_back({k, v});
    kw.insert(kw.end(), kwargs.begin(), kwargs.end());
    return call(member(f, PyUnicode_InternFromString("func")), all, kw);
  }
  give_up(Reason::kUnsupportedCall, Py_TYPE(o)->tp_name);
}

V Tracer::call_function(const V& f, std::vector<V> args, Kwargs kwargs) {
  PyObject* fn = f->kind == Value::kObject ? f->obj.ptr() : nullptr;
  const auto* made = as<FunctionValue>(f);  // during capture
  PyObject* code_obj = fn ? PyFunction_GET_CODE(fn) : made->code.ptr();
  auto* co = reinterpret_cast<PyCodeObject*>(code_obj);
  const std::string name = text_of(py::handle(code_obj).attr("co_name"));
  auto code = code_info(code_obj, generators_);
  if (!code || (code->generator && cleans_up(*code)) || (fn && has_other_builtins(fn)))
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
      PyObject* x = kd ? PyDict_GetItemWithError(kd, key.ptr()) : nullptr;
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
        const int i =
            made->kwdefaults ? find_key(made->kwdefaults, str_of(code->slot_names[k]).ptr()) : -1;
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

void Context::assign_tensor(const V& t, const V& value) {
  const Val old = scope_->val(t->node),
            v = materialize(scope_->graph(), operand(value), old.dtype());
  OP_CHECK(v.shape() == old.shape(), kValue, "[assign] a tensor of shape ", old.shape().str(),
           " cannot take a value of shape ", v.shape().str());
  set_node(t, v);
}

// A callable without effects, run at capture on constants.
V Context::call_pure(const py::object& f, const std::vector<V>& args, const Kwargs& kwargs,
                     const std::string& name) {
  if (kwargs.empty() && std::any_of(args.begin(), args.end(), sourced))
    if (V r = computed(f.ptr(), args)) return r;
  auto known = [&](const V& v) {
    auto c = as_constant(v);
    if (!c)
      give_up(v->kind == Value::kTensor ? Reason::kTensorValue : Reason::kUnsupportedCall, name);
    return *c;
  };
  py::list positional;
  for (auto& a : args) positional.append(known(a));
  py::dict keywords;
  for (auto& [k, v] : kwargs) keywords[str_of(k)] = known(v);
  PyObject* r = PyObject_Call(f.ptr(), py::tuple(positional).ptr(), keywords.ptr());
  if (!r) {
    py::error_already_set e;
    raise(e);
  }
  if (auto v = fresh(py::reinterpret_steal<py::object>(r))) return *v;
  give_up(Reason::kUnsupportedCall, name);
}

V Tracer::call_descriptor(PyObject* d, const V& self, std::vector<V>& args, Kwargs& kwargs) {
  const std::string name = text_of(py::object(py::handle(d).attr("__name__")));
  const bool of_object = reinterpret_cast<PyDescrObject*>(d)->d_type == &PyBaseObject_Type;
  if (self->kind == Value::kObject && of_object && name == "__setattr__" && kwargs.empty() &&
      !PyType_Check(self->obj.ptr()) && !PyModule_Check(self->obj.ptr()))
    return call_object_method(name, self, args);
  if (self->kind == Value::kInstance) {
    if (of_object && kwargs.empty()) return call_object_method(name, self, args);
    give_up(Reason::kUnsupportedCall, str_cat(type_of(self)->tp_name, ".", name));
  }
  if (self->kind == Value::kException && kwargs.empty())
    return call_exception_method(d, self, args);
  // object.__eq__(1, 2), int.__repr__(True): not the method that the class has under this name
  if (type_lookup(type_of(self), str_of(name).ptr()) != d) {
    const auto own = reinterpret_cast<PyDescrObject*>(d)->d_type;
    if (!PyType_IsSubtype(type_of(self), own))
      give_up(Reason::kRaises, str_cat(name, " of a ", type_of(self)->tp_name));
    std::vector<V> all{self};
    all.insert(all.end(), args.begin(), args.end());
    return call_pure(share(d), all, kwargs, name);
  }
  return call_method_descriptor(name, self, args, kwargs);
}

V Tracer::call_method_descriptor(const std::string& name, const V& self, std::vector<V>& args,
                                 Kwargs& kwargs) {
  auto arity = [&](size_t lo, size_t hi) {
    if (args.size() < lo || args.size() > hi || !kwargs.empty())
      give_up(Reason::kUnsupportedCall, name);
  };
  if (self->kind == Value::kTensor) {
    if (name == "_assign") {
      arity(1, 1);
      assign_tensor(self, args[0]);
      return self;
    }
    if (name == "_alias" || name == "_held") {
      arity(0, 0);
      return tensor(self->node);
    }
    if (args.size() == 1) {
      if (const auto op = compare_method(name)) return compare(*op, self, args[0]);
      if (const auto op = binary_method(name)) return binary(*op, self, args[0]);
    }
    if (name == "__neg__") return unary(UnaryOp::kNeg, self);
    if (name == "__getitem__" && args.size() == 1) return subscript(self, args[0]);
    if (name == "__len__") return self->node.shape().rank() ? dim(self, 0) : constant_int(0);
    give_up(Reason::kTensorValue, "Tensor." + name);
  }
  if (auto r = self->method(*this, name, args, kwargs)) return *r;
  if (self->kind == Value::kSet) {
    if (name == "add") {
      arity(1, 1);
      add_to_set(self, args[0]);
      return constant(py::none());
    }
    static const std::set<std::string> kQuestions = {"issubset", "issuperset", "isdisjoint"};
    if (kQuestions.count(name))
      return call_pure(elements(self).attr(name.c_str()), args, kwargs, name);
  }
  if (self->kind == Value::kArray) {
    static const std::set<std::string> kFresh = {"astype", "sum",  "mean", "max",
                                                 "min",    "copy", "item", "flatten"};
    if (!kFresh.count(name) || std::any_of(kwargs.begin(), kwargs.end(), [](auto& k) {
          return k.first == "copy" || k.first == "out";
        }))
      give_up(Reason::kUnsupportedCall, "ndarray." + name);
    auto* method = make<ObjectValue>();
    method->obj = self->obj.attr(name.c_str());
    return call_numpy(method, args, kwargs);
  }
  // methods of constants (strings, numbers, tuples of constants) run for real: they have no effects
  if (kwargs.empty() && (self->kind == Value::kConst || sourced(self)) &&
      (sourced(self) || std::any_of(args.begin(), args.end(), sourced))) {
    std::vector<V> all{self};
    all.insert(all.end(), args.begin(), args.end());
    PyObject* method = type_lookup(type_of(self), str_of(name).ptr());
    if (V r = method ? computed(method, all) : nullptr) return r;
  }
  fix(self);
  if (self->kind == Value::kConst || self->kind == Value::kTuple) {
    if (auto c = as_constant(self)) {
      return call_pure(c->attr(name.c_str()), args, kwargs, name);
    }
  }
  give_up(Reason::kUnsupportedCall, str_cat(type_of(self)->tp_name, ".", name));
}

// Prints after the graph, in the order of all effects, what the values are now.
V Tracer::call_print(const std::vector<V>& args, const Kwargs& kwargs) {
  if (arm_serial_ || mapped_serial_)
    give_up(Reason::kTensorValue, "print() in a branch or loop on a tensor or a mapped function");
  for (auto* f : frames_)
    if (handles_stream_errors(*f))
      give_up(Reason::kUnsupportedCall, "print() where its exceptions are handled");
  py::dict keywords;
  for (auto& [k, v] : kwargs) {
    auto c = as_constant(v);
    const bool text = c && (c->is_none() || PyUnicode_CheckExact(c->ptr()));
    if (!c || (k != "flush" && !((k == "sep" || k == "end") && text)))
      give_up(Reason::kUnsupportedCall, "print()");
    keywords[str_of(k)] = *c;
  }
  std::vector<V> values;
  for (auto& x : args) {
    if (x->kind == Value::kTensor) {
      if (x->dirty && x->parameter) give_up(Reason::kUnsupportedCall, "print()");
      values.push_back(x->src >= 0 && !x->dirty ? x : tensor(x->node));
    } else if (sourced(x)) {
      values.push_back(x);
    } else if (auto c = as_constant(x)) {
      values.push_back(constant(*c));
    } else {
      give_up(Reason::kUnsupportedCall, "print()");
    }
  }
  log({Note::kPrint, nullptr, keywords, {}, values});
  return constant(py::none());
}

V Tracer::call_type(PyTypeObject* t, std::vector<V>& args, Kwargs& kwargs) {
  if (const auto* kind = kind_of(t); kind && kind->construct)
    if (const V made = kind->construct(*this, t, args, kwargs)) return made;
  auto is = [&](PyTypeObject* x) { return t == x && kwargs.empty(); };
  if (is(&PyUnicode_Type) && args.size() == 1 && !sourced(args[0])) {
    if (auto s = text(args[0], "__str__")) return *s;
    give_up(args[0]->kind == Value::kTensor ? Reason::kTensorValue : Reason::kUnsupportedCall,
            "str()");
  }
  if (is(&PySet_Type) &&
      (args.empty() || (args.size() == 1 && !is_dict(args[0]) && args[0]->kind != Value::kSet)))
    return set_of(args.empty() ? std::vector<V>() : items_of(args[0]));
  if (is(&PyTuple_Type) || is(&PyList_Type)) {
    if (args.size() <= 1) {
      auto items = args.empty() ? std::optional<std::vector<V>>(std::vector<V>{}) : unpack(args[0]);
      if (items) return sequence(t == &PyTuple_Type ? Value::kTuple : Value::kList, *items);
    }
  }
  if (t == &PyDict_Type && args.size() <= 1) {
    auto* d = make<DictValue>();
    bool ok = true;
    if (args.size() == 1) {
      settle(args[0]);
      if (args[0]->kind == Value::kDict) {
        for (size_t k = 0; k < args[0]->keys.size(); ++k)
          set_subscript(d, constant(args[0]->keys[k]), item(args[0], k));
      } else if (auto pairs = unpack(args[0])) {
        for (auto& p : *pairs) {
          auto kv = unpack(p);
          if (!kv || kv->size() != 2) give_up(Reason::kRaises, "dict");
          set_subscript(d, (*kv)[0], (*kv)[1]);
        }
      } else {
        ok = false;
      }
    }
    for (auto& [k, v] : kwargs) set_subscript(d, constant(str_of(k)), v);
    if (ok) return d;
  }
  if (is(&PyZip_Type) || (is(&PyMap_Type) && !args.empty())) {
    const size_t first = t == &PyMap_Type ? 1 : 0;
    std::vector<V> iters;
    for (size_t k = first; k < args.size(); ++k) iters.push_back(get_iter(args[k]));
    if (first) return make<MapIterator>(args[0], iters);
    return make<ZipIterator>(iters);
  }
  if (t == &PyEnum_Type && !args.empty()) {
    if (args.size() + kwargs.size() > 2 || (!kwargs.empty() && kwargs[0].first != "start"))
      give_up(Reason::kRaises, "enumerate()");
    const V inner = get_iter(args[0]);
    V start = args.size() > 1 ? args[1] : kwargs.size() == 1 ? kwargs[0].second : constant_int(0);
    auto i = as_int(start);
    if (!i) give_up(Reason::kUnsupportedOperand, "enumerate");
    return make<EnumerateIterator>(inner, *i);
  }
  if (is(&PyReversed_Type) && args.size() == 1) return call_reversed(args[0]);
  if (is(&PyType_Type) && args.size() == 1) {
    PyTypeObject* c = type_of(args[0]);
    if (!c) give_up(Reason::kUnsupportedCall, "type()");
    return wrap_static(reinterpret_cast<PyObject*>(c));
  }
  if (is(&PyBool_Type) && args.size() == 1) {
    if (auto b = truth(args[0])) return constant(py::bool_(*b));
    give_up(args[0]->kind == Value::kTensor ? Reason::kTensorValue : Reason::kUnsupportedCall,
            "bool()");
  }
  if ((is(&PyLong_Type) || is(&PyFloat_Type)) && args.size() == 1 && unfixed(args[0]) &&
      Py_TYPE(args[0]->obj.ptr()) == t)
    return args[0];
  if (is(&PyFloat_Type) && args.size() == 1 && unfixed(args[0]))
    if (V r = unfixed_arithmetic(BinaryOp::kTrueDiv, args[0], constant_int(1))) return r;
  if ((is(&PyLong_Type) || is(&PyFloat_Type)) && args.size() == 1 &&
      args[0]->kind == Value::kTensor)
    give_up(Reason::kTensorValue, t->tp_name);
  if (t == &PySuper_Type && kwargs.empty()) {
    // super() or super(cls, self): attribute lookups continue behind cls
    Frame& f = *frames_.back();
    V cls, self;
    if (args.size() == 2) {
      cls = args[0], self = args[1];
    } else if (args.empty()) {
      for (int s = 0; s < f.code->num_slots; ++s)
        if (f.code->slot_names[s] == "__class__" && f.slots[s]->kind == Value::kCell)
          cls = as<CellValue>(f.slots[s])->content;
      if (!f.slots.empty())
        self = as<CellValue>(f.slots[0]) ? as<CellValue>(f.slots[0])->content : f.slots[0];
    }
    if (!cls || !self || cls->kind != Value::kObject || !PyType_Check(cls->obj.ptr()) ||
        (self->kind != Value::kObject && self->kind != Value::kInstance &&
         self->kind != Value::kException))
      give_up(Reason::kUnsupportedCall, "super()");
    if (self->kind == Value::kObject) guard_type(self);
    return make<SuperValue>(cls, self);
  }
  if (t == tensor_type) {
    // Tensor(x): a new object with the value of a tensor or a number
    V data = !args.empty() ? args[0] : nullptr;
    V dtype = args.size() > 1 ? args[1] : nullptr;
    for (auto& [k, v] : kwargs) {
      if (k == "dtype")
        dtype = v;
      else if (k == "input_data")
        data = v;
      else
        give_up(Reason::kUnsupportedCall, "Tensor()");
    }
    std::optional<DType> want;
    if (dtype && !(dtype->kind == Value::kConst && dtype->obj.is_none())) {
      auto c = as_constant(dtype);
      if (!c || !(want = dtype_of(c->ptr()))) give_up(Reason::kUnsupportedCall, "Tensor()");
    }
    if (data && args.size() <= 2 && is_operand(data)) {
      const Operand o = operand(data);
      const DType own = o.kind == Operand::kPyFloat ? DType::F32 : o.dtype();
      return tensor(materialize(scope_->graph(), o, want.value_or(own)));
    }
    py::list l;
    py::dict kw;
    bool constants = data != nullptr;
    auto known = [&](const V& v) {
      auto c = v->kind == Value::kArray ? v->obj : as_constant(v);
      constants &= c.has_value();
      return c.value_or(py::none());
    };
    for (auto& a : args) l.append(known(a));
    for (auto& [k, v] : kwargs) kw[str_of(k)] = known(v);
    if (constants) {  // the tensor is made here, and each run gives a new one of its value
      py::object made =
          py::reinterpret_borrow<py::object>(reinterpret_cast<PyObject*>(t))(*py::tuple(l), **kw);
      const V x = wrap(made.ptr(), add_source({Source::kConst, -1, 0, made}));
      static const OpDef& identity = OpTable::get().at("identity");
      const Val in[] = {scope_->val(x->node)};
      return tensor(scope_->graph().Builder::op(identity, in, {}));
    }
    give_up(Reason::kUnsupportedCall, "Tensor()");
  }
  // pure constructors on constants
  static const std::set<PyTypeObject*> kPure = {&PyLong_Type, &PyFloat_Type, &PyUnicode_Type,
                                                &PyBool_Type, &PyRange_Type, &PyComplex_Type};
  if (kPure.count(t))
    return call_pure(share(reinterpret_cast<PyObject*>(t)), args, kwargs, t->tp_name);
  static PyObject* generic =
      py::object(py::module_::import("numpy").attr("generic")).release().ptr();
  if (PyType_IsSubtype(t, reinterpret_cast<PyTypeObject*>(generic)))
    return call_numpy(wrap_static(reinterpret_cast<PyObject*>(t)), args, kwargs);
  if (t == &PySlice_Type && kwargs.empty() && !args.empty()) {
    const V none = constant(py::none());
    if (args.size() == 1) return make<SliceValue>(none, args[0], none);
    return make<SliceValue>(args[0], args[1], args.size() > 2 ? args[2] : none);
  }
  if (is_enum(t) && kwargs.empty() && args.size() == 1) {
    // Member by value: the enum module's own code, unless the class has its own for what is missing
    static PyObject* hook = PyUnicode_InternFromString("_missing_");
    PyObject* missing = type_lookup(t, hook);
    static const std::set<PyObject*> kOwn = [] {
      std::set<PyObject*> own;
      for (auto name : {"Enum", "Flag"}) {
        const py::object cls = py::module_::import("enum").attr(name);
        own.insert(type_lookup(reinterpret_cast<PyTypeObject*>(cls.ptr()), hook));
      }
      return own;
    }();
    const auto value = as_constant(args[0]);
    if (kOwn.count(missing) && value) {
      guard_class(t);
      PyObject* r = PyObject_CallOneArg(reinterpret_cast<PyObject*>(t), value->ptr());
      if (!r) raise(py::error_already_set());
      const py::object made = py::reinterpret_steal<py::object>(r);
      if (Py_TYPE(r) == t) return wrap_static(r);
    }
  }
  if (PyType_IsSubtype(t, &PyTuple_Type) && t != &PyTuple_Type)
    return make_named_tuple(t, args, kwargs);
  if (plain_class(t)) return make_instance(t, args, kwargs);
  if (kwargs.empty())
    if (auto v = make_exception(t, args)) return *v;
  give_up(Reason::kUnsupportedCall, str_cat("making a ", t->tp_name));
}

V Tracer::call_builtin(PyObject* f, std::vector<V>& args, Kwargs& kwargs) {
  PyObject* self = PyCFunction_GET_SELF(f);
  const std::string name = reinterpret_cast<PyCFunctionObject*>(f)->m_ml->ml_name;
  const char* its = self && PyModule_Check(self) ? PyModule_GetName(self) : "";
  if (!its) PyErr_Clear();  // its __name__ is gone
  const std::string module = its ? its : "";
  py::object mod = py::reinterpret_steal<py::object>(PyObject_GetAttrString(f, "__module__"));
  const std::string from = mod && PyUnicode_Check(mod.ptr()) ? text_of(mod) : module;
  if (name == "__new__" && self == reinterpret_cast<PyObject*>(&PyTuple_Type) && args.size() == 2 &&
      kwargs.empty() && args[1]->kind == Value::kTuple) {
    auto cls = as_constant(args[0]);
    if (!cls || !PyType_Check(cls->ptr())) give_up(Reason::kUnsupportedCall, "tuple.__new__()");
    V made = tuple(items_of(args[1]));
    made->cls = *cls;
    return made;
  }
  if (from == "builtins") {
    if (name == "len" && args.size() == 1 && kwargs.empty()) return length_of(args[0]);
    if ((name == "isinstance" || name == "issubclass") && args.size() == 2) {
      auto c = as_constant(args[1], Ask::kIdentity);
      if (!c) give_up(Reason::kUnsupportedCall, name);
      if (name == "isinstance") return constant(py::bool_(is_instance(args[0], c->ptr())));
      auto sub = as_constant(args[0], Ask::kIdentity);
      if (!sub) give_up(Reason::kUnsupportedCall, name);
      return constant(py::bool_(is_subclass(sub->ptr(), c->ptr())));
    }
    if (name == "print") return call_print(args, kwargs);
    if (name == "iter" && args.size() == 1) return get_iter(args[0]);
    if (name == "next" && !args.empty() && args[0]->kind == Value::kIter) {
      V v;
      const auto* g = dynamic_cast<GeneratorValue*>(static_cast<Value*>(args[0]));
      const bool ends = g && g->frame;  // a generator, with a value at its end
      if (iterate(args[0], &v)) return v;
      if (args.size() == 2) return args[1];
      const bool none =
          return_value_ && return_value_->kind == Value::kConst && return_value_->obj.is_none();
      raise(PyExc_StopIteration, ends && !none ? std::vector<V>{return_value_} : std::vector<V>());
    }
    if ((name == "getattr" || name == "hasattr") && args.size() >= 2) {
      auto n = as_constant(args[1]);
      if (!n || !PyUnicode_Check(n->ptr())) give_up(Reason::kUnsupportedCall, name);
      std::optional<V> r;
      try {
        r = find_attribute(args[0], n->ptr());
      } catch (const Raised& e) {  // by a property or __getattr__
        if (!PyType_IsSubtype(type_of(e.exception),
                              reinterpret_cast<PyTypeObject*>(PyExc_AttributeError)))
          throw;
        if (name == "getattr" && args.size() == 2) throw;
      }
      if (name == "hasattr") return constant(py::bool_(r.has_value()));
      if (r) return *r;
      if (args.size() == 3) return args[2];
      raise(PyExc_AttributeError, text_of(*n));
    }
    if (name == "setattr" && args.size() == 3) {
      auto n = as_constant(args[1]);
      if (!n || !PyUnicode_Check(n->ptr())) give_up(Reason::kUnsupportedCall, name);
      set_attribute(args[0], n->ptr(), args[2]);
      return constant(py::none());
    }
    if (name == "id" && args.size() == 1 && args[0]->src >= 0 && args[0]->obj &&
        args[0]->kind != Value::kConst &&
        (args[0]->kind != Value::kTensor || args[0]->parameter)) {  // other tensors come and go
      guard(Guard::kIs, args[0]->src, args[0]->obj);  // which keeps the object, and so its address
      return constant(py::reinterpret_steal<py::object>(PyLong_FromVoidPtr(args[0]->obj.ptr())));
    }
    if (name == "callable" && args.size() == 1) {
      const V& x = args[0];
      if (x->kind == Value::kFunction || x->kind == Value::kMethod)
        return constant(py::bool_(true));
      return constant(py::bool_(type_of(x)->tp_call != nullptr));
    }
    if (name == "abs" && args.size() == 1 && args[0]->kind == Value::kTensor)
      return call_op(OpTable::get().at("abs"), args, kwargs);
    if (name == "pow" && args.size() == 2 && args[0]->kind == Value::kTensor)
      return binary(BinaryOp::kPow, args[0], args[1]);
    if ((name == "max" || name == "min") && args.size() == 2 && kwargs.empty() &&
        is_number(args[0]) && is_number(args[1]) && (unfixed(args[0]) || unfixed(args[1])))
      if (auto second =
              unfixed_relation(name == "max" ? CompareOp::kGt : CompareOp::kLt, args[1], args[0]))
        return args[*second];
    if (name == "sum" && !args.empty() && kwargs.empty()) return call_sum(args);
    if ((name == "max" || name == "min") && !args.empty()) return call_extreme(name, args, kwargs);
    if (name == "sorted" && args.size() == 1) return call_sorted(args, kwargs);
    if (name == "repr" && args.size() == 1 && kwargs.empty() && !sourced(args[0])) {
      if (auto s = text(args[0], "__repr__")) return *s;
      give_up(Reason::kUnsupportedCall, "repr()");
    }
    if ((name == "any" || name == "all") && args.size() == 1) {
      const V it = get_iter(args[0]);  // read no further than the answer
      V x;
      while (iterate(it, &x)) {
        tick();
        auto t = truth(x);
        if (!t) give_up(Reason::kTensorValue, name);
        if (*t == (name == "any")) return constant(py::bool_(*t));
      }
      return constant(py::bool_(name == "all"));
    }
    static const std::set<std::string> kPure = {"abs", "divmod", "round", "pow",
                                                "ord", "chr",    "hash",  "bin",
                                                "hex", "oct",    "ascii", "format"};
    if (!kPure.count(name)) give_up(Reason::kUnsupportedCall, name + "()");
  } else if (from == "_functools" && name == "reduce" && args.size() >= 2 && kwargs.empty()) {
    const V it = get_iter(args[1]);  // item and call in turn: the order of ops is the program's
    V r, x;
    if (args.size() > 2)
      r = args[2];
    else if (!iterate(it, &r))
      give_up(Reason::kRaises, "reduce() of nothing");
    while (iterate(it, &x)) {
      tick();
      r = call(args[0], {r, x}, {});
    }
    return r;
  } else if (from == "_operator") {
    if (name == "call" && !args.empty())
      return call(args[0], {args.begin() + 1, args.end()}, kwargs);
    if (kwargs.empty())
      if (auto r = call_operator(name, args)) return *r;
    give_up(Reason::kUnsupportedCall, "operator." + name);
  } else if (from == "math") {
  } else if (from.rfind("pijit", 0) == 0) {
    if (name == "graph_mode") return constant(py::bool_(false));  // already inside compiled code
    give_up(Reason::kUnsupportedCall, from + "." + name);
  } else {
    give_up(Reason::kUnsupportedCall, (from.empty() ? "" : from + ".") + name + "()");
  }
  return call_pure(share(f), args, kwargs, name + "()");
}

Kwargs Tracer::keywords_of(const V& dict) {
  settle(dict);
  if (dict->kind != Value::kDict) give_up(Reason::kUnsupportedOperand, "**kwargs");
  Kwargs kw;
  for (size_t k = 0; k < dict->keys.size(); ++k) {
    if (!PyUnicode_Check(dict->keys[k].ptr())) give_up(Reason::kRaises, "keywords must be strings");
    kw.push_back({text_of(dict->keys[k]), item(dict, k)});
  }
  return kw;
}

// A function of the operator module. None: not one of what is followed.
std::optional<V> Tracer::call_operator(const std::string& name, const std::vector<V>& args) {
  if (args.size() == 1) {
    if (const auto op = unary_function(name)) return unary(*op, args[0]);
    if (name == "truth") {
      if (auto t = truth(args[0])) return constant(py::bool_(*t));
      give_up(args[0]->kind == Value::kTensor ? Reason::kTensorValue : Reason::kUnsupportedOperand,
              "operator.truth");
    }
    if (name == "abs") {
      if (PyObject* f = user_method(args[0], "__abs__")) return call(wrap_static(f), args, {});
      if (args[0]->kind == Value::kTensor) return call_op(OpTable::get().at("abs"), args, {});
      return python_operation("abs", args);
    }
    if (name == "index" && args[0]->kind != Value::kTensor) return python_operation("index", args);
    return std::nullopt;
  }
  if (args.size() == 2) {
    const V &a = args[0], &b = args[1];
    if (const auto op = compare_function(name)) return compare(*op, a, b);
    if (const auto op = binary_function(name)) return binary(*op, a, b);
    if (const auto op = in_place_function(name)) return in_place(*op, a, b);
    if (name == "getitem") return subscript(a, b);
    if (name == "delitem") return delete_subscript(a, b), constant(py::none());
    if (name == "contains" || name == "is_" || name == "is_not") {
      const auto r = name == "contains" ? contains(a, b) : identical(a, b);
      if (r) return constant(py::bool_(*r != (name == "is_not")));
    }
    const bool sequences =
        (a->kind == Value::kTuple && b->kind == Value::kTuple) || (is_list(a) && is_list(b));
    if (name == "concat" && sequences) return binary(BinaryOp::kAdd, a, b);
    if (name == "countOf" || name == "indexOf") return python_operation(name.c_str(), args);
    return std::nullopt;
  }
  if (args.size() == 3 && name == "setitem") {
    set_subscript(args[0], args[1], args[2]);
    return constant(py::none());
  }
  return std::nullopt;
}

// max() and min(): one of the items themselves.
V Tracer::call_extreme(const std::string& name, const std::vector<V>& args, const Kwargs& kwargs) {
  V key, otherwise;
  for (auto& [k, v] : kwargs) {
    if (k == "key")
      key = v->kind == Value::kConst && v->obj.is_none() ? nullptr : v;
    else if (k == "default" && args.size() == 1)
      otherwise = v;
    else
      give_up(Reason::kRaises, name + "()");
  }
  const CompareOp op = name == "max" ? CompareOp::kGt : CompareOp::kLt;
  const V it = get_iter(args.size() == 1 ? args[0] : tuple(args));
  V best, best_key, x;
  while (iterate(it, &x)) {
    tick();
    const V k = key ? call(key, {x}, {}) : x;
    if (best) {
      const V better = compare(op, k, best_key);
      const auto t = truth(better);
      if (!t)
        give_up(better->kind == Value::kTensor ? Reason::kTensorValue : Reason::kUnsupportedOperand,
                name + "()");
      if (!*t) continue;
    }
    best = x, best_key = k;
  }
  if (best) return best;
  if (otherwise) return otherwise;
  raise(PyExc_ValueError, name + "() of nothing");
}

V Tracer::call_sorted(const std::vector<V>& args, const Kwargs& kwargs) {
  V key;
  bool reverse = false;
  for (auto& [k, v] : kwargs) {
    if (k == "key") {
      key = v->kind == Value::kConst && v->obj.is_none() ? nullptr : v;
    } else {
      const auto r = k == "reverse" ? as_int(v) : std::nullopt;
      if (!r) give_up(Reason::kUnsupportedCall, "sorted()");
      reverse = *r != 0;
    }
  }
  const std::vector<V> items = items_of(args[0]);
  py::list keys, order;
  for (size_t k = 0; k < items.size(); ++k) {
    const V x = key ? call(key, {items[k]}, {}) : items[k];
    const auto c = as_constant(x);
    if (!c)
      give_up(x->kind == Value::kTensor ? Reason::kTensorValue : Reason::kUnsupportedCall,
              "sorted()");
    if (is_nan(c->ptr())) give_up(Reason::kUnsupportedCall, "sorted() of NaN");
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
  if (r->kind == Value::kConst && (PyUnicode_Check(r->obj.ptr()) || PyBytes_Check(r->obj.ptr())))
    give_up(Reason::kRaises, "sum() of text");
  const V it = get_iter(args[0]);  // item and addition in turn
  // Constants at the beginning are for CPython, which adds floats with a correction from 3.12 on.
  auto number = [](const V& v) {
    return v->kind == Value::kConst && (PyLong_Check(v->obj.ptr()) || PyFloat_Check(v->obj.ptr()));
  };
  py::list numbers;
  bool more = false;
  while ((more = iterate(it, &x)) && number(r) && number(x)) {
    tick();
    numbers.append(x->obj);
  }
  if (!numbers.empty()) {
    PyObject* args[] = {numbers.ptr(), r->obj.ptr()};
    PyObject* total = PyObject_Vectorcall(original("sum"), args, 2, nullptr);
    if (!total) raise(py::error_already_set());
    r = constant(py::reinterpret_steal<py::object>(total));
  }
  for (; more; more = iterate(it, &x)) {
    tick();
    r = binary(BinaryOp::kAdd, r, x);
  }
  return r;
}

V Tracer::call_reversed(const V& x) {
  settle(x);
  if (x->kind == Value::kConst && PyRange_Check(x->obj.ptr()))
    return get_iter(constant(x->obj[py::slice(py::none(), py::none(), py::int_(-1))]));
  if (PyObject* f = user_method(x, "__reversed__")) return call(wrap_static(f), {x}, {});
  if (is_sequence(x)) return make<ReversedIterator>(x);
  give_up(Reason::kUnsupportedIterable, str_cat("reversed() of a ", type_of(x)->tp_name));
}

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
  static PyObject* hook = PyUnicode_InternFromString("__instancecheck__");
  if (PyObject* f = user_method(wrap_static(cls), "__instancecheck__")) {
    if (Py_TYPE(cls)->tp_name == std::string("ABCMeta") || Py_TYPE(cls)->tp_base != &PyType_Type)
      give_up(Reason::kUnsupportedCall, "isinstance() of an abstract class");
    const auto r = truth(call(wrap_static(f), {wrap_static(cls), v}, {}));
    if (!r) give_up(Reason::kTensorValue, "__instancecheck__");
    return *r;
  }
  if (type_lookup(Py_TYPE(cls), hook) != type_lookup(&PyType_Type, hook))
    give_up(Reason::kUnsupportedCall, "isinstance() of an abstract class");
  if (PyType_IsSubtype(t, c)) return true;
  // an object may say that it is of another class
  static PyObject* name = PyUnicode_InternFromString("__class__");
  if (own_getattribute(t) || type_lookup(t, name) != type_lookup(&PyBaseObject_Type, name))
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
  static PyObject* hook = PyUnicode_InternFromString("__subclasscheck__");
  if (type_lookup(Py_TYPE(cls), hook) != type_lookup(&PyType_Type, hook))
    give_up(Reason::kUnsupportedCall, "issubclass() of an abstract class");
  user_method(wrap_static(cls), "__subclasscheck__");  // guards that there is none
  return PyType_IsSubtype(reinterpret_cast<PyTypeObject*>(sub),
                          reinterpret_cast<PyTypeObject*>(cls));
}

}  // namespace pijit
