// What a region's code is: instructions of bytecode, followed for the types that variables have.
#include <algorithm>
#include <climits>
#include <cmath>
#include <map>

#include "base/config.h"
#include "base/error.h"
#include "base/operators.h"
#include "capture/region_frames.h"
#include "entry/entry.h"
#include "objects/data.h"
#include "python/quiet_lookup.h"
#include "python/hook.h"
#include "python/names.h"
#include "python/quirks.h"

namespace pijit {

namespace {

using region::kNoExit;
using region::kNoValue;
using region::Op;
using region::Type;
using In = region::Instr;
using BOp = pijit::Op;  // of bytecode
using BIn = pijit::Instr;
using K = RegionKind;

constexpr size_t kMostVersions = 6;    // of one instruction, by the types of variables
constexpr size_t kMostBlocks = 400;    // of a region
constexpr size_t kMostInstrs = 3000;   // of its code
constexpr int64_t kLargestPower = 64;  // exponents that are multiplied out

// What a variable or a stack entry is, as far as it is known: some values of the region's code, or
// an object that is there.
struct Av {
  using enum RegionKind;
  RegionKind kind = kNull;
  std::array<int, 3> v{kNoValue, kNoValue, kNoValue};  // values
  // Of a source, or a free variable; of kRange and kRangeIter, the step; of a number, whether it is
  // a scalar of NumPy: np.int64, np.float64 or np.bool_.
  int index = 0;
  PyObject* object = nullptr;
  std::vector<Av> items;

  int values() const {
    switch (kind) {
      case kInt:
      case kFloat:
      case kBool:
      case kRow:
      case kArrayIter: return 1;
      case kRange:
      case kCounter:
      case kRangeIter:
      case kTagged: return 2;
      default: return 0;
    }
  }
  Type type(int k) const {
    return kind == kFloat ? Type::kF64 : kind == kBool ? Type::kB1 : Type::kI64;
  }
  bool of_numpy() const { return is_number() && index != 0; }
  bool is_numpy_bool() const { return kind == kBool && index != 0; }
  bool is_number() const { return kind == kInt || kind == kFloat || kind == kBool; }
};

Av number(RegionKind kind, int v) {
  Av a;
  a.kind = kind;
  a.v[0] = v;
  return a;
}

// May values of `a` stand where those of `b` are?
bool same_shape(const Av& a, const Av& b) {
  if (a.kind != b.kind || a.index != b.index || a.object != b.object ||
      a.items.size() != b.items.size())
    return false;
  for (size_t k = 0; k < a.items.size(); ++k)
    if (!same_shape(a.items[k], b.items[k])) return false;
  return true;
}
struct Frame {
  std::vector<Av> slots, stack;
  // Of the functions that called this one, the outermost first, as they were before the call.
  struct Caller {
    std::vector<Av> slots, stack;
  };
  std::vector<Caller> callers;

  // Calls g(list of values) for all that there is.
  template <class G>
  void each_part(G g) {
    g(slots);
    g(stack);
    for (Caller& c : callers) g(c.slots), g(c.stack);
  }
};

std::string name_of(PyObject* fn) {
  if (PyCFunction_CheckExact(fn)) return reinterpret_cast<PyCFunctionObject*>(fn)->m_ml->ml_name;
  return PyType_Check(fn) ? reinterpret_cast<PyTypeObject*>(fn)->tp_name : "the function";
}

// The name of a function of C in a module, or null.
const char* function_of(const char* module, PyObject* o) {
  if (!PyCFunction_CheckExact(o)) return nullptr;
  auto* f = reinterpret_cast<PyCFunctionObject*>(o);
  if (!f->m_self || !PyModule_CheckExact(f->m_self)) return nullptr;
  const char* name = PyModule_GetName(f->m_self);
  if (!name) {
    PyErr_Clear();
    return nullptr;
  }
  return std::strcmp(name, module) == 0 ? f->m_ml->ml_name : nullptr;
}

class RegionBuilder {
 public:
  RegionBuilder(const Code& code, int instr, const Region::Frame& frame)
      : entry_(frame), r_(std::make_unique<Region>()) {
    r_->instr = instr;
    r_->slots = frame.slots.size();
    r_->stack = frame.stack.size();
    for (PyObject* o : frame.slots) r_->nulls.push_back(!o);
    for (PyObject* o : frame.stack) r_->nulls.push_back(!o);
    bodies_.push_back(std::make_unique<Body>(code, frame.func));
    Body& body = *bodies_.back();
    body.merges[instr] = body.merges[instr] || body.loop_end[instr] >= 0;
  }

  std::unique_ptr<Region> build() {
    f_.add_block();
    Frame start;
    for (size_t k = 0; k < r_->slots; ++k)
      start.slots.push_back(given(RegionSource::kSlot, k, entry_.slots[k]));
    for (size_t k = 0; k < r_->stack; ++k)
      start.stack.push_back(given(RegionSource::kStack, k, entry_.stack[k]));
    // iterators over ranges are numbers from the beginning
    for (auto& a : start.stack)
      if (a.kind == K::kEntry && !is_iterator(a))
        return refused("others hold the iterator of the loop, too", "a loop over a range()");
    may_call_itself_ = is_called_by_itself();
    if (may_call_itself()) take_operands(&start);
    const region::Edge first = go_to(r_->instr, start);
    f_.blocks[0].next = first;
    if (may_call_itself()) poll_at(0, r_->instr, start);
    while (!pending_.empty()) {
      if (f_.blocks.size() > kMostBlocks || f_.instrs.size() > kMostInstrs)
        return refused("the loop would be too much machine code: its variables have many types",
                       "variables that keep one type each");
      Pending p = std::move(pending_.back());
      pending_.pop_back();
      fill(std::move(p));
    }
    if (calls_itself_) return recursive();
    if (!region::has_loop(f_)) return nullptr;
    region::optimize(f_);
    if (!region::has_loop(f_)) return nullptr;
    return finish();
  }
  // The kind of the result of a function that calls itself, where another was supposed.
  std::optional<RegionKind> other_result() const { return other_result_; }
  void suppose_result(RegionKind kind) { result_ = kind; }
  NoRegion why_not() const { return because_; }

 private:
  std::unique_ptr<Region> refused(std::string why, std::string help) {
    because_.line = own().code->instrs[r_->instr].line;
    because_.why = std::move(why);
    because_.help = std::move(help);
    const int around = loop_around(r_->instr);
    note_loop(around >= 0 ? around : next_loop(r_->instr));
    return nullptr;
  }
  // --- what there is at the entry
  int source(RegionSource s) {
    for (size_t k = 0; k < r_->sources.size(); ++k)
      if (r_->sources[k] == s) return static_cast<int>(k);
    r_->sources.push_back(std::move(s));
    return static_cast<int>(r_->sources.size()) - 1;
  }
  Av given(RegionSource::Where where, size_t k, PyObject* o) {
    if (!o) return {};
    Av a;
    a.kind = K::kEntry;
    a.index = source({where, static_cast<int>(k), {}, {}});
    return a;
  }
  PyObject* object_at(int source) const { return fetch(r_->sources[source], entry_); }

  int input(Type t) {
    In in{Op::kInput, t};
    in.imm = words_++;
    return f_.add(0, in);
  }
  int constant(Type t, int64_t bits) {
    const auto [it, fresh] = constants_.try_emplace({t, bits}, 0);
    if (fresh) {
      In in{Op::kConst, t};
      in.imm = bits;
      it->second = f_.add(0, in);
    }
    return it->second;
  }
  int icon(int64_t n) { return constant(Type::kI64, n); }
  int fcon(double x) { return constant(Type::kF64, bits_of(x)); }
  bool is_const(int v, int64_t* n) const {
    *n = f_.instrs[v].imm;
    return f_.instrs[v].op == Op::kConst;
  }

  // The kind of a number with its class.
  static RegionKind number_kind_of(const Av& a) {
    if (a.kind == K::kInt) return a.index ? K::kNumpyInt : K::kInt;
    if (a.kind == K::kFloat) return a.index ? K::kNumpyFloat : K::kFloat;
    return a.index ? K::kNumpyBool : K::kBool;
  }
  Av input_of(RegionKind kind) {
    Av a;
    a.index = kind == K::kNumpyInt || kind == K::kNumpyFloat || kind == K::kNumpyBool;
    a.kind = kind == K::kInt || kind == K::kNumpyInt       ? K::kInt
             : kind == K::kFloat || kind == K::kNumpyFloat ? K::kFloat
                                                           : K::kBool;
    a.v[0] = input(a.type(0));
    return a;
  }
  // A number, or what else is known, that a source holds.
  Av typed_source(int s) {
    if (auto it = typed_.find(s); it != typed_.end()) return it->second;
    Av a;
    a.kind = K::kEntry;
    a.index = s;
    PyObject* o = object_at(s);
    int64_t n;
    uses_numpy();
    if (const auto kind = number_kind(*r_, o, &n)) {
      a = input_of(*kind);
      RegionNeed need{RegionNeed::kNumber, s, {}};
      need.number = *kind;
      need.word = static_cast<int>(words_) - 1;
      r_->needs.push_back(std::move(need));
    } else if (o == Py_None) {
      a = known_object(s, o);
    }
    return typed_.emplace(s, a).first->second;
  }
  // Are NumPy's types known, as it is loaded?
  bool uses_numpy() {
    if (!r_->numpy_float && numpy_is_loaded()) {
      const py::object numpy = python_module("numpy");
      const py::object core = py::getattr(numpy, "_core", py::none());  // from NumPy 2 on
      if (core.is_none()) return false;
      r_->errors = core.attr("umath").attr("_extobj_contextvar");
      const py::object nothing_set = python_module("contextvars").attr("Context")();
      r_->usual_errors = nothing_set.attr("run")(r_->errors.attr("get"));
      r_->geterr = numpy.attr("geterr");
      r_->numpy_float = numpy.attr("float64");
      r_->numpy_int = numpy.attr("int64");
      r_->numpy_true = numpy.attr("True_");
      r_->numpy_false = numpy.attr("False_");
    }
    return static_cast<bool>(r_->numpy_float);
  }

