#include "graph/graph.h"

#include <gtest/gtest.h>

#include "graph/grad.h"
#include "compile/passes/passes.h"
#include "graph/vals.h"

namespace pijit {
namespace {

TEST(OpTable, EveryOpIsComplete) {
  for (auto& op : OpTable::get().all()) {
    EXPECT_TRUE(op->infer) << op->name;
    EXPECT_TRUE(op->vjp || op->has(kNoGradient) || op->has(kPhysical))
        << op->name << " has neither a gradient nor kNoGradient";
    EXPECT_EQ(static_cast<bool>(op->vjp), static_cast<bool>(op->jvp)) << op->name;
    EXPECT_TRUE(op->scalar || !op->has(kElementwise)) << op->name;
    EXPECT_TRUE(op->combiner != Combiner::kNone || !op->has(kReduction)) << op->name;
  }
}

TEST(Graph, PrintedTextParsesBack) {
  Graph g;
  Val x = g.add_input({DType::F32, Shape{8, 4}}, "x"), b = g.add_input({DType::F32, Shape{4}}, "b");
  Val y = v_op("tanh", x + b) * 0.5;
  Val s = v_sum(y, {0, 1}, false);
  g.outputs = {{s.id}, {(b * 2.0).id, 1}};
  g.verify();
  const std::string text = g.print();
  EXPECT_EQ(Graph::parse(text)->print(), simplify(*Graph::parse(text))->print());
  EXPECT_NE(text.find("tanh(%2)"), std::string::npos) << text;
  EXPECT_NE(text.find("%1 := "), std::string::npos) << text;
}

TEST(Graph, ParserRejectsForeignText) {
  for (auto t : {"", "graph(", "graph(%0: f32[2]) { return %1 }",
                 "graph(%0: f32[2]) { %1: f32[2] = nope(%0) return %1 }",
                 "graph(%0: f32[2]) { %1: f32[3] = neg(%0) return %1 }",
                 "graph(%0: f32[99999999999999999999]) { return %0 }"})
    EXPECT_THROW(Graph::parse(t), OpError) << t;
}

TEST(Graph, FoldsOnlyWhatIsExact) {
  Graph g;
  Val x = g.add_input({DType::F32, Shape{3}});
  EXPECT_EQ(x * 1.0, x);
  EXPECT_EQ(x - 0.0, x);
  EXPECT_NE(x + 0.0, x);  // -0.0 + 0.0 is 0.0
  EXPECT_NE(x * 0.0, g.constant(DType::F32, 0.0));
  EXPECT_EQ(v_op("neg", v_op("neg", x)), x);
  EXPECT_EQ(x + x, x + x);
  Val c = g.constant(DType::F32, 2.0) + g.constant(DType::F32, 3.0);
  EXPECT_EQ(c, g.constant(DType::F32, 5.0));
  EXPECT_EQ(v_broadcast(c, Shape{3}).type().str(),
            "f32[3]");  // a broadcast constant keeps its shape
}

TEST(Graph, TypeRulesNameTheOp) {
  Graph g;
  Val a = g.add_input({DType::F32, Shape{2, 3}}), b = g.add_input({DType::F32, Shape{4, 5}});
  try {
    g.Builder::op("matmul", {a, b});
    FAIL();
  } catch (const OpError& e) {
    EXPECT_EQ(std::string(e.what()), "[matmul] inner dimensions differ: f32[2,3] x f32[4,5]");
  }
  EXPECT_THROW(a + b, OpError);
}

TEST(Grad, OfAProduct) {
  Graph g(false);
  Val x = g.add_input({DType::F32, Shape{}}), y = g.add_input({DType::F32, Shape{}});
  Val z = x * y;
  auto r = records_of(g, 0, static_cast<uint32_t>(g.size()));
  auto d =
      backward(g, r, std::vector<Seed>{{z, g.constant(DType::F32, 1.0)}}, std::vector<Val>{x, y});
  g.outputs = {{d[0].id}, {d[1].id}};
  auto s = simplify(g);
  EXPECT_EQ(s->outputs[0].node, s->inputs()[1]);
  EXPECT_EQ(s->outputs[1].node, s->inputs()[0]);
}

const char* const kCond = R"(graph(%0: bool[], %1: f32[3]) {
  %2: u8[0] = cond(%0, %1)
    region
    graph(%0: f32[3]) {
      %1: f32[3] = exp(%0)
      return %1
    }
    region
    graph(%0: f32[3]) {
      %1: f32[3] = mul(%0, %0)
      return %1
    }
  %3: f32[3] = result(%2) {index=0, dtype=f32, shape=(3)}
  return %3
}
)";

std::unique_ptr<Graph> prepared(const Graph& g) { return simplify(*lower(*simplify(g))); }

TEST(Regions, PrintAndParse) {
  auto g = Graph::parse(kCond);
  g->verify();
  EXPECT_EQ(g->print(), kCond);
  EXPECT_EQ(prepared(*g)->print(false), kCond);
}

TEST(Regions, TypesMustAgree) {
  auto broken = [](const std::string& from, const std::string& to) {
    std::string t = kCond;
    t.replace(t.find(from), from.size(), to);
    EXPECT_THROW(Graph::parse(t), OpError) << t;
  };
  broken("%0: bool[]", "%0: f32[]");
  broken("index=0", "index=1");
  broken("shape=(3)", "shape=(4)");
  broken("cond(%0, %1)", "cond(%0)");
  broken("return %1\n    }\n    region", "return %1, %0\n    }\n    region");
  EXPECT_THROW(Graph::parse("graph(%0: bool[]) { %1: u8[0] = cond(%0) return %0 }"), OpError);
  EXPECT_THROW(
      Graph::parse("graph(%0: f32[2]) { %1: u8[0] = while_loop(%0) region graph(%0: f32[2]) {"
                   " return %0 } region graph(%0: f32[2]) { return %0 } return %0 }"),
      OpError);  // the condition is no bool[]
}

TEST(Regions, GradientOfACondIsACond) {
  auto g = Graph::parse(kCond);
  Graph b(false);
  Val p = b.add_input({DType::Bool, {}}), x = b.add_input({DType::F32, Shape{3}});
  const uint32_t begin = static_cast<uint32_t>(b.size());
  const Val node =
      b.emit_region(OpTable::get().at("cond"), std::vector<Val>{p, x}, g->node(2).regions);
  const Val y = b.result(node, 0);
  auto r = records_of(b, begin, static_cast<uint32_t>(b.size()));
  auto d =
      backward(b, r, std::vector<Seed>{{y, v_broadcast(b.constant(DType::F32, 1.0), Shape{3})}},
               std::vector<Val>{x});
  b.outputs = {{d[0].id}};
  b.verify();
  const std::string text = prepared(b)->print(false);
  EXPECT_NE(text.find("cond(%0, %1, "), std::string::npos) << text;
}

}  // namespace
}  // namespace pijit
