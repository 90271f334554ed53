#include "capture/values/container.h"

#include "capture/context.h"

namespace pijit {

void Container::traverse(Visit visit) const {
  for (auto& x : items) visit(x);
}

V Container::read_item(Context& c, size_t) {
  c.give_up(Reason::kInternal, "an item that is missing");
}

int Entries::place_of(Context& c, PyObject* key) {
  if (PyObject_Hash(key) == -1) c.raise(py::error_already_set());
  constexpr size_t kIndexed = 8;
  if (keys.size() > kIndexed) {
    if (!index_) {
      py::dict places;
      for (size_t k = 0; k < keys.size(); ++k) places[keys[k]] = k;
      index_ = std::move(places);
    }
    PyObject* place = PyDict_GetItemWithError(index_.ptr(), key);
    if (!place && PyErr_Occurred()) throw py::error_already_set();
    return place ? static_cast<int>(PyLong_AsLong(place)) : -1;
  }
  for (size_t k = 0; k < keys.size(); ++k) {
    const int r = PyObject_RichCompareBool(keys[k].ptr(), key, Py_EQ);
    if (r < 0) throw py::error_already_set();
    if (r) return static_cast<int>(k);
  }
  return -1;
}

void Entries::set_entry(Context& c, const py::object& key, const V& value) {
  const int i = place_of(c, key.ptr());
  c.touch(this);
  if (i >= 0) {
    c.undoable([this, i, old = items[i]] { items[i] = old; });
    items[i] = value;
    return;
  }
  c.undoable([this] {
    keys.pop_back();
    items.pop_back();
    index_ = {};
    --changes;
  });
  ++changes;
  if (index_) index_[key] = keys.size();
  keys.push_back(key);
  items.push_back(value);
}

void Entries::remove_entry(Context& c, size_t at) {
  c.touch(this);
  const auto i = static_cast<std::ptrdiff_t>(at);
  c.undoable([this, i, key = keys[at], value = items[at]] {
    keys.insert(keys.begin() + i, key);
    items.insert(items.begin() + i, value);
    index_ = {};
    --changes;
  });
  ++changes;
  if (index_ && at + 1 == keys.size())
    PyDict_DelItem(index_.ptr(), keys[at].ptr());
  else
    index_ = {};
  keys.erase(keys.begin() + i);
  items.erase(items.begin() + i);
}

void Entries::clear_entries(Context& c) {
  c.touch(this);
  c.undoable([this, before = keys, values = items] {
    keys = before;
    items = values;
    index_ = {};
    --changes;
  });
  ++changes;
  keys.clear();
  items.clear();
  index_ = {};
}

}  // namespace pijit