  struct Array {
    int need, data, rank;
    char format;
    std::vector<int> sizes, strides;
  };
  // An ndarray whose elements code may read; null: it is none.
  const Array* array_of_value(const Av& a) {
    if (a.kind != K::kEntry || !uses_numpy()) return nullptr;
    if (auto it = arrays_.find(a.index); it != arrays_.end()) return &it->second;
    PyObject* o = object_at(a.index);
    const auto view = array_view(o, false);
    if (!view) return nullptr;
    Array x{static_cast<int>(r_->needs.size()), 0, view->ndim, view->format[0], {}, {}};
    RegionNeed need{RegionNeed::kArray, a.index, {}};
    need.word = static_cast<int>(words_);
    need.format = x.format;
    need.rank = x.rank;
    need.packed = view->strides[x.rank - 1] == view->itemsize;
    x.data = input(Type::kPtr);
    for (int k = 0; k < x.rank; ++k) x.sizes.push_back(input(Type::kI64));
    for (int k = 0; k < x.rank; ++k) {
      const int stride = input(Type::kI64);
      x.strides.push_back(k + 1 == x.rank && need.packed ? icon(view->itemsize) : stride);
    }
    r_->needs.push_back(std::move(need));
    return &arrays_.emplace(a.index, std::move(x)).first->second;
  }

  // The very object: its identity is asked for.
  Av known_object(int s, PyObject* o) {
    r_->needs.push_back({RegionNeed::kIs, s, py::reinterpret_borrow<py::object>(o)});
    return object(o);
  }
  Av object(PyObject* o) {
    Av a;
    a.kind = K::kObject;
    a.object = o;
    keep(o);
    return a;
  }
  void keep(PyObject* o) {
    for (auto& k : r_->objects)
      if (k.ptr() == o) return;
    r_->objects.push_back(py::reinterpret_borrow<py::object>(o));
  }
  int object_number(PyObject* o) const {
    for (size_t k = 0; k < r_->objects.size(); ++k)
      if (r_->objects[k].ptr() == o) return static_cast<int>(k);
    PIJIT_CHECK(false, "an object of a region is not kept");
  }
  // May it be dropped in the middle of a region? What CPython would run then, such as __del__,
  // could change all that the region has read.
  bool dies_quietly(const Av& a) {
    if (a.kind != K::kEntry) return true;
    const auto [it, fresh] = quiet_.try_emplace(a.index, is_quiet(object_at(a.index)));
    if (fresh && it->second) r_->needs.push_back({RegionNeed::kQuiet, a.index, {}});
    return it->second;
  }
  bool can_be_tagged(const Av& a) {
    return a.kind == K::kNull || a.kind == K::kInt || a.kind == K::kFloat || a.kind == K::kBool ||
           a.kind == K::kObject || a.kind == K::kTagged || (a.kind == K::kEntry && dies_quietly(a));
  }
  // What a variable or the stack held may die here, which numbers and arrays do unseen as well.
  void drop(const Av& a) {
    if (!dies_quietly(a) && typed(a).kind == K::kEntry && !array_of_value(a))
      leave(str_cat("a variable that holds ", a_(described(a)), " gets another value"),
            "give the number another name");
  }
  Av typed(const Av& a) { return a.kind == K::kEntry ? typed_source(a.index) : a; }

  bool is_over_array(Av& a) {
    Av over;
    over.kind = K::kEntry;
    over.index = source({RegionSource::kIterated, r_->sources[a.index].index, {}, {}});
    const Array* x = array_of_value(over);
    if (!x || x->rank > 2) return true;
    RegionNeed need{RegionNeed::kPlace, a.index, {}};
    need.word = static_cast<int>(words_);
    Av it = number(K::kArrayIter, input(Type::kI64));
    r_->needs.push_back(std::move(need));
    it.items = {over};
    a = std::move(it);
    return true;
  }
  // False: an iterator that a region must leave alone, as others hold it, too.
  bool is_iterator(Av& a) {
    PyObject* o = object_at(a.index);
    if (array_place(o).array) return is_over_array(a);
    if (!Py_IS_TYPE(o, &PyRangeIter_Type)) return true;
    const auto s = range_state(o);
    if (!s || Py_REFCNT(o) != 1) return false;
    RegionNeed need{RegionNeed::kRangeIter, a.index, {}};
    need.step = s->step;
    need.word = static_cast<int>(words_);
    const int next = input(Type::kI64), left = input(Type::kI64);
    r_->needs.push_back(std::move(need));
    Av it;
    it.v[0] = next;
    it.index = static_cast<int>(s->step);
    if (s->step == 1) {
      it.kind = K::kCounter;
      it.v[1] = f_.add(0, ins(Op::kIAdd, Type::kI64, next, left));
    } else if (it.index == s->step) {
      it.kind = K::kRangeIter;
      it.v[1] = left;
    } else {
      return false;
    }
    a = std::move(it);
    return true;
  }

  struct Version {
    Frame frame;
    int block;
  };
  struct Pending {
    int body, instr, block;
    Frame frame;
  };
  // A function that is followed: the region's own, or one that is called at an instruction of
  // another.
  struct Body {
    Body(const Code& its_code, PyObject* its_func, int its_caller = -1, int its_place = -1)
        : code(its_code), func(its_func), caller(its_caller), at(its_place) {
      std::vector<int> into(code->instrs.size() + 1);
      loop_end.assign(code->instrs.size() + 1, -1);
      for (size_t pc = 0; pc < code->instrs.size(); ++pc)
        for (int to : successors(*code, static_cast<int>(pc))) {
          if (to < 0) continue;
          ++into[to];
          if (to <= static_cast<int>(pc)) loop_end[to] = static_cast<int>(pc);
        }
      stored.assign(static_cast<size_t>(code->num_slots), false);
      for (auto& in : code->instrs)
        if (const SlotUse use = slot_use(in); use == SlotUse::WRITE || use == SlotUse::CLEAR)
          stored[static_cast<size_t>(in.a)] = true;
      for (int n : into) merges.push_back(n > 1);
    }
    Code code;
    PyObject* func;
    int caller, at;
    std::vector<bool> merges, stored;  // places where ways meet, by instruction; by slot
    std::vector<int> loop_end;
    std::map<int, std::vector<Version>> versions;
  };
  Body& body() { return *bodies_[static_cast<size_t>(body_)]; }
  const Body& body() const { return *bodies_[static_cast<size_t>(body_)]; }
  const Body& own() const { return *bodies_[0]; }
  const CodeInfo& code() const { return *body().code; }
  // The instruction of the region's own function that is under way.
  int own_instr() const {
    int at = instr_;
    for (int b = body_; b != 0; b = bodies_[static_cast<size_t>(b)]->caller)
      at = bodies_[static_cast<size_t>(b)]->at;
    return at;
  }

  Av tagged(const Av& a, int block) {
    if (a.kind == K::kTagged) return a;
    auto of = [&](RegionKind tag, int payload) {
      Av t;
      t.kind = K::kTagged;
      t.v[0] = icon(static_cast<int64_t>(tag));
      t.v[1] = payload;
      return t;
    };
    switch (a.kind) {
      case K::kInt: return of(number_kind_of(a), a.v[0]);
      case K::kFloat:
        return of(number_kind_of(a), f_.add(block, ins(Op::kFBits, Type::kI64, a.v[0])));
      case K::kBool:
        return of(number_kind_of(a), f_.add(block, ins(Op::kBToI, Type::kI64, a.v[0])));
      case K::kEntry: return of(K::kEntry, icon(a.index));
      case K::kObject: return of(K::kObject, icon(object_number(a.object)));
      default: return of(K::kNull, icon(0));
    }
  }

  static void collect(const Av& a, std::vector<int>* values) {
    for (int k = 0; k < a.values(); ++k) values->push_back(a.v[k]);
    for (auto& i : a.items) collect(i, values);
  }
  void to_params(Av& a, int block) {
    for (int k = 0; k < a.values(); ++k) a.v[k] = f_.add_param(block, a.type(k));
    for (auto& i : a.items) to_params(i, block);
  }

  // The edge out of `from_` to code at an instruction, for a frame of these types.
  region::Edge go_to(int instr, Frame frame) {
    if (!body().merges[static_cast<size_t>(instr)]) {
      const int block = f_.add_block();
      pending_.push_back({body_, instr, block, std::move(frame)});
      return {block, {}};
    }
    const bool head = body().loop_end[instr] >= 0;
    // What nobody reads may be of any type there, and what is written becomes a number.
    const auto live = code().live[instr];
    for (size_t k = 0; k < frame.slots.size(); ++k) {
      Av& a = frame.slots[k];
      if (!body().stored[k]) continue;
      if (!live[k] && can_be_tagged(a))
        a = tagged(a, from_);
      else if (a.kind == K::kEntry)
        a = typed(a);
    }
    auto& versions = body().versions[instr];
    for (Version& v : versions)
      if (auto edge = edge_to(v, frame)) return *edge;
    const int block = f_.add_block();
    if (versions.size() >= kMostVersions) {
      f_.blocks[block].exit = make_exit(instr, frame);
      return {block, {}};
    }
    Version v{frame, block};
    region::Edge e{block, {}};
    v.frame.each_part([&](std::vector<Av>& part) {
      for (Av& a : part) {
        collect(a, &e.args);
        to_params(a, block);
      }
    });
    if (head) poll_at(block, instr, v.frame);
    pending_.push_back({body_, instr, block, v.frame});
    versions.push_back(std::move(v));
    return e;
  }
  std::optional<region::Edge> edge_to(Version& v, Frame& frame) {
    if (v.frame.stack.size() != frame.stack.size()) return std::nullopt;
    auto fits = [&](const Av& to, const Av& a) {
      return same_shape(to, a) || (to.kind == K::kTagged && can_be_tagged(a));
    };
    for (size_t k = 0; k < frame.slots.size(); ++k)
      if (!fits(v.frame.slots[k], frame.slots[k])) return std::nullopt;
    auto same = [](const std::vector<Av>& a, const std::vector<Av>& b) {
      return std::equal(a.begin(), a.end(), b.begin(), b.end(), same_shape);
    };
    if (!same(v.frame.stack, frame.stack)) return std::nullopt;
    for (size_t k = 0; k < frame.callers.size(); ++k)
      if (!same(v.frame.callers[k].slots, frame.callers[k].slots) ||
          !same(v.frame.callers[k].stack, frame.callers[k].stack))
        return std::nullopt;
    for (size_t k = 0; k < frame.slots.size(); ++k)
      if (v.frame.slots[k].kind == K::kTagged) frame.slots[k] = tagged(frame.slots[k], from_);
    region::Edge e{v.block, {}};
    frame.each_part([&](std::vector<Av>& part) {
      for (const Av& a : part) collect(a, &e.args);
    });
    return e;
  }
  void poll_at(int block, int instr, const Frame& frame) {
    In poll = ins(Op::kPoll, Type::kNone, poll_address());
    poll.imm = interpreter_breaker().mask;
    poll.exit = make_exit(instr, frame);
    f_.add(block, poll);
  }
  int poll_address() {
    if (poll_ < 0) {
      r_->poll_word = static_cast<int>(words_);
      poll_ = input(Type::kPtr);
    }
    return poll_;
  }

