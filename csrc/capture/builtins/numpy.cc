// Functions of NumPy that have no effect but a result, on constants.
#include <algorithm>

#include "capture/protocol/protocol.h"
#include "capture/registry.h"
#include "capture/values/array.h"
#include "capture/values/ndarray.h"
#include "capture/values/object.h"
#include "capture/values/scalar.h"
#include "capture/values/sequence.h"
#include "objects/ndarray.h"

namespace pijit {
namespace {

// A ufunc of arrays, of which one may take the result.
V by_ufunc(Tracer& t, Call& c) {
  std::vector<V> args = c.args;
  const size_t inputs = static_cast<size_t>(ufunc_fields(c.callable)->nin);
  V out;
  if (c.kwargs.size() == 1 && c.kwargs[0].first == "out")
    out = c.kwargs[0].second;
  else if (!c.kwargs.empty())
    return nullptr;
  if (!out && args.size() == inputs + 1) {
    out = args.back();
    args.pop_back();
  }
  if (!out || is_none(out)) return apply_ufunc(t, c.callable, args);
  auto* to = as<NdarrayValue>(out);
  if (!to || to->scalar || (to->is_followed(t) && to->is_complex_number(t))) return nullptr;
  auto* made = as<NdarrayValue>(apply_ufunc(t, c.callable, args));
  if (!made || made->memory.dtype() != to->elements(t).dtype()) return nullptr;
  to->store(t, nullptr, made->logical(t));
  return out;
}

// Arrays, numbers and what holds them: no object that would answer in NumPy's place.
bool is_plain(Tracer& t, const V& v) {
  if (as<NdarrayValue>(v) || as<ArrayValue>(v) || as<ScalarValue>(v)) return true;
  if (!is_sequence(v)) return as_constant(t, v).has_value();
  const std::vector<V> parts = v->parts(t);
  return std::all_of(parts.begin(), parts.end(), [&](auto& p) { return is_plain(t, p); });
}

// A function that arrays of other libraries may answer, in Python.
bool is_dispatched(PyObject* o) {
  const auto code = py::reinterpret_steal<py::object>(PyObject_GetAttrString(o, "_implementation"));
  if (!code) PyErr_Clear();
  return code && PyFunction_Check(code.ptr());
}
// A function of NumPy's in Python, as if it stood in the program.
V by_its_code(Tracer& t, Call& c) {
  const py::object code = py::handle(c.callable).attr("_implementation");
  bool plain = true;
  for (auto& v : c.args) plain &= is_plain(t, v);
  for (auto& [k, v] : c.kwargs) plain &= is_plain(t, v);
  if (!plain) return nullptr;
  try {
    return protocol::call(t, t.wrap_static(code.ptr()), c.args, c.kwargs);
  } catch (GraphBreak& b) {
    const py::handle f(c.callable);
    if (b.in_numpy)  // by the name that programs have for it
      b.detail = str_cat(text_of(py::object(f.attr("__module__"))), ".",
                         text_of(py::object(f.attr("__name__"))), "()");
    throw;
  }
}

// An array as it is: asarray and its kind, where no more than a dtype is asked for.
V as_it_is(Tracer& t, Call& c) {
  if (c.args.empty()) return nullptr;
  V type = c.args.size() > 1 ? c.args[1] : V();
  bool plain = c.args.size() <= 2 || std::all_of(c.args.begin() + 2, c.args.end(), is_none);
  for (auto& [k, v] : c.kwargs) {
    if (k == "dtype" && !type)
      type = v;
    else
      plain &= is_none(v);
  }
  if (!plain) return nullptr;
  if (type && !is_none(type)) {
    if (!as<NdarrayValue>(c.args[0]))
      return as_constant(t, c.args[0])
                 ? call_numpy(t, py::reinterpret_borrow<py::object>(c.callable), c.args, c.kwargs)
                 : nullptr;
    return apply_numpy(t, "astype", {c.args[0], type}, {{"copy", t.constant(py::bool_(false))}});
  }
  if (as<ArrayValue>(c.args[0])) return c.args[0];
  if (as_constant(t, c.args[0]))
    return call_numpy(t, py::reinterpret_borrow<py::object>(c.callable), c.args, c.kwargs);
  auto* a = as<NdarrayValue>(c.args[0]);
  if (!a || !a->scalar) return a ? c.args[0] : nullptr;
  return a->is_followed(t) ? V(new_ndarray_value(t, a->elements(t), {}, false)) : nullptr;
}

// The dtype of what is made of such operands.
V result_type(Tracer& t, Call& c) {
  py::list specs;
  for (auto& v : c.args) {
    auto* a = as<NdarrayValue>(v);
    if (a && !a->is_followed(t)) return nullptr;
    const auto known = a                   ? std::optional(share(descr_of(a->elements(t).dtype())))
                       : as<ArrayValue>(v) ? std::optional(py::object(v->obj.attr("dtype")))
                                           : as_constant(t, v);
    if (!known) return nullptr;
    specs.append(*known);
  }
  if (!c.kwargs.empty()) return nullptr;
  const auto made =
      py::reinterpret_steal<py::object>(PyObject_Call(c.callable, py::tuple(specs).ptr(), nullptr));
  if (!made) t.raise(py::error_already_set());
  return t.wrap_static(made.ptr());
}

V outer_by_ufunc(Tracer& t, Call& c) {
  const V& ufunc = c.args[0];
  if (!as<ObjectValue>(ufunc) || !is_ufunc(ufunc->obj.ptr())) return nullptr;
  if (ufunc->src >= 0) t.guard(Guard::kIs, ufunc->src, ufunc->obj);
  return apply_outer(t, ufunc->obj.ptr(), c.args[1], c.args[2]);
}

// ufunc.reduce, of which functions of their own are known.
V reduced_by_ufunc(Tracer& t, Call& c) {
  static constexpr std::pair<std::string_view, std::string_view> kRows[] = {
      {"add", "sum"}, {"multiply", "prod"}, {"maximum", "max"}, {"minimum", "min"}};
  const bool known = c.args.size() >= 2 && as<ObjectValue>(c.args[0]) &&
                     is_ufunc(c.args[0]->obj.ptr()) && as<NdarrayValue>(c.args[1]);
  if (!known) return nullptr;
  const V& ufunc = c.args[0];
  const std::string_view name = ufunc_fields(c.args[0]->obj.ptr())->name;
  const auto row = std::ranges::find(kRows, name, [](auto& r) { return r.first; });
  if (row == std::end(kRows)) return nullptr;
  if (ufunc->src >= 0) t.guard(Guard::kIs, ufunc->src, ufunc->obj);
  Kwargs kwargs = c.kwargs;
  const bool by_name = std::ranges::any_of(kwargs, [](auto& k) { return k.first == "axis"; });
  if (c.args.size() == 2 && !by_name) kwargs.push_back({"axis", t.constant_int(0)});
  return apply_numpy(t, row->second, {c.args.begin() + 1, c.args.end()}, kwargs);
}

V by_numpy(Tracer& t, Call& c) {
  if (is_ufunc(c.callable))
    if (V made = by_ufunc(t, c)) return made;
  if (V made = apply_numpy(t, c.name, c.args, c.kwargs)) return made;
  auto varies = [&](auto& v) { return !as<ArrayValue>(v) && !as_constant(t, v); };
  if (is_dispatched(c.callable) && std::any_of(c.args.begin(), c.args.end(), varies))
    return by_its_code(t, c);
  return call_numpy(t, py::reinterpret_borrow<py::object>(c.callable), c.args, c.kwargs);
}

}  // namespace

// NumPy's own, and nothing that a program has put in their place.
static void functions(Registry& r, std::initializer_list<const char*> names, Arity arity,
                      Known handler) {
  for (const char* name : names) {
    PyObject* const o = find_numpy_attribute(name);
    const py::object module = o ? py::getattr(o, "__module__", py::none()) : py::none();
    if (PyUnicode_Check(module.ptr()) && text_of(module).starts_with("numpy"))
      r.add(o, arity, handler);
  }
}

void add_numpy(Registry& r) {
  constexpr Arity kAll{0, kAny, true};
  r.functions("numpy",
              {"array",
               "zeros",
               "ones",
               "full",
               "arange",
               "eye",
               "identity",
               "linspace",
               "prod",
               "sum",
               "max",
               "min",
               "amax",
               "amin",
               "mean",
               "std",
               "ndim",
               "size",
               "round",
               "where",
               "clip",
               "any",
               "all",
               "empty",
               "dot",
               "zeros_like",
               "ones_like",
               "empty_like",
               "var",
               "ptp",
               "cumsum",
               "cumprod",
               "diff",
               "roll",
               "full_like",
               "concatenate",
               "stack",
               "hstack",
               "vstack",
               "column_stack",
               "take",
               "take_along_axis",
               "put_along_axis",
               "sort",
               "argsort",
               "argmax",
               "argmin",
               "searchsorted",
               "reshape",
               "ravel",
               "transpose",
               "swapaxes",
               "squeeze",
               "repeat",
               "trace",
               "count_nonzero",
               "vdot",
               "inner",
               "pad",
               "meshgrid",
               "select",
               "copyto",
               "diag"},
              kAll, by_numpy);
  const py::object numpy = python_module("numpy");
  const py::object ufunc = numpy.attr("ufunc"), generic = numpy.attr("generic");
  for (auto [name, o] : py::cast<py::dict>(numpy.attr("__dict__"))) {
    const bool scalar_type =
        PyType_Check(o.ptr()) && PyType_IsSubtype(reinterpret_cast<PyTypeObject*>(o.ptr()),
                                                  reinterpret_cast<PyTypeObject*>(generic.ptr()));
    if (scalar_type || py::isinstance(o, ufunc)) r.add(o, kAll, by_numpy);
  }
  functions(r, {"asarray", "asanyarray"}, kAll, as_it_is);
  functions(r, {"result_type"}, kAll, result_type);
  functions(r, {"promote_types"}, kAll, call_pure);
  r.add(numpy.attr("dtype"), {1, 3, true}, call_pure);
  r.functions("numpy.lib.array_utils", {"normalize_axis_index"}, kAll, call_pure);
  r.method(reinterpret_cast<PyTypeObject*>(ufunc.ptr()), "reduce", kAll, reduced_by_ufunc);
  r.method(reinterpret_cast<PyTypeObject*>(ufunc.ptr()), "outer", {3, 3}, outer_by_ufunc);
  for (const char* module : {"numpy", "numpy.linalg"})
    for (auto [name, o] : py::cast<py::dict>(python_module(module).attr("__dict__")))
      if (!PyType_Check(o.ptr()) && is_dispatched(o.ptr())) r.add(o, kAll, by_its_code);
}

}  // namespace pijit
