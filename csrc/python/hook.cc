#include "python/interpreter.h"

#include <pybind11/eval.h>

#include "python/blocks.h"
#include "python/c_recursion.h"
#include "python/code.h"
#include "python/convert.h"
#include "python/hook.h"

#include <pthread.h>
#include <sys/auxv.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

namespace pijit {
namespace py = pybind11;

[[gnu::tls_model("initial-exec")]] constinit thread_local bool hook_sleeps = false;

namespace {

using frames::code_of;

CallHandler handler;
// The evaluators that were there when ours was installed, in their order: more than one where
// another tool put its own on top of ours and ours came to stand on that again. The other then
// gives frames back to ours, which calls the one below.
std::vector<_PyFrameEvalFunction> below;
int users;     // scopes that are on, of all threads
bool paused;   // for the moment taken away
bool for_all;  // threads under no scope, too
enum Mode : uint8_t { kDefault, kOn, kOff };
struct Thread {
  uint8_t mode = kDefault;
  PyObject* but = nullptr;
  const char* half = nullptr;  // of its C stack
  // The frame that the evaluator below ours is called for, and how far below.
  _PyInterpreterFrame* passed = nullptr;
  size_t depth = 0;
#if PY_VERSION_HEX < 0x030C0000
  // The frame whose lines are watched.
  _PyInterpreterFrame* watched = nullptr;
  LineHandler lines = nullptr;
#endif
};
// Read at every call of a function: in the part of thread-local memory that needs no look-up.
[[gnu::tls_model("initial-exec")]] thread_local Thread here;

#if PY_VERSION_HEX >= 0x030C0000
// Frames of this thread whose lines are watched, by events of their code: the innermost last. One
// that an exception has left stays until an event below it, or of the same code, shows that.
struct Watch {
  _PyInterpreterFrame* frame;
  LineHandler lines;
  py::object code;
};
std::vector<Watch>& watches() {
  static thread_local auto* w = new std::vector<Watch>;  // may outlive the interpreter
  return *w;
}
#endif

struct Stack {
  char* low = nullptr;
  size_t size = 0;
  Stack() {
    if (of_process()) return;
    pthread_attr_t attr;
    void* at;
    if (pthread_getattr_np(pthread_self(), &attr) == 0) {
      if (pthread_attr_getstack(&attr, &at, &size) == 0) low = static_cast<char*>(at);
      pthread_attr_destroy(&attr);
    }
  }
  // The stack that the process began with ends behind the name of its file. glibc reads the list of
  // all mappings to find that out, which takes half a millisecond in the first call. Linux keeps
  // 128 MiB free for it, whatever the limit was when the process began.
  bool of_process() {
    constexpr rlim_t kKeptFree = 128 << 20;
    rlimit limit;
    const auto* name = reinterpret_cast<const char*>(getauxval(AT_EXECFN));
    if (!name || getrlimit(RLIMIT_STACK, &limit) != 0 || limit.rlim_cur > kKeptFree) return false;
    const auto page = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
    const auto end =
        (reinterpret_cast<uintptr_t>(name + strlen(name) + 1) + page - 1) & ~(page - 1);
    const auto begin = (end - limit.rlim_cur + page - 1) & ~(page - 1);
    const auto here = reinterpret_cast<uintptr_t>(__builtin_frame_address(0));
    if (here < begin || here >= end) return false;  // a thread's
    low = reinterpret_cast<char*>(begin);
    size = end - begin;
    return true;
  }
};
const Stack& stack() {
  static thread_local const Stack s;
  return s;
}

bool half_of_stack_is_used() {
  if (!here.half) [[unlikely]]
    here.half = stack().low + stack().size / 2;
  return static_cast<const char*>(__builtin_frame_address(0)) < here.half;
}

}  // namespace

PyObject* evaluate(PyThreadState*, _PyInterpreterFrame*, int);
#if PY_VERSION_HEX < 0x030C0000
int on_event(PyObject*, PyFrameObject*, int, PyObject*);
#endif

namespace {

_PyFrameEvalFunction evaluator_below(size_t depth) {
  return depth < below.size() ? below[below.size() - 1 - depth] : _PyEval_EvalFrameDefault;
}
// A tool's evaluator that is on top of ours has none of those below that came with it or later.
void forget_from(_PyFrameEvalFunction top) {
  below.erase(std::find(below.begin(), below.end(), top), below.end());
}

bool known = false;  // are frames what our headers say?

void install() {
  if (!known) return;
  auto* interp = PyInterpreterState_Get();
  const auto current = _PyInterpreterState_GetEvalFrameFunc(interp);
  if (current == evaluate) return;
  forget_from(current);
  below.push_back(current);
  _PyInterpreterState_SetEvalFrameFunc(interp, evaluate);
}
void uninstall() {
  auto* interp = PyInterpreterState_Get();
  const auto current = _PyInterpreterState_GetEvalFrameFunc(interp);
  // who came after us calls us still: then we pass everything on
  if (current != evaluate) return forget_from(current);
  _PyInterpreterState_SetEvalFrameFunc(interp, evaluator_below(0));
  if (!below.empty()) below.pop_back();
}

// Calls the evaluator below ours. One that gives the frame back gets it evaluated by the next.
PyObject* pass_on(PyThreadState* t, _PyInterpreterFrame* f, int throwing) {
  const auto passed = std::exchange(here.passed, f);
  const size_t depth = std::exchange(here.depth, passed == f ? here.depth + 1 : 0);
  PyObject* r = evaluator_below(here.depth)(t, f, throwing);
  here.passed = passed;
  here.depth = depth;
  return r;
}

PyObject* run_plain(PyThreadState* t, _PyInterpreterFrame* f, int throwing) {
  if (users == 0 && !paused) uninstall();  // ours was put back by a tool that stood on it
  if (!frames::kCallsTakeStack && half_of_stack_is_used() && !paused) {
    // Calls from here on are CPython's own again, which need no C stack.
    paused = true;
    uninstall();
    PyObject* r = pass_on(t, f, throwing);
    paused = false;
    if (users) install();
    return r;
  }
  const AsPythonCall call;
  return pass_on(t, f, throwing);
}

#if PY_VERSION_HEX < 0x030C0000
// Lines are watched by CPython's tracing, which is off while the frame calls something.
void trace_lines(PyThreadState* t, bool on) {
  frames::set_tracer(t, on ? on_event : nullptr);
  frames::use_tracing(t, on && !t->tracing);
}
void stop_watching(PyThreadState* t) {
  if (!here.watched) return;
  here.watched = nullptr;
  if (t->c_tracefunc == on_event) trace_lines(t, false);
  if (--users == 0 && !paused) uninstall();
}
#else
// Lines are watched by sys.monitoring, as the tool that it keeps a place for: optimisers.
constexpr int kTool = PY_MONITORING_OPTIMIZER_ID;
constexpr const char* kToolName = "pijit";
int watched_frames;  // of all threads

PyObject* on_line_event(PyObject*, PyObject* const*, Py_ssize_t);
PyObject* on_new_frame_event(PyObject*, PyObject* const*, Py_ssize_t);
PyMethodDef line_event = {
    "on_line", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(on_line_event)),
    METH_FASTCALL, nullptr};
PyMethodDef new_frame_event = {
    "on_new_frame", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(on_new_frame_event)),
    METH_FASTCALL, nullptr};
