#include "cpu/parallel.h"

#include <omp.h>
#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <exception>
#include <fstream>
#include <mutex>

#include "base/config.h"
#include "cpu/thread_pool.h"
#include "runtime/fp_status.h"

namespace pijit {

bool in_forked_child() {
  // Threads die in a forked child.
  static std::atomic<bool> forked{false};
  static const int registered = pthread_atfork(nullptr, nullptr, [] { forked = true; });
  (void)registered;
  return forked;
}

int max_threads() {
  if (in_forked_child()) return 1;
  // Regions within another's have one thread: how many there would be depends on the others.
  if (current_member().active() ||
      omp_get_active_level() >= std::min(1, omp_get_max_active_levels()))
    return 1;
  const int n = config().num_threads > 0 ? config().num_threads : omp_get_max_threads();
  return std::min({n, omp_get_thread_limit(), Team::most()});
}

Threads::Threads(int n) : before_(current_) { current_ = n; }

int64_t cache_bytes() {
  static const int64_t machine = [] {
    // sysconf adds up the caches of a whole package.
    int64_t kib = 0;
    std::ifstream("/sys/devices/system/cpu/cpu0/cache/index3/size") >> kib;
    return (kib > 0 ? kib : 32768) << 10;
  }();
  return config().cache_bytes > 0 ? config().cache_bytes : machine;
}

void parallel_for(int64_t n, int64_t grain, const std::function<void(int64_t, int64_t)>& f) {
  const int64_t shares = grain > 0 ? n / grain : n;
  if (shares <= 1) return f(0, n);
  int threads = static_cast<int>(std::min<int64_t>(max_threads(), shares));
  if (threads <= 1 || Team::crowded()) return f(0, n);
  threads = Team::ready(threads);
  if (threads == 1) return f(0, n);
  struct Work {
    const std::function<void(int64_t, int64_t)>& f;
    int64_t n, threads;
    FpWatch* watch = FpWatch::current();
    std::exception_ptr error = nullptr;
    std::mutex mu{};
    void run(int64_t k) {
      // Flags of the thread that watches are seen by itself.
      const bool watched = watch && watch != FpWatch::current();
      if (watched) clear_fp_flags();
      try {
        f(n * k / threads, n * (k + 1) / threads);
      } catch (...) {  // none may leave a thread
        std::lock_guard lock(mu);
        error = std::current_exception();
      }
      if (watched) watch->add(fp_flags());
    }
  } work{f, n, threads};
  Team::of_this_thread(threads).share(
      threads, [](void* data, int k) { static_cast<Work*>(data)->run(k); }, &work);
  if (work.error) std::rethrow_exception(work.error);
}

}  // namespace pijit
