// The C++ side of the four kinds of error (CONTRIBUTING, "Errors"). GraphBreak lives in capture/.
#pragma once
#include <sstream>
#include <stdexcept>
#include <string>

namespace pijit {

// The caller misused an op. `kind` picks the Python exception the bindings raise.
class OpError : public std::runtime_error {
 public:
  enum Kind { kValue, kType, kIndex, kRuntime };
  OpError(Kind kind, const std::string& msg) : std::runtime_error(msg), kind(kind) {}
  const Kind kind;
};

// Our own bug. Capture logs it once and runs the original frame; PIJIT_STRICT=1 lets it through.
class InternalError : public std::logic_error {
  using std::logic_error::logic_error;
};

template <class... A>
std::string str_cat(const A&... a) {
  std::ostringstream os;
  (os << ... << a);
  return os.str();
}

#define PIJIT_CHECK(cond, ...)                                                                     \
  do {                                                                                             \
    if (!(cond))                                                                                   \
      throw ::pijit::InternalError(                                                                \
          ::pijit::str_cat(__FILE__, ":", __LINE__, ": check failed: " #cond " ", ##__VA_ARGS__)); \
  } while (0)

#define OP_CHECK(cond, kind, ...)                                                               \
  do {                                                                                          \
    if (!(cond)) throw ::pijit::OpError(::pijit::OpError::kind, ::pijit::str_cat(__VA_ARGS__)); \
  } while (0)

}  // namespace pijit
