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
  const py::object c = py::getattr(m, "_inline_cache_entries", py::list());
  if (!py::isinstance<py::list>(c)) {  // by name, from 3.13 on
    for (auto [n, entries] : py::dict(c))
      if (auto it = number.find(text_of(n)); it != number.end())
        caches[it->second] = py::cast<int>(entries);
  } else {
    const auto list = py::cast<py::list>(c);
    for (size_t i = 0; i < list.size() && i < 256; ++i) caches[i] = py::cast<int>(list[i]);
  }
  for (auto n : py::cast<py::list>(m.attr("hasjrel"))) {
    jumps.insert(py::cast<int>(n));
    relative.insert(py::cast<int>(n));
  }
  for (auto n : py::cast<py::list>(m.attr("hasjabs"))) jumps.insert(py::cast<int>(n));
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
  return py::cast<std::string>(py::bytes(py::handle(code).attr("co_code")));
}

Instr instr_of(const Raw& raw, int offset, int line, Op op, int a, PyObject* obj) {
  Instr i;
  i.op = op;
  i.a = a;
  i.obj = obj;
  i.offset = offset < 0 ? raw.start : offset;
  i.at = raw.at;
  i.next = raw.next;
  i.line = line;
  return i;
}

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

#if PY_VERSION_HEX >= 0x030B0000
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

// Of CALL_INTRINSIC_1.
constexpr int kUnaryPositive = 5, kListToTuple = 6;

// Those that CPython keeps for good.
PyObject* small_int(int n) {
  PyObject* o = PyLong_FromLong(n);
  Py_XDECREF(o);
  return o;
}

class Decoder {
 public:
  Decoder(PyObject* code, CodeInfo* out)
      : raw_(raw_instructions(code)),
        code_(py::reinterpret_borrow<py::object>(code)),
        consts_(code_.attr("co_consts")),
        names_(code_.attr("co_names")),
        out_(out),
        line_(py::cast<int>(code_.attr("co_firstlineno"))),
        lines_(py::iter(code_.attr("co_lines")())) {}

  void run() {
    name_slots();
    for (at_ = 0; at_ < raw_.size(); ++at_) {
      const int instr = static_cast<int>(out_->instrs.size());
      first_[raw().start] = first_[raw().at] = instr;
      find_line();
      decode();
    }
    for (auto& j : jumps_) {
      auto it = first_.find(j.unit);
      PIJIT_CHECK(it != first_.end(), "jump into the middle of an instruction");
      out_->instrs[j.instr].target = it->second;
    }
  }

 private:
  const Raw& raw() const { return raw_[at_]; }
  const Row* next_row() const { return at_ + 1 < raw_.size() ? row_of(raw_[at_ + 1].op) : nullptr; }
  PyObject* name(int i) const { return PyTuple_GET_ITEM(names_.ptr(), i); }
  PyObject* constant(int i) const { return PyTuple_GET_ITEM(consts_.ptr(), i); }

  void name_slots() {
    auto& slots = out_->slot_names;
    for (auto n : py::cast<py::tuple>(code_.attr("co_varnames"))) slots.push_back(text_of(n));
    const size_t locals = slots.size();
    for (auto n : py::cast<py::tuple>(code_.attr("co_cellvars"))) {
      const auto s = text_of(n);
      const auto end = slots.begin() + static_cast<std::ptrdiff_t>(locals);
      if (std::find(slots.begin(), end, s) == end) slots.push_back(s);
    }
    for (auto n : py::cast<py::tuple>(code_.attr("co_freevars"))) slots.push_back(text_of(n));
    out_->num_slots = static_cast<int>(slots.size());
  }

  void find_line() {  // the iterator gives a begin, an end and a line
    const auto none = py::iterator::sentinel();
    const int at = raw().at * 2;
    for (; lines_end_ <= at && lines_ != none; ++lines_) {
      lines_end_ = py::cast<int>((*lines_)[py::int_(1)]);
      const py::object own = (*lines_)[py::int_(2)];
      // what the compiler adds belongs to no line
      if (lines_end_ > at && !own.is_none() && py::cast<int>(own) > 0) line_ = py::cast<int>(own);
    }
  }

