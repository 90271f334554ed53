// Exceptions made during capture.
#pragma once
#include "capture/values/container.h"

namespace pijit {

// Its `args` are `items`; one that is null: they are not known.
struct ExceptionValue final : Container {
  ExceptionValue() : Container(&kKind<ExceptionValue>) {}
  static bool holds(Kind k) { return k == &kKind<ExceptionValue>; }
  PyTypeObject* type() const override;
  std::optional<V> getattr(Context& c, PyObject* name) override;
  void setattr(Context& c, PyObject* name, const V& value) override;
  V call_descriptor(Context& c, PyObject* d, std::vector<V>& args, Kwargs& kwargs) override;
  bool asks_class() const override { return true; }
  void traverse(Visit visit) const override;
  int rebuild(Rebuilder& r) override;

  std::optional<V> text(Context& c, const char* name) override;
  bool is_referable() const override { return true; }

  absl::flat_hash_map<std::string, V> attrs;  // others than `args`
  V args;                                     // what the constructor got; null: not known
  bool raised = false;                        // it has a traceback by now, and cannot be rebuilt
};

std::optional<V> make_exception(Context& c, PyTypeObject* t, const std::vector<V>& args);
// What str() or repr() gives; `method`: the C function to ask, where it is not the class's own.
V exception_text(Context& c, const V& v, const char* name, PyObject* method = nullptr);

}  // namespace pijit
