// The CPU device: what its files offer one another.
#pragma once
#include "cpu/loop_kernel.h"
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
void register_reference_kernels(KernelRegistry& r);
void register_onednn_kernels(KernelRegistry& r);
void register_direct_conv_kernels(KernelRegistry& r);       // before oneDNN's
void register_last_direct_conv_kernels(KernelRegistry& r);  // after them
void register_subsampled_conv_kernels(KernelRegistry& r);
void register_depthwise_kernels(KernelRegistry& r);
void register_gemm_kernels(KernelRegistry& r);
void register_small_gemm_kernels(KernelRegistry& r);
void register_patch_kernels(KernelRegistry& r);
void register_pool_kernels(KernelRegistry& r);
void register_random_kernels(KernelRegistry& r);
void register_indexed_kernels(KernelRegistry& r);
void register_elimination_kernels(KernelRegistry& r);
void register_spectral_kernels(KernelRegistry& r);
void register_special_kernels(KernelRegistry& r);
void register_complex_kernels(KernelRegistry& r);
void register_fft_kernels(KernelRegistry& r);

}  // namespace pijit
