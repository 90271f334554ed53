// Loops over numbers against integers of 128 bits and the C library.
#include "runtime/number_loops.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "runtime/fp_status.h"

namespace pijit {
namespace {

template <class T>
struct Made {
  T value;
  bool raised;
};
template <class T>
Made<T> run(const ForeignLoop& loop, T x, T y, bool unary = false) {
  Made<T> made{};
  char* at[] = {reinterpret_cast<char*>(&x), reinterpret_cast<char*>(unary ? &made.value : &y),
                reinterpret_cast<char*>(&made.value)};
  const std::ptrdiff_t n = 1, steps[] = {0, 0, 0};
  clear_fp_flags();
  loop.function(at, &n, steps, loop.data);
  made.raised = fp_flags() & kFpOverflow;
  return made;
}

template <class T>
void check_type(DType t) {
  using Limits = std::numeric_limits<T>;
  const std::vector<T> all{0,
                           1,
                           2,
                           7,
                           static_cast<T>(-1),
                           static_cast<T>(-5),
                           Limits::max(),
                           Limits::min(),
                           static_cast<T>(Limits::max() / 2),
                           static_cast<T>(Limits::max() / 2 + 1)};
  auto expect = [](const Made<T>& made, __int128 exact) {
    EXPECT_EQ(made.value, static_cast<T>(exact));
    EXPECT_EQ(made.raised, exact < Limits::min() || exact > Limits::max());
  };
  for (const T x : all) {
    expect(run(checked_loop(CheckedOp::kNeg, t), x, x, true), -static_cast<__int128>(x));
    expect(run(checked_loop(CheckedOp::kAbs, t), x, x, true),
           x < 0 ? -static_cast<__int128>(x) : static_cast<__int128>(x));
    for (const T y : all) {
      const __int128 a = x, b = y;
      expect(run(checked_loop(CheckedOp::kAdd, t), x, y), a + b);
      expect(run(checked_loop(CheckedOp::kSub, t), x, y), a - b);
      expect(run(checked_loop(CheckedOp::kMul, t), x, y), a * b);
    }
  }
}

TEST(NumberLoops, IntegersRaiseWhereTheyWrapAround) {
  check_type<int8_t>(DType::I8);
  check_type<int16_t>(DType::I16);
  check_type<int32_t>(DType::I32);
  check_type<int64_t>(DType::I64);
  check_type<uint8_t>(DType::U8);
  check_type<uint16_t>(DType::U16);
  check_type<uint32_t>(DType::U32);
}

TEST(NumberLoops, PowersAreTheLibrarys) {
  for (const double x : {0.0, 0.1, 1.7, -2.0, 9.99})
    for (const double y : {2.0, 3.0, -1.0, 0.5, 1.3}) {
      const auto made = run(libm_power_loop(DType::F64), x, y);
      EXPECT_TRUE(made.value == std::pow(x, y) || std::isnan(std::pow(x, y)));
    }
  EXPECT_TRUE(run(libm_power_loop(DType::F64), 1e200, 2.0).raised);
  EXPECT_EQ(run(libm_power_loop(DType::F32), 1.7f, 3.0f).value, std::pow(1.7f, 3.0f));
}

TEST(NumberLoops, FloatsAreTruncated) {
  const double from[] = {1.9, -1.9, 0.0, 126.5};
  int8_t to[4];
  char* at[] = {reinterpret_cast<char*>(const_cast<double*>(from)), reinterpret_cast<char*>(to)};
  const std::ptrdiff_t n = 4, steps[] = {8, 1};
  const ForeignLoop loop = truncating_loop(DType::F64, DType::I8);
  loop.function(at, &n, steps, loop.data);
  EXPECT_EQ(to[0], 1);
  EXPECT_EQ(to[1], -1);
  EXPECT_EQ(to[2], 0);
  EXPECT_EQ(to[3], 126);
}

}  // namespace
}  // namespace pijit