// A frame that begins stands where one may have been that an exception has left.
const std::pair<int, PyMethodDef*> events[] = {{PY_MONITORING_EVENT_LINE, &line_event},
                                               {PY_MONITORING_EVENT_PY_START, &new_frame_event},
                                               {PY_MONITORING_EVENT_PY_RETURN, &new_frame_event}};

py::object monitoring() { return python_module("sys").attr("monitoring"); }
constexpr int bit(int event) { return 1 << event; }

// False: another tool has the place.
bool take_tool() {
  if (watched_frames > 0) return true;
  const py::object m = monitoring();
  if (!m.attr("get_tool")(kTool).is_none()) return false;
  m.attr("use_tool_id")(kTool, kToolName);
  for (auto& [event, method] : events)
    m.attr("register_callback")(
        kTool, bit(event), py::reinterpret_steal<py::object>(PyCFunction_New(method, nullptr)));
  return true;
}
void drop_watch() {
  const Watch last = std::move(watches().back());
  watches().pop_back();
  for (const Watch& w : watches())
    if (w.code.is(last.code)) return void(--watched_frames);
  PyObject *type, *value, *traceback;
  PyErr_Fetch(&type, &value, &traceback);
  try {
    const py::object m = monitoring();
    m.attr("set_local_events")(kTool, last.code, 0);
    if (--watched_frames == 0) {
      for (auto& [event, method] : events)
        m.attr("register_callback")(kTool, bit(event), py::none());
      m.attr("free_tool_id")(kTool);
    }
  } catch (py::error_already_set&) {  // at the end of the process
  }
  PyErr_Restore(type, value, traceback);
}
// The watch of the frame that runs, which is now the last; null: it has none.
Watch* watch_of(_PyInterpreterFrame* f) {
  auto& all = watches();
  const auto is_it = [f](const Watch& w) {
    return w.frame == f && w.code.ptr() == reinterpret_cast<PyObject*>(code_of(f));
  };
  if (std::none_of(all.begin(), all.end(), is_it)) return nullptr;
  while (!is_it(all.back())) drop_watch();
  return &all.back();
}

