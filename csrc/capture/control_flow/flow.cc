#include "capture/control_flow/flow.h"

namespace pijit {

std::vector<bool> reachable(const CodeInfo& c, int from, int barrier, Ends ends) {
  const int exit = static_cast<int>(c.instrs.size());
  std::vector<bool> seen(c.instrs.size() + 1);
  std::vector<int> todo{from};
  while (!todo.empty()) {
    const int pc = todo.back() == kExit ? exit : todo.back();
    todo.pop_back();
    if ((pc == barrier && pc != exit) || seen[pc]) continue;
    seen[pc] = true;
    if (pc != exit)
      for (int s : successors(c, pc))
        todo.push_back(s == ends.first || s == ends.second ? kExit : s);
  }
  return seen;
}

bool only_raises(const CodeInfo& c, int pc) {
  const auto seen = reachable(c, pc, kExit);
  for (size_t k = 0; k < c.instrs.size(); ++k)
    if (seen[k] && c.instrs[k].op == Op::RETURN_VALUE) return false;
  return seen.back();
}

bool takes_items(const CodeInfo& c, int from, int pc) {
  for (int k = 0; k < static_cast<int>(c.instrs.size()); ++k)
    if (c.instrs[k].op == Op::FOR_ITER && reachable(c, k + 1, k)[pc] && !reachable(c, from, k)[pc])
      return true;
  return false;
}

int join_of(const CodeInfo& c, int pc, Ends ends) {
  std::vector<bool> seen(c.instrs.size());
  std::vector<int> queue{pc};  // in order of distance
  for (size_t q = 0; q < queue.size(); ++q) {
    if (queue[q] != pc && !reachable(c, pc, queue[q], ends).back()) return queue[q];
    for (int s : successors(c, queue[q]))
      if (s != kExit && s != ends.first && s != ends.second && !seen[s]) {
        seen[s] = true;
        queue.push_back(s);
      }
  }
  return kExit;
}

}  // namespace pijit
