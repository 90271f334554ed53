// The C++ side of the four kinds of error (CONTRIBUTING, "Errors"). GraphBreak lives in capture/.
#pragma once
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>

#include "absl/strings/str_cat.h"

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

namespace text_of_parts {
// What absl::StrCat takes: Abseil's string_view is a class of its own in Debian's build, and what
// has a str() is written by that.
inline absl::string_view piece(std::string_view s) { return {s.data(), s.size()}; }
template <class T>
decltype(auto) piece(const T& x) {
  if constexpr (std::is_convertible_v<const T&, std::string_view>)
    return piece(std::string_view(x));
  else if constexpr (requires { x.str(); })
    return x.str();
  else if constexpr (std::is_same_v<T, char>)
    return absl::string_view(&x, 1);
  else
    return absl::AlphaNum(x);
}
}  // namespace text_of_parts

template <class... A>
std::string str_cat(const A&... a) {
  return absl::StrCat(text_of_parts::piece(a)...);
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
