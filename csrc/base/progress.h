// Long captures and compiles say so while they go on: on a terminal in one line of stderr, in a
// notebook by what that has set. What takes less than a second says nothing.
#pragma once
#include <cstdint>
#include <string>

namespace pijit {

struct Progress {
  std::string what;          // the function
  const char* doing;         // "capturing", "compiling"
  int64_t done = 0, of = 0;  // steps; 0: not known
  double seconds = 0;
  bool over = false;
};

// Work on this thread from here to the end of the scope. Within other work, a part of it.
class LongWork {
 public:
  LongWork(const char* doing, std::string what);
  ~LongWork();
  LongWork(const LongWork&) = delete;
  // Work goes on; looks at the clock now and then.
  static void tick(int64_t done = 0, int64_t of = 0) {
    if (current_ && --wait_ <= 0) current_->look(done, of);
  }

 private:
  void look(int64_t done, int64_t of);
  void report(bool over);
  static thread_local LongWork* current_;
  static thread_local int wait_;  // ticks until the clock is looked at
  LongWork* outer_;
  Progress p_;
  int64_t begin_, next_;  // ns
};

// Where reports go instead of to a terminal. May be null; must not throw.
extern void (*progress_hook)(const Progress& p);

}  // namespace pijit
