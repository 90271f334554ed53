// CPython's bytes to our instructions, for 3.9 and 3.10: jumps to places, cells that are there when
// a frame begins, exceptions of three values, and handlers that are blocks. As later versions do it
// in the code, ours make the cells, put an exception in the place of the one handled before, and
// where another leaves a handler, handle the one before again: these instructions are added.
// Sources: Lib/opcode.py, Python/ceval.c and mark_stacks() in Objects/frameobject.c.
#include <algorithm>
#include <map>
#include <optional>

#include "base/error.h"
#include "base/operators.h"
#include "python/dialect.h"
#include "python/names.h"

#if PY_VERSION_HEX < 0x030B0000

namespace pijit {
namespace {

constexpr bool kBytes = PY_VERSION_HEX < 0x030A0000;  // jumps count bytes, not units
constexpr const char* kHandled = "TECtec";

// How many entries of ours there are among the first n.
int num_ours(const std::string& entries, size_t n) {
  return static_cast<int>(
      std::count_if(entries.begin(), entries.begin() + static_cast<std::ptrdiff_t>(n),
                    [](char e) { return e == 'v' || e == 'l' || e == 'e' || e == 'E'; }));
}

class Decoder {
 public:
  Decoder(PyObject* code, CodeInfo* out)
      : raw_(raw_instructions(code)),
        code_(py::reinterpret_borrow<py::object>(code)),
        consts_(code_.attr("co_consts")),
        names_(code_.attr("co_names")),
        out_(out) {}

  void run() {
    name_slots();
    find_lines();
    for (size_t i = 0; i < raw_.size(); ++i) index_[raw_[i].start] = index_[raw_[i].at] = i;
    before_.resize(raw_.size());
    flow_through();
    begin();
    for (at_ = 0; at_ < raw_.size(); ++at_) {
      if (const auto h = handlers_.find(raw().start); h != handlers_.end()) {
        h->second.instr = num_instrs();
        add(Op::PUSH_EXC_INFO, raw().start);
      }
      first_[raw().start] = first_[raw().at] = num_instrs();
      line_ = line_at(raw().at);
      decode();
    }
    for (auto& [instr, unit] : jumps_) {
      PIJIT_CHECK(first_.contains(unit), "jump into the middle of an instruction");
      out_->instrs[instr].target = first_[unit];
    }
    find_handlers();
    keep_layouts();
  }

 private:
  const Raw& raw() const { return raw_[at_]; }
  int num_instrs() const { return static_cast<int>(out_->instrs.size()); }
  const std::string& entries() const { return before_[at_]->entries; }
  bool has_top(char kind) const { return entries().ends_with(kind); }
  std::string name_of(const Raw& r) const { return opcodes().name[r.op]; }
  static int units(int arg) { return kBytes ? arg / 2 : arg; }

  void name_slots() {
    auto& slots = out_->slot_names;
    for (auto n : py::cast<py::tuple>(code_.attr("co_varnames"))) slots.push_back(text_of(n));
    const auto locals = static_cast<std::ptrdiff_t>(slots.size());
    for (auto n : py::cast<py::tuple>(code_.attr("co_cellvars"))) {
      const auto s = text_of(n);
      const auto end = slots.begin() + locals;
      const auto it = std::find(slots.begin(), end, s);  // an argument
      cells_.push_back(static_cast<int>(it == end ? slots.size() : it - slots.begin()));
      if (it == end) slots.push_back(s);
    }
    num_cells_ = cells_.size();
    for (auto n : py::cast<py::tuple>(code_.attr("co_freevars"))) {
      cells_.push_back(static_cast<int>(slots.size()));
      slots.push_back(text_of(n));
    }
    out_->num_slots = static_cast<int>(slots.size());
  }

  void find_lines() {
    constexpr int kNoLine = -128;
    line_ = py::cast<int>(code_.attr("co_firstlineno"));
    const auto table = py::cast<std::string>(code_.attr(kBytes ? "co_lnotab" : "co_linetable"));
    int at = 0, line = line_;
    for (size_t k = 0; k + 1 < table.size(); k += 2) {
      const int bytes = static_cast<uint8_t>(table[k]), more = static_cast<int8_t>(table[k + 1]);
      if (kBytes) at += bytes;
      if (kBytes || more != kNoLine) line += more;
      if (kBytes || (more != kNoLine && bytes > 0)) lines_[at / 2] = line;
      if (!kBytes) at += bytes;
    }
  }
  int line_at(int unit) const {
    const auto next = lines_.upper_bound(unit);
    return next == lines_.begin() ? line_ : std::prev(next)->second;
  }

