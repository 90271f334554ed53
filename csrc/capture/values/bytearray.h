// Arrays of numbers: bytearray, and array of the module of that name. What they give is a new
// number each time.
#pragma once
#include "capture/values/growing.h"

namespace pijit {

struct NumberArrayValue : GrowingSequence {
  NumberArrayValue() : GrowingSequence(&kKind<NumberArrayValue>) {}
  static bool holds(Kind k) { return k == &kKind<NumberArrayValue>; }
  std::optional<py::object> object(Context& c, Ask what) override;
  V getitem(Context& c, const V& index) override;
  V with_parts(Context& c, std::vector<V> parts) override;
  int rebuild(Rebuilder& r) override;
  void from_outside(Context& c) override { set_open(true); }
  V coerced(Context& c, const V& x) override;
  std::optional<V> method(Context& c, const std::string& name, std::vector<V>& args,
                          Kwargs& kwargs) override;
  void log_extend(Context& c, const std::vector<V>& values) override;
  // One that holds just this.
  virtual py::object made_of(const py::list& numbers) const = 0;
};

struct BytearrayValue final : NumberArrayValue {
  PyTypeObject* type() const override;
  bool takes_at_once(const V& from) const override { return true; }
  py::object made_of(const py::list& numbers) const override;
};

struct ArrayModuleValue final : NumberArrayValue {
  PyTypeObject* type() const override;
  py::object made_of(const py::list& numbers) const override;
  void from_outside(Context& c) override;
  V coerced(Context& c, const V& x) override;
  bool takes_at_once(const V& from) const override { return false; }

  std::string typecode;
};

PyTypeObject* array_type();

}  // namespace pijit
