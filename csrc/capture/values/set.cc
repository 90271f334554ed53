#include "capture/values/set.h"

#include <algorithm>

#include "capture/context.h"
#include "capture/protocol/protocol.h"
#include "capture/rebuilder.h"
#include "capture/values/dict.h"
#include "capture/values/iterator.h"
#include "capture/values/object.h"
#include "capture/values/open_set.h"
#include "python/quiet_lookup.h"

namespace pijit {
namespace {

py::object method_of_set(PyObject* name) { return share(type_lookup(&PySet_Type, name)); }
py::object method_of_set(const char* name) { return method_of_set(interned(name)); }

py::object replay(const std::vector<SetValue::Step>& steps) {
  py::object s = py::set();
  for (auto& step : steps) s = step.run(s);
  return s;
}

struct SetRecipe final : Recipe {
  py::object make(Runner& r) const override {
    const py::object s = replay(steps);
    if (made.empty()) return s;
    // equal objects in the places of those of the capture
    auto* set = reinterpret_cast<PySetObject*>(s.ptr());
    for (Py_ssize_t k = 0; k <= set->mask; ++k)
      if (const auto it = made.find(set->table[k].key); it != made.end()) {
        const auto old = py::reinterpret_steal<py::object>(set->table[k].key);
        set->table[k].key = Py_NewRef(r.make(it->second).ptr());
      }
    return s;
  }
  int visit(visitproc visit, void* arg) const override {
    for (auto& step : steps)
      for (auto& a : step.args) Py_VISIT(a.ptr());
    return 0;
  }
  std::string describe() const override {
    std::string r = "set";
    for (auto& step : steps) {
      r += " " + (step.callable ? text_of(step.callable.attr("__name__")) : "copy");
      for (auto& a : step.args) r += " " + shown(a);
    }
    return r;
  }

