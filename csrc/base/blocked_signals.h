// Threads of our own get no signal: handlers are for the program's threads.
#pragma once
#include <pthread.h>
#include <signal.h>

namespace pijit {

// While it lives, this thread gets no signal. Threads that it starts meanwhile never do.
class BlockedSignals {
 public:
  BlockedSignals() {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  ~BlockedSignals() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  BlockedSignals(const BlockedSignals&) = delete;
  BlockedSignals& operator=(const BlockedSignals&) = delete;

 private:
  sigset_t before_;
};

}  // namespace pijit
