#include "objects/operands.h"

#include "objects/data.h"
#include "objects/dtype.h"

namespace pijit {

std::optional<Operand> other_operand(EagerBuilder& b, PyObject* o) {
  if (PyFloat_Check(o)) return Operand::py_float(PyFloat_AS_DOUBLE(o));
  if (PyBool_Check(o)) return Operand::py_bool(o == Py_True);
  if (PyLong_Check(o)) {
    const long long v = PyLong_AsLongLong(o);
    if (v == -1 && PyErr_Occurred()) throw py::error_already_set();
    return Operand::py_int(v);
  }
  if (PyList_Check(o) || PyTuple_Check(o) || is_ndarray(o) ||
      (PyObject_HasAttrString(o, "dtype") && PyObject_HasAttrString(o, "__array__")))
    return Operand(b.wrap(array_from(o, std::nullopt)));
  return std::nullopt;
}

const OpDef& tensor_operator(BinaryOp op) {
  static const auto* ops = [] {
    auto* all = new std::vector<const OpDef*>;
    for (int k = 0; k <= static_cast<int>(BinaryOp::kXor); ++k)
      all->push_back(&OpTable::get().at(facts(static_cast<BinaryOp>(k)).op));
    return all;
  }();
  return *(*ops)[static_cast<size_t>(op)];
}
const OpDef& tensor_operator(CompareOp op) {
  static const auto* ops = [] {
    auto* all = new std::vector<const OpDef*>;
    for (int k = 0; k <= static_cast<int>(CompareOp::kGe); ++k)
      all->push_back(&OpTable::get().at(facts(static_cast<CompareOp>(k)).op));
    return all;
  }();
  return *(*ops)[static_cast<size_t>(op)];
}

namespace {

constexpr const char* kSymbolicName = "pijit.Dim";

Dim as_int(const OpDef& op, const std::string& name, PyObject* o) {
  if (auto d = symbolic_dim(o)) return *d;
  return integer(op.name.c_str(), name, o);
}

}  // namespace

py::object symbolic_object(Dim d) {
  return py::capsule(new Dim(d), kSymbolicName, [](PyObject* o) {
    delete static_cast<Dim*>(PyCapsule_GetPointer(o, kSymbolicName));
  });
}
std::optional<Dim> symbolic_dim(PyObject* o) {
  if (!PyCapsule_CheckExact(o) || !PyCapsule_IsValid(o, kSymbolicName)) return std::nullopt;
  return *static_cast<Dim*>(PyCapsule_GetPointer(o, kSymbolicName));
}

AttrValue to_attr(const OpDef& op, const AttrSpec& spec, PyObject* o) {
  auto bad = [&](const char* want) {
    return OpError(OpError::kType, str_cat("[", op.name, "] ", spec.name, " must be ", want,
                                           ", got ", Py_TYPE(o)->tp_name));
  };
  switch (spec.kind) {
    case AttrKind::kInt:
      if (PyFloat_Check(o)) throw bad("an integer");
      return as_int(op, spec.name, o);
    case AttrKind::kFloat: {
      if (auto d = symbolic_dim(o)) return static_cast<double>(int64_t{*d});
      if (!PyFloat_Check(o) && !PyLong_Check(o) && !is_tensor(o) && !PyNumber_Check(o))
        throw bad("a number");
      const double v = PyFloat_AsDouble(o);
      if (v == -1 && PyErr_Occurred()) {
        if (!PyErr_ExceptionMatches(PyExc_TypeError)) throw py::error_already_set();
        PyErr_Clear();
        throw bad("a number");
      }
      return v;
    }
    case AttrKind::kBool:
      if (!PyBool_Check(o)) throw bad("a bool");
      return o == Py_True;
    case AttrKind::kString:
      if (!PyUnicode_Check(o)) throw bad("a string");
      return text_of(o);
    case AttrKind::kInts: {
      Dims v;
      if (PyList_Check(o) || PyTuple_Check(o))
        for (auto h : py::handle(o)) v.push_back(as_int(op, spec.name, h.ptr()));
      else if ((PyIndex_Check(o) && !PyFloat_Check(o)) || symbolic_dim(o))
        v.push_back(as_int(op, spec.name, o));
      else
        throw bad("an integer or a sequence of integers");
      return v;
    }
    case AttrKind::kDType:
      if (auto t = dtype_of(o)) return *t;
      throw bad("a dtype");
  }
  throw InternalError("attribute kind");
}

}  // namespace pijit
