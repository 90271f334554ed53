#include "python/objects.h"

#include <pybind11/numpy.h>
#include <structmember.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <functional>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "base/called_as.h"
#include "base/config.h"
#include "python/caller.h"
#include "python/define.h"
#include "runtime/outer_lock.h"

namespace pijit {

PyTypeObject* dtype_type;
PyTypeObject* tensor_type;
PyTypeObject* op_function_type;

namespace {
PyObject* dtype_singletons[kNumDTypes];
}

PyObject* python_exception_of(const OpError& e) {
  return e.kind == OpError::kValue   ? PyExc_ValueError
         : e.kind == OpError::kType  ? PyExc_TypeError
         : e.kind == OpError::kIndex ? PyExc_IndexError
                                     : PyExc_RuntimeError;
}

PyObject* raise_current_exception() {
  try {
    throw;
  } catch (py::error_already_set& e) {
    e.restore();
  } catch (const OpError& e) {
    PyObject* t = python_exception_of(e);
    PyErr_SetObject(t, str_of(in_callers_words(e.what())).ptr());
  } catch (const std::bad_alloc&) {
    PyErr_NoMemory();
  } catch (const std::length_error&) {  // of a container that no memory could hold
    PyErr_NoMemory();
  } catch (const std::exception& e) {
    PyErr_SetObject(PyExc_RuntimeError, str_of(e.what()).ptr());
  }
  return nullptr;
}

// --- DType
// -----------------------------------------------------------------------------------------
namespace {
PyObject* dtype_repr(PyObject* o) {
  const std::string s(public_name_of(reinterpret_cast<DTypeObject*>(o)->dtype));
  return PyUnicode_FromString(str_cat("mindspore.", s).c_str());
}
PyObject* dtype_str(PyObject* o) {
  std::string s(public_name_of(reinterpret_cast<DTypeObject*>(o)->dtype));
  s[0] = static_cast<char>(std::toupper(s[0]));
  if (s[0] == 'U') s[1] = 'I';
  if (s == "Bfloat16") s = "BFloat16";
  return PyUnicode_FromString(s.c_str());
}
PyObject* dtype_name(PyObject* o, void*) {
  return PyUnicode_FromString(
      std::string(public_name_of(reinterpret_cast<DTypeObject*>(o)->dtype)).c_str());
}
PyObject* dtype_size(PyObject* o, void*) {
  return PyLong_FromSize_t(size_of(reinterpret_cast<DTypeObject*>(o)->dtype));
}
PyObject* dtype_is_float(PyObject* o, void*) {
  return PyBool_FromLong(is_float(reinterpret_cast<DTypeObject*>(o)->dtype));
}
PyObject* dtype_reduce(PyObject* o, PyObject*) {
  PyObject* m = PyImport_ImportModule("pijit._C");
  if (!m) return nullptr;
  PyObject* f = PyObject_GetAttrString(m, "dtype");
  Py_DECREF(m);
  if (!f) return nullptr;
  return Py_BuildValue("(N(N))", f, dtype_name(o, nullptr));
}
PyGetSetDef dtype_getset[] = {{"name", dtype_name, nullptr, "public name, as 'float32'", nullptr},
                              {"itemsize", dtype_size, nullptr, "bytes per element", nullptr},
                              {"is_floating_point", dtype_is_float, nullptr, nullptr, nullptr},
                              {nullptr, nullptr, nullptr, nullptr, nullptr}};
PyMethodDef dtype_methods[] = {{"__reduce__", dtype_reduce, METH_NOARGS, nullptr},
                               {nullptr, nullptr, 0, nullptr}};
PyType_Slot dtype_slots[] = {{Py_tp_repr, reinterpret_cast<void*>(dtype_repr)},
                             {Py_tp_str, reinterpret_cast<void*>(dtype_str)},
                             {Py_tp_getset, dtype_getset},
                             {Py_tp_methods, dtype_methods},
                             {0, nullptr}};
PyType_Spec dtype_spec = {"pijit._C.DType", sizeof(DTypeObject), 0,
                          Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, dtype_slots};
}  // namespace

PyObject* dtype_object(DType t) { return dtype_singletons[static_cast<int>(t)]; }

std::optional<DType> dtype_of(PyObject* o) {
  if (Py_TYPE(o) == dtype_type) return reinterpret_cast<DTypeObject*>(o)->dtype;
  if (o == reinterpret_cast<PyObject*>(&PyBool_Type)) return DType::Bool;
  if (o == reinterpret_cast<PyObject*>(&PyLong_Type)) return DType::I64;
  if (o == reinterpret_cast<PyObject*>(&PyFloat_Type)) return DType::F32;
  if (o == reinterpret_cast<PyObject*>(&PyComplex_Type)) return DType::C128;
  std::string name;
  if (PyUnicode_Check(o)) {
    name = text_of(o);
  } else {
    try {
      name = py::str(py::dtype::from_args(py::reinterpret_borrow<py::object>(o)).attr("name"));
    } catch (py::error_already_set&) {
      return std::nullopt;
    }
  }
  return dtype_from_name(name);
}

// --- data in and out
// -------------------------------------------------------------------------------
namespace {
py::array numpy_like(const Type& t) {
  std::vector<py::ssize_t> shape(t.shape.begin(), t.shape.end());
  return py::array(
      py::dtype(t.dtype == DType::BF16 ? "float32" : std::string(public_name_of(t.dtype)).c_str()),
      shape);
}
ArrayRef cast_array(ArrayRef a, DType t) {
  if (a->type.dtype == t) return a;
  EagerBuilder b;
  return b.array(b.op("cast", {b.wrap(std::move(a))}, {t}));
}
}  // namespace

// Of a list or tuple of Python's numbers of one kind, without NumPy; null for anything else.
static ArrayRef flat_array(PyObject* data) {
  if (!PyList_CheckExact(data) && !PyTuple_CheckExact(data)) return {};
  PyObject** items = PySequence_Fast_ITEMS(data);
  const Py_ssize_t n = PySequence_Fast_GET_SIZE(data);
  if (n == 0) return {};
  PyTypeObject* kind = Py_TYPE(items[0]);
  if (kind != &PyLong_Type && kind != &PyFloat_Type && kind != &PyBool_Type) return {};
  if (std::any_of(items, items + n, [&](PyObject* o) { return Py_TYPE(o) != kind; })) return {};
  const DType t = kind == &PyLong_Type    ? DType::I64
                  : kind == &PyFloat_Type ? DType::F64
                                          : DType::Bool;
  Type type{t, {}};
  type.shape.push_back(n);
  ArrayRef a = new_array(type);
  for (Py_ssize_t i = 0; i < n; ++i) {
    if (t == DType::I64) {
      int overflow = 0;
      const long long v = PyLong_AsLongLongAndOverflow(items[i], &overflow);
      if (overflow) return {};
      reinterpret_cast<int64_t*>(a->data)[i] = v;
    } else if (t == DType::F64) {
      reinterpret_cast<double*>(a->data)[i] = PyFloat_AS_DOUBLE(items[i]);
    } else {
      reinterpret_cast<uint8_t*>(a->data)[i] = items[i] == Py_True;
    }
  }
  return a;
}

ArrayRef array_from(PyObject* data, std::optional<DType> dtype) {
  if (is_tensor(data)) {
    ArrayRef a = array_of(data);
    return dtype ? cast_array(a, *dtype) : a;
  }
  const DeviceId home = default_device();
  if (PyBool_Check(data) || PyFloat_CheckExact(data) || PyLong_CheckExact(data)) {
    EagerBuilder b;
    const DType own = PyBool_Check(data)         ? DType::Bool
                      : PyFloat_CheckExact(data) ? DType::F32
                                                 : DType::I64;
    const DType t = dtype.value_or(own);
    if (PyFloat_CheckExact(data))
      return array_on(b.array(b.constant(t, PyFloat_AS_DOUBLE(data))), home);
    const long long v = PyLong_AsLongLong(data);
    if (v == -1 && PyErr_Occurred()) throw py::error_already_set();
    return array_on(b.array(b.constant_int(t, v)), home);
  }
  if (ArrayRef a = flat_array(data)) {
    if (dtype) return array_on(cast_array(a, *dtype), home);
    return array_on(a->type.dtype == DType::F64 ? cast_array(a, DType::F32) : a, home);
  }
  py::object np = python_module("numpy");
  const bool is_array = py::isinstance<py::array>(data);
  py::object src = py::reinterpret_borrow<py::object>(data);
  if (!is_array && (PyList_Check(data) || PyTuple_Check(data))) {
    // tensors inside sequences become arrays first
    int depth = 0;
    std::function<py::object(py::handle)> plain = [&](py::handle h) -> py::object {
      if (is_tensor(h.ptr())) return to_numpy(array_of(h.ptr()), false);
      if (PyList_Check(h.ptr()) || PyTuple_Check(h.ptr())) {
        constexpr int kDeepest = 64;  // more than an array has dimensions
        OP_CHECK(depth < kDeepest, kValue, "[Tensor] data is nested deeper than ", kDeepest,
                 " levels, or holds itself");
        py::list l;
        ++depth;
        for (auto x : h) l.append(plain(x));
        --depth;
        return l;
      }
      return py::reinterpret_borrow<py::object>(h);
    };
    src = plain(src);
  }
  // An object is asked for its array once: the next one may be another.
  const py::array given = py::reinterpret_steal<py::array>(np.attr("asarray")(src).release());
  std::string name = py::str(given.dtype().attr("name"));
  auto t = dtype_from_name(name);
  OP_CHECK(t, kType, "[Tensor] cannot hold data of type ", name,
           "; expected bool, integers, floats or complex numbers");
  if (!is_array && *t == DType::F64 && !py::hasattr(src, "dtype") && !dtype)
    dtype = DType::F32;  // Python floats
  const py::array a = py::reinterpret_steal<py::array>(
      np.attr("ascontiguousarray")(given, py::dtype(std::string(public_name_of(*t)))).release());
  Type type{*t, {}};
  // (ascontiguousarray makes 0-d arrays 1-d)
  for (py::ssize_t i = 0; i < given.ndim(); ++i) type.shape.push_back(given.shape(i));
  PIJIT_CHECK(static_cast<size_t>(a.nbytes()) == type.bytes(), "an array of other elements");
  ArrayRef r = new_array(type);
  std::memcpy(r->data, a.data(), type.bytes());
  if (dtype) r = cast_array(r, *dtype);
  return array_on(r, home);
}

bool numpy_is_loaded() {
  static bool loaded = false;  // for ever
  if (loaded) return true;
  PyObject* module = PyDict_GetItemWithError(PyImport_GetModuleDict(), names.numpy);
  if (!module || module == Py_None) return false;  // None: its import is forbidden
  // not where its import is under way, further up or on another thread
  const py::object spec = py::getattr(module, "__spec__", py::none());
  return loaded = !py::bool_(py::getattr(spec, "_initializing", py::bool_(false)));
}
bool is_ndarray(PyObject* o) { return numpy_is_loaded() && py::isinstance<py::array>(o); }

static constinit OnDemand<absl::flat_hash_set<PyTypeObject*>> numpy_scalars;
bool is_numpy_scalar(PyObject* o) {
  if (!numpy_is_loaded()) return false;
  const auto& types = numpy_scalars.get([] {
    absl::flat_hash_set<PyTypeObject*> t;
    const py::object np = python_module("numpy");
    for (auto n : {"bool_", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32",
                   "uint64", "float16", "float32", "float64", "complex64", "complex128"})
      t.insert(reinterpret_cast<PyTypeObject*>(py::object(np.attr(n)).release().ptr()));
    return t;
  });
  return types.contains(Py_TYPE(o));
}

// The elements of a Tensor where the host reads them. Others run while it waits for the device.
static ArrayRef on_host(const ArrayRef& a) {
  if (a->type.device.is_cpu()) return a;
  // NOLINTNEXTLINE(performance-unnecessary-copy-initialization): the Tensor may get another one
  const ArrayRef from = a;
  std::optional<Unlocked> others;
  if (others_wait()) others.emplace();
  return array_on(from, {});
}

py::object to_numpy(const ArrayRef& a, bool copy) {
  Tape::check_read(a.get());
  if (!a->type.device.is_cpu()) return to_numpy(on_host(a), copy);
  if (a->type.dtype == DType::BF16) return to_numpy(cast_array(a, DType::F32), copy);
  if (!copy) {
    std::vector<py::ssize_t> shape(a->type.shape.begin(), a->type.shape.end());
    auto* keep = new ArrayRef(a);
    py::capsule owner(keep, [](void* p) { delete static_cast<ArrayRef*>(p); });
    py::array r(py::dtype(std::string(public_name_of(a->type.dtype))), shape, a->data, owner);
    r.attr("setflags")(py::arg("write") = false);
    return r;
  }
  py::array r = numpy_like(a->type);
  void* const to = r.mutable_data();
  // NOLINTNEXTLINE(performance-unnecessary-copy-initialization): where others run, as above
  const ArrayRef from = a;
  constexpr size_t kLong = size_t{1} << 19;  // to be copied in some 50 us
  std::optional<Unlocked> others;
  if (from->type.bytes() > kLong && others_wait()) others.emplace();
  std::memcpy(to, from->data, from->type.bytes());
  others.reset();
  return r;
}

// --- Tensor
// ----------------------------------------------------------------------------------------
PyObject* new_tensor(ArrayRef a) {
  PyObject* o = tensor_type->tp_alloc(tensor_type, 0);
  if (!o) throw py::error_already_set();
  auto* t = reinterpret_cast<TensorObject*>(o);
  new (&t->array) ArrayRef(std::move(a));
  return o;
}

std::optional<Operand> to_operand(EagerBuilder& b, PyObject* o) {
  if (is_tensor(o)) return Operand(b.wrap(array_of(o)));
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

// "GPU" of "GPU:0", in capitals.
std::string device_name(const char* who, PyObject* o) {
  OP_CHECK(PyUnicode_Check(o), kType, "[", who, "] device must be a str such as 'CPU', got ",
           Py_TYPE(o)->tp_name);
  std::string s = text_of(o);
  if (s.size() > 2 && s.compare(s.size() - 2, 2, ":0") == 0) s.resize(s.size() - 2);
  for (auto* known : {"CPU", "GPU"})
    if (!strcasecmp(s.c_str(), known)) return known;
  return s;
}

PyObject* tensor_new(PyTypeObject* type, PyObject*, PyObject*) {
  PyObject* o = type->tp_alloc(type, 0);
  if (!o) return nullptr;
  auto* t = reinterpret_cast<TensorObject*>(o);
  new (&t->array) ArrayRef();
  PIJIT_SLOT(t->array = new_array(Type{DType::F32, Shape{0}}); return o;)
}
int tensor_init(PyObject* self, PyObject* args, PyObject* kwargs) {
  static const char* names[] = {"input_data", "dtype",  "shape", "init",
                                "const_arg",  "device", nullptr};
  PyObject *data = nullptr, *dtype = Py_None, *shape = Py_None, *init = Py_None,
           *const_arg = Py_None, *device = Py_None;
  if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|OOOOOO:Tensor", const_cast<char**>(names), &data,
                                   &dtype, &shape, &init, &const_arg, &device))
    return -1;
  try {
    std::optional<DType> t;
    if (dtype != Py_None) {
      t = dtype_of(dtype);
      OP_CHECK(t, kType, "[Tensor] dtype must be a dtype such as mindspore.float32");
    }
    std::optional<DeviceId> where;
    if (device != Py_None) where = find_device("Tensor", device_name("Tensor", device));
    auto* self_t = reinterpret_cast<TensorObject*>(self);
    if (!data || data == Py_None) {
      OP_CHECK(shape != Py_None, kValue, "[Tensor] needs input_data, or shape and init");
      std::vector<int64_t> dims;
      if (PyIndex_Check(shape))
        dims = {integer("Tensor", "shape", shape)};
      else
        for (auto n : argument<py::sequence>("Tensor", "shape", shape))  // None: not known yet
          dims.push_back(n.is_none() ? 0 : integer("Tensor", "an element of shape", n));
      OP_CHECK(dims.size() <= static_cast<size_t>(kMaxRank), kValue, "[Tensor] shape has ",
               dims.size(), " dimensions; at most ", kMaxRank, " are possible");
      double elements = 1;
      for (auto d : dims) {
        OP_CHECK(d >= 0, kValue, "[Tensor] negative dimension ", d);
        elements *= static_cast<double>(d);
      }
      OP_CHECK(elements < 1e15, kValue, "[Tensor] shape has too many elements");
      ArrayRef a = new_array(Type{t.value_or(DType::F32), Shape(dims)});
      std::memset(a->data, 0, a->type.bytes());
      if (init != Py_None) {
        py::tuple sizes(dims.size());
        for (size_t k = 0; k < dims.size(); ++k) sizes[k] = dims[k];
        py::object filled =
            python_module("pijit.initializer")
                .attr("fill")(py::handle(init), sizes, py::handle(dtype_object(a->type.dtype)));
        a = array_from(filled.ptr(), a->type.dtype);
      }
      self_t->array = array_on(a, where.value_or(default_device()));
    } else {
      self_t->array = array_from(data, t);
      if (where) self_t->array = moved(self_t->array, *where);
    }
    return 0;
  } catch (...) {
    raise_current_exception();
    return -1;
  }
}
TensorObject* object_of(PyObject* o) { return reinterpret_cast<TensorObject*>(o); }
void forget_whole(PyObject* part) {
  auto* t = object_of(part);
  Py_CLEAR(t->place);
  // not by recursion: chains can be long
  PyObject* whole = std::exchange(t->whole, nullptr);
  while (whole) {
    PyObject* next = nullptr;
    if (Py_REFCNT(whole) == 1) next = std::exchange(object_of(whole)->whole, nullptr);
    Py_DECREF(whole);
    whole = next;
  }
}
void tensor_dealloc(PyObject* o) {
  auto* t = reinterpret_cast<TensorObject*>(o);
  PyTypeObject* type = Py_TYPE(o);
  forget_whole(o);
  if (t->weakrefs) PyObject_ClearWeakRefs(o);
  t->array.~ArrayRef();
  type->tp_free(o);
  Py_DECREF(type);
}

