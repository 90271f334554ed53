// CPython 3.11 and 3.12: bytes to our instructions, and our instructions back to bytes for resume
// code. Both share inline caches, relative jumps, exception tables and location tables; what
// differs is in the few places that test the version. Sources: Lib/opcode.py,
// Include/internal/pycore_opcode.h, Objects/locations.md and Objects/exception_handling_notes.txt
// of each version.
#include <algorithm>
#include <cstring>
#include <optional>
#include <set>

#include "absl/container/flat_hash_map.h"
#include "base/error.h"
#include "base/operators.h"
#include "python/code.h"
#include "python/names.h"

#if PY_VERSION_HEX < 0x030B0000 || PY_VERSION_HEX >= 0x030D0000
#error \
    "pijit decodes the bytecode of CPython 3.11 and 3.12; another version needs a decoder of its own"
#endif

namespace pijit {

extern PyObject *resume_value_function, *fill_function, *leave_function;

namespace {

constexpr bool k312 = PY_VERSION_HEX >= 0x030C0000;

// Opcode numbers and names from the running interpreter's own `opcode` module.
struct Opcodes {
  absl::flat_hash_map<std::string, int> number;
  std::string name[256];
  int caches[256] = {};
  std::set<int> jumps;  // by numbers
  Opcodes() {
    py::object m = python_module("opcode");
    for (auto item : py::cast<py::dict>(m.attr("opmap"))) {
      const int n = py::cast<int>(item.second);
      if (n > 255) continue;
      number[text_of(item.first)] = n;
      name[n] = text_of(item.first);
    }
    py::list c = m.attr("_inline_cache_entries");
    for (size_t i = 0; i < c.size() && i < 256; ++i) caches[i] = py::cast<int>(c[i]);
    for (auto n : py::cast<py::list>(m.attr("hasjrel"))) jumps.insert(py::cast<int>(n));
  }
  int operator[](const char* n) const {
    auto it = number.find(n);
    if (it == number.end()) throw InternalError(str_cat("this CPython has no opcode ", n));
    return it->second;
  }
};
constinit OnDemand<Opcodes> known_opcodes;
const Opcodes& opcodes() {
  return known_opcodes.get([] { return Opcodes(); });
}

// Of CALL_INTRINSIC_1.
constexpr int kUnaryPositive = 5, kListToTuple = 6;
constexpr int kHaveArgument = 90;  // opcodes from here on have an argument, in 3.11 and 3.12

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
  const int extended = opcodes()["EXTENDED_ARG"];
  for (int i = 0; i < n;) {
    Raw x{0, 0, i, i, 0};
    int arg = 0;
    while (static_cast<uint8_t>(b[2 * i]) == extended)
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

namespace {

// How an instruction of CPython's becomes ours: what its argument means.
enum class Arg : uint8_t {
  kNone,
  kFixed,       // a is the row's
  kCount,       // a
  kConst,       // an index of co_consts
  kName,        // an index of co_names
  kNullName,    // the same, shifted; the low bit: push NULL first
  kMethodName,  // the same; the low bit: LOAD_METHOD
  kSuperName,   // an index shifted by two; the low bit: push NULL first
  kLowBit,      // a
  kBinary,      // number of a BinaryOp; from 13 on, in place
  kCompare,     // number of a CompareOp
  kForward,     // a jump; a is the row's
  kBackward,
  kReturnConst,  // two instructions
  kKeywords,     // of the CALL that follows
  kOfCall,       // belongs to the CALL that follows
  kCall,
  kIntrinsic,
};
struct Row {
  const char* name;
  Op op;
  Arg arg = Arg::kNone;
  int a = 0;
};
constexpr int op_number(UnaryOp op) { return static_cast<int>(op); }

const Row kRows[] = {
    {"NOP", Op::NOP},
    {"RESUME", Op::NOP},
    {"PRECALL", Op::NOP, Arg::kOfCall},
    {"CACHE", Op::NOP},
    {"END_FOR", Op::NOP},
    {"LOAD_CONST", Op::LOAD_CONST, Arg::kConst},
    {"RETURN_CONST", Op::RETURN_VALUE, Arg::kReturnConst},
    {"RETURN_VALUE", Op::RETURN_VALUE},
    {"LOAD_FAST", Op::LOAD_FAST, Arg::kCount},
    {"LOAD_FAST_CHECK", Op::LOAD_FAST, Arg::kCount},
    {"LOAD_FAST_AND_CLEAR", Op::LOAD_FAST_AND_CLEAR, Arg::kCount},
    {"STORE_FAST", Op::STORE_FAST, Arg::kCount},
    {"DELETE_FAST", Op::DELETE_FAST, Arg::kCount},
    {"LOAD_GLOBAL", Op::LOAD_GLOBAL, Arg::kNullName},
    {"LOAD_NAME", Op::LOAD_GLOBAL, Arg::kName},  // only a module's code is decoded that has these
    {"STORE_NAME", Op::STORE_GLOBAL, Arg::kName},
    {"IMPORT_NAME", Op::IMPORT_NAME, Arg::kName},
    {"IMPORT_FROM", Op::IMPORT_FROM, Arg::kName},
    {"STORE_GLOBAL", Op::STORE_GLOBAL, Arg::kName},
    {"LOAD_ATTR", Op::LOAD_ATTR, k312 ? Arg::kMethodName : Arg::kName},
    {"LOAD_METHOD", Op::LOAD_METHOD, Arg::kName},
    {"LOAD_SUPER_ATTR", Op::LOAD_SUPER_ATTR, Arg::kSuperName},
    {"STORE_ATTR", Op::STORE_ATTR, Arg::kName},
    {"DELETE_ATTR", Op::DELETE_ATTR, Arg::kName},
    {"LOAD_DEREF", Op::LOAD_DEREF, Arg::kCount},
    {"STORE_DEREF", Op::STORE_DEREF, Arg::kCount},
    {"LOAD_CLOSURE", Op::LOAD_CLOSURE, Arg::kCount},
    {"MAKE_CELL", Op::MAKE_CELL, Arg::kCount},
    {"COPY_FREE_VARS", Op::COPY_FREE_VARS, Arg::kCount},
    {"PUSH_NULL", Op::PUSH_NULL},
    {"POP_TOP", Op::POP_TOP},
    {"COPY", Op::COPY, Arg::kCount},
    {"SWAP", Op::SWAP, Arg::kCount},
    {"UNARY_NEGATIVE", Op::UNARY, Arg::kFixed, op_number(UnaryOp::kNeg)},
    {"UNARY_POSITIVE", Op::UNARY, Arg::kFixed, op_number(UnaryOp::kPos)},
    {"UNARY_NOT", Op::UNARY, Arg::kFixed, op_number(UnaryOp::kNot)},
    {"UNARY_INVERT", Op::UNARY, Arg::kFixed, op_number(UnaryOp::kInvert)},
    {"BINARY_OP", Op::BINARY, Arg::kBinary},
    {"COMPARE_OP", Op::COMPARE, Arg::kCompare},
    {"IS_OP", Op::IS_OP, Arg::kCount},
    {"CONTAINS_OP", Op::CONTAINS_OP, Arg::kCount},
    {"BINARY_SUBSCR", Op::BINARY_SUBSCR},
    {"STORE_SUBSCR", Op::STORE_SUBSCR},
    {"DELETE_SUBSCR", Op::DELETE_SUBSCR},
    {"BINARY_SLICE", Op::BINARY_SLICE},
    {"STORE_SLICE", Op::STORE_SLICE},
    {"BUILD_TUPLE", Op::BUILD_TUPLE, Arg::kCount},
    {"BUILD_LIST", Op::BUILD_LIST, Arg::kCount},
    {"BUILD_MAP", Op::BUILD_MAP, Arg::kCount},
    {"BUILD_CONST_KEY_MAP", Op::BUILD_CONST_KEY_MAP, Arg::kCount},
    {"BUILD_SLICE", Op::BUILD_SLICE, Arg::kCount},
    {"BUILD_STRING", Op::BUILD_STRING, Arg::kCount},
    {"FORMAT_VALUE", Op::FORMAT_VALUE, Arg::kCount},
    {"LIST_APPEND", Op::LIST_APPEND, Arg::kCount},
    {"LIST_EXTEND", Op::LIST_EXTEND, Arg::kCount},
    {"MAP_ADD", Op::MAP_ADD, Arg::kCount},
    {"DICT_UPDATE", Op::DICT_UPDATE, Arg::kCount},
    {"DICT_MERGE", Op::DICT_MERGE, Arg::kCount},
    {"LIST_TO_TUPLE", Op::LIST_TO_TUPLE},
    {"CALL_INTRINSIC_1", Op::UNSUPPORTED, Arg::kIntrinsic},
    {"UNPACK_SEQUENCE", Op::UNPACK_SEQUENCE, Arg::kCount},
    {"UNPACK_EX", Op::UNPACK_EX, Arg::kCount},
    {"BUILD_SET", Op::BUILD_SET, Arg::kCount},
    {"SET_UPDATE", Op::SET_UPDATE, Arg::kCount},
    {"SET_ADD", Op::SET_ADD, Arg::kCount},
    {"GET_LEN", Op::GET_LEN},
    {"MATCH_SEQUENCE", Op::MATCH_KIND, Arg::kFixed, 0},
    {"MATCH_MAPPING", Op::MATCH_KIND, Arg::kFixed, 1},
    {"MATCH_CLASS", Op::MATCH_CLASS, Arg::kCount},
    {"MATCH_KEYS", Op::MATCH_KEYS},
    {"BEFORE_WITH", Op::BEFORE_WITH},
    {"RAISE_VARARGS", Op::RAISE, Arg::kCount},
    {"LOAD_ASSERTION_ERROR", Op::LOAD_CONST, Arg::kFixed},
    {"PUSH_EXC_INFO", Op::PUSH_EXC_INFO},
    {"CHECK_EXC_MATCH", Op::CHECK_EXC_MATCH},
    {"POP_EXCEPT", Op::POP_EXCEPT},
    {"RERAISE", Op::RERAISE},
    {"WITH_EXCEPT_START", Op::WITH_EXCEPT_START},
    {"RETURN_GENERATOR", Op::RETURN_GENERATOR},
    {"YIELD_VALUE", Op::YIELD_VALUE},
    {"GET_YIELD_FROM_ITER", Op::GET_YIELD_FROM_ITER},
    {"SEND", Op::SEND, Arg::kForward, k312 ? 1 : 0},
    {"END_SEND", Op::END_SEND},
    {"JUMP_FORWARD", Op::JUMP, Arg::kForward},
    {"JUMP_BACKWARD", Op::JUMP, Arg::kBackward},
    {"JUMP_BACKWARD_NO_INTERRUPT", Op::JUMP, Arg::kBackward},
    {"POP_JUMP_IF_FALSE", Op::POP_JUMP, Arg::kForward, 0},
    {"POP_JUMP_IF_TRUE", Op::POP_JUMP, Arg::kForward, 1},
    {"POP_JUMP_IF_NONE", Op::POP_JUMP, Arg::kForward, 2},
    {"POP_JUMP_IF_NOT_NONE", Op::POP_JUMP, Arg::kForward, 3},
    {"POP_JUMP_FORWARD_IF_FALSE", Op::POP_JUMP, Arg::kForward, 0},
    {"POP_JUMP_FORWARD_IF_TRUE", Op::POP_JUMP, Arg::kForward, 1},
    {"POP_JUMP_FORWARD_IF_NONE", Op::POP_JUMP, Arg::kForward, 2},
    {"POP_JUMP_FORWARD_IF_NOT_NONE", Op::POP_JUMP, Arg::kForward, 3},
    {"POP_JUMP_BACKWARD_IF_FALSE", Op::POP_JUMP, Arg::kBackward, 0},
    {"POP_JUMP_BACKWARD_IF_TRUE", Op::POP_JUMP, Arg::kBackward, 1},
    {"POP_JUMP_BACKWARD_IF_NONE", Op::POP_JUMP, Arg::kBackward, 2},
    {"POP_JUMP_BACKWARD_IF_NOT_NONE", Op::POP_JUMP, Arg::kBackward, 3},
    {"JUMP_IF_FALSE_OR_POP", Op::JUMP_OR_POP, Arg::kForward, 0},
    {"JUMP_IF_TRUE_OR_POP", Op::JUMP_OR_POP, Arg::kForward, 1},
    {"GET_ITER", Op::GET_ITER},
    {"FOR_ITER", Op::FOR_ITER, Arg::kForward},
    {"KW_NAMES", Op::NOP, Arg::kKeywords},
    {"CALL", Op::CALL, Arg::kCall},
    {"CALL_FUNCTION_EX", Op::CALL_EX, Arg::kLowBit},
    {"MAKE_FUNCTION", Op::MAKE_FUNCTION, Arg::kCount},
};

// By the numbers of the running interpreter; null: an instruction that is executed, but not known.
constinit OnDemand<std::vector<const Row*>> known_rows;
const Row* row_of(int opcode) {
  return known_rows.get([] {
    std::vector<const Row*> all(256);
    for (auto& r : kRows)
      if (auto it = opcodes().number.find(r.name); it != opcodes().number.end())
        all[static_cast<size_t>(it->second)] = &r;
    return all;
  })[static_cast<size_t>(opcode)];
}

}  // namespace

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

  absl::flat_hash_map<int, int> first;  // unit offset -> our instruction
  struct Fix {
    size_t instr;
    int unit;
  };
  std::vector<Fix> fixes;
  PyObject* kwnames = nullptr;
  int call_at = -1;  // where a CALL begins, with what belongs to it
  int line = py::cast<int>(o.attr("co_firstlineno"));
  py::iterator lines = py::iter(o.attr("co_lines")());  // of a begin, an end and a line
  for (const Raw& r : raw) {
    first[r.start] = first[r.at] = static_cast<int>(out->instrs.size());
    while (lines != py::iterator::sentinel() && py::cast<int>((*lines)[py::int_(1)]) <= r.at * 2)
      ++lines;
    if (lines != py::iterator::sentinel())
      if (const py::object own = (*lines)[py::int_(2)]; !own.is_none() && py::cast<int>(own) > 0)
        line = py::cast<int>(own);  // what the compiler adds belongs to no line
    auto emit = [&](Op op, int a = 0, PyObject* obj = nullptr) {
      Instr i;
      i.op = op;
      i.a = a;
      i.obj = obj;
      i.offset = r.start;
      i.at = r.at;
      i.next = r.next;
      i.line = line;
      out->instrs.push_back(i);
    };
    auto jump = [&](Op op, int unit, int a) {
      emit(op, a);
      fixes.push_back({out->instrs.size() - 1, unit});
    };
    auto name = [&](int i) { return PyTuple_GET_ITEM(names.ptr(), i); };
    auto constant = [&](int i) { return PyTuple_GET_ITEM(consts.ptr(), i); };
    auto unknown = [&] {
      PyObject* text = PyUnicode_InternFromString(opcodes().name[r.op].c_str());
      emit(Op::UNSUPPORTED, r.op, text);  // the name is kept for good: there are few
      const int effect =
          PyCompile_OpcodeStackEffectWithJump(r.op, r.op >= kHaveArgument ? r.arg : 0, -1);
      out->instrs.back().b = opcodes().jumps.count(r.op) || effect == PY_INVALID_STACK_EFFECT
                                 ? kUnknownEffect
                                 : effect;
    };
    const Row* row = row_of(r.op);
    if (!row) {
      unknown();
      continue;
    }
    switch (row->arg) {
      case Arg::kNone: emit(row->op); break;
      case Arg::kFixed:
        emit(row->op, row->a, row->op == Op::LOAD_CONST ? PyExc_AssertionError : nullptr);
        break;
      case Arg::kCount: emit(row->op, r.arg); break;
      case Arg::kConst: emit(row->op, 0, constant(r.arg)); break;
      case Arg::kName: emit(row->op, 0, name(r.arg)); break;
      case Arg::kNullName: emit(row->op, r.arg & 1, name(r.arg >> 1)); break;
      case Arg::kMethodName:
        emit(r.arg & 1 ? Op::LOAD_METHOD : row->op, 0, name(r.arg >> 1));
        break;
      case Arg::kSuperName: emit(row->op, r.arg & 1, name(r.arg >> 2)); break;
      case Arg::kLowBit: emit(row->op, r.arg & 1); break;
      case Arg::kBinary: {
        constexpr int kOperators = 13;
        emit(row->op, r.arg % kOperators);
        out->instrs.back().b = r.arg >= kOperators;
        break;
      }
      case Arg::kCompare: emit(row->op, k312 ? r.arg >> 4 : r.arg); break;
      case Arg::kForward:
        // an exhausted loop continues behind END_FOR, with the iterator popped
        jump(row->op, r.next + r.arg + (k312 && row->op == Op::FOR_ITER ? 1 : 0), row->a);
        break;
      case Arg::kBackward: jump(row->op, r.next - r.arg, row->a); break;
      case Arg::kReturnConst:
        emit(Op::LOAD_CONST, 0, constant(r.arg));
        emit(row->op);
        break;
      case Arg::kKeywords: kwnames = constant(r.arg); [[fallthrough]];
      case Arg::kOfCall:
        if (call_at < 0) call_at = r.start;
        emit(row->op);
        break;
      case Arg::kCall:
        emit(row->op, r.arg, kwnames);
        if (call_at >= 0) out->instrs.back().offset = call_at;
        kwnames = nullptr;
        call_at = -1;
        break;
      case Arg::kIntrinsic:
        if (r.arg == kListToTuple)
          emit(Op::LIST_TO_TUPLE);
        else if (r.arg == kUnaryPositive)
          emit(Op::UNARY, op_number(UnaryOp::kPos));
        else
          unknown();
        break;
    }
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
  Py_XSETREF(reinterpret_cast<PyFunctionObject*>(f.ptr())->func_qualname,
             Py_NewRef(reinterpret_cast<PyFunctionObject*>(func)->func_qualname));
  return f;
}

namespace {

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
  const auto leading =
      static_cast<size_t>(std::find(nulls.begin(), nulls.end(), false) - nulls.begin());
  const size_t values = nulls.size() - leading;
  const bool at_once = std::find(nulls.begin() + static_cast<std::ptrdiff_t>(leading), nulls.end(),
                                 true) == nulls.end();
  auto call = [&](PyObject* f) {
    a.op("PUSH_NULL");
    a.op("LOAD_CONST", static_cast<int>(consts.size()));
    consts.append(py::handle(f));
    a.call(0);
  };
  if (at_once) {
    for (size_t k = 0; k < leading; ++k) a.op("PUSH_NULL");
    call(fill_function);
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
  a.op("JUMP_FORWARD", info.instrs[instr].offset);
  const int shift = a.units();
  std::string lines;
  put_no_location(&lines, shift);
  lines += py::cast<std::string>(py::bytes(code.attr("co_linetable")));
  a.bytes += code_bytes(code.ptr());
  const int stack =
      std::max(py::cast<int>(code.attr("co_stacksize")), static_cast<int>(nulls.size())) + 3;
  return code_like(info, a, consts, stack, lines,
                   shift_exception_table(
                       py::cast<std::string>(py::bytes(code.attr("co_exceptiontable"))), shift));
}

namespace {

// Where a loop is left: the stack's size there, by the instruction that code goes on with. Nothing
// where that can't be told.
std::map<int, int> exits_of(const CodeInfo& info, int instr, int begin, int end, int stack_size) {
  std::map<int, int> exits, depths{{instr, stack_size}};
  std::vector<int> queue{instr};
  while (!queue.empty()) {
    const int pc = queue.back();
    queue.pop_back();
    const Instr& in = info.instrs[pc];
    if (in.op == Op::UNSUPPORTED && in.b == kUnknownEffect) return {};
    const StackUse use = stack_use(in, depths[pc]);
    for (int to : successors(info, pc)) {
      if (to < 0) continue;
      const bool jumps = flow(in) == Flow::BRANCH && to == in.target;
      const int depth = depths[pc] - use.pops + (jumps ? use.jump_pushes : use.pushes);
      if (depth < 0) return {};
      if (to < begin || to >= end)
        exits[to] = depth;
      else if (depths.emplace(to, depth).second)
        queue.push_back(to);
    }
  }
  return exits;
}

}  // namespace

py::object make_loop_code(const CodeInfo& info, int instr, int begin, int end, int stack_size) {
  const py::object whole =
      make_resume_code(info, instr, std::vector<bool>(static_cast<size_t>(stack_size)));
  Assembler a;
  a.bytes = code_bytes(whole.ptr());
  const int units = a.units();
  const int shift = units - static_cast<int>(code_bytes(info.code).size() / 2);
  py::list consts(py::tuple(whole.attr("co_consts")));
  auto constant = [&](const py::object& o) {
    a.op("LOAD_CONST", static_cast<int>(consts.size()));
    consts.append(o);
  };
  const auto exits = exits_of(info, instr, begin, end, stack_size);
  if (exits.empty()) return {};
  // FOR_ITER goes on behind what its jump leads to
  auto place_of = [&](int to) {
    const Instr& in = info.instrs[to];
    const auto op = static_cast<uint8_t>(a.bytes[2 * static_cast<size_t>(in.at + shift)]);
    return opcodes().name[op] == "END_FOR" ? in.next : in.offset;
  };
  std::set<int> entered;  // code units that code may go on with from elsewhere
  for (auto& in : info.instrs)
    if (in.target >= 0) entered.insert(info.instrs[in.target].offset);
  for (auto& h : info.handlers) entered.insert(info.instrs[h.target].offset);
  for (auto& [to, depth] : exits) entered.insert(place_of(to));
  int deepest = 0;
  for (auto [to, depth] : exits) {
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
    if (place + jump.units() > info.instrs[begin].offset && place < info.instrs[end - 1].next)
      return {};
    a.bytes.replace(2 * static_cast<size_t>(place + shift), jump.bytes.size(), jump.bytes);
    deepest = std::max(deepest, depth);
    a.op("BUILD_TUPLE", depth);
    constant(py::int_(to));
    a.op("BUILD_TUPLE", 2);
    a.op("PUSH_NULL");
    a.op("SWAP", 2);
    constant(py::reinterpret_borrow<py::object>(leave_function));
    a.op("SWAP", 2);
    a.call(1);
    a.op("RETURN_VALUE");
  }
  std::string lines = py::cast<std::string>(py::bytes(whole.attr("co_linetable")));
  put_no_location(&lines, a.units() - units);
  return code_like(info, a, consts,
                   std::max(py::cast<int>(whole.attr("co_stacksize")), deepest + 3), lines,
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
  auto push_constant = [&](py::object o) {
    a.op("LOAD_CONST", static_cast<int>(consts.size()));
    consts.append(o);
  };
  // What is returned: step_results() below.
  auto leave = [&](int results, std::optional<bool> jumped) {
    const SlotUse slot = slot_use(in);
    if (slot == SlotUse::WRITE) a.op("LOAD_FAST", in.a), ++results;
    if (slot == SlotUse::CELL) a.op("LOAD_CLOSURE", in.a), ++results;
    if (jumped) push_constant(py::bool_(*jumped)), ++results;
    a.op("BUILD_TUPLE", results);
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
    a.op(name.c_str(), through.units());
    a.bytes += through.bytes;
    if (k312 && in.op == Op::FOR_ITER) a.op("END_FOR");
    leave(use.jump_pushes, true);
  } else if (in.op == Op::RERAISE) {
    a.op("RERAISE", 0);  // with more, it would give the frame the place of another instruction
  } else {
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
  const int stack = std::max({use.pops, use.pushes, use.jump_pushes}) + 4;
  return code_like(info, a, consts, stack, lines, "");
}

StepResults step_results(const Instr& in, py::object returned) {
  StepResults r;
  Py_ssize_t n = PyTuple_GET_SIZE(returned.ptr());
  if (flow(in) == Flow::BRANCH) r.jumped = PyTuple_GET_ITEM(returned.ptr(), --n) == Py_True;
  for (Py_ssize_t k = 0; k < n; ++k)  // may be NULL
    r.values.push_back(py::reinterpret_borrow<py::object>(PyTuple_GET_ITEM(returned.ptr(), k)));
  return r;
}

}  // namespace pijit
