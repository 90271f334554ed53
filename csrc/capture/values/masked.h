// x[mask] of an ndarray, whose size only a run knows: all of x and the mask. Elementwise functions
// are computed for all places, reductions for those that the mask has; what else needs the array
// ends the graph, and has it from the run.
#pragma once
#include "capture/values/ndarray.h"

namespace pijit {

struct MaskedValue final : Value {
  MaskedValue(NdarrayValue* whole, Val mask)
      : Value(&kKind<MaskedValue>), whole(whole), mask(mask) {}
  static bool holds(Kind k) { return k == &kKind<MaskedValue>; }
  PyTypeObject* type() const override;
  std::optional<V> getattr(Context& c, PyObject* name) override;
  std::optional<V> method(Context& c, const std::string& name, std::vector<V>& args,
                          Kwargs& kwargs) override;
  V unary(Context& c, UnaryOp op) override;
  V binary(Context& c, BinaryOp op, const V& other, Side side) override;
  V in_place(Context& c, BinaryOp op, const V& other) override;
  V compare(Context& c, CompareOp op, const V& other, Side side) override;
  bool has_identity() const override { return true; }
  void traverse(Visit visit) const override { visit(whole); }
  int rebuild(Rebuilder& r) override;

  NdarrayValue* whole;  // in C order
  const Val mask;       // of its first axes
};

// The array at `at`, a mask. Null: it is none, or none that is followed.
V masked_part(Context& c, NdarrayValue* a, const V& at);
// a[at] = value of a mask. False: as above.
bool store_masked(Context& c, NdarrayValue* a, const V& at, const V& value);

// The operands with all places in place of parts, each of the same mask; where the mask has none,
// they are 1, of which functions raise no flags. Null: others are among them.
struct Unmasked {
  std::vector<V> operands;
  Val mask;
};
std::optional<Unmasked> unmasked(Context& c, const std::vector<V>& operands);
V masked_again(Context& c, const V& made, Val mask);

}  // namespace pijit
