// Which kernel runs an op on the CPU: candidates in order, reference last.

#include <mutex>

#include "absl/container/flat_hash_map.h"
#include "base/log.h"
#include "base/second_chance.h"
#include "cpu/cpu.h"
#include "cpu/resize.h"
#include "runtime/hidden_bytes.h"

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

namespace {

// Code by what it depends on. Constants are part of that, so that there may be ever new code.
template <class T>
class CodeCache {
 public:
  template <class F>
  std::shared_ptr<const T> get(std::string key, F make) {
    std::vector<std::shared_ptr<Made>> gone;  // dropped behind the lock
    std::lock_guard lock(mu_);
    if (const auto it = all_.find(key); it != all_.end()) {
      it->second->used = true;
      return it->second->code;
    }
    auto made = std::make_shared<Made>();
    const size_t hidden = HiddenBytes::count();
    made->code = make();
    made->bytes = HiddenBytes::count() - hidden + 4 * key.size() + sizeof(Made) + kAround;
    made->key = key;
    gone = kept_.add(made, static_cast<size_t>(config().program_bytes) / 8);
    for (auto& old : gone) all_.erase(old->key);
    all_.emplace(std::move(key), made);
    return made->code;
  }

 private:
  static constexpr size_t kAround = 256;  // objects, entries of tables
  struct Made {
    std::string key;
    std::shared_ptr<const T> code;  // null: none can be made
    size_t bytes = 0;
    bool used = false;
  };
  std::mutex mu_;
  absl::flat_hash_map<std::string, std::shared_ptr<Made>> all_;
  SecondChance<Made> kept_;
};

}  // namespace

std::shared_ptr<const InnerLoop> make_inner_loop(const InnerSpec& s) {
  static auto* cache = new CodeCache<InnerLoop>;
  return cache->get(s.key() + config().backend + config().isa, [&] {
    std::shared_ptr<const InnerLoop> loop = asmjit_inner_loop(s);
    return loop ? loop : block_inner_loop(s);
  });
}

std::shared_ptr<const InnerChain> make_inner_chain(const std::vector<InnerSpec>& loops) {
  static auto* cache = new CodeCache<InnerChain>;
  std::string key = config().backend + config().isa;
  for (auto& s : loops) key += str_cat("|", s.out.size(), "|", s.key());
  return cache->get(std::move(key), [&] { return asmjit_inner_chain(loops); });
}

}  // namespace pijit
