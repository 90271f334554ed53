// NumPy arrays made during capture, of constants: never seen by others, each run copies them.
#pragma once
#include "capture/value.h"

namespace pijit {

struct ArrayValue final : Value {
  ArrayValue() : Value(&kKind<ArrayValue>) {}
  static bool holds(Kind k) { return k == &kKind<ArrayValue>; }
  PyTypeObject* type() const override;
  std::optional<V> getattr(Context& c, PyObject* name) override;
  std::optional<V> method(Context& c, const std::string& name, std::vector<V>& args,
                          Kwargs& kwargs) override;
  // Of constants, in the graph as all others: what NumPy raises and warns of, it does in each run.
  V unary(Context& c, UnaryOp op) override;
  V binary(Context& c, BinaryOp op, const V& other, Side side) override;
  V compare(Context& c, CompareOp op, const V& other, Side side) override;
  V in_place(Context& c, BinaryOp op, const V& other) override;
  V length(Context& c) override;
  V iter(Context& c) override;
  V getitem(Context& c, const V& index) override;
  void traverse(Visit visit) const override;
  int rebuild(Rebuilder& r) override;

  // A view of `base`, which owns the memory that `obj` shows. How it was made: of `from` by
  // `index`, or transposed; of no `from`, by other ways.
  ArrayValue *base = nullptr, *from = nullptr;
  V index;
  bool has_views = false;
  bool iterated = false;  // what its items are, an iterator holds
};

// NumPy's functions on constants give constants. Where a floating-point warning is due, they don't.
// A method is that of `self`, of which the result may be a view.
V call_numpy(Context& c, const py::object& f, const std::vector<V>& args, const Kwargs& kwargs,
             ArrayValue* self = nullptr);

}  // namespace pijit