// Drops the watches of frames that are no more.
void drop_dead() {
  auto runs = [](const Watch& w) {
    auto* f = current_frame(PyThreadState_Get());
    while (f && f != w.frame) f = frames::caller_of(f);
    return f && w.code.ptr() == reinterpret_cast<PyObject*>(code_of(f));
  };
  while (!watches().empty() && !runs(watches().back())) drop_watch();
}

PyObject* on_line_event(PyObject*, PyObject* const*, Py_ssize_t) {
  PyThreadState* t = PyThreadState_Get();
  _PyInterpreterFrame* f = current_frame(t);
  const Watch* w = watch_of(f);
  if (!w) Py_RETURN_NONE;
  // What the handler runs is traced as ever.
  PyThreadState_LeaveTracing(t);
  LiveFrame frame(f);
  const LineAnswer answer = w->lines(frame);
  PyThreadState_EnterTracing(t);
  if (answer == LineAnswer::kStop && watch_of(f)) drop_watch();
  if (answer == LineAnswer::kRaise) return nullptr;
  Py_RETURN_NONE;
}
PyObject* on_new_frame_event(PyObject*, PyObject* const*, Py_ssize_t) {
  if (watch_of(current_frame(PyThreadState_Get()))) drop_watch();
  Py_RETURN_NONE;
}
#endif

}  // namespace

PyObject* evaluate(PyThreadState* t, _PyInterpreterFrame* f, int throwing) {
#if PY_VERSION_HEX < 0x030C0000
  if (t->c_tracefunc == on_event) {
    const auto watched = here.watched;
    const auto lines = here.lines;
    trace_lines(t, false);
    here.watched = nullptr;
    PyObject* r = evaluate(t, f, throwing);
    stop_watching(t);  // a frame below that is left
    here.watched = watched;
    here.lines = lines;
    if (!t->c_tracefunc) trace_lines(t, true);
    return r;
  }
#endif
  if (here.passed == f) return pass_on(t, f, throwing);
  PyCodeObject* code = code_of(f);
  constexpr int kPlain = CO_OPTIMIZED | CO_NEWLOCALS;
  constexpr int kSuspending = CO_GENERATOR | CO_COROUTINE | CO_ASYNC_GENERATOR;
  const bool on = (here.mode == kOn && !hook_sleeps) || (here.mode == kDefault && for_all);
  const bool call_of_function = !throwing && (code->co_flags & (kPlain | kSuspending)) == kPlain &&
                                frames::is_of_call(f) && frames::begins(f);
  // Where another tool's hook keeps ours from stepping aside, each call is a C call to the end.
  if (call_of_function && stack_is_short()) {
    PendingCall(t, f).finish();
    return nullptr;
  }
  // up to CPython 3.10 a call takes C stack anyway: ours would take most of what is left
  if (!on || !call_of_function || stack_is_low()) return run_plain(t, f, throwing);
  if (here.but == reinterpret_cast<PyObject*>(code)) {
    here.but = nullptr;
    return run_plain(t, f, throwing);
  }
  PendingCall call(t, f);
  PyObject* r = handler(call);
  if (!call.ran_) call.finish();
  return r;
}

