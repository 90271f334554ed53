// From CPython 3.12 on, comprehensions are part of their function. CPython adds a handler to each,
// which gives the variable that it used its value back and raises again: nobody sees that.
#pragma once
#include "python/code.h"

namespace pijit {

// Where such a handler, which begins at an instruction, raises again; -1: it is another one.
inline int end_of_restoring(const CodeInfo& info, int begin) {
  if (PY_VERSION_HEX < 0x030C0000) return -1;
  for (size_t k = begin; k < info.instrs.size(); ++k) {
    const Op op = info.instrs[k].op;
    if (op == Op::RERAISE) return static_cast<int>(k);
    if (op != Op::SWAP && op != Op::POP_TOP && op != Op::STORE_FAST) break;
  }
  return -1;
}

// The innermost handler of an instruction that its author wrote.
inline const Handler* written_handler_of(const CodeInfo& info, int instr) {
  const Handler* h = info.handler_of(instr);
  while (h) {
    const int end = end_of_restoring(info, h->target);
    if (end < 0) break;
    h = info.handler_of(end);
  }
  return h;
}

}  // namespace pijit
