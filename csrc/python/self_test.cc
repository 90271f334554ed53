// Are frames and interpreters what our headers say? A CPython of the same version number may be
// built otherwise, or changed by who ships it; with other places of what they hold, all that looks
// into frames would read, and write, something else.
#include "python/interpreter.h"

#include <utility>

#include "python/convert.h"
#include "python/hook.h"

namespace pijit {
namespace {

struct Expected {
  PyObject *function, *code, *first, *second;
  int slot;  // where the first argument lies
  bool seen_as_it_begins, seen_as_it_calls;
};
Expected* expected;

bool fits(_PyInterpreterFrame* f) {
  return f && reinterpret_cast<PyObject*>(frames::code_of(f)) == expected->code &&
         frames::is_of_function(f, expected->function) &&
         f->f_globals == PyFunction_GET_GLOBALS(expected->function) &&
         frames::slot(f, expected->slot) == expected->first &&
         frames::slot(f, expected->slot + 1) == expected->second;
}

PyObject* as_it_begins(PyThreadState* t, _PyInterpreterFrame* f, int throwing) {
  // a tool that watches has frames of its own in between
  if (fits(f) && frames::is_of_call(f) && frames::begins(f)) expected->seen_as_it_begins = true;
  return _PyEval_EvalFrameDefault(t, f, throwing);
}

PyObject* as_it_calls(PyObject*, PyObject* const*, Py_ssize_t) {
  _PyInterpreterFrame* f = current_frame(PyThreadState_Get());
  // where it is: behind its beginning, and not behind its end
  expected->seen_as_it_calls = fits(f) && frames::is_python(f) && !frames::begins(f) &&
                               frames::offset_of(f) > 0 &&
                               frames::offset_of(f) < frames::num_units(frames::code_of(f));
  Py_RETURN_NONE;
}
PyMethodDef called = {"called",
                      reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(as_it_calls)),
                      METH_FASTCALL, nullptr};

}  // namespace

bool frames_are_as_expected(int slot) {
  py::dict scope;
  scope["called"] = py::reinterpret_steal<py::object>(PyCFunction_New(&called, nullptr));
  scope["__builtins__"] = py::dict();
  py::object code = py::reinterpret_steal<py::object>(
      Py_CompileString("def f(a, b):\n  called()\n  return b", "<pijit>", Py_file_input));
  if (!code) throw py::error_already_set();
  py::object made =
      py::reinterpret_steal<py::object>(PyEval_EvalCode(code.ptr(), scope.ptr(), scope.ptr()));
  if (!made) throw py::error_already_set();
  const py::object f = scope["f"], a = py::list(), b = py::list();
  Expected e{f.ptr(), PyFunction_GET_CODE(f.ptr()), a.ptr(), b.ptr(), slot, false, false};
  expected = &e;
  auto* interpreter = PyInterpreterState_Get();
  const auto before = _PyInterpreterState_GetEvalFrameFunc(interpreter);
  _PyInterpreterState_SetEvalFrameFunc(interpreter, as_it_begins);
  PyObject* args[] = {a.ptr(), b.ptr()};
  py::object result =
      py::reinterpret_steal<py::object>(PyObject_Vectorcall(f.ptr(), args, 2, nullptr));
  _PyInterpreterState_SetEvalFrameFunc(interpreter, before);
  expected = nullptr;
  if (!result) throw py::error_already_set();
  return result.is(b) && e.seen_as_it_begins && e.seen_as_it_calls;
}

}  // namespace pijit