// The one road of eager calls: operands, promotion, run.
PyObject* run_op(const OpDef& op, EagerBuilder& b, std::span<const Operand> in, Attrs attrs) {
  const Val r = call_op(b, op, in, std::move(attrs));
  return new_tensor(b.array(r));
}

PyObject* binary(const OpDef& op, PyObject* x, PyObject* y){PIJIT_SLOT({
  EagerBuilder b(EagerBuilder::kAmongOthers);
  auto l = to_operand(b, x);
  if (!l) Py_RETURN_NOTIMPLEMENTED;
  auto r = to_operand(b, y);
  if (!r) Py_RETURN_NOTIMPLEMENTED;
  const Operand in[] = {*l, *r};
  return run_op(op, b, in, {});
})}
// clang-format off
#define BINARY_SLOT(name, op) \
  PyObject* tensor_##name(PyObject* x, PyObject* y) { return binary(tensor_operator(BinaryOp::op), x, y); }
BINARY_SLOT(add, kAdd)
BINARY_SLOT(sub, kSub)
BINARY_SLOT(mul, kMul)
BINARY_SLOT(truediv, kTrueDiv)
BINARY_SLOT(floordiv, kFloorDiv)
BINARY_SLOT(mod, kMod)
BINARY_SLOT(and, kAnd)
BINARY_SLOT(or, kOr)
BINARY_SLOT(xor, kXor)
BINARY_SLOT(lshift, kLshift)
BINARY_SLOT(rshift, kRshift)
    // clang-format on
    PyObject* tensor_pow(PyObject* x, PyObject* y, PyObject*) {
  return binary(tensor_operator(BinaryOp::kPow), x, y);
}
PyObject* unary(const char* name, PyObject* x){PIJIT_SLOT({
  EagerBuilder b(EagerBuilder::kAmongOthers);
  const Operand in[] = {Operand(b.wrap(array_of(x)))};
  return run_op(OpTable::get().at(name), b, in, {});
})} PyObject* tensor_neg(PyObject* x) {
  return unary("neg", x);
}
PyObject* tensor_abs(PyObject* x) { return unary("abs", x); }
PyObject* tensor_invert(PyObject* x) { return unary("logical_not", x); }
PyObject* tensor_pos(PyObject* x) { return Py_NewRef(x); }
PyObject* tensor_compare(PyObject* x, PyObject* y, int what) {
  if (y == Py_None) Py_RETURN_NOTIMPLEMENTED;
  return binary(tensor_operator(static_cast<CompareOp>(what)), x, y);
}
int tensor_bool(PyObject* x) {
  if (!array_of(x)->type.device.is_cpu()) {
    PyObject* here = nullptr;
    try {
      Tape::check_read(array_of(x).get());
      here = new_tensor(on_host(array_of(x)));
    } catch (...) {
      return raise_current_exception(), -1;
    }
    const int r = tensor_bool(here);
    Py_DECREF(here);
    return r;
  }
  const Array& a = *array_of(x);
  const int64_t n = a.type.shape.numel();
  if (n != 1) {
    PyErr_Format(PyExc_ValueError,
                 "The truth value of a tensor with %lld elements is ambiguous; use any() or all()",
                 static_cast<long long>(n));
    return -1;
  }
  try {
    Tape::check_read(&a);
  } catch (...) {
    return raise_current_exception(), -1;
  }
  const char* p = static_cast<const char*>(a.data);
  const size_t size = size_of(a.type.dtype);
  if (is_half(a.type.dtype)) {
    uint16_t h;
    std::memcpy(&h, p, 2);
    return (h & 0x7fff) != 0;
  }
  if (is_complex(a.type.dtype)) {  // -0.0 is false as well
    const bool single = a.type.dtype == DType::C64;
    for (int k : {0, 1})
      if (single ? static_cast<const float*>(a.data)[k] != 0
                 : static_cast<const double*>(a.data)[k] != 0)
        return 1;
    return 0;
  }
  if (a.type.dtype == DType::F32 || a.type.dtype == DType::F64) {
    double v = 0;
    float f;
    if (size == 4)
      std::memcpy(&f, p, 4), v = f;
    else
      std::memcpy(&v, p, 8);
    return v != 0;
  }
  for (size_t i = 0; i < size; ++i)
    if (p[i]) return 1;
  return 0;
}
PyObject* tensor_item(PyObject* x, PyObject*) {
  const ArrayRef& a = array_of(x);
  if (a->type.shape.numel() != 1) {
    PyErr_Format(PyExc_ValueError, "item() needs a tensor of one element, got %s",
                 a->type.str().c_str());
    return nullptr;
  }
  PIJIT_SLOT(return to_numpy(a, false).attr("item")().release().ptr();)
}
PyObject* tensor_int(PyObject* x) {
  PyObject* v = tensor_item(x, nullptr);
  if (!v) return nullptr;
  PyObject* r = PyNumber_Long(v);
  Py_DECREF(v);
  return r;
}
PyObject* tensor_float(PyObject* x) {
  PyObject* v = tensor_item(x, nullptr);
  if (!v) return nullptr;
  PyObject* r = PyNumber_Float(v);
  Py_DECREF(v);
  return r;
}
PyObject* tensor_index(PyObject* x) {
  if (!is_int(array_of(x)->type.dtype))
    return PyErr_SetString(PyExc_TypeError, "only integer tensors of one element can be an index"),
           nullptr;
  return tensor_item(x, nullptr);
}
Py_ssize_t tensor_len(PyObject* x) {
  const Shape& s = array_of(x)->type.shape;
  if (s.rank() == 0) return PyErr_SetString(PyExc_TypeError, "len() of a 0-d tensor"), -1;
  return s[0];
}

}  // namespace
void make_part(PyObject* part, PyObject* whole, PyObject* place) {
  TensorObject* t = object_of(part);
  t->depth = is_part(whole) ? object_of(whole)->depth + 1 : 1;
  // What no one but its parts holds can show no change: else `x = x[i]` would keep every x.
  // Chains that grow are looked through ever more rarely.
  constexpr uint64_t kShort = 64;
  if (t->depth <= kShort || std::has_single_bit(t->depth)) {
    std::vector<PyObject*> chain{whole};
    while (is_part(chain.back())) chain.push_back(object_of(chain.back())->whole);
    for (; chain.size() > 1 && Py_REFCNT(chain.back()) == 1; chain.pop_back())
      forget_whole(chain[chain.size() - 2]);
    t->depth = chain.size();
  }
  t->whole = Py_NewRef(whole);
  t->place = Py_NewRef(place);
}
namespace {

// Boolean masks become index tensors of their true places.
py::object replace_masks(py::handle index) {
  auto is_mask = [](py::handle h) {
    return (is_tensor(h.ptr()) && is_bool(array_of(h.ptr())->type.dtype)) ||
           (py::isinstance<py::array>(h) && py::cast<py::array>(h).dtype().kind() == 'b');
  };
  py::list out;
  py::object np = python_module("numpy");
  auto expand = [&](py::handle h) {
    if (!is_mask(h)) return out.append(h);
    py::object m = is_tensor(h.ptr()) ? py::object(to_numpy(array_of(h.ptr()), false))
                                      : py::reinterpret_borrow<py::object>(h);
    for (auto x : np.attr("nonzero")(m)) out.append(x);
  };
  if (PyTuple_Check(index.ptr()))
    for (auto h : index) expand(h);
  else
    expand(index);
  return py::tuple(out);
}

// Of a tensor on `home`, where lists and masks come to lie as well.
bool parse_eager_index(EagerBuilder& b, PyObject* index, DeviceId home,
                       std::vector<IndexItem>* items) {
  auto tensor_val = [&](PyObject* o) {
    const ArrayRef a = array_from(o, std::nullopt);
    return b.wrap(is_tensor(o) ? a : array_on(a, home));
  };
  if (parse_index(index, items, tensor_val)) return true;
  items->clear();
  py::object replaced = replace_masks(index);
  return parse_index(replaced.ptr(), items, tensor_val);
}

PyObject* tensor_getitem(PyObject* x, PyObject* index){PIJIT_SLOT({
  if (index == Py_Ellipsis && Py_TYPE(x) == tensor_type) return Py_NewRef(x);
  EagerBuilder b;
  const Val v = b.wrap(array_of(x));
  std::vector<IndexItem> items;
  parse_eager_index(b, index, array_of(x)->type.device, &items);
  PyObject* part = new_tensor(b.array(index_get(b, v, items)));
  make_part(part, x, index);
  return part;
})} PyObject* tensor_sq_item(PyObject* x, Py_ssize_t i) {
  const Shape& s = array_of(x)->type.shape;
  if (s.rank() == 0)
    return PyErr_SetString(PyExc_TypeError, "iteration over a 0-d tensor"), nullptr;
  if (i < 0 || i >= s[0]) return PyErr_SetString(PyExc_IndexError, "index out of range"), nullptr;
  PIJIT_SLOT({
    EagerBuilder b;
    IndexItem it{IndexItem::kInt};
    it.i = i;
    PyObject* part = new_tensor(b.array(index_get(b, b.wrap(array_of(x)), std::span(&it, 1))));
    make_part(part, x, py::int_(i).ptr());
    return part;
  })
}
// Parameters outlive a mapped function, so one element's value must not get into them.
void store(PyObject* x, ArrayRef value) {
  ArrayRef& a = array_of(x);
  if (Py_TYPE(x) != tensor_type) Tape::check_stored(a.get(), value.get());
  a = std::move(value);
}
int tensor_setitem(PyObject* x, PyObject* index, PyObject* value) {
  if (!value) return PyErr_SetString(PyExc_TypeError, "cannot delete tensor elements"), -1;
  try {
    EagerBuilder b;
    const Val v = b.wrap(array_of(x));
    std::vector<IndexItem> items;
    parse_eager_index(b, index, array_of(x)->type.device, &items);
    auto o = to_operand(b, value);
    OP_CHECK(o, kType, "[setitem] cannot assign a ", Py_TYPE(value)->tp_name,
             " to tensor elements");
    store(x,
          b.array(index_set(b, v, items, materialize(b, *o, o->weak() ? v.dtype() : o->dtype()))));
    for (PyObject* part = x; is_part(part); part = object_of(part)->whole) {
      PyObject* whole = object_of(part)->whole;
      EagerBuilder up;
      const Val old = up.wrap(array_of(whole));
      items.clear();
      parse_eager_index(up, object_of(part)->place, old.type().device, &items);
      store(whole, up.array(index_set(up, old, items, up.wrap(array_of(part)))));
    }
    return 0;
  } catch (...) {
    raise_current_exception();
    return -1;
  }
}

PyObject* tensor_asnumpy(PyObject* x, PyObject*) {
  PIJIT_SLOT(return to_numpy(array_of(x), true).release().ptr();)
}
PyObject* tensor_array(PyObject* x, PyObject* args, PyObject* kwargs) {
  PyObject *dtype = Py_None, *copy = Py_None;
  static const char* names[] = {"dtype", "copy", nullptr};
  if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|OO:__array__", const_cast<char**>(names), &dtype,
                                   &copy))
    return nullptr;
  PIJIT_SLOT({
    py::object a = to_numpy(array_of(x), true);
    if (dtype != Py_None) a = a.attr("astype")(py::handle(dtype));
    return a.release().ptr();
  })
}
// Takes another tensor's value: how in-place updates and assignments work.
PyObject* tensor_assign(PyObject* x, PyObject* value){PIJIT_SLOT({
  const Type& t = array_of(x)->type;
  ArrayRef v = array_from(value, t.dtype);
  OP_CHECK(v->type.shape == t.shape, kValue, "[assign] a tensor of shape ", t.shape.str(),
           " cannot take a value of shape ", v->type.shape.str());
  store(x, moved(v, t.device));
  return Py_NewRef(x);
})}  // The same, with another shape or dtype allowed.
PyObject* tensor_replace(PyObject* x, PyObject* value){PIJIT_SLOT({
  store(x, array_from(value, std::nullopt));
  return Py_NewRef(x);
})} PyObject* tensor_rebind(PyObject* x, PyObject* value){PIJIT_SLOT({
  const Type& t = array_of(x)->type;
  OP_CHECK(is_tensor(value) && array_of(value)->type == t, kType, "[_rebind] expected ", t.str());
  array_of(x) = array_of(value);
  return Py_NewRef(x);
})}  // Under an identity of its own, which gradients take for a new value.
PyObject* detached(const ArrayRef& a) {
  if (a->of_one_element) Tape::check_read(a.get());
  ArrayRef r = alias_array(a, a->type);
  Tape::follow(a, r);
  return new_tensor(std::move(r));
}
PyObject* tensor_detached(PyObject* x, PyObject*) { PIJIT_SLOT(return detached(array_of(x));) }
PyObject* tensor_alias(PyObject* x, PyObject*) {
  if (!Tape::active().empty()) return unary("identity", x);  // so that outer gradients pass through
  PIJIT_SLOT(return detached(array_of(x));)
}
PyObject* tensor_held(PyObject* x, PyObject*) { PIJIT_SLOT(return new_tensor(array_of(x));) }
PyObject* tensor_dtype(PyObject* x, void*) {
  return Py_NewRef(dtype_object(array_of(x)->type.dtype));
}
PyObject* tensor_shape(PyObject* x, void*) {
  const Shape& s = array_of(x)->type.shape;
  PyObject* t = PyTuple_New(s.rank());
  if (!t) return nullptr;
  for (int i = 0; i < s.rank(); ++i) PyTuple_SET_ITEM(t, i, PyLong_FromLongLong(s[i]));
  return t;
}
PyObject* tensor_ndim(PyObject* x, void*) {
  return PyLong_FromLong(array_of(x)->type.shape.rank());
}
PyObject* tensor_size(PyObject* x, void*) {
  return PyLong_FromLongLong(array_of(x)->type.shape.numel());
}
PyObject* tensor_itemsize(PyObject* x, void*) {
  return PyLong_FromSize_t(size_of(array_of(x)->type.dtype));
}
PyObject* tensor_nbytes(PyObject* x, void*) { return PyLong_FromSize_t(array_of(x)->type.bytes()); }
PyObject* tensor_device(PyObject* x, void*) {
  return PyUnicode_FromString(name_of(array_of(x)->type.device).c_str());
}
PyObject* tensor_to_device(PyObject* x, PyObject* name){PIJIT_SLOT({
  const DeviceId to = find_device("Tensor.to", device_name("Tensor.to", name));
  const ArrayRef& a = array_of(x);
  if (a->type.device == to) return Py_NewRef(x);
  return new_tensor(moved(a, to));
})} PyObject* tensor_strides(PyObject* x, void*) {
  const Type& t = array_of(x)->type;
  const auto st = t.shape.strides();
  PyObject* r = PyTuple_New(t.shape.rank());
  if (!r) return nullptr;
  for (int i = 0; i < t.shape.rank(); ++i)
    PyTuple_SET_ITEM(r, i, PyLong_FromLongLong(st[i] * static_cast<int64_t>(size_of(t.dtype))));
  return r;
}