  // --- exits
  RegionPiece piece(const Av& a, std::vector<int>* values) {
    RegionPiece p;
    p.at = static_cast<int>(values->size());
    for (int k = 0; k < a.values(); ++k) values->push_back(a.v[k]);
    p.kind = a.is_number() ? number_kind_of(a) : a.kind;
    if (a.kind == K::kEntry || a.kind == K::kFree) p.at = a.index;
    if (a.kind == K::kRange || a.kind == K::kRangeIter) p.step = a.index;
    if (a.kind == K::kRow) p.source = a.index;
    p.object = a.kind == K::kObject ? a.object : nullptr;
    for (auto& i : a.items) p.items.push_back(piece(i, values));
    return p;
  }
  // What a called function does is pure: CPython calls it anew.
  int make_exit(int instr, const Frame& frame) {
    if (frame.callers.empty()) return make_exit(instr, frame.slots, frame.stack);
    return make_exit(own_instr(), frame.callers[0].slots, frame.callers[0].stack);
  }
  int make_exit(int instr, const std::vector<Av>& slots, const std::vector<Av>& stack,
                bool returns = false) {
    RegionExit e;
    region::Exit values;
    e.instr = instr;
    e.returns = returns;
    if (!returns) {
      e.slots.reserve(slots.size());
      for (auto& a : slots) e.slots.push_back(piece(a, &values.values));
    }
    e.stack.reserve(stack.size());
    for (auto& a : stack) e.stack.push_back(piece(a, &values.values));
    values.returns = returns;
    r_->exits.push_back(std::move(e));
    f_.exits.push_back(std::move(values));
    return static_cast<int>(f_.exits.size()) - 1;
  }
  // That of the instruction which is followed.
  int exit_here() {
    if (exit_ != kNoExit) return exit_;
    if (now_->callers.empty()) return exit_ = make_exit(instr_, now_->slots, before_);
    return exit_ = make_exit(instr_, *now_);
  }
  // Why code can't go on: what stands there, and what would help.
  struct Leave {
    std::string why, help;
  };
  [[noreturn]] static void leave(std::string why, std::string help = "") {
    throw Leave{std::move(why), std::move(help)};
  }
  static std::string a_(const std::string& what) {
    const bool vowel = what.find_first_of("aeiouAEIO") == 0;
    return (vowel ? "an " : "a ") + what;
  }
  // What a value is, in words.
  std::string described(const Av& a) const {
    switch (a.kind) {
      case K::kInt: return a.index ? "np.int64" : "int";
      case K::kFloat: return a.index ? "np.float64" : "float";
      case K::kBool: return a.index ? "np.bool_" : "bool";
      case K::kEntry: {
        PyObject* o = object_at(a.index);
        if (!numpy_is_loaded() || Py_TYPE(o) != library.ndarray.type()) return Py_TYPE(o)->tp_name;
        const py::handle array(o);
        const int axes = py::cast<int>(array.attr("ndim"));
        return str_cat("array of ", text_of(py::str(array.attr("dtype"))), " with ", axes,
                       axes == 1 ? " axis" : " axes");
      }
      case K::kObject: return Py_TYPE(a.object)->tp_name;
      case K::kTuple: return "tuple";
      case K::kRange: return "range";
      case K::kCounter:
      case K::kRangeIter: return "iterator over a range";
      case K::kRow: return "row of an array";
      case K::kArrayIter: return "iterator over an array";
      case K::kFree: return "variable of an outer function";
      default: break;
    }
    return "variable without a value";
  }
  // What an instruction is that has no code.
  static std::string described(const BIn& in) {
    switch (in.op) {
      case BOp::BUILD_LIST:
      case BOp::LIST_APPEND:
      case BOp::LIST_EXTEND: return "a list is made";
      case BOp::BUILD_MAP:
      case BOp::BUILD_CONST_KEY_MAP:
      case BOp::MAP_ADD:
      case BOp::DICT_UPDATE:
      case BOp::DICT_MERGE: return "a dict is made";
      case BOp::BUILD_SET:
      case BOp::SET_UPDATE:
      case BOp::SET_ADD: return "a set is made";
      case BOp::BUILD_STRING:
      case BOp::CONVERT_VALUE:
      case BOp::FORMAT_VALUE: return "a text is made";
      case BOp::BUILD_SLICE:
      case BOp::BINARY_SLICE:
      case BOp::STORE_SLICE: return "a slice is taken or set";
      case BOp::STORE_ATTR:
      case BOp::DELETE_ATTR: return "an attribute of an object is set";
      case BOp::STORE_GLOBAL: return "a global variable is set";
      case BOp::STORE_DEREF: return "a variable is set that an inner function shares";
      case BOp::LOAD_SUPER_ATTR: return "super() is called";
      case BOp::CONTAINS_OP: return "`in` looks into a container";
      case BOp::DELETE_SUBSCR: return "an item is deleted";
      case BOp::UNPACK_EX: return "items are unpacked with a star";
      case BOp::CALL_KW: return "a function is called with names of arguments";
      case BOp::CALL_EX: return "a function is called with unpacked arguments";
      case BOp::IMPORT_NAME:
      case BOp::IMPORT_FROM: return "a module is imported";
      case BOp::MAKE_CELL:
      case BOp::LOAD_CLOSURE:
      case BOp::MAKE_FUNCTION: return "a function is made";
      case BOp::BEFORE_WITH:
      case BOp::LOAD_SPECIAL:
      case BOp::WITH_EXCEPT_START: return "`with` enters or leaves a context";
      case BOp::RAISE: return "an exception is raised";
      case BOp::PUSH_EXC_INFO:
      case BOp::CHECK_EXC_MATCH:
      case BOp::POP_EXCEPT:
      case BOp::RERAISE: return "an exception is handled";
      default: return str_cat("the instruction ", op_name(in.op), " has no machine code");
    }
  }

  // The first in a loop counts, or else the first.
  void note_leave(const Leave& l) {
    r_->exits[static_cast<size_t>(exit_here())].why = l.why;
    const bool inside = loop_around(own_instr()) >= 0;
    if (!because_.why.empty() && (because_in_loop_ || !inside)) return;
    because_in_loop_ = inside;
    because_.line = own().code->instrs[own_instr()].line;
    because_.why = l.why;
    if (body_ != 0) because_.why += str_cat(" (in ", code().name, ", line ", line_here(), ")");
    because_.help = l.help;
    note_loop(inside ? loop_around(own_instr()) : next_loop(own_instr()));
  }
  int line_here() const { return code().instrs[instr_].line; }
  void note_loop(int head) {
    if (head < 0) return;
    because_.first_line = own().code->instrs[head].line;
    because_.last_line = own().code->instrs[own().loop_end[head]].line;
  }
  // The beginning of the outermost loop around an instruction, and of the next behind it; -1: none.
  int loop_around(int instr) const {
    for (int head = 0; head <= instr; ++head)
      if (own().loop_end[head] >= instr) return head;
    return -1;
  }
  int next_loop(int instr) const {
    for (size_t head = instr; head < own().code->instrs.size(); ++head)
      if (own().loop_end[head] >= 0) return static_cast<int>(head);
    return -1;
  }

  // --- instructions
  In ins(Op op, Type t, int a = kNoValue, int b = kNoValue, int c = kNoValue) {
    In in{op, t};
    in.args[0] = a;
    in.args[1] = b;
    in.args[2] = c;
    return in;
  }
  int emit(Op op, int a, int b = kNoValue, int c = kNoValue) {
    Type t = facts(op).type;
    if (t == Type::kSame) t = f_.instrs[c].type;
    In in = ins(op, t, a, b, c);
    if (facts(op).effect == region::Effect::kCheck) in.exit = exit_here();
    return f_.add(block_, in);
  }
  void check(int condition) { emit(Op::kCheck, condition); }

