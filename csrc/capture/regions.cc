#include "capture/regions.h"

#include <algorithm>
#include <climits>
#include <cmath>
#include <cstring>
#include <map>

#include "base/config.h"
#include "base/error.h"
#include "base/operators.h"
#include "objects/data.h"
#include "python/hook.h"
#include "python/names.h"

namespace pijit {

namespace {

using region::kNoExit;
using region::kNoValue;
using region::Op;
using region::Type;
using In = region::Instr;
using BOp = pijit::Op;  // of bytecode

constexpr size_t kMostVersions = 6;    // of one instruction, by the types of variables
constexpr size_t kMostBlocks = 400;    // of a region
constexpr size_t kMostInstrs = 3000;   // of its code
constexpr int64_t kLargestPower = 64;  // exponents that are multiplied out

// What a variable or a stack entry is, as far as it is known: some values of the region's code, or
// an object that is there.
struct Av {
  enum Kind : uint8_t {
    kNull,
    kEntry,
    kObject,
    kFree,
    kInt,
    kFloat,
    kBool,
    kRange,
    kCounter,
    kRangeIter,
    kTuple,
    kTagged
  } kind = kNull;
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
      case kBool: return 1;
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

Av number(Av::Kind kind, int v) {
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
};

int64_t bits_of(double x) {
  int64_t b;
  std::memcpy(&b, &x, sizeof b);
  return b;
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

// An iterator over a range of machine integers, taken apart.
struct RangeState {
  int64_t next, left, step;
};
bool as_int64(PyObject* o, int64_t* n) {
  int overflow = 0;
  *n = PyLong_AsLongLongAndOverflow(o, &overflow);
  return overflow == 0;
}
std::optional<RangeState> range_state(PyObject* it) {
  if (!Py_IS_TYPE(it, &PyRangeIter_Type)) return std::nullopt;
  try {
    const py::handle h(it);
    const auto reduced = py::reinterpret_borrow<py::tuple>(h.attr("__reduce__")());
    const py::object range = py::tuple(reduced[1])[0];
    RangeState s{};
    int64_t start = 0, done = 0;
    if (!as_int64(range.attr("start").ptr(), &start) ||
        !as_int64(range.attr("step").ptr(), &s.step) ||
        !as_int64(h.attr("__length_hint__")().ptr(), &s.left))
      return std::nullopt;
    if (reduced.size() > 2 && PyLong_CheckExact(py::object(reduced[2]).ptr()) &&
        !as_int64(py::object(reduced[2]).ptr(), &done))
      return std::nullopt;
    int64_t gone = 0, end = 0;
    if (__builtin_mul_overflow(done, s.step, &gone) ||
        __builtin_add_overflow(start, gone, &s.next) ||
        __builtin_mul_overflow(s.left, s.step, &gone) || __builtin_add_overflow(s.next, gone, &end))
      return std::nullopt;
    return s;
  } catch (py::error_already_set&) {
    return std::nullopt;
  }
}

PyObject* fetch(const RegionSource& s, const Region::Frame& f) {
  switch (s.where) {
    case RegionSource::kSlot: return f.slots[static_cast<size_t>(s.index)];
    case RegionSource::kStack: return f.stack[static_cast<size_t>(s.index)];
    case RegionSource::kFree: {
      Py_ssize_t n = 0;
      PyObject** cells = closure_of(f.func, &n);
      return s.index < n ? PyCell_GET(cells[s.index]) : nullptr;
    }
    case RegionSource::kCell: {
      PyObject* cell = f.slots[static_cast<size_t>(s.index)];
      return cell && PyCell_Check(cell) ? PyCell_GET(cell) : nullptr;
    }
    case RegionSource::kGlobal: {
      PyObject* globals = PyFunction_GET_GLOBALS(f.func);
      if (PyObject* o = PyDict_GetItemWithError(globals, s.name.ptr())) return o;
      PyObject* builtins = builtins_of(globals);
      return builtins ? PyDict_GetItemWithError(builtins, s.name.ptr()) : nullptr;
    }
    case RegionSource::kModule:
      if (!PyModule_CheckExact(s.module.ptr())) return nullptr;  // it was given another class
      return PyDict_GetItemWithError(PyModule_GetDict(s.module.ptr()), s.name.ptr());
  }
  return nullptr;
}

// Nothing runs where it dies, nor can others tell when.
bool is_quiet(PyObject* o, int depth = 2) {
  constexpr Py_ssize_t kMostItems = 16;
  if (o == Py_None || PyLong_CheckExact(o) || PyFloat_CheckExact(o) || PyBool_Check(o) ||
      PyUnicode_CheckExact(o) || PyBytes_CheckExact(o) || PyComplex_CheckExact(o))
    return true;
  if (PyDict_CheckExact(o)) return PyDict_GET_SIZE(o) == 0;
  if (depth == 0 || !(PyList_CheckExact(o) || PyTuple_CheckExact(o)) ||
      PySequence_Fast_GET_SIZE(o) > kMostItems)
    return false;
  PyObject** items = PySequence_Fast_ITEMS(o);
  return std::all_of(items, items + PySequence_Fast_GET_SIZE(o),
                     [&](PyObject* i) { return i && is_quiet(i, depth - 1); });
}

bool is_numpy_float(const Region& r, PyObject* o) {
  return reinterpret_cast<PyObject*>(Py_TYPE(o)) == r.numpy_float.ptr();
}
bool is_numpy_int(const Region& r, PyObject* o) {
  return reinterpret_cast<PyObject*>(Py_TYPE(o)) == r.numpy_int.ptr();
}

// Of all that NumPy may be told to warn of, code does not look for this.
bool underflow_is_ignored(const Region& r) {
  if (r.errors.attr("get")().is(r.usual_errors)) return true;
  return py::cast<std::string>(r.geterr()["under"]) == "ignore";
}

using View = Region::Views::value_type;
// The memory of an ndarray of float64 or int64 in native order, aligned; null: it is something
// else, or may not be written.
View array_view(PyObject* o, bool written) {
  View view(nullptr, [](Py_buffer* b) {
    PyBuffer_Release(b);
    delete b;
  });
  if (Py_TYPE(o) != library.ndarray.type()) return view;
  auto* b = new Py_buffer;
  const int flags = PyBUF_STRIDES | PyBUF_FORMAT | (written ? PyBUF_WRITABLE : 0);
  if (PyObject_GetBuffer(o, b, flags) < 0) {
    PyErr_Clear();
    delete b;
    return view;
  }
  view.reset(b);
  const std::string_view format = b->format ? b->format : "";
  bool fits = (format == "d" || format == "l") && b->itemsize == 8 && b->ndim >= 1 && b->ndim <= 4;
  fits = fits && reinterpret_cast<uintptr_t>(b->buf) % 8 == 0;
  for (int k = 0; fits && k < b->ndim; ++k)
    fits = b->strides[k] % 8 == 0 && (b->strides[k] != 0 || !written);
  if (!fits) view.reset();
  return view;
}

bool meets(const Region& r, const RegionNeed& need, PyObject* o, int64_t* buffer,
           Region::Views* views) {
  if (!o) return false;
  switch (need.kind) {
    case RegionNeed::kNumpyFloat:
      if (!is_numpy_float(r, o)) return false;
      buffer[need.word] = bits_of(PyFloat_AS_DOUBLE(o));
      return true;
    case RegionNeed::kNumpyInt: {
      if (!is_numpy_int(r, o)) return false;
      const auto n = py::reinterpret_steal<py::object>(PyNumber_Index(o));
      return n && as_int64(n.ptr(), &buffer[need.word]);
    }
    case RegionNeed::kNumpyBool:
      buffer[need.word] = o == r.numpy_true.ptr();
      return o == r.numpy_true.ptr() || o == r.numpy_false.ptr();
    case RegionNeed::kArray: {
      View view = array_view(o, need.written);
      if (!view || view->format[0] != need.format || view->ndim != need.rank) return false;
      if (need.packed && view->strides[need.rank - 1] != view->itemsize) return false;
      int64_t* w = &buffer[need.word];
      *w++ = reinterpret_cast<int64_t>(view->buf);
      for (int k = 0; k < need.rank; ++k) *w++ = view->shape[k];
      for (int k = 0; k < need.rank; ++k) *w++ = view->strides[k];
      views->push_back(std::move(view));
      return true;
    }
    case RegionNeed::kIs: return o == need.object.ptr();
    case RegionNeed::kInt: return PyLong_CheckExact(o) && as_int64(o, &buffer[need.word]);
    case RegionNeed::kFloat:
      if (!PyFloat_CheckExact(o)) return false;
      buffer[need.word] = bits_of(PyFloat_AS_DOUBLE(o));
      return true;
    case RegionNeed::kBool: buffer[need.word] = o == Py_True; return PyBool_Check(o);
    case RegionNeed::kQuiet: return is_quiet(o);
    case RegionNeed::kRangeIter: {
      if (Py_REFCNT(o) != 1) return false;  // others hold it, too
      const auto s = range_state(o);
      if (!s || s->step != need.step) return false;
      buffer[need.word] = s->next;
      buffer[need.word + 1] = s->left;
      return true;
    }
  }
  return false;
}

class RegionBuilder {
 public:
  RegionBuilder(const Code& code, int instr, const Region::Frame& frame)
      : code_(*code), entry_(frame), r_(std::make_unique<Region>()) {
    r_->instr = instr;
    r_->slots = frame.slots.size();
    r_->stack = frame.stack.size();
    for (PyObject* o : frame.slots) r_->nulls.push_back(!o);
    for (PyObject* o : frame.stack) r_->nulls.push_back(!o);
    find_merges();
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
      if (a.kind == Av::kEntry && !is_iterator(a)) return nullptr;
    const region::Edge first = go_to(r_->instr, start);
    f_.blocks[0].next = first;
    while (!pending_.empty()) {
      if (f_.blocks.size() > kMostBlocks || f_.instrs.size() > kMostInstrs) return nullptr;
      Pending p = std::move(pending_.back());
      pending_.pop_back();
      fill(std::move(p));
    }
    if (!region::has_loop(f_)) return nullptr;
    region::optimize(f_);
    if (!region::has_loop(f_)) return nullptr;
    return finish();
  }

 private:
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
    a.kind = Av::kEntry;
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

  // A number, or what else is known, that a source holds.
  Av typed_source(int s) {
    if (auto it = typed_.find(s); it != typed_.end()) return it->second;
    Av a;
    a.kind = Av::kEntry;
    a.index = s;
    PyObject* o = object_at(s);
    int64_t n;
    auto need = [&](RegionNeed::Kind kind, Av::Kind as, Type t) {
      const auto word = static_cast<int>(words_);
      a = number(as, input(t));
      r_->needs.push_back({kind, s, {}, 0, word});
    };
    auto need_of_numpy = [&](RegionNeed::Kind kind, Av::Kind as, Type t) {
      need(kind, as, t);
      a.index = 1;
    };
    if (PyLong_CheckExact(o) && as_int64(o, &n))
      need(RegionNeed::kInt, Av::kInt, Type::kI64);
    else if (PyFloat_CheckExact(o))
      need(RegionNeed::kFloat, Av::kFloat, Type::kF64);
    else if (PyBool_Check(o))
      need(RegionNeed::kBool, Av::kBool, Type::kB1);
    else if (o == Py_None)
      a = known_object(s, o);
    else if (uses_numpy() && is_numpy_float(*r_, o))
      need_of_numpy(RegionNeed::kNumpyFloat, Av::kFloat, Type::kF64);
    else if (uses_numpy() && is_numpy_int(*r_, o))
      need_of_numpy(RegionNeed::kNumpyInt, Av::kInt, Type::kI64);
    else if (uses_numpy() && (o == r_->numpy_true.ptr() || o == r_->numpy_false.ptr()))
      need_of_numpy(RegionNeed::kNumpyBool, Av::kBool, Type::kB1);
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
    if (a.kind != Av::kEntry || !uses_numpy()) return nullptr;
    if (auto it = arrays_.find(a.index); it != arrays_.end()) return &it->second;
    PyObject* o = object_at(a.index);
    const auto view = array_view(o, false);
    if (!view) return nullptr;
    Array x{static_cast<int>(r_->needs.size()), 0, view->ndim, view->format[0], {}, {}};
    RegionNeed need{RegionNeed::kArray, a.index, {}, 0, static_cast<int>(words_)};
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
    a.kind = Av::kObject;
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
    if (a.kind != Av::kEntry) return true;
    const auto [it, fresh] = quiet_.try_emplace(a.index, is_quiet(object_at(a.index)));
    if (fresh && it->second) r_->needs.push_back({RegionNeed::kQuiet, a.index, {}});
    return it->second;
  }
  bool can_be_tagged(const Av& a) {
    return a.kind == Av::kNull || a.kind == Av::kInt || a.kind == Av::kFloat ||
           a.kind == Av::kBool || a.kind == Av::kObject || a.kind == Av::kTagged ||
           (a.kind == Av::kEntry && dies_quietly(a));
  }
  // What a variable or the stack held may die here, which numbers and arrays do unseen as well.
  void drop(const Av& a) {
    if (!dies_quietly(a) && typed(a).kind == Av::kEntry && !array_of_value(a)) throw Leave();
  }
  Av typed(const Av& a) { return a.kind == Av::kEntry ? typed_source(a.index) : a; }

  // False: an iterator that a region must leave alone, as others hold it, too.
  bool is_iterator(Av& a) {
    PyObject* o = object_at(a.index);
    if (!Py_IS_TYPE(o, &PyRangeIter_Type)) return true;
    const auto s = range_state(o);
    if (!s || Py_REFCNT(o) != 1) return false;
    RegionNeed need{RegionNeed::kRangeIter, a.index, {}, s->step, static_cast<int>(words_)};
    const int next = input(Type::kI64), left = input(Type::kI64);
    r_->needs.push_back(std::move(need));
    Av it;
    it.v[0] = next;
    it.index = static_cast<int>(s->step);
    if (s->step == 1) {
      it.kind = Av::kCounter;
      it.v[1] = f_.add(0, ins(Op::kIAdd, Type::kI64, next, left));
    } else if (it.index == s->step) {
      it.kind = Av::kRangeIter;
      it.v[1] = left;
    } else {
      return false;
    }
    a = std::move(it);
    return true;
  }

  // --- places where ways meet
  void find_merges() {
    std::vector<int> into(code_.instrs.size() + 1);
    loop_end_.assign(code_.instrs.size() + 1, -1);
    for (size_t pc = 0; pc < code_.instrs.size(); ++pc)
      for (int to : successors(code_, static_cast<int>(pc))) {
        if (to < 0) continue;
        ++into[to];
        if (to <= static_cast<int>(pc)) loop_end_[to] = static_cast<int>(pc);
      }
    stored_.assign(r_->slots, false);
    for (auto& in : code_.instrs)
      if (const SlotUse use = slot_use(in); use == SlotUse::WRITE || use == SlotUse::CLEAR)
        stored_[static_cast<size_t>(in.a)] = true;
    for (int n : into) merges_.push_back(n > 1);
    merges_[static_cast<size_t>(r_->instr)] = merges_[r_->instr] || loop_end_[r_->instr] >= 0;
  }
  struct Version {
    Frame frame;
    int block;
  };
  struct Pending {
    int instr, block;
    Frame frame;
  };

  Av tagged(const Av& a, int block) {
    if (a.kind == Av::kTagged) return a;
    auto of = [&](RegionTag tag, int payload) {
      Av t;
      t.kind = Av::kTagged;
      t.v[0] = icon(static_cast<int64_t>(tag));
      t.v[1] = payload;
      return t;
    };
    switch (a.kind) {
      case Av::kInt: return of(a.index ? RegionTag::kNumpyInt : RegionTag::kInt, a.v[0]);
      case Av::kFloat:
        return of(a.index ? RegionTag::kNumpyFloat : RegionTag::kFloat,
                  f_.add(block, ins(Op::kFBits, Type::kI64, a.v[0])));
      case Av::kBool:
        return of(a.index ? RegionTag::kNumpyBool : RegionTag::kBool,
                  f_.add(block, ins(Op::kBToI, Type::kI64, a.v[0])));
      case Av::kEntry: return of(RegionTag::kEntry, icon(a.index));
      case Av::kObject: return of(RegionTag::kObject, icon(object_number(a.object)));
      default: return of(RegionTag::kNull, icon(0));
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
    if (!merges_[static_cast<size_t>(instr)]) {
      const int block = f_.add_block();
      pending_.push_back({instr, block, std::move(frame)});
      return {block, {}};
    }
    const bool head = loop_end_[instr] >= 0;
    // What nobody reads may be of any type there, and what is written becomes a number.
    const auto live = code_.live[instr];
    for (size_t k = 0; k < frame.slots.size(); ++k) {
      Av& a = frame.slots[k];
      if (!stored_[k]) continue;
      if (!live[k] && can_be_tagged(a))
        a = tagged(a, from_);
      else if (a.kind == Av::kEntry)
        a = typed(a);
    }
    auto& versions = versions_[instr];
    for (Version& v : versions)
      if (auto edge = edge_to(v, frame)) return *edge;
    const int block = f_.add_block();
    if (versions.size() >= kMostVersions) {
      f_.blocks[block].exit = make_exit(instr, frame);
      return {block, {}};
    }
    Version v{frame, block};
    region::Edge e{block, {}};
    for (auto* part : {&v.frame.slots, &v.frame.stack})
      for (Av& a : *part) {
        collect(a, &e.args);
        to_params(a, block);
      }
    if (head) {
      In poll = ins(Op::kPoll, Type::kNone, poll_address());
      poll.imm = interpreter_breaker().mask;
      poll.exit = make_exit(instr, v.frame);
      f_.add(block, poll);
    }
    pending_.push_back({instr, block, v.frame});
    versions.push_back(std::move(v));
    return e;
  }
  std::optional<region::Edge> edge_to(const Version& v, const Frame& frame) {
    if (v.frame.stack.size() != frame.stack.size()) return std::nullopt;
    auto fits = [&](const Av& to, const Av& a) {
      return same_shape(to, a) || (to.kind == Av::kTagged && can_be_tagged(a));
    };
    for (size_t k = 0; k < frame.slots.size(); ++k)
      if (!fits(v.frame.slots[k], frame.slots[k])) return std::nullopt;
    for (size_t k = 0; k < frame.stack.size(); ++k)
      if (!same_shape(v.frame.stack[k], frame.stack[k])) return std::nullopt;
    region::Edge e{v.block, {}};
    for (size_t k = 0; k < frame.slots.size(); ++k)
      collect(v.frame.slots[k].kind == Av::kTagged ? tagged(frame.slots[k], from_) : frame.slots[k],
              &e.args);
    for (auto& a : frame.stack) collect(a, &e.args);
    return e;
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
    switch (a.kind) {
      case Av::kNull: break;
      case Av::kEntry: p.kind = RegionPiece::kEntry, p.at = a.index; break;
      case Av::kObject: p.kind = RegionPiece::kObject, p.object = a.object; break;
      case Av::kFree: p.kind = RegionPiece::kFree, p.at = a.index; break;
      case Av::kInt: p.kind = a.index ? RegionPiece::kNumpyInt : RegionPiece::kInt; break;
      case Av::kFloat: p.kind = a.index ? RegionPiece::kNumpyFloat : RegionPiece::kFloat; break;
      case Av::kBool: p.kind = a.index ? RegionPiece::kNumpyBool : RegionPiece::kBool; break;
      case Av::kCounter: p.kind = RegionPiece::kCounter; break;
      case Av::kTagged: p.kind = RegionPiece::kTagged; break;
      case Av::kRange:
      case Av::kRangeIter:
        p.kind = a.kind == Av::kRange ? RegionPiece::kRange : RegionPiece::kRangeIter;
        p.step = a.index;
        break;
      case Av::kTuple:
        p.kind = RegionPiece::kTuple;
        for (auto& i : a.items) p.items.push_back(piece(i, values));
        break;
    }
    return p;
  }
  int make_exit(int instr, const Frame& frame, bool returns = false) {
    return make_exit(instr, frame.slots, frame.stack, returns);
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
    r_->exits.push_back(std::move(e));
    f_.exits.push_back(std::move(values));
    return static_cast<int>(f_.exits.size()) - 1;
  }
  // That of the instruction which is followed.
  int exit_here() {
    if (exit_ == kNoExit) exit_ = make_exit(instr_, now_->slots, before_);
    return exit_;
  }
  struct Leave {};

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
    Frame now = std::move(p.frame);
    int instr = p.instr;
    for (bool first = true;; first = false) {
      if (!first && merges_[static_cast<size_t>(instr)]) {
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
      const BIn& in = code_.instrs[instr];
      if (in.op == BOp::RETURN_VALUE) {
        f_.blocks[block_].exit = make_exit(instr, {{}, {now.stack.back()}}, true);
        return;
      }
      int next = -1;
      try {
        next = step(in, now);
      } catch (const Leave&) {
        f_.blocks[block_].exit = exit_here();
        return;
      }
      if (condition_ != kNoValue) {
        // the jump goes on with `now`, what is behind the instruction with `other_`
        const int block = block_;
        const region::Edge taken = go_to(in.target, now);
        const region::Edge other = go_to(instr + 1, std::move(other_));
        f_.blocks[block].condition = condition_;
        f_.blocks[block].next = jumps_if_ ? taken : other;
        f_.blocks[block].otherwise = jumps_if_ ? other : taken;
        return;
      }
      instr = next;
    }
  }
  using BIn = pijit::Instr;

  static Av pop(Frame& f) {
    Av a = std::move(f.stack.back());
    f.stack.pop_back();
    return a;
  }
  // An iterator advances for all that hold it: none but the stack may.
  static void stay_alone(const Av& a) {
    if (a.kind == Av::kCounter || a.kind == Av::kRangeIter) throw Leave();
  }
  Av num(const Av& a) {
    Av t = typed(a);
    if (!t.is_number()) throw Leave();
    return t;
  }
  int as_int(const Av& a) { return a.kind == Av::kBool ? emit(Op::kBToI, a.v[0]) : a.v[0]; }
  int as_float(const Av& a) { return a.kind == Av::kFloat ? a.v[0] : emit(Op::kIToF, as_int(a)); }
  int as_exact_float(const Av& a) {
    return a.kind == Av::kFloat ? a.v[0] : emit(Op::kIToFExact, as_int(a));
  }
  int truth(const Av& x) {
    const Av a = typed(x);
    switch (a.kind) {
      case Av::kBool: return a.v[0];
      case Av::kInt: return emit(Op::kINe, a.v[0], icon(0));
      case Av::kFloat: return emit(Op::kFNe, a.v[0], fcon(0));
      case Av::kObject:
        if (a.object == Py_None) return constant(Type::kB1, 0);
        [[fallthrough]];
      default: throw Leave();
    }
  }
  static Av int_of(int v) { return number(Av::kInt, v); }
  static Av float_of(int v) { return number(Av::kFloat, v); }
  static Av bool_of(int v) { return number(Av::kBool, v); }

  int step(const BIn& in, Frame& f) {
    auto& st = f.stack;
    switch (in.op) {
      case BOp::NOP: break;
      case BOp::LOAD_CONST: st.push_back(constant_object(in.obj)); break;
      case BOp::LOAD_FAST:
        if (const auto k = f.slots[in.a].kind; k == Av::kNull || k == Av::kTagged) throw Leave();
        st.push_back(f.slots[in.a]);
        break;
      case BOp::STORE_FAST:
        stay_alone(st.back());
        drop(f.slots[in.a]);
        f.slots[in.a] = pop(f);
        break;
      case BOp::DELETE_FAST:
        if (f.slots[in.a].kind == Av::kNull || f.slots[in.a].kind == Av::kTagged) throw Leave();
        drop(f.slots[in.a]);
        f.slots[in.a] = {};
        break;
      case BOp::COPY_FREE_VARS:
        for (int k = 0; k < in.a; ++k) {
          Av cell;
          cell.kind = Av::kFree;
          cell.index = k;
          f.slots[f.slots.size() - static_cast<size_t>(in.a - k)] = cell;
        }
        break;
      case BOp::LOAD_DEREF: st.push_back(cell_content(f.slots[in.a])); break;
      case BOp::LOAD_GLOBAL: {
        RegionSource s{RegionSource::kGlobal, 0, {}, py::reinterpret_borrow<py::object>(in.obj)};
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
        const Av o = module_of(st.back());
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
        const bool none = b.kind == Av::kObject && b.object == Py_None;
        if (!none || !(a.is_number() || (a.kind == Av::kObject && a.object == Py_None)))
          throw Leave();
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
        t.kind = Av::kTuple;
        t.items.assign(st.end() - in.a, st.end());
        for (auto& i : t.items) stay_alone(i);
        st.resize(st.size() - static_cast<size_t>(in.a));
        st.push_back(std::move(t));
        break;
      }
      case BOp::UNPACK_SEQUENCE: {
        const Av t = st.back();
        if (t.kind != Av::kTuple || t.items.size() != static_cast<size_t>(in.a)) throw Leave();
        st.pop_back();
        st.insert(st.end(), t.items.rbegin(), t.items.rend());
        break;
      }
      case BOp::CALL: call(in, st); break;
      default: throw Leave();
    }
  }

  int step_flow(const BIn& in, Frame& f) {
    auto& st = f.stack;
    switch (in.op) {
      case BOp::POP_JUMP: {
        if (in.a >= 2) {
          const Av a = typed(st.back());
          const bool none = a.kind == Av::kObject && a.object == Py_None;
          if (!none && !a.is_number()) throw Leave();
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
      default: throw Leave();
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
      t.kind = Av::kTuple;
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
    if (slot.kind == Av::kFree) {
      s = {RegionSource::kFree, slot.index, {}, {}};
    } else if (slot.kind == Av::kEntry) {
      s = r_->sources[slot.index];
      if (s.where != RegionSource::kSlot) throw Leave();
      s.where = RegionSource::kCell;
    } else {
      throw Leave();
    }
    return looked_up(std::move(s));
  }
  // What is found at a place that only other code changes.
  Av looked_up(RegionSource where) {
    PyObject* o = fetch(where, entry_);
    if (!o) throw Leave();
    const int s = source(std::move(where));
    const Av a = typed_source(s);
    if (a.kind != Av::kEntry || array_of_value(a)) return a;
    if (!is_of_use(o)) throw Leave();  // and it is not kept alive for nothing
    return typed_[s] = known_object(s, o);
  }
  static bool is_of_use(PyObject* o) {
    return PyModule_CheckExact(o) || PyCFunction_CheckExact(o) ||
           (PyType_Check(o) &&
            !PyType_HasFeature(reinterpret_cast<PyTypeObject*>(o), Py_TPFLAGS_HEAPTYPE));
  }
  Av module_of(const Av& a) {
    if (a.kind == Av::kObject && PyModule_CheckExact(a.object)) return a;
    throw Leave();
  }

  void unary(UnaryOp op, std::vector<Av>& st) {
    Av r;
    if (op == UnaryOp::kNot) {
      r = bool_of(emit(Op::kBNot, truth(st.back())));
    } else {
      const Av a = num(st.back());
      if (a.of_numpy() && a.kind == Av::kBool) throw Leave();
      switch (op) {
        case UnaryOp::kNeg:
          r = a.kind == Av::kFloat ? float_of(emit(Op::kFNeg, a.v[0]))
                                   : int_of(emit(Op::kINeg, as_int(a)));
          r.index = a.index;
          break;
        case UnaryOp::kPos: r = a.kind == Av::kBool ? int_of(as_int(a)) : a; break;
        case UnaryOp::kInvert:
          if (a.kind != Av::kInt) throw Leave();
          r = int_of(emit(Op::kIXor, a.v[0], icon(-1)));
          r.index = a.index;
          break;
        default: throw Leave();
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
    if (a.kind == Av::kBool || b.kind == Av::kBool || op == BinaryOp::kPow ||
        !underflow_is_ignored(*r_))
      throw Leave();
    const bool floats = a.kind == Av::kFloat || b.kind == Av::kFloat;
    r_->numpy = true;
    if (floats && op != BinaryOp::kAdd && op != BinaryOp::kSub && op != BinaryOp::kMul &&
        op != BinaryOp::kTrueDiv)
      throw Leave();
    Av r = plain_binary(op, a, b);
    if (r.kind == Av::kFloat) emit(Op::kQuiet, r.v[0], as_float(a), as_float(b));
    r.index = 1;
    return r;
  }
  Av plain_binary(BinaryOp op, const Av& a, const Av& b) {
    if (a.kind == Av::kFloat || b.kind == Av::kFloat) return float_binary(op, a, b);
    if (op == BinaryOp::kTrueDiv) {
      const int x = as_exact_float(a), y = as_exact_float(b);
      return float_of(emit(Op::kFDiv, x, y));
    }
    if (op == BinaryOp::kPow) return int_of(power(as_int(a), as_int(b)));
    const int x = as_int(a), y = as_int(b);
    const bool bools = a.kind == Av::kBool && b.kind == Av::kBool;
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
      default: throw Leave();
    }
  }
  // By squares: none of the products is larger than the power itself.
  int power(int x, int n) {
    int64_t e;
    if (!is_const(n, &e) || e < 0 || e > kLargestPower) throw Leave();
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
      default: throw Leave();
    }
  }

  Av compare(CompareOp op, const Av& a, const Av& b) {
    if (a.is_numpy_bool() || b.is_numpy_bool()) throw Leave();
    Av r = plain_compare(op, a, b);
    r.index = a.of_numpy() || b.of_numpy();
    return r;
  }
  Av plain_compare(CompareOp op, const Av& a, const Av& b) {
    const bool floats = a.kind == Av::kFloat || b.kind == Av::kFloat;
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
    throw Leave();
  }

  // --- ranges
  Av range(const std::vector<Av>& args) {
    if (args.empty() || args.size() > 3) throw Leave();
    std::vector<int> v;
    for (auto& a : args) {
      const Av n = num(a);
      if (n.kind == Av::kFloat || (n.kind == Av::kBool && n.of_numpy())) throw Leave();
      v.push_back(as_int(n));
    }
    int64_t step = 1;
    if (v.size() == 3 && (!is_const(v[2], &step) || step == 0 || step != static_cast<int>(step)))
      throw Leave();
    Av r;
    r.kind = Av::kRange;
    r.v = {v.size() == 1 ? icon(0) : v[0], v.size() == 1 ? v[0] : v[1], kNoValue};
    r.index = static_cast<int>(step);
    return r;
  }
  Av iterator(const Av& a) {
    if (a.kind == Av::kCounter || a.kind == Av::kRangeIter) return a;
    if (a.kind != Av::kRange) throw Leave();
    Av it;
    it.index = a.index;
    const int start = a.v[0], stop = a.v[1];
    it.v[0] = start;
    if (a.index == 1) {
      it.kind = Av::kCounter;
      it.v[1] = stop;
      return it;
    }
    it.kind = Av::kRangeIter;
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
    if (it.kind == Av::kCounter) {
      condition_ = emit(Op::kILt, it.v[0], it.v[1]);
      const int item = emit(Op::kIBelow, it.v[0], it.v[1]);
      In next = ins(Op::kIAdd, Type::kI64, item, icon(1));
      there.v[0] = f_.add(block_, next);
      other_.stack.push_back(int_of(item));
    } else if (it.kind == Av::kRangeIter) {
      condition_ = emit(Op::kINe, it.v[1], icon(0));
      there.v[0] = f_.add(block_, ins(Op::kIAdd, Type::kI64, it.v[0], icon(it.index)));
      there.v[1] = f_.add(block_, ins(Op::kISub, Type::kI64, it.v[1], icon(1)));
      other_.stack.push_back(int_of(it.v[0]));
    } else {
      throw Leave();
    }
    jumps_if_ = false;
    st.resize(st.size() - static_cast<size_t>(1 + in.b - in.a));
  }

  // --- elements
  Av item(const Av& of, const Av& index) {
    if (of.kind == Av::kTuple) {
      const Av i = typed(index);
      int64_t k = 0;
      if (i.kind != Av::kInt || i.of_numpy() || !is_const(i.v[0], &k)) throw Leave();
      const auto n = static_cast<int64_t>(of.items.size());
      if (k < 0) k += n;
      if (k < 0 || k >= n) throw Leave();
      return of.items[static_cast<size_t>(k)];
    }
    const Array* a = array_of_value(of);
    if (!a) throw Leave();
    const int offset = offset_of(*a, index);
    Av r = a->format == 'd' ? float_of(emit(Op::kLoadF64, a->data, offset))
                            : int_of(emit(Op::kLoadI64, a->data, offset));
    r.index = 1;
    return r;
  }
  void store_item(const Av& value, const Av& of, const Av& index) {
    const Array* a = array_of_value(of);
    if (!a || !array_view(object_at(of.index), true)) throw Leave();
    const Av v = num(value);
    if (a->format != 'd' && v.kind == Av::kFloat) throw Leave();
    const int x = a->format == 'd' ? as_float(v) : as_int(v);
    const int offset = offset_of(*a, index);
    r_->needs[static_cast<size_t>(a->need)].written = true;
    stores_ = true;
    f_.add(block_,
           ins(a->format == 'd' ? Op::kStoreF64 : Op::kStoreI64, Type::kNone, a->data, offset, x));
  }
  // Bytes to an element, whose indices are looked at first.
  int offset_of(const Array& a, const Av& index) {
    std::vector<Av> indices{index};
    if (index.kind == Av::kTuple) indices = index.items;
    if (indices.size() != static_cast<size_t>(a.rank)) throw Leave();
    int offset = kNoValue;
    for (int k = 0; k < a.rank; ++k) {
      const Av i = num(indices[static_cast<size_t>(k)]);
      if (i.kind != Av::kInt) throw Leave();
      const int size = a.sizes[static_cast<size_t>(k)];
      const int zero = icon(0);
      const int from_end = f_.add(block_, ins(Op::kIAdd, Type::kI64, i.v[0], size));
      const int at = emit(Op::kSelect, emit(Op::kILt, i.v[0], zero), from_end, i.v[0]);
      check(emit(Op::kIGe, at, zero));
      check(emit(Op::kILt, at, size));
      const int bytes =
          f_.add(block_, ins(Op::kIMul, Type::kI64, at, a.strides[static_cast<size_t>(k)]));
      offset =
          offset == kNoValue ? bytes : f_.add(block_, ins(Op::kIAdd, Type::kI64, offset, bytes));
    }
    return offset;
  }
  Av array_attribute(const Array& a, const std::string& name) {
    if (name == "ndim") return int_of(icon(a.rank));
    if (name == "size") {
      int n = a.sizes[0];
      for (int k = 1; k < a.rank; ++k)
        n = f_.add(block_, ins(Op::kIMul, Type::kI64, n, a.sizes[static_cast<size_t>(k)]));
      return int_of(n);
    }
    if (name != "shape") throw Leave();
    Av t;
    t.kind = Av::kTuple;
    for (int n : a.sizes) t.items.push_back(int_of(n));
    return t;
  }

  // --- calls
  void call(const BIn& in, std::vector<Av>& st) {
    if (in.obj) throw Leave();
    const size_t base = st.size() - static_cast<size_t>(in.a + 2 - in.b);
    const bool null_first = st[base].kind == Av::kNull,
               null_second = in.b != 0 || st[base + 1].kind == Av::kNull;
    if (null_first == null_second) throw Leave();
    const Av fn = st[null_first ? base + 1 : base];
    if (fn.kind != Av::kObject) throw Leave();
    const std::vector<Av> args(st.end() - in.a, st.end());
    const Av r = result_of(fn.object, args);
    st.resize(base);
    st.push_back(r);
  }
  Av result_of(PyObject* fn, const std::vector<Av>& args) {
    if (const char* name = function_of("math", fn)) return math(name, args);
    const char* named = function_of("builtins", fn);
    const std::string_view builtin = named ? named : "";
    if (fn == reinterpret_cast<PyObject*>(&PyRange_Type)) return range(args);
    if (builtin == "len" && args.size() == 1)
      if (const Array* x = array_of_value(args[0])) return int_of(x->sizes[0]);
    std::vector<Av> a;
    for (auto& x : args) a.push_back(num(x));
    for (auto& x : a)
      if (x.of_numpy() && (x.kind == Av::kBool || builtin == "round")) throw Leave();
    if (a.size() == 1) {
      if (fn == reinterpret_cast<PyObject*>(&PyLong_Type))
        return a[0].kind == Av::kFloat ? int_of(emit(Op::kFToI, a[0].v[0])) : int_of(as_int(a[0]));
      if (fn == reinterpret_cast<PyObject*>(&PyFloat_Type)) return float_of(as_float(a[0]));
      if (fn == reinterpret_cast<PyObject*>(&PyBool_Type)) return bool_of(truth(a[0]));
      if (builtin == "abs") {
        Av r = a[0].kind == Av::kFloat ? float_of(emit(Op::kFAbs, a[0].v[0]))
                                       : int_of(emit(Op::kIAbs, as_int(a[0])));
        r.index = a[0].index;
        return r;
      }
      if (builtin == "round")
        return a[0].kind == Av::kFloat ? rounded(region::Function1::k_rint, a[0].v[0])
                                       : int_of(as_int(a[0]));
    }
    if (a.size() == 2 && builtin == "pow") return binary(BinaryOp::kPow, a[0], a[1]);
    if (a.size() == 2 && builtin == "divmod") {
      Av t;
      t.kind = Av::kTuple;
      t.items = {binary(BinaryOp::kFloorDiv, a[0], a[1]), binary(BinaryOp::kMod, a[0], a[1])};
      return t;
    }
    const bool least = builtin == "min";
    if (a.size() >= 2 && (least || builtin == "max")) {
      Av best = a[0];
      for (size_t k = 1; k < a.size(); ++k) {
        if (a[k].kind != best.kind || a[k].index != best.index) throw Leave();
        const Av better = compare(least ? CompareOp::kLt : CompareOp::kGt, a[k], best);
        best.v[0] = emit(Op::kSelect, better.v[0], a[k].v[0], best.v[0]);
      }
      return best;
    }
    throw Leave();
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
        if (a[0].of_numpy()) throw Leave();
        if (a[0].kind != Av::kFloat) return int_of(as_int(a[0]));
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
        throw Leave();
      const int x = as_float(a[0]), y = as_float(a[1]);
      In in = ins(Op::kCall2, Type::kF64, x, y);
      in.imm = static_cast<int64_t>(f);
      in.exit = exit_here();
      return float_of(f_.add(block_, in));
    }
    throw Leave();
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
        if (in.op == Op::kInput)
          for (auto& need : r_->needs)
            if (need.word == in.imm &&
                (need.kind == RegionNeed::kInt || need.kind == RegionNeed::kFloat))
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
      if (p.kind != RegionPiece::kInt && p.kind != RegionPiece::kFloat) return;
      const int v = values[static_cast<size_t>(p.at)];
      const auto [it, fresh] = known.try_emplace(v);
      if (fresh) it->second = sources_of(v);
      p.sources = it->second;
    };
    for (size_t k = 0; k < r_->exits.size(); ++k)
      for (auto* part : {&r_->exits[k].slots, &r_->exits[k].stack})
        for (RegionPiece& p : *part) note(note, p, f_.exits[k].values);
  }

  std::unique_ptr<Region> finish() {
    note_sources();
    r_->words = std::max<size_t>({f_.words(), static_cast<size_t>(words_), 1});
    r_->text = f_.print();
    const auto order = region::reverse_postorder(f_);
    r_->first_line = INT_MAX;
    for (auto& [instr, versions] : versions_) {
      if (loop_end_[instr] < 0) continue;
      r_->first_line = std::min(r_->first_line, code_.instrs[instr].line);
      r_->last_line = std::max(r_->last_line, code_.instrs[loop_end_[instr]].line);
    }
    if (config().strict && !stores_) r_->reference = region::interpreted(f_);
    r_->code = region::compiled(std::move(f_));
    return std::move(r_);
  }

  const CodeInfo& code_;
  const Region::Frame entry_;
  std::unique_ptr<Region> r_;
  region::Function f_;
  int64_t words_ = 0;
  int poll_ = -1;
  std::map<std::pair<Type, int64_t>, int> constants_;
  std::map<int, Av> typed_;      // by source
  std::map<int, Array> arrays_;  // the same
  std::map<int, bool> quiet_;    // the same
  bool stores_ = false;
  std::vector<bool> merges_, stored_;  // by instruction; by slot
  std::vector<int> loop_end_;
  std::map<int, std::vector<Version>> versions_;
  std::vector<Pending> pending_;
  // while an instruction is followed
  int block_ = 0, from_ = 0, instr_ = 0, exit_ = kNoExit, condition_ = kNoValue;
  bool jumps_if_ = true;
  Frame* now_ = nullptr;    // no instruction changes slots before it may leave
  std::vector<Av> before_;  // the stack
  Frame other_;
};

py::object steal(PyObject* o) {
  if (!o) throw py::error_already_set();
  return py::reinterpret_steal<py::object>(o);
}

double real(int64_t bits) {
  double x;
  std::memcpy(&x, &bits, sizeof x);
  return x;
}

// Which of two NaN a sum is, compilers choose, CPython's among them.
bool same_word(int64_t a, int64_t b) {
  return a == b || ((a ^ b) == INT64_MIN && std::isnan(real(a)));
}

struct Maker {
  const Region& r;
  const Region::Frame& frame;
  const int64_t* words;

  py::object entry(int64_t source) const {
    return py::reinterpret_borrow<py::object>(fetch(r.sources[static_cast<size_t>(source)], frame));
  }
  // One of the given objects, where it is that number.
  PyObject* given(const RegionPiece& p) const {
    for (int s : p.sources) {
      PyObject* o = fetch(r.sources[static_cast<size_t>(s)], frame);
      int64_t n = 0;
      if (!o) continue;
      if (p.kind == RegionPiece::kFloat) {
        if (!PyFloat_CheckExact(o)) continue;
        n = bits_of(PyFloat_AS_DOUBLE(o));
      } else if (!PyLong_CheckExact(o) || !as_int64(o, &n)) {
        continue;
      }
      if (n == words[p.at]) return o;
    }
    return nullptr;
  }
  py::object integer(int64_t n) const { return steal(PyLong_FromLongLong(n)); }
  py::object range(int64_t start, const py::object& stop, int64_t step) const {
    return steal(PyObject_CallFunctionObjArgs(reinterpret_cast<PyObject*>(&PyRange_Type),
                                              integer(start).ptr(), stop.ptr(), integer(step).ptr(),
                                              nullptr));
  }
  py::object iter(const py::object& o) const { return steal(PyObject_GetIter(o.ptr())); }
  py::object make(const RegionPiece& p) const {
    const int64_t* w = words + p.at;
    if (PyObject* o = given(p)) return py::reinterpret_borrow<py::object>(o);
    switch (p.kind) {
      case RegionPiece::kNull: return {};
      case RegionPiece::kEntry: return entry(p.at);
      case RegionPiece::kObject: return py::reinterpret_borrow<py::object>(p.object);
      case RegionPiece::kFree: {
        Py_ssize_t n = 0;
        return py::reinterpret_borrow<py::object>(closure_of(frame.func, &n)[p.at]);
      }
      case RegionPiece::kInt: return integer(w[0]);
      case RegionPiece::kFloat: return steal(PyFloat_FromDouble(real(w[0])));
      case RegionPiece::kBool: return py::bool_(w[0] != 0);
      case RegionPiece::kNumpyInt: return r.numpy_int(integer(w[0]));
      case RegionPiece::kNumpyFloat: return r.numpy_float(real(w[0]));
      case RegionPiece::kNumpyBool: return w[0] ? r.numpy_true : r.numpy_false;
      case RegionPiece::kRange: return range(w[0], integer(w[1]), p.step);
      case RegionPiece::kCounter: return iter(range(w[0], integer(w[1]), 1));
      case RegionPiece::kRangeIter: {
        const py::object far = steal(PyNumber_Multiply(integer(w[1]).ptr(), integer(p.step).ptr()));
        return iter(range(w[0], steal(PyNumber_Add(integer(w[0]).ptr(), far.ptr())), p.step));
      }
      case RegionPiece::kTuple: {
        py::tuple t(p.items.size());
        for (size_t k = 0; k < p.items.size(); ++k)
          PyTuple_SET_ITEM(t.ptr(), k, make(p.items[k]).release().ptr());
        return t;
      }
      case RegionPiece::kTagged:
        switch (static_cast<RegionTag>(w[0])) {
          case RegionTag::kNull: return {};
          case RegionTag::kInt: return integer(w[1]);
          case RegionTag::kFloat: return steal(PyFloat_FromDouble(real(w[1])));
          case RegionTag::kBool: return py::bool_(w[1] != 0);
          case RegionTag::kNumpyInt: return r.numpy_int(integer(w[1]));
          case RegionTag::kNumpyFloat: return r.numpy_float(real(w[1]));
          case RegionTag::kNumpyBool: return w[1] ? r.numpy_true : r.numpy_false;
          case RegionTag::kEntry: return entry(w[1]);
          case RegionTag::kObject: return r.objects[static_cast<size_t>(w[1])];
        }
    }
    return {};
  }
};

}  // namespace

bool Region::enter(const Frame& frame, int64_t* buffer, Views* views) const {
  if (frame.slots.size() != slots || frame.stack.size() != stack) return false;
  for (size_t k = 0; k < slots; ++k)
    if (nulls[k] != !frame.slots[k]) return false;
  for (size_t k = 0; k < stack; ++k)
    if (nulls[slots + k] != !frame.stack[k]) return false;
  for (auto& need : needs)
    if (!meets(*this, need, fetch(sources[static_cast<size_t>(need.source)], frame), buffer, views))
      return false;
  if (numpy && !underflow_is_ignored(*this)) return false;
  if (poll_word >= 0) buffer[poll_word] = reinterpret_cast<int64_t>(interpreter_breaker().address);
  return true;
}

const RegionExit& Region::run(const Frame& frame, int64_t* buffer,
                              std::vector<py::object>* to_slots,
                              std::vector<py::object>* to_stack) {
  ++runs;
  int exit = -1;
  if (reference) {
    std::vector<int64_t> copy(buffer, buffer + words);
    exit = reference->run(copy.data());
    // where others wait, the code would leave at its first poll
    if (interpreter_is_awaited()) {
      std::copy(copy.begin(), copy.end(), buffer);
    } else {
      const int left = code->run(buffer);
      PIJIT_CHECK(interpreter_is_awaited() ||
                      (left == exit && std::equal(copy.begin(), copy.end(), buffer, same_word)),
                  "a region's code differs from its interpreter: exit ", exit, " and ", left, "\n",
                  text);
      exit = left;
    }
  } else {
    exit = code->run(buffer);
  }
  RegionExit& e = exits[static_cast<size_t>(exit)];
  ++e.count;
  const Maker maker{*this, frame, buffer};
  for (auto& p : e.slots) to_slots->push_back(maker.make(p));
  for (auto& p : e.stack) to_stack->push_back(maker.make(p));
  return e;
}

int Region::visit(visitproc visit, void* arg) const {
  for (auto& s : sources) {
    Py_VISIT(s.module.ptr());
    Py_VISIT(s.name.ptr());
  }
  for (auto& n : needs) Py_VISIT(n.object.ptr());
  for (auto* o :
       {&numpy_float, &numpy_int, &numpy_true, &numpy_false, &errors, &usual_errors, &geterr})
    Py_VISIT(o->ptr());
  for (auto& o : objects) Py_VISIT(o.ptr());
  return 0;
}

std::unique_ptr<Region> make_region(const Code& code, int instr, const Region::Frame& frame) {
  return RegionBuilder(code, instr, frame).build();
}

}  // namespace pijit
