// JitFunction: the callable in front of a function, its cache of entries, and the loop that runs
// entries, break instructions and what follows them.
#include "capture/capture.h"
#include "capture/runner.h"

#include <structmember.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <map>

#include "base/config.h"
#include "base/log.h"

namespace pijit {

PyTypeObject* jit_function_type;

namespace {

constexpr size_t kMaxEntries = 16;

struct Point {
  std::vector<std::unique_ptr<Entry>> entries;  // newest first
  std::map<std::string, uint64_t> varying;      // numbers and dims seen to change
  bool never = false;                           // capture does not pay here
};

struct State {
  std::map<std::pair<int, int>, Point> points;  // (instruction, stack size)
  std::map<int, py::object> stubs;              // call stubs, by instruction
  std::map<std::pair<int, std::string>, py::object> resumes;
  std::vector<BreakRecord> breaks;
  uint64_t compile_count = 0;
  double compile_ms = 0;
  bool busy = false;  // a capture of this function is under way
  // Declared types of the arguments, in order; dims of -1 vary. Empty: not declared.
  std::vector<Type> signature;
};

struct JitObject {
  PyObject_HEAD vectorcallfunc vectorcall;
  PyObject* func;
  PyObject* dict;
  PyObject* weakrefs;
  std::shared_ptr<State> state;
  bool whole;
};

bool graph_mode_on = false;
thread_local int graph_depth = 0;

PyObject* make_jit(PyObject* func, bool whole, std::shared_ptr<State> state = nullptr);
// A break's callee that is plain Python and gets tensors is captured on its own, though nobody
// decorated it: functions, methods and objects with __call__ are called through a JitFunction made
// for the moment, whose cache is kept per code object. (A frame hook would tax every other call and
// needs CPython's internals.)
py::object capturing_callee(const py::object& callee, const std::vector<py::object>& args);

py::object share(PyObject* o) { return py::reinterpret_borrow<py::object>(o); }

// --- break instructions
// ----------------------------------------------------------------------------

// Runs the instruction at `pc` on a real stack; false: it must run in CPython with all that
// follows. On a Python error, adds the traceback entry and throws.
class BreakStep {
 public:
  BreakStep(JitObject* jit, const CodeInfo& code, std::vector<py::object>* stack)
      : jit_(jit), code_(code), st_(*stack) {}
  int next = 0;

