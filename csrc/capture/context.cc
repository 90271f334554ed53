// What all of a capture shares: its budget, globals, and what may be changed.
#include "capture/context.h"

#include "base/config.h"
#include "base/progress.h"
#include "capture/values.h"
#include "objects/caller.h"
#include "python/compat.h"
#include "python/hook.h"
#include "python/names.h"
#include "python/quiet_lookup.h"
#include "python/signals.h"

namespace pijit {

namespace {
bool has_op(const Graph& g) {
  for (uint32_t k = 0; k < g.size(); ++k)
    if (g.node(k).kind == Node::kOp && !g.node(k).abandoned) return true;
  return false;
}
}  // namespace

Context::Context(StartPoint& p)
    : start_(p),
      null_(arena_.make<NullValue>()),
      budget_(static_cast<int64_t>(config().max_unroll) * 64),
      before_ops_(p.before_ops) {}

void Context::give_up(Reason r, const std::string& detail, BreakAt at) const {
  throw GraphBreak{r, detail, location(), at.of(r, inner_module())};
}

void Context::tick(int64_t steps) {
  budget_ -= steps;
  before_ops_ -= steps;
  LongWork::tick();
  if (before_ops_ < 0) {
    if (!has_op(*graph_)) give_up(Reason::kBudget);
    before_ops_ = INT64_MAX;
  }
  if (budget_ < 0) give_up(Reason::kBudget);
  // Short captures come to their end, so that a program with a timer gets its graphs, too.
  constexpr auto kPatience = std::chrono::milliseconds(50);
  if (!signals_pending() || std::chrono::steady_clock::now() - began_ < kPatience) return;
  throw Interrupted{};
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
  if (v && is_lazy_import(v)) give_up(Reason::kUnsupportedAttribute, "a module not imported yet");
  return v;
}

py::object polyfill(const char* name) { return python_module("pijit._polyfills").attr(name); }

bool named_as_library(PyObject* globals) {
  return is_of_library(PyDict_GetItem(globals, names.name));
}

const Source& root_of(const std::vector<Source>& sources, int src) {
  while (sources[src].parent >= 0) src = sources[src].parent;
  return sources[src];
}

void Context::check_effect(const V& v) const {
  if (mapped_serial_ && (v->serial < mapped_serial_ || v->src >= 0))
    give_up(Reason::kTensorValue, "a side effect in a mapped function", Case::kEffect);
  check_binding(v);
}

void Context::check_binding(const V& v) const {
  if (arm_serial_ && (v->serial < arm_serial_ || v->src >= 0))
    give_up(Reason::kTensorValue, "a side effect in a branch or loop on a tensor", Case::kEffect);
  if (auto* t = as<TensorValue>(v); t && t->may_be_another())
    give_up(Reason::kTensorValue, "a change of a tensor that may be another variable's, too");
}

bool Context::decided(bool outcome, Source s) {
  const int src = add_source(std::move(s));
  if (unstable(src)) give_up(Reason::kUnstable, describe_source(sources_, src, *start_.code));
  guard(Guard::kEquals, src, py::bool_(outcome));
  return outcome;
}

// --- sources and guards

int Context::add_source(Source s) {
  const auto key =
      std::make_tuple(static_cast<int>(s.kind), s.parent, s.index, s.key.ptr(), s.other, s.args);
  const auto [it, fresh] = source_index_.try_emplace(key, static_cast<int>(sources_.size()));
  if (!fresh) return it->second;
  s.path = path_of(s, s.parent >= 0 ? sources_[s.parent].path : 0);
  if (s.other >= 0) s.path = path_of(s, sources_[s.other].path);
  for (int a : s.args) s.path = path_of(s, s.path ^ sources_[a].path);
  sources_.push_back(std::move(s));
  return static_cast<int>(sources_.size()) - 1;
}

int Context::source_of(const V& v) {
  if (v->src < 0) v->src = add_source({Source::kConst, -1, 0, v->obj});
  return v->src;
}

void Context::guard(Guard::Kind k, int src, py::object obj, uint64_t num, py::object obj2) {
  if (k == Guard::kType || k == Guard::kTypeVersion)
    for (auto& [key, value] : class_writes_)
      if (PyType_Check(obj.ptr()) && PyType_IsSubtype(reinterpret_cast<PyTypeObject*>(obj.ptr()),
                                                      reinterpret_cast<PyTypeObject*>(key.first)))
        give_up(Reason::kUnsupportedAttribute, "a class after an assignment to its attribute");
  if (!guard_index_.insert({k, src, num, obj.ptr()}).second) return;
  if (k == Guard::kUnmourned) ++unmourned_;
  guards_.push_back({k, src, std::move(obj), std::move(obj2), num, {}});
}

void Context::guard_type(const V& v) {
  PyTypeObject* t = Py_TYPE(v->obj.ptr());
  const unsigned version = version_of(t);
  guard(Guard::kType, source_of(v), share(reinterpret_cast<PyObject*>(t)), version);
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
