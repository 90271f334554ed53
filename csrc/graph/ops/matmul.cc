// Matrix products. Kernels: oneDNN for floats, the reference for the rest.
#include "graph/vmap.h"
#include "graph/vals.h"

namespace pijit {
namespace {
using V = VjpCtx&;
// Sums leading (batch) axes that were broadcast.
Val fit(Val g, const Shape& to) { return v_unbroadcast(g, to); }
Val vmap_dense(const VmapCtx& c) {
  if (!c.batched[1] && !c.batched[2]) return c.b.op(c.op, c.in, c.attrs);
  const int rank = c.rank(0);  // x in rows: the other batch axes stand in them
  Val x = c.in[0];
  const Dim in = x.shape()[x.shape().rank() - 1];
  if (c.batched[0])
    x = v_reshape(x, Shape{c.size, in == 0 ? Dim(0) : x.shape().numel() / (c.size * in), in});
  else
    x = v_reshape(x, Shape{in == 0 ? Dim(0) : x.shape().numel() / in, in});
  const Val y = v_reshape(v_matmul(x, c.front(1), false, true), c.with_batch(c.out.shape));
  return c.in[2] ? y + c.aligned(2, rank) : y;
}
int64_t dense_flops(const InferCtx& c, const Shape&) {
  return 2 * int64_t{c.shape(0).numel()} * int64_t{c.shape(1)[0]};
}
}  // namespace

void register_matmul(OpTable& t) {
  // a[..., m, k] @ b[..., k, n]; trans_* swaps the last two axes; batch axes broadcast. 2-d or
  // more.
  t.add("matmul")
      .role(Role::kMatmul)
      .flops([](const InferCtx& c, const Shape& out) {
        const Shape& a = c.shape(0);
        return 2 * int64_t{out.numel()} * int64_t{a[a.rank() - (c.flag("trans_a") ? 2 : 1)]};
      })
      .in({"a", "b"})
      .attr("trans_a", AttrKind::kBool, false)
      .attr("trans_b", AttrKind::kBool, false)
      .flags(kMultilinear | kAccumulatesF32)
      .infer([](const InferCtx& c) {
        const Shape &a = c.shape(0), &b = c.shape(1);
        OP_CHECK(a.rank() >= 2 && b.rank() >= 2, kValue,
                 "[matmul] expected at least 2 dimensions, got ", c.x(0).str(), " x ",
                 c.x(1).str());
        OP_CHECK(c.x(0).dtype == c.x(1).dtype, kType,
                 "[matmul] both operands must have one dtype, but got ", c.x(0).str(), " and ",
                 c.x(1).str(), ": cast one of them");
        OP_CHECK(!is_bool(c.x(0).dtype), kType, "[matmul] expected numbers, got ", c.x(0).str());
        const bool ta = c.flag("trans_a"), tb = c.flag("trans_b");
        const int ra = a.rank(), rb = b.rank();
        const Dim m = a[ra - (ta ? 1 : 2)], ka = a[ra - (ta ? 2 : 1)], kb = b[rb - (tb ? 1 : 2)],
                  n = b[rb - (tb ? 2 : 1)];
        OP_CHECK(ka == kb, kValue, "[matmul] inner dimensions differ: ", c.x(0).str(),
                 ta ? " (transposed)" : "", " x ", c.x(1).str(), tb ? " (transposed)" : "");
        Shape out = broadcast_shapes("matmul", Shape(std::span(a.begin(), ra - 2)),
                                     Shape(std::span(b.begin(), rb - 2)));
        out.push_back(m);
        out.push_back(n);
        return Type{c.x(0).dtype, out};
      })
      .vjp([](V v) {
        const bool ta = v.flag("trans_a"), tb = v.flag("trans_b");
        const Val a = v.in[0], b = v.in[1], g = v.ct;
        if (v.need[0])
          v.d[0] = fit(ta ? v_matmul(b, g, tb, true) : v_matmul(g, b, false, !tb), a.shape());
        if (v.need[1])
          v.d[1] = fit(tb ? v_matmul(g, a, true, ta) : v_matmul(a, g, !ta, false), b.shape());
      })
      .vmap(vmap_as_elements)
      // A stack of matrices by one matrix is one product. An outer product (the gradient of a
      // weight at batch size 1) is elementwise, so that the update that reads it can be fused with
      // it. + 0 as a sum that starts at 0: no -0.0.
      .lower([](const LowerCtx& c) {
        const Val a = c.in[0], b = c.in[1];
        const bool ta = c.flag("trans_a"), tb = c.flag("trans_b");
        Shape sa = a.shape(), sb = b.shape();
        const int ra = sa.rank(), rb = sb.rank();
        if (sa[ra - (ta ? 2 : 1)] != 1 || !is_float(a.dtype())) {
          if (ra == 2 || rb != 2 || ta) return c.b.emit(c.op, c.in, c.attrs, c.out);
          Dim rows = 1;  // one product with all rows, as b is the same for all
          for (int k = 0; k + 1 < ra; ++k) rows *= sa[k];
          return v_reshape(v_matmul(v_reshape(a, Shape{rows, sa[ra - 1]}), b, false, tb),
                           c.out.shape);
        }
        if (ta) std::swap(sa[ra - 1], sa[ra - 2]);
        if (tb) std::swap(sb[rb - 1], sb[rb - 2]);
        return v_reshape(a, sa) * v_reshape(b, sb) + 0.0;
      });
  // x[..., in] @ w[out, in]^T + b[out]
  t.add("dense")
      .role(Role::kDense)
      .flops(dense_flops)
      .in({"x", "w", "b?"})
      .flags(kAccumulatesF32)
      .infer([](const InferCtx& c) {
        const Shape &x = c.shape(0), &w = c.shape(1);
        OP_CHECK(x.rank() >= 1 && w.rank() == 2, kValue,
                 "[dense] expected x[..., in] and w[out, in], got ", c.x(0).str(), " and ",
                 c.x(1).str());
        OP_CHECK(x[x.rank() - 1] == w[1], kValue, "[dense] x ", c.x(0).str(), " has ",
                 x[x.rank() - 1], " channels, the weight ", c.x(1).str(), " takes ", w[1]);
        OP_CHECK(c.x(0).dtype == c.x(1).dtype, kType, "[dense] x is ", c.x(0).str(),
                 ", the weight ", c.x(1).str());
        OP_CHECK(!is_bool(c.x(0).dtype), kType, "[dense] expected numbers, got ", c.x(0).str());
        if (c.in[2])
          OP_CHECK(c.shape(2) == Shape{w[0]} && c.x(2).dtype == c.x(0).dtype, kValue,
                   "[dense] the bias must be ", Type{c.x(0).dtype, Shape{w[0]}}.str(), ", got ",
                   c.x(2).str());
        Shape out = x;
        out[out.rank() - 1] = w[0];
        return Type{c.x(0).dtype, out};
      })
      .vjp([](V v) {
        const Val x = v.in[0], w = v.in[1];
        const Dim in = w.shape()[1], out = w.shape()[0];
        const Val g = v_reshape(v.ct, Shape{v.ct.shape().numel() / std::max(out, Dim(1)), out});
        if (v.need[0]) v.d[0] = v_reshape(v_matmul(g, w, false, false), x.shape());
        if (v.need[1]) v.d[1] = v_matmul(g, v_reshape(x, Shape{g.shape()[0], in}), true, false);
        if (v.need[2]) v.d[2] = v_sum(g, {0}, false);
      })
      .vmap(vmap_dense);
  // Sums over m of |a - b| (or of the squares) for all pairs of rows of a[..., p, m] and b[..., q,
  // m] of one batch: [..., p, q].
  t.add("distance_sums")
      .in({"a", "b"})
      .attr("squares", AttrKind::kBool)
      .infer([](const InferCtx& c) {
        const Shape &a = c.shape(0), &b = c.shape(1);
        const int r = a.rank();
        OP_CHECK(c.x(0).dtype == c.x(1).dtype &&
                     (c.x(0).dtype == DType::F32 || c.x(0).dtype == DType::F64),
                 kType, "[distance_sums] expected two of float32 or float64, got ", c.x(0).str(),
                 " and ", c.x(1).str());
        OP_CHECK(r >= 2 && b.rank() == r && a[r - 1] == b[r - 1] &&
                     Shape(std::span(a.begin(), r - 2)) == Shape(std::span(b.begin(), r - 2)),
                 kValue, "[distance_sums] rows of ", c.x(0).str(), " and ", c.x(1).str(),
                 " don't match");
        Shape out = a;
        out[r - 1] = b[r - 2];
        return Type{c.x(0).dtype, out};
      })
      .vmap([](const VmapCtx& c) {
        return c.b.op(c.op, {c.front(0), c.front(1)}, c.attrs);
      })
      .vjp([](V v) {
        const Val a = v.in[0], b = v.in[1];
        const int r = a.shape().rank();
        auto column = [](Val x) {
          Shape s = x.shape();
          s.push_back(1);
          return v_reshape(x, s);
        };
        if (v.flag("squares")) {  // sum over q of 2 g (a - b): products with g
          auto half = [&](Val x, Val y, bool trans) {
            return x * column(v_sum(v.ct, {Dim(trans ? r - 2 : r - 1)}, false)) -
                   v_matmul(v.ct, y, trans, false);
          };
          if (v.need[0]) v.d[0] = half(a, b, false) * 2.0;
          if (v.need[1]) v.d[1] = half(b, a, true) * 2.0;
          return;
        }
        Shape sa = a.shape(), sb = b.shape();
        sa.insert(r - 1, 1);
        sb.insert(r - 2, 1);
        const Val g = column(v.ct) * v_op("sign", v_reshape(a, sa) - v_reshape(b, sb));
        if (v.need[0]) v.d[0] = v_sum(g, {Dim(r - 1)}, false);
        if (v.need[1]) v.d[1] = -v_sum(g, {Dim(r - 2)}, false);
      });
  // matmul with one operand, a matrix, transposed: b, or a (compile/passes/transposed_operands.cc).
  t.add("matmul_transposed")
      .role(Role::kMatmul)
      .flops([](const InferCtx& c, const Shape& out) {
        const Shape& a = c.shape(0);
        const bool last = c.flag("trans_a") == c.flag("transpose_b");
        return 2 * int64_t{out.numel()} * int64_t{a[a.rank() - (last ? 2 : 1)]};
      })
      .like(t.at("matmul"))
      .attr("transpose_b", AttrKind::kBool)
      .flags(kPhysical)
      .infer([&t](const InferCtx& c) {
        const OpDef& plain = t.at("matmul");
        const size_t side = c.flag("transpose_b") ? 1 : 0;
        Type given = *c.in[side];
        std::swap(given.shape[0], given.shape[1]);
        const Type* in[] = {c.in[0], c.in[1]};
        in[side] = &given;
        return plain.infer(InferCtx{{plain, Attrs(c.attrs.begin(), c.attrs.end() - 1)}, in});
      });
  // dense with an activation of the result (compile/passes/fast_math.h); never a residual.
  t.add("dense_post")
      .role(Role::kDense)
      .flops(dense_flops)
      .like(t.at("dense"))
      .in({"residual?"})
      .attr("activation", AttrKind::kString)
      .flags(kPhysical)
      .infer([&t](const InferCtx& c) {
        const OpDef& plain = t.at("dense");
        OP_CHECK(!c.in[3], kValue, "[dense_post] takes no residual");
        return plain.infer(InferCtx{{plain, Attrs{}}, c.in.first(3)});
      });
  t.extend("dense").post(t.at("dense_post"));
  // softmax(scale * q k^T) v (compile/passes/attention.h). Ahead of the softmax each mask is added
  // to the scores ('a' in how), or the lesser of both is taken ('m'). With statistics its second
  // output is what the gradient computes weights from: the logarithm of each row's sum of
  // exponentials; in float32, where a fill may hide it, the row's greatest score and one over the
  // sum of exponentials of what is left of each when that is subtracted. Operands are [batch,
  // heads, rows, width] or, apart, [batch, rows, heads, width].
  auto apart = [](const InferCtx& c) { return c.flag("apart"); };
  t.add("attention")
      .role(Role::kAttention)
      .flops([apart](const InferCtx& c, const Shape& out) {  // two products over all pairs of rows
        const Shape &q = c.shape(0), &k = c.shape(1);
        return 2 * int64_t{q.numel() + out.numel()} * int64_t{k[apart(c) ? 1 : q.rank() - 2]};
      })
      .in({"q", "k", "v", "masks*"})
      .attr("scale", AttrKind::kFloat)
      .attr("how", AttrKind::kString)
      .attr("statistics", AttrKind::kBool, false)
      .attr("apart", AttrKind::kBool, false)
      .flags(kPhysical)
      .outputs(2)
      .infer([](const InferCtx& c) {
        Shape out = c.shape(0);
        out[out.rank() - 1] = c.shape(2)[out.rank() - 1];
        return Type{c.x(0).dtype, out};
      });
  // Its gradient, from the result, the statistics and the cotangent: dq, dk and dv; with bias, also
  // that of the last mask, which is added. In float32, scores that are cut down pass nothing on.
  t.add("attention_gradient")
      .role(Role::kAttentionGradient)
      .flops([apart](const InferCtx& c, const Shape&) {
        // five: scores and weights' cotangents, then dq, dk and dv
        const Shape &q = c.shape(0), &k = c.shape(1);
        return 2 * int64_t{3 * q.numel() + 2 * c.shape(3).numel()} *
               int64_t{k[apart(c) ? 1 : q.rank() - 2]};
      })
      .in({"q", "k", "v", "out", "statistics", "ct", "masks*"})
      .attr("scale", AttrKind::kFloat)
      .attr("how", AttrKind::kString)
      .attr("bias", AttrKind::kBool, false)
      .attr("apart", AttrKind::kBool, false)
      .flags(kPhysical)
      .outputs(4)
      .infer([](const InferCtx& c) { return c.x(0); });
  // One of the further outputs of a node.
  t.add("output")
      .in({"of"})
      .attr("index", AttrKind::kInt)
      .attr("dtype", AttrKind::kDType)
      .attr("shape", AttrKind::kInts)
      .flags(kPhysical)
      .infer([](const InferCtx& c) {
        return Type{c.dt("dtype"), Shape(c.ints("shape"))};
      });
}

}  // namespace pijit
