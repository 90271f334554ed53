// The CPU device: what its files offer one another.
#pragma once
#include "cpu/loops/kernel.h"
#include "cpu/parallel.h"
#include "runtime/kernel.h"

namespace pijit {

std::shared_ptr<const InnerLoop> block_inner_loop(const InnerSpec& s);
// Is code generated for loops at all? It takes AVX2, FMA and F16C.
bool generates_code();
// Null where it is not, or the kernel uses something the generator does not cover.
std::shared_ptr<const InnerLoop> asmjit_inner_loop(const InnerSpec& s);
std::shared_ptr<const InnerChain> asmjit_inner_chain(const std::vector<InnerSpec>& loops);

// Channels per block in which convolutions compute; 0: none.
int64_t channel_block();
// Whether generated loops compute 4-byte types on fewer lanes beside 8-byte ones (in registers of
// 64 bytes: AVX-512).
bool wide_types_halve_lanes();

void register_cpu_kernels(KernelRegistry& r);  // impl_list.cc

KernelFamily few_rows_kernels();
KernelFamily small_gemm_kernels();
KernelFamily panels_gemm_kernels();
KernelFamily blocked_gemm_kernels();
KernelFamily pointwise_conv_kernels();
KernelFamily winograd_conv_kernels();  // under numerics="fast"
KernelFamily wide_conv_kernels();      // and dense products
KernelFamily direct_conv_kernels();
KernelFamily last_direct_conv_kernels();  // of what oneDNN is tried for first
KernelFamily subsampled_conv_kernels();
KernelFamily depthwise_conv_kernels();
KernelFamily patches_conv_kernels();
KernelFamily avx2_pool_kernels();
KernelFamily rows_pool_kernels();
KernelFamily avx2_random_kernels();
KernelFamily indexed_kernels();
KernelFamily sole_indexed_kernels();  // of ops that have no others
KernelFamily resize_kernels();
KernelFamily slices_kernels();
KernelFamily foreign_kernels();
KernelFamily collective_kernels();
KernelFamily pick_kernels();
KernelFamily transpose_kernels();
KernelFamily transposed_kernels();
KernelFamily complex_pairs_kernels();
KernelFamily eigen_elimination_kernels();
KernelFamily eigen_spectral_kernels();
KernelFamily eigen_special_kernels();
KernelFamily eigen_fft_kernels();
KernelFamily reference_kernels();
namespace onednn {
KernelFamily matmul_kernels();
KernelFamily conv_kernels();
KernelFamily norm_kernels();
KernelFamily pool_kernels();
KernelFamily transpose_kernels();
}  // namespace onednn

}  // namespace pijit
