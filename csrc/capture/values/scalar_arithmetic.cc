// Operators on numbers and texts that capture does not fix. What Python computes from inputs is
// computed anew before each run, as a source like any other; from sizes, where the graph is built;
// from what the graph gives, in the graph.
#include <cmath>

#include "capture/context.h"
#include "capture/values/scalar.h"
#include "graph/vals.h"
#include "objects/data.h"

namespace pijit {
namespace {

std::optional<Number> known_number(const V& v) {
  if (!is_known(v) || PyBool_Check(v->obj.ptr()) || is_numpy_scalar(v->obj.ptr()))
    return std::nullopt;
  if (PyFloat_Check(v->obj.ptr())) return PyFloat_AS_DOUBLE(v->obj.ptr());
  if (!PyLong_CheckExact(v->obj.ptr())) return std::nullopt;
  int overflow = 0;
  const int64_t i = PyLong_AsLongLongAndOverflow(v->obj.ptr(), &overflow);
  if (overflow) return std::nullopt;
  return i;
}

// Of a size, or of a known number.
std::optional<SizeNumber> size_number(const V& v) {
  if (auto* size = state_of<ScalarValue::Size>(v)) return size->expr;
  const auto n = known_number(v);
  if (!n) return std::nullopt;
  if (n->index()) return Real(std::get<double>(*n));
  return Dim(std::get<int64_t>(*n));
}

bool is_real(const V& v) { return PyFloat_Check(v->obj.ptr()) != 0; }

// The greatest magnitude of an int.
double bound_of(const V& v) {
  if (auto* s = state_of<ScalarValue::Computed>(v)) return s->bound;
  if (is_input(v)) return kSmallInt;
  if (auto* size = state_of<ScalarValue::Size>(v))
    return size->expr.index() ? kExactInt
                              : std::min(kExactInt, greatest(std::get<Dim>(size->expr)));
  const Number n = *known_number(v);
  return n.index() ? 0.0 : std::abs(static_cast<double>(std::get<int64_t>(n)));
}

// Null for that of many numbers, which no bound of a slice is.
std::shared_ptr<const ScalarValue::Computed::Arithmetic> how(BinaryOp op, const V& a, const V& b) {
  constexpr int kMost = 16;
  int numbers = 0;
  for (auto& v : {a, b}) {
    const auto* s = state_of<ScalarValue::Computed>(v);
    numbers += !s ? 1 : s->of ? s->of->numbers : kMost;
  }
  if (numbers > kMost) return nullptr;
  return std::make_shared<ScalarValue::Computed::Arithmetic>(
      ScalarValue::Computed::Arithmetic{op, a, b, numbers});
}

}  // namespace

V scalar_arithmetic(Context& c, BinaryOp op, const V& a, const V& b) {
  if (is_input(a) || is_input(b)) {
    if ((op == BinaryOp::kPow || op == BinaryOp::kLshift) &&
        PyLong_Check(b->obj ? b->obj.ptr() : Py_None) &&
        std::abs(PyLong_AsDouble(b->obj.ptr())) > 4096)
      return nullptr;  // no astronomically large numbers
    if (V r = at_each_run(c, original(facts(op).function), {a, b})) return r;
  }
  auto of_run = [](const V& v) { return is_input(v) || is_computed(v); };
  auto number = [&](const V& v) {
    return is_size(v) || (of_run(v) && !PyBool_Check(v->obj.ptr()) && is_number(v)) ||
           known_number(v).has_value();
  };
  if (!number(a) || !number(b)) return nullptr;
  if (!of_run(a) && !of_run(b)) {
    try {
      return size_value(c, size_arithmetic(facts(op).name, *size_number(a), *size_number(b)));
    } catch (const Misfit&) {
      return nullptr;
    }
  }
  const bool real = is_real(a) || is_real(b) || op == BinaryOp::kTrueDiv;
  double limit = 0;
  if (op == BinaryOp::kAdd || op == BinaryOp::kSub) {
    limit = bound_of(a) + bound_of(b);
  } else if (op == BinaryOp::kMul) {
    limit = bound_of(a) * bound_of(b);
  } else {
    const auto divisor = known_number(b);
    if (!divisor || *divisor == Number(int64_t{0}) || *divisor == Number(0.0)) return nullptr;
    if (op == BinaryOp::kFloorDiv || op == BinaryOp::kMod) {
      if (real) return nullptr;
      limit = std::max(bound_of(a), bound_of(b));
    } else if (op != BinaryOp::kTrueDiv) {
      return nullptr;
    }
  }
  for (auto& v : {a, b})
    if (!is_real(v) && bound_of(v) > kExactInt) return nullptr;
  if (!real && limit > kExactInt) return nullptr;
  py::object hint;
  try {
    hint = py::reinterpret_borrow<py::object>(original(facts(op).function))(a->obj, b->obj);
  } catch (py::error_already_set&) {
    return nullptr;
  }
  const DType t = real ? DType::F64 : DType::I64;
  Graph& g = c.scope_->graph();
  const Val result = g.Builder::op(
      tensor_operator(op),
      std::vector<Val>{materialize(g, operand_of(c, a), t), materialize(g, operand_of(c, b), t)},
      {});
  return c.make<ScalarValue>(hint, ScalarValue::Computed{result, real ? 0 : limit, how(op, a, b)});
}

V scalar_negation(Context& c, const V& x) {
  if (is_input(x)) return at_each_run(c, original("neg"), {x});
  if (!is_real(x)) return scalar_arithmetic(c, BinaryOp::kSub, c.constant_int(0), x);
  const auto* s = state_of<ScalarValue::Computed>(x);
  if (!s) return nullptr;
  // 0.0 - x would lose the sign of zero
  const Val result = c.scope_->graph().op("neg", {c.scope_->val(s->node)});
  return c.make<ScalarValue>(py::float_(-PyFloat_AS_DOUBLE(x->obj.ptr())),
                             ScalarValue::Computed{result, s->bound});
}

std::optional<bool> scalar_relation(Context& c, CompareOp op, const V& a, const V& b) {
  auto no_number = [](const V& v) {
    return is_known(v) && (v->obj.is_none() || PyUnicode_CheckExact(v->obj.ptr()) ||
                           PyBytes_CheckExact(v->obj.ptr()));
  };
  if ((op == CompareOp::kEq || op == CompareOp::kNe) &&
      ((is_size(a) && no_number(b)) || (is_size(b) && no_number(a))))
    return op == CompareOp::kNe;
  const auto ka = known_number(a), kb = known_number(b);
  if ((is_size(a) || ka) && (is_size(b) || kb) && (is_size(a) || is_size(b))) {
    try {
      return c.symbols_.decide(*size_number(a), facts(op).name, *size_number(b));
    } catch (const Misfit&) {
      return std::nullopt;
    }
  }
  if (!is_input(a) && !is_input(b)) return std::nullopt;
  auto plain = [](const V& v) { return is_known(v) && immutable_constant(v->obj.ptr()); };
  const py::object x = argument(c, a), y = argument(c, b);
  if (!x || !y) return std::nullopt;
  // NaN is not equal to itself, so no question of identity comes first
  const auto answer = py::reinterpret_steal<py::object>(
      PyObject_RichCompare(x.ptr(), y.ptr(), static_cast<int>(op)));
  const int r = answer ? PyObject_IsTrue(answer.ptr()) : -1;
  if (r < 0) {
    PyErr_Clear();
    return std::nullopt;
  }
  if (plain(a) || plain(b)) {
    const V &input = plain(a) ? b : a, &constant = plain(a) ? a : b;
    if (c.unstable(input->src)) fix(c, input);  // gives up
    const CompareOp relation = plain(a) ? facts(op).mirrored : op;
    c.guard(Guard::kRelation, input->src, constant->obj,
            static_cast<uint64_t>(relation) * 2 + static_cast<uint64_t>(r));
  } else {
    c.decided(r, {Source::kComputed,
                  -1,
                  0,
                  share(original(facts(op).name)),
                  -1,
                  {argument_source(c, a), argument_source(c, b)}});
  }
  return r == 1;
}

V graph_relation(Context& c, CompareOp op, const V& a, const V& b) {
  if (!is_computed(a) && !is_computed(b)) return nullptr;
  auto real = [](const V& v) { return PyFloat_CheckExact(v->obj.ptr()); };
  for (auto& v : {a, b})
    if (!as<ScalarValue>(v) || (!real(v) && !PyLong_CheckExact(v->obj.ptr()))) return nullptr;
  const DType t = real(a) || real(b) ? DType::F64 : DType::I64;
  for (auto& v : {a, b})  // an int and a float are compared by their exact values
    if (t == DType::F64 && !real(v)) {
      const double greatest = is_known(v) ? std::abs(PyLong_AsDouble(v->obj.ptr())) : bound_of(v);
      if (PyErr_Occurred()) PyErr_Clear();
      if (!(greatest <= kExactInt)) return nullptr;
    }
  Graph& g = c.scope_->graph();
  const Val x = materialize(g, operand_of(c, a), t), y = materialize(g, operand_of(c, b), t);
  return graph_number(c, g.Builder::op(tensor_operator(op), std::vector<Val>{x, y}, {}),
                      DType::Bool);
}

}  // namespace pijit
