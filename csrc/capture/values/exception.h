// Exceptions made during capture.
#pragma once
#include "capture/value.h"

namespace pijit {

struct ExceptionValue final : Value {
  ExceptionValue() : Value(kException) {}
  static bool holds(Kind k) { return k == kException; }
  PyTypeObject* type() const override;
  std::optional<V> getattr(Context& c, PyObject* name) override;
  void setattr(Context& c, PyObject* name, const V& value) override;
  bool asks_class() const override { return true; }
  void traverse(Visit visit) const override;
  int rebuild(Rebuilder& r) override;

  V args;               // what the constructor got; null: not known
  bool raised = false;  // it has a traceback by now, and cannot be rebuilt
};

}  // namespace pijit
