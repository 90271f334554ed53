// Signals that Python code handles, where it may not run, or is to run later.
#pragma once
#include <chrono>
#include <memory>
#include <utility>

namespace pijit {

// A signal has come whose handler is Python code, and this thread is to run it.
bool signals_pending();

// While it lives in the main thread, which alone runs them, signals wait that Python code handles,
// and so do calls that are pending (Py_AddPendingCall).
class NoSignals {
 public:
  NoSignals();
  ~NoSignals();
  NoSignals(const NoSignals&) = delete;

 private:
  bool holds_;
};

// Under it, what runs without the interpreter is ended where a signal waits: it runs no handler, as
// what came before it in the program has not happened yet.
struct SignalWaits {};
class SignalsEnd {
 public:
  explicit SignalsEnd(bool on) : before_(std::exchange(on_, on)) {}
  ~SignalsEnd() { on_ = before_; }
  SignalsEnd(const SignalsEnd&) = delete;
  static bool on() { return on_; }

 private:
  [[gnu::tls_model("initial-exec")]] static thread_local bool on_;
  bool before_;
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
