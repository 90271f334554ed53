#include "objects/data.h"

#include <pybind11/numpy.h>

#include <algorithm>
#include <cstring>
#include <functional>

#include "absl/container/flat_hash_set.h"
#include "eager/tape.h"
#include "objects/dtype.h"
#include "runtime/device.h"
#include "base/gil.h"

namespace pijit {

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
      reinterpret_cast<int64_t*>(a->data())[i] = v;
    } else if (t == DType::F64) {
      reinterpret_cast<double*>(a->data())[i] = PyFloat_AS_DOUBLE(items[i]);
    } else {
      reinterpret_cast<uint8_t*>(a->data())[i] = items[i] == Py_True;
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
  std::memcpy(r->data(), a.data(), type.bytes());
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

ArrayRef on_host(const ArrayRef& a) {
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
    py::array r(py::dtype(std::string(public_name_of(a->type.dtype))), shape, a->data(), owner);
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
  std::memcpy(to, from->data(), from->type.bytes());
  others.reset();
  return r;
}

std::string numpy_dtype_name(PyObject* o) {
  try {
    return text_of(py::str(py::dtype::from_args(share(o)).attr("name")));
  } catch (py::error_already_set&) {
    return "";
  }
}

std::optional<py::tuple> true_places(PyObject* o) {
  const bool tensor = is_tensor(o);
  if (tensor ? !is_bool(array_of(o)->type.dtype)
             : !py::isinstance<py::array>(o) ||
                   py::cast<py::array>(py::handle(o)).dtype().kind() != 'b')
    return std::nullopt;
  const py::object mask = tensor ? to_numpy(array_of(o), false) : share(o);
  return py::tuple(python_module("numpy").attr("nonzero")(mask));
}

}  // namespace pijit
