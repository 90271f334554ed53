// Program: a compiled graph. Steps run in order over slots; intermediates share one arena whose
// layout was planned at compile time; outputs are fresh arrays, or a donated input's own memory.
#pragma once
#include <atomic>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "runtime/array.h"
#include "runtime/device.h"
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
// Called at every turn of a loop; may throw.
extern void (*loop_interrupt)();

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
    SubjectRef subject;
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

  // Runs a loop whose length depends on data; loop_interrupt may be called meanwhile.
  bool loops = false;

  size_t num_inputs() const { return input_types.size(); }
  std::string describe() const;

  Device& device;
  std::vector<Type> input_types;
  std::vector<Slot> slots;
  std::vector<uint64_t> literals;
  std::vector<Step> steps;
  std::vector<OutputBuffer> output_buffers;
  std::vector<Output> outputs;
  size_t arena_bytes = 0;

 private:
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

  ArrayRef literal_memory_;    // the literals, where the device cannot read the host's
  std::vector<size_t> moved_;  // inputs, single elements, that are copied from the host first
  struct Launch {
    Kernel* kernel;
    uint32_t in, out;  // operands
  };
  std::vector<Launch> launches_;                // the steps, close together
  std::vector<uint32_t> uses_begin_, uses_;     // per slot, its places among the operands
  std::vector<uint32_t> in_arena_, elsewhere_;  // slots; the latter but for literals
  size_t num_operands_ = 0;
  mutable std::atomic<Frame*> spare_ = nullptr;
};

}  // namespace pijit
