// Program: a compiled graph. Steps run in order over slots; intermediates share one arena whose
// layout was planned at compile time; outputs are fresh arrays, or a donated input's own memory.
#pragma once
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
  };

  explicit Program(Device& d) : device(d) {}
  // After the fields are filled in: what depends on all of them.
  void settle();

  // donate[i]: input i's array is owned by the caller alone and dies with this call. Throws OpError
  // when a kernel finds bad data (an index out of range); nothing has been changed then, except
  // donated memory, which is used only where no later step can fail.
  void run(std::span<Array* const> inputs, const bool* donate, ArrayRef* outputs) const;

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
  ArrayRef literal_memory_;    // the literals, where the device cannot read the host's
  std::vector<size_t> moved_;  // inputs, single elements, that are copied from the host first
};

}  // namespace pijit
