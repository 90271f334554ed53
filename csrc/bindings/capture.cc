// jit, and what its tests see of bytecode.
#include "bindings/bindings.h"
#include "dispatch/run.h"
#include "python/call_in_frame.h"
#include "python/code.h"
#include "python/hook.h"

namespace pijit {
namespace {

// decoded(code): our instructions of a function's or a generator's code; None: it is not decoded.
// Tuples of a name, operands a and b, object (or None), target, beginning, place, end, line, what
// it takes from the stack and leaves there (where it jumps: the last), the slots that are alive.
py::object decoded(const py::object& code) {
  const Code info = code_info(code.ptr(), true);
  if (!info) return py::none();
  py::list all;
  for (int pc = 0; pc < static_cast<int>(info->instrs.size()); ++pc) {
    const Instr& in = info->instrs[pc];
    const StackUse use = stack_use(in, 0);
    py::list live;
    for (int s = 0; s < info->num_slots; ++s)
      if (info->live[pc][s]) live.append(s);
    all.append(py::make_tuple(op_name(in.op), in.a, in.b,
                              in.obj ? py::reinterpret_borrow<py::object>(in.obj) : py::none(),
                              in.target, in.offset, in.at, in.next, in.line, use.pops, use.pushes,
                              use.jump_pushes, live));
  }
  py::list handlers;
  for (auto& h : info->handlers)
    handlers.append(py::make_tuple(h.begin, h.end, h.target, h.depth, h.lasti));
  return py::make_tuple(all, handlers);
}

// in_steps(function, arguments, at): what the function gives for arguments that lie in its slots,
// each instruction executed alone, from the at-th on in code that goes on from there. A tuple of
// the number of steps and the result.
py::object in_steps(const py::object& func, const py::object& arguments, int64_t at) {
  if (!PyFunction_Check(func.ptr()) || !PyTuple_Check(arguments.ptr()))
    throw py::type_error("_in_steps() takes a function of Python's and a tuple of its arguments");
  auto* co = reinterpret_cast<PyCodeObject*>(PyFunction_GET_CODE(func.ptr()));
  const Code code = code_info(reinterpret_cast<PyObject*>(co));
  const auto given = py::reinterpret_borrow<py::tuple>(arguments);
  if (!code || co->co_flags & (CO_VARARGS | CO_VARKEYWORDS) ||
      static_cast<int>(given.size()) != num_args(*code))
    throw py::value_error("_in_steps() takes all arguments of a function without *args");
  FunctionCache state;
  const Target target{func.ptr(), code, state, false};
  Slots slots(static_cast<size_t>(code->num_slots));
  for (size_t k = 0; k < given.size(); ++k) slots[k] = given[k];
  std::vector<py::object> stack;
  ShownFrames shown;
  BreakStep step(target, *code, &slots, &stack, &shown);
  int pc = 0;
  for (int64_t n = 0;; ++n, pc = step.next) {
    if (code->instrs[pc].op == Op::RETURN_VALUE) return py::make_tuple(n, stack.back());
    if (n < at && step.run(pc) == BreakStep::kDone) continue;
    const py::object rest =
        function_like(func.ptr(), make_resume_code(*code, pc, nulls_in(stack)), true);
    slots.resize(static_cast<size_t>(code->num_slots - code->num_free));
    ResumeScope scope({slots.begin(), slots.end()}, std::move(stack));
    const py::object result = call_in_frame(rest);
    if (!result) throw py::error_already_set();
    return py::make_tuple(n, result);
  }
}

}  // namespace

void init_capture(py::module_& m) {
  init_jit(m);
  define(m, "_decoded", {{"code"}}, [](const std::vector<py::object>& a) { return decoded(a[0]); });
  define(m, "_in_steps", {{"function"}, {"arguments"}, {"at"}},
         [](const std::vector<py::object>& a) {
           return in_steps(a[0], a[1], argument<int64_t>("_in_steps", "at", a[2]));
         });
  define(m, "_frames_are_as_expected", {{"slot", py::int_(0)}},
         [](const std::vector<py::object>& a) {
           return frames_are_as_expected(
               static_cast<int>(argument<int64_t>("_frames_are_as_expected", "slot", a[0])));
         });
}

}  // namespace pijit
