#include "runtime/array.h"

#include <malloc.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <mutex>
#include <new>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "runtime/device.h"
#include "runtime/guard.h"
#include "runtime/packed.h"
#include "runtime/record.h"

namespace pijit {
namespace {

// Size classes: multiples of 64 up to 1 KiB, then four steps per power of two. Freshly mapped pages
// are several times slower than recycled ones, so blocks go back to a free list.
constexpr size_t kMaxCached = size_t{1} << 30;  // more only where it is taken again and again

size_t class_of(size_t bytes, size_t* rounded) {
  if (bytes <= 1024) {
    const size_t k = bytes == 0 ? 0 : (bytes - 1) / 64;
    *rounded = (k + 1) * 64;
    return k;
  }
  const int log = 63 - __builtin_clzll(bytes - 1);  // 2^log <= bytes-1
  const size_t step = size_t{1} << (log - 2);
  const size_t k = (bytes - 1 - (size_t{1} << log)) / step;
  *rounded = (size_t{1} << log) + (k + 1) * step;
  return 16 + (log - 10) * 4 + k;
}

// Large blocks ask for large pages, whose first writes are fewer and whose addresses are found
// faster later. A virtual machine may have to get such a page from its host, at each of them, which
// takes ten times longer than 512 small pages: then blocks begin with small ones, which are
// exchanged once they have been used so often that it pays.
constexpr size_t kLargePage = size_t{2} << 20;
class LargePages {
 public:
  // For a block that no one has written to.
  void ask_for(void* block, size_t size) {
    if (skip_.load(std::memory_order_relaxed) > 0) {
      skip_.fetch_sub(static_cast<int64_t>(size), std::memory_order_relaxed);
      return;
    }
    const size_t pages = size / kLargePage, samples = std::min<size_t>(1 + pages / 4, 8);
    for (size_t k = 0; k < samples; ++k) {
      char* page = static_cast<char*>(block) + pages * k / samples * kLargePage;
      // Where the system refuses, pages are small.
      if (madvise(page, kLargePage, MADV_HUGEPAGE) != 0) return;
      const int64_t begin = now();
      *static_cast<volatile char*>(page) = 0;
      if (now() - begin > kSlow) return skip_.store(kSkipped, std::memory_order_relaxed);
    }
    madvise(block, size, MADV_HUGEPAGE);
  }
  // For one that is released: small pages of one that is used again and again are exchanged, some
  // at a time.
  void exchange_some_of(void* block, size_t size) {
    if (skip_.load(std::memory_order_relaxed) == 0) return;  // it never was slow
    size_t begin;
    {
      const std::lock_guard lock(mu_);
      const size_t uses = ++uses_[block];
      if (uses <= kUses || (begin = (uses - kUses - 1) * kPiece) >= size) return;
    }
    constexpr int kCollapse = 25;  // MADV_COLLAPSE, which older headers and kernels have not
    madvise(static_cast<char*>(block) + begin, std::min(kPiece, size - begin), kCollapse);
  }
  void forget(void* block) {
    const std::lock_guard lock(mu_);
    uses_.erase(block);
  }

