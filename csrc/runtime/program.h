// Program: a compiled graph. Steps run in order over slots; intermediates share one arena whose
// layout was planned at compile time; outputs are fresh arrays, or a donated input's own memory.
#pragma once
#include <atomic>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "runtime/array.h"
#include "runtime/device.h"
#include "runtime/pooled.h"
#include "runtime/prologue.h"
#include "runtime/record.h"

namespace pijit {

class Program;

// A cond or a loop: programs of its regions. What decides is read by the host.
class RegionKernel : public Kernel {
 public:
  explicit RegionKernel(Device& d) : device_(d) {}
  void launch(const void* const* in, void* const* out) override;
  std::string describe_inside() const override;

  enum Kind : uint8_t {
    kCond,         // programs: then and otherwise
    kLoop,         // condition and body
    kLoopGradient  // these, and the gradient of the body; its last inputs are cotangents
  } kind = kCond;
  std::vector<std::shared_ptr<const Program>> programs;
  std::vector<Type> in_types, out_types;

 private:
  static bool flag(const ArrayRef& a);
  Device& device_;
};

class Program {
 public:
  struct Slot {
    enum Kind : uint8_t { kInput, kLiteral, kArena, kOutput, kTile } kind;
    size_t index = 0;  // input, literal or output buffer; arena: byte offset; tile: unused
  };
  struct Step {
    std::unique_ptr<Kernel> kernel;
    std::vector<int> in, out;  // slots; -1: absent
    std::string text;
    MetadataRef metadata;
    bool may_fail = false;
  };
  struct OutputBuffer {
    Type type;
    int donor = -1;  // input whose memory may be overwritten
  };
  struct Output {
    int slot;
    Type type;
    int donor = -1;  // input that it is the new value of, in whose memory it may lie
  };
  // Whether an input's array, which the caller alone owns, dies with a call. It may be given for
  // good: where its memory receives the new value, that output is null.
  enum Give : uint8_t { kKeep, kGive, kGiveForGood };

  explicit Program(Device& d) : device(d) {}
  ~Program() { delete spare_.load(); }
  // After the fields are filled in: what depends on all of them.
  void settle();

  // `give`, per input, may be null: all are kept. Throws OpError when a kernel finds bad data (an
  // index out of range); nothing has been changed then, except memory that was given, which is used
  // only where no later step can fail.
  void run(std::span<Array* const> inputs, const Give* give, ArrayRef* outputs) const;

  // Do runs take so long that others should have the GIL meanwhile? So it is thought until
  // one was measured.
  bool takes_long() const {
    return collects || (device.is_host() && (nanoseconds_.load(std::memory_order_relaxed) > kLong ||
                                             (prologue && prologue->takes_long())));
  }
  // A run without the GIL, of inputs that the caller holds. Memory that was given is written
  // behind all other kernels, with the lock: then `back` says which may be written still, by
  // changing `give`, and whether the run counts. False: it did not, and nothing was changed.
  bool run_unlocked(std::span<Array* const> inputs, const Give* give, ArrayRef* outputs,
                    absl::FunctionRef<bool()> back) const;
  // The same for callers who give nothing: without the lock where that pays.
  void run_among_others(std::span<Array* const> inputs, ArrayRef* outputs) const;

  // Runs a loop whose length depends on data: others may have the GIL between its turns.
  bool loops = false;
  // Waits for other processes, which meanwhile run as well: without the GIL, and once.
  bool collects = false;

  // Of a call. Those behind them are what the prologue computes.
  size_t num_inputs() const { return input_types.size() - (prologue ? prologue->count() : 0); }
  std::string describe() const;

  Device& device;
  std::vector<Type> input_types;
  std::vector<Slot> slots;
  std::vector<uint64_t> literals;
  std::vector<Step> steps;
  std::vector<OutputBuffer> output_buffers;
  std::vector<Output> outputs;
  size_t arena_bytes = 0;
  std::unique_ptr<const Prologue> prologue;  // null: none

 private:
  // A call's inputs and the prologue's values.
  struct AllInputs {
    AllInputs(std::span<Array* const> given, Prologue::Kept v);
    Prologue::Kept values;
    Pooled<Array*, 64> all;
  };
  void run_all(std::span<Array* const> inputs, const Give* give, ArrayRef* outputs) const;
  bool run_all_unlocked(std::span<Array* const> inputs, const Give* give, ArrayRef* outputs,
                        absl::FunctionRef<bool()> back) const;
  // Where the operands of all steps lie, one after the other. Most of it is the same in every run:
  // a run takes the frame of one before it, and changes what moved.
  struct Frame {
    std::vector<void*> slots, operands;
    char* arena = nullptr;
  };
  // Of a run; back when that is over.
  class FrameUse {
   public:
    explicit FrameUse(const Program& p);
    ~FrameUse();
    void put(size_t slot, void* at) {
      if (frame_->slots[slot] == at) return;
      frame_->slots[slot] = at;
      for (uint32_t u = p_.uses_begin_[slot]; u < p_.uses_begin_[slot + 1]; ++u)
        frame_->operands[p_.uses_[u]] = at;
    }
    Frame* operator->() const { return frame_; }

   private:
    const Program& p_;
    Frame* frame_;
  };

  class Run;
  void find_packed_alone();
  static constexpr int64_t kLong = 50'000;
  mutable std::atomic<int64_t> nanoseconds_ = INT64_MAX;  // of the last measured run, to the tail
  mutable std::atomic<uint32_t> runs_ = 0;

  ArrayRef literal_memory_;    // the literals, where the device cannot read the host's
  std::vector<size_t> moved_;  // inputs, single elements, that are copied from the host first
  struct Launch {
    Kernel* kernel;
    uint32_t in, out;  // operands
    int packs;         // the input that the kernel packs; -1: none
    bool alone;        // nothing else in the program reads it
  };
  std::vector<Launch> launches_;  // the steps, close together
  std::unique_ptr<Launcher> launcher_;
  // The last steps, from this one on, each write an output that may lie in memory that is given.
  // Outputs that none before them writes:
  size_t tail_ = 0;
  std::vector<bool> in_tail_;                   // per output buffer
  std::vector<uint32_t> uses_begin_, uses_;     // per slot, its places among the operands
  std::vector<uint32_t> in_arena_, elsewhere_;  // slots; the latter but for literals
  std::vector<bool> packed_alone_;              // slots: inputs that are packed, and no more
  size_t num_operands_ = 0;
  mutable std::atomic<Frame*> spare_ = nullptr;
};

}  // namespace pijit
