#include "compile/group_order.h"

#include <gtest/gtest.h>

#include <random>
#include <set>

namespace pijit {
namespace {

// The same by sets of all groups that one waits for.
struct Plain {
  std::vector<std::set<int>> before;
  std::vector<int> of;
  int find(int u) const { return of[u] == u ? u : find(of[u]); }
  bool waits(int group, int other) const {
    std::set<int> seen;
    std::vector<int> todo{find(group)};
    while (!todo.empty()) {
      const int u = todo.back();
      todo.pop_back();
      for (int w : before[u])
        if (seen.insert(find(w)).second) todo.push_back(find(w));
    }
    return seen.count(find(other));
  }
};

TEST(GroupOrder, AnswersAsSearchesDo) {
  std::mt19937 rng(5);
  auto pick = [&](int n) { return std::uniform_int_distribution<int>(0, n - 1)(rng); };
  for (int round = 0; round < 200; ++round) {
    GroupOrder order;
    Plain plain;
    size_t merged = 0;
    for (int n = 0; n < 40; ++n) {
      const int u = order.add();
      plain.before.emplace_back();
      plain.of.push_back(u);
      for (int k = pick(3); k > 0; --k) {
        const int other = pick(u + 1), group = pick(2) ? u : pick(u + 1);
        ASSERT_EQ(order.waits(other, group),
                  plain.find(other) != plain.find(group) && plain.waits(other, group));
        if (plain.find(other) == plain.find(group) || plain.waits(other, group)) continue;
        order.wait(group, other);
        plain.before[plain.find(group)].insert(plain.find(other));
      }
      const int a = plain.find(pick(u + 1)), b = plain.find(pick(u + 1));
      if (a == b || plain.waits(a, b) || plain.waits(b, a) || pick(3)) continue;
      order.merge(a, b);
      plain.before[a].insert(plain.before[b].begin(), plain.before[b].end());
      plain.of[b] = a;
      ++merged;
    }
    for (int a = 0; a < 40; ++a)
      for (int b = 0; b < 40; ++b)
        if (plain.find(a) != plain.find(b)) {
          ASSERT_EQ(order.waits(a, b), plain.waits(a, b));
        }
    EXPECT_GT(merged + 1, 0u);
  }
}

// A forward and a backward chain whose groups are read from one another, as those of training are.
size_t looked_at(int n) {
  GroupOrder order;
  std::vector<int> forward, backward;
  for (int k = 0; k < n; ++k) {
    forward.push_back(order.add());
    if (k) order.wait(forward[k], forward[k - 1]);
  }
  for (int k = n; k-- > 0;) {
    const int last = backward.empty() ? forward.back() : backward.back();
    EXPECT_TRUE(k == n - 1 || order.waits(last, forward[k]));
    backward.push_back(order.add());
    order.wait(backward.back(), last);
    order.wait(backward.back(), forward[k]);
  }
  for (int k = 0; k < n; ++k) {  // updates, which may join groups that stand far before
    const int update = order.add();
    EXPECT_FALSE(order.waits(forward[k], update));
    order.wait(update, backward[n - 1 - k]);
  }
  return order.looked_at();
}

TEST(GroupOrder, TwiceTheUnitsAreTwiceTheWork) {
  const auto small = static_cast<double>(looked_at(4000)),
             large = static_cast<double>(looked_at(8000));
  EXPECT_LT(large, 2.2 * small);
}

}  // namespace
}  // namespace pijit
