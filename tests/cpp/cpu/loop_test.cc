// The code generators are really used: a kernel of common ops is covered on every instruction set.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <functional>

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
    for (auto t : {DType::F16, DType::BF16})
      EXPECT_NE(nullptr, asmjit_inner_loop(spec_of({"exp", "add", "tanh"}, t))) << isa;
    config().isa = "";
  }
}

// Unsigned 32-bit lanes: the generated code against the block interpreter, to the bit.
TEST(Loop, UnsignedLanes) {
  constexpr DType kU32 = DType::U32;
  std::vector<uint32_t> x(53), y(53), shift(53);
  for (uint32_t i = 0; i < x.size(); ++i) {
    x[i] = i % 7 == 0 ? 0xffffffffu - i : i * 2654435761u;
    y[i] = i % 5 == 0 ? x[i] : (i * 40503u) << (i % 17);
    shift[i] = i % 40;
  }
  struct Case {
    const char* name;
    DType out;
    std::function<SVal(SBuilder&, SVal, SVal, SVal)> make;
  };
  auto sop = [](SOp op, DType t) {
    return [=](SBuilder& sb, SVal a, SVal b, SVal) { return sb.op(op, t, a, b); };
  };
  auto shifted = [](SOp op) {
    return [=](SBuilder& sb, SVal a, SVal, SVal n) { return sb.op(op, kU32, a, n); };
  };
  auto cast_to = [](DType t) {
    return [=](SBuilder&, SVal a, SVal, SVal) { return s_cast(a, t); };
  };
  std::vector<Case> cases = {{"shift left", kU32, shifted(SOp::kShl)},
                             {"shift right", kU32, shifted(SOp::kShr)}};
  for (SOp op :
       {SOp::kAdd, SOp::kSub, SOp::kMul, SOp::kMin, SOp::kMax, SOp::kAnd, SOp::kOr, SOp::kXor})
    cases.push_back({"arithmetic", kU32, sop(op, kU32)});
  for (SOp op : {SOp::kEq, SOp::kNe, SOp::kLt, SOp::kLe, SOp::kGt, SOp::kGe})
    cases.push_back({"comparison", DType::Bool, sop(op, DType::Bool)});
  for (DType t : {DType::F32, DType::F64, DType::I32, DType::I64, DType::Bool, DType::I8,
                  DType::U16, DType::F16})
    cases.push_back({"cast", t, cast_to(t)});
  for (DType t : {DType::I32, DType::I64, DType::I8, DType::U16, DType::Bool})
    cases.push_back({"cast and back", kU32,
                     [=](SBuilder&, SVal a, SVal, SVal) { return s_cast(s_cast(a, t), kU32); }});
  for (const Case& c : cases) {
    SBuilder sb;
    const SVal r = c.make(sb, sb.input(0, kU32), sb.input(1, kU32), sb.input(2, kU32));
    for (auto combiner : {Combiner::kNone, Combiner::kSum, Combiner::kMax, Combiner::kMin}) {
      if (combiner != Combiner::kNone && c.out != kU32) continue;
      InnerSpec s;
      s.form = combiner == Combiner::kNone ? LoopSpec::kMap : LoopSpec::kRow;
      s.body = sb.nodes;
      s.in_types = {kU32, kU32, kU32};
      s.in_strides = {1, 1, 1};
      s.out_strides = {1};
      LoopOutput o;
      o.dt = c.out;
      o.node = r.id;
      o.combine = combiner;
      s.out = {o};
      auto run = [&](const std::shared_ptr<const InnerLoop>& loop) {
        std::vector<uint64_t> result(x.size());
        if (combiner != Combiner::kNone) result[0] = combiner_identity(combiner, c.out);
        char* ptrs[] = {reinterpret_cast<char*>(x.data()), reinterpret_cast<char*>(y.data()),
                        reinterpret_cast<char*>(shift.data()),
                        reinterpret_cast<char*>(result.data())};
        loop->run(ptrs, static_cast<int64_t>(x.size()));
        return result;
      };
      for (const char* isa : {"avx512", "avx2"}) {
        if (std::string(isa) == "avx512" && !__builtin_cpu_supports("avx512bw")) continue;
        config().isa = isa;
        const auto generated = asmjit_inner_loop(s);
        config().isa = "";
        ASSERT_NE(nullptr, generated) << isa << " " << c.name;
        EXPECT_EQ(run(block_inner_loop(s)), run(generated))
            << isa << " " << c.name << " " << static_cast<int>(c.out);
      }
    }
  }
}

}  // namespace
}  // namespace pijit
