// Which kernel runs an op on the CPU: candidates in order, reference last.

#include <mutex>

#include "absl/container/flat_hash_map.h"
#include "base/log.h"
#include "cpu/cpu.h"
#include "cpu/resize.h"

namespace pijit {

void register_cpu_kernels(KernelRegistry& r) {
  register_direct_conv_kernels(r);
  register_small_gemm_kernels(r);
  register_onednn_kernels(r);
  register_gemm_kernels(r);
  register_subsampled_conv_kernels(r);
  register_depthwise_kernels(r);
  register_last_direct_conv_kernels(r);
  register_patch_kernels(r);
  register_pool_kernels(r);
  register_random_kernels(r);
  register_indexed_kernels(r);
  register_resize_kernels(r);
  register_elimination_kernels(r);
  register_spectral_kernels(r);
  register_special_kernels(r);
  register_complex_kernels(r);
  register_fft_kernels(r);
  register_reference_kernels(r);
}

std::shared_ptr<const InnerLoop> make_inner_loop(const InnerSpec& s) {
  static std::mutex mu;
  static auto* cache = new absl::flat_hash_map<std::string, std::shared_ptr<const InnerLoop>>;
  std::string key = s.key() + config().backend + config().isa;
  std::lock_guard lock(mu);
  auto it = cache->find(key);
  if (it != cache->end()) return it->second;
  std::shared_ptr<const InnerLoop> loop = asmjit_inner_loop(s);
  if (!loop) loop = block_inner_loop(s);
  return cache->emplace(std::move(key), std::move(loop)).first->second;
}

std::shared_ptr<const InnerChain> make_inner_chain(const std::vector<InnerSpec>& loops) {
  static std::mutex mu;
  static auto* cache = new absl::flat_hash_map<std::string, std::shared_ptr<const InnerChain>>;
  std::string key = config().backend + config().isa;
  for (auto& s : loops) key += str_cat("|", s.out.size(), "|", s.key());
  std::lock_guard lock(mu);
  auto [it, fresh] = cache->try_emplace(std::move(key));
  if (fresh) it->second = asmjit_inner_chain(loops);
  return it->second;
}

}  // namespace pijit
