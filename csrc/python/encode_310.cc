// Our instructions back to CPython's, for 3.9 and 3.10. Frames are objects there, which may begin
// at any instruction, with anything on their stack: what goes on behind a break is the function's
// own code. A step is code of its own.
#include "python/interpreter.h"

#if PY_VERSION_HEX < 0x030B0000

#include <algorithm>
#include <optional>

#include "base/error.h"
#include "python/blocks.h"
#include "python/call_in_frame.h"
#include "python/dialect.h"
#include "python/exits.h"

namespace pijit {

extern PyObject *stack_function, *leave_function;

namespace {

// What make_resume_code() and its like give: in a capsule, as it is no code alone.
struct Made {
  py::object code;       // null: that of the function
  const CodeInfo* info;  // of that, which lives as long as what it was made for
  int instr;
  bool step;
};
constexpr const char* kMade = "pijit.made";

py::object capsule_of(Made made) {
  return checked(PyCapsule_New(new Made(std::move(made)), kMade, [](PyObject* o) {
    delete static_cast<Made*>(PyCapsule_GetPointer(o, kMade));
  }));
}

// Of function_like().
const Made& made_of(const py::object& f) {
  return *static_cast<Made*>(PyCapsule_GetPointer(PyTuple_GET_ITEM(f.ptr(), 2), kMade));
}

class Assembler {
 public:
  std::string bytes;
  int units() const { return static_cast<int>(bytes.size() / 2); }
  void op(const char* name, int arg = 0) { put(opcodes()[name], arg); }
  void put(int op, int arg) {
    for (int shift = 24; shift > 0; shift -= 8)
      if (static_cast<unsigned>(arg) >> shift) byte(opcodes()["EXTENDED_ARG"], arg >> shift & 255);
    byte(op, arg & 255);
  }
  // Behind `skipped` units.
  void jump(int op, int skipped) {
    constexpr int kEach = frames::kBytes ? 2 : 1;
    // its argument has room in one unit: steps are short
    put(op, kEach * (opcodes().relative.contains(op) ? skipped : units() + 1 + skipped));
  }

