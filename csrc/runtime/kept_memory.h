// Memory of collectives.
#pragma once
#include <cstddef>
#include <utility>

namespace pijit::processes {

// It is kept for the next ones: fresh pages would cost more than the copies. What the next ones do
// not take for a while is freed.
class Memory {
 public:
  Memory() = default;
  explicit Memory(size_t bytes);
  ~Memory();
  static void free_all();
  Memory(Memory&& o) noexcept
      : p_(std::exchange(o.p_, nullptr)), bytes_(std::exchange(o.bytes_, 0)) {}
  Memory& operator=(Memory&& o) noexcept {
    std::swap(p_, o.p_);
    std::swap(bytes_, o.bytes_);
    return *this;
  }
  char* data() const { return p_; }
  size_t size() const { return bytes_; }

 private:
  char* p_ = nullptr;
  size_t bytes_ = 0;
};

}  // namespace pijit::processes
