// Where operands and results of statements lie, as NumPy's iterator has it.
#pragma once
#include <array>
#include <memory>
#include <vector>

#include "capture/regions/array_runs.h"

namespace pijit::regions {

// Where operands lie, and their strides along the axes of the result.
struct Places {
  std::array<char*, kMostOperands> at{};
  std::array<int64_t, static_cast<size_t>(kMostOperands) * kMostAxes> strides;
  // False: the shape of one does not fit.
  bool spread(const Statement& s, int rank, const int64_t* dims);
};

int64_t elements_of(int rank, const int64_t* dims);
// The sizes of what operands give together, and where they lie in it. How many elements that has;
// -1: they do not fit.
int64_t spread_operands(const Statement& s, int64_t* dims, Places* p);

// The axes from the outermost in memory to the innermost, as NumPy's iterator orders them for what
// it makes of operands. `strides`: of each one in turn, 0 along axes of one place.
void order_axes(int rank, const int64_t* strides, size_t operands, int* order);
// The order of the result's axes. NumPy makes an array of each step, and the next one follows it.
void order_of_result(const Statement& s, int rank, int* order);

constexpr size_t kMostArrays = 64;  // of a region at a time
// One that nobody reads any more, or a new one; null: there is no memory. `dims`: of its axes,
// which lie in this order, the innermost last.
std::unique_ptr<MadeArray> array_in(Arena* arena, const Statement& s, const int64_t* dims,
                                    const int* order);
int64_t given(Arena* arena, std::unique_ptr<MadeArray> made);

// Operands as ndarrays.
std::vector<py::object> views_of(const Statement& s, const std::vector<PyObject*>& descrs);
// What NumPy gave; null: it is of another kind. Throws the error that is set where there is none.
std::unique_ptr<MadeArray> array_with(const Statement& s, PyObject* object);

}  // namespace pijit::regions
