// collections.deque.
#pragma once
#include "capture/values/growing.h"

namespace pijit {

struct DequeValue final : GrowingSequence {
  DequeValue() : GrowingSequence(&kKind<DequeValue>) {}
  static bool holds(Kind k) { return k == &kKind<DequeValue>; }
  static V construct(Context& c, PyTypeObject* t, std::vector<V>& args, Kwargs& kwargs);
  PyTypeObject* type() const override;
  std::optional<py::object> object(Context& c, Ask what) override;
  std::optional<bool> truth(Context& c) override;
  V length(Context& c) override;
  V getitem(Context& c, const V& index) override;
  V iter(Context& c) override;
  V with_parts(Context& c, std::vector<V> parts) override;
  std::optional<V> method(Context& c, const std::string& name, std::vector<V>& args,
                          Kwargs& kwargs) override;
  void traverse(Visit visit) const override;
  V in_place(Context& c, BinaryOp op, const V& other) override;
  int rebuild(Rebuilder& r) override;
  void from_outside(Context& c) override;
  void settle(Context& c) override;
  bool is_referable() const override { return true; }
  bool bounded() const override { return maxlen >= 0; }

  // Puts values at an end, one after the other; at the left in reverse, as extendleft does.
  void push(Context& c, const std::vector<V>& values, bool left);
  void empty(Context& c);
  // What leaves it at the other end where it is full.
  void trim(Context& c, bool left);

  int64_t maxlen = -1;  // -1: none

 private:
  // Of one with maxlen, while open: what was put where. What it holds then follows from its length.
  std::vector<std::pair<bool, V>> pending;
};

PyTypeObject* deque_type();

}  // namespace pijit
