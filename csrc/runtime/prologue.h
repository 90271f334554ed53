// What a program computes of parameters alone, kept until one of those is written: scales of batch
// norms, weights in another dtype.
#pragma once
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "runtime/array.h"
#include "runtime/packed.h"

namespace pijit {

class Program;

class Prologue {
 public:
  // `inputs`: which of the whole program's inputs the prologue reads.
  Prologue(std::shared_ptr<const Program> program, std::vector<int> inputs);
  struct Values {
    std::vector<ArrayRef> arrays;
    PackedBytes bytes;
  };
  // Those of the inputs of a call of the whole program, which the caller holds. They are kept when
  // all that they are made of was the same in two calls.
  std::shared_ptr<const Values> values(std::span<Array* const> inputs) const;
  size_t count() const;
  const Program& program() const { return *program_; }
  ~Prologue();
  Prologue(const Prologue&) = delete;
  // Forgets what all of them have kept.
  static void drop_all();

 private:
  struct Stamp {  // of a parameter's memory, not written since
    uint64_t written;
    const void* data;
    bool operator==(const Stamp&) const = default;
  };
  bool fits(std::span<Array* const> inputs) const;

  const std::shared_ptr<const Program> program_;
  const std::vector<int> inputs_;
  mutable std::mutex mu_;
  mutable std::vector<Stamp> seen_;             // in the last call that looked
  mutable std::shared_ptr<const Values> kept_;  // made of what was seen
  mutable uint32_t changes_ = 0, calls_ = 0;    // in a row; all
};

}  // namespace pijit
