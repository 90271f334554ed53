// ndarrays and NumPy's scalars that the graph reads or gives: they follow NumPy's rules, not those
// of Tensors. What a run raises of IEEE's exceptions, NumPy tells (Entry::watches_flags).
#pragma once
#include <algorithm>

#include "capture/context.h"

namespace pijit {

struct NdarrayValue final : Value {
  NdarrayValue() : Value(&kKind<NdarrayValue>) {}
  static bool holds(Kind k) { return k == &kKind<NdarrayValue>; }
  PyTypeObject* type() const override;
  std::optional<bool> truth(Context& c) override;
  V length(Context& c) override;
  V getitem(Context& c, const V& index) override;
  void setitem(Context& c, const V& index, const V& value) override;
  std::optional<V> getattr(Context& c, PyObject* name) override;
  std::optional<V> method(Context& c, const std::string& name, std::vector<V>& args,
                          Kwargs& kwargs) override;
  V unary(Context& c, UnaryOp op) override;
  V absolute(Context& c);
  V binary(Context& c, BinaryOp op, const V& other, Side side) override;
  V in_place(Context& c, BinaryOp op, const V& other) override;
  V compare(Context& c, CompareOp op, const V& other, Side side) override;
  bool has_identity() const override { return !scalar; }
  void traverse(Visit visit) const override;
  Val node() const override { return memory; }
  int rebuild(Rebuilder& r) override;

  // Its elements in the order of memory, as a value of the graph; made an input where it has a
  // source. Gives up where it is of no kind that is followed.
  Val elements(Context& c);
  // Do its axes lie in memory in their order?
  bool is_in_c_order() const { return std::is_sorted(axes.begin(), axes.end()); }
  // Is it of a kind that is followed, here?
  bool is_followed(Context& c) const;
  // The same as the array has its axes.
  Val logical(Context& c);
  // x[0], x[1], …, where there are so many; gives up where there are not.
  std::vector<V> rows(Context& c, size_t count);
  // Is it one part of complex numbers, which lie between those of the other?
  bool is_half() const { return by && !form; }
  // Is it the diagonal of a matrix, which cannot be written?
  bool is_diagonal() const;
  // Is it a complex number? An operation of NumPy's that stores in one which it reads takes other
  // code than one that gives a new one, and other bits.
  bool is_complex_number(Context& c);
  int rank() const { return memory.shape().rank(); }

  Val memory;             // null: an array from outside that nothing has read
  std::vector<int> axes;  // which axis of the array each one of `memory` is
  bool scalar = false;    // a NumPy scalar
  // It is a view: the part of `base` at `index`, or, of no index, what the method `by` makes of the
  // base with the arguments `form`: another shape, or an order of axes; of no form, too, the real
  // or imaginary part `by` of complex numbers. What is stored in one of
  // them, all others see: `version` counts stores, `seen` is the base's when `memory` was read.
  NdarrayValue* base = nullptr;
  V index, form;
  const char* by = nullptr;
  uint64_t version = 0, seen = 0;
  uint32_t looked_at = 256;  // the graph's size at the next look at what it is of

  // Its elements become `value`, of its dtype, which broadcasts; of a part of it, where `at` is
  // given.
  void store(Context& c, const V& at, Val value);

 private:
  V item(Context& c, const V& at);
  void set(Context& c, const V& at, Val value);
  Val part(Context& c, const V& at);
  void replace(Context& c, Val now);
  void note_store(Context& c, const V& at, Val value);
};

// The array that a value is, or that NumPy makes of it; null: it is none.
NdarrayValue* as_ndarray(Context& c, const V& v);
NdarrayValue* new_ndarray_value(Context& c, Val memory, std::vector<int> axes, bool scalar);
std::vector<int> axes_in_order(int rank);

// What an op refuses, NumPy refuses in its own words.
template <class F>
auto in_numpys_words(Context& c, const F& f) {
  try {
    return f();
  } catch (const OpError& e) {
    c.give_up(Reason::kRaises, e.what());
  }
}
// A value in the dtype of an array that it is stored in; gives up where NumPy might warn or raise.
Val value_to_store(Context& c, const V& value, DType t);

// A value as NumPy computes it, which may raise flags that NumPy tells of. It is computed whether
// anything needs it or not.
void note_flags(Context& c, Val v);

// --- numpy.cc
// What a ufunc gives of these operands, at least one of which is an NdarrayValue. Null: NumPy
// itself must be asked.
V apply_ufunc(Context& c, PyObject* ufunc, const std::vector<V>& operands);
// What an operator gives of NumPy's scalars, at least one of which is an NdarrayValue, and Python's
// numbers; `ufunc` is the one of the same name. Null: as above.
V apply_to_scalars(Context& c, PyObject* ufunc, const std::vector<V>& operands);
// ufunc.outer of two arrays. Null: as above.
V apply_outer(Context& c, PyObject* ufunc, const V& x, const V& y);
// x @ y, of matrices. Null: as above.
V apply_matmul(Context& c, const V& x, const V& y);
// A view of all elements, by a method of ndarrays: in another shape (of one that has no gaps), or
// with its axes in another order, `axes[k]` being that which comes as number k.
NdarrayValue* view_in_shape(Context& c, NdarrayValue& a, const Shape& shape, const V& form);
NdarrayValue* view_by_axes(Context& c, NdarrayValue& a, std::span<const int> axes, const V& form);
NdarrayValue* view_by_diagonal(Context& c, NdarrayValue& a, int64_t offset);
// x ** y; `of_scalars`: of NumPy's scalars and Python's numbers alone.
V apply_power(Context& c, const V& x, const V& y, bool of_scalars);
// What a function of NumPy of this name, or the method, gives of an array and arguments. Null: as
// above.
V apply_numpy(Context& c, std::string_view name, const std::vector<V>& args, const Kwargs& kwargs);

}  // namespace pijit
