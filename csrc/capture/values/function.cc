#include "capture/values/function.h"

#include <algorithm>

#include "capture/context.h"
#include "capture/protocol/protocol.h"
#include "capture/rebuilder.h"
#include "capture/values/object.h"

namespace pijit {
namespace {

struct FunctionRecipe final : Recipe {
  py::object make(Runner& r) const override {
    py::object f = checked(PyFunction_NewWithQualName(code.ptr(), globals.ptr(), qualname.ptr()));
    if (parts[0] >= 0) PyFunction_SetDefaults(f.ptr(), r.make(parts[0]).ptr());
    if (parts[1] >= 0) PyFunction_SetKwDefaults(f.ptr(), r.make(parts[1]).ptr());
    if (parts[2] >= 0) PyFunction_SetClosure(f.ptr(), r.make(parts[2]).ptr());
    if (parts[3] >= 0) {  // names and values in turn, or a dict
      const py::object made = r.make(parts[3]);
      py::dict d;
      if (PyDict_Check(made.ptr())) d = py::reinterpret_borrow<py::dict>(made);
      const py::tuple pairs = PyTuple_Check(made.ptr()) ? py::tuple(made) : py::tuple();
      for (size_t k = 0; k + 1 < pairs.size(); k += 2) d[pairs[k]] = pairs[k + 1];
      PyFunction_SetAnnotations(f.ptr(), d.ptr());
    }
    if (parts[4] >= 0) f.attr("__annotate__") = r.make(parts[4]);
    return f;
  }
  int visit(visitproc visit, void* arg) const override {
    Py_VISIT(code.ptr());
    Py_VISIT(globals.ptr());
    return 0;
  }
  std::string describe() const override { return "function " + shown(code); }

  py::object code, globals, qualname;
};

struct MethodRecipe final : Recipe {
  MethodRecipe(int func, int self) { parts = {func, self}; }
  py::object make(Runner& r) const override {
    const py::object f = r.make(parts[0]), self = r.make(parts[1]);
    const bool c_method = PyObject_TypeCheck(f.ptr(), &PyMethodDescr_Type) ||
                          PyObject_TypeCheck(f.ptr(), &PyWrapperDescr_Type);
    if (!c_method) return checked(PyMethod_New(f.ptr(), self.ptr()));
    return checked(Py_TYPE(f.ptr())->tp_descr_get(
        f.ptr(), self.ptr(), reinterpret_cast<PyObject*>(Py_TYPE(self.ptr()))));
  }
  std::string describe() const override { return "method"; }
};

struct PartialRecipe final : Recipe {
  py::object make(Runner& r) const override {
    py::list args;
    py::dict keywords;
    const size_t first = parts.size() - names.size();
    for (size_t k = 0; k < parts.size(); ++k)
      if (k < first)
        args.append(r.make(parts[k]));
      else
        keywords[names[k - first]] = r.make(parts[k]);
    PyObject* type = reinterpret_cast<PyObject*>(PartialValue::partial_type());
    return checked(PyObject_Call(type, py::tuple(args).ptr(), keywords.ptr()));
  }
  int visit(visitproc visit, void* arg) const override {
    for (auto& n : names) Py_VISIT(n.ptr());
    return 0;
  }
  std::string describe() const override { return "partial"; }

  std::vector<py::object> names;  // of the last parts
};

}  // namespace

// In the order of a dict that is updated by the others.
Kwargs with_keywords(Kwargs kwargs, const Kwargs& others) {
  for (auto& [name, value] : others) {
    const auto known = std::find_if(kwargs.begin(), kwargs.end(),
                                    [&, &name = name](auto& p) { return p.first == name; });
    if (known == kwargs.end())
      kwargs.push_back({name, value});
    else
      known->second = value;
  }
  return kwargs;
}

PyTypeObject* PartialValue::partial_type() { return library.partial.type(); }

V PartialValue::call(Context& c, std::vector<V> more, Kwargs more_kwargs) {
  std::vector<V> all = args;
  all.insert(all.end(), more.begin(), more.end());
  return protocol::call(c, func, std::move(all), with_keywords(kwargs, more_kwargs));
}

static constexpr Member<PartialValue> kOfPartial[] = {
    {"func", [](Context&, PartialValue& p) { return p.func; }},
    {"args", [](Context& c, PartialValue& p) { return c.tuple(p.args); }},
};

std::optional<V> PartialValue::getattr(Context& c, PyObject* name_obj) {
  const bool nested = func->type() == partial_type();  // from outside: partial() takes it apart
  if (!nested)
    if (V v = member_of(kOfPartial, *this, c, text_of(name_obj))) return v;
  return protocol::builtin_attribute(c, this, name_obj);
}

void PartialValue::traverse(Visit visit) const {
  visit(func);
  for (auto& x : args) visit(x);
  for (auto& [name, x] : kwargs) visit(x);
}

int PartialValue::rebuild(Rebuilder& r) {
  auto made = std::make_unique<PartialRecipe>();
  made->parts.push_back(r.recipe(func));
  for (auto& x : args) made->parts.push_back(r.recipe(x));
  for (auto& [name, x] : kwargs) {
    made->parts.push_back(r.recipe(x));
    made->names.push_back(str_of(name));
  }
  return r.add(this, std::move(made));
}

PyTypeObject* FunctionValue::type() const { return &PyFunction_Type; }

V FunctionValue::call(Context& c, std::vector<V> args, Kwargs kwargs) {
  return c.call_function(this, std::move(args), std::move(kwargs));
}

void FunctionValue::traverse(Visit visit) const {
  for (auto& x : {defaults, kwdefaults, closure, annotations, annotate}) visit(x);
}

int FunctionValue::rebuild(Rebuilder& r) {
  auto made = std::make_unique<FunctionRecipe>();
  made->code = code;
  made->globals = globals;
  made->qualname = qualname;
  for (auto& x : {defaults, kwdefaults, closure, annotations, annotate})
    made->parts.push_back(x ? r.recipe(x) : -1);
  return r.add(this, std::move(made));
}

PyTypeObject* MethodValue::type() const { return &PyMethod_Type; }

V MethodValue::call(Context& c, std::vector<V> args, Kwargs kwargs) {
  if (as<ObjectValue>(func) && is_c_method(func->obj.ptr()))
    return protocol::call_descriptor(c, func->obj.ptr(), self, args, kwargs);
  args.insert(args.begin(), self);
  return protocol::call(c, func, std::move(args), std::move(kwargs));
}

static constexpr Member<MethodValue> kOfMethod[] = {
    {"__self__", [](Context&, MethodValue& m) { return m.self; }},
    {"__func__", [](Context&, MethodValue& m) { return m.func; }},
    {"__class__",
     [](Context& c, MethodValue&) -> V { c.give_up(Reason::kUnsupportedAttribute, "__class__"); }},
    // not that of the function behind it
    {"__call__",
     [](Context& c, MethodValue&) -> V { c.give_up(Reason::kUnsupportedAttribute, "__call__"); }},
};

std::optional<V> MethodValue::getattr(Context& c, PyObject* name_obj) {
  if (V v = member_of(kOfMethod, *this, c, text_of(name_obj))) return v;
  return protocol::find_attribute(c, func, name_obj);
}

void MethodValue::traverse(Visit visit) const {
  visit(self);
  visit(func);
}

int MethodValue::rebuild(Rebuilder& r) {
  const int f = r.recipe(func), s = r.recipe(self);
  return r.make<MethodRecipe>(this, f, s);
}

}  // namespace pijit
