#include "capture/values/exception.h"

#include "capture/context.h"
#include "capture/protocol/inherent.h"
#include "capture/protocol/protocol.h"
#include "capture/rebuilder.h"
#include "capture/values/null.h"

namespace pijit {
namespace {

// Is a new exception no more than its class and arguments, and what __init__ in Python adds? Not
// where the constructor looks at the arguments (OSError picks a subclass by errno).
bool plain_exception_class(PyTypeObject* t) {
  auto is = [](initproc init, PyObject* cls) {
    return init == reinterpret_cast<PyTypeObject*>(cls)->tp_init;
  };
  const initproc init = t->tp_init;
  return PyType_IsSubtype(t, reinterpret_cast<PyTypeObject*>(PyExc_BaseException)) &&
         Py_TYPE(t)->tp_call == PyType_Type.tp_call && t->tp_getattro == PyObject_GenericGetAttr &&
         t->tp_setattro == PyObject_GenericSetAttr &&
         t->tp_new == reinterpret_cast<PyTypeObject*>(PyExc_Exception)->tp_new && !t->tp_finalize &&
         (is(init, PyExc_Exception) || is(init, PyExc_StopIteration) ||
          is(init, PyExc_AttributeError) || is(init, PyExc_NameError) ||
          python_method(t, "__init__"));
}

}  // namespace

PyTypeObject* ExceptionValue::type() const { return reinterpret_cast<PyTypeObject*>(obj.ptr()); }

void ExceptionValue::traverse(Visit visit) const {
  Container::traverse(visit);
  for (auto& [name, x] : attrs) visit(x);
  visit(args);
}

std::optional<V> ExceptionValue::text(Context& c, const char* name) {
  return exception_text(c, this, name);
}

int ExceptionValue::rebuild(Rebuilder& r) {
  if (raised || dirty || !args)
    r.context().give_up(Reason::kRebuild, "an exception that was raised or changed");
  std::vector<int> given;
  for (auto& x : items_in(args)) given.push_back(r.recipe(x));
  return r.make<CallRecipe>(this, obj, std::move(given));
}

std::optional<V> make_exception(Context& c, PyTypeObject* t, const std::vector<V>& args) {
  if (!plain_exception_class(t)) return std::nullopt;
  if (PyType_HasFeature(t, Py_TPFLAGS_HEAPTYPE)) c.guard_class(t);
  auto* v = c.make<ExceptionValue>();
  v->obj = share(reinterpret_cast<PyObject*>(t));
  v->items = args;
  v->args = c.tuple(args);
  if (PyObject* init = python_method(t, "__init__")) {
    const size_t changes = c.undo_.size() - c.exception_changes_, notes = c.journal_.size();
    std::vector<V> all{v};
    all.insert(all.end(), args.begin(), args.end());
    protocol::call(c, c.wrap_static(init), all, {});
    // Made once more by a recipe, it must change nothing else a second time.
    v->dirty = c.undo_.size() - c.exception_changes_ != changes || c.journal_.size() != notes;
  }
  return v;
}

// What str() or repr() gives; `method`: the C function to ask, where it is not the class's own.
V exception_text(Context& c, const V& v, const char* name, PyObject* method) {
  PyTypeObject* t = v->type();
  if (!method)
    if (PyObject* f = python_method(t, name)) return protocol::call(c, c.wrap_static(f), {v}, {});
  py::list args;
  for (auto& x : items_in(v)) {
    auto o = as<NullValue>(x) ? std::nullopt : as_constant(c, x);
    if (!o) c.give_up(Reason::kUnsupportedCall, str_cat(t->tp_name, ".", name));
    args.append(*o);
  }
  const py::object e =
      py::reinterpret_steal<py::object>(t->tp_new(t, py::tuple(args).ptr(), nullptr));
  if (!e) throw py::error_already_set();
  return c.constant(method ? share(method)(e) : py::object(e.attr(name)()));
}

// Of BaseException and its kind, by way of super().
V ExceptionValue::call_descriptor(Context& c, PyObject* d, std::vector<V>& args, Kwargs& kwargs) {
  if (!kwargs.empty()) return Value::call_descriptor(c, d, args, kwargs);
  const std::string name = text_of(share(d).attr("__name__"));
  const PyTypeObject* owner = reinterpret_cast<PyDescrObject*>(d)->d_type;
  if (name == "__init__" &&
      owner->tp_init == reinterpret_cast<PyTypeObject*>(PyExc_BaseException)->tp_init) {
    c.check_effect(this);
    c.undoable([this, &c, old = items] { items = old, --c.exception_changes_; });
    ++c.exception_changes_;
    items = args;
    return c.constant(py::none());
  }
  if ((name == "__str__" || name == "__repr__") && args.empty())
    return exception_text(c, this, name.c_str(), d);
  c.give_up(Reason::kUnsupportedCall, str_cat(type()->tp_name, ".", name));
}

void ExceptionValue::setattr(Context& c, PyObject* name_obj, const V& value) {
  const std::string name = text_of(name_obj);
  PyObject* found = type_lookup(type(), name_obj);
  if (found && Py_TYPE(found)->tp_descr_set)
    c.give_up(Reason::kUnsupportedAttribute, str_cat(type()->tp_name, ".", name));
  c.check_effect(this);
  c.undoable([this, &c, before = attrs, was = dirty] {
    attrs = before, dirty = was, --c.exception_changes_;
  });
  ++c.exception_changes_;
  attrs[name] = value;
  dirty = true;
}

std::optional<V> ExceptionValue::getattr(Context& c, PyObject* name_obj) {
  const std::string name = text_of(name_obj);
  if (auto it = attrs.find(name); it != attrs.end()) return it->second;
  for (auto& x : items)
    if (as<NullValue>(x)) c.give_up(Reason::kUnsupportedAttribute, name);
  static constexpr Member<ExceptionValue> kMembers[] = {
      {"args", [](Context& c, ExceptionValue& e) { return c.tuple(e.items); }}};
  if (const V own = member_of(kMembers, *this, c, name)) return own;
  if (protocol::inherent(name) == protocol::Inherent::kClass && says_its_class(type()))
    return c.wrap_static(reinterpret_cast<PyObject*>(type()));
  if (name == "value" && type() == reinterpret_cast<PyTypeObject*>(PyExc_StopIteration))
    return items.empty() ? c.constant(py::none()) : items[0];
  PyObject* found = type_lookup(type(), name_obj);
  if (found && (PyFunction_Check(found) || PyObject_TypeCheck(found, &PyProperty_Type) ||
                immutable_constant(found)))
    return protocol::bind(c, c.wrap_static(found), this, type());
  if (!found) return std::nullopt;
  c.give_up(Reason::kUnsupportedAttribute, str_cat(type()->tp_name, ".", name));
}

}  // namespace pijit
