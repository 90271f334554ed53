// Ufuncs and products of ndarrays, as ops of the graph whose bits are NumPy's: what functions of
// NumPy are made of (capture/numpy.cc). Declared for all: capture/values/ndarray.h.
#pragma once
#include <optional>
#include <vector>

#include "capture/values/ndarray.h"

namespace pijit {

// One operand: an array, a number with a dtype, or a Python number, which takes that of the others.
struct Given {
  V v;
  NdarrayValue* array = nullptr;
  Val number;       // of a NumPy scalar or a bool
  py::object weak;  // int or float: the class
  py::object spec;  // for resolve_dtypes
  int rank() const { return array ? array->rank() : 0; }
};

bool is_followed(DType t);
std::optional<Given> given(Context& c, const V& v);
bool in_c_order(const Given& g);
// How NumPy lays out what a function makes of such operands: axes in the order of memory.
std::vector<int> order_of(Context& c, const py::object& function, const std::vector<Given>& all,
                          const std::vector<DType>& types, int rank);
// The operands in these dtypes and this order, as the graph's.
std::vector<Val> values_of(Context& c, const std::vector<Given>& all,
                           const std::vector<DType>& types, const std::vector<int>& axes);
// In another dtype. A bool of NumPy's may be any byte that is not 0.
Val numpy_cast(Val x, DType t);
// The loop of a ufunc for these dtypes, which its own table has; none: another library's, or one
// that may raise Python's exceptions, as no thread of ours can.
std::optional<int64_t> loop_for(PyObject* ufunc, const std::vector<DType>& types, DType out);
// NumPy's cast of floats to integers; none: it does otherwise where they are out of range.
std::optional<int64_t> truncation_for(DType from, DType to);
// Are the elements of an array or a view beside one another in memory? New axes have a stride of 0,
// which BLAS does not take.
bool has_no_gaps(Context& c, NdarrayValue* a, bool new_axes = false);
// Is what NumPy makes in the order of this array in C order? Of axes with one place the stride
// decides, where there are gaps.
bool is_kept_in_c_order(Context& c, NdarrayValue* a);

}  // namespace pijit
