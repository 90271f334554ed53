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
  ~Prologue();
  Prologue(const Prologue&) = delete;
  struct Values {
    std::vector<ArrayRef> arrays;
    PackedBytes bytes;
  };
  using Kept = std::shared_ptr<const Values>;
  // Those of the inputs of a call of the whole program, which the caller holds. Null: none are
  // kept for them.
  Kept kept(std::span<Array* const> inputs) const;
  // Computes them. They are kept when all that they are made of was the same in two calls.
  Kept computed(std::span<Array* const> inputs) const;
  size_t count() const;
  const Program& program() const { return *program_; }
  // Did the last call compute them, for long?
  bool takes_long() const;

  // Forgets what all of them have kept, or what was not asked for while all others could have been
  // asked for some times.
  static void drop_all();
  static void drop_idle();
  // Forgets what was made of a parameter's memory that had this number.
  static void drop_of(uint64_t unwritten);

 private:
  struct Stamp {  // of a parameter's memory, not written since
    uint64_t unwritten;
    const void* data;
    bool operator==(const Stamp&) const = default;
  };
  bool fits(std::span<Array* const> inputs) const;
  void unlist() const;
  template <class Condition>
  static void drop_where(Condition goes);

  const std::shared_ptr<const Program> program_;
  const std::vector<int> inputs_;
  mutable std::mutex mu_;
  mutable std::vector<Stamp> seen_;           // in the last call that looked
  mutable Kept kept_;                         // made of what was seen
  mutable uint32_t changes_ = 0, calls_ = 0;  // in a row; all
  mutable uint64_t used_ = 0;                 // when
  mutable std::vector<uint64_t> listed_;      // memory in whose lists it is
};

}  // namespace pijit