 private:
  void byte(int a, int b) {
    bytes.push_back(static_cast<char>(a));
    bytes.push_back(static_cast<char>(b));
  }
};

void push(Assembler& a, py::list& consts, py::handle o) {
  a.op("LOAD_CONST", static_cast<int>(consts.size()));
  consts.append(o);
}

// A line table of one line, `delta` behind the first.
std::string one_line(int units, int delta) {
  std::string lines;
  auto entry = [&](int bytes, int by) {
    lines.push_back(static_cast<char>(bytes));
    lines.push_back(static_cast<char>(by));
  };
  constexpr int kMost = 127;
  for (; delta > kMost; delta -= kMost) entry(0, kMost);
  for (; delta < -kMost; delta += kMost) entry(0, -kMost);
  entry(0, delta);
  for (int left = frames::kBytes ? 0 : 2 * units; left > 0; left -= 254)
    entry(std::min(left, 254), 0);
  return lines;
}

py::object code_like(const CodeInfo& info, const std::string& bytes, const py::list& consts,
                     int stack_size, const std::string& lines) {
  using namespace py::literals;
  const char* table = frames::kBytes ? "co_lnotab" : "co_linetable";
  return py::handle(info.code).attr("replace")(
      "co_code"_a = py::bytes(bytes), "co_consts"_a = py::tuple(consts),
      "co_stacksize"_a = stack_size, py::arg(table) = py::bytes(lines));
}

const StackLayout* layout_at(const CodeInfo& code, int instr) {
  const auto at = static_cast<size_t>(instr);
  if (code.layout_of.empty() || code.layout_of[at] < 0) return nullptr;
  return &code.layouts[static_cast<size_t>(code.layout_of[at])];
}

py::object pop(std::vector<py::object>* stack) {
  py::object o = std::move(stack->back());
  stack->pop_back();
  return o;
}

// One of our instructions that CPython has not, or not alone: where code goes on; -1: it raises.
int do_ourselves(const CodeInfo& code, int instr, std::vector<py::object>* slots,
                 std::vector<py::object>* stack) {
  const Instr& in = code.instrs[static_cast<size_t>(instr)];
  switch (in.op) {
    case Op::MAKE_CELL: {
      py::object& slot = (*slots)[static_cast<size_t>(in.a)];
      slot = checked(PyCell_New(slot.ptr()));
      break;
    }
    case Op::COPY: stack->push_back((*stack)[stack->size() - static_cast<size_t>(in.a)]); break;
    case Op::SWAP:
      std::swap(stack->back(), (*stack)[stack->size() - static_cast<size_t>(in.a)]);
      break;
    case Op::POP_TOP: stack->pop_back(); break;
    case Op::LOAD_CONST: stack->push_back(py::reinterpret_borrow<py::object>(in.obj)); break;
    case Op::IS_OP: {
      const py::object b = pop(stack), a = pop(stack);
      stack->push_back(py::bool_(a.is(b) != (in.a != 0)));
      break;
    }
    case Op::JUMP: return in.target;
    case Op::POP_JUMP: return (pop(stack).ptr() == Py_True) == (in.a == 1) ? in.target : instr + 1;
    case Op::PUSH_EXC_INFO: {
      py::object e = pop(stack);
      py::object before = handled_exception();
      stack->push_back(before ? std::move(before) : py::object(py::none()));
      set_handled_exception(e);
      stack->push_back(std::move(e));
      break;
    }
    case Op::POP_EXCEPT: set_handled_exception(pop(stack)); break;
    case Op::RERAISE: {
      const py::object e = pop(stack);
      auto* type = reinterpret_cast<PyObject*>(Py_TYPE(e.ptr()));
      PyErr_Restore(Py_NewRef(type), Py_NewRef(e.ptr()), PyException_GetTraceback(e.ptr()));
      return -1;
    }
    default: break;
  }
  return instr + 1;
}

bool is_ours(const Instr& in) { return in.part == Part::kAdded || in.part == Part::kSecond; }
// What a step does here, too: values move, which may be NULL, or blocks would have to be there.
bool is_done_here(const Instr& in) {
  return is_ours(in) || in.op == Op::SWAP || in.op == Op::COPY || in.op == Op::POP_EXCEPT ||
         in.op == Op::POP_TOP;
}

}  // namespace

bool reach_instruction(const CodeInfo& code, int* instr, std::vector<py::object>* slots,
                       std::vector<py::object>* stack) {
  while (is_ours(code.instrs[static_cast<size_t>(*instr)])) {
    const int at = *instr;
    *instr = do_ourselves(code, at, slots, stack);
    if (*instr >= 0) continue;
    const Handler* h = code.handler_of(at);
    if (!h) return false;
    stack->resize(static_cast<size_t>(h->depth));
    if (h->lasti) stack->push_back(place_in_code(code.instrs[static_cast<size_t>(at)].at));
    stack->push_back(raised_exception());
    *instr = h->target;
  }
  return true;
}

std::vector<py::object> laid_out(const CodeInfo& code, int instr, std::vector<py::object> stack) {
  const StackLayout* layout = layout_at(code, instr);
  if (!layout) return stack;
  std::vector<py::object> all;
  size_t at = 0;
  py::object exception;
  auto of_type = [](const py::object& e) {
    return py::reinterpret_borrow<py::object>(reinterpret_cast<PyObject*>(Py_TYPE(e.ptr())));
  };
  auto put_traceback = [&](const py::object& e) {
    PyObject* t = e && !e.is_none() ? PyException_GetTraceback(e.ptr()) : nullptr;
    all.push_back(t ? py::reinterpret_steal<py::object>(t) : py::object(py::none()));
  };
  const std::string& entries = layout->entries;
  for (size_t k = 0; k < entries.size(); ++k) {
    const char next = k + 1 < entries.size() ? entries[k + 1] : 0;
    switch (entries[k]) {
      case 't':
        // without its value, it only waits to be dropped
        put_traceback(next == 'e' ? stack[at] : py::object());
        break;
      case 'T': put_traceback(stack[at]); break;
      case 'l': ++at; break;
      case 'e':
      case 'E': exception = stack[at]; [[fallthrough]];
      case 'v': all.push_back(std::move(stack[at++])); break;
      default:
        all.push_back(exception && !exception.is_none() ? of_type(exception)
                                                        : py::object(py::none()));
    }
  }
  return all;
}

void set_blocks(_PyInterpreterFrame* frame, const CodeInfo& code, int instr) {
  constexpr int kExceptHandler = 257, kEach = frames::kBytes ? 2 : 1;
  frame->f_iblock = 0;
  const StackLayout* layout = layout_at(code, instr);
  if (!layout) return;
  for (auto& b : layout->blocks) {
    const auto end = layout->entries.begin() + b.level;
    const auto level = b.level - std::count(layout->entries.begin(), end, 'l');
    if (b.handler < 0)
      PyFrame_BlockSetup(frame, kExceptHandler, -1, static_cast<int>(level));
    else
      PyFrame_BlockSetup(frame, opcodes()["SETUP_FINALLY"], b.handler * kEach,
                         static_cast<int>(level));
  }
}

py::object make_resume_code(const CodeInfo& info, int instr, const std::vector<bool>&) {
  return capsule_of({{}, &info, instr, false});
}

py::object make_loop_code(const CodeInfo& info, int instr, int begin, int end,
                          const std::vector<bool>& nulls) {
  const int stack_size = static_cast<int>(nulls.size());
  auto [inside, exits] = loop_exits(info, instr, begin, end, stack_size);
  if (exits.empty() || is_ours(info.instrs[static_cast<size_t>(instr)])) return {};
  Assembler a;
  a.bytes = code_bytes(info.code);
  const int units = a.units();
  const auto code = py::reinterpret_borrow<py::object>(info.code);
  py::list consts(py::tuple(code.attr("co_consts")));
  std::set<int> entered;  // code units that code may go on with from elsewhere
  for (auto& in : info.instrs)
    if (in.target >= 0) entered.insert(info.instrs[static_cast<size_t>(in.target)].offset);
  for (auto& h : info.handlers) entered.insert(info.instrs[static_cast<size_t>(h.target)].offset);
  for (auto& [to, depth] : exits) entered.insert(info.instrs[static_cast<size_t>(to)].offset);
  int deepest = 0;
  for (auto [to, depth] : exits) {
    const Instr& in = info.instrs[static_cast<size_t>(to)];
    const StackLayout* layout = layout_at(info, to);
    if (is_ours(in) || (layout && layout->entries.find_first_not_of('v') != std::string::npos))
      return {};
    Assembler jump;
    jump.put(opcodes()["JUMP_ABSOLUTE"], a.units() * (frames::kBytes ? 2 : 1));
    for (int k = 1; k < jump.units(); ++k)
      if (entered.contains(in.offset + k) || in.offset + k >= units) return {};
    for (size_t k = 0; k < info.instrs.size(); ++k)
      if (inside[k] && in.offset + jump.units() > info.instrs[k].offset &&
          in.offset < info.instrs[k].next)
        return {};
    a.bytes.replace(2 * static_cast<size_t>(in.offset), jump.bytes.size(), jump.bytes);
    deepest = std::max(deepest, depth);
    a.op("BUILD_TUPLE", depth);
    push(a, consts, py::int_(to));
    a.op("BUILD_TUPLE", 2);
    push(a, consts, leave_function);
    a.op("ROT_TWO");
    a.op("CALL_FUNCTION", 1);
    a.op("RETURN_VALUE");
  }
  const char* table = frames::kBytes ? "co_lnotab" : "co_linetable";
  std::string lines = py::cast<std::string>(py::bytes(code.attr(table)));
  if (!frames::kBytes)
    for (int left = 2 * (a.units() - units); left > 0; left -= 254) {
      lines.push_back(static_cast<char>(std::min(left, 254)));
      lines.push_back(static_cast<char>(-128));  // no line
    }
  py::object made =
      code_like(info, a.bytes, consts,
                std::max(py::cast<int>(code.attr("co_stacksize")), deepest + 4), lines);
  return capsule_of({std::move(made), &info, instr, false});
}

py::object make_step_code(const CodeInfo& info, int instr, const std::vector<bool>& nulls) {
  const Instr& in = info.instrs[static_cast<size_t>(instr)];
  if (is_done_here(in)) return capsule_of({{}, &info, instr, true});
  const StackUse use = stack_use(in, static_cast<int>(nulls.size()));
  Assembler a;
  py::list consts(py::tuple(py::handle(info.code).attr("co_consts")));
  const auto all = raw_instructions(info.code);
  const auto raw = std::find_if(all.begin(), all.end(), [&](auto& r) { return r.at == in.at; });
  PIJIT_CHECK(raw != all.end(), "no instruction there");
  // What is returned: step_results().
  auto leave = [&](int results, std::optional<bool> jumped) {
    if (slot_use(in) == SlotUse::WRITE) a.op("LOAD_FAST", in.a), ++results;
    if (jumped) push(a, consts, py::bool_(*jumped)), ++results;
    if (in.op == Op::LOAD_METHOD || in.op == Op::UNSUPPORTED) {  // some may be NULL
      push(a, consts, stack_function);
      push(a, consts, py::int_(results));
      a.op("CALL_FUNCTION", 1);
    } else {
      a.op("BUILD_TUPLE", results);
    }
    a.op("RETURN_VALUE");
  };
  auto jump_over = [&](int op, auto put) {
    Assembler through;
    std::swap(a, through);
    put();
    std::swap(a, through);
    a.jump(op, through.units());
    a.bytes += through.bytes;
  };
  int more = 0;  // that the frame's stack holds as it begins
  switch (in.op) {
    case Op::CHECK_EXC_MATCH:
      for (auto name : {"ROT_TWO", "DUP_TOP", "ROT_THREE", "ROT_TWO"}) a.op(name);
      jump_over(opcodes()["JUMP_IF_NOT_EXC_MATCH"], [&] {
        push(a, consts, py::bool_(true));
        a.op("BUILD_TUPLE", 2);
        a.op("RETURN_VALUE");
      });
      push(a, consts, py::bool_(false));
      leave(2, std::nullopt);
      break;
    case Op::WITH_EXCEPT_START:  // the frame's stack has the call above these
      more = 4;
      a.op("CALL_FUNCTION", 3);
      leave(use.pushes, std::nullopt);
      break;
    case Op::MATCH_CLASS:
      a.op("MATCH_CLASS", in.a);
      jump_over(opcodes()["POP_JUMP_IF_TRUE"], [&] {
        a.op("POP_TOP");
        push(a, consts, py::none());
      });
      leave(1, std::nullopt);
      break;
    case Op::MATCH_KEYS:
      a.op("MATCH_KEYS");
      a.op("POP_TOP");
      leave(3, std::nullopt);
      break;
    case Op::BEFORE_WITH:
      a.op("SETUP_WITH");
      a.op("POP_BLOCK");
      leave(use.pushes, std::nullopt);
      break;
    case Op::RERAISE:
      more = 2;
      a.op("RERAISE");
      break;
    default:
      if (flow(in) == Flow::BRANCH) {
        jump_over(raw->op, [&] { leave(use.pushes, false); });
        leave(use.jump_pushes, true);
      } else {
        a.put(raw->op, raw->arg);
        leave(use.pushes, std::nullopt);
      }
  }
  const int line = in.line - py::cast<int>(py::handle(info.code).attr("co_firstlineno"));
  const int stack = std::max({use.pops, use.pushes, use.jump_pushes}) + 5 + more;
  return capsule_of(
      {code_like(info, a.bytes, consts, stack, one_line(a.units(), line)), &info, instr, true});
}

py::object function_like(PyObject* func, const py::object& code, bool closure) {
  PyObject* cells = closure ? PyFunction_GetClosure(func) : nullptr;
  const Made& made = *static_cast<Made*>(PyCapsule_GetPointer(code.ptr(), kMade));
  if (made.code) name_like(made.code.ptr(), func);
  return py::make_tuple(py::reinterpret_borrow<py::object>(PyFunction_GET_GLOBALS(func)),
                        cells ? py::reinterpret_borrow<py::object>(cells) : py::object(py::none()),
                        code);
}

namespace {

// A step without a frame.
py::object stepped(const Made& made, ResumeValues values) {
  const Instr& in = made.info->instrs[static_cast<size_t>(made.instr)];
  const int next = do_ourselves(*made.info, made.instr, &values.slots, &values.stack);
  if (next < 0) return {};
  if (slot_use(in) == SlotUse::CELL)
    values.stack.push_back(values.slots[static_cast<size_t>(in.a)]);
  if (flow(in) == Flow::BRANCH) values.stack.push_back(py::bool_(next == in.target));
  py::object t = checked(PyTuple_New(static_cast<Py_ssize_t>(values.stack.size())));
  for (size_t k = 0; k < values.stack.size(); ++k)
    PyTuple_SET_ITEM(t.ptr(), static_cast<Py_ssize_t>(k), values.stack[k].release().ptr());
  return t;
}

// What a step's frame has on its stack.
void prepare(const Instr& in, std::vector<py::object>* stack) {
  auto type = [](const py::object& e) {
    return py::reinterpret_borrow<py::object>(reinterpret_cast<PyObject*>(Py_TYPE(e.ptr())));
  };
  auto traceback = [](const py::object& e) {
    PyObject* t = PyException_GetTraceback(e.ptr());
    return t ? py::reinterpret_steal<py::object>(t) : py::object(py::none());
  };
  const py::object e = stack->empty() ? py::object() : stack->back();
  if (in.op == Op::RERAISE) *stack = {traceback(e), e, type(e)};
  if (in.op == Op::WITH_EXCEPT_START)
    stack->insert(stack->end(), {stack->front(), type(e), e, traceback(e)});
}

}  // namespace

PyObject* frame_code(const py::object& f) {
  const Made& made = made_of(f);
  return made.code ? made.code.ptr() : made.step ? nullptr : made.info->code;
}
int units_before(const py::object&, const CodeInfo&) { return 0; }

py::object call_in_frame(const py::object& f) {
  PyObject* globals = PyTuple_GET_ITEM(f.ptr(), 0);
  PyObject* closure = PyTuple_GET_ITEM(f.ptr(), 1);
  const Made& made = made_of(f);
  const CodeInfo& info = *made.info;
  ResumeValues values = take_resume_values();
  if (made.step && !made.code) return stepped(made, std::move(values));
  int instr = made.instr;
  if (made.step) {
    prepare(info.instrs[static_cast<size_t>(instr)], &values.stack);
  } else {
    if (!reach_instruction(info, &instr, &values.slots, &values.stack)) return {};
    values.stack = laid_out(info, instr, std::move(values.stack));
  }
  PyThreadState* t = PyThreadState_Get();
  auto* code = reinterpret_cast<PyCodeObject*>(made.code ? made.code.ptr() : info.code);
  PyFrameObject* frame = PyFrame_New(t, code, globals, nullptr);
  if (!frame) throw py::error_already_set();
  const int locals = code->co_nlocals, cells = frames::num_cells(code);
  for (size_t k = 0; k < values.slots.size(); ++k)
    frames::put(frame, static_cast<int>(k), values.slots[k].release().ptr());
  for (int k = 0; k < cells; ++k)  // one that nobody reads any more
    if (PyObject*& cell = frame->f_localsplus[locals + k]; !cell) cell = PyCell_New(nullptr);
  if (closure != Py_None)
    for (Py_ssize_t k = 0; k < PyTuple_GET_SIZE(closure); ++k)
      frame->f_localsplus[locals + cells + k] = Py_NewRef(PyTuple_GET_ITEM(closure, k));
  for (size_t k = 0; k < values.stack.size(); ++k)
    frame->f_valuestack[k] = values.stack[k].release().ptr();
  frames::set_stack_size(frame, static_cast<int>(values.stack.size()));
  if (!made.step) {
    set_blocks(frame, info, instr);
    const int before = info.instrs[static_cast<size_t>(instr)].offset - 1;
    if (before >= 0) frames::go_on_at(frame, before);
  }
  if (values.begins)
    values.begins(py::reinterpret_borrow<py::object>(reinterpret_cast<PyObject*>(frame)));
  PyObject* r = run_made_frame(frame);
  ++t->recursion_depth;  // what dies may call something, on the same C stack
  Py_DECREF(frame);
  --t->recursion_depth;
  return py::reinterpret_steal<py::object>(r);
}

}  // namespace pijit

#endif
