#include "objects/op_function.h"

#include <structmember.h>

#include "base/called_as.h"
#include "objects/errors.h"
#include "objects/operands.h"
#include "objects/slot.h"
#include "objects/views.h"
#include "python/names.h"

namespace pijit {

PyTypeObject* op_function_type;

namespace {

PyObject* call_eagerly(const OpDef& op, bool views, PyObject* const* args, size_t nargsf,
                       PyObject* kwnames) {
  const size_t nargs = PyVectorcall_NARGS(nargsf);
  EagerBuilder b(EagerBuilder::kAmongOthers);
  // the common case: plain tensor inputs and nothing else
  if (!kwnames && op.attrs.empty() && !op.variadic() && nargs == op.inputs.size() && nargs <= 4) {
    Operand in[4];
    bool ok = true;
    for (size_t k = 0; k < nargs && ok; ++k) {
      if (args[k] == Py_None && op.inputs[k].optional) continue;
      auto o = to_operand(b, args[k]);
      if ((ok = o.has_value())) in[k] = *o;
    }
    if (ok) {
      PyObject* r = run_op(op, b, std::span<const Operand>(in, nargs), {});
      if (views && is_tensor(args[0])) make_view(r, args[0], op, {});
      return r;
    }
  }
  std::vector<std::pair<std::string_view, PyObject*>> kw;
  if (kwnames)
    for (Py_ssize_t k = 0; k < PyTuple_GET_SIZE(kwnames); ++k) {
      Py_ssize_t n;
      const char* s = PyUnicode_AsUTF8AndSize(PyTuple_GET_ITEM(kwnames, k), &n);
      if (!s) {  // lone surrogates
        PyErr_Clear();
        throw OpError(OpError::kType, op.name + "() got an unexpected keyword argument");
      }
      kw.push_back({std::string_view(s, n), args[nargs + k]});
    }
  const auto slots = bind_args<PyObject*>(op, std::span<PyObject* const>(args, nargs), kw);
  std::vector<Operand> in;
  auto operand = [&](const std::string& name, PyObject* o) {
    auto v = to_operand(b, o);
    OP_CHECK(v, kType, "[", op.name, "] ", name, " must be a tensor or a number, got ",
             Py_TYPE(o)->tp_name);
    in.push_back(*v);
  };
  for (size_t k = 0; k < op.inputs.size(); ++k) {
    if (op.inputs[k].variadic) {
      OP_CHECK(PyList_Check(slots[k]) || PyTuple_Check(slots[k]), kType, "[", op.name, "] ",
               op.inputs[k].name, " must be a list or tuple of tensors, got ",
               Py_TYPE(slots[k])->tp_name);
      for (auto h : py::handle(slots[k])) operand(op.inputs[k].name, h.ptr());
    } else if (!slots[k] || (slots[k] == Py_None && op.inputs[k].optional)) {
      in.push_back({});
    } else {
      operand(op.inputs[k].name, slots[k]);
    }
  }
  Attrs attrs;
  for (size_t k = 0; k < op.attrs.size(); ++k) {
    PyObject* o = slots[op.inputs.size() + k];
    attrs.push_back(o ? to_attr(op, op.attrs[k], o) : op.attrs[k].def);
  }
  if (!views || !is_tensor(slots[0])) return run_op(op, b, in, std::move(attrs));
  const bool by_shape = op.role == Role::kReshape || op.role == Role::kBroadcast;
  const Attrs kept = by_shape ? Attrs() : attrs;
  PyObject* r = run_op(op, b, in, std::move(attrs));
  make_view(r, slots[0], op, kept);
  return r;
}
PyObject* op_vectorcall(PyObject* self, PyObject* const* args, size_t nargsf, PyObject* kwnames) {
  auto* f = reinterpret_cast<OpFunctionObject*>(self);
  try {
    return call_eagerly(*f->op, f->views, args, nargsf, kwnames);
  } catch (const OpError& e) {
    const std::string name = text_of(f->name);
    PIJIT_SLOT(throw OpError(e.kind, name == f->op->name ? e.what() : called_as(e.what(), name));)
  } catch (...) {
    return raise_current_exception();
  }
}
PyObject* op_repr(PyObject* o) {
  return PyUnicode_FromFormat("<pijit op %U>", reinterpret_cast<OpFunctionObject*>(o)->name);
}
PyObject* op_name(PyObject* o, void*) {
  return Py_NewRef(reinterpret_cast<OpFunctionObject*>(o)->name);
}
PyObject* op_reduce(PyObject* o, PyObject*) {
  PyObject* m = PyImport_ImportModule("pijit._C");
  if (!m) return nullptr;
  PyObject* f = PyObject_GetAttrString(m, "op");
  Py_DECREF(m);
  return f ? Py_BuildValue("(N(N))", f, op_name(o, nullptr)) : nullptr;
}
PyMethodDef op_methods[] = {{"__reduce__", op_reduce, METH_NOARGS, nullptr},
                            {nullptr, nullptr, 0, nullptr}};
// What pijit/ops/documentation.py says of an op: `what` is "signature" or "text".
PyObject* op_documentation(PyObject* o, void* what) {
  PyObject* m = PyImport_ImportModule("pijit.ops.documentation");
  if (!m) return nullptr;
  const auto& name = reinterpret_cast<OpFunctionObject*>(o)->op->name;
  PyObject* r = PyObject_CallMethod(m, static_cast<const char*>(what), "s", name.c_str());
  Py_DECREF(m);
  return r;
}
char kSignature[] = "signature", kText[] = "text";
PyGetSetDef op_getset[] = {{"__name__", op_name, nullptr, nullptr, nullptr},
                           {"__doc__", op_documentation, nullptr, nullptr, kText},
                           {"__signature__", op_documentation, nullptr, nullptr, kSignature},
                           {nullptr, nullptr, nullptr, nullptr, nullptr}};
PyMemberDef op_members[] = {
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(OpFunctionObject, vectorcall), READONLY, nullptr},
    {nullptr, 0, 0, 0, nullptr}};
PyType_Slot op_slots[] = {SLOT(Py_tp_call, PyVectorcall_Call), SLOT(Py_tp_repr, op_repr),
                          SLOT(Py_tp_getset, op_getset),       SLOT(Py_tp_members, op_members),
                          SLOT(Py_tp_methods, op_methods),     {0, nullptr}};
PyType_Spec op_spec = {
    "pijit._C.OpFunction", sizeof(OpFunctionObject), 0,
    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_VECTORCALL | Py_TPFLAGS_DISALLOW_INSTANTIATION, op_slots};

}  // namespace

py::object op_function(const OpDef* op, std::string_view name, bool views) {
  PyObject* o = op_function_type->tp_alloc(op_function_type, 0);
  if (!o) throw py::error_already_set();
  auto* f = reinterpret_cast<OpFunctionObject*>(o);
  f->vectorcall = op_vectorcall;
  f->op = op;
  f->name = interned(name);
  f->views = views;
  return py::reinterpret_steal<py::object>(o);
}

PyTypeObject* make_op_function_type() {
  return op_function_type = reinterpret_cast<PyTypeObject*>(
             checked(type_without_instances(&op_spec)).release().ptr());
}

}  // namespace pijit
