#include "runtime/array.h"

#include <sys/mman.h>

#include <cstdlib>
#include <cstring>
#include <mutex>
#include <new>
#include <vector>

#include "runtime/device.h"
#include "runtime/record.h"

namespace pijit {
namespace {

// Size classes: multiples of 64 up to 1 KiB, then four steps per power of two. Freshly mapped pages
// are several times slower than recycled ones, so blocks go back to a free list (at most kMaxCached
// bytes).
constexpr size_t kMaxCached = size_t{1} << 30;

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

// From the system. Large blocks ask for large pages: a first write to each of thousands of small
// ones takes longer than a kernel's run over all of them.
constexpr size_t kLargePage = size_t{2} << 20;
void* fresh_block(size_t size) {
  const bool large = size >= kLargePage;
  void* r = nullptr;
  if (posix_memalign(&r, large ? kLargePage : 64, size)) return nullptr;
  if (large) madvise(r, size, MADV_HUGEPAGE);  // where the system refuses, pages are small
  return r;
}

struct Pool {
  std::mutex mu;
  std::vector<void*> free[16 + 54 * 4];
  size_t cached = 0;
  std::atomic<size_t> used{0};
};
Pool& pool() {
  static Pool* p = new Pool;  // arrays may outlive static destruction
  return *p;
}

}  // namespace

void* allocate(size_t bytes) {
  size_t size;
  const size_t c = class_of(bytes, &size);
  Pool& p = pool();
  const size_t used = p.used += size;
  if (recording()) record_allocation(size, used);
  {
    std::lock_guard lock(p.mu);
    if (!p.free[c].empty()) {
      void* r = p.free[c].back();
      p.free[c].pop_back();
      p.cached -= size;
      return r;
    }
  }
  void* r = fresh_block(size);
  if (!r) {
    p.used -= size;
    throw std::bad_alloc();
  }
  return r;
}

void release(void* ptr, size_t bytes) {
  size_t size;
  const size_t c = class_of(bytes, &size);
  Pool& p = pool();
  p.used -= size;
  {
    std::lock_guard lock(p.mu);
    if (p.cached + size <= kMaxCached) {
      p.free[c].push_back(ptr);
      p.cached += size;
      return;
    }
  }
  std::free(ptr);
}

size_t allocated_bytes() { return pool().used; }

void destroy(Storage* s) {
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
  std::memcpy(a->data, &bits, size_of(t));
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
    from.to_host(r->data, a->data, bytes);
  } else if (from.is_host()) {
    to.from_host(r->data, a->data, bytes);
  } else {
    const Block between(bytes);
    from.to_host(between.p, a->data, bytes);
    to.from_host(r->data, between.p, bytes);
    to.synchronize();  // before the memory between them goes
  }
  return r;
}

}  // namespace pijit
