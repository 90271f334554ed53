// Sets from outside.
#pragma once
#include "capture/values/keyed.h"
#include "capture/values/set_operators.h"

namespace pijit {

struct OpenSetValue final : SetChanges<KeyedContainer> {
  OpenSetValue() : SetChanges(&kKind<OpenSetValue>) {}
  static bool holds(Kind k) { return k == &kKind<OpenSetValue>; }
  PyTypeObject* type() const override { return &PySet_Type; }
  std::optional<py::object> object(Context& c, Ask what) override;
  V iter(Context& c) override;
  std::optional<V> method(Context& c, const std::string& name, std::vector<V>& args,
                          Kwargs& kwargs) override;
  int rebuild(Rebuilder& r) override;
  void from_outside(Context&) override { set_open(true); }

  void put(Context& c, const V& key);
  void drop(Context& c, const V& key);
  void clear(Context& c);
  // Its elements now, in no order that counts.
  py::object content(Context& c);
  // The operation itself is an effect of the capture.
  void log(Context& c, const char* method, std::vector<V> args) {
    log_call(c, method, std::move(args));
  }

 private:
  void change_key(Context& c, const V& key, bool present);
  bool source_has(Context& c, PyObject* key) const override;
  bool settled_has(Context&, const py::object& key) override { return false; }
  // Those of the object outside, in their order, under a guard; one of their places, too?
  std::vector<py::object> source_elements(Context& c, bool places = false);
};

}  // namespace pijit
