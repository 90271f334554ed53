// The Python objects that capture and bindings share: Tensor, DType, OpFunction; conversion between
// Python arguments and op operands and attributes.
#pragma once
#include <pybind11/cast.h>

#include <optional>

#include "base/nearest.h"
#include "base/operators.h"
#include "graph/op.h"
#include "graph/indexing.h"
#include "runtime/array.h"
#include "runtime/device.h"
#include "python/convert.h"
#include "python/names.h"
#include "eager/tape.h"

namespace pijit {
namespace py = pybind11;

// Raises the Python exception for a C++ error; returns null for use in slots.
PyObject* raise_current_exception();
PyObject* python_exception_of(const OpError& e);  // borrowed: a class
#define PIJIT_SLOT(...)               \
  try {                               \
    __VA_ARGS__                       \
  } catch (...) {                     \
    return raise_current_exception(); \
  }

// --- DType
// -----------------------------------------------------------------------------------------
struct DTypeObject {
  PyObject_HEAD DType dtype;
};
extern PyTypeObject* dtype_type;
PyObject* dtype_object(DType t);  // borrowed singleton
std::optional<DType> dtype_of(
    PyObject* o);  // DType object, name, NumPy dtype or Python scalar type

// --- Tensor
// ----------------------------------------------------------------------------------------
// A tensor that a subscript gave is a part of the tensor it was read from: item assignment to it
// assigns to that one as well, at the same place (MindSpore's rule for views; arrays themselves are
// values). Other ways to change it do not, and it does not see what happens to the whole.
struct TensorObject {
  PyObject_HEAD ArrayRef array;
  PyObject* weakrefs;
  PyObject *whole, *place;  // null: no part
  uint64_t depth;           // of a part: at most how many wholes are around it
};
extern PyTypeObject* tensor_type;
inline bool is_tensor(PyObject* o) { return PyObject_TypeCheck(o, tensor_type); }
inline ArrayRef& array_of(PyObject* o) { return reinterpret_cast<TensorObject*>(o)->array; }
PyObject* new_tensor(ArrayRef a);  // new reference
void make_part(PyObject* part, PyObject* whole, PyObject* place);
inline bool is_part(PyObject* o) { return reinterpret_cast<TensorObject*>(o)->whole; }
// Array from any data: tensors, NumPy arrays, scalars, nested sequences. Throws.
ArrayRef array_from(PyObject* data, std::optional<DType> dtype);
// Is NumPy there? Before, no object is of one of its types, and nothing needs to load it.
bool numpy_is_loaded();
bool is_ndarray(PyObject* o);
// A NumPy scalar of a dtype that tensors have.
bool is_numpy_scalar(PyObject* o);
// While it lives, what NumPy would warn of raises FloatingPointError.
class NumpyRaises {
 public:
  NumpyRaises() : state_(python_module("numpy").attr("errstate")(py::arg("all") = "raise")) {
    state_.attr("__enter__")();
  }
  ~NumpyRaises() {
    PyObject *type, *value, *trace;
    PyErr_Fetch(&type, &value, &trace);
    PyObject* args[] = {state_.ptr(), Py_None, Py_None, Py_None};
    Py_XDECREF(PyObject_VectorcallMethod(names.exit, args, 4, nullptr));
    PyErr_Restore(type, value, trace);
  }
  NumpyRaises(const NumpyRaises&) = delete;

 private:
  py::object state_;
};
py::object to_numpy(const ArrayRef& a, bool copy);

// --- Ops
// -------------------------------------------------------------------------------------------
struct OpFunctionObject {
  PyObject_HEAD vectorcallfunc vectorcall;
  const OpDef* op;
  PyObject* name;  // interned: by which its errors call it
};
extern PyTypeObject* op_function_type;

// Python scalars become weak operands; tensors values; arrays and sequences tensors. Empty: not an
// operand.
std::optional<Operand> to_operand(EagerBuilder& b, PyObject* o);
// Throws OpError when `o` does not convert.
AttrValue to_attr(const OpDef& op, const AttrSpec& spec, PyObject* o);
// During capture, a size that varies stands as an opaque object where the functions of this file
// take an int.
py::object symbolic_object(Dim d);
std::optional<Dim> symbolic_dim(PyObject* o);

// Distributes call arguments over inputs and attributes; null slots take defaults. A variadic input
// takes one sequence. Throws OpError(kType) as Python does for bad calls.
template <class T>
std::vector<T> bind_args(const OpDef& op, std::span<const T> args,
                         std::span<const std::pair<std::string_view, T>> kwargs) {
  const size_t n = op.inputs.size() + op.attrs.size();
  auto name = [&](size_t k) -> const std::string& {
    return k < op.inputs.size() ? op.inputs[k].name : op.attrs[k - op.inputs.size()].name;
  };
  OP_CHECK(args.size() <= n, kType, op.name, "() takes ", n, " arguments but ", args.size(),
           " were given");
  std::vector<T> slots(n);
  for (size_t k = 0; k < args.size(); ++k) slots[k] = args[k];
  for (auto& [key, value] : kwargs) {
    size_t k = 0;
    while (k < n && !(k < op.inputs.size() ? op.inputs[k].called(key) : name(k) == key)) ++k;
    if (k == n) {
      std::vector<std::string_view> known;
      for (size_t j = 0; j < n; ++j) known.push_back(name(j));
      throw OpError(OpError::kType, unexpected_keyword(op.name, key, known));
    }
    OP_CHECK(!slots[k], kType, op.name, "() got multiple values for argument '", key, "'");
    slots[k] = value;
  }
  for (size_t k = 0; k < n; ++k) {
    const bool need =
        k < op.inputs.size() ? !op.inputs[k].optional : op.attrs[k - op.inputs.size()].required;
    OP_CHECK(slots[k] || !need, kType, op.name, "() missing required argument '", name(k), "'");
  }
  return slots;
}

// The op of a Python operator between Tensors.
const OpDef& tensor_operator(BinaryOp op);
const OpDef& tensor_operator(CompareOp op);

// An index expression; tensors and lists become Vals of the builder through `tensor_val`. Returns
// false where the index needs data (boolean masks), which only eager code can serve.
bool parse_index(PyObject* index, std::vector<IndexItem>* items,
                 const std::function<Val(PyObject*)>& tensor_val);

void init_objects(py::module_& m);

}  // namespace pijit
