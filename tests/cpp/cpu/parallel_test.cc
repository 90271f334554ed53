// Regions get the threads that they ask for, and each index is worked on once.
#include "cpu/parallel.h"

#include <gtest/gtest.h>
#include <omp.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <ctime>
#include <set>
#include <stdexcept>
#include <thread>
#include <vector>

#include "base/config.h"
#include "cpu/thread_pool.h"
#include "runtime/fp_status.h"

namespace pijit {
namespace {

void expect_whole(int64_t n = 10'000, int64_t grain = 1) {
  std::vector<std::atomic<int>> seen(n);
  parallel_for(n, grain, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) ++seen[static_cast<size_t>(i)];
  });
  for (auto& s : seen) ASSERT_EQ(s, 1);
}

struct Part {
  std::atomic<int> came{0};
  std::vector<std::atomic<int>> seen;
  int members, barriers;
};
// Each member waits for all of the others, so that all must run at the same time.
void together(int members, int barriers) {
  Part part{
      .seen = std::vector<std::atomic<int>>(members), .members = members, .barriers = barriers};
  auto f = [](void* data, int k) {
    auto& p = *static_cast<Part*>(data);
    ++p.seen[static_cast<size_t>(k)];
    EXPECT_EQ(current_member().index, k);
    EXPECT_EQ(current_member().count, p.members);
    for (int turn = 1; turn <= p.barriers; ++turn) {
      ++p.came;
      current_member().team->barrier();
      EXPECT_GE(p.came, turn * p.members);
      current_member().team->barrier();
    }
  };
  Team& team = Team::of_this_thread(members);
  const Member before = current_member();
  team.begin(members, f, &part);
  current_member() = {0, members, &team};
  f(&part, 0);
  team.end();
  current_member() = before;
  for (auto& s : part.seen) EXPECT_EQ(s, 1);
  EXPECT_EQ(part.came, members * barriers);
}

class Threaded : public testing::TestWithParam<int> {
 protected:
  void SetUp() override { set_option("num_threads", std::to_string(GetParam())); }
  void TearDown() override { set_option("num_threads", "0"); }
};
INSTANTIATE_TEST_SUITE_P(Parallel, Threaded, testing::Values(1, 2, 3, 8));

