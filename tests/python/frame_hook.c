/* Other tools' evaluators of frames (PEP 523), for test_frame_hooks.py: each calls the one that it found, or CPython's
   own. */
#include <Python.h>
#if PY_VERSION_HEX < 0x030A0000
static PyObject* Py_XNewRef(PyObject* o) {
  Py_XINCREF(o);
  return o;
}
#endif

struct _PyInterpreterFrame;

enum { TOOLS = 3 };
static struct {
    _PyFrameEvalFunction found;
    int own; /* CPython's own is called, in place of the found one */
    int runs_python, installed;
    long calls;
    PyObject *function;
} tools[TOOLS];

static PyObject *evaluate(int k, PyThreadState *t, struct _PyInterpreterFrame *f, int throwing) {
    ++tools[k].calls;
    if (tools[k].function && !tools[k].runs_python) {
        tools[k].runs_python = 1;
        PyObject *r = PyObject_CallNoArgs(tools[k].function);
        tools[k].runs_python = 0;
        if (!r) PyErr_WriteUnraisable(tools[k].function);
        Py_XDECREF(r);
    }
    return tools[k].own ? _PyEval_EvalFrameDefault(t, f, throwing) : tools[k].found(t, f, throwing);
}
#define TOOL(k) \
    static PyObject *tool_##k(PyThreadState *t, struct _PyInterpreterFrame *f, int throwing) { \
        return evaluate(k, t, f, throwing); \
    }
TOOL(0)
TOOL(1)
TOOL(2)
static const _PyFrameEvalFunction functions[TOOLS] = {tool_0, tool_1, tool_2};

static PyObject *install(PyObject *m, PyObject *args) {
    int k, own = 0;
    PyObject *function = NULL;
    if (!PyArg_ParseTuple(args, "i|pO", &k, &own, &function)) return NULL;
    PyInterpreterState *interp = PyInterpreterState_Get();
    _PyFrameEvalFunction now = _PyInterpreterState_GetEvalFrameFunc(interp);
    tools[k].own = own;
    Py_XSETREF(tools[k].function, Py_XNewRef(function));
    if (tools[k].installed) Py_RETURN_FALSE;
    tools[k].installed = 1;
    tools[k].found = now;
    _PyInterpreterState_SetEvalFrameFunc(interp, functions[k]);
    Py_RETURN_TRUE;
}

/* Puts back what it found: always, or only where it is still on top. */
static PyObject *uninstall(PyObject *m, PyObject *args) {
    int k, always = 0;
    if (!PyArg_ParseTuple(args, "i|p", &k, &always)) return NULL;
    PyInterpreterState *interp = PyInterpreterState_Get();
    if (!tools[k].installed) Py_RETURN_FALSE;
    if (!always && _PyInterpreterState_GetEvalFrameFunc(interp) != functions[k]) Py_RETURN_FALSE;
    _PyInterpreterState_SetEvalFrameFunc(interp, tools[k].found);
    tools[k].installed = 0;
    Py_RETURN_TRUE;
}

static PyObject *reset(PyObject *m, PyObject *unused) {
    _PyInterpreterState_SetEvalFrameFunc(PyInterpreterState_Get(), _PyEval_EvalFrameDefault);
    for (int k = 0; k < TOOLS; ++k) tools[k].installed = 0;
    Py_RETURN_NONE;
}

static PyObject *calls(PyObject *m, PyObject *args) {
    int k;
    if (!PyArg_ParseTuple(args, "i", &k)) return NULL;
    return PyLong_FromLong(tools[k].calls);
}

static PyMethodDef methods[] = {{"install", install, METH_VARARGS, NULL},
                                {"uninstall", uninstall, METH_VARARGS, NULL},
                                {"reset", reset, METH_NOARGS, NULL},
                                {"calls", calls, METH_VARARGS, NULL},
                                {NULL, NULL, 0, NULL}};
static PyModuleDef definition = {PyModuleDef_HEAD_INIT, "frame_hook", NULL, -1, methods};
PyMODINIT_FUNC PyInit_frame_hook(void) { return PyModule_Create(&definition); }