// Read-only: arrays are shared values.
struct BufferInfo {
  ArrayRef keep;
  Py_ssize_t shape[kMaxRank], strides[kMaxRank];
};
int tensor_getbuffer(PyObject* x, Py_buffer* view, int flags) {
  ArrayRef a = array_of(x);
  static const char* kFormats[] = {"?", "b", "h", "i", "q", "B",  "H", "I",
                                   "Q", "e", "H", "f", "d", "Zf", "Zd"};
  if (flags & PyBUF_WRITABLE) {
    PyErr_SetString(PyExc_BufferError,
                    "tensors export read-only buffers; use asnumpy() for a copy");
    view->obj = nullptr;
    return -1;
  }
  try {
    Tape::check_read(a.get());
    a = array_on(a, {});
  } catch (...) {
    view->obj = nullptr;
    return raise_current_exception(), -1;
  }
  auto* info = new BufferInfo{a, {}, {}};
  const auto st = a->type.shape.strides();
  const Py_ssize_t item = static_cast<Py_ssize_t>(size_of(a->type.dtype));
  for (int i = 0; i < a->type.shape.rank(); ++i)
    info->shape[i] = a->type.shape[i], info->strides[i] = st[i] * item;
  view->buf = a->data;
  view->obj = Py_NewRef(x);
  view->len = static_cast<Py_ssize_t>(a->type.bytes());
  view->readonly = 1;
  view->itemsize = item;
  view->format =
      flags & PyBUF_FORMAT ? const_cast<char*>(kFormats[static_cast<int>(a->type.dtype)]) : nullptr;
  view->ndim = a->type.shape.rank();
  view->shape = flags & PyBUF_ND ? info->shape : nullptr;
  view->strides = (flags & PyBUF_STRIDES) == PyBUF_STRIDES ? info->strides : nullptr;
  view->suboffsets = nullptr;
  view->internal = info;
  return 0;
}
void tensor_releasebuffer(PyObject*, Py_buffer* view) {
  delete static_cast<BufferInfo*>(view->internal);
}

