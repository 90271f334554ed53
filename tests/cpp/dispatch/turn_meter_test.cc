#include "dispatch/turn_meter.h"

#include <gtest/gtest.h>

#include "entry/entry.h"
#include "runtime/record.h"

namespace pijit {
namespace {

class TurnMeterTest : public testing::Test {
 protected:
  TurnMeterTest() { e_.in_numpy = {1200, false}; }
  ~TurnMeterTest() override { set_clock(kRealTime); }
  void pass(int64_t ns) { set_clock(now_ += ns); }

  // Turns with one graph until the meter decides; whether they lose.
  bool turns(int64_t kernels, int64_t rest, int64_t step, int n = 20) {
    for (int k = 0; k < n; ++k) {
      if (meter_.loses_at(&here_, disturbances_)) return true;
      if (meter_.measures()) {
        meter_.ran_graph(e_, kernels);
        meter_.ran_step(step);
      }
      pass(kernels + rest + step);
    }
    return false;
  }

  int here_ = 0, there_ = 0;
  int64_t now_ = 1'000'000;
  uint64_t disturbances_ = 0;
  Entry e_;
  TurnMeter meter_;
};

TEST_F(TurnMeterTest, AGraphThatTakesLongerThanItsOperations) {
  EXPECT_TRUE(turns(/*kernels=*/500, /*rest=*/5'000, /*step=*/300));
}

TEST_F(TurnMeterTest, AGraphThatTakesLess) { EXPECT_FALSE(turns(500, 400, 300)); }

TEST_F(TurnMeterTest, WhatCPythonRunsCountsOnBothSides) {
  EXPECT_FALSE(turns(500, 400, 1'000'000));
}

TEST_F(TurnMeterTest, LongKernelsAreWorthIt) { EXPECT_FALSE(turns(20'000, 50'000, 300)); }

TEST_F(TurnMeterTest, LongKernelsForElementsAreNot) {
  e_.in_numpy = {180, true};
  EXPECT_TRUE(turns(20'000, 50'000, 300));
}

TEST_F(TurnMeterTest, SomeDisturbedTurnsDecideNothing) {
  for (int k = 0; k < 20; ++k) {
    EXPECT_FALSE(meter_.loses_at(&here_, disturbances_));
    if (meter_.measures()) meter_.ran_graph(e_, 500);
    pass(k % 3 == 0 ? 1'000'000 : 800);
  }
}

TEST_F(TurnMeterTest, TurnsThatCompileAreLeftOut) {
  for (int k = 0; k < 20; ++k) {
    EXPECT_FALSE(meter_.loses_at(&here_, ++disturbances_));
    pass(1'000'000);
  }
  EXPECT_TRUE(turns(500, 5'000, 0));
}

TEST_F(TurnMeterTest, TurnsThatNeverStopCompilingCount) {
  bool lost = false;
  for (int k = 0; k < 40 && !lost; ++k) {
    lost = meter_.loses_at(&here_, ++disturbances_);
    if (meter_.measures()) meter_.ran_graph(e_, 500);
    pass(100'000);
  }
  EXPECT_TRUE(lost);
}

TEST_F(TurnMeterTest, CopiesAreNoWork) {
  e_.in_numpy.copied = 100'000;
  EXPECT_TRUE(turns(20'000, 1'000, 300));
}

TEST_F(TurnMeterTest, AnotherLoopIsMeasuredOnceTheFirstIsLeft) {
  EXPECT_FALSE(turns(500, 5'000, 0, 3));
  bool lost = false;
  for (int k = 0; k < 100 && !lost; ++k) {
    lost = meter_.loses_at(&there_, disturbances_);
    if (meter_.measures()) meter_.ran_graph(e_, 500);
    pass(6'000);
  }
  EXPECT_TRUE(lost);
}

TEST_F(TurnMeterTest, TheLoopAroundOneThatLostIsMeasured) {
  EXPECT_TRUE(turns(500, 5'000, 0));
  bool lost = false;
  for (int k = 0; k < 20 && !lost; ++k) {
    lost = meter_.loses_at(&there_, disturbances_);
    if (meter_.measures()) {
      meter_.ran_graph(e_, 500);
      meter_.ran_step(50'000);  // the loop that lost
    }
    pass(60'000);
  }
  EXPECT_TRUE(lost);
}

TEST_F(TurnMeterTest, ALoopThatWinsIsMeasuredNoMore) {
  EXPECT_FALSE(turns(500, 400, 300));
  EXPECT_FALSE(meter_.measures());
  EXPECT_FALSE(turns(500, 50'000, 300));
}

}  // namespace
}  // namespace pijit
