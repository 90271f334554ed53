#include "cpu/oversubscription.h"

#include <gtest/gtest.h>

namespace pijit {
namespace {

int64_t time_now = 1'000;
int64_t clock_now() { return time_now; }

int64_t rest_of(Oversubscription& c) {
  c.waited();
  int64_t n = 0;
  for (; !c.is_over(); n += 1'000) time_now += 1'000;
  return n;
}

TEST(Oversubscription, OneThreadWorksAfterOneThatWaited) {
  Oversubscription c(clock_now);
  EXPECT_TRUE(c.is_over());
  c.waited();
  EXPECT_FALSE(c.is_over());
  time_now += Oversubscription::kShortest;
  EXPECT_TRUE(c.is_over());
}

TEST(Oversubscription, RestsGrowUntilItIsOver) {
  Oversubscription c(clock_now);
  int64_t want = Oversubscription::kShortest;
  for (int k = 0; k < 9; ++k, want = std::min(2 * want, Oversubscription::kLongest)) {
    EXPECT_EQ(rest_of(c), want);
    time_now += want;
  }
  time_now += Oversubscription::kLongAfter * Oversubscription::kLongest;
  EXPECT_EQ(rest_of(c), Oversubscription::kShortest);
}

TEST(Oversubscription, RegionsOfBeforeTheRestDoNotMakeItLonger) {
  Oversubscription c(clock_now);
  c.waited();
  for (int k = 0; k < 10; ++k) c.waited();
  time_now += Oversubscription::kShortest;
  EXPECT_TRUE(c.is_over());
}

}  // namespace
}  // namespace pijit
