// Comparisons, as Objects/object.c has them.
#include "capture/context.h"
#include "capture/protocol/operands.h"
#include "capture/protocol/protocol.h"
#include "capture/values.h"
#include "objects/data.h"
#include "objects/ndarray.h"

namespace pijit::protocol {
namespace {

// A comparison by the class's methods in Python; that of object for != inverts __eq__.
V by_method(Context& c, const V& self, CompareOp op, const V& other) {
  if (op != CompareOp::kNe || user_method(c, self, "__ne__") || !user_method(c, self, "__eq__") ||
      type_lookup(self->type(), names.ne) != type_lookup(&PyBaseObject_Type, names.ne))
    return ask(c, self, facts(op).method, other);
  const V r = ask(c, self, "__eq__", other);
  if (!r) return nullptr;
  const auto t = truth(c, r);
  if (!t) c.give_up(Reason::kTensorValue, "the inverse of __eq__");
  return c.constant(py::bool_(!*t));
}

V ask_both(Context& c, CompareOp op, const V& a, const V& b) {
  const bool derived = a->type() != b->type() && PyType_IsSubtype(b->type(), a->type());
  return ask_in_turn(
      derived, [&] { return by_method(c, a, op, b); },
      [&] { return by_method(c, b, facts(op).mirrored, a); },
      [&] { return user_method(c, a, facts(op).method) || a->declines_comparison(b); });
}

// By the C code of both classes, of constants; of objects of classes without it, by identity.
V by_c_code(Context& c, CompareOp op, const V& a, const V& b) {
  const bool equality = op == CompareOp::kEq || op == CompareOp::kNe;
  if (equality && (!as_constant(c, a) || !as_constant(c, b))) {
    auto plain = [](const V& v) {
      return (as<ObjectValue>(v) || as<InstanceValue>(v)) &&
             v->type()->tp_richcompare == PyBaseObject_Type.tp_richcompare;
    };
    const auto same = plain(a) && plain(b) ? identical(c, a, b) : std::nullopt;
    if (!same) c.give_up(Reason::kUnsupportedOperand, "equality");
    return c.constant(py::bool_(*same == (op == CompareOp::kEq)));
  }
  // items are compared by identity first, and that of NaN differs from call to call
  auto nan_inside = [&](const V& v) {
    if (is_known(v)) return false;
    const auto o = as_constant(c, v);
    return o && holds_nan(o->ptr());
  };
  if (nan_inside(a) && nan_inside(b))
    c.give_up(Reason::kUnsupportedOperand, "comparison of NaN in containers");
  return on_constants(c, facts(op).name, {a, b});
}

// Two objects from outside: `known_` has merged those that are the same.
std::optional<bool> another(Context& c, const V& a, const V& b) {
  if (!a->obj || !b->obj || a->obj.ptr() == b->obj.ptr()) return std::nullopt;
  c.guard(Guard::kNotSame, std::max(a->src, b->src), {},
          static_cast<uint64_t>(std::min(a->src, b->src)));
  return false;
}

}  // namespace

std::optional<bool> identical(Context& c, const V& a, const V& b) {
  if (a == b) return true;
  auto known = [](const V& v) { return is_known(v) || as<ObjectValue>(v); };
  auto singleton = [](const V& v) {
    return is_known(v) && (v->obj.is_none() || PyBool_Check(v->obj.ptr()) ||
                           v->obj.ptr() == Py_Ellipsis || v->obj.ptr() == Py_NotImplemented);
  };
  if (is_known(a) && is_known(b) && a->src >= 0 && a->src == b->src) return true;
  if (singleton(a) || singleton(b)) {
    if (known(a) && known(b)) return a->obj.ptr() == b->obj.ptr();
    auto truth = [](const V& v) {
      return !as<TensorValue>(v) && v->obj && PyBool_Check(v->obj.ptr());
    };
    if (truth(a) && truth(b)) return std::nullopt;
    return false;
  }
  // NumPy's truths are two objects in all
  auto numpy_truth = [](const V& v) {
    return numpy_is_loaded() && v->type() == numpy_scalar_type(DType::Bool);
  };
  if (numpy_truth(a) && numpy_truth(b))
    return is_known(a) && is_known(b) ? std::optional(a->obj.ptr() == b->obj.ptr()) : std::nullopt;
  if (as<ScalarValue>(a) && as<ScalarValue>(b)) {  // one that varies may be the other, too
    if (a->type() != b->type()) return false;
    return std::nullopt;  // identity of numbers and strings is an accident
  }
  if (a->kind != b->kind) return false;
  if (as<TupleValue>(a) && a->type() == &PyTuple_Type && b->type() == &PyTuple_Type) {
    const size_t n = items_in(a).size(), m = items_in(b).size();
    if (!n || !m) return n == m;
    // of those that the code holds, each is one object
    auto held = [&](const V& v) {
      return v->obj && (v->src < 0 || c.sources_[v->src].kind == Source::kConst);
    };
    if (held(a) && held(b)) return a->obj.ptr() == b->obj.ptr();
    const bool seen = (held(a) && b->src >= 0) || (held(b) && a->src >= 0);
    if (seen && a->obj.ptr() != b->obj.ptr()) {
      c.source_of(a), c.source_of(b);
      return another(c, a, b);
    }
    if (seen) {
      const V& outside = held(a) ? b : a;
      c.guard(Guard::kIs, outside->src, outside->obj);
      return true;
    }
  }
  for (auto& v : {a, b})  // one object or another, as a branch on a tensor decides
    if (auto* t = as<TensorValue>(v); t && t->is_choice()) return std::nullopt;
  if (as<ObjectValue>(a) && a->obj && b->obj) {
    if (static_object(a->obj.ptr()) || a->src < 0 || b->src < 0)
      return a->obj.ptr() == b->obj.ptr();
    return another(c, a, b);
  }
  if ((a->src < 0) != (b->src < 0)) return false;  // made here against made before
  if (a->src < 0) return false;                    // two objects made here
  return another(c, a, b);
}

std::optional<bool> same_or_equal(Context& c, const V& a, const V& b) {
  if (a == b) return true;
  auto own_answer = [&](const V& v) {
    return !is_known(v) && !as<TensorValue>(v) && user_method(c, v, "__eq__");
  };
  if (own_answer(a) || own_answer(b)) {
    const auto same = identical(c, a, b);
    if (!same || *same) return same;
  }
  const auto equal = truth(c, compare(c, CompareOp::kEq, a, b));
  if (!equal || *equal) return equal;
  // NaN is not equal to itself
  auto perhaps_nan = [](const V& v) {
    return (is_known(v) && is_nan(v->obj.ptr())) ||
           ((is_input(v) || is_computed(v)) && PyFloat_Check(v->obj.ptr()));
  };
  if (!perhaps_nan(a) || !perhaps_nan(b)) return false;
  if (a->src < 0 && b->src < 0) return a->obj.ptr() == b->obj.ptr();
  if (a->src < 0 || b->src < 0) return std::nullopt;
  if (a->obj.ptr() != b->obj.ptr()) return another(c, a, b);
  c.guard(Guard::kSame, std::max(a->src, b->src), {},
          static_cast<uint64_t>(std::min(a->src, b->src)));
  return true;
}

V compare(Context& c, CompareOp op, const V& a, const V& b) {
  a->settle(c);
  b->settle(c);
  if (V r = ask_both(c, op, a, b)) return r;
  if (V n = a->base_number(c)) return for_class(c, [&] { return compare(c, op, n, b); });
  if (V n = b->base_number(c)) return for_class(c, [&] { return compare(c, op, a, n); });
  if (V r = a->compare(c, op, b, Side::kLeft)) return r;
  if (V r = b->compare(c, op, a, Side::kRight)) return r;
  return by_c_code(c, op, a, b);
}

}  // namespace pijit::protocol
