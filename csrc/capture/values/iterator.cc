#include "capture/values/iterator.h"

#include "capture/context.h"
#include "capture/protocol/protocol.h"
#include "capture/rebuilder.h"
#include "capture/values/exact.h"
#include "capture/values/bytearray.h"
#include "capture/values/dict.h"
#include "capture/values/scalar.h"
#include "capture/values/sequence.h"
#include "capture/values/set.h"

namespace pijit {
namespace {

constexpr int64_t kExhausted = -1;  // as a position: there it stays

// An iterator at a place of what it goes over.
struct IteratorRecipe final : Recipe {
  IteratorRecipe(int of, int64_t pos) : pos(pos) { parts = {of}; }
  py::object make(Runner& r) const override {
    py::object it = checked(PyObject_GetIter(r.make(parts[0]).ptr()));
    it.attr("__setstate__")(pos);
    return it;
  }
  std::string describe() const override { return str_cat("iterator at ", pos); }

  int64_t pos;
};

struct DictIteratorRecipe final : Recipe {
  DictIteratorRecipe(int of, int64_t pos) : pos(pos) { parts = {of}; }
  py::object make(Runner& r) const override {
    py::object it = checked(PyObject_GetIter(r.make(parts[0]).ptr()));
    for (int64_t k = 0; k < pos; ++k)
      if (!py::reinterpret_steal<py::object>(PyIter_Next(it.ptr()))) break;
    return it;
  }
  std::string describe() const override { return str_cat("dict iterator at ", pos); }

