// Numbers, texts and other objects that never change: known, or a number or text that capture does
// not fix.
#pragma once
#include "capture/value.h"

namespace pijit {

struct ConstantValue final : Value {
  ConstantValue() : Value(kConst) {}
  static bool holds(Kind k) { return k == kConst || k == kVarying || k == kSize; }
  PyTypeObject* type() const override;
  std::optional<py::object> object(Context& c, Ask what) override;
  std::optional<bool> truth(Context& c) override;
  V length(Context& c) override;
  V getitem(Context& c, const V& index) override;
  std::optional<bool> contains(Context& c, const V& x) override;
  V iter(Context& c) override;
  bool iterable() const override;
  std::optional<V> getattr(Context& c, PyObject* name) override;
  int rebuild(Rebuilder& r) override;
};

}  // namespace pijit
