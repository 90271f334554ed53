#include "python/code.h"

#include <algorithm>
#include <climits>

#include "base/error.h"
#include "python/blocks.h"
#include "python/call_in_frame.h"
#include "python/compat.h"
#include "python/comprehensions.h"
#include "python/hook.h"
#include "python/module_code.h"
#include "python/names.h"
#include "python/quiet_lookup.h"
#include "python/shown_frames.h"

namespace pijit {

const char* op_name(Op op) {
  static constexpr const char* names[] = {
#define I(name, pops, pushes, jump_pushes, slot, flow) #name,
#include "python/isa.def"
#undef I
  };
  return names[static_cast<int>(op)];
}

SlotUse slot_use(const Instr& in) {
  static constexpr SlotUse uses[] = {
#define I(name, pops, pushes, jump_pushes, slot, flow) SlotUse::slot,
#include "python/isa.def"
#undef I
  };
  return uses[static_cast<int>(in.op)];
}

Flow flow(const Instr& in) {
  static constexpr Flow flows[] = {
#define I(name, pops, pushes, jump_pushes, slot, flow) Flow::flow,
#include "python/isa.def"
#undef I
  };
  return flows[static_cast<int>(in.op)];
}

StackUse stack_use(const Instr& in, int stack_size) {
  [[maybe_unused]] const int a = in.a, b = in.b;
  StackUse use{};
  switch (in.op) {
#define I(name, pops, pushes, jump_pushes, slot, flow) \
  case Op::name:                                       \
    use = {pops, pushes, jump_pushes};                 \
    break;
#include "python/isa.def"
#undef I
  }
  if (use.pops < 0) use = {stack_size, stack_size + use.pushes, 0};
  return use;
}

bool has_loop(const CodeInfo& code) {
  for (int pc = 0; pc < static_cast<int>(code.instrs.size()); ++pc)
    for (int to : successors(code, pc))
      if (to >= 0 && to <= pc) return true;
  return false;
}

std::pair<int, int> loop_around(const CodeInfo& code, int at) {
  std::pair<int, int> loop{-1, -1};
  for (size_t k = static_cast<size_t>(at); k < code.instrs.size(); ++k) {
    const int t = code.instrs[k].target;
    if (t >= 0 && t <= at && t >= loop.first) loop = {t, static_cast<int>(k) + 1};
  }
  return loop;
}

std::pair<int, int> lines_of(const CodeInfo& code, int first, int last) {
  std::pair<int, int> lines{INT_MAX, 0};
  for (int k = first; k <= last; ++k) {
    const int line = code.instrs[static_cast<size_t>(k)].line;
    if (line <= 0) continue;  // of none
    lines = {std::min(lines.first, line), std::max(lines.second, line)};
  }
  return lines.second ? lines : std::pair{0, 0};
}

absl::InlinedVector<int, 2> successors(const CodeInfo& c, int pc) {
  const Instr& in = c.instrs[pc];
  switch (flow(in)) {
    case Flow::NEXT: break;
    case Flow::JUMP: return {in.target};
    case Flow::BRANCH: return {pc + 1, in.target};
    case Flow::END: return {-1};
  }
  return {pc + 1};
}

const Handler* CodeInfo::handler_of(int i) const {
  const auto h = std::upper_bound(handlers.begin(), handlers.end(), i,
                                  [](int at, const Handler& of) { return at < of.end; });
  return h != handlers.end() && i >= h->begin ? &*h : nullptr;
}

namespace {

// Functions that look at the names of the frame they are called from may read all of them.
bool looks_at_frames(const Instr& in) {
  auto is = [&](const char* name) { return PyUnicode_CompareWithASCIIString(in.obj, name) == 0; };
  switch (in.op) {
    case Op::LOAD_GLOBAL:
      for (auto k : {"locals", "vars", "dir", "eval", "exec", "breakpoint"})
        if (is(k)) return true;
      [[fallthrough]];
    case Op::LOAD_ATTR:
    case Op::LOAD_METHOD:
    case Op::IMPORT_FROM: return is("set_trace") || is("_getframe") || is("currentframe");
    default: return false;
  }
}

void find_looks_at_frames(CodeInfo* c) {
  c->reflective = std::any_of(c->instrs.begin(), c->instrs.end(), looks_at_frames);
  auto names = [c](std::initializer_list<const char*> all) {
    return std::any_of(c->instrs.begin(), c->instrs.end(), [&](auto& in) {
      if (in.op != Op::LOAD_ATTR && in.op != Op::LOAD_METHOD && in.op != Op::LOAD_GLOBAL)
        return false;
      return std::any_of(all.begin(), all.end(), [&](const char* name) {
        return PyUnicode_CompareWithASCIIString(in.obj, name) == 0;
      });
    });
  };
  c->compares_frames = names({"_getframe", "currentframe"}) && names({"tb_frame"});
}

// Kept in the code object's co_extra.
struct CodeExtra {
  bool decoded = false;
  std::unique_ptr<const CodeInfo> info;
  std::shared_ptr<void> attached;
  py::object qualname;  // up to CPython 3.10
};

Py_ssize_t extra_index = -1;

CodeExtra& extra_of(PyObject* code) {
  void* p = nullptr;
  if (PIJIT_CODE_EXTRA(Code_GetExtra)(code, extra_index, &p) < 0) throw py::error_already_set();
  if (!p) {
    p = new CodeExtra;
    if (PIJIT_CODE_EXTRA(Code_SetExtra)(code, extra_index, p) < 0) throw py::error_already_set();
  }
  return *static_cast<CodeExtra*>(p);
}

// Values on their way into resume functions. A stack: a finalizer that runs inside a resume
// function's first instructions may resume something else.
thread_local std::vector<ResumeValues> resume_stack;

}  // namespace

std::shared_ptr<void>& attached_to_code(PyObject* code) { return extra_of(code).attached; }

bool cleans_up(const CodeInfo& info) {
  return std::any_of(info.handlers.begin(), info.handlers.end(),
                     [&](const Handler& h) { return end_of_restoring(info, h.target) < 0; });
}

namespace {
std::unique_ptr<const CodeInfo> decoded(PyObject* code, bool generator) {
  auto info = std::make_unique<CodeInfo>();
  info->code = code;
  info->generator = generator;
  const py::handle o = code;
  info->filename = text_of(o.attr("co_filename"));
  info->name = text_of(o.attr("co_name"));
  info->num_locals = py::cast<int>(o.attr("co_nlocals"));
  info->num_free = static_cast<int>(py::len(o.attr("co_freevars")));
  decode_code(code, info.get());
  find_looks_at_frames(info.get());
  info->live.analyse(*info);
  return info;
}
}  // namespace

Code code_info(PyObject* code, bool generators) {
  CodeExtra& extra = extra_of(code);
  auto* co = reinterpret_cast<PyCodeObject*>(code);
  const bool generator = co->co_flags & CO_GENERATOR;
  if (generator && !generators) return {};
  if (extra.decoded) return {extra.info.get(), code};
  if (!(co->co_flags & (CO_COROUTINE | CO_ASYNC_GENERATOR | CO_ITERABLE_COROUTINE)) &&
      (co->co_flags & CO_OPTIMIZED))
    extra.info = decoded(code, generator);
  extra.decoded = true;
  return {extra.info.get(), code};
}

Code module_code_info(PyObject* code) {
  CodeExtra& extra = extra_of(code);
  if (!extra.info) extra.info = decoded(code, false);
  extra.decoded = true;
  return {extra.info.get(), code};
}

ResumeScope::ResumeScope(std::vector<py::object> slots, std::vector<py::object> stack,
                         Begins begins)
    : depth_(resume_stack.size()) {
  resume_stack.push_back({std::move(slots), std::move(stack), std::move(begins)});
}
ResumeScope::~ResumeScope() {
  while (resume_stack.size() > depth_) {
    const ResumeValues unused = std::move(resume_stack.back());  // may run code as it dies
    resume_stack.pop_back();
  }
}

int num_args(const CodeInfo& info) {
  auto* co = reinterpret_cast<PyCodeObject*>(info.code);
  return co->co_argcount + co->co_kwonlyargcount;
}

ResumeValues take_resume_values() {
  ResumeValues values = std::move(resume_stack.back());
  resume_stack.pop_back();
  return values;
}

#if PY_VERSION_HEX >= 0x030B0000
py::object call_in_frame(const py::object& f) {
  const int n = reinterpret_cast<PyCodeObject*>(PyFunction_GET_CODE(f.ptr()))->co_argcount;
  PyObject* few[8];
  std::vector<PyObject*> many;
  PyObject** args = few;
  if (n > 8) {
    many.resize(static_cast<size_t>(n));
    args = many.data();
  }
  std::fill(args, args + n, Py_None);
  return py::reinterpret_steal<py::object>(
      PyObject_Vectorcall(f.ptr(), args, static_cast<size_t>(n), nullptr));
}

namespace {
bool has_resume_values() {
  if (resume_stack.empty()) PyErr_SetString(PyExc_RuntimeError, "pijit: no value to resume with");
  return !resume_stack.empty();
}
void fill_variables(ResumeValues* values, std::vector<py::object>* stack = nullptr) {
  fill_frame(&values->slots, stack);
  if (const auto begins = std::exchange(values->begins, {})) begins(frame_object_here(true));
}
// Called first, it gives the frame that calls it its slots; called again, an entry of the stack
// each time.
PyObject* next_resume_value(PyObject*, PyObject*) {
  if (!has_resume_values()) return nullptr;
  ResumeValues& top = resume_stack.back();
  if (!top.filled) {
    top.filled = true;
    fill_variables(&top);
    Py_RETURN_NONE;
  }
  while (top.at < top.stack.size() && !top.stack[top.at]) ++top.at;  // NULLs are in the code
  return top.at < top.stack.size() ? top.stack[top.at++].release().ptr() : Py_NewRef(Py_None);
}
// The same at once: a tuple of the stack, from the top.
PyObject* fill_and_unpack(PyObject*, PyObject*) {
  if (!has_resume_values()) return nullptr;
  ResumeValues values = std::move(resume_stack.back());
  resume_stack.pop_back();
  fill_variables(&values);
  size_t nulls = 0;
  while (nulls < values.stack.size() && !values.stack[nulls]) ++nulls;
  const size_t n = values.stack.size() - nulls;
  if (n == 0) Py_RETURN_NONE;
  if (n == 1) return values.stack.back().release().ptr();
  PyObject* t = PyTuple_New(static_cast<Py_ssize_t>(n));
  for (size_t k = 0; t && k < n; ++k)
    PyTuple_SET_ITEM(t, static_cast<Py_ssize_t>(k),
                     values.stack[values.stack.size() - 1 - k].release().ptr());
  return t;
}
// Fills the frame that calls it, whose stack has room already.
PyObject* fill(PyObject*, PyObject*) {
  if (!has_resume_values()) return nullptr;
  ResumeValues values = std::move(resume_stack.back());
  resume_stack.pop_back();
  fill_variables(&values, &values.stack);
  Py_RETURN_NONE;
}
// The first n entries of the stack of the frame that calls it, as a tuple that may have NULLs.
PyObject* stack_entries(PyObject*, PyObject* n) {
  try {
    auto stack = LiveFrame::innermost().stack();
    const size_t size = PyLong_AsSize_t(n);
    PyObject* t = PyTuple_New(static_cast<Py_ssize_t>(size));
    for (size_t k = 0; t && k < std::min(size, stack.size()); ++k)
      PyTuple_SET_ITEM(t, static_cast<Py_ssize_t>(k), stack[k].release().ptr());
    return t;
  } catch (py::error_already_set& e) {
    e.restore();
    return nullptr;
  }
}
}  // namespace
#else
namespace {
// The first n entries of the stack of the frame that calls it, which loses them, as a tuple that
// may have NULLs.
PyObject* stack_entries(PyObject*, PyObject* n) {
  PyObject** stack = PyEval_GetFrame()->f_valuestack;
  const Py_ssize_t size = PyLong_AsSsize_t(n);
  PyObject* t = PyTuple_New(size);
  for (Py_ssize_t k = 0; t && k < size; ++k)
    PyTuple_SET_ITEM(t, k, std::exchange(stack[k], nullptr));
  return t;
}
}  // namespace
#endif

#if PY_VERSION_HEX >= 0x030B0000
PyObject* resume_value_function;
PyObject* fill_and_unpack_function;
PyObject* fill_function;
#endif
PyObject* stack_function;
PyObject* leave_function;

namespace {
PyObject* place_type;
thread_local std::optional<LeftLoop> left_loop;
// Of a frame that leaves a loop: its stack, and the instruction that it goes on with.
PyObject* leave_loop(PyObject*, PyObject* where) {
  PyObject* stack = PyTuple_GET_ITEM(where, 0);
  LeftLoop left{static_cast<int>(PyLong_AsLong(PyTuple_GET_ITEM(where, 1))),
                {},
                {},
                frame_object_here(false)};
  for (Py_ssize_t k = 0; k < PyTuple_GET_SIZE(stack); ++k)
    left.stack.push_back(py::reinterpret_borrow<py::object>(PyTuple_GET_ITEM(stack, k)));
  const LiveFrame frame = LiveFrame::innermost();
  for (int k = 0; k < frame.num_slots(); ++k)
    left.slots.push_back(py::reinterpret_borrow<py::object>(frame.slot(k)));
  left_loop = std::move(left);
  Py_RETURN_NONE;
}
PyMethodDef leave_method = {"_leave_loop", leave_loop, METH_O, nullptr};
#if PY_VERSION_HEX >= 0x030B0000
PyMethodDef next_method = {"_next_resume_value", next_resume_value, METH_NOARGS, nullptr};
PyMethodDef fill_and_unpack_method = {"_fill_and_unpack", fill_and_unpack, METH_NOARGS, nullptr};
PyMethodDef fill_method = {"_fill", fill, METH_NOARGS, nullptr};
#endif
PyMethodDef stack_method = {"_stack_entries", stack_entries, METH_O, nullptr};
}  // namespace

void init_code() {
  init_dict_versions();
  extra_index = PIJIT_CODE_EXTRA(Eval_RequestCodeExtraIndex)(
      [](void* p) { delete static_cast<CodeExtra*>(p); });
  PIJIT_CHECK(extra_index >= 0, "no place for data in code objects");
#if PY_VERSION_HEX >= 0x030B0000
  resume_value_function = checked(PyCFunction_New(&next_method, nullptr)).release().ptr();
  fill_and_unpack_function =
      checked(PyCFunction_New(&fill_and_unpack_method, nullptr)).release().ptr();
  fill_function = checked(PyCFunction_New(&fill_method, nullptr)).release().ptr();
#endif
  stack_function = checked(PyCFunction_New(&stack_method, nullptr)).release().ptr();
  leave_function = checked(PyCFunction_New(&leave_method, nullptr)).release().ptr();
  auto* type = reinterpret_cast<PyObject*>(&PyType_Type);
  auto* number = reinterpret_cast<PyObject*>(&PyLong_Type);
  place_type = checked(PyObject_CallFunction(type, "s(O){}", "place", number)).release().ptr();
}

py::object place_in_code(int unit) { return checked(PyObject_CallFunction(place_type, "i", unit)); }
bool is_place_in_code(PyObject* o) {
  return o && Py_IS_TYPE(o, reinterpret_cast<PyTypeObject*>(place_type));
}

std::optional<LeftLoop> take_left_loop() { return std::exchange(left_loop, std::nullopt); }

py::object raised_exception() {
#if PY_VERSION_HEX >= 0x030C0000
  return py::reinterpret_steal<py::object>(PyErr_GetRaisedException());
#else
  PyObject *type, *value, *traceback;
  PyErr_Fetch(&type, &value, &traceback);
  PyErr_NormalizeException(&type, &value, &traceback);
  if (traceback) PyException_SetTraceback(value, traceback);
  Py_XDECREF(type);
  Py_XDECREF(traceback);
  return py::reinterpret_steal<py::object>(value);
#endif
}
py::object handled_exception() {
  // of this frame or generator alone, as the instruction PUSH_EXC_INFO takes it
  PyObject* e = PyThreadState_Get()->exc_info->exc_value;
  if (e == Py_None) e = nullptr;
  return e ? py::reinterpret_borrow<py::object>(e) : py::object();
}
void set_handled_exception(const py::object& e) {
#if PY_VERSION_HEX >= 0x030B0000
  PyErr_SetHandledException(e && !e.is_none() ? e.ptr() : nullptr);
#else
  if (!e || e.is_none()) return PyErr_SetExcInfo(nullptr, nullptr, nullptr);
  auto* type = reinterpret_cast<PyObject*>(Py_TYPE(e.ptr()));
  PyErr_SetExcInfo(Py_NewRef(type), Py_NewRef(e.ptr()), PyException_GetTraceback(e.ptr()));
#endif
}

extern "C" void _PyTraceback_Add(const char*, const char*, int);
void add_traceback(const CodeInfo& info, int line) {
  auto printable = [](const std::string& s) {
    return py::cast<std::string>(str_of(s).attr("encode")("utf-8", "replace"));
  };
  PyObject *type, *value, *traceback;
  PyErr_Fetch(&type, &value, &traceback);
  const std::string name = printable(info.name), filename = printable(info.filename);
  PyErr_Restore(type, value, traceback);
  _PyTraceback_Add(name.c_str(), filename.c_str(), line);
}

#if PY_VERSION_HEX >= 0x030B0000
PyObject* qualname_of(PyObject* code, PyObject*) {
  return reinterpret_cast<PyCodeObject*>(code)->co_qualname;
}
void note_qualname(PyObject*) {}
#else
namespace {
// The function in what a namespace has, if it has this code.
PyObject* function_of(PyObject* found, PyObject* code) {
  for (int k = 0; found && k < 3; ++k) {
    if (PyFunction_Check(found)) return PyFunction_GET_CODE(found) == code ? found : nullptr;
    PyObject* inner = nullptr;
    if (Py_IS_TYPE(found, &PyProperty_Type))
      inner = PyObject_GetAttrString(found, "fget");
    else if (Py_IS_TYPE(found, &PyStaticMethod_Type) || Py_IS_TYPE(found, &PyClassMethod_Type))
      inner = PyObject_GetAttrString(found, "__func__");
    else if (!PyType_Check(found))
      inner = PyObject_GetAttrString(found, "__wrapped__");
    if (!inner) PyErr_Clear();
    Py_XDECREF(inner);  // what holds it lives
    found = inner;
  }
  return nullptr;
}
PyObject* found_qualname(PyObject* code, PyObject* globals) {
  PyObject* name = reinterpret_cast<PyCodeObject*>(code)->co_name;
  auto qualname = [](PyObject* f) { return reinterpret_cast<PyFunctionObject*>(f)->func_qualname; };
  if (PyObject* f = function_of(quiet_item(globals, name), code)) return qualname(f);
  Py_ssize_t at = 0;
  PyObject *key, *o;
  while (PyDict_Next(globals, &at, &key, &o))
    if (PyType_Check(o) &&
        PyType_HasFeature(reinterpret_cast<PyTypeObject*>(o), Py_TPFLAGS_HEAPTYPE))
      if (PyObject* f =
              function_of(quiet_item(reinterpret_cast<PyTypeObject*>(o)->tp_dict, name), code))
        return qualname(f);
  return name;
}
}  // namespace
PyObject* qualname_of(PyObject* code, PyObject* globals) {
  py::object& known = extra_of(code).qualname;
  if (!known && !globals) return reinterpret_cast<PyCodeObject*>(code)->co_name;
  if (!known) known = py::reinterpret_borrow<py::object>(found_qualname(code, globals));
  return known.ptr();
}
void note_qualname(PyObject* func) { name_like(PyFunction_GET_CODE(func), func); }
void name_like(PyObject* code, PyObject* func) {
  extra_of(code).qualname =
      py::reinterpret_borrow<py::object>(reinterpret_cast<PyFunctionObject*>(func)->func_qualname);
}
#endif

static PyObject* own_builtins(PyObject* globals) { return quiet_item(globals, names.builtins); }
bool has_builtins(PyObject* globals) { return own_builtins(globals); }
PyObject* builtins_of(PyObject* globals) {
  PyObject* b = own_builtins(globals);
  if (b && PyModule_Check(b)) b = PyModule_GetDict(b);
  return b ? b : PyEval_GetBuiltins();
}

bool has_other_builtins([[maybe_unused]] PyObject* func) {
#if PY_VERSION_HEX >= 0x030A0000
  return reinterpret_cast<PyFunctionObject*>(func)->func_builtins !=
         builtins_of(PyFunction_GET_GLOBALS(func));
#else
  return false;  // each frame takes those of its globals
#endif
}

PyObject** closure_of(PyObject* func, Py_ssize_t* n) {
  PyObject* c = PyFunction_GetClosure(func);
  *n = c ? PyTuple_GET_SIZE(c) : 0;
  return c ? reinterpret_cast<PyTupleObject*>(c)->ob_item : nullptr;
}

PyObject* mro_of(PyTypeObject* t) {
  if (!t->tp_mro && PyType_Ready(t) < 0) PyErr_Clear();
  return t->tp_mro ? t->tp_mro : PyBaseObject_Type.tp_mro;
}

PyObject* type_dict(PyTypeObject* t) {
#if PY_VERSION_HEX >= 0x030C0000
  return PyType_GetDict(t);  // of a built-in type, each interpreter has a dict of its own
#else
  return Py_XNewRef(t->tp_dict);
#endif
}

bool instances_have_dict(PyTypeObject* t) {
#if PY_VERSION_HEX >= 0x030B0000
  if (PyType_HasFeature(t, Py_TPFLAGS_MANAGED_DICT)) return true;
#endif
  return t->tp_dictoffset != 0;
}

PyObject* slot_value(PyObject* descriptor, PyObject* o) {
  PyObject* v =
      Py_TYPE(descriptor)->tp_descr_get(descriptor, o, reinterpret_cast<PyObject*>(Py_TYPE(o)));
  if (!v) PyErr_Clear();
  return v;
}

PyObject* instance_dict(PyObject* o) {
  if (PyType_Check(o) || PyModule_Check(o)) {
    if (PyType_Check(o)) return type_dict(reinterpret_cast<PyTypeObject*>(o));
    return Py_XNewRef(PyModule_GetDict(o));
  }
  if (!instances_have_dict(Py_TYPE(o))) return nullptr;
  note_values_of(o);
  PyObject* d = PyObject_GenericGetDict(o, nullptr);
  if (!d) PyErr_Clear();
  return d;
}

extern "C" PyObject* _PyType_Lookup(PyTypeObject*, PyObject*);
PyObject* type_lookup(PyTypeObject* t, PyObject* name) {
  return names_are_texts(t) ? _PyType_Lookup(t, name) : nullptr;
}
unsigned type_version(PyTypeObject* t) {
  if (!known_type_version(t)) _PyType_Lookup(t, names.cls);  // assigns a version
  return known_type_version(t);
}

}  // namespace pijit
