// Ways through the code of a function.
#pragma once
#include <utility>
#include <vector>

#include "python/code.h"

namespace pijit {

constexpr int kExit = -1;
using Ends = std::pair<int, int>;
constexpr Ends kNone{kExit, kExit};

// Instructions that can follow `from`, itself included, without going through `barrier`; one more
// entry, the last, for the exit, as which `ends` count, too.
std::vector<bool> reachable(const CodeInfo& c, int from, int barrier, Ends ends = kNone);
// Does every way from `pc` end in an exception?
bool only_raises(const CodeInfo& c, int pc);
// Does every way from `from` back to `pc` take an item of a `for` loop that `pc` is in?
bool takes_items(const CodeInfo& c, int from, int pc);
// Where all ways from `pc` meet again, the nearest instruction without which the exit cannot be
// reached; kExit if there is none.
int join_of(const CodeInfo& c, int pc, Ends ends = kNone);

}  // namespace pijit
