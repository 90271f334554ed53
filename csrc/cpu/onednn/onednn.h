// What the oneDNN candidates share: engine, memory descriptors and a kernel around a primitive.
#pragma once
#include <dnnl.hpp>

#include <atomic>
#include <mutex>

#include "cpu/activation.h"
#include "cpu/cpu.h"
#include "runtime/hidden_bytes.h"
#include "runtime/layout.h"

namespace pijit::onednn {

using dnnl::memory;
using tag = memory::format_tag;
using Ints = std::vector<int64_t>;

dnnl::engine& engine();
memory::desc desc(const Ints& dims, const Ints& strides, DType t = DType::F32);
memory::desc desc(const Ints& dims, tag layout, DType t = DType::F32);
Ints row_major(const Ints& dims);
// Feature maps come as [N,C,H,W] or with channels in blocks, [N,C/b,H,W,b].
Shape logical(const Shape& map);  // [N,C,H,W]
memory::desc feature_map(const Shape& map, DType t);
memory::desc in_blocks_of(int64_t b, const Ints& dims, DType t);

// float32 without empty tensors.
bool serves(const KernelRequest& r, std::string* why);
// The same, or bfloat16, which is summed in float32 and rounded once.
bool serves_bf16_too(const KernelRequest& r, std::string* why);
template <class PrimitiveDesc>
bool plain_loops(const PrimitiveDesc& pd) {
  return std::string_view(pd.impl_info_str()).find("ref") != std::string_view::npos;
}
// oneDNN's plain loops are no faster than our own reference, or than the same op in float32.
// Throws dnnl::error where a bfloat16 primitive is such a one.
template <class PrimitiveDesc>
PrimitiveDesc not_plain_loops(PrimitiveDesc pd, DType t) {
  if (t == DType::BF16 && plain_loops(pd))
    throw dnnl::error(dnnl_unimplemented, "only plain loops for bfloat16");
  return pd;
}

// Of every primitive: its scratch memory comes with the call. The library's own belongs to the
// thread that made the primitive; another thread's may be too small, or not there.
dnnl::primitive_attr attributes();
dnnl::reorder reorder_of(const memory::desc& from, const memory::desc& to);
// What follows the product itself: an addition of `residual`, where that has dims, and an
// activation.
dnnl::primitive_attr post_ops(const memory::desc& residual, Activation activation);

// For Threads, in which primitives are made. They run on as many: how their work is divided is
// fixed in them. Those of the kernel (ForThreads), or one for small problems: a barrier, and data
// in the other core's cache, cost more.
int threads_for(const KernelRequest& r, double flops);

// A primitive with arguments that come from outside in one layout and may need a reorder to
// another. Memory objects are made once and pointed at the data of each call.
class Primitive : public OpKernel {
 public:
  struct Arg {
    int id;
    memory::desc outside, inside;
  };
  // What stands for an absent input: newer versions of oneDNN refuse arguments that a primitive
  // does not declare.
  static constexpr int kAbsent = 0;
  // Inputs in the order of the op's.
  Primitive(dnnl::primitive p, const std::vector<Arg>& in, const Arg& out);
  void run(const void* const* in, void* out) override { run(in, out, nullptr); }
  int packs() const override { return packs_; }
  void run_packed(const void* const* in, void* out, const OperandMemory& memory) override {
    run(in, out, &memory);
  }

 private:
  void run(const void* const* in, void* out, const OperandMemory* packed_memory);
  struct Call {
    dnnl::primitive p;
    std::vector<dnnl_exec_arg_t> args;
    HiddenBytes bytes;
    memory scratch;  // without a handle: not needed
    Call() = default;
    Call(dnnl::primitive p, std::vector<dnnl_exec_arg_t> args);
  };
  struct Bound {
    int id;
    memory outside, inside;
    Call reorder;  // without a primitive: not needed
  };
  static Bound bind(const Arg& a, bool input);
  std::vector<Bound> bound_;  // inputs, then the output
  Call call_;
  int packs_ = -1;               // the weights, where they need a reorder
  std::string layout_;           // from which, and to which
  std::optional<Layout> order_;  // of the latter
  std::mutex mu_;                // the memory objects belong to one call at a time
  int threads_;
};

// Kernels made by a candidate for the number of threads that there are. Where that changes (a
// forked child has one: the others died, and would be waited for for ever) it makes another.
class ForThreads : public OpKernel {
 public:
  ForThreads(KernelFactory make, const KernelRequest& r) : make_(make), request_(r) {}
  // Null, and why, if the candidate refuses.
  static std::unique_ptr<OpKernel> make(KernelFactory make, const KernelRequest& r,
                                        std::string* why);
  void run(const void* const* in, void* out) override { now()->run(in, out); }
  int packs() const override { return current_.load(std::memory_order_acquire)->kernel->packs(); }
  void run_packed(const void* const* in, void* out, const OperandMemory& memory) override {
    now()->run_packed(in, out, memory);
  }

 private:
  struct Made {
    int threads;
    std::unique_ptr<OpKernel> kernel;
  };
  // Outlives the node that it was asked for.
  struct Request {
    explicit Request(const KernelRequest& r)
        : op(r.op), attrs(r.attrs), in(r.in), present(r.present), out(r.out) {}
    KernelRequest view() const { return {op, attrs, in, present, out}; }
    const OpDef& op;
    Attrs attrs;
    std::vector<Type> in;
    std::vector<bool> present;
    Type out;
  };
  const Made* made_for(int threads, std::string* why);
  OpKernel* now();

  KernelFactory make_;
  Request request_;
  std::atomic<const Made*> current_{nullptr};
  std::mutex mu_;
  std::vector<std::unique_ptr<Made>> all_;  // others may still be running
};
template <KernelFactory make>
std::unique_ptr<OpKernel> for_threads(const KernelRequest& r, std::string* why) {
  return ForThreads::make(make, r, why);
}

template <class F>
std::unique_ptr<OpKernel> guarded(std::string* why, F f) {
  try {
    return f();
  } catch (const dnnl::error& e) {
    *why = e.what();
    return nullptr;
  }
}

}  // namespace pijit::onednn
