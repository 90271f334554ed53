#include "capture/regions/numpy_calls.h"

#include <algorithm>
#include <span>
#include <string_view>
#include <utility>

#include "base/error.h"
#include "capture/regions/array_runs.h"
#include "capture/regions/complex.h"
#include "capture/regions/numbers.h"
#include "objects/ndarray.h"
#include "python/convert.h"
#include "python/names.h"
#include "python/quiet_lookup.h"
#include "python/warnings_raise.h"
#include "runtime/record.h"

namespace pijit::regions {

namespace {

// --- as a run has it

struct Argument {
  enum Kind : uint8_t { kView, kMade, kNumber, kObject, kTuple } kind = kObject;
  Described view;                         // of kView; its rank also of kMade
  char format = 0;                        // of both
  size_t word = 0;                        // of kMade, kNumber: the first one
  RegionKind number = RegionKind::kNull;  // of kNumber
  bool written = false;                   // of kView
  int64_t usual = 0;                      // a value of it, to see what the call gives
  PyObject* object = nullptr;             // of kObject; of kView: its dtype. The region keeps it
  std::vector<Argument> items;            // of kTuple
  mutable py::object last;                // of kView: what the call before was given
};

struct Call {
  const Region* region = nullptr;
  PyObject *fn = nullptr, *names = nullptr;  // the region keeps them
  std::vector<Argument> args;
  std::vector<int64_t> words;
  unsigned runs = 0;
  bool stores = false;  // args[0][args[1]] = args[2]
  // Of the result:
  bool is_array = false;
  int rank = 0;
  const Dtype* dtype = nullptr;           // of an array
  PyObject* descr = nullptr;              // the same; the region keeps it
  RegionKind number = RegionKind::kNull;  // else
  std::array<int64_t, 2> value{};
};

py::object object_of(const Call& c, const Argument& a) {
  const int64_t* w = c.words.data();
  switch (a.kind) {
    case Argument::kObject: return py::reinterpret_borrow<py::object>(a.object);
    case Argument::kMade:
      return py::reinterpret_borrow<py::object>(reinterpret_cast<MadeArray*>(w[a.word])->object);
    case Argument::kNumber:
      return is_complex(a.number) ? complex_object(*c.region, a.number, w + a.word)
                                  : number_object(*c.region, a.number, w[a.word]);
    case Argument::kView: {
      const auto rank = static_cast<size_t>(a.view.rank);
      if (a.last && Py_REFCNT(a.last.ptr()) == 1) {
        NdarrayFields* f = ndarray_fields(a.last.ptr());
        if (std::equal(f->shape, f->shape + rank, a.view.sizes(w)) &&
            std::equal(f->strides, f->strides + rank, a.view.strides(w))) {
          f->data = a.view.data(w);
          return a.last;
        }
      }
      return a.last = ndarray_over(a.object, {a.view.sizes(w), rank}, a.view.strides(w),
                                   a.view.data(w), a.written);
    }
    case Argument::kTuple: {
      py::tuple t(a.items.size());
      for (size_t k = 0; k < a.items.size(); ++k)
        PyTuple_SET_ITEM(t.ptr(), k, object_of(c, a.items[k]).release().ptr());
      return t;
    }
  }
  return {};
}

// What a handler of a signal raised meanwhile is no error of the function's.
bool is_of_numpy_code(PyObject* traceback) {
  auto* t = reinterpret_cast<PyTracebackObject*>(traceback);
  if (!t) return true;
  while (t->tb_next) t = t->tb_next;
  const auto frame = py::reinterpret_borrow<py::object>(reinterpret_cast<PyObject*>(t->tb_frame));
  const py::object name =
      py::getattr(frame, "f_globals").attr("get")(py::str("__name__"), py::str(""));
  return py::isinstance<py::str>(name) && text_of(name.ptr()).rfind("numpy", 0) == 0;
}
// The error that is set, where it is no function's of NumPy; null: it was that, and is forgotten.
py::object foreign_error() {
  PyObject *type, *value, *traceback;
  PyErr_Fetch(&type, &value, &traceback);
  PyErr_NormalizeException(&type, &value, &traceback);
  const auto error = py::reinterpret_steal<py::object>(value);
  const bool of_numpy =
      PyErr_GivenExceptionMatches(type, PyExc_Exception) && is_of_numpy_code(traceback);
  if (traceback) PyException_SetTraceback(value, traceback);
  Py_XDECREF(type);
  Py_XDECREF(traceback);
  return of_numpy ? py::object() : error;
}
int64_t failed(Arena* arena) {
  if (!arena->error) arena->error = foreign_error().release().ptr();
  return 0;
}

// An array of its own: nothing else that lives on shows its memory.
bool is_of_its_own(PyObject* made, const std::vector<py::object>& args) {
  if (!is_followed_ndarray(made)) return true;
  for (PyObject* o = made; o; o = ndarray_fields(o)->base) {
    if (!is_followed_ndarray(o)) return false;
    for (const py::object& a : args)
      if (a.ptr() == o) return false;
  }
  return true;
}

int64_t made_of(const Call& c, Arena* arena, py::object made) {
  const NdarrayFields* f = ndarray_fields(made.ptr());
  if (f->descr != c.descr || f->nd != c.rank || !(f->flags & kNdAligned)) return 0;
  if (c.rank == 1 && f->shape[0] > 1 && f->strides[0] != c.dtype->bytes) return 0;
  auto array = std::make_unique<MadeArray>();
  array->data = f->data;
  std::copy_n(f->shape, c.rank, array->sizes.begin());
  std::copy_n(f->strides, c.rank, array->strides.begin());
  array->rank = c.rank;
  array->format = c.dtype->format;
  array->bytes = c.dtype->bytes;
  for (int k = 0; k < c.rank; ++k) array->bytes *= f->shape[k];
  array->object = made.release().ptr();
  arena->arrays.push_back(std::move(array));
  return reinterpret_cast<int64_t>(arena->arrays.back().get());
}

// A MadeArray, or 1 with a number in the call; 0: CPython is to do it.
int64_t run_call(int64_t which, int64_t where, int64_t) {
  auto& c = *reinterpret_cast<Call*>(which);
  auto* arena = reinterpret_cast<Arena*>(where);
  constexpr size_t kMostArrays = 64;
  // Other threads may have run while NumPy worked: what they set is looked at anew by and by.
  constexpr int64_t kLongest = 20'000'000;
  constexpr unsigned kLooks = 16;
  if (c.runs++ % kLooks == 0) {
    const int64_t now = clock_ns();
    if (arena->began == 0) arena->began = now;
    if (now - arena->began > kLongest) return 0;
  }
  if (arena->arrays.size() >= kMostArrays) return 0;
  try {
    std::vector<py::object> args;
    std::vector<PyObject*> given;
    for (const Argument& a : c.args) {
      args.push_back(object_of(c, a));
      given.push_back(args.back().ptr());
    }
    if (c.stores) {
      if (PyObject_SetItem(given[0], given[1], given[2]) == 0) return 1;
      return failed(arena);
    }
    const size_t named = c.names ? static_cast<size_t>(PyTuple_GET_SIZE(c.names)) : 0;
    auto result = py::reinterpret_steal<py::object>(
        PyObject_Vectorcall(c.fn, given.data(), given.size() - named, c.names));
    if (!result) return failed(arena);
    if (c.is_array)
      return is_followed_ndarray(result.ptr()) && is_of_its_own(result.ptr(), args)
                 ? made_of(c, arena, std::move(result))
                 : 0;
    const auto kind = is_complex(c.number) ? complex_kind(*c.region, result.ptr(), c.value.data())
                                           : number_kind(*c.region, result.ptr(), c.value.data());
    return kind == c.number;
  } catch (py::error_already_set&) {
    return 0;
  } catch (const std::bad_alloc&) {
    return 0;
  }
}

// --- as code is made

py::object descr_of_format(char format) {
  const char text[] = {format, '\0'};
  return py::handle(numpy_attribute("dtype"))(text);
}

class CallMaker {
 public:
  CallMaker(Emitter& e, Call& call) : e_(e), call_(call) {}

