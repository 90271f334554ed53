#include "cpu/kernels/pairwise.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>
#include <vector>

namespace pijit {
namespace {

int calls = 0;

template <class T>
T in_pairs(const T* x, std::ptrdiff_t n, T none) {
  if (n < 8) {
    T s = none;
    for (std::ptrdiff_t k = 0; k < n; ++k) s += x[k];
    return s;
  }
  if (n <= 128) {
    T r[8];
    std::ptrdiff_t k = 8;
    std::copy_n(x, 8, r);
    for (; k + 8 <= n; k += 8)
      for (int i = 0; i < 8; ++i) r[i] += x[k + i];
    T s = ((r[0] + r[1]) + (r[2] + r[3])) + ((r[4] + r[5]) + (r[6] + r[7]));
    for (; k < n; ++k) s += x[k];
    return s;
  }
  const std::ptrdiff_t half = n / 2 - n / 2 % 8;
  return in_pairs(x, half, none) + in_pairs(x + half, n - half, none);
}
template <class T>
T in_order(const T* x, std::ptrdiff_t n, T) {
  T s = 0;
  for (std::ptrdiff_t k = 0; k < n; ++k) s += x[k];
  return s;
}
template <class T, T (*kSum)(const T*, std::ptrdiff_t, T), bool kNegative = true>
void loop(char** at, const std::ptrdiff_t* n, const std::ptrdiff_t*, void*) {
  ++calls;
  *reinterpret_cast<T*>(at[2]) =
      *reinterpret_cast<T*>(at[0]) +
      kSum(reinterpret_cast<const T*>(at[1]), *n, kNegative ? T(-0.0) : T(0.0));
}
template <class T, T (*kSum)(const T*, std::ptrdiff_t, T), bool kNegative = true>
std::shared_ptr<const PairwiseSum> of(DType t) {
  return PairwiseSum::of({loop<T, kSum, kNegative>, nullptr, "a loop"}, t);
}

TEST(Pairwise, IsTakenForLoopsWithItsBitsOnly) {
  EXPECT_TRUE((of<float, in_pairs<float>>(DType::F32)));
  EXPECT_TRUE((of<float, in_pairs<float>, false>(DType::F32)));
  EXPECT_TRUE((of<double, in_pairs<double>>(DType::F64)));
  EXPECT_TRUE((of<double, in_pairs<double>, false>(DType::F64)));
  EXPECT_FALSE((of<float, in_order<float>>(DType::F32)));
  EXPECT_FALSE((of<double, in_order<double>>(DType::F64)));
  EXPECT_FALSE((of<int64_t, in_order<int64_t>>(DType::I64)));
}

template <class T>
void test_sums(DType t) {
  const auto sum = of<T, in_pairs<T>>(t);
  std::minstd_rand random(1);
  std::normal_distribution<T> normal;
  for (int64_t n : {1, 7, 8, 130, 5000, 65536, 300'001})
    for (int64_t rows : {1, 2, 5, 40}) {
      if (rows * n > 2'000'000) continue;
      const int64_t step = n + 3;
      std::vector<T> x(static_cast<size_t>(rows * step)), y(static_cast<size_t>(rows));
      for (auto* all : {&x, &y})
        for (T& v : *all) v = normal(random);
      std::vector<T> want = y;
      for (int64_t r = 0; r < rows; ++r) want[r] += in_pairs(&x[r * step], n, T(-0.0));
      sum->onto(reinterpret_cast<const char*>(x.data()), rows, n, step * sizeof(T),
                reinterpret_cast<char*>(y.data()));
      EXPECT_EQ(y, want) << n << " of " << rows << " rows";
    }
}
TEST(Pairwise, SumsOfRowsAndPartsOfThem) {
  test_sums<float>(DType::F32);
  test_sums<double>(DType::F64);
}

// Which of two NaNs stays is the loop's to say.
TEST(Pairwise, LeavesWhatIsNoNumberToTheLoop) {
  const auto sum = of<float, in_pairs<float>>(DType::F32);
  std::vector<float> x(3 * 1000, 1.0f), y(3, 0.5f);
  x[1700] = std::numeric_limits<float>::infinity();
  x[1800] = -x[1700];
  calls = 0;
  sum->onto(reinterpret_cast<const char*>(x.data()), 3, 1000, 4000,
            reinterpret_cast<char*>(y.data()));
  EXPECT_EQ(calls, 1);
  EXPECT_EQ(y[0], 1000.5f);
  EXPECT_TRUE(std::isnan(y[1]));
  EXPECT_EQ(y[2], 1000.5f);
}

}  // namespace
}  // namespace pijit
