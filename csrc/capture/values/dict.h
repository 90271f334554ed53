// Dicts and what dicts give: their keys, values and items.
#pragma once
#include "capture/values/keyed.h"
#include "capture/values/set_operators.h"

namespace pijit {

// Also of subclasses in C that differ in what they do for a missing key, or in the order of keys.
struct DictValue final : KeyedContainer {
  DictValue() : KeyedContainer(&kKind<DictValue>) {}
  static bool holds(Kind k) { return k == &kKind<DictValue>; }
  PyTypeObject* type() const override;
  V getitem(Context& c, const V& key) override;
  void setitem(Context& c, const V& key, const V& value) override;
  void delitem(Context& c, const V& key) override;
  V iter(Context& c) override;
  std::vector<V> parts(Context& c) override;
  V with_parts(Context& c, std::vector<V> parts) override;
  V call_descriptor(Context& c, PyObject* d, std::vector<V>& args, Kwargs& kwargs) override;
  std::optional<V> method(Context& c, const std::string& name, std::vector<V>& args,
                          Kwargs& kwargs) override;
  void traverse(Visit visit) const override;
  V binary(Context& c, BinaryOp op, const V& other, Side side) override;
  V in_place(Context& c, BinaryOp op, const V& other) override;
  bool declines_binary(const V&) const override { return true; }
  V merge(Merge& m, const V& other) override;
  int rebuild(Rebuilder& r) override;
  void settle(Context& c) override;

  V get(Context& c, const V& key);        // null: no such key
  void remove(Context& c, const V& key);  // which is there
  void clear(Context& c);
  V missing(Context& c, const V& key);  // what the class does for a key that is not there
  void move_to_end(Context& c, const V& key, bool last);
  // Takes the items of a dict, or pairs.
  void update(Context& c, const V& from);
  bool plain() const { return type() == &PyDict_Type; }
  // Has it an order of its own, which items are moved in?
  bool ordered() const;
  bool sets_dynamic_keys() const { return !loose.empty(); }
  // dict_like classes; null: not with these arguments.
  static V construct(Context& c, PyTypeObject* t, std::vector<V>& args, Kwargs& kwargs);
  std::optional<py::object> object(Context& c, Ask what) override;
  std::optional<V> getattr(Context& c, PyObject* name) override;
  bool asks_class() const override { return !plain(); }  // Counter's are in Python
  void guard_methods(Context& c) override;
  void from_outside(Context&) override { set_open(true); }

  bool is_referable() const override { return true; }

  V factory;       // of a defaultdict made here: default_factory
  py::object cls;  // of one made here: its class, if that is a derived one

 private:
  V read_item(Context& c, size_t i) override;
  V default_factory(Context& c);  // of a defaultdict
  V factory_if_any(Context& c);
  bool source_has(Context& c, PyObject* key) const override;
  bool settled_has(Context& c, const py::object& key) override;
};

struct ViewValue final : SetOperators<Value> {
  ViewValue() : SetOperators(&kKind<ViewValue>) {}
  static bool holds(Kind k) { return k == &kKind<ViewValue>; }
  PyTypeObject* type() const override;
  std::optional<bool> truth(Context& c) override;
  V length(Context& c) override;
  std::optional<bool> contains(Context& c, const V& x) override;
  V iter(Context& c) override;
  bool iterable() const override { return true; }
  void traverse(Visit visit) const override;
  int rebuild(Rebuilder& r) override;

  V dict;
  enum What : uint8_t { kKeys, kValues, kItems } what = kKeys;
};

inline bool is_dict(const V& v) { return as<DictValue>(v); }

}  // namespace pijit
