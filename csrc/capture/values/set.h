// Sets made during capture, of constants.
#pragma once
#include "capture/value.h"

namespace pijit {

struct SetValue final : Value {
  SetValue() : Value(kSet) {}
  static bool holds(Kind k) { return k == kSet; }
  PyTypeObject* type() const override;
  std::optional<py::object> object(Context& c, Ask what) override;
  std::optional<bool> truth(Context& c) override;
  V length(Context& c) override;
  std::optional<bool> contains(Context& c, const V& x) override;
  V iter(Context& c) override;
  bool iterable() const override { return true; }
  std::optional<V> getattr(Context& c, PyObject* name) override;
  int rebuild(Rebuilder& r) override;
};

}  // namespace pijit
