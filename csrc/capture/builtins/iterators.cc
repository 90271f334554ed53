// Iterators of the library: filter and itertools. What they give is what generators of
// pijit/_polyfills.py give, which are inlined.
#include "capture/recipe.h"
#include "capture/registry.h"
#include "capture/values.h"

namespace pijit {
namespace {

struct LibraryIterator final : IteratorValue {
  LibraryIterator(PyObject* cls, V generator, std::vector<V> args, bool positional)
      : cls(cls), generator(generator), args(std::move(args)), positional(positional) {}
  PyTypeObject* type() const override { return reinterpret_cast<PyTypeObject*>(cls); }
  bool next(Context& c, V* value) override {
    ++pos;
    return c.iterate(generator, value);
  }
  int rebuild(Rebuilder& r) override {
    if (pos > 0 || !positional) r.context().give_up(Reason::kRebuild, "an iterator under way");
    std::vector<int> parts;
    for (auto& x : args) parts.push_back(r.recipe(x));
    return r.make<CallRecipe>(this, py::reinterpret_borrow<py::object>(cls), std::move(parts));
  }

  PyObject* cls;  // borrowed: the registry holds it
  V generator;
  std::vector<V> args;
  bool positional;
};

V make_iterator(Tracer& t, Call& c) {
  const std::vector<V> args = c.args;
  const bool positional = c.kwargs.empty();
  const V generator = call_polyfill(t, c);
  return t.make<LibraryIterator>(c.callable, generator, args, positional);
}

}  // namespace

void add_iterators(Registry& r) {
  r.add(reinterpret_cast<PyObject*>(&PyFilter_Type), {2, 2}, make_iterator);
  const py::module_ itertools = py::module_::import("itertools");
  auto add = [&](const char* name, Arity arity) {
    if (py::hasattr(itertools, name)) r.add(itertools.attr(name), arity, make_iterator);
  };
  add("chain", {0, kAny});
  add("islice", {2, 4});
  add("repeat", {1, 2});
  add("count", {0, 2, true});
  add("accumulate", {1, 2, true});
  add("starmap", {2, 2});
  add("takewhile", {2, 2});
  add("dropwhile", {2, 2});
  add("pairwise", {1, 1});
  add("product", {0, kAny, true});
  add("combinations", {2, 2});
  add("zip_longest", {0, kAny, true});
}

}  // namespace pijit
