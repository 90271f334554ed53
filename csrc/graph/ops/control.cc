// Ops with regions: sub-graphs that run as part of the node. A region op's own value is empty; its
// results are taken out of it by `result` nodes.
//   cond(pred, xs...)   the first region applied to xs where pred, else the second
//   while_loop(xs...)   xs = second region(xs) as long as the first gives true
//   while_gradient(xs..., cts...)   the same loop; then, from its last turn to its first,
//                                   cts = third region(xs at the start of the turn, cts)
//   require(x)          x, which must be true: else the run fails
// Regions take the xs as their inputs. All of their types are fixed.
#include "graph/vals.h"

namespace pijit {
namespace {
Type bundle(const InferCtx&) { return {DType::U8, Shape{0}}; }
}  // namespace

void register_control(OpTable& t) {
  t.add("cond")
      .in({"pred", "xs*"})
      .flags(kRegion | kCallOut | kNoGradient)
      .role(Role::kCond)
      .infer(bundle);
  t.add("while_loop")
      .in({"xs*"})
      .flags(kRegion | kCallOut | kNoGradient)
      .role(Role::kWhile)
      .infer(bundle);
  t.add("while_gradient")
      .in({"xs*"})
      .flags(kRegion | kCallOut | kNoGradient)
      .role(Role::kWhileGradient)
      .infer(bundle);
  t.add("require").in({"x"}).flags(kMayFail | kNoGradient).infer([](const InferCtx& c) {
    OP_CHECK(c.x(0).dtype == DType::Bool && c.x(0).shape.rank() == 0, kType,
             "[require] takes bool[]");
    return c.x(0);
  });
  t.add("result")
      .in({"of"})
      .attr("index", AttrKind::kInt)
      .attr("dtype", AttrKind::kDType)
      .attr("shape", AttrKind::kInts)
      .flags(kRegion | kNoGradient)
      .role(Role::kResult)
      .infer([](const InferCtx& c) {
        Shape s(c.ints("shape"));
        for (auto d : s) OP_CHECK(d >= 0, kValue, "[result] bad shape ", s.str());
        return Type{c.dt("dtype"), s};
      });
}

}  // namespace pijit