 private:
  static int64_t now() {
    timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return int64_t{t.tv_sec} * 1'000'000'000 + t.tv_nsec;
  }
  static constexpr int64_t kSlow = 1'000'000;              // as long as for small ones
  static constexpr int64_t kSkipped = int64_t{256} << 20;  // bytes until the next look
  static constexpr size_t kUses = 128, kPiece = 2 * kLargePage;
  std::atomic<int64_t> skip_{0};
  std::mutex mu_;
  absl::flat_hash_map<void*, size_t> uses_;
};
LargePages& large_pages() {
  static LargePages* p = new LargePages;
  return *p;
}

// Blocks from here on are mapped one by one: on the C library's heap they would lie between what
// others, NumPy above all, take and free while weights are made, and none of that could go back to
// the system.
constexpr size_t kMapped = size_t{1} << 20;

// What NumPy has freed stays on the C library's heap, up to some 60 MB: now and then, while ever
// more memory is asked for, that goes back as well.
void trim_heap_for(size_t size) {
#ifdef __GLIBC__
  static std::atomic<size_t> all{0}, next{size_t{4} << 20};
  const size_t now = all.fetch_add(size, std::memory_order_relaxed) + size;
  size_t limit = next.load(std::memory_order_relaxed);
  if (now < limit) return;
  if (next.compare_exchange_strong(limit, now + std::max<size_t>(now / 16, size_t{4} << 20)))
    malloc_trim(0);
#endif
}

void* map_block(size_t size) {
  trim_heap_for(size);
  const size_t more = size >= kLargePage ? kLargePage : 0;  // for the address of a large page
  void* const all =
      mmap(nullptr, size + more, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (all == MAP_FAILED) return nullptr;
  if (!more) return all;
  char* const begin = static_cast<char*>(all);
  const size_t before = -reinterpret_cast<uintptr_t>(begin) % kLargePage;
  if (before) munmap(begin, before);
  if (before < more) munmap(begin + before + size, more - before);
  large_pages().ask_for(begin + before, size);
  return begin + before;
}

// From the system, and back.
void* fresh_block(size_t size) {
  if (size >= kMapped) return map_block(size);
  void* r = nullptr;
  return posix_memalign(&r, 64, size) ? nullptr : r;
}
void free_block(void* p, size_t size) {
  if (size < kMapped) return std::free(p);
  if (size >= kLargePage) large_pages().forget(p);
  munmap(p, size);
}

// Small blocks that a thread released are taken by it again without a lock.
constexpr size_t kLocalClasses = 40;  // up to 64 KiB
struct Local {
  struct Bin {
    uint32_t count = 0;
    void* blocks[16];
  };
  static uint32_t room(size_t c) { return c < 16 ? 16 : 4; }
  Bin bins[kLocalClasses];
  // Bytes that this thread took less those that it released; it alone writes it.
  std::atomic<int64_t> used{0};
};

size_t size_of_class(size_t c) {
  if (c < 16) return (c + 1) * 64;
  const size_t log = 10 + (c - 16) / 4;
  return (size_t{1} << log) + ((c - 16) % 4 + 1) * (size_t{1} << (log - 2));
}

// A training step may release and take more than kMaxCached. Then a block that went back to the
// system was missed: that much more is kept, as long as there is not much more in all than there
// once was in use. What no one takes while kTurnover times as much is taken goes back.
struct Pool {
  struct Bin {
    std::vector<void*> blocks;
    size_t low_water = 0;  // blocks that were not taken in this turnover
    size_t evicted = 0;    // blocks that went back to the system and were not missed since
  };
  static constexpr size_t kTurnover = 8;
  static constexpr size_t kMore = kMaxCached / 4;  // not all that is kept is in use at once

  std::mutex mu;
  Bin free[16 + 54 * 4];
  size_t cached = 0, limit = kMaxCached;  // bytes that are kept, and how many may be
  size_t in_use = 0, last_peak = 0;       // bytes of large blocks; at most in the last turnover
  size_t taken = 0, peak_cached = 0, peak_in_use = 0;  // of this turnover
  std::vector<Local*> locals;
  std::atomic<int64_t> used{0};  // by threads that are gone, or about to go

  static bool is_large(size_t c) { return c >= kLocalClasses; }  // no thread keeps such blocks
  // Bytes that may be kept and in use, if more than kMaxCached are kept.
  size_t most() const { return std::max(peak_in_use, last_peak) + kMore; }
  void use(size_t size) {
    in_use += size;
    taken += size;
    peak_in_use = std::max(peak_in_use, in_use);
  }

  // With the lock.
  void* take(size_t c, size_t size) {
    Bin& b = free[c];
    if (is_large(c)) use(size);
    if (b.blocks.empty()) {
      if (b.evicted > 0) {
        --b.evicted;
        limit = std::max(kMaxCached, std::min(limit + size, most()));
      }
      return nullptr;
    }
    void* r = b.blocks.back();
    b.blocks.pop_back();
    b.low_water = std::min(b.low_water, b.blocks.size());
    cached -= size;
    return r;
  }
  // The system has no block to take instead.
  void refused(size_t c, size_t size) {
    const std::lock_guard lock(mu);
    if (is_large(c)) in_use -= size;
  }
  bool keep(void* p, size_t c, size_t size) {
    if (is_large(c)) in_use -= size;
    const size_t now = cached + size;
    if (now > kMaxCached && (now > limit || now + in_use > most())) {
      ++free[c].evicted;
      return false;
    }
    free[c].blocks.push_back(p);
    cached = now;
    peak_cached = std::max(peak_cached, cached);
    return true;
  }
  // What was not taken for long, and is to be freed: blocks and their sizes.
  std::vector<std::pair<void*, size_t>> trim() {
    std::vector<std::pair<void*, size_t>> all;
    if (taken < kTurnover * limit) return all;
    for (size_t c = std::size(free); is_large(--c);) {
      Bin& b = free[c];
      const size_t size = size_of_class(c);
      size_t count = 0;  // the first ones were taken last
      while (count < b.low_water && cached > kMaxCached) {
        all.emplace_back(b.blocks[count++], size);
        cached -= size;
      }
      b.blocks.erase(b.blocks.begin(), b.blocks.begin() + static_cast<ptrdiff_t>(count));
      b.low_water = b.blocks.size();
      b.evicted = 0;
    }
    limit = std::max(kMaxCached, peak_cached);
    last_peak = peak_in_use;
    taken = 0, peak_cached = cached, peak_in_use = in_use;
    return all;
  }
};
Pool& pool() {
  static Pool* p = new Pool;  // arrays may outlive static destruction
  return *p;
}

// Gives `count` blocks of a bin back to all threads.
void give_back(Local& l, size_t c, uint32_t count) {
  Pool& p = pool();
  Local::Bin& b = l.bins[c];
  const std::lock_guard lock(p.mu);
  for (; count > 0; --count) {
    void* block = b.blocks[--b.count];
    if (!p.keep(block, c, size_of_class(c))) free_block(block, size_of_class(c));
  }
}

[[gnu::tls_model("initial-exec")]] thread_local Local* local = nullptr;
[[gnu::tls_model("initial-exec")]] thread_local bool gone = false;  // this thread ends

struct Leave {
  ~Leave() {
    Local* l = std::exchange(local, nullptr);
    gone = true;
    for (size_t c = 0; c < kLocalClasses; ++c) give_back(*l, c, l->bins[c].count);
    Pool& p = pool();
    const std::lock_guard lock(p.mu);
    p.used += l->used;
    std::erase(p.locals, l);
    delete l;
  }
};

Local* make_local() {
  if (gone || guarded()) return nullptr;
  auto* l = new Local;
  {
    Pool& p = pool();
    const std::lock_guard lock(p.mu);
    p.locals.push_back(l);
  }
  local = l;
  static thread_local const Leave leave;
  return l;
}
inline Local* here() { return local ? local : make_local(); }

void count(Local* l, int64_t bytes) {
  if (l)
    l->used.store(l->used.load(std::memory_order_relaxed) + bytes, std::memory_order_relaxed);
  else
    pool().used += bytes;
}

// A block of a bin that is empty, which receives others with it.
[[gnu::noinline]] void* refill(Local::Bin* b, size_t c, size_t size, size_t bytes) {
  if (!b && guarded()) return guarded_allocate(bytes);
  Pool& p = pool();
  const std::lock_guard lock(p.mu);
  void* r = p.take(c, size);
  while (r && b && b->count < Local::room(c) / 2) {
    void* more = p.take(c, size);
    if (!more) break;
    b->blocks[b->count++] = more;
  }
  return r;
}

[[gnu::noinline]] void release_to_all(void* ptr, size_t c, size_t size, size_t bytes) {
  if (guarded()) return guarded_release(ptr, bytes);
  if (size >= kLargePage) large_pages().exchange_some_of(ptr, size);
  Pool& p = pool();
  bool kept;
  std::vector<std::pair<void*, size_t>> unused;
  {
    const std::lock_guard lock(p.mu);
    kept = p.keep(ptr, c, size);
    unused = p.trim();
  }
  if (!kept) free_block(ptr, size);
  for (const auto& [block, n] : unused) free_block(block, n);
}

}  // namespace

void* allocate(size_t bytes) {
  size_t size;
  const size_t c = class_of(bytes, &size);
  Local* l = here();
  Local::Bin* b = l && c < kLocalClasses ? &l->bins[c] : nullptr;
  void* r = b && b->count ? b->blocks[--b->count] : refill(b, c, size, bytes);
  if (!r && !(r = fresh_block(size))) {
    pool().refused(c, size);
    throw std::bad_alloc();
  }
  count(l, static_cast<int64_t>(size));
  if (recording()) record_allocation(size, allocated_bytes());
  return r;
}

void release(void* ptr, size_t bytes) {
  size_t size;
  const size_t c = class_of(bytes, &size);
  Local* l = here();
  count(l, -static_cast<int64_t>(size));
  if (l && c < kLocalClasses) {
    Local::Bin& b = l->bins[c];
    if (b.count == Local::room(c)) give_back(*l, c, Local::room(c) / 2);
    b.blocks[b.count++] = ptr;
    return;
  }
  release_to_all(ptr, c, size, bytes);
}

size_t allocated_bytes() {
  Pool& p = pool();
  const std::lock_guard lock(p.mu);
  int64_t n = p.used;
  for (const Local* l : p.locals) n += l->used.load(std::memory_order_relaxed);
  return static_cast<size_t>(std::max<int64_t>(n, 0));
}

namespace {
// The whole pages of a block, whose others hold something else.
std::pair<char*, size_t> pages_of(void* p, size_t bytes) {
  static const auto page = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
  const uintptr_t at = reinterpret_cast<uintptr_t>(p);
  const uintptr_t begin = (at + page - 1) / page * page, end = (at + bytes) / page * page;
  return {reinterpret_cast<char*>(begin), end > begin ? end - begin : 0};
}
}  // namespace

size_t give_pages_back(void* p, size_t bytes) {
  const auto [begin, n] = pages_of(p, bytes);
  // Who forgot to take them back gets a fault, and not zeros.
  if (n == 0 || mprotect(begin, n, PROT_NONE) != 0) return 0;
  if (madvise(begin, n, MADV_DONTNEED) != 0) {
    PIJIT_CHECK(mprotect(begin, n, PROT_READ | PROT_WRITE) == 0, "pages that cannot be had again");
    return 0;
  }
  count(here(), -static_cast<int64_t>(n));
  return n;
}
void take_pages_back(void* p, size_t bytes) {
  const auto [begin, n] = pages_of(p, bytes);
  if (mprotect(begin, n, PROT_READ | PROT_WRITE) != 0) throw std::bad_alloc();
  count(here(), static_cast<int64_t>(n));
}

void destroy(Storage* s) {
  drop_forms(*s);
  if (s->away.load(std::memory_order_relaxed)) take_pages_back(s->data, s->bytes);
  if (s->free_external)
    s->free_external(s->ctx);
  else if (s->device)
    s->device->release(s->data, s->bytes);
  else
    release(s->data, s->bytes);
  s->~Storage();
  release(s, sizeof(Storage));
}

namespace {
Ref<Storage> new_storage(const Type& t) {
  auto* s = new (allocate(sizeof(Storage))) Storage;
  s->bytes = t.bytes();
  if (!t.device.is_cpu()) s->device = &device(t.device);
  s->data = s->device ? s->device->allocate(s->bytes) : allocate(s->bytes);
  return Ref<Storage>::steal(s);
}
}  // namespace

ArrayRef new_array(const Type& t) { return ArrayRef::steal(new Array(t, new_storage(t))); }

ArrayRef new_external_array(const Type& t, void* data, void (*free_external)(void*), void* ctx) {
  auto* s = new (allocate(sizeof(Storage))) Storage;
  s->bytes = t.bytes();
  s->data = data;
  s->free_external = free_external;
  s->ctx = ctx;
  return ArrayRef::steal(new Array(t, Ref<Storage>::steal(s)));
}

ArrayRef alias_array(const ArrayRef& a, const Type& t) {
  PIJIT_CHECK(t.bytes() == a->type.bytes(), "alias of another size");
  return ArrayRef::steal(new Array(t, a->storage));
}

ArrayRef scalar_array(DType t, uint64_t bits) {
  ArrayRef a = new_array(Type{t, {}});
  std::memcpy(a->data(), &bits, size_of(t));
  return a;
}

ArrayRef array_on(const ArrayRef& a, DeviceId d) {
  if (a->type.device == d) return a;
  Type t = a->type;
  const size_t bytes = t.bytes();
  Device& from = device(t.device);
  t.device = d;
  Device& to = device(d);
  ArrayRef r = new_array(t);
  if (to.is_host()) {
    from.to_host(r->data(), a->data(), bytes);
  } else if (from.is_host()) {
    to.from_host(r->data(), a->data(), bytes);
  } else {
    const Block between(bytes);
    from.to_host(between.p, a->data(), bytes);
    to.from_host(r->data(), between.p, bytes);
    to.synchronize();  // before the memory between them goes
  }
  return r;
}

}  // namespace pijit
