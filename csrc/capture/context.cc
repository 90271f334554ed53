// What all of a capture shares: its budget, globals, and what may be changed.
#include "capture/context.h"

#include "base/config.h"
#include "capture/values.h"
#include "base/progress.h"
#include "python/hook.h"
#include "python/quiet_lookup.h"

namespace pijit {

Context::Context(StartPoint& p)
    : start_(p), budget_(static_cast<int64_t>(config().max_unroll) * 64) {}

void Context::give_up(Reason r, const std::string& detail) const {
  throw GraphBreak{r, detail, location()};
}

void Context::tick(int64_t steps) {
  budget_ -= steps;
  LongWork::tick();
  if (budget_ < 0) give_up(Reason::kBudget);
  // Short captures come to their end, so that a program with a timer gets its graphs, too.
  constexpr auto kPatience = std::chrono::milliseconds(50);
  if (!signals_pending() || std::chrono::steady_clock::now() - began_ < kPatience) return;
  throw Interrupted{frames()};
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

}  // namespace pijit
