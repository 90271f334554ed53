// Lists and what is like them. One that comes from outside stays open as long as it can: what is
// guarded is what was read of it, what changes it is an operation in the journal, and neither its
// length nor its other items matter.
#pragma once
#include "capture/values/container.h"

namespace pijit {
struct Source;

// The sequence outside that a value stands for, which is asked for what is needed of it.
class OutsideSequence {
 public:
  explicit OutsideSequence(const Value& of) : of_(of) {}
  int64_t size() const;
  // The item at this index; null: there is none.
  py::object object(PyObject* index) const;
  // The same as a value; the last is at -1.
  V item(Context& c, int64_t i);
  V known_item(int64_t i) const;  // null: not read yet
  // Of an item at an index that varies.
  static Source at(int sequence, int index);

 private:
  const Value& of_;
  std::map<int64_t, V> read_;  // by index
};

struct GrowingSequence : Container {
  using Container::Container;
  static constexpr unsigned kFamilies = kContainer | kGrowing;
  static bool holds(Kind k) { return k->families & kGrowing; }
  std::optional<bool> truth(Context& c) override;
  V length(Context& c) override;
  void setitem(Context& c, const V& index, const V& value) override;
  void delitem(Context& c, const V& index) override;
  V iter(Context& c) override;
  bool iterable() const override { return true; }
  std::optional<V> getattr(Context& c, PyObject* name) override;
  std::vector<V> parts(Context& c) override;
  std::optional<V> method(Context& c, const std::string& name, std::vector<V>& args,
                          Kwargs& kwargs) override;
  void traverse(Visit visit) const override;
  bool has_identity() const override { return true; }

  // What kinds differ in.
  // The object that it holds where x is put into it; raises where that is impossible.
  virtual V coerced(Context& c, const V& x) { return x; }
  virtual void log_extend(Context& c, const std::vector<V>& values);
  // May a change need to know its length? Of a deque with maxlen.
  virtual bool bounded() const { return false; }
  // Does it take what this holds before any of it is added? Else item by item.
  virtual bool takes_at_once(const V& from) const;

  // Takes the length and all items as they are, under a guard.
  void settle(Context& c) override;
  bool is_open() const { return open_; }
  V at(Context& c, int64_t i);  // null: no such index
  void extend(Context& c, std::vector<V> values);
  void extend_by(Context& c, const V& iterable);
  void insert(Context& c, int64_t i, V value);
  void put(Context& c, int64_t i, V value);  // insert, but in the journal
  void set(Context& c, int64_t i, V value);
  void erase(Context& c, int64_t i);
  void clear(Context& c);
  void reverse(Context& c);
  // All items at once.
  void replace(Context& c, std::vector<V> all);
  void from_outside(Context&) override { set_open(true); }
  // Enters a call of a method in the journal.
  void log_method(Context& c, const char* method, std::vector<V> args) {
    log_call(c, method, std::move(args));
  }

  uint64_t edits = 0;  // since it is no longer open
  OutsideSequence outside{*this};

 protected:
  void set_open(bool open) { open_ = open; }
  void read_all(Context& c);
  void tighten(Context& c);
  V computed_item(Context& c, const V& index);
  bool set_place(Context& c, const V& index, const V& value);
  // The items of a slice at one end, for which nothing is settled. Empty: it is none.
  std::optional<std::vector<V>> end(Context& c, const V& slice);
  void splice(Context& c, size_t at, size_t removed, std::vector<V> added);
  void log_call(Context& c, const char* method, std::vector<V> args);

  // While open: `head`, then the items of the source but `skip` at its beginning and `drop` at its
  // end, then `items`.
  bool open_ = false;
  std::vector<V> head;
  int64_t skip = 0, drop = 0;
  std::vector<std::pair<V, V>> loose;  // items set at places that vary
  bool whole = false;                  // settled: no item is null

 private:
  V read_item(Context& c, size_t i) override;
};

}  // namespace pijit
