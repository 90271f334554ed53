#include "objects/tensor.h"

#include <structmember.h>

#include <algorithm>
#include <bit>
#include <cstring>

#include "eager/tape.h"
#include "objects/bytes_view.h"
#include "objects/data.h"
#include "objects/dtype.h"
#include "objects/errors.h"
#include "objects/index.h"
#include "objects/operands.h"
#include "objects/slot.h"
#include "objects/views.h"
#include "runtime/device.h"

namespace pijit {

PyTypeObject* tensor_type;

PyObject* new_tensor(ArrayRef a) {
  PyObject* o = tensor_type->tp_alloc(tensor_type, 0);
  if (!o) throw py::error_already_set();
  auto* t = reinterpret_cast<TensorObject*>(o);
  new (&t->array) ArrayRef(std::move(a));
  return o;
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

// Whether Tensor(shape=...) names sizes that are not known: a description, not a value.
bool describes(PyObject* args, PyObject* kwargs) {
  if (!kwargs || PyTuple_GET_SIZE(args) != 0) return false;
  PyObject* shape = PyDict_GetItemString(kwargs, "shape");
  if (!shape || PyDict_GetItemString(kwargs, "input_data")) return false;
  if (shape == Py_None) return PyDict_GetItemString(kwargs, "dtype") != nullptr;
  if (!PyList_Check(shape) && !PyTuple_Check(shape)) return false;
  for (Py_ssize_t k = 0; k < PySequence_Fast_GET_SIZE(shape); ++k) {
    PyObject* n = PySequence_Fast_GET_ITEM(shape, k);
    if (n == Py_None || !PyIndex_Check(n)) return true;
    int overflow = 0;
    if (PyLong_Check(n) && PyLong_AsLongAndOverflow(n, &overflow) == -1 && !overflow) return true;
  }
  return false;
}

PyObject* tensor_new(PyTypeObject* type, PyObject* args, PyObject* kwargs) {
  if (type == tensor_type && describes(args, kwargs)) {
    PIJIT_SLOT({
      const py::handle f = python_module("pijit.symbol").attr("placeholder");
      return py::object(f(**py::reinterpret_borrow<py::dict>(kwargs))).release().ptr();
    })
  }
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
        for (auto n : argument<py::sequence>("Tensor", "shape", shape))
          dims.push_back(integer("Tensor", "an element of shape", n));
      OP_CHECK(dims.size() <= static_cast<size_t>(kMaxRank), kValue, "[Tensor] shape has ",
               dims.size(), " dimensions; at most ", kMaxRank, " are possible");
      double elements = 1;
      for (auto d : dims) {
        OP_CHECK(d >= 0, kValue, "[Tensor] negative dimension ", d);
        elements *= static_cast<double>(d);
      }
      OP_CHECK(elements < 1e15, kValue, "[Tensor] shape has too many elements");
      ArrayRef a = new_array(Type{t.value_or(DType::F32), Shape(dims)});
      std::memset(a->data(), 0, a->type.bytes());
      if (init != Py_None) {
        py::tuple sizes(dims.size());
        for (size_t k = 0; k < dims.size(); ++k) sizes[k] = dims[k];
        py::object filled =
            python_module("pijit.initializer")
                .attr("fill")(py::handle(init), sizes, py::handle(dtype_object(a->type.dtype)));
        a = array_from(filled.ptr(), a->type.dtype);
      }
      leave_buffer(self_t);
      self_t->array = array_on(a, where.value_or(default_device()));
    } else {
      leave_buffer(self_t);
      self_t->array = array_from(data, t);
      if (where) self_t->array = moved(self_t->array, *where);
      if (is_tensor(data) && Py_TYPE(self) == tensor_type &&
          self_t->array.get() == array_of(data).get())
        make_view(self, data, layout_of(data));
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
  leave_buffer(t);
  if (t->weakrefs) PyObject_ClearWeakRefs(o);
  t->array.~ArrayRef();
  type->tp_free(o);
  Py_DECREF(type);
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
// Raises ValueError where a check refuses one element's value of a batch.
template <class F>
void as_value_error(F check) {
  try {
    check();
  } catch (const OpError& e) {
    throw OpError(OpError::kValue, e.what());
  }
}
// Whether a branch on it means the same for all elements of a batch.
void check_truth(const Array& a) {
  if (a.of_one_element) Tape::check_read(&a);  // outside of the mapped function: nothing to decide
  as_value_error([&] { Tape::check_read(&a); });
}
int tensor_bool(PyObject* x) {
  if (!array_of(x)->type.device.is_cpu()) {
    PyObject* here = nullptr;
    try {
      check_truth(*array_of(x));
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
    check_truth(a);
  } catch (...) {
    return raise_current_exception(), -1;
  }
  const char* p = static_cast<const char*>(a.data());
  const size_t size = size_of(a.type.dtype);
  if (is_half(a.type.dtype)) {
    uint16_t h;
    std::memcpy(&h, p, 2);
    return (h & 0x7fff) != 0;
  }
  if (is_complex(a.type.dtype)) {  // -0.0 is false as well
    const bool single = a.type.dtype == DType::C64;
    for (int k : {0, 1})
      if (single ? static_cast<const float*>(a.data())[k] != 0
                 : static_cast<const double*>(a.data())[k] != 0)
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
    // A view may show what a store brings to a whole: few wholes of views are kept in any case.
    constexpr size_t kFew = 4;
    auto shown = [&](PyObject* o) {
      const auto among = [&](PyObject* other) { return in_one_buffer(o, other); };
      const auto known = std::count_if(chain.begin(), chain.end(), among) + among(part);
      return is_viewed(o) &&
             (chain.size() <= kFew || static_cast<size_t>(known) < tensors_in_buffer(o));
    };
    while (chain.size() > 1 && Py_REFCNT(chain.back()) == 1 && !shown(chain.back())) {
      chain.pop_back();
      forget_whole(chain.back());
    }
    t->depth = chain.size();
  }
  t->whole = Py_NewRef(whole);
  t->place = Py_NewRef(place);
}

namespace {

PyObject* tensor_getitem(PyObject* x, PyObject* index){PIJIT_SLOT({
  if (index == Py_Ellipsis && Py_TYPE(x) == tensor_type) return Py_NewRef(x);
  EagerBuilder b;
  const Val v = b.wrap(array_of(x));
  std::vector<IndexItem> items;
  parse_eager_index(b, index, array_of(x)->type.device, &items);
  PyObject* part = new_tensor(b.array(index_get(b, v, items)));
  make_view(part, x, items);
  if (index != Py_None) make_part(part, x, index);
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
    make_view(part, x, std::span(&it, 1));
    make_part(part, x, py::int_(i).ptr());
    return part;
  })
}
// Parameters outlive a mapped function, so one element's value must not get into them.
void check_stored(PyObject* x, const ArrayRef& value) {
  if (Py_TYPE(x) != tensor_type)
    as_value_error([&] { Tape::check_stored(array_of(x).get(), value.get()); });
}
// A value of its own, and one for all that share the elements.
void replace(PyObject* x, ArrayRef value) {
  check_stored(x, value);
  leave_buffer(object_of(x));
  array_of(x) = std::move(value);
}
void assign(PyObject* x, ArrayRef value) {
  if (!is_viewed(x) || records()) return replace(x, std::move(value));
  check_stored(x, value);
  store_in_buffer(object_of(x), value);
}
// x[index] = value
void set_item(EagerBuilder& b, PyObject* x, PyObject* index, Val value) {
  if (is_tensor(index) && is_bool(array_of(index)->type.dtype))
    if (const auto made = masked_set(b.wrap(array_of(x)), b.wrap(array_of(index)), value))
      return replace(x, b.array(*made));
  std::vector<IndexItem> items;
  parse_eager_index(b, index, array_of(x)->type.device, &items);
  const ArrayRef made = b.array(index_set(b, b.wrap(array_of(x)), items, value));
  // Where gradients are recorded, it gets a value of its own.
  if (!is_viewed(x) || records()) return replace(x, made);
  check_stored(x, made);
  if (!store_in_buffer(object_of(x), made, items)) replace(x, made);
}
int tensor_setitem(PyObject* x, PyObject* index, PyObject* value) {
  if (!value) return PyErr_SetString(PyExc_TypeError, "cannot delete tensor elements"), -1;
  try {
    EagerBuilder b;
    auto o = to_operand(b, value);
    OP_CHECK(o, kType, "[setitem] cannot assign a ", Py_TYPE(value)->tp_name,
             " to tensor elements");
    set_item(b, x, index, materialize(b, *o, o->weak() ? array_of(x)->type.dtype : o->dtype()));
    for (PyObject* part = x; is_part(part); part = object_of(part)->whole) {
      PyObject* whole = object_of(part)->whole;
      if (in_one_buffer(part, whole) && Tape::active().empty()) continue;  // it is there already
      EagerBuilder up;
      set_item(up, whole, object_of(part)->place, up.wrap(array_of(part)));
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
ArrayRef assigned(PyObject* x, PyObject* value) {
  const Type& t = array_of(x)->type;
  ArrayRef v = array_from(value, t.dtype);
  OP_CHECK(v->type.shape == t.shape, kValue, "[assign] a tensor of shape ", t.shape.str(),
           " cannot take a value of shape ", v->type.shape.str());
  return moved(v, t.device);
}
PyObject* tensor_assign(PyObject* x, PyObject* value){PIJIT_SLOT({
  assign(x, assigned(x, value));
  return Py_NewRef(x);
})}  // The same, but views of it keep what they have.
PyObject* tensor_renew(PyObject* x, PyObject* value){PIJIT_SLOT({
  replace(x, assigned(x, value));
  return Py_NewRef(x);
})}  // With another shape or dtype allowed, too.
PyObject* tensor_replace(PyObject* x, PyObject* value){PIJIT_SLOT({
  replace(x, array_from(value, std::nullopt));
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
// The same value under an identity that is this Tensor's alone.
PyObject* tensor_renew_identity(PyObject* x, PyObject*) {
  PyObject* alias = tensor_alias(x, nullptr);
  if (!alias) return nullptr;
  static std::atomic<uint64_t> turns{0};
  ArrayRef& a = array_of(alias);
  a->bearer = x;
  a->turn = ++turns;
  array_of(x) = a;
  Py_DECREF(alias);
  Py_RETURN_NONE;
}
PyObject* tensor_view(PyObject* x, PyObject*){PIJIT_SLOT({
  PyObject* r = new_tensor(array_of(x));
  make_view(r, x, layout_of(x));
  return r;
})}  // The last dimension has as many elements of the dtype as its bytes make.
PyObject* tensor_bytes_as(PyObject* x, PyObject* dtype){PIJIT_SLOT({
  const ArrayRef& a = array_of(x);
  Tape::check_read(a.get());
  Type t = a->type;
  t.dtype = *dtype_of(dtype);
  const auto size = [](DType d) { return static_cast<int64_t>(size_of(d)); };
  if (const int last = t.shape.rank() - 1; last >= 0 && size(t.dtype) != size(a->type.dtype)) {
    OP_CHECK(
        layout_of(x).strides[last] == 1 || t.shape[last] == 1, kValue,
        "[view] the last dimension's elements have to be neighbours to be seen in another size; "
        "call contiguous() first");
    t.shape[last] = t.shape[last] * size(a->type.dtype) / size(t.dtype);
  }
  PyObject* r = new_tensor(alias_array(a, t));
  make_view_of_bytes(r, x);
  return r;
})} PyObject* tensor_contiguous(PyObject* x, PyObject*) {
  if (is_contiguous(x)) return Py_NewRef(x);
  PIJIT_SLOT(return new_tensor(array_of(x));)
}
PyObject* tensor_layout(PyObject* x, PyObject*){PIJIT_SLOT({
  const Layout l = layout_of(x);
  py::list strides;
  for (int k = 0; k < l.shape.rank(); ++k) strides.append(l.strides[k]);
  return py::make_tuple(strides, l.offset, is_contiguous(x)).release().ptr();
})} PyObject* tensor_held(PyObject* x, PyObject*) {
  PIJIT_SLOT(return new_tensor(array_of(x));)
}
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
  view->buf = a->data();
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
    {"_renew", tensor_renew, METH_O, "The same, but views of it keep what they have."},
    {"_view", tensor_view, METH_NOARGS, "A view of all elements."},
    {"_bytes_as", tensor_bytes_as, METH_O, "A view of the bytes as elements of a dtype."},
    {"_contiguous", tensor_contiguous, METH_NOARGS, "Itself, or a copy of a view with gaps."},
    {"_layout", tensor_layout, METH_NOARGS,
     "(elements between neighbours, per dimension; which element of what it is a view of comes "
     "first; whether they lie side by side)"},
    {"_replace", tensor_replace, METH_O, "Takes another value."},
    {"_renew_identity", tensor_renew_identity, METH_NOARGS,
     "The same value under an identity that is this tensor's alone."},
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
    {"strides", tensor_strides, nullptr,
     "bytes to step in each dimension of the value, as an array has them", nullptr},
    {"device", tensor_device, nullptr, "name of the device that holds the data, as 'CPU'", nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr}};
PyMemberDef tensor_members[] = {
    {"__weaklistoffset__", T_PYSSIZET, offsetof(TensorObject, weakrefs), READONLY, nullptr},
    {nullptr, 0, 0, 0, nullptr}};
// By identity, subclasses' too.
Py_hash_t tensor_hash(PyObject* o) {
  return static_cast<Py_hash_t>(reinterpret_cast<uintptr_t>(o) >> 4);
}

const char tensor_doc[] =
    "Tensor(input_data=None, dtype=None, shape=None, init=None, const_arg=False, device=None)\n"
    "--\n\n"
    "An array of numbers, with MindSpore's API.\n\n"
    "input_data is a number, a list or tuple of them (nested for more dimensions), an array of\n"
    "NumPy, whose elements are copied, or a Tensor. Where it is None, shape, dtype and init say\n"
    "what is made.";
PyType_Slot tensor_slots[] = {{Py_tp_doc, const_cast<char*>(tensor_doc)},
                              SLOT(Py_tp_new, tensor_new),
                              SLOT(Py_tp_init, tensor_init),
                              SLOT(Py_tp_dealloc, tensor_dealloc),
                              SLOT(Py_tp_methods, tensor_methods),
                              SLOT(Py_tp_getset, tensor_getset),
                              SLOT(Py_tp_members, tensor_members),
                              SLOT(Py_tp_richcompare, tensor_compare),
                              SLOT(Py_tp_hash, tensor_hash),
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

}  // namespace

PyTypeObject* make_tensor_type() {
  tensor_type =
      reinterpret_cast<PyTypeObject*>(checked(PyType_FromSpec(&tensor_spec)).release().ptr());
  return tensor_type;
}

}  // namespace pijit
