// Kernels and how they are chosen: for each op a list of candidates, best first, reference last. A
// candidate that cannot serve a request returns null and a reason.
#pragma once
#include <functional>
#include <memory>
#include <string>

#include "graph/op.h"

namespace pijit {

struct KernelRequest {
  const OpDef& op;
  const Attrs& attrs;
  std::vector<Type> in;
  std::vector<bool> present;
  Type out;
  OpCtx ctx() const { return {op, attrs}; }
};

class OpKernel {
 public:
  virtual ~OpKernel() = default;
  // Absent inputs are null. The output does not overlap an input.
  virtual void run(const void* const* in, void* out) = 0;
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

// Devices register candidates; order of registration is order of preference.
class KernelRegistry {
 public:
  static KernelRegistry& get();
  void add(const std::string& op, Candidate c) { list_[op].push_back(c); }
  std::unique_ptr<OpKernel> make(const KernelRequest& r) const;
  // Does a candidate other than the reference take it?
  bool serves(const KernelRequest& r) const;
  bool has(const std::string& op) const { return list_.count(op); }

 private:
  std::unordered_map<std::string, std::vector<Candidate>> list_;
};

void register_cpu_kernels(KernelRegistry& r);  // cpu/impl_list.cc
// Channels per block in which convolutions compute; 0: none.
int64_t channel_block();
// Whether generated loops that hold 8-byte types compute their 4-byte ones on half as many lanes as
// they could by themselves (in registers of 64 bytes: AVX-512).
bool wide_types_halve_lanes();

// Runs f(begin, end) over [0, n), in parallel when n exceeds `grain`. The split never changes
// results: callers give each index its own output.
void parallel_for(int64_t n, int64_t grain, const std::function<void(int64_t, int64_t)>& f);
int max_threads();
// Of the last-level cache.
int64_t cache_bytes();

}  // namespace pijit
