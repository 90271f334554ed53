// Up to CPython 3.10: from our stack, at one of our instructions, to a frame's stack and blocks.
#pragma once
#include "python/code.h"
#include "python/compat.h"

namespace pijit {

// Does what our instructions do that CPython has not, or not alone, until there is one that it has.
// False: an exception leaves the function meanwhile.
bool reach_instruction(const CodeInfo& code, int* instr, std::vector<py::object>* slots,
                       std::vector<py::object>* stack);
// The frame's stack, and its blocks, for our stack before an instruction.
std::vector<py::object> laid_out(const CodeInfo& code, int instr, std::vector<py::object> stack);
void set_blocks(_PyInterpreterFrame* frame, const CodeInfo& code, int instr);
// Runs a frame that somebody made; null: it raised.
PyObject* run_made_frame(_PyInterpreterFrame* frame);

// What a ResumeScope, the innermost, holds.
struct ResumeValues {
  std::vector<py::object> slots, stack;
  ResumeScope::Begins begins;
  bool filled = false;
  size_t at = 0;  // of the stack
};
ResumeValues take_resume_values();

}  // namespace pijit
