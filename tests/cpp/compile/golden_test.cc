// Golden texts: tests/golden/<stage>/<name>.txt holds a graph, a line of dashes, and what the stage
// makes of it. PIJIT_GOLDEN=update writes the second part anew; read the difference before you
// commit it.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "compile/compile.h"
#include "compile/passes/attention.h"
#include "compile/passes/fast_math.h"
#include "compile/passes/layout.h"
#include "compile/passes/passes.h"
#include "compile/passes/rematerialize.h"
#include "compile/pipeline.h"
#include "graph/grad.h"
#include "graph/vals.h"

namespace pijit {
namespace {

namespace fs = std::filesystem;

std::vector<Val> float_inputs(Graph& g) {
  std::vector<Val> v;
  for (auto i : g.inputs())
    if (is_float(g.node(i).type.dtype)) v.push_back(g.val(i));
  return v;
}

// The cotangents of all floating inputs, or the tangents of all outputs.
std::string differentiated(const std::string& text, bool forward) {
  // plain nodes, as capture makes them
  auto parsed = Graph::parse(text);
  Graph g(false);
  std::vector<Val> map(parsed->size());
  for (uint32_t i = 0; i < parsed->size(); ++i) {
    const Node& n = parsed->node(i);
    std::vector<Val> in;
    for (auto s : n.in) in.push_back(s == kNoNode ? Val{} : map[s]);
    map[i] = n.kind == Node::kInput   ? g.add_input(n.type, n.name)
             : n.kind == Node::kConst ? g.constant(n.type.dtype, n.bits)
             : n.regions.empty()      ? g.emit(*n.op, in, n.attrs, n.type)
                                      : g.emit_region(*n.op, in, n.regions);
  }
  std::vector<Val> outputs;
  for (auto& o : parsed->outputs) outputs.push_back(map[o.node]);
  const auto records = records_of(g, 0, static_cast<uint32_t>(g.size()));
  const auto inputs = float_inputs(g);
  std::vector<Seed> seeds;
  for (auto v : forward ? inputs : outputs)
    seeds.push_back({v, g.add_input(v.type(), forward ? "tangent" : "cotangent")});
  const auto r =
      forward ? pushforward(g, records, seeds, outputs) : backward(g, records, seeds, inputs);
  for (auto v : r) g.outputs.push_back({v.id});
  return simplify(g)->print(false);
}

std::string stage(const std::string& name, const std::string& text) {
  if (name == "simplify") return simplify(*Graph::parse(text))->print(false);
  if (name == "lower") return lower(*Graph::parse(text))->print(false);
  if (name == "grad") return differentiated(text, false);
  if (name == "jvp") return differentiated(text, true);
  if (name == "layout")
    return assign_layouts(*Graph::parse(text), 16, device({}).kernels)->print(false);
  if (name == "rematerialize") {
    const auto g = Graph::parse(text);
    const DeviceFacts facts = device({}).facts();
    const auto r = rematerialize(*g, plan_fusion(*g, facts), facts);
    return r.graph ? r.graph->print(false) : "nothing to gain\n";
  }
  if (name == "attention") {  // on a device that has all kernels
    const auto found = find_attention(*Graph::parse(text), [](auto&, auto&) { return true; });
    return simplify(*found)->print(false);
  }
  if (name == "fast_math") return fast_math(*Graph::parse(text), 16)->print(false);
  if (name == "program") return compile(*Graph::parse(text))->describe();
  const auto r = run_pass(name, *Graph::parse(text), device({}));
  return r ? r->print(false) : "nothing changes\n";
}

TEST(Golden, EveryStageGivesTheRecordedText) {
  const char* mode = std::getenv("PIJIT_GOLDEN");
  const bool update = mode && std::string(mode) == "update";
  int files = 0;
  for (auto& e : fs::recursive_directory_iterator(PIJIT_GOLDEN_DIR)) {
    if (e.path().extension() != ".txt") continue;
    ++files;
    std::ifstream f(e.path());
    std::stringstream all;
    all << f.rdbuf();
    const std::string text = all.str(), rule = "--------\n";
    const size_t at = text.find(rule);
    const std::string input = text.substr(0, at);
    const std::string got = stage(e.path().parent_path().filename().string(), input);
    if (update) {
      std::ofstream(e.path()) << input << rule << got;
      continue;
    }
    ASSERT_NE(at, std::string::npos) << e.path();
    EXPECT_EQ(got, text.substr(at + rule.size())) << e.path();
  }
  EXPECT_GT(files, 10) << "golden texts are missing under " << PIJIT_GOLDEN_DIR;
}

}  // namespace
}  // namespace pijit
