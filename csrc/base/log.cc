#include "base/log.h"

#include <pthread.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <mutex>

#include "base/files.h"

namespace pijit {

std::atomic<LogListener> log_listener{nullptr};

namespace {

struct Listened {
  std::mutex mu;
  std::string channels;
};
Listened& listened() {
  static Listened* all = [] {
    auto* made = new Listened;
    pthread_atfork([] { listened().mu.lock(); }, [] { listened().mu.unlock(); },
                   [] { listened().mu.unlock(); });
    return made;
  }();
  return *all;
}

bool names_channel(const std::string& list, const char* channel) {
  if (list == "all") return true;
  const std::string name = channel;
  size_t at = 0;
  while (at <= list.size()) {
    size_t end = list.find(',', at);
    if (end == std::string::npos) end = list.size();
    if (list.compare(at, end - at, name) == 0) return true;
    at = end + 1;
  }
  return false;
}

LogListener listener_of(const char* channel) {
  const LogListener asked = log_listener.load();
  if (!asked) return nullptr;
  const std::lock_guard lock(listened().mu);
  return names_channel(listened().channels, channel) ? asked : nullptr;
}

}  // namespace

void listen_to_log(const std::string& channels, LogListener listener) {
  const std::lock_guard lock(listened().mu);
  listened().channels = channels;
  log_listener = channels.empty() ? nullptr : listener;
}

bool log_enabled(const char* channel) {
  return names_channel(config().log, channel) || listener_of(channel);
}

void log_line(const char* channel, const std::string& text) {
  const LogListener listener = listener_of(channel);
  if (listener) listener(channel, text);
  if (!listener || names_channel(config().log, channel))
    std::fprintf(stderr, "[pijit:%s] %s\n", channel, text.c_str());
}

void write_stage(const std::string& stage, const std::string& text) {
  static std::atomic<int> counter{0};
  char num[16];
  std::snprintf(num, sizeof num, "%04d-", counter++);
  const std::string path = config().dump + "/" + num + stage + ".txt";
  if (!replace_file(path, text)) log_line("dump", path + ": " + std::strerror(errno));
}

}  // namespace pijit
