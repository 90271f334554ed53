// Dims as expressions of symbols: canonical forms, decisions as constraints, text and back.
#include "graph/dim.h"

#include <gtest/gtest.h>

#include <limits>

#include "base/error.h"
#include "graph/graph.h"

namespace pijit {
namespace {

std::vector<std::string> constraints(const SizeEnv& e) {
  std::vector<std::string> r;
  for (auto& c : e.constraints())
    r.push_back(str(c.a) + (c.holds ? " " : " not ") + c.relation + " " + str(c.b));
  return r;
}

TEST(Dim, NumbersAreNumbers) {
  EXPECT_EQ(int64_t{Dim(7) / 2}, 3);
  EXPECT_EQ(int64_t{Dim(-7) / 2}, -3);
  EXPECT_EQ(int64_t{Dim::floor_div(-7, 2)}, -4);
  EXPECT_EQ(int64_t{Dim(-7) % 2}, -1);
  EXPECT_EQ(int64_t{Dim::floor_mod(-7, 2)}, 1);
  EXPECT_TRUE(Dim(3) < 4 && Dim(3) != 4 && 4 >= Dim(4));
}

TEST(Dim, ExpressionsAreCanonical) {
  SizeEnv env;
  const SizeEnv::Use use(&env);
  const Dim s = env.symbol(6), t = env.symbol(5);
  EXPECT_TRUE((s * 4 + t * 2 - s).same_as(t + t + 3 * s));
  EXPECT_TRUE(((s + 1) * (s + 1)).same_as(s * s + 2 * s + 1));
  EXPECT_TRUE((s * 784 / 784).same_as(s));
  EXPECT_TRUE((s * t * 4 / (t * 2)).same_as(2 * s));
  EXPECT_TRUE(((2 * s + 7) / 2).same_as(s + 3));
  EXPECT_TRUE(((s / 2) / 3).same_as(s / 6));
  EXPECT_TRUE((s - s).same_as(0));
  EXPECT_EQ(((s + 1) / 2).str(), "(s0+1)//2");
  EXPECT_EQ((s * t - 3 * t + 5).str(), "s0*s1-3*s1+5");
  EXPECT_EQ((64 * ((s + 1) / 2) * t).str(), "64*((s0+1)//2)*s1");
  EXPECT_EQ(Dim::floor_div(-s, 2).str(), "-((s0+1)//2)");
  EXPECT_EQ(Dim::floor_mod(s + 5, 4).str(), "(s0+1)%4");
  EXPECT_EQ((s * s).hint(), 36);
}

TEST(Dim, FloorArithmeticAgreesWithPythonForAllSizes) {
  for (int64_t a : {-3, -1, 1, 2, 4})
    for (int64_t c : {-5, -1, 0, 1, 7})
      for (int64_t n : {-4, -2, 1, 2, 3, 6}) {
        SizeEnv env;
        const SizeEnv::Use use(&env);
        const Dim s = env.symbol(5), x = a * s + c;
        const Dim q = Dim::floor_div(x, n), m = Dim::floor_mod(x, n),
                  again = Dim::floor_div(q + 2, 3);
        for (int64_t v = 0; v < 20; ++v) {
          const Dim values[] = {v};
          const int64_t y = a * v + c, fq = (y - ((y % n) + n) % n) / n;
          EXPECT_EQ(int64_t{substitute(q, values)}, fq) << y << " // " << n;
          EXPECT_EQ(int64_t{substitute(m, values)}, y - fq * n) << y << " % " << n;
          EXPECT_EQ(int64_t{substitute(again, values)}, (fq + 2 - ((fq + 2) % 3 + 3) % 3) / 3);
        }
      }
}

TEST(SizeEnv, DecisionsBecomeConstraints) {
  SizeEnv env;
  const SizeEnv::Use use(&env);
  const Dim s = env.symbol(6), t = env.symbol(6);
  EXPECT_TRUE(s >= 0);
  EXPECT_TRUE(s + 1 > 0);
  EXPECT_TRUE(s * 2 == s + s);
  EXPECT_FALSE(s + 1 == s);
  EXPECT_TRUE(constraints(env).empty());  // these hold for all sizes
  EXPECT_TRUE(s == t);
  EXPECT_TRUE(s == t);
  EXPECT_FALSE(s == 1);
  EXPECT_TRUE(s / 2 < 4);
  EXPECT_EQ(int64_t{t}, 6);  // fixed
  EXPECT_EQ(constraints(env),
            (std::vector<std::string>{"s0 eq s1", "s0 not eq 1", "s0//2 lt 4", "s1 eq 6"}));
  EXPECT_TRUE(env.fit(std::vector<int64_t>{6, 6}));
  EXPECT_FALSE(env.fit(std::vector<int64_t>{7, 7}));
  EXPECT_FALSE(env.fit(std::vector<int64_t>{6}));
  EXPECT_TRUE(env.merged()[1].same_as(s));
}

TEST(SizeEnv, NoDecisionWithoutOne) {
  SizeEnv env;
  const Dim s = env.symbol(3);
  EXPECT_THROW((void)(s == 1), InternalError);
  EXPECT_THROW((void)int64_t{s}, InternalError);
}

TEST(SizeEnv, ArithmeticThatOverflowsFixesSizes) {
  SizeEnv env;
  const SizeEnv::Use use(&env);
  Dim d = env.symbol(3);
  for (int k = 0; k < 40; ++k) d = d * d + 1;  // would not end as an expression
  EXPECT_FALSE(d.symbolic());
  EXPECT_FALSE(env.constraints().empty());
  const int64_t least = std::numeric_limits<int64_t>::min();
  const Dim s = env.symbol(7);
  EXPECT_EQ(int64_t{Dim::floor_div(s, least)}, -1);
  EXPECT_EQ(int64_t{Dim::floor_mod(s, least)}, least + 7);
  EXPECT_EQ(int64_t{s / least}, 0);
  EXPECT_EQ(int64_t{s + least}, least + 7);
  EXPECT_THROW(size_arithmetic("floordiv", s, Dim(least)), Misfit);
  const SizeNumber big = env.symbol(2);
  const SizeNumber x = size_arithmetic("mul", big, Dim(int64_t{1} << 60));
  EXPECT_THROW(substitute(x, std::vector<Dim>{0, 0, 64}), Misfit);
}

TEST(SizeNumber, TextReadsBack) {
  SizeEnv env;
  const SizeEnv::Use use(&env);
  env.symbol(6);
  env.symbol(5);
  for (const char* t : {"s0", "-s0", "17", "-17", "3*s0*s1-2*s0+7", "(s0+1)//2", "4*((s0*s1)//3)+1",
                        "(s0+1)%4", "s0/s1", "(s0+1)/2.5", "(1.0/s0)*3"})
    EXPECT_EQ(str(parse_size(t)), t);
  for (const char* t : {"", "s", "s0+", "(s0", "s0)", "x", "s0//0", "99999999999999999999", "s0 "})
    EXPECT_THROW(parse_size(t), OpError) << t;
  const Dim at[] = {8, 3};
  EXPECT_EQ(std::get<Real>(substitute(parse_size("(s0+1)/2.5"), at)).value, 3.6);
}

TEST(Graph, SymbolicTextReadsBackAndTakesSizes) {
  const std::string text =
      "graph(%0: f32[s0,784], %1: f32[10,784]) {\n"
      "  %2: f32[s0,10] = dense(%0, %1, none)\n"
      "  %3: f32[] = const(10*s0)\n"
      "  %4: f32[] = reduce_sum(%2) {axis=(), keepdims=false}\n"
      "  %5: f32[] = div(%4, %3)\n"
      "  %6: f32[10*s0] = reshape(%2) {shape=(10*s0)}\n"
      "  %7: f32[5*s0] = slice(%6) {begin=(0), end=((10*s0)//2), step=(1)}\n"
      "  return %5, %7\n"
      "}\n";
  SizeEnv env;
  const SizeEnv::Use use(&env);
  env.symbol(32);
  std::string canonical = text;
  canonical.replace(canonical.find("(10*s0)//2"), 10, "5*s0");
  const auto g = Graph::parse(text);
  g->verify();
  EXPECT_EQ(g->print(), canonical);
  const auto at = g->with_sizes(std::vector<Dim>{64});
  at->verify();
  EXPECT_NE(at->print().find("%6: f32[640] = reshape(%2) {shape=(640)}"), std::string::npos);
  EXPECT_NE(at->print().find("%3: f32[] = const(0x44200000)"), std::string::npos);  // 640.0f
  EXPECT_TRUE(env.fit(std::vector<int64_t>{64}));
}

}  // namespace
}  // namespace pijit
