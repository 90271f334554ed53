// Sets made during capture, of constants; what sets of all kinds do: operators, comparisons and
// methods.
#pragma once
#include "capture/values/set_operators.h"

namespace pijit {

struct SetValue final : SetChanges<Value> {
  // What was done to an empty set, step by step: so each run's set has the order of the program's.
  struct Step {
    py::object callable;           // null: the set is a copy of the argument
    std::vector<py::object> args;  // private to the step
    bool of_set = true;            // the set is its first argument
    bool gives = false;            // what it gives is the set from then on

    py::object run(const py::object& set) const;
  };
  SetValue() : SetChanges(&kKind<SetValue>) {}
  static bool holds(Kind k) { return k == &kKind<SetValue>; }
  PyTypeObject* type() const override;
  std::optional<py::object> object(Context& c, Ask what) override;
  std::optional<bool> truth(Context& c) override;
  V length(Context& c) override;
  std::optional<bool> contains(Context& c, const V& x) override;
  V iter(Context& c) override;
  bool iterable() const override { return true; }
  std::optional<V> getattr(Context& c, PyObject* name) override;
  std::optional<V> method(Context& c, const std::string& name, std::vector<V>& args,
                          Kwargs& kwargs) override;
  int rebuild(Rebuilder& r) override;

  void add(Context& c, const V& x);
  void change(Context& c, Step step);
  Py_ssize_t size();
  // In an order that follows from the set's history, as that of a real one does. Borrowed from the
  // value: not to be changed or kept.
  py::object elements();

  uint64_t generation() const override { return changes; }
  bool is_referable() const override { return true; }

  uint64_t changes = 0;
  std::vector<Step> steps;

 private:
  py::object live_;  // the elements; null: not made
};

// As an object of its own, in its order: a set of any kind, a frozenset, keys of a dict. Empty: it
// is none of these.
std::optional<py::object> set_object(Context& c, const V& x);
// A set that is equal now, and that nobody changes.
V set_snapshot(Context& c, const V& x);
// set(x) and frozenset(x).
V make_set(Context& c, PyTypeObject* t, const V& x);
// Methods that leave the set as it is. Empty: it is none of these.
std::optional<V> set_question(Context& c, const V& set, const std::string& name,
                              const std::vector<V>& args);

V set_of(Context& c, const std::vector<V>& items);

}  // namespace pijit
