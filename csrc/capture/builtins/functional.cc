// The modules functools, operator and math.
#include <algorithm>

#include "capture/protocol/protocol.h"
#include "capture/registry.h"
#include "capture/values.h"
#include "graph/vals.h"
#include "objects/ndarray.h"
#include "python/lru_cache.h"

namespace pijit {
namespace {

V call_it(Tracer& t, Call& c) {
  return protocol::call(t, c.args[0], {c.args.begin() + 1, c.args.end()}, c.kwargs);
}

[[noreturn]] void unsupported_operator(Tracer& t, const Call& c) {
  t.give_up(c.args[0]->reason(Reason::kUnsupportedOperand), "operator." + c.name);
}

V truth(Tracer& t, Call& c) {
  if (auto yes = protocol::truth(t, c.args[0])) return t.constant(py::bool_(*yes));
  unsupported_operator(t, c);
}

V operator_abs(Tracer& t, Call& c) {
  if (PyObject* f = protocol::user_method(t, c.args[0], "__abs__"))
    return protocol::call(t, t.wrap_static(f), c.args, {});
  if (as<TensorValue>(c.args[0])) return protocol::call_op(t, OpTable::get().at("abs"), c.args, {});
  if (auto* a = as<NdarrayValue>(c.args[0]))
    if (V made = a->absolute(t)) return made;
  if (as<MaskedValue>(c.args[0]))
    if (V made = apply_ufunc(t, numpy_attribute("absolute"), c.args)) return made;
  return protocol::on_constants(t, "abs", c.args);
}

V index(Tracer& t, Call& c) {
  if (as<TensorValue>(c.args[0])) unsupported_operator(t, c);
  return protocol::on_constants(t, "index", c.args);
}

template <bool kNegated>
V is(Tracer& t, Call& c) {
  const auto same = protocol::identical(t, c.args[0], c.args[1]);
  if (!same) unsupported_operator(t, c);
  return t.constant(py::bool_(*same != kNegated));
}

V contains(Tracer& t, Call& c) {
  const auto yes = protocol::contains(t, c.args[0], c.args[1]);
  if (!yes) unsupported_operator(t, c);
  return t.constant(py::bool_(*yes));
}

V concat(Tracer& t, Call& c) {
  const V &a = c.args[0], &b = c.args[1];
  const bool sequences = (as<TupleValue>(a) && as<TupleValue>(b)) || (is_list(a) && is_list(b));
  if (!sequences) unsupported_operator(t, c);
  return protocol::binary(t, BinaryOp::kAdd, a, b);
}

V set_item(Tracer& t, Call& c) {
  protocol::setitem(t, c.args[0], c.args[1], c.args[2]);
  return t.constant(py::none());
}
V delete_item(Tracer& t, Call& c) {
  protocol::delitem(t, c.args[0], c.args[1]);
  return t.constant(py::none());
}

// math.isnan() and its kind: of what the graph gives, in the graph.
V classify(Tracer& t, Call& c) {
  const V x = as<TensorValue>(c.args[0]) ? number_of(t, c.args[0], &PyFloat_Type) : c.args[0];
  if (!x || !is_computed(x) || !PyFloat_CheckExact(x->obj.ptr())) return call_pure(t, c);
  return graph_number(t, v_op(c.name.c_str(), t.scope_->val(x->node())), DType::Bool);
}

// --- operator.itemgetter and attrgetter: objects that never change

V make_getter(Tracer& t, Call& c) {
  py::list args;
  for (auto& a : c.args) {
    const auto o = as_constant(t, a);
    if (!o) t.give_up(Reason::kUnsupportedCall, c.name + "()");
    args.append(*o);
  }
  PyObject* made = PyObject_CallObject(c.callable, py::tuple(args).ptr());
  if (!made) t.raise(py::error_already_set());
  return t.wrap_static(py::reinterpret_steal<py::object>(made).ptr());
}

V get(Tracer& t, Call& c) {
  if (c.args.size() != 1 || !c.kwargs.empty()) return nullptr;
  const V &f = c.function, &x = c.args[0];
  const py::tuple args = py::tuple(f->obj.attr("__reduce__")())[1];
  if (f->src >= 0 && t.sources_[f->src].kind != Source::kConst) t.guard(Guard::kIs, f->src, f->obj);
  const bool items = Py_TYPE(f->obj.ptr()) == library.itemgetter.type();
  auto attribute = [&](V v, const std::string& path) {
    for (size_t at = 0; at <= path.size();) {
      const size_t dot = std::min(path.find('.', at), path.size());
      v = protocol::attribute(t, v, interned(path.substr(at, dot - at)));
      at = dot + 1;
    }
    return v;
  };
  std::vector<V> got;
  for (auto a : args)
    got.push_back(items ? protocol::getitem(t, x, t.wrap_static(a.ptr()))
                        : attribute(x, text_of(a)));
  return got.size() == 1 ? got[0] : t.tuple(got);
}

// --- functools.lru_cache

// What the function has kept for these arguments, read anew by each run; where it has not, CPython
// calls it, and the next run finds it. The call itself is an effect: of its account, and of the
// order in which it forgets.
V call_cached(Tracer& t, Call& c) {
  if (!c.kwargs.empty() || !is_cached_function(c.callable)) return nullptr;
  const V& f = c.function;
  const std::vector<V>& args = c.args;
  const py::object kept = py::reinterpret_borrow<py::object>(kept_result_function());
  Source s{Source::kComputed, -1, 0, kept};
  s.args = {t.source_of(f)};
  std::vector<py::object> held{f->obj};
  for (auto& a : args) {
    held.push_back(argument(t, a));
    if (!held.back()) t.give_up(Reason::kUnsupportedCall, "a function behind functools.lru_cache");
    s.args.push_back(argument_source(t, a));
  }
  std::vector<PyObject*> raw;
  for (auto& h : held) raw.push_back(h.ptr());
  const auto result = py::reinterpret_steal<py::object>(
      PyObject_Vectorcall(kept.ptr(), raw.data(), raw.size(), nullptr));
  if (!result) {
    PyErr_Clear();
    t.give_up(Reason::kRaises, "arguments of a function behind functools.lru_cache");
  }
  const int src = t.add_source(std::move(s));
  if (result.ptr() == not_kept()) {
    t.guard(Guard::kIs, src, result);
    t.give_up(Reason::kUnsupportedCall, "a function behind functools.lru_cache, for new arguments");
  }
  const V r = t.wrap(result.ptr(), src);
  const auto call =
      py::reinterpret_borrow<py::object>(type_lookup(Py_TYPE(f->obj.ptr()), names.call));
  t.check_effect(f);
  t.log({Context::Note::kCall, f, call, {}, args});
  return r;
}

// --- functools.partial

V make_partial(Tracer& t, Call& c) {
  std::vector<V> args(c.args.begin() + 1, c.args.end());
  const auto* inner = as<PartialValue>(c.args[0]);
  if (!inner) return t.make<PartialValue>(c.args[0], args, c.kwargs);
  args.insert(args.begin(), inner->args.begin(), inner->args.end());
  return t.make<PartialValue>(inner->func, args, with_keywords(inner->kwargs, c.kwargs));
}

// One from outside. Its parts can change: __setstate__ replaces them, and the keywords are a dict.
V call_partial(Tracer& t, Call& c) {
  auto part = [&](const char* name) { return protocol::member(t, c.function, interned(name)); };
  std::vector<V> all = protocol::items_of(t, part("args"));
  all.insert(all.end(), c.args.begin(), c.args.end());
  const Kwargs own = protocol::keywords_of(t, part("keywords"));
  return protocol::call(t, part("func"), all, with_keywords(own, c.kwargs));
}

}  // namespace

void add_functional(Registry& r) {
  r.functions("functools", {"reduce"}, {2, 3}, call_polyfill);
  r.functions("functools", {"partial"}, {1, kAny, true}, make_partial);
  r.objects(PartialValue::partial_type(), call_partial);
  r.objects(library.cached_function.type(), call_cached);

  const py::object m = python_module("operator");
  auto add = [&](const char* name, Arity arity, Known handler) {
    if (py::hasattr(m, name)) r.add(m.attr(name), arity, handler);
  };
  add("call", {1, kAny, true}, call_it);
  for (auto* type : {&library.itemgetter, &library.attrgetter}) {
    r.add(type->ptr(), {1, kAny}, make_getter);
    r.objects(type->type(), get);
  }
  add("truth", {1, 1}, truth);
  add("abs", {1, 1}, operator_abs);
  add("index", {1, 1}, index);
  add("is_", {2, 2}, is<false>);
  add("is_not", {2, 2}, is<true>);
  add("contains", {2, 2}, contains);
  add("concat", {2, 2}, concat);
  add("getitem", {2, 2},
      [](Tracer& t, Call& c) { return protocol::getitem(t, c.args[0], c.args[1]); });
  add("setitem", {3, 3}, set_item);
  add("delitem", {2, 2}, delete_item);
  for (auto name : {"countOf", "indexOf"})
    add(name, {2, 2},
        [](Tracer& t, Call& c) { return protocol::on_constants(t, c.name.c_str(), c.args); });
#define UNARY(id, name, sign, function, op) \
  add(function, {1, 1},                     \
      [](Tracer& t, Call& c) { return protocol::unary(t, UnaryOp::id, c.args[0]); });
#define COMPARE(id, name, sign, mirrored, negated, op)                \
  add(name, {2, 2}, [](Tracer& t, Call& c) {                          \
    return protocol::compare(t, CompareOp::id, c.args[0], c.args[1]); \
  });
#define BINARY(id, name, sign, function, op)                                                       \
  add(function, {2, 2},                                                                            \
      [](Tracer& t, Call& c) { return protocol::binary(t, BinaryOp::id, c.args[0], c.args[1]); }); \
  add("i" name, {2, 2}, [](Tracer& t, Call& c) {                                                   \
    return protocol::in_place(t, BinaryOp::id, c.args[0], c.args[1]);                              \
  });
#include "base/operators.def"
#undef UNARY
#undef COMPARE
#undef BINARY

  r.functions("math", {"isnan", "isinf", "isfinite"}, {1, 1}, classify);
  for (auto [name, f] : py::cast<py::dict>(python_module("math").attr("__dict__")))
    if (PyCFunction_Check(f.ptr())) r.add(f, {0, kAny, true}, call_pure);
}

}  // namespace pijit
