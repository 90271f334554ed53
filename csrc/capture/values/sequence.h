// Tuples, named tuples and lists.
#pragma once
#include "capture/values/growing.h"

namespace pijit {

struct TupleValue final : Container {
  TupleValue() : Container(&kKind<TupleValue>) {}
  static bool holds(Kind k) { return k == &kKind<TupleValue>; }
  PyTypeObject* type() const override;
  std::optional<py::object> object(Context& c, Ask what) override;
  std::optional<bool> truth(Context& c) override;
  V length(Context& c) override;
  V getitem(Context& c, const V& index) override;
  std::optional<bool> contains(Context& c, const V& x) override;
  V iter(Context& c) override;
  bool iterable() const override { return true; }
  std::optional<V> getattr(Context& c, PyObject* name) override;
  std::optional<V> method(Context& c, const std::string& name, std::vector<V>& args,
                          Kwargs& kwargs) override;
  std::vector<V> parts(Context& c) override;
  V with_parts(Context& c, std::vector<V> parts) override;
  bool asks_class() const override { return true; }
  void guard_methods(Context& c) override;
  V binary(Context& c, BinaryOp op, const V& other, Side side) override;
  V compare(Context& c, CompareOp op, const V& other, Side side) override;
  bool declines_binary(const V&) const override { return true; }
  V merge(Merge& m, const V& other) override;
  py::object stand_in(Context& c) override;
  int rebuild(Rebuilder& r) override;

  py::object cls;  // of one made here: its class, if that is a derived one

 private:
  V read_item(Context& c, size_t i) override;
};

struct ListValue final : GrowingSequence {
  ListValue() : GrowingSequence(&kKind<ListValue>) {}
  static bool holds(Kind k) { return k == &kKind<ListValue>; }
  PyTypeObject* type() const override;
  std::optional<py::object> object(Context& c, Ask what) override;
  std::optional<V> getattr(Context& c, PyObject* name) override;
  V getitem(Context& c, const V& index) override;
  void setitem(Context& c, const V& index, const V& value) override;
  std::optional<bool> contains(Context& c, const V& x) override;
  V with_parts(Context& c, std::vector<V> parts) override;
  std::optional<V> method(Context& c, const std::string& name, std::vector<V>& args,
                          Kwargs& kwargs) override;
  V binary(Context& c, BinaryOp op, const V& other, Side side) override;
  V compare(Context& c, CompareOp op, const V& other, Side side) override;
  V in_place(Context& c, BinaryOp op, const V& other) override;
  bool is_referable() const override { return true; }
  bool declines_binary(const V&) const override { return true; }
  V merge(Merge& m, const V& other) override;
  py::object stand_in(Context& c) override;
  int rebuild(Rebuilder& r) override;
  void log_extend(Context& c, const std::vector<V>& values) override;

 private:
  std::optional<V> sort(Context& c, Kwargs& kwargs);
};

// Tuples and lists.
inline bool is_tuple_or_list(const V& v) { return as<TupleValue>(v) || as<ListValue>(v); }
inline bool is_list(const V& v) { return as<ListValue>(v); }
// Is this a tuple or list whose items are all listed?
inline bool is_sequence(const V& v) {
  const auto* list = as<ListValue>(v);
  return as<TupleValue>(v) || (list && !list->is_open());
}

}  // namespace pijit
