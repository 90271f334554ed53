// Dicts and sets. One that comes from outside stays open as long as it can: what is guarded is what
// was asked of some keys, and what changes it is an operation in the journal.
#pragma once
#include "capture/values/container.h"

namespace pijit {

// May it be a key that guards compare and that is there at any time?
bool constant_key(PyObject* o);
// The object of a key, or of an element of a set, in a container of this type. Raises where it
// cannot be one, gives up where it is not constant.
py::object key_object(Context& c, const V& key, PyTypeObject* container);

struct KeyedContainer : Entries {
  using Entries::Entries;
  static constexpr unsigned kFamilies = kContainer | kEntries | kKeyed;
  static bool holds(Kind k) { return k->families & kKeyed; }
  V length(Context& c) override;
  std::optional<bool> truth(Context& c) override;
  std::optional<bool> contains(Context& c, const V& x) override { return has(c, x); }
  bool iterable() const override { return true; }
  std::optional<V> getattr(Context& c, PyObject* name) override;
  void traverse(Visit visit) const override;
  bool has_identity() const override { return true; }

  bool is_open() const { return open_; }
  bool has(Context& c, const V& key);

 protected:
  struct Known {
    py::object key;
    bool present;
    V value;               // null: not read, or of a set
    bool written = false;  // else as in the source
    bool moved = false;    // stands behind the source's keys if present: it was deleted before
    bool front = false;    // it stands before them instead
    uint64_t order = 0;    // among those that stand there
  };
  void set_open(bool open) { open_ = open; }
  // Does the object outside have this key?
  virtual bool source_has(Context& c, PyObject* key) const = 0;
  // Of what is no longer open.
  virtual bool settled_has(Context& c, const py::object& key) = 0;
  Known* find(PyObject* key);
  Known& add(Context& c, Known k);
  // What is known of a key, asked of the source if need be.
  Known& know(Context& c, const py::object& key);
  // `order`: among those that stand behind; 0: it is the last.
  void change(Context& c, const py::object& key, bool present, V value = nullptr,
              uint64_t order = 0);
  // Sets an item by a key that varies; keys of sets have no value.
  void change_loosely(Context& c, const V& key, V value, bool present = true);
  // Fixes the keys of loose items, or those that may be `key`, which is constant.
  void tighten(Context& c, const V& key = nullptr);
  // May a key that varies be one that was set or deleted here?
  bool written_like(const V& key) const;
  void forget(Context& c);  // all that is known: it was cleared
  void log_call(Context& c, const char* method, std::vector<V> args);

  bool open_ = false, cleared_ = false;
  bool reordered_ = false;  // in a way that only a run knows
  std::vector<Known> known;
  std::unordered_multimap<Py_hash_t, size_t> known_index;  // by hash of the key
  struct Loose {
    V key, value;
    uint64_t order;
    bool present;
  };
  std::vector<Loose> loose;  // items set, keys of sets also discarded, by keys that vary
};

// Keys and elements are objects of the capture; a tuple that becomes one stays what it was.
py::object as_key(Context& c, const V& key, py::object o);
V key_value(Context& c, PyObject* o);
V made_key(Context& c, PyObject* o);  // null: the object itself

}  // namespace pijit
