// Entries as text (PIJIT_REPLAY), so that two versions of capture can be compared entry by entry:
// tools/replay_diff.py.
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstring>

#include "base/files.h"
#include "base/log.h"
#include "entry/entry.h"

namespace pijit {
namespace {

// Addresses differ from process to process; so do numbers that are made of them (id, hash), which
// are long.
std::string without_addresses(const std::string& text) {
  constexpr size_t kLong = 12;
  std::string r;
  for (size_t k = 0; k < text.size();) {
    auto run = [&](auto is) {
      size_t n = 0;
      while (k + n < text.size() && is(static_cast<unsigned char>(text[k + n]))) ++n;
      return n;
    };
    if (const size_t digits = run([](unsigned char c) { return std::isdigit(c); })) {
      if (digits < kLong) r += text.substr(k, digits);
      k += digits;
    } else {
      r += text[k++];
    }
    if (r.size() > 1 && r.ends_with("0x"))
      k += run([](unsigned char c) { return std::isxdigit(c); });
  }
  return r;
}

std::string list_text(std::vector<int> ids, bool is_set = false) {
  if (is_set) std::sort(ids.begin(), ids.end());
  std::string r;
  for (int id : ids) r += str_cat(" ", id);
  return r;
}

}  // namespace

std::string describe(const Entry& e, const CodeInfo& code) {
  std::string r;
  for (size_t s = 0; s < e.sources.size(); ++s)
    r += str_cat("source ", s, ": ", describe_source(e.sources, static_cast<int>(s), code), "\n");
  for (auto& g : e.guards) r += str_cat("guard ", g.src, ": ", describe_guard(e, g, code), "\n");
  r += graph_text(e, code);
  for (auto& text : describe_constraints(e, code)) r += "sizes: " + text + "\n";
  r += "inputs" + list_text(e.inputs) + "\n";
  for (size_t k = 0; k < e.recipes.size(); ++k) {
    const Recipe& x = *e.recipes[k];
    r += str_cat("recipe ", k, ": ", x.describe(), x.parts.empty() ? "" : " of", list_text(x.parts),
                 "\n");
  }
  for (auto& x : e.effects) r += "effect: " + x->describe() + "\n";
  r += "changed" + list_text(e.changed) + "\nidentities" + list_text(e.identities, true) + "\n";
  if (e.result >= 0) return r + str_cat("result ", e.result, "\n");
  r += str_cat("break at ", e.instr, e.rest_in_python ? ", the rest in Python" : "", ": ",
               e.break_record ? reason_text(e.break_record->reason) : "", " (",
               e.break_record ? e.break_record->detail : "", ")\n");
  return r + "slots" + list_text(e.slot_recipes) + "\nstack" + list_text(e.stack_recipes) + "\n";
}

void write_replay(const Entry& e, const CodeInfo& code, int instr) {
  if (config().replay.empty()) return;
  const std::string path = str_cat(config().replay, "/", getpid(), ".txt");
  const std::string name = code.filename.substr(code.filename.rfind('/') + 1);
  const std::string text = str_cat("=== ", code.name, " (", name, ":", code.instrs.front().line,
                                   ") at ", instr, "\n", without_addresses(describe(e, code)));
  if (!append_to_file(path, text)) log_line("replay", path + ": " + std::strerror(errno));
}

}  // namespace pijit
