// What somebody who wrote a name that is none may have meant.
#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace pijit {

// " Did you mean 'axis'?" for axs, or nothing where no name is near.
std::string did_you_mean(std::string_view name, const std::vector<std::string_view>& known);
// That a function takes no argument of this name, as Python says it.
std::string unexpected_keyword(std::string_view function, std::string_view name,
                               const std::vector<std::string_view>& known);

}  // namespace pijit
