#include "base/operators.h"

#include <gtest/gtest.h>

namespace pijit {
namespace {

TEST(Operators, NamesLeadBack) {
  for (int k = 0; k <= static_cast<int>(BinaryOp::kXor); ++k) {
    const auto op = static_cast<BinaryOp>(k);
    const BinaryFacts& f = facts(op);
    EXPECT_EQ(binary_function(f.function), op);
    EXPECT_EQ(in_place_function(std::string("i") + f.name), op);
    EXPECT_EQ(binary_method(f.method), op);
    EXPECT_FALSE(binary_method(f.reflected).has_value());
  }
  EXPECT_STREQ(facts(BinaryOp::kOr).function, "or_");
  EXPECT_STREQ(facts(BinaryOp::kFloorDiv).reflected, "__rfloordiv__");
  EXPECT_EQ(unary_function("inv"), UnaryOp::kInvert);
  EXPECT_EQ(unary_function("not_"), UnaryOp::kNot);
  EXPECT_FALSE(binary_function("iadd").has_value());
  EXPECT_FALSE(in_place_function("").has_value());
}

TEST(Operators, RelationsMirroredAndNegated) {
  for (int k = 0; k <= static_cast<int>(CompareOp::kGe); ++k) {
    const auto op = static_cast<CompareOp>(k);
    const CompareFacts& f = facts(op);
    EXPECT_EQ(compare_function(f.name), op);
    EXPECT_EQ(compare_method(f.method), op);
    EXPECT_EQ(facts(f.mirrored).mirrored, op);
    EXPECT_EQ(facts(f.negated).negated, op);
    for (int a = 0; a < 2; ++a)
      for (int b = 0; b < 2; ++b) {
        auto holds = [](CompareOp r, int x, int y) {
          const bool all[] = {x<y, x <= y, x == y, x != y, x> y, x >= y};
          return all[static_cast<int>(r)];
        };
        EXPECT_EQ(holds(op, a, b), holds(f.mirrored, b, a));
        EXPECT_EQ(holds(op, a, b), !holds(f.negated, a, b));
      }
  }
}

}  // namespace
}  // namespace pijit
