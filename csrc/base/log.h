// Log channels (PIJIT_LOG) and stage dumps (PIJIT_DUMP).
#pragma once
#include <string>

#include "base/config.h"
#include "base/error.h"

namespace pijit {

bool log_enabled(const char* channel);
void log_line(const char* channel, const std::string& text);
// Writes NNNN-<stage>.txt into the dump directory (PIJIT_DUMP).
void write_stage(const std::string& stage, const std::string& text);
// The same with what `text` gives, where there is such a directory: texts of large graphs take
// long.
template <class Text>
void dump_stage(const char* stage, const Text& text) {
  if (!config().dump.empty()) write_stage(stage, text());
}

#define PIJIT_LOG(channel, ...)                                          \
  do {                                                                   \
    if (!::pijit::config().log.empty() && ::pijit::log_enabled(channel)) \
      ::pijit::log_line(channel, ::pijit::str_cat(__VA_ARGS__));         \
  } while (0)

}  // namespace pijit
