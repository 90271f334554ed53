#include "compile/memory_plan.h"

#include <gtest/gtest.h>

#include <random>

namespace pijit {
namespace {

constexpr size_t kUnit = MemoryPlan::kAlignment;

size_t size_of_place(const PlannedValue& v) {
  return std::max(kUnit, (v.bytes + kUnit - 1) / kUnit * kUnit);
}
bool together(const PlannedValue& a, const PlannedValue& b) {
  return a.first <= b.last && b.first <= a.last;
}

TEST(MemoryPlan, MemoryIsUsedAgain) {
  const PlannedValue v[] = {{100, 0, 1, {}}, {100, 1, 2, {}}, {100, 2, 3, {}}};
  const MemoryPlan p = plan_memory(v);
  EXPECT_EQ(p.offsets, (std::vector<size_t>{0, 128, 0}));
  EXPECT_EQ(p.bytes, 256u);
}

TEST(MemoryPlan, AGapIsFilledByWhatFits) {
  // 1 dies between 0 and 2, which stay; 3 fits into the gap, 4 does not.
  const PlannedValue v[] = {
      {64, 0, 9, {}}, {128, 0, 1, {}}, {64, 0, 9, {}}, {128, 2, 3, {}}, {192, 4, 9, {}}};
  EXPECT_EQ(plan_memory(v).offsets, (std::vector<size_t>{0, 64, 192, 64, 256}));
}

TEST(MemoryPlan, AValueTakesItsOperandsPlace) {
  const PlannedValue v[] = {{100, 0, 1, {}}, {100, 1, 2, {0}}, {100, 2, 3, {1}}};
  const MemoryPlan p = plan_memory(v);
  EXPECT_EQ(p.offsets, (std::vector<size_t>{0, 0, 0}));
  EXPECT_EQ(p.bytes, 128u);
}

TEST(MemoryPlan, OneOperandsPlaceIsTakenOnce) {
  const PlannedValue v[] = {{64, 0, 1, {}}, {64, 1, 2, {0}}, {64, 1, 2, {0}}};
  const MemoryPlan p = plan_memory(v);
  EXPECT_EQ(p.offsets[1], 0u);
  EXPECT_EQ(p.offsets[2], 64u);
}

TEST(MemoryPlan, ValuesOfNoBytesHaveAnAddress) {
  const PlannedValue v[] = {{0, 0, 1, {}}, {0, 0, 1, {}}};
  const MemoryPlan p = plan_memory(v);
  EXPECT_NE(p.offsets[0], p.offsets[1]);
  EXPECT_EQ(plan_memory({}).bytes, 0u);
}

// First fit, as one says it: the lowest place that no value has that lives at the same time.
size_t lowest_place(std::span<const PlannedValue> v, const MemoryPlan& p, size_t i) {
  std::vector<std::pair<size_t, size_t>> busy;
  for (size_t j = 0; j < i; ++j)
    if (together(v[i], v[j])) busy.push_back({p.offsets[j], p.offsets[j] + size_of_place(v[j])});
  std::sort(busy.begin(), busy.end());
  size_t at = 0;
  for (auto [begin, end] : busy) {
    if (at + size_of_place(v[i]) <= begin) break;
    at = std::max(at, end);
  }
  return at;
}

TEST(MemoryPlan, FirstFit) {
  std::mt19937 rng(7);
  auto pick = [&](int a, int b) { return std::uniform_int_distribution<int>(a, b)(rng); };
  std::vector<PlannedValue> v;
  for (int k = 0, now = 0; k < 3000; ++k, now += pick(0, 1))
    v.push_back({static_cast<size_t>(pick(0, 1) ? pick(0, 5000) : 64 * pick(1, 3)),
                 now,
                 now + (pick(0, 9) ? pick(0, 20) : pick(0, 2000)),
                 {}});
  const MemoryPlan p = plan_memory(v);
  for (size_t i = 0; i < v.size(); ++i) ASSERT_EQ(p.offsets[i], lowest_place(v, p, i)) << i;
}

// Whatever lives at the same time shares no byte, but for a value over an operand that dies there.
TEST(MemoryPlan, RandomLifetimes) {
  std::mt19937 rng(3);
  auto pick = [&](int a, int b) { return std::uniform_int_distribution<int>(a, b)(rng); };
  size_t taken = 0;
  for (int round = 0; round < 300; ++round) {
    std::vector<PlannedValue> v;
    int now = 0;
    for (int n = pick(1, 40); n > 0; --n) {
      now += pick(0, 1);
      PlannedValue x{static_cast<size_t>(pick(0, 5) * 100), now, now + pick(0, 6), {}};
      for (size_t r = 0; r < v.size(); ++r)
        if (v[r].last == now && v[r].first < now && v[r].bytes == x.bytes && pick(0, 1))
          x.over.push_back(r);
      v.push_back(x);
    }
    const MemoryPlan p = plan_memory(v);
    ASSERT_EQ(p.offsets.size(), v.size());
    for (size_t i = 0; i < v.size(); ++i) {
      EXPECT_EQ(p.offsets[i] % kUnit, 0u);
      EXPECT_LE(p.offsets[i] + size_of_place(v[i]), p.bytes);
      for (size_t j = 0; j < i; ++j) {
        const bool apart = p.offsets[i] + size_of_place(v[i]) <= p.offsets[j] ||
                           p.offsets[j] + size_of_place(v[j]) <= p.offsets[i];
        if (apart || !together(v[i], v[j])) continue;
        ++taken;
        EXPECT_EQ(p.offsets[i], p.offsets[j]);
        EXPECT_NE(std::find(v[i].over.begin(), v[i].over.end(), j), v[i].over.end())
            << "value " << i << " lies over " << j;
      }
    }
  }
  EXPECT_GT(taken, 50u);
}

}  // namespace
}  // namespace pijit