  void fill(Pending p) {
    block_ = from_ = p.block;
    body_ = p.body;
    Frame now = std::move(p.frame);
    int instr = p.instr;
    for (bool first = true;; first = false) {
      if (!first && body().merges[static_cast<size_t>(instr)]) {
        const region::Edge e = go_to(instr, std::move(now));
        f_.blocks[block_].next = e;
        return;
      }
      instr_ = instr;
      exit_ = kNoExit;
      before_ = now.stack;
      now_ = &now;
      condition_ = kNoValue;
      jumps_if_ = true;
      const BIn& in = code().instrs[instr];
      if (in.op == BOp::RETURN_VALUE && body_ == 0) {
        const Av result = may_call_itself() ? typed(now.stack.back()) : now.stack.back();
        note_result(result);
        f_.blocks[block_].exit = make_exit(instr, {}, {result}, true);
        return;
      }
      int next = -1;
      try {
        next = in.op == BOp::RETURN_VALUE ? return_to_caller(&now) : step(in, now);
      } catch (const Leave& l) {
        f_.blocks[block_].exit = exit_here();
        note_leave(l);
        return;
      }
      if (next_body_ >= 0) {
        body_ = std::exchange(next_body_, -1);
        now = std::move(entered_);
        instr = 0;
        continue;
      }
      if (condition_ != kNoValue) {
        // the jump goes on with `now`, what is behind the instruction with `other_`
        // both go on in this function
        const int block = block_;
        const region::Edge taken = go_to(in.target, now);
        const region::Edge other = begin_turn(instr + 1, std::move(other_));
        f_.blocks[block].condition = condition_;
        f_.blocks[block].next = jumps_if_ ? taken : other;
        f_.blocks[block].otherwise = jumps_if_ ? other : taken;
        return;
      }
      instr = next;
    }
  }
  // The edge to what is behind an instruction that jumps.
  region::Edge begin_turn(int instr, Frame frame) {
    if (over_.at == kNoValue) return go_to(instr, std::move(frame));
    const Over over = std::exchange(over_, {});
    const int from = from_, block = block_, turn = f_.add_block();
    block_ = from_ = turn;
    const Part part = part_of(over.array);
    const Array& a = *part.array;
    if (a.rank - part.axis == 2) {
      frame.stack.back() = row_of(over.array, over.at);
    } else {
      const int stride = a.strides[static_cast<size_t>(part.axis)];
      int offset = f_.add(turn, ins(Op::kIMul, Type::kI64, over.at, stride));
      if (part.offset != kNoValue)
        offset = f_.add(turn, ins(Op::kIAdd, Type::kI64, offset, part.offset));
      frame.stack.back() = element(a, offset);
    }
    const region::Edge next = go_to(instr, std::move(frame));
    f_.blocks[turn].next = next;
    from_ = from;
    block_ = block;
    return {turn, {}};
  }
  static Av pop(Frame& f) {
    Av a = std::move(f.stack.back());
    f.stack.pop_back();
    return a;
  }
  // An iterator advances for all that hold it: none but the stack may.
  static void stay_alone(const Av& a) {
    if (a.kind == K::kCounter || a.kind == K::kRangeIter || a.kind == K::kArrayIter)
      leave("an iterator is kept in a variable");
  }
  Av num(const Av& a) {
    Av t = typed(a);
    if (!t.is_number()) leave(str_cat(a_(described(t)), " is no number of machine code"), kNumbers);
    return t;
  }
  int as_int(const Av& a) { return a.kind == K::kBool ? emit(Op::kBToI, a.v[0]) : a.v[0]; }
  int as_float(const Av& a) { return a.kind == K::kFloat ? a.v[0] : emit(Op::kIToF, as_int(a)); }
  int as_exact_float(const Av& a) {
    return a.kind == K::kFloat ? a.v[0] : emit(Op::kIToFExact, as_int(a));
  }
  int truth(const Av& x) {
    const Av a = typed(x);
    switch (a.kind) {
      case K::kBool: return a.v[0];
      case K::kInt: return emit(Op::kINe, a.v[0], icon(0));
      case K::kFloat: return emit(Op::kFNe, a.v[0], fcon(0));
      case K::kObject:
        if (a.object == Py_None) return constant(Type::kB1, 0);
        [[fallthrough]];
      default:
        leave(str_cat("the truth of ", a_(described(a)), " is asked for"), "compare numbers");
    }
  }
  static Av int_of(int v) { return number(K::kInt, v); }
  static Av float_of(int v) { return number(K::kFloat, v); }
  static Av bool_of(int v) { return number(K::kBool, v); }

  int step(const BIn& in, Frame& f) {
    auto& st = f.stack;
    switch (in.op) {
      case BOp::NOP: break;
      case BOp::LOAD_CONST: st.push_back(constant_object(in.obj)); break;
      case BOp::LOAD_FAST:
        if (const auto k = f.slots[in.a].kind; k == K::kNull || k == K::kTagged)
          leave(
              str_cat("`", code().slot_names[in.a], "` may have no value, or one of several types"),
              "set it before the loop, to a value of one type");
        st.push_back(f.slots[in.a]);
        break;
      case BOp::STORE_FAST:
        stay_alone(st.back());
        drop(f.slots[in.a]);
        f.slots[in.a] = pop(f);
        break;
      case BOp::DELETE_FAST:
        if (f.slots[in.a].kind == K::kNull || f.slots[in.a].kind == K::kTagged)
          leave(str_cat("`", code().slot_names[in.a], "` may have no value"));
        drop(f.slots[in.a]);
        f.slots[in.a] = {};
        break;
      case BOp::COPY_FREE_VARS:
        for (int k = 0; k < in.a; ++k) {
          Av cell;
          cell.kind = K::kFree;
          cell.index = k;
          f.slots[f.slots.size() - static_cast<size_t>(in.a - k)] = cell;
        }
        break;
      case BOp::LOAD_DEREF: st.push_back(cell_content(f.slots[in.a])); break;
      case BOp::LOAD_GLOBAL: {
        RegionSource s{RegionSource::kGlobal, 0, of_body(),
                       py::reinterpret_borrow<py::object>(in.obj)};
        const Av a = looked_up(std::move(s));
        if (in.a && !kNullAboveCallable) st.emplace_back();
        st.push_back(a);
        if (in.a && kNullAboveCallable) st.emplace_back();
        break;
      }
      case BOp::LOAD_ATTR:
      case BOp::LOAD_METHOD: {
        if (in.op == BOp::LOAD_ATTR && array_of_value(st.back())) {
          st.back() = array_attribute(*array_of_value(st.back()), text_of(in.obj));
          break;
        }
        const Av o = module_of(st.back(), text_of(in.obj));
        RegionSource s{RegionSource::kModule, 0, py::reinterpret_borrow<py::object>(o.object),
                       py::reinterpret_borrow<py::object>(in.obj)};
        const Av a = looked_up(std::move(s));
        st.pop_back();
        if (in.op == BOp::LOAD_METHOD && !kNullAboveCallable) st.emplace_back();
        st.push_back(a);
        if (in.op == BOp::LOAD_METHOD && kNullAboveCallable) st.emplace_back();
        break;
      }
      case BOp::PUSH_NULL: st.emplace_back(); break;
      case BOp::POP_TOP:
        for (int k = 0; k <= in.a; ++k) drop(st[st.size() - 1 - static_cast<size_t>(k)]);
        st.resize(st.size() - 1 - static_cast<size_t>(in.a));
        break;
      case BOp::COPY: {
        const Av a = st[st.size() - static_cast<size_t>(in.a)];
        stay_alone(a);
        st.push_back(a);
        break;
      }
      case BOp::SWAP: std::swap(st.back(), st[st.size() - static_cast<size_t>(in.a)]); break;
      case BOp::JUMP: return in.target;
      case BOp::GET_ITER:
      case BOp::FOR_ITER:
      case BOp::POP_JUMP:
      case BOp::JUMP_OR_POP: return step_flow(in, f);
      default: step_operator(in, st);
    }
    return instr_ + 1;
  }

  void step_operator(const BIn& in, std::vector<Av>& st) {
    switch (in.op) {
      case BOp::UNARY: unary(static_cast<UnaryOp>(in.a), st); break;
      case BOp::BINARY: {
        const Av b = num(st.back()), a = num(st[st.size() - 2]);
        const Av r = binary(static_cast<BinaryOp>(in.a), a, b);
        st.resize(st.size() - 2);
        st.push_back(r);
        break;
      }
      case BOp::COMPARE: {
        const Av b = num(st.back()), a = num(st[st.size() - 2]);
        const Av r = compare(static_cast<CompareOp>(in.a), a, b);
        st.resize(st.size() - 2);
        st.push_back(r);
        break;
      }
      case BOp::IS_OP: {
        const Av b = typed(st.back()), a = typed(st[st.size() - 2]);
        const bool none = b.kind == K::kObject && b.object == Py_None;
        if (!none || !(a.is_number() || (a.kind == K::kObject && a.object == Py_None)))
          leave(str_cat("`is` compares ", a_(described(a)), " with ", a_(described(b))),
                "compare numbers by ==");
        st.resize(st.size() - 2);
        st.push_back(bool_of(constant(Type::kB1, a.is_number() == (in.a != 0))));
        break;
      }
      case BOp::BINARY_SUBSCR: {
        const Av r = item(st[st.size() - 2], st.back());
        st.resize(st.size() - 2);
        st.push_back(r);
        break;
      }
      case BOp::STORE_SUBSCR:
        store_item(st[st.size() - 3], st[st.size() - 2], st.back());
        st.resize(st.size() - 3);
        break;
      case BOp::BUILD_TUPLE: {
        Av t;
        t.kind = K::kTuple;
        t.items.assign(st.end() - in.a, st.end());
        for (auto& i : t.items) stay_alone(i);
        st.resize(st.size() - static_cast<size_t>(in.a));
        st.push_back(std::move(t));
        break;
      }
      case BOp::UNPACK_SEQUENCE: {
        const Av t = st.back();
        if (t.kind != K::kTuple || t.items.size() != static_cast<size_t>(in.a))
          leave(str_cat(a_(described(t)), " is unpacked"));
        st.pop_back();
        st.insert(st.end(), t.items.rbegin(), t.items.rend());
        break;
      }
      case BOp::CALL: call(in, st); break;
      default: leave(described(in));
    }
  }

