// pijit._run: calls something as if Python had called it itself, with no frames above. A program
// that `python -m pijit` starts sees the stack that it would see without. It is a module of its
// own, because it comes before everything else and has to be quick to load.

#include <pthread.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <ctime>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>

#include "base/blocked_signals.h"
#include "python/call_alone.h"
#include "python/signals.h"

namespace {

// Asks a function now and then whether it has seen enough, while the process works.
struct Watch {
  PyObject* function = nullptr;
  std::chrono::nanoseconds after{}, every{};  // of the process's time on processors
  std::mutex mu;
  std::condition_variable ended;
  bool end = false;
  std::thread thread;
};
Watch* watch;
std::atomic<bool> asked;  // and CPython has not called us yet
// A child that is forked without CPython's knowledge leaves its parent's thread alone.
const bool forks = pthread_atfork(nullptr, nullptr, [] { watch = nullptr; }) == 0;

std::chrono::nanoseconds time_on_processors() {
  timespec t{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return std::chrono::seconds(t.tv_sec) + std::chrono::nanoseconds(t.tv_nsec);
}

void end_of(Watch& w) {
  std::lock_guard lock(w.mu);
  w.end = true;
  w.ended.notify_one();
}

// In the main thread, between two of CPython's instructions.
int ask(void*) {
  asked = false;
  if (!watch || watch->end || PyErr_Occurred()) return 0;
  // Handlers wait: what they raise is the program's, and not the function's.
  const pijit::NoSignals none;
  PyObject *type, *value, *traceback;
  PyErr_Fetch(&type, &value, &traceback);
  PyObject* function = watch->function;
  Py_INCREF(function);
  PyObject* enough = PyObject_CallNoArgs(function);
  if (watch && enough && PyObject_IsTrue(enough) == 1) end_of(*watch);
  PyErr_Clear();
  Py_XDECREF(enough);
  Py_DECREF(function);
  PyErr_Restore(type, value, traceback);
  return 0;
}

void ask_while_busy(Watch& w) {
  constexpr std::chrono::milliseconds kLook{10};
  std::unique_lock lock(w.mu);
  auto due = w.after;
  while (!w.ended.wait_for(lock, kLook, [&] { return w.end; })) {
    if (time_on_processors() < due || asked.exchange(true)) continue;
    due = time_on_processors() + w.every;
    lock.unlock();
    // CPython looks for such calls when it hands on its lock, which other threads may not ask for.
    const PyGILState_STATE state = PyGILState_Ensure();
    if (Py_AddPendingCall(ask, nullptr) != 0) asked = false;
    PyGILState_Release(state);
    lock.lock();
  }
}

// call_while_busy(function, after, every)
PyObject* call_while_busy(PyObject*, PyObject* args) {
  PyObject* function;
  double after, every;
  if (!PyArg_ParseTuple(args, "Odd", &function, &after, &every)) return nullptr;
  if (watch || !forks) Py_RETURN_NONE;
  auto* w = new Watch;
  asked = false;
  using Seconds = std::chrono::duration<double>;
  Py_INCREF(function);
  w->function = function;
  w->after = std::chrono::duration_cast<std::chrono::nanoseconds>(Seconds(after));
  w->every = std::chrono::duration_cast<std::chrono::nanoseconds>(Seconds(every));
  const pijit::BlockedSignals blocked;
  try {
    w->thread = std::thread([w] { ask_while_busy(*w); });
    watch = w;
  } catch (const std::system_error&) {
    Py_DECREF(w->function);
    delete w;
  }
  Py_RETURN_NONE;
}

PyObject* stop_calling(PyObject*, PyObject*) {
  Watch* w = std::exchange(watch, nullptr);
  if (!w) Py_RETURN_NONE;
  end_of(*w);
  PyThreadState* here = PyEval_SaveThread();  // its thread may be about to take the lock
  w->thread.join();
  PyEval_RestoreThread(here);
  Py_DECREF(w->function);
  delete w;
  Py_RETURN_NONE;
}

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

PyObject* missing_instructions(PyObject*, PyObject*) {
  PyObject* names = PyList_New(0);
  auto need = [&](const char* name, bool there) {
    if (!names || there) return;
    PyObject* s = PyUnicode_FromString(name);
    if (!s || PyList_Append(names, s) < 0) Py_CLEAR(names);
    Py_XDECREF(s);
  };
  need("AVX2", __builtin_cpu_supports("avx2"));
  need("FMA", __builtin_cpu_supports("fma"));
  need("F16C", __builtin_cpu_supports("f16c"));
  need("BMI", __builtin_cpu_supports("bmi"));
  need("BMI2", __builtin_cpu_supports("bmi2"));
  return names;
}

PyMethodDef methods[] = {
    {"run", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(run)), METH_FASTCALL,
     "run(function, *args): calls it with an empty stack of frames."},
    {"call_while_busy", call_while_busy, METH_VARARGS,
     "call_while_busy(function, after, every): calls it in the main thread once the process has "
     "been on processors for `after` seconds, and after each further `every`, until it gives a "
     "true value."},
    {"stop_calling", stop_calling, METH_NOARGS, "Ends call_while_busy."},
    {"missing_instructions", missing_instructions, METH_NOARGS,
     "Those that the extension proper is compiled with, and this processor doesn't have."},
    {"in_main_interpreter", in_main_interpreter, METH_NOARGS,
     "Is this Python's first interpreter? The extension proper would wait for ever in another."},
    {nullptr, nullptr, 0, nullptr}};
PyModuleDef def = {
    PyModuleDef_HEAD_INIT, "pijit._run", nullptr, 0, methods, nullptr, nullptr, nullptr, nullptr};

}  // namespace

// NOLINTNEXTLINE(bugprone-reserved-identifier): CPython's name for it
PyMODINIT_FUNC PyInit__run() {
  PyObject* m = PyModule_Create(&def);
  if (m && PyModule_AddIntConstant(m, "onednn_inside", PIJIT_ONEDNN_INSIDE) < 0) Py_CLEAR(m);
  return m;
}
