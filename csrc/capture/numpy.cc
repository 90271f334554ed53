// NumPy on constants: scalars are constants, arrays are made here and copied by every run.
#include <pybind11/numpy.h>

#include <set>

#include "capture/tracer.h"
#include "capture/values.h"

namespace pijit {

// NumPy's functions on constants give constants. Where a floating-point warning is due, they don't.
V Context::call_numpy(const py::object& f, const std::vector<V>& args, const Kwargs& kwargs) {
  const std::string name = text_of(py::str(f.attr("__name__")));
  py::list positional;
  py::dict keywords;
  auto known = [&](const V& v) {
    if (v->kind == Value::kArray) return v->obj;
    auto c = v->kind == Value::kTensor ? std::nullopt : as_constant(v);
    if (!c) give_up(Reason::kUnsupportedCall, "numpy." + name);
    return *c;
  };
  for (auto& a : args) positional.append(known(a));
  for (auto& [k, v] : kwargs) keywords[str_of(k)] = known(v);
  if (keywords.contains("out")) give_up(Reason::kUnsupportedCall, "numpy." + name);
  const NumpyRaises strict;
  const py::object r = py::reinterpret_steal<py::object>(
      PyObject_Call(f.ptr(), py::tuple(positional).ptr(), keywords.ptr()));
  if (!r) {
    py::error_already_set e;
    give_up(Reason::kRaises, e.what());
  }
  for (auto a : positional)
    if (a.ptr() == r.ptr()) give_up(Reason::kUnsupportedCall, "numpy." + name);
  return numpy_result(r, "numpy." + name);
}

// A scalar, or an array with memory of its own and not too much of it.
V Context::numpy_result(const py::object& r, const std::string& name) {
  if (is_numpy_scalar(r.ptr()) || PyLong_CheckExact(r.ptr()) || PyFloat_CheckExact(r.ptr()))
    return constant(r);
  constexpr py::ssize_t kMaxBytes = 1 << 20;
  if (py::isinstance<py::array>(r)) {
    const auto a = py::cast<py::array>(r);
    if (Py_TYPE(r.ptr()) == library.ndarray.type() && a.owndata() && a.nbytes() <= kMaxBytes &&
        std::string("biuf").find(a.dtype().kind()) != std::string::npos) {
      auto* v = make<ArrayValue>();
      v->obj = r;
      return v;
    }
  }
  give_up(Reason::kUnsupportedCall, name);
}

}  // namespace pijit