  Argument argument(const Av& given) {
    const Av a = given.kind == K::kArray ? made_array(e_, given) : e_.d.typed(given);
    Argument r;
    if (a.kind == K::kNewArray) {
      r.kind = Argument::kMade;
      r.format = static_cast<char>(a.index);
      r.view.rank = static_cast<int>(a.items.size());
      r.word = room(1);
      stores_.push_back({r.word, Op::kStoreI64, a.v[0]});
    } else if (is_part(e_, a)) {
      const Av p = part(e_, a);
      r.kind = Argument::kView;
      r.format = dtype_of_part(e_, p).format;
      r.view = {rank_of(p), 0};
      r.view.first = room(r.view.words());
      r.object = kept(descr_of_format(r.format));
      views_.emplace_back(r.view.first, p);
    } else if (a.is_number() || a.kind == K::kComplex) {
      r.kind = Argument::kNumber;
      r.number = number_kind_of(a);
      r.word = room(a.kind == K::kComplex ? 2 : 1);
      const bool real = a.kind == K::kFloat || a.kind == K::kComplex;
      if (!e_.d.is_const(a.v[0], &r.usual)) r.usual = real ? bits_of(1.0) : 1;
      const int x = a.kind == K::kBool ? e_.emit(Op::kBToI, a.v[0]) : a.v[0];
      stores_.push_back({r.word, real ? Op::kStoreF64 : Op::kStoreI64, x});
      if (a.kind == K::kComplex) stores_.push_back({r.word + 1, Op::kStoreF64, a.v[1]});
    } else if (const Av t = e_.d.as_items(a); t.kind == K::kTuple) {
      r.kind = Argument::kTuple;
      for (const Av& i : t.items) r.items.push_back(argument(i));
    } else if (a.kind == K::kObject || a.kind == K::kSlice) {
      r.object = kept(a.kind == K::kObject ? share(a.object) : slice(a));
    } else {
      leave(str_cat("a function of NumPy's is called with ", a_(e_.d.described(a))), "", true);
    }
    return r;
  }
  // Code that writes the words.
  void write() {
    const int memory = e_.d.constant(Type::kPtr, reinterpret_cast<int64_t>(call_.words.data()));
    for (const auto& [first, p] : views_) describe(e_, memory, first, p);
    for (const Store& s : stores_) store_word(e_, memory, s.word, s.op, s.value);
  }

