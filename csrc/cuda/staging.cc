#include "cuda/staging.h"

#include <algorithm>
#include <cstring>

#include "cuda/gpu.h"

namespace pijit::cuda {

bool Staging::ready() {
  if (refused_ || slots_[kSlots - 1].done) return !refused_;
  for (Slot& s : slots_) {
    void* p = s.p;
    // Not an error: the system may limit such memory, and there is another way.
    if (!p && gpu_.driver().host_alloc(&p, kSize, kPortable) != kSuccess) return !(refused_ = true);
    s.p = static_cast<char*>(p);
    if (!s.done) gpu_.check(gpu_.driver().event_create(&s.done, kNoTiming), "making an event");
  }
  return true;
}

void Staging::copied(Slot& s) {
  gpu_.check(gpu_.driver().event_record(s.done, gpu_.stream()), "recording an event");
}
void Staging::wait(Slot& s) {  // an event that was never recorded is done
  gpu_.check(gpu_.driver().event_synchronize(s.done), "waiting for a copy");
}

bool Staging::to_device(void* to, const void* from, size_t bytes) {
  std::lock_guard lock(mu_);
  if (!ready()) return false;
  for (size_t at = 0, i = 0; at < bytes; at += kSize, ++i) {
    Slot& s = slots_[i % kSlots];
    const size_t n = std::min(kSize, bytes - at);
    wait(s);
    std::memcpy(s.p, static_cast<const char*>(from) + at, n);
    gpu_.check(gpu_.driver().to_device(reinterpret_cast<Address>(to) + at, s.p, n, gpu_.stream()),
               "copying to the GPU");
    copied(s);
  }
  return true;
}

bool Staging::to_host(void* to, const void* from, size_t bytes) {
  std::lock_guard lock(mu_);
  if (!ready()) return false;
  const size_t pieces = (bytes + kSize - 1) / kSize;
  auto length = [&](size_t i) { return std::min(kSize, bytes - i * kSize); };
  auto fetch = [&](size_t i) {
    Slot& s = slots_[i % kSlots];
    gpu_.check(gpu_.driver().to_host(s.p, reinterpret_cast<Address>(from) + i * kSize, length(i),
                                     gpu_.stream()),
               "copying from the GPU");
    copied(s);
  };
  for (Slot& s : slots_) wait(s);  // copies to the GPU read them
  for (size_t i = 0; i < std::min<size_t>(pieces, kSlots); ++i) fetch(i);
  for (size_t i = 0; i < pieces; ++i) {
    Slot& s = slots_[i % kSlots];
    wait(s);
    std::memcpy(static_cast<char*>(to) + i * kSize, s.p, length(i));
    if (i + kSlots < pieces) fetch(i + kSlots);
  }
  return true;
}

}  // namespace pijit::cuda
