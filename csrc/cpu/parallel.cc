#include "cpu/parallel.h"

#include <omp.h>
#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <ctime>
#include <exception>
#include <fstream>

#include "base/config.h"
#include "cpu/oversubscription.h"
#include "runtime/fp_status.h"

namespace pijit {

int max_threads() {
  // The OpenMP runtime's threads die in a forked child, and it would wait for them for ever.
  static bool forked = false;
  static const int registered = pthread_atfork(nullptr, nullptr, [] { forked = true; });
  (void)registered;
  if (forked) return 1;
  // Regions within another's have one thread: how many there would be depends on the others.
  if (omp_get_active_level() >= std::min(1, omp_get_max_active_levels())) return 1;
  const int n = config().num_threads > 0 ? config().num_threads : omp_get_max_threads();
  return std::min(n, omp_get_thread_limit());
}

Threads::Threads(int n) : saved_(omp_get_max_threads()), dynamic_(omp_get_dynamic()) {
  if (n != saved_) omp_set_num_threads(n);
  if (dynamic_) omp_set_dynamic(0);
}
Threads::~Threads() {
  if (omp_get_max_threads() != saved_) omp_set_num_threads(saved_);
  if (dynamic_) omp_set_dynamic(1);
}

int64_t cache_bytes() {
  static const int64_t machine = [] {
    // sysconf adds up the caches of a whole package.
    int64_t kib = 0;
    std::ifstream("/sys/devices/system/cpu/cpu0/cache/index3/size") >> kib;
    return (kib > 0 ? kib : 32768) << 10;
  }();
  return config().cache_bytes > 0 ? config().cache_bytes : machine;
}

namespace {

int64_t nanoseconds(clockid_t clock) {
  timespec t;
  clock_gettime(clock, &t);
  return int64_t{t.tv_sec} * 1'000'000'000 + t.tv_nsec;
}

int64_t now() { return nanoseconds(CLOCK_MONOTONIC); }

}  // namespace

void parallel_for(int64_t n, int64_t grain, const std::function<void(int64_t, int64_t)>& f) {
  static Oversubscription oversubscription(now);
  const int64_t shares = grain > 0 ? n / grain : n;
  if (shares <= 1) return f(0, n);
  const int threads = static_cast<int>(std::min<int64_t>(max_threads(), shares));
  if (threads <= 1 || !oversubscription.is_over()) return f(0, n);
  std::exception_ptr error;  // none may leave the region
  // Its store and loads order the region, too, for the thread sanitizer, which sees none of
  // libgomp.
  std::atomic<int64_t> work;
  work.store(0, std::memory_order_release);
  const int64_t began = now();
  FpWatch* const watch = FpWatch::current();
#pragma omp parallel num_threads(threads)
  {
    static_cast<void>(work.load(std::memory_order_acquire));
    const int64_t own = nanoseconds(CLOCK_THREAD_CPUTIME_ID);
    const int64_t t = omp_get_thread_num(), k = omp_get_num_threads();
    const int64_t b = n * t / k, e = n * (t + 1) / k;
    const bool watched = watch && t > 0;  // the first is the thread that watches
    if (watched) clear_fp_flags();
    try {
      if (b < e) f(b, e);
    } catch (...) {
#pragma omp critical(pijit_parallel_for)
      error = std::current_exception();
    }
    if (watched) watch->add(fp_flags());
    work += nanoseconds(CLOCK_THREAD_CPUTIME_ID) - own;
  }
  oversubscription.ran(now() - began, work);
  if (error) std::rethrow_exception(error);
}

}  // namespace pijit
