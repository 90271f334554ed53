// The number of threads that is asked for is the number that a region gets.
#include "cpu/parallel.h"

#include <gtest/gtest.h>
#include <omp.h>

#include <atomic>
#include <vector>

namespace pijit {
namespace {

// Of a region that a library would start as we have it start.
int threads_of_a_region() {
  const int n = max_threads();
  const Threads scope(n);
  std::atomic<int> count{0};
#pragma omp parallel
  ++count;
  EXPECT_EQ(count, n);
  EXPECT_EQ(omp_get_max_threads(), n);
  return count;
}
// All indices once, whatever a region gets.
void expect_whole() {
  std::vector<std::atomic<int>> seen(10'000);
  parallel_for(10'000, 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) ++seen[static_cast<size_t>(i)];
  });
  for (auto& s : seen) ASSERT_EQ(s, 1);
}

TEST(Parallel, OfTheDefault) {
  EXPECT_GE(threads_of_a_region(), 1);
  expect_whole();
}

TEST(Parallel, WhereOpenMpMayGiveFewer) {
  const int before = omp_get_dynamic();
  omp_set_dynamic(1);
  threads_of_a_region();
  EXPECT_TRUE(omp_get_dynamic());
  expect_whole();
  omp_set_dynamic(before);
}

TEST(Parallel, WhereNoRegionIsActive) {
  const int before = omp_get_max_active_levels();
  omp_set_max_active_levels(0);
  EXPECT_EQ(threads_of_a_region(), 1);
  expect_whole();
  omp_set_max_active_levels(before);
}

TEST(Parallel, WithinARegion) {
  const int before = omp_get_max_active_levels();
  for (const int levels : {1, 2, 3})
    for (const int threads : {2, 3}) {
      omp_set_max_active_levels(levels);
#pragma omp parallel num_threads(threads)
      {
        EXPECT_EQ(threads_of_a_region(), 1);
        expect_whole();
      }
    }
  omp_set_max_active_levels(before);
}

TEST(Parallel, WithinARegionOfOneThread) {
#pragma omp parallel num_threads(1)
  {
    threads_of_a_region();
    expect_whole();
  }
}

TEST(Parallel, ThreadsAreAsBeforeAfterwards) {
  const int threads = omp_get_max_threads();
  { const Threads scope(threads + 3); }
  EXPECT_EQ(omp_get_max_threads(), threads);
}

}  // namespace
}  // namespace pijit
