// Where loops are left.
#pragma once
#include <map>

#include "python/code.h"

namespace pijit {

struct LoopExits {
  std::vector<bool> inside;  // by instruction: does it lie in the loop?
  // The stack's size where the loop is left, by the instruction that code goes on with. Empty: that
  // can't be told.
  std::map<int, int> exits;
};
// Of the loop [begin, end), entered at an instruction with a stack of this size.
LoopExits loop_exits(const CodeInfo& info, int instr, int begin, int end, int stack_size);

}  // namespace pijit
