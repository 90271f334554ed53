// Objects from outside that are reached through their attributes: of Python classes, modules,
// classes, functions, and others.
#pragma once
#include "capture/values/set_operators.h"

namespace pijit {

struct ObjectValue final : SetOperators<Value> {  // frozensets are objects
  ObjectValue() : SetOperators(&kKind<ObjectValue>) {}
  static bool holds(Kind k) { return k == &kKind<ObjectValue>; }
  PyTypeObject* type() const override;
  std::optional<py::object> object(Context& c, Ask what) override;
  std::optional<bool> truth(Context& c) override;
  V length(Context& c) override;
  std::optional<bool> contains(Context& c, const V& x) override;
  V iter(Context& c) override;
  bool iterable() const override { return true; }
  std::optional<V> getattr(Context& c, PyObject* name) override;
  void setattr(Context& c, PyObject* name, const V& value) override;
  void delattr(Context& c, PyObject* name) override;
  void store_attribute(Context& c, PyObject* name, const V& value) override;
  void drop_attribute(Context& c, PyObject* name) override;
  void traverse(Visit visit) const override;
  V call(Context& c, std::vector<V> args, Kwargs kwargs) override;
  V call_descriptor(Context& c, PyObject* d, std::vector<V>& args, Kwargs& kwargs) override;
  bool asks_class() const override { return true; }
  void guard_methods(Context& c) override;
  bool has_identity() const override;
  std::optional<V> method(Context& c, const std::string& name, std::vector<V>& args,
                          Kwargs& kwargs) override;
  V base_number(Context& c) override;
  V merge(Merge& m, const V& other) override;
  py::object stand_in(Context& c) override;
  int rebuild(Rebuilder& r) override;

  // What was written to attributes, by name; null: the attribute was deleted.
  absl::flat_hash_map<std::string, V> attrs;

 private:
  void watch_dict(Context& c);
  void write(Context& c, const std::string& name, const V& value);

  std::optional<py::object> frozen(Context& c);
};

}  // namespace pijit
