// Files whose names others can guess, in folders that others may write: never through a link.
#pragma once
#include <string>

namespace pijit {

// A new file, which others may not read, takes the place of what stood there, a link itself
// included. False: errno says why.
bool replace_file(const std::string& path, const std::string& text);
// At the end of a regular file of this user's own, which is made where there is none.
bool append_to_file(const std::string& path, const std::string& text);

}  // namespace pijit
