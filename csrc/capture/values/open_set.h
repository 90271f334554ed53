// Sets from outside.
#pragma once
#include "capture/values/keyed.h"

namespace pijit {

struct OpenSetValue final : KeyedContainer {
  OpenSetValue() : KeyedContainer(kKeyed) {}
  static bool holds(Kind k) { return k == kKeyed; }
  PyTypeObject* type() const override { return &PySet_Type; }
  std::optional<py::object> object(Context& c, Ask what) override;
  V iter(Context& c) override;
  std::optional<V> method(Context& c, const std::string& name, std::vector<V>& args,
                          Kwargs& kwargs) override;
  int rebuild(Rebuilder& r) override;
  void from_outside(Context&) override { set_open(true); }

  void put(Context& c, const V& key);
  void drop(Context& c, const V& key, const char* by);
  void clear(Context& c);

 private:
  bool source_has(PyObject* key) const override;
  bool settled_has(Context&, const py::object& key) override { return false; }
  // Its elements, under a guard. Once it was changed here, their order is not known.
  std::vector<V> elements(Context& c);
};

}  // namespace pijit
