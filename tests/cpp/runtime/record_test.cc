#include "runtime/record.h"

#include <gtest/gtest.h>

#include <thread>

#include "compile/compile.h"
#include "graph/graph.h"
#include "runtime/array.h"
#include "runtime/program.h"

namespace pijit {
namespace {

size_t count(const Recorded& r, TraceEvent::Kind kind) {
  size_t n = 0;
  for (auto& [thread, e] : r.events) n += e.kind == kind;
  return n;
}

TEST(Record, NothingIsKeptWhileNobodyAsks) {
  { const Span span(TraceEvent::kGuards); }
  const Recording r = start_recording();
  EXPECT_TRUE(stop_recording(r).events.empty());
  EXPECT_FALSE(recording());
}

TEST(Record, RecordingsNest) {
  const Recording outer = start_recording();
  { const Span span(TraceEvent::kGuards); }
  const Recording inner = start_recording();
  { const Span span(TraceEvent::kGraph); }
  EXPECT_EQ(stop_recording(inner).events.size(), 1u);
  { const Span span(TraceEvent::kOutcome); }
  const Recorded all = stop_recording(outer);
  ASSERT_EQ(all.events.size(), 3u);
  for (size_t k = 1; k < 3; ++k)
    EXPECT_LE(all.events[k - 1].second.end, all.events[k].second.begin);
}

TEST(Record, ThreadsHaveEventsOfTheirOwn) {
  const Recording r = start_recording();
  { const Span span(TraceEvent::kCall); }
  std::thread([] { const Span span(TraceEvent::kCall); }).join();
  const Recorded all = stop_recording(r);
  ASSERT_EQ(all.events.size(), 2u);
  EXPECT_NE(all.events[0].first, all.events[1].first);
}

TEST(Record, AllocationsAndTheirPeak) {
  const size_t before = allocated_bytes();
  const Recording r = start_recording();
  { const ArrayRef a = new_array(Type{DType::F32, Shape{1 << 20}}); }
  const Recorded all = stop_recording(r);
  EXPECT_GE(all.allocations, 1u);
  EXPECT_GE(all.peak_bytes, before + (4u << 20));
}

// What a kernel is, and the bytes and operations it is counted for.
TEST(Record, KernelsOfAProgram) {
  const auto p = compile(*Graph::parse(R"(graph(%0: f32[64,128], %1: f32[128,32], %2: f32[64,32]) {
    %3: f32[64,32] = matmul(%0, %1) {trans_a=false, trans_b=false}
    %4: f32[64,32] = add(%3, %2)
    %5: f32[64,32] = mul(%4, %4)
    return %5
  })"));
  const ArrayRef a = new_array(p->input_types[0]), b = new_array(p->input_types[1]),
                 c = new_array(p->input_types[2]);
  Array* in[] = {a.get(), b.get(), c.get()};
  const Recording r = start_recording();
  std::vector<ArrayRef> out(1);
  p->run(in, nullptr, out.data());
  const Recorded all = stop_recording(r);
  ASSERT_EQ(count(all, TraceEvent::kKernel), 2u);
  const Metadata& product = *all.events[0].second.metadata;
  EXPECT_EQ(product.name, "matmul");
  EXPECT_EQ(product.flops, 2 * 64 * 128 * 32);
  EXPECT_EQ(product.bytes, 4 * (64 * 128 + 128 * 32 + 64 * 32));
  const Metadata& loop = *all.events[1].second.metadata;
  EXPECT_EQ(loop.name, "add, mul");
  EXPECT_EQ(loop.flops, 2 * 64 * 32);
  EXPECT_EQ(loop.bytes, 3 * 4 * 64 * 32);
}

TEST(Record, ConvolutionsAreCountedInEitherLayout) {
  const auto p = compile(*Graph::parse(R"(graph(%0: f32[2,16,8,8], %1: f32[16,16,3,3]) {
    %2: f32[2,16,6,6] = conv2d(%0, %1, none) {stride=(1,1), pad=(0,0,0,0), dilation=(1,1), group=1}
    return %2
  })"));
  int64_t flops = 0;
  for (auto& st : p->steps) flops += st.metadata->flops;
  EXPECT_EQ(flops, 2LL * 2 * 16 * 6 * 6 * 16 * 3 * 3);
}

}  // namespace
}  // namespace pijit
