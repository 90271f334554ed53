// What NumPy's own loops compute (runtime/foreign.h), for results of NumPy's bits.
//   numpy_loop(xs...)         elementwise; operands have the shape of the result, or one element
//   numpy_reduce(x, start?)   x [outer, n, inner] over its middle axis, in NumPy's order; from
//                             `start` on, or else from the first elements
//   numpy_accumulate(x)       the same along its middle axis, with all that comes before the end
//   numpy_matmul(x, y)        of matrices; those whose bit is set in `transposed` lie transposed
#include "graph/vals.h"

namespace pijit {

void register_numpy(OpTable& t) {
  t.add("numpy_loop")
      .in({"xs*"})
      .attr("loop", AttrKind::kInt)
      .attr("dtype", AttrKind::kDType)
      .flags(kNoGradient)
      .infer([](const InferCtx& c) {
        Shape s = c.shape(0);
        for (size_t k = 1; k < c.in.size(); ++k) s = broadcast_shapes(c.op.name, s, c.shape(k));
        for (size_t k = 0; k < c.in.size(); ++k)
          OP_CHECK(c.shape(k).rank() == 0 || c.shape(k) == s, kValue, "[", c.op.name,
                   "] operands must have the shape of the result, or one element");
        return Type{c.dt("dtype"), s};
      });
  t.add("numpy_reduce")
      .in({"x", "start?"})
      .attr("loop", AttrKind::kInt)
      .attr("dtype", AttrKind::kDType)
      .flags(kNoGradient)
      .infer([](const InferCtx& c) {
        OP_CHECK(c.shape(0).rank() == 3 && (!c.in[1] || c.shape(1).rank() == 0), kValue, "[",
                 c.op.name, "] takes [outer, n, inner] and a number");
        return Type{c.dt("dtype"), Shape{c.shape(0)[0], c.shape(0)[2]}};
      });
  t.add("numpy_matmul")
      .in({"x", "y"})
      .attr("loop", AttrKind::kInt)
      .attr("dtype", AttrKind::kDType)
      .attr("transposed", AttrKind::kInt)
      .flags(kNoGradient)
      .infer([](const InferCtx& c) {
        const bool x = c.i("transposed") & 1, y = c.i("transposed") & 2;
        OP_CHECK(c.shape(0).rank() == 2 && c.shape(1).rank() == 2 &&
                     c.shape(0)[x ? 0 : 1] == c.shape(1)[y ? 1 : 0],
                 kValue, "[", c.op.name, "] takes matrices that match");
        return Type{c.dt("dtype"), Shape{c.shape(0)[x ? 1 : 0], c.shape(1)[y ? 0 : 1]}};
      });
  t.add("numpy_accumulate")
      .in({"x"})
      .attr("loop", AttrKind::kInt)
      .attr("dtype", AttrKind::kDType)
      .flags(kNoGradient)
      .infer([](const InferCtx& c) {
        OP_CHECK(c.shape(0).rank() == 3, kValue, "[", c.op.name, "] takes [outer, n, inner]");
        return Type{c.dt("dtype"), c.shape(0)};
      });
}

}  // namespace pijit
