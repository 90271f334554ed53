#define Py_BUILD_CORE 1
#include <Python.h>
#undef HAVE_STD_ATOMIC  // C's atomics, which C++ doesn't read
#if PY_VERSION_HEX >= 0x030B0000 && (PY_VERSION_HEX < 0x030C0000 || PY_VERSION_HEX >= 0x030D0000)
#include <internal/pycore_dict.h>
#include <internal/pycore_object.h>
#endif
#undef Py_BUILD_CORE

#include "python/code.h"
#include "python/quiet_lookup.h"

#if PY_VERSION_HEX >= 0x030D0000
#include "absl/container/flat_hash_map.h"
#include "base/error.h"
#endif

namespace pijit {

namespace {
PyObject* attribute_in_dict(PyObject* o, PyObject* name, bool* unsure) {
  const py::object dict = py::reinterpret_steal<py::object>(instance_dict(o));
  return dict ? quiet_item(dict.ptr(), name, unsure) : nullptr;
}

// From 3.11 on, CPython's own instructions are fast with the attributes of an object that has been
// asked for its dict where the dict shares its keys with no other. Null: nothing is to be gained.
PyObject* dict_with_own_keys(PyObject* dict) {
  if (PY_VERSION_HEX < 0x030B0000 || !PyDict_CheckExact(dict) || Py_REFCNT(dict) != 1 ||
      !reinterpret_cast<PyDictObject*>(dict)->ma_values || PyDict_Size(dict) == 0)
    return nullptr;
  PyObject* own = PyDict_New();
  if (own && PyDict_Update(own, dict) < 0) Py_CLEAR(own);
  if (!own) PyErr_Clear();
  return own;
}
}  // namespace

#if PY_VERSION_HEX >= 0x030B0000 && PY_VERSION_HEX < 0x030C0000

namespace {
struct GivenDicts {
  int scopes = 0;
  std::vector<PyObject*> objects;
};
thread_local GivenDicts given_dicts;

// As CPython 3.12 does it.
void take_dict_back(PyObject* o) {
  PyDictValues** values = _PyObject_ValuesPointer(o);
  PyObject** place = _PyObject_ManagedDictPointer(o);
  auto* dict = reinterpret_cast<PyDictObject*>(*place);
  const auto* type = reinterpret_cast<PyHeapTypeObject*>(Py_TYPE(o));
  if (!dict || *values || !PyDict_CheckExact(dict) || Py_REFCNT(dict) != 1 || !dict->ma_values ||
      dict->ma_keys != type->ht_cached_keys)
    return;
  *values = dict->ma_values;
  *place = nullptr;
  --dict->ma_keys->dk_refcnt;
  dict->ma_keys = nullptr;
  dict->ma_values = nullptr;
  Py_DECREF(dict);
}
}  // namespace

PyObject* own_attribute(PyObject* o, PyObject* name, bool* unsure) {
  const bool in_object = PyType_HasFeature(Py_TYPE(o), Py_TPFLAGS_MANAGED_DICT) &&
                         PyUnicode_CheckExact(name) && !PyType_Check(o) && !PyModule_Check(o);
  PyDictValues* values = in_object ? *_PyObject_ValuesPointer(o) : nullptr;
  if (!values) return attribute_in_dict(o, name, unsure);
  PyDictKeysObject* keys = reinterpret_cast<PyHeapTypeObject*>(Py_TYPE(o))->ht_cached_keys;
  if (!DK_IS_UNICODE(keys)) return attribute_in_dict(o, name, unsure);
  const Py_hash_t hash = PyObject_Hash(name);
  const PyDictUnicodeEntry* entries = DK_UNICODE_ENTRIES(keys);
  for (Py_ssize_t k = 0; k < keys->dk_nentries; ++k) {
    PyObject* key = entries[k].me_key;
    if (key == name || (PyObject_Hash(key) == hash && PyUnicode_Compare(key, name) == 0))
      return values->values[k];
  }
  return nullptr;
}

void note_values_of(PyObject* o) {
  if (given_dicts.scopes == 0 || !PyType_HasFeature(Py_TYPE(o), Py_TPFLAGS_MANAGED_DICT) ||
      !*_PyObject_ValuesPointer(o))
    return;
  given_dicts.objects.push_back(Py_NewRef(o));
}
DictsForNow::DictsForNow() : before_(given_dicts.objects.size()) { ++given_dicts.scopes; }
DictsForNow::~DictsForNow() {
  --given_dicts.scopes;
  while (given_dicts.objects.size() > before_) {
    PyObject* o = given_dicts.objects.back();
    given_dicts.objects.pop_back();
    if (Py_REFCNT(o) > 1) take_dict_back(o);
    Py_DECREF(o);
  }
}

#else

PyObject* own_attribute(PyObject* o, PyObject* name, bool* unsure) {
  return attribute_in_dict(o, name, unsure);
}
void note_values_of(PyObject*) {}
DictsForNow::DictsForNow() : before_(0) {}
DictsForNow::~DictsForNow() = default;

#endif

#if PY_VERSION_HEX < 0x030D0000

// CPython keeps one in each dict.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
const void* dict_version_at(PyObject* dict) {
  return &reinterpret_cast<PyDictObject*>(dict)->ma_version_tag;
}
uint64_t dict_version(PyObject* dict) {
  return reinterpret_cast<PyDictObject*>(dict)->ma_version_tag;
}
#pragma GCC diagnostic pop
void init_dict_versions() {}

PyObject** instance_dict_place(PyObject* o) {
  if (!instances_have_dict(Py_TYPE(o))) return nullptr;
  PyObject** place = _PyObject_GetDictPtr(o);  // makes it, where its values lie in the object
  if (!place) PyErr_Clear();
  if (!place) return nullptr;
  if (!*place) Py_XDECREF(instance_dict(o));
  if (PyObject* own = *place ? dict_with_own_keys(*place) : nullptr)
    Py_DECREF(std::exchange(*place, own));
  return place;
}

#else

// CPython's own number goes in 3.14. So dicts are watched: from when their version is asked for,
// which is zero from the first change on, until it is asked for again. Nobody pays for what happens
// to a dict in between. A dict whose values lie in an object is not told of attributes that are set
// there.
namespace {
int watcher = -1;
uint64_t last_version;
// The places of versions are never freed: who still looks at one after its dict has died finds
// zero, or the version of another dict.
absl::flat_hash_map<PyObject*, uint64_t*>& versions() {
  static auto* all = new absl::flat_hash_map<PyObject*, uint64_t*>;
  return *all;
}
std::vector<uint64_t*>& unused() {
  static auto* all = new std::vector<uint64_t*>;
  return *all;
}

int on_change(PyDict_WatchEvent event, PyObject* dict, PyObject*, PyObject*) {
  const auto it = versions().find(dict);
  if (it == versions().end()) return 0;
  *it->second = 0;
  if (event == PyDict_EVENT_DEALLOCATED) {
    unused().push_back(it->second);
    versions().erase(it);
  } else {
    PyDict_Unwatch(watcher, dict);
  }
  return 0;
}

uint64_t* place_of(PyObject* dict) {
  uint64_t*& place = versions()[dict];
  if (!place) {
    if (unused().empty()) {
      constexpr size_t kAtOnce = 256;
      auto* block = new uint64_t[kAtOnce]();
      for (size_t k = 0; k < kAtOnce; ++k) unused().push_back(block + k);
    }
    place = unused().back();
    unused().pop_back();
  }
  if (*place == 0) {
    PIJIT_CHECK(PyDict_Watch(watcher, dict) == 0, "a dict cannot be watched");
    *place = ++last_version;
  }
  return place;
}

bool has_values_of_object(PyObject* dict) {
  const PyDictValues* values = reinterpret_cast<PyDictObject*>(dict)->ma_values;
  return values && values->embedded;
}
constexpr uint64_t kNever = 0;
}  // namespace

const void* dict_version_at(PyObject* dict) {
  return has_values_of_object(dict) ? &kNever : place_of(dict);
}
uint64_t dict_version(PyObject* dict) {
  return has_values_of_object(dict) ? ++last_version : *place_of(dict);
}

// 3.13's PyObject_GenericSetDict leaves the values in the object, where attributes are still set.
static int set_instance_dict(PyObject* o, PyObject* dict) {
#if PY_VERSION_HEX < 0x030E0000
  if (PyType_HasFeature(Py_TYPE(o), Py_TPFLAGS_MANAGED_DICT))
    return _PyObject_SetManagedDict(o, dict);
#endif
  return PyObject_GenericSetDict(o, dict, nullptr);
}

PyObject** instance_dict_place(PyObject* o) {
  if (!instances_have_dict(Py_TYPE(o))) return nullptr;
  PyObject** place = _PyObject_GetDictPtr(o);
  if (!place) PyErr_Clear();
  if (!place) return nullptr;
  if (!*place) Py_XDECREF(instance_dict(o));
  // The dict's own from here on: an object that is given a dict gives up its values.
  PyObject* dict = *place;
  if (!dict) return place;
  PyObject* own = dict_with_own_keys(dict);
  if (own || has_values_of_object(dict))
    if (set_instance_dict(o, own ? own : dict) < 0) PyErr_Clear();
  Py_XDECREF(own);
  return place;
}

void init_dict_versions() {
  watcher = PyDict_AddWatcher(on_change);
  if (watcher < 0) throw py::error_already_set();
}

#endif

}  // namespace pijit
