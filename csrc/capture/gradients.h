// What captured code asks of tapes: pijit/grad.py, jacobian.py and vmap.py, which are inlined.
#pragma once
#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "capture/context.h"
#include "capture/tape.h"

namespace pijit {

struct Record;

class Tapes {
 public:
  explicit Tapes(Context& c) : c_(c) {}
  V make(Tape::Use use);
  V active();
  void start(const V& tape);
  void stop(const V& tape);
  // Adds a leaf. False: it is one.
  bool watch(const V& tape, const V& x);
  // Is a value watched, or computed from what is?
  bool watches(const V& tape, const V& x);
  // In reverse mode: `backward` gives the cotangents of `inputs` from those of `outputs`.
  void record_custom(const V& tape, const V& inputs, const V& outputs, const V& backward);
  void hook_gradient(const V& tape, const V& x, const V& function);
  V gradient(const V& tape, const V& outputs, const V& cotangents, const V& wrt);
  V tangents(const V& tape, const V& inputs, const V& given, const V& outputs);
  V batch(const V& tape, const V& examples, const V& batches, const V& outputs);

  // Another tensor of the same value, which gradients take for a new one; one that they follow.
  V detached(const V& x);
  V aliased(const V& x);
  void renew_identity(const V& x);
  CapturedTape& tape_of(const V& v);
  Val node_of(const V& x);

  bool own_gradients = false;  // of the user, though perhaps outside of any gradient

 private:
  CapturedTape& finished(const V& v);
  std::vector<Val> nodes_of(const V& list);
  // What a tape has seen, in order.
  std::vector<Record> records(const CapturedTape& t);

  Context& c_;
  // Nodes whose values no tape takes for those that they are made of.
  absl::flat_hash_map<const Graph*, absl::flat_hash_set<uint32_t>> detached_;
};

}  // namespace pijit
