// Functions of NumPy that have no effect but a result, on constants.
#include "capture/registry.h"
#include "capture/values/array.h"

namespace pijit {
namespace {

V by_numpy(Tracer& t, Call& c) {
  return call_numpy(t, py::reinterpret_borrow<py::object>(c.callable), c.args, c.kwargs);
}

}  // namespace

void add_numpy(Registry& r) {
  constexpr Arity kAll{0, kAny, true};
  r.functions("numpy",
              {"array", "zeros", "ones", "full", "arange", "eye", "identity", "linspace", "prod",
               "sum", "max", "min", "amax", "amin", "mean", "std", "ndim", "size", "round"},
              kAll, by_numpy);
  const py::object numpy = python_module("numpy");
  const py::object ufunc = numpy.attr("ufunc"), generic = numpy.attr("generic");
  for (auto [name, o] : py::cast<py::dict>(numpy.attr("__dict__"))) {
    const bool scalar_type =
        PyType_Check(o.ptr()) && PyType_IsSubtype(reinterpret_cast<PyTypeObject*>(o.ptr()),
                                                  reinterpret_cast<PyTypeObject*>(generic.ptr()));
    if (scalar_type || py::isinstance(o, ufunc)) r.add(o, kAll, by_numpy);
  }
}

}  // namespace pijit
