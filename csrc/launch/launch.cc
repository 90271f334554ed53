// pijit._run: calls something as if Python had called it itself, with no frames above. A program
// that `python -m pijit` starts sees the stack that it would see without. It is a module of its
// own, because it comes before everything else and has to be quick to load.
#include <Python.h>

// run(function, *args)
namespace {

PyObject* run(PyObject*, PyObject* const* args, Py_ssize_t nargs) {
  if (nargs < 1) {
    PyErr_SetString(PyExc_TypeError, "run() needs a function");
    return nullptr;
  }
  PyThreadState* t = PyThreadState_Get();
  auto* above = t->cframe->current_frame;
  t->cframe->current_frame = nullptr;
#if PY_VERSION_HEX < 0x030C0000
  int &left = t->recursion_remaining, limit = t->recursion_limit;
#else
  int &left = t->py_recursion_remaining, limit = t->py_recursion_limit;
#endif
  const int depth = limit - left;
  left += depth + 1;  // what we call is no function of the program
  PyObject* r = PyObject_Vectorcall(args[0], args + 1, static_cast<size_t>(nargs - 1), nullptr);
  left -= depth + 1;
  t->cframe->current_frame = above;
  return r;
}

PyMethodDef methods[] = {
    {"run", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(run)), METH_FASTCALL,
     "run(function, *args): calls it with an empty stack of frames."},
    {nullptr, nullptr, 0, nullptr}};
PyModuleDef def = {
    PyModuleDef_HEAD_INIT, "pijit._run", nullptr, 0, methods, nullptr, nullptr, nullptr, nullptr};

}  // namespace

PyMODINIT_FUNC PyInit__run() { return PyModule_Create(&def); }