PyMethodDef tensor_methods[] = {
    {"asnumpy", tensor_asnumpy, METH_NOARGS,
     "A NumPy array with a copy of the data (bfloat16 as float32)."},
    {"__array__", reinterpret_cast<PyCFunction>(reinterpret_cast<void*>(tensor_array)),
     METH_VARARGS | METH_KEYWORDS, nullptr},
    {"item", tensor_item, METH_NOARGS, "The one element as a Python scalar."},
    {"_assign", tensor_assign, METH_O,
     "Takes another value of the same shape, cast to this dtype."},
    {"_replace", tensor_replace, METH_O, "Takes another value."},
    {"_rebind", tensor_rebind, METH_O, "The same value under the identity of another tensor."},
    {"_held", tensor_held, METH_NOARGS,
     "A tensor object of its own for this very value, which later assignments do not change."},
    {"_detached", tensor_detached, METH_NOARGS, "The value under an identity that no tape knows."},
    {"_alias", tensor_alias, METH_NOARGS, "Another tensor with the same value."},
    {"_on_device", tensor_to_device, METH_O,
     "The tensor on a device by name; itself if it is there."},
    {nullptr, nullptr, 0, nullptr}};
PyGetSetDef tensor_getset[] = {
    {"dtype", tensor_dtype, nullptr, "element type", nullptr},
    {"shape", tensor_shape, nullptr, "tuple of dimensions", nullptr},
    {"ndim", tensor_ndim, nullptr, "number of dimensions", nullptr},
    {"size", tensor_size, nullptr, "number of elements", nullptr},
    {"itemsize", tensor_itemsize, nullptr, "bytes per element", nullptr},
    {"nbytes", tensor_nbytes, nullptr, "bytes in all", nullptr},
    {"strides", tensor_strides, nullptr, "bytes to step in each dimension", nullptr},
    {"device", tensor_device, nullptr, "name of the device that holds the data, as 'CPU'", nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr}};
