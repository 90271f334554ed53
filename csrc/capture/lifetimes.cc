// Deaths that a program sees (python/lifetime.h). The values of a capture stand for objects that
// are not there, and effects come at its end: so where the last reference to such an object may go,
// CPython takes the step.
#include <algorithm>
#include <climits>

#include "absl/container/flat_hash_set.h"
#include "capture/tracer.h"
#include "capture/values.h"
#include "python/call_in_frame.h"
#include "python/lifetime.h"

namespace pijit {
namespace {

using Reached = absl::flat_hash_set<const Value*>;
Reached reached_from(std::vector<V> todo) {
  Reached seen;
  while (!todo.empty()) {
    const V v = todo.back();
    todo.pop_back();
    if (!v || !seen.insert(v).second) continue;
    v->traverse([&](const V& x) { todo.push_back(x); });
  }
  return seen;
}

// Does the method of a container only add to it?
bool only_adds(const std::string& name) {
  return name == "append" || name == "appendleft" || name == "extend" || name == "extendleft" ||
         name == "insert" || name == "add" || name == "setdefault" || name == "sort" ||
         name == "reverse" || name == "rotate" || name == "move_to_end";
}

// What a later call finds in the place of what is removed here, where nothing else is asked of it.
void guard_removed(Context& c, const Context::Note& n, PyObject* now) {
  using Note = Context::Note;
  constexpr auto kMost = 16;  // in a capture: a program that fills a table would have one for each
  const auto first = c.guard_index_.lower_bound({Guard::kUnmourned, -1, 0, nullptr});
  if (std::distance(first, c.guard_index_.end()) >= kMost) return;
  Source s{Source::kDictAttr, n.target ? n.target->src : -1, 0, n.name};
  switch (n.kind) {
    case Note::kSetGlobal:
      s = {Source::kGlobal, c.add_source({Source::kConst, -1, 0, n.name}), 0, n.globals};
      break;
    case Note::kSetAttr:
    case Note::kDelAttr: {
      PyObject* d = type_lookup(Py_TYPE(n.target->obj.ptr()), n.name.ptr());
      if (d && Py_TYPE(d) == &PyMemberDescr_Type) s.kind = Source::kSlot;
      break;
    }
    case Note::kSetCell: s = {Source::kCell, n.target->src, 0, {}}; break;
    case Note::kSetItem:
    case Note::kDelItem:
      if (n.values[0]->kind != Value::kConst) return;
      if (PyDict_Check(n.target->obj.ptr()))
        s = {Source::kDictItem, n.target->src, 0, n.values[0]->obj};
      else if (const auto i = c.as_int(n.values[0]); i && std::abs(*i) < INT_MAX)
        s = {Source::kItem, n.target->src, static_cast<int>(*i), {}};
      else
        return;
      break;
    case Note::kCall:
      if (!now || !seems_mourned(now)) c.guard(Guard::kUnmourned, n.target->src);
      return;
    default: return;
  }
  const auto key =
      std::make_tuple(static_cast<int>(s.kind), s.parent, s.index, s.key.ptr(), s.other, s.args);
  if (c.source_index_.count(key) || (now && seems_mourned(now))) return;
  c.guard(Guard::kUnmourned, c.add_source(std::move(s)));
}

}  // namespace

// Before a change of an object from outside: what it held until now.
void Context::check_removed(const Note& n) {
  PyObject* from = n.target ? n.target->obj.ptr() : nullptr;
  py::object old;
  switch (n.kind) {
    case Note::kAssign:
    case Note::kPrint:
    case Note::kExtend: return;
    case Note::kSetGlobal: old = share(found_in(n.globals.ptr(), n.name.ptr())); break;
    case Note::kSetAttr:
    case Note::kDelAttr: {
      PyObject* d = type_lookup(Py_TYPE(from), n.name.ptr());
      if (d && Py_TYPE(d) == &PyMemberDescr_Type)
        old = py::reinterpret_steal<py::object>(slot_value(d, from));
      else if (const auto own = py::reinterpret_steal<py::object>(instance_dict(from)))
        old = share(found_in(own.ptr(), n.name.ptr()));
      break;
    }
    case Note::kSetClass: {
      const auto own =
          py::reinterpret_steal<py::object>(type_dict(reinterpret_cast<PyTypeObject*>(from)));
      if (own) old = share(found_in(own.ptr(), n.name.ptr()));
      break;
    }
    case Note::kSetCell: old = share(PyCell_GET(from)); break;
    case Note::kSetItem:
    case Note::kDelItem: {
      PyObject* key = n.values[0]->kind == Value::kConst ? n.values[0]->obj.ptr() : nullptr;
      if (key && PyDict_Check(from)) {
        old = share(found_in(from, key));
      } else if (key && PyList_CheckExact(from) && PyLong_CheckExact(key)) {
        int64_t i = *as_int(n.values[0]);
        if (i < 0) i += PyList_GET_SIZE(from);
        if (i >= 0 && i < PyList_GET_SIZE(from)) old = share(PyList_GET_ITEM(from, i));
      } else {
        old = share(from);
      }
      break;
    }
    case Note::kCall: {
      auto* grows = as<GrowingSequence>(n.target);
      if (only_adds(text_of(n.name.attr("__name__"))) && !(grows && grows->bounded())) return;
      old = share(from);
      break;
    }
  }
  guard_removed(*this, n, old.ptr());
  if (!old || (!PyObject_IS_GC(old.ptr()) && !is_mourned(old.ptr()))) return;
  if (!lasting_.insert(old.ptr()).second) return;
  PyObject* const roots[] = {old.ptr()};
  auto of_values = [this](PyObject* o) { return static_cast<Py_ssize_t>(known_.count(o)); };
  if (takes_mourned(roots, false, of_values)[0])
    give_up(Reason::kUnsupportedCall, str_cat("dropping a ", Py_TYPE(old.ptr())->tp_name));
}

// Of the state, for which it is the only holder as far as capture can tell: local variables, what
// lies on the stack and the exception that is handled. Arguments are their caller's, too.
std::vector<bool> Tracer::mourned_state() const {
  std::vector<PyObject*> roots = state_;
  const int args = num_args(*start_.code);
  std::vector<bool> mourned(roots.size());
  for (size_t k = 0; k < roots.size(); ++k) {
    PyObject*& o = roots[k];
    const bool given =
        static_cast<int>(k) < args && o &&
        (start_.instr == 0 || Py_REFCNT(o) > std::count(state_.begin(), state_.end(), o));
    if (!given) continue;
    mourned[k] = has_finalizer(Py_TYPE(o));
    o = nullptr;
  }
  if (std::all_of(roots.begin(), roots.end(), [](auto* o) { return !o || o == Py_None; }))
    return mourned;
  const std::vector<bool> own = takes_mourned(roots, true, [](PyObject*) { return Py_ssize_t{0}; });
  for (size_t k = 0; k < own.size(); ++k) mourned[k] = mourned[k] || own[k];
  return mourned;
}

void Tracer::keep_mourned(const Frame& f) {
  auto variable = [&](const V& v) {
    return std::find(f.slots.begin(), f.slots.end(), v) != f.slots.end() ||
           std::find(f.stack.begin(), f.stack.end(), v) != f.stack.end();
  };
  if (std::all_of(mourned_.begin(), mourned_.end(), variable)) return;
  if (returned_) {  // with the frame, in the order in which what holds it lets go
    const Reached result = reached_from({return_value_});
    for (auto& v : mourned_)
      if (!variable(v) && !result.contains(v))
        give_up(Reason::kUnsupportedCall, str_cat("dropping a ", type_of(v)->tp_name));
    return;
  }
  std::vector<V> held = f.slots;
  held.insert(held.end(), f.stack.begin(), f.stack.end());
  held.insert(held.end(), active_tapes_.begin(), active_tapes_.end());
  held.push_back(f.handled);
  const Reached alive = reached_from(std::move(held));
  for (auto& v : mourned_)
    if (!alive.contains(v))
      give_up(Reason::kUnsupportedCall, str_cat("dropping a ", type_of(v)->tp_name));
}

// A variable of the outermost frame loses the value that it had at the start. The next call may
// have another there.
void Tracer::let_go(const Frame& f, int slot) {
  if (frames_.size() > 1 || start_.instr == 0 || !let_go_.insert(slot).second) return;
  const V& v = f.slots[static_cast<size_t>(slot)];
  PyObject* now = state_[static_cast<size_t>(slot)];
  if (v->kind == Value::kTensor || v->kind == Value::kConst || Context::unfixed(v)) return;
  if (now && seems_mourned(now)) return;  // which mourned_ knows, or others hold it
  guard(Guard::kUnmourned, add_source({Source::kState, -1, slot, {}}));
}

// Does a variable that nobody reads hold what others may see: an object that has left the capture,
// to which there may be weak references, or one that is mourned?
Tracer::Kept Tracer::keeps_alive(const V& v) const {
  Kept kept = Kept::kNothing;
  for (const Value* x : reached_from({v})) {
    if (x->src >= 0) {
      if (std::any_of(mourned_.begin(), mourned_.end(), [&](auto& m) { return m == x; }))
        return Kept::kMourned;
      continue;
    }
    const bool referable = x->kind == Value::kInstance || x->kind == Value::kFunction ||
                           x->kind == Value::kException || x->kind == Value::kSet;
    const auto known = referable ? recipe_of_.find(x) : recipe_of_.end();
    if (known != recipe_of_.end() && known->second >= 0) kept = Kept::kReferable;
  }
  return kept;
}

}  // namespace pijit
