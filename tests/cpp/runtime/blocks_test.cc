// Which blocks of memory are kept for the next ones, and which go back to the system.
#include <gtest/gtest.h>
#include <sys/mman.h>

#include "runtime/array.h"
#include "runtime/guard.h"

namespace pijit {
namespace {

constexpr size_t kMuch = size_t{5} << 28;  // more than is kept without cause

bool is_mapped(void* block) {
  unsigned char resident;
  return mincore(block, 4096, &resident) == 0;
}
// Takes a block and releases it; where it was.
void* used_once(size_t bytes) {
  void* const block = allocate(bytes);
  release(block, bytes);
  return block;
}
// As much as makes what no one takes go back: twice, as the first time may have begun before.
void take_much(size_t bytes) {
  for (size_t k = 0; k < 2 * 8 * 4 * kMuch / bytes; ++k) used_once(bytes);
}

class Blocks : public ::testing::Test {
 protected:
  void SetUp() override {
    if (guarded()) GTEST_SKIP() << "each block is mapped by itself";
    take_much(64 << 20);
  }
  void TearDown() override {
    if (!guarded()) take_much(64 << 20);
  }
};

TEST_F(Blocks, OneThatIsNotMissedGoesBack) { EXPECT_FALSE(is_mapped(used_once(kMuch))); }

TEST_F(Blocks, OneThatIsMissedIsKeptUntilNoOneTakesIt) {
  used_once(kMuch);
  void* const block = used_once(kMuch);
  EXPECT_TRUE(is_mapped(block));
  for (int k = 0; k < 100; ++k) EXPECT_EQ(used_once(kMuch), block);
  take_much(64 << 20);
  EXPECT_FALSE(is_mapped(block));
}

TEST_F(Blocks, NotMuchMoreIsKeptThanWasInUse) {
  const size_t other = kMuch / 4 * 5;  // of another size
  void *a = nullptr, *b = nullptr;
  for (int k = 0; k < 4; ++k) a = used_once(kMuch), b = used_once(other);
  EXPECT_FALSE(is_mapped(a) && is_mapped(b));
  for (int k = 0; k < 4; ++k) {
    void *const c = allocate(kMuch), *const d = allocate(other);
    release(c, kMuch), release(d, other);
    a = c, b = d;
  }
  EXPECT_TRUE(is_mapped(a) && is_mapped(b));
}

// Blocks of ever other sizes, each of which is missed, while more than may be kept is: others go
// back.
TEST_F(Blocks, MissesDoNotPutOffWhatGoesBack) {
  used_once(kMuch);
  void* const block = used_once(kMuch);
  const size_t sizes[] = {kMuch / 8 * 9, kMuch / 4 * 5, kMuch / 2 * 3, kMuch / 4 * 7};
  bool kept = true;
  for (int k = 0; k < 200; ++k) {
    for (const size_t n : sizes) used_once(n);
    kept = kept && is_mapped(block);
  }
  EXPECT_FALSE(kept);
}

}  // namespace
}  // namespace pijit