  int step_flow(const BIn& in, Frame& f) {
    auto& st = f.stack;
    switch (in.op) {
      case BOp::POP_JUMP: {
        if (in.a >= 2) {
          const Av a = typed(st.back());
          const bool none = a.kind == K::kObject && a.object == Py_None;
          if (!none && !a.is_number()) leave(str_cat(a_(described(a)), " is compared with None"));
          st.pop_back();
          return none == (in.a == 2) ? in.target : instr_ + 1;
        }
        condition_ = truth(st.back());
        jumps_if_ = in.a == 1;
        st.pop_back();
        other_ = f;
        break;
      }
      case BOp::JUMP_OR_POP: {
        condition_ = truth(st.back());
        jumps_if_ = in.a == 1;
        other_ = f;
        other_.stack.pop_back();
        break;
      }
      case BOp::GET_ITER:
        st.back() = iterator(st.back());
        if (in.b) st.emplace_back();
        break;
      case BOp::FOR_ITER: for_iter(in, f); break;
      default: leave(described(in));
    }
    return instr_ + 1;
  }

  Av constant_object(PyObject* o) {
    int64_t n;
    if (PyLong_CheckExact(o) && as_int64(o, &n)) return int_of(icon(n));
    if (PyFloat_CheckExact(o)) return float_of(fcon(PyFloat_AS_DOUBLE(o)));
    if (PyBool_Check(o)) return bool_of(constant(Type::kB1, o == Py_True));
    if (PyTuple_CheckExact(o)) {
      Av t;
      t.kind = K::kTuple;
      bool numbers = true;
      for (Py_ssize_t k = 0; k < PyTuple_GET_SIZE(o); ++k) {
        t.items.push_back(constant_object(PyTuple_GET_ITEM(o, k)));
        numbers &= t.items.back().is_number();
      }
      if (numbers && !t.items.empty()) return t;
    }
    return object(o);
  }
  Av cell_content(const Av& slot) {
    RegionSource s;
    if (slot.kind == K::kFree) {
      s = {RegionSource::kFree, slot.index, of_body(), {}};
    } else if (slot.kind == K::kEntry) {
      s = r_->sources[slot.index];
      if (body_ != 0) leave("a variable is read that inner functions share");
      if (s.where != RegionSource::kSlot) leave("a variable of an outer function is read");
      s.where = RegionSource::kCell;
    } else {
      leave("a variable is read that inner functions share");
    }
    return looked_up(std::move(s));
  }
  // What is found at a place that only other code changes.
  Av looked_up(RegionSource where) {
    PyObject* o = fetch(where, entry_);
    if (!o) leave("a name has no value");
    const int s = source(std::move(where));
    const Av a = typed_source(s);
    if (a.kind != K::kEntry || array_of_value(a)) return a;
    if (!is_of_use(o))  // and it is not kept alive for nothing
      leave(str_cat("a ", Py_TYPE(o)->tp_name, " is read that is no argument or local variable"),
            kNumbers);
    return typed_[s] = known_object(s, o);
  }
  static bool is_of_use(PyObject* o) {
    return PyModule_CheckExact(o) || PyCFunction_CheckExact(o) || function_behind(o) ||
           (PyType_Check(o) &&
            !PyType_HasFeature(reinterpret_cast<PyTypeObject*>(o), Py_TPFLAGS_HEAPTYPE));
  }
  Av module_of(const Av& a, const std::string& name) {
    if (a.kind == K::kObject && PyModule_CheckExact(a.object)) return a;
    leave(str_cat("`.", name, "` of ", a_(described(typed(a))), " is read"),
          "read it into a variable before the loop");
  }

  void unary(UnaryOp op, std::vector<Av>& st) {
    Av r;
    if (op == UnaryOp::kNot) {
      r = bool_of(emit(Op::kBNot, truth(st.back())));
    } else {
      const Av a = num(st.back());
      if (a.of_numpy() && a.kind == K::kBool) leave("an operator is applied to a np.bool_");
      switch (op) {
        case UnaryOp::kNeg:
          r = a.kind == K::kFloat ? float_of(emit(Op::kFNeg, a.v[0]))
                                  : int_of(emit(Op::kINeg, as_int(a)));
          r.index = a.index;
          break;
        case UnaryOp::kPos: r = a.kind == K::kBool ? int_of(as_int(a)) : a; break;
        case UnaryOp::kInvert:
          if (a.kind != K::kInt) leave(str_cat("`~` is applied to ", a_(described(a))));
          r = int_of(emit(Op::kIXor, a.v[0], icon(-1)));
          r.index = a.index;
          break;
        default: leave("an operator has no machine code");
      }
    }
    st.back() = r;
  }

  Av binary(BinaryOp op, const Av& a, const Av& b) {
    if (a.of_numpy() || b.of_numpy()) return numpy_binary(op, a, b);
    return plain_binary(op, a, b);
  }
  // Of NumPy's scalars: where it would warn, it leaves.
  Av numpy_binary(BinaryOp op, const Av& a, const Av& b) {
    if (a.kind == K::kBool || b.kind == K::kBool || op == BinaryOp::kPow ||
        !underflow_is_ignored(*r_))
      leave(str_cat("`", facts(op).sign, "` of NumPy's numbers has no machine code here"));
    const bool floats = a.kind == K::kFloat || b.kind == K::kFloat;
    r_->numpy = true;
    if (floats && op != BinaryOp::kAdd && op != BinaryOp::kSub && op != BinaryOp::kMul &&
        op != BinaryOp::kTrueDiv)
      leave(str_cat("`", facts(op).sign, "` of np.float64 has no machine code"),
            "float(x) of an element makes a Python number");
    Av r = plain_binary(op, a, b);
    if (r.kind == K::kFloat) emit(Op::kQuiet, r.v[0], as_float(a), as_float(b));
    r.index = 1;
    return r;
  }
  Av plain_binary(BinaryOp op, const Av& a, const Av& b) {
    if (a.kind == K::kFloat || b.kind == K::kFloat) return float_binary(op, a, b);
    if (op == BinaryOp::kTrueDiv) {
      const int x = as_exact_float(a), y = as_exact_float(b);
      return float_of(emit(Op::kFDiv, x, y));
    }
    if (op == BinaryOp::kPow) return int_of(power(as_int(a), as_int(b)));
    const int x = as_int(a), y = as_int(b);
    const bool bools = a.kind == K::kBool && b.kind == K::kBool;
    auto logic = [&](Op o) {
      const int r = emit(o, x, y);
      return bools ? bool_of(emit(Op::kINe, r, icon(0))) : int_of(r);
    };
    switch (op) {
      case BinaryOp::kAdd: return int_of(emit(Op::kIAdd, x, y));
      case BinaryOp::kSub: return int_of(emit(Op::kISub, x, y));
      case BinaryOp::kMul: return int_of(emit(Op::kIMul, x, y));
      case BinaryOp::kFloorDiv: return int_of(emit(Op::kIDiv, x, y));
      case BinaryOp::kMod: return int_of(emit(Op::kIMod, x, y));
      case BinaryOp::kLshift: return int_of(emit(Op::kIShl, x, y));
      case BinaryOp::kRshift: return int_of(emit(Op::kIShr, x, y));
      case BinaryOp::kAnd: return logic(Op::kIAnd);
      case BinaryOp::kOr: return logic(Op::kIOr);
      case BinaryOp::kXor: return logic(Op::kIXor);
      default: leave(str_cat("`", facts(op).sign, "` of ints has no machine code"));
    }
  }
  // By squares: none of the products is larger than the power itself.
  int power(int x, int n) {
    int64_t e;
    if (!is_const(n, &e) || e < 0 || e > kLargestPower)
      leave("`**` of ints has an exponent that is no constant from 0 to 64",
            "a float as base, or x * x");
    int r = kNoValue;
    for (; e > 0; e >>= 1) {
      if (e & 1) r = r == kNoValue ? x : emit(Op::kIMul, r, x);
      if (e > 1) x = emit(Op::kIMul, x, x);
    }
    return r == kNoValue ? icon(1) : r;
  }
  Av float_binary(BinaryOp op, const Av& a, const Av& b) {
    const int x = as_float(a), y = as_float(b);
    auto call = [&](region::Function2 f) {
      In in = ins(Op::kCall2, Type::kF64, x, y);
      in.imm = static_cast<int64_t>(f);
      in.exit = exit_here();
      return float_of(f_.add(block_, in));
    };
    switch (op) {
      case BinaryOp::kAdd: return float_of(emit(Op::kFAdd, x, y));
      case BinaryOp::kSub: return float_of(emit(Op::kFSub, x, y));
      case BinaryOp::kMul: return float_of(emit(Op::kFMul, x, y));
      case BinaryOp::kTrueDiv: return float_of(emit(Op::kFDiv, x, y));
      case BinaryOp::kFloorDiv:
        check(emit(Op::kFNe, y, fcon(0)));
        return call(region::Function2::k_py_floordiv);
      case BinaryOp::kMod:
        check(emit(Op::kFNe, y, fcon(0)));
        return call(region::Function2::k_py_mod);
      case BinaryOp::kPow: return call(region::Function2::k_py_pow);
      default: leave(str_cat("`", facts(op).sign, "` of floats has no machine code"));
    }
  }

  Av compare(CompareOp op, const Av& a, const Av& b) {
    if (a.is_numpy_bool() || b.is_numpy_bool()) leave("a np.bool_ is compared");
    Av r = plain_compare(op, a, b);
    r.index = a.of_numpy() || b.of_numpy();
    return r;
  }
  Av plain_compare(CompareOp op, const Av& a, const Av& b) {
    const bool floats = a.kind == K::kFloat || b.kind == K::kFloat;
    const int x = floats ? as_exact_float(a) : as_int(a);
    const int y = floats ? as_exact_float(b) : as_int(b);
    auto of = [&](Op ints, Op reals) { return bool_of(emit(floats ? reals : ints, x, y)); };
    switch (op) {
      case CompareOp::kLt: return of(Op::kILt, Op::kFLt);
      case CompareOp::kLe: return of(Op::kILe, Op::kFLe);
      case CompareOp::kEq: return of(Op::kIEq, Op::kFEq);
      case CompareOp::kNe: return of(Op::kINe, Op::kFNe);
      case CompareOp::kGt: return of(Op::kIGt, Op::kFGt);
      case CompareOp::kGe: return of(Op::kIGe, Op::kFGe);
    }
    leave("a comparison has no machine code");
  }

