// Compiled programs against the reference backend, bit for bit.
#include "compile/compile.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#if defined(__x86_64__)
#include <cpuid.h>
#endif

#include <cmath>
#include <cstring>
#include <random>

#include "base/config.h"
#include "compile/fusion.h"
#include "compile/passes/passes.h"
#include "graph/vals.h"
#include "base/gil.h"

namespace pijit {
namespace {

ArrayRef random_array(const Type& t, int seed) {
  ArrayRef a = new_array(t);
  std::mt19937 rng(seed);
  std::normal_distribution<float> d;
  for (int64_t i = 0; i < t.shape.numel(); ++i) {
    const float v = d(rng);
    if (t.dtype == DType::F32) static_cast<float*>(a->data())[i] = v;
    if (t.dtype == DType::F64) static_cast<double*>(a->data())[i] = v;
    if (t.dtype == DType::I32) static_cast<int32_t*>(a->data())[i] = static_cast<int>(v * 100);
    if (t.dtype == DType::I64) static_cast<int64_t*>(a->data())[i] = static_cast<int>(v * 100);
    if (t.dtype == DType::F16) static_cast<uint16_t*>(a->data())[i] = float_to_half(v);
    if (t.dtype == DType::BF16) static_cast<uint16_t*>(a->data())[i] = float_to_bf16(v);
    if (t.dtype == DType::Bool) static_cast<uint8_t*>(a->data())[i] = v > 0;
  }
  return a;
}

// A copy whose last byte lies before a page that must not be touched.
ArrayRef before_a_guard(const ArrayRef& a) {
  struct Mapping {
    char* p;
    size_t bytes;
  };
  const size_t page = 4096, bytes = static_cast<size_t>(a->type.bytes());
  const size_t size = (bytes + page - 1) / page * page;
  auto* p = static_cast<char*>(
      mmap(nullptr, size + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  PIJIT_CHECK(p != MAP_FAILED && mprotect(p + size, page, PROT_NONE) == 0, "no guarded memory");
  std::memcpy(p + size - bytes, a->data(), bytes);
  return new_external_array(
      a->type, p + size - bytes,
      [](void* of) {
        auto* m = static_cast<Mapping*>(of);
        munmap(m->p, m->bytes);
        delete m;
      },
      new Mapping{p, size + page});
}

std::vector<ArrayRef> run(const Graph& g, const std::vector<ArrayRef>& in) {
  auto p = compile(g);
  std::vector<Array*> raw;
  for (auto& a : in) raw.push_back(a.get());
  std::vector<ArrayRef> out(p->outputs.size());
  p->run(raw, nullptr, out.data());
  return out;
}

// Fused code, unfused code and the block interpreter agree to the bit.
void expect_modes_agree(const Graph& g) {
  config().verify = true;
  std::vector<ArrayRef> in;
  for (auto id : g.inputs())
    in.push_back(before_a_guard(random_array(g.node(id).type, static_cast<int>(id) + 1)));
  const auto fused = run(g, in);
  for (int bytes : {64, 3000}) {
    config().tile_bytes = bytes;
    const auto tiled = run(g, in);
    for (size_t k = 0; k < fused.size(); ++k)
      EXPECT_EQ(0, std::memcmp(fused[k]->data(), tiled[k]->data(), fused[k]->type.bytes()))
          << "tiles of " << bytes << " bytes changed output " << k << "\n"
          << g.print();
  }
  config().isa = "avx2";
  const auto narrow = run(g, in);
  config().isa = "";
  for (size_t k = 0; k < fused.size(); ++k)
    EXPECT_EQ(0, std::memcmp(fused[k]->data(), narrow[k]->data(), fused[k]->type.bytes()))
        << "AVX2 code in tiles changed output " << k << "\n"
        << g.print();
  for (int bytes : {64, 65536}) {
    config().tile_bytes = bytes;
    config().cache_bytes = 64;
    const auto large = run(g, in);  // as if nothing fitted in the cache
    for (size_t k = 0; k < fused.size(); ++k)
      EXPECT_EQ(0, std::memcmp(fused[k]->data(), large[k]->data(), fused[k]->type.bytes()))
          << "storing around the cache, or slices, changed output " << k << "\n"
          << g.print();
  }
  config().cache_bytes = 0;
  config().fuse = false;
  const auto unfused = run(g, in);
  config().isa = "avx2";
  const auto avx2 = run(g, in);
  config().isa = "none";
  const auto block = run(g, in);
  config().fuse = true;
  config().isa = "";
  for (size_t k = 0; k < fused.size(); ++k) {
    const size_t bytes = fused[k]->type.bytes();
    EXPECT_EQ(0, std::memcmp(fused[k]->data(), unfused[k]->data(), bytes))
        << "fusion changed output " << k << "\n"
        << g.print();
    EXPECT_EQ(0, std::memcmp(avx2[k]->data(), block[k]->data(), bytes))
        << "AVX2 code differs from the interpreter, output " << k << "\n"
        << g.print();
    EXPECT_EQ(0, std::memcmp(fused[k]->data(), block[k]->data(), bytes))
        << "code differs from the interpreter, output " << k << "\n"
        << g.print();
  }
}

class Sizes : public testing::TestWithParam<std::pair<int64_t, int64_t>> {};
TEST_P(Sizes, ElementwiseAndReductions) {
  auto [m, n] = GetParam();
  Graph g;
  Val x = g.add_input({DType::F32, Shape{m, n}}), b = g.add_input({DType::F32, Shape{n}}),
      s = g.add_input({DType::F32, Shape{}});
  Val h = v_op("tanh", x * s + b);
  Val e = v_op("exp", h) - v_op("log", v_op("abs", x) + 1.0);
  const Val shifted = v_op("exp", h - v_max(h, {1}, true));
  const Val soft = shifted / v_sum(shifted, {1}, true);
  for (Val v : {h, e, soft, v_sum(e, {}, false), v_sum(h, {0}, false), v_sum(h, {1}, true),
                v_max(e, {1}, false), v_max(e, {0}, false), v_op("erf", h), v_op("sin", x),
                v_op("sigmoid", h)})
    g.outputs.push_back({v.id});
  expect_modes_agree(g);
}
INSTANTIATE_TEST_SUITE_P(Shapes, Sizes,
                         testing::Values(std::pair{1, 1}, std::pair{3, 5}, std::pair{1, 16},
                                         std::pair{7, 17}, std::pair{33, 100}, std::pair{2, 9000},
                                         std::pair{300, 300}));

TEST(Compile, EveryElementwiseOp) {
  for (auto& op : OpTable::get().all()) {
    if (!op->has(kElementwise) || op->name == "broadcast_to") continue;
    for (DType t :
         {DType::F32, DType::F64, DType::I32, DType::I64, DType::Bool, DType::F16, DType::BF16}) {
      Graph g;
      std::vector<Val> in;
      for (size_t k = 0; k < op->inputs.size(); ++k)
        in.push_back(g.add_input({op->name == "select" && k == 0 ? DType::Bool : t, Shape{5, 23}}));
      std::vector<DType> targets = {t};
      if (op->name == "cast")
        targets = {DType::F32,  DType::F64, DType::I32, DType::I64,
                   DType::Bool, DType::F16, DType::BF16};
      for (DType target : targets) {
        Attrs a;
        if (op->name == "cast") a = {target};
        try {
          g.outputs.push_back({g.Builder::op(*op, in, a).id});
        } catch (const OpError&) {
          continue;  // the op does not take this dtype
        }
      }
      if (!g.outputs.empty()) expect_modes_agree(g);
    }
  }
}

TEST(Compile, MiddleAxesReduceInRuns) {
  Graph g;
  Val x = g.add_input({DType::F32, Shape{4, 3, 5, 6}}),
      s = g.add_input({DType::F32, Shape{1, 3, 1, 1}});
  for (Val v : {v_sum(x * s, {0, 2, 3}, false), v_sum(x, {1}, true), v_max(x - s, {0, 3}, false),
                v_sum(x, {2, 3}, false)})
    g.outputs.push_back({v.id});
  expect_modes_agree(g);
}

TEST(Compile, SumIsCorrect) {
  Graph g;
  Val x = g.add_input({DType::F32, Shape{3, 1000}});
  g.outputs = {{v_sum(x, {1}, false).id}, {v_sum(x, {0}, false).id}};
  auto in = random_array({DType::F32, Shape{3, 1000}}, 7);
  auto out = run(g, {in});
  const float* p = static_cast<float*>(in->data());
  for (int r = 0; r < 3; ++r) {
    double want = 0;
    for (int i = 0; i < 1000; ++i) want += p[r * 1000 + i];
    EXPECT_NEAR(static_cast<float*>(out[0]->data())[r], want, 1e-3);
  }
  for (int i = 0; i < 1000; ++i)
    EXPECT_NEAR(static_cast<float*>(out[1]->data())[i], p[i] + p[1000 + i] + p[2000 + i], 1e-5);
}

TEST(Fusion, MomentumUpdateIsOneKernelInPlace) {
  Graph g;
  const Type t{DType::F32, Shape{64, 32}};
  Val p = g.add_input(t), m = g.add_input(t), d = g.add_input(t),
      lr = g.add_input({DType::F32, Shape{}});
  Val m2 = m * 0.9 + d, p2 = p - lr * m2;
  g.outputs = {{m2.id, 1}, {p2.id, 0}};
  auto prog = compile(g);
  EXPECT_EQ(prog->steps.size(), 1u) << prog->describe();
  EXPECT_EQ(prog->output_buffers[0].donor, 1);
  EXPECT_EQ(prog->output_buffers[1].donor, 0);
  EXPECT_EQ(prog->arena_bytes, 0u);
}

Val part(Val x, Dims begin, Dims end, Dims step = {}) {
  if (step.empty()) step.assign(begin.size(), 1);
  return x.b->op("slice", {x}, {begin, end, step});
}

TEST(Fusion, SlicesAreReadWhereTheyLie) {
  Graph g;  // a five-point stencil
  Val x = g.add_input({DType::F32, Shape{40, 50}});
  Val c = part(x, {1, 1}, {39, 49});
  g.outputs = {{(c * -4.0 + part(x, {0, 1}, {38, 49}) + part(x, {2, 1}, {40, 49}) +
                 part(x, {1, 0}, {39, 48}) + part(x, {1, 2}, {39, 50}))
                    .id}};
  auto p = compile(g);
  EXPECT_EQ(p->steps.size(), 1u) << p->describe();
  expect_modes_agree(g);
}

TEST(Fusion, SlicesOfAllKinds) {
  for (DType t : {DType::F32, DType::F64, DType::I64, DType::I8, DType::U16, DType::Bool,
                  DType::F16, DType::BF16}) {
    Graph g;
    Val x = g.add_input({t, Shape{6, 20, 33}}), s = part(x, {1, 0, 3}, {6, 20, 20}, {2, 5, 1});
    Val all = part(x, {0, 0, 0}, {6, 20, 33}), none = part(x, {2, 0, 0}, {2, 20, 33});
    Val back = part(x, {5, 0, 0}, {-1, 20, 33}, {-1, 1, 1});
    Val column = part(x, {0, 3, 4}, {6, 4, 5}), again = part(s, {1, 1, 2}, {2, 3, 9});
    Val nan = v_op("not_equal", s, s);
    g.outputs = {{s.id}, {all.id}, {none.id}, {back.id}, {column.id}, {again.id}, {nan.id}};
    expect_modes_agree(g);
  }
}

#if defined(__x86_64__)
// Does the processor tell which registers are in use?
bool tells_registers_in_use() {
  unsigned a = 0, b = 0, c = 0, d = 0;
  return __get_cpuid_count(0xd, 1, &a, &b, &c, &d) && (a & 4);
}
unsigned registers_in_use() {
  unsigned low = 0, high = 0;
  asm volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(1));
  return low;
}

TEST(Kernels, LeaveNoUpperHalvesOfRegistersInUse) {
  if (!tells_registers_in_use()) GTEST_SKIP() << "the processor does not tell";
  Graph g;
  Val x = g.add_input({DType::F32, Shape{100}});
  g.outputs = {{(v_op("exp", x) * x + 1.0).id}, {v_sum(x * x, {0}, false).id}};
  constexpr unsigned kUpperHalves = 4;
  for (const char* isa : {"", "avx2"}) {
    config().isa = isa;
    run(g, {random_array(g.node(x.id).type, 1)});
    EXPECT_EQ(registers_in_use() & kUpperHalves, 0u) << isa;
  }
  config().isa = "";
}
#endif

TEST(Fusion, NumbersOfSingleElementsAreOneLoop) {
  for (DType t : {DType::F32, DType::F64, DType::I64, DType::I8, DType::F16, DType::Bool}) {
    Graph g;
    Val x = g.add_input({t, Shape{2, 3}}), y = g.add_input({t, Shape{}});
    auto element = [&](Val a, int row, int column) {
      return v_reshape(part(a, {row, column}, {row + 1, column + 1}), Shape{});
    };
    const bool bools = t == DType::Bool;
    auto both = [&](Val a, Val b) { return v_op(bools ? "logical_and" : "mul", a, b); };
    const Val a = element(x, 0, 0), b = element(x, 1, 2), c = element(x, 0, 1);
    const Val p = both(a, b), q = v_op("maximum", both(p, c), a), r = both(c, c);
    std::vector<Val> parts;
    for (const Val v : {p, q, r, b}) parts.push_back(v_reshape(v, Shape{1}));
    const Val all = g.Builder::op(OpTable::get().at("concat"), parts, {Dim(0)});
    g.outputs = {{all.id}, {p.id}, {both(q, y).id}, {v_op("equal", a, c).id}};
    if (t == DType::F64) {
      EXPECT_LE(compile(g)->steps.size(), 7u) << compile(g)->describe();
    }
    expect_modes_agree(g);
  }
}

// Rows end within a vector, at its end and after several; slices begin up to 9 elements apart.
TEST(Fusion, SlicesOfOneArrayAreReadOnce) {
  for (DType t : {DType::F32, DType::F64, DType::I32, DType::I64})
    for (int n : {1, 7, 8, 9, 15, 16, 17, 24, 31, 32, 33, 47, 64, 70, 129})
      for (const std::vector<int>& begins :
           {std::vector<int>{0, 1}, {2, 1, 0}, {0, 3, 7}, {0, 1, 8, 9}, {1, 5, 1}}) {
        Graph g;
        Val x = g.add_input({t, Shape{5, n + 9}}), y = g.add_input({DType::F32, Shape{3, n}});
        std::vector<Val> parts;
        for (int row : {0, 1})
          for (int b : begins) parts.push_back(part(x, {row, b}, {row + 3, b + n}));
        Val sum = parts[0];
        for (size_t k = 1; k < parts.size(); ++k)
          sum = sum * (t == DType::I32 || t == DType::I64 ? 3 : 0.5) + parts[k];
        g.outputs = {{sum.id},
                     {(v_sum(parts[1] * parts[0], {1}, false)).id},
                     {(v_cast(parts[1], DType::F32) * y).id}};
        EXPECT_LE(compile(g)->steps.size(), n > 1 ? 2u : 20u);
        expect_modes_agree(g);
      }
}

TEST(Fusion, SumsOverSlices) {
  Graph g;
  Val x = g.add_input({DType::F32, Shape{6, 20, 48}});
  Val rows = part(x, {0, 0, 16}, {6, 20, 32}), some = part(x, {0, 4, 0}, {6, 12, 48});
  std::vector<Val> out;
  for (Val s : {rows, some, rows * 2.0, some * 2.0})
    for (const Dims& axes : {Dims{2}, Dims{1}, Dims{1, 2}, Dims{0}, Dims{0, 1}, Dims{0, 1, 2}})
      out.push_back(v_sum(s, axes, true));
  for (Val v : out) g.outputs.push_back({v.id});
  expect_modes_agree(g);
}

TEST(Tiles, NormalisationRunsRowByRowWithoutFullTemporaries) {
  Graph g;
  const Type t{DType::F32, Shape{4, 100, 500}};
  Val x = g.add_input(t), w = g.add_input({DType::F32, Shape{500}});
  Val c = x - v_sum(x, {2}, true) / 500.0;
  Val y = c * v_op("rsqrt", v_sum(c * c, {2}, true) / 500.0 + 1e-5) * w;
  Val z = v_sum(v_op("tanh", y), {2}, false);
  g.outputs = {{y.id}, {z.id}, {(z * 2.0).id}};
  auto p = compile(g);
  EXPECT_EQ(p->steps.size(), 1u) << p->describe();
  EXPECT_EQ(p->arena_bytes, 0u) << p->describe();
  expect_modes_agree(g);
}

TEST(Tiles, LoopsOfAFewRowsAreOneFunction) {
  for (auto dt : {DType::F32, DType::F64})
    for (auto shape : {Shape{203, 333}, Shape{37, 3, 64}, Shape{1030, 17}, Shape{66, 4096}}) {
      Graph g;
      const int last = shape.rank() - 1;
      const auto n = static_cast<double>(int64_t{shape[last]});
      Val x = g.add_input({dt, shape}), y = g.add_input({dt, shape});
      Val w = g.add_input({dt, Shape{shape[last]}}), i = g.add_input({DType::I32, shape});
      auto mean = [&](Val v) { return v_sum(v, {last}, true) / n; };
      Val d = x - mean(x), inverse = v_op("rsqrt", mean(d * d) + 1e-5), h = d * inverse;
      Val t = y * w, top = v_max(h, {last}, true), e = v_op("exp", h - top);
      for (Val v : {h * w, inverse * (t - mean(t) - h * mean(t * h)), e / v_sum(e, {last}, true),
                    v_op("log", v_sum(e, {last}, true)) + top, d / v_op("sqrt", mean(d * d)),
                    v_sum(i, {last}, true) + i, v_op("lgamma", h) + mean(y)})
        g.outputs.push_back({v.id});
      expect_modes_agree(g);
      g.outputs.resize(1);
      expect_modes_agree(g);
    }
}

TEST(Tiles, EmptyTensors) {
  for (auto shape : {Shape{0, 3}, Shape{3, 0}, Shape{0}}) {
    Graph g;
    Val x = g.add_input({DType::F32, shape});
    Val y = x - v_sum(x, {-1}, true);
    g.outputs = {{y.id}, {v_sum(v_op("exp", y), {-1}, false).id}};
    expect_modes_agree(g);
  }
}

TEST(Tiles, ValuesThatOtherRowsNeedAreNotTiled) {
  Graph g;
  const Type t{DType::F32, Shape{200, 200}};
  Val x = g.add_input(t), b = g.add_input({DType::F32, Shape{200}});
  Val r = v_sum(x, {1}, false);  // one number per row ...
  Val y = v_op("tanh", x * r);   // ... along the columns of the next kernel
  Val s = v_sum(y, {1}, true) + b;
  Val u = v_sum(y, {0}, false) + r;
  g.outputs = {{y.id}, {s.id}, {(s * u).id}};
  expect_modes_agree(g);
}

TEST(Tiles, ADonatedInputIsOverwrittenOnlyWhereNoOtherTileReadsIt) {
  Graph own;  // every kernel reads row r of p for row r
  const Type t{DType::F32, Shape{64, 64}};
  Val p = own.add_input(t), d = own.add_input(t);
  own.outputs = {{(p - v_sum(p * d, {1}, true) * d).id, 0}};
  Graph all;  // the sums read all of v for each row, and rows of x twice
  Val v = all.add_input({DType::F32, Shape{64}}), x = all.add_input(t);
  all.outputs = {{(v - v_sum(v_sum(x * v, {1}, true) * x, {1}, false)).id, 0}};
  for (int bytes : {64, 1 << 20}) {
    config().tile_bytes = bytes;
    const bool tiled = bytes == 64;
    auto a = compile(own), b = compile(all);
    EXPECT_EQ(a->steps.size(), tiled ? 1u : 2u) << a->describe();
    EXPECT_EQ(b->steps.size(), tiled ? 1u : 3u) << b->describe();
    EXPECT_EQ(a->output_buffers[0].donor, 0) << a->describe();
    EXPECT_EQ(b->output_buffers[0].donor, tiled ? -1 : 0) << b->describe();
  }
  config().tile_bytes = 65536;
  expect_modes_agree(own);
  expect_modes_agree(all);
}

// Stencils of stencils: each loop computes rows that lie beside those of a tile, too.
TEST(Tiles, LoopsReadRowsBesideTheirOwn) {
  for (const Shape& shape : {Shape{1001}, Shape{203, 3}, Shape{97, 3, 2}}) {
    Graph g;
    Val x = g.add_input({DType::F32, shape});
    auto rows = [&](Val v, int64_t from, int64_t to) {
      Dims begin(shape.rank(), 0), end(g.node(v.id).type.shape.dims());
      begin[0] = from, end[0] = to;
      return part(v, begin, end);
    };
    auto step = [&](Val v) {
      const int64_t n = g.node(v.id).type.shape[0];
      return rows(v, 2, n) * 0.5 - rows(v, 0, n - 2) * v_op("tanh", rows(v, 1, n - 1));
    };
    Val a = step(x), b = step(a), c = step(b);
    g.outputs = {{c.id}};
    expect_modes_agree(g);
    config().tile_bytes = 64;
    for (int threads : {1, 2, 3}) {
      config().num_threads = threads;
      const auto p = compile(g);
      EXPECT_EQ(p->steps.size(), 1u) << p->describe();
      EXPECT_EQ(p->arena_bytes, 0u) << p->describe();
    }
    config().tile_bytes = 65536;
    config().num_threads = 0;
    g.outputs.push_back({b.id});  // it leaves: nobody else may write its rows
    expect_modes_agree(g);
  }
}

TEST(Tiles, LoopsThatShareLittleRunOneByOne) {
  Graph g;  // what is computed by row is small beside the map
  Val x = g.add_input({DType::F32, Shape{64, 640}}), v = g.add_input({DType::F32, Shape{64, 1}});
  g.outputs = {{((x - v) * v_op("rsqrt", v + 1e-5)).id}};
  config().tile_bytes = 64;
  const auto p = compile(g);
  EXPECT_EQ(p->steps.size(), 2u) << p->describe();
  config().tile_bytes = 65536;
  expect_modes_agree(g);
}

// Channels of a batch norm in [N,C,L], forward and backward; widths with and without tails.
TEST(Tiles, ABatchNormRunsByChannels) {
  for (int length : {1600, 333}) {
    Graph g;
    const Type t{DType::F32, Shape{3, 8, length}};
    Val x = g.add_input(t), dy = g.add_input(t), w = g.add_input({DType::F32, Shape{1, 8, 1}}),
        running = g.add_input({DType::F32, Shape{1, 8, 1}});
    const double n = 3.0 * length;
    auto mean = [&](Val v) { return v_sum(v_sum(v, {2}, true), {0}, true) / n; };
    Val m = mean(x), d = x - m, inverse = v_op("rsqrt", mean(d * d) + 1e-5), y = d * inverse;
    Val g1 = dy * w, dx = inverse * (g1 - mean(g1) - y * mean(g1 * y));
    g.outputs = {{(y * w).id}, {dx.id}, {(running * 0.9 + m * 0.1).id, 3}};
    expect_modes_agree(g);
    config().tile_bytes = 64;
    config().cache_bytes = 64;
    config().num_threads = 2;
    auto p = compile(g);
    EXPECT_EQ(p->steps.size(), 1u) << p->describe();
    config().num_threads = 3;  // tiles of three, three and two channels
    auto q = compile(g);
    EXPECT_EQ(q->steps.size(), 1u) << q->describe();
    std::vector<ArrayRef> in;
    for (auto id : g.inputs())
      in.push_back(random_array(g.node(id).type, static_cast<int>(id) + 1));
    const auto a = run(g, in);
    config().tile_bytes = 65536;
    config().cache_bytes = config().num_threads = 0;
    const auto b = run(g, in);
    for (size_t k = 0; k < a.size(); ++k)
      EXPECT_EQ(0, std::memcmp(a[k]->data(), b[k]->data(), a[k]->type.bytes())) << k;
  }
}

TEST(Tiles, AxesOfOneSizeAreToldApart) {
  Graph g;
  const Type t{DType::F32, Shape{16, 16, 16}};
  Val x = g.add_input(t), b = g.add_input({DType::F32, Shape{16, 1}});
  Val s = v_sum(x, {0}, true);                    // [1,16,16]
  Val r = v_sum(v_op("tanh", x - s), {2}, true);  // [16,16,1]
  Val u = v_sum(r, {0}, true) * b;                // [1,16,1]
  Val z = v_reshape(u, Shape{16});                // along the last axis now
  g.outputs = {{(x * u).id}, {(x * z).id}, {(s + z).id}};
  expect_modes_agree(g);
}

TEST(Tiles, LargeResultsAreStoredInPlaceOrAroundTheCache) {
  config().cache_bytes = 64;
  for (int n : {1000, 1024, 4096 * 3 + 16}) {
    Graph g;
    Val p = g.add_input({DType::F32, Shape{n}}), d = g.add_input({DType::F32, Shape{n}});
    Val i = g.add_input({DType::I64, Shape{n}});
    g.outputs = {
        {(p - d * 0.1).id, 0}, {(d + 1.0).id}, {(i + i).id}, {v_op("greater", d, d * 2.0).id}};
    expect_modes_agree(g);
    config().cache_bytes = 64;
    std::vector<ArrayRef> in;
    for (auto id : g.inputs())
      in.push_back(random_array(g.node(id).type, static_cast<int>(id) + 1));
    const auto want = run(g, in);
    const auto prog = compile(g);
    const Program::Give give[] = {Program::kGive, Program::kKeep, Program::kKeep};
    Array* raw[] = {in[0].get(), in[1].get(), in[2].get()};
    std::vector<ArrayRef> out(prog->outputs.size());
    prog->run(raw, give, out.data());
    EXPECT_EQ(out[0].get(), in[0].get());
    for (size_t k = 0; k < out.size(); ++k)
      EXPECT_EQ(0, std::memcmp(want[k]->data(), out[k]->data(), out[k]->type.bytes())) << k;
    // Given for good: the value is there, and nobody needs to be told where.
    in[0] = random_array(in[0]->type, 1);
    const auto second = run(g, in);
    raw[0] = in[0].get();
    const Program::Give for_good[] = {Program::kGiveForGood, Program::kKeep, Program::kKeep};
    out.assign(out.size(), {});
    prog->run(raw, for_good, out.data());
    EXPECT_FALSE(out[0]);
    EXPECT_EQ(0, std::memcmp(second[0]->data(), in[0]->data(), in[0]->type.bytes()));
  }
  config().cache_bytes = 0;
}

// A lock that others have at once.
struct LockOfTest {
  LockOfTest() {
    held = true, released = 0;
    gil = {[] { return true; }, [] { held = false, ++released; }, [] { held = true; }, nullptr};
  }
  ~LockOfTest() { gil = {}; }
  static inline bool held;
  static inline int released;
};

TEST(Unlocked, GivenMemoryIsWrittenWithTheLockAlone) {
  LockOfTest lock;
  Graph g;
  const Type t{DType::F32, Shape{64, 64}};
  const Val p = g.add_input(t), m = g.add_input(t), x = g.add_input(t);
  const Val moved = m * 0.9;  // given early on: read by what follows
  const Val d = g.Builder::op("matmul", {x, moved}, {false, false});
  const Val loss = v_sum(d, {0, 1}, false);
  g.outputs = {{(p - d * 0.1).id, 0}, {moved.id, 1}, {loss.id}};
  std::vector<ArrayRef> in;
  for (auto id : g.inputs()) in.push_back(random_array(g.node(id).type, static_cast<int>(id) + 1));
  const auto want = run(g, in);
  const auto program = compile(g);
  const ArrayRef before = random_array(t, static_cast<int>(p.id) + 1);  // in[0] as it is
  Array* raw[] = {in[0].get(), in[1].get(), in[2].get()};
  for (const bool kept : {true, false}) {
    Program::Give give[] = {Program::kGive, Program::kGive, Program::kKeep};
    std::vector<ArrayRef> out(program->outputs.size());
    const auto back = [&] {
      EXPECT_TRUE(lock.held);
      EXPECT_EQ(0, std::memcmp(before->data(), in[0]->data(), t.bytes()));  // so far
      if (kept) give[0] = Program::kKeep;  // somebody got hold of it
      return true;
    };
    EXPECT_TRUE(program->run_unlocked(raw, give, out.data(), back));
    EXPECT_EQ(kept, out[0].get() != in[0].get());
    EXPECT_NE(out[1].get(), in[1].get());
    for (size_t k = 0; k < out.size(); ++k)
      EXPECT_EQ(0, std::memcmp(want[k]->data(), out[k]->data(), out[k]->type.bytes())) << k;
  }
  EXPECT_EQ(2, lock.released);
}

TEST(Unlocked, ARunThatDoesNotCountChangesNothing) {
  LockOfTest lock;
  Graph g;
  const Val p = g.add_input({DType::F32, Shape{4096}});
  g.outputs = {{(p * 2.0).id, 0}};
  const auto program = compile(g);
  const ArrayRef in = random_array(g.node(p.id).type, 1),
                 before = random_array(g.node(p.id).type, 1);
  Array* raw[] = {in.get()};
  const Program::Give give[] = {Program::kGiveForGood};
  ArrayRef out;
  EXPECT_FALSE(program->run_unlocked(raw, give, &out, [] { return false; }));
  EXPECT_FALSE(out);
  EXPECT_EQ(0, std::memcmp(before->data(), in->data(), in->type.bytes()));
}

TEST(Unlocked, ProgramsThatTurnOutToBeShortKeepTheLock) {
  LockOfTest lock;
  Graph g;
  const Val x = g.add_input({DType::F32, Shape{4}});
  g.outputs = {{(x * 2.0).id}};
  const auto program = compile(g);
  const ArrayRef in = random_array(g.node(x.id).type, 1);
  Array* raw[] = {in.get()};
  ArrayRef out;
  EXPECT_TRUE(program->takes_long());  // nobody knows yet
  for (int k = 0; k < 50 && program->takes_long(); ++k) program->run_among_others(raw, &out);
  EXPECT_FALSE(program->takes_long());
  const int released = lock.released;
  program->run_among_others(raw, &out);
  EXPECT_EQ(released, lock.released);
}

// Their code is then the same, and compiled once.
TEST(Fusion, AChainOfLongFunctionsIsCutIntoEqualLoops) {
  Graph g;
  Val x = g.add_input({DType::F32, Shape{64, 64}});
  for (int i = 0; i < 100; ++i) x = g.Builder::op("sin", {x}) + x;
  g.outputs = {{x.id}};
  DeviceFacts facts;
  facts.loop_instructions = 400;
  const FusionPlan plan = plan_fusion(g, facts);
  ASSERT_GT(plan.groups.size(), 2u);
  for (auto& u : plan.groups) {
    EXPECT_EQ(g.node(u.nodes.front()).op->name, "sin");
    EXPECT_EQ(g.node(u.nodes.back()).op->name, "add");
    if (&u != &plan.groups.back()) {
      EXPECT_EQ(plan.groups.front().nodes.size(), u.nodes.size());
    }
  }
  expect_modes_agree(g);
}

TEST(Fusion, RefusesCycles) {
  Graph g;
  Val x = g.add_input({DType::F32, Shape{8, 8}});
  Val a = x * 2.0;
  Val b = g.Builder::op("matmul", {a, a}, {false, false});
  Val c = a + b;  // joining a's kernel would make it wait for itself
  g.outputs = {{c.id}, {(x / v_sum(x, {1}, true)).id}};
  expect_modes_agree(g);
}

TEST(Program, ViewsShareMemoryAndOutputsMayRepeat) {
  Graph g;
  Val x = g.add_input({DType::F32, Shape{4, 6}});
  Val y = v_op("neg", x), v = v_reshape(y, Shape{24});
  g.outputs = {{y.id}, {v.id}, {v_reshape(x, Shape{6, 4}).id}, {x.id}, {v.id}};
  auto in = random_array({DType::F32, Shape{4, 6}}, 1);
  auto out = run(g, {in});
  EXPECT_EQ(out[0]->data(), out[1]->data());
  EXPECT_EQ(out[2]->data(), in->data());
  EXPECT_EQ(out[2]->type.str(), "f32[6,4]");
  EXPECT_EQ(out[1]->type.str(), "f32[24]");
}

TEST(Kernels, BadIndicesThrow) {
  Graph g;
  Val x = g.add_input({DType::F32, Shape{3}}), i = g.add_input({DType::I64, Shape{1}});
  g.outputs = {{g.Builder::op("gather", {x, i}, {int64_t{0}}).id}};
  auto idx = new_array({DType::I64, Shape{1}});
  *static_cast<int64_t*>(idx->data()) = 5;
  auto xs = random_array({DType::F32, Shape{3}}, 1);
  EXPECT_THROW(run(g, {xs, idx}), OpError);
  *static_cast<int64_t*>(idx->data()) = -1;
  EXPECT_EQ(*static_cast<float*>(run(g, {xs, idx})[0]->data()), static_cast<float*>(xs->data())[2]);
}

TEST(Regions, RunWhatThePredicateChooses) {
  auto g = Graph::parse(R"(graph(%0: bool[], %1: f32[2], %2: f32[2]) {
    %3: u8[0] = cond(%0, %1, %2)
      region graph(%0: f32[2], %1: f32[2]) { %2: f32[2] = add(%0, %1) return %2, %0 }
      region graph(%0: f32[2], %1: f32[2]) { %2: f32[2] = sub(%0, %1) return %2, %1 }
    %4: f32[2] = result(%3) {index=0, dtype=f32, shape=(2)}
    %5: f32[2] = result(%3) {index=1, dtype=f32, shape=(2)}
    %6: f32[2] = mul(%4, %5)
    return %6, %4 })");
  for (bool p : {true, false}) {
    std::vector<ArrayRef> in = {scalar_array(DType::Bool, p),
                                random_array({DType::F32, Shape{2}}, 1),
                                random_array({DType::F32, Shape{2}}, 2)};
    const auto out = run(*g, in);
    auto at = [](const ArrayRef& a, int i) { return static_cast<const float*>(a->data())[i]; };
    for (int i = 0; i < 2; ++i) {
      const float x = at(in[1], i), y = at(in[2], i), first = p ? x + y : x - y;
      EXPECT_EQ(at(out[1], i), first);
      EXPECT_EQ(at(out[0], i), first * (p ? x : y));
    }
  }
}

TEST(Regions, ALoopRunsUntilItsConditionFails) {
  auto g = Graph::parse(R"(graph(%0: i64[], %1: i64[]) {
    %2: u8[0] = while_loop(%0, %1)
      region graph(%0: i64[], %1: i64[]) { %2: bool[] = less(%0, %1) return %2 }
      region graph(%0: i64[], %1: i64[]) { %2: i64[] = add(%0, %0) return %2, %1 }
    %3: i64[] = result(%2) {index=0, dtype=i64, shape=()}
    return %3 })");
  auto run1 = [&](int64_t a, int64_t b) {
    const auto out = run(*g, {scalar_array(DType::I64, static_cast<uint64_t>(a)),
                              scalar_array(DType::I64, static_cast<uint64_t>(b))});
    return *static_cast<const int64_t*>(out[0]->data());
  };
  EXPECT_EQ(run1(3, 50), 96);
  EXPECT_EQ(run1(60, 50), 60);
}

}  // namespace
}  // namespace pijit
