// Slices.
#pragma once
#include "capture/value.h"

namespace pijit {

struct SliceValue final : Value {
  SliceValue(V start, V stop, V step)
      : Value(&kKind<SliceValue>), start(start), stop(stop), step(step) {}
  static bool holds(Kind k) { return k == &kKind<SliceValue>; }
  PyTypeObject* type() const override;
  std::optional<py::object> object(Context& c, Ask what) override;
  std::optional<V> getattr(Context& c, PyObject* name) override;
  std::vector<V> parts(Context& c) override;
  V with_parts(Context& c, std::vector<V> parts) override;
  void traverse(Visit visit) const override;
  int rebuild(Rebuilder& r) override;

  V start, stop, step;
};

}  // namespace pijit
