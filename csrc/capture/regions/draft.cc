#include "capture/regions/draft.h"

#include "base/error.h"
#include "capture/regions/complex.h"
#include "capture/regions/generators.h"
#include "objects/data.h"
#include "objects/ndarray.h"
#include "python/names.h"

namespace pijit::regions {

int Draft::source(RegionSource s) {
  for (size_t k = 0; k < r->sources.size(); ++k)
    if (r->sources[k] == s) return static_cast<int>(k);
  r->sources.push_back(std::move(s));
  return static_cast<int>(r->sources.size()) - 1;
}

Av Draft::given(RegionSource::Where where, size_t k, PyObject* o) {
  if (!o) return {};
  Av a;
  a.kind = K::kEntry;
  a.index = source({where, static_cast<int>(k), {}, {}});
  return a;
}

PyObject* Draft::object_at(int source) const { return fetch(r->sources[source], entry); }

int Draft::input(Type t) {
  In in{Op::kInput, t};
  in.imm = words++;
  return f.add(0, in);
}

int Draft::constant(Type t, int64_t bits) {
  const auto [it, fresh] = constants_.try_emplace({t, bits}, 0);
  if (fresh) {
    In in{Op::kConst, t};
    in.imm = bits;
    it->second = f.add(0, in);
  }
  return it->second;
}

int Draft::icon(int64_t n) { return constant(Type::kI64, n); }

int Draft::fcon(double x) { return constant(Type::kF64, bits_of(x)); }

bool Draft::is_const(int v, int64_t* n) const {
  *n = f.instrs[v].imm;
  return f.instrs[v].op == Op::kConst;
}

Av Draft::input_of(RegionKind kind) {
  Av a;
  const Dtype* d = dtype_of(kind);
  a.index = d ? d->format : 0;
  a.kind = d ? d->base : kind;
  for (int k = 0; k < a.values(); ++k) a.v[static_cast<size_t>(k)] = input(a.type(k));
  return a;
}

Av Draft::typed_source(int s) {
  if (auto it = typed_sources.find(s); it != typed_sources.end()) return it->second;
  Av a;
  a.kind = K::kEntry;
  a.index = s;
  PyObject* o = object_at(s);
  int64_t found[2];
  uses_numpy();
  auto needed = [&](RegionNeed::Kind what, RegionKind kind) {
    RegionNeed need{what, s, {}};
    need.number = kind;
    need.word = static_cast<int>(words);
    a = input_of(kind);
    r->needs.push_back(std::move(need));
  };
  if (const auto kind = number_kind(*r, o, found)) {
    needed(RegionNeed::kNumber, *kind);
  } else if (const auto z = o ? complex_kind(*r, o, found) : std::nullopt) {
    needed(RegionNeed::kComplex, *z);
  } else if (o == Py_None) {
    a = known_object(s, o);
  }
  return typed_sources.emplace(s, a).first->second;
}

bool Draft::uses_numpy() {
  if (r->numpy_types.empty() && numpy_is_loaded()) {
    const py::object core = py::getattr(python_module("numpy"), "_core", py::none());  // from 2 on
    if (core.is_none()) return false;
    r->errors = core.attr("umath").attr("_extobj_contextvar");
    const py::object nothing_set = python_module("contextvars").attr("Context")();
    r->usual_errors = nothing_set.attr("run")(r->errors.attr("get"));
    for (const Dtype& d : kDtypes) r->numpy_types.push_back(share(numpy_attribute(d.name)));
    r->numpy_true = share(numpy_attribute("True_"));
    r->numpy_false = share(numpy_attribute("False_"));
  }
  return !r->numpy_types.empty();
}

PyTypeObject* Draft::class_of(const Av& z) const {
  const Dtype* d = z.dtype();
  return d ? reinterpret_cast<PyTypeObject*>(r->numpy_types[static_cast<size_t>(d - kDtypes)].ptr())
           : &PyComplex_Type;
}

Av Draft::as_items(const Av& a) {
  constexpr Py_ssize_t kMostItems = 16;
  PyObject* o = a.kind == K::kEntry    ? object_at(a.index)
                : a.kind == K::kObject ? a.object
                                       : nullptr;
  if (!o || !PyTuple_CheckExact(o) || PyTuple_GET_SIZE(o) > kMostItems) return a;
  if (auto it = tuples_.find(a.index); a.kind == K::kEntry && it != tuples_.end())
    return it->second;
  Av t;
  t.kind = K::kTuple;
  const auto n = static_cast<int>(PyTuple_GET_SIZE(o));
  if (a.kind == K::kEntry) {
    RegionNeed need{RegionNeed::kTuple, a.index, {}};
    need.rank = n;
    r->needs.push_back(std::move(need));
  }
  for (int k = 0; k < n; ++k) {
    PyObject* item = PyTuple_GET_ITEM(o, k);
    if (a.kind == K::kObject) {
      t.items.push_back(constant_object(item));
      continue;
    }
    RegionSource s{RegionSource::kItem, k, {}, {}};
    s.tuple = std::make_shared<const RegionSource>(r->sources[a.index]);
    Av i;
    i.kind = K::kEntry;
    i.index = source(std::move(s));
    t.items.push_back(std::move(i));
  }
  if (a.kind == K::kEntry) tuples_.emplace(a.index, t);
  return t;
}

const Array* Draft::array_of_value(const Av& a) {
  if (a.kind == K::kNewArray) {
    const auto [it, fresh] = made_.try_emplace(a.v[0]);
    if (fresh) {
      it->second = {-1, a.v[1], static_cast<int>(a.items.size()), static_cast<char>(a.index),
                    {}, {}};
      for (const Av& axis : a.items) {
        it->second.sizes.push_back(axis.v[0]);
        it->second.strides.push_back(axis.v[1]);
      }
    }
    return &it->second;
  }
  if (a.kind != K::kEntry) return nullptr;
  if (auto it = arrays.find(a.index); it != arrays.end()) return &it->second;
  PyObject* o = object_at(a.index);
  if (!o || !(is_bytes(o) || is_narrow_text(o) || uses_numpy())) return nullptr;
  const auto view = array_view(o, false);
  if (!view || std::any_of(view->shape, view->shape + view->ndim,
                           [](Py_ssize_t n) { return n > region::kMostLength; }))
    return nullptr;
  Array x{static_cast<int>(r->needs.size()), 0, view->ndim, format_of(*view), {}, {}};
  RegionNeed need{RegionNeed::kArray, a.index, {}};
  need.word = static_cast<int>(words);
  need.format = x.format;
  need.rank = x.rank;
  need.packed = view->strides[x.rank - 1] == view->itemsize;
  x.data = input(Type::kPtr);
  for (int k = 0; k < x.rank; ++k) {
    x.sizes.push_back(input(Type::kI64));
    f.lengths.push_back(f.instrs[static_cast<size_t>(x.sizes.back())].imm);
  }
  for (int k = 0; k < x.rank; ++k) {
    const int stride = input(Type::kI64);
    x.strides.push_back(k + 1 == x.rank && need.packed ? icon(view->itemsize) : stride);
  }
  r->needs.push_back(std::move(need));
  return &arrays.emplace(a.index, std::move(x)).first->second;
}

int ListKinds::made_at(const void* code, int instr) {
  const auto [it, fresh] = places_.try_emplace({code, instr}, static_cast<int>(kinds_.size()));
  if (fresh) kinds_.emplace_back();
  return canonical(it->second);
}
int ListKinds::known(Kind kind) {
  for (size_t k = 0; k < kinds_.size(); ++k)
    if (kinds_[k].sure && kinds_[k].same_items(kind)) return static_cast<int>(k);
  kinds_.push_back(kind);
  return static_cast<int>(kinds_.size()) - 1;
}
int ListKinds::canonical(int kind, int deep) {
  constexpr int kMostDeep = 4;
  Kind k = of(kind);
  if (!k.sure || deep > kMostDeep) return kind;
  if (k.inner >= 0) k.inner = canonical(k.inner, deep + 1);
  return known(k);
}
ListKinds::Kind ListKinds::read(int kind) {
  asked_ |= !of(kind).sure;
  return of(kind);
}
void ListKinds::note(int kind, Kind item) {
  Kind& now = kinds_[static_cast<size_t>(kind)];
  if (now.sure || (now.item != K::kNull && !item.sure)) return;
  grown_ |= !now.same_items(item);
  now = std::move(item);
}

static ListKinds::Kind kind_of_item(ListKinds& kinds, PyObject* item, int deep);
// What the items of a list are, by the first one.
static ListKinds::Kind kind_of_items(ListKinds& kinds, PyObject* list, int deep = 0) {
  return PyList_GET_SIZE(list) == 0 ? ListKinds::Kind{}
                                    : kind_of_item(kinds, PyList_GET_ITEM(list, 0), deep);
}
static ListKinds::Kind kind_of_item(ListKinds& kinds, PyObject* first, int deep) {
  constexpr int kMostDeep = 4, kMostItems = 8;
  if (PyLong_CheckExact(first)) return {K::kInt, -1, true, {}};
  if (PyFloat_CheckExact(first)) return {K::kFloat, -1, true, {}};
  if (PyBool_Check(first)) return {K::kBool, -1, true, {}};
  if (is_narrow_text(first) && PyUnicode_GET_LENGTH(first) == 1)
    return {K::kCharacter, -1, true, {}};
  if (deep == kMostDeep) return {};
  if (PyTuple_CheckExact(first) && PyTuple_GET_SIZE(first) <= kMostItems) {
    ListKinds::Kind tuple{K::kTuple, -1, PyTuple_GET_SIZE(first) > 0, {}};
    for (Py_ssize_t k = 0; k < PyTuple_GET_SIZE(first); ++k) {
      tuple.items.push_back(kind_of_item(kinds, PyTuple_GET_ITEM(first, k), deep + 1));
      if (tuple.items.back().item == K::kNull) return {};
    }
    return tuple.sure ? tuple : ListKinds::Kind{};
  }
  if (!PyList_CheckExact(first)) return {};
  const ListKinds::Kind inner = kind_of_items(kinds, first, deep + 1);
  return {K::kHeld, kinds.known(inner), true, {}};
}

const List* Draft::list_of_value(const Av& a) {
  if (a.kind != K::kEntry) return nullptr;
  if (auto it = lists_.find(a.index); it != lists_.end()) return &it->second;
  PyObject* o = object_at(a.index);
  if (!o || !PyList_CheckExact(o)) return nullptr;
  List x;
  const ListKinds::Kind kind = kind_of_items(lists, o);
  if (kind.sure) {
    x.kind = lists.known(kind);
  } else {
    const RegionSource& s = r->sources[a.index];
    constexpr int kMostPlaces = 1 << 16;
    x.kind = lists.made_at(nullptr, s.where * kMostPlaces + s.index % kMostPlaces);
  }
  RegionNeed need{RegionNeed::kList, a.index, {}};
  need.word = static_cast<int>(words);
  x.object = input(Type::kI64);
  r->needs.push_back(std::move(need));
  return &lists_.emplace(a.index, x).first->second;
}

int Draft::generator_of_value(const Av& a) {
  if (a.kind != K::kEntry) return kNoValue;
  if (auto it = generators_.find(a.index); it != generators_.end()) return it->second;
  PyObject* o = object_at(a.index);
  if (!o || !is_generator(o) || !uses_numpy()) return kNoValue;
  int64_t found;
  std::vector<HeldGenerator> held;
  if (!hold_generator(PyMethod_Check(o) ? PyMethod_GET_SELF(o) : o, &found, &held)) return kNoValue;
  PyObject* known =
      PyMethod_Check(o) ? PyMethod_GET_FUNCTION(o) : reinterpret_cast<PyObject*>(Py_TYPE(o));
  RegionNeed need{RegionNeed::kGenerator, a.index, py::reinterpret_borrow<py::object>(known)};
  need.word = static_cast<int>(words);
  r->needs.push_back(std::move(need));
  return generators_.emplace(a.index, input(Type::kI64)).first->second;
}

Av Draft::known_object(int s, PyObject* o) {
  const bool function = is_such_function(o, o);
  r->needs.push_back({function ? RegionNeed::kFunction : RegionNeed::kIs, s,
                      py::reinterpret_borrow<py::object>(o)});
  return object(o);
}

Av Draft::object(PyObject* o) {
  Av a;
  a.kind = K::kObject;
  a.object = o;
  keep(o);
  return a;
}

void Draft::keep(PyObject* o) {
  for (auto& k : r->objects)
    if (k.ptr() == o) return;
  r->objects.push_back(py::reinterpret_borrow<py::object>(o));
}

int Draft::object_number(PyObject* o) const {
  for (size_t k = 0; k < r->objects.size(); ++k)
    if (r->objects[k].ptr() == o) return static_cast<int>(k);
  PIJIT_CHECK(false, "an object of a region is not kept");
}

bool Draft::dies_quietly(const Av& a) {
  if (a.kind != K::kEntry) return true;
  const auto [it, fresh] = quiet_.try_emplace(a.index, is_quiet(object_at(a.index)));
  if (fresh && it->second) r->needs.push_back({RegionNeed::kQuiet, a.index, {}});
  return it->second;
}

bool Draft::can_be_tagged(const Av& a) {
  return a.kind == K::kNull || a.kind == K::kInt || a.kind == K::kFloat || a.kind == K::kBool ||
         a.kind == K::kComplex || a.kind == K::kObject || a.kind == K::kTagged ||
         a.kind == K::kHeld || a.kind == K::kCharacter || a.kind == K::kPart ||
         a.kind == K::kNewArray || (a.kind == K::kEntry && dies_quietly(a));
}

void Draft::drop(const Av& a) {
  if (a.kind == K::kArray) leave("an array is computed for nothing");
  if (a.kind == K::kEntry && PyCell_Check(object_at(a.index))) return;  // its frame keeps it
  if (!dies_quietly(a) && typed(a).kind == K::kEntry && !array_of_value(a))
    leave(str_cat("a variable that holds ", a_(described(a)), " gets another value"),
          "give the number another name");
}

void Draft::drop_content(const Av& cell) {
  RegionSource s = r->sources[static_cast<size_t>(cell.index)];
  if (s.where != RegionSource::kSlot) leave("a variable of an outer function is set");
  s.where = RegionSource::kCell;
  Av content;
  content.kind = K::kEntry;
  content.index = source(std::move(s));
  if (object_at(content.index))
    drop(content);
  else
    r->needs.push_back({RegionNeed::kUnset, content.index, {}});
}

Av Draft::held_twice(Av& a) {
  for (Av& i : a.items) held_twice(i);
  if (is_to_be_made(a) && !a.same) a.same = ++numbered_;
  return a;
}

Av Draft::typed(const Av& a) { return a.kind == K::kEntry ? typed_source(a.index) : a; }

bool Draft::is_over_items(Av& a) {
  PyObject* const iterated = iterator_place(object_at(a.index)).over;
  const Av items = is_tuple_of_numbers(iterated) ? constant_object(iterated) : Av{};
  if (PyTuple_CheckExact(iterated) && !can_be_chosen_from(items)) return true;
  Av over;
  over.kind = K::kEntry;
  over.index = source({RegionSource::kIterated, r->sources[a.index].index, {}, {}});
  if (items.kind == K::kTuple) {
    known_object(over.index, iterated);
    a = place_in(a, K::kTupleIter, items);
    return true;
  }
  const Array* x = array_of_value(over);
  const bool list = list_of_value(over) != nullptr;
  if (!list && (!x || x->rank > 2)) return true;
  a = place_in(a, list ? K::kListIter : K::kArrayIter, over);
  return true;
}

Av Draft::place_in(const Av& iterator, RegionKind kind, const Av& over) {
  RegionNeed need{RegionNeed::kPlace, iterator.index, {}};
  need.word = static_cast<int>(words);
  Av it = number(kind, input(Type::kI64));
  r->needs.push_back(std::move(need));
  it.items = {over};
  return it;
}

bool Draft::is_known_iterator(Av& a) {
  PyObject* o = object_at(a.index);
  if (iterator_place(o).over) return is_over_items(a);
  if (!Py_IS_TYPE(o, &PyRangeIter_Type)) return true;
  const auto s = range_state(o);
  if (!s || Py_REFCNT(o) != 1) return false;
  RegionNeed need{RegionNeed::kRangeIter, a.index, {}};
  need.step = s->step == 1 ? 1 : 0;
  need.word = static_cast<int>(words);
  const int next = input(Type::kI64), left = input(Type::kI64);
  const int step = need.step ? kNoValue : input(Type::kI64);
  r->needs.push_back(std::move(need));
  Av it;
  it.v[0] = next;
  if (s->step == 1) {
    it.kind = K::kCounter;
    it.index = 1;
    it.v[1] = f.add(0, ins(Op::kIAdd, Type::kI64, next, left));
  } else {
    it.kind = K::kRangeIter;
    it.v = {next, left, step};
  }
  a = std::move(it);
  return true;
}

Av Draft::constant_object(PyObject* o) {
  int64_t n;
  if (PyLong_CheckExact(o) && as_int64(o, &n)) return int_of(icon(n));
  if (PyFloat_CheckExact(o)) return float_of(fcon(PyFloat_AS_DOUBLE(o)));
  if (PyBool_Check(o)) return bool_of(constant(Type::kB1, o == Py_True));
  if (PyComplex_CheckExact(o)) {
    const Py_complex z = PyComplex_AsCComplex(o);
    return complex_of(fcon(z.real), fcon(z.imag));
  }
  if (PySlice_Check(o)) {  // from CPython 3.14 on
    const auto* s = reinterpret_cast<PySliceObject*>(o);
    Av slice;
    slice.kind = K::kSlice;
    for (PyObject* end : {s->start, s->stop, s->step}) slice.items.push_back(constant_object(end));
    return slice;
  }
  if (PyTuple_CheckExact(o)) {
    Av t;
    t.kind = K::kTuple;
    bool numbers = true;
    for (Py_ssize_t k = 0; k < PyTuple_GET_SIZE(o); ++k) {
      t.items.push_back(constant_object(PyTuple_GET_ITEM(o, k)));
      numbers &= t.items.back().is_number() || t.items.back().kind == K::kTuple;
    }
    if (numbers && !t.items.empty()) {
      keep(o);
      t.index = 1;  // this very object
      t.v[0] = icon(reinterpret_cast<int64_t>(o));
      return t;
    }
  }
  return object(o);
}

int Draft::poll_address() {
  if (poll_ < 0) {
    r->poll_word = static_cast<int>(words);
    poll_ = input(Type::kPtr);
  }
  return poll_;
}

int Draft::arena() {
  if (arena_ < 0) {
    r->arena_word = static_cast<int>(words);
    arena_ = input(Type::kI64);
  }
  return arena_;
}

void Draft::note_function(PyObject* func) {
  for (auto& f : r->functions)
    if (f.func.ptr() == func) return;
  r->functions.push_back({py::reinterpret_borrow<py::object>(func),
                          py::reinterpret_borrow<py::object>(PyFunction_GET_CODE(func)),
                          py::reinterpret_borrow<py::object>(PyFunction_GetDefaults(func))});
}

std::string Draft::described(const Av& a) const {
  switch (a.kind) {
    case K::kInt:
    case K::kFloat:
    case K::kBool:
    case K::kComplex:
      if (const Dtype* d = a.dtype()) return str_cat("np.", d->name);
      if (a.kind == K::kComplex) return "complex";
      return a.kind == K::kInt ? "int" : a.kind == K::kFloat ? "float" : "bool";
    case K::kEntry: {
      PyObject* o = object_at(a.index);
      if (!numpy_is_loaded() || Py_TYPE(o) != library.ndarray.type()) return Py_TYPE(o)->tp_name;
      const py::handle array(o);
      const int axes = py::cast<int>(array.attr("ndim"));
      return str_cat("array of ", text_of(py::str(array.attr("dtype"))), " with ", axes,
                     axes == 1 ? " axis" : " axes");
    }
    case K::kObject: return Py_TYPE(a.object)->tp_name;
    case K::kCharacter: return "str";
    case K::kTuple: return "tuple";
    case K::kRange: return "range";
    case K::kCounter:
    case K::kRangeIter: return "iterator over a range";
    case K::kRow: return "row of an array";
    case K::kPart: return "part of an array";
    case K::kArray:
    case K::kNewArray: return "array that is computed";
    case K::kSlice: return "slice";
    case K::kMade: return "function that is made";
    case K::kHeld: return "list";
    case K::kListIter: return "iterator over a list";
    case K::kTupleIter: return "iterator over a tuple";
    case K::kEnumerate: return "enumerate";
    case K::kZip: return "zip";
    case K::kArrayIter: return "iterator over an array";
    case K::kFree: return "variable of an outer function";
    default: break;
  }
  return "variable without a value";
}

}  // namespace pijit::regions