TEST_P(Threaded, EachIndexOnce) {
  for (const int64_t n : {1, 2, 3, 7, 64, 10'000})
    for (const int64_t grain : {0, 1, 3, 100}) expect_whole(n, grain);
}

TEST_P(Threaded, ManyShortRegions) {
  std::atomic<int64_t> sum{0};
  for (int k = 0; k < 20'000; ++k)
    parallel_for(GetParam(), 1, [&](int64_t b, int64_t e) { sum += e - b; });
  EXPECT_EQ(sum, int64_t{20'000} * GetParam());
}

TEST_P(Threaded, AfterThreadsWentToSleep) {
  for (const int us : {0, 50, 190, 200, 210, 400, 2'000})
    for (int k = 0; k < 20; ++k) {
      std::this_thread::sleep_for(std::chrono::microseconds(us));
      expect_whole(100);
    }
}

// Also those whose offers were taken back while they woke.
TEST_P(Threaded, IdleWorkersSleep) {
  for (int k = 0; k < 3'000; ++k) {
    parallel_for(100, 1, [](int64_t, int64_t) {});
    if (k % 10 == 0) std::this_thread::sleep_for(std::chrono::microseconds(150 + k % 17 * 15));
  }
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  const std::clock_t before = std::clock();
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  EXPECT_LT(std::clock() - before, CLOCKS_PER_SEC / 20);
}

TEST_P(Threaded, MembersThatWaitForEachOther) {
  for (int k = 0; k < 200; ++k) together(GetParam(), k % 5);
}

TEST_P(Threaded, BothKindsInTurns) {
  for (int k = 0; k < 500; ++k) {
    expect_whole(40);
    together(GetParam(), 1);
  }
}

TEST_P(Threaded, SeveralCallersAtOnce) {
  for (int round = 0; round < 3; ++round) {  // others take the teams of those that ended
    std::vector<std::thread> callers;
    for (int k = 0; k < 4; ++k)
      callers.emplace_back([] {
        for (int n = 0; n < 200; ++n) {
          expect_whole(50);
          together(GetParam(), 2);
        }
      });
    for (auto& t : callers) t.join();
  }
}

TEST_P(Threaded, AnErrorIsThrownAndAllOtherPartsAreDone) {
  for (int k = 0; k < 50; ++k) {
    std::atomic<int> ran{0};
    EXPECT_THROW(parallel_for(GetParam(), 1,
                              [&](int64_t, int64_t) {
                                ++ran;
                                throw std::runtime_error("of a part");
                              }),
                 std::runtime_error);
    EXPECT_GE(ran, 1);
    expect_whole(100);
  }
}

TEST_P(Threaded, FlagsOfAllThreadsAreSeen) {
  for (int bad = 0; bad < GetParam(); ++bad) {
    FpWatch watch;
    parallel_for(GetParam(), 1, [&](int64_t b, int64_t e) {
      for (int64_t i = b; i < e; ++i) {
        volatile double zero = 0.0;
        if (i == bad) [[maybe_unused]]
          volatile double r = 1.0 / zero;
      }
    });
    EXPECT_TRUE(watch.raised() & kFpDivide);
  }
  FpWatch watch;
  parallel_for(GetParam(), 1, [](int64_t, int64_t) {});
  EXPECT_FALSE(watch.raised() & kFpDivide);
}

TEST_P(Threaded, WithinOneOfOurs) {
  std::atomic<int> inner{0};
  parallel_for(GetParam(), 1, [&](int64_t, int64_t) {
    if (GetParam() > 1 && !Team::crowded()) EXPECT_EQ(max_threads(), 1);
    parallel_for(8, 1, [&](int64_t b, int64_t e) { inner += static_cast<int>(e - b); });
  });
  EXPECT_EQ(inner % 8, 0);
}

TEST_P(Threaded, AChildHasOneThread) {
  expect_whole();
  const pid_t child = fork();
  if (child == 0) {
    std::atomic<int> n{0};
    parallel_for(100, 1, [&](int64_t b, int64_t e) { n += static_cast<int>(e - b); });
    _exit(max_threads() == 1 && n == 100 ? 0 : 1);
  }
  int status = -1;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  expect_whole();
}

TEST(Parallel, WithinARegionOfOneThreadWithinAnother) {
  Team& team = Team::of_this_thread(2);
  auto f = [](void*, int) {
    const Member before = current_member();
    current_member() = {.within = current_member().active()};
    EXPECT_EQ(max_threads(), 1);
    expect_whole(100);
    current_member() = before;
  };
  team.share(2, f, nullptr);
}

TEST(Parallel, AsManyAsOpenMpHas) {
  EXPECT_EQ(max_threads(), std::min(omp_get_max_threads(), omp_get_thread_limit()));
  const int before = omp_get_max_threads();
  omp_set_num_threads(before + 2);
  EXPECT_EQ(max_threads(), std::min(before + 2, omp_get_thread_limit()));
  omp_set_num_threads(before);
}

TEST(Parallel, WhereNoRegionIsActive) {
  const int before = omp_get_max_active_levels();
  omp_set_max_active_levels(0);
  EXPECT_EQ(max_threads(), 1);
  expect_whole();
  omp_set_max_active_levels(before);
}

TEST(Parallel, WithinARegionOfOpenMp) {
  const int before = omp_get_max_active_levels();
  for (const int levels : {1, 2, 3})
    for (const int threads : {2, 3}) {
      omp_set_max_active_levels(levels);
#pragma omp parallel num_threads(threads)
      {
        EXPECT_EQ(max_threads(), 1);
        expect_whole();
      }
    }
  omp_set_max_active_levels(before);
}

TEST(Parallel, ScopesSayHowManyThreadsOthersGet) {
  const int outside = Threads::current();
  {
    const Threads scope(outside + 3);
    EXPECT_EQ(Threads::current(), outside + 3);
    {
      const Threads inner(1);
      EXPECT_EQ(Threads::current(), 1);
    }
    EXPECT_EQ(Threads::current(), outside + 3);
  }
  EXPECT_EQ(Threads::current(), outside);
}

}  // namespace
}  // namespace pijit