  // --- ranges
  Av range(const std::vector<Av>& args) {
    if (args.empty() || args.size() > 3) leave("range() is called with no numbers");
    std::vector<int> v;
    for (auto& a : args) {
      const Av n = num(a);
      if (n.kind == K::kFloat || (n.kind == K::kBool && n.of_numpy()))
        leave(str_cat("range() is called with ", a_(described(n))));
      v.push_back(as_int(n));
    }
    int64_t step = 1;
    if (v.size() == 3 && (!is_const(v[2], &step) || step == 0 || step != static_cast<int>(step)))
      leave("the step of a range() is no constant", "write the step as a number, or a while loop");
    Av r;
    r.kind = K::kRange;
    r.v = {v.size() == 1 ? icon(0) : v[0], v.size() == 1 ? v[0] : v[1], kNoValue};
    r.index = static_cast<int>(step);
    return r;
  }
  Av iterator(const Av& a) {
    if (a.kind == K::kCounter || a.kind == K::kRangeIter || a.kind == K::kArrayIter) return a;
    if (const Part part = part_of(a); part.array && part.array->rank <= 2) {
      Av over = number(K::kArrayIter, icon(0));
      over.items = {a};
      return over;
    }
    if (a.kind != K::kRange)
      leave(str_cat("the loop is over ", a_(described(typed(a)))),
            "a loop over range(len(x)) that reads x[i]");
    Av it;
    it.index = a.index;
    const int start = a.v[0], stop = a.v[1];
    it.v[0] = start;
    if (a.index == 1) {
      it.kind = K::kCounter;
      it.v[1] = stop;
      return it;
    }
    it.kind = K::kRangeIter;
    const bool up = a.index > 0;
    const int64_t size = up ? int64_t{a.index} : -int64_t{a.index};
    const int far = up ? emit(Op::kISub, stop, start) : emit(Op::kISub, start, stop);
    const int some = emit(Op::kIGt, far, icon(0));
    const int full =
        emit(Op::kIAdd, emit(Op::kIDiv, emit(Op::kISub, far, icon(1)), icon(size)), icon(1));
    it.v[1] = emit(Op::kSelect, some, full, icon(0));
    return it;
  }
  void for_iter(const BIn& in, Frame& f) {
    auto& st = f.stack;
    Av& it = st[st.size() - 1 - static_cast<size_t>(in.b)];
    other_ = f;
    Av& there = other_.stack[st.size() - 1 - static_cast<size_t>(in.b)];
    if (it.kind == K::kCounter) {
      condition_ = emit(Op::kILt, it.v[0], it.v[1]);
      const int item = emit(Op::kIBelow, it.v[0], it.v[1]);
      In next = ins(Op::kIAdd, Type::kI64, item, icon(1));
      there.v[0] = f_.add(block_, next);
      other_.stack.push_back(int_of(item));
    } else if (it.kind == K::kRangeIter) {
      condition_ = emit(Op::kINe, it.v[1], icon(0));
      there.v[0] = f_.add(block_, ins(Op::kIAdd, Type::kI64, it.v[0], icon(it.index)));
      there.v[1] = f_.add(block_, ins(Op::kISub, Type::kI64, it.v[1], icon(1)));
      other_.stack.push_back(int_of(it.v[0]));
    } else if (it.kind == K::kArrayIter) {
      const Av over = it.items[0];
      const Part part = part_of(over);
      const Array& a = *part.array;
      const int at = it.v[0], size = a.sizes[static_cast<size_t>(part.axis)];
      condition_ = emit(Op::kILt, at, size);
      there.v[0] = f_.add(block_, ins(Op::kIAdd, Type::kI64, at, icon(1)));
      over_ = {over, at};
      other_.stack.emplace_back();  // begin_turn() puts the item there
    } else {
      leave(str_cat("the loop is over ", a_(described(it))),
            "a loop over range(len(x)) that reads x[i]");
    }
    jumps_if_ = false;
    st.resize(st.size() - static_cast<size_t>(1 + in.b - in.a));
  }

  // --- elements
  Av item(const Av& of, const Av& index) {
    if (of.kind == K::kTuple) {
      const Av i = typed(index);
      int64_t k = 0;
      if (i.kind != K::kInt || i.of_numpy() || !is_const(i.v[0], &k))
        leave("an item of a tuple is read whose place is no constant");
      const auto n = static_cast<int64_t>(of.items.size());
      if (k < 0) k += n;
      if (k < 0 || k >= n) leave("an item of a tuple is read that it has not");
      return of.items[static_cast<size_t>(k)];
    }
    const Part part = part_of(of);
    if (!part.array) leave(str_cat("an item of ", a_(described(typed(of))), " is read"), kNumbers);
    const bool row = part.array->rank - part.axis == 2 && index.kind != K::kTuple;
    return row ? row_of(of, place_of(*part.array, 0, index))
               : element(*part.array, offset_of(part, index));
  }
  Av element(const Array& a, int offset) {
    Av r = a.format == 'd'   ? float_of(emit(Op::kLoadF64, a.data, offset))
           : a.format == '?' ? bool_of(emit(Op::kINe, emit(Op::kLoadU8, a.data, offset), icon(0)))
                             : int_of(emit(Op::kLoadI64, a.data, offset));
    r.index = 1;
    return r;
  }
  Av row_of(const Av& array, int place) {
    Av row = number(K::kRow, place);
    row.index = array.index;
    return row;
  }
  // An array, or a row of one: from which axis on, and the bytes to it.
  struct Part {
    const Array* array = nullptr;
    int axis = 0, offset = kNoValue;
  };
  Part part_of(const Av& a) {
    if (a.kind != K::kRow) return {array_of_value(a)};
    const Array& x = arrays_.at(a.index);
    return {&x, 1, f_.add(block_, ins(Op::kIMul, Type::kI64, a.v[0], x.strides[0]))};
  }
  void store_item(const Av& value, const Av& of, const Av& index) {
    const Part part = part_of(of);
    const Array* a = part.array;
    if (body_ != 0 || may_call_itself())
      leave("a function sets an item of an array", "write the function's lines into the loop");
    if (!a || !array_view(object_at(of.index), true))
      leave(str_cat("an item of ", a_(described(typed(of))), " is set"), kNumbers);
    const Av v = num(value);
    if (a->format != 'd' && v.kind == K::kFloat)
      leave("an element of an array of ints is set to a float", "int(x)");
    const int x = a->format == 'd' ? as_float(v) : a->format == '?' ? truth(v) : as_int(v);
    const int offset = offset_of(part, index);
    r_->needs[static_cast<size_t>(a->need)].written = true;
    stores_ = true;
    f_.add(block_, ins(a->format == 'd'   ? Op::kStoreF64
                       : a->format == '?' ? Op::kStoreU8
                                          : Op::kStoreI64,
                       Type::kNone, a->data, offset, x));
  }
  // Bytes to an element, whose indices are looked at first.
  int offset_of(const Part& part, const Av& index) {
    const Array& a = *part.array;
    std::vector<Av> indices{index};
    if (index.kind == K::kTuple) indices = index.items;
    if (indices.size() != static_cast<size_t>(a.rank - part.axis))
      leave("a row or a part of an array is taken", "an index for each axis: a[i, j]");
    int offset = part.offset;
    for (int k = part.axis; k < a.rank; ++k) {
      const int at = place_of(a, k, indices[static_cast<size_t>(k - part.axis)]);
      const int bytes =
          f_.add(block_, ins(Op::kIMul, Type::kI64, at, a.strides[static_cast<size_t>(k)]));
      offset =
          offset == kNoValue ? bytes : f_.add(block_, ins(Op::kIAdd, Type::kI64, offset, bytes));
    }
    return offset;
  }
  // An index of an axis, from 0 on.
  int place_of(const Array& a, int axis, const Av& index) {
    const Av i = num(index);
    if (i.kind != K::kInt) leave(str_cat(a_(described(i)), " is an index"));
    const int size = a.sizes[static_cast<size_t>(axis)];
    const int zero = icon(0);
    const int from_end = f_.add(block_, ins(Op::kIAdd, Type::kI64, i.v[0], size));
    const int at = emit(Op::kSelect, emit(Op::kILt, i.v[0], zero), from_end, i.v[0]);
    check(emit(Op::kIGe, at, zero));
    check(emit(Op::kILt, at, size));
    return at;
  }
  Av array_attribute(const Array& a, const std::string& name) {
    if (name == "ndim") return int_of(icon(a.rank));
    if (name == "size") {
      int n = a.sizes[0];
      for (int k = 1; k < a.rank; ++k)
        n = f_.add(block_, ins(Op::kIMul, Type::kI64, n, a.sizes[static_cast<size_t>(k)]));
      return int_of(n);
    }
    if (name != "shape")
      leave(str_cat("the attribute `", name, "` of an array is read"),
            "read it into a variable before the loop");
    Av t;
    t.kind = K::kTuple;
    for (int n : a.sizes) t.items.push_back(int_of(n));
    return t;
  }

