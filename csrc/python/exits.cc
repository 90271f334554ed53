#include "python/exits.h"

#include <algorithm>

namespace pijit {
namespace {

// Which instructions lie in a loop: those between its ends, or only those of them that lead to its
// beginning. From 3.12 on, what follows a loop may stand before the handlers in it.
std::vector<bool> inside_of(const CodeInfo& info, int begin, int end, bool leading) {
  std::vector<bool> inside(info.instrs.size() + 1);
  std::fill(inside.begin() + begin, inside.begin() + end, !leading);
  for (bool changed = leading; changed;) {
    changed = false;
    for (int pc = end - 1; pc >= begin; --pc) {
      if (inside[pc]) continue;
      auto leads = [&](int to) { return to == begin || (to >= 0 && inside[to]); };
      const auto next = successors(info, pc);
      const Handler* h = info.handler_of(pc);
      if (std::none_of(next.begin(), next.end(), leads) && !(h && leads(h->target))) continue;
      inside[pc] = changed = true;
    }
  }
  // What drops an iterator belongs to its loop, which a handler may leave to behind that.
  for (int pc = begin; pc < end; ++pc)
    if (inside[pc] && info.instrs[pc].op == Op::FOR_ITER && info.instrs[pc].a > 0)
      inside[info.instrs[pc].target] = true;
  return inside;
}

// Where a loop is left: the stack's size there, by the instruction that code goes on with. Nothing
// where that can't be told.
std::map<int, int> exits_of(const CodeInfo& info, int instr, const std::vector<bool>& inside,
                            int stack_size) {
  std::map<int, int> exits, depths{{instr, stack_size}};
  std::vector<int> queue{instr};
  while (!queue.empty()) {
    const int pc = queue.back();
    queue.pop_back();
    const Instr& in = info.instrs[pc];
    if (in.op == Op::UNSUPPORTED && in.b == kUnknownEffect) return {};
    const StackUse use = stack_use(in, depths[pc]);
    for (int to : successors(info, pc)) {
      if (to < 0) continue;
      const bool jumps = flow(in) == Flow::BRANCH && to == in.target;
      const int depth = depths[pc] - use.pops + (jumps ? use.jump_pushes : use.pushes);
      if (depth < 0) return {};
      if (!inside[to])
        exits[to] = depth;
      else if (depths.emplace(to, depth).second)
        queue.push_back(to);
    }
  }
  return exits;
}

}  // namespace

LoopExits loop_exits(const CodeInfo& info, int instr, int begin, int end, int stack_size) {
  auto inside = inside_of(info, begin, end, false);
  auto exits = exits_of(info, instr, inside, stack_size);
  if (exits.empty()) {
    inside = inside_of(info, begin, end, true);
    if (inside[instr]) exits = exits_of(info, instr, inside, stack_size);
  }
  return {std::move(inside), std::move(exits)};
}

StepResults step_results(const Instr& in, py::object returned) {
  StepResults r;
  Py_ssize_t n = PyTuple_GET_SIZE(returned.ptr());
  if (flow(in) == Flow::BRANCH) r.jumped = PyTuple_GET_ITEM(returned.ptr(), --n) == Py_True;
  for (Py_ssize_t k = 0; k < n; ++k)  // may be NULL
    r.values.push_back(py::reinterpret_borrow<py::object>(PyTuple_GET_ITEM(returned.ptr(), k)));
  return r;
}

}  // namespace pijit
