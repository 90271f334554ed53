// Counter-based random numbers (Philox4x32-10; Salmon et al., "Parallel random numbers: as easy as
// 1, 2, 3", SC 2011). A generator's state is an int64 tensor [seed, counter]; element i of a draw
// depends on seed, counter and i alone, so threads and modes cannot change it.
#include "graph/vals.h"

namespace pijit {

void register_random(OpTable& t) {
  // uint32 bits of the given shape.
  t.add("random_bits")
      .in({"state"})
      .attr("shape", AttrKind::kInts)
      .flags(kNoGradient)
      .infer([](const InferCtx& c) {
        OP_CHECK(c.x(0) == (Type{DType::I64, Shape{2}}), kValue,
                 "[random_bits] the state must be i64[2], got ", c.x(0).str());
        Shape s(c.ints("shape"));
        for (auto d : s) OP_CHECK(d >= 0, kValue, "[random_bits] bad shape ", s.str());
        return Type{DType::U32, s};
      });
}

}  // namespace pijit
