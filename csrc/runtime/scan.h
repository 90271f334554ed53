// A kernel that runs one program for each step of a sequence.
#pragma once
#include <vector>

#include "runtime/program.h"

namespace pijit {

class ScanKernel : public Kernel {
 public:
  explicit ScanKernel(Device& d) : device_(d) {}
  void launch(const void* const* in, void* const* out) override;
  std::string describe_inside() const override { return program->describe(); }

  // What begins as zeros.
  void carry_zeros(Type t);

  // Where something of a step lies: the place of step t is t strides behind the offset.
  struct Place {
    size_t offset = 0, stride = 0;  // bytes
  };
  struct Input {
    Type type;         // of one step
    int operand = -1;  // -1: what the step before gave on
    Place place = {};
    int carried = -1;  // else: which one
  };
  struct Carried {
    Type type;
    int operand = -1;     // what it is first; -1: zeros
    ArrayRef zeros = {};  // made with the kernel
  };
  struct Output {
    int carried = -1;     // given on as this one
    bool stored = false;  // in the result
    Place place = {};
  };
  std::shared_ptr<const Program> program;
  int64_t steps = 0;
  bool reverse = false;
  std::vector<Input> inputs;
  std::vector<Carried> carried;
  std::vector<Output> outputs;
  std::vector<size_t> ends;  // offsets of what is carried behind the last step; none: not stored

 private:
  Device& device_;
};

}  // namespace pijit
