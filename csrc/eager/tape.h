// The tape: records the ops that run, for reverse mode, forward mode and batches.
#pragma once
#include <functional>
#include <memory>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "eager/eager.h"

namespace pijit {

// Records what depends on watched arrays while it is active. Tapes nest; each thread has its own
// stack.
class Tape {
 public:
  using Backward = std::function<std::vector<ArrayRef>(const std::vector<ArrayRef>& cts)>;
  // What the records are for. A compiled region may be recorded as one op in reverse mode only.
  // For a batch all ops are recorded, and watched values, of one element, must not be read.
  enum Use : uint8_t { kReverse, kForward, kBatch };
  explicit Tape(Use use = kReverse) : use(use) {}
  ~Tape();  // stops it
  Tape(const Tape&) = delete;
  const Use use;

  void start();
  void stop();
  bool watch(const ArrayRef& a);  // false: it is watched already
  bool watches(Array* a) { return watched_.count(a) || (a->bearer && takes_for_leaf(a)); }
  // Watched, and computed by nothing that was recorded.
  bool is_leaf(const Array* a) const { return leaves_.count(a); }
  void record(const OpDef& op, const Attrs& attrs, std::span<const ArrayRef* const> in,
              const ArrayRef& out);
  void record_custom(std::vector<ArrayRef> in, std::vector<ArrayRef> out, Backward f);
  // f gets the whole gradient of a watched value once it is known and gives what goes on in its
  // place. In reverse mode.
  using Hook = std::function<ArrayRef(const ArrayRef& ct)>;
  void hook(const ArrayRef& a, Hook f);
  // A compiled region as one op: Record::region, given by arrays. Pairs of sum and alone.
  using Region = std::function<std::vector<std::pair<ArrayRef, ArrayRef>>(
      const std::vector<ArrayRef>& cts, const std::vector<ArrayRef>& so_far)>;
  void record_region(std::vector<ArrayRef> in, std::vector<ArrayRef> out, Region f);
  // Cotangents of `wrt` from cotangents of `outputs`. Ops run by the rules are recorded on outer
  // tapes.
  std::vector<ArrayRef> gradient(std::span<const ArrayRef> outputs, std::span<const ArrayRef> cts,
                                 std::span<const ArrayRef> wrt) const;

  // Tangents of `outputs` from those of `inputs`.
  std::vector<ArrayRef> pushforward(std::span<const ArrayRef> inputs,
                                    std::span<const ArrayRef> tangents,
                                    std::span<const ArrayRef> outputs) const;

  // `of` for all elements of a batch, its axis in front, from `examples` of one element and the
  // values of all (`batches`); null where it is the same for all.
  std::vector<ArrayRef> batch(std::span<const ArrayRef> examples, std::span<const ArrayRef> batches,
                              std::span<const ArrayRef> of, int64_t size) const;

  static Tape* innermost();  // active on this thread, or null
  static const std::vector<Tape*>& active();
  // For what reads or keeps a value outside of the ops. Throws OpError where it is one element's of
  // a batch.
  static void check_read(const Array* a) {
    if (a->of_one_element || !active().empty()) check_batches(a);
  }
  static void check_stored(const Array* before, const Array* value) {
    for (Tape* t : active())
      if (t->use == kBatch && !t->watched_.count(before)) check_read(value);
  }
  // A value that ops and gradients take for a new one, but which a batch must follow.
  static void follow(const ArrayRef& from, const ArrayRef& to);

 private:
  static void check_batches(const Array* a);
  bool takes_for_leaf(Array* a);
  struct Entry {
    const OpDef* op;
    Attrs attrs;
    std::vector<ArrayRef> in, out;
    Backward custom;
    Region region = nullptr;
    Hook hook = nullptr;
  };
  class Replay;
  std::vector<Entry> entries_;
  absl::flat_hash_set<const Array*> watched_, leaves_;
  absl::flat_hash_map<const void*, ArrayRef> borne_;  // leaves, by their bearers
  std::vector<ArrayRef> keep_;
  std::shared_ptr<std::vector<Tape*>> among_;  // the active ones of its thread; null: it is none
};

// The array on another device, with a gradient that comes back from there.
ArrayRef moved(const ArrayRef& a, DeviceId to);

}  // namespace pijit
