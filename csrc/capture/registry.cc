#include "capture/registry.h"

#include "absl/cleanup/cleanup.h"
#include "capture/protocol/protocol.h"

namespace pijit {

Registry& Registry::own() {
  static auto* registry = new Registry;
  return *registry;
}

bool Registry::complete_ = false;
bool Registry::knows_numpy_ = false;

// Rows are looked up in modules whose import may run Python code. Another thread that comes here
// meanwhile enters the rows that are missing itself; code that an import captures does without.
const Registry& Registry::get() {
  static thread_local bool completing = false;
  const bool numpy = !knows_numpy_ && numpy_is_loaded();
  if (completing || (complete_ && !numpy)) return own();
  completing = true;
  const auto done = absl::MakeCleanup([] { completing = false; });
  if (!complete_) add_library(own());
  complete_ = true;
  if (numpy) {
    add_numpy(own());
    knows_numpy_ = true;
  }
  return own();
}

void Registry::add_python() {
  pijit::add_python(own());
  add_functional(own());
  add_containers(own());
  add_types(own());
  add_iterators(own());
}

void Registry::add(py::handle callable, Arity arity, Known handler) {
  const std::string name = text_of(py::str(py::getattr(callable, "__name__", py::str("?"))));
  if (rows_.emplace(callable.ptr(), Row{name, arity, handler}).second) callable.inc_ref();
}

void Registry::method(PyTypeObject* type, const char* name, Arity arity, Known handler) {
  PyObject* d = type_lookup(type, str_of(name).ptr());
  PIJIT_CHECK(d, "no method ", name, " of ", type->tp_name);
  if (!PyFunction_Check(d)) add(d, arity, handler);  // a program's own in its place is inlined
}

void Registry::objects(PyTypeObject* type, Known handler) {
  of_type_.emplace(type, Row{type->tp_name, {0, kAny, true}, handler, false});
}

void Registry::functions(const char* module, std::initializer_list<const char*> names, Arity arity,
                         Known handler) {
  const py::object m = python_module(module);
  for (auto name : names)
    if (py::hasattr(m, name)) add(m.attr(name), arity, handler);
}

V Tracer::call_polyfill(const char* name, std::vector<V> args, const Kwargs& kwargs) {
  const py::object f = library.polyfills.object().attr(name);
  return protocol::call(*this, wrap_static(f.ptr()), std::move(args), kwargs);
}

V call_polyfill(Tracer& t, Call& c) { return t.call_polyfill(c.name.c_str(), c.args, c.kwargs); }

namespace {
// dict.fromkeys is a new object each time it is asked for: the entry of the class stands for it.
// Null: it is no method of a class that has it by itself.
PyObject* class_method_of(PyObject* callable) {
  if (!PyCFunction_Check(callable)) return nullptr;
  PyObject* self = PyCFunction_GET_SELF(callable);
  if (!self || !PyType_Check(self)) return nullptr;
  const char* name = reinterpret_cast<PyCFunctionObject*>(callable)->m_ml->ml_name;
  PyObject* d = type_lookup(reinterpret_cast<PyTypeObject*>(self), str_of(name).ptr());
  const bool own = d && Py_TYPE(d) == &PyClassMethodDescr_Type &&
                   reinterpret_cast<PyObject*>(PyDescr_TYPE(d)) == self;
  return own ? d : nullptr;
}
}  // namespace

// Null: not known, or not with these arguments.
V Tracer::call_known(PyObject* callable, std::vector<V>& args, Kwargs& kwargs, const V& f) {
  const bool read = f && f->src >= 0 && sources_[f->src].kind != Source::kConst;
  const Registry::Row* row = Registry::get().find(callable);
  if (!row && !read)
    if (PyObject* d = class_method_of(callable)) row = Registry::get().find(d);
  if (!row) return nullptr;
  if (read && row->itself) guard(Guard::kIs, f->src, f->obj);
  if (args.size() < row->arity.least || args.size() > row->arity.most ||
      (!kwargs.empty() && !row->arity.keywords))
    give_up(Reason::kUnsupportedCall, row->name + "() with these arguments", callable);
  Call call{callable, row->name, args, kwargs, f};
  return row->handler(*this, call);
}

}  // namespace pijit
