// The code generators are really used: a kernel of common ops is covered on every instruction set.
#include <gtest/gtest.h>

#include <array>
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
        // Reductions of 4-byte lanes beside 8-byte ones are left to the interpreter.
        if (combiner != Combiner::kNone && !generated) continue;
        ASSERT_NE(nullptr, generated) << isa << " " << c.name;
        EXPECT_EQ(run(block_inner_loop(s)), run(generated))
            << isa << " " << c.name << " " << static_cast<int>(c.out);
      }
    }
  }
}

// Random bits of the vector kernel and of the reference, at sizes around those of its blocks, with
// counters beyond 32 bits.
TEST(Random, VectorKernelMatchesReference) {
  for (int64_t n : {1, 3, 4, 63, 64, 65, 1000, 4099, 300001})
    for (auto state : {std::array<int64_t, 2>{0, 0},
                       {7, 1},
                       {0x123456789abcdef0, 0x7edcba9876543210},
                       {-1, -1}}) {
      auto run = [&](const char* backend) {
        config().backend = backend;
        const KernelRequest r{OpTable::get().at("random_bits"),
                              {Dims{n}},
                              {Type{DType::I64, Shape{2}}},
                              {true},
                              Type{DType::U32, Shape{n}}};
        std::vector<uint32_t> out(n + 1, 7);
        const void* in[] = {state.data()};
        KernelRegistry::get().make(r)->run(in, out.data());
        config().backend = "cpu";
        return out;
      };
      EXPECT_EQ(run("cpu"), run("reference")) << n;
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
    const Attrs attrs{Dims{2, 2}, Dims{2, 2}, Dims{0, 0, 0, 0}};
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

// Windows of any size, stride and padding; equal values, infinities, NaN, zeros of both signs.
TEST(Pool, SeparableKernelsMatchReference) {
  struct Case {
    std::vector<int64_t> kernel, stride, pad;
    int64_t h, w;
  };
  const std::vector<Case> cases = {
      {{3, 2}, {2, 1}, {1, 0, 1, 1}, 7, 9},   {{3, 3}, {2, 2}, {0, 0, 0, 0}, 56, 56},
      {{3, 3}, {2, 2}, {1, 1, 1, 1}, 15, 33}, {{3, 3}, {1, 1}, {1, 1, 1, 1}, 8, 8},
      {{2, 5}, {3, 3}, {0, 1, 2, 2}, 11, 40}, {{1, 1}, {2, 2}, {0, 0, 0, 0}, 5, 17},
      {{5, 4}, {1, 2}, {2, 2, 1, 2}, 6, 3}};
  const float inf = std::numeric_limits<float>::infinity(), nan = std::nanf("");
  for (auto& c : cases)
    for (int fill = 0; fill < 4; ++fill) {
      const Type x{DType::F32, Shape{2, 3, c.h, c.w}};
      std::vector<float> in(x.shape.numel());
      for (size_t i = 0; i < in.size(); ++i) {
        const size_t hash = i * 2654435761u >> 7;
        in[i] = fill == 0   ? static_cast<float>(hash % 1000) - 500
                : fill == 1 ? (hash % 3 ? (hash % 2 ? 0.0f : -0.0f) : -1.0f)
                : fill == 2 ? (hash % 5 ? static_cast<float>(hash % 4) : nan)
                            : (hash % 4   ? -inf
                               : hash % 8 ? nan
                                          : inf);
      }
      for (const char* kind : {"max_pool2d", "avg_pool2d"}) {
        const bool max = kind[0] == 'm';
        if (!max && fill > 1) continue;  // sums of the reference are exact in double only
        Attrs attrs;
        for (auto* part : {&c.kernel, &c.stride, &c.pad})
          attrs.push_back(Dims(part->begin(), part->end()));
        if (!max) attrs.push_back(fill == 1);
        const OpDef& op = OpTable::get().at(kind);
        const Type* types[] = {&x};
        const Type y = op.infer(InferCtx{{op, attrs}, types});
        std::vector<float> dy(y.shape.numel());
        for (size_t i = 0; i < dy.size(); ++i) dy[i] = static_cast<float>(i % 7) - 3;
        auto run = [&](const std::string& name, std::vector<Type> in_types, const Type& out,
                       std::vector<const void*> args) {
          std::vector<std::vector<float>> results;
          for (const char* backend : {"cpu", "reference"}) {
            config().backend = backend;
            const KernelRequest r{OpTable::get().at(name), attrs, in_types,
                                  std::vector<bool>(in_types.size(), true), out};
            results.emplace_back(out.shape.numel(), 7.0f);
            KernelRegistry::get().make(r)->run(args.data(), results.back().data());
          }
          config().backend = "cpu";
          for (size_t i = 0; i < results[0].size(); ++i) {
            const float a = results[0][i], b = results[1][i];
            const bool near = std::abs(a - b) <= 1e-6f * std::max(1.0f, std::abs(b)) * 200;
            EXPECT_TRUE(max ? a == b || (std::isnan(a) && std::isnan(b)) : near)
                << name << " " << c.h << " x " << c.w << " fill " << fill << " at " << i << ": "
                << a << " and " << b;
          }
        };
        run(kind, {x}, y, {in.data()});
        if (max) run("max_pool2d_dx", {x, y}, x, {in.data(), dy.data()});
      }
    }
}

}  // namespace
}  // namespace pijit
