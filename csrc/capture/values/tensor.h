// Tensors.
#pragma once
#include "capture/value.h"

namespace pijit {

struct TensorValue final : Value {
  TensorValue() : Value(kTensor) {}
  static bool holds(Kind k) { return k == kTensor; }
  PyTypeObject* type() const override;
  V length(Context& c) override;
  V getitem(Context& c, const V& index) override;
  void setitem(Context& c, const V& index, const V& value) override;
  V iter(Context& c) override;
  bool iterable() const override { return true; }
  std::optional<V> getattr(Context& c, PyObject* name) override;
  bool asks_class() const override { return true; }
  void guard_methods(Context& c) override;
  bool has_identity() const override { return true; }
  int rebuild(Rebuilder& r) override;
};

}  // namespace pijit
