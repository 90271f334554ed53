// Objects of Python classes made during capture.
#pragma once
#include "capture/values/container.h"

namespace pijit {

struct InstanceValue final : Entries {
  InstanceValue() : Entries(&kKind<InstanceValue>) {}
  static bool holds(Kind k) { return k == &kKind<InstanceValue>; }
  PyTypeObject* type() const override;
  bool iterable() const override { return true; }
  std::optional<V> getattr(Context& c, PyObject* name) override;
  void setattr(Context& c, PyObject* name, const V& value) override;
  void delattr(Context& c, PyObject* name) override;
  void store_attribute(Context& c, PyObject* name, const V& value) override;
  void drop_attribute(Context& c, PyObject* name) override;
  bool is_referable() const override { return true; }
  V call_descriptor(Context& c, PyObject* d, std::vector<V>& args, Kwargs& kwargs) override;
  bool asks_class() const override { return true; }
  bool declines_binary(const V&) const override { return true; }
  bool declines_comparison(const V&) const override { return true; }
  int rebuild(Rebuilder& r) override;
};

// Objects of the class are made by object.__new__, and nobody sees them go.
bool bare_class(PyTypeObject* t);
InstanceValue* bare_object(Context& c, PyTypeObject* t);  // what object.__new__ gives
V make_instance(Context& c, PyTypeObject* t, std::vector<V> args, Kwargs kwargs);
V make_named_tuple(Context& c, PyTypeObject* t, std::vector<V> args, Kwargs kwargs);

}  // namespace pijit