#if PY_VERSION_HEX >= 0x030B0000
py::object PendingCall::func() const {
  return py::reinterpret_borrow<py::object>(frames::function_of(frame_));
}
std::span<PyObject* const> PendingCall::cells() const {
  Py_ssize_t n;
  PyObject** cells = closure_of(frames::function_of(frame_), &n);
  return {cells, static_cast<size_t>(n)};
}
#else
py::object PendingCall::func() const {
  py::object f =
      checked(PyFunction_NewWithQualName(code(), globals(), qualname_of(code(), globals())));
#if PY_VERSION_HEX >= 0x030A0000
  Py_XSETREF(reinterpret_cast<PyFunctionObject*>(f.ptr())->func_builtins,
             Py_NewRef(frame_->f_builtins));
#endif
  const auto all = cells();
  if (all.empty()) return f;
  py::tuple closure(all.size());
  for (size_t k = 0; k < all.size(); ++k) closure[k] = py::reinterpret_borrow<py::object>(all[k]);
  if (PyFunction_SetClosure(f.ptr(), closure.ptr()) < 0) throw py::error_already_set();
  return f;
}
std::span<PyObject* const> PendingCall::cells() const {
  const PyCodeObject* c = code_of(frame_);
  return {frame_->f_localsplus + c->co_nlocals + frames::num_cells(c),
          static_cast<size_t>(frames::num_free(c))};
}
#endif
PyObject* PendingCall::code() const { return reinterpret_cast<PyObject*>(code_of(frame_)); }
PyObject* PendingCall::globals() const { return frame_->f_globals; }
std::span<PyObject* const> PendingCall::slots(size_t n, std::vector<PyObject*>* room) const {
  if (PyObject* const* slots = frames::slots_in(frame_)) return {slots, n};
  room->resize(n);
  for (size_t k = 0; k < n; ++k) (*room)[k] = frames::slot_at_begin(frame_, static_cast<int>(k));
  return *room;
}
PyObject* PendingCall::run() {
  ran_ = true;
  return run_plain(thread_, frame_, 0);
}

// What an evaluator does with a frame that it does not run.
void PendingCall::finish() {
  PyObject *type, *value, *traceback;
  PyErr_Fetch(&type, &value, &traceback);
  frames::clear_and_pop(thread_, frame_);
  PyErr_Restore(type, value, traceback);
}

#if PY_VERSION_HEX < 0x030B0000
PyObject* run_made_frame(_PyInterpreterFrame* frame) {
  return run_plain(PyThreadState_Get(), frame, 0);
}
#endif

