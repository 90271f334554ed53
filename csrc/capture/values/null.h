// An unbound variable, or the NULL that CPython keeps on its stack beside callables.
#pragma once
#include "capture/value.h"

namespace pijit {

struct NullValue final : Value {
  NullValue() : Value(&kKind<NullValue>) {}
  static bool holds(Kind k) { return k == &kKind<NullValue>; }
  PyTypeObject* type() const override;
  int rebuild(Rebuilder& r) override;
};

}  // namespace pijit
