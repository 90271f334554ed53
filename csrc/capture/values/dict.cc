#include "capture/values/dict.h"

#include "capture/context.h"
#include "capture/recipe.h"
#include "capture/values/iterator.h"

namespace pijit {
namespace {

struct DictRecipe final : Recipe {
  py::object make(Runner& r) const override {
    py::dict d;
    for (size_t k = 0; k < parts.size(); ++k) d[keys[k]] = r.make(parts[k]);
    return d;
  }
  int visit(visitproc visit, void* arg) const override {
    for (auto& k : keys) Py_VISIT(k.ptr());
    return 0;
  }
  std::string describe() const override {
    std::string r = "dict with keys";
    for (auto& k : keys) r += " " + shown(k);
    return r;
  }

  std::vector<py::object> keys;
};

}  // namespace

PyTypeObject* DictValue::type() const { return obj ? Py_TYPE(obj.ptr()) : &PyDict_Type; }
std::optional<bool> DictValue::truth(Context& c) { return c.nonempty(this); }
V DictValue::length(Context& c) { return c.dict_length(this); }

V DictValue::getitem(Context& c, const V& key) {
  if (V v = c.dict_get(this, key)) return v;
  return c.missing_item(this, key);
}

void DictValue::setitem(Context& c, const V& key, const V& value) { c.dict_set(this, key, value); }

void DictValue::delitem(Context& c, const V& key) {
  if (!c.dict_has(this, key)) c.raise(PyExc_KeyError, {key});
  c.dict_delete(this, key);
}

std::optional<bool> DictValue::contains(Context& c, const V& x) { return c.dict_has(this, x); }

V DictValue::iter(Context& c) {
  c.settle(this);
  return c.make<DictIterator>(this);
}

std::optional<V> DictValue::getattr(Context& c, PyObject* name) {
  return c.builtin_attribute(this, name);
}

std::vector<V> DictValue::parts(Context& c) {
  c.settle(this);
  std::vector<V> all;
  for (size_t k = 0; k < items.size(); ++k) all.push_back(c.item(this, k));
  return all;
}
V DictValue::with_parts(Context& c, std::vector<V> p) {
  auto* d = c.make<DictValue>();
  d->keys = keys;
  d->items = std::move(p);
  return d;
}

int DictValue::rebuild(Rebuilder& r) {
  auto made = std::make_unique<DictRecipe>();
  for (auto& x : parts(r.context())) made->parts.push_back(r.recipe(x));
  made->keys = keys;
  return r.add(this, std::move(made));
}

// --- views

PyTypeObject* ViewValue::type() const {
  return what == kKeys     ? &PyDictKeys_Type
         : what == kValues ? &PyDictValues_Type
                           : &PyDictItems_Type;
}

std::optional<bool> ViewValue::truth(Context& c) { return c.truth(dict); }
V ViewValue::length(Context& c) { return c.length_of(dict); }

std::optional<bool> ViewValue::contains(Context& c, const V& x) {
  return what == kKeys ? c.contains(dict, x) : Value::contains(c, x);
}

V ViewValue::iter(Context& c) {
  c.settle(dict);
  return c.make<DictIterator>(this);
}

int ViewValue::rebuild(Rebuilder& r) {
  static const char* names[] = {"keys", "values", "items"};
  const auto cls = py::reinterpret_borrow<py::object>(reinterpret_cast<PyObject*>(&PyDict_Type));
  const int d = r.recipe(dict);
  return r.make<CallRecipe>(this, cls.attr(names[what]), std::vector<int>{d});
}

}  // namespace pijit
