#include "capture/values/slice.h"

#include "capture/context.h"
#include "capture/protocol/protocol.h"
#include "capture/rebuilder.h"

namespace pijit {
namespace {

struct SliceRecipe final : Recipe {
  SliceRecipe(int start, int stop, int step) { parts = {start, stop, step}; }
  py::object make(Runner& r) const override {
    return checked(
        PySlice_New(r.make(parts[0]).ptr(), r.make(parts[1]).ptr(), r.make(parts[2]).ptr()));
  }
  std::string describe() const override { return "slice"; }
};

}  // namespace

PyTypeObject* SliceValue::type() const { return &PySlice_Type; }

std::optional<py::object> SliceValue::object(Context& c, Ask what) {
  const Context::Nested nested(c);
  py::object o[3];
  for (int k = 0; k < 3; ++k) {
    const auto x = as_constant(c, k == 0 ? start : k == 1 ? stop : step, what);
    if (!x) return std::nullopt;
    o[k] = *x;
  }
  return checked(PySlice_New(o[0].ptr(), o[1].ptr(), o[2].ptr()));
}

std::optional<V> SliceValue::getattr(Context& c, PyObject* name) {
  static constexpr Member<SliceValue> kMembers[] = {
      {"start", [](Context&, SliceValue& s) { return s.start; }},
      {"stop", [](Context&, SliceValue& s) { return s.stop; }},
      {"step", [](Context&, SliceValue& s) { return s.step; }},
  };
  if (const V found = member_of(kMembers, *this, c, text_of(name))) return found;
  return protocol::builtin_attribute(c, this, name);
}

std::vector<V> SliceValue::parts(Context&) { return {start, stop, step}; }
V SliceValue::with_parts(Context& c, std::vector<V> p) {
  return c.make<SliceValue>(p[0], p[1], p[2]);
}

void SliceValue::traverse(Visit visit) const {
  for (auto& x : {start, stop, step}) visit(x);
}

int SliceValue::rebuild(Rebuilder& r) {
  const int a = r.recipe(start), b = r.recipe(stop), c = r.recipe(step);
  return r.make<SliceRecipe>(this, a, b, c);
}

}  // namespace pijit
