// What regions read of objects, and what they make of numbers again.
#pragma once
#include <cstring>
#include <optional>

#include "capture/regions/region.h"

namespace pijit {

inline int64_t bits_of(double x) {
  int64_t b;
  std::memcpy(&b, &x, sizeof b);
  return b;
}
inline double real_of(int64_t bits) {
  double x;
  std::memcpy(&x, &bits, sizeof x);
  return x;
}
bool as_int64(PyObject* o, int64_t* n);

// The kind of an object that is a number and fits into a word, which it gives.
std::optional<RegionKind> number_kind(const Region& r, PyObject* o, int64_t* word);
// The object of such a kind.
py::object number_object(const Region& r, RegionKind kind, int64_t word);
// The same of complex numbers, which take two words.
std::optional<RegionKind> complex_kind(const Region& r, PyObject* o, int64_t* words);
py::object complex_object(const Region& r, RegionKind kind, const int64_t* words);
inline bool is_complex(RegionKind kind) {
  const regions::Dtype* d = regions::dtype_of(kind);
  return kind == RegionKind::kComplex || (d && d->base == RegionKind::kComplex);
}
bool is_tuple_of_numbers(PyObject* o, int deep = 0);  // or of such tuples
bool is_bytes(PyObject* o);                           // or a bytearray
bool is_narrow_text(PyObject* o);                     // a str of characters below 256
// NumPy's code for the elements of a buffer; 0: it has no single one.
char format_of(const Py_buffer& b);

// An iterator over a range of machine integers, taken apart.
struct RangeState {
  int64_t next, left, step;
};
std::optional<RangeState> range_state(PyObject* iterator);

// An iterator over an array, a list, a tuple, bytes or a str, which nobody else holds, taken apart;
// null: it is something else.
struct IteratorPlace {
  PyObject* over = nullptr;  // borrowed
  int64_t next = 0;
};
IteratorPlace iterator_place(PyObject* iterator);

PyObject* fetch(const RegionSource& s, const Region::Frame& f);  // borrowed; null: nothing is there

// Nothing runs where it dies, nor can others tell when.
bool is_quiet(PyObject* o, int depth = 2);

// Of all that NumPy may be told to warn of, code does not look for this.
bool underflow_is_ignored(const Region& r);

// Is it a function without a closure that does what `f` does, which may be a function made anew?
bool is_such_function(PyObject* o, PyObject* f);

// The memory of bytes, of a narrow str, or of an ndarray of one of the dtypes in native order,
// aligned; null: it is something else, or may not be written.
Region::View array_view(PyObject* o, bool written);

}  // namespace pijit
