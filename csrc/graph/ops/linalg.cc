// Linear algebra: decompositions and solutions of the matrices [..., m, n] that the last two axes
// hold. A decomposition of several parts gives them packed in one matrix, which callers slice; each
// entry says how. Integers in a packed matrix (pivots) are exact: they are below 2^24.
//
// Gradients: Giles, "An extended collection of matrix derivative results" (2008) for inverse,
// determinant and triangular systems; Murray, "Differentiation of the Cholesky decomposition"
// (2016); Walter & Lehmann, "Algorithmic differentiation of linear algebra functions" (2010) for
// QR; Townsend, "Differentiating the singular value decomposition" (2016); Golub & Pereyra (1973)
// for the pseudo-inverse; Mathias, "A chain rule for matrix functions" (1996) for the exponential.
#include <algorithm>

#include "graph/vals.h"
#include "graph/vmap.h"

namespace pijit {
namespace {
using V = VjpCtx&;

Val t(Val x) {  // transposed
  const int r = x.shape().rank();
  Dims perm;
  for (int k = 0; k < r; ++k) perm.push_back(k);
  std::swap(perm[r - 1], perm[r - 2]);
  return v_transpose(x, perm);
}
Val conj(Val x) { return is_complex(x.dtype()) ? v_op("conj", x) : x; }
Val h(Val x) { return t(conj(x)); }  // the adjoint
// a^H b and a b^H
Val h_mm(Val a, Val b) { return v_matmul(conj(a), b, true); }
Val mm_h(Val a, Val b) { return v_matmul(a, conj(b), false, true); }
// The real part, as a tensor of x's dtype.
Val only_real(Val x) { return is_complex(x.dtype()) ? v_cast(v_op("real", x), x.dtype()) : x; }
Dim rows(Val x) { return x.shape()[x.shape().rank() - 2]; }
Dim cols(Val x) { return x.shape()[x.shape().rank() - 1]; }
// x[..., r0:r1, c0:c1]
Val block(Val x, Dim r0, Dim r1, Dim c0, Dim c1) {
  const int r = x.shape().rank();
  Dims begin(r, 0), end = x.shape().dims(), step(r, 1);
  begin[r - 2] = r0, end[r - 2] = r1;
  begin[r - 1] = c0, end[r - 1] = c1;
  return x.b->op("slice", {x}, {begin, end, step});
}
Val joined(Val a, Val b, int axis) {  // axis counts from the end
  return a.b->op("concat", {a, b}, {Dim(a.shape().rank() + axis)});
}
// Column minus row number of each element of a matrix.
Val diagonals(Builder& b, Dim m, Dim n) {
  auto count = [&](Dim k) { return b.op("arange", {}, {0.0, 1.0, k, DType::I64}); };
  return v_reshape(count(n), Shape{1, n}) - v_reshape(count(m), Shape{m, 1});
}
Val picked(Val x, const char* compare, int k) {
  const Val d = diagonals(*x.b, rows(x), cols(x));
  return v_select(v_op(compare, d, x.b->constant_int(DType::I64, k)), x, v_const(x, 0));
}
Val tril(Val x, int k = 0) { return picked(x, "less_equal", k); }
Val triu(Val x, int k = 0) { return picked(x, "greater_equal", k); }
// The lower triangle with half of the diagonal.
Val half_tril(Val x) { return (tril(x) + tril(x, -1)) * 0.5; }
Val identity(Val like, Dim n) {
  const Val d = diagonals(*like.b, n, n);
  return v_cast(v_op("equal", d, like.b->constant_int(DType::I64, 0)), like.dtype());
}
// [..., n] as [..., n, 1] and as [..., 1, n]
Val column(Val x) {
  Shape s = x.shape();
  s.push_back(1);
  return v_reshape(x, s);
}
Val row(Val x) {
  Shape s = x.shape();
  s.insert(s.rank() - 1, 1);
  return v_reshape(x, s);
}
// [...] as [..., 1, 1]
Val scalars(Val x) { return column(column(x)); }
// 1 / x, and 0 where x is 0: what no direction depends on takes no part.
Val inverse_or_zero(Val x) {
  const Val zero = v_op("equal", x, v_const(x, 0));
  return v_select(zero, v_const(x, 0), 1.0 / v_select(zero, v_const(x, 1), x));
}
// Sums over the axes of `to`'s batch that were broadcast.
Val fit(Val g, Val to) { return v_unbroadcast(g, to.shape()); }

Shape batch_of(const Shape& s) { return Shape(std::span(s.begin(), s.rank() - 2)); }
void check_matrix(const InferCtx& c, int k, bool square) {
  const Type& x = c.x(k);
  const bool complex = is_complex(x.dtype) && c.op.has(kTakesComplex);
  OP_CHECK(x.dtype == DType::F32 || x.dtype == DType::F64 || complex, kType, "[", c.op.name,
           "] expected float32 or float64",
           c.op.has(kTakesComplex) ? ", complex64 or complex128" : "", ", got ", x.str());
  const Shape& s = x.shape;
  OP_CHECK(s.rank() >= 2, kValue, "[", c.op.name, "] expected at least 2 dimensions, got ",
           x.str());
  if (square)
    OP_CHECK(s[s.rank() - 2] == s[s.rank() - 1], kValue, "[", c.op.name,
             "] expected square matrices, got ", x.str());
}
// The type of packed[..., m', n'] for matrices [..., m, n].
template <class F>
InferFn packed(bool square, F sizes) {
  return [square, sizes](const InferCtx& c) {
    check_matrix(c, 0, square);
    Shape s = c.shape(0);
    const int r = s.rank();
    const auto [m, n] = sizes(c, s[r - 2], s[r - 1]);
    s[r - 2] = m, s[r - 1] = n;
    return Type{c.x(0).dtype, s};
  };
}
Type same_type(const InferCtx& c) {
  check_matrix(c, 0, true);
  return c.x(0);
}
Type solution(const InferCtx& c) {
  check_matrix(c, 0, true);
  check_matrix(c, 1, false);
  const Shape &a = c.shape(0), &b = c.shape(1);
  OP_CHECK(c.x(0).dtype == c.x(1).dtype, kType, "[", c.op.name, "] a is ", c.x(0).str(), ", b is ",
           c.x(1).str());
  OP_CHECK(a[a.rank() - 1] == b[b.rank() - 2], kValue, "[", c.op.name, "] a ", c.x(0).str(),
           " and b ", c.x(1).str(), " differ in rows");
  Shape s = broadcast_shapes(c.op.name, batch_of(a), batch_of(b));
  s.push_back(b[b.rank() - 2]);
  s.push_back(b[b.rank() - 1]);
  return {c.x(0).dtype, s};
}
Val vmap_matrices(const VmapCtx& c) { return c.b.op(c.op, c.in, c.attrs); }
// The batch's axis stands before batches of the matrices, which may broadcast.
Val vmap_systems(const VmapCtx& c) { return vmap_as_elements(c); }

Val solve_triangular(Val a, Val b, bool lower, bool trans, bool unit = false) {
  return a.b->op("solve_triangular", {a, b}, {lower, trans, unit});
}
// (I - A P) G^T P P^T + P^T P G^T (I - P A) - P^T G P^T for the pseudo-inverse P of A
Val pinv_gradient(V v) {
  const Val a = v.in[0], p = v.out, g = v.ct;
  const Val left = v_matmul(v_matmul(g, p, true), p, false, true);   // G^T P P^T
  const Val right = v_matmul(p, v_matmul(p, g, false, true), true);  // P^T P G^T
  return (left - v_matmul(a, v_matmul(p, left))) + (right - v_matmul(v_matmul(right, p), a)) -
         v_matmul(v_matmul(p, g, true), p, false, true);
}
// For U f(S) V^T with f(s) = 1 / s, or 0 for what is cut, by divided differences of f (Daleckii &
// Krein 1965), which do not grow where singular values are equal.
Val pinv_gradient_of_cut(V v) {
  const Val a = v.in[0], g = t(v.ct);
  const Dim m = rows(a), n = cols(a), k = std::min(m, n);
  const Val all = v.b.op("svd", {a});
  const Val u = block(all, 0, m, 0, k), w = block(all, m, m + n, 0, k),
            s = block(all, m + n, m + n + 1, 0, k);  // [..., 1, k]
  if (k == 0) return v_zeros(v.b, a.type());
  const Val least = v_op("maximum", v.in[1], v.in[2] * block(s, 0, 1, 0, 1));
  const Val keep = v_cast(v_op("greater", s, least), a.dtype());
  const Val f = keep * inverse_or_zero(s);
  const Val both = keep * t(keep), one = keep + t(keep) - 2.0 * both;
  const Val same = both * (f * t(f));
  const Val minus = one * (f - t(f)) * inverse_or_zero(s - t(s)) - same;
  const Val plus = one * (f + t(f)) * inverse_or_zero(s + t(s)) + same;
  const Val d = v_matmul(v_matmul(u, g, true), w);
  Val x = v_matmul(v_matmul(u, (minus * (d + t(d)) + plus * (d - t(d))) * 0.5), w, false, true);
  const Val slope = f * inverse_or_zero(s);
  if (m > k) {
    const Val gw = v_matmul(g, w);
    x = x + v_matmul((gw - v_matmul(u, v_matmul(u, gw, true))) * slope, w, false, true);
  }
  if (n > k) {
    const Val gu = v_matmul(g, u, true);  // G^T U
    x = x + v_matmul(u, (gu - v_matmul(w, v_matmul(w, gu, true))) * slope, false, true);
  }
  return x;
}
}  // namespace

void register_linalg(OpTable& table) {
  // L of x = L L^H for the lower triangle of x; upper: L^H, from the upper one.
  table.add("cholesky")
      .in({"x|input_x|input"})
      .attr("upper", AttrKind::kBool, false)
      .flags(kMayFail | kTakesComplex | kOwnAdjoint)
      .infer(same_type)
      .vmap(vmap_matrices)
      .vjp([](V v) {
        const bool upper = v.flag("upper");
        const Val l = upper ? h(v.out) : v.out, g = upper ? h(v.ct) : v.ct;
        const Val p = half_tril(h_mm(l, g)), c = conj(l);
        // L^-H P L^-1: solved from the left, twice
        const Val s = h(solve_triangular(c, h(solve_triangular(c, p, true, true)), true, true));
        v.d[0] = (s + h(s)) * 0.5;
      });
  // op(a) x = b for the triangle of a that `lower` names; trans: op(a) = a^T. A zero on the
  // diagonal divides.
  table.add("solve_triangular")
      .in({"a", "b"})
      .attr("lower", AttrKind::kBool, true)
      .attr("trans", AttrKind::kBool, false)
      .attr("unit_diagonal", AttrKind::kBool, false)
      .flags(kTakesComplex)
      .infer(solution)
      .vmap(vmap_systems)
      .vjp([](V v) {
        const bool lower = v.flag("lower"), trans = v.flag("trans"), unit = v.flag("unit_diagonal");
        const Val g = solve_triangular(v.in[0], v.ct, lower, !trans, unit);
        if (v.need[0]) {
          const Val d =
              -(trans ? v_matmul(v.out, g, false, true) : v_matmul(g, v.out, false, true));
          v.d[0] = fit(lower ? tril(d, unit ? -1 : 0) : triu(d, unit ? 1 : 0), v.in[0]);
        }
        if (v.need[1]) v.d[1] = fit(g, v.in[1]);
      });
  // op(a) x = b by elimination with row pivots; ValueError for a singular a.
  table.add("solve")
      .in({"a", "b"})
      .attr("trans", AttrKind::kBool, false)
      .flags(kMayFail | kTakesComplex)
      .infer(solution)
      .vmap(vmap_systems)
      .vjp([](V v) {
        const bool trans = v.flag("trans");
        const Val g = v.b.op(v.op, {v.in[0], v.ct}, {!trans});
        if (v.need[0])
          v.d[0] = fit(-(trans ? v_matmul(v.out, g, false, true) : v_matmul(g, v.out, false, true)),
                       v.in[0]);
        if (v.need[1]) v.d[1] = fit(g, v.in[1]);
      });
  // Of a singular matrix: not finite.
  table.add("matrix_inverse")
      .in({"x|input"})
      .flags(kTakesComplex)
      .infer(same_type)
      .vmap(vmap_matrices)
      .vjp([](V v) { v.d[0] = -v_matmul(v_matmul(v.out, v.ct, true), v.out, false, true); })
      .jvp([](JvpCtx& c) { return -v_matmul(v_matmul(c.out, c.t[0]), c.out); });
  table.add("matrix_det")
      .in({"x|input"})
      .flags(kTakesComplex)
      .infer([](const InferCtx& c) {
        check_matrix(c, 0, true);
        return Type{c.x(0).dtype, batch_of(c.shape(0))};
      })
      .vmap(vmap_matrices)
      .vjp([](V v) { v.d[0] = scalars(v.ct) * t(v.b.op("adjugate", {v.in[0]})); });
  // det(x) x^-1 as a polynomial of the elements: finite where x is singular. Its own gradient is
  // that of the product.
  table.add("adjugate")
      .in({"x"})
      .flags(kTakesComplex)
      .infer(same_type)
      .vmap(vmap_matrices)
      .vjp([](V v) {
        const Val inverse = v.b.op("matrix_inverse", {v.in[0]});
        const Dim r = v.out.shape().rank();
        const Val along = v_sum(v.ct * inverse, {r - 2, r - 1}, true);
        v.d[0] = along * t(v.out) - v_matmul(v_matmul(inverse, v.ct, true), v.out, false, true);
      });
  // [..., n + 1, n], complex: the eigenvalues above the eigenvectors, which are columns of
  // length 1. The gradient takes the length and phase of each vector for arbitrary (Boeddeker et
  // al., "On the computation of complex-valued gradients", 2017).
  table.add("eig")
      .in({"x|input"})
      .flags(kTakesComplex | kOwnAdjoint)
      .infer([](const InferCtx& c) {
        check_matrix(c, 0, true);
        const bool wide = part_of(c.x(0).dtype) == DType::F64;
        Shape s = c.shape(0);
        s[s.rank() - 2] = s[s.rank() - 2] + 1;
        return Type{wide ? DType::C128 : DType::C64, s};
      })
      .vmap(vmap_matrices)
      .vjp([](V v) {
        const Dim n = cols(v.in[0]);
        const Val w = block(v.out, 0, 1, 0, n), vec = block(v.out, 1, n + 1, 0, n);
        const Val gw = block(v.ct, 0, 1, 0, n), gv = block(v.ct, 1, n + 1, 0, n);
        const Val one = identity(w, n), vh = h(vec), p = v_matmul(vh, gv);
        const DType part = part_of(w.dtype());
        const Val own =
            v_cast(v_op("real", v_sum(p * one, {w.shape().rank() - 2}, true)), w.dtype());
        const Val gap = v_op("conj", w - t(w));  // w_j - w_i
        const Val same = v_op("equal", v_cast(one, part), v.b.constant(part, 1.0));
        const Val inner = v_select(same, gw, (p - v_matmul(vh, vec) * own) * inverse_or_zero(gap));
        const Val d = v.b.op("solve", {vh, v_matmul(inner, vh)}, {false});
        v.d[0] = is_complex(v.in[0].dtype()) ? d : v_op("real", d);
      });
  // [..., 2]: the determinant over its absolute value, and the logarithm of that.
  table.add("slogdet")
      .in({"x|input"})
      .flags(kTakesComplex | kOwnAdjoint)
      .infer([](const InferCtx& c) {
        check_matrix(c, 0, true);
        Shape s = batch_of(c.shape(0));
        s.push_back(2);
        return Type{c.x(0).dtype, s};
      })
      .vmap(vmap_matrices)
      .vjp([](V v) {
        const Val g = row(v.ct);  // [..., 1, 2]
        Val along = only_real(block(g, 0, 1, 1, 2));
        if (is_complex(v.in[0].dtype())) {  // the sign turns: its derivative is imaginary
          const Val p = conj(block(g, 0, 1, 0, 1)) * block(row(v.out), 0, 1, 0, 1);
          along = along - (p - only_real(p));
        }
        v.d[0] = along * h(v.b.op("matrix_inverse", {v.in[0]}));
      });
  // [..., m, n + 2]: L below the diagonal and U on and above it; for row i of L U the row that it
  // changed places with (in order of i; i itself from min(m, n) on), and the row of x that it is.
  table.add("lu")
      .in({"x"})
      .infer(packed(false, [](auto&, Dim m, Dim n) { return std::pair<Dim, Dim>(m, n + 2); }))
      .vmap(vmap_matrices)
      .vjp([](V v) {
        const Dim m = rows(v.in[0]), n = cols(v.in[0]), k = std::min(m, n);
        const Val lu = block(v.out, 0, m, 0, n), g = block(v.ct, 0, m, 0, n);
        const Val square = block(lu, 0, k, 0, k);
        auto by_l = [&](Val x) { return solve_triangular(square, x, true, true, true); };  // L^-T x
        auto by_u = [&](Val x) {
          return t(solve_triangular(square, t(x), false, false));
        };  // x U^-T
        const Val l1 = tril(square, -1) + identity(square, k), u1 = triu(square);
        Val gl = tril(block(g, 0, k, 0, k), -1), gu = triu(block(g, 0, k, 0, k)), rest;
        if (m < n) {  // U2 = L^-1 P A2
          rest = by_l(block(g, 0, k, k, n));
          gl = gl - v_matmul(rest, block(lu, 0, k, k, n), false, true);
        } else if (n < m) {  // L2 = P A2 U^-1
          rest = by_u(block(g, k, m, 0, k));
          gu = gu - v_matmul(block(lu, k, m, 0, k), rest, true);
        }
        Val d = by_u(by_l(tril(v_matmul(l1, gl, true), -1) + triu(v_matmul(gu, u1, false, true))));
        if (rest) d = joined(d, rest, m < n ? -1 : -2);
        // rows back to where they were in x
        const Dim r = v.out.shape().rank();
        const Val from = v_cast(block(v.out, 0, m, n + 1, n + 2), DType::I64);
        const Val to = v.b.op("argsort", {from}, {r - 2, false});
        v.d[0] = v.b.op("gather_d", {d, v_broadcast(to, d.shape())}, {r - 2});
      });
  // Row exchanges [..., k], each row's partner counted from 0, as the order [..., n] of n rows
  // behind them.
  table.add("lu_permutation")
      .in({"pivots"})
      .attr("n", AttrKind::kInt)
      .flags(kNoGradient | kMayFail)
      .infer([](const InferCtx& c) {
        Shape s = c.shape(0);
        OP_CHECK(is_int(c.x(0).dtype), kType, "[lu_permutation] pivots must be integers, got ",
                 c.x(0).str());
        OP_CHECK(s.rank() >= 1 && s[s.rank() - 1] <= c.i("n"), kValue,
                 "[lu_permutation] expected at most ", c.i("n"), " pivots, got ", c.x(0).str());
        s[s.rank() - 1] = c.i("n");
        return Type{DType::I64, s};
      })
      .vmap(vmap_matrices);
  // [..., m + n, k]: Q [m, k] above R^T [n, k], with k = min(m, n); complete: k = m. R's diagonal
  // is real.
  table.add("qr")
      .in({"x|input"})
      .attr("complete", AttrKind::kBool, false)
      .flags(kTakesComplex | kOwnAdjoint)
      .infer(packed(false,
                    [](const InferCtx& c, Dim m, Dim n) {
                      return std::pair<Dim, Dim>(m + n, c.flag("complete") ? m : std::min(m, n));
                    }))
      .vmap(vmap_matrices)
      .vjp([](V v) {
        const Dim m = rows(v.in[0]), n = cols(v.in[0]), k = cols(v.out);
        OP_CHECK(k <= n, kRuntime,
                 "[qr] the complete form of matrices with more rows than columns ",
                 "has no gradient: take the reduced form");
        const Val q = block(v.out, 0, m, 0, k), r = t(block(v.out, m, m + n, 0, k));
        Val gq = block(v.ct, 0, m, 0, k), gr = t(block(v.ct, m, m + n, 0, k));
        Val y;
        if (k < n) {  // R = [U, V], x = [X, Y]
          const Val gv = block(gr, 0, k, k, n);
          gq = gq + mm_h(block(v.in[0], 0, m, k, n), gv);
          y = v_matmul(q, gv);
          gr = block(gr, 0, k, 0, k);
        }
        const Val u = k < n ? block(r, 0, k, 0, k) : r;
        const Val w = mm_h(u, gr) - h_mm(gq, q), below = tril(w, -1);
        const Val g = gq + v_matmul(q, below + h(below) + only_real(tril(w) - below));
        const Val x = h(solve_triangular(u, h(g), false, false));  // g U^-H
        v.d[0] = y ? joined(x, y, -1) : x;
      });
  // [..., m + 1, n]: R on and above the diagonal, below it the reflections' vectors without their
  // leading 1; in the last row their factors (min(m, n) of them).
  table.add("geqrf")
      .in({"x|input"})
      .infer(packed(false, [](auto&, Dim m, Dim n) { return std::pair<Dim, Dim>(m + 1, n); }))
      .vmap(vmap_matrices)
      .vjp([](V) {
        throw OpError(OpError::kRuntime, "[geqrf] has no gradient: take qr, which has one");
      });
  // [..., n + 1, n]: eigenvalues in ascending order, below them the eigenvectors as columns; of the
  // symmetric matrix whose lower (upper) triangle is given. Between equal eigenvalues the gradient
  // of the vectors counts as 0.
  table.add("eigh")
      .in({"x"})
      .attr("lower", AttrKind::kBool, true)
      .infer(packed(true, [](auto&, Dim, Dim n) { return std::pair<Dim, Dim>(n + 1, n); }))
      .vmap(vmap_matrices)
      .vjp([](V v) {
        const Dim n = cols(v.out);
        const Val w = block(v.out, 0, 1, 0, n), q = block(v.out, 1, n + 1, 0, n);
        const Val gaps = inverse_or_zero(w - t(w));
        const Val inner = identity(q, n) * block(v.ct, 0, 1, 0, n) +
                          gaps * v_matmul(q, block(v.ct, 1, n + 1, 0, n), true);
        const Val g = v_matmul(v_matmul(q, inner), q, false, true), twice = g + t(g);
        v.d[0] = v.flag("lower") ? half_tril(twice) : t(half_tril(twice));
      });
  // [..., m + n + 1, k]: U [m, k], V [n, k], and the singular values in descending order as the
  // last row, k = min(m, n); full: U [m, m] and V [n, n], k = max(m, n), the rest 0. Between equal
  // singular values the gradient of the vectors counts as 0.
  table.add("svd")
      .in({"x"})
      .attr("full", AttrKind::kBool, false)
      .flags(kTakesComplex | kOwnAdjoint)
      .infer(packed(false,
                    [](const InferCtx& c, Dim m, Dim n) {
                      return std::pair<Dim, Dim>(m + n + 1,
                                                 c.flag("full") ? std::max(m, n) : std::min(m, n));
                    }))
      .vmap(vmap_matrices)
      .vjp([](V v) {
        OP_CHECK(!v.flag("full"), kRuntime,
                 "[svd] the vectors beyond min(m, n) have no gradient: take full_matrices=False");
        const Dim m = rows(v.in[0]), n = cols(v.in[0]), k = cols(v.out);
        auto parts = [&](Val p) {
          return std::array<Val, 3>{block(p, 0, m, 0, k), block(p, m, m + n, 0, k),
                                    block(p, m + n, m + n + 1, 0, k)};
        };
        const auto [u, w, s] = parts(v.out);
        const auto [gu, gw, gs] = parts(v.ct);
        const Val gaps = inverse_or_zero(s * s - t(s * s)), inverse = inverse_or_zero(s);
        auto turned = [&](Val x, Val g) {  // the antisymmetric part
          const Val p = h_mm(x, g);
          return p - h(p);
        };
        const Val ru = turned(u, gu), one = identity(s, k);
        Val inner = gaps * ru * s + t(s) * (gaps * turned(w, gw)) + one * only_real(gs);
        if (is_complex(s.dtype())) inner = inner + one * ru * (inverse * 0.5);  // phases
        Val d = mm_h(v_matmul(u, inner), w);
        if (m > k) d = d + mm_h((gu - v_matmul(u, h_mm(u, gu))) * inverse, w);
        if (n > k) d = d + mm_h(u, (gw - v_matmul(w, h_mm(w, gw))) * inverse);
        v.d[0] = d;
      });
  // The pseudo-inverse [..., n, m], from the singular values above max(atol, rtol * the greatest);
  // atol and rtol are [..., 1, 1].
  table.add("pinv")
      .in({"x", "atol", "rtol"})
      .attr("cut", AttrKind::kBool, false)  // singular values may be left out that are far from 0
      .infer([](const InferCtx& c) {
        check_matrix(c, 0, false);
        Shape s = c.shape(0);
        const int r = s.rank();
        Shape one = s;
        one[r - 2] = one[r - 1] = 1;
        for (int k : {1, 2})
          OP_CHECK(c.x(k) == (Type{c.x(0).dtype, one}), kValue, "[pinv] ", c.op.inputs[k].name,
                   " must be ", (Type{c.x(0).dtype, one}).str(), ", got ", c.x(k).str());
        std::swap(s[r - 2], s[r - 1]);
        return Type{c.x(0).dtype, s};
      })
      .vmap([](const VmapCtx& c) {
        return c.b.op(c.op, {c.front(0), c.front(1), c.front(2)}, c.attrs);
      })
      .vjp([](V v) {
        if (v.need[0]) v.d[0] = v.flag("cut") ? pinv_gradient_of_cut(v) : pinv_gradient(v);
      });
  table.add("matrix_exp")
      .in({"x|input"})
      .infer(same_type)
      .vmap(vmap_matrices)
      .vjp([](V v) {  // the upper right block of exp([[x^T, g], [0, x^T]])
        const Val x = t(v.in[0]), zero = v_zeros(v.b, x.type());
        const Dim n = cols(x);
        const Val both = joined(joined(x, v.ct, -1), joined(zero, x, -1), -2);
        v.d[0] = block(v.b.op(v.op, {both}, {}), 0, n, n, n + n);
      });
}

}  // namespace pijit
