// Signals that Python code handles, where it may not run, or is to run later.
#pragma once
#include <cstdint>
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

// Signals that came while the program stood still, as in a capture of its code, and so are to be
// handled somewhat later: where the program would have been without it, as in the `try` that is to
// handle what they raise.
class SignalDelay {
 public:
  SignalDelay() = default;
  ~SignalDelay() { end(); }
  SignalDelay(const SignalDelay&) = delete;
  // The evaluator forgets those that wait now, for so long, or until this is gone.
  void begin(int64_t ns);
  // Runs the handlers of those that wait, if they are put off no more. True: one has raised.
  bool raises();

 private:
  struct Shared;
  void end();
  std::shared_ptr<Shared> shared_;
};

}  // namespace pijit
