// Generated code by name, as profilers and debuggers see it (PIJIT_PERF).
#pragma once
#include <string>

#include "base/config.h"

namespace pijit {

// What the code is for that this thread generates until the end of the scope. `text` is asked for
// its name, a std::string, where somebody wants to know.
class CodeName {
 public:
  template <class Text>
  explicit CodeName(const Text& text) {
    if (!config().perf) return;
    outer_ = current_;
    name_ = text();
    current_ = &name_;
  }
  ~CodeName() {
    if (current_ == &name_) current_ = outer_;
  }
  CodeName(const CodeName&) = delete;
  CodeName& operator=(const CodeName&) = delete;

 private:
  friend void announce_code(const void* begin, size_t bytes);
  static thread_local const std::string* current_;
  const std::string* outer_ = nullptr;
  std::string name_;
};

// Tells perf (by a map of names and a jitdump) and gdb of a function; says that it is gone.
void announce_code(const void* begin, size_t bytes);
void forget_code(const void* begin);

}  // namespace pijit
