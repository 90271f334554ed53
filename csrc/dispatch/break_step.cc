// Break instructions: CPython executes them, one at a time, each in a frame like the function's.
#include "dispatch/run.h"

#include <algorithm>

#include "objects/ndarray.h"
#include "python/call_in_frame.h"

namespace pijit {

namespace {

// Does it look at, or keep, the names of its caller's frame? Then what follows must run there.
bool keeps_frame(const py::object& f) {
  auto is_one_of = [](const std::string& name, std::initializer_list<const char*> names) {
    for (auto n : names)
      if (name == n) return true;
    return false;
  };
  if (PyCFunction_Check(f.ptr()))
    return is_one_of(reinterpret_cast<PyCFunctionObject*>(f.ptr())->m_ml->ml_name,
                     {"locals", "vars", "dir", "eval", "exec", "_getframe", "breakpoint"});
  return PyFunction_Check(f.ptr()) &&
         is_one_of(text_of(reinterpret_cast<PyFunctionObject*>(f.ptr())->func_name),
                   {"set_trace", "currentframe"});
}

// ndarray.resize() raises where others hold the array, as it counts.
bool resizes(const py::object& first, const py::object& second) {
  if (!numpy_is_loaded()) return false;
  auto is_array = [](PyObject* o) { return o && Py_TYPE(o) == library.ndarray.type(); };
  if (first && second) return first.is(library.ndarray_resize.object()) && is_array(second.ptr());
  PyObject* const f = (first ? first : second).ptr();
  return f && PyCFunction_Check(f) && is_array(PyCFunction_GET_SELF(f)) &&
         std::string_view(reinterpret_cast<PyCFunctionObject*>(f)->m_ml->ml_name) == "resize";
}

}  // namespace

// The function that executes the instruction at `pc`.
py::object BreakStep::step_function(int pc, const std::vector<bool>& nulls) {
  py::object& made = target_.state.steps[{pc, nulls}];
  if (!made) {
    made = make_step_code(code_, pc, nulls);
    never_capture(made.ptr());
    if (code_.num_free == 0) made = function_like(target_.func, made, false);
  }
  // functions that share their code differ in closure
  return code_.num_free == 0 ? made : function_like(target_.func, made, true);
}

BreakStep::Outcome BreakStep::run(int pc) {
  const Instr& in = code_.instrs[pc];
  next = flow(in) == Flow::JUMP ? in.target : pc + 1;
  if (in.op == Op::NOP || flow(in) == Flow::JUMP) return kDone;
  if (in.op == Op::UNSUPPORTED && in.b == kUnknownEffect) return kNotAlone;
  const StackUse use = stack_use(in, static_cast<int>(stack_.size()));
  const auto first = stack_.end() - use.pops;
  const size_t below = stack_.size() - static_cast<size_t>(use.pops);
  if (code_.reflective && (in.op == Op::CALL || in.op == Op::CALL_KW || in.op == Op::CALL_EX) &&
      std::any_of(first, first + 2 - in.b, [](auto& f) { return f && keeps_frame(f); }))
    return kNotAlone;
  if (in.op == Op::CALL && resizes(first[0], in.b ? py::object() : first[1]))
    return resize(pc, below);
  // What the instruction sees, and a handler keeps all the same, stays for it.
  const Handler* handler = code_.handler_of(pc);
  std::vector<py::object> kept;
  if (handler && static_cast<size_t>(handler->depth) > below)
    kept.assign(first,
                first + static_cast<std::ptrdiff_t>(static_cast<size_t>(handler->depth) - below));
  std::vector<py::object> seen(std::make_move_iterator(first),
                               std::make_move_iterator(stack_.end()));
  stack_.erase(first, stack_.end());
  const auto nulls = nulls_in(seen);
  // free variables come with the closure
  std::vector<py::object> slots(slots_.begin(), slots_.end() - code_.num_free);
  const py::object f = step_function(pc, nulls);
  py::object returned;
  // A variable that the instruction replaces is let go of there. None else runs code meanwhile
  // that looks at frames and leaves variables as they are.
  const SlotUse slot = slot_use(in);
  const bool shows = !shown_.empty() && slot != SlotUse::WRITE && slot != SlotUse::CLEAR;
  if (shows) shown_.show(slots);
  {
    ResumeScope scope(std::move(slots), std::move(seen));
    returned = call_in_frame(f);
  }
  if (!returned) {
    std::move(kept.begin(), kept.end(), std::back_inserter(stack_));
    return handle(pc, frame_code(f));
  }
  if (shows) shown_.hide();
  kept.clear();
  StepResults r = step_results(in, std::move(returned));
  if (r.jumped) next = in.target;
  if (slot == SlotUse::CLEAR) slots_[in.a] = {};
  if (slot == SlotUse::WRITE || slot == SlotUse::CELL) {
    slots_[in.a] = std::move(r.values.back());
    r.values.pop_back();
  }
  std::move(r.values.begin(), r.values.end(), std::back_inserter(stack_));
  return kDone;
}

// As CPython does: the stack has no reference to what a variable holds, and no method is made for
// a call.
void BreakStep::lend_variables(int pc, size_t below, std::vector<PyObject*>* given) {
  auto is_variable = [&](PyObject* o) {
    return std::any_of(slots_.begin(), slots_.end(), [&](auto& s) { return s.ptr() == o; });
  };
  PyObject* const method = given->front();
  const auto begin = code_.instrs.begin();
  const bool is_made = std::any_of(begin, begin + pc, [&](const Instr& in) {
    return in.op == Op::LOAD_METHOD && in.line == code_.instrs[pc].line &&
           text_of(in.obj) == "resize";
  });
  if (is_made && PyCFunction_Check(method) && Py_REFCNT(method) == 1 &&
      is_variable(PyCFunction_GET_SELF(method))) {
    given->insert(given->begin() + 1, PyCFunction_GET_SELF(method));
    given->front() = library.ndarray_resize.object().ptr();  // the class holds it
    for (size_t k = below; k < stack_.size(); ++k)
      if (stack_[k].ptr() == method) {
        stack_[k] = {};
        break;
      }
  }
  for (size_t k = below; k < stack_.size(); ++k)
    if (stack_[k] && is_variable(stack_[k].ptr())) stack_[k] = {};
}

// Without a frame that holds variables once more.
BreakStep::Outcome BreakStep::resize(int pc, size_t below) {
  std::vector<PyObject*> given;
  for (size_t k = below; k < stack_.size(); ++k)
    if (stack_[k]) given.push_back(stack_[k].ptr());
  if constexpr (kVariablesAreLent) lend_variables(pc, below, &given);
  PyObject* const names = code_.instrs[pc].obj;
  const size_t named = names ? static_cast<size_t>(PyTuple_GET_SIZE(names)) : 0;
  PyObject* const r =
      PyObject_Vectorcall(given[0], given.data() + 1, given.size() - 1 - named, names);
  if (!r) {
    add_traceback(code_, code_.instrs[pc].line);
    return handle(pc);
  }
  stack_.resize(below);
  stack_.push_back(py::reinterpret_steal<py::object>(r));
  return kDone;
}

BreakStep::Outcome BreakStep::handle(int pc, PyObject* code) {
  const Handler* h = code_.handler_of(pc);
  if (!h) throw py::error_already_set();
  py::object exception = raised_exception();
  shown_.hide();
  shown_.add_raised(exception, code, code_.instrs[pc].at);
  stack_.resize(static_cast<size_t>(h->depth));
  if (h->lasti) stack_.push_back(place_in_code(code_.instrs[pc].at));
  stack_.push_back(std::move(exception));
  next = h->target;
  return kDone;
}

}  // namespace pijit
