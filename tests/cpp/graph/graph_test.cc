#include "graph/graph.h"

#include <gtest/gtest.h>

#include "graph/grad.h"
#include "graph/passes/passes.h"
#include "graph/vals.h"

namespace pijit {
namespace {

TEST(OpTable, EveryOpIsComplete) {
  for (auto& op : OpTable::get().all()) {
    EXPECT_TRUE(op->infer) << op->name;
    EXPECT_TRUE(op->vjp || op->has(kNoGradient))
        << op->name << " has neither a gradient nor kNoGradient";
    if (op->has(kElementwise)) EXPECT_TRUE(op->scalar) << op->name;
    if (op->has(kReduction)) EXPECT_NE(op->combiner, Combiner::kNone) << op->name;
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

}  // namespace
}  // namespace pijit
