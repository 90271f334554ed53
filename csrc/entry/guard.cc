// Guard programs: every source is fetched once, in order, and its guards are checked at once. No
// Python code runs: attributes are read from instance dicts only.
#include <algorithm>
#include <climits>
#include <cmath>

#include "base/config.h"
#include "entry/guard.h"
#include "entry/guard_cache.h"
#include "objects/ndarray.h"
#include "objects/views.h"
#include "python/compat.h"
#include "python/hook.h"
#include "python/lifetime.h"
#include "python/quiet_lookup.h"

namespace pijit {
namespace {

// A new reference, or an error.
PyObject* keep(PyObject* o, std::vector<py::object>* held) {
  if (o)
    held->push_back(py::reinterpret_steal<py::object>(o));
  else
    PyErr_Clear();
  return o;
}

PyObject* global_item(const Source& s, PyObject* name) {
  PyObject* d = s.key.ptr();
  bool unsure = false;
  PyObject* v = quiet_item(d, name, &unsure);
  return v || unsure ? v : quiet_item(builtins_of(d), name);
}

PyObject* sequence_item(const Source& s, PyObject* p, std::vector<py::object>* held) {
  if (PyTuple_Check(p))
    return s.index < PyTuple_GET_SIZE(p) ? PyTuple_GET_ITEM(p, s.index) : nullptr;
  const bool list = PyList_Check(p);
  const Py_ssize_t n = list ? PyList_GET_SIZE(p) : PySequence_Size(p);
  const Py_ssize_t i = s.index < 0 ? n + s.index : s.index;
  if (i < 0 || i >= n) return PyErr_Clear(), nullptr;
  if (list) return PyList_GET_ITEM(p, i);
  return keep(PySequence_GetItem(p, i), held);  // of C code, as a guard saw
}

PyObject* has_key(PyObject* p, PyObject* key) {
  if (!key || (!PyDict_Check(p) && !PyAnySet_Check(p))) return nullptr;
  bool unsure = false;
  const bool has =
      PyDict_Check(p) ? quiet_item(p, key, &unsure) != nullptr : quiet_contains(p, key, &unsure);
  return unsure ? nullptr : has ? Py_True : Py_False;
}

PyObject* computed(const Source& s, const Values& values, std::vector<py::object>* held) {
  PyObject* raw[8];
  std::vector<PyObject*> big;
  PyObject** args = raw;
  if (s.args.size() > 8) {
    big.resize(s.args.size());
    args = big.data();
  }
  for (size_t k = 0; k < s.args.size(); ++k)
    if (!(args[k] = values[s.args[k]])) return nullptr;
  return keep(PyObject_Vectorcall(s.key.ptr(), args, s.args.size(), nullptr), held);
}

PyObject* packed(const Source& s, const Values& values, std::vector<py::object>* held) {
  auto t = py::reinterpret_steal<py::object>(PyTuple_New(static_cast<Py_ssize_t>(s.args.size())));
  for (size_t k = 0; k < s.args.size(); ++k) {
    PyObject* x = values[s.args[k]];
    if (!x) return nullptr;
    PyTuple_SET_ITEM(t.ptr(), static_cast<Py_ssize_t>(k), Py_NewRef(x));
  }
  return keep(t.release().ptr(), held);
}

}  // namespace

PyObject* fetch(const Source& s, const Values& values, PyObject* func, PyObject* const* state,
                std::vector<py::object>* held) {
  PyObject* p = s.parent >= 0 ? values[s.parent] : nullptr;
  if (s.parent >= 0 && !p) return nullptr;
  auto made = [&](PyObject* o) { return keep(o, held); };
  switch (s.kind) {
    case Source::kState: return state[s.index];
    case Source::kClosure: {
      Py_ssize_t n;
      PyObject** c = closure_of(func, &n);
      return s.index < n ? c[s.index] : nullptr;
    }
    case Source::kGlobal: return global_item(s, values[s.parent]);
    case Source::kDictAttr: return own_attribute(p, s.key.ptr());
    case Source::kAttr: {  // an attribute of the class, found through the MRO
      PyObject* v = type_lookup(PyType_Check(p) ? reinterpret_cast<PyTypeObject*>(p) : Py_TYPE(p),
                                s.key.ptr());
      return v;
    }
    case Source::kSlot: {
      PyObject* d = type_lookup(Py_TYPE(p), s.key.ptr());
      if (!d || Py_TYPE(d) != &PyMemberDescr_Type) return nullptr;
      return made(slot_value(d, p));
    }
    case Source::kClassName: {
      if (!PyType_Check(p)) return nullptr;
      return made(PyObject_GetAttr(p, s.key.ptr()));
    }
    case Source::kItem: return sequence_item(s, p, held);
    case Source::kDictItem: {
      PyObject* key = s.other >= 0 ? values[s.other] : s.key.ptr();
      return PyDict_Check(p) && key ? quiet_item(p, key) : nullptr;
    }
    case Source::kHasKey: return has_key(p, s.other >= 0 ? values[s.other] : s.key.ptr());
    case Source::kLength:
      if (PyList_Check(p)) return made(PyLong_FromSsize_t(PyList_GET_SIZE(p)));
      if (PyDict_Check(p)) return made(PyLong_FromSsize_t(PyDict_GET_SIZE(p)));
      return made(PyLong_FromSsize_t(PyObject_Size(p)));  // of C code, as a guard saw
    case Source::kCell: {
      PyObject* v = PyCell_Check(p) ? PyCell_GET(p) : nullptr;
      return v;
    }
    case Source::kFuncClosure: {
      Py_ssize_t n = 0;
      PyObject** c = PyFunction_Check(p) ? closure_of(p, &n) : nullptr;
      return s.index < n ? c[s.index] : nullptr;
    }
    case Source::kFuncDefaults: {
      PyObject* d = PyFunction_Check(p) ? PyFunction_GetDefaults(p) : nullptr;
      return d;
    }
    case Source::kFuncKwDefault: {
      PyObject* d = PyFunction_Check(p) ? PyFunction_GetKwDefaults(p) : nullptr;
      return d ? quiet_item(d, s.key.ptr()) : nullptr;
    }
    case Source::kMethodSelf:
      if (PyCFunction_Check(p)) return method_behind(p) ? PyCFunction_GET_SELF(p) : nullptr;
      return PyMethod_Check(p) ? PyMethod_GET_SELF(p) : nullptr;
    case Source::kMethodFunc:
      if (PyCFunction_Check(p)) return method_behind(p);
      return PyMethod_Check(p)                 ? PyMethod_GET_FUNCTION(p)
             : Py_TYPE(p) == jit_function_type ? jit_inner(p)
                                               : nullptr;
    case Source::kComputed: return computed(s, values, held);
    case Source::kPack: return packed(s, values, held);
    case Source::kMember: {
      // null: of another type, or unset
      return made(Py_TYPE(s.key.ptr())
                      ->tp_descr_get(s.key.ptr(), p, reinterpret_cast<PyObject*>(Py_TYPE(p))));
    }
    case Source::kConst: return s.key.ptr();
  }
  return nullptr;
}

PyObject* method_behind(PyObject* builtin) {
  PyObject* self = PyCFunction_GET_SELF(builtin);
  if (!self || PyModule_Check(self) || PyType_Check(self)) return nullptr;
  PyMethodDef* def = reinterpret_cast<PyCFunctionObject*>(builtin)->m_ml;
  const py::object name =
      py::reinterpret_steal<py::object>(PyUnicode_InternFromString(def->ml_name));
  PyObject* d = type_lookup(Py_TYPE(self), name.ptr());
  const bool same = d && Py_TYPE(d) == &PyMethodDescr_Type &&
                    reinterpret_cast<PyMethodDescrObject*>(d)->d_method == def;
  return same ? d : nullptr;
}

bool equal_constants(PyObject* a, PyObject* b) {
  if (a == b) return true;
  if (Py_TYPE(a) != Py_TYPE(b)) return false;
  // by bits: NaN equals itself, 0.0 differs from -0.0
  auto same_bits = [](double x, double y) { return __builtin_memcmp(&x, &y, sizeof x) == 0; };
  if (PyFloat_CheckExact(a)) return same_bits(PyFloat_AS_DOUBLE(a), PyFloat_AS_DOUBLE(b));
  if (PyComplex_CheckExact(a))
    return same_bits(PyComplex_RealAsDouble(a), PyComplex_RealAsDouble(b)) &&
           same_bits(PyComplex_ImagAsDouble(a), PyComplex_ImagAsDouble(b));
  if (PyRange_Check(a)) {  // range(0, 3, 2) == range(0, 4, 2), but they are not alike
    for (PyObject* name : {names.start, names.stop, names.step}) {
      const auto x = py::reinterpret_steal<py::object>(PyObject_GetAttr(a, name));
      const auto y = py::reinterpret_steal<py::object>(PyObject_GetAttr(b, name));
      if (!x || !y || PyObject_RichCompareBool(x.ptr(), y.ptr(), Py_EQ) != 1)
        return PyErr_Clear(), false;
    }
    return true;
  }
  if (PyTuple_CheckExact(a)) {
    bool same = PyTuple_GET_SIZE(a) == PyTuple_GET_SIZE(b);
    for (Py_ssize_t k = 0; same && k < PyTuple_GET_SIZE(a); ++k)
      same = equal_constants(PyTuple_GET_ITEM(a, k), PyTuple_GET_ITEM(b, k));
    return same;
  }
  if (PyFrozenSet_CheckExact(a)) {  // in the same order, too
    bool same = PySet_GET_SIZE(a) == PySet_GET_SIZE(b);
    py::iterator other = py::iter(b);
    for (auto x : py::reinterpret_borrow<py::object>(a)) {
      if (!same) break;
      same = equal_constants(x.ptr(), other->ptr());
      ++other;
    }
    return same;
  }
  if (is_numpy_scalar(a)) {
    Py_buffer x, y;
    if (PyObject_GetBuffer(a, &x, PyBUF_SIMPLE) < 0) return PyErr_Clear(), false;
    const bool both = PyObject_GetBuffer(b, &y, PyBUF_SIMPLE) == 0;
    const bool same =
        both && x.len == y.len && __builtin_memcmp(x.buf, y.buf, static_cast<size_t>(x.len)) == 0;
    if (both)
      PyBuffer_Release(&y);
    else
      PyErr_Clear();
    PyBuffer_Release(&x);
    return same;
  }
  const int r = PyObject_RichCompareBool(a, b, Py_EQ);
  if (r < 0) PyErr_Clear();
  return r == 1;
}

namespace {

bool same_but_for(const Type& a, const Type& b, uint64_t dims) {
  if (a.dtype != b.dtype || !(a.device == b.device) || a.shape.rank() != b.shape.rank())
    return false;
  for (int d = 0; d < a.shape.rank(); ++d)
    if (!a.shape[d].same_as(b.shape[d]) && !(dims >> d & 1)) return false;
  return true;
}

// Of C code: nothing is asked that Python code could answer.
Py_ssize_t size_of_object(PyObject* o) {
  if (PyTuple_Check(o)) return PyTuple_GET_SIZE(o);
  if (PyList_Check(o)) return PyList_GET_SIZE(o);
  if (PyDict_Check(o)) return PyDict_GET_SIZE(o);
  return PyObject_Size(o);
}

}  // namespace

bool check(const Guard& g, const Values& values) {
  PyObject* o = values[g.src];
  if (g.kind == Guard::kNull) return !o;
  if (g.kind == Guard::kUnmourned) return !o || !seems_mourned(o);
  if (!o) return false;
  switch (g.kind) {
    case Guard::kType:
      return reinterpret_cast<PyObject*>(Py_TYPE(o)) == g.obj.ptr() &&
             has_type_version(Py_TYPE(o), g.num);
    case Guard::kExact: return reinterpret_cast<PyObject*>(Py_TYPE(o)) == g.obj.ptr();
    case Guard::kThere: return true;
    case Guard::kIs: return o == g.obj.ptr();
    case Guard::kIsStill: return leads_to(g.obj.ptr(), o);
    case Guard::kEquals: return equal_constants(o, g.obj.ptr());
    case Guard::kTensor:
      return reinterpret_cast<PyObject*>(Py_TYPE(o)) == g.obj.ptr() && g.version &&
             type_version(Py_TYPE(o)) == g.version &&
             (g.num ? same_but_for(array_of(o)->type, g.type, g.num) : array_of(o)->type == g.type);
    case Guard::kNdarray: return fits_ndarray(o, g.type, g.num, g.version);
    case Guard::kNumber: {
      if (reinterpret_cast<PyObject*>(Py_TYPE(o)) != g.obj.ptr()) return false;
      if (PyFloat_CheckExact(o)) return true;
      int overflow = 0;
      const int64_t i = PyLong_AsLongLongAndOverflow(o, &overflow);
      return !overflow && small_int(i);
    }
    case Guard::kRelation:
      if (o == g.obj.ptr() && PyFloat_CheckExact(o) && std::isnan(PyFloat_AS_DOUBLE(o)))
        return (g.num / 2 == Py_NE) == g.num % 2;  // it is not even equal to itself
      return PyObject_RichCompareBool(o, g.obj.ptr(), static_cast<int>(g.num / 2)) ==
             static_cast<int>(g.num % 2);
    case Guard::kLength:
      return reinterpret_cast<PyObject*>(Py_TYPE(o)) == g.obj.ptr() &&
             size_of_object(o) == static_cast<Py_ssize_t>(g.num);
    case Guard::kAtLeast: return size_of_object(o) >= static_cast<Py_ssize_t>(g.num);
    case Guard::kKeys: {
      if (reinterpret_cast<PyObject*>(Py_TYPE(o)) != g.obj2.ptr() ||
          size_of_object(o) != PyTuple_GET_SIZE(g.obj.ptr()))
        return false;
      if (PyAnySet_Check(o)) {
        if (g.num && places_of_elements(o) != g.num) return false;
        Py_ssize_t i = 0;
        for (auto x : py::reinterpret_borrow<py::object>(o))
          if (!equal_constants(x.ptr(), PyTuple_GET_ITEM(g.obj.ptr(), i++))) return false;
        return true;
      }
      Py_ssize_t pos = 0, i = 0;
      if (Py_TYPE(o)->tp_iter != PyDict_Type.tp_iter) {  // it has an order of its own
        for (auto x : py::reinterpret_borrow<py::object>(o))
          if (!equal_constants(x.ptr(), PyTuple_GET_ITEM(g.obj.ptr(), i++))) return false;
        return true;
      }
      PyObject *k, *v;
      while (PyDict_Next(o, &pos, &k, &v))
        if (!equal_constants(k, PyTuple_GET_ITEM(g.obj.ptr(), i++))) return false;
      return true;
    }
    case Guard::kCode:
      return PyFunction_Check(o) && PyFunction_GET_CODE(o) == g.obj.ptr() &&
             PyFunction_GET_GLOBALS(o) == g.obj2.ptr();
    case Guard::kSame: return o == values[g.num];
    case Guard::kNotSame: return values[g.num] && o != values[g.num];
    case Guard::kNoDictAttr: {
      bool unsure = false;
      return !own_attribute(o, g.obj.ptr(), &unsure) && !unsure;
    }
    case Guard::kDictVersion: return dict_version(g.obj.ptr()) == g.num;
    case Guard::kTypeVersion:
      return g.num && type_version(reinterpret_cast<PyTypeObject*>(g.obj.ptr())) == g.num;
    case Guard::kCellEmpty: return PyCell_Check(o) && !PyCell_GET(o);
    case Guard::kNoPart: return !is_part(o) && !is_viewed(o);
    case Guard::kRecords: return records() == (g.num != 0);
    case Guard::kNull:
    case Guard::kUnmourned: break;
  }
  return false;
}

// The answer follows from the addresses, which are mostly those of the call before.
bool apart(const Entry& e, const Values& values) {
  const size_t n = e.identities.size();
  bool same = e.apart.size() == n;
  for (size_t k = 0; k < n && same; ++k) same = e.apart[k] == values[e.identities[k]];
  if (same) return true;
  std::vector<std::pair<PyObject*, int>> by_address;
  for (int i : e.identities) by_address.push_back({values[i], i});
  std::sort(by_address.begin(), by_address.end());
  for (int a : e.changed)
    for (auto it =
             std::lower_bound(by_address.begin(), by_address.end(), std::pair(values[a], INT_MIN));
         it != by_address.end() && it->first == values[a]; ++it)
      if (it->second != a) return false;
  e.apart.clear();
  for (int i : e.identities) e.apart.push_back(values[i]);
  return true;
}

bool check_guards(const Entry& e, PyObject* func, PyObject* const* state, Values* values,
                  int* failed) {
  if (e.compute_dtype != compute_dtype) return false;
  values->held.clear();
  values->own.assign(e.sources.size(), nullptr);
  values->at = values->own.data();
  for (size_t s = 0; s < e.sources.size(); ++s) {
    PyObject* o = values->own[s] = fetch(e.sources[s], *values, func, state, &values->held);
    if (o) values->held.push_back(py::reinterpret_borrow<py::object>(o));
    const auto [b, n] = e.guard_range[s];
    for (int g = b; g < n; ++g)
      if (!check(e.guards[g], *values)) {
        if (failed) *failed = g;
        return false;
      }
  }
  return e.changed.empty() || apart(e, *values);
}

bool recheck_guards(const Entry& e, PyObject* func, PyObject* const* state, Values* values,
                    int* failed) {
  if (e.compute_dtype != compute_dtype) return false;
  if (!e.guard_cache) {  // of the next call on
    e.guard_cache = std::make_unique<GuardCache>();
    return check_guards(e, func, state, values, failed);
  }
  values->held.clear();
  const GuardCache::Answer answer = e.guard_cache->check(e, func, state, values, failed);
  // with little C stack left, a guard may fail for lack of it, and the second look takes more
  if (config().strict && answer != GuardCache::kChanged && !stack_is_low()) {
    Values all;
    int first = -1;
    const bool holds = check_guards(e, func, state, &all, &first);
    PIJIT_CHECK(holds == (answer == GuardCache::kHolds) && (holds || first == *failed),
                "a guard cache of guards differs from them");
  }
  if (answer != GuardCache::kChanged) return answer == GuardCache::kHolds;
  if (!check_guards(e, func, state, values, failed)) return false;
  e.guard_cache->update(e, func, state);
  return true;
}

Entry::Entry() = default;
Entry::~Entry() = default;

void find_dynamic(const Entry& e, PyObject* func, PyObject* const* state, const CodeInfo& code,
                  std::map<uint64_t, uint64_t>* dynamic) {
  std::map<uint64_t, uint64_t> found;
  const bool of_ndarrays = std::any_of(e.guards.begin(), e.guards.end(),
                                       [](auto& g) { return g.kind == Guard::kNdarray; });
  Values values;
  values.own.assign(e.sources.size(), nullptr);
  values.at = values.own.data();
  for (size_t s = 0; s < e.sources.size(); ++s) {
    PyObject* o = values.own[s] = fetch(e.sources[s], values, func, state, &values.held);
    if (o) values.held.push_back(py::reinterpret_borrow<py::object>(o));
    const auto [b, n] = e.guard_range[s];
    for (int k = b; k < n; ++k) {
      const Guard& g = e.guards[k];
      if (check(g, values)) continue;
      if (!o || o == g.obj.ptr()) return;
      uint64_t mask = 0;
      if (g.kind == Guard::kEquals && Py_TYPE(o) == Py_TYPE(g.obj.ptr()) &&
          (PyFloat_CheckExact(o) || PyLong_CheckExact(o) || PyUnicode_CheckExact(o) ||
           (of_ndarrays && is_numpy_scalar(o)))) {
        mask = ~0ull;
      } else if (g.kind == Guard::kTensor &&
                 reinterpret_cast<PyObject*>(Py_TYPE(o)) == g.obj.ptr() &&
                 same_but_for(array_of(o)->type, g.type, ~0ull)) {
        mask = g.num;
        for (int d = 0; d < g.type.shape.rank(); ++d)
          if (array_of(o)->type.shape[d] != g.type.shape[d]) mask |= 1ull << d;
      } else if (g.kind == Guard::kNdarray && fits_ndarray(o, g.type, ~uint64_t{0}, g.version)) {
        mask = g.num;
        for (int d = 0; d < g.type.shape.rank(); ++d)
          if (!g.type.shape[d].same_as(Dim(ndarray_fields(o)->shape[d]))) mask |= 1ull << d;
      } else if (g.kind != Guard::kRelation && !(g.kind == Guard::kEquals && PyBool_Check(o))) {
        return;
      }
      found[e.sources[s].path] |= mask;
    }
  }
  for (auto& [k, m] : found) (*dynamic)[k] |= m;
}

uint64_t path_of(const Source& s, uint64_t parent) {
  auto mix = [](uint64_t h, uint64_t x) { return (h ^ x) * 0x9e3779b97f4a7c15ull ^ (h >> 29); };
  uint64_t key = 0;
  if (s.key) {
    const bool by_value = PyUnicode_CheckExact(s.key.ptr()) || PyLong_CheckExact(s.key.ptr());
    key = by_value ? static_cast<uint64_t>(PyObject_Hash(s.key.ptr()))
                   : reinterpret_cast<uint64_t>(s.key.ptr());
  }
  return mix(mix(mix(parent + 1, s.kind), static_cast<uint64_t>(s.index) + 1), key);
}

namespace {
// What a source adds to the text of its parent.
std::string describe_step(const std::vector<Source>& sources, const Source& s, const std::string& p,
                          const CodeInfo& code) {
  auto text = [](const py::object& o) { return shown(o, false); };
  switch (s.kind) {
    case Source::kState:
      return s.index < code.num_slots ? code.slot_names[s.index]
                                      : str_cat("stack", s.index - code.num_slots);
    case Source::kClosure:
      return "closure." + code.slot_names[code.num_slots - code.num_free + s.index];
    case Source::kGlobal: return text(sources[s.parent].key);
    case Source::kDictAttr: return p + "." + text(s.key);
    case Source::kAttr: return "type(" + p + ")." + text(s.key);
    case Source::kSlot:
    case Source::kClassName: return p + "." + text(s.key);
    case Source::kItem: return str_cat(p, "[", s.index, "]");
    case Source::kDictItem:
    case Source::kHasKey: {
      const std::string key = s.other >= 0 ? describe_source(sources, s.other, code) : shown(s.key);
      return s.kind == Source::kDictItem ? str_cat(p, "[", key, "]")
                                         : str_cat("(", key, " in ", p, ")");
    }
    case Source::kLength: return str_cat("len(", p, ")");
    case Source::kComputed:
    case Source::kPack: {
      static thread_local int depth = 0;
      constexpr int kDeepest = 5;
      if (depth >= kDeepest) return "...";
      ++depth;
      std::string args;
      for (int a : s.args) args += (args.empty() ? "" : ", ") + describe_source(sources, a, code);
      --depth;
      if (s.kind == Source::kPack) return "(" + args + ",)";
      return shown(s.key.attr("__qualname__"), false) + "(" + args + ")";
    }
    case Source::kCell: return p + ".cell_contents";
    case Source::kFuncClosure: return str_cat(p, ".__closure__[", s.index, "]");
    case Source::kFuncDefaults: return p + ".__defaults__";
    case Source::kFuncKwDefault: return p + ".__kwdefaults__[" + shown(s.key) + "]";
    case Source::kMethodSelf: return p + ".__self__";
    case Source::kMethodFunc: return p + ".__func__";
    case Source::kMember: return p + "." + text(s.key.attr("__name__"));
    case Source::kConst: {
      std::string r = shown(s.key);
      return r.size() > 60 ? r.substr(0, 57) + "..." : r;
    }
  }
  return "?";
}
}  // namespace

std::string describe_source(const std::vector<Source>& sources, int src, const CodeInfo& code) {
  std::vector<const Source*> way;  // from `src` up
  constexpr size_t kLongest = 50;
  for (int s = src; s >= 0 && way.size() < kLongest; s = sources[s].parent) {
    way.push_back(&sources[s]);
    if (sources[s].kind == Source::kGlobal) break;
  }
  std::string text = way.back()->parent >= 0 ? "..." : "";
  for (auto it = way.rbegin(); it != way.rend(); ++it)
    text = describe_step(sources, **it, text, code);
  return text;
}
std::string describe_guard(const Entry& e, const Guard& g, const CodeInfo& code) {
  const std::string s = describe_source(e.sources, g.src, code);
  auto name = [](const py::object& o) { return shown(o.attr("__name__"), false); };
  auto repr = [](const py::object& o) { return shown(o); };
  switch (g.kind) {
    case Guard::kType:
    case Guard::kExact: return "type(" + s + ") is " + name(g.obj);
    case Guard::kIs:
      return s + " is " + (py::hasattr(g.obj, "__name__") ? name(g.obj) : repr(g.obj));
    case Guard::kIsStill: return s + " is " + repr(g.obj());
    case Guard::kEquals: return s + " == " + repr(g.obj);
    case Guard::kTensor: {
      if (g.num) {  // some dims vary
        std::string t =
            str_cat("type(", s, ") is ", name(g.obj), " and ", s, ".dtype.name == '",
                    public_name_of(g.type.dtype), "' and ", s, ".ndim == ", g.type.shape.rank());
        for (int d = 0; d < g.type.shape.rank(); ++d)
          if (!(g.num >> d & 1)) t += str_cat(" and ", s, ".shape[", d, "] == ", g.type.shape[d]);
        return t;
      }
      std::string t = "(";
      for (auto d : g.type.shape) t += std::to_string(d) + ", ";
      if (g.type.shape.rank() > 1)
        t.resize(t.size() - 2);
      else if (g.type.shape.rank() == 1)
        t.resize(t.size() - 1);
      return "type(" + s + ") is " + name(g.obj) + " and " + s + ".dtype.name == '" +
             std::string(public_name_of(g.type.dtype)) + "' and " + s + ".shape == " + t + ")";
    }
    case Guard::kNdarray: {
      std::string t =
          str_cat("type(", s, ") is ndarray and ", s, ".dtype.name == '",
                  public_name_of(g.type.dtype), "' and ", s, ".ndim == ", g.type.shape.rank());
      for (int d = 0; d < g.type.shape.rank(); ++d)
        if (!(g.num >> d & 1)) t += str_cat(" and ", s, ".shape[", d, "] == ", g.type.shape[d]);
      t += str_cat(" and ", s, ".flags.", g.version & 1 ? "fnc" : "c_contiguous");
      if (g.version & kNdStored) t += " and " + s + ".flags.writeable";
      return t;
    }
    case Guard::kNumber: return "type(" + s + ") is " + name(g.obj);
    case Guard::kRelation: {
      const std::string t =
          str_cat(s, " ", facts(static_cast<CompareOp>(g.num / 2)).sign, " ", repr(g.obj));
      return g.num % 2 ? t : "not " + t;
    }
    case Guard::kLength:
      return str_cat("type(", s, ") is ", name(g.obj), " and len(", s, ") == ", g.num);
    case Guard::kAtLeast: return str_cat("len(", s, ") >= ", g.num);
    case Guard::kThere: return s + " exists";
    case Guard::kKeys: return "tuple(" + s + ") == " + repr(g.obj);
    case Guard::kCode:
      return s + ".__code__ is " + shown(g.obj.attr("co_name"), false) + ".__code__";
    case Guard::kSame:
      return s + " is " + describe_source(e.sources, static_cast<int>(g.num), code);
    case Guard::kNotSame:
      return s + " is not " + describe_source(e.sources, static_cast<int>(g.num), code);
    case Guard::kNoDictAttr: return repr(g.obj) + " not in vars(" + s + ")";
    case Guard::kDictVersion:
      return (g.obj.contains("__name__") ? "globals of " + shown(g.obj["__name__"], false) : s) +
             " unchanged";
    case Guard::kTypeVersion: return "class " + name(g.obj) + " unchanged";
    case Guard::kNull: return s + " is unbound";
    case Guard::kCellEmpty: return s + " is empty";
    case Guard::kNoPart: return s + " is no part or view of another tensor, and has no views";
    case Guard::kRecords:
      return g.num ? "a gradient records the call" : "no gradient records the call";
    case Guard::kUnmourned: return "nobody sees " + s + " die";
  }
  return "?";
}

}  // namespace pijit
