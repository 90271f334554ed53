// CPython's bytes to our instructions. From 3.11 on versions share inline caches, relative jumps
// and exception tables; what differs is in the version's dialect. Sources: Lib/opcode.py,
// Include/internal/pycore_opcode.h and Objects/exception_handling_notes.txt of each version.
#include <algorithm>
#include <cstring>
#include <optional>

#include "base/error.h"
#include "base/operators.h"
#include "python/dialect.h"
#include "python/names.h"

namespace pijit {

Opcodes::Opcodes() {
  py::object m = python_module("opcode");
  for (auto item : py::cast<py::dict>(m.attr("opmap"))) {
    const int n = py::cast<int>(item.second);
    if (n > 255) continue;
    number[text_of(item.first)] = n;
    name[n] = text_of(item.first);
  }
  const py::object c = m.attr("_inline_cache_entries");
  if (py::isinstance<py::dict>(c)) {  // by name, from 3.13 on
    for (auto [n, entries] : py::cast<py::dict>(c))
      if (auto it = number.find(text_of(n)); it != number.end())
        caches[it->second] = py::cast<int>(entries);
  } else {
    const auto list = py::cast<py::list>(c);
    for (size_t i = 0; i < list.size() && i < 256; ++i) caches[i] = py::cast<int>(list[i]);
  }
  for (auto n : py::cast<py::list>(m.attr("hasjrel"))) jumps.insert(py::cast<int>(n));
  have_argument = py::cast<int>(python_module("dis").attr("HAVE_ARGUMENT"));
  if (py::hasattr(m, "_common_constants"))
    for (auto o : py::cast<py::list>(m.attr("_common_constants")))
      common.push_back(o.inc_ref().ptr());  // for good
}
int Opcodes::operator[](const char* n) const {
  auto it = number.find(n);
  if (it == number.end()) throw InternalError(str_cat("this CPython has no opcode ", n));
  return it->second;
}
namespace {
constinit OnDemand<Opcodes> known_opcodes;
}
const Opcodes& opcodes() {
  return known_opcodes.get([] { return Opcodes(); });
}

std::string code_bytes(PyObject* code) {
  py::object b =
      py::reinterpret_steal<py::object>(PyCode_GetCode(reinterpret_cast<PyCodeObject*>(code)));
  return py::cast<std::string>(py::bytes(b));
}

namespace {

// Of CALL_INTRINSIC_1.
constexpr int kUnaryPositive = 5, kListToTuple = 6;

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

// Those that CPython keeps for good.
PyObject* small_int(int n) {
  PyObject* o = PyLong_FromLong(n);
  Py_XDECREF(o);
  return o;
}

constexpr int op_number(UnaryOp op) { return static_cast<int>(op); }

// What all versions have that have it at all.
const Row kRows[] = {
    {"NOP", Op::NOP},
    {"RESUME", Op::NOP},
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
    {"END_SEND", Op::END_SEND},
    {"JUMP_FORWARD", Op::JUMP, Arg::kForward},
    {"JUMP_BACKWARD", Op::JUMP, Arg::kBackward},
    {"JUMP_BACKWARD_NO_INTERRUPT", Op::JUMP, Arg::kBackward},
    {"POP_JUMP_IF_FALSE", Op::POP_JUMP, Arg::kForward, 0},
    {"POP_JUMP_IF_TRUE", Op::POP_JUMP, Arg::kForward, 1},
    {"POP_JUMP_IF_NONE", Op::POP_JUMP, Arg::kForward, 2},
    {"POP_JUMP_IF_NOT_NONE", Op::POP_JUMP, Arg::kForward, 3},
    {"GET_ITER", Op::GET_ITER},
    {"FOR_ITER", Op::FOR_ITER, Arg::kForward},
    {"CALL", Op::CALL, Arg::kCall},
    {"CALL_FUNCTION_EX", Op::CALL_EX, Arg::kLowBit},
};

// By the numbers of the running interpreter; null: an instruction that is executed, but not known.
constinit OnDemand<std::vector<const Row*>> known_rows;
const Row* row_of(int opcode) {
  return known_rows.get([] {
    std::vector<const Row*> all(256);
    for (auto rows : {std::span<const Row>(kRows), dialect.rows})
      for (auto& r : rows)
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
  auto row_at = [&](size_t k) { return k < raw.size() ? row_of(raw[k].op) : nullptr; };
  // Does the instruction there take the truth of the top, and nothing else?
  auto takes_truth = [&](size_t k) {
    const Row* row = row_at(k);
    return row && ((row->op == Op::POP_JUMP && row->a < 2) ||
                   (row->op == Op::UNARY && row->a == op_number(UnaryOp::kNot)));
  };
  int prefix_at = -1, conversion = 0;  // of what belongs to the next instruction
  bool truth_first = false;            // the next instruction finds a bool where ours has a value
  for (size_t k = 0; k < raw.size(); ++k) {
    const Raw& r = raw[k];
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
      i.offset = prefix_at >= 0 ? prefix_at : r.start;
      i.at = r.at;
      i.next = r.next;
      i.line = line;
      i.truth_first = truth_first;
      out->instrs.push_back(i);
      prefix_at = -1;
      truth_first = false;
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
      const int effect = PyCompile_OpcodeStackEffectWithJump(
          r.op, r.op >= opcodes().have_argument ? r.arg : 0, -1);
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
      case Arg::kTwoSlots:
        emit(row->op, r.arg >> 4);
        out->instrs.back().part = Part::kFirst;
        emit(row->second, r.arg & 15);
        out->instrs.back().part = Part::kSecond;
        break;
      case Arg::kConst: emit(row->op, 0, constant(r.arg)); break;
      case Arg::kSmallInt: emit(row->op, 0, small_int(r.arg)); break;
      case Arg::kCommon: emit(row->op, 0, opcodes().common[static_cast<size_t>(r.arg)]); break;
      case Arg::kName: emit(row->op, 0, name(r.arg)); break;
      case Arg::kNullName: emit(row->op, r.arg & 1, name(r.arg >> 1)); break;
      case Arg::kMethodName:
        emit(r.arg & 1 ? Op::LOAD_METHOD : row->op, 0, name(r.arg >> 1));
        break;
      case Arg::kSuperName: emit(row->op, r.arg & 1, name(r.arg >> 2)); break;
      case Arg::kLowBit: emit(row->op, r.arg & 1); break;
      case Arg::kBinary: {
        constexpr int kOperators = 13, kItem = 26;
        if (r.arg == kItem) {
          emit(Op::BINARY_SUBSCR);
          break;
        }
        emit(row->op, r.arg % kOperators);
        out->instrs.back().b = r.arg >= kOperators;
        break;
      }
      case Arg::kCompare: {
        const bool truth = (r.arg & dialect.truth_bit) != 0;
        if (truth && !takes_truth(k + 1)) {
          unknown();
          break;
        }
        emit(row->op, r.arg >> dialect.compare_shift);
        truth_first = truth;
        break;
      }
      case Arg::kTruth:
        if (takes_truth(k + 1))
          prefix_at = r.start;
        else
          unknown();
        break;
      case Arg::kForward:
        // an exhausted loop continues behind what ends it, with the iterator popped
        jump(row->op, r.next + r.arg + (row->op == Op::FOR_ITER ? dialect.loop_end : 0), row->a);
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
      case Arg::kFunction: {
        int attributes = 0;
        const int set = opcodes()["SET_FUNCTION_ATTRIBUTE"];
        while (k + 1 < raw.size() && raw[k + 1].op == set) attributes |= raw[++k].arg;
        emit(row->op, attributes);
        out->instrs.back().next = raw[k].next;
        break;
      }
      case Arg::kConvert:
        if (const Row* then = row_at(k + 1); then && then->arg == Arg::kFormat) {
          prefix_at = r.start;
          conversion = r.arg;
        } else {
          emit(row->op, r.arg);
        }
        break;
      case Arg::kFormat: emit(row->op, std::exchange(conversion, 0)); break;
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

}  // namespace pijit
