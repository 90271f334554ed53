// The code generators are really used: a kernel of common ops is covered on every instruction set.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

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

// The vector kernel and the reference choose the same maxima, whatever the sizes and values.
TEST(Pool, VectorKernelMatchesReference) {
  for (auto [h, w] : {std::pair{2, 2}, {4, 10}, {5, 7}, {28, 28}, {6, 33}, {3, 16}}) {
    const Shape x{2, 3, h, w}, y{2, 3, h / 2, w / 2};
    std::vector<float> in(x.numel()), dy(y.numel());
    for (size_t i = 0; i < in.size(); ++i) {
      const size_t k = i * 2654435761u >> 7;
      in[i] = k % 11 == 0 ? std::nanf("") : static_cast<float>(k % 5) - 2.0f;  // ties, too
    }
    for (size_t i = 0; i < dy.size(); ++i) dy[i] = i % 4 ? static_cast<float>(i) : -0.0f;
    const Attrs attrs{std::vector<int64_t>{2, 2}, std::vector<int64_t>{2, 2},
                      std::vector<int64_t>{0, 0, 0, 0}};
    auto run = [&](const char* name, std::vector<Type> types, const Type& out,
                   std::vector<const void*> args, const char* backend) {
      config().backend = backend;
      const KernelRequest r{OpTable::get().at(name), attrs, types,
                            std::vector<bool>(types.size(), true), out};
      std::vector<float> result(out.shape.numel(), 7.0f);
      KernelRegistry::get().make(r)->run(args.data(), result.data());
      config().backend = "cpu";
      return result;
    };
    const Type tx{DType::F32, x}, ty{DType::F32, y};
    auto same_bits = [](const std::vector<float>& a, const std::vector<float>& b) {
      return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * 4) == 0;
    };
    EXPECT_TRUE(same_bits(run("max_pool2d", {tx}, ty, {in.data()}, "cpu"),
                          run("max_pool2d", {tx}, ty, {in.data()}, "reference")))
        << h << " x " << w;
    EXPECT_TRUE(same_bits(run("max_pool2d_dx", {tx, ty}, tx, {in.data(), dy.data()}, "cpu"),
                          run("max_pool2d_dx", {tx, ty}, tx, {in.data(), dy.data()}, "reference")))
        << h << " x " << w;
  }
}

TEST(Pool, SeparableKernelMatchesReference) {
  const std::vector<int64_t> k{3, 2}, stride{2, 1}, pad{1, 0, 1, 1};
  const Attrs attrs{k, stride, pad};
  const Type x{DType::F32, Shape{1, 2, 7, 9}};
  std::vector<float> in(x.shape.numel());
  for (size_t i = 0; i < in.size(); ++i)
    in[i] = i % 13 == 5 ? std::nanf("") : static_cast<float>(i * 7 % 10);
  const OpDef& op = OpTable::get().at("max_pool2d");
  const Type* types[] = {&x};
  const Type y = op.infer(InferCtx{{op, attrs}, types});
  std::vector<float> out[2];
  for (int i = 0; i < 2; ++i) {
    config().backend = i ? "reference" : "cpu";
    out[i].resize(y.shape.numel());
    const void* args[] = {in.data()};
    KernelRegistry::get().make({op, attrs, {x}, {true}, y})->run(args, out[i].data());
  }
  config().backend = "cpu";
  for (size_t i = 0; i < out[0].size(); ++i)
    EXPECT_TRUE(out[0][i] == out[1][i] || (std::isnan(out[0][i]) && std::isnan(out[1][i]))) << i;
}

}  // namespace
}  // namespace pijit