  bool run(int pc) {
    const Instr& in = code_.instrs[pc];
    next = pc + 1;
    auto pop = [&] {
      py::object o = std::move(st_.back());
      st_.pop_back();
      return o;
    };
    auto push = [&](PyObject* o) {
      if (!o) fail(in);
      st_.push_back(py::reinterpret_steal<py::object>(o));
    };
    switch (in.op) {
      case Op::CALL: {
        std::vector<py::object> args(st_.end() - in.a, st_.end());
        st_.resize(st_.size() - in.a);
        py::object a = pop(), b = pop(), callee = a;
        if (b) callee = b, args.insert(args.begin(), a);
        if (needs_own_frame(callee)) {
          st_.push_back(b);
          st_.push_back(a);
          for (size_t k = b ? 1 : 0; k < args.size(); ++k) st_.push_back(args[k]);
          return false;
        }
        py::object& stub = jit_->state->stubs[pc * 2 + (b ? 1 : 0)];
        if (!stub)
          stub = make_call_stub(jit_->func, code_, pc, static_cast<int>(args.size()), in.obj, false,
                                false);
        push(call_stub(stub, jit_->whole ? callee : capturing_callee(callee, args), args));
        return true;
      }
      case Op::CALL_EX: {
        py::object kw = in.a ? pop() : py::object(), args = pop(), callee = pop();
        if (needs_own_frame(callee)) {
          st_.push_back(callee);
          st_.push_back(args);
          if (in.a) st_.push_back(kw);
          return false;
        }
        if (!st_.empty() && !st_.back()) st_.pop_back();
        std::vector<py::object> all{args};
        if (in.a) all.push_back(kw);
        py::object& stub = jit_->state->stubs[pc * 2];
        if (!stub)
          stub = make_call_stub(jit_->func, code_, pc, static_cast<int>(all.size()), nullptr, true,
                                in.a);
        push(call_stub(stub, jit_->whole ? callee : capturing_callee(callee, all), all));
        return true;
      }
      case Op::POP_JUMP: {
        py::object x = pop();
        bool jump;
        if (in.a >= 2) {
          jump = x.is_none() == (in.a == 2);
        } else {
          const int t = PyObject_IsTrue(x.ptr());
          if (t < 0) fail(in);
          jump = t == in.a;
        }
        if (jump) next = in.target;
        return true;
      }
      case Op::JUMP_OR_POP: {
        const int t = PyObject_IsTrue(st_.back().ptr());
        if (t < 0) fail(in);
        if (t == in.a)
          next = in.target;
        else
          st_.pop_back();
        return true;
      }
      case Op::GET_ITER: push(PyObject_GetIter(pop().ptr())); return true;
      case Op::FOR_ITER: {
        PyObject* x = (*Py_TYPE(st_.back().ptr())->tp_iternext)(st_.back().ptr());
        if (x) {
          push(x);
          return true;
        }
        if (PyErr_Occurred()) {
          if (!PyErr_ExceptionMatches(PyExc_StopIteration)) fail(in);
          PyErr_Clear();
        }
        st_.pop_back();
        next = in.target;
        return true;
      }
      case Op::LOAD_ATTR: push(PyObject_GetAttr(pop().ptr(), in.obj)); return true;
      case Op::LOAD_METHOD: {
        py::object o = pop();
        PyObject* m = PyObject_GetAttr(o.ptr(), in.obj);
        if (!m) fail(in);
        st_.push_back({});
        push(m);
        return true;
      }
      case Op::STORE_ATTR: {
        py::object o = pop(), v = pop();
        if (PyObject_SetAttr(o.ptr(), in.obj, v.ptr()) < 0) fail(in);
        return true;
      }
      case Op::BINARY_SUBSCR: {
        py::object k = pop(), o = pop();
        push(PyObject_GetItem(o.ptr(), k.ptr()));
        return true;
      }
      case Op::STORE_SUBSCR: {
        py::object k = pop(), o = pop(), v = pop();
        if (PyObject_SetItem(o.ptr(), k.ptr(), v.ptr()) < 0) fail(in);
        return true;
      }
      case Op::UNARY: {
        py::object x = pop();
        const std::string n = py::cast<std::string>(py::handle(in.obj));
        if (n == "not") {
          const int t = PyObject_IsTrue(x.ptr());
          if (t < 0) fail(in);
          push(PyBool_FromLong(!t));
        } else {
          push(n == "neg"   ? PyNumber_Negative(x.ptr())
               : n == "pos" ? PyNumber_Positive(x.ptr())
                            : PyNumber_Invert(x.ptr()));
        }
        return true;
      }
      case Op::BINARY: {
        py::object y = pop(), x = pop();
        push(binary(py::cast<std::string>(py::handle(in.obj)), in.a, x.ptr(), y.ptr()));
        return true;
      }
      case Op::COMPARE: {
        py::object y = pop(), x = pop();
        const std::string n = py::cast<std::string>(py::handle(in.obj));
        static const char* names[] = {"lt", "le", "eq", "ne", "gt", "ge"};
        int k = 0;
        while (n != names[k]) ++k;
        push(PyObject_RichCompare(x.ptr(), y.ptr(), k));
        return true;
      }
      case Op::CONTAINS_OP: {
        py::object c = pop(), x = pop();
        const int r = PySequence_Contains(c.ptr(), x.ptr());
        if (r < 0) fail(in);
        push(PyBool_FromLong(r != in.a));
        return true;
      }
      case Op::IS_OP: {
        py::object y = pop(), x = pop();
        push(PyBool_FromLong((x.ptr() == y.ptr()) != static_cast<bool>(in.a)));
        return true;
      }
      default: return false;
    }
  }

