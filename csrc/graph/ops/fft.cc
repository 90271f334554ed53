// Discrete Fourier transforms along one axis. norm, as NumPy's: "backward" scales inverse
// transforms by 1 / n, "forward" the others, "ortho" all by 1 / sqrt(n). They are linear over the
// real numbers; their adjoints are transforms the other way with the same scale.
#include "graph/vals.h"
#include "graph/vmap.h"

namespace pijit {
namespace {

using V = VjpCtx&;

std::string scaled_alike(const std::string& norm) {  // in a transform the other way
  return norm == "backward" ? "forward" : norm == "forward" ? "backward" : norm;
}
int checked_axis(const InferCtx& c) {
  const std::string& norm = c.s("norm");
  OP_CHECK(norm == "backward" || norm == "forward" || norm == "ortho", kValue, "[", c.op.name,
           "] norm must be 'backward', 'forward' or 'ortho', got '", norm, "'");
  const int axis = normalize_axis(c.op.name, c.i("axis"), c.shape(0).rank());
  OP_CHECK(c.shape(0)[axis] >= 1, kValue, "[", c.op.name, "] axis ", axis, " of ", c.x(0).str(),
           " is empty");
  return axis;
}
void check_complex(const InferCtx& c) {
  OP_CHECK(is_complex(c.x(0).dtype), kType, "[", c.op.name,
           "] expected complex64 or complex128, got ", public_name_of(c.x(0).dtype));
}
OpEntry transform(OpTable& t, const char* name) {
  return t.add(name)
      .in({"x|input"})
      .attr("axis", AttrKind::kInt, int64_t{-1})
      .attr("norm", AttrKind::kString, std::string("backward"))
      .flags(kLinear | kOwnAdjoint | kTakesComplex)
      .vmap(vmap_axis);
}

}  // namespace

void register_fft(OpTable& t) {
  transform(t, "fft")
      .attr("inverse", AttrKind::kBool, false)
      .infer([](const InferCtx& c) {
        check_complex(c);
        checked_axis(c);
        return c.x(0);
      })
      .vjp([](V v) {
        v.d[0] =
            v.b.op("fft", {v.ct}, {v.i("axis"), scaled_alike(v.s("norm")), !v.flag("inverse")});
      });
  // The first n / 2 + 1 elements, of real values.
  transform(t, "rfft")
      .infer([](const InferCtx& c) {
        const DType d = c.x(0).dtype;
        OP_CHECK(d == DType::F32 || d == DType::F64, kType,
                 "[rfft] expected float32 or float64, got ", public_name_of(d));
        const int axis = checked_axis(c);
        Shape s = c.shape(0);
        s[axis] = s[axis] / 2 + 1;
        return Type{d == DType::F32 ? DType::C64 : DType::C128, s};
      })
      .vjp([](V v) {
        const Shape& s = v.in[0].shape();
        const int axis = normalize_axis("rfft", v.i("axis"), s.rank());
        Dims low(static_cast<size_t>(s.rank()), 0), high = low;
        high[axis] = s[axis] - v.ct.shape()[axis];
        const Val all = v.b.op("pad", {v.ct}, {low, high, 0.0});
        v.d[0] = v_op("real", v.b.op("fft", {all}, {Dim(axis), scaled_alike(v.s("norm")), true}));
      });
  // n real values out of n / 2 + 1.
  transform(t, "irfft")
      .attr("n", AttrKind::kInt)
      .infer([](const InferCtx& c) {
        check_complex(c);
        const int axis = checked_axis(c);
        Shape s = c.shape(0);
        OP_CHECK(c.i("n") >= 1 && s[axis] == c.i("n") / 2 + 1, kValue, "[irfft] ", c.i("n"),
                 " values do not come from axis ", axis, " of ", c.x(0).str());
        s[axis] = c.i("n");
        return Type{part_of(c.x(0).dtype), s};
      })
      .vjp([](V v) {  // all but the first element, and the one in the middle, stand for two
        const Shape& s = v.in[0].shape();
        const int axis = normalize_axis("irfft", v.i("axis"), s.rank());
        const Val g = v.b.op("rfft", {v.ct}, {Dim(axis), scaled_alike(v.s("norm"))});
        const Val k = v.b.op("arange", {}, {0.0, 1.0, s[axis], DType::I64});
        auto at = [&](Dim place) { return v_op("equal", k, v_size(k, place)); };
        const Val once = v.i("n") % 2 == 0 ? v_op("logical_or", at(0), at(v.i("n") / 2)) : at(0);
        const DType part = part_of(g.dtype());
        Shape along(std::vector<Dim>(static_cast<size_t>(s.rank()), Dim(1)));
        along[axis] = s[axis];
        const Val weight =
            v_reshape(v_select(once, v.b.constant(part, 1.0), v.b.constant(part, 2.0)), along);
        v.d[0] = g * v_cast(weight, g.dtype());
      });
}

}  // namespace pijit
