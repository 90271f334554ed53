// By which name the text of an error calls an op: it begins with that in brackets.
#pragma once
#include <string>
#include <string_view>

#include "base/error.h"

namespace pijit {

// "[gather] index 7 ..." as "[getitem] index 7 ...".
inline std::string called_as(std::string_view text, std::string_view name) {
  const size_t end = text.find("] ");
  if (!text.starts_with('[') || end == std::string_view::npos) return std::string(text);
  return str_cat("[", name, text.substr(end));
}

// What `f` gives; where an op fails, the error has this name.
template <class F>
auto under_name(std::string_view name, const F& f) {
  try {
    return f();
  } catch (const OpError& e) {
    throw OpError(e.kind, called_as(e.what(), name));
  }
}

}  // namespace pijit