 private:
  [[noreturn]] void fail(const Instr& in) {
    add_traceback(code_, in.line);
    throw py::error_already_set();
  }
  // Functions that look at their caller's frame or names.
  static bool needs_own_frame(const py::object& f) {
    if (!PyCFunction_Check(f.ptr())) return f.ptr() == reinterpret_cast<PyObject*>(&PySuper_Type);
    const std::string n = reinterpret_cast<PyCFunctionObject*>(f.ptr())->m_ml->ml_name;
    for (auto k : {"locals", "vars", "dir", "eval", "exec", "globals", "_getframe", "breakpoint",
                   "__build_class__"})
      if (n == k) return true;
    return false;
  }
  static PyObject* call_stub(const py::object& stub, const py::object& callee,
                             const std::vector<py::object>& args) {
    std::vector<PyObject*> raw{callee.ptr()};
    for (auto& a : args) raw.push_back(a.ptr());
    PyObject* r = PyObject_Vectorcall(stub.ptr(), raw.data(), raw.size(), nullptr);
    if (!r) throw py::error_already_set();  // the stub's own frame is in the traceback
    return r;
  }
  static PyObject* binary(const std::string& op, bool inplace, PyObject* x, PyObject* y) {
    struct Row {
      const char* name;
      binaryfunc plain, in_place;
    };
    static const Row rows[] = {{"add", PyNumber_Add, PyNumber_InPlaceAdd},
                               {"sub", PyNumber_Subtract, PyNumber_InPlaceSubtract},
                               {"mul", PyNumber_Multiply, PyNumber_InPlaceMultiply},
                               {"truediv", PyNumber_TrueDivide, PyNumber_InPlaceTrueDivide},
                               {"floordiv", PyNumber_FloorDivide, PyNumber_InPlaceFloorDivide},
                               {"mod", PyNumber_Remainder, PyNumber_InPlaceRemainder},
                               {"matmul", PyNumber_MatrixMultiply, PyNumber_InPlaceMatrixMultiply},
                               {"and", PyNumber_And, PyNumber_InPlaceAnd},
                               {"or", PyNumber_Or, PyNumber_InPlaceOr},
                               {"xor", PyNumber_Xor, PyNumber_InPlaceXor},
                               {"lshift", PyNumber_Lshift, PyNumber_InPlaceLshift},
                               {"rshift", PyNumber_Rshift, PyNumber_InPlaceRshift}};
    for (auto& r : rows)
      if (op == r.name) return (inplace ? r.in_place : r.plain)(x, y);
    return inplace ? PyNumber_InPlacePower(x, y, Py_None) : PyNumber_Power(x, y, Py_None);
  }
  JitObject* jit_;
  const CodeInfo& code_;
  std::vector<py::object>& st_;
};

py::object rest_in_python(JitObject* jit, const CodeInfo& code, int instr,
                          const std::vector<py::object>& slots,
                          const std::vector<py::object>& stack) {
  std::vector<int> bound;
  std::vector<bool> nulls;
  std::vector<py::object> values;
  std::string shape;
  for (size_t s = 0; s < slots.size(); ++s) {
    shape.push_back(slots[s] ? '1' : '0');
    if (slots[s]) bound.push_back(static_cast<int>(s)), values.push_back(slots[s]);
  }
  for (auto& v : stack) {
    shape.push_back(v ? 'v' : 'n');
    nulls.push_back(!v);
    if (v) values.push_back(v);
  }
  py::object& f = jit->state->resumes[{instr, shape}];
  // free variables come with the closure, not as values
  const int nfree = static_cast<int>(py::len(code.code.attr("co_freevars")));
  if (!f) {
    std::vector<int> own;
    for (int s : bound)
      if (s < code.num_slots - nfree) own.push_back(s);
    f = make_resume_function(jit->func, code, instr, own, nulls);
  }
  if (nfree) {
    std::vector<py::object> kept;
    size_t at = 0;
    for (int s : bound) {
      if (s < code.num_slots - nfree) kept.push_back(values[at]);
      ++at;
    }
    kept.insert(kept.end(), values.begin() + static_cast<std::ptrdiff_t>(at), values.end());
    values = std::move(kept);
  }
  set_resume_values(std::move(values));
  PyObject* r = PyObject_CallNoArgs(f.ptr());
  if (!r) throw py::error_already_set();
  return py::reinterpret_steal<py::object>(r);
}

// --- the loop
// --------------------------------------------------------------------------------------

// Calls with these arguments in slots; `original` runs the function plainly.
py::object run(JitObject* jit, std::vector<py::object> slots,
               const std::function<py::object()>& original) {
  const std::shared_ptr<State> keep = jit->state;  // a call may drop the function
  State& state = *keep;
  auto code = code_info(PyFunction_GET_CODE(jit->func));
  StartPoint at{jit->func, code, 0, 0};
  std::vector<py::object> stack;
  std::vector<PyObject*> raw;
  std::vector<py::object> values;
  bool first = true;
  while (true) {
    Point& point = state.points[{at.instr, at.stack_size}];
    auto plain = [&] {
      return first ? original() : rest_in_python(jit, *code, at.instr, slots, stack);
    };
    if (point.never) return plain();
    // a tape or a tracer that was started meanwhile must see each op
    if (tape_needs_single_ops() || (!first && thread_is_traced())) return plain();
    raw.clear();
    for (auto& s : slots) raw.push_back(s.ptr());
    for (auto& s : stack) raw.push_back(s.ptr());
    Entry* entry = nullptr;
    std::shared_ptr<const Instance> instance;
    for (size_t k = 0; k < point.entries.size(); ++k) {
      int failed = -1;
      if (check_guards(*point.entries[k], jit->func, raw.data(), &values, &failed)) {
        instance = instance_for(*point.entries[k], values);
        if (!instance) continue;
        entry = point.entries[k].get();
        break;
      }
      if (failed >= 0 && log_enabled("recompiles"))
        PIJIT_LOG("recompiles", code->name, ": guard failed: ",
                  describe_guard(*point.entries[k], point.entries[k]->guards[failed], *code));
    }
    if (!entry) {
      if (at.instr == 0)
        for (size_t k = 0; k < state.signature.size(); ++k)
          for (int d = 0; d < state.signature[k].shape.rank(); ++d)
            if (state.signature[k].shape[d] < 0)
              point.varying[code->slot_names[k]] |= uint64_t{1} << d;
      if (point.entries.size() >= kMaxEntries || state.busy) return plain();
      for (auto& e : point.entries) find_varying(*e, jit->func, raw.data(), *code, &point.varying);
      at.varying = point.varying;
      state.busy = true;
      const auto t0 = std::chrono::steady_clock::now();
      std::unique_ptr<Entry> fresh;
      try {
        fresh = capture(at, raw, jit->whole);
      } catch (const InternalError& e) {
        state.busy = false;
        if (config().strict) throw;
        PIJIT_LOG("capture", code->name, ": ", e.what());
        point.never = true;
        return plain();
      } catch (...) {
        state.busy = false;
        throw;
      }
      state.busy = false;
      state.compile_ms +=
          std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - t0).count();
      ++state.compile_count;
      if (fresh->break_record) {
        state.breaks.push_back(*fresh->break_record);
        if (jit->whole) {
          const BreakRecord& b = *fresh->break_record;
          if (b.reason == Reason::kRaises)
            return plain();  // the plain run raises the user's own error
          throw OpError(
              OpError::kRuntime,
              str_cat(b.location, ": cannot be compiled as one graph: ", reason_text(b.reason),
                      b.detail.empty() ? "" : " (" + b.detail + ")"));
        }
      }
      bool tensors = false;
      for (auto& g : fresh->guards) tensors |= g.kind == Guard::kTensor;
      if (first && fresh->result >= 0 && fresh->ops.empty() && !tensors) {
        point.never = true;  // nothing for a graph in it
        return plain();
      }
      point.entries.insert(point.entries.begin(), std::move(fresh));
      entry = point.entries.front().get();
      instance = check_guards(*entry, jit->func, raw.data(), &values, nullptr)
                     ? instance_for(*entry, values)
                     : nullptr;
      if (!instance) {
        // a guard that does not even hold at capture: never reuse, and say so
        PIJIT_CHECK(!config().strict, "a fresh entry of ", code->name, " refuses its own state");
        point.entries.erase(point.entries.begin());
        point.never = true;
        return plain();
      }
    }
    ++entry->calls;
    Runner r(*entry, *instance, values);
    try {
      r.compute();
    } catch (const OpError&) {
      return plain();  // nothing has happened yet: the plain run raises the error at its line
    }
    r.apply_effects();
    if (entry->result >= 0) return r.make(entry->result);
    // the break
    for (size_t s = 0; s < slots.size(); ++s) slots[s] = r.make(entry->slot_recipes[s]);
    stack.clear();
    for (int id : entry->stack_recipes) stack.push_back(r.make(id));
    first = first && entry->effects.empty() && !instance->program && entry->instr == at.instr;
    const int pc = entry->instr;
    const bool rest = entry->rest_in_python;
    r.clear();
    values.clear();
    if (rest) {
      if (first) return original();
      return rest_in_python(jit, *code, pc, slots, stack);
    }
    if (code->instrs[pc].op == Op::RETURN_VALUE) return stack.back();
    BreakStep step(jit, *code, &stack);
    if (!step.run(pc)) {
      if (first) return original();
      return rest_in_python(jit, *code, pc, slots, stack);
    }
    first = false;
    at.instr = step.next;
    at.stack_size = static_cast<int>(stack.size());
    if (PyErr_CheckSignals() < 0) {
      add_traceback(*code, code->instrs[pc].line);
      throw py::error_already_set();
    }
  }
}

// Distributes call arguments over slots. False: a bad call, which the function itself reports.
bool bind(PyObject* func, const CodeInfo& code, PyObject* const* args, Py_ssize_t nargs,
          PyObject* kwnames, std::vector<py::object>* slots) {
  auto* co = reinterpret_cast<PyCodeObject*>(PyFunction_GET_CODE(func));
  const int n = co->co_argcount, nkw = co->co_kwonlyargcount;
  const bool varargs = co->co_flags & CO_VARARGS, varkw = co->co_flags & CO_VARKEYWORDS;
  slots->assign(code.num_slots, py::object());
  for (Py_ssize_t k = 0; k < nargs && k < n; ++k) (*slots)[k] = share(args[k]);
  if (nargs > n && !varargs) return false;
  if (varargs) {
    py::tuple t(nargs > n ? nargs - n : 0);
    for (Py_ssize_t k = n; k < nargs; ++k) PyTuple_SET_ITEM(t.ptr(), k - n, Py_NewRef(args[k]));
    (*slots)[n + nkw] = t;
  }
  py::dict extra;
  for (Py_ssize_t k = 0; kwnames && k < PyTuple_GET_SIZE(kwnames); ++k) {
    const std::string name = py::cast<std::string>(py::handle(PyTuple_GET_ITEM(kwnames, k)));
    int at = -1;
    for (int i = co->co_posonlyargcount; i < n + nkw; ++i)
      if (code.slot_names[i] == name) at = i;
    if (at >= 0) {
      if ((*slots)[at]) return false;
      (*slots)[at] = share(args[nargs + k]);
    } else {
      if (!varkw) return false;
      extra[py::handle(PyTuple_GET_ITEM(kwnames, k))] = py::handle(args[nargs + k]);
    }
  }
  if (varkw) (*slots)[n + nkw + (varargs ? 1 : 0)] = extra;
  PyObject* d = PyFunction_GetDefaults(func);
  const Py_ssize_t nd = d ? PyTuple_GET_SIZE(d) : 0;
  for (int k = 0; k < n; ++k)
    if (!(*slots)[k]) {
      if (k < n - nd) return false;
      (*slots)[k] = share(PyTuple_GET_ITEM(d, k - (n - nd)));
    }
  PyObject* kd = PyFunction_GetKwDefaults(func);
  for (int k = n; k < n + nkw; ++k)
    if (!(*slots)[k]) {
      PyObject* v = kd ? PyDict_GetItemString(kd, code.slot_names[k].c_str()) : nullptr;
      if (!v) return false;
      (*slots)[k] = share(v);
    }
  return true;
}

// Arguments against the declared types: TypeError or ValueError, as MindSpore raises.
void check_signature(const State& s, const CodeInfo& code, const std::vector<py::object>& slots) {
  for (size_t k = 0; k < s.signature.size(); ++k) {
    const Type& want = s.signature[k];
    const std::string& name = code.slot_names[k];
    PyObject* o = slots[k].ptr();
    OP_CHECK(o && is_tensor(o), kType, "[jit] argument '", name, "' must be a Tensor of type ",
             public_name_of(want.dtype), " by input_signature, got ",
             o ? Py_TYPE(o)->tp_name : "nothing");
    const Type& got = array_of(o)->type;
    OP_CHECK(got.dtype == want.dtype, kType, "[jit] argument '", name, "' must be ",
             public_name_of(want.dtype), " by input_signature, got ", public_name_of(got.dtype));
    bool same = got.shape.rank() == want.shape.rank();
    for (int d = 0; same && d < want.shape.rank(); ++d)
      same = want.shape[d] < 0 || want.shape[d] == got.shape[d];
    OP_CHECK(same, kValue, "[jit] argument '", name, "' has shape ", got.shape.str(),
             ", which does not fit the one of input_signature");
  }
}

PyObject* jit_call(PyObject* self, PyObject* const* args, size_t nargsf, PyObject* kwnames) {
  auto* jit = reinterpret_cast<JitObject*>(self);
  const Py_ssize_t nargs = PyVectorcall_NARGS(nargsf);
  auto original = [&] {
    PyObject* r = PyObject_Vectorcall(jit->func, args, static_cast<size_t>(nargs), kwnames);
    if (!r) throw py::error_already_set();
    return py::reinterpret_steal<py::object>(r);
  };
  try {
    // The plain function runs under a tracer, under tapes that must see each op, and in
    // GRAPH_MODE, where Cells are compiled whole.
    if (thread_is_traced() || tape_needs_single_ops() || (graph_mode_on && !jit->whole))
      return original().release().ptr();
    auto code = code_info(PyFunction_GET_CODE(jit->func));
    std::vector<py::object> slots;
    if (!code || !bind(jit->func, *code, args, nargs, kwnames, &slots))
      return original().release().ptr();
    if (!jit->state->signature.empty()) check_signature(*jit->state, *code, slots);
    struct Depth {
      bool on;
      explicit Depth(bool on) : on(on) { graph_depth += on; }
      ~Depth() { graph_depth -= on; }
    } depth(jit->whole);
    return run(jit, std::move(slots), original).release().ptr();
  } catch (...) {
    return raise_current_exception();
  }
}

PyObject* make_jit(PyObject* func, bool whole, std::shared_ptr<State> state) {
  auto* o = reinterpret_cast<JitObject*>(jit_function_type->tp_alloc(jit_function_type, 0));
  if (!o) throw py::error_already_set();
  o->vectorcall = jit_call;
  o->func = Py_NewRef(func);
  o->dict = nullptr;
  o->weakrefs = nullptr;
  new (&o->state) std::shared_ptr<State>(state ? std::move(state) : std::make_shared<State>());
  o->whole = whole;
  return reinterpret_cast<PyObject*>(o);
}

bool holds_tensor(PyObject* o) {
  if (is_tensor(o)) return true;
  if (PyTuple_CheckExact(o) || PyList_CheckExact(o)) {
    PyObject** items = PySequence_Fast_ITEMS(o);
    for (Py_ssize_t k = 0; k < PySequence_Fast_GET_SIZE(o) && k < 16; ++k)
      if (is_tensor(items[k])) return true;
  }
  return false;
}

py::object capturing_callee(const py::object& callee, const std::vector<py::object>& args) {
  if (tape_needs_single_ops() ||
      std::none_of(args.begin(), args.end(), [](auto& a) { return holds_tensor(a.ptr()); }))
    return callee;
  auto wrap = [](PyObject* f) -> py::object {
    static auto* states = new std::map<std::pair<PyObject*, PyObject*>,
                                       std::pair<py::object, std::shared_ptr<State>>>;
    auto code =
        code_info(PyFunction_GET_CODE(f));  // keeps the code object, so its address stays its own
    if (!code) return {};
    auto& [globals, state] = (*states)[{PyFunction_GET_CODE(f), PyFunction_GET_GLOBALS(f)}];
    if (!state) globals = share(PyFunction_GET_GLOBALS(f)), state = std::make_shared<State>();
    return py::reinterpret_steal<py::object>(make_jit(f, false, state));
  };
  PyObject* c = callee.ptr();
  PyObject* self = nullptr;
  if (PyMethod_Check(c)) {
    self = PyMethod_GET_SELF(c);
    c = PyMethod_GET_FUNCTION(c);
  } else if (!PyFunction_Check(c) && !PyType_Check(c) && Py_TYPE(c) != jit_function_type) {
    static PyObject* name = PyUnicode_InternFromString("__call__");
    PyObject* f = type_lookup(Py_TYPE(c), name);
    if (f && PyFunction_Check(f)) self = c, c = f;
  }
  if (!PyFunction_Check(c)) return callee;
  py::object j = wrap(c);
  if (!j) return callee;
  return self ? py::reinterpret_steal<py::object>(PyMethod_New(j.ptr(), self)) : j;
}

void jit_dealloc(PyObject* self) {
  auto* jit = reinterpret_cast<JitObject*>(self);
  PyTypeObject* type = Py_TYPE(self);
  PyObject_GC_UnTrack(self);
  if (jit->weakrefs) PyObject_ClearWeakRefs(self);
  jit->state.~shared_ptr();
  Py_XDECREF(jit->func);
  Py_XDECREF(jit->dict);
  type->tp_free(self);
  Py_DECREF(type);
}
int jit_traverse(PyObject* self, visitproc visit, void* arg) {
  auto* jit = reinterpret_cast<JitObject*>(self);
  Py_VISIT(Py_TYPE(self));
  Py_VISIT(jit->func);
  Py_VISIT(jit->dict);
  return 0;
}
int jit_clear(PyObject* self) {
  auto* jit = reinterpret_cast<JitObject*>(self);
  if (jit->state.use_count() == 1) {
    jit->state->points.clear();
    jit->state->stubs.clear();
    jit->state->resumes.clear();
  }
  Py_CLEAR(jit->dict);
  return 0;
}
PyObject* jit_get(PyObject* self, PyObject* obj, PyObject*) {
  return obj && obj != Py_None ? PyMethod_New(self, obj) : Py_NewRef(self);
}
PyObject* jit_repr(PyObject* self) {
  return PyUnicode_FromFormat("<pijit.jit %R>", reinterpret_cast<JitObject*>(self)->func);
}
// Everything the function has, as on the function.
PyObject* jit_getattro(PyObject* self, PyObject* name) {
  if (PyUnicode_CompareWithASCIIString(name, "__wrapped__") == 0)
    return Py_NewRef(reinterpret_cast<JitObject*>(self)->func);
  PyObject* own = type_lookup(jit_function_type, name);
  const bool forward = !own || PyUnicode_CompareWithASCIIString(name, "__doc__") == 0 ||
                       PyUnicode_CompareWithASCIIString(name, "__module__") == 0 ||
                       PyUnicode_CompareWithASCIIString(name, "__dict__") == 0;
  if (forward) return PyObject_GetAttr(reinterpret_cast<JitObject*>(self)->func, name);
  return PyObject_GenericGetAttr(self, name);
}
int jit_setattro(PyObject* self, PyObject* name, PyObject* value) {
  auto* jit = reinterpret_cast<JitObject*>(self);
  if (PyUnicode_CompareWithASCIIString(name, "__wrapped__") ==
      0) {  // functools.wraps around a jitted function
    PyErr_SetString(PyExc_AttributeError, "__wrapped__ of a jitted function is read-only");
    return -1;
  }
  return value ? PyObject_SetAttr(jit->func, name, value) : PyObject_DelAttr(jit->func, name);
}
PyObject* jit_reduce(PyObject* self, PyObject*) {
  return PyObject_GetAttrString(reinterpret_cast<JitObject*>(self)->func, "__qualname__");
}
PyObject* jit_copy(PyObject* self, PyObject*) { return Py_NewRef(self); }

PyMethodDef jit_methods[] = {{"__reduce__", jit_reduce, METH_NOARGS, nullptr},
                             {"__copy__", jit_copy, METH_NOARGS, nullptr},
                             {"__deepcopy__", jit_copy, METH_O, nullptr},
                             {nullptr, nullptr, 0, nullptr}};
PyMemberDef jit_members[] = {
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(JitObject, vectorcall), READONLY, nullptr},
    {"__weaklistoffset__", T_PYSSIZET, offsetof(JitObject, weakrefs), READONLY, nullptr},
    {nullptr, 0, 0, 0, nullptr}};
