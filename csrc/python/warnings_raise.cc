#include "python/warnings_raise.h"

#include "python/convert.h"
#include "python/names.h"

namespace pijit {

namespace {

[[gnu::tls_model("initial-exec")]] thread_local int raising = 0;

// Which categories the filter is for: all of them, in threads whose warnings raise.
PyObject* is_raised(PyObject*, PyObject*) { return PyBool_FromLong(raising > 0); }

// It stands before the program's own filters, which other threads ask meanwhile.
constinit OnDemand<PyObject*> known_filter;
PyObject* make_filter() {
  static PyMethodDef methods[] = {{"__subclasscheck__", is_raised, METH_O, nullptr},
                                  {nullptr, nullptr, 0, nullptr}};
  static PyType_Slot slots[] = {{Py_tp_methods, methods}, {0, nullptr}};
  static PyType_Spec spec = {"pijit._C.RaisedWarnings", sizeof(PyObject), 0, Py_TPFLAGS_DEFAULT,
                             slots};
  const auto type = py::reinterpret_steal<py::object>(PyType_FromSpec(&spec));
  if (!type) throw py::error_already_set();
  return py::make_tuple("error", py::none(), type(), py::none(), 0).release().ptr();
}

}  // namespace

WarningsRaise::WarningsRaise() : filters_(nullptr) {
  PyObject* const filter = known_filter.get(make_filter);
  ++raising;
  const auto module =
      py::reinterpret_steal<py::object>(PyImport_GetModule(py::str("warnings").ptr()));
  py::object filters = module ? py::getattr(module, "filters", py::none()) : py::none();
  if (PyList_CheckExact(filters.ptr()) && PyList_Insert(filters.ptr(), 0, filter) == 0)
    filters_ = filters.release().ptr();
  else
    PyErr_Clear();
}

WarningsRaise::~WarningsRaise() {
  --raising;
  if (!filters_) return;
  PyObject* const filter = known_filter.get(make_filter);
  for (Py_ssize_t k = 0; k < PyList_GET_SIZE(filters_); ++k)
    if (PyList_GET_ITEM(filters_, k) == filter) {
      if (PyList_SetSlice(filters_, k, k + 1, nullptr) < 0) PyErr_Clear();
      break;
    }
  Py_DECREF(filters_);
}

}  // namespace pijit
