#include "runtime/products.h"

#include <dlfcn.h>
#include <immintrin.h>
#include <link.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <string>
#include <string_view>

#include "runtime/fp_status.h"

namespace pijit {

namespace {

// --- dot products

// The lanes of a last vector that is not full: those from kLanes - n on of so many, then none.
alignas(32) constexpr int64_t kMasks64[] = {-1, -1, -1, -1, 0, 0, 0, 0};
alignas(32) constexpr int32_t kMasks32[] = {-1, -1, -1, -1, -1, -1, -1, -1, 0, 0, 0, 0, 0, 0, 0, 0};

struct Doubles {
  using T = double;
  using Vector = __m256d;
  static Vector zero() { return _mm256_setzero_pd(); }
  static Vector at(const T* p) { return _mm256_loadu_pd(p); }
  static Vector first(const T* p, int64_t n) {
    return _mm256_maskload_pd(
        p, _mm256_loadu_si256(reinterpret_cast<const __m256i*>(kMasks64 + 4 - n)));
  }
  static Vector fma(Vector a, Vector b, Vector c) { return _mm256_fmadd_pd(a, b, c); }
  static T sum(Vector v) {
    const __m128d half = _mm_add_pd(_mm256_castpd256_pd128(v), _mm256_extractf128_pd(v, 1));
    return _mm_cvtsd_f64(_mm_add_sd(half, _mm_unpackhi_pd(half, half)));
  }
};
struct Singles {
  using T = float;
  using Vector = __m256;
  static Vector zero() { return _mm256_setzero_ps(); }
  static Vector at(const T* p) { return _mm256_loadu_ps(p); }
  static Vector first(const T* p, int64_t n) {
    return _mm256_maskload_ps(
        p, _mm256_loadu_si256(reinterpret_cast<const __m256i*>(kMasks32 + 8 - n)));
  }
  static Vector fma(Vector a, Vector b, Vector c) { return _mm256_fmadd_ps(a, b, c); }
  static T sum(Vector v) {
    const __m128 half = _mm_add_ps(_mm256_castps256_ps128(v), _mm256_extractf128_ps(v, 1));
    const __m128 two = _mm_add_ps(half, _mm_movehl_ps(half, half));
    return _mm_cvtss_f32(_mm_add_ss(two, _mm_movehdup_ps(two)));
  }
};

template <class V, class T = typename V::T>
T of_neighbours(const T* x, const T* y, int64_t n) {
  constexpr int64_t kLanes = 32 / sizeof(T), kSums = 4;
  typename V::Vector sums[kSums] = {V::zero(), V::zero(), V::zero(), V::zero()};
  int64_t k = 0;
  for (; k + kSums * kLanes <= n; k += kSums * kLanes)
    for (int64_t s = 0; s < kSums; ++s)
      sums[s] = V::fma(V::at(x + k + s * kLanes), V::at(y + k + s * kLanes), sums[s]);
  for (int64_t s = 0; k < n; k += kLanes, ++s) {
    const int64_t some = std::min(kLanes, n - k);
    sums[s] = V::fma(V::first(x + k, some), V::first(y + k, some), sums[s]);
  }
  return V::sum((sums[0] + sums[1]) + (sums[2] + sums[3]));
}

template <class T>
T of_elements(const char* x, std::ptrdiff_t x_step, const char* y, std::ptrdiff_t y_step,
              int64_t n) {
  constexpr int64_t kSums = 4;
  auto times = [&](int64_t k) {
    T a, b;
    std::memcpy(&a, x + k * x_step, sizeof a);
    std::memcpy(&b, y + k * y_step, sizeof b);
    return a * b;
  };
  std::array<T, kSums> sums{};
  int64_t k = 0;
  for (; k + kSums <= n; k += kSums)
    for (int64_t s = 0; s < kSums; ++s) sums[static_cast<size_t>(s)] += times(k + s);
  for (; k < n; ++k) sums[0] += times(k);
  return (sums[0] + sums[1]) + (sums[2] + sums[3]);
}

template <class V, class T = typename V::T>
void dot(const char* x, std::ptrdiff_t x_step, const char* y, std::ptrdiff_t y_step, int64_t n,
         char* to) {
  constexpr std::ptrdiff_t kSize = sizeof(T);
  const T r =
      x_step == kSize && y_step == kSize
          ? of_neighbours<V>(reinterpret_cast<const T*>(x), reinterpret_cast<const T*>(y), n)
          : of_elements<T>(x, x_step, y, y_step, n);
  std::memcpy(to, &r, sizeof r);
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

}  // namespace

void dot_product(DType t, const char* x, std::ptrdiff_t x_step, const char* y,
                 std::ptrdiff_t y_step, int64_t n, char* to) {
  if (t == DType::F64)
    dot<Doubles>(x, x_step, y, y_step, n, to);
  else
    dot<Singles>(x, x_step, y, y_step, n, to);
}

void shared_product(const ForeignLoop& loop, char* const* operands, const std::ptrdiff_t* sizes,
                    const std::ptrdiff_t* steps, int threads, const Share& share) {
  constexpr std::ptrdiff_t kWorth = 1 << 17;  // multiplications
  enum : size_t { kRows = 1, kInner = 2, kColumns = 3 };
  const auto run = [&](std::ptrdiff_t begin, std::ptrdiff_t end, bool by_rows) {
    std::array<char*, 3> at{operands[0], operands[1], operands[2]};
    std::array<std::ptrdiff_t, 4> part{sizes[0], sizes[1], sizes[2], sizes[3]};
    part[by_rows ? kRows : kColumns] = end - begin;
    at[by_rows ? 0 : 1] += begin * steps[by_rows ? 3 : 6];
    at[2] += begin * steps[by_rows ? 7 : 8];
    loop.function(at.data(), part.data(), steps, loop.data);
  };
  const bool by_rows = sizes[kRows] >= sizes[kColumns];
  const std::ptrdiff_t n = sizes[by_rows ? kRows : kColumns];
  if (sizes[0] != 1 || threads < 2 || n < 2 ||
      sizes[kRows] * sizes[kInner] * sizes[kColumns] < kWorth || !blas_has_one_thread())
    return loop.function(const_cast<char**>(operands), sizes, steps, loop.data);
  const int64_t parts = std::min<int64_t>(n, threads);
  share(parts, [&](int64_t begin, int64_t end) {
    if (FpWatch* const watch = FpWatch::current()) watch->add(fp_flags());  // it may clear them
    if (begin < end) run(n * begin / parts, n * end / parts, by_rows);
  });
}

}  // namespace pijit
