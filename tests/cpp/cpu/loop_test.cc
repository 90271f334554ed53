// The code generators are really used: a kernel of common ops is covered on every instruction set.
#include <gtest/gtest.h>

#include "base/config.h"
#include "cpu/cpu.h"
#include "graph/graph.h"

namespace pijit {
namespace {

InnerSpec spec_of(std::initializer_list<const char*> ops, DType t) {
  SBuilder sb;
  SVal x = sb.input(0, t);
  for (const char* name : ops) {
    const OpDef& op = OpTable::get().at(name);
    x = build_scalar(sb, op, {}, std::vector<SVal>(op.inputs.size(), x), x.dtype());
  }
  InnerSpec s;
  s.form = LoopSpec::kMap;
  s.body = sb.nodes;
  s.in_types = {t};
  s.in_strides = {1};
  s.out_strides = {1};
  LoopOutput o;
  o.dt = t;
  o.node = x.id;
  s.out = {o};
  return s;
}

TEST(Loop, CodeIsGeneratedForEveryInstructionSet) {
  for (const char* isa : {"avx512", "avx2"}) {
    if (std::string(isa) == "avx512" && !__builtin_cpu_supports("avx512bw")) continue;
    config().isa = isa;
    for (auto t : {DType::F32, DType::F64})
      EXPECT_NE(nullptr, asmjit_inner_loop(spec_of({"exp", "log", "tanh", "add", "mul"}, t)))
          << isa;
    for (auto t : {DType::I32, DType::I64})
      EXPECT_NE(nullptr, asmjit_inner_loop(spec_of({"add", "mul", "maximum"}, t))) << isa;
    config().isa = "";
  }
}

}  // namespace
}  // namespace pijit