PyMemberDef tensor_members[] = {
    {"__weaklistoffset__", T_PYSSIZET, offsetof(TensorObject, weakrefs), READONLY, nullptr},
    {nullptr, 0, 0, 0, nullptr}};
#define SLOT(id, f) \
  { id, reinterpret_cast<void*>(f) }
PyType_Slot tensor_slots[] = {SLOT(Py_tp_new, tensor_new),
                              SLOT(Py_tp_init, tensor_init),
                              SLOT(Py_tp_dealloc, tensor_dealloc),
                              SLOT(Py_tp_methods, tensor_methods),
                              SLOT(Py_tp_getset, tensor_getset),
                              SLOT(Py_tp_members, tensor_members),
                              SLOT(Py_tp_richcompare, tensor_compare),
                              SLOT(Py_tp_hash, PyObject_HashNotImplemented),
                              SLOT(Py_nb_add, tensor_add),
                              SLOT(Py_nb_subtract, tensor_sub),
                              SLOT(Py_nb_multiply, tensor_mul),
                              SLOT(Py_nb_true_divide, tensor_truediv),
                              SLOT(Py_nb_floor_divide, tensor_floordiv),
                              SLOT(Py_nb_remainder, tensor_mod),
                              SLOT(Py_nb_power, tensor_pow),
                              SLOT(Py_nb_and, tensor_and),
                              SLOT(Py_nb_or, tensor_or),
                              SLOT(Py_nb_xor, tensor_xor),
                              SLOT(Py_nb_lshift, tensor_lshift),
                              SLOT(Py_nb_rshift, tensor_rshift),
                              SLOT(Py_nb_negative, tensor_neg),
                              SLOT(Py_nb_positive, tensor_pos),
                              SLOT(Py_nb_absolute, tensor_abs),
                              SLOT(Py_nb_invert, tensor_invert),
                              SLOT(Py_nb_bool, tensor_bool),
                              SLOT(Py_nb_int, tensor_int),
                              SLOT(Py_nb_float, tensor_float),
                              SLOT(Py_nb_index, tensor_index),
                              SLOT(Py_mp_length, tensor_len),
                              SLOT(Py_mp_subscript, tensor_getitem),
                              SLOT(Py_mp_ass_subscript, tensor_setitem),
                              SLOT(Py_sq_item, tensor_sq_item),
                              SLOT(Py_sq_length, tensor_len),
                              SLOT(Py_bf_getbuffer, tensor_getbuffer),
                              SLOT(Py_bf_releasebuffer, tensor_releasebuffer),
                              {0, nullptr}};
