#include "base/config.h"

#include <cstdlib>

#include "base/error.h"

namespace pijit {
namespace {
void parse(const std::string& s, const char*, std::string* out) { *out = s; }
void parse(const std::string& s, const char* name, bool* out) {
  if (s == "1" || s == "true" || s == "True")
    *out = true;
  else if (s.empty() || s == "0" || s == "false" || s == "False")
    *out = false;
  else
    throw OpError(OpError::kValue,
                  str_cat("[config] ", name, ": expected a boolean, got '", s, "'"));
}
void parse(const std::string& s, const char* name, int* out) {
  try {
    size_t used = 0;
    *out = std::stoi(s, &used);
    if (used == s.size()) return;
  } catch (const std::exception&) {
  }
  throw OpError(OpError::kValue,
                str_cat("[config] ", name, ": expected an integer, got '", s, "'"));
}
std::string show(const std::string& v) { return v; }
std::string show(bool v) { return v ? "1" : "0"; }
std::string show(int v) { return std::to_string(v); }

Config from_environment() {
  Config c;
#define OPTION(name, type, def, env, help)                                   \
  c.name = def;                                                              \
  if (const char* v = std::getenv(env)) {                                    \
    try {                                                                    \
      parse(v, env, &c.name);                                                \
    } catch (const OpError&) { /* a malformed variable leaves the default */ \
    }                                                                        \
  }
#include "base/config.def"
#undef OPTION
  return c;
}
}  // namespace

Config& config() {
  static Config c = from_environment();
  return c;
}

const std::vector<OptionInfo>& option_table() {
  static const std::vector<OptionInfo> t = {
#define OPTION(name, type, def, env, help) {#name, #type, env, help},
#include "base/config.def"
#undef OPTION
  };
  return t;
}

void set_option(const std::string& key, const std::string& value) {
#define OPTION(name, type, def, env, help) \
  if (key == #name) return parse(value, #name, &config().name);
#include "base/config.def"
#undef OPTION
  throw OpError(OpError::kValue, str_cat("[config] unknown option '", key, "'"));
}

std::string get_option(const std::string& key) {
#define OPTION(name, type, def, env, help) \
  if (key == #name) return show(config().name);
#include "base/config.def"
#undef OPTION
  throw OpError(OpError::kValue, str_cat("[config] unknown option '", key, "'"));
}

}  // namespace pijit
