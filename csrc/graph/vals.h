// Arithmetic on Vals for rules written with graph ops.
#pragma once
#include "graph/op.h"

namespace pijit {

inline Val v_op(const char* name, Val a) { return a.b->op(name, {a}); }
inline Val v_op(const char* name, Val a, Val b) { return a.b->op(name, {a, b}); }
inline Val v_matmul(Val a, Val b, bool transpose_a = false, bool transpose_b = false) {
  return a.b->op("matmul", {a, b}, {transpose_a, transpose_b});
}
inline Val v_const(Val like, double c) { return like.b->constant(like.dtype(), c); }
inline Val v_size(Val like, Dim n) { return like.b->constant(like.dtype(), SizeNumber(n)); }
#define PIJIT_VARITH(sym, name)                                                     \
  inline Val operator sym(Val a, Val b) { return v_op(name, a, b); }                \
  inline Val operator sym(Val a, double c) { return v_op(name, a, v_const(a, c)); } \
  inline Val operator sym(double c, Val a) { return v_op(name, v_const(a, c), a); }
PIJIT_VARITH(+, "add")
PIJIT_VARITH(-, "sub")
PIJIT_VARITH(*, "mul")
PIJIT_VARITH(/, "div")
#undef PIJIT_VARITH
inline Val operator-(Val a) { return v_op("neg", a); }

inline Val v_reshape(Val x, const Shape& s) { return x.b->op("reshape", {x}, {s.dims()}); }
inline Val v_broadcast(Val x, const Shape& s) { return x.b->op("broadcast_to", {x}, {s.dims()}); }
inline Val v_cast(Val x, DType t) { return x.b->op("cast", {x}, {t}); }
inline Val v_select(Val c, Val a, Val b) { return a.b->op("select", {c, a, b}); }
inline Val v_transpose(Val x, Dims perm) { return x.b->op("transpose", {x}, {std::move(perm)}); }
inline Val v_full(Builder& b, const Type& t, double c) {
  return v_broadcast(b.constant(t.dtype, c), t.shape);
}
inline Val v_zeros(Builder& b, const Type& t) { return v_full(b, t, 0.0); }
inline Val v_sum(Val x, Dims axes, bool keepdims) {
  return x.b->op("reduce_sum", {x}, {std::move(axes), keepdims});
}
inline Val v_max(Val x, Dims axes, bool keepdims) {
  return x.b->op("reduce_max", {x}, {std::move(axes), keepdims});
}
// x with the elements of `diagonal` replaced by y.
Val v_put_diagonal(Val x, Val y, int64_t offset);
// Sums a broadcast result back to the shape of the operand it came from.
Val v_unbroadcast(Val x, const Shape& to);

}  // namespace pijit
