// Recurrent layers as one op: what a step computes, as graphs, which the compiler makes the op's
// kernel of and the gradients are derived from.
//   recurrent(x, w, b?, h, c?, mask?)   the states after each step
//     x     [steps, batch, gates * hidden], the input's part of the gates
//     w, b  [hidden, gates * hidden] and [gates * hidden], of the state's part
//     h, c  [batch, hidden], the states before the first step; c of an LSTM
//     mask  [steps, batch, 1], where a step is made: elsewhere the states stay
//     the result: [states, steps, batch, hidden]
//   recurrent_gradient(x, of_h, w, before, ct, mask?)   all that its gradient takes steps for
//     of_h    the state's part of the gates of each step, as x
//     w       [gates * hidden, hidden]
//     before  the states before each step, as the result, and ct its cotangent
//     the result, flat: cotangents of x; of a GRU's of_h, where it isn't x's; of h; of c
#pragma once
#include <memory>

#include "graph/graph.h"

namespace pijit {

struct Recurrence {
  enum Cell : uint8_t { kTanh, kRelu, kGru, kLstm } cell;
  bool reverse;  // from the last step to the first
  Dim steps, batch, hidden;
  DType dtype;
  DeviceId device;
  bool has_bias = false, has_mask = false;

  int gates() const { return cell == kLstm ? 4 : cell == kGru ? 3 : 1; }
  int states() const { return cell == kLstm ? 2 : 1; }
  Type of_batch(Dim columns) const { return {dtype, Shape{batch, columns}, device}; }
  // Elements of a step's part of the flat gradient.
  Dim gates_numel() const { return batch * hidden * Dim(gates()); }
  Dim state_numel() const { return batch * hidden; }
  bool gates_differ() const { return cell == kGru; }
};

// Of either op, by the types of its operands (null: absent).
Recurrence recurrence_of(const OpCtx& c, std::span<const Type* const> in);

// (x_t, w, b?, h, c?, mask_t?) -> the states after the step.
std::unique_ptr<Graph> recurrent_step(const Recurrence& r);
// (x_t, of_h_t, w, h, c?, ct_h, ct_c?, dh, dc?, mask_t?) -> the cotangents of x_t, of a GRU's new
// gate in of_h_t, and of the states before the step; dh and dc are those of the states behind it,
// beside ct.
std::unique_ptr<Graph> recurrent_step_gradient(const Recurrence& r);

}  // namespace pijit
