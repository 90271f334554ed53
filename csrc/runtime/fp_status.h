// What kernels raised of IEEE's exceptions, in all threads that worked for a run.
#pragma once
#include <atomic>

namespace pijit {

enum FpFlag : unsigned { kFpInvalid = 1, kFpDivide = 4, kFpOverflow = 8, kFpUnderflow = 16 };

// Of code of ours alone, which raises all in one place.
void clear_own_fp_flags();
unsigned own_fp_flags();
// This thread's flags. The x87's count: C libraries raise some there.
void clear_fp_flags();
unsigned fp_flags();

// While it lives, kernels that this thread launches are watched.
class FpWatch {
 public:
  FpWatch() : before_(current_) {
    current_ = this;
    clear_fp_flags();
  }
  ~FpWatch() { current_ = before_; }
  FpWatch(const FpWatch&) = delete;
  static FpWatch* current() { return current_; }
  // What another thread raised.
  void add(unsigned flags) { others_.fetch_or(flags, std::memory_order_relaxed); }
  unsigned raised() const { return others_.load(std::memory_order_relaxed) | fp_flags(); }

 private:
  [[gnu::tls_model("initial-exec")]] static inline constinit thread_local FpWatch* current_ =
      nullptr;
  FpWatch* before_;
  std::atomic<unsigned> others_{0};
};

}  // namespace pijit
