// When a place runs plainly and when captured, with times that the test says.
#include "dispatch/tier.h"

#include <gtest/gtest.h>

namespace pijit {
namespace {

using Way = Tier::Way;

// Runs a place as its owner does; false: CPython ran it at once.
bool run(Tier& t, int64_t plain, int64_t captured, Tier::Ran ran = {.graph = true},
         bool tried = true) {
  if (t.rests(ran.tensor)) return false;
  if (t.next(tried) == Way::kPlain) {
    t.ran_plainly(plain);
  } else {
    t.ran_captured(t.timed() ? captured : Tier::kUntimed, ran);
  }
  return true;
}

TEST(Tier, AFunctionThatGainsStaysCaptured) {
  Tier t(TierPolicy::decorated);
  for (int k = 0; k < 1000; ++k) ASSERT_TRUE(run(t, 2000, 1000));
  EXPECT_EQ(t.verdict(), "");
  EXPECT_GE(t.captured_runs(), 990u);
}

// A small function below a break: its runs are compared, too, but for long ones.
TEST(Tier, AFunctionBelowABreakThatLosesRests) {
  Tier slow(TierPolicy::callee), fast(TierPolicy::callee), far(TierPolicy::callee);
  for (int k = 0; k < 100; ++k) {
    run(slow, 20'000, 50'000);
    ASSERT_TRUE(run(fast, 50'000, 20'000));
    ASSERT_TRUE(run(far, 1'000'000, 5'000'000));
  }
  EXPECT_TRUE(slow.resting());
  EXPECT_LT(slow.captured_runs(), 50u);
  EXPECT_EQ(far.captured_runs(), 100u);
}

// Turns of two runs are colder than the runs between them.
TEST(Tier, AShortRunThatGainsOnlyWhenColdIsDeoptimized) {
  Tier t(TierPolicy::decorated);
  int in_a_row = 0, calls = 0;
  while (!t.resting()) {
    ASSERT_LT(++calls, 200);
    if (t.next(true) == Way::kPlain)
      t.ran_plainly(++in_a_row < 4 ? 600 : 450);
    else
      in_a_row = 0, t.ran_captured(t.timed() ? 520 : Tier::kUntimed, {.graph = true});
  }
  EXPECT_EQ(t.verdict(), "one call took 520 ns captured and 450 ns plain");
}

TEST(Tier, LongRunsAreComparedEarlyWhereTheirOwnerSaysSo) {
  auto runs_until_rest = [](int64_t early) {
    Tier t(TierPolicy::decorated);
    for (int k = 0; k < 100; ++k) {
      if (t.resting()) return k;
      if (t.next(true, INT64_MAX, false, early) == Way::kPlain)
        t.ran_plainly(300'000);
      else
        t.ran_captured(t.timed() ? 400'000 : Tier::kUntimed, {.graph = true});
    }
    return 100;
  };
  EXPECT_EQ(runs_until_rest(0), 100);
  EXPECT_EQ(runs_until_rest(350'000), 100);
  EXPECT_LT(runs_until_rest(1'000'000), 30);
}

TEST(Tier, AFunctionThatLosesIsDeoptimizedAndTriedAgain) {
  Tier t(TierPolicy::decorated);
  int calls = 0;
  while (run(t, 1000, 2000)) ASSERT_LT(++calls, 200);
  EXPECT_EQ(t.verdict(), "one call took 2 µs captured and 1 µs plain");
  int rested = 1;
  while (!run(t, 2000, 1000)) ASSERT_LT(++rested, 100);
  EXPECT_EQ(rested, 63);
  for (int k = 0; k < 100; ++k) ASSERT_TRUE(run(t, 2000, 1000));
}

TEST(Tier, EachRestIsFourTimesAsLong) {
  Tier t(TierPolicy::decorated);
  std::vector<int> rests;
  int now = 0;
  for (int k = 0; k < 3000; ++k) {
    if (!run(t, 1000, 2000)) {
      ++now;
    } else if (now > 0) {
      rests.push_back(std::exchange(now, 0));
    }
  }
  ASSERT_GE(rests.size(), 2u);
  EXPECT_EQ(rests[0], 63);
  EXPECT_EQ(rests[1], 255);
}

TEST(Tier, LongCallsAreTriedWhenPlainOnesAreAShareOfThem) {
  Tier t(TierPolicy::decorated);
  int calls = 0;
  while (run(t, 1'000'000, 2'000'000)) ASSERT_LT(++calls, 1000);
  EXPECT_GE(t.captured_runs(), 200u);
  EXPECT_EQ(t.verdict(), "one call took 2 ms captured and 1 ms plain");
  Tier longest(TierPolicy::decorated);
  for (int k = 0; k < 1000; ++k) ASSERT_TRUE(run(longest, 10'000'000, 20'000'000));
}

TEST(Tier, WhatWonIsTriedAgain) {
  Tier t(TierPolicy::decorated);
  for (int k = 0; k < 20; ++k) ASSERT_TRUE(run(t, 1000, 900)) << "the first plain runs are cold";
  int calls = 20;
  while (run(t, 800, 900)) ASSERT_LT(++calls, 100);
  EXPECT_EQ(t.verdict(), "one call took 900 ns captured and 800 ns plain");
}

TEST(Tier, WhatWonIsTriedEverMoreRarely) {
  auto plain_runs = [](int64_t plain, int64_t captured) {
    Tier t(TierPolicy::decorated);
    unsigned runs = 0;
    for (int k = 0; k < 100'000; ++k) {
      const bool may = t.may_time();
      if (t.next(true) == Way::kPlain) {
        ++runs;
        EXPECT_TRUE(may);
        t.ran_plainly(plain);
      } else {
        EXPECT_TRUE(may || !t.timed()) << "the clock was not read when the call came";
        t.ran_captured(t.timed() ? captured : Tier::kUntimed, {.graph = true});
      }
    }
    return runs;
  };
  EXPECT_LE(plain_runs(1000, 900), 4u + 6 * 16) << "in long turns, as runs are short";
  EXPECT_LE(plain_runs(10'000, 9'000), 8u * 4);
  EXPECT_LE(plain_runs(1000, 100), 4u * 4);
}

TEST(Tier, WithoutComparisonsNothingIsDeoptimizedForItsTime) {
  Tier t(TierPolicy::decorated), automatic(TierPolicy::automatic), loop(TierPolicy::loop);
  for (int k = 0; k < 1000; ++k)
    for (Tier* x : {&t, &automatic, &loop})
      ASSERT_TRUE(run(*x, 1000, 2000, {.graph = true}, false));
}

TEST(Tier, WithoutGraphsAFunctionRests) {
  Tier t(TierPolicy::decorated);
  int runs = 0;  // eight captured ones, and those of a comparison
  while (run(t, 1, 1, {})) ASSERT_LT(++runs, 12);
  EXPECT_EQ(t.captured_runs(), 8u);
  EXPECT_EQ(t.verdict(), "no graph ran in it");
  EXPECT_TRUE(run(t, 1, 1, {.graph = true, .tensor = true})) << "it rested without Tensors only";
  Tier in_turn(TierPolicy::decorated);
  for (int k = 0; k < 100; ++k) ASSERT_TRUE(run(in_turn, 1, 1, {.graph = k % 8 == 7}));
}

TEST(Tier, AnotherRunWithoutAGraphIsEnough) {
  Tier t(TierPolicy::decorated);
  while (run(t, 1, 1, {})) {
  }
  for (int rest : {63, 255}) {
    for (int k = 1; k < rest; ++k) ASSERT_FALSE(run(t, 1, 1, {}));
    const uint64_t runs = t.captured_runs();
    while (run(t, 1, 1, {})) {
    }
    EXPECT_EQ(t.captured_runs(), runs + 1);
  }
}

TEST(Tier, WhileNothingIsLeftAFunctionRestsOn) {
  Tier t(TierPolicy::decorated);
  while (run(t, 1, 1, {})) {
  }
  for (int again = 0; again < 3; ++again) {
    int rested = 1;
    while (t.rests(false)) ASSERT_LT(++rested, 100);
    t.rest_on();
    EXPECT_TRUE(t.resting());
    EXPECT_EQ(t.verdict(), "no graph ran in it");
  }
  EXPECT_TRUE(run(t, 1, 1, {.graph = true, .tensor = true})) << "Tensors are another matter";
}

TEST(Tier, MostRunsOfARestAskLittle) {
  Tier t(TierPolicy::decorated), slow(TierPolicy::decorated);
  while (run(t, 1, 1, {}) && run(slow, 1, 1, {})) {
  }
  run(slow, 1, 1, {});
  auto none = [] { return false; };
  auto some = [] { return true; };
  ASSERT_FALSE(t.still_rests(some)) << "a Tensor ends it";
  int rested = 1;
  while (t.still_rests(none)) ASSERT_LT(++rested, 100);
  EXPECT_TRUE(t.resting()) << "rests() ends it";
  EXPECT_FALSE(t.rests(false));
  int quickly = 0;
  while (slow.resting()) slow.still_rests(none) ? ++quickly : slow.rests(false);
  EXPECT_GT(quickly, 50);
}

TEST(BudgetMeter, SpendsAnAllowanceAndAShareOfTheTime) {
  constexpr Budget budget{.allowance = 1000, .share = 0.01};
  BudgetMeter a(budget);
  EXPECT_TRUE(a.has_left(0));
  a.spend(999);
  EXPECT_TRUE(a.has_left(0));
  a.spend(2);
  EXPECT_FALSE(a.has_left(0));
  EXPECT_FALSE(a.has_left(100));
  EXPECT_TRUE(a.has_left(101));
  a.spend(1000);
  EXPECT_FALSE(a.has_left(101));
  EXPECT_TRUE(a.has_left(100'200));
}

TEST(BudgetMeter, PaysIntoTheOneAbove) {
  constexpr Budget large{.allowance = 100, .share = 0}, small{.allowance = 40, .share = 0};
  BudgetMeter all(large);
  std::vector<BudgetMeter> functions(6, BudgetMeter(small, &all));
  for (auto& f : functions) f.spend(20);
  EXPECT_EQ(all.spent(), 120);
  for (auto& f : functions) EXPECT_FALSE(f.has_left(0)) << "others spent what was left";
  EXPECT_FALSE(BudgetMeter(small, &all).has_left(0));
  BudgetMeter alone(small);
  alone.spend(50);
  EXPECT_FALSE(alone.has_left(1 << 30));
}

TEST(Tier, AfterBreaksWithoutEndAFunctionRestsAtOnce) {
  Tier t(TierPolicy::decorated);
  ASSERT_TRUE(run(t, 1, 1, {.anew = true, .hopeless = true}));
  EXPECT_FALSE(run(t, 1, 1, {}));
  EXPECT_TRUE(run(t, 1, 1, {.graph = true, .tensor = true})) << "Tensors are another matter";
}

TEST(Tier, AShortCallThatLosesIsDeoptimizedSoon) {
  Tier t(TierPolicy::decorated);
  int calls = 0;
  while (run(t, 400, 500)) ASSERT_LT(++calls, 14);
  EXPECT_EQ(t.verdict(), "one call took 500 ns captured and 400 ns plain");
}

TEST(Tier, CalleesNeedOneGraphOnly) {
  Tier t(TierPolicy::callee), useful(TierPolicy::callee);
  for (int k = 0; k < 4; ++k) {
    ASSERT_FALSE(t.resting());
    t.ran_captured(Tier::kUntimed, {});
  }
  EXPECT_TRUE(t.resting());
  useful.ran_captured(Tier::kUntimed, {.graph = true});
  for (int k = 0; k < 100; ++k) useful.ran_captured(Tier::kUntimed, {});
  EXPECT_FALSE(useful.resting());
}

TEST(Tier, AutomaticFunctionsWarmUpPlainly) {
  Tier t(TierPolicy::automatic);
  EXPECT_TRUE(t.warming());
  EXPECT_EQ(t.next(true), Way::kPlain);
  t.ran_plainly(1000);
  EXPECT_EQ(t.next(true), Way::kPlain);
  t.ran_plainly(1000);
  EXPECT_EQ(t.next(true), Way::kCaptured);
}

TEST(Tier, AutomaticFunctionsAreDeoptimizedForGoodAfterTwoLostComparisons) {
  Tier t(TierPolicy::automatic);
  int runs = 0;
  while (run(t, 1000, 1100)) ASSERT_LT(++runs, 60);
  EXPECT_EQ(t.verdict(), "one call took 1.1 µs captured and 1 µs plain");
  for (int k = 0; k < 100'000; ++k) ASSERT_FALSE(run(t, 1000, 10));
}

TEST(Tier, ClearComparisonsAreShort) {
  Tier clear(TierPolicy::automatic), close(TierPolicy::automatic);
  auto plain_runs = [](Tier& t, int64_t captured) {
    int plain = 0;
    for (int k = 0; k < 40; ++k) {
      if (t.next(true) == Way::kPlain) {
        ++plain;
        t.ran_plainly(1000);
      } else {
        t.ran_captured(captured, {.graph = true});
      }
    }
    return plain;
  };
  EXPECT_LT(plain_runs(clear, 100), plain_runs(close, 900));
}

TEST(Tier, WhatIsCapturedAnewAllTheTimeIsDeoptimized) {
  Tier t(TierPolicy::automatic);
  int runs = 0;
  while (run(t, 1000, 100, {.graph = true, .anew = true})) ASSERT_LT(++runs, 50);
  EXPECT_EQ(t.verdict(), "it was captured anew at nearly every call");
}

TEST(Tier, LoopsAreComparedWithTheirFirstIterations) {
  Tier won(TierPolicy::loop), lost(TierPolicy::loop);
  for (int k = 0; k < 200; ++k) ASSERT_TRUE(run(won, 1000, 500));
  int runs = 0;
  while (run(lost, 1000, 1500)) ASSERT_LT(++runs, 30);
  EXPECT_EQ(runs, 6 + 12);
  EXPECT_EQ(lost.verdict(), "one iteration took 1.5 µs captured and 1 µs plain");
}

TEST(Samples, OfAFewTheLeastIsTold) {
  Samples s;
  EXPECT_EQ(s.typical(), 0);
  for (int64_t ns : {22'000'000, 450'000}) s.add(ns);
  EXPECT_EQ(s.typical(), 450'000);
  s.clear();
  for (int64_t ns : {450'000, 22'000'000}) s.add(ns);  // interrupted
  EXPECT_EQ(s.typical(), 450'000);
  for (int64_t ns : {460'000, 470'000}) s.add(ns);
  EXPECT_EQ(s.typical(), 470'000);
}

TEST(Backoff, AsksEverMoreRarely) {
  Backoff b(3);
  int due = 0;
  for (int k = 0; k < 1000; ++k)
    if (b.due()) ++due, b.failed();
  EXPECT_EQ(due, 3 + 8);  // the 4th, 8th … 512th
  b.worked();
  EXPECT_TRUE(b.due());
}

TEST(Tier, ProgramsForEverNewSizesMustGain) {
  Tier t(TierPolicy::decorated);
  const Tier::Ran ran{.graph = true, .ever_new = true};
  int calls = 0;
  while (run(t, 1000, 980, ran)) ASSERT_LT(++calls, 200);
  EXPECT_TRUE(t.lost_a_comparison());
  t.go_on();
  EXPECT_FALSE(t.resting());
  for (int k = 0; k < 200; ++k) ASSERT_TRUE(run(t, 1000, 980));
}

TEST(NewSizes, AreEverNewWhenManyInARowWere) {
  NewSizes s;
  for (int k = 0; k < 10; ++k) s.ran(true);
  EXPECT_FALSE(s.ever_new());
  for (int k = 0; k < 20; ++k) s.ran(true);
  EXPECT_TRUE(s.ever_new());
  s.ran(false);
  EXPECT_FALSE(s.ever_new());
  EXPECT_TRUE(s.wait());
  EXPECT_FALSE(s.wait());
}

TEST(NewSizes, AreLookedAtEverLessOftenUntilOneComesBack) {
  NewSizes s;
  int looked = 0;
  for (uint64_t k = 1; k <= 1600; ++k)
    if (s.due()) {
      ++looked;
      EXPECT_FALSE(s.comes_back(k));
    }
  EXPECT_LT(looked, 110);
  EXPECT_GT(looked, 90);
  int until = 0;  // a size stays
  while (!s.due() || !s.comes_back(5000)) ASSERT_LT(++until, 40);
  for (int k = 0; k < 3; ++k) {
    EXPECT_TRUE(s.due());
    s.known();
  }
}

// Whoever waits for it once need not wait again.
TEST(Tier, ALongRunTellsEnough) {
  constexpr int64_t kMs = 1'000'000;
  Tier tier(TierPolicy::automatic);
  EXPECT_EQ(tier.next(true), Tier::Way::kPlain);
  tier.ran_plainly(30 * kMs);
  for (int k = 0; k < 200; ++k) {
    EXPECT_EQ(tier.next(true), Tier::Way::kCaptured);
    tier.ran_captured(kMs, {.graph = true, .anew = k == 0});
  }
  Tier seen(TierPolicy::automatic);
  seen.was_seen_to_run(10 * kMs);
  EXPECT_TRUE(seen.warming());
  seen.was_seen_to_run(40 * kMs);
  EXPECT_FALSE(seen.warming());
}

}  // namespace
}  // namespace pijit
