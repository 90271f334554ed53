// Our own library's functions in C++.
#include "capture/protocol/protocol.h"
#include "capture/registry.h"
#include "capture/values.h"
#include "capture/views.h"
#include "objects/views.h"

namespace pijit {

namespace {

V none(Tracer& t) { return t.constant(py::none()); }

V make_tape(Tracer& t, Call& c) {
  std::string use = "reverse";
  for (auto& [name, v] : c.kwargs)
    if (name != "use") t.give_up(Reason::kRaises, "Tape()");
  const V given = !c.args.empty() ? c.args[0] : !c.kwargs.empty() ? c.kwargs[0].second : nullptr;
  if (given) {
    const auto text = as_constant(t, given);
    if (!text || !PyUnicode_Check(text->ptr())) t.give_up(Reason::kRaises, "Tape()");
    use = text_of(*text);
  }
  if (use != "reverse" && use != "forward" && use != "batch")
    t.give_up(Reason::kRaises, "Tape() for " + use);
  return t.tapes.make(use == "forward" ? Tape::kForward
                      : use == "batch" ? Tape::kBatch
                                       : Tape::kReverse);
}

void add_tape(Registry& r) {
  PyTypeObject* type = tape_type();
  r.add(reinterpret_cast<PyObject*>(type), {0, 1, true}, make_tape);
  r.method(type, "start", {1, 1}, [](Tracer& t, Call& c) {
    t.tapes.start(c.args[0]);
    return none(t);
  });
  r.method(type, "stop", {1, 1}, [](Tracer& t, Call& c) {
    t.tapes.stop(c.args[0]);
    return none(t);
  });
  r.method(type, "watch", {2, 2}, [](Tracer& t, Call& c) {
    return t.constant(py::bool_(t.tapes.watch(c.args[0], c.args[1])));
  });
  r.method(type, "watches", {2, 2}, [](Tracer& t, Call& c) {
    return t.constant(py::bool_(t.tapes.watches(c.args[0], c.args[1])));
  });
  r.method(type, "record_custom", {4, 4}, [](Tracer& t, Call& c) {
    t.tapes.record_custom(c.args[0], c.args[1], c.args[2], c.args[3]);
    return none(t);
  });
  r.method(type, "hook", {3, 3}, [](Tracer& t, Call& c) {
    t.tapes.hook_gradient(c.args[0], c.args[1], c.args[2]);
    return none(t);
  });
  r.method(type, "gradient", {4, 4}, [](Tracer& t, Call& c) {
    return t.tapes.gradient(c.args[0], c.args[1], c.args[2], c.args[3]);
  });
  r.method(type, "pushforward", {4, 4}, [](Tracer& t, Call& c) {
    return t.tapes.tangents(c.args[0], c.args[1], c.args[2], c.args[3]);
  });
  r.method(type, "batch", {5, 5}, [](Tracer& t, Call& c) {
    return t.tapes.batch(c.args[0], c.args[1], c.args[2], c.args[3]);
  });
  r.functions("pijit._C", {"active_tapes"}, {0, 0},
              [](Tracer& t, Call&) { return t.tapes.active(); });
}

// What Tensor has in C: operators by their methods' names. Those written in Python are inlined.
void add_operators(Registry& r) {
  auto method = [&](const char* name, Arity arity, Known handler) {
    PyObject* d = type_lookup(tensor_type, str_of(name).ptr());
    if (d && Py_IS_TYPE(d, &PyWrapperDescr_Type)) r.add(d, arity, handler);
  };
#define BINARY(id, name, sign, function, op)                        \
  method("__" name "__", {2, 2}, [](Tracer& t, Call& c) {           \
    return protocol::binary(t, BinaryOp::id, c.args[0], c.args[1]); \
  });                                                               \
  method("__r" name "__", {2, 2}, [](Tracer& t, Call& c) {          \
    return protocol::binary(t, BinaryOp::id, c.args[1], c.args[0]); \
  });
#define UNARY(id, name, sign, function, op) \
  method("__" name "__", {1, 1},            \
         [](Tracer& t, Call& c) { return protocol::unary(t, UnaryOp::id, c.args[0]); });
#define COMPARE(id, name, sign, mirrored, negated, op)                \
  method("__" name "__", {2, 2}, [](Tracer& t, Call& c) {             \
    return protocol::compare(t, CompareOp::id, c.args[0], c.args[1]); \
  });
#include "base/operators.def"
#undef BINARY
#undef UNARY
#undef COMPARE
}

void add_tensor(Registry& r) {
  add_operators(r);
  r.method(tensor_type, "__getitem__", {2, 2},
           [](Tracer& t, Call& c) { return protocol::getitem(t, c.args[0], c.args[1]); });
  r.method(tensor_type, "__setitem__", {3, 3}, [](Tracer& t, Call& c) {
    protocol::setitem(t, c.args[0], c.args[1], c.args[2]);
    return none(t);
  });
  r.method(tensor_type, "__len__", {1, 1}, [](Tracer& t, Call& c) {
    if (!t.tapes.node_of(c.args[0]).shape().rank())
      t.raise(PyExc_TypeError, {t.constant(py::str("len() of a 0-d tensor"))});
    return dim(t, c.args[0], 0);
  });
  r.method(tensor_type, "_assign", {2, 2}, [](Tracer& t, Call& c) {
    t.tapes.node_of(c.args[0]);
    assign_tensor(t, c.args[0], c.args[1]);
    return c.args[0];
  });
  r.method(tensor_type, "_renew", {2, 2}, [](Tracer& t, Call& c) {
    t.tapes.node_of(c.args[0]);
    assign_tensor(t, c.args[0], c.args[1], false);
    return c.args[0];
  });
  r.method(tensor_type, "_contiguous", {1, 1}, [](Tracer& t, Call& c) -> V {
    const Val node = t.tapes.node_of(c.args[0]);
    auto* x = as<TensorValue>(c.args[0]);
    TensorValue* root = x;  // an argument may have gaps itself
    while (TensorValue* base = root->base ? root->base : root->doubted) root = base;
    if (root->src >= 0 && is_viewed(root->obj.ptr()))
      t.give_up(Reason::kUnsupportedOperand, "contiguous() of a view");
    if (root->src >= 0) t.guard(Guard::kNoPart, root->src);
    return x->packed ? c.args[0] : V(t.tensor(node));
  });
  r.method(tensor_type, "_layout", {1, 1}, [](Tracer& t, Call& c) -> V {
    const Shape& s = t.tapes.node_of(c.args[0]).shape();
    auto* x = as<TensorValue>(c.args[0]);
    for (TensorValue* root = x; root; root = root->base ? root->base : root->doubted) {
      if (root->src < 0) continue;
      if (is_viewed(root->obj.ptr())) t.give_up(Reason::kUnsupportedOperand, "where a view lies");
      t.guard(Guard::kNoPart, root->src);
    }
    if (x->doubted || (x->base && !x->layout))
      t.give_up(Reason::kUnsupportedOperand, "where a view lies");
    std::vector<V> strides(static_cast<size_t>(s.rank()));
    Dim inner = 1;
    for (int k = s.rank() - 1; k >= 0; --k) {
      strides[static_cast<size_t>(k)] =
          x->base ? t.constant_int(x->layout->strides[k]) : size_value(t, inner);
      inner *= s[k];
    }
    return t.tuple({t.list(strides), t.constant_int(x->base ? x->layout->offset : 0),
                    t.constant(py::bool_(x->packed))});
  });
  r.method(tensor_type, "_view", {1, 1}, [](Tracer& t, Call& c) {
    return view_of_all(t, c.args[0], t.tapes.node_of(c.args[0]));
  });
  r.method(tensor_type, "_renew_identity", {1, 1}, [](Tracer& t, Call& c) {
    t.tapes.renew_identity(c.args[0]);
    return t.constant(py::none());
  });
  r.method(tensor_type, "_held", {1, 1},
           [](Tracer& t, Call& c) -> V { return t.tensor(t.tapes.node_of(c.args[0])); });
  r.method(tensor_type, "_alias", {1, 1},
           [](Tracer& t, Call& c) { return t.tapes.aliased(c.args[0]); });
  r.method(tensor_type, "_detached", {1, 1},
           [](Tracer& t, Call& c) { return t.tapes.detached(c.args[0]); });
}

}  // namespace

void add_library(Registry& r) {
  add_tape(r);
  add_tensor(r);
  r.functions("pijit.printing", {"print_each"}, {0, kAny}, print);
  r.functions("pijit._C", {"compute_dtype"}, {0, 0},
              [](Tracer& t, Call&) { return t.constant(compute_dtype_object()); });
  r.functions("pijit._C", {"compute_in"}, {1, 1}, [](Tracer& t, Call& c) {
    const auto dtype = as_constant(t, c.args[0]);
    if (!dtype) t.give_up(Reason::kUnsupportedOperand, "compute_in");
    t.compute_in(compute_dtype_of(dtype->ptr()));
    return none(t);
  });
  // marks are for code outside, and classes of their own would only hide what is marked
  r.functions("pijit.ops.function.parameter", {"_marked"}, {2, 2},
              [](Tracer&, Call& c) { return c.args[0]; });
  // what is captured is inside of compiled code already
  r.functions("pijit._C", {"graph_mode"}, {0, 0},
              [](Tracer& t, Call&) { return t.constant(py::bool_(false)); });
}

}  // namespace pijit
