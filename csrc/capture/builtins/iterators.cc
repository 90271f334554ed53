// Iterators of the library: filter and itertools. What they give is what generators of
// pijit/_polyfills.py give, which are inlined.
#include "capture/protocol/protocol.h"
#include "capture/rebuilder.h"
#include "capture/registry.h"
#include "capture/values.h"

namespace pijit {
namespace {

struct LibraryIterator final : IteratorValue {
  LibraryIterator(PyObject* cls, V generator, std::vector<V> args, bool positional)
      : cls(cls), generator(generator), args(std::move(args)), positional(positional) {}
  PyTypeObject* type() const override { return reinterpret_cast<PyTypeObject*>(cls); }
  bool advance(Context& c, V* value) override {
    ++pos;
    return protocol::next(c, generator, value);
  }
  int rebuild(Rebuilder& r) override {
    if ((pos > 0 && !stateless()) || !positional) leave();
    std::vector<int> parts;
    for (auto& x : args) parts.push_back(r.recipe(x));
    return r.make<CallRecipe>(this, py::reinterpret_borrow<py::object>(cls), std::move(parts));
  }

  // Is all that it knows of its past in the iterator that it reads?
  bool stateless() const {
    return cls == reinterpret_cast<PyObject*>(&PyFilter_Type) || cls == library.starmap.ptr();
  }

  PyObject* cls;  // borrowed: the registry holds it
  V generator;
  std::vector<V> args;
  bool positional;
};

// Which argument the class iterates at once, where it is made.
enum Iterated { kNone = -1, kFirst = 0, kSecond = 1, kEach = 2 };
template <Iterated kWhich>
V make_iterator(Tracer& t, Call& c) {
  for (size_t k = 0; k < c.args.size(); ++k)
    if (kWhich == kEach || static_cast<int>(k) == kWhich) c.args[k] = protocol::iter(t, c.args[k]);
  const std::vector<V> args = c.args;
  const bool positional = c.kwargs.empty();
  const V generator = call_polyfill(t, c);
  return t.make<LibraryIterator>(c.callable, generator, args, positional);
}

V make_islice(Tracer& t, Call& c) {
  for (size_t k = 1; k < c.args.size(); ++k) {  // what is wrong is raised where it is made
    const bool none = is_none(c.args[k]);
    const auto bound = none ? std::optional<int64_t>(1) : as_int(t, c.args[k]);
    if (!bound || *bound < (k == 3 ? 1 : 0)) t.give_up(Reason::kRaises, "islice()");
  }
  return make_iterator<kFirst>(t, c);
}

}  // namespace

void add_iterators(Registry& r) {
  r.add(reinterpret_cast<PyObject*>(&PyFilter_Type), {2, 2}, make_iterator<kSecond>);
  const py::object itertools = python_module("itertools");
  auto add = [&](const char* name, Arity arity, Known handler) {
    if (py::hasattr(itertools, name)) r.add(itertools.attr(name), arity, handler);
  };
  add("chain", {0, kAny}, make_iterator<kNone>);
  add("islice", {2, 4}, make_islice);
  add("repeat", {1, 2}, make_iterator<kNone>);
  add("count", {0, 2, true}, make_iterator<kNone>);
  add("accumulate", {1, 2, true}, make_iterator<kFirst>);
  add("starmap", {2, 2}, make_iterator<kSecond>);
  add("takewhile", {2, 2}, make_iterator<kSecond>);
  add("dropwhile", {2, 2}, make_iterator<kSecond>);
  add("pairwise", {1, 1}, make_iterator<kFirst>);
  add("product", {0, kAny, true}, make_iterator<kNone>);
  add("combinations", {2, 2}, make_iterator<kNone>);
  add("zip_longest", {0, kAny, true}, make_iterator<kEach>);
}

}  // namespace pijit
