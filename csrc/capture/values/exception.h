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
  V call_descriptor(Context& c, PyObject* d, std::vector<V>& args, Kwargs& kwargs) override;
  bool asks_class() const override { return true; }
  void traverse(Visit visit) const override;
  int rebuild(Rebuilder& r) override;

  V args;               // what the constructor got; null: not known
  bool raised = false;  // it has a traceback by now, and cannot be rebuilt
};

std::optional<V> make_exception(Context& c, PyTypeObject* t, const std::vector<V>& args);
// What str() or repr() gives; `method`: the C function to ask, where it is not the class's own.
V exception_text(Context& c, const V& v, const char* name, PyObject* method = nullptr);

}  // namespace pijit
