#include "cpu/thread_pool.h"

#include <immintrin.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <ctime>
#include <mutex>

#include "base/blocked_signals.h"
#include "base/error.h"
#include "cpu/parallel.h"

namespace pijit {
namespace {

int64_t now() {
  timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return int64_t{t.tv_sec} * 1'000'000'000 + t.tv_nsec;
}

// How long a thread looks for work before it sleeps: between the kernels of a program, and between
// ops that Python calls, no thread has to be woken, which takes longer than a short kernel.
constexpr int64_t kAwake = 200'000;
// How long a thread that is awake may need to begin.
constexpr int64_t kStart = 10'000;
// How long a member may need longer than the caller before the caller sleeps, and leaves it its
// core.
constexpr int64_t kPatience = 20'000;
// A thread that looks at the clock again and again finds it this much later only if another had
// its core.
constexpr int64_t kAbsence = 300'000;

Oversubscription oversubscription(now);

void sleep_while(std::atomic<uint32_t>& word, uint32_t value) {
  syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, value, nullptr, nullptr, 0);
}
void wake(std::atomic<uint32_t>& word, int threads) {
  syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, threads, nullptr, nullptr, 0);
}

// That this process may use, whatever this thread may.
int cores() {
  static const int n = [] {
    cpu_set_t set;
    return sched_getaffinity(getpid(), sizeof set, &set) == 0 ? CPU_COUNT(&set) : INT_MAX;
  }();
  return n;
}

// Turns of a loop that waits: false when it has waited for `patience`, or was without a core.
class Spin {
 public:
  explicit Spin(int64_t patience) : end_(patience) {}
  bool turn() {
    _mm_pause();
    if (++turns_ % 8 != 0) return true;
    const int64_t t = now();
    if (last_ == 0) {
      end_ += t;
    } else if (t - last_ > kAbsence) {
      oversubscription.waited();
      return false;
    }
    last_ = t;
    return t < end_;
  }

 private:
  int64_t end_, last_ = 0;
  unsigned turns_ = 0;
};

}  // namespace

Member& current_member() {
  [[gnu::tls_model("initial-exec")]] static constinit thread_local Member member;
  return member;
}

bool Team::crowded() { return !oversubscription.is_over(); }

// Teams outlive the threads that they worked for, and work for others.
struct Team::Keeper {
  static std::mutex& mutex() {
    static std::mutex& m = *new std::mutex;
    return m;
  }
  static std::vector<Team*>& idle() {
    static std::vector<Team*>& teams = *new std::vector<Team*>;
    return teams;
  }
  Team* get() {
    if (team) return team;
    std::lock_guard lock(mutex());
    if (idle().empty()) return team = new Team;
    team = idle().back();
    idle().pop_back();
    return team;
  }
  ~Keeper() {
    if (!team || in_forked_child()) return;
    std::lock_guard lock(mutex());
    idle().push_back(team);
  }
  Team* team = nullptr;
};

Team& Team::of_this_thread(int members) {
  static thread_local Keeper keeper;
  Team* team = keeper.get();
  if (team->size() < members) team->grow(members);
  PIJIT_CHECK(team->size() >= members, "the system starts no further thread: ", team->size(),
              " of ", members, " run; OMP_NUM_THREADS sets how many are asked for");
  return *team;
}
int Team::ready(int members) {
  Team& team = of_this_thread(1);
  if (team.size() < members) team.grow(members);
  return std::min(members, team.size());
}

int Team::most() { return most_.load(std::memory_order_relaxed); }

void Team::grow(int members) {
  if (in_forked_child()) return;
  members = std::min(members, std::max(size(), most()));
  const BlockedSignals blocked;
  while (size() < members) {
    auto w = std::make_unique<Worker>();
    w->team = this;
    w->index = size();
    pthread_t thread;
    const int failed = pthread_create(
        &thread, nullptr,
        [](void* worker) -> void* {
          auto* w = static_cast<Worker*>(worker);
          w->team->work(*w);
          return nullptr;
        },
        w.get());
    if (failed) {
      most_.store(size(), std::memory_order_relaxed);
      break;
    }
    pthread_setname_np(thread, "pijit");
    pthread_detach(thread);
    workers_.push_back(std::move(w));
  }
}

bool Team::take(Worker& w) {
  uint32_t state = w.state.load(std::memory_order_acquire);
  return (state == kOffered || state == kOfferAwaited) &&
         w.state.compare_exchange_strong(state, state == kOffered ? kRunning : kAwaited,
                                         std::memory_order_acq_rel);
}

// A thread that was woken where its caller runs took the core from it: looking for work there, it
// would keep the caller from offering any.
bool Team::on_callers_core() const {
  return sched_getcpu() == core_.load(std::memory_order_relaxed);
}

