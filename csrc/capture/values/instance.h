// Objects of Python classes made during capture.
#pragma once
#include "capture/value.h"

namespace pijit {

struct InstanceValue final : Value {
  InstanceValue() : Value(kInstance) {}
  static bool holds(Kind k) { return k == kInstance; }
  PyTypeObject* type() const override;
  bool iterable() const override { return true; }
  std::optional<V> getattr(Context& c, PyObject* name) override;
  void setattr(Context& c, PyObject* name, const V& value) override;
  bool asks_class() const override { return true; }
  bool declines_binary(const V&) const override { return true; }
  bool declines_comparison(const V&) const override { return true; }
  int rebuild(Rebuilder& r) override;
};

}  // namespace pijit
