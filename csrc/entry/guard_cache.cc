#include "entry/guard_cache.h"

#include <cstring>
#include <optional>

#include "python/compat.h"
#include "python/quiet_lookup.h"

namespace pijit {
namespace {

uint64_t load(const void* at) {
  uint64_t x;
  std::memcpy(&x, at, sizeof x);
  return x;
}
uint64_t word(const void* p) { return reinterpret_cast<uint64_t>(p); }

bool is_heap_type(PyTypeObject* t) { return PyType_HasFeature(t, Py_TPFLAGS_HEAPTYPE); }
// Could its objects be given another class? C's own rule, but for modules.
bool may_change_class(PyObject* o) { return !is_immutable(Py_TYPE(o)) || PyModule_Check(o); }

// Sources and guards that may make objects of types that are tracked, if only an instance's dict.
bool makes_objects(const Source& s) {
  switch (s.kind) {
    case Source::kDictAttr:
    case Source::kSlot:
    case Source::kClassName:
    case Source::kComputed:
    case Source::kPack:
    case Source::kMember: return true;
    default: return false;
  }
}

}  // namespace

class GuardCache::Recorder {
 public:
  Recorder(GuardCache& m, const Entry& e, bool soon)
      : m_(m),
        e_(e),
        soon_(soon),
        known_(e.sources.size()),
        anchored_(e.sources.size()),
        dicts_(e.sources.size()) {
    for (auto& g : e.guards) held_.insert({g.obj.ptr(), g.obj2.ptr()});
    for (auto& s : e.sources) held_.insert(s.key.ptr());
    m.seen_.resize(e.sources.size());
    for (size_t s = 0; s < e.sources.size(); ++s) {
      Seen& seen = m.seen_[s];
      note(seen.object && seen.object != value(s), &seen.moves);
      seen.object = value(s);
    }
  }

  void run() {
    for (size_t k = 0; k < e_.sources.size(); ++k) {
      const int s = static_cast<int>(k);
      known_[k] = value(s) && is_known(s) && holds_by_itself(s);
      if (known_[k]) continue;
      m_.makes_objects_ |= makes_objects(e_.sources[k]);
      for_guards(s, [&](int g) { m_.makes_objects_ |= e_.guards[g].kind == Guard::kNoDictAttr; });
      m_.fetches_.push_back({size(m_.probes_), size(m_.checks_), s, false});
    }
    for (Fetch& f : m_.fetches_) f.anchored = anchored_[static_cast<size_t>(f.source)];
    m_.fetches_.push_back({size(m_.probes_), size(m_.checks_), -1, false});
    for (int s : e_.identities) {
      if (stays(s))
        m_.identities_.insert(value(s));
      else
        m_.moving_.push_back({s, true, is_changed(s)});
    }
    const absl::flat_hash_set<int> identities(e_.identities.begin(), e_.identities.end());
    for (int s : e_.changed) {
      const bool identity = identities.contains(s);
      if (stays(s))
        m_.changed_.insert(value(s));
      else if (!identity)
        m_.moving_.push_back({s, false, true});
    }
  }

 private:
  static uint32_t size(auto& v) { return static_cast<uint32_t>(v.size()); }
  PyObject* value(size_t s) const { return m_.values_[s]; }
  PyObject* value(int s) const { return m_.values_[static_cast<size_t>(s)]; }
  bool known(int s) const { return known_[static_cast<size_t>(s)]; }
  bool stays(int s) const { return known(s) || anchored_[static_cast<size_t>(s)]; }
  bool is_changed(int s) const {
    return std::binary_search(e_.changed.begin(), e_.changed.end(), s);
  }
  template <class F>
  void for_guards(int s, F f) const {
    const auto [begin, end] = e_.guard_range[static_cast<size_t>(s)];
    for (int g = begin; g < end; ++g) f(g);
  }

  // What changed soon after two recordings in a row does so all the time.
  void note(bool changed, uint8_t* times) const {
    if (changed) *times = soon_ ? static_cast<uint8_t>(std::min(*times + 1, 2)) : 0;
  }
  // The source is known, or can be asked to be where it was.
  bool can_stay(int s) const { return known(s) || m_.seen_[static_cast<size_t>(s)].moves < 2; }
  void hold(int s) {
    if (!known(s)) anchored_[static_cast<size_t>(s)] = true;
  }
  // Does the entry keep the class alive?
  bool keeps(PyTypeObject* t) const {
    return !is_heap_type(t) || held_.count(reinterpret_cast<PyObject*>(t));
  }
  void probe(const void* at, uint64_t want) {
    if (probed_.insert(at).second) m_.probes_.push_back({at, want});
  }
  void probe_type(PyTypeObject* t, unsigned version) {
    if (probed_.insert(t).second) m_.types_.push_back({t, version});
  }
  bool probe_class(PyObject* o) {
    if (!may_change_class(o)) return true;
    if (!keeps(Py_TYPE(o))) return false;
    probe(&o->ob_type, word(Py_TYPE(o)));
    return true;
  }
  // Does it not change all the time?
  bool settled(PyObject* dict, Version* seen) const {
    const uint64_t version = dict_version(dict);
    note(seen->version && seen->version != version, &seen->changes);
    seen->version = version;
    return seen->changes < 2;
  }
  void probe_version(PyObject* dict) { probe(dict_version_at(dict), dict_version(dict)); }

