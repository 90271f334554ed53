#include "base/nearest.h"

#include <gtest/gtest.h>

namespace pijit {
namespace {

TEST(Nearest, NamesThatWereMeant) {
  const std::vector<std::string_view> known{"axis", "keep_dims", "dtype", "x"};
  EXPECT_EQ(did_you_mean("axs", known), " Did you mean 'axis'?");
  EXPECT_EQ(did_you_mean("axsi", known), " Did you mean 'axis'?");
  EXPECT_EQ(did_you_mean("keepdims", known), " Did you mean 'keep_dims'?");
  EXPECT_EQ(did_you_mean("keep_dim", known), " Did you mean 'keep_dims'?");
  EXPECT_EQ(did_you_mean("dtyp", known), " Did you mean 'dtype'?");
  EXPECT_EQ(did_you_mean("y", known), " Did you mean 'x'?");
}

TEST(Nearest, NothingIsNear) {
  const std::vector<std::string_view> known{"axis", "dtype", ""};
  for (std::string_view name : {"", "inplace", "zz", "a"}) EXPECT_EQ(did_you_mean(name, known), "");
  EXPECT_EQ(did_you_mean(std::string(100000, 'a'), known), "");
  EXPECT_EQ(did_you_mean("axs", {}), "");
}

TEST(Nearest, AsPythonSaysIt) {
  EXPECT_EQ(unexpected_keyword("f", "axs", {"axis"}),
            "f() got an unexpected keyword argument 'axs'. Did you mean 'axis'?");
  EXPECT_EQ(unexpected_keyword("f", "inplace", {"axis"}),
            "f() got an unexpected keyword argument 'inplace'");
}

}  // namespace
}  // namespace pijit
