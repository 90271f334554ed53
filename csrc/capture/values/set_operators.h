// Operators and comparisons of sets, which sets of all kinds, frozensets and the keys of dicts
// share.
#pragma once
#include "capture/value.h"

namespace pijit {

// Null: not of sets, which frozensets and the keys of a dict count as. What is changed in place is
// a set.
V set_operation(Context& c, BinaryOp op, const V& a, const V& b);
V set_in_place(Context& c, BinaryOp op, const V& a, const V& b);
V set_comparison(Context& c, CompareOp op, const V& a, const V& b);

template <class Base>
struct SetOperators : Base {
  using Base::Base;
  V binary(Context& c, BinaryOp op, const V& other, Side side) override {
    return side == Side::kLeft ? set_operation(c, op, this, other) : nullptr;
  }
  V compare(Context& c, CompareOp op, const V& other, Side side) override {
    return side == Side::kLeft ? set_comparison(c, op, this, other) : nullptr;
  }
};

// ... and of those that change.
template <class Base>
struct SetChanges : SetOperators<Base> {
  using SetOperators<Base>::SetOperators;
  V in_place(Context& c, BinaryOp op, const V& other) override {
    return set_in_place(c, op, this, other);
  }
};

}  // namespace pijit