#define SLOT(id, f) \
  { id, reinterpret_cast<void*>(f) }
PyType_Slot jit_slots[] = {SLOT(Py_tp_dealloc, jit_dealloc),
                           SLOT(Py_tp_traverse, jit_traverse),
                           SLOT(Py_tp_clear, jit_clear),
                           SLOT(Py_tp_call, PyVectorcall_Call),
                           SLOT(Py_tp_descr_get, jit_get),
                           SLOT(Py_tp_repr, jit_repr),
                           SLOT(Py_tp_getattro, jit_getattro),
                           SLOT(Py_tp_setattro, jit_setattro),
                           SLOT(Py_tp_methods, jit_methods),
                           SLOT(Py_tp_members, jit_members),
                           {0, nullptr}};
PyType_Spec jit_spec = {"pijit._C.JitFunction", sizeof(JitObject), 0,
                        Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL |
                            Py_TPFLAGS_METHOD_DESCRIPTOR | Py_TPFLAGS_DISALLOW_INSTANTIATION,
                        jit_slots};

py::object jit(py::object f, bool whole) {
  if (Py_TYPE(f.ptr()) == jit_function_type) return f;
  if (PyFunction_Check(f.ptr())) return py::reinterpret_steal<py::object>(make_jit(f.ptr(), whole));
  if (PyMethod_Check(f.ptr()) && PyFunction_Check(PyMethod_GET_FUNCTION(f.ptr()))) {
    py::object j =
        py::reinterpret_steal<py::object>(make_jit(PyMethod_GET_FUNCTION(f.ptr()), whole));
    return py::reinterpret_steal<py::object>(PyMethod_New(j.ptr(), PyMethod_GET_SELF(f.ptr())));
  }
  static PyObject* name = PyUnicode_InternFromString("__call__");
  PyObject* c = PyType_Check(f.ptr()) ? nullptr : type_lookup(Py_TYPE(f.ptr()), name);
  if (c && PyFunction_Check(c)) {
    py::object j = py::reinterpret_steal<py::object>(make_jit(c, whole));
    return py::reinterpret_steal<py::object>(PyMethod_New(j.ptr(), f.ptr()));
  }
  return f;  // builtins and classes: nothing to read bytecode from
}

