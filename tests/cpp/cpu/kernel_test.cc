// The fast kernels of single ops against the reference.
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstring>

#include "base/config.h"
#include "cpu/cpu.h"
#include "runtime/device.h"
#include "graph/graph.h"

namespace pijit {
namespace {

bool same_bits(const std::vector<float>& a, const std::vector<float>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
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
        device(DeviceId{}).kernels.make(r)->run(in, out.data());
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
      device(DeviceId{}).kernels.make(r)->run(args.data(), result.data());
      config().backend = "cpu";
      return result;
    };
    const Type tx{DType::F32, x}, ty{DType::F32, y};
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
            device(DeviceId{}).kernels.make(r)->run(args.data(), results.back().data());
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

// Each bit is the same in both layouts, whichever kernels serve them: maps small and large, windows
// that overlap or not, signed zeros, NaN and infinities.
TEST(Pool, LayoutsAgreeInEachBit) {
  struct Case {
    int64_t channels, h, w, kernel, stride, pad;
  };
  const int64_t b = channel_block();
  if (!b) GTEST_SKIP() << "no blocks of channels on this processor";
  for (const Case& c : {Case{32, 8, 8, 2, 2, 0},
                        {16, 40, 36, 2, 2, 0},
                        {16, 9, 7, 3, 2, 1},
                        {48, 35, 37, 3, 1, 1},
                        {16, 70, 70, 3, 3, 1},
                        {32, 7, 7, 7, 7, 0},
                        {16, 14, 13, 5, 1, 2},
                        {16, 66, 65, 5, 4, 2},
                        {16, 1, 19, 3, 2, 1}})
    for (int fill = 0; fill < 4; ++fill) {
      const int64_t kh = std::min(c.kernel, c.h), ph = kh == 1 ? 0 : c.pad;
      const Type x{DType::F32, Shape{3, c.channels, c.h, c.w}};
      const Attrs attrs{Dims{kh, c.kernel}, Dims{c.stride, c.stride}, Dims{ph, ph, c.pad, c.pad}};
      const Type* types[] = {&x};
      const OpDef& op = OpTable::get().at("max_pool2d");
      const Type y = op.infer(InferCtx{{op, attrs}, types});
      auto values = [&](const Type& t, size_t seed) {
        std::vector<float> v(t.shape.numel());
        for (size_t i = 0; i < v.size(); ++i) {
          const size_t hash = (i + seed) * 2654435761u >> 7;
          v[i] = fill == 0   ? static_cast<float>(hash % 100003) / 5e4f - 1
                 : fill == 1 ? (hash % 3 ? (hash % 2 ? 0.0f : -0.0f) : -1.0f)
                 : fill == 2 ? (hash % 7 ? static_cast<float>(hash % 4) : std::nanf(""))
                             : (hash % 5 ? -std::numeric_limits<float>::infinity() : -1.0f);
        }
        return v;
      };
      const auto in = values(x, 1), dy = values(Type{DType::F32, y.shape}, 77);
      // [N,C,H,W] to [N,C/b,H,W,b], or back.
      auto turn = [&](const std::vector<float>& v, const Type& t, bool to_blocks) {
        std::vector<float> r(v.size());
        const int64_t pixels = t.shape[2] * t.shape[3], channels = t.shape[1];
        for (int64_t k = 0; k < static_cast<int64_t>(v.size()); ++k) {
          const int64_t p = k % pixels, ch = k / pixels % channels, n = k / pixels / channels;
          const int64_t at = ((n * channels + ch / b * b) * pixels) + p * b + ch % b;
          to_blocks ? r[at] = v[k] : r[k] = v[at];
        }
        return r;
      };
      auto blocks = [&](const Type& t) {
        return Type{t.dtype, Shape{t.shape[0], t.shape[1] / b, t.shape[2], t.shape[3], b}};
      };
      auto check = [&](const char* name, Attrs a, const std::vector<Type>& ts, const Type& out,
                       const std::vector<std::vector<float>>& args) {
        std::vector<float> results[2];
        for (int layout = 0; layout < 2; ++layout) {
          std::vector<Type> t;
          std::vector<std::vector<float>> data;
          std::vector<const void*> p;
          for (size_t k = 0; k < ts.size(); ++k) {
            t.push_back(layout ? blocks(ts[k]) : ts[k]);
            data.push_back(layout ? turn(args[k], ts[k], true) : args[k]);
          }
          for (auto& d : data) p.push_back(d.data());
          Attrs full = a;
          if (layout) full.emplace_back(b);
          const KernelRequest r{OpTable::get().at(str_cat(name, layout ? "_blocked" : "")), full, t,
                                std::vector<bool>(t.size(), true), layout ? blocks(out) : out};
          results[layout].assign(out.shape.numel(), 7.0f);
          device(DeviceId{}).kernels.make(r)->run(p.data(), results[layout].data());
          if (layout) results[1] = turn(results[1], out, false);
        }
        EXPECT_TRUE(same_bits(results[0], results[1]))
            << name << " " << c.h << "x" << c.w << " kernel " << c.kernel << " fill " << fill;
      };
      check("max_pool2d", attrs, {x}, y, {in});
      check("max_pool2d_dx", attrs, {x, y}, x, {in, dy});
      for (bool count_pad : {false, true}) {
        Attrs avg = attrs;
        avg.push_back(count_pad);
        check("avg_pool2d", avg, {x}, y, {in});
        avg.push_back(x.shape.dims());
        check("avg_pool2d_dx", avg, {y}, x, {dy});
      }
    }
}

// Convolutions of float64 by patches: windows that leave the input on every side, strides that do
// not divide, dilation, groups, slabs of several rows and of one.
TEST(Conv, PatchesMatchReference) {
  struct Case {
    std::vector<int64_t> x, w, stride, pad, dilation;
    int64_t group;
  };
  const std::vector<Case> cases = {
      {{2, 3, 7, 9}, {4, 3, 3, 3}, {1, 1}, {1, 1, 1, 1}, {1, 1}, 1},
      {{3, 4, 8, 5}, {6, 2, 3, 2}, {2, 3}, {2, 0, 1, 3}, {1, 1}, 2},
      {{1, 5, 12, 11}, {5, 1, 3, 4}, {1, 2}, {3, 3, 5, 4}, {2, 3}, 5},
      {{2, 8, 60, 60}, {3, 8, 5, 5}, {1, 1}, {2, 2, 2, 2}, {1, 1}, 1},
      {{1, 2, 3, 3}, {2, 2, 3, 3}, {1, 1}, {0, 0, 0, 0}, {1, 1}, 1},
      {{2, 1, 1, 40}, {1, 1, 1, 5}, {1, 4}, {0, 0, 6, 9}, {1, 2}, 1},
      {{1, 200, 6, 300}, {2, 200, 3, 3}, {1, 1}, {1, 1, 1, 1}, {1, 1}, 1}};
  for (const Case& c : cases) {
    const Attrs attrs{Dims(c.stride.begin(), c.stride.end()), Dims(c.pad.begin(), c.pad.end()),
                      Dims(c.dilation.begin(), c.dilation.end()), c.group};
    const Type x{DType::F64, Shape(c.x)}, w{DType::F64, Shape(c.w)};
    const OpDef& op = OpTable::get().at("conv2d");
    const Type* types[] = {&x, &w, nullptr};
    const Type y = op.infer(InferCtx{{op, attrs}, types}), bias{DType::F64, Shape{c.w[0]}};
    auto numbers = [](const Type& t, int seed) {
      std::vector<double> v(t.shape.numel());
      for (size_t i = 0; i < v.size(); ++i)
        v[i] = static_cast<double>((i + 1) * 2654435761u * seed >> 9 & 1023) / 512 - 1;
      return v;
    };
    const auto xs = numbers(x, 1), ws = numbers(w, 3), ys = numbers(y, 5), bs = numbers(bias, 7);
    auto check = [&](const char* name, const Attrs& a, std::vector<Type> in, const Type& out,
                     std::vector<const void*> args) {
      std::vector<bool> present;
      for (auto* p : args) present.push_back(p != nullptr);
      std::vector<std::vector<double>> results;
      for (const char* backend : {"cpu", "reference"}) {
        config().backend = backend;
        const KernelRequest r{OpTable::get().at(name), a, in, present, out};
        results.emplace_back(int64_t{out.shape.numel()}, 7.0);
        device(DeviceId{}).kernels.make(r)->run(args.data(), results.back().data());
      }
      config().backend = "cpu";
      double worst = 0;
      for (size_t i = 0; i < results[0].size(); ++i)
        worst = std::max(worst, std::abs(results[0][i] - results[1][i]));
      EXPECT_LT(worst, 1e-9) << name << " " << x.str() << " " << w.str();
    };
    auto with_shape = [&](const Type& t) {
      Attrs a = attrs;
      a.push_back(t.shape.dims());
      return a;
    };
    check("conv2d", attrs, {x, w, bias}, y, {xs.data(), ws.data(), nullptr});
    check("conv2d", attrs, {x, w, bias}, y, {xs.data(), ws.data(), bs.data()});
    check("conv2d_dx", with_shape(x), {y, w}, x, {ys.data(), ws.data()});
    check("conv2d_dw", with_shape(w), {x, y}, w, {xs.data(), ys.data()});
  }
}

}  // namespace
}  // namespace pijit
