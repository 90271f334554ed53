#include "base/progress.h"

#include <unistd.h>

#include <chrono>
#include <cstdio>

#include "base/config.h"

namespace pijit {

void (*progress_hook)(const Progress& p) = nullptr;
thread_local LongWork* LongWork::current_ = nullptr;
thread_local int LongWork::wait_ = 0;

namespace {

constexpr int64_t kSecond = 1000000000;
constexpr int kTicks = 64;  // of some microseconds or more each

int64_t now() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

// Lines that replace one another on a terminal; whole lines, ever more rarely, elsewhere.
void write_line(const Progress& p) {
  const bool terminal = isatty(2);
  if (!terminal && config().progress != "on") return;
  char text[512];
  int n = std::snprintf(text, sizeof text, "%spijit: %s %s%s, %.1f s", terminal ? "\r\x1b[K" : "",
                        p.doing, p.what.c_str(), p.over ? ": done" : "", p.seconds);
  if (n > 0 && static_cast<size_t>(n) < sizeof text && p.of && !p.over)
    n += std::snprintf(text + n, sizeof text - static_cast<size_t>(n), ", step %lld of %lld",
                       static_cast<long long>(p.done), static_cast<long long>(p.of));
  std::string s(text);
  if (p.over || !terminal) s += '\n';
  [[maybe_unused]] const auto written = write(2, s.data(), s.size());
}

}  // namespace

LongWork::LongWork(const char* doing, std::string what) : outer_(current_) {
  if (outer_) {
    p_.doing = outer_->p_.doing;
    outer_->p_.doing = doing;
    return;
  }
  p_.what = std::move(what);
  p_.doing = doing;
  begin_ = now();
  next_ = begin_ + kSecond;
  wait_ = kTicks;
  current_ = this;
}

LongWork::~LongWork() {
  if (outer_) {
    outer_->p_.doing = p_.doing;
    return;
  }
  current_ = nullptr;
  if (next_ > begin_ + kSecond) report(true);
}

void LongWork::look(int64_t done, int64_t of) {
  wait_ = kTicks;
  const int64_t t = now();
  if (t < next_) return;
  p_.done = done, p_.of = of;
  report(false);
  // A terminal and a notebook show one line; elsewhere each report is one more.
  next_ = now() + (progress_hook || isatty(2) ? kSecond / 4 : t - begin_);
}

void LongWork::report(bool over) {
  if (config().progress == "off") return;
  p_.over = over;
  p_.seconds = static_cast<double>(now() - begin_) / 1e9;
  if (progress_hook)
    progress_hook(p_);
  else
    write_line(p_);
}

}  // namespace pijit
