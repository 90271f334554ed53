#include "capture/lifetimes.h"

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
  static constexpr std::string_view kAdding[] = {
      "append",     "appendleft", "extend",  "extendleft", "insert",     "add",
      "setdefault", "sort",       "reverse", "rotate",     "move_to_end"};
  return std::ranges::find(kAdding, name) != std::end(kAdding);
}

// What a later call finds in the place of what is removed here, where nothing else is asked of it.
// `moved`: the items of the sequence are no longer where they were.
void guard_removed(Context& c, const Context::Note& n, PyObject* now, bool moved) {
  using Note = Context::Note;
  constexpr auto kMost = 16;  // in a capture: a program that fills a table would have one for each
  if (c.unmourned_ >= kMost) return;
  Source s{Source::kDictAttr, n.target ? n.target->src : -1, 0, n.name};
  auto whole = [&] {
    if (!now || !seems_mourned(now)) c.guard(Guard::kUnmourned, n.target->src);
  };
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
    case Note::kDelItem: {
      const V& key = n.values[0];
      const bool dict = PyDict_Check(n.target->obj.ptr());
      const bool varies = is_input(key);
      const auto i = dict || varies ? std::nullopt : as_int(c, key);
      if (dict && (varies || is_known(key)))
        s = {Source::kDictItem, n.target->src, 0, varies ? py::object() : key->obj,
             varies ? key->src : -1};
      else if (varies && !moved)
        s = OutsideSequence::at(n.target->src, key->src);
      else if (i && !moved && std::abs(*i) < INT_MAX)
        s = {Source::kItem, n.target->src, static_cast<int>(*i), {}};
      else
        return whole();
      break;
    }
    case Note::kCall: return whole();
    default: return;
  }
  const auto key =
      std::make_tuple(static_cast<int>(s.kind), s.parent, s.index, s.key.ptr(), s.other, s.args);
  // one that is only known to be there is not known
  const bool known = c.source_index_.count(key) && s.kind != Source::kComputed;
  if (known || (now && seems_mourned(now))) return;
  c.guard(Guard::kUnmourned, c.add_source(std::move(s)));
}

}  // namespace

// Before a change of an object from outside: what it held until now.
void check_removed(Context& c, const Context::Note& n) {
  PyObject* from = n.target ? n.target->obj.ptr() : nullptr;
  const bool moved = n.target && c.moved_.contains(n.target);
  py::object old;
  switch (n.kind) {
    case Context::Note::kAssign:
    case Context::Note::kPrint:
    case Context::Note::kExtend:
    case Context::Note::kStore: return;
    case Context::Note::kSetGlobal: old = share(c.found_in(n.globals.ptr(), n.name.ptr())); break;
    case Context::Note::kSetAttr:
    case Context::Note::kDelAttr: {
      PyObject* d = type_lookup(Py_TYPE(from), n.name.ptr());
      if (d && Py_TYPE(d) == &PyMemberDescr_Type)
        old = py::reinterpret_steal<py::object>(slot_value(d, from));
      else if (const auto own = py::reinterpret_steal<py::object>(instance_dict(from)))
        old = share(c.found_in(own.ptr(), n.name.ptr()));
      break;
    }
    case Context::Note::kSetClass: {
      const auto own =
          py::reinterpret_steal<py::object>(type_dict(reinterpret_cast<PyTypeObject*>(from)));
      if (own) old = share(c.found_in(own.ptr(), n.name.ptr()));
      break;
    }
    case Context::Note::kSetCell: old = share(PyCell_GET(from)); break;
    case Context::Note::kSetItem:
    case Context::Note::kDelItem: {
      const V& key = n.values[0];
      if (PyDict_Check(from) && (is_known(key) || is_input(key)))
        old = share(c.found_in(from, key->obj.ptr()));
      else if (auto* s = as<GrowingSequence>(n.target);
               s && !moved && key->obj && PyLong_Check(key->obj.ptr()))
        old = s->outside.object(key->obj.ptr());
      else
        old = share(from);
      break;
    }
    case Context::Note::kCall: {
      auto* grows = as<GrowingSequence>(n.target);
      if (only_adds(text_of(n.name.attr("__name__"))) && !(grows && grows->bounded())) return;
      old = share(from);
      break;
    }
  }
  guard_removed(c, n, old.ptr(), moved);
  if (!old || (!PyObject_IS_GC(old.ptr()) && !is_mourned(old.ptr()))) return;
  if (!c.lasting_.insert(old.ptr()).second) return;
  PyObject* const roots[] = {old.ptr()};
  auto of_values = [&c](PyObject* o) { return static_cast<Py_ssize_t>(c.known_.count(o)); };
  if (takes_mourned(roots, false, of_values)[0])
    c.give_up(Reason::kUnsupportedCall, str_cat("dropping a ", Py_TYPE(old.ptr())->tp_name));
}