// signature: (dtype, dims) per argument; dims of -1 vary. self is not among them.
void set_signature(py::object f, const py::list& signature) {
  OP_CHECK(Py_TYPE(f.ptr()) == jit_function_type, kType,
           "[jit] input_signature is for functions, got ", Py_TYPE(f.ptr())->tp_name);
  auto* jit = reinterpret_cast<JitObject*>(f.ptr());
  auto* co = reinterpret_cast<PyCodeObject*>(PyFunction_GET_CODE(jit->func));
  OP_CHECK(static_cast<int>(signature.size()) <= co->co_argcount, kValue,
           "[jit] input_signature describes ", signature.size(), " arguments of ", co->co_argcount);
  std::vector<Type> types;
  for (auto s : signature) {
    const auto pair = py::cast<py::tuple>(s);
    const auto dt = dtype_of(pair[0].ptr());
    OP_CHECK(dt, kType, "[jit] input_signature holds an unknown dtype");
    Type t{*dt, {}};
    for (auto d : py::cast<py::tuple>(pair[1])) t.shape.push_back(py::cast<int64_t>(d));
    types.push_back(t);
  }
  jit->state->signature = std::move(types);
}

py::dict explain(py::object f) {
  if (PyMethod_Check(f.ptr())) f = share(PyMethod_GET_FUNCTION(f.ptr()));
  OP_CHECK(Py_TYPE(f.ptr()) == jit_function_type, kType,
           "[explain] expected a jitted function, got ", Py_TYPE(f.ptr())->tp_name);
  auto* jit = reinterpret_cast<JitObject*>(f.ptr());
  const State& s = *jit->state;
  auto code = code_info(PyFunction_GET_CODE(jit->func));
  py::dict d;
  d["name"] = share(jit->func).attr("__qualname__");
  d["compile_count"] = s.compile_count;
  d["compile_ms"] = s.compile_ms;
  py::list entries, breaks;
  for (auto& [key, p] : s.points)
    for (auto& e : p.entries) {
      py::dict x;
      py::list guards;
      for (auto& g : e->guards) guards.append(describe_guard(*e, g, *code));
      x["guards"] = guards;
      x["graph"] = e->graph_text;
      py::list ops;
      for (auto& [n, c] : e->ops) ops.append(py::make_tuple(n, c));
      x["ops"] = ops;
      x["calls"] = e->calls;
      const Instance& one = *e->instances.begin()->second;
      x["steps"] = one.program ? one.program->steps.size() : 0;
      x["program"] = one.program ? one.program->describe() : "";
      x["sizes"] = e->instances.size();
      x["where"] = str_cat(code->filename, ":", e->first_line);
      x["complete"] = e->result >= 0;
      entries.append(x);
    }
  for (auto& b : s.breaks) {
    py::dict x;
    x["reason"] = reason_text(b.reason);
    x["detail"] = b.detail;
    x["location"] = b.location;
    x["hint"] = reason_hint(b.reason);
    breaks.append(x);
  }
  d["entries"] = entries;
  d["breaks"] = breaks;
  return d;
}

}  // namespace

