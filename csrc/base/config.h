// Process-wide options, one table (config.def), read once from the environment.
#pragma once
#include <string>
#include <vector>

namespace pijit {

struct Config {
#define OPTION(name, type, def, env, help) type name;
#include "base/config.def"
#undef OPTION
};

Config& config();

struct OptionInfo {
  const char *name, *type, *env, *help;
};
const std::vector<OptionInfo>& option_table();
// Sets an option from text; throws OpError on an unknown name or a malformed value.
void set_option(const std::string& name, const std::string& value);
std::string get_option(const std::string& name);

}  // namespace pijit
