#include "base/second_chance.h"

#include <gtest/gtest.h>

namespace pijit {
namespace {

struct Value {
  int name;
  size_t bytes;
  bool used = false;
};
std::shared_ptr<Value> value(int name, size_t bytes) {
  return std::make_shared<Value>(Value{name, bytes});
}
std::vector<int> names(const std::vector<std::shared_ptr<Value>>& gone) {
  std::vector<int> r;
  for (auto& v : gone) r.push_back(v->name);
  return r;
}

TEST(SecondChance, TheOldestGoesFirst) {
  SecondChance<Value> kept;
  for (int k = 0; k < 4; ++k) EXPECT_TRUE(kept.add(value(k, 25), 100).empty());
  EXPECT_EQ(names(kept.add(value(4, 50), 100)), (std::vector<int>{0, 1}));
  EXPECT_EQ(kept.bytes(), 100u);
}

TEST(SecondChance, WhatWasAskedForStays) {
  SecondChance<Value> kept;
  const auto first = value(0, 25);
  kept.add(first, 100);
  for (int k = 1; k < 50; ++k) {
    first->used = true;
    for (auto& gone : kept.add(value(k, 25), 100)) EXPECT_NE(gone, first);
  }
  EXPECT_EQ(kept.size(), 4u);
  size_t turns = 0;  // until it goes, as nobody asks any more
  for (bool there = true; there; ++turns)
    for (auto& gone : kept.add(value(50, 25), 100)) there = there && gone != first;
  EXPECT_LE(turns, 8u);
}

TEST(SecondChance, OneThatIsTooLargeStaysAlone) {
  SecondChance<Value> kept;
  kept.add(value(0, 50), 100);
  EXPECT_EQ(names(kept.add(value(1, 500), 100)), (std::vector<int>{0}));
  EXPECT_EQ(names(kept.add(value(2, 1), 100)), (std::vector<int>{1}));
}

}  // namespace
}  // namespace pijit
