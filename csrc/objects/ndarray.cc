#include "objects/ndarray.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <functional>
#include <numeric>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "objects/data.h"
#include "runtime/fp_status.h"

namespace pijit {
namespace {

using NewFromDescr = PyObject* (*)(PyTypeObject*, PyObject* descr, int nd, const Py_ssize_t* shape,
                                   const Py_ssize_t* strides, void* data, int flags, PyObject*);
using Scalar = PyObject* (*)(void* data, PyObject* descr, PyObject* base);

// NEP 49: who allocates the memory of arrays.
struct Handler {
  char name[127];
  uint8_t version;
  struct {
    void* ctx;
    void* (*malloc)(void*, size_t);
    void* (*calloc)(void*, size_t, size_t);
    void* (*realloc)(void*, void*, size_t);
    void (*free)(void*, void*, size_t);
  } allocator;
};

// Arrays of which an ndarray has the memory, by its address. With the GIL.
absl::flat_hash_map<void*, ArrayRef>& lent() {
  static auto* all = new absl::flat_hash_map<void*, ArrayRef>;
  return *all;
}
void* take_memory(void*, size_t bytes) {
  try {
    ArrayRef a = new_array({DType::U8, Shape{static_cast<int64_t>(std::max<size_t>(bytes, 1))}});
    void* const p = a->data();
    lent()[p] = std::move(a);
    return p;
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
}
void* take_zeros(void*, size_t n, size_t size) {
  void* const p = take_memory(nullptr, n * size);
  if (p) std::memset(p, 0, n * size);
  return p;
}
void give_memory(void*, void* p, size_t) {
  const auto it = lent().find(p);
  if (it == lent().end()) return;
  const ArrayRef last = std::move(it->second);
  lent().erase(it);
}
void* resize_memory(void*, void* p, size_t bytes) {
  if (!p) return take_memory(nullptr, bytes);
  const auto it = lent().find(p);
  if (it == lent().end()) return nullptr;
  const size_t had = it->second->type.bytes();
  void* const now = take_memory(nullptr, bytes);
  if (!now) return nullptr;
  std::memcpy(now, p, std::min(had, bytes));
  give_memory(nullptr, p, had);
  return now;
}
Handler handler = {"pijit", 1, {nullptr, take_memory, take_zeros, resize_memory, give_memory}};

struct NumpyApi {
  bool followed = false;
  PyTypeObject *ndarray = nullptr, *ufunc = nullptr;
  NewFromDescr new_from_descr = nullptr;
  Scalar scalar = nullptr;
  void* functions_of_descr = nullptr;
  PyObject* handler = nullptr;
  PyObject* descr[kNumDTypes] = {};
  int number[kNumDTypes] = {};
  PyTypeObject* scalar_type[kNumDTypes] = {};
};

// Are fields where they are looked for?
bool is_as_known(const NumpyApi& api) {
  const py::handle zeros = numpy_attribute("zeros"), add = numpy_attribute("add");
  const py::object a = zeros(py::make_tuple(2, 3), "f4").attr("T");
  const auto* f = ndarray_fields(a.ptr());
  if (Py_TYPE(a.ptr()) != api.ndarray || f->nd != 2 || f->shape[0] != 3 || f->shape[1] != 2 ||
      f->strides[0] != 4 || f->strides[1] != 12 || f->flags != (kNdF | kNdAligned | kNdWriteable) ||
      f->base != py::object(a.attr("base")).ptr() ||
      f->descr != api.descr[static_cast<int>(DType::F32)])
    return false;
  const py::object own = zeros(3);
  const auto* o = ndarray_fields(own.ptr());
  if (!(o->flags & kNdOwnData) || !o->mem_handler || !PyCapsule_CheckExact(o->mem_handler))
    return false;
  const auto* u = ufunc_fields(add.ptr());
  return u->nin == 2 && u->nout == 1 && u->nargs == 3 &&
         u->ntypes == py::cast<int>(add.attr("ntypes")) && std::strcmp(u->name, "add") == 0 &&
         u->types[0] == '\0';
}

constinit OnDemand<NumpyApi> known_api;
const NumpyApi& api() {
  return known_api.get([] {
    NumpyApi a;
    const py::object np = python_module("numpy");
    const std::string version = text_of(py::str(np.attr("__version__")));
    if (version.find('.') == std::string::npos || std::atoi(version.c_str()) < 2) return a;
    void** const table = reinterpret_cast<void**>(PyCapsule_GetPointer(
        py::object(python_module("numpy._core.multiarray").attr("_ARRAY_API")).ptr(), nullptr));
    if (!table) throw py::error_already_set();
    a.ndarray = reinterpret_cast<PyTypeObject*>(table[2]);
    a.scalar = reinterpret_cast<Scalar>(table[60]);
    a.functions_of_descr = table[365];
    a.new_from_descr = reinterpret_cast<NewFromDescr>(table[94]);
    a.ufunc = reinterpret_cast<PyTypeObject*>(numpy_attribute("ufunc"));
    a.handler = PyCapsule_New(&handler, "mem_handler", nullptr);
    if (!a.handler) throw py::error_already_set();
    for (int k = 0; k < kNumDTypes; ++k) {
      const DType t = static_cast<DType>(k);
      if (t == DType::BF16) continue;
      const py::object d = py::handle(numpy_attribute("dtype"))(std::string(public_name_of(t)));
      a.scalar_type[k] =
          reinterpret_cast<PyTypeObject*>(py::object(d.attr("type")).release().ptr());
      a.number[k] = py::cast<int>(d.attr("num"));
      a.descr[k] = py::object(d).release().ptr();
    }
    a.followed = is_as_known(a);
    return a;
  });
}

}  // namespace

bool numpy_is_followed() { return numpy_is_loaded() && api().followed; }
PyTypeObject* followed_ndarray = nullptr;
bool is_first_followed_ndarray(PyObject* o) {
  // Most objects are none: their class says so.
  if (std::strcmp(Py_TYPE(o)->tp_name, "numpy.ndarray") != 0 || !numpy_is_followed()) return false;
  if (Py_TYPE(o) != api().ndarray) return false;
  followed_ndarray = api().ndarray;
  return true;
}
PyObject* find_numpy_attribute(const char* name) {
  // modules that define them, or whose C code does; nobody sets names there
  for (const char* module : {"numpy._core.numeric", "numpy._core.multiarray",
                             "numpy.lib._function_base_impl", "numpy"}) {
    const auto m =
        py::reinterpret_steal<py::object>(PyImport_GetModule(py::object(str_of(module)).ptr()));
    PyObject* const o = m ? PyDict_GetItemString(PyModule_GetDict(m.ptr()), name) : nullptr;
    if (o) return o;
  }
  return nullptr;
}
PyObject* numpy_attribute(const char* name) {
  if (PyObject* o = find_numpy_attribute(name)) return o;
  throw InternalError(str_cat("NumPy has no ", name));
}
const char* ufunc_of(BinaryOp op) {
  switch (op) {
    case BinaryOp::kAdd: return "add";
    case BinaryOp::kSub: return "subtract";
    case BinaryOp::kMul: return "multiply";
    case BinaryOp::kTrueDiv: return "divide";
    case BinaryOp::kFloorDiv: return "floor_divide";
    case BinaryOp::kMod: return "remainder";
    case BinaryOp::kAnd: return "bitwise_and";
    case BinaryOp::kOr: return "bitwise_or";
    case BinaryOp::kXor: return "bitwise_xor";
    case BinaryOp::kLshift: return "left_shift";
    case BinaryOp::kRshift: return "right_shift";
    default: return nullptr;
  }
}
const char* ufunc_of(CompareOp op) {
  switch (op) {
    case CompareOp::kEq: return "equal";
    case CompareOp::kNe: return "not_equal";
    case CompareOp::kLt: return "less";
    case CompareOp::kLe: return "less_equal";
    case CompareOp::kGt: return "greater";
    case CompareOp::kGe: return "greater_equal";
  }
  return nullptr;
}
bool is_ufunc(PyObject* o) { return numpy_is_followed() && Py_TYPE(o) == api().ufunc; }

static constinit OnDemand<bool> reduces_at_once;
bool numpy_reduces_at_once() {
  return reduces_at_once.get([] {
    const py::handle add = numpy_attribute("add"), sqrt = numpy_attribute("sqrt");
    const py::object x = sqrt(py::handle(numpy_attribute("arange"))(2.5 * kNumpyBuffer));
    const UfuncFields* u = ufunc_fields(add.ptr());
    const auto code = static_cast<char>(descr_number(DType::F64));
    const int k = ufunc_loop(u, [code](const char* types) {
      return types[0] == code && types[1] == code && types[2] == code;
    });
    if (k < 0) return false;
    const NdarrayFields* a = ndarray_fields(x.ptr());
    double sum = 0;
    auto* const to = reinterpret_cast<char*>(&sum);
    char* at[] = {to, a->data, to};
    const Py_ssize_t steps[] = {0, sizeof(double), 0};
    u->functions[k](at, a->shape, steps, data_of_loop(u, k));
    return sum == py::cast<double>(add.attr("reduce")(x));
  });
}
PyObject* descr_of(DType t) { return api().descr[static_cast<int>(t)]; }
std::optional<DType> dtype_of_descr(PyObject* descr) {
  for (int k = 0; k < kNumDTypes; ++k)
    if (api().descr[k] == descr && descr) return static_cast<DType>(k);
  return std::nullopt;
}
int descr_number(DType t) { return api().number[static_cast<int>(t)]; }
PyTypeObject* numpy_scalar_type(DType t) { return api().scalar_type[static_cast<int>(t)]; }

bool may_overlap(PyObject* a, PyObject* b) {
  auto bounds = [](PyObject* o) {  // of arrays without gaps
    const auto* f = ndarray_fields(o);
    size_t n = 1;
    size_t size = 1;
    for (int k = 0; k < kNumDTypes; ++k)
      if (api().descr[k] == f->descr) size = size_of(static_cast<DType>(k));
    for (int k = 0; k < f->nd; ++k) n *= static_cast<size_t>(f->shape[k]);
    return std::pair(f->data, f->data + n * size);
  };
  const auto [a_begin, a_end] = bounds(a);
  const auto [b_begin, b_end] = bounds(b);
  return a_begin < b_end && b_begin < a_end;
}

bool is_of_ndarrays(PyObject* o) {
  for (PyObject* base = ndarray_fields(o)->base; base; base = ndarray_fields(base)->base)
    if (Py_TYPE(base) != api().ndarray) return false;
  return true;
}

bool is_in_fortran_order(PyObject* o) {
  const auto* f = ndarray_fields(o);
  return (f->flags & kNdF) && !(f->flags & kNdC) &&
         std::find(f->shape, f->shape + f->nd, 1) == f->shape + f->nd;
}

bool is_empty_in_other_order(PyObject* o) {
  const auto* f = ndarray_fields(o);
  if (f->nd < 2 || std::find(f->shape, f->shape + f->nd, 0) == f->shape + f->nd) return false;
  return !std::is_sorted(f->strides, f->strides + f->nd, std::greater<>());
}

bool fits_ndarray(PyObject* o, const Type& t, uint64_t dims, unsigned order_and_use) {
  const auto order = static_cast<NdOrder>(order_and_use & 1);
  const NumpyApi& a = api();
  if (Py_TYPE(o) != a.ndarray) return false;
  const auto* f = ndarray_fields(o);
  const int wanted = kNdAligned | (order == NdOrder::kC ? kNdC : kNdF);
  if (order_and_use & kNdStored && !is_written_quietly(f->flags)) return false;
  if (f->descr != a.descr[static_cast<int>(t.dtype)] || f->nd != t.shape.rank() ||
      (f->flags & wanted) != wanted)
    return false;
  if (order == NdOrder::kF && !is_in_fortran_order(o)) return false;
  if (is_empty_in_other_order(o)) return false;
  if (f->base && !is_of_ndarrays(o)) return false;
  for (int k = 0; k < f->nd; ++k)
    if (!(dims >> k & 1) && !t.shape[k].same_as(Dim(f->shape[k]))) return false;
  return true;
}

constexpr size_t kSmallNdarray = 4096;  // bytes: where NumPy's own memory and a copy cost less

py::object empty_ndarray(DType t, std::span<const int64_t> shape, std::span<const int> order) {
  const NumpyApi& n = api();
  Shape lies;
  size_t bytes = size_of(t);
  for (int axis : order) {
    const int64_t d = shape[static_cast<size_t>(axis)];
    lies.push_back(d);
    bytes *= static_cast<size_t>(d);
  }
  if (bytes > kSmallNdarray) return new_ndarray(new_array({t, lies}), order);
  Py_ssize_t strides[kMaxRank];
  auto step = static_cast<Py_ssize_t>(size_of(t));
  for (size_t k = order.size(); k-- > 0;) {
    strides[order[k]] = step;
    step *= shape[static_cast<size_t>(order[k])];
  }
  PyObject* made = n.new_from_descr(
      n.ndarray, Py_NewRef(n.descr[static_cast<int>(t)]), static_cast<int>(shape.size()),
      const_cast<Py_ssize_t*>(shape.data()), bytes ? strides : nullptr, nullptr, 0, nullptr);
  if (!made) throw py::error_already_set();
  return py::reinterpret_steal<py::object>(made);
}

py::object ndarray_over(PyObject* descr, std::span<const int64_t> shape, const int64_t* strides,
                        char* data, bool writeable) {
  const NumpyApi& n = api();
  const int flags = kNdAligned | (writeable ? kNdWriteable : 0);
  PyObject* made = n.new_from_descr(n.ndarray, Py_NewRef(descr), static_cast<int>(shape.size()),
                                    const_cast<Py_ssize_t*>(shape.data()),
                                    const_cast<Py_ssize_t*>(strides), data, flags, nullptr);
  if (!made) throw py::error_already_set();
  return py::reinterpret_steal<py::object>(made);
}

py::object new_ndarray(ArrayRef a, std::span<const int> axes) {
  const NumpyApi& n = api();
  const int nd = a->type.shape.rank();
  Py_ssize_t shape[kMaxRank], strides[kMaxRank];
  const auto size = static_cast<Py_ssize_t>(size_of(a->type.dtype));
  const size_t bytes = a->type.bytes();
  Py_ssize_t step = size;
  for (int k = nd - 1; k >= 0; --k) {
    const auto d = static_cast<Py_ssize_t>(int64_t{a->type.shape[k]});
    shape[axes[k]] = d;
    strides[axes[k]] = step;
    step *= d;
  }
  PyObject* const descr = Py_NewRef(n.descr[static_cast<int>(a->type.dtype)]);
  const bool takes = bytes > kSmallNdarray && sole_owner(*a) && !a->storage->device;
  const int flags = kNdAligned | kNdWriteable;
  PyObject* made = n.new_from_descr(n.ndarray, descr, nd, shape, bytes ? strides : nullptr,
                                    takes ? a->data() : nullptr, takes ? flags : 0, nullptr);
  if (!made) throw py::error_already_set();
  auto r = py::reinterpret_steal<py::object>(made);
  auto* f = ndarray_fields(made);
  if (!takes) {
    if (bytes) std::memcpy(f->data, a->data(), bytes);
    return r;
  }
  f->mem_handler = Py_NewRef(n.handler);
  f->flags |= kNdOwnData;
  void* const p = a->data();
  lent()[p] = std::move(a);
  return r;
}

namespace {
// Those of n elements that the mask has, of which there are `count`. Behind the last one nothing is
// written.
template <class T>
void pick(const void* from, const uint8_t* mask, int64_t count, void* to) {
  const T* x = static_cast<const T*>(from);
  T* y = static_cast<T*>(to);
  for (int64_t k = 0; k < count; ++x) {
    y[k] = *x;
    k += *mask++ != 0;
  }
}
}  // namespace

py::object new_ndarray_of_mask(const Array& a, const Array& mask) {
  const auto* m = static_cast<const uint8_t*>(mask.data());
  const int64_t n = mask.type.shape.numel();
  const int64_t count = n - std::count(m, m + n, 0);
  Shape shape{count};
  size_t row = size_of(a.type.dtype);
  for (int k = mask.type.shape.rank(); k < a.type.shape.rank(); ++k) {
    shape.push_back(a.type.shape[k]);
    row *= static_cast<size_t>(int64_t{a.type.shape[k]});
  }
  ArrayRef made = new_array({a.type.dtype, shape});
  if (row == 8) {
    pick<uint64_t>(a.data(), m, count, made->data());
  } else if (row == 4) {
    pick<uint32_t>(a.data(), m, count, made->data());
  } else if (row == 1) {
    pick<uint8_t>(a.data(), m, count, made->data());
  } else {
    const char* from = static_cast<const char*>(a.data());
    char* to = static_cast<char*>(made->data());
    for (int64_t i = 0; i < n; ++i, from += row)
      if (m[i]) {
        std::memcpy(to, from, row);
        to += row;
      }
  }
  std::vector<int> axes(static_cast<size_t>(shape.rank()));
  std::iota(axes.begin(), axes.end(), 0);
  return new_ndarray(std::move(made), axes);
}

py::object new_numpy_scalar(const Array& a) {
  PyObject* o = api().scalar(a.data(), api().descr[static_cast<int>(a.type.dtype)], nullptr);
  if (!o) throw py::error_already_set();
  return py::reinterpret_steal<py::object>(o);
}

uint64_t bits_of_numpy_scalar(PyObject* o) {
  uint64_t bits = 0;
  for (int k = 0; k < kNumDTypes; ++k)
    if (api().scalar_type[k] == Py_TYPE(o))  // the value lies behind the head
      std::memcpy(&bits, reinterpret_cast<char*>(o) + sizeof(PyObject),
                  std::min(size_of(static_cast<DType>(k)), sizeof bits));
  return bits;
}

namespace {
template <class T>
void store(char* to, const char* from, int64_t n, int64_t to_step, int64_t from_step) {
  for (int64_t i = 0; i < n; ++i, to += to_step, from += from_step)
    std::memcpy(to, from, sizeof(T));
}
}  // namespace

void store_in_ndarray(PyObject* array, const Array& value) {
  const auto* f = ndarray_fields(array);
  const auto size = static_cast<int64_t>(size_of(value.type.dtype));
  const int missing = f->nd - value.type.shape.rank();
  int64_t from_steps[kMaxRank] = {}, total = 1;
  bool same = missing == 0;
  int64_t step = size;
  for (int k = f->nd - 1; k >= 0; --k) {
    total *= f->shape[k];
    const int64_t d = k < missing ? 1 : int64_t{value.type.shape[k - missing]};
    same &= d == f->shape[k];
    from_steps[k] = d == 1 ? 0 : step;
    step *= d;
  }
  const char* const from = static_cast<const char*>(value.data());
  if (total == 0) return;
  if (same && f->flags & kNdC) {
    std::memcpy(f->data, from, static_cast<size_t>(total * size));
    return;
  }
  const int inner = f->nd - 1;
  const int64_t n = inner < 0 ? 1 : f->shape[inner];
  const int64_t to_step = inner < 0 ? 0 : f->strides[inner],
                from_step = inner < 0 ? 0 : from_steps[inner];
  int64_t index[kMaxRank] = {};
  for (int64_t row = 0; row < total / n; ++row) {
    char* to = f->data;
    const char* x = from;
    for (int k = 0; k < inner; ++k) {
      to += index[k] * f->strides[k];
      x += index[k] * from_steps[k];
    }
    if (to_step == size && from_step == size)
      std::memcpy(to, x, static_cast<size_t>(n * size));
    else if (size == 16)
      store<std::array<uint64_t, 2>>(to, x, n, to_step, from_step);
    else if (size == 8)
      store<uint64_t>(to, x, n, to_step, from_step);
    else if (size == 4)
      store<uint32_t>(to, x, n, to_step, from_step);
    else if (size == 2)
      store<uint16_t>(to, x, n, to_step, from_step);
    else
      store<uint8_t>(to, x, n, to_step, from_step);
    for (int k = inner - 1; k >= 0 && ++index[k] == f->shape[k]; --k) index[k] = 0;
  }
}

namespace {

// PyArray_ArrFuncs, as NumPy 2 fixes it.
struct ArrayFunctions {
  void *casts[21], *getitem, *setitem, *copyswapn, *copyswap, *compare;
  int (*argmax)(void* row, Py_ssize_t n, Py_ssize_t* place, void*);
  void *dotfunc, *scanfunc, *fromstr, *nonzero, *fill, *fillwithscalar;
  int (*sort[3])(void* row, Py_ssize_t n, void*);
  int (*argsort[3])(void* row, Py_ssize_t* order, Py_ssize_t n, void*);
  void *castdict, *scalarkind, *cancastscalarkindto, *cancastto, *unused[3];
  int (*argmin)(void* row, Py_ssize_t n, Py_ssize_t* place, void*);
};

template <int kKind>
void sort_row(char** at, const std::ptrdiff_t* n, const std::ptrdiff_t*, void* functions) {
  static_cast<ArrayFunctions*>(functions)->sort[kKind](at[0], *n, nullptr);
}
template <int kKind>
void order_row(char** at, const std::ptrdiff_t* n, const std::ptrdiff_t*, void* functions) {
  auto* order = reinterpret_cast<Py_ssize_t*>(at[1]);
  static_cast<ArrayFunctions*>(functions)->argsort[kKind](at[0], order, *n, nullptr);
}
template <bool kLargest>
void extreme_of_row(char** at, const std::ptrdiff_t* n, const std::ptrdiff_t*, void* functions) {
  auto* f = static_cast<ArrayFunctions*>(functions);
  (kLargest ? f->argmax : f->argmin)(at[0], *n, reinterpret_cast<Py_ssize_t*>(at[1]), nullptr);
}

}  // namespace

ForeignLoop row_loop(RowTask task, DType t, int kind) {
  using Get = ArrayFunctions* (*)(const PyObject*);
  const auto get = reinterpret_cast<Get>(api().functions_of_descr);
  ArrayFunctions* const f = get(descr_of(t));
  static constexpr ForeignLoop::Function kSorts[] = {sort_row<0>, sort_row<1>, sort_row<2>},
                                         kOrders[] = {order_row<0>, order_row<1>, order_row<2>};
  switch (task) {
    case RowTask::kSort: return {kSorts[kind], f, "sort"};
    case RowTask::kOrder: return {kOrders[kind], f, "argsort"};
    case RowTask::kLargest: return {extreme_of_row<true>, f, "argmax"};
    case RowTask::kSmallest: break;
  }
  return {extreme_of_row<false>, f, "argmin"};
}

namespace {
struct ErrorModes {
  PyObject *variable, *ignore, *raise;  // for ever
};
constinit OnDemand<ErrorModes> known_modes;
const ErrorModes& error_modes() {
  return known_modes.get([] {
    const py::object umath = python_module("numpy._core.umath");
    auto mode = [&](const char* name) {
      return py::object(
                 umath.attr("_make_extobj")(py::arg("all") = name, py::arg("under") = "ignore"))
          .release()
          .ptr();
    };
    return ErrorModes{py::object(umath.attr("_extobj_contextvar")).release().ptr(), mode("ignore"),
                      mode("raise")};
  });
}
}  // namespace

NumpyErrors::NumpyErrors(Mode mode) {
  const ErrorModes& m = error_modes();
  token_ = PyContextVar_Set(m.variable, mode == kRaise ? m.raise : m.ignore);
  if (!token_) throw py::error_already_set();
}
NumpyErrors::~NumpyErrors() {
  if (PyContextVar_Reset(error_modes().variable, token_) < 0) PyErr_Clear();
  Py_DECREF(token_);
}

// NumPy 2 has them from C. Python code, as np.geterr() is, would run handlers of signals, which may
// raise.
static constinit OnDemand<PyObject*> known_getter;
bool numpy_ignores(unsigned flags) {
  const py::handle getter = known_getter.get([] {
    const py::object core = py::getattr(python_module("numpy"), "_core", py::none());
    const py::object umath = py::getattr(core, "umath", py::none());
    const py::object found = py::getattr(umath, "_get_extobj_dict", py::none());
    return found.is_none() ? numpy_attribute("geterr") : py::object(found).release().ptr();
  });
  const py::object modes = getter();
  auto ignores = [&](unsigned flag, const char* name) {
    return !(flags & flag) || text_of(py::object(modes[name]).ptr()) == "ignore";
  };
  return ignores(kFpDivide, "divide") && ignores(kFpOverflow, "over") &&
         ignores(kFpUnderflow, "under") && ignores(kFpInvalid, "invalid");
}

}  // namespace pijit
