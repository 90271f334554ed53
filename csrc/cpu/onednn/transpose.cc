// Transposition by oneDNN's reorder, which is vectorised and threaded.
#include "cpu/onednn/onednn.h"

namespace pijit::onednn {
namespace {

std::unique_ptr<OpKernel> transpose(const KernelRequest& r, std::string* why) {
  const size_t size = size_of(r.out.dtype);
  if (size < 4) return *why = "elements of less than 4 bytes", nullptr;
  // Below, making a call costs more than it saves.
  if (r.out.shape.numel() < 4096) return *why = "small", nullptr;
  return guarded(why, [&]() -> std::unique_ptr<OpKernel> {
    // Bits are moved as float32, elements of 8 bytes as pairs.
    const Ints& perm = r.ctx().numbers("perm");
    const int64_t words = static_cast<int64_t>(size / 4);
    Ints in_dims = r.in[0].shape.numbers(), dims = r.out.shape.numbers(), strides;
    if (words > 1) in_dims.push_back(words), dims.push_back(words);
    const Ints in_strides = row_major(in_dims);
    for (auto a : perm) strides.push_back(in_strides[a]);
    if (words > 1) strides.push_back(1);
    const Threads threads(threads_for(r, 0.0));
    const auto from = desc(dims, strides), to = desc(dims, row_major(dims));
    return std::make_unique<Primitive>(reorder_of(from, to),
                                       std::vector<Primitive::Arg>{{DNNL_ARG_FROM, from, from}},
                                       Primitive::Arg{DNNL_ARG_TO, to, to});
  });
}

}  // namespace

KernelFamily transpose_kernels() { return {"onednn", {{"transpose", for_threads<transpose>}}}; }

}  // namespace pijit::onednn
