// Loops whose turns threads share.
#include "region/parallel_loop.h"

#include <gtest/gtest.h>

#include <tuple>

#include "base/config.h"

namespace pijit::region {
namespace {

// Rows of a matrix: out[i][j] = (j + 1) / a[i], i + j counted, until a[i] is 0; `last` is the j of
// the turn that came last to one.
constexpr const char* kRows = R"(b0():
  %0 = input ptr 0
  %1 = input ptr 1
  %2 = input i64 2
  %3 = input i64 3
  %4 = const i64 0
  %5 = const i64 1
  %6 = const i64 8
  %7 = const i64 -1
  jump b1()
b1():
  jump b2(%4 %4 %7)
b2(%10: i64, %11: i64, %12: i64):
  %13 = ilt %10 %2
  %14 = iadd %10 %5
  branch %13 b3() b7()
b3():
  %15 = load_f64 %0 %10 times 8 plus 0
  %16 = imul %10 %3
  %17 = imul %16 %6
  %18 = iadd %1 %17
  jump b4(%4 %11 %12)
b4(%20: i64, %21: i64, %22: i64):
  %23 = ilt %20 %10
  branch %23 b5() b6()
b5():
  %24 = iadd %20 %5
  %25 = itof %24
  %26 = ilt %20 %3
  check %26 else 2
  %28 = fdiv %25 %15 else 1
  store_f64 %18 %20 %28 times 8 plus 0
  %30 = iadd %10 %20
  %31 = iadd %21 %30 else 2
  jump b4(%24 %31 %20)
b6():
  jump b2(%14 %21 %22)
b7():
  exit 0
exit 0: %10 %11 %12
exit 1: %10 %20 %21
exit 2: %10 %20 %21
)";

class ParallelLoops : public testing::Test {
 protected:
  void SetUp() override { config().parallel_loops = "always"; }
  void TearDown() override { config().parallel_loops = before_; }

 private:
  const std::string before_ = config().parallel_loops;
};

TEST_F(ParallelLoops, PartsOfTurnsAreTheWhole) {
  const Function plain = Function::parse(kRows);
  plain.verify();
  Function shared = plain;
  prepare_loops(shared);
  shared.verify();
  ASSERT_EQ(shared.parallel.size(), 1u);
  const ParallelLoop& loop = *shared.parallel[0];
  EXPECT_EQ(loop.params, (std::vector<ParallelLoop::Param>{
                             ParallelLoop::kCounter, ParallelLoop::kSum, ParallelLoop::kLast}));
  constexpr int64_t kMost = 70;
  size_t done = 0;
  for (const int64_t n : {0, 1, 3, 4, 30, 64, 70})
    for (const int64_t width : {n, n - 1, n / 2})
      for (const int64_t zero : {-1, 0, 17, 29, 63}) {
        std::vector<double> a(kMost, 0.3);
        if (zero >= 0) a[static_cast<size_t>(zero)] = 0;
        auto run = [&](const Code& code) {
          std::vector<double> out(static_cast<size_t>(kMost * kMost), -1);
          std::vector<int64_t> words(8);
          words[0] = reinterpret_cast<int64_t>(a.data());
          words[1] = reinterpret_cast<int64_t>(out.data());
          words[2] = n;
          words[3] = width;
          const int exit = code.run(words.data());
          words.resize(3);
          return std::tuple(exit, words, out);
        };
        const auto wanted = run(*interpreted(plain));
        EXPECT_EQ(run(*interpreted(shared)), wanted) << n << " " << width << " " << zero;
        EXPECT_EQ(run(*compiled(shared)), wanted) << n << " " << width << " " << zero;
        // without a turn that leaves, all are shared
        if (n >= 4 && width >= n - 1 && (zero <= 0 || zero >= n))
          done += static_cast<size_t>(2 * n);
      }
  EXPECT_GE(loop.shared, done);
}

TEST_F(ParallelLoops, WhatTurnsNeedOfEachOtherIsLeftToTheLoop) {
  // the sum is looked at
  std::string text = kRows;
  const std::string sum = "  %31 = iadd %21 %30 else 2\n";
  text.replace(text.find(sum), sum.size(), "  %31 = imul %21 %30 else 2\n");
  Function f = Function::parse(text);
  prepare_loops(f);
  EXPECT_TRUE(f.parallel.empty());
  // all turns store at one place
  text = kRows;
  const std::string stored = "  store_f64 %18 %20 %28 times 8 plus 0\n";
  text.replace(text.find(stored), stored.size(), "  store_f64 %1 %3 %28 times 8 plus 0\n");
  f = Function::parse(text);
  prepare_loops(f);
  EXPECT_TRUE(f.parallel.empty());
  config().parallel_loops = "off";
  f = Function::parse(kRows);
  prepare_loops(f);
  EXPECT_TRUE(f.parallel.empty());
}

}  // namespace
}  // namespace pijit::region
