#include "capture/values/set.h"

#include "capture/context.h"
#include "capture/rebuilder.h"
#include "capture/values/iterator.h"

namespace pijit {
namespace {

struct SetRecipe final : Recipe {
  py::object make(Runner&) const override {
    py::set s;
    if (base) s.attr("update")(base);
    for (auto& k : keys) s.add(k);
    return s;
  }
  int visit(visitproc visit, void* arg) const override {
    Py_VISIT(base.ptr());
    for (auto& k : keys) Py_VISIT(k.ptr());
    return 0;
  }
  std::string describe() const override {
    std::string r = "set" + (base ? " " + shown(base) : "");
    for (auto& k : keys) r += " " + shown(k);
    return r;
  }

  py::object base;               // a frozenset, or null
  std::vector<py::object> keys;  // added in this order
};

}  // namespace

PyTypeObject* SetValue::type() const { return &PySet_Type; }

// Its order is that of an equal history.
std::optional<py::object> SetValue::object(Context&, Ask) {
  py::set s;
  if (obj) s.attr("update")(obj);
  for (auto& k : keys) s.add(k);
  return py::object(s);
}

std::optional<bool> SetValue::truth(Context& c) { return py::len(c.elements(this)) > 0; }
V SetValue::length(Context& c) {
  return c.constant_int(static_cast<int64_t>(py::len(c.elements(this))));
}

std::optional<bool> SetValue::contains(Context& c, const V& x) {
  const auto o = c.as_constant(x, Ask::kHash);
  if (!o || is_nan(o->ptr())) return std::nullopt;  // NaN is in a container by its identity
  const int r = PySequence_Contains(c.elements(this).ptr(), o->ptr());
  if (r < 0) c.raise(py::error_already_set());
  return r == 1;
}

V SetValue::iter(Context& c) {
  std::vector<V> out;
  for (auto o : c.elements(this)) out.push_back(c.wrap_static(o.ptr()));
  return c.make<SetIterator>(this, out);
}

std::optional<V> SetValue::getattr(Context& c, PyObject* name) {
  return c.builtin_attribute(this, name);
}

int SetValue::rebuild(Rebuilder& r) {
  auto made = std::make_unique<SetRecipe>();
  made->base = obj;
  made->keys = keys;
  return r.add(this, std::move(made));
}

}  // namespace pijit
