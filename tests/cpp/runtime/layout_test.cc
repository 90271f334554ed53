// Layouts of views against places that are counted one by one.
#include "runtime/layout.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>
#include <vector>

namespace pijit {
namespace {

// The places of all elements, in order.
std::vector<int64_t> places(const Layout& l) {
  std::vector<int64_t> r{l.offset};
  for (int i = 0; i < l.shape.rank(); ++i) {
    std::vector<int64_t> next;
    for (auto p : r)
      for (int64_t k = 0; k < l.shape[i]; ++k) next.push_back(p + k * l.strides[i]);
    r = std::move(next);
  }
  return r;
}

ArrayRef counted(int64_t n) {
  ArrayRef a = new_array({DType::I32, Shape{n}});
  for (int32_t i = 0; i < n; ++i) static_cast<int32_t*>(a->data())[i] = i;
  return a;
}

Layout random_layout(std::mt19937& r, const Layout& from) {
  Layout l = from;
  for (int turn = 0; turn < 3; ++turn) {
    const int rank = l.shape.rank();
    switch (r() % 4) {
      case 0: {
        Dims perm;
        for (int i = 0; i < rank; ++i) perm.push_back(i);
        std::shuffle(perm.begin(), perm.end(), r);
        l = l.transposed(perm);
        break;
      }
      case 1: {
        Dims begin, end, step;
        for (auto n : l.shape) {
          const int64_t b = static_cast<int64_t>(r() % 2), s = 1 + static_cast<int64_t>(r() % 2);
          begin.push_back(n > 1 ? b : 0), end.push_back(n), step.push_back(s);
        }
        l = l.sliced(begin, end, step);
        break;
      }
      case 2: {
        Shape to;
        if (rank < 5 && r() % 2) to.push_back(2);
        for (auto n : l.shape) to.push_back(n == 1 ? Dim(3) : n);
        l = l.broadcast(to);
        break;
      }
      default: {
        Shape to;
        for (auto n : l.shape) {
          if (n == 4 && to.rank() < 5)
            to.push_back(2), to.push_back(2);
          else
            to.push_back(n);
        }
        if (auto made = l.reshaped(to)) l = *made;
      }
    }
  }
  return l;
}

TEST(Layout, ElementsAreTakenFromTheirPlaces) {
  std::mt19937 r(1);
  for (int k = 0; k < 300; ++k) {
    const Layout l = random_layout(r, Layout::contiguous(Shape{3, 4, 2}));
    const ArrayRef a = gathered(counted(24), l);
    const auto want = places(l);
    ASSERT_EQ(static_cast<int64_t>(a->type.shape.numel()), static_cast<int64_t>(want.size()));
    for (size_t i = 0; i < want.size(); ++i)
      ASSERT_EQ(static_cast<int32_t*>(a->data())[i], want[i]);
    if (want.empty()) continue;
    const auto range = *l.range();
    EXPECT_EQ(range.first, *std::min_element(want.begin(), want.end()));
    EXPECT_EQ(range.second, *std::max_element(want.begin(), want.end()));
    EXPECT_EQ(l.repeats(), std::set(want.begin(), want.end()).size() < want.size());
  }
}

TEST(Layout, ElementsAreStoredAtTheirPlaces) {
  std::mt19937 r(2);
  for (int k = 0; k < 300; ++k) {
    const Layout l = random_layout(r, Layout::contiguous(Shape{3, 4, 2}));
    const auto at = places(l);
    ArrayRef value = new_array({DType::I32, l.shape});
    std::vector<int32_t> want(24);
    for (int i = 0; i < 24; ++i) want[i] = i;
    for (size_t i = 0; i < at.size(); ++i)
      static_cast<int32_t*>(value->data())[i] = want[at[i]] = 100 + static_cast<int32_t>(i);
    const ArrayRef kept = counted(24), made = scattered(kept, l, value);
    for (int i = 0; i < 24; ++i) {
      ASSERT_EQ(static_cast<int32_t*>(made->data())[i], want[i]);
      ASSERT_EQ(static_cast<int32_t*>(kept->data())[i], i);
    }
  }
}

TEST(Layout, ReshapesAreViewsWhereStridesSaySo) {
  std::mt19937 r(3);
  for (int k = 0; k < 500; ++k) {
    const Layout l = random_layout(r, Layout::contiguous(Shape{3, 4, 2}));
    const int64_t n = l.shape.numel();
    for (const Shape& to : {Shape{n}, Shape{1, n}, Shape{n, 1}, Shape{2, n / 2}, Shape{n / 2, 2}}) {
      if (n == 0 || to.numel() != n) continue;
      const auto made = l.reshaped(to);
      const auto want = places(l);
      bool even = true;  // in one axis
      for (size_t i = 2; i < want.size(); ++i)
        even = even && want[i] - want[i - 1] == want[1] - want[0];
      if (made) EXPECT_EQ(places(*made), want);
      if (to.rank() == 1) EXPECT_EQ(made.has_value(), even);
    }
  }
}

TEST(Layout, EmptyOnesReachNothing) {
  const Layout none = Layout::contiguous(Shape{0, 3}), some = Layout::contiguous(Shape{3});
  EXPECT_FALSE(none.range());
  EXPECT_FALSE(overlap(none, some));
  EXPECT_TRUE(overlap(some, some));
  EXPECT_FALSE(
      overlap(some.sliced(Dims{0}, Dims{1}, Dims{1}), some.sliced(Dims{2}, Dims{3}, Dims{1})));
}

// What a matrix in blocks of 16 x 8 has, in the order of its rows.
TEST(Layout, FormsTellWhereTheyHaveElements) {
  const int64_t rows = 48, columns = 40;
  const auto l = Layout::in_order({{rows / 16, 16 * columns, 16 * columns},
                                   {16, columns, 1},
                                   {columns / 8, 8, 8 * 16},
                                   {8, 1, 16}});
  ASSERT_TRUE(l);
  std::vector<int32_t> form(rows * columns), plain(rows * columns), found(rows * columns);
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t j = 0; j < columns; ++j) {
      const int64_t at = i / 16 * 16 * columns + j / 8 * 8 * 16 + j % 8 * 16 + i % 16;
      form[at] = plain[i * columns + j] = static_cast<int32_t>(i * 1000 + j);
    }
  gather(form.data(), *l, 4, found.data());
  EXPECT_EQ(found, plain);
  EXPECT_TRUE(has_all(form.data(), *l, 4, plain.data()));
  plain[777] ^= 1;
  EXPECT_FALSE(has_all(form.data(), *l, 4, plain.data()));
  EXPECT_FALSE(Layout::in_order({{rows, columns + 1, 1}, {columns, 1, rows}}));  // with gaps
}

}  // namespace
}  // namespace pijit
