#include "runtime/guard.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>

#include "base/config.h"
#include "base/error.h"

namespace pijit {
namespace {

constexpr size_t kPage = 4096;
// Without access on either side, in bytes: what goes wrong may skip over some memory. A gradient of
// oneDNN's has begun hundreds of KiB behind its scratch memory (cpu/onednn/faults.h).
constexpr size_t kGuard = size_t{64} << 20;
// What is not the caller's, and fresh memory. That differs by side, so that what depends on it does
// too: no number, or a large one.
constexpr unsigned char kRest = 0xa5, kFreshFront = 0xff, kFreshBack = 0x7f;

enum class Side { kNone, kFront, kBack };
Side side() {
  static const Side s = [] {
    const std::string& text = config().guard;
    OP_CHECK(text.empty() || text == "front" || text == "back", kValue,
             "[config] guard: expected front or back, got '", text, "'");
    return text.empty() ? Side::kNone : text == "front" ? Side::kFront : Side::kBack;
  }();
  return s;
}

struct Pages {
  size_t pages;   // that may be touched, in bytes
  size_t offset;  // of the caller's memory from the first of them
  explicit Pages(size_t bytes)
      : pages((bytes + kPage - 1) / kPage * kPage),
        offset(side() == Side::kBack ? pages - bytes : 0) {}
};

}  // namespace

bool guarded() { return side() != Side::kNone; }

void* guarded_allocate(size_t bytes) {
  const Pages l(bytes);
  constexpr int kFlags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
  void* all = mmap(nullptr, l.pages + 2 * kGuard, PROT_NONE, kFlags, -1, 0);
  if (all == MAP_FAILED) throw std::bad_alloc();
  char* begin = static_cast<char*>(all) + kGuard;
  if (l.pages && mprotect(begin, l.pages, PROT_READ | PROT_WRITE)) {
    munmap(all, l.pages + 2 * kGuard);
    throw std::bad_alloc();
  }
  std::memset(begin, kRest, l.offset);
  std::memset(begin + l.offset, side() == Side::kBack ? kFreshBack : kFreshFront, bytes);
  std::memset(begin + l.offset + bytes, kRest, l.pages - l.offset - bytes);
  return begin + l.offset;
}

void guarded_release(void* p, size_t bytes) {
  const Pages l(bytes);
  char* const begin = static_cast<char*>(p) - l.offset;
  const auto check = [&](const char* from, const char* to) {
    const char* bad =
        std::find_if(from, to, [](char c) { return static_cast<unsigned char>(c) != kRest; });
    if (bad == to) return;
    std::fprintf(stderr, "pijit: guard: byte %td of a block of %zu bytes was written\n",
                 bad - static_cast<char*>(p), bytes);
    std::abort();
  };
  check(begin, begin + l.offset);
  check(begin + l.offset + bytes, begin + l.pages);
  munmap(begin - kGuard, l.pages + 2 * kGuard);
}

}  // namespace pijit
