#include "capture/values/instance.h"

#include "capture/context.h"
#include "capture/rebuilder.h"

namespace pijit {
namespace {

struct InstanceRecipe final : Recipe {
  py::object make(Runner&) const override { return allocate(); }
  py::object allocate() const override {
    auto* t = reinterpret_cast<PyTypeObject*>(cls.ptr());
    return checked(PyBaseObject_Type.tp_new(t, py::tuple().ptr(), nullptr));
  }
  void fill(Runner& r, const py::object& made) const override {
    for (size_t k = 0; k < parts.size(); ++k)
      if (PyObject_GenericSetAttr(made.ptr(), names[k].ptr(), r.make(parts[k]).ptr()) < 0)
        throw py::error_already_set();
  }
  int visit(visitproc visit, void* arg) const override {
    Py_VISIT(cls.ptr());
    for (auto& n : names) Py_VISIT(n.ptr());
    return 0;
  }
  std::string describe() const override {
    std::string r = "instance of " + shown(cls);
    for (auto& n : names) r += " " + text_of(n);
    return r;
  }

  py::object cls;
  std::vector<py::object> names;  // of attributes, the parts
};

}  // namespace

PyTypeObject* InstanceValue::type() const { return reinterpret_cast<PyTypeObject*>(obj.ptr()); }

std::optional<V> InstanceValue::getattr(Context& c, PyObject* name) {
  return c.instance_attribute(this, name);
}

void InstanceValue::setattr(Context& c, PyObject* name, const V& value) {
  c.set_object_attribute(this, name, value);
}

int InstanceValue::rebuild(Rebuilder& r) {
  auto made = std::make_unique<InstanceRecipe>();
  InstanceRecipe& recipe = *made;
  recipe.cls = obj;
  recipe.names = keys;
  const int id = r.add(this, std::move(made));  // known before its attributes, which may lead back
  for (auto& x : items) recipe.parts.push_back(r.recipe(x));
  return id;
}

}  // namespace pijit
