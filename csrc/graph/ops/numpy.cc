// What NumPy's own loops compute (runtime/foreign.h), for results of NumPy's bits.
//   numpy_loop(xs...)         elementwise; operands have the shape of the result, or one element
//   numpy_reduce(x, start?)   x [outer, n, inner] over its middle axis, in NumPy's order; from
//                             `start` on, or else from the first elements
//   numpy_accumulate(x)       the same along its middle axis, with all that comes before the end
//   numpy_masked_reduce(x, mask, start?)
//                             of the elements of x [n] that the mask has; of none without `start`
//                             it fails
//   numpy_count(mask)         how many elements of a mask are not 0; it fails of fewer than `least`
//   numpy_sort(x)             each row of x [rows, n] sorted, or, of dtype int64, the order of it
//   numpy_extreme(x)          the place of the largest or smallest element of each row
//   numpy_search(x, keys)     where keys would be inserted in x [n], which is sorted: before equal
//                             ones or behind
//   numpy_take(x, indexes...) of the first axes of x, in int64, all of one shape
//   numpy_put(x, y, indexes...)
//                             x with y at these places
//   numpy_matmul(x, y)        of matrices; those whose bit is set in `transposed` lie transposed
#include "graph/vals.h"

namespace pijit {

void register_numpy(OpTable& t) {
  t.add("numpy_loop")
      .in({"xs*"})
      .attr("loop", AttrKind::kInt)
      .attr("dtype", AttrKind::kDType)
      .flags(kNoGradient | kTakesComplex)
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
      .flags(kNoGradient | kTakesComplex)
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
      .flags(kNoGradient | kTakesComplex)
      .infer([](const InferCtx& c) {
        const bool x = c.i("transposed") & 1, y = c.i("transposed") & 2;
        OP_CHECK(c.shape(0).rank() == 2 && c.shape(1).rank() == 2 &&
                     c.shape(0)[x ? 0 : 1] == c.shape(1)[y ? 1 : 0],
                 kValue, "[", c.op.name, "] takes matrices that match");
        return Type{c.dt("dtype"), Shape{c.shape(0)[x ? 1 : 0], c.shape(1)[y ? 0 : 1]}};
      });
  t.add("numpy_masked_reduce")
      .in({"x", "mask", "start?"})
      .attr("loop", AttrKind::kInt)
      .attr("dtype", AttrKind::kDType)
      .flags(kNoGradient | kMayFail | kTakesComplex)
      .infer([](const InferCtx& c) {
        OP_CHECK(c.shape(0).rank() == 1 && c.shape(0) == c.shape(1) && is_bool(c.x(1).dtype),
                 kValue, "[", c.op.name, "] takes [n] and a mask of as many elements");
        return Type{c.dt("dtype"), Shape{}};
      });
  t.add("numpy_count")
      .in({"mask"})
      .attr("least", AttrKind::kInt)
      .flags(kNoGradient | kMayFail | kTakesComplex)
      .infer([](const InferCtx& c) {
        OP_CHECK(is_bool(c.x(0).dtype), kValue, "[", c.op.name, "] takes a mask");
        return Type{DType::I64, Shape{}};
      });
  // What arrays of indexes pick of the first operand, from operand `first` on.
  auto picked = [](const InferCtx& c, size_t first) {
    const Shape &x = c.shape(0), &at = c.shape(first);
    const auto axes = static_cast<int>(c.in.size() - first);
    OP_CHECK(axes > 0 && axes <= x.rank(), kValue, "[", c.op.name,
             "] takes an index for each axis");
    for (size_t k = first; k < c.in.size(); ++k)
      OP_CHECK(c.shape(k) == at && c.x(k).dtype == DType::I64, kValue, "[", c.op.name,
               "] indexes must be int64 and of one shape");
    Shape s = at;
    for (int k = axes; k < x.rank(); ++k) s.push_back(x[k]);
    return Type{c.x(0).dtype, s};
  };
  t.add("numpy_take")
      .in({"xs*"})
      .flags(kNoGradient | kMayFail | kTakesComplex)
      .infer([picked](const InferCtx& c) { return picked(c, 1); });
  t.add("numpy_put")
      .in({"xs*"})
      .flags(kNoGradient | kMayFail | kTakesComplex)
      .infer([picked](const InferCtx& c) {
        OP_CHECK(c.x(1) == picked(c, 2), kValue, "[", c.op.name, "] takes elements of ",
                 picked(c, 2).str(), ", got ", c.x(1).str());
        return c.x(0);
      });
  auto rows = [](const InferCtx& c) {
    OP_CHECK(c.shape(0).rank() == 2, kValue, "[", c.op.name, "] takes [rows, n]");
    return c.shape(0);
  };
  t.add("numpy_sort")
      .in({"x"})
      .attr("loop", AttrKind::kInt)
      .attr("orders", AttrKind::kBool)
      .flags(kNoGradient | kTakesComplex)
      .infer([rows](const InferCtx& c) {
        return Type{c.flag("orders") ? DType::I64 : c.x(0).dtype, rows(c)};
      });
  t.add("numpy_extreme")
      .in({"x"})
      .attr("loop", AttrKind::kInt)
      .flags(kNoGradient | kTakesComplex)
      .infer([rows](const InferCtx& c) {
        return Type{DType::I64, Shape{rows(c)[0]}};
      });
  t.add("numpy_search")
      .in({"x", "keys"})
      .attr("behind", AttrKind::kBool)
      .flags(kNoGradient | kTakesComplex)
      .infer([](const InferCtx& c) {
        OP_CHECK(c.shape(0).rank() == 1 && c.x(0).dtype == c.x(1).dtype, kValue, "[", c.op.name,
                 "] takes [n] and keys of the same dtype");
        return Type{DType::I64, c.shape(1)};
      });
  t.add("numpy_accumulate")
      .in({"x"})
      .attr("loop", AttrKind::kInt)
      .attr("dtype", AttrKind::kDType)
      .flags(kNoGradient | kTakesComplex)
      .infer([](const InferCtx& c) {
        OP_CHECK(c.shape(0).rank() == 3, kValue, "[", c.op.name, "] takes [outer, n, inner]");
        return Type{c.dt("dtype"), c.shape(0)};
      });
}

}  // namespace pijit
