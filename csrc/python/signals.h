// Signals that Python code handles, where it may not run, or is to run later.
#pragma once
#include <chrono>
#include <memory>

namespace pijit {

// A signal has come whose handler is Python code, and this thread is to run it.
bool signals_pending();

// While it lives in the main thread, which alone runs them, signals wait that Python code handles.
class NoSignals {
 public:
  NoSignals();
  ~NoSignals();
  NoSignals(const NoSignals&) = delete;

 private:
  bool holds_;
};

// The evaluator forgets those that wait, for some time, or until this is gone.
class LaterSignals {
 public:
  explicit LaterSignals(std::chrono::nanoseconds time);
  ~LaterSignals();
  bool ended() const;
  LaterSignals(const LaterSignals&) = delete;

 private:
  struct Shared;
  std::shared_ptr<Shared> shared_;
};

}  // namespace pijit