 private:
  struct Store {
    size_t word;
    Op op;
    int value;
  };
  size_t room(size_t words) {
    const size_t first = call_.words.size();
    call_.words.resize(first + words);
    return first;
  }
  PyObject* kept(const py::object& o) {
    e_.d.keep(o.ptr());
    return o.ptr();
  }
  py::object slice(const Av& a) {
    std::array<py::object, 3> made;
    for (size_t k = 0; k < 3; ++k) {
      const Av& i = a.items[k];
      int64_t n = 0;
      if (i.kind == K::kObject)
        made[k] = share(i.object);
      else if (i.kind == K::kInt && !i.index && e_.d.is_const(i.v[0], &n))
        made[k] = py::int_(n);
      else
        leave("a slice beside an array has bounds that change", "", true);
    }
    PyObject* s = PySlice_New(made[0].ptr(), made[1].ptr(), made[2].ptr());
    if (!s) throw py::error_already_set();
    return py::reinterpret_steal<py::object>(s);
  }

  Emitter& e_;
  Call& call_;
  std::vector<Store> stores_;
  std::vector<std::pair<size_t, Av>> views_;
};

// An array to see what a call gives: a matrix that has an inverse, or a unit matrix; of ints,
// places that an axis has.
py::object example_array(int rank, char format, bool unit) {
  constexpr int kSide = 3;
  const py::object np = python_module("numpy");
  py::tuple shape(static_cast<size_t>(rank));
  int64_t n = 1;
  for (int k = 0; k < rank; ++k) shape[static_cast<size_t>(k)] = kSide, n *= kSide;
  const py::object type = descr_of_format(format);
  if (unit && rank >= 2)
    return np.attr("broadcast_to")(np.attr("eye")(kSide), shape).attr("astype")(type);
  py::object x = np.attr("arange")(n);
  const Dtype& d = *dtype_of(format);
  if (d.base == K::kInt || d.base == K::kBool)
    x = x.attr("__mod__")(d.base == K::kInt ? kSide : 2);
  else
    x = x.attr("__mul__")(5).attr("__mod__")(7).attr("__add__")(1).attr("__truediv__")(8);
  return x.attr("astype")(type).attr("reshape")(shape);
}
py::object example_of(const Region& r, const Argument& a, bool unit) {
  switch (a.kind) {
    case Argument::kObject: return share(a.object);
    case Argument::kView:
    case Argument::kMade: return example_array(a.view.rank, a.format, unit);
    case Argument::kNumber: {
      const int64_t words[] = {a.usual, 0};
      return is_complex(a.number) ? complex_object(r, a.number, words)
                                  : number_object(r, a.number, a.usual);
    }
    case Argument::kTuple: {
      py::tuple t(a.items.size());
      for (size_t k = 0; k < a.items.size(); ++k) t[k] = example_of(r, a.items[k], unit);
      return t;
    }
  }
  return {};
}

// What a call gives for such arguments; null: it raised. Throws what a handler of a signal raised.
py::object example_result(const Call& c) {
  const NumpyErrors quiet(NumpyErrors::kIgnore);
  const WarningsRaise warnings;  // NumPy would show them at no line of the program
  for (bool unit : {false, true}) {
    std::vector<py::object> args;
    std::vector<PyObject*> given;
    try {
      for (const Argument& a : c.args) {
        args.push_back(example_of(*c.region, a, unit));
        given.push_back(args.back().ptr());
      }
    } catch (py::error_already_set&) {
      return {};
    }
    const size_t named = c.names ? static_cast<size_t>(PyTuple_GET_SIZE(c.names)) : 0;
    auto result = py::reinterpret_steal<py::object>(
        PyObject_Vectorcall(c.fn, given.data(), given.size() - named, c.names));
    // a view of an argument would be made anew in each run
    if (result && is_of_its_own(result.ptr(), args)) return result;
    if (result) return {};
    if (const py::object error = foreign_error()) {
      PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(error.ptr())), error.ptr());
      throw py::error_already_set();
    }
  }
  return {};
}