  int64_t pos;
};

py::object builtin(const char* name) { return py::reinterpret_borrow<py::object>(original(name)); }
std::vector<int> recipes(Rebuilder& r, const std::vector<V>& values) {
  std::vector<int> ids;
  for (auto& v : values) ids.push_back(r.recipe(v));
  return ids;
}
// Raises, now and whenever asked again.
[[noreturn]] void changed(Context& c, int64_t* size, Value* it, const char* text) {
  c.undoable([size, old = *size] { *size = old; });
  *size = -1;
  c.raise(PyExc_RuntimeError, {c.constant(py::str(text))});
}

}  // namespace

void IteratorValue::leave() const { throw StartedIterator{made_at}; }

bool IteratorValue::next(Context& c, V* value) {
  if (dirty) c.give_up(Reason::kTensorValue, "an iterator that a branch on a tensor moves");
  if (!generator_of(this) && !c.written_in_arm(this)) c.check_effect(this);
  c.undoable([this, before = pos] { pos = before; });
  return advance(c, value);
}

// --- over items

PyTypeObject* SequenceIterator::type() const {
  if (const auto* numbers = as<NumberArrayValue>(items))
    return Py_TYPE(checked(PyObject_GetIter(numbers->made_of(py::list()).ptr())).ptr());
  if (!of) return as<ListValue>(items) ? &PyListIter_Type : &PyTupleIter_Type;
  return of->type() == &PyUnicode_Type ? &PyUnicodeIter_Type : &PySeqIter_Type;
}

bool SequenceIterator::advance(Context& c, V* value) {
  if (pos == kExhausted) return false;
  const size_t at = static_cast<size_t>(pos);
  if (at >= items->items.size()) {
    pos = kExhausted;
    return false;
  }
  ++pos;
  *value = items->item(c, at);
  return true;
}

void SequenceIterator::traverse(Visit visit) const {
  if (pos == kExhausted) return;
  visit(items);
  visit(of);
}

int SequenceIterator::rebuild(Rebuilder& r) {
  if (pos < 0) r.context().give_up(Reason::kRebuild, "an iterator that has ended");
  const int whole = r.recipe(of ? of : V(items));  // a Tensor or a text: by what Python has for it
  if (as<NumberArrayValue>(items)) return r.make<DictIteratorRecipe>(this, whole, pos);
  return r.make<IteratorRecipe>(this, whole, pos);
}

DictIterator::DictIterator(V of)
    : of(of),
      dict(as<DictValue>(as<ViewValue>(of) ? as<ViewValue>(of)->dict : of)),
      size(static_cast<int64_t>(dict->keys.size())),
      changes(dict->changes) {}

PyTypeObject* DictIterator::type() const {
  const auto* view = as<ViewValue>(of);
  if (dict->ordered()) return &PyODictIter_Type;
  return !view || view->what == ViewValue::kKeys ? &PyDictIterKey_Type
         : view->what == ViewValue::kValues      ? &PyDictIterValue_Type
                                                 : &PyDictIterItem_Type;
}

bool DictIterator::advance(Context& c, V* value) {
  if (pos == kExhausted) return false;
  if (static_cast<int64_t>(dict->keys.size()) != size)
    changed(c, &size, this, "dictionary changed size during iteration");
  if (dict->changes != changes)
    c.give_up(Reason::kUnsupportedIterable, "a dict that loses and gets keys");
  const size_t at = static_cast<size_t>(pos);
  if (at >= dict->keys.size()) {
    pos = kExhausted;
    return false;
  }
  ++pos;
  const auto* view = as<ViewValue>(of);
  const V key = key_value(c, dict->keys[at].ptr());
  *value = !view || view->what == ViewValue::kKeys ? key
           : view->what == ViewValue::kValues      ? dict->item(c, at)
                                                   : c.tuple({key, dict->item(c, at)});
  return true;
}

void DictIterator::traverse(Visit visit) const {
  if (pos != kExhausted) visit(of);
}

int DictIterator::rebuild(Rebuilder& r) {
  if (pos < 0) r.context().give_up(Reason::kRebuild, "an iterator that has ended");
  if (dict->changes != changes || static_cast<int64_t>(dict->keys.size()) != size)
    r.context().give_up(Reason::kRebuild, "iterator over a dict that has changed");
  const int whole = r.recipe(of);
  return r.make<DictIteratorRecipe>(this, whole, pos);
}

SetIterator::SetIterator(V of, std::vector<V> items)
    : of(of),
      items(std::move(items)),
      size(static_cast<int64_t>(this->items.size())),
      changes(of->generation()) {}

PyTypeObject* SetIterator::type() const { return &PySetIter_Type; }

bool SetIterator::advance(Context& c, V* value) {
  if (pos == kExhausted) return false;
  if (auto* made = as<SetValue>(of); made && made->size() != size)
    changed(c, &size, this, "Set changed size during iteration");
  if (of->generation() != changes)
    c.give_up(Reason::kUnsupportedIterable, "a set that changes during its iteration");
  const size_t at = static_cast<size_t>(pos);
  if (at >= items.size()) {
    pos = kExhausted;
    return false;
  }
  ++pos;
  *value = items[at];
  return true;
}

void SetIterator::traverse(Visit visit) const {
  if (pos != kExhausted) visit(of);
}

int SetIterator::rebuild(Rebuilder& r) {
  if (pos < 0) r.context().give_up(Reason::kRebuild, "an iterator that has ended");
  if (of->generation() != changes || size < 0)
    r.context().give_up(Reason::kRebuild, "iterator over a set that has changed");
  const int whole = r.recipe(of);
  return r.make<DictIteratorRecipe>(this, whole, pos);
}

// --- others

namespace {
std::optional<int64_t> left_of(const V& v) {
  auto* it = as<IteratorValue>(v);
  return it ? it->left() : std::nullopt;
}
}  // namespace

bool IteratorValue::outlasts(int64_t budget) {
  constexpr int64_t kBegun = 3, kTurns = 8;
  if (++turns_ == kBegun) budget_ = budget;
  if (turns_ != kTurns) return false;
  const auto n = left();
  const int64_t each = (budget_ - budget) / (kTurns - kBegun);
  return n && each > 0 && *n > budget / each;
}

std::optional<int64_t> SequenceIterator::left() const {
  return static_cast<int64_t>(items->items.size()) - pos;
}
std::optional<int64_t> ZipIterator::left() const {
  std::optional<int64_t> least;
  for (auto& v : iters)
    if (const auto n = left_of(v); n && (!least || *n < *least)) least = n;
  return least;
}
std::optional<int64_t> EnumerateIterator::left() const { return left_of(inner); }

RangeIterator::RangeIterator(py::object range) {
  const Py_ssize_t n = PyObject_Size(range.ptr());
  if (n < 0) PyErr_Clear();  // more than any loop gets through
  stop = n < 0 ? PY_SSIZE_T_MAX : n;
  obj = std::move(range);
}

bool RangeIterator::advance(Context& c, V* value) {
  if (pos >= stop) return false;
  *value = c.constant(obj[py::int_(pos++)]);
  return true;
}

int RangeIterator::rebuild(Rebuilder& r) {
  const py::object rest = obj[py::slice(py::int_(pos), py::none(), py::none())];
  const int range = r.recipe(r.context().constant(rest));
  return r.make<CallRecipe>(this, builtin("iter"), std::vector<int>{range});
}

ReversedIterator::ReversedIterator(Container* items) : items(items) {
  pos = static_cast<int64_t>(items->items.size()) - 1;
}

PyTypeObject* ReversedIterator::type() const {
  return as<ListValue>(items) ? &PyListRevIter_Type : &PyReversed_Type;
}

bool ReversedIterator::advance(Context& c, V* value) {
  if (pos < 0 || pos >= static_cast<int64_t>(items->items.size())) {
    pos = kExhausted;
    return false;
  }
  *value = items->item(c, static_cast<size_t>(pos--));
  return true;
}

void ReversedIterator::traverse(Visit visit) const {
  if (pos != kExhausted) visit(items);
}

int ReversedIterator::rebuild(Rebuilder& r) {
  if (pos + 1 != static_cast<int64_t>(items->items.size())) leave();
  const int whole = r.recipe(items);
  return r.make<CallRecipe>(this, builtin("reversed"), std::vector<int>{whole});
}

bool ZipIterator::advance(Context& c, V* value) {
  std::vector<V> parts;
  for (auto& it : iters) {
    V v;
    if (!protocol::next(c, it, &v)) return false;
    parts.push_back(v);
  }
  if (parts.empty()) return false;
  *value = c.tuple(parts);
  return true;
}

void ZipIterator::traverse(Visit visit) const {
  for (auto& x : iters) visit(x);
}

int ZipIterator::rebuild(Rebuilder& r) {
  return r.make<CallRecipe>(this, builtin("zip"), recipes(r, iters));
}

bool EnumerateIterator::advance(Context& c, V* value) {
  V v;
  if (!protocol::next(c, inner, &v)) return false;
  *value = c.tuple({c.constant_int(pos++), v});
  return true;
}

void EnumerateIterator::traverse(Visit visit) const { visit(inner); }

int EnumerateIterator::rebuild(Rebuilder& r) {
  return r.make<CallRecipe>(this, builtin("enumerate"),
                            recipes(r, {inner, r.context().constant_int(pos)}));
}

bool MapIterator::advance(Context& c, V* value) {
  std::vector<V> args;
  for (auto& it : iters) {
    V v;
    if (!protocol::next(c, it, &v)) return false;
    args.push_back(v);
  }
  *value = protocol::call(c, func, args, {});
  return true;
}

void MapIterator::traverse(Visit visit) const {
  visit(func);
  for (auto& x : iters) visit(x);
}

int MapIterator::rebuild(Rebuilder& r) {
  std::vector<V> parts{func};
  parts.insert(parts.end(), iters.begin(), iters.end());
  return r.make<CallRecipe>(this, builtin("map"), recipes(r, parts));
}

GeneratorValue* generator_of(const V& v) {
  return dynamic_cast<GeneratorValue*>(static_cast<Value*>(v));
}

bool GeneratorValue::advance(Context& c, V* value) { return c.resume_generator(this, value); }

std::optional<V> GeneratorValue::getattr(Context& c, PyObject* name) {
  return protocol::builtin_attribute(c, this, name);
}

namespace {
// What `next` gives, after something was sent or thrown.
V resumed(Context& c, GeneratorValue& g, const V& sent, const V& thrown) {
  V value;
  if (c.resume_generator(&g, &value, sent, thrown)) return value;
  const bool none = !value || is_none(value);
  c.raise(PyExc_StopIteration, none ? std::vector<V>() : std::vector<V>{value});
}
V next(Context& c, GeneratorValue& g, const std::vector<V>&) {
  return resumed(c, g, nullptr, nullptr);
}
V send(Context& c, GeneratorValue& g, const std::vector<V>& args) {
  return resumed(c, g, args[0], nullptr);
}
V throw_into(Context& c, GeneratorValue& g, const std::vector<V>& args) {
  return resumed(c, g, nullptr, args[0]);
}
V close(Context& c, GeneratorValue& g, const std::vector<V>&) {
  g.close(c);
  return c.constant(py::none());
}

constexpr Method<GeneratorValue> kGeneratorMethods[] = {
    {"__next__", 0, 0, next},
    {"send", 1, 1, send},
    {"throw", 1, 1, throw_into},
    {"close", 0, 0, close},
};
}  // namespace

std::optional<V> GeneratorValue::method(Context& c, const std::string& name, std::vector<V>& args,
                                        Kwargs& kwargs) {
  return run_exact(kGeneratorMethods, *this, c, name, args, kwargs);
}

void GeneratorValue::close(Context& c) {
  if (!frame) return;
  V value;
  try {
    const V exits = c.wrap_static(PyExc_GeneratorExit);
    if (c.resume_generator(this, &value, nullptr, exits))
      c.give_up(Reason::kRaises, "generator ignored GeneratorExit");
  } catch (const Raised& r) {
    for (PyObject* e : {PyExc_GeneratorExit, PyExc_StopIteration})
      if (PyType_IsSubtype(r.exception->type(), reinterpret_cast<PyTypeObject*>(e))) return;
    throw;
  }
}

int GeneratorValue::rebuild(Rebuilder& r) {
  if (pos > 0 || !func) leave();
  std::vector<V> all{func};
  all.insert(all.end(), args.begin(), args.end());
  return r.make<CallRecipe>(this, py::object(), recipes(r, all));
}

}  // namespace pijit
