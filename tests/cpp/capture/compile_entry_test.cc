// What capture gives is compiled by dispatch: where there is no program for it.
#include <gtest/gtest.h>

#include "capture/capture.h"
#include "entry/entry.h"
#include "entry/instance.h"

namespace pijit {
namespace {

// An entry whose graph negates an input on each of these devices.
std::unique_ptr<Entry> entry_on(std::initializer_list<DeviceId> devices) {
  auto made = std::make_unique<Entry>();
  Entry& e = *made;
  auto g = std::make_shared<Graph>(false);
  for (DeviceId d : devices) {
    Type t{DType::F32, Shape({Dim(4)})};
    t.device = d;
    const Val x = g->add_input(t);
    const Operand operands[] = {Operand(x)};
    g->outputs.push_back({call_op(*g, OpTable::get().at("neg"), operands, {}).id});
    e.inputs.push_back(static_cast<int>(e.inputs.size()));
  }
  e.graph = g;
  return made;
}

TEST(CompileEntry, MakesTheFirstProgram) {
  const auto made = entry_on({DeviceId{}});
  Entry& e = *made;
  EXPECT_TRUE(compile_entry(e));
  ASSERT_EQ(e.instances.size(), 1u);
  EXPECT_TRUE(e.instances.begin()->second->program);
  EXPECT_FALSE(e.graph);
  EXPECT_NE(e.graph_text, "");
  EXPECT_TRUE(compile_entry(e));  // there is nothing left to do
}

TEST(CompileEntry, SaysWhatTheCompilerRejects) {
  const auto made = entry_on({DeviceId{}, add_device_name("far")});
  Entry& e = *made;
  try {
    compile_entry(e);
    FAIL() << "compiled for two devices";
  } catch (const OpError& error) {
    EXPECT_EQ(error.kind, OpError::kRuntime);
  }
  EXPECT_TRUE(e.instances.empty());
}

}  // namespace
}  // namespace pijit
