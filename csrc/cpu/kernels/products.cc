#include "cpu/kernels/products.h"

#include <dlfcn.h>
#include <immintrin.h>
#include <link.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <string>
#include <string_view>

#include "cpu/parallel.h"
#include "region/products.h"
#include "runtime/fp_status.h"

namespace pijit {
namespace {

// --- dot products, added up in float64

constexpr int64_t kLanes = 4, kSums = 4;

// The first so many lanes of a vector that is not full: those from kLanes - n on.
alignas(32) constexpr int64_t kMasks[] = {-1, -1, -1, -1, 0, 0, 0, 0};
__m256i mask_of(int64_t n) {
  return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(kMasks + kLanes - n));
}
__m256d load(const double* p) { return _mm256_loadu_pd(p); }
__m256d load(const float* p) { return _mm256_cvtps_pd(_mm_loadu_ps(p)); }
__m256d load(const double* p, int64_t n) { return _mm256_maskload_pd(p, mask_of(n)); }
__m256d load(const float* p, int64_t n) {
  const __m256i even = _mm256_set_epi32(0, 0, 0, 0, 6, 4, 2, 0);
  const __m256i mask = _mm256_permutevar8x32_epi32(mask_of(n), even);
  return _mm256_cvtps_pd(_mm_maskload_ps(p, _mm256_castsi256_si128(mask)));
}

template <class T>
double of_neighbours(const T* x, const T* y, int64_t n) {
  __m256d sums[kSums] = {};
  int64_t k = 0;
  for (; k + kSums * kLanes <= n; k += kSums * kLanes)
    for (int64_t s = 0; s < kSums; ++s)
      sums[s] = _mm256_fmadd_pd(load(x + k + s * kLanes), load(y + k + s * kLanes), sums[s]);
#pragma GCC unroll 4
  for (int64_t s = 0; s < kSums; ++s, k += kLanes) {  // unrolled, sums stay in registers
    if (k >= n) break;
    const int64_t some = std::min(kLanes, n - k);
    sums[s] = _mm256_fmadd_pd(load(x + k, some), load(y + k, some), sums[s]);
  }
  const __m256d all = (sums[0] + sums[1]) + (sums[2] + sums[3]);
  return (all[0] + all[1]) + (all[2] + all[3]);
}

template <class T>
double of_elements(const char* x, std::ptrdiff_t x_step, const char* y, std::ptrdiff_t y_step,
                   int64_t n) {
  auto times = [&](int64_t k) {
    T a, b;
    std::memcpy(&a, x + k * x_step, sizeof a);
    std::memcpy(&b, y + k * y_step, sizeof b);
    return static_cast<double>(a) * static_cast<double>(b);
  };
  std::array<double, kSums> sums{};
  int64_t k = 0;
  for (; k + kSums <= n; k += kSums)
    for (int64_t s = 0; s < kSums; ++s) sums[static_cast<size_t>(s)] += times(k + s);
  for (; k < n; ++k) sums[0] += times(k);
  return (sums[0] + sums[1]) + (sums[2] + sums[3]);
}

template <class T>
void dot_of(const char* x, std::ptrdiff_t x_step, const char* y, std::ptrdiff_t y_step, int64_t n,
            char* to) {
  constexpr std::ptrdiff_t kSize = sizeof(T);
  const double sum =
      x_step == kSize && y_step == kSize
          ? of_neighbours(reinterpret_cast<const T*>(x), reinterpret_cast<const T*>(y), n)
          : of_elements<T>(x, x_step, y, y_step, n);
  const auto r = static_cast<T>(sum);
  std::memcpy(to, &r, sizeof r);
}
void dot(DType t, const char* x, std::ptrdiff_t x_step, const char* y, std::ptrdiff_t y_step,
         int64_t n, char* to) {
  (t == DType::F64 ? dot_of<double> : dot_of<float>)(x, x_step, y, y_step, n, to);
}

// --- the library behind NumPy's products

// OpenBLAS as NumPy's wheels have it. Null: it is another library, or linked in other ways.
int (*threads_of_blas())() {
  std::string path;
  dl_iterate_phdr(
      [](dl_phdr_info* of, size_t, void* found) {
        const std::string_view name = of->dlpi_name;
        const bool is = name.find("openblas") != std::string_view::npos &&
                        name.find("numpy") != std::string_view::npos;
        if (is) *static_cast<std::string*>(found) = name;
        return static_cast<int>(is);
      },
      &path);
  void* const library = path.empty() ? nullptr : dlopen(path.c_str(), RTLD_LAZY | RTLD_NOLOAD);
  if (!library) return nullptr;
  for (const char* name : {"scipy_openblas_get_num_threads64_", "scipy_openblas_get_num_threads",
                           "openblas_get_num_threads64_", "openblas_get_num_threads"})
    if (void* const f = dlsym(library, name)) return reinterpret_cast<int (*)()>(f);
  return nullptr;
}
// Its own threads share what is large already.
bool blas_has_one_thread() {
  static int (*const count)() = threads_of_blas();
  return count && count() == 1;
}

[[maybe_unused]] const bool registered = region::register_products({dot, shared_product});

}  // namespace

void shared_product(const ForeignLoop& loop, char* const* operands, const std::ptrdiff_t* sizes,
                    const std::ptrdiff_t* steps) {
  constexpr std::ptrdiff_t kWorth = 1 << 17;  // multiplications
  enum : size_t { kRows = 1, kInner = 2, kColumns = 3 };
  const bool by_rows = sizes[kRows] >= sizes[kColumns];
  const std::ptrdiff_t n = sizes[by_rows ? kRows : kColumns];
  const int64_t parts = std::min<int64_t>(n, max_threads());
  if (sizes[0] != 1 || parts < 2 || sizes[kRows] * sizes[kInner] * sizes[kColumns] < kWorth ||
      !blas_has_one_thread())
    return loop.function(const_cast<char**>(operands), sizes, steps, loop.data);
  parallel_for(parts, 1, [&](int64_t first, int64_t past) {
    if (FpWatch* const watch = FpWatch::current()) watch->add(fp_flags());  // it may clear them
    const std::ptrdiff_t begin = share_of(n, first, parts).first;
    std::array<char*, 3> at{operands[0], operands[1], operands[2]};
    std::array<std::ptrdiff_t, 4> part{sizes[0], sizes[1], sizes[2], sizes[3]};
    part[by_rows ? kRows : kColumns] = share_of(n, past, parts).first - begin;
    at[by_rows ? 0 : 1] += begin * steps[by_rows ? 3 : 6];
    at[2] += begin * steps[by_rows ? 7 : 8];
    if (first < past) loop.function(at.data(), part.data(), steps, loop.data);
  });
}

}  // namespace pijit
