// Python's operations on any values. Each algorithm is here once, in the order of the function of
// CPython that is named beside it: which operand is asked first, what counts as an answer, what
// comes where none is given. What a kind of value does itself is a slot of Value.
#pragma once
#include "base/operators.h"
#include "capture/value.h"

namespace pijit::protocol {

// --- number.cc
V unary(Context& c, UnaryOp op, const V& x);                  // PyNumber_Negative …, and `not`
V binary(Context& c, BinaryOp op, const V& a, const V& b);    // PyNumber_Add …: binary_op1
V in_place(Context& c, BinaryOp op, const V& a, const V& b);  // PyNumber_InPlaceAdd …: binary_iop1
// What a function of the module operator gives for constants.
V on_constants(Context& c, const char* function, const std::vector<V>& args);

// --- compare.cc
V compare(Context& c, CompareOp op, const V& a, const V& b);  // PyObject_RichCompare
// `a is b`, and PyObject_RichCompareBool, as containers ask. Empty: only a run can tell.
std::optional<bool> identical(Context& c, const V& a, const V& b);
std::optional<bool> same_or_equal(Context& c, const V& a, const V& b);

}  // namespace pijit::protocol
