#include "capture/values/array.h"

#include <pybind11/numpy.h>

#include <algorithm>
#include <set>

#include "capture/context.h"
#include "capture/protocol/protocol.h"
#include "capture/rebuilder.h"
#include "capture/values/iterator.h"
#include "capture/values/ndarray.h"
#include "capture/values/scalar.h"
#include "capture/values/sequence.h"
#include "capture/values/tensor.h"
#include "objects/ndarray.h"

namespace pijit {
namespace {

bool is_array(PyObject* o) { return Py_TYPE(o) == library.ndarray.type(); }
bool is_of_numbers(const py::object& array) {
  return std::string("biufc").find(py::cast<py::array>(array).dtype().kind()) != std::string::npos;
}
// An array that owns its memory, and not too much of it.
bool is_whole_array(PyObject* o) {
  constexpr py::ssize_t kMaxBytes = 1 << 20;
  if (!is_array(o)) return false;
  const auto a = py::reinterpret_borrow<py::array>(o);
  return a.owndata() && a.nbytes() <= kMaxBytes;
}
ArrayValue* array_value(Context& c, const py::object& o) {
  auto* v = c.make<ArrayValue>();
  v->obj = o;
  return v;
}

// `r` shows memory of `base`, as NumPy names it: of `whole`, where that has it. Null: it cannot be
// made anew in each run.
ArrayValue* view_value(Context& c, const py::object& r, ArrayValue* whole) {
  const py::object base = r.attr("base");
  ArrayValue* root = whole && whole->base ? whole->base : whole;
  if (!is_whole_array(base.ptr()) || !is_of_numbers(r)) return nullptr;
  constexpr int kNeeds = kNdC | kNdAligned | kNdWriteable;
  const bool usual = (ndarray_fields(base.ptr())->flags & kNeeds) == kNeeds &&
                     (ndarray_fields(r.ptr())->flags & kNdWriteable);
  if (!usual) return nullptr;
  if (!root || root->obj.ptr() != base.ptr()) root = array_value(c, base);
  root->has_views = true;
  auto* v = array_value(c, r);
  v->base = root;
  return v;
}

}  // namespace

PyTypeObject* ArrayValue::type() const { return Py_TYPE(obj.ptr()); }

std::optional<V> ArrayValue::getattr(Context& c, PyObject* name_obj) {
  const std::string name = text_of(name_obj);
  static const std::set<std::string> kFields = {"shape", "ndim",     "size",
                                                "dtype", "itemsize", "nbytes"};
  PyObject* found = type_lookup(type(), name_obj);
  if (found && Py_TYPE(found) == &PyMethodDescr_Type)
    return protocol::bind(c, c.wrap_static(found), this, type());
  if (kFields.count(name)) return c.wrap_static(py::object(obj.attr(name.c_str())).ptr());
  static constexpr Member<ArrayValue> kMembers[] = {{"T", [](Context& at, ArrayValue& a) {
                                                       auto* v =
                                                           view_value(at, a.obj.attr("T"), &a);
                                                       if (v) v->from = &a;
                                                       return V(v);
                                                     }}};
  if (const V made = member_of(kMembers, *this, c, name)) return made;
  c.give_up(Reason::kUnsupportedAttribute, str_cat("ndarray.", name), Case::kNumpyArray);
}

std::optional<V> ArrayValue::method(Context& c, const std::string& name, std::vector<V>& args,
                                    Kwargs& kwargs) {
  static const std::set<std::string> kFresh = {
      "astype",  "sum",     "mean",  "max",       "min",     "copy",  "item",
      "flatten", "reshape", "ravel", "transpose", "squeeze", "cumsum"};
  static constexpr std::string_view kCast = "astype";
  const auto is_false = [](auto& k) {
    return k.first == "copy" && is_known(k.second) && k.second->obj.ptr() == Py_False;
  };
  if (name == kCast && kwargs.size() == 1 && is_false(kwargs[0])) {
    const V made = call_numpy(c, obj.attr("astype"), args, {}, this);
    const auto* a = as<ArrayValue>(made);
    return a && a->obj.attr("dtype").is(obj.attr("dtype")) ? V(this) : made;
  }
  const bool given = std::any_of(kwargs.begin(), kwargs.end(),
                                 [](auto& k) { return k.first == "copy" || k.first == "out"; });
  if (given || !kFresh.count(name))
    c.give_up(Reason::kUnsupportedCall, "ndarray." + name, Case::kNumpyArray);
  return call_numpy(c, obj.attr(name.c_str()), args, kwargs, this);
}

V ArrayValue::length(Context& c) {
  const Py_ssize_t n = PyObject_Size(obj.ptr());
  if (n < 0) c.raise(py::error_already_set());
  return c.constant_int(n);
}

V ArrayValue::iter(Context& c) {
  constexpr int64_t kMost = 1000;
  const auto* f = ndarray_fields(obj.ptr());
  if (f->nd != 1 || f->shape[0] > kMost || from) return Value::iter(c);
  std::vector<V> items;
  for (int64_t k = 0; k < f->shape[0]; ++k) items.push_back(c.constant(obj[py::int_(k)]));
  c.undoable([this, old = iterated] { iterated = old; });
  iterated = true;
  return c.make<SequenceIterator>(as<TupleValue>(c.tuple(std::move(items))), this);
}

V ArrayValue::getitem(Context& c, const V& at) {
  const auto index = as_constant(c, at);
  if (!index) {
    auto* a = as_ndarray(c, this);  // its elements are constants
    return a && !base && !has_views ? a->getitem(c, at) : Value::getitem(c, at);
  }
  const auto r = py::reinterpret_steal<py::object>(PyObject_GetItem(obj.ptr(), index->ptr()));
  if (!r) c.raise(py::error_already_set());
  if (is_numpy_scalar(r.ptr())) return c.constant(r);
  if (is_array(r.ptr()) && is_whole_array(r.ptr())) return array_value(c, r);
  auto* v = is_array(r.ptr()) ? view_value(c, r, this) : nullptr;
  if (!v) return Value::getitem(c, at);
  v->from = this;
  v->index = at;
  return v;
}

V ArrayValue::unary(Context& c, UnaryOp op) {
  auto* a = as_ndarray(c, this);
  return a ? a->unary(c, op) : Value::unary(c, op);
}
V ArrayValue::binary(Context& c, BinaryOp op, const V& other, Side side) {
  auto* a = as_ndarray(c, this);
  return a ? a->binary(c, op, other, side) : Value::binary(c, op, other, side);
}
V ArrayValue::compare(Context& c, CompareOp op, const V& other, Side side) {
  auto* a = as_ndarray(c, this);
  return a ? a->compare(c, op, other, side) : Value::compare(c, op, other, side);
}

// The array itself changes, for all that hold it, and keeps its dtype.
V ArrayValue::in_place(Context& c, BinaryOp op, const V& other) {
  auto* made =
      as<NdarrayValue>(other) ? nullptr : as<ArrayValue>(protocol::binary(c, op, this, other));
  const auto same = [&](const char* name) { return obj.attr(name).equal(made->obj.attr(name)); };
  if (!made || !same("dtype") || !same("shape"))
    c.give_up(Reason::kUnsupportedOperand, "an ndarray changed in place", Case::kNumpyArray);
  if (base || has_views || iterated)
    c.give_up(Reason::kUnsupportedOperand, "an ndarray with views changed in place",
              Case::kNumpyArray);
  c.undoable([this, old = obj] { obj = old; });
  obj = made->obj;
  return this;
}

void ArrayValue::traverse(Visit visit) const { visit(base); }

int ArrayValue::rebuild(Rebuilder& r) {
  auto known = [&](const py::object& o) { return r.make<ConstantRecipe>(nullptr, o); };
  if (base) {
    const auto *part = ndarray_fields(obj.ptr()), *whole = ndarray_fields(base->obj.ptr());
    const int of = r.recipe(base);
    return r.make<CallRecipe>(
        this, library.ndarray.object(),
        std::vector<int>{known(obj.attr("shape")), known(obj.attr("dtype")), of,
                         known(py::int_(part->data - whole->data)), known(obj.attr("strides"))});
  }
  // in its own order of axes, which views of it count on
  return r.make<CallRecipe>(this, library.ndarray_copy.object(),
                            std::vector<int>{known(obj), known(str_of("K"))});
}

namespace {

// A scalar, an array, or a view of one of these or of `self`.
V numpy_result(Context& c, const py::object& r, const std::string& name, ArrayValue* self) {
  if (is_numpy_scalar(r.ptr()) || PyLong_CheckExact(r.ptr()) || PyFloat_CheckExact(r.ptr()))
    return c.constant(r);
  if (is_whole_array(r.ptr()) && is_of_numbers(r)) return array_value(c, r);
  if (is_array(r.ptr()))
    if (auto* v = view_value(c, r, self)) return v;
  c.give_up(Reason::kUnsupportedCall, name, Case::kNumpyFunction);
}

}  // namespace

// Where these have too few elements they warn through Python's own module: here, and in the run.
static bool may_warn(const std::string& name, const py::list& args, const py::dict& keywords) {
  if (name != "std" && name != "var" && name != "mean") return false;
  for (auto [k, v] : keywords)
    if (text_of(k) != "axis" && text_of(k) != "keepdims") return true;
  return args.empty() || args.size() > 2 ||
         py::cast<int64_t>(py::handle(numpy_attribute("size"))(args[0])) == 0;
}

// What is lost of complex numbers, NumPy warns of: here, and in the run.
static bool may_lose(const std::string& name, const py::object& f, const py::list& args,
                     const py::dict& keywords) {
  auto is_complex = [](py::handle o) {
    if (PyComplex_Check(o.ptr())) return true;
    const bool typed = is_array(o.ptr()) || is_numpy_scalar(o.ptr());
    return typed && py::cast<std::string>(o.attr("dtype").attr("kind")) == "c";
  };
  py::object self = py::getattr(f, "__self__", py::none());
  bool any = is_complex(self);
  for (auto o : args) any |= is_complex(o);
  for (auto [k, v] : keywords) any |= is_complex(v);
  auto takes_all = [](py::handle type) {
    const auto d = py::reinterpret_steal<py::object>(
        PyObject_CallOneArg(numpy_attribute("dtype"), type.ptr()));
    if (!d) PyErr_Clear();
    return d && py::cast<std::string>(d.attr("kind")) == "c";
  };
  if (PyType_Check(f.ptr())) return any && !takes_all(f);
  if (keywords.contains("dtype")) return any && !takes_all(keywords["dtype"]);
  static constexpr std::string_view kCast[] = {"astype", "array", "asarray", "full", "full_like"};
  const bool casts = std::find(std::begin(kCast), std::end(kCast), name) != std::end(kCast);
  const bool typed = !args.empty() && takes_all(args[args.size() - 1]);
  return any && casts && !typed && (args.size() > 1 || is_complex(self));
}

V call_numpy(Context& c, const py::object& f, const std::vector<V>& args, const Kwargs& kwargs,
             ArrayValue* self) {
  const std::string name = text_of(py::str(f.attr("__name__")));
  py::list positional;
  py::dict keywords;
  auto known = [&](const V& v) {
    if (as<ArrayValue>(v)) return v->obj;
    auto o = as<TensorValue>(v) ? std::nullopt : as_constant(c, v);
    if (!o) c.give_up(Reason::kUnsupportedCall, "numpy." + name, Case::kNumpyFunction);
    return *o;
  };
  // One behind the first may be where the result goes: nothing may be stored here.
  std::vector<std::pair<py::object, py::object>> copies;
  for (auto& a : args) {
    py::object o = known(a);
    if (&a != args.data() && Py_TYPE(o.ptr()) == library.ndarray.type()) {
      copies.push_back({o, o.attr("copy")("K")});
      o = copies.back().second;
    }
    positional.append(o);
  }
  for (auto& [k, v] : kwargs) keywords[str_of(k)] = known(v);
  if (keywords.contains("out"))
    c.give_up(Reason::kUnsupportedCall, "numpy." + name, Case::kNumpyFunction);
  if (may_warn(name, positional, keywords) || may_lose(name, f, positional, keywords))
    c.give_up(Reason::kUnsupportedCall, "numpy." + name, Case::kNumpyFunction);
  const NumpyRaises strict;
  const py::object r = py::reinterpret_steal<py::object>(
      PyObject_Call(f.ptr(), py::tuple(positional).ptr(), keywords.ptr()));
  if (!r) {
    py::error_already_set e;
    c.give_up(Reason::kRaises, e.what());
  }
  bool taken = std::any_of(copies.begin(), copies.end(), [](auto& one) {
    return !py::object(one.first.attr("tobytes")()).equal(one.second.attr("tobytes")());
  });
  const py::object shown = is_array(r.ptr()) ? py::object(r.attr("base")) : py::none();
  for (auto o : positional) {
    if (!is_array(o.ptr())) continue;  // a scalar may be one object with another
    taken |= o.ptr() == r.ptr();
    if (shown.is_none()) continue;
    taken |= o.ptr() == shown.ptr() || shown.is(py::object(o.attr("base")));
  }
  if (taken) c.give_up(Reason::kUnsupportedCall, "numpy." + name, Case::kNumpyFunction);
  return numpy_result(c, r, "numpy." + name, self);
}

}  // namespace pijit
