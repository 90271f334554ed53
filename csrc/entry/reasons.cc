#include <array>
#include <cstdio>

#include "entry/entry.h"

namespace pijit {
namespace {

struct Row {
  int id;
  const char *text, *where, *hint;
};
constexpr std::array kReasons{
#define BREAK(id, name, text, hint) Row{id, text, "", hint},
#define CASE(id, name, what, where, hint)
#include "entry/break_reasons.def"
#undef BREAK
#undef CASE
};
constexpr std::array kCases{
    Row{},
#define BREAK(id, name, text, hint)
#define CASE(id, name, what, where, hint) Row{id, what, where, hint},
#include "entry/break_reasons.def"
#undef BREAK
#undef CASE
};

const Row& row(Reason r) { return kReasons[static_cast<size_t>(r)]; }
const Row& row(Case c) { return kCases[static_cast<size_t>(c)]; }

// Is `word` one of those that blanks part?
bool lists(std::string_view words, std::string_view word) {
  while (!words.empty()) {
    const size_t end = std::min(words.find(' '), words.size());
    if (words.substr(0, end) == word) return true;
    words.remove_prefix(std::min(end + 1, words.size()));
  }
  return false;
}

}  // namespace

const char* reason_text(Reason r) { return row(r).text; }

Case case_of(std::string_view module, std::string_view name) {
  if (module.empty()) return Case::kNone;
  auto find = [](std::string_view word) {
    size_t c = kCases.size() - 1;
    while (c > 0 && !lists(kCases[c].where, word)) --c;
    return static_cast<Case>(c);
  };
  if (!name.empty())
    if (const Case c = find(std::string(module) + "." + std::string(name)); c != Case::kNone)
      return c;
  if (const Case c = find(module); c != Case::kNone) return c;
  return find(module.substr(0, module.find('.')));
}

std::string break_id(Reason r, Case c) {
  std::array<char, 16> text{};
  const int id = c == Case::kNone ? row(r).id : row(c).id;
  std::snprintf(text.data(), text.size(), "PB%03d", id);  // NOLINT(*-vararg)
  return text.data();
}

const char* break_hint(Reason r, Case c) { return c == Case::kNone ? row(r).hint : row(c).hint; }

}  // namespace pijit
