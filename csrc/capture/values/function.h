// Functions made during capture, and methods bound to objects.
#pragma once
#include "capture/value.h"

namespace pijit {

struct FunctionValue final : Value {
  FunctionValue() : Value(kFunction) {}
  static bool holds(Kind k) { return k == kFunction; }
  PyTypeObject* type() const override;
  int rebuild(Rebuilder& r) override;

  py::object code, globals;
  V defaults, kwdefaults, closure, annotations;  // null: none
};

struct MethodValue final : Value {
  MethodValue() : Value(kMethod) {}
  MethodValue(V self, V func) : Value(kMethod), self(self), func(func) {}
  static bool holds(Kind k) { return k == kMethod; }
  PyTypeObject* type() const override;
  std::optional<V> getattr(Context& c, PyObject* name) override;
  int rebuild(Rebuilder& r) override;

  V self, func;
};

}  // namespace pijit