PyType_Spec tensor_spec = {"pijit.Tensor", sizeof(TensorObject), 0,
                           Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE, tensor_slots};

Py_hash_t tensor_hash(PyObject* o) {
  return static_cast<Py_hash_t>(reinterpret_cast<uintptr_t>(o) >> 4);
}

// --- OpFunction
// ------------------------------------------------------------------------------------
PyObject* call_eagerly(const OpDef& op, PyObject* const* args, size_t nargsf, PyObject* kwnames) {
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
    if (ok) return run_op(op, b, std::span<const Operand>(in, nargs), {});
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
  return run_op(op, b, in, std::move(attrs));
}
PyObject* op_vectorcall(PyObject* self, PyObject* const* args, size_t nargsf, PyObject* kwnames) {
  auto* f = reinterpret_cast<OpFunctionObject*>(self);
  try {
    return call_eagerly(*f->op, args, nargsf, kwnames);
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

bool parse_index(PyObject* index, std::vector<IndexItem>* items,
                 const std::function<Val(PyObject*)>& tensor_val) {
  auto one = [&](PyObject* o) {
    IndexItem it{IndexItem::kInt};
    if (o == Py_None)
      it.kind = IndexItem::kNewAxis;
    else if (o == Py_Ellipsis)
      it.kind = IndexItem::kEllipsis;
    else if (PySlice_Check(o)) {
      it.kind = IndexItem::kSlice;
      auto* s = reinterpret_cast<PySliceObject*>(o);
      auto part = [&](PyObject* p) -> std::optional<Dim> {
        if (p == Py_None) return std::nullopt;
        if (auto d = symbolic_dim(p)) return d;
        PyObject* i = PyNumber_Index(p);
        if (!i) throw py::error_already_set();
        int overflow = 0;
        long long v = PyLong_AsLongLongAndOverflow(i, &overflow);
        Py_DECREF(i);
        if (overflow) v = overflow > 0 ? INT64_MAX / 2 : INT64_MIN / 2;
        return v;
      };
      it.start = part(s->start);
      it.stop = part(s->stop);
      it.step = part(s->step);
    } else if (PyBool_Check(o)) {
      OP_CHECK(
          o == Py_True, kIndex,
          "[getitem] of the bools only True is an index: it adds a dimension of 1, as None does");
      it.kind = IndexItem::kNewAxis;
    } else if (is_tensor(o) || PyList_Check(o) || PyTuple_Check(o) || is_ndarray(o)) {
      it.kind = IndexItem::kTensor;
      it.tensor = tensor_val(o);
      if (is_bool(it.tensor.dtype())) return false;
      OP_CHECK(is_int(it.tensor.dtype()), kIndex,
               "[getitem] index tensors must be integers or bool, got ", it.tensor.type().str());
    } else if (auto d = symbolic_dim(o)) {
      it.i = *d;
    } else if (PyIndex_Check(o)) {
      PyObject* i = PyNumber_Index(o);
      if (!i) throw py::error_already_set();
      const long long v = PyLong_AsLongLong(i);
      Py_DECREF(i);
      if (v == -1 && PyErr_Occurred()) {
        PyErr_Clear();
        throw OpError(OpError::kIndex, "[getitem] index out of range");
      }
      it.i = v;
    } else {
      throw OpError(OpError::kIndex,
                    str_cat("[getitem] unsupported index of type ", Py_TYPE(o)->tp_name));
    }
    items->push_back(it);
    return true;
  };
  if (!PyTuple_Check(index)) return one(index);
  for (Py_ssize_t k = 0; k < PyTuple_GET_SIZE(index); ++k)
    if (!one(PyTuple_GET_ITEM(index, k))) return false;
  return true;
}

void init_objects(py::module_& m) {
  auto make = [](PyType_Spec* s) {
    PyObject* t = PyType_FromSpec(s);
    if (!t) throw py::error_already_set();
    return reinterpret_cast<PyTypeObject*>(t);
  };
  dtype_type = make(&dtype_spec);
  tensor_type = make(&tensor_spec);
  tensor_type->tp_hash = tensor_hash;
  op_function_type = make(&op_spec);
  m.attr("DType") = py::handle(reinterpret_cast<PyObject*>(dtype_type));
  m.attr("Tensor") = py::handle(reinterpret_cast<PyObject*>(tensor_type));
  m.attr("OpFunction") = py::handle(reinterpret_cast<PyObject*>(op_function_type));
  for (int i = 0; i < kNumDTypes; ++i) {
    PyObject* o = dtype_type->tp_alloc(dtype_type, 0);
    reinterpret_cast<DTypeObject*>(o)->dtype = static_cast<DType>(i);
    dtype_singletons[i] = o;
  }
  using Args = std::vector<py::object>;
  define(m, "dtype", {{"o"}}, [](const Args& a) {
    auto t = dtype_of(a[0].ptr());
    OP_CHECK(t, kType, "not a dtype: ", shown(a[0]));
    return py::reinterpret_borrow<py::object>(dtype_object(*t));
  });
  py::dict ops, others;
  auto function = [](const OpDef* op, std::string_view name) {
    PyObject* o = op_function_type->tp_alloc(op_function_type, 0);
    if (!o) throw py::error_already_set();
    auto* f = reinterpret_cast<OpFunctionObject*>(o);
    f->vectorcall = op_vectorcall;
    f->op = op;
    f->name = interned(name);
    return py::reinterpret_steal<py::object>(o);
  };
  for (auto& op : OpTable::get().all())
    if (!op->has(kRegion) && !op->has(kPhysical))
      ops[py::str(op->name)] = function(op.get(), op->name);
  m.attr("ops") = ops;
  define(m, "op", {{"name"}}, [ops, others](const Args& a) {
    const std::string name = argument<std::string>("op", "name", a[0]);
    const py::dict& has = ops.contains(a[0]) ? ops : others;
    OP_CHECK(has.contains(a[0]), kValue, "[op] there is no op '", name, "'");
    return py::object(has[a[0]]);
  });
  define(
      m, "another_op", {{"name"}, {"op"}},
      [ops, others, function](const Args& a) {
        const std::string name = argument<std::string>("another_op", "name", a[0]);
        OP_CHECK(ops.contains(a[1]) && !ops.contains(a[0]), kValue, "[another_op] '", name,
                 "' is no other name of an op");
        if (!others.contains(a[0]))
          others[a[0]] = function(reinterpret_cast<OpFunctionObject*>(ops[a[1]].ptr())->op, name);
        return py::object(others[a[0]]);
      },
      "The function of an op under another name, by which its errors call it.");
}

}  // namespace pijit