  // --- calls
  void call(const BIn& in, std::vector<Av>& st) {
    if (in.obj) leave("a function is called with names of arguments");
    const size_t base = st.size() - static_cast<size_t>(in.a + 2 - in.b);
    const bool null_first = st[base].kind == K::kNull,
               null_second = in.b != 0 || st[base + 1].kind == K::kNull;
    if (null_first == null_second)
      leave(str_cat("a method of ", a_(described(typed(st[base + 1]))), " is called"));
    Av fn = st[null_first ? base + 1 : base];
    if (fn.kind == K::kEntry && is_of_use(object_at(fn.index)))
      fn = known_object(fn.index, object_at(fn.index));
    if (fn.kind != K::kObject)
      leave(str_cat(a_(described(fn)), " is called"), "write the function's lines into the loop");
    const std::vector<Av> args(st.end() - in.a, st.end());
    PyObject* func = function_behind(fn.object);
    if (func && !is_own(func)) return enter_function(func, args);
    const Av r = func ? call_itself(args) : result_of(fn.object, args);
    st.resize(base);
    st.push_back(r);
  }

  // --- functions of Python's
  static PyObject* function_behind(PyObject* o) {
    if (Py_TYPE(o) == jit_function_type) return jit_inner(o);
    return PyFunction_Check(o) ? o : nullptr;
  }
  bool is_own(PyObject* func) const { return func == entry_.func; }
  // Whose globals and closure it is: null, the region's own.
  py::object of_body() const {
    return body_ == 0 ? py::object() : py::reinterpret_borrow<py::object>(body().func);
  }
  // Its lines are followed from here on; where they return, so are the caller's.
  void enter_function(PyObject* func, const std::vector<Av>& args) {
    constexpr size_t kMostDeep = 4, kMostCode = 200;
    const std::string name = text_of(reinterpret_cast<PyFunctionObject*>(func)->func_name);
    PyObject* its_code = PyFunction_GET_CODE(func);
    const auto* co = reinterpret_cast<PyCodeObject*>(its_code);
    const Code code = code_info(its_code);
    const char* help = "write the function's lines into the loop";
    if (!code || co->co_flags & (CO_VARARGS | CO_VARKEYWORDS) || co->co_kwonlyargcount > 0)
      leave(str_cat("the function ", name, " is called, which has other than plain arguments"),
            help);
    if (code->reflective || code->compares_frames || has_other_builtins(func) ||
        code->instrs.size() > kMostCode || now_->callers.size() >= kMostDeep)
      leave(str_cat("the function ", name, " is called, which is too long, or calls too many"),
            help);
    for (int b = body_; b >= 0; b = bodies_[static_cast<size_t>(b)]->caller)
      if (bodies_[static_cast<size_t>(b)]->func == func)
        leave(str_cat("the function ", name, " is called, which calls itself"));
    Frame in;
    in.slots.resize(static_cast<size_t>(code->num_slots));
    PyObject* defaults = PyFunction_GetDefaults(func);
    const auto given = static_cast<Py_ssize_t>(args.size());
    const Py_ssize_t usual = defaults ? PyTuple_GET_SIZE(defaults) : 0;
    if (given > co->co_argcount || given + usual < co->co_argcount)
      leave(str_cat("the function ", name, " is called with other arguments than it has"));
    std::copy(args.begin(), args.end(), in.slots.begin());
    for (Py_ssize_t k = given; k < co->co_argcount; ++k)
      in.slots[static_cast<size_t>(k)] =
          constant_object(PyTuple_GET_ITEM(defaults, k - (co->co_argcount - usual)));
    note_function(func);
    in.callers = now_->callers;
    in.callers.push_back({now_->slots, before_});
    r_->calls_deep = std::max(r_->calls_deep, in.callers.size());
    next_body_ = body_of(code, func);
    entered_ = std::move(in);
  }
  int body_of(const Code& code, PyObject* func) {
    for (size_t k = 1; k < bodies_.size(); ++k)
      if (const Body& b = *bodies_[k]; b.caller == body_ && b.at == instr_ && b.func == func)
        return static_cast<int>(k);
    body().merges[static_cast<size_t>(instr_) + 1] = true;  // where its ways back meet
    bodies_.push_back(std::make_unique<Body>(code, func, body_, instr_));
    return static_cast<int>(bodies_.size()) - 1;
  }
  // What it is now it must be where the region is entered.
  void note_function(PyObject* func) {
    for (auto& f : r_->functions)
      if (f.func.ptr() == func) return;
    r_->functions.push_back({py::reinterpret_borrow<py::object>(func),
                             py::reinterpret_borrow<py::object>(PyFunction_GET_CODE(func)),
                             py::reinterpret_borrow<py::object>(PyFunction_GetDefaults(func))});
  }
  int return_to_caller(Frame* now) {
    const Av result = now->stack.back();
    stay_alone(result);
    for (auto& a : now->slots) drop(a);
    const Body& callee = body();
    Frame back;
    back.callers = std::move(now->callers);
    back.slots = std::move(back.callers.back().slots);
    back.stack = std::move(back.callers.back().stack);
    back.callers.pop_back();
    const int at = callee.at;
    body_ = callee.caller;
    const auto before = static_cast<int>(back.stack.size());
    back.stack.resize(static_cast<size_t>(before - stack_use(code().instrs[at], before).pops));
    back.stack.push_back(result);
    *now = std::move(back);
    return at + 1;
  }

  // --- a function that calls itself: from its beginning, with numbers alone
  static constexpr int kMostOperands = 3;
  bool may_call_itself() const { return may_call_itself_; }
  // From here on, may it be a function of one to three numbers that calls itself?
  bool is_called_by_itself() {
    const auto* co = reinterpret_cast<PyCodeObject*>(own().code->code);
    if (r_->instr != 0 || r_->stack != 0 || co->co_argcount < 1 ||
        co->co_argcount > kMostOperands || co->co_kwonlyargcount > 0 ||
        co->co_flags & (CO_VARARGS | CO_VARKEYWORDS))
      return false;
    for (size_t k = 0; k < r_->slots; ++k) {
      PyObject* o = entry_.slots[k];
      int64_t word;
      const bool argument = static_cast<int>(k) < co->co_argcount;
      if (argument != (o != nullptr)) return false;
      if (!argument) continue;
      const auto kind = number_kind(*r_, o, &word);
      if (kind != K::kInt && kind != K::kFloat && kind != K::kBool) return false;
    }
    return finds_itself(entry_.func, 0);
  }
  // Does it use itself by name, or others that do?
  bool finds_itself(PyObject* func, int deep) const {
    const Code code = code_info(PyFunction_GET_CODE(func));
    Py_ssize_t cells = 0;
    PyObject** closure = closure_of(func, &cells);
    auto leads = [&](PyObject* o) {
      PyObject* f = o ? function_behind(o) : nullptr;
      return f && (is_own(f) || (deep < 2 && f != func && finds_itself(f, deep + 1)));
    };
    if (!code) return false;
    for (auto& in : code->instrs)
      if (in.op == BOp::LOAD_GLOBAL && leads(quiet_item(PyFunction_GET_GLOBALS(func), in.obj)))
        return true;
    for (Py_ssize_t k = 0; k < cells; ++k)
      if (leads(PyCell_GET(closure[k]))) return true;
    return false;
  }
  void take_operands(Frame* start) {
    const auto* co = reinterpret_cast<PyCodeObject*>(own().code->code);
    for (int k = 0; k < co->co_argcount; ++k) {
      Av& a = start->slots[static_cast<size_t>(k)];
      a = typed(a);
      operands_.push_back(a);
    }
    words_ = kMostOperands;
  }
  Av call_itself(const std::vector<Av>& args) {
    if (!may_call_itself() || args.size() != operands_.size())
      leave("the function calls itself with other than one to three numbers");
    In in = ins(Op::kSelfI, Type::kI64, icon(0), icon(0), icon(0));
    for (size_t k = 0; k < args.size(); ++k) {
      const Av a = num(args[k]);
      if (!same_shape(a, operands_[k]))
        leave("the function calls itself with numbers of other types");
      in.args[k] = a.v[0];
    }
    in.op = result_ == K::kInt ? Op::kSelfI : result_ == K::kFloat ? Op::kSelfF : Op::kSelfB;
    in.type = facts(in.op).type;
    in.imm = static_cast<int64_t>(now_->callers.size()) + 1;  // CPython's calls
    in.exit = exit_here();
    calls_itself_ = true;
    return number(result_, f_.add(block_, in));
  }
  void note_result(const Av& a) {
    if (!may_call_itself()) return;
    if (!a.is_number() || a.index)
      has_no_number_ = true;
    else if (a.kind != result_)
      other_result_ = a.kind;
  }
  std::unique_ptr<Region> recursive() {
    if (has_no_number_ || stores_) {
      other_result_.reset();
      return refused("the function calls itself and gives other than numbers", "");
    }
    if (other_result_)
      return refused("the function calls itself and gives numbers of several types", "");
    other_result_.reset();
    note_function(entry_.func);
    f_.depth = r_->depth_word = static_cast<int>(words_);
    words_ += 2;
    region::optimize(f_);
    r_->recursive = true;
    return finish();
  }
  Av result_of(PyObject* fn, const std::vector<Av>& args) {
    if (const char* name = function_of("math", fn)) return math(name, args);
    const char* named = function_of("builtins", fn);
    const std::string_view builtin = named ? named : "";
    if (fn == reinterpret_cast<PyObject*>(&PyRange_Type)) return range(args);
    if (builtin == "len" && args.size() == 1)
      if (const Part x = part_of(args[0]); x.array)
        return int_of(x.array->sizes[static_cast<size_t>(x.axis)]);
    std::vector<Av> a;
    for (auto& x : args) a.push_back(num(x));
    for (auto& x : a)
      if (x.of_numpy() && (x.kind == K::kBool || builtin == "round"))
        leave(str_cat("a function is called with ", a_(described(x))));
    if (a.size() == 1) {
      if (fn == reinterpret_cast<PyObject*>(&PyLong_Type))
        return a[0].kind == K::kFloat ? int_of(emit(Op::kFToI, a[0].v[0])) : int_of(as_int(a[0]));
      if (fn == reinterpret_cast<PyObject*>(&PyFloat_Type)) return float_of(as_float(a[0]));
      if (fn == reinterpret_cast<PyObject*>(&PyBool_Type)) return bool_of(truth(a[0]));
      if (builtin == "abs") {
        Av r = a[0].kind == K::kFloat ? float_of(emit(Op::kFAbs, a[0].v[0]))
                                      : int_of(emit(Op::kIAbs, as_int(a[0])));
        r.index = a[0].index;
        return r;
      }
      if (builtin == "round")
        return a[0].kind == K::kFloat ? rounded(region::Function1::k_rint, a[0].v[0])
                                      : int_of(as_int(a[0]));
    }
    if (a.size() == 2 && builtin == "pow") return binary(BinaryOp::kPow, a[0], a[1]);
    if (a.size() == 2 && builtin == "divmod") {
      Av t;
      t.kind = K::kTuple;
      t.items = {binary(BinaryOp::kFloorDiv, a[0], a[1]), binary(BinaryOp::kMod, a[0], a[1])};
      return t;
    }
    const bool least = builtin == "min";
    if (a.size() >= 2 && (least || builtin == "max")) {
      Av best = a[0];
      for (size_t k = 1; k < a.size(); ++k) {
        if (a[k].kind != best.kind || a[k].index != best.index)
          leave(str_cat(builtin, "() is called with numbers of several types"),
                "numbers of one type: float(x)");
        const Av better = compare(least ? CompareOp::kLt : CompareOp::kGt, a[k], best);
        best.v[0] = emit(Op::kSelect, better.v[0], a[k].v[0], best.v[0]);
      }
      return best;
    }
    leave(str_cat(name_of(fn), "() has no machine code for these arguments"));
  }
  int call1(region::Function1 f, int x) {
    In in = ins(Op::kCall1, Type::kF64, x);
    in.imm = static_cast<int64_t>(f);
    in.exit = exit_here();
    return f_.add(block_, in);
  }
  Av rounded(region::Function1 f, int x) { return int_of(emit(Op::kFToI, call1(f, x))); }
  Av math(std::string_view name, const std::vector<Av>& args) {
    std::vector<Av> a;
    for (auto& x : args) a.push_back(num(x));
    if (a.size() == 1) {
      if (name == "floor" || name == "ceil" || name == "trunc") {
        if (a[0].of_numpy()) leave(str_cat("math.", name, "() is called with a NumPy number"));
        if (a[0].kind != K::kFloat) return int_of(as_int(a[0]));
        return rounded(name == "floor"  ? region::Function1::k_floor
                       : name == "ceil" ? region::Function1::k_ceil
                                        : region::Function1::k_trunc,
                       a[0].v[0]);
      }
      const int x = as_float(a[0]);
      const double infinity = HUGE_VAL, pi = 3.141592653589793238462643383279502884197;
      if (name == "sqrt") return float_of(emit(Op::kFSqrt, x));
      if (name == "fabs") return float_of(emit(Op::kFAbs, x));
      if (name == "isnan") return bool_of(emit(Op::kFNe, x, x));
      if (name == "isinf") return bool_of(emit(Op::kFEq, emit(Op::kFAbs, x), fcon(infinity)));
      if (name == "isfinite") return bool_of(emit(Op::kFLt, emit(Op::kFAbs, x), fcon(infinity)));
      if (name == "radians") return float_of(emit(Op::kFMul, x, fcon(pi / 180.0)));
      if (name == "degrees") return float_of(emit(Op::kFMul, x, fcon(180.0 / pi)));
      region::Function1 f;
      if (name != "rint" && region::function1(name, &f)) return float_of(call1(f, x));
    }
    if (a.size() == 2) {
      region::Function2 f;
      if (name == "pow")
        f = region::Function2::k_py_pow;
      else if (!region::function2(name, &f))
        leave(str_cat("math.", name, "() has no machine code"));
      const int x = as_float(a[0]), y = as_float(a[1]);
      if (kPowOfZeroRaises && name == "pow") {
        const int zero = emit(Op::kFEq, x, fcon(0.0));
        const int low = emit(Op::kFEq, y, fcon(-HUGE_VAL));
        check(emit(Op::kBNot, emit(Op::kSelect, zero, low, zero)));
      }
      In in = ins(Op::kCall2, Type::kF64, x, y);
      in.imm = static_cast<int64_t>(f);
      in.exit = exit_here();
      return float_of(f_.add(block_, in));
    }
    leave(str_cat("math.", name, "() has no machine code"));
  }

