#include "capture/regions/region.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>

#include "base/error.h"
#include "capture/regions/made.h"
#include "capture/regions/frames.h"
#include "capture/regions/generators.h"
#include "capture/regions/twister.h"
#include "entry/guard.h"
#include "objects/data.h"
#include "objects/ndarray.h"
#include "python/quiet_lookup.h"
#include "python/compat.h"
#include "python/hook.h"
#include "python/names.h"
#include "python/warnings_raise.h"
#include "python/quirks.h"
#include "runtime/fp_status.h"

namespace pijit {

bool as_int64(PyObject* o, int64_t* n) {
  int overflow = 0;
  *n = PyLong_AsLongLongAndOverflow(o, &overflow);
  return overflow == 0;
}
std::optional<RegionKind> number_kind(const Region& r, PyObject* o, int64_t* word) {
  if (PyLong_CheckExact(o))
    return as_int64(o, word) ? std::optional(RegionKind::kInt) : std::nullopt;
  if (PyFloat_CheckExact(o)) {
    *word = bits_of(PyFloat_AS_DOUBLE(o));
    return RegionKind::kFloat;
  }
  if (PyBool_Check(o)) {
    *word = o == Py_True;
    return RegionKind::kBool;
  }
  for (size_t k = 0; k < r.numpy_types.size(); ++k) {
    if (reinterpret_cast<PyObject*>(Py_TYPE(o)) != r.numpy_types[k].ptr()) continue;
    const regions::Dtype& d = regions::kDtypes[k];
    if (d.base == RegionKind::kComplex) return std::nullopt;
    if (d.base == RegionKind::kFloat) {
      *word = bits_of(PyFloat_AsDouble(o));
    } else if (d.base == RegionKind::kBool) {
      *word = o == r.numpy_true.ptr();
    } else {
      const auto n = py::reinterpret_steal<py::object>(PyNumber_Index(o));
      if (!n || !as_int64(n.ptr(), word)) return std::nullopt;
    }
    return d.kind;
  }
  return std::nullopt;
}

std::optional<RegionKind> complex_kind(const Region& r, PyObject* o, int64_t* words) {
  RegionKind kind = RegionKind::kNull;
  if (PyComplex_CheckExact(o)) kind = RegionKind::kComplex;
  for (size_t k = 0; k < r.numpy_types.size(); ++k)
    if (reinterpret_cast<PyObject*>(Py_TYPE(o)) == r.numpy_types[k].ptr() &&
        regions::kDtypes[k].base == RegionKind::kComplex)
      kind = regions::kDtypes[k].kind;
  if (kind == RegionKind::kNull) return std::nullopt;
  const Py_complex z = PyComplex_AsCComplex(o);
  if (PyErr_Occurred()) return PyErr_Clear(), std::nullopt;
  words[0] = bits_of(z.real);
  words[1] = bits_of(z.imag);
  return kind;
}

namespace {
py::object steal(PyObject* o) {
  if (!o) throw py::error_already_set();
  return py::reinterpret_steal<py::object>(o);
}
py::object integer(int64_t n) { return steal(PyLong_FromLongLong(n)); }
}  // namespace

py::object number_object(const Region& r, RegionKind kind, int64_t word) {
  switch (kind) {
    case RegionKind::kInt: return integer(word);
    case RegionKind::kFloat: return steal(PyFloat_FromDouble(real_of(word)));
    case RegionKind::kBool: return py::bool_(word != 0);
    case RegionKind::kNumpyBool: return word ? r.numpy_true : r.numpy_false;
    case RegionKind::kCharacter: return steal(PyUnicode_FromOrdinal(static_cast<int>(word)));
    default: break;
  }
  const regions::Dtype* d = regions::dtype_of(kind);
  if (!d) return {};
  const py::object& type = r.numpy_types[static_cast<size_t>(d - regions::kDtypes)];
  return d->base == RegionKind::kFloat ? type(real_of(word)) : type(integer(word));
}

py::object complex_object(const Region& r, RegionKind kind, const int64_t* words) {
  py::object z = steal(PyComplex_FromDoubles(real_of(words[0]), real_of(words[1])));
  const regions::Dtype* d = regions::dtype_of(kind);
  return d ? py::object(r.numpy_types[static_cast<size_t>(d - regions::kDtypes)](z)) : z;
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

// CPython's type for iterators over ASCII, which has no name in C.
static bool is_over_ascii(const PyTypeObject* t) {
  return !(t->tp_flags & Py_TPFLAGS_HEAPTYPE) &&
         t->tp_name == std::string_view("str_ascii_iterator");
}

IteratorPlace iterator_place(PyObject* it) {
  const PyTypeObject* const known[] = {&PyListIter_Type,      &PySeqIter_Type,
                                       &PyTupleIter_Type,     &PyBytesIter_Type,
                                       &PyByteArrayIter_Type, &PyUnicodeIter_Type};
  const bool is_known =
      std::find(std::begin(known), std::end(known), Py_TYPE(it)) != std::end(known);
  if (!(is_known || is_over_ascii(Py_TYPE(it))) || Py_REFCNT(it) != 1) return {};
  try {
    const auto reduced = py::reinterpret_borrow<py::tuple>(py::handle(it).attr("__reduce__")());
    IteratorPlace p;
    if (reduced.size() < 3 || !as_int64(py::object(reduced[2]).ptr(), &p.next) || p.next < 0)
      return {};  // it has come to its end
    p.over = py::object(py::tuple(reduced[1])[0]).ptr();
    if (PyList_CheckExact(p.over) || PyTuple_CheckExact(p.over) || is_bytes(p.over) ||
        is_narrow_text(p.over))
      return p;
    return numpy_is_loaded() && Py_TYPE(p.over) == library.ndarray.type() ? p : IteratorPlace{};
  } catch (py::error_already_set&) {
    return {};
  }
}

PyObject* fetch(const RegionSource& s, const Region::Frame& f) {
  switch (s.where) {
    case RegionSource::kSlot: return f.slots[static_cast<size_t>(s.index)];
    case RegionSource::kStack: return f.stack[static_cast<size_t>(s.index)];
    case RegionSource::kIterated: return iterator_place(f.stack[static_cast<size_t>(s.index)]).over;
    case RegionSource::kFree: {
      Py_ssize_t n = 0;
      PyObject** cells = closure_of(s.module ? s.module.ptr() : f.func, &n);
      return s.index < n ? PyCell_GET(cells[s.index]) : nullptr;
    }
    case RegionSource::kCell: {
      PyObject* cell = f.slots[static_cast<size_t>(s.index)];
      return cell && PyCell_Check(cell) ? PyCell_GET(cell) : nullptr;
    }
    case RegionSource::kGlobal: {
      PyObject* globals = PyFunction_GetGlobals(s.module ? s.module.ptr() : f.func);
      bool unsure = false;
      if (PyObject* o = quiet_item(globals, s.name.ptr(), &unsure); o || unsure) return o;
      PyObject* builtins = builtins_of(globals);
      return builtins ? quiet_item(builtins, s.name.ptr()) : nullptr;
    }
    case RegionSource::kModule:
      if (!PyModule_CheckExact(s.module.ptr())) return nullptr;  // it was given another class
      return quiet_item(PyModule_GetDict(s.module.ptr()), s.name.ptr());
    case RegionSource::kItem: {
      PyObject* tuple = fetch(*s.tuple, f);
      const bool has = tuple && PyTuple_CheckExact(tuple) && s.index < PyTuple_GET_SIZE(tuple);
      return has ? PyTuple_GET_ITEM(tuple, s.index) : nullptr;
    }
  }
  return nullptr;
}

static bool is_quiet(PyObject* o, int depth, Py_ssize_t* items_left) {
  if (o == Py_None || PyLong_CheckExact(o) || PyFloat_CheckExact(o) || PyBool_Check(o) ||
      PyUnicode_CheckExact(o) || PyBytes_CheckExact(o) || PyComplex_CheckExact(o))
    return true;
  if (PyDict_CheckExact(o)) return PyDict_GET_SIZE(o) == 0;
  if (depth == 0 || !(PyList_CheckExact(o) || PyTuple_CheckExact(o)) ||
      (*items_left -= PySequence_Fast_GET_SIZE(o)) < 0)
    return false;
  PyObject** items = PySequence_Fast_ITEMS(o);
  return std::all_of(items, items + PySequence_Fast_GET_SIZE(o),
                     [&](PyObject* i) { return i && is_quiet(i, depth - 1, items_left); });
}
bool is_quiet(PyObject* o, int depth) {
  Py_ssize_t items_left = 1 << 16;
  return is_quiet(o, depth, &items_left);
}

bool underflow_is_ignored(const Region& r) {
  if (r.errors.attr("get")().is(r.usual_errors)) return true;
  return numpy_ignores(kFpUnderflow);
}

bool is_tuple_of_numbers(PyObject* o, int deep) {
  constexpr int kMostDeep = 4;
  if (!PyTuple_CheckExact(o) || PyTuple_GET_SIZE(o) == 0 || deep > kMostDeep) return false;
  int64_t n;
  for (Py_ssize_t k = 0; k < PyTuple_GET_SIZE(o); ++k)
    if (PyObject* x = PyTuple_GET_ITEM(o, k); !(PyLong_CheckExact(x) && as_int64(x, &n)) &&
                                              !PyFloat_CheckExact(x) && !PyBool_Check(x) &&
                                              !is_tuple_of_numbers(x, deep + 1))
      return false;
  return true;
}

bool is_bytes(PyObject* o) { return PyBytes_CheckExact(o) || PyByteArray_CheckExact(o); }

bool is_narrow_text(PyObject* o) {
  return PyUnicode_CheckExact(o) && text_is_ready(o) && PyUnicode_KIND(o) == PyUnicode_1BYTE_KIND;
}

char format_of(const Py_buffer& b) {
  if (is_bytes(b.obj)) return regions::kByte.format;
  if (PyUnicode_Check(b.obj)) return regions::kText.format;
  const std::string_view format = b.format ? b.format : "";
  if (format.size() == 2 && format[0] == 'Z')  // of complex numbers: that of their parts
    return static_cast<char>(std::toupper(format[1]));
  return format.size() == 1 ? format[0] : '\0';
}

using BufferView = Region::View;
BufferView array_view(PyObject* o, bool written) {
  BufferView view(nullptr, [](Py_buffer* b) {
    PyBuffer_Release(b);
    delete b;
  });
  const bool text = is_narrow_text(o);
  const bool array = numpy_is_loaded() && Py_TYPE(o) == library.ndarray.type();
  if (!text && !is_bytes(o) && !array) return view;
  if (array && written && !is_written_quietly(ndarray_fields(o)->flags)) return view;
  auto* b = new Py_buffer;
  const int flags = PyBUF_STRIDES | PyBUF_FORMAT | (written ? PyBUF_WRITABLE : 0);
  if (text ? PyBuffer_FillInfo(b, o, PyUnicode_DATA(o), PyUnicode_GET_LENGTH(o), true, flags) < 0
           : PyObject_GetBuffer(o, b, flags) < 0) {
    PyErr_Clear();
    delete b;
    return view;
  }
  view.reset(b);
  const regions::Dtype* d = regions::dtype_of(format_of(*b));
  const Py_ssize_t size = d ? d->bytes : 1;
  bool fits = d && b->itemsize == size && b->ndim >= 1 && b->ndim <= region::ArrayLoop::kMostAxes;
  const auto aligned = static_cast<uintptr_t>(
      d && d->base == RegionKind::kComplex ? size / 2 : size);  // as NumPy has it
  fits = fits && reinterpret_cast<uintptr_t>(b->buf) % aligned == 0;
  for (int k = 0; fits && k < b->ndim; ++k)
    fits = b->strides[k] % size == 0 && (b->strides[k] != 0 || !written);
  if (!fits) view.reset();
  return view;
}

bool is_such_function(PyObject* o, PyObject* f) {
  return PyFunction_Check(o) && !PyFunction_GET_CLOSURE(o) && !PyFunction_GET_CLOSURE(f) &&
         PyFunction_GET_CODE(o) == PyFunction_GET_CODE(f) &&
         PyFunction_GET_GLOBALS(o) == PyFunction_GET_GLOBALS(f) &&
         PyFunction_GET_DEFAULTS(o) == PyFunction_GET_DEFAULTS(f);
}

namespace {

bool meets(const Region& r, const RegionNeed& need, PyObject* o, int64_t* buffer,
           Region::Views* views) {
  if (!o || need.kind == RegionNeed::kUnset) return !o && need.kind == RegionNeed::kUnset;
  switch (need.kind) {
    case RegionNeed::kUnset: break;
    case RegionNeed::kNumber: return number_kind(r, o, &buffer[need.word]) == need.number;
    case RegionNeed::kComplex: return complex_kind(r, o, &buffer[need.word]) == need.number;
    case RegionNeed::kArray: {
      BufferView view = array_view(o, need.written);
      if (!view || format_of(*view) != need.format || view->ndim != need.rank) return false;
      if (need.packed && view->strides[need.rank - 1] != view->itemsize) return false;
      int64_t* w = &buffer[need.word];
      *w++ = reinterpret_cast<int64_t>(view->buf);
      for (int k = 0; k < need.rank; ++k) {
        if (view->shape[k] > region::kMostLength) return false;
        *w++ = view->shape[k];
      }
      for (int k = 0; k < need.rank; ++k) *w++ = view->strides[k];
      views->arrays.push_back(std::move(view));
      return true;
    }
    case RegionNeed::kList:
      buffer[need.word] = reinterpret_cast<int64_t>(o);
      return PyList_CheckExact(o);
    case RegionNeed::kTuple: return PyTuple_CheckExact(o) && PyTuple_GET_SIZE(o) == need.rank;
    case RegionNeed::kGenerator: {
      PyObject* g = regions::generator_behind(o, need.object.ptr());
      return g && regions::hold_generator(g, &buffer[need.word], &views->generators);
    }
    case RegionNeed::kIs: return o == need.object.ptr();
    case RegionNeed::kFunction: return is_such_function(o, need.object.ptr());
    case RegionNeed::kQuiet: return is_quiet(o);
    case RegionNeed::kPlace: {
      const IteratorPlace p = iterator_place(o);
      buffer[need.word] = p.next;
      return p.over;
    }
    case RegionNeed::kRangeIter: {
      if (Py_REFCNT(o) != 1) return false;  // others hold it, too
      const auto s = range_state(o);
      if (!s || (need.step && s->step != need.step)) return false;
      buffer[need.word] = s->next;
      buffer[need.word + 1] = s->left;
      if (!need.step) buffer[need.word + 2] = s->step;
      return true;
    }
  }
  return false;
}

// Which of two NaN a sum is, compilers choose, CPython's among them.
bool same_word(int64_t a, int64_t b) {
  return a == b || ((a ^ b) == INT64_MIN && std::isnan(real_of(a)));
}

struct Maker {
  const Region& r;
  const Region::Frame& frame;
  const int64_t* words;
  Region::RestOfCall rest_of_call;
  std::map<int, py::object> tuples;  // made so far, of those that several hold

  py::object entry(int64_t source) const {
    return py::reinterpret_borrow<py::object>(fetch(r.sources[static_cast<size_t>(source)], frame));
  }
  // One of the given objects, where it is that number.
  PyObject* given(const RegionPiece& p) const {
    for (int s : p.sources) {
      PyObject* o = fetch(r.sources[static_cast<size_t>(s)], frame);
      int64_t n = 0;
      if (o && number_kind(r, o, &n) == p.kind && n == words[p.at]) return o;
    }
    return nullptr;
  }
  static py::object held(int64_t word) {
    return py::reinterpret_borrow<py::object>(reinterpret_cast<PyObject*>(word));
  }
  py::object function(const RegionPiece& p) {
    py::object f = steal(PyFunction_New(p.object, PyFunction_GetGlobals(frame.func)));
    if (p.items.empty()) return f;
    py::tuple cells(p.items.size());
    for (size_t k = 0; k < p.items.size(); ++k)
      PyTuple_SET_ITEM(cells.ptr(), k, make(p.items[k]).release().ptr());
    if (PyFunction_SetClosure(f.ptr(), cells.ptr()) < 0) throw py::error_already_set();
    return f;
  }
  py::object callee(const RegionPiece& p) {
    std::vector<py::object> slots, stack;
    for (size_t k = 0; k < p.items.size(); ++k)
      (k < static_cast<size_t>(p.source) ? slots : stack).push_back(make(p.items[k]));
    return rest_of_call(p.object, p.step, std::move(slots), std::move(stack));
  }
  py::object range(int64_t start, const py::object& stop, int64_t step) const {
    return steal(PyObject_CallFunctionObjArgs(reinterpret_cast<PyObject*>(&PyRange_Type),
                                              integer(start).ptr(), stop.ptr(), integer(step).ptr(),
                                              nullptr));
  }
  py::object iter(const py::object& o) const { return steal(PyObject_GetIter(o.ptr())); }
  py::object make(const RegionPiece& p) {
    const int64_t* w = words + p.at;
    if (PyObject* o = given(p)) return py::reinterpret_borrow<py::object>(o);
    switch (p.kind) {
      case RegionKind::kNull: return {};
      case RegionKind::kEntry: return entry(p.at);
      case RegionKind::kObject: return py::reinterpret_borrow<py::object>(p.object);
      case RegionKind::kFree: {
        Py_ssize_t n = 0;
        return py::reinterpret_borrow<py::object>(closure_of(frame.func, &n)[p.at]);
      }
      case RegionKind::kRange: return range(w[0], integer(w[1]), p.step ? p.step : w[2]);
      case RegionKind::kRow:
        return steal(PyObject_GetItem(entry(p.source).ptr(), integer(w[0]).ptr()));
      case RegionKind::kNewArray:
        return py::reinterpret_borrow<py::object>(
            reinterpret_cast<const regions::MadeArray*>(w[0])->object);
      case RegionKind::kPart: {
        const bool is_made = p.source < 0;  // what it is of
        py::tuple index(p.items.size() - is_made);
        for (size_t k = 0; k < index.size(); ++k) {
          const bool is_new = p.items[k].kind == RegionKind::kNull;
          index[k] = is_new ? py::none() : make(p.items[k]);
        }
        const py::object of = is_made ? make(p.items.back()) : entry(p.source);
        const py::object taken = steal(PyObject_GetItem(of.ptr(), index.ptr()));
        return p.reversed ? py::object(taken.attr("T")) : taken;
      }
      case RegionKind::kAxis: {
        const int64_t start = w[1] ? w[0] : 0, stop = w[1] ? w[0] + w[1] * w[2] : 0;
        return steal(PySlice_New(integer(start).ptr(), stop < 0 ? Py_None : integer(stop).ptr(),
                                 integer(w[2]).ptr()));
      }
      case RegionKind::kHeld: return held(w[0]);
      case RegionKind::kSlice:
        return steal(
            PySlice_New(make(p.items[0]).ptr(), make(p.items[1]).ptr(), make(p.items[2]).ptr()));
      case RegionKind::kMade: return function(p);
      case RegionKind::kCallee: return callee(p);
      case RegionKind::kContent: {
        py::object cell = p.source < 0 ? steal(PyCell_New(nullptr)) : entry(p.source);
        if (PyCell_Set(cell.ptr(), make(p.items[0]).ptr()) < 0) throw py::error_already_set();
        return cell;
      }
      case RegionKind::kListIter:
      case RegionKind::kTupleIter:
      case RegionKind::kArrayIter: {
        py::object it = iter(make(p.items[0]));
        it.attr("__setstate__")(integer(w[0]));
        return it;
      }
      case RegionKind::kCounter: return iter(range(w[0], integer(w[1]), 1));
      case RegionKind::kRangeIter: {
        const int64_t step = p.step ? p.step : w[2];
        const py::object far = steal(PyNumber_Multiply(integer(w[1]).ptr(), integer(step).ptr()));
        return iter(range(w[0], steal(PyNumber_Add(integer(w[0]).ptr(), far.ptr())), step));
      }
      case RegionKind::kEnumerate:
        return steal(PyObject_CallFunctionObjArgs(reinterpret_cast<PyObject*>(&PyEnum_Type),
                                                  make(p.items[0]).ptr(), integer(w[0]).ptr(),
                                                  nullptr));
      case RegionKind::kZip: {
        py::tuple iterators(p.items.size());
        for (size_t k = 0; k < p.items.size(); ++k)
          PyTuple_SET_ITEM(iterators.ptr(), k, make(p.items[k]).release().ptr());
        return steal(
            PyObject_CallObject(reinterpret_cast<PyObject*>(&PyZip_Type), iterators.ptr()));
      }
      case RegionKind::kTuple: {
        if (p.source) return held(w[0]);
        if (const auto it = tuples.find(p.same); it != tuples.end()) return it->second;
        py::tuple t(p.items.size());
        for (size_t k = 0; k < p.items.size(); ++k)
          PyTuple_SET_ITEM(t.ptr(), k, make(p.items[k]).release().ptr());
        if (p.same) tuples.emplace(p.same, t);
        return t;
      }
      case RegionKind::kTagged: {
        const auto kind = static_cast<RegionKind>(w[0]);
        if (kind == RegionKind::kEntry) return entry(w[1]);
        if (kind == RegionKind::kHeld) return held(w[1]);
        if (is_complex(kind)) return complex_object(r, kind, w + 1);
        if (kind == RegionKind::kObject) return r.objects[static_cast<size_t>(w[1])];
        return number_object(r, kind, w[1]);
      }
      default:
        return is_complex(p.kind) ? complex_object(r, p.kind, w) : number_object(r, p.kind, w[0]);
    }
    return {};
  }
};

}  // namespace

// How many calls CPython would let the innermost function make.
int Region::calls_left() const {
  return Py_GetRecursionLimit() - recursion_depth(PyThreadState_Get()) -
         static_cast<int>(calls_deep) - (kComparisonsAreCalls ? 2 : 1);
}
bool Region::has_room() const {
  return (functions.empty() && !kComparisonsAreCalls) || calls_left() >= 0;
}
bool Region::has_generators() const {
  return std::any_of(needs.begin(), needs.end(),
                     [](const RegionNeed& n) { return n.kind == RegionNeed::kGenerator; });
}
// How many calls of itself the C stack has room for.
int Region::stack_calls() const {
  constexpr size_t kFrame = 256, kReserve = 256 << 10;
  const size_t left = stack_left();
  return left < kReserve ? 0 : static_cast<int>((left - kReserve) / (kFrame + 16 * code_size));
}

bool Region::enter(const Frame& frame, int64_t* buffer, Views* views) const {
  if (frame.slots.size() != slots || frame.stack.size() != stack) return false;
  for (size_t k = 0; k < slots; ++k)
    if (nulls[k] != !frame.slots[k]) return false;
  for (size_t k = 0; k < stack; ++k)
    if (nulls[slots + k] != !frame.stack[k]) return false;
  for (auto& f : functions)
    if (PyFunction_GET_CODE(f.func.ptr()) != f.code.ptr() ||
        PyFunction_GetDefaults(f.func.ptr()) != f.defaults.ptr())
      return false;
  for (PyObject* method : draws)
    if (!regions::is_draw_of_python(method)) return false;
  if (!has_room()) return false;
  if (recursive) buffer[depth_word] = std::min(calls_left(), stack_calls());
  for (auto& need : needs)
    if (!meets(*this, need, fetch(sources[static_cast<size_t>(need.source)], frame), buffer, views))
      return false;
  if (numpy && !underflow_is_ignored(*this)) return false;
  if (poll_word >= 0) buffer[poll_word] = reinterpret_cast<int64_t>(interpreter_breaker().address);
  return true;
}

const RegionExit& Region::run(const Frame& frame, int64_t* buffer, RestOfCall rest_of_call,
                              Left* left) {
  ++runs;
  int exit = -1;
  std::optional<regions::Arena> arena;  // outlives what is made of it
  if (arena_word >= 0) buffer[arena_word] = reinterpret_cast<int64_t>(&arena.emplace());
  if (arena) {
    const NoCollection quiet;           // whose finalizers could change what code has read
    std::optional<NumpyErrors> raises;  // what NumPy would warn of, CPython does anew, and is told
    std::optional<WarningsRaise> warnings;
    if (calls_numpy) raises.emplace(NumpyErrors::kRaise), warnings.emplace();
    exit = code->run(buffer);
  } else if (reference) {
    std::vector<int64_t> copy(buffer, buffer + words);
    exit = reference->run(copy.data());
    // where others wait, the code would leave at its first poll
    if (interpreter_is_awaited()) {
      std::copy(copy.begin(), copy.end(), buffer);
    } else {
      const int other = code->run(buffer);
      const bool returns = exits[static_cast<size_t>(exit)].returns;
      const bool same =
          recursive ? returns == exits[static_cast<size_t>(other)].returns &&
                          (!returns || same_word(copy[0], buffer[0]))
                    : other == exit && std::equal(copy.begin(), copy.end(), buffer, same_word);
      PIJIT_CHECK(interpreter_is_awaited() || same,
                  "a region's code differs from its interpreter: exit ", exit, " and ", other, "\n",
                  text);
      exit = other;
    }
  } else {
    exit = code->run(buffer);
  }
  if (arena && arena->error) left->error = py::reinterpret_borrow<py::object>(arena->error);
  RegionExit& e = exits[static_cast<size_t>(exit)];
  ++e.count;
  if (recursive && !e.returns) return e;
  // What is made may start a collection, whose finalizers may let go of what lists hold.
  std::vector<py::object> held;
  auto hold = [&](auto& self, const RegionPiece& p) -> void {
    for (auto& i : p.items) self(self, i);
    if (p.kind == RegionKind::kHeld || (p.kind == RegionKind::kTuple && p.source))
      held.push_back(Maker::held(buffer[p.at]));
    if (p.kind == RegionKind::kTagged && buffer[p.at] == static_cast<int64_t>(RegionKind::kHeld))
      held.push_back(Maker::held(buffer[p.at + 1]));
  };
  for (auto* part : {&e.slots, &e.stack})
    for (auto& p : *part) hold(hold, p);
  Maker maker{*this, frame, buffer, rest_of_call, {}};
  for (auto& p : e.slots) left->slots.push_back(maker.make(p));
  for (auto& p : e.stack) left->stack.push_back(maker.make(p));
  return e;
}

int Region::visit(visitproc visit, void* arg) const {
  for (auto& s : sources) {
    Py_VISIT(s.module.ptr());
    Py_VISIT(s.name.ptr());
  }
  for (auto& n : needs) Py_VISIT(n.object.ptr());
  for (auto* o : {&numpy_true, &numpy_false, &errors, &usual_errors}) Py_VISIT(o->ptr());
  for (auto& t : numpy_types) Py_VISIT(t.ptr());
  for (auto& o : objects) Py_VISIT(o.ptr());
  for (auto& f : functions) {
    Py_VISIT(f.func.ptr());
    Py_VISIT(f.code.ptr());
    Py_VISIT(f.defaults.ptr());
  }
  return 0;
}

}  // namespace pijit