  std::vector<SetValue::Step> steps;
  absl::flat_hash_map<PyObject*, int> made;  // recipes of elements; the steps hold the objects
};

bool is_frozen(const V& v) { return as<ObjectValue>(v) && PyFrozenSet_CheckExact(v->obj.ptr()); }
bool is_set(const V& v) { return as<SetValue>(v) || as<OpenSetValue>(v) || is_frozen(v); }
bool is_keys(const V& v) {
  const auto* view = as<ViewValue>(v);
  return view && view->what == ViewValue::kKeys;
}

py::object dict_of_keys(Context& c, const V& d) {
  d->settle(c);
  py::dict all;
  for (auto& k : as<DictValue>(d)->keys) all[k] = py::none();
  return all;
}

// The same where it is one; gives up where its elements are no constants.
py::object known_set(Context& c, const V& x) {
  const auto o = set_object(c, x);
  if (!o) c.give_up(Reason::kUnsupportedOperand, "a set of other things than constants");
  return *o;
}

// An argument of a set's method, which may be anything that is iterated.
py::object set_argument(Context& c, const V& x) {
  if (auto o = set_object(c, x)) return *o;
  if (is_dict(x)) return dict_of_keys(c, x);
  py::list all;
  for (auto& v : protocol::items_of(c, x)) all.append(key_object(c, v, &PySet_Type));
  return all;
}

V made_of(Context& c, std::vector<SetValue::Step> steps) {
  auto* s = c.make<SetValue>();
  s->steps = std::move(steps);
  return s;
}

// What C code gives for sets: a set, a frozenset or an answer.
py::object called(Context& c, const py::object& f, const std::vector<py::object>& args) {
  const SetValue::Step step{f, args, false, true};
  try {
    return step.run({});
  } catch (const py::error_already_set& e) {
    c.raise(e);
  }
}

// The set that a function gives for set `a`, which is the first of its arguments.
V set_by(Context& c, const V& a, const py::object& f, std::vector<py::object> rest) {
  const py::object o = known_set(c, a);
  std::vector<py::object> all{o};
  all.insert(all.end(), rest.begin(), rest.end());
  const py::object r = called(c, f, all);
  if (r.is(o) && is_frozen(a)) return a;  // a copy of a frozenset is itself
  if (!PySet_CheckExact(r.ptr())) return *protocol::fresh(c, r);
  if (auto* made = as<SetValue>(a)) {
    std::vector<SetValue::Step> steps = made->steps;
    steps.push_back({f, std::move(rest), true, true});
    return made_of(c, std::move(steps));
  }
  return made_of(c, {{f, std::move(all), false, true}});
}

// Elements in no order that counts.
py::object content(Context& c, const V& x) {
  if (auto* open = as<OpenSetValue>(x)) return open->content(c);
  return known_set(c, x);
}

}  // namespace

py::object SetValue::Step::run(const py::object& set) const {
  if (!callable) return checked(copy_of_table(args[0].ptr()));
  std::vector<PyObject*> all;
  if (of_set) all.push_back(set.ptr());
  for (auto& a : args) all.push_back(a.ptr());
  const py::object r =
      checked(PyObject_Vectorcall(callable.ptr(), all.data(), all.size(), nullptr));
  return gives ? r : set;
}

PyTypeObject* SetValue::type() const { return &PySet_Type; }

py::object SetValue::elements() {
  if (!live_) live_ = replay(steps);
  return live_;
}
Py_ssize_t SetValue::size() { return PySet_GET_SIZE(elements().ptr()); }

std::optional<py::object> SetValue::object(Context&, Ask) { return replay(steps); }

std::optional<bool> SetValue::truth(Context&) { return size() > 0; }
V SetValue::length(Context& c) { return c.constant_int(size()); }

std::optional<bool> SetValue::contains(Context& c, const V& x) {
  const int r = PySet_Contains(elements().ptr(), key_object(c, x, &PySet_Type).ptr());
  if (r < 0) c.raise(py::error_already_set());
  return r == 1;
}

V SetValue::iter(Context& c) {
  std::vector<V> out;
  for (auto o : elements()) out.push_back(key_value(c, o.ptr()));
  return c.make<SetIterator>(this, out);
}

std::optional<V> SetValue::getattr(Context& c, PyObject* name) {
  return protocol::builtin_attribute(c, this, name);
}

void SetValue::change(Context& c, Step step) {
  c.touch(this);
  py::object now = elements();
  live_ = {};  // an error may come half-way
  try {
    now = step.run(now);
  } catch (const py::error_already_set& e) {
    c.raise(e);
  }
  live_ = std::move(now);
  c.undoable([this] {
    steps.pop_back();
    live_ = {};
    --changes;
  });
  ++changes;
  steps.push_back(std::move(step));
}

void SetValue::add(Context& c, const V& x) {
  const py::object o = key_object(c, x, &PySet_Type);
  const int known = PySet_Contains(elements().ptr(), o.ptr());
  if (known < 0) c.raise(py::error_already_set());
  if (!known) change(c, {method_of_set(names.add), {o}});
}

int SetValue::rebuild(Rebuilder& r) {
  auto made = std::make_unique<SetRecipe>();
  made->steps = steps;
  for (auto o : elements())
    if (const V element = made_key(r.context(), o.ptr())) {
      made->parts.push_back(r.recipe(element));
      made->made[o.ptr()] = made->parts.back();
    }
  return r.add(this, std::move(made));
}

// --- all kinds of sets

std::optional<py::object> set_object(Context& c, const V& x) {
  if (auto* s = as<SetValue>(x)) return s->object(c, Ask::kAnything);
  if (auto* s = as<OpenSetValue>(x)) return s->object(c, Ask::kAnything);
  if (is_frozen(x)) return x->object(c, Ask::kAnything);
  if (is_keys(x)) return dict_of_keys(c, as<ViewValue>(x)->dict).attr("keys")();
  return std::nullopt;
}

V set_snapshot(Context& c, const V& x) {
  if (is_frozen(x)) return x;
  if (auto* s = as<SetValue>(x)) return made_of(c, s->steps);
  if (is_keys(x)) return make_set(c, &PySet_Type, x);
  return made_of(c, {{py::object(), {known_set(c, x)}, false, true}});
}

V make_set(Context& c, PyTypeObject* t, const V& x) {
  if (t == &PyFrozenSet_Type && x && is_frozen(x)) return x;
  const py::object cls = share(reinterpret_cast<PyObject*>(t));
  std::vector<py::object> args;
  if (x) args.push_back(set_argument(c, x));
  const py::object made = called(c, cls, args);
  if (t == &PyFrozenSet_Type) return *protocol::fresh(c, made);
  return made_of(c, {{cls, std::move(args), false, true}});
}

V set_operation(Context& c, BinaryOp op, const V& a, const V& b) {
  const bool of_sets =
      op == BinaryOp::kAnd || op == BinaryOp::kOr || op == BinaryOp::kXor || op == BinaryOp::kSub;
  if (!of_sets || !(is_set(a) || is_keys(a)) || !(is_set(b) || is_keys(b))) return nullptr;
  return set_by(c, a, share(original(facts(op).function)), {known_set(c, b)});
}

V set_in_place(Context& c, BinaryOp op, const V& a, const V& b) {
  if (!is_set(b)) return nullptr;
  const char* method = op == BinaryOp::kAnd   ? "intersection_update"
                       : op == BinaryOp::kOr  ? "update"
                       : op == BinaryOp::kXor ? "symmetric_difference_update"
                       : op == BinaryOp::kSub ? "difference_update"
                                              : nullptr;
  if (!method) return nullptr;
  std::vector<V> args{b};
  Kwargs none;
  if (!a->method(c, method, args, none)) return nullptr;
  return a;
}

V set_comparison(Context& c, CompareOp op, const V& a, const V& b) {
  if (!(is_set(a) || is_keys(a)) || !(is_set(b) || is_keys(b))) return nullptr;
  return *protocol::fresh(
      c, called(c, share(original(facts(op).name)), {content(c, a), content(c, b)}));
}

namespace {

// A method that leaves its set as it is.
struct Question {
  std::string_view name;
  bool one;   // takes one argument
  bool lazy;  // may leave an iterator half-way
  std::optional<V> (*answer)(Context& c, const V& set, const char* name,
                             const std::vector<V>& args);
};

py::object unbound(const V& set, const char* name) {
  auto* cls = reinterpret_cast<PyObject*>(is_frozen(set) ? &PyFrozenSet_Type : &PySet_Type);
  return share(cls).attr(name);
}
std::optional<V> compared(Context& c, const V& set, const char* name, const std::vector<V>& args) {
  const py::object other = is_set(args[0]) ? content(c, args[0]) : set_argument(c, args[0]);
  return protocol::fresh(c, called(c, unbound(set, name), {content(c, set), other}));
}
std::optional<V> combined(Context& c, const V& set, const char* name, const std::vector<V>& args) {
  std::vector<py::object> others;
  for (auto& a : args) others.push_back(set_argument(c, a));
  return set_by(c, set, unbound(set, name), others);
}
std::optional<V> counted(Context& c, const V& set, const char*, const std::vector<V>& args) {
  if (!args.empty()) return std::nullopt;
  return protocol::length(c, set);
}
std::optional<V> searched(Context& c, const V& set, const char*, const std::vector<V>& args) {
  const auto yes = set->contains(c, args[0]);
  if (!yes) return std::nullopt;
  return c.constant(py::bool_(*yes));
}

constexpr Question kQuestions[] = {
    {"issubset", true, false, compared},
    {"issuperset", true, true, compared},
    {"isdisjoint", true, true, compared},
    {"union", false, false, combined},
    {"intersection", false, false, combined},
    {"difference", false, false, combined},
    {"symmetric_difference", true, false, combined},
    {"copy", false, false, combined},
    {"__len__", false, false, counted},
    {"__contains__", true, false, searched},
};

void discard_item(Context& c, SetValue& set, const V& x) {
  if (*set.contains(c, x))
    set.change(c, {method_of_set("discard"), {key_object(c, x, &PySet_Type)}});
}
// Updates a set by others at once; or, where `each` is given and an iterator is among them, by the
// items of each iterator as they come.
V update(Context& c, SetValue& set, const char* name, const std::vector<V>& args,
         void (*each)(Context& c, SetValue& set, const V& x) = nullptr) {
  if (each && std::ranges::any_of(args, [](auto& a) { return as<IteratorValue>(a); })) {
    for (auto& a : args) {
      if (!as<IteratorValue>(a)) {
        update(c, set, name, {a});
        continue;
      }
      protocol::each(c, a, [&](const V& x) { each(c, set, x); });
      if (each == discard_item)
        set.change(c, {method_of_set(name), {py::tuple()}});  // it tidies up
    }
    return c.constant(py::none());
  }
  SetValue::Step step{method_of_set(name), {}};
  for (auto& a : args) step.args.push_back(set_argument(c, a));
  set.change(c, std::move(step));
  return c.constant(py::none());
}

using Args = const std::vector<V>&;
constexpr size_t kAny = SIZE_MAX;
constexpr Method<SetValue> kSetMethods[] = {
    {"add", 1, 1,
     [](Context& c, SetValue& s, Args a) {
       s.add(c, a[0]);
       return c.constant(py::none());
     }},
    {"discard", 1, 1,
     [](Context& c, SetValue& s, Args a) {
       discard_item(c, s, a[0]);
       return c.constant(py::none());
     }},
    {"remove", 1, 1,
     [](Context& c, SetValue& s, Args a) {
       if (!*s.contains(c, a[0])) c.raise(PyExc_KeyError, {a[0]});
       discard_item(c, s, a[0]);
       return c.constant(py::none());
     }},
    {"pop", 0, 0,
     [](Context& c, SetValue& s, Args) {
       py::object popped;
       if (s.size()) popped = replay(s.steps).attr("pop")();
       s.change(c, {method_of_set("pop"), {}});
       return key_value(c, popped.ptr());
     }},
    {"clear", 0, 0, [](Context& c, SetValue& s, Args a) { return update(c, s, "clear", a); }},
    {"update", 0, kAny,
     [](Context& c, SetValue& s, Args a) {
       return update(c, s, "update", a, [](Context& c, SetValue& s, const V& x) { s.add(c, x); });
     }},
    {"difference_update", 0, kAny,
     [](Context& c, SetValue& s, Args a) {
       return update(c, s, "difference_update", a, discard_item);
     }},
    {"intersection_update", 0, kAny,
     [](Context& c, SetValue& s, Args a) { return update(c, s, "intersection_update", a); }},
    {"symmetric_difference_update", 1, 1,
     [](Context& c, SetValue& s, Args a) {
       return update(c, s, "symmetric_difference_update", a);
     }},
};

}  // namespace

std::optional<V> set_question(Context& c, const V& set, const std::string& name,
                              const std::vector<V>& args) {
  for (auto& q : kQuestions) {
    if (q.name != name) continue;
    if (q.one && args.size() != 1)
      c.give_up(Reason::kRaises, str_cat("set.", name, "() takes one argument, not ", args.size()));
    if (q.lazy && as<IteratorValue>(args[0]))
      c.give_up(Reason::kUnsupportedCall, str_cat("set.", name, "() of an iterator"));
    return q.answer(c, set, name.c_str(), args);
  }
  return std::nullopt;
}

std::optional<V> SetValue::method(Context& c, const std::string& name, std::vector<V>& args,
                                  Kwargs& kwargs) {
  if (!kwargs.empty()) return std::nullopt;
  if (auto r = run_method(kSetMethods, *this, c, name, args, kwargs)) return r;
  return set_question(c, this, name, args);
}

V set_of(Context& c, const std::vector<V>& items) {
  auto* s = c.make<SetValue>();
  for (auto& x : items) s->add(c, x);
  return s;
}

}  // namespace pijit
