// Kernels and how they are chosen: for each op a list of candidates, best first, reference last. A
// candidate that cannot serve a request returns null and a reason.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "absl/container/node_hash_map.h"
#include "graph/op.h"

namespace pijit {

struct Storage;

// What an operand, whole, lies in. alone: nobody else reads or writes it during the launch, nor any
// other step of the program.
struct OperandMemory {
  Storage& storage;
  bool alone;
};

struct KernelRequest {
  const OpDef& op;
  const Attrs& attrs;
  std::vector<Type> in;
  std::vector<bool> present;
  Type out;
  bool fast = false;  // numerics: last digits may differ from those of the exact kernel
  OpCtx ctx() const { return {op, attrs}; }
};

// What runs a step of a program, on memory of its device.
class Kernel {
 public:
  virtual ~Kernel() = default;
  // Absent inputs are null, and so are outputs that nothing reads.
  virtual void launch(const void* const* in, void* const* out) = 0;
  // The operand that each call brings into a layout of the kernel's own. What was made of it before
  // is kept with its memory; -1: none.
  virtual int packs() const { return -1; }
  // With that operand, whole, in this memory.
  virtual void launch_packed(const void* const* in, void* const* out, const OperandMemory& memory) {
    launch(in, out);
  }
  virtual std::string describe() const { return ""; }
  virtual std::string describe_inside() const { return ""; }  // programs that it runs
};

class OpKernel : public Kernel {
 public:
  // The output does not overlap an input, but for the first of slice_update and
  // dynamic_update_slice, which it may lie over.
  virtual void run(const void* const* in, void* out) = 0;
  // Overridden by kernels of several outputs.
  void launch(const void* const* in, void* const* out) override { run(in, out[0]); }
  // Is each row of the result, along the first axis, computed of one row of the first input, so
  // that tiles of rows may be?
  virtual bool takes_rows() const { return false; }
  // Where there is an operand to be packed, and its memory.
  virtual void run_packed(const void* const* in, void* out, const OperandMemory& memory) {
    run(in, out);
  }
  void launch_packed(const void* const* in, void* const* out,
                     const OperandMemory& memory) override {
    run_packed(in, out[0], memory);
  }
};

// Runs a lambda.
template <class F>
class FnKernel : public OpKernel {
 public:
  explicit FnKernel(F f) : f_(std::move(f)) {}
  void run(const void* const* in, void* out) override { f_(in, out); }

 private:
  F f_;
};
template <class F>
std::unique_ptr<OpKernel> fn_kernel(F f) {
  return std::make_unique<FnKernel<F>>(std::move(f));
}

using KernelFactory = std::unique_ptr<OpKernel> (*)(const KernelRequest&, std::string* why_not);

struct Candidate {
  const char* name;
  KernelFactory make;
  bool reference = false;
};

// Kernels of one kind.
enum FamilyUse : bool { kReference = true };
struct KernelFamily {
  const char* name;
  std::vector<std::pair<const char*, KernelFactory>> kernels;  // by op
  bool reference = false;
};

// A device's candidates for each op; order of registration is order of preference.
class KernelRegistry {
 public:
  void add(const std::string& op, Candidate c) { list_[op].push_back(c); }
  void add(const std::string& op, const KernelFamily& family);
  std::unique_ptr<OpKernel> make(const KernelRequest& r) const;
  // The name of the candidate that make() chooses; empty: there is none.
  std::string choice(const KernelRequest& r) const;
  // Does a candidate other than the reference take it?
  bool serves(const KernelRequest& r) const;
  bool has(const std::string& op) const { return list_.count(op); }
  bool has_own(const std::string& op) const;  // other than the reference

 private:
  static bool is_asked(const Candidate& c, const std::vector<Candidate>& all);
  absl::node_hash_map<std::string, std::vector<Candidate>> list_;
};

}  // namespace pijit
