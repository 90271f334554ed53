// What a region's code calls for statements with whole arrays.
#pragma once
#include <memory>
#include <vector>

#include "capture/regions/made.h"
#include "objects/ndarray.h"
#include "runtime/fp_status.h"

namespace pijit::regions {

constexpr int kMostAxes = region::ArrayLoop::kMostAxes;
constexpr int kMostOperands = region::ArrayLoop::kMostOperands;
// What NumPy tells of.
constexpr unsigned kTold = kFpInvalid | kFpDivide | kFpOverflow;

// What code says of an operand, in words one after the other: where its array begins, the bytes
// from there, sizes and strides.
struct Described {
  int rank = 0;
  size_t first = 0;
  char* data(const int64_t* words) const {
    return reinterpret_cast<char*>(words[first]) + words[first + 1];
  }
  const int64_t* sizes(const int64_t* words) const { return words + first + 2; }
  const int64_t* strides(const int64_t* words) const { return sizes(words) + rank; }
  size_t words() const { return 2 + 2 * static_cast<size_t>(rank); }
};

// A step of an expression, which NumPy would give an array of its own: its order of axes follows
// from those of what it is made of.
struct LayoutStep {
  int operand = -1;  // it is one
  int64_t itemsize = 0;
  std::vector<int> made;  // else of which steps
};

struct Statement {
  std::unique_ptr<region::ArrayLoop> loop;
  // Of one that stores, the last one is the result.
  std::vector<Described> operands;
  std::vector<int64_t> words;
  bool flags = false;    // it may raise one of IEEE's exceptions
  bool copies = false;   // and computes nothing
  int64_t itemsize = 0;  // of the result
  // Of a ufunc's own loop. The region keeps the objects.
  PyObject* ufunc = nullptr;
  std::vector<PyObject*> descrs;  // of the operands
  // Of one that makes an array:
  DType dtype = DType::F64;
  char format = 0;
  int rank = 0;
  std::vector<LayoutStep> layout;  // the last one is the result
};

// The product of two vectors, by NumPy's own loop.
struct Product {
  UfuncLoop loop;
  void* data;
  Described a, b;
  std::array<int64_t, 8> words;
  bool is_dot = false;  // np.dot(), which copies some operands and tells of nothing
  bool fast = false;    // numerics
  DType dtype = DType::F64;
  int64_t itemsize = 0;
  alignas(16) std::array<char, 16> result;
};

// The product of matrices, or of one and a vector, by NumPy's own loop.
struct MatrixProduct {
  UfuncLoop loop;
  void* data;
  Statement made;     // its operands and result
  bool fast = false;  // numerics
};

// x[places] of one axis, or x[mask].
struct Gather {
  Statement made;                 // the same
  std::vector<PyObject*> descrs;  // of both. The region keeps them
  bool is_mask = false;
  bool wide = false;  // places are of 64 bits
};

// np.roll() along one axis.
struct Roll {
  Statement made;
  int axis = 0;
  int64_t shift = 0;  // code writes it
};

// Of type region::CallOut; the first argument is a Statement or Product. Not 0: CPython is to do
// it, as shapes do not fit, or NumPy has something to tell. Then nothing was stored.
int64_t run_statement(int64_t statement, int64_t, int64_t);
int64_t run_product(int64_t product, int64_t, int64_t);
// A MadeArray of the arena; 0: CPython is to do it.
int64_t make_array(int64_t statement, int64_t arena, int64_t);
int64_t make_product(int64_t product, int64_t arena, int64_t);
int64_t make_gathered(int64_t gather, int64_t arena, int64_t);
int64_t make_rolled(int64_t roll, int64_t arena, int64_t);
// No variable holds them and nothing else reads them: others may take their place.
int64_t let_go_of_arrays(int64_t arena, int64_t, int64_t);

// No exception passes through a region's code: CPython does what could not be done.
template <class F>
int64_t guarded(int64_t failed, F f) {
  try {
    return f();
  } catch (const std::exception&) {
    return failed;
  }
}

}  // namespace pijit::regions