  // The dict with the attributes of an object, which stays and does not change; null: no such dict.
  PyObject* attributes(int s) {
    // An OrderedDict has both, and `dicts_` keeps what it is itself.
    if (value(s) && PyDict_Check(value(s))) return nullptr;
    Dict& d = dicts_[static_cast<size_t>(s)];
    if (!d.asked) d = {true, find_attributes(s)};
    return d.dict;
  }
  PyObject* find_attributes(int s) {
    PyObject* o = value(s);
    if (!o || PyType_Check(o)) return nullptr;
    Version* seen = &m_.seen_[static_cast<size_t>(s)].dict;
    PyObject* dict;
    if (PyModule_Check(o)) {
      dict = known(s) ? PyModule_GetDict(o) : nullptr;
      if (!dict || !settled(dict, seen)) return nullptr;
    } else {
      PyObject** place = can_stay(s) ? instance_dict_place(o) : nullptr;
      dict = place ? *place : nullptr;
      if (!dict || !PyDict_CheckExact(dict) || !settled(dict, seen) || !probe_class(o))
        return nullptr;
      hold(s);
      probe(place, word(dict));
    }
    probe_version(dict);
    return dict;
  }
  // Likewise of a source that is a dict.
  bool is_dict_that_stays(int s) {
    Dict& d = dicts_[static_cast<size_t>(s)];
    if (!d.asked) {
      PyObject* o = value(s);
      d = {true, nullptr};
      if (o && PyDict_CheckExact(o) && can_stay(s) &&
          settled(o, &m_.seen_[static_cast<size_t>(s)].dict)) {
        hold(s);
        probe_version(o);
        d.dict = o;
      }
    }
    return d.dict;
  }
  bool found_global(int s, PyObject* globals, PyObject* name) {
    if (!PyDict_CheckExact(globals)) return false;
    PyObject* v = quiet_item(globals, name);
    PyObject* b = v ? nullptr : builtins_of(globals);
    if (!v && (!PyDict_CheckExact(b) || !has_builtins(globals))) return false;
    if (!v) v = quiet_item(b, name);
    if (v != value(s) || !settled(globals, &m_.seen_[static_cast<size_t>(s)].globals)) return false;
    probe_version(globals);
    if (b) probe_version(b);
    return true;
  }

  // Whether what has been probed so far, and what this adds, proves that the source is the same
  // object as now.
  bool is_known(int s) {
    const Source& x = e_.sources[static_cast<size_t>(s)];
    PyObject* p = x.parent >= 0 ? value(x.parent) : nullptr;
    switch (x.kind) {
      case Source::kConst: return true;
      case Source::kGlobal: return found_global(s, x.key.ptr(), p);
      case Source::kDictAttr: {
        PyObject* d = attributes(x.parent);
        return d && quiet_item(d, x.key.ptr()) == value(s);
      }
      case Source::kDictItem:
        return x.other < 0 &&
               (PyUnicode_CheckExact(x.key.ptr()) || PyLong_CheckExact(x.key.ptr())) &&
               is_dict_that_stays(x.parent) && quiet_item(p, x.key.ptr()) == value(s);
      case Source::kAttr: {
        auto* t = PyType_Check(p) ? reinterpret_cast<PyTypeObject*>(p) : Py_TYPE(p);
        const unsigned version = type_version(t);
        if (!known(x.parent) || !keeps(t) || !version || type_lookup(t, x.key.ptr()) != value(s))
          return false;
        if (!PyType_Check(p) && !probe_class(p)) return false;
        probe_type(t, version);
        return true;
      }
      case Source::kItem: return known(x.parent) && PyTuple_Check(p);
      case Source::kMethodSelf: return known(x.parent) && PyMethod_Check(p);
      case Source::kMethodFunc:
        return known(x.parent) && (PyMethod_Check(p) || Py_TYPE(p) == jit_function_type);
      case Source::kFuncClosure: return known(x.parent) && PyFunction_Check(p);
      default: return false;
    }
  }

