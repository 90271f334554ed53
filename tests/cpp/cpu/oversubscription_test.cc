#include "cpu/oversubscription.h"

#include <gtest/gtest.h>

namespace pijit {
namespace {

int64_t time_now = 1'000;
int64_t clock_now() { return time_now; }

constexpr int64_t kWork = 50'000, kGood = 30'000, kBad = 150'000;

TEST(Oversubscription, OneThreadWorksAfterTwoRegionsThatWaited) {
  Oversubscription c(clock_now);
  EXPECT_TRUE(c.is_over());
  c.ran(kBad, kWork);
  EXPECT_TRUE(c.is_over());
  c.ran(kBad, kWork);
  EXPECT_FALSE(c.is_over());
  time_now += Oversubscription::kShortest;
  EXPECT_TRUE(c.is_over());
}

TEST(Oversubscription, OnceIsForgiven) {
  Oversubscription c(clock_now);
  for (int k = 0; k < 100; ++k) {
    c.ran(kBad, kWork);  // its threads had to wake
    for (int good = 0; good < 3; ++good) c.ran(kGood, kWork);
    ASSERT_TRUE(c.is_over());
  }
}

TEST(Oversubscription, RestsGrowUntilItIsOver) {
  Oversubscription c(clock_now);
  auto rest = [&] {
    c.ran(kBad, kWork);
    c.ran(kBad, kWork);
    int64_t n = 0;
    for (; !c.is_over(); n += 1'000) time_now += 1'000;
    return n;
  };
  int64_t want = Oversubscription::kShortest;
  for (int k = 0; k < 9; ++k, want = std::min(2 * want, Oversubscription::kLongest))
    EXPECT_EQ(rest(), want);
  for (int k = 0; k < 3; ++k) c.ran(kGood, kWork);
  EXPECT_EQ(rest(), Oversubscription::kShortest);
}

TEST(Oversubscription, RegionsAsLongAsTheirWorkAreFine) {
  Oversubscription c(clock_now);
  for (int k = 0; k < 100; ++k) c.ran(kWork, kWork);
  EXPECT_TRUE(c.is_over());
}

}  // namespace
}  // namespace pijit
