// Python numbers that the graph gives: what float(), item() or a comparison makes of a Tensor's
// one element, and what branches on tensors leave in variables. kVarying, with a node.
#pragma once
#include "capture/tracer.h"

namespace pijit {

constexpr double kExactInt = 9007199254740992.0;  // 2^53

inline bool from_graph(const V& v) { return v->kind == Value::kVarying && v->src < 0; }
// Only a run can tell whether it is true.
inline bool undecided(const V& v) { return v->kind == Value::kTensor || from_graph(v); }
// Whether such a value is true, of a tensor of one element.
Val truth_val(Context& c, const V& x, bool negated);
// x, of one element, as a float (F64), an int (I64) or a bool. No gradient goes through it.
V graph_number(Context& c, Val x, DType t);
// A comparison as Python computes it; null: not possible.
V graph_relation(Context& c, CompareOp op, const V& a, const V& b);
// What float() or int(), or item(), of no type, makes of a tensor; null: not possible.
V number_of(Tracer& t, const V& x, PyTypeObject* type);

// A function of pijit/_polyfills.py.
py::object polyfill(const char* name);

}  // namespace pijit
