// What all of a capture shares: its budget, globals, and what may be changed.
#include "capture/context.h"

#include "base/config.h"
#include "base/progress.h"
#include "capture/values.h"
#include "python/caller.h"
#include "python/hook.h"
#include "python/quiet_lookup.h"

namespace pijit {

Context::Context(StartPoint& p)
    : start_(p),
      null_(arena_.make<NullValue>()),
      budget_(static_cast<int64_t>(config().max_unroll) * 64),
      before_ops_(p.before_ops) {}

void Context::give_up(Reason r, const std::string& detail) const {
  throw GraphBreak{r, detail, location()};
}

void Context::tick(int64_t steps) {
  budget_ -= steps;
  before_ops_ -= steps;
  LongWork::tick();
  if (before_ops_ < 0) {
    if (!has_op()) give_up(Reason::kBudget);
    before_ops_ = INT64_MAX;
  }
  if (budget_ < 0) give_up(Reason::kBudget);
  // Short captures come to their end, so that a program with a timer gets its graphs, too.
  constexpr auto kPatience = std::chrono::milliseconds(50);
  if (!signals_pending() || std::chrono::steady_clock::now() - began_ < kPatience) return;
  throw Interrupted{frames()};
}

bool Context::has_op() const {
  for (uint32_t k = 0; k < graph_->size(); ++k)
    if (graph_->node(k).kind == Node::kOp && !graph_->node(k).abandoned) return true;
  return false;
}

Context::Nested::Nested(Context& t) : depth_(t.nesting_) {
  constexpr int kDeepest = 1000;  // CPython's own limit, as a rule
  if (depth_ >= kDeepest || stack_is_low()) t.give_up(Reason::kRecursion, "nested values");
  t.tick();
  ++depth_;
}

PyObject* Context::found_in(PyObject* dict, PyObject* key) const {
  bool unsure = false;
  PyObject* v = quiet_item(dict, key, &unsure);
  if (unsure) give_up(Reason::kUnsupportedOperand, "a key that Python code compares");
  return v;
}

py::object polyfill(const char* name) { return python_module("pijit._polyfills").attr(name); }

V Context::load_global(PyObject* globals, PyObject* name) {
  auto w = global_writes_.find({globals, text_of(name)});
  if (w != global_writes_.end()) return w->second;
  PyObject* v = found_in(globals, name);
  if (!v) v = found_in(builtins_of(globals), name);
  if (!v) give_up(Reason::kUnboundName, text_of(name));
  if (is_library(globals)) return wrap_static(v);
  const int n = add_source({Source::kConst, -1, 0, py::reinterpret_borrow<py::object>(name)});
  return wrap(v, add_source({Source::kGlobal, n, 0, py::reinterpret_borrow<py::object>(globals)}));
}

void Context::set_global(PyObject* globals, PyObject* name, const V& value) {
  if (arm_serial_ || mapped_serial_)
    give_up(Reason::kTensorValue, "a global set in a branch on a tensor or a mapped function");
  const std::pair<PyObject*, std::string> key{globals, py::cast<std::string>(py::handle(name))};
  auto old = global_writes_.find(key);
  if (old == global_writes_.end())
    undoable([this, key] { global_writes_.erase(key); });
  else
    undoable([this, key, o = old->second] { global_writes_[key] = o; });
  global_writes_[key] = value;
  log({Note::kSetGlobal,
       nullptr,
       py::reinterpret_borrow<py::object>(name),
       py::reinterpret_borrow<py::object>(globals),
       {value}});
}

void Context::check_effect(const V& v) const {
  if (mapped_serial_ && (v->serial < mapped_serial_ || v->src >= 0))
    give_up(Reason::kTensorValue, "a side effect in a mapped function");
  check_binding(v);
}

void Context::check_binding(const V& v) const {
  if (arm_serial_ && (v->serial < arm_serial_ || v->src >= 0))
    give_up(Reason::kTensorValue, "a side effect in a branch or loop on a tensor");
  if (auto* t = as<TensorValue>(v); t && t->may_be_another())
    give_up(Reason::kTensorValue, "a change of a tensor that may be another variable's, too");
}

bool Context::decided(bool outcome, Source s) {
  const int src = add_source(std::move(s));
  if (unstable(src)) give_up(Reason::kUnstable, describe_source(sources_, src, *start_.code));
  guard(Guard::kEquals, src, py::bool_(outcome));
  return outcome;
}

V Context::source_length(const V& x) {
  const py::object n = py::int_(PyObject_Size(x->obj.ptr()));
  return wrap(n.ptr(), add_source({Source::kLength, x->src, 0, {}}));
}

V Context::c_attribute(const V& v, const char* name) {
  const auto share = [](PyObject* o) { return py::reinterpret_borrow<py::object>(o); };
  const int key = add_source({Source::kConst, -1, 0, share(interned(name))});
  const py::object o = v->obj.attr(name);
  return wrap(
      o.ptr(),
      add_source({Source::kComputed, -1, 0, share(original("getattr")), -1, {v->src, key}}));
}

// --- sources and guards

int Context::add_source(Source s) {
  const auto key =
      std::make_tuple(static_cast<int>(s.kind), s.parent, s.index, s.key.ptr(), s.other, s.args);
  auto it = source_index_.find(key);
  if (it != source_index_.end()) return it->second;
  s.path = path_of(s, s.parent >= 0 ? sources_[s.parent].path : 0);
  if (s.other >= 0) s.path = path_of(s, sources_[s.other].path);
  for (int a : s.args) s.path = path_of(s, s.path ^ sources_[a].path);
  sources_.push_back(std::move(s));
  return source_index_[key] = static_cast<int>(sources_.size()) - 1;
}

int Context::source_of(const V& v) {
  if (v->src < 0) v->src = add_source({Source::kConst, -1, 0, v->obj});
  return v->src;
}

const Source& Context::root_of(int src) const {
  while (sources_[src].parent >= 0) src = sources_[src].parent;
  return sources_[src];
}

void Context::guard(Guard::Kind k, int src, py::object obj, uint64_t num, py::object obj2) {
  if (k == Guard::kType || k == Guard::kTypeVersion)
    for (auto& [key, value] : class_writes_)
      if (PyType_Check(obj.ptr()) && PyType_IsSubtype(reinterpret_cast<PyTypeObject*>(obj.ptr()),
                                                      reinterpret_cast<PyTypeObject*>(key.first)))
        give_up(Reason::kUnsupportedAttribute, "a class after an assignment to its attribute");
  if (!guard_index_.insert({k, src, num, obj.ptr()}).second) return;
  guards_.push_back({k, src, std::move(obj), std::move(obj2), num, {}});
}

// A class that a call makes, and may drop, is not kept by what was captured then.
void Context::guard_identity(PyObject* o, int src) {
  const Source::Kind from = sources_[src].kind;
  if (from == Source::kConst) return;
  const bool local = from == Source::kState && PyType_Check(o) &&
                     PyType_HasFeature(reinterpret_cast<PyTypeObject*>(o), Py_TPFLAGS_HEAPTYPE);
  if (!local) return guard(Guard::kIs, src, share(o));
  const auto weak = py::reinterpret_steal<py::object>(PyWeakref_NewRef(o, nullptr));
  if (!weak) throw py::error_already_set();
  guard(Guard::kIsStill, src, weak);
}

void Context::guard_type(const V& v) {
  PyTypeObject* t = Py_TYPE(v->obj.ptr());
  const unsigned version = version_of(t);
  guard(Guard::kType, source_of(v), share(reinterpret_cast<PyObject*>(t)), version);
}

bool Context::named_as_library(PyObject* globals) {
  return is_of_library(PyDict_GetItemString(globals, "__name__"));
}

bool Context::is_library(PyObject* globals) {
  if (!named_as_library(globals)) return false;
  guard(Guard::kDictVersion, add_source({Source::kConst, -1, 0, share(globals)}), share(globals),
        dict_version(globals));
  return true;
}

unsigned Context::version_of(PyTypeObject* t) const {
  const unsigned version = names_are_texts(t) ? type_version(t) : 0;
  if (!version)
    give_up(Reason::kUnsupportedAttribute, str_cat("type ", t->tp_name, " has no version"));
  return version;
}

int Context::guard_class(PyTypeObject* t) {
  py::object cls = share(reinterpret_cast<PyObject*>(t));
  const unsigned version = version_of(t);
  const int src = add_source({Source::kConst, -1, 0, cls});
  guard(Guard::kTypeVersion, src, cls, version);
  return src;
}

}  // namespace pijit