  // Numbers keep their identity where they may be what was given: what no turn of a loop has
  // replaced is the same object behind it.
  void note_sources() {
    const auto order = region::reverse_postorder(f_);
    std::vector<int> home(f_.instrs.size(), -1);
    std::vector<std::vector<const region::Edge*>> into(f_.blocks.size());
    for (int b : order) {
      for (int p : f_.blocks[b].params) home[p] = b;
      for (const region::Edge* e : {&f_.blocks[b].next, &f_.blocks[b].otherwise})
        if (e->block >= 0) into[e->block].push_back(e);
    }
    auto sources_of = [&](int value) {
      std::vector<int> found, seen{value};
      for (size_t k = 0; k < seen.size(); ++k) {
        const In& in = f_.instrs[seen[k]];
        // a function that calls itself may give what it was given
        if (in.op == Op::kInput || region::is_self(in.op))
          for (auto& need : r_->needs)
            if ((need.word == in.imm || in.op != Op::kInput) && need.kind == RegionNeed::kNumber &&
                (need.number == K::kInt || need.number == K::kFloat))
              found.push_back(need.source);
        if (in.op != Op::kParam || home[seen[k]] < 0) continue;
        for (const region::Edge* e : into[home[seen[k]]])
          if (const int v = e->args[static_cast<size_t>(in.imm)];
              std::find(seen.begin(), seen.end(), v) == seen.end())
            seen.push_back(v);
      }
      return found;
    };
    std::map<int, std::vector<int>> known;  // by value
    auto note = [&](auto& self, RegionPiece& p, const std::vector<int>& values) -> void {
      for (auto& i : p.items) self(self, i, values);
      if (p.kind != K::kInt && p.kind != K::kFloat) return;
      const int v = values[static_cast<size_t>(p.at)];
      const auto [it, fresh] = known.try_emplace(v);
      if (fresh) it->second = sources_of(v);
      p.sources = it->second;
    };
    for (size_t k = 0; k < r_->exits.size(); ++k)
      for (auto* part : {&r_->exits[k].slots, &r_->exits[k].stack})
        for (RegionPiece& p : *part) note(note, p, f_.exits[k].values);
    if (!r_->recursive) return;
    // which of its exits is the last one, code does not tell
    std::vector<int> all;
    for (auto& need : r_->needs)
      if (need.kind == RegionNeed::kNumber && (need.number == K::kInt || need.number == K::kFloat))
        all.push_back(need.source);
    for (RegionExit& e : r_->exits)
      if (e.returns && e.stack[0].kind != K::kBool) e.stack[0].sources = all;
  }

  std::unique_ptr<Region> finish() {
    note_sources();
    r_->words = std::max<size_t>({f_.words(), static_cast<size_t>(words_), 1});
    r_->code_size = f_.instrs.size();
    r_->text = f_.print();
    const auto order = region::reverse_postorder(f_);
    r_->first_line = INT_MAX;
    const auto& instrs = own().code->instrs;
    for (auto& [instr, versions] : own().versions) {
      const int end = own().loop_end[instr];
      if (end < 0) continue;
      r_->first_line = std::min(r_->first_line, instrs[instr].line);
      r_->last_line = std::max(r_->last_line, instrs[end].line);
    }
    if (r_->recursive || r_->first_line > r_->last_line) {  // all of it, or a function's loop
      const auto by_line = [](auto& a, auto& b) { return a.line < b.line; };
      const auto [first, last] = std::minmax_element(instrs.begin(), instrs.end(), by_line);
      r_->first_line = first->line;
      r_->last_line = last->line;
    }
    if (config().strict && !stores_) r_->reference = region::interpreted(f_);
    r_->code = region::compiled(std::move(f_));
    return std::move(r_);
  }

  static constexpr const char* kNumbers =
      "machine code has ints of 64 bits, floats, bools, NumPy's int64 and float64, and arrays of "
      "these";
  const Region::Frame entry_;
  std::vector<std::unique_ptr<Body>> bodies_;
  bool may_call_itself_ = false, calls_itself_ = false, has_no_number_ = false;
  RegionKind result_ = K::kInt;
  std::optional<RegionKind> other_result_;
  std::vector<Av> operands_;
  NoRegion because_;
  bool because_in_loop_ = false;
  std::unique_ptr<Region> r_;
  region::Function f_;
  int64_t words_ = 0;
  int poll_ = -1;
  std::map<std::pair<Type, int64_t>, int> constants_;
  std::map<int, Av> typed_;      // by source
  std::map<int, Array> arrays_;  // the same
  std::map<int, bool> quiet_;    // the same
  bool stores_ = false;
  std::vector<Pending> pending_;
  // while an instruction is followed
  int body_ = 0, next_body_ = -1;
  Frame entered_;  // of next_body_
  // What a loop over an array has next, which is read where it goes on.
  struct Over {
    Av array;
    int at = kNoValue;
  } over_;
  int block_ = 0, from_ = 0, instr_ = 0, exit_ = kNoExit, condition_ = kNoValue;
  bool jumps_if_ = true;
  Frame* now_ = nullptr;    // no instruction changes slots before it may leave
  std::vector<Av> before_;  // the stack
  Frame other_;
};

}  // namespace

std::unique_ptr<Region> make_region(const Code& code, int instr, const Region::Frame& frame,
                                    NoRegion* because) {
  auto result = RegionKind::kInt;
  for (int attempt = 0;; ++attempt) {
    RegionBuilder builder(code, instr, frame);
    builder.suppose_result(result);
    auto made = builder.build();
    if (made) return made;
    *because = builder.why_not();
    const auto other = builder.other_result();
    if (!other || attempt > 0) return nullptr;
    result = *other;
  }
}

}  // namespace pijit
