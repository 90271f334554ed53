// pijit._run: calls something as if Python had called it itself, with no frames above. A program
// that `python -m pijit` starts sees the stack that it would see without. It is a module of its
// own, because it comes before everything else and has to be quick to load.
#include "python/call_alone.h"

namespace {

// run(function, *args)
PyObject* run(PyObject*, PyObject* const* args, Py_ssize_t nargs) {
  if (nargs < 1) {
    PyErr_SetString(PyExc_TypeError, "run() needs a function");
    return nullptr;
  }
  return pijit::call_alone(args, nargs);
}

PyObject* in_main_interpreter(PyObject*, PyObject*) {
  return PyBool_FromLong(PyInterpreterState_Get() == PyInterpreterState_Main());
}

PyMethodDef methods[] = {
    {"run", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(run)), METH_FASTCALL,
     "run(function, *args): calls it with an empty stack of frames."},
    {"in_main_interpreter", in_main_interpreter, METH_NOARGS,
     "Is this Python's first interpreter? The extension proper would wait for ever in another."},
    {nullptr, nullptr, 0, nullptr}};
PyModuleDef def = {
    PyModuleDef_HEAD_INIT, "pijit._run", nullptr, 0, methods, nullptr, nullptr, nullptr, nullptr};

}  // namespace

// NOLINTNEXTLINE(bugprone-reserved-identifier): CPython's name for it
PyMODINIT_FUNC PyInit__run() { return PyModule_Create(&def); }
