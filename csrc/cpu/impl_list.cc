// Which kernel runs an op on the CPU: for each op the families that have one, in order, reference
// last.

#include <mutex>

#include "absl/container/flat_hash_map.h"
#include "base/log.h"
#include "base/second_chance.h"
#include "cpu/cpu.h"
#include "runtime/hidden_bytes.h"

namespace pijit {

void register_cpu_kernels(KernelRegistry& r) {
  const KernelFamily few_rows = few_rows_kernels(), small_gemm = small_gemm_kernels(),
                     panels = panels_gemm_kernels(), onednn_matmul = onednn::matmul_kernels(),
                     blocked_gemm = blocked_gemm_kernels(), pointwise = pointwise_conv_kernels(),
                     direct = direct_conv_kernels(), winograd = winograd_conv_kernels(),
                     wide = wide_conv_kernels(), onednn_conv = onednn::conv_kernels(),
                     subsampled = subsampled_conv_kernels(), depthwise = depthwise_conv_kernels(),
                     last_direct = last_direct_conv_kernels(), patches = patches_conv_kernels(),
                     onednn_pool = onednn::pool_kernels(), avx2_pool = avx2_pool_kernels(),
                     rows_pool = rows_pool_kernels(), onednn_norm = onednn::norm_kernels(),
                     onednn_transpose = onednn::transpose_kernels(), matrices = transpose_kernels(),
                     transposed = transposed_kernels(), indexed = indexed_kernels(),
                     sole_indexed = sole_indexed_kernels(), random = avx2_random_kernels(),
                     resize = resize_kernels(), slices = slices_kernels(),
                     complex = complex_pairs_kernels(), foreign = foreign_kernels(),
                     together = collective_kernels(), picks = pick_kernels(),
                     elimination = eigen_elimination_kernels(), spectral = eigen_spectral_kernels(),
                     special = eigen_special_kernels(), fft = eigen_fft_kernels(),
                     reference = reference_kernels();
  struct Row {
    const char* op;
    std::vector<const KernelFamily*> families;
  };
  // clang-format off
  const Row rows[] = {
      {"matmul", {&few_rows, &small_gemm, &panels, &onednn_matmul, &blocked_gemm, &reference}},
      {"matmul_transposed", {&transposed}},
      {"dense", {&few_rows, &wide, &small_gemm, &panels, &onednn_matmul, &blocked_gemm, &reference}},
      {"dense_post", {&onednn_matmul}},
      {"conv2d", {&pointwise, &direct, &depthwise, &wide, &onednn_conv, &subsampled, &last_direct, &patches, &reference}},
      {"conv2d_dx", {&pointwise, &direct, &depthwise, &onednn_conv, &subsampled, &last_direct, &patches, &reference}},
      {"conv2d_dw", {&direct, &panels, &onednn_conv, &subsampled, &depthwise, &last_direct, &patches, &reference}},
      {"conv2d_post", {&pointwise, &depthwise, &onednn_conv}},
      {"conv2d_blocked", {&winograd, &direct, &wide, &onednn_conv}},
      {"conv2d_dx_blocked", {&direct, &onednn_conv}},
      {"conv2d_dw_blocked", {&direct, &panels, &onednn_conv}},
      {"conv2d_post_blocked", {&winograd, &wide, &onednn_conv}},
      {"block_channels", {&onednn_conv}},
      {"unblock_channels", {&onednn_conv}},
      {"max_pool2d", {&onednn_pool, &avx2_pool, &reference}},
      {"max_pool2d_dx", {&onednn_pool, &avx2_pool, &reference}},
      {"max_pool2d_pick", {&reference}},
      {"avg_pool2d", {&onednn_pool, &avx2_pool, &rows_pool, &reference}},
      {"avg_pool2d_dx", {&onednn_pool, &avx2_pool, &rows_pool, &reference}},
      {"max_pool2d_blocked", {&onednn_pool, &avx2_pool}},
      {"max_pool2d_dx_blocked", {&onednn_pool, &avx2_pool}},
      {"avg_pool2d_blocked", {&onednn_pool}},
      {"avg_pool2d_dx_blocked", {&onednn_pool}},
      {"layer_norm", {&onednn_norm}},
      {"normalize", {&onednn_norm}},
      {"softmax", {&onednn_norm}},
      {"log_softmax", {&onednn_norm}},
      {"transpose", {&matrices, &onednn_transpose, &reference}},
      {"gather", {&indexed, &reference}},
      {"gather_nd", {&indexed, &reference}},
      {"scatter_nd", {&indexed, &reference}},
      {"index_add", {&indexed, &reference}},
      {"gather_d", {&indexed, &reference}},
      {"scatter_d", {&indexed, &reference}},
      {"topk", {&sole_indexed}},
      {"nonzero_counts", {&sole_indexed}},
      {"nonzero_places", {&sole_indexed}},
      {"distance_sums", {&sole_indexed}},
      {"random_bits", {&random, &reference}},
      {"resize_linear", {&resize}},
      {"resize_linear_dx", {&resize}},
      {"complex", {&complex}},
      {"cholesky", {&elimination}},
      {"solve_triangular", {&elimination}},
      {"solve", {&elimination}},
      {"matrix_inverse", {&elimination}},
      {"matrix_det", {&elimination}},
      {"slogdet", {&elimination}},
      {"lu", {&elimination}},
      {"lu_permutation", {&elimination}},
      {"qr", {&elimination}},
      {"geqrf", {&elimination}},
      {"adjugate", {&spectral}},
      {"eigh", {&spectral}},
      {"svd", {&spectral}},
      {"pinv", {&spectral}},
      {"eig", {&spectral}},
      {"matrix_exp", {&spectral}},
      {"bessel", {&special}},
      {"igamma", {&special}},
      {"igammac", {&special}},
      {"igamma_da", {&special}},
      {"zeta", {&special}},
      {"polygamma", {&special}},
      {"nextafter", {&special}},
      {"betainc", {&special}},
      {"fft", {&fft}},
      {"rfft", {&fft}},
      {"irfft", {&fft}},
      {"reshape", {&reference}},
      {"slice", {&reference}},
      {"slice_update", {&reference}},
      {"dynamic_slice", {&slices}},
      {"dynamic_update_slice", {&slices}},
      {"add_slices", {&slices}},
      {"numpy_loop", {&foreign}},
      {"numpy_reduce", {&foreign}},
      {"numpy_accumulate", {&foreign}},
      {"numpy_masked_reduce", {&foreign}},
      {"numpy_count", {&foreign}},
      {"numpy_take", {&picks}},
      {"numpy_put", {&picks}},
      {"numpy_sort", {&foreign}},
      {"numpy_extreme", {&foreign}},
      {"numpy_search", {&foreign}},
      {"numpy_matmul", {&foreign}},
      {"all_reduce", {&together}},
      {"all_gather", {&together}},
      {"reduce_scatter", {&together}},
      {"broadcast", {&together}},
      {"reduce_to", {&together}},
      {"gather_to", {&together}},
      {"scatter_from", {&together}},
      {"all_to_all", {&together}},
      {"barrier", {&together}},
      {"send_to", {&together}},
      {"receive_from", {&together}},
      {"all_reduce_start", {&together}},
      {"all_reduce_wait", {&together}},
      {"pad", {&reference}},
      {"concat", {&reference}},
      {"arange", {&reference}},
      {"argmax", {&reference}},
      {"argmin", {&reference}},
      {"argsort", {&reference}},
      {"cumsum", {&reference}},
      {"one_hot", {&reference}},
      {"require", {&reference}},
  };
  // clang-format on
  for (auto& row : rows)
    for (auto* family : row.families) r.add(row.op, *family);
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
