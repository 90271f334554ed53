// Dicts and what dicts give: their keys, values and items.
#pragma once
#include "capture/value.h"

namespace pijit {

struct DictValue final : Value {
  DictValue() : Value(kDict) {}
  static bool holds(Kind k) { return k == kDict || k == kOpenDict; }
  PyTypeObject* type() const override;
  std::optional<bool> truth(Context& c) override;
  V length(Context& c) override;
  V getitem(Context& c, const V& index) override;
  void setitem(Context& c, const V& index, const V& value) override;
  void delitem(Context& c, const V& index) override;
  std::optional<bool> contains(Context& c, const V& x) override;
  V iter(Context& c) override;
  bool iterable() const override { return true; }
  std::optional<V> getattr(Context& c, PyObject* name) override;
  std::vector<V> parts(Context& c) override;
  V with_parts(Context& c, std::vector<V> parts) override;
  bool has_identity() const override { return true; }
  int rebuild(Rebuilder& r) override;
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
