// DLPack: data that this library and others hold together, by the structs of its binary interface
// (version 1, and the one before versions). Arrays are values: who gets one may read it, not write
// it. Version 1 can say so, and memory is shared; before, a copy leaves.
#include <pybind11/numpy.h>

#include "bindings/bindings.h"
#include "eager/tape.h"
#include "objects/objects.h"
#include "runtime/packed.h"
#include "runtime/queue.h"

namespace pijit {
namespace {

struct DLDevice {
  int32_t type, id;
};
enum : int32_t { kCpu = 1, kCuda = 2, kCudaHost = 3, kCudaManaged = 13 };
struct DLType {
  uint8_t code, bits;
  uint16_t lanes;
};
enum : uint8_t { kInt = 0, kUInt = 1, kFloat = 2, kBfloat = 4, kComplex = 5, kBool = 6 };
struct DLTensor {
  void* data;
  DLDevice device;
  int32_t rank;
  DLType dtype;
  int64_t* shape;
  int64_t* strides;  // in elements; null: row-major
  uint64_t byte_offset;
};
struct Unversioned {
  static constexpr const char* kName = "dltensor";
  static constexpr const char* kUsed = "used_dltensor";
  DLTensor tensor;
  void* context;
  void (*deleter)(Unversioned*);
};
struct Versioned {
  static constexpr const char* kName = "dltensor_versioned";
  static constexpr const char* kUsed = "used_dltensor_versioned";
  uint32_t major, minor;
  void* context;
  void (*deleter)(Versioned*);
  uint64_t flags;
  DLTensor tensor;
};
enum : uint64_t { kReadOnly = 1, kIsCopy = 2 };

template <class... A>
[[noreturn]] void refuse(const A&... a) {
  throw py::buffer_error(str_cat("[dlpack] ", a...));
}

DLType type_of(DType t) {
  const auto bits = static_cast<uint8_t>(8 * size_of(t));
  switch (info(t).kind) {
    case kBoolKind: return {kBool, 8, 1};
    case kIntKind: return {kInt, bits, 1};
    case kUIntKind: return {kUInt, bits, 1};
    case kFloatKind: return {t == DType::BF16 ? kBfloat : kFloat, bits, 1};
    case kComplexKind: return {kComplex, bits, 1};
  }
  throw InternalError("no such kind");
}
DType dtype_of(DLType t) {
  for (int k = 0; k < kNumDTypes; ++k) {
    const DLType own = type_of(static_cast<DType>(k));
    if (own.code == t.code && own.bits == t.bits && own.lanes == t.lanes)
      return static_cast<DType>(k);
  }
  refuse("no dtype holds elements of code ", int{t.code}, ", ", int{t.bits}, " bits and ",
         int{t.lanes}, " lanes");
}

// --- Out

template <class Managed>
py::object capsule_of(ArrayRef a, uint64_t flags) {
  struct Given {
    ArrayRef keep;
    int64_t shape[kMaxRank], strides[kMaxRank];
    Managed managed;
  };
  lend(*a->storage);  // who does not know of read-only data may write it
  auto* g = new Given{std::move(a), {}, {}, {}};
  const Type& t = g->keep->type;
  const auto strides = t.shape.strides();
  for (int d = 0; d < t.shape.rank(); ++d) g->shape[d] = t.shape[d], g->strides[d] = strides[d];
  g->managed.tensor = {g->keep->data(),
                       {t.device.is_cpu() ? kCpu : kCuda, 0},
                       t.shape.rank(),
                       type_of(t.dtype),
                       g->shape,
                       g->strides,
                       0};
  g->managed.context = g;
  g->managed.deleter = [](Managed* m) { delete static_cast<Given*>(m->context); };
  if constexpr (std::is_same_v<Managed, Versioned>) g->managed.major = 1, g->managed.flags = flags;
  PyObject* c = PyCapsule_New(&g->managed, Managed::kName, [](PyObject* c) {
    if (!PyCapsule_IsValid(c, Managed::kName)) return;  // somebody has taken it
    auto* m = static_cast<Managed*>(PyCapsule_GetPointer(c, Managed::kName));
    m->deleter(m);
  });
  if (!c) {
    delete g;
    throw py::error_already_set();
  }
  return py::reinterpret_steal<py::object>(c);
}

ArrayRef copied(const ArrayRef& a) {
  ArrayRef r = new_array(a->type);
  device(a->type.device).copy(r->data(), a->data(), a->type.bytes());
  return r;
}

py::object to_dlpack(const std::vector<py::object>& args) {
  const py::object &x = args[0], &stream = args[1], &version = args[2], &to = args[3],
                   &copy = args[4];
  OP_CHECK(is_tensor(x.ptr()), kType, "[to_dlpack] expected a Tensor, got ",
           Py_TYPE(x.ptr())->tp_name);
  ArrayRef a = array_of(x.ptr());
  Tape::check_read(a.get());
  const bool may_copy = copy.is_none() || argument<bool>("__dlpack__", "copy", copy);
  bool is_copy = !copy.is_none() && may_copy;
  Device& own = device(a->type.device);
  if (!to.is_none()) {
    const auto wanted = argument<std::vector<int64_t>>("__dlpack__", "dl_device", to);
    if (wanted.size() != 2 || wanted[1] != 0 || (wanted[0] != kCpu && wanted[0] != kCuda))
      refuse("there is no device ", shown(to));
    if ((wanted[0] == kCpu) != own.is_host()) {
      if (wanted[0] != kCpu) refuse("use Tensor.to to move data to the GPU");
      if (!may_copy) refuse("data of another device cannot be given without a copy");
      a = array_on(a, {});
      is_copy = true;
    }
  }
  bool versioned = false;
  if (!version.is_none()) {
    const auto most = argument<std::vector<int64_t>>("__dlpack__", "max_version", version);
    OP_CHECK(most.size() == 2, kValue,
             "[__dlpack__] max_version must be two numbers, (major, minor), got ", shown(version));
    versioned = most[0] >= 1;
  }
  if (!versioned && !may_copy)
    refuse(
        "without a copy, memory can be given to be read alone, which takes DLPack 1.0: ask with "
        "max_version=(1, 0)");
  if ((!versioned || is_copy) && a.get() == array_of(x.ptr()).get()) {
    a = copied(a);
    is_copy = true;
  }
  Device& at = device(a->type.device);
  if (at.is_host()) {
    OP_CHECK(stream.is_none(), kValue,
             "[__dlpack__] the CPU has no streams, got stream=", shown(stream));
  } else {
    const int64_t s = stream.is_none() ? 1 : argument<int64_t>("__dlpack__", "stream", stream);
    OP_CHECK(s != 0 && s >= -1, kValue,
             "[__dlpack__] stream must be -1, 1, 2 or a stream's address, got ", s);
    if (auto* queue = queue_of(at.id); queue && s != -1) queue->hold(reinterpret_cast<void*>(s));
  }
  const uint64_t flags = is_copy ? kIsCopy : kReadOnly;
  return versioned ? capsule_of<Versioned>(std::move(a), flags)
                   : capsule_of<Unversioned>(std::move(a), flags);
}

// --- In

// Where elements lie must be addresses: beyond that, how long the memory is, is not told.
void check_extent(const DLTensor& t, size_t bytes) {
  if (bytes == 0) return;
  if (!t.data) refuse("a tensor of ", bytes, " bytes without data");
  const auto outside = [] { refuse("its elements lie outside of any memory"); };
  constexpr uint64_t kFar = uint64_t{1} << 57;  // no program's address is as high
  const auto start = reinterpret_cast<uintptr_t>(t.data);
  uintptr_t first = 0;
  if (bytes > kFar || t.byte_offset > kFar ||
      __builtin_add_overflow(start, static_cast<uintptr_t>(t.byte_offset), &first))
    outside();
  const int64_t size = t.dtype.bits / 8;
  int64_t low = 0, high = size;  // in bytes from the first element
  if (!t.strides) high = static_cast<int64_t>(bytes);
  for (int d = 0; t.strides && d < t.rank; ++d) {
    int64_t reach = 0;
    if (__builtin_mul_overflow(t.shape[d] - 1, t.strides[d], &reach) ||
        __builtin_mul_overflow(reach, size, &reach) ||
        __builtin_add_overflow(reach, reach < 0 ? low : high, reach < 0 ? &low : &high))
      outside();
  }
  uintptr_t end = 0;
  if (first < static_cast<uintptr_t>(-low) ||
      __builtin_add_overflow(first, static_cast<uintptr_t>(high), &end) || end > kFar)
    outside();
}

// Shared data, or a copy of it; `taken` is what `tensor` is part of.
template <class Managed>
ArrayRef array_of_managed(PyObject* capsule, const py::object& copy) {
  auto* m = static_cast<Managed*>(PyCapsule_GetPointer(capsule, Managed::kName));
  bool own = false;
  if constexpr (std::is_same_v<Managed, Versioned>) {
    if (m->major != 1) refuse("version ", m->major, " is not known here");
    own = m->flags & kIsCopy;  // nobody else writes it
  }
  const DLTensor& t = m->tensor;
  Type type{dtype_of(t.dtype), {}};
  if (t.rank < 0 || t.rank > kMaxRank)
    refuse("tensors have at most ", kMaxRank, " dimensions, got ", t.rank);
  if (t.rank > 0 && !t.shape) refuse("a tensor of ", t.rank, " dimensions without sizes");
  for (int d = 0; d < t.rank; ++d) {
    if (t.shape[d] < 0) refuse("sizes must not be negative, got ", t.shape[d]);
    type.shape.push_back(t.shape[d]);
  }
  check_extent(t, type.bytes());
  switch (t.device.type) {
    case kCpu:
    case kCudaHost: break;
    case kCuda:
    case kCudaManaged:
      if (t.device.id != 0) refuse("data lies on GPU ", t.device.id, ", and GPU 0 is used");
      type.device = find_device("from_dlpack", "GPU");
      break;
    default: refuse("data lies on a device of kind ", t.device.type);
  }
  // (an empty tensor may have no data at all)
  char* const data = t.data ? static_cast<char*>(t.data) + t.byte_offset : nullptr;
  const auto strides = type.shape.strides();
  bool dense = true;
  for (int d = 0; t.strides && d < t.rank; ++d)
    dense &= t.strides[d] == strides[d] || type.shape[d] == 1;
  dense |= type.shape.numel() == 0;
  const bool aligned = reinterpret_cast<uintptr_t>(data) % size_of(type.dtype) == 0;
  const bool may_share = copy.is_none() ? own : !argument<bool>("from_dlpack", "copy", copy);
  if (!copy.is_none() && may_share && !(dense && aligned))
    refuse(dense ? "data that is not aligned" : "data that is not row-major",
           " cannot be taken without a copy");
  auto take = [&] { PyCapsule_SetName(capsule, Managed::kUsed); };
  auto finish = [](void* p) {
    auto* m = static_cast<Managed*>(p);
    if (m->deleter) m->deleter(m);
  };
  if (may_share && dense && aligned && type.shape.numel() != 0) {
    ArrayRef r = new_external_array(type, data, finish, m);
    lend(*r->storage);
    take();
    return r;
  }
  ArrayRef r = new_array(type);
  if (type.shape.numel() != 0) {
    Device& at = device(type.device);
    if (dense) {
      at.copy(r->data(), data, type.bytes());
    } else {  // element by element, of the host's memory
      if (!at.is_host()) refuse("data on a GPU must be row-major");
      const size_t size = size_of(type.dtype);
      int64_t index[kMaxRank] = {};
      auto* to = static_cast<char*>(r->data());
      for (int64_t n = type.shape.numel(); n > 0; --n, to += size) {
        int64_t offset = 0;
        for (int d = 0; d < t.rank; ++d) offset += index[d] * t.strides[d];
        std::memcpy(to, data + offset * static_cast<int64_t>(size), size);
        for (int d = t.rank - 1; d >= 0 && ++index[d] == type.shape[d]; --d) index[d] = 0;
      }
    }
    at.synchronize();  // before the data goes
  }
  take();
  finish(m);
  return r;
}

py::object from_dlpack(const std::vector<py::object>& args) {
  const py::object &x = args[0], &copy = args[1];
  py::object capsule = x;
  if (!PyCapsule_CheckExact(x.ptr())) {
    OP_CHECK(
        py::hasattr(x, "__dlpack__") && py::hasattr(x, "__dlpack_device__"), kType,
        "[from_dlpack] expected an object with __dlpack__ and __dlpack_device__, or a capsule, "
        "got ",
        Py_TYPE(x.ptr())->tp_name);
    py::dict how;
    const auto where =
        argument<py::tuple>("from_dlpack", "__dlpack_device__()", x.attr("__dlpack_device__")());
    OP_CHECK(where.size() == 2, kValue,
             "[from_dlpack] __dlpack_device__() must be (kind, number), got ", shown(where));
    const int64_t kind = integer("from_dlpack", "the kind of device", where[0]);
    if (kind == kCuda || kind == kCudaManaged) {
      if (const auto* queue = queue_of(find_device("from_dlpack", "GPU")))
        how["stream"] = py::int_(reinterpret_cast<intptr_t>(queue->handle()));
    }
    py::dict newer = how.attr("copy")();
    newer["max_version"] = py::make_tuple(1, 0);
    try {
      capsule = x.attr("__dlpack__")(**newer);
    } catch (py::error_already_set& e) {
      if (!e.matches(PyExc_TypeError)) throw;
      capsule = x.attr("__dlpack__")(**how);  // it knows of no versions
    }
  }
  ArrayRef a;
  if (PyCapsule_IsValid(capsule.ptr(), Versioned::kName))
    a = array_of_managed<Versioned>(capsule.ptr(), copy);
  else if (PyCapsule_IsValid(capsule.ptr(), Unversioned::kName))
    a = array_of_managed<Unversioned>(capsule.ptr(), copy);
  else
    throw OpError(OpError::kValue,
                  "[from_dlpack] expected a capsule of DLPack that nobody has taken yet");
  return py::reinterpret_steal<py::object>(new_tensor(std::move(a)));
}

}  // namespace

void init_dlpack(py::module_& m) {
  define(m, "to_dlpack", {{"x"}, {"stream"}, {"max_version"}, {"dl_device"}, {"copy"}}, to_dlpack);
  define(m, "from_dlpack", {{"x"}, {"copy"}}, from_dlpack);
}

}  // namespace pijit
