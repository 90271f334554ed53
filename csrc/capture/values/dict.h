// Dicts and what dicts give: their keys, values and items.
#pragma once
#include "capture/values/keyed.h"

namespace pijit {

// Also of subclasses in C that differ in what they do for a missing key, or in the order of keys.
struct DictValue final : KeyedContainer {
  DictValue() : KeyedContainer(kDict) {}
  static bool holds(Kind k) { return k == kDict || k == kOpenDict; }
  PyTypeObject* type() const override;
  V getitem(Context& c, const V& key) override;
  void setitem(Context& c, const V& key, const V& value) override;
  void delitem(Context& c, const V& key) override;
  V iter(Context& c) override;
  std::vector<V> parts(Context& c) override;
  V with_parts(Context& c, std::vector<V> parts) override;
  std::optional<V> method(Context& c, const std::string& name, std::vector<V>& args,
                          Kwargs& kwargs) override;
  int rebuild(Rebuilder& r) override;
  void settle(Context& c) override;

  V get(Context& c, const V& key);        // null: no such key
  void remove(Context& c, const V& key);  // which is there
  void clear(Context& c);
  V missing(Context& c, const V& key);  // what the class does for a key that is not there
  bool plain() const { return type() == &PyDict_Type; }
  void from_outside(Context&) override { set_open(true); }

 private:
  void set_open(bool open) override;
  bool source_has(PyObject* key) const override;
  bool settled_has(Context& c, const py::object& key) override;
};

struct ViewValue final : Value {
  ViewValue() : Value(kView) {}
  static bool holds(Kind k) { return k == kView; }
  PyTypeObject* type() const override;
  std::optional<bool> truth(Context& c) override;
  V length(Context& c) override;
  std::optional<bool> contains(Context& c, const V& x) override;
  V iter(Context& c) override;
  bool iterable() const override { return true; }
  int rebuild(Rebuilder& r) override;

  V dict;
  enum What : uint8_t { kKeys, kValues, kItems } what = kKeys;
};

}  // namespace pijit
