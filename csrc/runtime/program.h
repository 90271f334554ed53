// Program: a compiled graph. Steps run in order over slots; intermediates share one arena whose
// layout was planned at compile time; outputs are fresh arrays, or a donated input's own memory.
#pragma once
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "runtime/array.h"
#include "runtime/kernel.h"
#include "runtime/loop_kernel.h"
#include "runtime/record.h"
#include "runtime/tiles.h"

namespace pijit {

class Program;

// A cond or a loop: programs of its regions.
struct RegionStep {
  enum Kind : uint8_t {
    kCond,         // programs: then and otherwise
    kLoop,         // condition and body
    kLoopGradient  // these, and the gradient of the body; its last inputs are cotangents
  } kind = kCond;
  std::vector<std::shared_ptr<const Program>> programs;
  std::vector<Type> in_types, out_types;
  void run(const void* const* in, void* const* out) const;
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
    std::unique_ptr<LoopKernel> loop;  // one of the four
    std::unique_ptr<Tiles> tiles;
    std::unique_ptr<OpKernel> op;
    std::unique_ptr<RegionStep> region;
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

  // donate[i]: input i's array is owned by the caller alone and dies with this call. Throws OpError
  // when a kernel finds bad data (an index out of range); nothing has been changed then, except
  // donated memory, which is used only where no later step can fail.
  void run(std::span<Array* const> inputs, const bool* donate, ArrayRef* outputs) const;

  // Runs a loop whose length depends on data; loop_interrupt may be called meanwhile.
  bool loops = false;

  size_t num_inputs() const { return input_types.size(); }
  std::string describe() const;

  std::vector<Type> input_types;
  std::vector<Slot> slots;
  std::vector<uint64_t> literals;
  std::vector<Step> steps;
  std::vector<OutputBuffer> output_buffers;
  std::vector<Output> outputs;
  size_t arena_bytes = 0;
};

}  // namespace pijit
