// Exceptions that the captured code raises and handles itself. One that nobody handles is left to
// CPython: the graph ends before the instruction that raises it, which then runs with its own
// traceback.
#include "capture/tracer.h"

namespace pijit {
namespace {
py::object share(PyObject* o) { return py::reinterpret_borrow<py::object>(o); }
bool is_exception_class(PyObject* o) { return PyExceptionClass_Check(o); }

// Is a new exception no more than its class and arguments? Not where Python code takes part, nor
// where the constructor looks at the arguments (OSError picks a subclass by errno).
bool plain_exception_class(PyTypeObject* t) {
  auto is = [](initproc init, PyObject* cls) {
    return init == reinterpret_cast<PyTypeObject*>(cls)->tp_init;
  };
  const initproc init = t->tp_init;
  return PyType_IsSubtype(t, reinterpret_cast<PyTypeObject*>(PyExc_BaseException)) &&
         Py_TYPE(t)->tp_call == PyType_Type.tp_call &&
         t->tp_new == reinterpret_cast<PyTypeObject*>(PyExc_Exception)->tp_new && !t->tp_finalize &&
         (is(init, PyExc_Exception) || is(init, PyExc_StopIteration) ||
          is(init, PyExc_AttributeError) || is(init, PyExc_NameError));
}
bool in_python(PyTypeObject* t, const char* method) {
  PyObject* f = type_lookup(t, PyUnicode_InternFromString(method));
  return f && (PyFunction_Check(f) || Py_TYPE(f) == jit_function_type);
}
}  // namespace

std::optional<V> Tracer::make_exception(PyTypeObject* t, const std::vector<V>& args) {
  if (!plain_exception_class(t)) return std::nullopt;
  if (PyType_HasFeature(t, Py_TPFLAGS_HEAPTYPE)) guard_class(t);
  auto v = std::make_shared<Value>();
  v->kind = Value::kException;
  v->obj = share(reinterpret_cast<PyObject*>(t));
  v->items = args;
  return v;
}

void Tracer::raise(const V& exception) {
  if (!exception->raised) {
    exception->raised = true;
    undoable([exception] { exception->raised = false; });
  }
  throw Raised{exception, location()};
}

void Tracer::raise(PyObject* cls, std::vector<V> args) {
  auto v = std::make_shared<Value>();
  v->kind = Value::kException;
  v->obj = share(cls);
  v->items = std::move(args);
  raise(v);
}

void Tracer::raise(const py::error_already_set& e) {
  std::vector<V> args;
  for (auto x : py::cast<py::tuple>(e.value().attr("args"))) {
    const V v = wrap_static(x.ptr());
    if (!as_constant(v)) give_up(Reason::kRaises, e.what());
    args.push_back(v);
  }
  raise(e.type().ptr(), args);
}

V Tracer::exception_from(const V& x) {
  if (x->kind == Value::kException) return x;
  if (x->kind == Value::kObject && is_exception_class(x->obj.ptr()))
    if (auto v = make_exception(reinterpret_cast<PyTypeObject*>(x->obj.ptr()), {})) return *v;
  give_up(Reason::kRaises, type_of(x)->tp_name);
}

std::string Tracer::describe(const Raised& r) const {
  const PyTypeObject* t = reinterpret_cast<PyTypeObject*>(r.exception->obj.ptr());
  std::string text = t->tp_name;
  if (r.exception->items.size() == 1 && r.exception->items[0]->kind == Value::kConst)
    text += ": " + py::cast<std::string>(py::str(r.exception->items[0]->obj));
  return text;
}

bool Tracer::advance(Frame& f) {
  try {
    try {
      step(f);
    } catch (const OpError& e) {
      if (e.kind == OpError::kRuntime) throw;  // perhaps of capture alone
      raise(python_exception_of(e), {constant(py::str(e.what()))});
    }
  } catch (const Raised& r) {
    const auto* h = f.code->handler_of(f.pc);
    if (!h || f.stack.size() < static_cast<size_t>(h->depth)) throw;
    f.stack.resize(static_cast<size_t>(h->depth));
    if (h->lasti) f.stack.push_back(constant_int(f.pc));
    f.stack.push_back(r.exception);
    f.pc = h->target;
    return true;
  }
  return false;
}

bool Tracer::handles_exception(const Frame& f) const {
  auto raised = [](const V& v) { return v->kind == Value::kException && v->raised; };
  return !f.handling.empty() || std::any_of(f.stack.begin(), f.stack.end(), raised) ||
         std::any_of(f.slots.begin(), f.slots.end(), raised);
}

bool Tracer::exception_matches(const V& exception, const V& match) {
  if (match->kind == Value::kTuple) {
    for (auto& m : items_of(match))
      if (exception_matches(exception, m)) return true;
    return false;
  }
  if (match->kind != Value::kObject || !is_exception_class(match->obj.ptr()))
    give_up(Reason::kRaises, "catching what is no exception class");
  return PyType_IsSubtype(type_of(exception), reinterpret_cast<PyTypeObject*>(match->obj.ptr()));
}

// With what is known of it, as str() and format() take it.
std::optional<py::object> Tracer::exception_object(const V& v) {
  PyTypeObject* t = type_of(v);
  for (const char* method : {"__str__", "__repr__", "__format__"})
    if (in_python(t, method)) return std::nullopt;
  py::list args;
  for (auto& x : v->items) {
    if (x->kind == Value::kNull) return std::nullopt;
    auto c = as_constant(x);
    if (!c) return std::nullopt;
    args.append(*c);
  }
  return v->obj(*py::tuple(args));
}

std::optional<V> Tracer::exception_attribute(const V& v, PyObject* name_obj) {
  const std::string name = py::cast<std::string>(py::handle(name_obj));
  for (auto& x : v->items)
    if (x->kind == Value::kNull) give_up(Reason::kUnsupportedAttribute, name);
  if (name == "args") return sequence(Value::kTuple, v->items);
  if (name == "value" && type_of(v) == reinterpret_cast<PyTypeObject*>(PyExc_StopIteration))
    return v->items.empty() ? constant(py::none()) : v->items[0];
  PyObject* found = type_lookup(type_of(v), name_obj);
  if (found && PyFunction_Check(found)) return bind(wrap_static(found), v, type_of(v));
  give_up(Reason::kUnsupportedAttribute, str_cat(type_of(v)->tp_name, ".", name));
}

}  // namespace pijit
