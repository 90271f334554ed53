// What Tensor.asnumpy() gives for a value of the graph: each run makes the ndarray. What numpy
// computes of it is numpy's.
#pragma once
#include "capture/value.h"

namespace pijit {

struct HostArrayValue final : Value {
  explicit HostArrayValue(Val tensor) : Value(&kKind<HostArrayValue>), tensor(tensor) {}
  static bool holds(Kind k) { return k == &kKind<HostArrayValue>; }
  PyTypeObject* type() const override;
  std::optional<V> getattr(Context& c, PyObject* name) override;
  std::optional<V> method(Context& c, const std::string& name, std::vector<V>& args,
                          Kwargs& kwargs) override;
  Val node() const override { return tensor; }
  int rebuild(Rebuilder& r) override;

  const Val tensor;
};

}  // namespace pijit