  Instr& emit(Op op, int a = 0, PyObject* obj = nullptr) {
    Instr& i = out_->instrs.emplace_back(
        instr_of(raw(), std::exchange(prefix_at_, -1), line_, op, a, obj));
    i.truth_first = std::exchange(truth_first_, false);
    return i;
  }
  void jump(Op op, int unit, int a) {
    emit(op, a);
    jumps_.push_back({out_->instrs.size() - 1, unit});
  }
  void unknown() {
    const int op = raw().op, arg = op >= opcodes().have_argument ? raw().arg : 0;
    PyObject* text = PyUnicode_InternFromString(opcodes().name[op].c_str());  // kept: few
    const int effect = PyCompile_OpcodeStackEffectWithJump(op, arg, -1);
    const bool known = !opcodes().jumps.count(op) && effect != PY_INVALID_STACK_EFFECT;
    emit(Op::UNSUPPORTED, op, text).b = known ? effect : kUnknownEffect;
  }

  // Does the next instruction take the truth of the top, and nothing else?
  bool truth_is_taken() const {
    const Row* row = next_row();
    return row && ((row->op == Op::POP_JUMP && row->a < 2) ||
                   (row->op == Op::UNARY && row->a == static_cast<int>(UnaryOp::kNot)));
  }

  void decode() {
    const Row* row = row_of(raw().op);
    if (!row) return unknown();
    const Op op = row->op;
    const int arg = raw().arg;
    switch (row->arg) {
      case Arg::kNone: emit(op).b = row->b; break;
      case Arg::kFixed:
        emit(op, row->a, op == Op::LOAD_CONST ? PyExc_AssertionError : nullptr);
        break;
      case Arg::kCount: emit(op, arg); break;
      case Arg::kTwoSlots:
        emit(op, arg >> 4).part = Part::kFirst;
        emit(row->second, arg & 15).part = Part::kSecond;
        break;
      case Arg::kConst: emit(op, 0, constant(arg)); break;
      case Arg::kSmallInt: emit(op, 0, small_int(arg)); break;
      case Arg::kCommon: emit(op, 0, opcodes().common[static_cast<size_t>(arg)]); break;
      case Arg::kName: emit(op, 0, name(arg)); break;
      case Arg::kImport:
        if (dialect.import_shift > 0 && arg & 1) return unknown();
        emit(op, 0, name(arg >> dialect.import_shift));
        break;
      case Arg::kNullName: emit(op, arg & 1, name(arg >> 1)); break;
      case Arg::kMethodName: emit(arg & 1 ? Op::LOAD_METHOD : op, 0, name(arg >> 1)); break;
      case Arg::kSuperName: emit(op, arg & 1, name(arg >> 2)); break;
      case Arg::kLowBit: emit(op, arg & 1); break;
      case Arg::kBinary: binary(op, arg); break;
      case Arg::kCompare: compare(op, arg); break;
      case Arg::kTruth:
        if (!truth_is_taken()) return unknown();
        prefix_at_ = raw().start;
        break;
      case Arg::kForward:
        // an exhausted loop continues behind what ends it
        jump(op, raw().next + arg + (op == Op::FOR_ITER ? dialect.loop_end : 0), row->a);
        out_->instrs.back().b = row->b;
        break;
      case Arg::kIter:
        emit(raw().op >= opcodes().have_argument && arg != 0 ? row->second : op).b = row->b;
        break;
      case Arg::kBackward: jump(op, raw().next - arg, row->a); break;
      case Arg::kReturnConst:
        emit(Op::LOAD_CONST, 0, constant(arg));
        emit(op);
        break;
      case Arg::kKeywords: keywords_ = constant(arg); [[fallthrough]];
      case Arg::kOfCall:
        if (call_at_ < 0) call_at_ = raw().start;
        emit(op).offset = call_at_;  // who goes on there names the arguments, too
        break;
      case Arg::kCall: call(op, arg); break;
      case Arg::kFunction: function(op, arg); break;
      case Arg::kConvert: convert(op, arg); break;
      case Arg::kFormat: emit(op, std::exchange(conversion_, 0)); break;
      case Arg::kIntrinsic:
        if (arg == kListToTuple)
          emit(Op::LIST_TO_TUPLE);
        else if (arg == kUnaryPositive)
          emit(Op::UNARY, static_cast<int>(UnaryOp::kPos));
        else
          unknown();
        break;
      default: unknown();  // of older versions
    }
  }

