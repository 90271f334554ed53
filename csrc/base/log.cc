#include "base/log.h"

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstring>

#include "base/files.h"

namespace pijit {

bool log_enabled(const char* channel) {
  const std::string& list = config().log;
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

void log_line(const char* channel, const std::string& text) {
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
