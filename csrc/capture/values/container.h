// What holds other values: tuples, lists, dicts, instances with their attributes, exceptions with
// their arguments.
#pragma once
#include "capture/value.h"

namespace pijit {

struct Container : Value {
  using Value::Value;
  static constexpr unsigned kFamilies = kContainer;
  static bool holds(Kind k) { return k->families & kContainer; }
  void traverse(Visit visit) const override;
  uint64_t generation() const override { return changes; }
  // The item at a place, read from the source if need be.
  V item(Context& c, size_t i) { return items[i] ? items[i] : items[i] = read_item(c, i); }

  std::vector<V> items;  // null: not read yet
  uint64_t changes = 0;  // how often it lost or got keys or items

 private:
  virtual V read_item(Context& c, size_t i);
};
inline std::vector<V>& items_in(const V& container) { return as<Container>(container)->items; }
inline V item(Context& c, const V& container, size_t i) {
  return as<Container>(container)->item(c, i);
}

// By keys, all of which are known: dicts that are not open, attributes of instances.
struct Entries : Container {
  using Container::Container;
  static constexpr unsigned kFamilies = kContainer | kEntries;
  static bool holds(Kind k) { return k->families & kEntries; }
  // The place of a key; -1: there is none.
  int place_of(Context& c, PyObject* key);
  // Changes in place; each undoes no more than itself.
  void set_entry(Context& c, const py::object& key, const V& value);
  void remove_entry(Context& c, size_t at);
  void clear_entries(Context& c);

  std::vector<py::object> keys;  // with items

 protected:
  py::object index_;  // a dict of places by key. Null: not made
};

}  // namespace pijit
