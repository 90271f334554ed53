// Generated CUDA C, taken for C++ by the host's compiler (host_shim.h) and run against the CPU's
// block interpreter: the same bits, for all ops of the table, all forms of loops, broadcasts,
// offsets, rows of several chunks. PIJIT_RANDOM_LOOPS sets how many.
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "../cpu/random_loop.h"
#include "base/config.h"
#include "cuda/emit.h"
#include "cuda/nvrtc.h"

namespace pijit {
namespace {

// A loop over random dims with random strides, and its operands' memory.
class Case {
 public:
  Case(LoopSpec s, uint32_t seed, std::string text)
      : spec(std::move(s)), text(std::move(text)), rng_(seed) {}

  // Body, dtypes and outputs of a random loop; dims and strides by its form.
  static Case random(uint32_t seed) {
    const RandomLoop r(seed);
    const InnerSpec& inner = r.spec();
    Case c({}, seed, r.text());
    c.spec.form = inner.form;
    c.spec.body = inner.body;
    switch (inner.form) {
      case LoopSpec::kMap:
        for (int k = c.pick(1, 3); k > 0; --k) c.spec.dims.push_back(c.pick(1, 9));
        c.spec.dims.back() = c.pick(1, 300);
        break;
      case LoopSpec::kRow:
        if (c.pick(0, 1)) c.spec.dims.push_back(c.pick(1, 3));
        c.spec.dims.push_back(c.pick(1, 5));
        c.spec.dims.push_back(c.pick(0, 4) == 0 ? c.pick(4090, 9000) : c.pick(0, 70));
        break;
      case LoopSpec::kCol:
        c.spec.dims = {c.pick(1, 3), c.pick(0, 3) ? c.pick(0, 20) : c.pick(1000, 2100),
                       c.pick(1, 40)};
        break;
    }
    for (size_t k = 0; k < inner.in_types.size(); ++k) {
      LoopOperand o{inner.in_types[k], c.strides([&](int) { return c.pick(0, 4) == 0; })};
      if (c.pick(0, 4) == 0) o.offset = c.pick(0, 40);
      if (c.pick(0, 8) == 0)
        for (auto& x : o.strides) x *= 2;
      c.spec.in.push_back(o);
    }
    for (auto& o : inner.out) c.add_output(o);
    return c;
  }
  void add_output(LoopOutput o) {
    const int rank = static_cast<int>(spec.dims.size());
    const int reduced = spec.form == LoopSpec::kRow ? rank - 1 : rank - 2;
    o.strides = strides([&](int d) { return o.combine != Combiner::kNone && d == reduced; });
    spec.out.push_back(o);
  }

  void make_memory() {
    auto reach = [&](const LoopOperand& o) {
      int64_t last = o.offset;
      for (size_t d = 0; d < spec.dims.size(); ++d)
        last += o.strides[d] * std::max<int64_t>(0, spec.dims[d] - 1);
      return last + 1;
    };
    for (auto& o : spec.in) in.push_back(RandomLoop::random_values(o.dt, reach(o), rng_));
    for (auto& o : spec.out) out.emplace_back(reach(o) * size_of(o.dt), 0xab);
  }
  std::vector<std::vector<uint8_t>> expected() {
    auto result = out;
    std::vector<const void*> i;
    std::vector<void*> o;
    for (auto& x : in) i.push_back(x.data());
    for (auto& x : result) o.push_back(x.data());
    config().isa = "none";
    LoopKernel(spec).run_alone(i.data(), o.data());
    config().isa = "";
    return canonical(result);
  }
  using Run = void (*)(const void* arguments, unsigned blocks, unsigned threads);
  std::vector<std::vector<uint8_t>> got(const cuda::Loop& loop, const std::string& name,
                                        void* library) {
    auto result = out;
    cuda::Arguments a = loop.arguments();
    size_t k = 0;
    for (auto& x : in) a.set_address(k++, x.data());
    for (auto& x : result) a.set_address(k++, x.data());
    std::vector<std::vector<uint8_t>> parts;
    for (size_t bytes : loop.partial_bytes()) {
      parts.emplace_back(bytes + 1, 0xcd);
      a.set_address(k++, parts.back().data());
    }
    for (auto& l : loop.launches(name)) {
      auto run = reinterpret_cast<Run>(dlsym(library, ("run_" + l.kernel).c_str()));
      EXPECT_NE(nullptr, run) << l.kernel;
      if (run) run(a.bytes.data(), std::min(l.blocks, 7u), l.threads);  // several turns each
    }
    return canonical(result);
  }

