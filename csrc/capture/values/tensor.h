// Tensors.
#pragma once
#include "capture/value.h"
#include "graph/indexing.h"
#include "runtime/layout.h"

namespace pijit {

struct TensorValue final : Value {
  TensorValue() : Value(&kKind<TensorValue>) {}
  static bool holds(Kind k) { return k == &kKind<TensorValue>; }
  PyTypeObject* type() const override;
  V length(Context& c) override;
  V getitem(Context& c, const V& index) override;
  void setitem(Context& c, const V& index, const V& value) override;
  V iter(Context& c) override;
  bool iterable() const override { return true; }
  std::optional<V> getattr(Context& c, PyObject* name) override;
  std::optional<V> method(Context& c, const std::string& name, std::vector<V>& args,
                          Kwargs& kwargs) override;
  Reason reason(Reason usual) const override;
  // A run knows it.
  std::optional<V> text(Context& c, const char* name) override { return std::nullopt; }
  bool asks_class() const override { return true; }
  void guard_methods(Context& c) override;
  bool has_identity() const override { return true; }
  void traverse(Visit visit) const override;
  Val node() const override;
  bool is_operand() const override { return true; }
  Operand operand(Context& c, Scope& s) override;
  V unary(Context& c, UnaryOp op) override;
  V binary(Context& c, BinaryOp op, const V& other, Side side) override;
  V compare(Context& c, CompareOp op, const V& other, Side side) override;
  bool declines_binary(const V& other) const override;
  V merge(Merge& m, const V& other) override;
  py::object stand_in(Context& c) override;
  int rebuild(Rebuilder& r) override;

  // One of two objects, as a branch on a tensor decides?
  bool is_choice() const { return first || second; }
  // Would a change of it be a change of another variable's tensor, perhaps?
  bool may_be_another() const { return aliased || is_choice(); }

  Val last;                // the value; of a view, when it was last asked for: node()
  bool parameter = false;  // may be assigned
  // Of a choice: where pred, it is the object `first`, else the object `second`; null stands for a
  // new one.
  Val pred;
  TensorValue *first = nullptr, *second = nullptr;
  bool aliased = false;           // a choice may be this object
  TensorValue* origin = nullptr;  // it is the part of `origin` at `place` (TensorObject)
  V place;
  // It is the view of `base` (capture/views.h) that an op with the attributes `attrs` gave, or the
  // index `how`. `how` of an op: the attributes as they were given.
  TensorValue* base = nullptr;
  TensorValue* doubted = nullptr;  // a base, if the argument it comes from is a view with gaps
  const OpDef* by = nullptr;
  Attrs attrs;
  V how;
  // A view is made anew when it is asked for, not at each change of what it shares: `version`
  // counts changes, `seen` is the version of `base` that `last` shows, as of NdarrayValues.
  Context* context = nullptr;  // of a view
  uint64_t version = 0, seen = 0;
  bool is_behind() const;
  std::optional<Layout> layout;  // of a view of known sizes
  bool packed = true;            // its elements lie side by side
};

// An index expression: constants and sizes as they are; tensors by placeholders, which the parser
// hands back.
std::vector<IndexItem> index_items(Context& c, const V& index, const Shape& shape);

void set_node(Context& c, TensorValue* t, Val node);
// Shared: views of it see the value.
void assign_tensor(Context& c, const V& t, const V& value, bool shared = true);

}  // namespace pijit
