// Whether capture pays for a decorated function: its calls go back to CPython where no graph runs
// in them, or where they were measured to be slower than plain ones.
#pragma once
#include <algorithm>
#include <cstdint>
#include <string>

#include "base/error.h"

namespace pijit {

class Trial {
 public:
  // Does CPython call the function at once? Ever more rarely, capture looks again.
  bool idle() const { return left_ > 0; }
  bool passes(bool tensor) {
    if (tensor && !tensors_) left_ = 1;  // it was idle with other arguments
    if (--left_ > 0) return true;
    if (slower_) {  // measured anew
      slower_ = decided_ = false;
      samples_ = 0;
      plain_ns_ = captured_ns_ = kNever;
    }
    return false;
  }
  // Are calls measured? Those with breaks have more to pay.
  bool measures(bool breaks) const { return breaks && !decided_; }
  // Should this call, which is measured, run plainly? Only short ones feel what a break costs.
  bool is_due() { return ++calls_ >= kFirst && calls_ % 8 == 0 && captured_ns_ < kShort; }
  void ran_plainly(int64_t ns) {
    plain_ns_ = std::min(plain_ns_, ns);
    if (++samples_ < kSamples) return;
    decided_ = true;
    if (static_cast<double>(captured_ns_) > 1.03 * static_cast<double>(plain_ns_)) {
      slower_ = true;
      rest(true);
    } else {
      next_ = kFirst;
    }
  }
  // `graphs`: did one run, in it or below it?
  void ran_captured(int64_t ns, bool graphs, bool tensor) {
    captured_ns_ = std::min(captured_ns_, ns);
    if (graphs) {
      useless_ = 0, tensors_ = false;
      return;
    }
    tensors_ |= tensor;
    if (++useless_ >= kUseless) rest(tensors_);
  }
  // A whole call was captured and holds no op.
  void found_nothing() { rest(false); }

  std::string verdict() const {  // empty: calls are captured
    if (!idle()) return "";
    if (!slower_) return "no graph ran in its calls";
    return str_cat("plain calls were faster: ", static_cast<double>(plain_ns_) / 1e3,
                   " us against ", static_cast<double>(captured_ns_) / 1e3, " us");
  }

 private:
  static constexpr uint32_t kFirst = 64, kUseless = 8, kSamples = 5;
  static constexpr int64_t kShort = 100'000, kNever = INT64_MAX;
  void rest(bool tensors) {
    tensors_ = tensors;
    left_ = next_;
    next_ = std::min(next_ * 4, 1u << 20);
  }

  uint64_t calls_ = 0;
  uint32_t left_ = 0, next_ = kFirst, useless_ = 0, samples_ = 0;
  int64_t plain_ns_ = kNever, captured_ns_ = kNever;  // the shortest
  bool tensors_ = false;                              // also where arguments are Tensors
  bool decided_ = false, slower_ = false;
};

}  // namespace pijit
