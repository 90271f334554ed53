// What super() gives: attributes of `self` from behind `cls` on.
#pragma once
#include "capture/value.h"

namespace pijit {

struct SuperValue final : Value {
  SuperValue(V cls, V self) : Value(&kKind<SuperValue>), cls(cls), self(self) {}
  static bool holds(Kind k) { return k == &kKind<SuperValue>; }
  PyTypeObject* type() const override;
  std::optional<V> getattr(Context& c, PyObject* name) override;
  void traverse(Visit visit) const override;
  int rebuild(Rebuilder& r) override;

  V cls, self;
};

}  // namespace pijit
