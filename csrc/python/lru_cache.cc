#include "python/lru_cache.h"

#include "python/names.h"
#include "python/quiet_lookup.h"

namespace pijit {
namespace {

// As in Modules/_functoolsmodule.c of CPython 3.9 to 3.15: tried out before it is relied on.
struct Link {
  PyObject_HEAD Link *previous, *next;
  Py_hash_t hash;
  PyObject *key, *result;
};
struct CachedFunction {
  Link root;
  void* wrapper;
  int typed;
  PyObject* cache;
  Py_ssize_t hits;
  PyObject* function;
  Py_ssize_t most;
};

bool known;      // that CPython has them so
PyObject* none;  // stands for what is not kept
PyObject* kept_function;

PyObject* find(PyObject* f, PyObject* const* args, Py_ssize_t n) {
  auto* cached = reinterpret_cast<CachedFunction*>(f);
  py::object key;
  if (n == 1 && (PyUnicode_CheckExact(args[0]) || PyLong_CheckExact(args[0]))) {
    key = py::reinterpret_borrow<py::object>(args[0]);
  } else {
    key = py::reinterpret_steal<py::object>(PyTuple_New(n));
    for (Py_ssize_t k = 0; k < n; ++k) PyTuple_SET_ITEM(key.ptr(), k, Py_NewRef(args[k]));
  }
  PyObject* found = cached->most ? quiet_item(cached->cache, key.ptr()) : nullptr;
  if (!found) return none;
  return cached->most < 0 ? found : reinterpret_cast<Link*>(found)->result;
}

PyObject* kept_result(PyObject*, PyObject* const* args, Py_ssize_t n) {
  if (n < 1 || !is_cached_function(args[0])) return Py_NewRef(none);
  return Py_NewRef(find(args[0], args + 1, n - 1));
}

PyMethodDef kept_result_method{
    "kept_result",
    reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(
        static_cast<PyObject* (*)(PyObject*, PyObject* const*, Py_ssize_t)>(kept_result))),
    METH_FASTCALL, nullptr};

// The structs are private to CPython: tried out before they are relied on.
bool readable() {
  const py::object cache = python_module("functools").attr("lru_cache");
  for (const py::object& most : {py::object(py::none()), py::object(py::int_(3))}) {
    const py::object f = cache(py::arg("maxsize") = most)(python_module("math").attr("sqrt"));
    const auto* seen = reinterpret_cast<CachedFunction*>(f.ptr());
    const py::object result = f(2.5), argument = py::float_(2.5);
    f(2.5);
    PyObject* key = argument.ptr();
    if (Py_TYPE(f.ptr())->tp_basicsize < static_cast<Py_ssize_t>(sizeof(CachedFunction)) ||
        seen->hits != 1 || seen->most != (most.is_none() ? -1 : 3) || seen->typed ||
        seen->function != py::object(f.attr("__wrapped__")).ptr() ||
        !PyDict_CheckExact(seen->cache) || find(f.ptr(), &key, 1) != result.ptr())
      return false;
  }
  return true;
}

}  // namespace

bool is_cached_function(PyObject* f) {
  return known && Py_IS_TYPE(f, library.cached_function.type()) &&
         !reinterpret_cast<CachedFunction*>(f)->typed;
}

PyObject* not_kept() { return none; }
PyObject* kept_result_function() { return kept_function; }

void init_lru_cache() {
  none =
      checked(PyObject_CallNoArgs(reinterpret_cast<PyObject*>(&PyBaseObject_Type))).release().ptr();
  kept_function = checked(PyCFunction_New(&kept_result_method, nullptr)).release().ptr();
  known = readable();
}

}  // namespace pijit
