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

}  // namespace pijit::protocol
