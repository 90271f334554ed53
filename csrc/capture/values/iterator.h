// Iterators: what a loop gets from an object, one item at a time.
#pragma once
#include "capture/value.h"

namespace pijit {

struct Container;
struct DictValue;
struct Frame;

struct IteratorValue : Value {
  IteratorValue() : Value(&kKind<IteratorValue>) {}
  static bool holds(Kind k) { return k == &kKind<IteratorValue>; }
  V iter(Context& c) final { return this; }
  bool iterable() const final { return true; }
  bool next(Context& c, V* value) final;

  // Capture begins anew; CPython makes this one. Where CPython can't be given one that is under
  // way.
  [[noreturn]] void leave() const;

  // How many items are left, where that is known.
  virtual std::optional<int64_t> left() const { return std::nullopt; }
  // At each turn of a loop over it, with what the capture may still count: do the turns that are
  // left need more, as the first ones were?
  bool outlasts(int64_t budget);

  int64_t pos = 0;
  int made_at = -1;  // the instruction of the outermost frame

 protected:
  // What `next` gives, in the class's own way; it is undone but for `pos` by the class.
  virtual bool advance(Context& c, V* value) = 0;

 private:
  int64_t turns_ = 0, budget_ = 0;  // the latter when they were few
};

// Over the items of a tuple or list, or those that a Tensor or a text gives.
struct SequenceIterator final : IteratorValue {
  SequenceIterator(Container* items, V of = nullptr) : items(items), of(of) {}
  PyTypeObject* type() const override;
  bool advance(Context& c, V* value) override;
  void traverse(Visit visit) const override;
  int rebuild(Rebuilder& r) override;

  std::optional<int64_t> left() const override;

  Container* items;
  V of;  // null: the items themselves
};

// Over a dict or a view of one, which must keep its keys.
struct DictIterator final : IteratorValue {
  explicit DictIterator(V of);
  PyTypeObject* type() const override;
  bool advance(Context& c, V* value) override;
  void traverse(Visit visit) const override;
  int rebuild(Rebuilder& r) override;

  V of;
  DictValue* dict;
  int64_t size;      // of the dict at first; -1: it has changed, and so from now on
  uint64_t changes;  // of the dict, at first
};

struct SetIterator final : IteratorValue {
  SetIterator(V of, std::vector<V> items);
  PyTypeObject* type() const override;
  bool advance(Context& c, V* value) override;
  void traverse(Visit visit) const override;
  int rebuild(Rebuilder& r) override;

  V of;
  std::vector<V> items;
  int64_t size;  // as in DictIterator
  uint64_t changes;
};

struct RangeIterator final : IteratorValue {
  explicit RangeIterator(py::object range);
  PyTypeObject* type() const override { return &PyRangeIter_Type; }
  bool advance(Context& c, V* value) override;
  int rebuild(Rebuilder& r) override;
  std::optional<int64_t> left() const override { return stop - pos; }

  int64_t stop;  // of the places in `obj`
};

struct ReversedIterator final : IteratorValue {
  explicit ReversedIterator(Container* items);
  PyTypeObject* type() const override;
  bool advance(Context& c, V* value) override;
  void traverse(Visit visit) const override;
  int rebuild(Rebuilder& r) override;

  Container* items;
};

struct ZipIterator final : IteratorValue {
  explicit ZipIterator(std::vector<V> iters) : iters(std::move(iters)) {}
  PyTypeObject* type() const override { return &PyZip_Type; }
  bool advance(Context& c, V* value) override;
  void traverse(Visit visit) const override;
  int rebuild(Rebuilder& r) override;
  std::optional<int64_t> left() const override;

  std::vector<V> iters;
};

struct EnumerateIterator final : IteratorValue {
  EnumerateIterator(V iter, int64_t start) : inner(iter) { pos = start; }
  PyTypeObject* type() const override { return &PyEnum_Type; }
  bool advance(Context& c, V* value) override;
  void traverse(Visit visit) const override;
  int rebuild(Rebuilder& r) override;
  std::optional<int64_t> left() const override;

  V inner;
};

struct MapIterator final : IteratorValue {
  MapIterator(V func, std::vector<V> iters) : func(func), iters(std::move(iters)) {}
  PyTypeObject* type() const override { return &PyMap_Type; }
  bool advance(Context& c, V* value) override;
  void traverse(Visit visit) const override;
  int rebuild(Rebuilder& r) override;

  V func;
  std::vector<V> iters;
};

struct GeneratorValue final : IteratorValue {
  explicit GeneratorValue(std::shared_ptr<Frame> frame) : frame(std::move(frame)) {}
  PyTypeObject* type() const override { return &PyGen_Type; }
  bool advance(Context& c, V* value) override;
  std::optional<V> getattr(Context& c, PyObject* name) override;
  std::optional<V> method(Context& c, const std::string& name, std::vector<V>& args,
                          Kwargs& kwargs) override;
  void close(Context& c);
  void traverse(Visit visit) const override;
  int rebuild(Rebuilder& r) override;

  std::shared_ptr<Frame> frame;  // null: it has ended
  V func;                        // what to call to make it anew, null where that is not known,
  std::vector<V> args;           // and the arguments
  V outside;                     // the exception that was handled where it was resumed
};
// Null: another iterator.
GeneratorValue* generator_of(const V& v);

}  // namespace pijit
