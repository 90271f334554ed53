// Log channels (PIJIT_LOG, or who listens) and stage dumps (PIJIT_DUMP).
#pragma once
#include <atomic>
#include <string>

#include "base/config.h"
#include "base/error.h"

namespace pijit {

bool log_enabled(const char* channel);
// Lines of these channels, of any thread, go to `listener` as well; none: it is no longer asked.
using LogListener = void (*)(const char* channel, const std::string& text);
void listen_to_log(const std::string& channels, LogListener listener);
extern std::atomic<LogListener> log_listener;
inline bool logs_anything() {
  return !config().log.empty() || log_listener.load(std::memory_order_relaxed);
}
void log_line(const char* channel, const std::string& text);
// Writes NNNN-<stage>.txt into the dump directory (PIJIT_DUMP).
void write_stage(const std::string& stage, const std::string& text);
// The same with what `text` gives, where there is such a directory: texts of large graphs take
// long.
template <class Text>
void dump_stage(const char* stage, const Text& text) {
  if (!config().dump.empty()) write_stage(stage, text());
}

#define PIJIT_LOG(channel, ...)                                    \
  do {                                                             \
    if (::pijit::logs_anything() && ::pijit::log_enabled(channel)) \
      ::pijit::log_line(channel, ::pijit::str_cat(__VA_ARGS__));   \
  } while (0)

}  // namespace pijit
