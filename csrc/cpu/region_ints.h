// Machine code that reads CPython's ints as they lie in memory.
#pragma once
#include <asmjit/x86.h>

#include <functional>
#include <vector>

#include "cpu/code.h"
#include "region/ir.h"

namespace pijit {

// kLoadInt. Ints of up to one digit are read here; others where code lies that is seldom run, which
// `late` emits.
void load_int(x86::Compiler& cc, x86::Gp object, x86::Gp to, const region::Instr& in,
              asmjit::Label beyond, std::vector<std::function<void()>>* late);

}  // namespace pijit