PyObject* jit_inner(PyObject* f) { return reinterpret_cast<JitObject*>(f)->func; }
bool graph_mode() { return graph_mode_on; }

void init_jit(py::module_& m) {
  PyObject* t = PyType_FromSpec(&jit_spec);
  if (!t) throw py::error_already_set();
  jit_function_type = reinterpret_cast<PyTypeObject*>(t);
  m.attr("JitFunction") = py::handle(t);
  m.def("jit", &jit);
  m.def("explain", &explain);
  m.def("set_signature", &set_signature);
  m.def("set_graph_mode", [](bool on) { graph_mode_on = on; });
  m.def("graph_mode", [] { return graph_mode_on && graph_depth == 0 && !tape_needs_single_ops(); });
  // GRAPH_MODE: an outermost Cell's construct as one graph. One JitFunction per construct function.
  m.def("run_cell", [](py::object cell, py::tuple args, py::dict kwargs) {
    static auto* made = new std::unordered_map<PyObject*, py::object>;  // holds the functions, so
                                                                        // addresses stay theirs
    py::object f = py::type::of(cell).attr("construct");
    if (Py_TYPE(f.ptr()) == jit_function_type) return f(cell, *args, **kwargs);
    py::object& j = (*made)[f.ptr()];
    if (!j) j = jit(f, true);
    return py::object(j(cell, *args, **kwargs));
  });
}

}  // namespace pijit