  // A handler that only tidies up, and raises again.
  bool tidies_up(size_t i) const {
    auto is = [&](size_t k, const char* begin) {
      return i + k < raw_.size() && name_of(raw_[i + k]).rfind(begin, 0) == 0;
    };
    return is(0, "LOAD_CONST") && is(1, "STORE_") && is(2, "DELETE_") && is(3, "RERAISE");
  }

  void flow_through() {
    StackLayout first;
    // what the first send() gave
    if (out_->generator && opcodes().has("GEN_START")) first.entries = "v";
    std::vector<std::pair<size_t, StackLayout>> todo{{0, first}};
    while (!todo.empty()) {
      auto [i, now] = std::move(todo.back());
      todo.pop_back();
      while (i < raw_.size() && !before_[i]) {
        before_[i] = now;
        auto jump = [&](int unit, StackLayout to) {
          PIJIT_CHECK(index_.contains(unit), "jump into the middle of an instruction");
          todo.emplace_back(index_[unit], std::move(to));
        };
        if (!pass(raw_[i], &now, jump)) break;
        ++i;
      }
    }
  }

  // What an instruction makes of a layout; false: nothing follows it.
  template <class Jump>
  bool pass(const Raw& r, StackLayout* now, const Jump& jump) {
    const std::string name = name_of(r);
    std::string& entries = now->entries;
    const bool relative = opcodes().relative.contains(r.op);
    const int target = (relative ? r.next : 0) + units(r.arg);
    auto drop = [&](size_t n) { entries.resize(entries.size() - std::min(n, entries.size())); };
    auto change = [&](int by) {
      by < 0 ? drop(static_cast<size_t>(-by)) : void(entries.append(static_cast<size_t>(by), 'v'));
    };
    auto effect = [&](int jumps) {
      return PyCompile_OpcodeStackEffectWithJump(r.op, r.op >= opcodes().have_argument ? r.arg : 0,
                                                 jumps);
    };
    if (name == "SETUP_FINALLY" || name == "SETUP_WITH" || name == "SETUP_ASYNC_WITH") {
      if (name == "SETUP_ASYNC_WITH") drop(1);
      StackLayout handler = *now;
      const auto level = static_cast<int>(entries.size());
      PIJIT_CHECK(index_.contains(target), "a handler in the middle of an instruction");
      Handling& h = handlers_[target];
      h.depth = num_ours(entries, entries.size());
      h.lasti = tidies_up(index_[target]);
      handler.entries += h.lasti ? "l" : "";
      handler.blocks.push_back({-1, static_cast<int>(handler.entries.size())});
      handler.entries += kHandled;
      jump(target, std::move(handler));
      now->blocks.push_back({target, level});
      if (name != "SETUP_FINALLY") entries += 'v';
    } else if (name == "POP_BLOCK" || name == "POP_EXCEPT") {
      if (!now->blocks.empty()) now->blocks.pop_back();
      if (name == "POP_EXCEPT") drop(3);
    } else if (name.rfind("ROT_", 0) == 0) {
      const size_t n = rotated(r);
      if (entries.size() >= n && n > 0)
        std::rotate(entries.end() - static_cast<std::ptrdiff_t>(n), entries.end() - 1,
                    entries.end());
    } else if (name == "DUP_TOP") {
      entries += entries.ends_with('c') ? 'd' : 'v';
    } else if (opcodes().jumps.contains(r.op)) {
      StackLayout taken = *now;
      std::swap(entries, taken.entries);
      change(effect(1));
      std::swap(entries, taken.entries);
      jump(target, std::move(taken));
      if (name == "JUMP_FORWARD" || name == "JUMP_ABSOLUTE") return false;
      change(effect(0));
    } else {
      if (name == "RETURN_VALUE" || name == "RERAISE" || name == "RAISE_VARARGS") return false;
      change(effect(0));
    }
    return true;
  }
  size_t rotated(const Raw& r) const {
    const Row* row = row_of(r.op);
    return static_cast<size_t>(row && row->a > 0 ? row->a : r.arg);
  }