// Returns with an offer that is this worker's.
void Team::wait_for_offer(Worker& w) {
  for (;;) {
    // Where others want the cores, a thread that looks for work is one more of them.
    Spin spin(crowded() ? 0 : kAwake);
    do {
      if (take(w)) return;
      if (on_callers_core()) {
        // With more threads than cores some always are there.
        if (size() <= cores()) oversubscription.waited();
        break;
      }
    } while (spin.turn());
    // An offer that was taken back leaves a worker as waking that may be awake.
    uint32_t state = w.state.load(std::memory_order_relaxed);
    if ((state != kIdle && state != kWaking) ||
        !w.state.compare_exchange_strong(state, kAsleep, std::memory_order_acq_rel))
      continue;
    while (w.state.load(std::memory_order_acquire) == kAsleep) sleep_while(w.state, kAsleep);
    state = kWaking;
    w.state.compare_exchange_strong(state, kIdle, std::memory_order_acq_rel);
  }
}

void Team::work(Worker& w) {
  for (;;) {
    wait_for_offer(w);
    // The caller does not change it before this worker is idle again.
    const Region r = region_;
    wake_next(w.index, r.members);
    current_member() = {w.index, r.members, this};
    r.f(r.data, w.index);
    if (w.state.exchange(kIdle, std::memory_order_acq_rel) == kAwaited) wake(w.state, 1);
  }
}

// To wake many takes longer than a short region: each member wakes two. With the worker, the caller
// may sleep that waits for it.
void Team::wake_next(int member, int members) {
  for (int k = 2 * member + 1; k <= 2 * member + 2 && k < members; ++k)
    if (workers_[k - 1]->sleeps) wake(workers_[k - 1]->state, 2);
}

void Team::offer(int members, Function f, void* data) {
  region_ = {f, data, members};
  core_.store(sched_getcpu(), std::memory_order_relaxed);
  for (int k = members - 1; k > 0; --k) {  // before those that wake them
    Worker& w = *workers_[k - 1];
    // Before its offer, as whoever takes one looks at later ones.
    w.sleeps = w.state.load(std::memory_order_relaxed) != kIdle;
    if (w.state.exchange(kOffered, std::memory_order_acq_rel) != kIdle) w.sleeps = true;
  }
  wake_next(0, members);
}

void Team::wait_for(Worker& w, int64_t patience) {
  Spin spin(patience);
  do {
    if (w.state.load(std::memory_order_acquire) <= kWaking) return;
  } while (spin.turn());
  for (;;) {
    uint32_t state = w.state.load(std::memory_order_acquire);
    if (state <= kWaking) return;
    if (state == kOffered || state == kRunning) {
      const uint32_t awaited = state == kOffered ? kOfferAwaited : kAwaited;
      if (!w.state.compare_exchange_strong(state, awaited, std::memory_order_acq_rel)) continue;
      state = awaited;
    }
    sleep_while(w.state, state);
  }
}

void Team::share(int members, Function f, void* data) {
  const Member before = current_member();
  offer(members, f, data);
  current_member() = {0, members, this};
  const int64_t began = now();
  f(data, 0);
  const bool late = now() - began > kStart;
  // What no one has begun is done here.
  for (int k = members - 1; k > 0; --k) {
    Worker& w = *workers_[k - 1];
    uint32_t state = kOffered;
    if (!w.state.compare_exchange_strong(state, w.sleeps ? kWaking : kIdle,
                                         std::memory_order_acq_rel))
      continue;
    if (late && !w.sleeps) oversubscription.waited();
    current_member().index = k;
    f(data, k);
  }
  const int64_t patience = kPatience + (now() - began);
  for (int k = 1; k < members; ++k) wait_for(*workers_[k - 1], patience);
  current_member() = before;
}

void Team::begin(int members, Function f, void* data) {
  arrived_.store(0, std::memory_order_relaxed);
  began_ = now();
  offer(members, f, data);
}
void Team::end() {
  const int members = region_.members;
  const int64_t own = now() - began_;
  for (int k = 1; k < members; ++k) {
    const Worker& w = *workers_[k - 1];
    if (own > kStart && !w.sleeps && w.state.load(std::memory_order_relaxed) == kOffered)
      oversubscription.waited();
  }
  for (int k = 1; k < members; ++k) wait_for(*workers_[k - 1], crowded() ? 0 : kPatience + own);
}

void Team::barrier() {
  const uint32_t generation = generation_.load(std::memory_order_acquire);
  if (arrived_.fetch_add(1, std::memory_order_acq_rel) + 1 ==
      static_cast<uint32_t>(region_.members)) {
    arrived_.store(0, std::memory_order_relaxed);
    generation_.fetch_add(1, std::memory_order_acq_rel);
    wake(generation_, region_.members);
    return;
  }
  Spin spin(kPatience);
  do {
    if (generation_.load(std::memory_order_acquire) != generation) return;
  } while (spin.turn());
  while (generation_.load(std::memory_order_acquire) == generation)
    sleep_while(generation_, generation);
}

}  // namespace pijit