#if PY_VERSION_HEX < 0x030A0000
}  // namespace pijit
int PyGC_Disable() { return std::exchange(PyInterpreterState_Get()->gc.enabled, 0); }
int PyGC_Enable() { return std::exchange(PyInterpreterState_Get()->gc.enabled, 1); }
namespace pijit {
#endif

bool frames_are_known() { return known; }

void init_hook() {
  known = frames_are_as_expected();
  if (!known &&
      PyErr_WarnEx(PyExc_RuntimeWarning,
                   "pijit does not know the frames of this CPython, which was built otherwise than "
                   "its headers say: all functions run plainly",
                   1) < 0)
    throw py::error_already_set();
#if PY_VERSION_HEX >= 0x030C0000 && PY_VERSION_HEX < 0x030D0000
  const auto opcode = python_module("opcode").attr("opmap")[frames::kReturnsNothing];
  const char bytes[2] = {static_cast<char>(py::cast<int>(opcode)), 0};
  using namespace py::literals;
  py::object code = py::eval("(lambda: None).__code__")
                        .attr("replace")("co_code"_a = py::bytes(bytes, 2),
                                         "co_consts"_a = py::make_tuple(py::none()),
                                         "co_exceptiontable"_a = py::bytes(""));
  frames::nothing = code.release().ptr();
#endif
}

void set_call_handler(CallHandler h) { handler = h; }

void set_hook_for_all(bool on) {
  if (for_all == on) return;
  for_all = on;
  users += on ? 1 : -1;
  if (on && users == 1 && !paused) install();
  if (!on && users == 0 && !paused) uninstall();
}
bool hook_is_for_all() { return for_all; }
bool hook_is_off_here() { return here.mode == kOff; }

void put_hook_to_sleep() {
  if (here.mode != kOn || hook_sleeps) return;
  hook_sleeps = true;
  if (--users == 0 && !paused) uninstall();
}
void wake_hook() {
  if (!std::exchange(hook_sleeps, false)) return;
  if (users++ == 0 && !paused) install();
}

HookScope::HookScope(bool on, PyObject* but) : on_(on), before_(here.mode), but_before_(here.but) {
  wake_hook();
  here.mode = on ? kOn : kOff;
  here.but = but;
  if (on && users++ == 0 && !paused) install();
}
HookScope::~HookScope() {
  wake_hook();
  here.mode = before_;
  here.but = but_before_;
  if (on_ && --users == 0 && !paused) uninstall();
}

namespace {
_PyInterpreterFrame* python_frame(_PyInterpreterFrame* f) {
  while (f && !frames::is_python(f)) f = frames::caller_of(f);
  return f;
}
}  // namespace
LiveFrame LiveFrame::innermost() {
  return LiveFrame(python_frame(current_frame(PyThreadState_Get())));
}
LiveFrame LiveFrame::caller() const { return LiveFrame(python_frame(frames::caller_of(frame_))); }
bool LiveFrame::complete() const {
  constexpr int kSuspending = CO_GENERATOR | CO_COROUTINE | CO_ASYNC_GENERATOR;
  return frames::is_of_call(frame_) && frames::has_begun(frame_) &&
         !(code_of(frame_)->co_flags & kSuspending);
}
py::object LiveFrame::func() const { return PendingCall(nullptr, frame_).func(); }
PyObject* LiveFrame::code() const { return reinterpret_cast<PyObject*>(code_of(frame_)); }
PyObject* LiveFrame::globals() const { return frame_->f_globals; }
bool LiveFrame::names_in_globals() const {
  return !(code_of(frame_)->co_flags & CO_OPTIMIZED) && frame_->f_locals == frame_->f_globals;
}
int LiveFrame::offset() const { return frames::offset_of(frame_); }
int LiveFrame::num_slots() const { return frames::num_slots(code_of(frame_)); }
PyObject* LiveFrame::slot(int k) const { return frames::slot(frame_, k); }
namespace {
// Puts an entry where a stack ends, or holds NULL.
void put_entry(_PyInterpreterFrame* f, int k, py::object o) {
  if (frames::kHoldNumbers && is_place_in_code(o.ptr()))
    frames::put_number(f, k, py::cast<int>(o));
  else
    frames::put(f, k, o.release().ptr());
}
// Is it the place of the next item of what lies below it? It may be that of an instruction, too,
// below the exception that was handled before and the one that is handled.
bool is_place_of_item(_PyInterpreterFrame* f, int k) {
  if (!frames::is_number(f, k) || k == frames::num_slots(code_of(f))) return false;
  PyObject* below = frames::slot(f, k - 1);
  PyObject* above = k + 1 < frames::size_of(f) ? frames::slot(f, k + 1) : nullptr;
  return below && is_iterated_by_number(Py_TYPE(below)) &&
         !(above && (above == Py_None || PyExceptionInstance_Check(above)));
}
// An iterator that is at the place instead.
py::object iterator_at(PyObject* iterable, int place) {
  py::object it = py::reinterpret_steal<py::object>(PyObject_GetIter(iterable));
  if (!it) throw py::error_already_set();
  if (place == 0) return it;
  if (py::hasattr(it, "__setstate__")) {
    it.attr("__setstate__")(place);
  } else {
    for (; place > 0; --place)
      py::reinterpret_steal<py::object>(Py_TYPE(it.ptr())->tp_iternext(it.ptr()));
    PyErr_Clear();
  }
  return it;
}
}  // namespace
std::vector<py::object> LiveFrame::stack() const {
  std::vector<py::object> stack;
  for (int k = num_slots(); k < frames::size_of(frame_); ++k) {
    PyObject* o = frames::slot(frame_, k);
    if (k + 1 < frames::size_of(frame_) && is_place_of_item(frame_, k + 1))
      stack.push_back(iterator_at(o, frames::number_at(frame_, k + 1)));
    else if (frames::is_number(frame_, k) && !is_place_of_item(frame_, k))
      stack.push_back(place_in_code(frames::number_at(frame_, k)));
    else
      stack.push_back(py::reinterpret_borrow<py::object>(o));
  }
  return stack;
}
bool LiveFrame::go_on_at(const CodeInfo& code, int instr, std::vector<py::object> slots,
                         std::vector<py::object> stack) {
  const int n = num_slots();
#if PY_VERSION_HEX < 0x030B0000
  if (!reach_instruction(code, &instr, &slots, &stack)) return false;
  stack = laid_out(code, instr, std::move(stack));
  set_blocks(frame_, code, instr);
#endif
  std::vector<py::object> before;  // dies when the frame is whole again
  auto put = [&](int k, PyObject* o) {
    before.push_back(py::reinterpret_steal<py::object>(frames::exchange(frame_, k, o)));
  };
  // The stack first: it may borrow what slots hold.
  for (int k = n; k < frames::size_of(frame_); ++k) put(k, nullptr);
  for (int k = 0; k < n; ++k)
    if (slots[k]) put(k, slots[k].inc_ref().ptr());
  for (size_t k = 0; k < stack.size(); ++k)
    put_entry(frame_, n + static_cast<int>(k), std::move(stack[k]));
  frames::set_size(frame_, n + static_cast<int>(stack.size()));
  frames::go_on_at(frame_, code.instrs[instr].offset);
  return true;
}

#if PY_VERSION_HEX < 0x030C0000
int on_event(PyObject*, PyFrameObject* object, int what, PyObject*) {
  PyThreadState* t = PyThreadState_Get();
  _PyInterpreterFrame* f = frames::of_object(object);
  if (f != here.watched) return 0;
  if (what == PyTrace_RETURN) {
    stop_watching(t);
    return 0;
  }
  if (what != PyTrace_LINE) return 0;
  // For what the handler runs, this thread is traced no more than the frame says that it is at one
  // of its lines.
  const auto watched = here.watched;
  const auto lines = here.lines;
  here.watched = nullptr;
  frames::set_tracer(t, nullptr);
  frames::leave_tracing(t);
  frames::forget_line(object);
  LiveFrame frame(f);
  const LineAnswer answer = lines(frame);
  stop_watching(t);
  frames::enter_tracing(t);
  here.watched = watched;
  here.lines = lines;
  if (answer == LineAnswer::kStop || t->c_tracefunc) {
    here.watched = nullptr;
    if (--users == 0 && !paused) uninstall();
  } else {
    frames::set_tracer(t, on_event);
  }
  return answer == LineAnswer::kRaise ? -1 : 0;
}
#endif

bool watch_lines(LiveFrame frame, LineHandler handler) {
#if PY_VERSION_HEX < 0x030C0000
  PyThreadState* t = PyThreadState_Get();
  if (t->c_tracefunc || t->c_profilefunc) return false;
  stop_watching(t);  // a frame that the user's own sys.settrace took us from
  here.watched = frame.frame_;
  here.lines = handler;
  if (users++ == 0 && !paused) install();
  trace_lines(t, true);
#else
  drop_dead();
  if (watch_of(frame.frame_)) return true;
  PyObject *type, *value, *traceback;
  PyErr_Fetch(&type, &value, &traceback);
  bool taken = false;
  try {
    const auto code = py::reinterpret_borrow<py::object>(frame.code());
    taken = take_tool();
    if (taken) {
      ++watched_frames;
      watches().push_back({frame.frame_, handler, code});
      int bits = 0;
      for (auto& [event, method] : events) bits |= bit(event);
      monitoring().attr("set_local_events")(kTool, code, bits);
    }
  } catch (py::error_already_set&) {
    taken = false;
  }
  PyErr_Restore(type, value, traceback);
  if (!taken) return false;
#endif
  return true;
}

Breaker interpreter_breaker() {
  return {frames::breaker(PyThreadState_Get()), frames::kBreakerMask};
}
bool interpreter_is_awaited() { return frames::is_awaited(PyThreadState_Get()); }

void fill_frame(std::vector<py::object>* slots, std::vector<py::object>* stack) {
  _PyInterpreterFrame* frame = current_frame(PyThreadState_Get());
  std::vector<py::object> before;  // what dies may run code: when all slots are in place
  for (size_t k = 0; k < slots->size(); ++k)
    if (PyObject* o = frames::exchange(frame, static_cast<int>(k), (*slots)[k].release().ptr())) {
      if (o == Py_None)  // as call_in_frame() gives them
        Py_DECREF(o);
      else
        before.push_back(py::reinterpret_steal<py::object>(o));
    }
  if (!stack) return;
  int at = frames::num_slots(code_of(frame));
  for (auto& o : *stack) put_entry(frame, at++, std::move(o));
}

bool thread_is_traced() {
  PyThreadState* t = PyThreadState_Get();
#if PY_VERSION_HEX < 0x030C0000
  return (t->c_tracefunc && t->c_tracefunc != on_event) || t->c_profilefunc;
#else
  if (t->c_tracefunc || t->c_profilefunc) return true;
  // Tools of sys.monitoring: asked for again when the events have changed.
  static uint64_t seen = 0;
  static bool tools = false;
  const uint64_t version = frames::monitoring_version(t);
  if (version == seen && !tools) return false;
  seen = version;
  tools = false;
  const auto get_tool = python_module("sys").attr("monitoring").attr("get_tool");
  for (int id = 0; id < 6 && !tools; ++id)
    tools = !get_tool(id).is_none() && !(id == kTool && watched_frames > 0);
  return tools;
#endif
}

size_t stack_left() {
  const Stack& s = stack();
  const char* now = static_cast<const char*>(__builtin_frame_address(0));
  return !s.low || now < s.low ? 0 : static_cast<size_t>(now - s.low);
}
bool stack_is_low() {
  const Stack& s = stack();
  return s.low && stack_left() < std::min<size_t>(s.size / 2, 1 << 20);
}
[[gnu::tls_model("initial-exec")]] constinit thread_local uintptr_t stack_floor = UINTPTR_MAX;
bool raise_short_stack() {
  const Stack& s = stack();
  const auto now = reinterpret_cast<uintptr_t>(__builtin_frame_address(0));
  const auto low = reinterpret_cast<uintptr_t>(s.low);
  stack_floor = low ? low + std::min<size_t>(s.size / 4, 512 << 10) : 0;
  // Some libraries run code on stacks of their own.
  if (!low || now < low || now > stack_floor) return false;
  PyErr_SetString(PyExc_RecursionError, "maximum recursion depth exceeded: the C stack is used up");
  return true;
}

}  // namespace pijit
