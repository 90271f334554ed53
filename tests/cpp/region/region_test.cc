// Regions: texts before and after the passes (tests/golden_regions), and code against the
// interpreter on the ends of what 64 bits and floats hold.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <limits>
#include <random>
#include <sstream>
#include <tuple>

#include "base/error.h"
#include "cpu/cpu.h"
#include "region/ir.h"

namespace pijit::region {
namespace {

namespace fs = std::filesystem;

int64_t bits(double x) {
  int64_t b;
  std::memcpy(&b, &x, sizeof b);
  return b;
}

TEST(Region, Golden) {
  const char* update = std::getenv("PIJIT_GOLDEN");
  int files = 0;
  for (auto& file :
       fs::directory_iterator(fs::path(PIJIT_GOLDEN_DIR).parent_path() / "golden_regions")) {
    ++files;
    std::stringstream all;
    all << std::ifstream(file.path()).rdbuf();
    const std::string text = all.str();
    const size_t line = text.find("--\n");
    const std::string before = text.substr(0, line);
    Function f = Function::parse(before);
    f.verify();
    EXPECT_EQ(f.print(), before) << file.path();
    optimize(f);
    f.verify();
    if (update && std::string(update) == "update")
      std::ofstream(file.path()) << before << "--\n" << f.print();
    else
      EXPECT_EQ(f.print(), text.substr(line + 3)) << file.path();
  }
  EXPECT_GE(files, 2);
}

// One instruction of two inputs, which leaves by exit 1 where it can't be computed.
Function of(Op op, int64_t imm = 0) {
  Function f;
  f.add_block();
  f.exits = {{}, {}};
  const OpFacts& facts = region::facts(op);
  Instr in{op, facts.type};
  const bool floats = (op >= Op::kFAdd && op <= Op::kFGe) || op == Op::kFToI || op == Op::kCall1 ||
                      op == Op::kCall2 || op == Op::kFBits;
  for (int k = 0; k < facts.operands; ++k) {
    Instr input{Op::kInput, floats ? Type::kF64 : Type::kI64};
    input.imm = k;
    in.args[k] = f.add(0, input);
  }
  in.imm = imm;
  if (facts.effect == Effect::kCheck) in.exit = 1;
  f.exits[0].values = {f.add(0, in)};
  f.blocks[0].exit = 0;
  f.verify();
  return f;
}

void compare(Op op, int64_t imm = 0) {
  const Function f = of(op, imm);
  const auto code = compiled(f), reference = interpreted(f);
  const bool floats = f.instrs[0].type == Type::kF64;
  const int64_t ints[] = {0,
                          1,
                          -1,
                          2,
                          -2,
                          3,
                          7,
                          -7,
                          63,
                          64,
                          INT32_MAX,
                          INT64_MAX,
                          INT64_MIN,
                          INT64_MIN + 1,
                          int64_t{1} << 53,
                          (int64_t{1} << 53) + 1,
                          3037000500};
  const double reals[] = {0.0,     -0.0,     1.0,       -1.0,        0.5,    -2.5,
                          3.0,     1e308,    -1e308,    5e-324,      0x1p53, 0x1p63,
                          -0x1p63, HUGE_VAL, -HUGE_VAL, std::nan("")};
  std::vector<int64_t> values(std::begin(ints), std::end(ints));
  if (floats) {
    values.clear();
    for (double x : reals) values.push_back(bits(x));
  }
  for (int64_t a : values)
    for (int64_t b : values) {
      int64_t x[2] = {a, b}, y[2] = {a, b};
      const int one = code->run(x), other = reference->run(y);
      ASSERT_EQ(one, other) << f.print() << a << " " << b;
      if (one == 0) ASSERT_EQ(x[0], y[0]) << f.print() << a << " " << b;
    }
}

TEST(Region, CodeComputesWhatTheInterpreterDoes) {
  for (Op op : {Op::kIAdd, Op::kISub, Op::kIMul, Op::kINeg,  Op::kIAbs, Op::kIDiv,      Op::kIMod,
                Op::kIShl, Op::kIShr, Op::kIAnd, Op::kIOr,   Op::kIXor, Op::kIEq,       Op::kINe,
                Op::kILt,  Op::kILe,  Op::kIGt,  Op::kIGe,   Op::kFAdd, Op::kFSub,      Op::kFMul,
                Op::kFDiv, Op::kFNeg, Op::kFAbs, Op::kFSqrt, Op::kFEq,  Op::kFNe,       Op::kFLt,
                Op::kFLe,  Op::kFGt,  Op::kFGe,  Op::kFBits, Op::kIToF, Op::kIToFExact, Op::kFToI})
    compare(op);
  for (int k = 0; k <= static_cast<int>(Function1::k_rint); ++k) compare(Op::kCall1, k);
  for (int k = 0; k <= static_cast<int>(Function2::k_fmod); ++k) compare(Op::kCall2, k);
}

// As CPython has them: the word that tells how many digits there are, and those.
TEST(Region, IntsAreReadAsTheyLieInMemory) {
  std::mt19937_64 random(1);
  for (const bool tagged : {false, true}) {
    Function f = Function::parse(
        "b0():\n  %0 = input i64 0\n  %1 = load_int %0 0 else 1\n  exit 0\nexit 0: %1\nexit 1:\n");
    EXPECT_EQ(Function::parse(f.print()).print(), f.print());
    f.instrs[1].imm = static_cast<int64_t>(tagged ? IntLayout::kTagged : IntLayout::kSigned);
    const auto code = compiled(f), reference = interpreted(f);
    for (int k = 0; k < 4000; ++k) {
      const int digits = k % 5;
      const bool negative = digits && k & 8;
      struct {
        int64_t head[2] = {}, word = 0;
        uint32_t digits[6] = {};
      } object;
      __int128 n = 0;
      for (int d = digits; d-- > 0;) {
        object.digits[d] = static_cast<uint32_t>(random()) & ((1U << kIntDigitBits) - 1);
        if (d + 1 == digits) object.digits[d] = std::max(object.digits[d] >> (k % 30), 1U);
        n = n << kIntDigitBits | object.digits[d];
      }
      object.word = !tagged ? (negative ? -digits : digits)
                            : digits << 3 | (negative ? 2
                                             : digits ? 0
                                                      : 1);
      int64_t x = reinterpret_cast<int64_t>(&object), y = x;
      const bool fits = n <= INT64_MAX;
      ASSERT_EQ(code->run(&x), fits ? 0 : 1) << k;
      ASSERT_EQ(reference->run(&y), fits ? 0 : 1) << k;
      if (!fits) continue;
      ASSERT_EQ(x, static_cast<int64_t>(negative ? -n : n)) << k;
      ASSERT_EQ(y, x) << k;
    }
  }
}

// Many values that live across calls: what lies on the stack is taken from there rightly.
TEST(Region, ValuesOnTheStack) {
  Function f;
  f.add_block();
  f.exits = {{}, {}};
  std::vector<int> live;
  for (int k = 0; k < 40; ++k) {
    Instr in{Op::kInput, k % 2 ? Type::kF64 : Type::kI64};
    in.imm = k;
    live.push_back(f.add(0, in));
  }
  Instr call{Op::kCall1, Type::kF64};
  call.args[0] = live[1];
  call.imm = static_cast<int64_t>(Function1::k_sin);
  call.exit = 1;
  f.exits[0].values.push_back(f.add(0, call));
  for (size_t k = 0; k < live.size(); ++k) {
    Instr in{k % 2 ? Op::kFBits : Op::kIAdd, Type::kI64};
    in.args[0] = live[k];
    if (k % 2 == 0) in.args[1] = live[0];
    f.exits[0].values.push_back(f.add(0, in));
  }
  f.exits[0].values.insert(f.exits[0].values.end(), live.begin(), live.end());
  f.blocks[0].exit = 0;
  f.verify();
  std::vector<int64_t> x(f.words()), y;
  for (size_t k = 0; k < live.size(); ++k)
    x[k] = k % 2 ? bits(static_cast<double>(k)) : static_cast<int64_t>(k);
  y = x;
  const auto code = compiled(f);
  EXPECT_EQ(code->bytes() > 0, generates_code());
  EXPECT_EQ(code->run(x.data()), interpreted(f)->run(y.data()));
  EXPECT_EQ(x, y);
}

TEST(Region, SquaresAreTheLibrarys) {
  Function f = Function::parse(R"(b0():
  %0 = input f64 0
  %1 = const f64 2
  %2 = call2 py_pow %0 %1 else 1
  exit 0
exit 0: %2
exit 1: %0
)");
  const auto code = compiled(f), reference = interpreted(f);
  std::mt19937_64 generator(5);
  std::vector<double> all{0.0, -0.0, 1.0, -3.0, 1e-200, 1e200, -1e300, 5e-324, 0.1};
  all.push_back(std::numeric_limits<double>::infinity());
  all.push_back(std::numeric_limits<double>::quiet_NaN());
  for (int k = 0; k < 300'000; ++k) {
    const uint64_t fraction = generator() >> 12, exponent = 1023 - 60 + generator() % 120;
    const uint64_t word = exponent << 52 | fraction;
    double x;
    std::memcpy(&x, &word, sizeof x);
    all.push_back(k % 2 ? x : -x);
  }
  for (double x : all) {
    std::vector<int64_t> a{bits(x)}, b{bits(x)};
    const int exit = code->run(a.data());
    EXPECT_EQ(exit, reference->run(b.data())) << x;
    EXPECT_EQ(a, b) << x;
  }
}

// From i = 1 on: b[i] = a[i + 1] / c[i], and the sum of what is stored: until i is n, or c[i] is 0.
constexpr const char* kQuotients = R"(b0():
  %0 = input ptr 0
  %1 = input ptr 1
  %2 = input ptr 2
  %3 = input i64 3
  %4 = input i64 4
  %5 = const i64 0
  %6 = const i64 1
  %7 = const f64 0
  jump b1(%6 %7 %7)
b1(%8: i64, %9: f64, %10: f64):
  %11 = ilt %8 %3
  branch %11 b2() b3()
b2():
  %12 = iadd %8 %6
  %13 = ilt %12 %4
  check %13 else 1
  %15 = load_f64 %0 %8 times 8 plus 8
  %16 = load_f64 %2 %8 times 8 plus 0
  %17 = fdiv %15 %16 else 1
  store_f64 %1 %8 %17 times 8 plus 0
  %19 = fadd %9 %17
  jump b1(%12 %19 %16)
b3():
  exit 0
exit 0: %8 %9 %10
exit 1: %8 %9 %10
)";

TEST(Region, VectorsLeaveTheLastTurnsToTheLoop) {
  const Function plain = Function::parse(kQuotients);
  Function vectors = plain;
  vectorize_loops(vectors);
  vectors.verify();
  ASSERT_EQ(vectors.kept.size(), 1u);
  constexpr size_t kMost = 1300;
  for (const int64_t n : {INT64_MIN, INT64_MIN + 9, int64_t{0}, int64_t{1}, int64_t{60},
                          int64_t{511}, int64_t{512}, int64_t{513}, int64_t{600}, int64_t{1200}})
    for (const int64_t zero : {-1, 0, 30, 513, 599})
      for (const int64_t length : {int64_t{100}, n + 1}) {
        std::vector<double> a(kMost), c(kMost);
        for (size_t k = 0; k < kMost; ++k) a[k] = 0.1 * static_cast<double>(k), c[k] = 1.5 + a[k];
        if (zero >= 0) c[static_cast<size_t>(zero)] = 0;
        auto run = [&](const Code& code) {
          std::vector<double> b(kMost, -1);
          std::vector<int64_t> words(8);
          words[0] = reinterpret_cast<int64_t>(a.data());
          words[1] = reinterpret_cast<int64_t>(b.data());
          words[2] = reinterpret_cast<int64_t>(c.data());
          words[3] = n;
          words[4] = length;
          const int exit = code.run(words.data());
          words.resize(3);
          return std::tuple(exit, words, b);
        };
        const auto wanted = run(*interpreted(plain));
        EXPECT_EQ(run(*interpreted(vectors)), wanted) << n << " " << zero << " " << length;
        EXPECT_EQ(run(*compiled(vectors)), wanted) << n << " " << zero << " " << length;
      }
}

// Who runs a function that calls itself knows its first exits alone.
TEST(Region, CopiesOfExitsAreLeftByTheirOriginals) {
  Function f = Function::parse(R"(b0():
  %0 = input i64 0
  %1 = const i64 7
  %2 = idiv %1 %0 else 2
  exit 1
exit 0: %0
exit 1: %2 returns
exit 2: as 0 %0
depth 1
)");
  std::vector<int64_t> words(8);
  words[1] = 100;
  EXPECT_EQ(compiled(f)->run(words.data()), 0);
  words[0] = 2;
  EXPECT_EQ(compiled(f)->run(words.data()), 1);
  EXPECT_EQ(words[0], 3);
}

TEST(Region, VerifyFindsWhatIsNotThere) {
  EXPECT_THROW(
      Function::parse("b0():\n  %0 = iadd %1 %1\n  %1 = const i64 1\n  exit 0\nexit 0: %0\n")
          .verify(),
      InternalError);
  EXPECT_THROW(Function::parse("b0():\n  %0 = const i64 1\n  jump b1()\nb1(%1: i64):\n  exit 0\n"
                               "exit 0: %1\n")
                   .verify(),
               InternalError);
}

}  // namespace
}  // namespace pijit::region
