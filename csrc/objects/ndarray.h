// NumPy's arrays, scalars and ufuncs by their memory, as the C API of NumPy 2 fixes it. Neither its
// headers nor its library are needed to build.
#pragma once
#include <climits>
#include <optional>
#include <span>

#include "base/operators.h"
#include "python/convert.h"
#include "runtime/array.h"
#include "runtime/foreign.h"

namespace pijit {

struct NdarrayFields {
  PyObject_HEAD char* data;
  int nd;
  Py_ssize_t *shape, *strides;  // bytes
  PyObject *base, *descr;
  int flags;
  PyObject* weakrefs;
  void* buffer_info;
  PyObject* mem_handler;
};
inline NdarrayFields* ndarray_fields(PyObject* o) { return reinterpret_cast<NdarrayFields*>(o); }
constexpr int kNdC = 1, kNdF = 2, kNdOwnData = 4, kNdAligned = 0x100, kNdWriteable = 0x400;
constexpr int kNdWarns = INT_MIN;  // where it is written, as results of np.broadcast_arrays are
constexpr bool is_written_quietly(int flags) {
  return (flags & (kNdWriteable | kNdWarns)) == kNdWriteable;
}

// A loop of a ufunc over n elements: where operands lie, n, bytes from one element to the next.
using UfuncLoop = void (*)(char** operands, const Py_ssize_t* n, const Py_ssize_t* steps,
                           void* data);
struct UfuncFields {
  PyObject_HEAD int nin, nout, nargs, identity;
  UfuncLoop* functions;
  void* const* data;
  int ntypes, reserved;
  const char *name, *types;  // ntypes times nargs codes
};
inline UfuncFields* ufunc_fields(PyObject* o) { return reinterpret_cast<UfuncFields*>(o); }

// The first of its loops for which `fits(codes)` holds, of operands and result; -1: none.
template <class Fits>
int ufunc_loop(const UfuncFields* u, Fits fits) {
  for (int k = 0; k < u->ntypes; ++k)
    if (u->functions[k] && fits(u->types + k * u->nargs)) return k;
  return -1;
}
inline void* data_of_loop(const UfuncFields* u, int k) { return u->data ? u->data[k] : nullptr; }

// Is NumPy loaded, and are its objects as they are known here? Not before 2.0, whose numbers change
// the dtype of results by their values.
bool numpy_is_followed();
// Exactly an ndarray, of that NumPy.
extern PyTypeObject* followed_ndarray;  // null until one was met
bool is_first_followed_ndarray(PyObject* o);
// Is its memory NumPy's? Else other objects show it, too, such as a bytearray.
bool is_of_ndarrays(PyObject* o);
inline bool is_followed_ndarray(PyObject* o) {
  return followed_ndarray ? Py_TYPE(o) == followed_ndarray : is_first_followed_ndarray(o);
}
bool is_ufunc(PyObject* o);
// NumPy's own object of that name (borrowed), whatever a program has put in its place since.
PyObject* numpy_attribute(const char* name);
PyObject* find_numpy_attribute(const char* name);  // null: there is none
// By operator: the ufunc's name; null: there is none.
const char* ufunc_of(BinaryOp op);
const char* ufunc_of(CompareOp op);
// Does it add up an array by its loop at once? Before 2.3 it goes by parts of its buffers' size, so
// that sums of longer arrays have another order.
bool numpy_reduces_at_once();
constexpr int64_t kNumpyBuffer = 8192;  // elements
// NumPy's own object for a dtype (borrowed), and back: of no other object, as one with metadata.
PyObject* descr_of(DType t);
std::optional<DType> dtype_of_descr(PyObject* descr);
int descr_number(DType t);  // as tables of loops name it
PyTypeObject* numpy_scalar_type(DType t);

// Which axis comes first in memory, for arrays without gaps.
enum class NdOrder : uint8_t { kC, kF };
constexpr unsigned kNdStored = 2;  // beside an order: it must be writeable
// And not in C order, with all axes of several places: where one of a single place lies among the
// others, its stride decides, which no flag tells.
bool is_in_fortran_order(PyObject* o);
// Of no elements, all arrays are in both orders by their flags; what is made of them follows their
// strides.
bool is_empty_in_other_order(PyObject* o);
// Does an ndarray have this dtype, shape (but for the dims in the bit mask) and order?
bool fits_ndarray(PyObject* o, const Type& t, uint64_t dims, unsigned order);
// Do two arrays share memory, as far as its bounds tell?
bool may_overlap(PyObject* a, PyObject* b);

// A new array over the elements of `a`, whose memory it takes where nobody else has it. `axes`:
// which axis of the array each one of `a` is.
py::object new_ndarray(ArrayRef a, std::span<const int> axes);
// Without values. `order`: the axes as they lie in memory, the outermost first.
py::object empty_ndarray(DType t, std::span<const int64_t> shape, std::span<const int> order);
// A view of memory that outlives it. `strides`: bytes.
py::object ndarray_over(PyObject* descr, std::span<const int64_t> shape, const int64_t* strides,
                        char* data, bool writeable = false);
// a[mask], of a mask of its first axes.
py::object new_ndarray_of_mask(const Array& a, const Array& mask);
py::object new_numpy_scalar(const Array& a);  // of the one element
uint64_t bits_of_numpy_scalar(PyObject* o);   // of a followed dtype
// The elements of `value`, of the same dtype, become those of an ndarray, to whose shape they are
// broadcast.
void store_in_ndarray(PyObject* array, const Array& value);

// What NumPy does with the elements of one row, all of one dtype: it sorts them where they lie,
// gives the order in which they would be sorted, from that of operand 1 on, or the place of the
// largest or smallest one in operand 1. The kinds of sorting are NumPy's: quick, heap, stable.
enum class RowTask : uint8_t { kSort, kOrder, kLargest, kSmallest };
ForeignLoop row_loop(RowTask task, DType t, int kind = 0);

// While it lives, NumPy ignores or raises all floating-point errors but underflow, which it
// ignores.
class NumpyErrors {
 public:
  enum Mode : uint8_t { kIgnore, kRaise };
  explicit NumpyErrors(Mode mode);
  ~NumpyErrors();
  NumpyErrors(const NumpyErrors&) = delete;
  NumpyErrors& operator=(const NumpyErrors&) = delete;

 private:
  PyObject* token_;
};

// Does np.errstate ignore all these flags (runtime/fp_status.h) now?
bool numpy_ignores(unsigned flags);

}  // namespace pijit
