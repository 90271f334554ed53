// Whether Python raises where capture gives up: told apart only where one graph is asked for
// (fullgraph), so that a program's own TypeError stays one. Operations of C code are tried on
// objects of the same types; code of the user's never runs.
#include <algorithm>
#include <cstring>

#include "capture/tracer.h"
#include "capture/values.h"

namespace pijit {
namespace {

// An object of the same type that fails in the same operations; null: there is none.
py::object stand_in(Context& c, const V& v) {
  const Context::Nested nested(c);
  auto parts = [&](const std::vector<V>& items) -> std::optional<py::list> {
    py::list l;
    for (auto& x : items) {
      py::object o = x ? stand_in(c, x) : py::object();
      if (!o) return std::nullopt;
      l.append(o);
    }
    return l;
  };
  switch (v->kind) {
    case Value::kScalar:
    case Value::kObject: return v->obj;
    case Value::kTensor: {
      Type t = v->node().type();
      t.shape = Shape(std::vector<Dim>(static_cast<size_t>(t.shape.rank()), Dim(1)));
      const ArrayRef a = new_array(t);
      if (t.device.is_cpu()) std::memset(a->data, 0, size_of(t.dtype));
      return py::reinterpret_steal<py::object>(new_tensor(a));
    }
    case Value::kTuple:
      if (v->type() != &PyTuple_Type) return {};
      if (auto l = parts(items_in(v))) return py::tuple(*l);
      return {};
    case Value::kList:
      if (!is_sequence(v)) return {};
      if (auto l = parts(items_in(v))) return *l;
      return {};
    default: return {};
  }
}

bool no_method(PyTypeObject* t, std::initializer_list<const char*> names) {
  return std::none_of(names.begin(), names.end(),
                      [&](const char* n) { return n && python_method(t, n); });
}

// A type error, not one of values: those of the objects may be others.
bool type_error(PyObject* result) {
  if (result) return Py_DECREF(result), false;
  const bool r = PyErr_ExceptionMatches(PyExc_TypeError);
  PyErr_Clear();
  return r;
}

bool fails(Context& c, PyObject* function, const std::vector<V>& args) {
  std::vector<py::object> held;
  std::vector<PyObject*> raw;
  for (auto& a : args) {
    held.push_back(stand_in(c, a));
    if (!held.back()) return false;
    raw.push_back(held.back().ptr());
  }
  return type_error(PyObject_Vectorcall(function, raw.data(), raw.size(), nullptr));
}

bool has_items(PyTypeObject* t) { return t->tp_as_sequence && t->tp_as_sequence->sq_item; }
bool hashable(const V& v) { return v->type()->tp_hash != PyObject_HashNotImplemented; }

}  // namespace

bool Tracer::raises_in_python(const Instr& in, const std::vector<V>& stack) {
  const StackUse use = stack_use(in, static_cast<int>(stack.size()));
  if (use.pops < 1 || static_cast<size_t>(use.pops) > stack.size()) return false;
  const std::vector<V> seen(stack.end() - use.pops, stack.end());
  auto type = [&](size_t k) { return seen[k]->type(); };
  switch (in.op) {
    case Op::BINARY: {
      const auto& f = facts(static_cast<BinaryOp>(in.a));
      const bool alone = no_method(type(0), {f.method, f.reflected, f.in_place}) &&
                         no_method(type(1), {f.method, f.reflected});
      const bool fresh = std::all_of(seen.begin(), seen.end(),
                                     [](auto& v) { return is_known(v) || as<TensorValue>(v); });
      return alone && (!in.b || fresh) && fails(*this, original(f.function), seen);
    }
    case Op::COMPARE: {
      const auto op = static_cast<CompareOp>(in.a);
      const char *method = facts(op).method, *mirrored = facts(facts(op).mirrored).method;
      return no_method(type(0), {method, mirrored}) && no_method(type(1), {method, mirrored}) &&
             fails(*this, original(facts(op).name), seen);
    }
    case Op::UNARY: {
      const auto& f = facts(static_cast<UnaryOp>(in.a));
      return static_cast<UnaryOp>(in.a) != UnaryOp::kNot && no_method(type(0), {f.method}) &&
             fails(*this, original(f.function), seen);
    }
    case Op::BINARY_SUBSCR:
      if (type(0) == &PyDict_Type) return !hashable(seen[1]);
      return !has_items(type(0)) && !PyType_IsSubtype(type(0), &PyType_Type) &&
             !(type(0)->tp_as_mapping && type(0)->tp_as_mapping->mp_subscript);
    case Op::GET_ITER: return !type(0)->tp_iter && !has_items(type(0));
    case Op::BUILD_MAP:
      for (size_t k = 0; k < seen.size(); k += 2)
        if (!hashable(seen[k])) return true;
      return false;
    case Op::BUILD_SET: return !std::all_of(seen.begin(), seen.end(), hashable);
    case Op::CALL: {
      const V& callee = as<NullValue>(seen[0]) ? seen[1] : seen[0];
      if (!callee->type()->tp_call) return true;
      const bool len = as<ObjectValue>(callee) && callee->obj.is(py::handle(original("len")));
      return len && in.a == 1 && no_method(seen.back()->type(), {"__len__"}) &&
             fails(*this, original("len"), {seen.back()});
    }
    default: return false;
  }
}

}  // namespace pijit