bool is_in(std::span<const std::string_view> names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}
constexpr std::string_view kPure[] = {
    "all",        "amax",          "amin",         "any",         "append",    "arange",
    "argmax",     "argmin",        "argsort",      "argwhere",    "around",    "array_equal",
    "average",    "clip",          "column_stack", "concatenate", "convolve",  "copy",
    "correlate",  "count_nonzero", "cross",        "cumprod",     "cumsum",    "diff",
    "dot",        "dstack",        "empty",        "empty_like",  "eye",       "flatnonzero",
    "flip",       "full",          "full_like",    "hstack",      "identity",  "inner",
    "interp",     "isclose",       "kron",         "linspace",    "logspace",  "max",
    "mean",       "median",        "min",          "ones",        "ones_like", "outer",
    "percentile", "prod",          "ptp",          "quantile",    "repeat",    "roll",
    "rot90",      "round",         "searchsorted", "sort",        "stack",     "std",
    "sum",        "take",          "tensordot",    "tile",        "trace",     "tri",
    "tril",       "triu",          "var",          "vdot",        "vstack",    "where",
    "zeros",      "zeros_like"};
constexpr std::string_view kPureLinalg[] = {"cholesky", "cond",         "det",         "eigvalsh",
                                            "inv",      "matrix_power", "matrix_rank", "norm",
                                            "pinv",     "solve"};
constexpr std::string_view kPureFft[] = {"fft",   "fft2",  "fftfreq", "fftn", "fftshift", "ifft",
                                         "ifft2", "ifftn", "irfft",   "rfft", "rfftfreq"};
constexpr std::string_view kPureMethods[] = {
    "all",  "any",       "argmax", "argmin",  "argsort", "astype", "clip",
    "conj", "conjugate", "copy",   "cumprod", "cumsum",  "dot",    "flatten",
    "max",  "mean",      "min",    "prod",    "repeat",  "round",  "searchsorted",
    "std",  "sum",       "take",   "trace",   "var"};

