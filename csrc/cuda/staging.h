// Copies between the host's own memory and the GPU by way of page-locked memory, which the GPU
// reads and writes while the host goes on.
#pragma once
#include <mutex>

#include "cuda/driver.h"

namespace pijit::cuda {

class Gpu;

class Staging {
 public:
  explicit Staging(Gpu& gpu) : gpu_(gpu) {}
  // Below this the driver does the same with memory of its own.
  static constexpr size_t kLeast = size_t{64} << 10;
  // False where no page-locked memory is to be had; nothing was copied then. `from` is read when
  // the first returns; `to` is written when the second does.
  bool to_device(void* to, const void* from, size_t bytes);
  bool to_host(void* to, const void* from, size_t bytes);

 private:
  static constexpr size_t kSize = size_t{4} << 20;
  static constexpr int kSlots = 3;
  struct Slot {
    char* p = nullptr;
    EventHandle done = nullptr;  // of the last copy to or from it
  };
  bool ready();
  void copied(Slot& s);
  void wait(Slot& s);

  Gpu& gpu_;
  std::mutex mu_;
  Slot slots_[kSlots];
  bool refused_ = false;
};

}  // namespace pijit::cuda