  // The guards of a known source: those that need more than probes are checked at every call.
  bool holds_by_itself(int s) {
    PyObject* o = value(s);
    bool whole = true;
    for_guards(s, [&](int k) {
      const Guard& g = e_.guards[static_cast<size_t>(k)];
      const auto check = [&](const Type* type = nullptr) { m_.checks_.push_back({o, type, k}); };
      switch (g.kind) {
        case Guard::kType:
          probe_type(Py_TYPE(o), static_cast<unsigned>(g.num));
          whole &= probe_class(o);
          break;
        case Guard::kExact: whole &= probe_class(o); break;
        case Guard::kIs:
        case Guard::kThere:
        case Guard::kNumber:
        case Guard::kRelation: break;
        case Guard::kEquals:
          if (is_heap_type(Py_TYPE(o))) check();
          break;
        case Guard::kTensor:
          whole &= probe_class(o);
          probe_type(Py_TYPE(o), g.version);
          check(g.num ? nullptr : same_type(g.type));
          break;
        case Guard::kLength:
          if (PyTuple_Check(o))
            whole &= probe_class(o);
          else
            check();
          break;
        case Guard::kKeys:
          if (!is_dict_that_stays(s)) check();
          break;
        case Guard::kCode:
          probe(&reinterpret_cast<PyFunctionObject*>(o)->func_code, word(g.obj.ptr()));
          break;
        case Guard::kSame:
        case Guard::kNotSame:
          if (!known(static_cast<int>(g.num))) check();
          break;
        case Guard::kNoDictAttr:
          if (!attributes(s)) check(), m_.makes_objects_ = true;
          break;
        case Guard::kDictVersion: probe(dict_version_at(g.obj.ptr()), g.num); break;
        case Guard::kTypeVersion:
          probe_type(reinterpret_cast<PyTypeObject*>(g.obj.ptr()), static_cast<unsigned>(g.num));
          break;
        case Guard::kNdarray:
        case Guard::kAtLeast:
        case Guard::kCellEmpty:
        case Guard::kNoPart:
        case Guard::kRecords:
        case Guard::kIsStill:
        case Guard::kUnmourned: check(); break;
        case Guard::kNull: whole = false; break;
      }
    });
    return whole;
  }
  // One of the equal types, which then lies in a cache.
  const Type* same_type(const Type& t) {
    for (const Type* known : tensor_types_)
      if (known->same_as(t)) return known;
    tensor_types_.push_back(&t);
    return &t;
  }

  struct Dict {
    bool asked = false;
    PyObject* dict = nullptr;
  };
  GuardCache& m_;
  const Entry& e_;
  const bool soon_;
  std::vector<bool> known_, anchored_;
  std::vector<Dict> dicts_;  // by source
  absl::flat_hash_set<PyObject*> held_;
  absl::flat_hash_set<const void*> probed_;
  std::vector<const Type*> tensor_types_;
};

void GuardCache::record(const Entry& e, PyObject* func, PyObject* const* state) {
  const NoCollection quiet;
  const bool soon = hits_ < kSoon;
  waste_ = soon && !seen_.empty() ? waste_ + 1 : 0;
  hits_ = 0;
  recorded_ = makes_objects_ = false;
  types_.clear();
  probes_.clear();
  checks_.clear();
  fetches_.clear();
  moving_.clear();
  identities_.clear();
  changed_.clear();
  values_.assign(e.sources.size(), nullptr);
  Values values;
  values.at = values_.data();
  for (size_t s = 0; s < e.sources.size(); ++s) {
    values_[s] = fetch(e.sources[s], values, func, state, &values.held);
    const auto [begin, end] = e.guard_range[s];
    for (int g = begin; g < end; ++g)
      if (!pijit::check(e.guards[static_cast<size_t>(g)], values)) return;
  }
  if (!e.changed.empty() && !apart(e, values)) return;
  Recorder(*this, e, soon).run();
  recorded_ = true;
}

bool GuardCache::apart_still(const Entry& e, const Values& values) const {
  constexpr size_t kFew = 16;
  if (moving_.size() > kFew) return apart(e, values);
  for (const Moving& m : moving_) {
    PyObject* o = values[m.source];
    if (m.changed ? identities_.contains(o) : changed_.contains(o)) return false;
    if (m.changed && !m.identity) continue;
    for (const Moving& other : moving_)
      if (other.changed && other.source != m.source && values[other.source] == o) return false;
  }
  return true;
}

GuardCache::Answer GuardCache::check(const Entry& e, PyObject* func, PyObject* const* state,
                                     Values* values, int* failed) {
  if (!recorded_) return kChanged;
  std::optional<NoCollection> quiet;
  if (makes_objects_) quiet.emplace();
  values->at = values_.data();
  for (auto& t : types_)
    if (known_type_version(t.type) != t.version) return kChanged;
  const Probe* probe = probes_.data();
  const Check* c = checks_.data();
  for (const Fetch& f : fetches_) {
    for (const Probe* end = probes_.data() + f.probes; probe < end; ++probe)
      if (load(probe->at) != probe->want) return kChanged;
    for (const Check* end = checks_.data() + f.checks; c < end; ++c)
      if (!(c->type ? array_of(c->object)->type == *c->type
                    : pijit::check(e.guards[static_cast<size_t>(c->guard)], *values))) {
        *failed = c->guard;
        return kFails;
      }
    if (f.source < 0) break;
    const auto s = static_cast<size_t>(f.source);
    PyObject* o = fetch(e.sources[s], *values, func, state, &values->held);
    if (f.anchored && o != values_[s]) return kChanged;
    values_[s] = o;
    const auto [begin, end] = e.guard_range[s];
    for (int g = begin; g < end; ++g)
      if (!pijit::check(e.guards[static_cast<size_t>(g)], *values)) {
        *failed = g;
        return kFails;
      }
  }
  if (!e.changed.empty() && !apart_still(e, *values)) return kFails;
  hits_ += hits_ < kSoon;
  return kHolds;
}

}  // namespace pijit
