// Softmax family: one node with a closed gradient, lowered to reductions and elementwise ops, which
// the fusion pass packs again.
#include "graph/vals.h"

namespace pijit {
namespace {
using V = VjpCtx&;
Type softmax_type(const InferCtx& c) {
  OP_CHECK(is_float(c.x(0).dtype), kType, "[", c.op.name, "] expected a floating dtype, got ",
           c.x(0).str());
  normalize_axis(c.op.name, c.i("axis"), c.shape(0).rank());
  return c.x(0);
}
}  // namespace

void register_norm(OpTable& t) {
  t.add("softmax")
      .in({"x"})
      .attr("axis", AttrKind::kInt, int64_t{-1})
      .infer(softmax_type)
      .vjp([](V v) {
        const Val gy = v.ct * v.out;
        v.d[0] = gy - v.out * v_sum(gy, {v.i("axis")}, true);
      })
      .jvp([](JvpCtx& c) {
        const Val ty = c.t[0] * c.out;
        return ty - c.out * v_sum(ty, {c.i("axis")}, true);
      })
      .lower([](const LowerCtx& c) {
        const Val x = c.in[0];
        const Val e = v_op("exp", x - v_max(x, {c.i("axis")}, true));
        return e / v_sum(e, {c.i("axis")}, true);
      });
  t.add("log_softmax")
      .in({"x"})
      .attr("axis", AttrKind::kInt, int64_t{-1})
      .infer(softmax_type)
      .vjp([](V v) { v.d[0] = v.ct - v_op("exp", v.out) * v_sum(v.ct, {v.i("axis")}, true); })
      .jvp([](JvpCtx& c) {
        return c.t[0] - v_sum(v_op("exp", c.out) * c.t[0], {c.i("axis")}, true);
      })
      .lower([](const LowerCtx& c) {
        const Val x = c.in[0];
        const Val z = x - v_max(x, {c.i("axis")}, true);
        return z - v_op("log", v_sum(v_op("exp", z), {c.i("axis")}, true));
      });
}

}  // namespace pijit