  void binary(Op op, int arg) {
    constexpr int kOperators = 13, kItem = 26;
    if (arg == kItem)
      emit(Op::BINARY_SUBSCR);
    else
      emit(op, arg % kOperators).b = arg >= kOperators;
  }
  void compare(Op op, int arg) {
    const bool truth = (arg & dialect.truth_bit) != 0;
    if (truth && !truth_is_taken()) return unknown();
    emit(op, arg >> dialect.compare_shift);
    truth_first_ = truth;
  }
  void call(Op op, int arg) {
    Instr& i = emit(op, arg, std::exchange(keywords_, nullptr));
    if (call_at_ >= 0) i.offset = std::exchange(call_at_, -1);
  }
  void function(Op op, int attributes) {  // up to 3.12 the argument tells all; it is 0 later
    Instr& i = emit(op);
    while (at_ + 1 < raw_.size() && opcodes().name[raw_[at_ + 1].op] == "SET_FUNCTION_ATTRIBUTE")
      attributes |= raw_[++at_].arg;
    i.a = attributes;
    i.next = raw().next;
  }
  void convert(Op op, int arg) {
    const Row* next = next_row();
    if (next && next->arg == Arg::kFormat) {
      prefix_at_ = raw().start;
      conversion_ = arg;
    } else {
      emit(op, arg);
    }
  }

  struct Jump {
    size_t instr;
    int unit;
  };
  const std::vector<Raw> raw_;
  const py::object code_;
  const py::tuple consts_, names_;
  CodeInfo* out_;
  size_t at_ = 0;  // in raw_
  int line_;
  py::iterator lines_;
  int lines_end_ = 0;                    // of what is known of them
  absl::flat_hash_map<int, int> first_;  // unit -> our instruction
  std::vector<Jump> jumps_;
  // Of what belongs to the next instruction, where ours are one and CPython's several:
  int prefix_at_ = -1;            // where it begins
  int conversion_ = 0;            // of a text
  bool truth_first_ = false;      // it finds a bool where ours has a value
  PyObject* keywords_ = nullptr;  // of a call
  int call_at_ = -1;              // where the call begins
};

}  // namespace

void decode_code(PyObject* code, CodeInfo* out) {
  Decoder(code, out).run();
  std::vector<int> up_to;  // the greatest offset; what belongs to a call begins earlier than it
  for (auto& i : out->instrs)
    up_to.push_back(up_to.empty() ? i.offset : std::max(up_to.back(), i.offset));
  auto at = [&](int unit) {  // the first instruction from there on
    return static_cast<int>(std::lower_bound(up_to.begin(), up_to.end(), unit) - up_to.begin());
  };
  for (auto& h : exception_table(code)) {
    const Handler ours{at(h.begin), at(h.end), at(h.target), h.depth, h.lasti};
    // From 3.12 on, handlers turn a StopIteration that leaves a generator into a RuntimeError, and
    // end `yield from` where an exception is thrown in. Who follows a generator does both himself.
    const Instr& first = out->instrs[static_cast<size_t>(ours.target)];
    const bool own = first.op == Op::UNSUPPORTED && (text_of(first.obj) == "CALL_INTRINSIC_1" ||
                                                     text_of(first.obj) == "CLEANUP_THROW");
    if (!out->generator || !own) out->handlers.push_back(ours);
  }
}
#endif

}  // namespace pijit
