#include "runtime/record.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <mutex>

#include "runtime/array.h"

namespace pijit {

std::atomic<int> recordings{0};
MetadataRef (*caller_metadata)() = nullptr;

namespace {

constexpr size_t kMaxEvents = size_t{1} << 22;  // of all threads

struct Thread {
  std::mutex mu;  // taken by others only where a recording ends
  std::vector<TraceEvent> events;
  int64_t number = syscall(SYS_gettid);
};
struct Log {
  std::mutex mu;
  std::vector<std::shared_ptr<Thread>> threads;
  std::atomic<size_t> size{0}, peak{0};
  std::atomic<uint64_t> dropped{0}, allocations{0}, allocated_bytes{0};
};
Log& log() {
  static auto* l = new Log;  // threads may outlive static destruction
  return *l;
}
Thread& this_thread() {
  static thread_local const std::shared_ptr<Thread> t = [] {
    auto t = std::make_shared<Thread>();
    std::lock_guard lock(log().mu);
    log().threads.push_back(t);
    return t;
  }();
  return *t;
}

}  // namespace

namespace {
std::atomic<int64_t> set_time{kRealTime};
}  // namespace

void set_clock(int64_t ns) { set_time.store(ns, std::memory_order_relaxed); }
int64_t clock_ns() {
  if (const int64_t set = set_time.load(std::memory_order_relaxed); set != kRealTime) return set;
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

int64_t record_event(TraceEvent::Kind kind, int64_t begin, MetadataRef metadata) {
  const int64_t end = clock_ns();
  Log& l = log();
  if (!recording()) return end;
  if (l.size.load(std::memory_order_relaxed) >= kMaxEvents) {
    ++l.dropped;
    return end;
  }
  l.size.fetch_add(1, std::memory_order_relaxed);
  Thread& t = this_thread();
  std::lock_guard lock(t.mu);
  t.events.push_back({kind, begin, end, std::move(metadata), allocated_bytes()});
  return end;
}

void record_allocation(size_t bytes, size_t used) {
  Log& l = log();
  l.allocations.fetch_add(1, std::memory_order_relaxed);
  l.allocated_bytes.fetch_add(bytes, std::memory_order_relaxed);
  size_t peak = l.peak.load(std::memory_order_relaxed);
  while (peak < used && !l.peak.compare_exchange_weak(peak, used)) {
  }
}

Recording start_recording() {
  Log& l = log();
  Recording r{0, l.allocations, l.allocated_bytes, l.peak};
  l.peak = allocated_bytes();
  ++recordings;
  r.begin = clock_ns();
  return r;
}

Recorded stop_recording(const Recording& r) {
  Log& l = log();
  Recorded out;
  out.allocations = l.allocations - r.allocations;
  out.allocated_bytes = l.allocated_bytes - r.allocated_bytes;
  out.peak_bytes = l.peak;
  out.dropped = l.dropped;
  l.peak = std::max<size_t>(l.peak, r.outer_peak);
  const bool last = --recordings == 0;
  std::lock_guard lock(l.mu);
  for (auto& t : l.threads) {
    std::lock_guard events(t->mu);
    for (auto& e : t->events)
      if (e.begin >= r.begin) out.events.emplace_back(t->number, e);
    if (last) std::vector<TraceEvent>().swap(t->events);
  }
  if (last) {
    l.size = 0, l.dropped = 0, l.peak = 0;
    std::erase_if(l.threads, [](auto& t) { return t.use_count() == 1; });  // they have ended
  }
  std::stable_sort(out.events.begin(), out.events.end(), [](auto& a, auto& b) {
    return a.second.begin != b.second.begin ? a.second.begin < b.second.begin
                                            : a.second.end > b.second.end;
  });
  return out;
}

}  // namespace pijit
