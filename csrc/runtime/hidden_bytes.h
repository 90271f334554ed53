#pragma once
#include <cstddef>
#include <utility>

namespace pijit {

// Memory of a kernel that nobody sees from outside: machine code, and what belongs to it. The count
// goes up and down with what this thread makes and drops, so that the difference of two readings is
// what kernels made meanwhile hold.
class HiddenBytes {
 public:
  HiddenBytes() = default;
  explicit HiddenBytes(size_t n) : n_(n) { count_ += n; }
  HiddenBytes(HiddenBytes&& o) noexcept : n_(std::exchange(o.n_, 0)) {}
  HiddenBytes& operator=(HiddenBytes&& o) noexcept {
    std::swap(n_, o.n_);
    return *this;
  }
  ~HiddenBytes() { count_ -= n_; }
  static size_t count() { return count_; }

 private:
  size_t n_ = 0;
  static thread_local size_t count_;
};

}  // namespace pijit