  LoopSpec spec;
  std::string text;
  std::vector<std::vector<uint8_t>> in, out;

 private:
  int pick(int low, int high) { return std::uniform_int_distribution<int>(low, high)(rng_); }
  template <class F>
  std::vector<int64_t> strides(F broadcast) {
    std::vector<int64_t> s(spec.dims.size());
    int64_t n = 1;
    for (size_t d = s.size(); d-- > 0;) {
      if (broadcast(static_cast<int>(d))) continue;
      s[d] = n;
      n *= std::max<int64_t>(1, spec.dims[d]);
    }
    return s;
  }
  std::vector<std::vector<uint8_t>> canonical(std::vector<std::vector<uint8_t>> v) const {
    for (size_t k = 0; k < v.size(); ++k) RandomLoop::one_nan(spec.out[k].dt, v[k]);
    return v;
  }
  std::mt19937 rng_;
};

// Reductions of every dtype and combiner, alone and two of different sizes in one loop.
std::vector<Case> reductions() {
  std::vector<Case> cases;
  uint32_t seed = 1;
  for (auto form : {LoopSpec::kRow, LoopSpec::kCol})
    for (int t = 0; t < kNumDTypes; ++t) {
      const auto dt = static_cast<DType>(t);
      if (is_half(dt) || info(dt).kind > kFloatKind) continue;
      LoopSpec s;
      s.form = form;
      s.dims =
          form == LoopSpec::kRow ? std::vector<int64_t>{3, 4500} : std::vector<int64_t>{2, 1100, 7};
      s.body = {{SOp::kInput, dt, -1, -1, -1, 0}, {SOp::kInput, DType::F64, -1, -1, -1, 1}};
      Case c(s, seed++, std::string(name_of(dt)));
      for (auto x : {dt, DType::F64}) {
        std::vector<int64_t> dense(s.dims.size(), 1);
        for (size_t d = dense.size() - 1; d-- > 0;) dense[d] = dense[d + 1] * s.dims[d + 1];
        c.spec.in.push_back({x, dense});
      }
      std::vector<Combiner> all = {Combiner::kMax, Combiner::kMin};
      if (is_bool(dt))
        all = {Combiner::kAll, Combiner::kAny};
      else
        all.insert(all.end(), {Combiner::kSum, Combiner::kProd});
      for (auto combine : all) {
        LoopOutput o;
        o.dt = dt;
        o.node = 0;
        o.combine = combine;
        c.add_output(o);
      }
      LoopOutput wide;
      wide.dt = DType::F64;
      wide.node = 1;
      wide.combine = Combiner::kSum;
      c.add_output(wide);
      cases.push_back(std::move(c));
    }
  return cases;
}

// Reductions by tiles in shared memory: of one row, of several short ones, of columns, with and
// without a result per element.
std::vector<Case> tiles() {
  std::vector<Case> cases;
  uint32_t seed = 500;
  const std::vector<std::vector<int64_t>> rows = {{600, 33}, {1100, 3}, {2, 5000}},
                                          columns = {{70, 40}, {1, 1100, 40}};
  for (auto form : {LoopSpec::kRow, LoopSpec::kCol})
    for (auto dt : {DType::F32, DType::F64, DType::U8})
      for (auto& dims : form == LoopSpec::kRow ? rows : columns)
        for (bool stores : {false, true}) {
          if (dt == DType::U8 && stores) continue;
          LoopSpec s;
          s.form = form;
          s.dims = dims;
          s.body = {{SOp::kInput, dt, -1, -1, -1, 0}, {SOp::kAdd, dt, 0, 0, -1, 0}};
          std::vector<int64_t> dense(dims.size(), 1);
          for (size_t d = dense.size() - 1; d-- > 0;) dense[d] = dense[d + 1] * dims[d + 1];
          s.in.push_back({dt, dense});
          Case c(s, seed++, str_cat(name_of(dt), " ", dims.size(), " ", dims[0]));
          LoopOutput sum;
          sum.dt = dt;
          sum.node = 1;
          sum.combine = Combiner::kSum;
          c.add_output(sum);
          if (stores) {
            LoopOutput all;
            all.dt = dt;
            all.node = 1;
            c.add_output(all);
          }
          cases.push_back(std::move(c));
        }
  return cases;
}

// Four elements at a time: of rows, of what is the same along a row or for all rows, and of parts
// of a row.
std::vector<Case> vectors() {
  std::vector<Case> cases;
  uint32_t seed = 700;
  for (auto dt : {DType::F32, DType::F64, DType::U8, DType::F16}) {
    LoopSpec s;
    s.dims = {5, 3, 64};
    s.in = {{dt, {384, 128, 1}, 8}, {dt, {3, 1, 0}}, {dt, {0, 0, 1}}};
    s.body = {{SOp::kInput, dt, -1, -1, -1, 0},
              {SOp::kInput, dt, -1, -1, -1, 1},
              {SOp::kInput, dt, -1, -1, -1, 2},
              {SOp::kAdd, dt, 0, 1, -1, 0},
              {SOp::kAdd, dt, 3, 2, -1, 0}};
    Case c(s, seed++, str_cat(name_of(dt), " in vectors"));
    LoopOutput sum;
    sum.dt = dt;
    sum.node = 4;
    c.add_output(sum);
    EXPECT_TRUE(cuda::Loop(c.spec).takes_vectors());
    EXPECT_FALSE(cuda::Loop(c.spec, false).takes_vectors());
    cases.push_back(std::move(c));
  }
  return cases;
}

class Folder {  // for what is compiled
 public:
  Folder() {
    std::string t = (std::filesystem::temp_directory_path() / "pijit_shim_XXXXXX").string();
    path = mkdtemp(t.data());
  }
  ~Folder() { std::filesystem::remove_all(path); }
  std::string path;
};

std::vector<Case> all_cases() {
  const char* wanted = std::getenv("PIJIT_RANDOM_LOOPS");
  const uint32_t count = wanted ? static_cast<uint32_t>(std::atoi(wanted)) : 60;
  std::vector<Case> cases = reductions();
  for (auto& more : {tiles(), vectors()}) cases.insert(cases.end(), more.begin(), more.end());
  for (uint32_t seed = 0; seed < count; ++seed) cases.push_back(Case::random(seed));
  return cases;
}

TEST(HostShim, GeneratedCudaAgreesWithTheInterpreter) {
  std::vector<Case> cases = all_cases();
  std::vector<cuda::Loop> loops;
  std::string text = "#include \"" PIJIT_CUDA_TESTS "/host_shim.h\"\n" + cuda::prelude();
  for (size_t i = 0; i < cases.size(); ++i) {
    ASSERT_EQ("", cuda::Loop::refusal(cases[i].spec)) << cases[i].text;
    loops.emplace_back(cases[i].spec);
    const std::string name = str_cat("k", i), source = loops.back().source(name);
    text += source;
    std::vector<std::string> kernels = {name};
    if (source.find(" " + name + "_fold(") != std::string::npos) kernels.push_back(name + "_fold");
    for (auto& k : kernels)
      text += str_cat("extern \"C\" void run_", k,
                      "(const void* a, unsigned blocks, unsigned threads) {\n"
                      "  pj_run([](const void* x) { ",
                      k, "(*(const ", name, "_args*)x); }, a, blocks, threads, ",
                      cases[i].spec.form != LoopSpec::kMap, ");\n}\n");
  }
  const Folder folder;
  const std::string file = folder.path + "/kernels";
  std::ofstream(file + ".cc") << text;
  const char* compiler = std::getenv("CXX");
  const std::string command =
      str_cat(compiler ? compiler : "c++", " -std=c++17 -O1 -w -shared -fPIC -march=x86-64-v3",
              " -ffp-contract=off -fwrapv -o ", file, ".so ", file, ".cc");
  ASSERT_EQ(0, std::system(command.c_str())) << command;
  void* library = dlopen((file + ".so").c_str(), RTLD_NOW | RTLD_LOCAL);
  ASSERT_NE(nullptr, library) << dlerror();
  using Function = double (*)(double);
  *static_cast<Function*>(dlsym(library, "pj_far_sin")) = sin_far;
  *static_cast<Function*>(dlsym(library, "pj_far_cos")) = cos_far;
  *static_cast<Function*>(dlsym(library, "pj_far_tan")) = tan_far;
  int failed = 0;
  for (size_t i = 0; i < cases.size() && failed < 5; ++i) {
    Case& c = cases[i];
    c.make_memory();
    const auto want = c.expected(), got = c.got(loops[i], str_cat("k", i), library);
    for (size_t k = 0; k < want.size(); ++k) {
      if (want[k] == got[k]) continue;
      ++failed;
      const size_t size = size_of(c.spec.out[k].dt);
      size_t at = 0, differ = 0;
      for (size_t b = 0; b < want[k].size(); b += size)
        if (std::memcmp(&want[k][b], &got[k][b], size) != 0 && !differ++) at = b;
      uint64_t a = 0, b = 0;
      std::memcpy(&a, &want[k][at], size);
      std::memcpy(&b, &got[k][at], size);
      ADD_FAILURE() << "case " << i << " " << loops[i].spec().describe() << ", output " << k
                    << " of " << name_of(c.spec.out[k].dt) << ": " << differ
                    << " elements differ, the first is " << at / size << std::hex << ": " << a
                    << " and " << b << "\n"
                    << c.text << "\n"
                    << loops[i].source("k");
      break;
    }
  }
  dlclose(library);
  std::printf("%zu loops as CUDA C on the host\n", cases.size());
}

TEST(HostShim, OneSourceServesAllSizes) {
  auto sum = [](std::vector<int64_t> dims, std::vector<int64_t> strides) {
    LoopSpec s;
    s.form = LoopSpec::kRow;
    s.dims = std::move(dims);
    s.in = {{DType::F32, std::move(strides)}};
    s.body = {{SOp::kInput, DType::F32, -1, -1, -1, 0}};
    LoopOutput o;
    o.dt = DType::F32;
    o.strides = {1, 0};
    o.node = 0;
    o.combine = Combiner::kSum;
    s.out = {o};
    return cuda::Loop(s).key();
  };
  EXPECT_EQ(sum({3, 40}, {40, 1}), sum({7, 4000}, {4000, 1}));
  EXPECT_EQ(sum({3, 5000}, {5000, 1}), sum({7, 90000}, {90000, 1}));
  EXPECT_NE(sum({3, 40}, {40, 1}), sum({3, 5000}, {5000, 1}));  // one chunk, and several
  EXPECT_NE(sum({3, 40}, {40, 1}), sum({9000, 40}, {40, 1}));   // few rows, and many
  EXPECT_NE(sum({3, 40}, {40, 1}), sum({3, 40}, {80, 2}));
  EXPECT_NE(sum({3, 40}, {40, 1}), sum({3, int64_t{1} << 31}, {int64_t{1} << 31, 1}));
}

// NVRTC needs no GPU: some of each form become machine code for each generation.
TEST(Nvrtc, KernelsCompileForEveryArchitecture) {
  std::string why;
  const cuda::Nvrtc* nvrtc = cuda::Nvrtc::get(&why);
  if (!nvrtc) GTEST_SKIP() << why;
  std::string text = cuda::prelude();
  std::vector<Case> cases = reductions();
  for (auto& c : vectors()) cases.push_back(c);
  const auto some = tiles();
  cases.insert(cases.end(), some.begin(), some.begin() + 4);
  const char* wanted = std::getenv("PIJIT_RANDOM_LOOPS");
  for (uint32_t seed = 0; seed < (wanted ? static_cast<uint32_t>(std::atoi(wanted)) : 3); ++seed)
    cases.push_back(Case::random(seed));
  size_t n = 0;
  for (auto& c : cases) text += cuda::Loop(c.spec).source(str_cat("k", n++));
  for (int capability : {80, 90, 100}) {
    const auto cubin = nvrtc->compile(text, capability);
    ASSERT_GT(cubin.size(), 1000u);
    EXPECT_EQ(0, std::memcmp(cubin.data(), "\177ELF", 4)) << "sm_" << capability;
  }
  EXPECT_THROW(nvrtc->compile("__global__ void k() { nothing; }", 90), InternalError);
}

}  // namespace
}  // namespace pijit