// Of NumPy's own functions of C, of its functions of Python that dispatch, or plain ones: where it
// is from, and its name.
bool comes_from_numpy(PyObject* fn) {
  const std::string_view type = Py_TYPE(fn)->tp_name;
  if (PyCFunction_Check(fn) || type == "numpy._ArrayFunctionDispatcher") return true;
  if (!PyFunction_Check(fn)) return false;
  PyObject* name = PyDict_GetItemString(PyFunction_GET_GLOBALS(fn), "__name__");
  return name && PyUnicode_Check(name) && text_of(name).rfind("numpy.", 0) == 0;
}

// Does a number become an element without a warning or an error?
bool fits_into(const Av& a, const Dtype& d) {
  if (a.of_numpy()) return a.dtype() == &d;
  if (a.kind == K::kComplex) return d.base == K::kComplex;
  return a.kind == K::kBool || (a.kind == K::kFloat && (d.format == 'd' || d.format == 'D')) ||
         (a.kind == K::kInt && (d.base == K::kFloat || d.base == K::kComplex || d.format == 'l'));
}

// A number that a call left, as regions have it in words.
Av read_number(Emitter& e, RegionKind kind, const int64_t* words) {
  const Dtype* d = dtype_of(kind);
  Av r;
  r.kind = d ? d->base : kind;
  r.index = d ? d->format : 0;
  const int memory = e.d.constant(Type::kPtr, reinterpret_cast<int64_t>(words));
  const Op load = r.kind == K::kFloat || r.kind == K::kComplex ? Op::kLoadF64 : Op::kLoadI64;
  for (int k = 0; k < r.values(); ++k)
    r.v[static_cast<size_t>(k)] = e.emit(load, memory, e.d.icon(k * 8));
  if (r.kind == K::kBool) r.v[0] = e.emit(Op::kINe, r.v[0], e.d.icon(0));
  return r;
}

// Is one an array that the function may write to? Those that read three say so.
bool may_write(Emitter& e, PyObject* fn, const std::vector<Av>& args, PyObject* names) {
  constexpr std::string_view kReadThree[] = {"where", "interp", "clip"};
  for (Py_ssize_t k = 0; names && k < PyTuple_GET_SIZE(names); ++k)
    if (text_of(PyTuple_GET_ITEM(names, k)) == "out") return true;
  if (is_ufunc(fn)) return names || args.size() != static_cast<size_t>(ufunc_fields(fn)->nin);
  const py::object name = py::getattr(py::handle(fn), "__name__", py::none());
  if (py::isinstance<py::str>(name) && is_in(kReadThree, text_of(name.ptr()))) return false;
  for (size_t k = 2; k < args.size(); ++k)
    if (is_arrays(e, args[k])) return true;
  return false;
}

}  // namespace

bool is_pure_of_numpy(PyObject* fn) {
  if (!numpy_is_followed()) return false;
  if (is_ufunc(fn)) return find_numpy_attribute(ufunc_fields(fn)->name) == fn;
  if (!comes_from_numpy(fn)) return false;
  const py::handle f(fn);
  const py::object module = py::getattr(f, "__module__", py::none());
  const py::object name = py::getattr(f, "__name__", py::none());
  if (!py::isinstance<py::str>(module) || !py::isinstance<py::str>(name)) return false;
  struct Module {
    std::string_view name;
    std::span<const std::string_view> pure;
  };
  constexpr Module kModules[] = {
      {"numpy", kPure}, {"numpy.linalg", kPureLinalg}, {"numpy.fft", kPureFft}};
  const std::string its = text_of(module.ptr());
  for (const Module& m : kModules)
    if (m.name == its) return is_in(m.pure, text_of(name.ptr()));
  return false;
}

PyObject* pure_array_method(PyObject* name) {
  if (!numpy_is_followed() || !is_in(kPureMethods, text_of(name))) return nullptr;
  return type_lookup(reinterpret_cast<PyTypeObject*>(numpy_attribute("ndarray")), name);
}
bool is_outer(PyObject* o) {
  if (!Py_IS_TYPE(o, &PyMethodDescr_Type) || !numpy_is_followed()) return false;
  const auto* m = reinterpret_cast<PyMethodDescrObject*>(o);
  return reinterpret_cast<PyObject*>(m->d_common.d_type) == numpy_attribute("ufunc") &&
         std::string_view(m->d_method->ml_name) == "outer";
}

