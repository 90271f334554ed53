// Sine, cosine and tangent of float32 values in float64 lanes: what `narrow` angles are too large
// for (Wide in graph/scalar.h). With 53 bits, short polynomials give results within 0.51 ULP.
#include "graph/ops/scalar_math.h"

namespace pijit {
namespace {

using namespace scalar_math;

// x = quadrant * pi / 2 + r, |r| <= pi / 4.
struct Reduced {
  SVal r, quadrant, far;
};
Reduced reduce(SVal x) {
  const SVal far = absolute(x) > 1e9;  // far_angles.cc reduces those
  const SVal near = s_select(far, number(x, 0.0), x);
  const SVal n = s_unary(SOp::kRint, near * (2 / kPi));
  SVal r = s_fma(n, number(x, -1.57079632679489655800), near);
  r = s_fma(n, number(x, -6.12323399573676603587e-17), r);
  return {r, low_bits(n), far};
}
SVal sine_of(SVal r) {
  const SVal z = r * r;
  return s_fma(r * z,
               poly(z, {1.5918225624323977e-10, -2.5051133643122742e-08, 2.755731611500911e-06,
                        -0.00019841269836797613, 0.008333333333331002, -0.16666666666666666}),
               r);
}
SVal cosine_of(SVal r) {
  const SVal z = r * r;
  return s_fma(z * z,
               poly(z, {2.0700589264369855e-09, -2.755636959309124e-07, 2.480158521079604e-05,
                        -0.0013888888887277641, 0.04166666666666469}),
               1.0 - 0.5 * z);
}
SVal sin(SVal x) {
  const Reduced a = reduce(x);
  const SVal y = negative_half(a.quadrant, s_select(odd(a.quadrant), cosine_of(a.r), sine_of(a.r)));
  return or_far(Call1::sin_far, x, a.far, y);
}
SVal cos(SVal x) {
  const Reduced a = reduce(x);
  const SVal y = s_select(odd(a.quadrant), sine_of(a.r), cosine_of(a.r));
  return or_far(Call1::cos_far, x, a.far, negative_half(a.quadrant + integer(x, 1), y));
}
SVal tan(SVal x) {
  const Reduced a = reduce(x);
  const SVal s = sine_of(a.r), c = cosine_of(a.r), swap = odd(a.quadrant);
  return or_far(Call1::tan_far, x, a.far, s_select(swap, -c, s) / s_select(swap, s, c));
}

}  // namespace

const ScalarBody& wide_body(Wide f) {
  static const auto bodies = [] {
    std::vector<ScalarBody> all;
    for (auto of : {sin, cos, tan}) {  // in the order of PIJIT_WIDE
      SBuilder sb;
      const SVal y = s_cast(of(s_cast(sb.input(0, DType::F32), DType::F64)), DType::F32);
      all.push_back({sb.nodes, y.id});
    }
    return all;
  }();
  return bodies[static_cast<size_t>(f)];
}
}  // namespace pijit
