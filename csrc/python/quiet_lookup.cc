// Tables as CPython 3.9 to 3.15 have them.
#define Py_BUILD_CORE 1
#include <Python.h>
#undef HAVE_STD_ATOMIC
#if PY_VERSION_HEX >= 0x030B0000
#include <internal/pycore_dict.h>
#endif
#undef Py_BUILD_CORE

#include "python/quiet_lookup.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <initializer_list>

#include "python/code.h"

#if PY_VERSION_HEX < 0x030B0000
// As in Objects/dict-common.h, which no header of theirs tells.
struct PyDictKeyEntry {
  Py_hash_t me_hash;
  PyObject *me_key, *me_value;
};
struct _dictkeysobject {
  Py_ssize_t dk_refcnt, dk_size;
  void* dk_lookup;
  Py_ssize_t dk_usable, dk_nentries;
  char dk_indices[1];  // and entries behind them
};
constexpr int64_t DKIX_EMPTY = -1;
#endif

namespace pijit {
namespace {

// Not of an element that was removed.
bool is_element(const setentry& entry) { return entry.key && entry.hash != -1; }

// Would a comparison with the object run Python code, or code that we do not know?
bool asks_python(PyObject* o, int depth = 0) {
  constexpr int kDeepest = 20;
  const richcmpfunc compare = Py_TYPE(o)->tp_richcompare;
  for (PyTypeObject* t : {&PyUnicode_Type, &PyLong_Type, &PyFloat_Type, &PyBaseObject_Type,
                          &PyBytes_Type, &PyComplex_Type})
    if (compare == t->tp_richcompare) return false;
  if (!compare) return false;
  if (depth >= kDeepest) return true;
  if (compare == PyTuple_Type.tp_richcompare) {
    for (Py_ssize_t k = 0; k < PyTuple_GET_SIZE(o); ++k)
      if (asks_python(PyTuple_GET_ITEM(o, k), depth + 1)) return true;
    return false;
  }
  if (compare == PyFrozenSet_Type.tp_richcompare) {
    const auto* s = reinterpret_cast<PySetObject*>(o);
    return std::any_of(s->table, s->table + s->mask + 1, [depth](const setentry& entry) {
      return is_element(entry) && asks_python(entry.key, depth + 1);
    });
  }
  return true;
}

// Is the other key, of the same hash, equal? -1: only Python code can tell.
int equal_keys(PyObject* a, PyObject* b) {
  if (a == b) return 1;
  if (asks_python(a) || asks_python(b)) return -1;
  const int r = PyObject_RichCompareBool(a, b, Py_EQ);
  if (r < 0) PyErr_Clear();
  return r == 1;
}

#if PY_VERSION_HEX >= 0x030B0000
int log_size_of(const PyDictKeysObject* keys) { return keys->dk_log2_size; }
const PyDictKeyEntry* entries_of(const PyDictKeysObject* keys) {
  return reinterpret_cast<const PyDictKeyEntry*>(keys->dk_indices +
                                                 (size_t{1} << keys->dk_log2_index_bytes));
}
bool holds_texts_alone(PyObject* dict) {
  return reinterpret_cast<PyDictObject*>(dict)->ma_keys->dk_kind != DICT_KEYS_GENERAL;
}
#else
int log_size_of(const PyDictKeysObject* keys) {
  return std::countr_zero(static_cast<size_t>(keys->dk_size));
}
const PyDictKeyEntry* entries_of(const PyDictKeysObject* keys) {
  const int log = log_size_of(keys);
  const size_t each = log < 8 ? 1 : log < 16 ? 2 : log < 32 ? 4 : 8;
  return reinterpret_cast<const PyDictKeyEntry*>(keys->dk_indices +
                                                 static_cast<size_t>(keys->dk_size) * each);
}
bool holds_texts_alone(PyObject* dict) {
  // How the keys of a dict of others are looked up.
  static const void* general = nullptr;
  if (!general) {
    PyObject* d = PyDict_New();
    PyDict_SetItem(d, Py_None, Py_None);
    PyDict_GetItemWithError(d, Py_None);
    general = reinterpret_cast<const void*>(reinterpret_cast<PyDictObject*>(d)->ma_keys->dk_lookup);
    Py_DECREF(d);
  }
  return reinterpret_cast<PyDictObject*>(dict)->ma_keys->dk_lookup != general;
}
#endif

int64_t index_at(const PyDictKeysObject* keys, size_t i) {
  const auto read = [&](auto x) -> int64_t {
    std::memcpy(&x, keys->dk_indices + i * sizeof x, sizeof x);
    return x;
  };
  const int log_size = log_size_of(keys);
  return log_size < 8    ? read(int8_t{})
         : log_size < 16 ? read(int16_t{})
         : log_size < 32 ? read(int32_t{})
                         : read(int64_t{});
}

bool no_hash(Py_hash_t hash) {
  if (hash == -1) PyErr_Clear();
  return hash == -1;
}

}  // namespace

PyObject* quiet_item(PyObject* dict, PyObject* key, bool* unsure) {
  if (holds_texts_alone(dict)) {
    if (!PyUnicode_CheckExact(key) && asks_python(key)) {
      if (unsure) *unsure = true;
      return nullptr;
    }
    PyObject* v = PyDict_GetItemWithError(dict, key);
    if (!v) PyErr_Clear();  // the key has no hash
    return v;
  }
  const PyDictKeysObject* keys = reinterpret_cast<PyDictObject*>(dict)->ma_keys;
  const Py_hash_t hash = PyObject_Hash(key);
  if (no_hash(hash)) return nullptr;
  const PyDictKeyEntry* entries = entries_of(keys);
  const size_t mask = (size_t{1} << log_size_of(keys)) - 1;
  size_t perturb = static_cast<size_t>(hash), i = perturb & mask;
  while (true) {
    const int64_t at = index_at(keys, i);
    if (at == DKIX_EMPTY) return nullptr;
    if (at >= 0 && (entries[at].me_key == key || entries[at].me_hash == hash)) {
      const int same = equal_keys(entries[at].me_key, key);
      if (same > 0) return entries[at].me_value;
      if (same < 0) {
        if (unsure) *unsure = true;
        return nullptr;
      }
    }
    perturb >>= 5;
    i = (i * 5 + perturb + 1) & mask;
  }
}

bool quiet_contains(PyObject* set, PyObject* key, bool* unsure) {
  const Py_hash_t hash = PyObject_Hash(key);
  if (no_hash(hash)) return false;
  constexpr size_t kNext = 9;  // places looked at in a row
  const auto* s = reinterpret_cast<PySetObject*>(set);
  const size_t mask = static_cast<size_t>(s->mask);
  size_t perturb = static_cast<size_t>(hash), i = perturb & mask;
  while (true) {
    const setentry* entry = &s->table[i];
    const setentry* last = i + kNext <= mask ? entry + kNext : entry;
    for (; entry <= last; ++entry) {
      if (!entry->key && entry->hash == 0) return false;
      if (entry->hash != hash) continue;
      const int same = equal_keys(entry->key, key);
      if (same > 0) return true;
      if (same < 0) {
        if (unsure) *unsure = true;
        return false;
      }
    }
    perturb >>= 5;
    i = (i * 5 + 1 + perturb) & mask;
  }
}

PyObject* copy_of_table(PyObject* set) {
  PyObject* made = PySet_New(nullptr);
  if (!made) return nullptr;
  auto* to = reinterpret_cast<PySetObject*>(made);
  const auto* from = reinterpret_cast<PySetObject*>(set);
  const size_t n = static_cast<size_t>(from->mask) + 1;
  if (n > PySet_MINSIZE) {
    auto* table = static_cast<setentry*>(PyMem_Malloc(n * sizeof(setentry)));
    if (!table) return Py_DECREF(made), PyErr_NoMemory();
    to->table = table;
  }
  std::memcpy(to->table, from->table, n * sizeof(setentry));
  for (size_t k = 0; k < n; ++k)
    if (is_element(to->table[k])) Py_INCREF(to->table[k].key);
  to->mask = from->mask;
  to->fill = from->fill;
  to->used = from->used;
  to->finger = from->finger;
  return made;
}

uint64_t places_of_elements(PyObject* set) {
  const auto* s = reinterpret_cast<PySetObject*>(set);
  uint64_t places = static_cast<uint64_t>(s->mask);
  for (Py_ssize_t k = 0; k <= s->mask; ++k) {
    const setentry& entry = s->table[k];
    if (entry.key)
      places = (places ^ static_cast<uint64_t>(2 * k + is_element(entry))) * 0x100000001b3;
  }
  return places;
}

bool names_are_texts(PyTypeObject* t) {
  PyObject* const mro = mro_of(t);
  for (Py_ssize_t k = 0; k < PyTuple_GET_SIZE(mro); ++k) {
    auto* base = reinterpret_cast<PyTypeObject*>(PyTuple_GET_ITEM(mro, k));
    if (PyType_HasFeature(base, Py_TPFLAGS_HEAPTYPE) && base->tp_dict &&
        !holds_texts_alone(base->tp_dict))
      return false;
  }
  return true;
}

}  // namespace pijit