bool is_pure_array_method(PyObject* o) {
  if (!Py_IS_TYPE(o, &PyMethodDescr_Type) || !numpy_is_followed()) return false;
  const auto* m = reinterpret_cast<PyMethodDescrObject*>(o);
  return reinterpret_cast<PyObject*>(m->d_common.d_type) == numpy_attribute("ndarray") &&
         is_in(kPureMethods, m->d_method->ml_name);
}

Av called_numpy(Emitter& e, PyObject* fn, const std::vector<Av>& args, PyObject* names) {
  if (!e.d.uses_numpy()) leave("a function of an old NumPy is called");
  if (may_write(e, fn, args, names)) leave("a function of NumPy's writes to an array", "", true);
  if (is_ufunc(fn) && ufunc_fields(fn)->nout != 1)
    leave("a function of NumPy's gives several arrays", "", true);
  auto call = std::make_shared<Call>();
  call->region = e.d.r.get();
  call->fn = fn;
  call->names = names;
  e.d.keep(fn);
  if (names) e.d.keep(names);
  CallMaker maker(e, *call);
  for (const Av& a : args) call->args.push_back(maker.argument(a));
  const py::object result = example_result(*call);
  if (!result) leave("a function of NumPy's has no machine code for these arguments", "", true);
  int64_t found[2];
  if (is_followed_ndarray(result.ptr())) {
    const NdarrayFields* f = ndarray_fields(result.ptr());
    const std::string format = text_of(py::object(py::handle(f->descr).attr("char")).ptr());
    call->dtype = dtype_of(format[0]);
    call->rank = f->nd;
    if (!call->dtype || call->dtype == &kByte || call->dtype == &kText || f->nd < 1 ||
        f->nd > MadeArray::kMostAxes)
      leave("a function gives an array of a dtype that machine code has not", kNumbers, true);
    call->is_array = true;
    const py::object descr = descr_of_format(call->dtype->format);
    e.d.keep(descr.ptr());
    call->descr = descr.ptr();
  } else if (const auto kind = number_kind(*e.d.r, result.ptr(), found)) {
    call->number = *kind;
  } else if (const auto z = complex_kind(*e.d.r, result.ptr(), found)) {
    call->number = *z;
  } else {
    leave("a function of NumPy's gives other things than arrays and numbers", "", true);
  }
  maker.write();
  e.d.r->calls_numpy = true;
  e.d.stores = true;  // its result is another object in each run
  const int made =
      e.call(run_call, e.d.icon(reinterpret_cast<int64_t>(call.get())), e.d.arena(), e.d.icon(0));
  e.d.r->statements.push_back(call);
  if (call->is_array) return new_array(e, made, *call->dtype, call->rank);
  e.check(e.emit(Op::kINe, made, e.d.icon(0)));
  return read_number(e, call->number, call->value.data());
}

void store_by_index(Emitter& e, const Av& of, const Av& index, const Av& value) {
  e.changes("sets items of an array");
  const Av target = part(e, of);
  const Dtype& d = dtype_of_part(e, target);
  const int need = array_of_part(e, target).need;
  if (need >= 0 && !array_view(e.d.object_at(target.index), true))
    leave("an array is set that is not writeable");
  // what is cast might be told, when some is stored
  if (is_arrays(e, value) ? &array_dtype(e, value) != &d : !fits_into(e.d.typed(value), d))
    leave("items of an array are set to those of another dtype", "", true);
  if (!e.d.uses_numpy()) leave("a function of an old NumPy is called");
  auto call = std::make_shared<Call>();
  call->region = e.d.r.get();
  call->stores = true;
  CallMaker maker(e, *call);
  for (const Av* a : {&target, &index, &value}) call->args.push_back(maker.argument(*a));
  call->args[0].written = true;
  maker.write();
  if (need >= 0) e.d.r->needs[static_cast<size_t>(need)].written = true;
  e.d.r->calls_numpy = true;
  const int done =
      e.call(run_call, e.d.icon(reinterpret_cast<int64_t>(call.get())), e.d.arena(), e.d.icon(0));
  e.check(e.emit(Op::kINe, done, e.d.icon(0)));
  e.d.r->statements.push_back(std::move(call));
}

}  // namespace pijit::regions
