// Which of two operands is asked first.
#pragma once
#include "capture/protocol/protocol.h"
#include "capture/values/scalar.h"

namespace pijit::protocol {

inline V unless_not_implemented(const V& r) {
  return r && is_known(r) && r->obj.ptr() == Py_NotImplemented ? V() : r;
}

// What a method of the class in Python gives. Null: there is none, or it gives NotImplemented.
inline V ask(Context& c, const V& self, const char* method, const V& other) {
  PyObject* f = user_method(c, self, method);
  return f ? unless_not_implemented(call(c, c.wrap_static(f), {self, other}, {})) : nullptr;
}

// The left operand, then the right one where the left one has declined; the right one before it
// where its class comes first. Null: neither answers.
template <class Left, class Right, class Declined>
V ask_in_turn(bool right_first, Left left, Right right, Declined declined) {
  if (right_first)
    if (V r = right()) return r;
  if (V r = left()) return r;
  return !right_first && declined() ? right() : nullptr;
}

// An operation on the number that stands for an object whose class leaves its operators to int or
// float. The text of a TypeError would name the class.
template <class F>
V for_class(Context& c, F operation) {
  try {
    return operation();
  } catch (const Raised& r) {
    if (r.exception->obj.ptr() != PyExc_TypeError) throw;
    c.raise(PyExc_TypeError, "of a class derived from int or float");
  }
}

}  // namespace pijit::protocol
