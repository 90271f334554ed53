// Our instructions back to CPython's bytes, from 3.11 on: code that goes on behind a break, that
// runs a loop, or one instruction alone. Sources: Objects/locations.md and
// Objects/exception_handling_notes.txt.
#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "base/error.h"
#include "python/call_in_frame.h"
#include "python/dialect.h"
#include "python/exits.h"

#if PY_VERSION_HEX >= 0x030B0000

namespace pijit {

extern PyObject *resume_value_function, *fill_and_unpack_function, *fill_function;
extern PyObject *stack_function, *leave_function;

namespace {

struct Assembler {
  std::string bytes;
  void op(const char* name, int arg = 0) {
    const int n = opcodes()[name];
    int shift = 24;
    while (shift > 0 && (static_cast<unsigned>(arg) >> shift) == 0) shift -= 8;
    for (; shift > 0; shift -= 8) put(opcodes()["EXTENDED_ARG"], (arg >> shift) & 255);
    put(n, arg & 255);
    for (int i = 0; i < opcodes().caches[n]; ++i) put(0, 0);
  }
  void call(int nargs) {
    if (dialect.precall) op("PRECALL", nargs);
    op("CALL", nargs);
  }
  // One of two instructions that share a code unit, alone.
  void part(const Instr& in) { op(op_name(in.op), in.a); }
  int units() const { return static_cast<int>(bytes.size() / 2); }
  void put(int a, int b) {
    bytes.push_back(static_cast<char>(a));
    bytes.push_back(static_cast<char>(b));
  }
};

void put_varint(std::string* s, unsigned v) {
  while (v >= 64) s->push_back(static_cast<char>(0x40 | (v & 63))), v >>= 6;
  s->push_back(static_cast<char>(v));
}
void put_svarint(std::string* s, int v) {
  put_varint(s, v < 0 ? (static_cast<unsigned>(-v) << 1) | 1 : static_cast<unsigned>(v) << 1);
}

// Location entries (Objects/locations.md): `units` code units without a place, or at one place.
void put_no_location(std::string* s, int units) {
  for (; units > 0; units -= 8)
    s->push_back(static_cast<char>(0x80 | (15 << 3) | (std::min(units, 8) - 1)));
}
void put_location(std::string* s, int units, int line_delta, py::tuple pos) {
  for (bool first = true; units > 0; units -= 8, first = false) {
    s->push_back(static_cast<char>(0x80 | (14 << 3) | (std::min(units, 8) - 1)));
    put_svarint(s, first ? line_delta : 0);
    const int line = py::cast<int>(pos[0]);
    put_varint(s, pos[1].is_none() ? 0 : py::cast<int>(pos[1]) - line);
    put_varint(s, pos[2].is_none() ? 0 : py::cast<int>(pos[2]) + 1);
    put_varint(s, pos[3].is_none() ? 0 : py::cast<int>(pos[3]) + 1);
  }
}
py::tuple position_of(PyObject* code, int unit) {
  int k = 0;
  for (auto p : py::handle(code).attr("co_positions")())
    if (k++ == unit) return py::reinterpret_borrow<py::tuple>(p);
  return py::make_tuple(py::none(), py::none(), py::none(), py::none());
}

// Exception table entries, most significant bits first; the first byte of an entry carries 0x80.
void put_table_varint(std::string* s, int v, bool begin) {
  int shift = 24;
  while (shift > 0 && (v >> shift) == 0) shift -= 6;
  for (; shift >= 0; shift -= 6) {
    int b = (v >> shift) & 63;
    if (shift > 0) b |= 64;
    if (begin) b |= 128;
    begin = false;
    s->push_back(static_cast<char>(b));
  }
}
std::string shifted_exception_table(PyObject* code, int by) {
  std::string out;
  for (auto& h : exception_table(code)) {
    put_table_varint(&out, h.begin + by, true);
    put_table_varint(&out, h.end - h.begin, false);
    put_table_varint(&out, h.target + by, false);
    put_table_varint(&out, h.depth << 1 | (h.lasti ? 1 : 0), false);
  }
  return out;
}

}  // namespace

py::object function_like(PyObject* func, const py::object& code, bool closure) {
  py::object f =
      py::reinterpret_steal<py::object>(PyFunction_New(code.ptr(), PyFunction_GetGlobals(func)));
  if (!f) throw py::error_already_set();
  if (closure && PyFunction_GetClosure(func) &&
      PyFunction_SetClosure(f.ptr(), PyFunction_GetClosure(func)) < 0)
    throw py::error_already_set();
  Py_XSETREF(reinterpret_cast<PyFunctionObject*>(f.ptr())->func_qualname,
             Py_NewRef(reinterpret_cast<PyFunctionObject*>(func)->func_qualname));
  return f;
}

PyObject* frame_code(const py::object& f) { return PyFunction_GET_CODE(f.ptr()); }
int units_before(const py::object& made, const CodeInfo& info) {
  return static_cast<int>(Py_SIZE(made.ptr()) - Py_SIZE(info.code));
}

namespace {

void push(Assembler& a, py::list& consts, py::handle o) {
  a.op("LOAD_CONST", static_cast<int>(consts.size()));
  consts.append(o);
}
// A function below its arguments, or alone.
void push_function(Assembler& a, py::list& consts, PyObject* f) {
  if (!kNullAboveCallable) a.op("PUSH_NULL");
  push(a, consts, f);
  if (kNullAboveCallable) a.op("PUSH_NULL");
}
// Puts a tuple of the n entries of the stack, some of which may be NULL, in their place, or above
// them.
void gather(Assembler& a, py::list& consts, int n) {
  if (!dialect.stack_seen) return a.op("BUILD_TUPLE", n);
  push_function(a, consts, stack_function);
  push(a, consts, py::int_(n));
  a.call(1);
}

// The beginning of a code object that runs in a frame like that of `info`: cells and free variables
// made as CPython makes them, slots and stack taken from a ResumeScope. Adds to the constants.
void begin_frame(Assembler& a, const CodeInfo& info, py::list& consts,
                 const std::vector<bool>& nulls) {
  // a frame shows what is in a cell once its MAKE_CELL has run
  for (auto& in : info.instrs) {
    if (in.op == Op::MAKE_CELL) a.op("MAKE_CELL", in.a);
    if (in.op == Op::COPY_FREE_VARS) a.op("COPY_FREE_VARS", in.a);
    if (in.op != Op::MAKE_CELL && in.op != Op::COPY_FREE_VARS) break;
  }
  a.op("RESUME", 0);
  auto call = [&](PyObject* f) {
    push_function(a, consts, f);
    a.call(0);
  };
  if (dialect.stack_seen) {
    for (size_t k = 0; k < nulls.size(); ++k) a.op("PUSH_NULL");
    call(fill_function);
    a.op("POP_TOP");
    return;
  }
  const auto leading =
      static_cast<size_t>(std::find(nulls.begin(), nulls.end(), false) - nulls.begin());
  const size_t values = nulls.size() - leading;
  const bool at_once = std::find(nulls.begin() + static_cast<std::ptrdiff_t>(leading), nulls.end(),
                                 true) == nulls.end();
  if (at_once) {
    for (size_t k = 0; k < leading; ++k) a.op("PUSH_NULL");
    call(fill_and_unpack_function);
    if (values == 0) a.op("POP_TOP");
    if (values > 1) a.op("UNPACK_SEQUENCE", static_cast<int>(values));
    return;
  }
  call(resume_value_function);
  a.op("POP_TOP");
  for (bool null : nulls) {
    if (null)
      a.op("PUSH_NULL");
    else
      call(resume_value_function);
  }
}

// `code` with other instructions, in a frame of the same names. All its arguments are positional:
// super() looks for the first, and tracebacks name them.
py::object code_like(const CodeInfo& info, const Assembler& a, const py::list& consts,
                     int stack_size, const std::string& lines, const std::string& table) {
  using namespace py::literals;
  const auto code = py::reinterpret_borrow<py::object>(info.code);
  const int args =
      py::cast<int>(code.attr("co_argcount")) + py::cast<int>(code.attr("co_kwonlyargcount"));
  const int flags = py::cast<int>(code.attr("co_flags")) & ~(CO_VARARGS | CO_VARKEYWORDS);
  return code.attr("replace")("co_code"_a = py::bytes(a.bytes), "co_consts"_a = py::tuple(consts),
                              "co_argcount"_a = args, "co_posonlyargcount"_a = 0,
                              "co_kwonlyargcount"_a = 0, "co_flags"_a = flags,
                              "co_stacksize"_a = stack_size, "co_linetable"_a = py::bytes(lines),
                              "co_exceptiontable"_a = py::bytes(table));
}

}  // namespace

py::object make_resume_code(const CodeInfo& info, int instr, const std::vector<bool>& nulls) {
  const auto code = py::reinterpret_borrow<py::object>(info.code);
  Assembler a;
  py::list consts(py::tuple(code.attr("co_consts")));
  begin_frame(a, info, consts, nulls);
  const Instr& in = info.instrs[instr];
  if (in.truth_first) a.op("TO_BOOL");
  if (in.part == Part::kSecond) a.part(in);
  a.op("JUMP_FORWARD", in.part == Part::kSecond ? in.next : in.offset);
  const int shift = a.units();
  std::string lines;
  put_no_location(&lines, shift);
  lines += py::cast<std::string>(py::bytes(code.attr("co_linetable")));
  a.bytes += code_bytes(code.ptr());
  const int stack =
      std::max(py::cast<int>(code.attr("co_stacksize")), static_cast<int>(nulls.size())) + 3;
  return code_like(info, a, consts, stack, lines, shifted_exception_table(code.ptr(), shift));
}

py::object make_loop_code(const CodeInfo& info, int instr, int begin, int end,
                          const std::vector<bool>& nulls) {
  if (!dialect.stack_seen && std::find(nulls.begin(), nulls.end(), true) != nulls.end()) return {};
  const int stack_size = static_cast<int>(nulls.size());
  const py::object whole = make_resume_code(info, instr, nulls);
  Assembler a;
  a.bytes = code_bytes(whole.ptr());
  const int units = a.units();
  const int shift = units - static_cast<int>(code_bytes(info.code).size() / 2);
  py::list consts(py::tuple(whole.attr("co_consts")));
  const auto [inside, exits] = loop_exits(info, instr, begin, end, stack_size);
  if (exits.empty()) return {};
  // FOR_ITER goes on behind what its jump leads to
  auto place_of = [&](int to) {
    const Instr& in = info.instrs[to];
    const auto op = static_cast<uint8_t>(a.bytes[2 * static_cast<size_t>(in.at + shift)]);
    return opcodes().name[op] == "END_FOR" ? in.next + dialect.loop_end - 1 : in.offset;
  };
  std::set<int> entered;  // code units that code may go on with from elsewhere
  for (auto& in : info.instrs)
    if (in.target >= 0) entered.insert(info.instrs[in.target].offset);
  for (auto& h : info.handlers) entered.insert(info.instrs[h.target].offset);
  for (auto& [to, depth] : exits) entered.insert(place_of(to));
  int deepest = 0;
  for (auto [to, depth] : exits) {
    if (info.instrs[to].part == Part::kSecond || info.instrs[to].truth_first) return {};
    const int place = place_of(to), distance = a.units() - shift - place;
    Assembler jump;
    if (distance <= 256) {
      jump.op("JUMP_FORWARD", distance - 1);
    } else {
      if (distance == 257) jump.op("NOP");
      jump.op("JUMP_FORWARD", distance - 2);
    }
    if (jump.units() > 2) return {};
    if (jump.units() == 2 && (entered.count(place + 1) || place + 1 + shift >= units)) return {};
    for (size_t k = 0; k < info.instrs.size(); ++k)
      if (inside[k] && place + jump.units() > info.instrs[k].offset && place < info.instrs[k].next)
        return {};
    a.bytes.replace(2 * static_cast<size_t>(place + shift), jump.bytes.size(), jump.bytes);
    deepest = std::max(deepest, depth);
    gather(a, consts, depth);
    push(a, consts, py::int_(to));
    a.op("BUILD_TUPLE", 2);
    auto below = [&](auto put) { put(), a.op("SWAP", 2); };
    auto null = [&] { a.op("PUSH_NULL"); };
    if (!kNullAboveCallable) below(null);
    below([&] { push(a, consts, leave_function); });
    if (kNullAboveCallable) below(null);
    a.call(1);
    a.op("RETURN_VALUE");
  }
  std::string lines = py::cast<std::string>(py::bytes(whole.attr("co_linetable")));
  put_no_location(&lines, a.units() - units);
  return code_like(info, a, consts,
                   std::max(py::cast<int>(whole.attr("co_stacksize")), deepest + 4), lines,
                   py::cast<std::string>(py::bytes(whole.attr("co_exceptiontable"))));
}

py::object make_step_code(const CodeInfo& info, int instr, const std::vector<bool>& nulls) {
  const Instr& in = info.instrs[instr];
  const auto code = py::reinterpret_borrow<py::object>(info.code);
  const std::string bytes = code_bytes(code.ptr());
  const StackUse use = stack_use(in, static_cast<int>(nulls.size()));
  Assembler a;
  py::list consts(py::tuple(code.attr("co_consts")));
  begin_frame(a, info, consts, nulls);
  const char* closure = opcodes().has("LOAD_CLOSURE") ? "LOAD_CLOSURE" : "LOAD_FAST";
  // What a comprehension gives back to a variable may be NULL.
  const char* written = opcodes().has("LOAD_FAST_AND_CLEAR") ? "LOAD_FAST_AND_CLEAR" : "LOAD_FAST";
  const bool to_bool = opcodes().has("TO_BOOL");
  // What is returned: step_results() below.
  auto leave = [&](int results, std::optional<bool> jumped) {
    const SlotUse slot = slot_use(in);
    if (slot == SlotUse::WRITE) a.op(written, in.a), ++results;
    if (slot == SlotUse::CELL) a.op(closure, in.a), ++results;
    if (jumped) push(a, consts, py::bool_(*jumped)), ++results;
    gather(a, consts, results);
    a.op("RETURN_VALUE");
  };
  if (flow(in) == Flow::BRANCH) {
    Assembler through;
    std::swap(a, through);
    leave(use.pushes, false);
    std::swap(a, through);
    std::string name = opcodes().name[static_cast<uint8_t>(bytes[2 * in.at])];
    // either way goes forward here
    if (const auto at = name.find("BACKWARD"); at != std::string::npos)
      name.replace(at, 8, "FORWARD");
    if (to_bool && in.op == Op::POP_JUMP && in.a < 2) a.op("TO_BOOL");
    a.op(name.c_str(), through.units());
    a.bytes += through.bytes;
    // what FOR_ITER skips: what ends the loop, and from 3.13 on a POP_TOP
    for (int k = 0; in.op == Op::FOR_ITER && k < dialect.loop_end; ++k)
      a.op(k == 0 ? "END_FOR" : "POP_TOP");
    leave(use.jump_pushes, true);
  } else if (in.op == Op::RERAISE) {
    a.op("RERAISE", 0);  // with more, it would give the frame the place of another instruction
  } else if (in.op == Op::LOAD_CONST) {  // CPython's may return it at once
    push(a, consts, in.obj);
    leave(use.pushes, std::nullopt);
  } else if (in.part != Part::kWhole) {
    a.part(in);
    leave(use.pushes, std::nullopt);
  } else {
    if (in.truth_first) a.op("TO_BOOL");
    a.bytes += bytes.substr(2 * static_cast<size_t>(in.offset),
                            2 * static_cast<size_t>(in.next - in.offset));
    leave(use.pushes, std::nullopt);
  }
  const py::tuple pos = position_of(code.ptr(), in.at);
  std::string lines;
  const int first = py::cast<int>(code.attr("co_firstlineno"));
  if (pos[0].is_none())
    put_no_location(&lines, a.units());
  else
    put_location(&lines, a.units(), py::cast<int>(pos[0]) - first, pos);
  const int stack = std::max({use.pops, use.pushes, use.jump_pushes}) + 5;
  return code_like(info, a, consts, stack, lines, "");
}

}  // namespace pijit

#endif
