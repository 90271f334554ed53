// Threads that work beside the one that asks, for our kernels and for oneDNN's.
#pragma once
#include <atomic>
#include <climits>
#include <cstdint>
#include <memory>
#include <vector>

#include "cpu/oversubscription.h"

namespace pijit {

// A thread's place in the region that it works in.
struct Member {
  int index = 0, count = 1;
  class Team* team = nullptr;  // of a region with more than one
  bool within = false;         // is the region of one within another
  bool active() const { return count > 1 || within; }
};
Member& current_member();

// One calling thread and those that work for it, which stay awake for a while after each region.
class Team {
 public:
  using Function = void (*)(void* data, int member);
  // The calling thread's, with as many others as regions of `members` need. Throws where the
  // system gives no more threads.
  static Team& of_this_thread(int members);
  // How many members, of so many, regions of the calling thread may have.
  static int ready(int members);
  // Whether regions should have one member, as others take the cores.
  static bool crowded();

  // f(data, k) for each k < members, on any threads: those that do not come in time are not waited
  // for. The caller calls f(data, 0).
  void share(int members, Function f, void* data);
  // f(data, k) for each k < members, at the same time: they may wait for each other. The caller,
  // who is member 0, does its part between the two.
  void begin(int members, Function f, void* data);
  void end();
  // Of all members of the region that began.
  void barrier();

  // Regions of more members than these were refused by the system.
  static int most();
  int size() const { return static_cast<int>(workers_.size()) + 1; }

  Team() = default;
  Team(const Team&) = delete;

 private:
  // What a worker is doing; a futex. An offer can be taken back; who waits for the end of one, or
  // of the work, sleeps while it is awaited.
  enum State : uint32_t { kIdle, kAsleep, kWaking, kOffered, kOfferAwaited, kRunning, kAwaited };
  struct alignas(128) Worker {
    std::atomic<uint32_t> state{kIdle};
    Team* team;
    int index;
    bool sleeps = false;  // when it was offered the last region, which wakes it
  };
  struct Region {
    Function f;
    void* data;
    int members;
  };
  struct Keeper;  // hands it on when its thread ends

  void grow(int members);
  void offer(int members, Function f, void* data);
  void work(Worker& w);
  bool take(Worker& w);
  void wait_for_offer(Worker& w);
  bool on_callers_core() const;
  void wake_next(int member, int members);
  void wait_for(Worker& w, int64_t patience);

  static inline std::atomic<int> most_{INT_MAX};
  std::vector<std::unique_ptr<Worker>> workers_;
  Region region_{};
  int64_t began_ = 0;
  std::atomic<int> core_{-1};  // of the caller, when it offered the last region
  std::atomic<uint32_t> arrived_{0}, generation_{0};
};

}  // namespace pijit
