#include "capture/values/array.h"

#include <pybind11/numpy.h>

#include <algorithm>
#include <set>

#include "capture/context.h"
#include "capture/protocol/protocol.h"
#include "capture/rebuilder.h"
#include "capture/values/ndarray.h"
#include "capture/values/tensor.h"

namespace pijit {

PyTypeObject* ArrayValue::type() const { return Py_TYPE(obj.ptr()); }

std::optional<V> ArrayValue::getattr(Context& c, PyObject* name_obj) {
  const std::string name = text_of(name_obj);
  static const std::set<std::string> kFields = {"shape", "ndim",     "size",
                                                "dtype", "itemsize", "nbytes"};
  PyObject* found = type_lookup(type(), name_obj);
  if (found && Py_TYPE(found) == &PyMethodDescr_Type)
    return protocol::bind(c, c.wrap_static(found), this, type());
  if (kFields.count(name)) return c.wrap_static(py::object(obj.attr(name.c_str())).ptr());
  c.give_up(Reason::kUnsupportedAttribute, str_cat("ndarray.", name), Case::kNumpyArray);
}

std::optional<V> ArrayValue::method(Context& c, const std::string& name, std::vector<V>& args,
                                    Kwargs& kwargs) {
  static const std::set<std::string> kFresh = {"astype", "sum",  "mean", "max",
                                               "min",    "copy", "item", "flatten"};
  const bool given = std::any_of(kwargs.begin(), kwargs.end(),
                                 [](auto& k) { return k.first == "copy" || k.first == "out"; });
  if (given || !kFresh.count(name))
    c.give_up(Reason::kUnsupportedCall, "ndarray." + name, Case::kNumpyArray);
  return call_numpy(c, obj.attr(name.c_str()), args, kwargs);
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
  c.undoable([this, old = obj] { obj = old; });
  obj = made->obj;
  return this;
}

int ArrayValue::rebuild(Rebuilder& r) {
  const int own = r.make<ConstantRecipe>(nullptr, obj);
  return r.make<CallRecipe>(this, library.ndarray_copy.object(), std::vector<int>{own});
}

namespace {

// A scalar, or an array with memory of its own and not too much of it.
V numpy_result(Context& c, const py::object& r, const std::string& name) {
  if (is_numpy_scalar(r.ptr()) || PyLong_CheckExact(r.ptr()) || PyFloat_CheckExact(r.ptr()))
    return c.constant(r);
  constexpr py::ssize_t kMaxBytes = 1 << 20;
  if (py::isinstance<py::array>(r)) {
    const auto a = py::cast<py::array>(r);
    if (Py_TYPE(r.ptr()) == library.ndarray.type() && a.owndata() && a.nbytes() <= kMaxBytes &&
        std::string("biuf").find(a.dtype().kind()) != std::string::npos) {
      auto* v = c.make<ArrayValue>();
      v->obj = r;
      return v;
    }
  }
  c.give_up(Reason::kUnsupportedCall, name, Case::kNumpyFunction);
}

}  // namespace

// Where these have too few elements they warn through Python's own module: here, and in the run.
static bool may_warn(const std::string& name, const py::list& args, const py::dict& keywords) {
  if (name != "std" && name != "var" && name != "mean") return false;
  for (auto [k, v] : keywords)
    if (text_of(k) != "axis" && text_of(k) != "keepdims") return true;
  return args.empty() || args.size() > 2 ||
         py::cast<int64_t>(python_module("numpy").attr("size")(args[0])) == 0;
}

V call_numpy(Context& c, const py::object& f, const std::vector<V>& args, const Kwargs& kwargs) {
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
  if (may_warn(name, positional, keywords))
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
  for (auto o : positional) taken |= o.ptr() == r.ptr();
  if (taken) c.give_up(Reason::kUnsupportedCall, "numpy." + name, Case::kNumpyFunction);
  return numpy_result(c, r, "numpy." + name);
}

}  // namespace pijit