  Instr& emit(Op op, int a = 0, PyObject* obj = nullptr) {
    Instr& i = out_->instrs.emplace_back(
        instr_of(raw(), std::exchange(prefix_at_, -1), line_, op, a, obj));
    const auto& before = before_[index_.at(i.offset)];
    layouts_.push_back(before ? &*before : nullptr);
    return i;
  }
  Instr& emit(Part part, Op op, int a = 0, PyObject* obj = nullptr) {
    Instr& i = emit(op, a, obj);
    i.part = part;
    return i;
  }
  void add(Op op, int unit, int a = 0) {
    Instr i;
    i.op = op;
    i.a = a;
    i.offset = i.at = i.next = unit;
    i.line = line_at(unit);
    i.part = Part::kAdded;
    out_->instrs.push_back(i);
    layouts_.push_back(nullptr);
  }
  Instr& jump(Op op, int unit, int a) {
    Instr& i = emit(op, a);
    jumps_.emplace_back(out_->instrs.size() - 1, unit);
    return i;
  }
  void unknown() {
    const int op = raw().op, arg = op >= opcodes().have_argument ? raw().arg : 0;
    PyObject* text = PyUnicode_InternFromString(opcodes().name[op].c_str());  // kept: few
    const int effect = PyCompile_OpcodeStackEffectWithJump(op, arg, 0);
    const bool ours = entries().find_first_not_of('v') == std::string::npos;
    const bool known = !opcodes().jumps.contains(op) && effect != PY_INVALID_STACK_EFFECT && ours;
    emit(Op::UNSUPPORTED, op, text).b = known ? effect : kUnknownEffect;
  }

  // What later versions' code begins with.
  void begin() {
    for (size_t k = 0; k < num_cells_; ++k) add(Op::MAKE_CELL, 0, cells_[k]);
    if (cells_.size() > num_cells_)
      add(Op::COPY_FREE_VARS, 0, static_cast<int>(cells_.size() - num_cells_));
    if (!out_->generator) return;
    add(Op::RETURN_GENERATOR, 0);
    if (!opcodes().has("GEN_START")) add(Op::POP_TOP, 0);
  }

  void decode() {
    if (!before_[at_]) return void(emit(Op::NOP));  // never reached
    const Row* row = row_of(raw().op);
    if (!row) return unknown();
    const Op op = row->op;
    const int arg = raw().arg;
    switch (row->arg) {
      case Arg::kNone:
      case Arg::kIter:
      case Arg::kSetUp:
      case Arg::kPopBlock: emit(op).b = row->b; break;
      case Arg::kFixed:
        emit(op, row->a, op == Op::LOAD_CONST ? PyExc_AssertionError : nullptr).b = row->b;
        break;
      case Arg::kCount:
      case Arg::kCompare: emit(op, arg); break;
      case Arg::kConst: emit(op, 0, PyTuple_GET_ITEM(consts_.ptr(), arg)); break;
      case Arg::kName:
      case Arg::kImport: emit(op, 0, PyTuple_GET_ITEM(names_.ptr(), arg)); break;
      case Arg::kLowBit: emit(op, arg & 1).b = row->b; break;
      case Arg::kForward: jump(op, raw().next + units(arg), row->a).b = row->b; break;
      case Arg::kAbsolute: jump(op, units(arg), row->a).b = row->b; break;
      case Arg::kCell: emit(op, cells_[static_cast<size_t>(arg)]); break;
      case Arg::kCalled: emit(op, arg).b = row->b; break;
      case Arg::kRotate: rotate(rotated(raw())); break;
      case Arg::kCopies:
        if (has_top('c') && row->a == 1)
          prefix_at_ = raw().start;  // its class alone; of what follows
        else
          for (int k = 0; k < row->a; ++k) emit(k == 0 ? Part::kFirst : Part::kSecond, op, row->a);
        break;
      case Arg::kPop: emit(has_top('c') || has_top('t') ? Op::NOP : op); break;
      case Arg::kMatches:
        emit(Part::kFirst, op);
        jump(Op::POP_JUMP, units(arg), 0).part = Part::kSecond;
        break;
      case Arg::kMatch:
        emit(Part::kFirst, op, arg);
        emit(Part::kSecond, Op::COPY, 1);
        emit(Part::kSecond, Op::LOAD_CONST, 0, Py_None);
        emit(Part::kSecond, Op::IS_OP, 1);
        break;
      case Arg::kYieldFrom: {
        const int begin = num_instrs();
        jump(op, raw().next, 0).part = Part::kFirst;
        emit(Part::kSecond, Op::YIELD_VALUE);
        emit(Part::kSecond, Op::JUMP).target = begin;
        break;
      }
      default: unknown();
    }
  }

