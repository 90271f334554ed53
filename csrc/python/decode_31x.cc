// CPython 3.11 and 3.12: bytes to our instructions, and our instructions back to bytes for resume
// code. Both share inline caches, relative jumps, exception tables and location tables; what
// differs is in the few places that test the version. Sources: Lib/opcode.py,
// Include/internal/pycore_opcode.h, Objects/locations.md and Objects/exception_handling_notes.txt
// of each version.
#include <algorithm>
#include <cstring>
#include <unordered_map>

#include "base/error.h"
#include "python/code.h"

#if PY_VERSION_HEX < 0x030B0000 || PY_VERSION_HEX >= 0x030D0000
#error \
    "pijit decodes the bytecode of CPython 3.11 and 3.12; another version needs a decoder of its own"
#endif

namespace pijit {

PyObject* resume_value_function();

namespace {

constexpr bool k312 = PY_VERSION_HEX >= 0x030C0000;

// Opcode numbers and names from the running interpreter's own `opcode` module.
struct Opcodes {
  std::unordered_map<std::string, int> number;
  std::string name[256];
  int caches[256] = {};
  Opcodes() {
    py::module_ m = py::module_::import("opcode");
    for (auto item : py::cast<py::dict>(m.attr("opmap"))) {
      const int n = py::cast<int>(item.second);
      if (n > 255) continue;
      number[text_of(item.first)] = n;
      name[n] = text_of(item.first);
    }
    py::list c = m.attr("_inline_cache_entries");
    for (size_t i = 0; i < c.size() && i < 256; ++i) caches[i] = py::cast<int>(c[i]);
  }
  int operator[](const char* n) const {
    auto it = number.find(n);
    if (it == number.end()) throw InternalError(str_cat("this CPython has no opcode ", n));
    return it->second;
  }
};
const Opcodes& opcodes() {
  static const auto* o = new Opcodes;
  return *o;
}

PyObject* interned(const char* s) {
  return PyUnicode_InternFromString(s);
}  // kept for good: a few names

const char* kBinary[] = {"add", "and", "floordiv", "lshift", "matmul",  "mul", "mod",
                         "or",  "pow", "rshift",   "sub",    "truediv", "xor"};
const char* kCompare[] = {"lt", "le", "eq", "ne", "gt", "ge"};

std::string code_bytes(PyObject* code) {
  py::object b =
      py::reinterpret_steal<py::object>(PyCode_GetCode(reinterpret_cast<PyCodeObject*>(code)));
  return py::cast<std::string>(py::bytes(b));
}

struct Raw {
  int op, arg, start, at,
      next;  // offsets in units: first extended argument, the instruction, behind its caches
};
std::vector<Raw> raw_instructions(PyObject* code) {
  const std::string b = code_bytes(code);
  std::vector<Raw> r;
  const int n = static_cast<int>(b.size() / 2);
  static const int kExtended = opcodes()["EXTENDED_ARG"];
  for (int i = 0; i < n;) {
    Raw x{0, 0, i, i, 0};
    int arg = 0;
    while (static_cast<uint8_t>(b[2 * i]) == kExtended)
      arg = (arg << 8) | static_cast<uint8_t>(b[2 * i + 1]), ++i;
    arg = (arg << 8) | static_cast<uint8_t>(b[2 * i + 1]);
    x.op = static_cast<uint8_t>(b[2 * i]);
    x.arg = arg;
    x.at = i;
    x.next = i + 1 + opcodes().caches[x.op];
    i = x.next;
    r.push_back(x);
  }
  return r;
}

}  // namespace

std::vector<Handler> exception_table(PyObject* code) {
  std::vector<Handler> out;
  const std::string t =
      py::cast<std::string>(py::bytes(py::handle(code).attr("co_exceptiontable")));
  size_t i = 0;
  auto varint = [&] {
    int v = t[i] & 63;
    while (t[i] & 64) v = (v << 6) | (t[++i] & 63);
    ++i;
    return v;
  };
  while (i < t.size()) {
    const int start = varint(), len = varint(), target = varint(), depth_lasti = varint();
    out.push_back({start, start + len, target, depth_lasti >> 1, (depth_lasti & 1) != 0});
  }
  return out;
}

void decode_code(PyObject* code, CodeInfo* out) {
  const auto raw = raw_instructions(code);
  py::object o = py::reinterpret_borrow<py::object>(code);
  py::tuple consts = o.attr("co_consts"), names = o.attr("co_names");
  for (auto n : py::cast<py::tuple>(o.attr("co_varnames"))) out->slot_names.push_back(text_of(n));
  std::vector<std::string> cells;
  for (auto n : py::cast<py::tuple>(o.attr("co_cellvars"))) {
    const auto s = text_of(n);
    if (std::find(out->slot_names.begin(), out->slot_names.end(), s) == out->slot_names.end())
      cells.push_back(s);
  }
  out->slot_names.insert(out->slot_names.end(), cells.begin(), cells.end());
  for (auto n : py::cast<py::tuple>(o.attr("co_freevars"))) out->slot_names.push_back(text_of(n));
  out->num_slots = static_cast<int>(out->slot_names.size());

  std::unordered_map<int, int> first;  // unit offset -> our instruction
  struct Fix {
    size_t instr;
    int unit;
  };
  std::vector<Fix> fixes;
  PyObject* kwnames = nullptr;
  for (size_t k = 0; k < raw.size(); ++k) {
    const Raw& r = raw[k];
    const std::string& n = opcodes().name[r.op];
    first[r.start] = first[r.at] = static_cast<int>(out->instrs.size());
    const int line = PyCode_Addr2Line(reinterpret_cast<PyCodeObject*>(code), r.at * 2);
    auto emit = [&](Op op, int a = 0, PyObject* obj = nullptr) {
      Instr i;
      i.op = op;
      i.a = a;
      i.obj = obj;
      i.offset = r.start;
      i.line = line;
      out->instrs.push_back(i);
    };
    auto jump = [&](Op op, int unit, int a = 0) {
      emit(op, a);
      fixes.push_back({out->instrs.size() - 1, unit});
    };
    auto name = [&](int i) { return PyTuple_GET_ITEM(names.ptr(), i); };
    auto constant = [&](int i) { return PyTuple_GET_ITEM(consts.ptr(), i); };
    const int fwd = r.next + r.arg, back = r.next - r.arg;
    if (n == "NOP" || n == "RESUME" || n == "PRECALL" || n == "CACHE" || n == "END_FOR")
      emit(Op::NOP);
    else if (n == "LOAD_CONST")
      emit(Op::LOAD_CONST, r.arg, constant(r.arg));
    else if (n == "RETURN_CONST")
      emit(Op::LOAD_CONST, r.arg, constant(r.arg)), emit(Op::RETURN_VALUE);
    else if (n == "RETURN_VALUE")
      emit(Op::RETURN_VALUE);
    else if (n == "LOAD_FAST" || n == "LOAD_FAST_CHECK")
      emit(Op::LOAD_FAST, r.arg);
    else if (n == "LOAD_FAST_AND_CLEAR")
      emit(Op::LOAD_FAST_AND_CLEAR, r.arg);
    else if (n == "STORE_FAST")
      emit(Op::STORE_FAST, r.arg);
    else if (n == "DELETE_FAST")
      emit(Op::DELETE_FAST, r.arg);
    else if (n == "LOAD_GLOBAL")
      emit(Op::LOAD_GLOBAL, r.arg & 1, name(r.arg >> 1));
    else if (n == "LOAD_NAME")  // only a module's code is decoded that has such names
      emit(Op::LOAD_GLOBAL, 0, name(r.arg));
    else if (n == "STORE_NAME")
      emit(Op::STORE_GLOBAL, 0, name(r.arg));
    else if (n == "IMPORT_NAME")
      emit(Op::IMPORT_NAME, 0, name(r.arg));
    else if (n == "IMPORT_FROM")
      emit(Op::IMPORT_FROM, 0, name(r.arg));
    else if (n == "STORE_GLOBAL")
      emit(Op::STORE_GLOBAL, 0, name(r.arg));
    else if (n == "LOAD_ATTR") {
      if (k312)
        emit(r.arg & 1 ? Op::LOAD_METHOD : Op::LOAD_ATTR, 0, name(r.arg >> 1));
      else
        emit(Op::LOAD_ATTR, 0, name(r.arg));
    } else if (n == "LOAD_METHOD")
      emit(Op::LOAD_METHOD, 0, name(r.arg));
    else if (n == "LOAD_SUPER_ATTR")
      emit(Op::LOAD_SUPER_ATTR, r.arg & 1, name(r.arg >> 2));
    else if (n == "STORE_ATTR")
      emit(Op::STORE_ATTR, 0, name(r.arg));
    else if (n == "LOAD_DEREF")
      emit(Op::LOAD_DEREF, r.arg);
    else if (n == "STORE_DEREF")
      emit(Op::STORE_DEREF, r.arg);
    else if (n == "LOAD_CLOSURE")
      emit(Op::LOAD_CLOSURE, r.arg);
    else if (n == "MAKE_CELL")
      emit(Op::MAKE_CELL, r.arg);
    else if (n == "COPY_FREE_VARS")
      emit(Op::COPY_FREE_VARS, r.arg);
    else if (n == "PUSH_NULL")
      emit(Op::PUSH_NULL);
    else if (n == "POP_TOP")
      emit(Op::POP_TOP);
    else if (n == "COPY")
      emit(Op::COPY, r.arg);
    else if (n == "SWAP")
      emit(Op::SWAP, r.arg);
    else if (n == "UNARY_NEGATIVE")
      emit(Op::UNARY, 0, interned("neg"));
    else if (n == "UNARY_POSITIVE")
      emit(Op::UNARY, 0, interned("pos"));
    else if (n == "UNARY_NOT")
      emit(Op::UNARY, 0, interned("not"));
    else if (n == "UNARY_INVERT")
      emit(Op::UNARY, 0, interned("invert"));
    else if (n == "BINARY_OP")
      emit(Op::BINARY, r.arg >= 13, interned(kBinary[r.arg % 13]));
    else if (n == "COMPARE_OP")
      emit(Op::COMPARE, 0, interned(kCompare[k312 ? r.arg >> 4 : r.arg]));
    else if (n == "IS_OP")
      emit(Op::IS_OP, r.arg);
    else if (n == "CONTAINS_OP")
      emit(Op::CONTAINS_OP, r.arg);
    else if (n == "BINARY_SUBSCR")
      emit(Op::BINARY_SUBSCR);
    else if (n == "STORE_SUBSCR")
      emit(Op::STORE_SUBSCR);
    else if (n == "DELETE_SUBSCR")
      emit(Op::DELETE_SUBSCR);
    else if (n == "BINARY_SLICE")
      emit(Op::BINARY_SLICE);
    else if (n == "STORE_SLICE")
      emit(Op::STORE_SLICE);
    else if (n == "BUILD_TUPLE")
      emit(Op::BUILD_TUPLE, r.arg);
    else if (n == "BUILD_LIST")
      emit(Op::BUILD_LIST, r.arg);
    else if (n == "BUILD_MAP")
      emit(Op::BUILD_MAP, r.arg);
    else if (n == "BUILD_CONST_KEY_MAP")
      emit(Op::BUILD_CONST_KEY_MAP, r.arg);
    else if (n == "BUILD_SLICE")
      emit(Op::BUILD_SLICE, r.arg);
    else if (n == "BUILD_STRING")
      emit(Op::BUILD_STRING, r.arg);
    else if (n == "FORMAT_VALUE")
      emit(Op::FORMAT_VALUE, r.arg);
    else if (n == "LIST_APPEND")
      emit(Op::LIST_APPEND, r.arg);
    else if (n == "LIST_EXTEND")
      emit(Op::LIST_EXTEND, r.arg);
    else if (n == "MAP_ADD")
      emit(Op::MAP_ADD, r.arg);
    else if (n == "DICT_UPDATE")
      emit(Op::DICT_UPDATE, r.arg);
    else if (n == "DICT_MERGE")
      emit(Op::DICT_MERGE, r.arg);
    else if (n == "LIST_TO_TUPLE" || (n == "CALL_INTRINSIC_1" && r.arg == 6))
      emit(Op::LIST_TO_TUPLE);
    else if (n == "CALL_INTRINSIC_1" && r.arg == 5)
      emit(Op::UNARY, 0, interned("pos"));
    else if (n == "UNPACK_SEQUENCE")
      emit(Op::UNPACK_SEQUENCE, r.arg);
    else if (n == "UNPACK_EX")
      emit(Op::UNPACK_EX, r.arg);
    else if (n == "BUILD_SET")
      emit(Op::BUILD_SET, r.arg);
    else if (n == "SET_UPDATE")
      emit(Op::SET_UPDATE, r.arg);
    else if (n == "SET_ADD")
      emit(Op::SET_ADD, r.arg);
    else if (n == "GET_LEN")
      emit(Op::GET_LEN);
    else if (n == "MATCH_SEQUENCE" || n == "MATCH_MAPPING")
      emit(Op::MATCH_KIND, n == "MATCH_MAPPING");
    else if (n == "BEFORE_WITH")
      emit(Op::BEFORE_WITH);
    else if (n == "RAISE_VARARGS")
      emit(Op::RAISE, r.arg);
    else if (n == "LOAD_ASSERTION_ERROR")
      emit(Op::LOAD_CONST, 0, PyExc_AssertionError);
    else if (n == "PUSH_EXC_INFO")
      emit(Op::PUSH_EXC_INFO);
    else if (n == "CHECK_EXC_MATCH")
      emit(Op::CHECK_EXC_MATCH);
    else if (n == "POP_EXCEPT")
      emit(Op::POP_EXCEPT);
    else if (n == "RERAISE")
      emit(Op::RERAISE);
    else if (n == "WITH_EXCEPT_START")
      emit(Op::WITH_EXCEPT_START);
    else if (n == "RETURN_GENERATOR")
      emit(Op::RETURN_GENERATOR);
    else if (n == "YIELD_VALUE")
      emit(Op::YIELD_VALUE);
    else if (n == "JUMP_FORWARD")
      jump(Op::JUMP, fwd);
    else if (n == "JUMP_BACKWARD" || n == "JUMP_BACKWARD_NO_INTERRUPT")
      jump(Op::JUMP, back);
    else if (n == "POP_JUMP_FORWARD_IF_FALSE" || n == "POP_JUMP_IF_FALSE")
      jump(Op::POP_JUMP, fwd, 0);
    else if (n == "POP_JUMP_FORWARD_IF_TRUE" || n == "POP_JUMP_IF_TRUE")
      jump(Op::POP_JUMP, fwd, 1);
    else if (n == "POP_JUMP_FORWARD_IF_NONE" || n == "POP_JUMP_IF_NONE")
      jump(Op::POP_JUMP, fwd, 2);
    else if (n == "POP_JUMP_FORWARD_IF_NOT_NONE" || n == "POP_JUMP_IF_NOT_NONE")
      jump(Op::POP_JUMP, fwd, 3);
    else if (n == "POP_JUMP_BACKWARD_IF_FALSE")
      jump(Op::POP_JUMP, back, 0);
    else if (n == "POP_JUMP_BACKWARD_IF_TRUE")
      jump(Op::POP_JUMP, back, 1);
    else if (n == "POP_JUMP_BACKWARD_IF_NONE")
      jump(Op::POP_JUMP, back, 2);
    else if (n == "POP_JUMP_BACKWARD_IF_NOT_NONE")
      jump(Op::POP_JUMP, back, 3);
    else if (n == "JUMP_IF_FALSE_OR_POP")
      jump(Op::JUMP_OR_POP, fwd, 0);
    else if (n == "JUMP_IF_TRUE_OR_POP")
      jump(Op::JUMP_OR_POP, fwd, 1);
    else if (n == "GET_ITER")
      emit(Op::GET_ITER);
    else if (n == "FOR_ITER") {
      // an exhausted loop continues behind END_FOR, with the iterator popped
      jump(Op::FOR_ITER, k312 ? fwd + 1 : fwd);
    } else if (n == "KW_NAMES") {
      kwnames = constant(r.arg);
      emit(Op::NOP);
    } else if (n == "CALL") {
      emit(Op::CALL, r.arg, kwnames);
      kwnames = nullptr;
    } else if (n == "CALL_FUNCTION_EX")
      emit(Op::CALL_EX, r.arg & 1);
    else if (n == "MAKE_FUNCTION")
      emit(Op::MAKE_FUNCTION, r.arg);
    else
      emit(Op::UNSUPPORTED, r.arg, interned(n.c_str()));
  }
  for (auto& f : fixes) {
    auto it = first.find(f.unit);
    PIJIT_CHECK(it != first.end(), "jump into the middle of an instruction");
    out->instrs[f.instr].target = it->second;
  }
}

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
    if (!k312) op("PRECALL", nargs);
    op("CALL", nargs);
  }
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
std::string shift_exception_table(const std::string& t, int by) {
  std::string out;
  size_t i = 0;
  auto varint = [&] {
    int v = t[i] & 63;
    while (t[i] & 64) v = (v << 6) | (t[++i] & 63);
    ++i;
    return v;
  };
  while (i < t.size()) {
    const int start = varint(), len = varint(), target = varint(), depth = varint();
    put_table_varint(&out, start + by, true);
    put_table_varint(&out, len, false);
    put_table_varint(&out, target + by, false);
    put_table_varint(&out, depth, false);
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
  f.attr("__qualname__") = py::handle(func).attr("__qualname__");
  return f;
}

py::object make_resume_code(const CodeInfo& info, int instr, const std::vector<int>& slots,
                            const std::vector<bool>& stack_nulls) {
  const auto code = py::reinterpret_borrow<py::object>(info.code);
  Assembler a;
  py::tuple consts = code.attr("co_consts");
  const int next = static_cast<int>(consts.size());
  py::list all(consts);
  all.append(py::handle(resume_value_function()));
  if (info.num_free) a.op("COPY_FREE_VARS", info.num_free);
  a.op("RESUME", 0);
  const int own_args = py::cast<int>(code.attr("co_argcount")) > 0 ? 1 : 0;
  if (own_args && std::find(slots.begin(), slots.end(), 0) == slots.end()) a.op("DELETE_FAST", 0);
  auto push_next = [&] {
    a.op("PUSH_NULL");
    a.op("LOAD_CONST", next);
    a.call(0);
  };
  for (int s : slots) {
    push_next();
    a.op("STORE_FAST", s);
  }
  for (bool null : stack_nulls) {
    if (null)
      a.op("PUSH_NULL");
    else
      push_next();
  }
  // KW_NAMES belongs to the CALL behind it
  int unit = info.instrs[instr].offset;
  if (info.instrs[instr].op == Op::CALL)
    for (int k = instr - 1; k >= 0 && info.instrs[k].op == Op::NOP; --k) {
      const std::string b = code_bytes(code.ptr());
      const std::string& n = opcodes().name[static_cast<uint8_t>(b[2 * info.instrs[k].offset])];
      if (n != "KW_NAMES" && n != "PRECALL" && n != "EXTENDED_ARG") break;
      unit = info.instrs[k].offset;
    }
  a.op("JUMP_FORWARD", unit);
  const int shift = a.units();
  std::string lines;
  put_no_location(&lines, shift);
  lines += py::cast<std::string>(py::bytes(code.attr("co_linetable")));
  using namespace py::literals;
  const int flags = py::cast<int>(code.attr("co_flags")) & ~(CO_VARARGS | CO_VARKEYWORDS);
  return code.attr("replace")(
      "co_code"_a = py::bytes(a.bytes + code_bytes(code.ptr())), "co_consts"_a = py::tuple(all),
      "co_argcount"_a = own_args, "co_posonlyargcount"_a = 0, "co_kwonlyargcount"_a = 0,
      "co_flags"_a = flags, "co_stacksize"_a = py::cast<int>(code.attr("co_stacksize")) + 3,
      "co_linetable"_a = py::bytes(lines),
      "co_exceptiontable"_a = py::bytes(shift_exception_table(
          py::cast<std::string>(py::bytes(code.attr("co_exceptiontable"))), shift)));
}

py::object make_call_stub(PyObject* func, const CodeInfo& info, int instr, int nargs,
                          PyObject* kwnames, bool ex, bool ex_kwargs) {
  const auto code = py::reinterpret_borrow<py::object>(info.code);
  Assembler a;
  py::list consts, vars;
  consts.append(py::none());
  a.op("RESUME", 0);
  a.op("PUSH_NULL");
  for (int k = 0; k <= nargs; ++k) {
    vars.append(py::str(".") + py::str(py::int_(k)));
    a.op("LOAD_FAST", k);
  }
  if (ex) {
    a.op("CALL_FUNCTION_EX", ex_kwargs ? 1 : 0);
  } else {
    if (kwnames) {
      consts.append(py::handle(kwnames));
      a.op("KW_NAMES", 1);
    }
    a.call(nargs);
  }
  a.op("RETURN_VALUE");
  // the place of the call instruction itself: behind its extended arguments
  int unit = info.instrs[instr].offset;
  for (const std::string b = code_bytes(code.ptr());
       opcodes().name[static_cast<uint8_t>(b[2 * unit])] == "EXTENDED_ARG";)
    ++unit;
  const py::tuple pos = position_of(code.ptr(), unit);
  std::string lines;
  const int first = py::cast<int>(code.attr("co_firstlineno"));
  if (pos[0].is_none())
    put_no_location(&lines, a.units());
  else
    put_location(&lines, a.units(), py::cast<int>(pos[0]) - first, pos);
  using namespace py::literals;
  py::object made = code.attr("replace")(
      "co_code"_a = py::bytes(a.bytes), "co_consts"_a = py::tuple(consts),
      "co_names"_a = py::tuple(), "co_varnames"_a = py::tuple(vars), "co_cellvars"_a = py::tuple(),
      "co_freevars"_a = py::tuple(), "co_nlocals"_a = nargs + 1, "co_argcount"_a = nargs + 1,
      "co_posonlyargcount"_a = 0, "co_kwonlyargcount"_a = 0,
      "co_flags"_a = CO_OPTIMIZED | CO_NEWLOCALS, "co_stacksize"_a = nargs + 4,
      "co_linetable"_a = py::bytes(lines), "co_exceptiontable"_a = py::bytes(""));
  return function_like(func, made, false);
}

}  // namespace pijit