// Of the state, for which it is the only holder as far as capture can tell: local variables, what
// lies on the stack and the exception that is handled. Arguments are their caller's, too.
std::vector<bool> Lifetimes::mourned_state() const {
  std::vector<PyObject*> roots = t_.state_;
  const int args = num_args(*t_.start_.code);
  std::vector<bool> mourned(roots.size());
  for (size_t k = 0; k < roots.size(); ++k) {
    PyObject*& o = roots[k];
    const bool given =
        static_cast<int>(k) < args && o &&
        (t_.start_.instr == 0 || Py_REFCNT(o) > std::count(t_.state_.begin(), t_.state_.end(), o));
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

void Lifetimes::mourn(const V& v, int at) {
  mourned_.push_back(v);
  mourned_at_.push_back(at);
}

void Lifetimes::keep_mourned(const Frame& f) const {
  auto variable = [&](const V& v) {
    return std::find(f.slots.begin(), f.slots.end(), v) != f.slots.end() ||
           std::find(f.stack.begin(), f.stack.end(), v) != f.stack.end();
  };
  const bool all = std::all_of(mourned_.begin(), mourned_.end(), variable);
  if (mourned_.empty() || (all && !t_.returned_)) return;
  if (t_.returned_) {  // with the frame, in the order in which what holds it lets go
    const Reached result = reached_from({t_.return_value_});
    // by where it lay at the start, in the order in which that goes: the variables last
    std::map<int, V> dying;
    for (size_t k = 0; k < mourned_.size(); ++k) {
      const V& v = mourned_[k];
      if (result.contains(v)) continue;
      if (!variable(v))
        t_.give_up(Reason::kUnsupportedCall, str_cat("dropping a ", v->type()->tp_name));
      const int at = mourned_at_[k], slots = static_cast<int>(f.slots.size());
      const int turn = kLastSlotDiesFirst ? slots - 1 - at : at;
      const int when = at < slots ? turn + t_.start_.stack_size + 1 : at - slots;
      // it may be held twice
      const auto other =
          std::find_if(dying.begin(), dying.end(), [&](auto& d) { return d.second == v; });
      if (other != dying.end() && other->first > when) continue;
      if (other != dying.end()) dying.erase(other);
      dying[when] = v;
    }
    std::ptrdiff_t last = -1;
    for (auto& [when, v] : dying) {
      const auto place =
          kLastSlotDiesFirst
              ? f.slots.end() - std::find(f.slots.begin(), f.slots.end(), v)
              : std::find(f.slots.rbegin(), f.slots.rend(), v).base() - f.slots.begin();
      if (place < last)
        t_.give_up(Reason::kUnsupportedCall, str_cat("dropping a ", v->type()->tp_name));
      last = place;
    }
    return;
  }
  std::vector<V> held = f.slots;
  held.insert(held.end(), f.stack.begin(), f.stack.end());
  held.insert(held.end(), t_.open_tapes_.begin(), t_.open_tapes_.end());
  held.push_back(f.handled);
  const Reached alive = reached_from(std::move(held));
  for (auto& v : mourned_)
    if (!alive.contains(v))
      t_.give_up(Reason::kUnsupportedCall, str_cat("dropping a ", v->type()->tp_name));
}

// A variable of the outermost frame loses the value that it had at the start. The next call may
// have another there.
void Lifetimes::let_go(const Frame& f, int slot) {
  if (t_.frames_.size() > 1 || t_.start_.instr == 0 || !let_go_.insert(slot).second) return;
  const V& v = f.slots[static_cast<size_t>(slot)];
  PyObject* now = t_.state_[static_cast<size_t>(slot)];
  if (as<TensorValue>(v) || is_known(v) || varies(v)) return;
  if (now && seems_mourned(now)) return;  // which mourned_ knows, or others hold it
  t_.guard(Guard::kUnmourned, t_.add_source({Source::kState, -1, slot, {}}));
}

// Does a variable that nobody reads hold what others may see: an object that has left the capture,
// to which there may be weak references, or which is given more to hold, or one that is mourned?
Lifetimes::Kept Lifetimes::keeps_alive(const V& v,
                                       absl::FunctionRef<bool(const Value*)> made) const {
  Kept kept = Kept::kNothing;
  auto of_variable = [this](const Value* x) {
    const Source& root = root_of(t_.sources_, x->src);
    return !as<TensorValue>(x) && root.kind == Source::kState &&
           (t_.start_.instr > 0 || root.index >= num_args(*t_.start_.code));
  };
  for (const Value* x : reached_from({v})) {
    if (x->src >= 0) {
      if (std::any_of(mourned_.begin(), mourned_.end(), [&](auto& m) { return m == x; }))
        return Kept::kMourned;
      if (of_variable(x) && is_referred_to(x->obj.ptr())) kept = Kept::kReferable;
      continue;
    }
    if (x->is_referable() && made(x)) kept = Kept::kReferable;
  }
  return kept;
}

}  // namespace pijit