  void rotate(size_t n) {
    const size_t size = entries().size();
    if (n == 0 || size < n || !(has_top('v') || has_top('e'))) return unknown();
    const int below = num_ours(entries(), size - 1) - num_ours(entries(), size - n);
    if (below == 0) return void(emit(Op::NOP));
    for (int k = below + 1; k > 1; --k)
      emit(k == below + 1 ? Part::kFirst : Part::kSecond, Op::SWAP, k);
  }

  // The handler of what a block is around; a null handler: none is.
  std::optional<Handler> handler_of(const std::vector<FrameBlock>& blocks,
                                    const std::string& entries) {
    if (blocks.empty()) return std::nullopt;
    const FrameBlock& top = blocks.back();
    if (top.handler >= 0) {
      const Handling& h = handlers_.at(top.handler);
      return Handler{0, 0, h.instr, h.depth, h.lasti};
    }
    // Where an exception leaves a handler, the one before is handled again.
    const int depth = num_ours(entries, static_cast<size_t>(top.level)) + 1;
    std::vector<int> key;
    for (auto& b : blocks) key.insert(key.end(), {b.handler, b.level});
    const auto [it, fresh] = leavings_.try_emplace(key, num_instrs());
    if (fresh) {
      const int unit = raw_.back().next;
      add(Op::COPY, unit, 3);
      add(Op::POP_EXCEPT, unit);
      add(Op::RERAISE, unit);
      auto outer = blocks;
      outer.pop_back();
      if (auto h = handler_of(outer, entries)) {
        h->begin = it->second;
        h->end = it->second + 3;
        outer_.push_back(*h);
      }
    }
    return Handler{0, 0, leavings_.at(key), depth, true};
  }

  void find_handlers() {
    auto& all = out_->handlers;
    const int n = num_instrs();
    for (int k = 0; k < n; ++k) {
      const StackLayout* l = layouts_[static_cast<size_t>(k)];
      auto h = l ? handler_of(l->blocks, l->entries) : std::nullopt;
      if (!h) continue;
      h->begin = k;
      h->end = k + 1;
      if (!all.empty() && all.back().end == k && all.back().target == h->target &&
          all.back().depth == h->depth)
        all.back().end = k + 1;
      else
        all.push_back(*h);
    }
    all.insert(all.end(), outer_.begin(), outer_.end());
    std::sort(all.begin(), all.end(), [](auto& a, auto& b) { return a.begin < b.begin; });
  }

  // Code without handlers has none: all its entries are ours.
  void keep_layouts() {
    if (handlers_.empty()) return;
    std::map<std::vector<int>, int> known;
    out_->layout_of.assign(out_->instrs.size(), -1);
    for (size_t k = 0; k < layouts_.size(); ++k) {
      const StackLayout* l = layouts_[k];
      if (!l || (l->blocks.empty() && l->entries.find_first_not_of('v') == std::string::npos))
        continue;
      std::vector<int> key(l->entries.begin(), l->entries.end());
      for (auto& b : l->blocks) key.insert(key.end(), {-1, b.handler, b.level});
      const auto [it, fresh] = known.try_emplace(key, static_cast<int>(out_->layouts.size()));
      if (fresh) out_->layouts.push_back(*l);
      out_->layout_of[k] = it->second;
    }
  }

  struct Handling {
    int instr = -1, depth = 0;
    bool lasti = false;
  };
  const std::vector<Raw> raw_;
  const py::object code_;
  const py::tuple consts_, names_;
  CodeInfo* out_;
  size_t at_ = 0;  // in raw_
  int line_ = 0;
  int prefix_at_ = -1;  // where what belongs to the next instruction begins
  size_t num_cells_ = 0;
  std::vector<int> cells_;            // slots of cells, then of free variables
  std::map<int, int> lines_;          // by the units that they begin at
  std::map<int, size_t> index_;       // unit -> in raw_
  std::map<int, int> first_;          // unit -> our instruction
  std::map<int, Handling> handlers_;  // by their units
  std::map<std::vector<int>, int> leavings_;
  std::vector<Handler> outer_;                      // of these
  std::vector<std::optional<StackLayout>> before_;  // by raw_; none: never reached
  std::vector<const StackLayout*> layouts_;         // by our instructions
  std::vector<std::pair<size_t, int>> jumps_;       // by our instructions, to units
};

}  // namespace

void decode_code(PyObject* code, CodeInfo* out) { Decoder(code, out).run(); }

}  // namespace pijit

#endif
